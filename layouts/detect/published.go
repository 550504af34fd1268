package detect

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
)

// components adds an entry for each provider whose components the recipes publish
// and that the configuration does not describe.
func (d *detection) components() {
	if d.release == nil || d.file.Discovery.Disabled {
		return
	}
	c := *d.file
	c.Providers = slices.Clone(c.Providers)
	d.file = &c
	at := map[string]int{} // label → entry
	given := c.Providers
	// infrastructure-components.yaml comes before infrastructure-components-dev.yaml, its variant.
	stem := func(p recipes.Product) string { return strings.TrimSuffix(p.Name, ".yaml") }
	products := slices.Clone(d.release.Products)
	slices.SortStableFunc(products, func(a, b recipes.Product) int { return cmp.Compare(stem(a), stem(b)) })
	for _, product := range products {
		typ, dir := layouts.TypeOfComponents(product.Name), product.Kustomize
		named := func(p config.Provider) bool { return clean(p.Components.Path) == dir }
		if typ == "" || !config.IsKustomization(d.fsys, dir) || slices.ContainsFunc(given, named) {
			continue
		}
		id, err := identify(dir, d.facts(dir), d.repo)
		label := layouts.Provider{Type: typ, Name: id.Name}.Label()
		placed := func(p config.Provider) bool { return p.Label() == label && p.Components.Path != "" }
		if id.Name == "" || id.Type == "" && err != nil || slices.ContainsFunc(given, placed) {
			continue // detection says what is missing, or the configuration knows better
		}
		e := entry(product)
		if info, _ := typ.Info(); product.Name == info.ComponentsFile {
			e.File = ""
		}
		if i, ok := at[label]; ok {
			d.variant(&c.Providers[i], i, e, product)
			continue
		}
		i := slices.IndexFunc(given, func(p config.Provider) bool { return p.Label() == label })
		if i < 0 {
			i = len(c.Providers)
			c.Providers = append(c.Providers, config.Provider{Type: typ.Short(), Name: id.Name})
		}
		at[label] = i
		c.Providers[i].Components = e
		d.note(fmt.Sprintf("providers[%d].components", i), "%s: %s builds %s from %s", label, product.Place, product.Name, dir)
	}
}

// entry describes the components that a recipe builds.
func entry(product recipes.Product) config.Components {
	out := config.Components{Path: product.Kustomize, File: product.Name}
	if product.Unrestricted {
		out.LoadRestrictor = config.NoRestrictions
	}
	return out
}

// variant adds further components of a provider.
func (d *detection) variant(p *config.Provider, i int, entry config.Components, product recipes.Product) {
	if entry.File == p.Components.File || slices.ContainsFunc(p.Variants, func(v config.Components) bool { return v.File == entry.File }) {
		return // the same file, built for another purpose
	}
	p.Variants = append(p.Variants, entry)
	d.note(fmt.Sprintf("providers[%d].variants", i), "%s builds %s too; clusterctl reads it only where a URL names it", product.Place, product.Name)
}

// owner is the provider that gets the templates and other files that recipes
// publish: the first infrastructure provider, or else the core provider, whose
// release holds what installs several, or else the first.
func owner(c *config.Config) int {
	for _, t := range []layouts.ProviderType{layouts.Infrastructure, layouts.Core} {
		if i := slices.IndexFunc(c.Providers, func(p config.Provider) bool { return p.Type == t.Short() }); i >= 0 {
			return i
		}
	}
	return 0
}

// published describes the templates, ClusterClasses and other files that the
// recipes publish, so far as the configuration leaves it open. If there may be
// more than the recipes tell, what the conventions find comes first.
func (d *detection) published(c *config.Config) (err error) {
	whole := d.release != nil && d.release.Open == ""
	if !whole {
		err = d.templates(c)
	}
	if d.release == nil || len(c.Providers) == 0 {
		return err
	}
	i := owner(c)
	p := &c.Providers[i]
	said := d.said(*p)
	key := fmt.Sprintf("providers[%d].", i)
	have := map[string]bool{}
	only := *c
	only.Providers, only.Publish = []config.Provider{*p}, nil
	if plan, err := config.Resolve(d.fsys, &only, nil); err == nil && !whole {
		for _, name := range plan.Providers[0].Names() {
			have[name] = true
		}
	}
	if said.Templates == nil {
		found := d.templatesOf(layouts.ClusterTemplate, have, func(n int) string { return fmt.Sprintf("%stemplates[%d].", key, len(p.Templates)+n) })
		if p.Templates = append(p.Templates, found...); len(found) == 0 && whole && len(d.finished) > 0 {
			d.note("", "there are no templates, because %s publishes none", d.release.Place.File)
		}
	}
	if said.ClusterClasses == nil {
		for _, t := range d.templatesOf(layouts.ClusterClass, have, func(n int) string { return fmt.Sprintf("%sclusterClasses[%d].", key, len(p.ClusterClasses)+n) }) {
			p.ClusterClasses = append(p.ClusterClasses, config.ClusterClass(t))
		}
	}
	for _, product := range d.release.Products {
		if a, ok := d.asset(c, product); ok && said.Assets == nil {
			p.Assets = append(p.Assets, a)
			d.note(key+"assets", "%s: %s puts %s into the release", p.Label(), product.Place, product.Name)
		} else if k, _ := d.kustomization(product.Kustomize); k != nil && k.namespace != "" && said.Variants == nil && layouts.KindOfFile(product.Name) == layouts.Asset {
			d.variant(p, i, entry(product), product)
		}
	}
	return err
}

// said is what the configuration says about a provider.
func (d *detection) said(p config.Provider) config.Provider {
	if i := slices.IndexFunc(d.file.Providers, func(f config.Provider) bool {
		return f.Components.Path != "" && clean(f.Components.Path) == clean(p.Components.Path) ||
			f.Type == p.Type && f.Name == p.Name
	}); i >= 0 {
		return d.file.Providers[i]
	}
	return config.Provider{}
}

// templatesOf are the entries for the published files of a kind, but for those that
// are there. All files of a folder become one entry if they keep their names. The
// notes on the n-th entry have the keys that at returns.
func (d *detection) templatesOf(kind layouts.FileKind, have map[string]bool, at func(n int) string) (out []config.Template) {
	whole := "cluster-template*.yaml"
	if kind == layouts.ClusterClass {
		whole = "clusterclass-*.yaml"
	}
	folders := map[string]bool{}
	for _, product := range d.release.Products {
		if layouts.KindOfFile(product.Name) != kind || have[product.Name] {
			continue
		}
		var t config.Template
		t.Name, _ = config.NameOf(kind, product.Name)
		from := single(product)
		switch {
		case product.Kustomize != "" && config.IsKustomization(d.fsys, product.Kustomize):
			t.Kustomize = product.Kustomize
			if product.Unrestricted {
				t.LoadRestrictor = config.NoRestrictions
			}
		case !config.IsFile(d.fsys, from):
			continue // Compare says so
		case path.Base(from) != product.Name:
			t.Files = from
		case d.allOf(path.Dir(from), whole):
			dir := path.Dir(from)
			if folders[dir] {
				continue
			}
			folders[dir] = true
			t = config.Template{Files: path.Join(dir, whole)}
		default:
			t.Files, t.Name = from, ""
		}
		source, what := "files", product.Name
		switch {
		case t.Kustomize != "":
			source = "kustomize"
		case folders[path.Dir(from)] && strings.Contains(t.Files, "*"):
			what = t.Files
		}
		d.note(at(len(out))+source, "%s publishes %s", product.Place, what)
		out = append(out, t)
	}
	return out
}

// single is the file that a product is a copy of, "" for other products.
func single(p recipes.Product) string {
	if p.Kustomize != "" || len(p.From) != 1 {
		return ""
	}
	return p.From[0]
}

// allOf reports whether the files of a folder that match a pattern are all
// published, under their names.
func (d *detection) allOf(dir, pattern string) bool {
	entries, err := fs.ReadDir(d.fsys, dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		p := d.release.Product(e.Name())
		return config.Match(pattern, e.Name()) && (p == nil || single(*p) != path.Join(dir, e.Name()))
	})
}

// asset is the entry for a file that clusterctl does not read.
func (d *detection) asset(c *config.Config, product recipes.Product) (a config.Asset, ok bool) {
	if layouts.KindOfFile(product.Name) != layouts.Asset || product.Kustomize != "" ||
		slices.ContainsFunc(product.Through, func(p string) bool { return p != "cat" && p != "tee" }) {
		return a, false
	}
	a.Name = product.Name
	if from := single(product); config.IsFile(d.fsys, from) {
		if a.Files = from; path.Base(from) == a.Name {
			a.Name = ""
		}
		return a, true
	}
	for _, from := range product.From {
		part := config.Part{Output: outputNamed(c, path.Base(from))}
		if config.IsFile(d.fsys, from) {
			part = config.Part{File: from}
		}
		if part.File == "" && part.Output == "" {
			return a, false
		}
		a.Concat = append(a.Concat, part)
	}
	return a, len(a.Concat) > 0
}

// outputNamed finds the components of that name among all providers.
func outputNamed(c *config.Config, name string) string {
	for _, p := range c.Providers {
		t, _ := layouts.TypeByWord(p.Type)
		info, _ := t.Info()
		if cmp.Or(p.Components.File, info.ComponentsFile) == name {
			return p.Label() + "/" + name
		}
	}
	return ""
}

// generated replaces, in memory, the names of files that only a recipe makes by
// those of the files that it makes them from.
func (d *detection) generated(c *config.Config) {
	if d.release == nil {
		return
	}
	for _, g := range d.release.Generated {
		dir, from := path.Dir(g.To), g.From[0]
		_, file := d.kustomization(dir)
		data, err := fs.ReadFile(d.fsys, file)
		if err != nil || !bytes.Contains(data, []byte(g.Name)) || !config.IsFile(d.fsys, from) ||
			path.Dir(from) != dir {
			continue
		}
		for i := range c.Providers {
			p := &c.Providers[i]
			if at := Base(p.Components.Path); at != "." && !strings.HasPrefix(dir, at+"/") ||
				p.SourceReplacements != nil && !p.Origin.IsZero() {
				continue
			}
			p.SourceReplacements = append(p.SourceReplacements, config.SourceReplacement{File: file, Old: g.Name, New: path.Base(from)})
			d.note(fmt.Sprintf("providers[%d].sourceReplacements", i), "%s names %s, which only %s makes from %s; put its changes under images", file, g.Name, g.Place, path.Base(from))
		}
	}
}

// A Difference is a file that the recipes of a tree publish and its build makes
// otherwise.
type Difference struct {
	recipes.Place
	// Name is that of the file in the release, As what the build calls it: empty if
	// it leaves the file out.
	Name, As string
	// Filter is a program that the recipe sends the file through and the build does
	// not run; it is set alone.
	Filter string
	// Stops is set if a release must not be made like this.
	Stops bool
}

// printed reports whether the recipe writes objects itself.
func (d Difference) printed() bool { return d.Filter == "printf" || d.Filter == "echo" }

// String says what differs.
func (d Difference) String() string {
	switch {
	case d.printed():
		return fmt.Sprintf("%s writes a part of %s with %s, but the build leaves that part out", d.Place, d.Name, d.Filter)
	case d.Filter != "":
		return fmt.Sprintf("%s pipes %s through %s, which the build does not run", d.Place, d.Name, d.Filter)
	case d.As != "":
		return fmt.Sprintf("%s publishes %s, but the build writes it as %s", d.Place, d.Name, d.As)
	}
	return fmt.Sprintf("%s publishes %s, but the build leaves it out", d.Place, d.Name)
}

// Compare says what the recipes publish and a plan does not make.
func Compare(fsys fs.FS, release *recipes.Release, c *config.Config, plan *config.Plan) (out []Difference) {
	if release == nil {
		return nil
	}
	meant := config.Matcher(c.Discovery.LeaveOut)
	for _, product := range release.Products {
		planned, other := find(plan, product)
		filters := slices.DeleteFunc(slices.Clone(product.Through), func(p string) bool { return p == "cat" || p == "tee" })
		there := product.Kustomize != "" && config.IsKustomization(fsys, product.Kustomize) ||
			product.Kustomize == "" && product.From == nil && product.Joined == nil && len(product.Through) > 0 || // a program writes it
			slices.ContainsFunc(product.Joined, func(q recipes.Product) bool { return config.IsKustomization(fsys, q.Kustomize) }) ||
			slices.ContainsFunc(product.From, func(f string) bool { return config.IsFile(fsys, f) })
		reads := layouts.KindOfFile(product.Name) != layouts.Asset
		d := Difference{Place: product.Place, Name: product.Name}
		switch {
		case meant(product.Name) || planned != nil && (len(filters) == 0 || !planned.Origin.IsZero()):
			continue
		case planned != nil:
			d.Filter = filters[0]
			d.Stops = d.printed()
		case other != nil && !other.Origin.IsZero() && path.Base(other.Source()) != other.Name:
			continue // the configuration names it otherwise, not only its source does
		case other != nil:
			d.As, d.Stops = other.Name, reads
		default:
			d.Stops = reads && there
		}
		out = append(out, d)
	}
	return out
}

// find returns the planned output of a product's name, and else one that is made
// from the same source.
func find(plan *config.Plan, product recipes.Product) (same, other *config.Output) {
	for i := range plan.Providers {
		p := &plan.Providers[i]
		if o := p.Output(product.Name); o != nil {
			return o, nil
		}
		for j := range p.Outputs {
			o := &p.Outputs[j]
			if o.Kustomize != "" && o.Kustomize == product.Kustomize || o.File != "" && o.File == single(product) {
				other = o
			}
		}
	}
	return nil, other
}
