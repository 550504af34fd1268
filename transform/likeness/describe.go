package likeness

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// describe puts what was found into the configuration. What that says already stays.
func (l *likening) describe() error {
	given := l.c.Providers
	l.c.Providers = nil
	for _, release := range l.Each {
		p := l.provider(release)
		for _, g := range given {
			if g.Label() == p.Label() {
				p = g.Over(p)
			}
		}
		if p.Components.Path != "" {
			l.c.Providers = append(l.c.Providers, p)
		}
	}
	if len(l.c.Providers) > 0 {
		return nil
	}
	why := "nothing in the tree makes the components of the release"
	for _, f := range l.files {
		if f.components && f.from.why != "" {
			why += "; " + f.from.why
		}
	}
	return &transform.InputError{Err: errors.New(why)}
}

// provider describes what the origins of a release say.
func (l *likening) provider(release *repo.Release) config.Provider {
	p := config.Provider{
		Type: release.Provider.Type.Short(), Name: release.Provider.Name,
		Templates: []config.Template{}, ClusterClasses: []config.ClusterClass{}, // there are no others
	}
	info, _ := release.Provider.Type.Info()
	mine := phrase.Only(l.files, func(f file) bool { return f.release == release && f.from.found() })
	kind := func(kind layouts.FileKind) []file {
		return phrase.Only(mine, func(f file) bool { return f.kind == kind && f.from.parts == nil && !f.components })
	}
	p.Templates = append(p.Templates, l.entries(kind(layouts.ClusterTemplate), "cluster-template*.yaml")...)
	for _, t := range l.entries(kind(layouts.ClusterClass), "clusterclass-*.yaml") {
		p.ClusterClasses = append(p.ClusterClasses, config.ClusterClass(t))
	}
	for _, f := range mine {
		o := f.from
		p.SourceReplacements = added(p.SourceReplacements, o.sources)
		p.Images = added(p.Images, o.images)
		l.c.RemoteBases = l.c.RemoteBases || o.remote
		for _, r := range o.literals {
			p.Replacements = append(p.Replacements, config.Replacement{Files: f.name, Old: r.old, New: r.new})
		}
		switch c := o.components(); {
		case f.components || f.kind == layouts.Asset && o.dir != "":
			if c.File = f.name; f.name == info.ComponentsFile {
				c.File = ""
			}
			main := f.name == cmp.Or(release.ComponentsFile, info.ComponentsFile) || p.Components.Path == ""
			if f.components && main {
				p.Components, c = c, p.Components
			}
			if c.Path != "" {
				p.Variants = append(p.Variants, c)
			}
		case f.kind == layouts.Metadata:
			p.Metadata = o.file
		case o.parts != nil:
			p.Assets = append(p.Assets, config.Asset{Name: f.name, Concat: o.parts})
		case f.kind == layouts.Asset:
			a := config.Asset{Files: o.file}
			if path.Base(o.file) != f.name {
				a.Name = f.version.placeholders(f.name)
			}
			p.Assets = append(p.Assets, a)
		}
	}
	p.Replacements = merged(p.Replacements, mine)
	return p
}

// merged writes what is replaced in several files as one replacement, if no other file
// whose name matches has the text, before or after.
func merged(list []config.Replacement, mine []file) (out []config.Replacement) {
	same := func(r config.Replacement) string {
		family := strings.Split(r.Files, "-") // as in cluster-template-k3s-ha.yaml
		return strings.Join(append(family[:min(3, len(family))], r.Old, r.New), "\n")
	}
	for _, group := range phrase.Groups(list, same) {
		one := group[0]
		prefix := one.Files
		for _, r := range group {
			for !strings.HasPrefix(r.Files, prefix) {
				prefix = prefix[:len(prefix)-1]
			}
		}
		one.Files = strings.TrimSuffix(prefix, path.Ext(one.Files)) + "*" + path.Ext(one.Files)
		others := slices.ContainsFunc(mine, func(f file) bool {
			is := func(r config.Replacement) bool { return r.Files == f.name && r.Old == one.Old }
			return config.Match(one.Files, f.name) && !slices.ContainsFunc(group, is) &&
				(bytes.Contains(f.data, []byte(one.Old)) || slices.ContainsFunc(list, is))
		})
		if len(group) > 1 && prefix != "" && !others {
			group = []config.Replacement{one}
		}
		out = append(out, group...)
	}
	return out
}

func added[T any](list, more []T) []T {
	for _, m := range more {
		if !slices.ContainsFunc(list, func(other T) bool { return reflect.DeepEqual(other, m) }) {
			list = append(list, m)
		}
	}
	return list
}

// entries describe templates: those of a folder by one pattern, if it means no others,
// and the rest one by one.
func (l *likening) entries(list []file, pattern string) (out []config.Template) {
	at := func(f file) string { return cmp.Or(f.from.file, f.from.dir) }
	folder := func(f file) string { return fmt.Sprint(f.from.file != "", f.from.unrestricted, path.Dir(at(f))) }
	for _, group := range phrase.Groups(list, folder) {
		first := group[0].from
		match := pattern
		t := config.Template{Files: path.Join(path.Dir(first.file), match), LoadRestrictor: first.components().LoadRestrictor}
		there := slices.Collect(maps.Keys(l.sizes))
		if first.dir != "" {
			match = "*"
			t.Files, t.Kustomize = "", path.Join(path.Dir(first.dir), match)
			there = l.kusts
		}
		named := func(f file) bool { // as its source
			return path.Base(at(f)) == f.name || f.from.dir != "" && path.Base(at(f)) == f.word()
		}
		natural := phrase.List(phrase.Only(group, named), at)
		others := phrase.Only(there, func(file string) bool {
			return path.Dir(file) == path.Dir(at(group[0])) && config.Match(match, path.Base(file)) &&
				!slices.Contains(natural, file)
		})
		whole := len(natural) > 0 && len(others) == 0 || len(natural) > 1 && first.dir != ""
		if whole {
			slices.Sort(others)
			t.Exclude = others
			out = append(out, t)
		}
		for _, f := range group {
			if is := named(f); !whole || !is {
				one := config.Template{Files: f.from.file, Kustomize: f.from.dir, LoadRestrictor: t.LoadRestrictor}
				if !is || f.from.dir != "" {
					one.Name = f.word()
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// alone completes the configuration, and sees to it that nothing is detected that the
// releases do not have.
func (l *likening) alone() error {
	first := l.c.Providers[0].Metadata
	if !slices.ContainsFunc(l.c.Providers, func(p config.Provider) bool { return p.Metadata != first }) {
		l.c.Metadata = cmp.Or(l.c.Metadata, first)
		for i := range l.c.Providers {
			l.c.Providers[i].Metadata = ""
		}
	}
	full, _, err := complete(l.dir, l.c)
	if err != nil || len(full.Providers) > len(l.c.Providers) {
		l.c.Discovery.Disabled = true
		full, _, err = complete(l.dir, l.c)
	}
	l.c = full
	return err
}
