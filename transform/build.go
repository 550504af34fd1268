package transform

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// Options of a build.
type Options struct {
	// Version of the release.
	Version layouts.Version
	// Images to set in all components, after those of the configuration.
	Images []config.Image
	// AsIs leaves objects as kustomize gives them: no provider label, and no
	// check of namespaces. Configured images and patches still apply.
	AsIs bool
	// Tolerant leaves what is wrong with objects and metadata as it is, for lint
	// to report, and keeps the provider labels that objects have.
	Tolerant bool
	// Problem is told what a tolerant build leaves undone. It may be nil, and is
	// called from several goroutines.
	Problem func(error)
	// AddSeries adds the release series of Version to metadata.yaml if it is
	// missing there.
	AddSeries bool
	// AllowRemote lets kustomizations load bases from the network if the plan
	// permits it too.
	AllowRemote bool
	// Overlay is the content of source files to use instead of those on disk, by
	// their slash-separated path in the tree.
	Overlay map[string][]byte
	// Run starts a command in a folder and returns its standard output. It is
	// nil if the user did not allow commands.
	Run func(ctx context.Context, dir string, argv []string) ([]byte, error)
}

// Build makes the releases of a plan from the source tree in dir, sorted by
// label. The same input gives the same bytes at any parallelism. Nothing is
// written to disk. The error joins all problems of all files, each with its
// position where one is known; then there is no result.
//
// The path of an artifact that is a source file unchanged is that file's, so
// that findings in it point there; the others are named <label>/<version>/<name>.
func Build(ctx context.Context, dir string, plan *config.Plan, opts Options) ([]*repo.Release, error) {
	b := &builder{dir: dir, opts: opts, allowRemote: opts.AllowRemote && plan.RemoteBases, unset: map[int]bool{}, images: map[string]bool{}}
	for i := range opts.Images {
		b.unset[i] = true
	}
	for i := range plan.Providers {
		p := &plan.Providers[i]
		replace, err := replaceSources(dir, opts.Overlay, p.SourceReplacements)
		if err != nil {
			return nil, err
		}
		tree, err := kustomize.OpenTree(dir, replace)
		if err != nil {
			return nil, err
		}
		defer tree.Close()
		b.providers = append(b.providers, &building{builder: b, plan: p, tree: tree, outputs: make([][]byte, len(p.Outputs)), replaced: make([]atomic.Bool, len(p.Replacements))})
	}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	for i := range b.unset {
		return nil, fmt.Errorf("no container has the image %s; the components have: %s", opts.Images[i].Name, strings.Join(slices.Sorted(maps.Keys(b.images)), ", "))
	}
	for _, p := range b.providers {
		for i, r := range p.plan.Replacements {
			if !p.replaced[i].Load() {
				return nil, r.Errorf("old", "no output that matches %s contains %q", r.Files, r.Old)
			}
		}
	}
	var out []*repo.Release
	for _, p := range b.providers {
		r, err := p.release(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *repo.Release) int { return cmp.Compare(a.Provider.Label(), b.Provider.Label()) })
	return out, nil
}

type builder struct {
	dir         string
	opts        Options
	allowRemote bool
	providers   []*building

	mu     sync.Mutex
	unset  map[int]bool    // images of the command line that were found nowhere yet
	images map[string]bool // the images there are
}

// sawImages notes which images of the command line one components file lacks.
func (b *builder) sawImages(objs []object, unused []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.opts.Images {
		if !slices.Contains(unused, i) {
			delete(b.unset, i)
		}
	}
	for _, name := range imageNames(objs) {
		b.images[name] = true
	}
}

// building is the work on one release.
type building struct {
	*builder
	plan    *config.PlannedProvider
	tree    *kustomize.Tree
	outputs [][]byte // by index in plan.Outputs
	// replaced notes which of plan.Replacements found their text.
	replaced []atomic.Bool
}

// run makes all outputs: first the independent ones in parallel, then those
// that join others.
func (b *builder) run(ctx context.Context) error {
	type task struct {
		p *building
		i int
	}
	var tasks, joins []task
	for _, p := range b.providers {
		for i, o := range p.plan.Outputs {
			if o.Concat != nil {
				joins = append(joins, task{p, i})
			} else {
				tasks = append(tasks, task{p, i})
			}
		}
	}
	for _, stage := range [][]task{tasks, joins} {
		errs := make([]error, len(stage))
		parallel.Each(len(stage), func(n int) {
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
	if o.Kind == layouts.Metadata && (!p.opts.Tolerant || p.opts.AddSeries) {
		name := cmp.Or(o.File, o.Name)
		if data, err = metadata.WithSeries(yamldoc.NewFile(name, data), p.opts.Version, p.opts.AddSeries); err != nil {
			return nil, err
		}
	}
	for i, r := range p.plan.Replacements {
		if config.Match(r.Files, o.Name) && bytes.Contains(data, []byte(r.Old)) {
			data = bytes.ReplaceAll(data, []byte(r.Old), []byte(r.New))
			p.replaced[i].Store(true)
		}
	}
	return data, nil
}

func (p *building) source(ctx context.Context, o *config.Output) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case o.Run != nil:
		if p.opts.Run == nil {
			return nil, o.Origin.Errorf("run", "%s is made by the command %q, which runs only with --allow-exec", o.Name, strings.Join(o.Run, " "))
		}
		data, err := p.opts.Run(ctx, p.dir, o.Run)
		if err != nil {
			return nil, o.Origin.Errorf("run", "%q: %w", strings.Join(o.Run, " "), err)
		}
		return data, nil
	case o.Concat != nil:
		return p.join(o)
	case o.Kustomize != "":
		objs, err := kustomize.Build(ctx, p.tree, o.Kustomize, kustomize.Options{
			NoLoadRestrictions: o.LoadRestrictor == config.NoRestrictions,
			AllowRemote:        p.allowRemote,
		})
		if err != nil {
			return nil, err
		}
		if o.Kind == layouts.Components {
			if objs, err = p.components(ctx, o, objs); err != nil {
				return nil, err
			}
		}
		return kustomize.Marshal(objs)
	}
	data, err := p.read(o.File)
	if err != nil {
		return nil, err
	}
	if o.Kind != layouts.Components || p.opts.AsIs && len(p.plan.Images)+len(p.opts.Images)+len(p.plan.Patches) == 0 {
		return data, nil
	}
	objs, err := decode(yamldoc.NewFile(o.File, data))
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
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("%s: %w", name, err)
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
	objs := make([]object, len(built))
	for i, m := range built {
		objs[i] = m
	}
	unused, err := setImages(objs, p.plan.Images)
	if err != nil {
		return nil, err
	}
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
		if p.opts.Problem != nil {
			p.opts.Problem(err)
		}
	}
	if unused, err = setImages(objs, p.opts.Images); err != nil {
		return nil, err
	}
	p.sawImages(objs, unused)
	if len(p.plan.Patches) > 0 {
		patches := make([]kustomize.Patch, len(p.plan.Patches))
		for i, patch := range p.plan.Patches {
			t := patch.Target
			patches[i] = kustomize.Patch{Text: patch.Patch, Target: kustomize.Selector{
				Group: t.Group, Version: t.Version, Kind: t.Kind, Name: t.Name, Namespace: t.Namespace,
				LabelSelector: t.LabelSelector, AnnotationSelector: t.AnnotationSelector,
			}}
		}
		if built, err = kustomize.ApplyPatches(ctx, built, patches); err != nil {
			var pe *kustomize.PatchError
			if errors.As(err, &pe) {
				return nil, p.plan.Patches[pe.Index].Errorf("patch", "%s: %w", p.plan.Label(), pe.Err)
			}
			return nil, err
		}
		objs = objs[:0]
		for _, m := range built {
			objs = append(objs, m)
		}
	}
	if p.opts.AsIs {
		return built, nil
	}
	bad := append(setLabel(objs, p.plan.Label(), p.opts.Tolerant), checkNamespace(objs)...)
	if len(bad) > 0 && !p.opts.Tolerant {
		return nil, p.locate(ctx, o, bad)
	}
	return built, nil
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
		if part.File != "" {
			data, err = p.read(part.File)
		} else {
			data, err = p.output(part.Output)
		}
		if err != nil {
			return nil, o.Origin.Errorf(fmt.Sprintf("concat[%d]", i), "%w", err)
		}
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
	r := &repo.Release{Provider: p.plan.Provider, Version: p.opts.Version.String(), Path: p.plan.Label() + "/" + p.opts.Version.String()}
	for i, o := range p.plan.Outputs {
		a := repo.BytesArtifact(o.Name, p.outputs[i])
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
