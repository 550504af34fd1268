package propose

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// templates makes the cluster templates and ClusterClasses of every provider
// build, and adds those that recipes make or that building finds.
func (p *proposer) templates() {
	for i := range p.c.Providers {
		p.builtTemplates(i)
	}
	for i := range p.c.Providers {
		if !p.hasTemplates(i) {
			continue
		}
		label := p.c.Providers[i].Label()
		if p.wasGiven(func(c config.Provider) bool { return c.Label() == label && c.Templates != nil }) {
			continue
		}
		p.joinTemplates(i)
		if c := p.c.Providers[i]; len(c.Templates) == 0 && c.Type == layouts.Infrastructure.Short() &&
			p.release.Open != "" {
			p.foundTemplates(i)
		}
	}
}

// hasTemplates reports whether the i-th provider is the one that templates of the
// tree belong to: an infrastructure provider, or the only one.
func (p *proposer) hasTemplates(i int) bool {
	return len(p.c.Providers) == 1 || p.c.Providers[i].Type == layouts.Infrastructure.Short()
}

// outputs are the names of what the i-th provider builds now; nil if the plan has
// a problem, which the proof reports.
func (p *proposer) outputs(i int) []string {
	only := *p.c
	only.Providers, only.Publish = []config.Provider{p.c.Providers[i]}, nil
	plan, err := config.Resolve(p.fsys, &only, nil)
	if err != nil || len(plan.Providers) != 1 {
		return nil
	}
	return plan.Providers[0].Names()
}

// builtTemplates builds the kustomizations among the templates of the i-th
// provider, lifts the load restrictor where that helps, and excludes the rest.
func (p *proposer) builtTemplates(i int) {
	c := &p.c.Providers[i]
	c.Templates = slices.Clone(c.Templates)
	for n := range c.Templates {
		t := &c.Templates[n]
		if t.Kustomize == "" {
			continue
		}
		covers := config.Matcher([]string{t.Kustomize})
		excluded := config.Matcher(t.Exclude)
		var bad []string
		good, before := 0, t.LoadRestrictor
		for _, dir := range p.kustomizations(root(t.Kustomize)) {
			switch {
			case !covers(dir) || excluded(dir):
			case p.build(dir, t.LoadRestrictor == config.NoRestrictions, nil).err == nil && p.isTemplate(dir):
				good++
			case p.build(dir, true, nil).err == nil && p.isTemplate(dir):
				good++
				t.LoadRestrictor = config.NoRestrictions
			case p.build(dir, true, nil).err != nil:
				bad = append(bad, dir)
				p.leave("%s is left out, because it does not build: %s", dir, firstLine(p.build(dir, true, nil).err))
			default:
				bad = append(bad, dir)
				p.leave("%s is left out, because it contains neither a Cluster nor a ClusterClass", dir)
			}
		}
		if t.LoadRestrictor != before {
			p.decide(fmt.Sprintf("%s[%d].loadRestrictor", keyOf(i, "templates"), n),
				"%s loads files from outside their folder", t.Kustomize)
		}
		t.Exclude = append(slices.Clone(t.Exclude), bad...)
		if good == 0 {
			t.Kustomize = "" // marked for removal
		}
	}
	c.Templates = slices.DeleteFunc(c.Templates, func(t config.Template) bool { return t.Kustomize == "" && t.Files == "" })
	if len(c.Templates) == 0 {
		c.Templates = nil
	}
}

// root is the part of a pattern before its first star.
func root(pattern string) string {
	before, _, ok := strings.Cut(pattern, "*")
	if !ok {
		return pattern
	}
	return path.Clean("./" + before[:strings.LastIndex(before, "/")+1])
}

// isTemplate reports whether a folder that builds makes a cluster: a Cluster, or
// for classes a ClusterClass.
func (p *proposer) isTemplate(dir string) bool {
	kinds := p.tries(dir).kinds
	return kinds["Cluster"]+kinds["ClusterClass"] > 0
}

// joinTemplates writes the kustomizations that are named after their folders as
// one pattern, if it means the same.
func (p *proposer) joinTemplates(i int) {
	c := &p.c.Providers[i]
	before := p.outputs(i)
	byParent := map[string][]config.Template{}
	for _, t := range c.Templates {
		if t.Kustomize != "" && !strings.Contains(t.Kustomize, "*") && t.Name == path.Base(t.Kustomize) &&
			len(t.Exclude) == 0 {
			byParent[path.Dir(t.Kustomize)] = append(byParent[path.Dir(t.Kustomize)], t)
		}
	}
	for _, parent := range slices.Sorted(maps.Keys(byParent)) {
		list := byParent[parent]
		if len(list) < 2 {
			continue
		}
		joined := config.Template{Kustomize: path.Join(parent, "*")}
		for _, dir := range p.kustomizations(parent) {
			if path.Dir(dir) == parent && !slices.ContainsFunc(list, func(t config.Template) bool { return t.Kustomize == dir }) {
				joined.Exclude = append(joined.Exclude, dir)
			}
		}
		rest := slices.DeleteFunc(slices.Clone(c.Templates), func(t config.Template) bool {
			return slices.ContainsFunc(list, func(l config.Template) bool { return l.Kustomize == t.Kustomize })
		})
		for _, t := range list {
			joined.LoadRestrictor = cmp.Or(joined.LoadRestrictor, t.LoadRestrictor)
		}
		kept := c.Templates
		c.Templates = append(rest, joined)
		if !slices.Equal(p.outputs(i), before) {
			c.Templates = kept
		}
	}
}

// foundTemplates looks for kustomizations that make clusters where no recipe and
// no convention names any: in folders of templates.
func (p *proposer) foundTemplates(i int) {
	c := &p.c.Providers[i]
	at := path.Join(detect.Base(c.Components.Path), "templates")
	byParent := map[string][]string{}
	for _, dir := range p.kustomizations(at) {
		if p.tries(dir).err == nil && p.tries(dir).kinds["Cluster"] > 0 {
			byParent[path.Dir(dir)] = append(byParent[path.Dir(dir)], dir)
		}
	}
	if len(byParent) == 0 {
		p.elsewhereTemplates(i, at)
		return
	}
	taken := map[string]bool{}
	for _, parent := range slices.Sorted(maps.Keys(byParent)) {
		for _, dir := range byParent[parent] {
			flavor := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(dir, commonRoot(byParent)), "/", "-"), "-")
			flavor = strings.TrimPrefix(strings.TrimPrefix(flavor, "cluster-template"), "-")
			flavor = cmp.Or(flavor, "default")
			if taken[flavor] {
				p.leave("%s is left out, because another folder already builds the flavor %s", dir, flavor)
				continue
			}
			taken[flavor] = true
			t := config.Template{Kustomize: dir, Name: flavor}
			if p.build(dir, false, nil).err != nil {
				t.LoadRestrictor = config.NoRestrictions
			}
			p.decide(keyOf(i, "templates"),
				"%s: %s builds a Cluster; its flavor is named after the folder", c.Label(), dir)
			c.Templates = append(slices.Clone(c.Templates), t)
		}
	}
	p.joinTemplates(i)
}

// commonRoot is the folder that holds all keys, with a slash after it.
func commonRoot(byParent map[string][]string) string {
	keys := slices.Sorted(maps.Keys(byParent))
	dir := keys[0]
	for _, k := range keys {
		for k != dir && !strings.HasPrefix(k, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	return dir + "/"
}

// elsewhereTemplates tells where templates are that no command reads, with the
// lines that release the first of them.
func (p *proposer) elsewhereTemplates(i int, at string) {
	found := phrase.Only(p.clusters(), func(file string) bool {
		return !strings.HasPrefix(file, at+"/") && !p.released(file)
	})
	for _, file := range found {
		t := config.Template{Files: file}
		if layouts.KindOfFile(path.Base(file)) != layouts.ClusterTemplate {
			t.Name = "default"
		}
		c := p.c.Providers[i]
		c.Templates = []config.Template{t}
		if !p.works(i, c) {
			continue
		}
		entry := "files: " + t.Files
		if t.Name != "" {
			entry += ", flavor: " + t.Name
		}
		more := ""
		if len(found) > 1 {
			more = fmt.Sprintf(" (%d such files)", len(found))
		}
		p.leave("%s is left out, because it is not in the place of a template%s; to release it, add to %s: templates: [{%s}]", file, more, c.Label(), entry)
		return
	}
}

// works reports whether the configuration builds with another i-th provider, so
// that what is advised has been tried.
func (p *proposer) works(i int, c config.Provider) bool {
	_, err := p.prove(func(all *config.Config) {
		all.Providers = slices.Clone(all.Providers)
		all.Providers[i] = c
	})
	return err == nil
}

// others tells which kustomizations build a provider that another one already
// builds, with the lines that release them too.
func (p *proposer) others() {
	used := map[string]int{}
	for i, c := range p.c.Providers {
		used[path.Clean(c.Components.Path)] = i
		for _, v := range c.Variants {
			used[path.Clean(v.Path)] = i
		}
	}
	bases := p.bases()
	for _, dir := range p.kustomizations(".") {
		if _, ok := used[dir]; ok || bases[dir] {
			continue
		}
		id, err := detect.Identify(p.fsys, dir, p.hints)
		if err != nil {
			continue
		}
		i := slices.IndexFunc(p.c.Providers, func(c config.Provider) bool { return c.Label() == id.Label() })
		if i < 0 || p.tries(dir).err != nil || !p.installable(dir) {
			continue
		}
		info, _ := id.Type.Info()
		v := config.Components{Path: dir, File: strings.TrimSuffix(info.ComponentsFile, ".yaml") + "-" + path.Base(dir) + ".yaml"}
		if p.build(dir, false, nil).err != nil {
			v.LoadRestrictor = config.NoRestrictions
		}
		c := p.c.Providers[i]
		if c.Variants = append(slices.Clone(c.Variants), v); p.works(i, c) {
			p.leave("%s is left out, because %s already builds %s; to release it as a further file, add to it: variants: [{path: %s, file: %s}]", dir, c.Components.Path, c.Label(), v.Path, v.File)
		}
	}
}
