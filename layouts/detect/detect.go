package detect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Hints are what the tree itself cannot tell.
type Hints struct {
	// Folder is the name of the folder the tree was found in. It names the
	// repository if neither a Go module nor a git remote does.
	Folder string
	// Remote returns the URL of the git remote, for a working tree whose git
	// configuration lies elsewhere: a worktree, a submodule, a folder of a
	// repository. It is asked only if the tree does not tell; nil tells nothing.
	Remote func() string
}

// Complete adds to a configuration what it does not say and the tree shows:
//
//   - a provider for every config/default with a kustomization, at any depth but
//     outside test, example and vendored folders; if there is none, for every
//     kustomization that sets the provider label and a namespace. An entry of c
//     refines the provider with its components path or else its label;
//   - the type, from the API groups of the CRDs, and the name, from the label
//     cluster.x-k8s.io/provider or else the repository;
//   - metadata.yaml, from the nearest folder above the kustomization, or else
//     the only one of the tree;
//   - the templates and ClusterClasses in the folder templates next to config.
//
// The notes say which convention led to which value; their keys index the
// providers of the result. The error says what was looked for, what was found
// and which lines of configuration settle the question. c is not changed.
func Complete(fsys fs.FS, c *config.Config, hints Hints) (*config.Config, []config.Note, error) {
	d := &detection{survey: newSurvey(fsys), file: c, repo: newRepository(fsys, hints), extended: map[string]string{}}
	if err := d.scan(); err != nil {
		return nil, nil, err
	}
	out := *c
	out.Providers = nil
	var problems []error
	add := func(err error) { problems = append(problems, err) }

	found, err := d.discover()
	add(err)
	taken := make([]bool, len(found))
	for i := range c.Providers {
		p, err := d.declared(c.Providers[i], found, taken, len(out.Providers))
		add(err)
		if err == nil {
			out.Providers = append(out.Providers, p)
		}
	}
	rest, err := d.unambiguous(found, taken)
	add(err)
	for _, f := range rest {
		out.Providers = append(out.Providers, d.describe(f, config.Provider{}, len(out.Providers)))
	}
	if len(out.Providers) == 0 && errors.Join(problems...) == nil {
		add(&NothingError{d.nothing()})
	}
	add(d.metadata(&out))
	add(d.templates(&out))
	if err := errors.Join(problems...); err != nil {
		return nil, d.notes, err
	}
	return &out, d.notes, nil
}

type detection struct {
	*survey
	file  *config.Config // as it is given
	repo  repository
	notes []config.Note

	// What the scan of the tree found, in lexical order.
	kustomizations []string // folders
	metadatas      []string // files
	finished       []string // files of cluster templates and ClusterClasses
	dangling       []string // broken links

	// extended are metadata files that were preferred to nearer ones.
	extended map[string]string
}

func (d *detection) note(key, format string, args ...any) {
	d.notes = append(d.notes, config.Note{Key: key, Text: fmt.Sprintf(format, args...)})
}

// skipped are the names of folders that hold no product of the repository.
var skipped = []string{
	"bin", "charts", "dist", "doc", "docs", "e2e", "example", "examples", "hack", "node_modules", "out",
	"sample", "samples", "test", "testdata", "testing", "tests", "third_party", "vendor",
}

func skip(p string) bool {
	name := path.Base(p)
	return p != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || slices.Contains(skipped, name))
}

// scan walks the tree once.
func (d *detection) scan() error {
	ignored := config.Matcher(d.file.Discovery.Ignore)
	err := fs.WalkDir(d.fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && p == ".":
			return err
		case err != nil:
			if pe, ok := errors.AsType[*fs.PathError](err); ok {
				err = pe.Err
			}
			return fmt.Errorf("%s: %w; a release could lack a part because of it. Make it readable, or list it under discovery.ignore in %s", p, err, config.FileName)
		case entry.IsDir() && (skip(p) || ignored(p) || layouts.InRelease(p)):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			if _, err := fs.Stat(d.fsys, p); errors.Is(err, fs.ErrNotExist) {
				d.dangling = append(d.dangling, p)
			}
		}
		switch entry.Name() {
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			d.kustomizations = append(d.kustomizations, path.Dir(p))
		case "Chart.yaml":
			if path.Dir(p) != "." {
				return fs.SkipDir // templates of a chart are for Helm
			}
		case layouts.MetadataFile:
			// Other tools have files of that name too. One that cannot be read, or is
			// at the root, is ours: the build says what is wrong with it.
			data, err := fs.ReadFile(d.fsys, p)
			if err != nil || path.Dir(p) == "." || bytes.Contains(data, []byte("releaseSeries")) {
				d.metadatas = append(d.metadatas, p)
			}
		default:
			switch layouts.KindOfFile(entry.Name()) {
			case layouts.ClusterTemplate, layouts.ClusterClass:
				d.finished = append(d.finished, p)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("search the source tree: %w", err)
	}
	return nil
}

// candidate is a kustomization that builds a provider.
type candidate struct {
	identity
	dir string
}

// discover identifies the providers in the places of the convention.
func (d *detection) discover() ([]candidate, error) {
	if d.file.Discovery.Disabled {
		return nil, nil
	}
	var out []candidate
	var problems, undecided, unwritten []error
	var reasons []string
	declared := false
	for _, dir := range d.places() {
		if d.described(dir) {
			declared = true
			continue // the configuration knows better
		}
		f := d.facts(dir)
		id, err := identify(dir, f, d.repo)
		var not notProvider
		switch {
		case errors.As(err, &not) && f.broken != nil:
			problems = append(problems, f.broken)
		case errors.As(err, &not) && len(f.missing) > 0:
			// What is missing may be what tells, so no other folder is looked for.
			unwritten = append(unwritten, fmt.Errorf("%s shows no provider, but %s, which it names, is not in the tree. "+
				"Run the generator first (controller-gen writes CRDs), or say in %s what it builds:\n%s%s", dir, f.missing[0], config.FileName, d.header(), entryLines(dir, id)))
		case errors.As(err, &not):
			d.note("", "%s builds no provider: %s", dir, not.reason)
		case err != nil:
			reasons = append(reasons, err.Error())
			undecided = append(undecided, fmt.Errorf("%w.\nSet it in %s:\n%s%s", err, config.FileName, d.header(), entryLines(dir, id)))
		default:
			out = append(out, candidate{id, dir})
		}
	}
	if len(out) == 0 && len(problems) == 0 && !declared {
		if len(unwritten) > 0 {
			return nil, errors.Join(unwritten...)
		}
		if out = d.elsewhere(); len(out) > 0 {
			for _, r := range reasons {
				d.note("", "%s", r)
			}
			return out, nil
		}
	}
	return out, errors.Join(append(problems, undecided...)...)
}

// described reports whether the configuration says type and name of the
// provider that is built from dir.
func (d *detection) described(dir string) bool {
	return slices.ContainsFunc(d.file.Providers, func(p config.Provider) bool {
		return clean(p.Components.Path) == dir && p.Type != "" && p.Name != ""
	})
}

// header begins the lines of configuration that a message proposes, if there is
// no file yet that begins with them.
func (d *detection) header() string {
	if !d.file.IsZero() {
		return ""
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\n", config.APIVersion, config.Kind)
}

// entryLines are the lines of configuration that describe a provider.
func entryLines(dir string, id identity) string {
	typ := id.Type.Short()
	if typ == "" {
		others := phrase.Only(layouts.Types, func(t layouts.TypeInfo) bool { return t.Type != layouts.Infrastructure })
		words := phrase.List(others, func(t layouts.TypeInfo) string { return t.Short })
		typ = "infrastructure   # or " + strings.Join(words, ", ")
	}
	return fmt.Sprintf("providers:\n- type: %s\n  name: %s\n  components:\n    path: %s", typ, cmp.Or(id.Name, "NAME"), dir)
}

func clean(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// declared completes an entry of the configuration, the i-th of the result.
func (d *detection) declared(p config.Provider, found []candidate, taken []bool, i int) (config.Provider, error) {
	at := clean(p.Components.Path)
	t, _ := layouts.TypeByWord(p.Type)
	if at != "" && (p.Type == "" || p.Name == "") {
		id, err := identify(at, d.facts(at), d.repo)
		var not notProvider
		switch {
		case errors.As(err, &not):
			return p, p.Components.Errorf("path", "%s shows no type and name, as %w; set both", at, err)
		case err != nil:
			return p, p.Components.Errorf("path", "%w; set type and name", err)
		}
		return d.refined(p, candidate{id, at}, found, taken, i), nil
	}
	match := slices.IndexFunc(found, func(f candidate) bool { return f.Type == t && f.Name == p.Name })
	if match < 0 {
		if at == "" {
			return p, p.Errorf("", "the source of the provider is unknown: no config/default in the tree builds %s. Add the folder of its kustomization:\n  components:\n    path: FOLDER",
				layouts.Provider{Type: t, Name: cmp.Or(p.Name, "NAME")}.Label())
		}
		return p, nil
	}
	return d.refined(p, found[match], found, taken, i), nil
}

// refined lays an entry over what was found, and takes all candidates with its
// label out of the choice.
func (d *detection) refined(p config.Provider, base candidate, found []candidate, taken []bool, i int) config.Provider {
	for j, f := range found {
		if f.dir == base.dir {
			taken[j] = true
		}
	}
	base.dir = cmp.Or(clean(p.Components.Path), base.dir)
	out := p.Over(d.describe(base, p, i))
	for j, f := range found {
		if f.Type.Short() == out.Type && f.Name == out.Name {
			taken[j] = true
		}
	}
	return out
}

// describe makes the i-th provider of the result from a candidate, with notes
// on what the entry said does not say itself.
func (d *detection) describe(f candidate, said config.Provider, i int) config.Provider {
	key := fmt.Sprintf("providers[%d]", i)
	if said.Type == "" {
		d.note(key+".type", "%s", f.typeReason)
	}
	if said.Name == "" {
		if d.note(key+".name", "%s", f.nameReason); f.nameReason == d.repo.reason() && d.repo.from == fromFolder {
			d.note("", "%s is named after the folder %s, which another checkout may not have; set name in its entry", f.Label(), d.repo.name)
		}
		if other := d.repo.embedded(f.Provider); other != "" {
			d.note(key+".name", "clusterctl's own list has this repository as %s: that is the name under which users install it", other)
		}
	}
	if remote := d.facts(f.dir).remote; len(remote) > 0 {
		d.note(key+".components", "%s loads from the network, which has to be allowed: %s", f.dir, strings.Join(remote, ", "))
	}
	return config.Provider{Type: f.Type.Short(), Name: f.Name, Components: config.Components{Path: f.dir}}
}

// unambiguous returns the candidates that no entry has taken, unless two of
// them are the same provider.
func (d *detection) unambiguous(found []candidate, taken []bool) ([]candidate, error) {
	var out []candidate
	byLabel := map[string]string{}
	var problems []error
	for i, f := range found {
		if taken[i] {
			continue
		}
		label := f.Label()
		if other, ok := byLabel[label]; ok {
			problems = append(problems, fmt.Errorf("both %s and %s build %s. Choose one in %s:\n%[5]s%[6]s\nor leave one out:\n%[5]sdiscovery:\n  ignore:\n  - %[2]s",
				other, f.dir, label, config.FileName, d.header(), entryLines(other, f.identity)))
			continue
		}
		byLabel[label] = f.dir
		out = append(out, f)
	}
	return out, errors.Join(problems...)
}

// NothingError is a tree in which no provider was found. It says what was looked for,
// and which lines settle the question.
type NothingError struct{ error }

// maxSuggestions bounds the length of a message.
const maxSuggestions = 5

// nothing explains that no provider was found, with what might be one.
func (d *detection) nothing() error {
	var lines []string
	more := 0
	for _, dir := range d.kustomizations {
		k, _ := d.kustomization(dir)
		if k == nil || k.namespace == "" && k.label == "" {
			continue // a part, such as config/crd
		}
		f := d.facts(dir)
		if len(f.types) == 0 {
			continue
		}
		id, err := identify(dir, f, d.repo)
		if err != nil {
			continue
		}
		if len(lines) == maxSuggestions {
			more++
			continue
		}
		entry := strings.TrimPrefix(entryLines(dir, id), "providers:\n")
		lines = append(lines, entry)
	}
	msg := "no provider found: looked for kustomizations in config/default, at any depth, outside folders such as test, hack, examples and vendor"
	for _, n := range d.notes {
		msg += "; " + n.String()
	}
	if len(lines) == 0 {
		dir, guess := "FOLDER", identity{Provider: layouts.Provider{Type: d.repo.typ, Name: d.repo.provider}}
		// Those in the place of the convention that build CRDs, if only of foreign API groups.
		other := phrase.Only(d.kustomizations, func(dir string) bool { return inPlace(dir) && d.facts(dir).crds > 0 })
		if len(other) == 1 {
			dir = other[0]
			msg += fmt.Sprintf(". If %s is one anyway, declare it in %s:", dir, config.FileName)
		} else {
			msg += fmt.Sprintf("; no other kustomization builds CRDs of Cluster API either. Set its place in %s:", config.FileName)
		}
		return fmt.Errorf("%s\n%s%s", msg, d.header(), entryLines(dir, guess))
	}
	msg += fmt.Sprintf(". These kustomizations build CRDs of Cluster API; name the right ones in %s:\n%sproviders:\n%s", config.FileName, d.header(), strings.Join(lines, "\n"))
	if more > 0 {
		msg += fmt.Sprintf("\n# … and %d more", more)
	}
	return errors.New(msg)
}

// metadata finds the metadata.yaml of the providers that have none yet.
func (d *detection) metadata(c *config.Config) error {
	if c.Metadata != "" {
		return nil
	}
	files := make([]string, len(c.Providers))
	shared := len(c.Providers) > 0
	for i, p := range c.Providers {
		if p.Metadata != "" {
			shared = false
			continue
		}
		file, err := d.nearestMetadata(p)
		if err != nil {
			return err
		}
		if files[i] = file; file == "" {
			c.Providers[i].Contract = d.contract(clean(p.Components.Path))
		}
		shared = shared && file != "" && file == files[0]
	}
	if shared {
		c.Metadata = files[0]
		d.note("metadata", "%s", d.metadataReason(files[0]))
		return nil
	}
	for i := range c.Providers {
		if files[i] != "" {
			c.Providers[i].Metadata = files[i]
			d.note(fmt.Sprintf("providers[%d].metadata", i), "%s", d.metadataReason(files[i]))
		}
	}
	return nil
}

func (d *detection) metadataReason(file string) string {
	if older, ok := d.extended[file]; ok {
		return fmt.Sprintf("it lists the series of %s, which is nearer, and newer ones", older)
	}
	if file == layouts.MetadataFile {
		return "at the root of the tree"
	}
	if len(d.metadatas) == 1 {
		return "the only one in the tree"
	}
	return "the nearest one above the kustomization"
}

// nearestMetadata returns the metadata.yaml that is nearest above a provider's
// kustomization. One further above that lists the same series, and more, is newer:
// the nearest was forgotten when a series was added.
func (d *detection) nearestMetadata(p config.Provider) (string, error) {
	nearest := ""
	for dir := clean(p.Components.Path); dir != "" && dir != "/"; dir = path.Dir(dir) {
		file := path.Join(dir, layouts.MetadataFile)
		switch {
		case !slices.Contains(d.metadatas, file):
		case nearest == "":
			nearest = file
		case SeriesOf(d.fsys, file).extend(SeriesOf(d.fsys, nearest)):
			d.extended[file] = nearest
			nearest = file
		}
		if dir == "." {
			break
		}
	}
	if nearest != "" {
		return nearest, nil
	}
	switch len(d.metadatas) {
	case 0:
		return "", nil // the plan says what to do
	case 1:
		return d.metadatas[0], nil
	}
	return "", p.Errorf("", "%s has no metadata.yaml in a folder above it, and the tree holds several: %s. Choose one in %s:\nmetadata: %s",
		p.Components.Path, strings.Join(d.metadatas, ", "), config.FileName, d.metadatas[0])
}
