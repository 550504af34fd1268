package transform

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

type Image struct {
	// Provider is the label of the provider whose components it is for; empty for
	// all that have the image.
	Provider string
	config.Image
}

func (o *Options) chosen(label string) bool {
	return len(o.Providers) == 0 || slices.Contains(o.Providers, label)
}

// needed returns a function that reports whether an output of a provider, or any
// output if the name is empty, has to be made.
func (o *Options) needed(plan *config.Plan) func(label, name string) bool {
	parts := map[string]bool{}
	for _, p := range plan.Providers {
		for _, out := range p.Outputs {
			for _, part := range out.Concat {
				if part.Output != "" && o.chosen(p.Label()) {
					label, _, _ := strings.Cut(part.Output, "/")
					parts[part.Output], parts[label+"/"] = true, true
				}
			}
		}
	}
	return func(label, name string) bool { return o.chosen(label) || parts[label+"/"+name] }
}

// Prepare starts what a build waits for in the end, next to what the caller does
// before it. It pays if the build finds nothing in a cache.
func Prepare() { kustomize.Prepare() }

// Make makes the releases of a plan from the source tree in dir, in the order of
// the plan. The same input gives the same bytes at any parallelism. Nothing is
// written to disk. The error joins all problems of all files, each with its
// position where one is known; then there is no result.
//
// The path of an artifact that is a source file unchanged is that file's, so
// that findings in it point there; the others are named <label>/<version>/<name>.
func Make(ctx context.Context, dir string, plan *config.Plan, opts Options) (*Build, error) {
	needed := opts.needed(plan)
	b := &builder{
		needed: needed, dir: dir, opts: opts, allowRemote: opts.AllowRemote && plan.RemoteBases, command: opts.runner(),
		images: map[string]bool{}, setIn: make([]map[string]bool, len(opts.Images)), kustomizations: map[string]*yamldoc.Stream{},
	}
	for i := range plan.Providers {
		p := &plan.Providers[i]
		if !needed(p.Label(), "") {
			continue
		}
		replace, err := replaceSources(dir, opts.Overlay, p.SourceReplacements)
		if err != nil {
			return nil, err
		}
		tree, err := kustomize.OpenTree(dir, replace)
		if err != nil {
			return nil, err
		}
		tree.Cache = opts.Cache
		defer tree.Close()
		b.providers = append(b.providers, &building{builder: b, plan: p, tree: tree, outputs: make([][]byte, len(p.Outputs)), replaced: make([]atomic.Bool, len(p.Replacements))})
	}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	if err := b.checkImages(); err != nil {
		return nil, err
	}
	b.providers = slices.DeleteFunc(b.providers, func(p *building) bool { return !opts.chosen(p.plan.Label()) })
	for _, p := range b.providers {
		if err := p.checkPlaces(); err != nil {
			return nil, err
		}
		for i, r := range p.plan.Replacements {
			if !p.replaced[i].Load() {
				return nil, r.Errorf("old", "no output that matches %s contains %q", r.Files, r.Old)
			}
		}
	}
	out := &Build{dir: dir, series: b.series, UnsetImages: b.unset}
	for _, p := range b.providers {
		r, err := p.release(ctx)
		if err != nil {
			return nil, err
		}
		out.Releases = append(out.Releases, r)
	}
	names := slices.Sorted(maps.Keys(b.kustomizations))
	out.Kustomizations = phrase.List(names, func(name string) *yamldoc.Stream { return b.kustomizations[name] })
	slices.SortFunc(out.UnsetImages, func(a, b unsetImage) int { return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Image, b.Image)) })
	if err := errors.Join(b.problems...); err != nil {
		out.Problem = &BuildError{Err: err} // the places are in the configuration, whose name needs no folder
	}
	out.Tracer = newTracer(ctx, dir, plan, opts, out.Releases)
	return out, nil
}

type builder struct {
	// needed reports whether an output has to be made; an empty name asks for any
	// output of the provider.
	needed      func(label, name string) bool
	dir         string
	opts        Options
	allowRemote bool
	providers   []*building
	// command starts a command in a folder; nil if commands are not allowed.
	command func(ctx context.Context, dir string, argv []string) ([]byte, error)

	mu     sync.Mutex
	images map[string]bool   // the images there are
	setIn  []map[string]bool // the labels of the providers that had each of opts.Images
	// What goes into the result.
	problems       []error
	series         []addedSeries
	unset          []unsetImage
	kustomizations map[string]*yamldoc.Stream
}

// setImages sets the images of the options that are for the provider.
func (p *building) setImages(objs []object, meant map[string]bool) {
	var settings []config.Image
	var of []int
	for i, image := range p.opts.Images {
		if image.Provider == "" || image.Provider == p.plan.Label() {
			settings, of = append(settings, image.Image), append(of, i)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range imageNames(objs) {
		p.images[name] = true
	}
	unused, _ := setImages(objs, settings, meant)
	for n, i := range of {
		if slices.Contains(unused, n) {
			continue
		}
		if p.setIn[i] == nil {
			p.setIn[i] = map[string]bool{}
		}
		p.setIn[i][p.plan.Label()] = true
	}
}

// checkImages refuses images that no container has, and placeholders such as
// "controller" that stand for different images in several providers.
func (b *builder) checkImages() error {
	for i, image := range b.opts.Images {
		labels := slices.Sorted(maps.Keys(b.setIn[i]))
		switch {
		case len(labels) == 0:
			at := ""
			if image.Provider != "" {
				at = " of " + image.Provider
			}
			has, hint := slices.Sorted(maps.Keys(b.images)), ""
			if len(has) > 0 {
				name := has[0]
				if image.Provider != "" {
					name = image.Provider + ":" + name
				}
				hint = fmt.Sprintf("; name one of them, such as --image %s=%s", name, splitImage(has[0]).apply(image.Image))
			}
			return fmt.Errorf("no container%s has the image %s; the components have: %s%s", at, image.Name, strings.Join(has, ", "), hint)
		case len(labels) > 1 && !strings.Contains(image.Name, "/"):
			return fmt.Errorf("image %s is a placeholder in the components of %s; choose one, such as --image %s:%s=%s", image.Name, strings.Join(labels, " and "), labels[0], image.Name, splitImage(image.Name).apply(image.Image))
		}
	}
	return nil
}

// building is the work on one release.
type building struct {
	*builder
	plan    *config.PlannedProvider
	tree    *kustomize.Tree
	outputs [][]byte // by index in plan.Outputs
	// replaced notes which of plan.Replacements found their text.
	replaced []atomic.Bool
	// contract is the one that the CRDs of the components have, if they agree.
	contract string
	// places are those of plan.Images that some components have, targets the
	// indices of plan.Patches that select something there.
	places  map[placed]bool
	targets map[int]bool
}

func (p *building) sawPlaces(found map[placed]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.places == nil {
		p.places = map[placed]bool{}
	}
	maps.Copy(p.places, found)
}

// checkPlaces refuses places that no components of the provider have: neither the
// main ones nor a variant.
func (p *building) checkPlaces() error {
	if p.places == nil {
		return nil // no components were built
	}
	for n, image := range p.plan.Images {
		for i, place := range image.Places {
			if !p.places[placed{n, i}] {
				return image.Errorf(fmt.Sprintf("places[%d]", i), "the built components have no %s", describe(place))
			}
		}
	}
	for i, patch := range p.plan.Patches {
		if !p.targets[i] {
			return patch.Errorf("target", "%s: the target matches no object of the built components", p.plan.Label())
		}
	}
	return nil
}

// sawTargets notes which patches of the configuration select an object. A patch
// without a target names its object itself, and kustomize refuses it if there is
// none.
func (p *building) sawTargets(objs []object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.targets == nil {
		p.targets = map[int]bool{}
	}
	for i, patch := range p.plan.Patches {
		p.targets[i] = p.targets[i] || slices.ContainsFunc(objs, func(o object) bool { return targets(patch.Target, o) })
	}
}

// targets reports whether a selector may mean an object. Label and annotation
// selectors are left to kustomize.
func targets(s config.Selector, o object) bool {
	group, version := o.apiVersion()
	for _, f := range [...]struct{ pattern, value string }{
		{s.Group, group}, {s.Version, version}, {s.Kind, o.kind()}, {s.Name, o.name()}, {s.Namespace, o.namespace()},
	} {
		if f.pattern == "" {
			continue
		}
		if re, err := regexp.Compile("^(?:" + f.pattern + ")$"); err == nil && !re.MatchString(f.value) {
			return false
		}
	}
	return true
}

// run makes all outputs: first the independent ones in parallel, then metadata,
// which depends on the components, then those that join others.
func (b *builder) run(ctx context.Context) error {
	type task struct {
		p *building
		i int
	}
	var tasks, series, joins []task
	for _, p := range b.providers {
		for i, o := range p.plan.Outputs {
			switch {
			case !b.needed(p.plan.Label(), o.Name):
			case o.Concat != nil:
				joins = append(joins, task{p, i})
			case o.Kind == layouts.Metadata && b.opts.AddSeries:
				series = append(series, task{p, i})
			default:
				tasks = append(tasks, task{p, i})
			}
		}
	}
	for _, stage := range [][]task{tasks, series, joins} {
		errs := make([]error, len(stage))
		// Components take longest, so none of them is left for the end.
		order := make([]int, 0, len(stage))
		for _, first := range []bool{true, false} {
			for n, t := range stage {
				if (t.p.plan.Outputs[t.i].Kind == layouts.Components) == first {
					order = append(order, n)
				}
			}
		}
		parallel.Each(len(stage), func(i int) {
			n := order[i]
			t := stage[n]
			t.p.outputs[t.i], errs[n] = t.p.make(ctx, &t.p.plan.Outputs[t.i])
		})
		if err := errors.Join(distinct(errs)...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// distinct drops repeated messages: a broken base breaks all its flavors.
func distinct(errs []error) []error {
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || seen[err.Error()] {
			return true
		}
		seen[err.Error()] = true
		return false
	})
}

func (p *building) make(ctx context.Context, o *config.Output) ([]byte, error) {
	data, err := p.source(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Kind == layouts.Metadata {
		if data, err = p.addSeries(o, data); err != nil {
			return nil, err
		}
	}
	if o.Concat != nil {
		return data, nil // the parts were replaced one by one
	}
	return p.replace(o.Name, "", data), nil
}

// replace makes the replacements for an output. Those that the part it comes from,
// another output of the provider, has had already are left out.
func (p *building) replace(name, part string, data []byte) []byte {
	for i, r := range p.plan.Replacements {
		if config.Match(r.Files, name) && (part == "" || !config.Match(r.Files, part)) && bytes.Contains(data, []byte(r.Old)) {
			data = bytes.ReplaceAll(data, []byte(r.Old), []byte(r.New))
			p.replaced[i].Store(true)
		}
	}
	return data
}

// addedSeries is a release series that was added to the metadata.yaml of a
// provider, which several providers of a tree may share.
type addedSeries struct {
	// file is in the tree, with slashes, and before its text there, unless replaced
	// says that the source is not what is released (sourceReplacements).
	file     string
	before   []byte
	replaced bool
	metadata.NewSeries
}

// addSeries makes sure that metadata.yaml lists the series of the version.
func (p *building) addSeries(o *config.Output, data []byte) ([]byte, error) {
	f := yamldoc.NewFile(cmp.Or(o.File, o.Name), data)
	if !p.opts.AddSeries {
		if p.opts.Tolerant {
			return data, nil
		}
		return data, metadata.CheckSeries(f, p.plan.Version)
	}
	add := metadata.NewSeries{Version: p.plan.Version, Contract: p.contract}
	after, err := metadata.WithSeries(f, add)
	if err == nil && o.File != "" && !bytes.Equal(data, after) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.series = append(p.series, addedSeries{o.File, data, p.replacesIn(o.File), add})
	}
	return after, err
}

func (p *building) source(ctx context.Context, o *config.Output) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case o.Run != nil:
		if p.command == nil {
			return nil, o.Origin.Errorf("run", "%s is made by the command %q, which runs only with --allow exec", o.Name, strings.Join(o.Run, " "))
		}
		data, err := p.command(ctx, p.dir, o.Run)
		if err != nil {
			return nil, o.Origin.Errorf("run", "%q: %w", strings.Join(o.Run, " "), err)
		}
		return data, nil
	case o.Concat != nil:
		return p.join(o)
	case o.Kustomize != "":
		opts := kustomize.Options{NoLoadRestrictions: o.LoadRestrictor == config.NoRestrictions, AllowRemote: p.allowRemote}
		if !p.opts.Bare {
			files := kustomize.Kustomizations(p.tree, o.Kustomize)
			p.mu.Lock()
			for _, k := range files {
				p.kustomizations[k.File.Name] = k
			}
			p.mu.Unlock()
		}
		if p.opts.Bare || o.Kind != layouts.Components {
			return kustomize.Text(ctx, p.tree, o.Kustomize, opts)
		}
		objs, err := kustomize.Build(ctx, p.tree, o.Kustomize, opts)
		if err == nil {
			objs, err = p.components(ctx, o, objs)
		}
		if err != nil {
			return nil, err
		}
		return kustomize.Marshal(objs)
	}
	data, err := p.read(o.File)
	if err != nil {
		return nil, err
	}
	if o.Kind != layouts.Components || p.opts.Bare {
		return data, nil
	}
	objs, err := decode(yamldoc.NewFile(o.File, data))
	if p.opts.AsIs && len(p.plan.Images)+len(p.opts.Images)+len(p.plan.Patches) == 0 {
		p.judgeImages(objectsOf(objs), nil)
		return data, nil
	}
	if err != nil {
		return nil, err
	}
	if objs, err = p.components(ctx, o, objs); err != nil {
		return nil, err
	}
	return kustomize.Marshal(objs)
}

// read returns a source file as the build sees it.
func (p *building) read(name string) ([]byte, error) {
	data, err := p.tree.Read(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	return data, nil
}

// decode reads a finished manifest into objects.
func decode(f *yamldoc.File) ([]map[string]any, error) {
	s := yamldoc.Parse(f)
	var problems []error
	var out []map[string]any
	for _, d := range s.Docs {
		switch m, ok := d.Root.Value().(map[string]any); {
		case d.Err != nil:
			problems = append(problems, d.Err)
		case !ok:
			problems = append(problems, &yamldoc.Error{File: f.Name, Pos: d.Pos(nil), Err: errors.New("the document is not a mapping")})
		default:
			out = append(out, m)
		}
	}
	if s.Err != nil {
		problems = append(problems, s.Err)
	}
	return out, errors.Join(problems...)
}

// components does to built objects what a release needs.
func (p *building) components(ctx context.Context, o *config.Output, built []map[string]any) ([]map[string]any, error) {
	objs := objectsOf(built)
	meant := map[string]bool{}
	unused, found := setImages(objs, p.plan.Images, meant)
	p.sawPlaces(found)
	var problems []error
	for _, i := range unused {
		set := p.plan.Images[i]
		problems = append(problems, set.Errorf("name", "no container of %s has the image %s; it has: %s", o.Source(), set.Name, strings.Join(imageNames(objs), ", ")))
	}
	// A variant may lack what the main components have.
	if err := errors.Join(problems...); err != nil && o.Name == p.plan.ComponentsFile {
		if !p.opts.Tolerant {
			return nil, err
		}
		p.mu.Lock()
		p.problems = append(p.problems, err)
		p.mu.Unlock()
	}
	p.setImages(objs, meant)
	if len(p.plan.Patches) > 0 {
		patches := make([]kustomize.Patch, len(p.plan.Patches))
		for i, patch := range p.plan.Patches {
			patches[i] = kustomize.Patch{Text: patch.Patch, Target: patch.Target.Fields()}
		}
		p.sawTargets(objs)
		var err error
		if built, err = kustomize.ApplyPatches(ctx, built, patches); err != nil {
			var pe *kustomize.PatchError
			if errors.As(err, &pe) {
				return nil, p.plan.Patches[pe.Index].Errorf("patch", "%s: %w", p.plan.Label(), pe.Err)
			}
			return nil, err
		}
		objs = objectsOf(built)
	}
	if o.Name == p.plan.ComponentsFile {
		p.contract = contractOf(objs)
	}
	p.judgeImages(objs, meant)
	if p.opts.AsIs {
		return built, nil
	}
	bad := append(setLabel(objs, p.plan.Label(), p.opts.Tolerant), checkNamespace(objs)...)
	if len(bad) > 0 && !p.opts.Tolerant {
		return nil, p.locate(ctx, o, bad)
	}
	return built, nil
}

// contractOf returns the newest contract that all CRDs with a contract have; ""
// if there is none.
func contractOf(objs []object) string {
	for _, c := range contract.Accepted {
		some, all := false, true
		for _, o := range objs {
			labels, _ := lookup(map[string]any(o), "metadata", "labels").(map[string]any)
			has := func(c contract.Contract) bool { return labels[c.Label()] != nil }
			if o.kind() != "CustomResourceDefinition" || !slices.ContainsFunc(contract.Accepted[:], has) {
				continue
			}
			some, all = true, all && has(c)
		}
		if some && all {
			return string(c)
		}
	}
	return ""
}

func imageNames(objs []object) []string {
	var names []string
	for _, o := range objs {
		for _, c := range o.containers() {
			if ref, _ := c["image"].(string); ref != "" {
				names = append(names, splitImage(ref).name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// join concatenates files and outputs into one YAML stream.
func (p *building) join(o *config.Output) ([]byte, error) {
	var out []byte
	for i, part := range o.Concat {
		var data []byte
		var err error
		var own string // the part, if it is another output of this provider
		if part.File != "" {
			data, err = p.read(part.File)
		} else {
			data, err = p.output(part.Output)
			if label, name, _ := strings.Cut(part.Output, "/"); label == p.plan.Label() {
				own = name
			}
		}
		if err != nil {
			return nil, o.Origin.Errorf(fmt.Sprintf("concat[%d]", i), "%w", err)
		}
		data = p.replace(o.Name, own, data)
		if i > 0 && !bytes.HasPrefix(data, []byte("---")) {
			out = append(out, "---\n"...)
		}
		out = append(out, data...)
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
	}
	return out, nil
}

func (b *builder) output(name string) ([]byte, error) {
	label, file, _ := strings.Cut(name, "/")
	for _, p := range b.providers {
		if p.plan.Label() != label {
			continue
		}
		for i, o := range p.plan.Outputs {
			if o.Name == file && p.outputs[i] != nil {
				return p.outputs[i], nil
			}
		}
	}
	return nil, fmt.Errorf("missing output %s", name)
}

// release collects the finished files, with their checksums.
func (p *building) release(ctx context.Context) (*repo.Release, error) {
	version := p.plan.Version.String()
	r := &repo.Release{Provider: p.plan.Provider, Version: version, Path: p.plan.Label() + "/" + version}
	if info, _ := p.plan.Type.Info(); p.plan.ComponentsFile != info.ComponentsFile {
		r.ComponentsFile = p.plan.ComponentsFile
	}
	for i, o := range p.plan.Outputs {
		a := repo.BytesArtifact(o.Name, p.outputs[i])
		if o.Kind == layouts.Components {
			a = a.As(o.Kind) // under any name
		}
		a.Path = path.Join(r.Path, o.Name)
		if o.File != "" && !p.replacesIn(o.File) {
			// What was only copied is best shown where it comes from.
			if source, err := p.read(o.File); err == nil && bytes.Equal(source, p.outputs[i]) {
				a.Path = path.Join(filepath.ToSlash(p.dir), o.File)
			}
		}
		r.Artifacts = append(r.Artifacts, a)
	}
	r.Sort()
	if p.opts.Bare {
		return r, nil
	}
	sums, err := repo.Checksums(ctx, r)
	if err != nil {
		return nil, err
	}
	r.Artifacts = append(r.Artifacts, repo.BytesArtifact(layouts.ChecksumFile, sums))
	r.Sort()
	return r, nil
}

// replacesIn reports whether a source file is not read as it is on disk, so that
// places in its text are not places in the file.
func (p *building) replacesIn(file string) bool {
	return slices.ContainsFunc(p.plan.SourceReplacements, func(r config.SourceReplacement) bool { return path.Clean(r.File) == file })
}

// replaceSources applies the replacements in source files and returns the
// files that differ from those on disk.
func replaceSources(dir string, overlay map[string][]byte, replacements []config.SourceReplacement) (map[string][]byte, error) {
	if len(replacements) == 0 {
		return overlay, nil
	}
	tree, err := kustomize.OpenTree(dir, overlay)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	changed := maps.Clone(overlay)
	if changed == nil {
		changed = map[string][]byte{}
	}
	for _, r := range replacements {
		data, ok := changed[r.File]
		if !ok {
			if data, err = tree.Read(filepath.FromSlash(r.File)); err != nil {
				return nil, r.Errorf("file", "%w", err)
			}
		}
		if !bytes.Contains(data, []byte(r.Old)) {
			return nil, r.Errorf("old", "%s does not contain %q", r.File, r.Old)
		}
		changed[r.File] = bytes.ReplaceAll(data, []byte(r.Old), []byte(r.New))
	}
	return changed, nil
}
