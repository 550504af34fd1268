package detect

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// templates finds the cluster templates and ClusterClasses of the providers
// that say nothing about theirs: in the folder templates next to the config
// folder of an infrastructure provider, or of the only provider of the tree,
// and else at the root; for infrastructure providers in any other folder, if
// it is the only one with finished cluster templates.
func (d *detection) templates(c *config.Config) error {
	owner := map[string]int{}       // folder of templates → provider
	for i, p := range c.Providers { // p is what was said
		if p.Type != layouts.Infrastructure.Short() && len(c.Providers) > 1 {
			continue
		}
		dir := path.Join(base(p.Components.Path), "templates")
		for _, place := range []string{dir, path.Join(dir, "flavors")} {
			if p.Templates == nil && slices.Contains(d.dangling, place) {
				return fmt.Errorf("%s, where templates belong, is a broken link", place)
			}
		}
		if _, err := fs.Stat(d.fsys, dir); err != nil {
			dir = "templates"
		}
		if first, ok := owner[dir]; ok {
			d.note("", "the templates in %s go to the provider %s", dir, c.Providers[first].Name)
			continue
		}
		owner[dir] = i
		d.committed(c, i, dir)
		if p.Templates == nil && c.Providers[i].Templates == nil && p.Type == layouts.Infrastructure.Short() {
			d.otherTemplates(c, i, dir)
		}
	}
	return nil
}

// otherTemplates looks for the templates of the i-th provider outside dir, the
// place of the convention, where none are. What it leaves to the user it notes.
func (d *detection) otherTemplates(c *config.Config, i int, dir string) {
	label := c.Providers[i].Type + "-" + c.Providers[i].Name
	below := phrase.Only(d.kustomizations, func(k string) bool { return strings.HasPrefix(k, dir+"/") })
	folders := few(phrase.List(below, func(k string) string { return path.Join(path.Dir(k), "*") }))
	if len(folders) > 0 {
		d.note("", "%s: the kustomizations in %s are not built; list those that make cluster templates under templates in its entry",
			label, strings.Join(folders, ", "))
		return
	}
	folders = few(phrase.List(phrase.Only(d.finished, func(f string) bool {
		return layouts.KindOfFile(path.Base(f)) == layouts.ClusterTemplate
	}), path.Dir))
	switch {
	case len(folders) == 0:
	case len(folders) == 1 && !config.IsKustomization(d.fsys, folders[0]):
		d.note("", "%s: the templates are in %s, the only folder that holds any", label, folders[0])
		d.committed(c, i, folders[0])
	default:
		d.note("", "%s: no templates are in %s, but some are in %s; list those that are released under templates in its entry",
			label, dir, strings.Join(folders, ", "))
	}
}

// few sorts names, drops repeated ones and bounds how many there are.
func few(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxSuggestions {
		names = append(names[:maxSuggestions:maxSuggestions], "…")
	}
	return names
}

// base is the folder that a provider lives in: the one that holds its config.
func base(components string) string {
	names := strings.Split(clean(components), "/")
	for i, n := range slices.Backward(names) {
		if n == "config" {
			return path.Join(append([]string{"."}, names[:i]...)...)
		}
	}
	return "."
}

// committed describes the templates in dir: the finished files, or the flavors
// they would be built from if there are none.
func (d *detection) committed(c *config.Config, i int, dir string) {
	p := &c.Providers[i]
	key := fmt.Sprintf("providers[%d]", i)
	entries, err := fs.ReadDir(d.fsys, dir)
	if err != nil {
		return
	}
	var templates, classes int
	var strange []string
	d.nested(dir)
	for _, e := range entries {
		name := e.Name()
		switch layouts.KindOfFile(name) {
		case layouts.ClusterTemplate:
			templates++
		case layouts.ClusterClass:
			classes++
		default:
			if config.Match("cluster-template*.yaml", name) && !e.IsDir() {
				strange = append(strange, path.Join(dir, name))
			}
		}
	}
	if p.Templates == nil {
		flavors := path.Join(dir, "flavors")
		switch {
		case templates > 0:
			p.Templates = []config.Template{{Files: path.Join(dir, "cluster-template*.yaml"), Exclude: strange}}
			d.note(key+".templates", "%s in %s", phrase.Count(templates, "finished template"), dir)
			if s := d.flavorFolders(flavors); len(s) > 0 {
				d.note(key+".templates", "the kustomizations in %s are not built, because finished templates are there", flavors)
			}
		default:
			for _, pattern := range d.flavorFolders(flavors) {
				p.Templates = append(p.Templates, config.Template{Kustomize: pattern})
				d.note(key+".templates", "no finished templates in %s, but kustomizations in %s", dir, pattern)
			}
		}
		for _, f := range strange {
			d.note(key+".templates", "%s is left out: its name is neither cluster-template.yaml nor cluster-template-FLAVOR.yaml", f)
		}
	}
	if p.ClusterClasses == nil && classes > 0 {
		p.ClusterClasses = []config.ClusterClass{{Files: path.Join(dir, "clusterclass-*.yaml")}}
		d.note(key+".clusterClasses", "%s in %s", phrase.Count(classes, "finished ClusterClass file"), dir)
	}
}

// nested notes the finished files in folders below dir.
func (d *detection) nested(dir string) {
	for _, f := range d.finished {
		at := path.Dir(f)
		if !strings.HasPrefix(at, dir+"/") || config.IsKustomization(d.fsys, at) {
			continue
		}
		d.note("", "%s is not released, because it is not directly in %s; if it should be, list it under templates or clusterClasses", f, dir)
	}
}

// flavorFolders returns the patterns that cover the kustomizations one and two
// levels below dir.
func (d *detection) flavorFolders(dir string) []string {
	return phrase.Only([]string{path.Join(dir, "*"), path.Join(dir, "*", "*")}, func(pattern string) bool {
		return slices.ContainsFunc(d.kustomizations, config.Matcher([]string{pattern}))
	})
}
