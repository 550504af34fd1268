package localrepo

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// componentsFile is what the framework calls the components of every provider.
const componentsFile = "components.yaml"

// ConfigFile is the configuration of clusterctl next to the releases.
const ConfigFile = "clusterctl-config.yaml"

const (
	byURL       = "url"
	byKustomize = "kustomize"
)

// text is a string and where it stands.
type text struct {
	Value string
	At    yamldoc.Pos
}

// description is a file that was read, and what is ignored in it: unknown and
// repeated keys, further documents.
type description struct {
	// Name is the file, for messages.
	Name    string
	Remarks []*yamldoc.Error
}

// Errorf returns an error at a place of the file.
func (d *description) Errorf(at yamldoc.Pos, format string, args ...any) *yamldoc.Error {
	return &yamldoc.Error{File: d.Name, Pos: at, Err: fmt.Errorf(format, args...)}
}

type suiteConfig struct {
	description
	// Dir is the absolute folder that paths are relative to.
	Dir       string
	real      string // the source tree, without links
	Images    []image
	Providers []provider
	// Variables are sorted by name.
	Variables []variable
	Intervals []interval
}

// image is a container image to load into the management cluster.
type image struct {
	At           yamldoc.Pos
	Name, Policy text
}

type provider struct {
	At         yamldoc.Pos
	Name, Type text
	Versions   []version
	Files      []file
}

// version says what the components of a version are made from.
type version struct {
	At                          yamldoc.Pos
	Name, Value, Type, Contract text
	Replacements                []replacement
	Files                       []file
}

// replacement is a regular expression and what takes its place.
type replacement struct {
	At       yamldoc.Pos
	Old, New text
}

type file struct {
	At             yamldoc.Pos
	Source, Target text
}

// variable is an entry of the configuration of clusterctl.
type variable struct {
	Name string
	// Key is where the name stands.
	Key   yamldoc.Pos
	Value text
}

// interval says how long tests wait, and how often they look.
type interval struct {
	Name  string
	At    yamldoc.Pos
	Times []text
}

// versions are all versions with their providers, and files are all files; both may be
// changed.
func (c *suiteConfig) versions() iter.Seq2[*provider, *version] {
	return func(yield func(*provider, *version) bool) {
		for i := range c.Providers {
			p := &c.Providers[i]
			for j := range p.Versions {
				if !yield(p, &p.Versions[j]) {
					return
				}
			}
		}
	}
}

func (c *suiteConfig) files() (out []*file) {
	add := func(list []file) {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	for i := range c.Providers {
		add(c.Providers[i].Files)
	}
	for _, v := range c.versions() {
		add(v.Files)
	}
	return out
}

// Provider returns the provider in the words of this project.
func (p *provider) Provider() layouts.Provider {
	return layouts.Provider{Type: layouts.ProviderType(p.Type.Value), Name: p.Name.Value}
}

// Marker returns what a version name in braces asks for, such as
// go://sigs.k8s.io/cluster-api@v1.10; only versions by URL may be markers.
func (v *version) Marker() (string, bool) {
	name := v.Name.Value
	if v.Type.Value != byURL || !strings.HasPrefix(name, "{") || !strings.HasSuffix(name, "}") {
		return "", false
	}
	return strings.TrimLeft(strings.TrimRight(name, "}"), "{"), true
}

// Resolve puts a version in the place of its marker.
func (v *version) Resolve(version string) {
	v.Value.Value = strings.Replace(v.Value.Value, v.Name.Value, version, 1)
	v.Name.Value = version
}

// path makes a path of the configuration absolute. Where links lead out of the source
// tree it is what they lead to: a build follows no link out of the folder it reads.
func (c *suiteConfig) path(name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir, name)
	}
	if real, err := filepath.EvalSymlinks(name); err == nil && real != c.real &&
		!strings.HasPrefix(real, c.real+string(filepath.Separator)) {
		return real
	}
	return name
}

// Local returns the path of a version by URL that is not a URL.
func (c *suiteConfig) Local(v *version) (string, bool) {
	scheme, rest, ok := strings.Cut(v.Value.Value, "://")
	switch {
	case !ok:
		rest, _, _ = strings.Cut(v.Value.Value, "?")
	case strings.EqualFold(scheme, "file"):
	default:
		return "", false
	}
	return c.path(rest), true
}

// isConfig reports whether a document looks like an E2EConfig: providers with a type,
// of which some have versions.
func isConfig(d *yamldoc.Document) bool {
	return slices.ContainsFunc(d.Root.Get("providers").List(), func(p *yamldoc.Node) bool {
		return p.Get("type") != nil && (p.Get("versions").Is(yamldoc.List) || p.Get("files").Is(yamldoc.List))
	})
}

// decode reads the first document of a stream as the framework does: keys match in
// any case, scalars become strings by way of JSON, the last of several keys counts.
// The error joins all values of a wrong type.
func decode(stream *yamldoc.Stream) (*suiteConfig, error) {
	c := &suiteConfig{description: description{Name: stream.File.Name}}
	if len(stream.File.Data) == 0 {
		return nil, &yamldoc.Error{File: c.Name, Err: errors.New("the e2e test config file should not be empty")}
	}
	r, err := newReader(stream, &c.description)
	if r == nil {
		return c, err
	}
	doc := r.doc
	var ignored text
	r.object(doc.Root, "", fields{
		"managementClusterName": r.text(&ignored),
		"images": r.list(func(n *yamldoc.Node, at string) {
			i := image{At: doc.Pos(n)}
			r.object(n, at, fields{"name": r.text(&i.Name), "loadBehavior": r.text(&i.Policy)})
			c.Images = append(c.Images, i)
		}),
		"providers": r.list(func(n *yamldoc.Node, at string) { c.Providers = append(c.Providers, r.provider(n, at)) }),
		"variables": func(n *yamldoc.Node, at string) {
			r.entries(n, at, func(f *yamldoc.Field, at string) {
				v := variable{Name: f.Name, Key: doc.Pos(f.Key())}
				r.text(&v.Value)(f.Value, at)
				c.Variables = append(c.Variables, v)
			})
		},
		"intervals": func(n *yamldoc.Node, at string) {
			r.entries(n, at, func(f *yamldoc.Field, at string) {
				i := interval{Name: f.Name, At: doc.Pos(f.Key())}
				r.texts(&i.Times)(f.Value, at)
				c.Intervals = append(c.Intervals, i)
			})
		},
	})
	return c, errors.Join(r.faults...)
}

type reader struct {
	doc    *yamldoc.Document
	d      *description
	faults []error
}

// newReader reads the first document of a stream; nil if there is none.
func newReader(stream *yamldoc.Stream, d *description) (*reader, error) {
	if len(stream.Docs) == 0 {
		return nil, nil
	}
	r := &reader{doc: stream.Docs[0], d: d}
	if r.doc.Err != nil {
		return nil, r.doc.Err
	}
	if len(stream.Docs) > 1 {
		r.remark(stream.Docs[1].Pos(nil), "only the first document is read")
	}
	return r, nil
}

// fields are the known keys of a map, with what reads them.
type fields map[string]func(n *yamldoc.Node, at string)

func (r *reader) remark(at yamldoc.Pos, format string, args ...any) {
	r.d.Remarks = append(r.d.Remarks, r.d.Errorf(at, format, args...))
}

func (r *reader) wrong(n *yamldoc.Node, at, want string) {
	r.faults = append(r.faults, r.d.Errorf(r.doc.Pos(n), "%s must be %s, but %s", strings.TrimPrefix(at, "."), want, "is "+n.Kind.Noun()))
}

// entries calls a function for the entries of a map that count, sorted by name.
func (r *reader) entries(n *yamldoc.Node, at string, each func(f *yamldoc.Field, at string)) {
	if n == nil || n.Is(yamldoc.Null) {
		return
	}
	if !n.Is(yamldoc.Map) {
		r.wrong(n, at, "a map")
		return
	}
	counting := map[string]*yamldoc.Field{}
	for i := range n.Fields() {
		f := &n.Fields()[i]
		if before := counting[f.Name]; before != nil && !before.Merged && !f.Merged {
			r.remark(r.doc.Pos(before.Key()), "%s is repeated below, and the last one wins", f.Name)
		}
		counting[f.Name] = n.Field(f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(counting)) {
		each(counting[name], at+"."+name)
	}
}

func (r *reader) object(n *yamldoc.Node, at string, known fields) {
	r.entries(n, at, func(f *yamldoc.Field, at string) {
		read := known[f.Name]
		for name, other := range known {
			if read == nil && strings.EqualFold(name, f.Name) {
				read = other
				r.remark(r.doc.Pos(f.Key()), "%s is usually written %s", f.Name, name)
			}
		}
		if read == nil {
			r.remark(r.doc.Pos(f.Key()), "unknown key %s is ignored", strings.TrimPrefix(at, "."))
			return
		}
		read(f.Value, at)
	})
}

func (r *reader) list(each func(n *yamldoc.Node, at string)) func(*yamldoc.Node, string) {
	return func(n *yamldoc.Node, at string) {
		if n == nil || n.Is(yamldoc.Null) {
			return
		}
		if !n.Is(yamldoc.List) {
			r.wrong(n, at, "a list")
			return
		}
		for i, item := range n.List() {
			each(item, fmt.Sprintf("%s[%d]", at, i))
		}
	}
}

func (r *reader) texts(to *[]text) func(*yamldoc.Node, string) {
	return r.list(func(n *yamldoc.Node, at string) {
		var t text
		r.text(&t)(n, at)
		*to = append(*to, t)
	})
}

// text reads a string. Other scalars take the way through JSON that
// sigs.k8s.io/yaml takes: 1.30 becomes 1.3, and 0x10 becomes 16.
func (r *reader) text(to *text) func(*yamldoc.Node, string) {
	return func(n *yamldoc.Node, at string) {
		to.At = r.doc.Pos(n)
		switch {
		case n == nil || n.Is(yamldoc.Null):
		case n.Is(yamldoc.String):
			to.Value = n.Str()
		case n.Is(yamldoc.Bool):
			to.Value = strconv.FormatBool(n.Bool())
		case n.Is(yamldoc.Int), n.Is(yamldoc.Float):
			if v, ok := n.Int(); ok {
				to.Value = strconv.FormatInt(v, 10)
			} else if v, err := strconv.ParseUint(n.Text(), 0, 64); err == nil {
				to.Value = strconv.FormatUint(v, 10)
			} else if v, ok := n.Value().(float64); ok {
				to.Value = strconv.FormatFloat(v, 'g', -1, 32)
			}
		default:
			r.wrong(n, at, "a string")
		}
	}
}

func (r *reader) provider(n *yamldoc.Node, at string) provider {
	p := provider{At: r.doc.Pos(n)}
	r.object(n, at, fields{
		"name": r.text(&p.Name), "type": r.text(&p.Type), "files": r.files(&p.Files),
		"versions": r.list(func(n *yamldoc.Node, at string) {
			v := version{At: r.doc.Pos(n)}
			r.object(n, at, fields{
				"name": r.text(&v.Name), "value": r.text(&v.Value), "type": r.text(&v.Type), "contract": r.text(&v.Contract),
				"files": r.files(&v.Files),
				"replacements": r.list(func(n *yamldoc.Node, at string) {
					c := replacement{At: r.doc.Pos(n)}
					r.object(n, at, fields{"old": r.text(&c.Old), "new": r.text(&c.New)})
					v.Replacements = append(v.Replacements, c)
				}),
			})
			p.Versions = append(p.Versions, v)
		}),
	})
	return p
}

func (r *reader) files(to *[]file) func(*yamldoc.Node, string) {
	return r.list(func(n *yamldoc.Node, at string) {
		f := file{At: r.doc.Pos(n)}
		r.object(n, at, fields{"sourcePath": r.text(&f.Source), "targetName": r.text(&f.Target)})
		*to = append(*to, f)
	})
}

// defaults fills in what the framework assumes; system and machine are those of Go.
func (c *suiteConfig) defaults(system, machine string) {
	for _, f := range c.files() {
		if f.Source.Value != "" && f.Target.Value == "" {
			f.Target.Value = filepath.Base(f.Source.Value)
		}
	}
	for _, v := range c.versions() {
		v.Type.Value = cmp.Or(v.Type.Value, byKustomize)
	}
	names := strings.NewReplacer("{OS}", system, "{ARCH}", machine)
	for i := range c.Images {
		image := &c.Images[i]
		image.Name.Value, image.Policy.Value = names.Replace(image.Name.Value), cmp.Or(image.Policy.Value, "mustLoad")
	}
}
