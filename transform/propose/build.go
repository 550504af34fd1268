package propose

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// outcome is what kustomize makes of a folder.
type outcome struct {
	kinds map[string]int
	err   error
}

// build builds a kustomization, each one once.
func (p *proposer) build(dir string, unrestricted bool, replace map[string][]byte) outcome {
	key := fmt.Sprint(dir, unrestricted, slices.Sorted(maps.Keys(replace)))
	if o, ok := p.built[key]; ok {
		return o
	}
	o := outcome{kinds: map[string]int{}}
	tree := p.tree
	if replace != nil {
		var err error
		if tree, err = kustomize.OpenTree(p.dir, replace); err != nil {
			return outcome{err: err}
		}
		defer tree.Close()
	}
	objs, err := kustomize.Build(p.ctx, tree, dir, kustomize.Options{NoLoadRestrictions: unrestricted})
	o.err = err
	for _, obj := range objs {
		kind, _ := obj["kind"].(string)
		o.kinds[kind]++
		if kind == "Cluster" || kind == "ClusterClass" {
			apiVersion, _ := obj["apiVersion"].(string)
			if group, _, _ := strings.Cut(apiVersion, "/"); group != "cluster.x-k8s.io" {
				o.kinds[kind]--
			}
		}
	}
	p.built[key] = o
	return o
}

// tries builds a folder with the load restrictor, or else without.
func (p *proposer) tries(dir string) outcome {
	if o := p.build(dir, false, nil); o.err == nil {
		return o
	}
	return p.build(dir, true, nil)
}

// installable reports whether a folder that builds holds what clusterctl installs:
// a Namespace with a controller.
func (p *proposer) installable(dir string) bool {
	kinds := p.tries(dir).kinds
	return kinds["Namespace"] == 1 && kinds["Deployment"]+kinds["StatefulSet"]+kinds["DaemonSet"] > 0
}

// hidden are folders that hold no product, wherever one is looked for.
var hidden = []string{".git", ".github", "node_modules", "vendor", "third_party", "testdata", "e2e", "charts", "samples", "tilt"}

const maxFolders = 400

// kustomizations lists the folders with a kustomization below dir.
func (p *proposer) kustomizations(dir string) []string {
	var out []string
	p.walk(dir, func(name string, entry fs.DirEntry) {
		if slices.Contains(layouts.KustomizationFiles, entry.Name()) && len(out) < maxFolders {
			out = append(out, path.Dir(name))
		}
	})
	return out
}

func (p *proposer) walk(dir string, visit func(name string, entry fs.DirEntry)) {
	_ = fs.WalkDir(p.fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case entry.IsDir() && name != dir && (slices.Contains(hidden, entry.Name()) || layouts.InRelease(name)):
			return fs.SkipDir
		case !entry.IsDir():
			visit(name, entry)
		}
		return nil
	})
}

// buildable makes the components of every provider build: it lifts the load
// restrictor, replaces files that only a recipe makes, chooses another
// kustomization of the same provider, or leaves the provider out.
func (p *proposer) buildable() {
	for i := 0; i < len(p.c.Providers); i++ {
		c := &p.c.Providers[i]
		err := p.components(i, &c.Components)
		if err != nil && len(p.c.Providers) > 1 && !p.declared(c.Components.Path) {
			p.leave("%s is left out, because %s does not build: %s", c.Label(), c.Components.Path, firstLine(err))
			p.c.Discovery.Ignore = append(slices.Clone(p.c.Discovery.Ignore), c.Components.Path)
			p.drop(i)
			i--
			continue
		}
		c.Variants = slices.DeleteFunc(slices.Clone(c.Variants), func(v config.Components) bool {
			err := p.components(i, &v)
			if err != nil {
				p.leave("%s is left out, because %s does not build: %s", v.File, v.Path, firstLine(err))
			}
			return err != nil
		})
		if len(c.Variants) == 0 {
			c.Variants = nil
		}
	}
}

// declared reports whether the user gave the entry of a folder.
func (p *proposer) declared(dir string) bool {
	return p.wasGiven(func(c config.Provider) bool { return path.Clean(c.Components.Path) == dir })
}

// wasGiven reports whether the user gave such an entry.
func (p *proposer) wasGiven(such func(config.Provider) bool) bool {
	return p.opts.Given != nil && slices.ContainsFunc(p.opts.Given.Providers, such)
}

// drop removes the i-th provider and the notes on it.
func (p *proposer) drop(i int) {
	p.c.Providers = slices.Delete(slices.Clone(p.c.Providers), i, i+1)
	p.notes = slices.DeleteFunc(p.notes, func(n config.Note) bool { return strings.HasPrefix(n.Key, fmt.Sprintf("providers[%d].", i)) })
	for n := range p.notes {
		for j := i + 1; j <= len(p.c.Providers); j++ {
			if rest, ok := strings.CutPrefix(p.notes[n].Key, fmt.Sprintf("providers[%d].", j)); ok {
				p.notes[n].Key = keyOf(j-1, rest)
			}
		}
	}
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

func (p *proposer) components(i int, c *config.Components) error {
	dir := path.Clean(c.Path)
	if !config.IsKustomization(p.fsys, dir) {
		return nil // a manifest, or a mistake that the plan reports
	}
	replace := p.replacements(i)
	err := p.build(dir, c.LoadRestrictor == config.NoRestrictions, replace).err
	if err == nil {
		return nil
	}
	if c.LoadRestrictor == "" && p.build(dir, true, replace).err == nil {
		c.LoadRestrictor = config.NoRestrictions
		p.decide(keyOf(i, "components.loadRestrictor"), "%s loads files from outside its folder", dir)
		return nil
	}
	if _, ok := errors.AsType[*kustomize.MissingError](err); ok {
		if p.substitute(i, dir, c.LoadRestrictor == config.NoRestrictions) {
			return nil
		}
	}
	_, remote := errors.AsType[*kustomize.RemoteError](err)
	built := func(product recipes.Product) bool { return product.Kustomize == dir }
	if other := p.sibling(i, dir); other != "" && !(remote && slices.ContainsFunc(p.release.Products, built)) {
		p.notes = slices.DeleteFunc(p.notes, func(n config.Note) bool { return n.Key == keyOf(i, "components") })
		p.decide(keyOf(i, "components.path"),
			"%s does not build, and %s builds the same provider: %s", dir, other, firstLine(err))
		c.Path = other
		return nil
	}
	if remote && !p.c.RemoteBases {
		p.c.RemoteBases = true
		p.decide("remoteBases", "%s loads from the network; build it with --allow remote: %s", dir, firstLine(err))
	}
	return err
}

// replacements is what the source replacements of the i-th provider make of files.
func (p *proposer) replacements(i int) (out map[string][]byte) {
	for _, r := range p.c.Providers[i].SourceReplacements {
		data, ok := out[r.File]
		if !ok {
			data, _ = fs.ReadFile(p.fsys, path.Clean(r.File)) // the plan reports an error
		}
		if out == nil {
			out = map[string][]byte{}
		}
		out[r.File] = bytes.ReplaceAll(data, []byte(r.Old), []byte(r.New))
	}
	return out
}

// sibling finds another kustomization that builds the i-th provider.
func (p *proposer) sibling(i int, dir string) string {
	label, best := p.c.Providers[i].Label(), ""
	for _, other := range p.kustomizations(".") {
		if other == dir || best != "" && strings.Count(other, "/") >= strings.Count(best, "/") {
			continue
		}
		id, err := detect.Identify(p.fsys, other, p.hints)
		if err == nil && id.Label() == label && p.build(other, false, nil).err == nil && p.installable(other) {
			best = other
		}
	}
	return best
}

// substitute replaces the names of files that a recipe makes from others of the
// tree by the names of these, in memory, until the folder builds.
func (p *proposer) substitute(i int, dir string, unrestricted bool) bool {
	const rounds = 10
	replace := map[string][]byte{}
	var added []config.SourceReplacement
	for range rounds {
		err := p.build(dir, unrestricted, replace).err
		if err == nil {
			c := &p.c.Providers[i]
			c.SourceReplacements = append(slices.Clone(c.SourceReplacements), added...)
			for _, r := range added {
				p.decide(keyOf(i, "sourceReplacements"), "%s names %s, which only a recipe makes from %s; put its changes under images", r.File, r.Old, r.New)
			}
			return true
		}
		missing, ok := errors.AsType[*kustomize.MissingError](err)
		if !ok {
			return false
		}
		file, data := config.Kustomization(p.fsys, missing.Dir)
		source := p.sourceOf(path.Join(missing.Dir, missing.Target))
		if source == "" || file == "" {
			return false
		}
		name := strings.Repeat("../", strings.Count(missing.Dir, "/")+1) + source
		if path.Dir(source) == missing.Dir {
			name = path.Base(source)
		}
		if before, ok := replace[file]; ok {
			data = before
		}
		replace = maps.Clone(replace)
		replace[file] = []byte(strings.ReplaceAll(string(data), missing.Target, name))
		added = append(added, config.SourceReplacement{File: file, Old: missing.Target, New: name})
		delete(p.built, fmt.Sprint(dir, unrestricted, slices.Sorted(maps.Keys(replace))))
	}
	return false
}

// sourceOf finds the file that a missing one is made from: as a recipe says, or
// the one next to it whose name it extends, as in manager_image_patch_edited.yaml.
func (p *proposer) sourceOf(missing string) string {
	for _, product := range p.release.Generated {
		if product.To == missing && config.IsFile(p.fsys, product.From[0]) {
			return product.From[0]
		}
	}
	ext := path.Ext(missing)
	stem := strings.TrimSuffix(path.Base(missing), ext)
	best := ""
	entries, _ := fs.ReadDir(p.fsys, path.Dir(missing))
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ext)
		rest, longer := strings.CutPrefix(stem, base)
		if ok && longer && rest != "" && strings.ContainsAny(rest[:1], "_-.") && len(base) > len(best) {
			best = base
		}
	}
	if best == "" {
		return ""
	}
	return path.Join(path.Dir(missing), best+ext)
}

// bases are the folders that other kustomizations build upon.
func (p *proposer) bases() map[string]bool {
	out := map[string]bool{}
	for _, dir := range p.kustomizations(".") {
		file, data := config.Kustomization(p.fsys, dir)
		for _, d := range yamldoc.Parse(yamldoc.NewFile(file, data)).Docs {
			for _, key := range []string{"resources", "bases", "components"} {
				for _, r := range d.Root.Get(key).List() {
					out[path.Join(dir, r.Str())] = true
				}
			}
		}
	}
	return out
}

// chooseMetadata answers which metadata.yaml a provider without one above it has:
// the one in a folder that a recipe copies it from, or with the highest series.
func (p *proposer) chooseMetadata(e *detect.MetadataError) bool {
	best := p.bestMetadata(e.Files)
	id, err := detect.Identify(p.fsys, e.Provider, p.hints)
	if err != nil || best == "" {
		return false
	}
	i := slices.IndexFunc(p.given.Providers, func(c config.Provider) bool { return path.Clean(c.Components.Path) == e.Provider })
	if i < 0 {
		i = len(p.given.Providers)
		p.given.Providers = append(p.given.Providers, config.Provider{Type: id.Type.Short(), Name: id.Name, Components: config.Components{Path: e.Provider}})
	}
	p.given.Providers[i].Metadata = best
	p.decide(keyOf(i, "metadata"), "%s: of %s, %s lists the newest series", id.Label(), strings.Join(e.Files, ", "), best)
	return true
}

// bestMetadata returns the file with the highest release series; the first of
// several.
func (p *proposer) bestMetadata(names []string) string {
	best, top := "", [2]int64{-1, -1}
	for _, name := range names {
		if s, ok := detect.SeriesOf(p.fsys, name).Highest(); ok && (s[0] > top[0] || s[0] == top[0] && s[1] > top[1]) {
			best, top = name, s
		}
	}
	return best
}

// coveringMetadata gives each provider a metadata.yaml that covers the version: a
// folder further above may list newer series than the nearest.
func (p *proposer) coveringMetadata() {
	version, _ := layouts.ParseVersion(p.opts.Version.All)
	for i := range p.c.Providers {
		c := &p.c.Providers[i]
		used := cmp.Or(c.Metadata, p.c.Metadata)
		if p.declared(path.Clean(c.Components.Path)) || used == "" {
			continue
		}
		var above []string
		for dir := path.Clean(c.Components.Path); ; dir = path.Dir(dir) {
			if file := path.Join(dir, layouts.MetadataFile); config.IsFile(p.fsys, file) {
				above = append(above, file)
			}
			if dir == "." || dir == "/" {
				break
			}
		}
		best := p.bestMetadata(append([]string{used}, above...))
		for _, file := range slices.Backward(append([]string{used}, above...)) {
			if _, covers := detect.SeriesOf(p.fsys, file)[[2]int64{int64(version.Major()), int64(version.Minor())}]; covers && !version.IsZero() {
				best = file
			}
		}
		if best != "" && best != used {
			c.Metadata = best
			p.decide(keyOf(i, "metadata"), "%s: %s lists series that %s lacks", c.Label(), best, used)
		}
	}
}
