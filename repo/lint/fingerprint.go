package lint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// origin is what a finding is about, and what its fingerprint is made of with the ID
// of the rule. Baselines must survive what changes between two runs of the same
// faults: so that is neither wording nor lines, neither the version nor where the
// repository or the source tree is.
type origin struct {
	about

	// provider is the label; file is the path within the release, or "." for the
	// release as a whole.
	provider, file string
	object         string
	// value is the path of the value in the document, or the text of a finding
	// about a byte range.
	value string
	// release tells the releases of one run apart. Faults that all of them have
	// get the same fingerprints.
	release string
	// merges says that merge may join it with others of its release.
	merges bool
}

// about is what At or Spanning were given: a document with a node, or a byte range. It
// is forgotten when the value of an origin is made of it.
type about struct {
	in         *File
	doc        *yamldoc.Document
	node       *yamldoc.Node
	start, end int
}

// identify says what a finding is about, before its place is led back to a
// source.
func (p *Pass) identify(f *Finding) *origin {
	i := &origin{}
	if f.about != nil {
		i.about, f.about = *f.about, nil // others may report the same
	}
	i.object = f.Object
	i.provider, i.release, i.file = p.part.places.of(f.File)
	if p.File != nil && f.File == p.File.Raw.Name {
		i.file = p.File.Artifact.Name
		if i.end > i.start && i.end <= len(p.File.Raw.Data) {
			// A part of the text would keep all of it in memory.
			i.value = strings.Clone(p.File.Raw.Data[i.start:i.end])
		}
	}
	if p.Release != nil {
		at := p.part.places.release(p.Release.Release)
		i.provider, i.release = at.provider, at.release
	} else if p.Provider != nil {
		i.provider = p.Provider.Label()
	}
	i.merges = p.File != nil && (p.File.Kind == layouts.ClusterTemplate || p.File.Kind == layouts.ClusterClass)
	f.Provider, f.Version = i.provider, strings.TrimPrefix(i.release, i.provider+"/")
	f.origin = i
	return i
}

// template is the release of a finding in one of its templates; empty for others.
func (o *origin) template() string {
	if o == nil || !o.merges {
		return ""
	}
	return o.release
}

// places finds the provider and the release that a path is in.
type places struct {
	byPath map[string]providerRelease
}

type providerRelease struct{ provider, release string }

func newPlaces(r *repo.Repository) *places {
	out := &places{byPath: map[string]providerRelease{}}
	for _, p := range r.Providers {
		label := p.Label()
		out.byPath[filepath.Clean(p.Path)] = providerRelease{label, ""}
		for _, release := range p.Releases {
			out.byPath[filepath.Clean(release.Path)] = providerRelease{label, label + "/" + release.Version}
		}
	}
	delete(out.byPath, ".") // what has no path
	return out
}

// release returns the names of a release.
func (p *places) release(r *repo.Release) providerRelease {
	label := r.Provider.Label()
	if at := p.byPath[filepath.Clean(r.Path)]; at.provider == label && at.release == label+"/"+r.Version {
		return at // the same texts for all findings
	}
	return providerRelease{label, label + "/" + r.Version}
}

// of returns the label of the provider and the release that a path is in, empty if
// it is in none, and the path in it. Outside of both that is the last element.
func (p *places) of(path string) (provider, release, file string) {
	path = filepath.Clean(path)
	for dir := path; ; dir = filepath.Dir(dir) {
		if found, ok := p.byPath[dir]; ok {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				rel = filepath.Base(path)
			}
			return found.provider, found.release, filepath.ToSlash(rel)
		}
		if dir == filepath.Dir(dir) {
			return "", "", filepath.Base(path)
		}
	}
}

// locate replaces the nodes of findings by their paths, with one walk through each
// document, and lets go of the documents and files.
func locate(findings []Finding) {
	var wanted []*origin
	for i := range findings {
		id := findings[i].origin
		if id != nil {
			id.in = nil
		}
		switch {
		case id == nil || id.doc == nil:
		case id.node == nil:
			id.doc = nil
		default:
			wanted = append(wanted, id)
		}
	}
	slices.SortFunc(wanted, func(a, b *origin) int {
		startA, _ := a.doc.Range()
		startB, _ := b.doc.Range()
		return cmp.Or(cmp.Compare(a.doc.File.Name, b.doc.File.Name), cmp.Compare(startA, startB))
	})
	for len(wanted) > 0 {
		d := wanted[0].doc
		n := 1
		for n < len(wanted) && wanted[n].doc == d {
			n++
		}
		w := valueWalk{nodes: map[*yamldoc.Node][]*origin{}}
		w.document(d, wanted[:n])
		wanted = wanted[n:]
	}
}

// valueWalk finds the paths of nodes. An entry of a list is recognised by its name where
// it has one, because others may be put in front of it.
type valueWalk struct {
	// nodes are those that are still to be found.
	nodes map[*yamldoc.Node][]*origin
	// seen are lists and mappings of a document whose aliases make several ways to
	// one; nil for others.
	seen map[*yamldoc.Node]bool
	path []step
	// keys are the nodes to find among the keys, by where they stand. Keys have no
	// nodes of their own until they are asked for, so this takes a second walk.
	keys map[yamldoc.Spot][]*yamldoc.Node
}

// document finds the nodes of findings in their document.
func (w *valueWalk) document(d *yamldoc.Document, wanted []*origin) {
	for _, id := range wanted {
		w.nodes[id.node] = append(w.nodes[id.node], id)
		id.doc, id.node = nil, nil
	}
	w.walk(d)
	if len(w.nodes) > 0 { // keys, or nodes of another document
		w.keys = map[yamldoc.Spot][]*yamldoc.Node{}
		for n := range w.nodes {
			w.keys[n.Spot()] = append(w.keys[n.Spot()], n)
		}
		w.walk(d)
	}
}

func (w *valueWalk) walk(d *yamldoc.Document) {
	if d.Aliases() {
		w.seen = map[*yamldoc.Node]bool{}
	}
	w.visit(d.Root)
}

// step is one on the way to a node: a field, or the entry of a list.
type step struct {
	field *yamldoc.Field // nil for an entry
	item  *yamldoc.Node
	index int
}

func (s *step) String() string {
	if s.field != nil {
		return strconv.Quote(s.field.Name)
	}
	return entry(s.item, s.index)
}

func (w *valueWalk) visit(n *yamldoc.Node) {
	if n == nil || len(w.nodes) == 0 {
		return
	}
	w.found(n, "")
	if len(n.Fields())+len(n.List()) == 0 || w.seen[n] {
		return
	}
	if w.seen != nil {
		w.seen[n] = true
	}
	for i := range n.Fields() {
		f := &n.Fields()[i]
		w.path = append(w.path, step{field: f})
		for _, n := range w.keys[f.Spot()] {
			if f.IsKey(n) {
				w.found(n, "key")
			}
		}
		w.visit(f.Value)
		w.path = w.path[:len(w.path)-1]
	}
	for i, item := range n.List() {
		w.path = append(w.path, step{item: item, index: i})
		w.visit(item)
		w.path = w.path[:len(w.path)-1]
	}
}

func (w *valueWalk) found(n *yamldoc.Node, kind string) {
	list := w.nodes[n]
	if len(list) == 0 || n == nil {
		return
	}
	delete(w.nodes, n)
	names := make([]string, len(w.path))
	for i := range w.path {
		names[i] = w.path[i].String()
	}
	for _, id := range list {
		id.value = strings.Join(names, ".") + kind
	}
}

// entry names an entry of a list.
func entry(n *yamldoc.Node, index int) string {
	if name := n.Get("name"); name != nil && name.Text() != "" {
		return "[" + strconv.Quote(name.Text()) + "]"
	}
	if major, minor := n.Get("major"), n.Get("minor"); major != nil && minor != nil { // a release series
		return "[" + major.Text() + "." + minor.Text() + "]"
	}
	return "[" + strconv.Itoa(index) + "]"
}

// fingerprints gives the findings, which are sorted, their fingerprints, unless they
// have them. Findings with the same identity in one release are counted.
func fingerprints(findings []*Finding) {
	type sum [12]byte
	type first struct {
		release string
		sum     sum // of the first finding with the identity
	}
	seen := map[first]int{}
	texts := map[sum]string{} // most releases have the same faults
	var key []byte
	for _, f := range findings {
		if f.Fingerprint != "" {
			continue
		}
		id := f.origin
		if id == nil { // not about a release: where it is is all that is known
			id = &origin{file: filepath.Base(f.File), object: f.Object}
		}
		key = key[:0]
		for _, part := range [...]string{f.Rule.ID, id.provider, id.file, id.object, id.value} {
			key = append(append(key, part...), 0)
		}
		nth := func(n int) sum {
			full := sha256.Sum256(strconv.AppendInt(key, int64(n), 10))
			return sum(full[:len(sum{})])
		}
		s := nth(0)
		same := first{id.release, s}
		n := seen[same]
		seen[same] = n + 1
		if n > 0 {
			s = nth(n)
		}
		if texts[s] == "" {
			texts[s] = hex.EncodeToString(s[:])
		}
		f.Fingerprint = texts[s]
	}
}
