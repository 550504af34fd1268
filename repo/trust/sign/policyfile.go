package sign

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// apiVersion and kind begin a policy file.
const (
	apiVersion = "clusterctl-repo.dev/v1alpha1"
	kind       = "TrustPolicy"
)

// DecodePolicy reads a policy file strictly. name is the path shown in messages; read
// returns the content of a key file, by the path that the policy gives. The error
// joins every mistake, each a *yamldoc.Error.
func DecodePolicy(name string, data []byte, read func(file string) ([]byte, error)) (*Policy, error) {
	stream := yamldoc.Parse(yamldoc.NewFile(name, data))
	switch {
	case stream.Err != nil:
		return nil, stream.Err
	case len(stream.Docs) == 0:
		return nil, &yamldoc.Error{File: name, Err: fmt.Errorf("the file is empty; it needs at least\napiVersion: %s\nkind: %s", apiVersion, kind)}
	case stream.Docs[0].Err != nil:
		return nil, stream.Docs[0].Err
	}
	d := &decoder{doc: stream.Docs[0]}
	if len(stream.Docs) > 1 {
		d.failf(nil, "want one document, got %d", len(stream.Docs))
	}
	p := d.policy(stream.Docs[0].Root, read)
	if len(d.problems) == 0 {
		return p, nil
	}
	slices.SortStableFunc(d.problems, func(a, b *yamldoc.Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return nil, errors.Join(phrase.List(d.problems, func(e *yamldoc.Error) error { return e })...)
}

type decoder struct {
	doc      *yamldoc.Document
	problems []*yamldoc.Error
}

func (d *decoder) failf(n *yamldoc.Node, format string, args ...any) {
	d.problems = append(d.problems, &yamldoc.Error{File: d.doc.File.Name, Pos: d.doc.Pos(n), Err: fmt.Errorf(format, args...)})
}

func (d *decoder) policy(root *yamldoc.Node, read func(string) ([]byte, error)) *Policy {
	p := &Policy{}
	d.object(root, "the policy", []string{"apiVersion", "kind"}, map[string]func(*yamldoc.Node){
		"apiVersion": func(n *yamldoc.Node) { d.constant(n, "apiVersion", apiVersion) },
		"kind":       func(n *yamldoc.Node) { d.constant(n, "kind", kind) },
		"requireProvenance": func(n *yamldoc.Node) {
			if p.RequireProvenance = n.Bool(); !n.Is(yamldoc.Bool) {
				d.failf(n, "requireProvenance must be true or false")
			}
		},
		"keys": d.each("keys", func(n *yamldoc.Node) {
			var k TrustedKey
			d.object(n, "an entry of keys", []string{"file"}, map[string]func(*yamldoc.Node){
				"file": func(n *yamldoc.Node) {
					file := d.text(n, "file")
					data, err := read(file)
					if err == nil {
						if k.PublicKey, err = LoadPublicKey(data); err != nil {
							err = fmt.Errorf("%s %w", file, err)
						}
					}
					if err != nil {
						d.failf(n, "%w", err)
					}
				},
				"providers": d.each("providers", func(n *yamldoc.Node) { k.Providers = append(k.Providers, d.pattern(n, "providers")) }),
			})
			p.Keys = append(p.Keys, k)
		}),
		"unsigned": d.each("unsigned", func(n *yamldoc.Node) {
			var e exception
			d.object(n, "an entry of unsigned", []string{"provider", "reason"}, map[string]func(*yamldoc.Node){
				"provider": func(n *yamldoc.Node) { e.Provider = d.pattern(n, "provider") },
				"reason":   func(n *yamldoc.Node) { e.Reason = d.text(n, "reason") },
				"versions": d.each("versions", func(n *yamldoc.Node) {
					v := d.text(n, "versions")
					if _, err := layouts.ParseVersion(v); err != nil && v != "" {
						d.failf(n, "versions: %w", err)
					}
					e.Versions = append(e.Versions, v)
				}),
			})
			p.Unsigned = append(p.Unsigned, e)
		}),
	})
	return p
}

// object calls a function for each field, and reports those that are unknown,
// repeated or missing.
func (d *decoder) object(n *yamldoc.Node, what string, needed []string, fields map[string]func(*yamldoc.Node)) {
	if !n.Is(yamldoc.Map) {
		d.failf(n, "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := range n.Fields() {
		f := &n.Fields()[i]
		set := fields[f.Name]
		switch {
		case set == nil:
			d.failf(f.Key(), "unknown field %q in %s", f.Name, what)
		case seen[f.Name]:
			d.failf(f.Key(), "the field %q is given twice", f.Name)
		default:
			set(f.Value)
		}
		seen[f.Name] = true
	}
	for _, name := range needed {
		if !seen[name] {
			d.failf(n, "%s needs the field %q", what, name)
		}
	}
}

// each reads a list.
func (d *decoder) each(what string, item func(*yamldoc.Node)) func(*yamldoc.Node) {
	return func(n *yamldoc.Node) {
		if !n.Is(yamldoc.List) {
			d.failf(n, "%s must be a list", what)
			return
		}
		if len(n.List()) == 0 {
			d.failf(n, "%s is empty; leave it out", what)
		}
		for _, i := range n.List() {
			item(i)
		}
	}
}

func (d *decoder) text(n *yamldoc.Node, what string) string {
	if !n.Is(yamldoc.String) || n.Str() == "" {
		d.failf(n, "%s must be a non-empty string", what)
		return ""
	}
	return n.Str()
}

func (d *decoder) constant(n *yamldoc.Node, what, want string) {
	if got := d.text(n, what); got != "" && got != want {
		d.failf(n, "%s is %q; this program supports %s", what, got, want)
	}
}

// pattern reads a pattern of labels.
func (d *decoder) pattern(n *yamldoc.Node, what string) string {
	p := d.text(n, what)
	if _, err := path.Match(p, ""); err != nil {
		d.failf(n, "%s: %q is not a label pattern, such as infrastructure-*", what, p)
	}
	return p
}
