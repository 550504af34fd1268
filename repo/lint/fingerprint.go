package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
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
	// target is what At or Spanning were given; forgotten when value is made of it.
	target *target

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
	// made is what Options.Origin returned; nil if that is nothing.
	made *lineOf
	// merges says that merge may join it with others of its release.
	merges bool
}

// target is a value of a document, or a byte range of a file.
type target struct {
	doc        *yamldoc.Document
	node       *yamldoc.Node
	start, end int
}

// lineOf is a line of a file.
type lineOf struct {
	file string
	line int
}

// identify says what a finding is about, before its place is led back to a
// source.
func (p *Pass) identify(f *Finding) *origin {
	i := &origin{target: &target{}, object: f.Object}
	if f.origin != nil { // of a finding that several rules may report
		i.target = f.origin.target
	}
	i.provider, i.release, i.file = p.part.places.of(f.File)
	if p.File != nil && f.File == p.File.Raw.Name {
		i.file = p.File.Artifact.Name
		if t := i.target; t.end > t.start && t.end <= len(p.File.Raw.Data) {
			i.value = string(p.File.Raw.Data[t.start:t.end])
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
// document, and lets go of the documents.
func locate(findings []Finding, texts *texts) {
	wanted := map[*yamldoc.Document]map[*yamldoc.Node][]*origin{}
	for i := range findings {
		id := findings[i].origin
		if id == nil || id.target == nil {
			continue
		}
		if t := id.target; t.doc != nil && t.node != nil {
			if wanted[t.doc] == nil {
				wanted[t.doc] = map[*yamldoc.Node][]*origin{}
			}
			wanted[t.doc][t.node] = append(wanted[t.doc][t.node], id)
		}
		id.target = nil
	}
	for d, nodes := range wanted {
		w := valueWalk{nodes: nodes, texts: texts, seen: map[*yamldoc.Node]bool{}}
		w.visit(d.Root)
		if len(w.nodes) > 0 { // keys, or nodes of another document
			w.keys = map[string][]*yamldoc.Node{}
			for n := range w.nodes {
				w.keys[n.Text] = append(w.keys[n.Text], n)
			}
			clear(w.seen)
			w.visit(d.Root)
		}
	}
}

// valueWalk finds the paths of nodes. An entry of a list is told by its name where
// it has one, because others may be put in front of it.
type valueWalk struct {
	nodes map[*yamldoc.Node][]*origin
	texts *texts
	seen  map[*yamldoc.Node]bool // lists and mappings; aliases make several ways to one
	path  []step
	// keys are the nodes to find among the keys, by their text. Keys have no nodes
	// of their own until they are asked for, so this takes a second walk.
	keys map[string][]*yamldoc.Node
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
	if n == nil {
		return
	}
	w.found(n, "")
	if len(n.Fields)+len(n.Items) == 0 || w.seen[n] {
		return
	}
	w.seen[n] = true
	for i := range n.Fields {
		f := &n.Fields[i]
		w.path = append(w.path, step{field: f})
		for _, n := range w.keys[f.Name] {
			if f.IsKey(n) {
				w.found(n, "key")
			}
		}
		w.visit(f.Value)
		w.path = w.path[:len(w.path)-1]
	}
	for i, item := range n.Items {
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
	value := strings.Join(names, ".") + kind
	w.texts.share(&value)
	for _, id := range list {
		id.value = value
	}
}

// entry names an entry of a list.
func entry(n *yamldoc.Node, index int) string {
	if name := n.Get("name"); name != nil && name.Text != "" {
		return "[" + strconv.Quote(name.Text) + "]"
	}
	if major, minor := n.Get("major"), n.Get("minor"); major != nil && minor != nil { // a release series
		return "[" + major.Text + "." + minor.Text + "]"
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
	for _, f := range findings {
		if f.Fingerprint != "" {
			continue
		}
		id := f.origin
		if id == nil { // not about a release: where it is is all that is known
			id = &origin{file: filepath.Base(f.File), object: f.Object}
		}
		key := strings.Join([]string{f.Rule.ID, id.provider, id.file, id.object, id.value, ""}, "\x00")
		nth := func(n int) sum {
			full := sha256.Sum256(strconv.AppendInt([]byte(key), int64(n), 10))
			return sum(full[:12])
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
