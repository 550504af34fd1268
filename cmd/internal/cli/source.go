package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/program"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// source is a source tree and how to build it.
type source struct {
	config      string
	version     string
	providers   []string
	images      []string
	asIs        bool
	addSeries   bool
	allowExec   bool
	allowRemote bool
}

func (s *source) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.config, "config", "", "configuration file (default: clusterctl-repo.yaml in the source tree, if it is there)")
	f.StringVar(&s.version, "version", "", "version of the release, such as v1.2.3")
	f.StringSliceVar(&s.providers, "provider", nil, "build only the provider with this `label`; may be repeated")
	f.StringSliceVar(&s.images, "image", nil, "set an image: `OLD=NEW`, where OLD is its name without a tag; may be repeated")
	f.BoolVar(&s.asIs, "as-is", false, "leave objects exactly as kustomize gives them")
	f.BoolVar(&s.addSeries, "add-series", false, "add the release series of the version to metadata.yaml if it is missing")
	f.BoolVar(&s.allowExec, "allow-exec", false, "run the commands that the configuration lists")
	f.BoolVar(&s.allowRemote, "allow-remote", false, "let kustomizations load bases from the network, if the configuration permits it")
}

// configNames are looked for at the root of a source tree.
var configNames = []string{config.FileName, "." + config.FileName}

// load reads the configuration of a source tree. It is empty if there is none.
func (a *app) load(s *source, dir string) (*config.Config, error) {
	name, data, err := a.configFile(s, dir)
	if err != nil {
		return nil, usagef("%s: %w", a.short(name), cause(err))
	}
	if name == "" {
		return &config.Config{}, nil
	}
	a.detail("configuration: %s", a.short(name))
	c, err := config.Decode(a.short(name), data)
	return c, usage(err)
}

// configFile finds the configuration that the user named, or the one at the root
// of the tree, which no link leads out of.
func (a *app) configFile(s *source, dir string) (name string, data []byte, err error) {
	if s.config != "" {
		data, err := files.Read(a.path(s.config))
		return s.config, data, err
	}
	tree, err := files.Open(dir)
	if err != nil {
		return "", nil, nil // who needs the folder says so
	}
	defer tree.Close()
	for _, base := range configNames {
		data, err := tree.ReadFile(base)
		if !errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(dir, base), data, err
		}
	}
	return "", nil, nil
}

// short makes a path relative to the working directory if it is below it.
func (a *app) short(name string) string {
	rel, err := filepath.Rel(a.Dir, a.path(name))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return name
	}
	return rel
}

// detect completes the configuration of a source tree.
func (a *app) detect(s *source, dir string) (*config.Config, []config.Note, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, nil, usagef("the source tree %s cannot be read: %w", a.short(dir), cause(err))
	}
	if !info.IsDir() {
		return nil, nil, usagef("%s is a file; a source tree is a folder", a.short(dir))
	}
	c, err := a.load(s, dir)
	if err != nil {
		return nil, nil, err
	}
	tree, err := files.Open(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a.short(dir), cause(err))
	}
	defer tree.Close()
	full, notes, err := detect.Complete(tree, c, detect.Hints{Folder: filepath.Base(dir)})
	for _, n := range notes {
		if n.Key == "" {
			a.say("note: %s", n) // on something that is left out or decided unusually
		} else {
			a.detail("%s", n)
		}
	}
	return full, notes, usage(err)
}

// cause drops the words of the system call, which repeat the path.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// built are the releases of a source tree.
type built struct {
	releases []*repo.Release
	config   *config.Config
	tracer   *transform.Tracer
	// problem is what a tolerant build left undone, or nil.
	problem *buildError
}

// buildError is a source tree that cannot be built.
type buildError struct {
	dir string
	err error
}

func (e *buildError) Error() string { return e.err.Error() }
func (e *buildError) Unwrap() error { return e.err }

// places returns the problems, if each has a place in a file.
func (e *buildError) places() []*yamldoc.Error {
	var out []*yamldoc.Error
	whole := true
	var collect func(err error)
	collect = func(err error) {
		if list, ok := err.(interface{ Unwrap() []error }); ok {
			for _, err := range list.Unwrap() {
				collect(err)
			}
			return
		}
		at, ok := errors.AsType[*yamldoc.Error](err)
		if whole = whole && ok && !at.Pos.IsZero(); whole {
			out = append(out, at)
		}
	}
	if collect(e.err); !whole {
		return nil
	}
	return out
}

// build makes the releases of a source tree in memory. If it is tolerant, what is
// wrong with objects is left to lint.
func (a *app) build(ctx context.Context, s *source, dir string, tolerant bool) (*built, error) {
	dir = a.path(dir)
	if s.version == "" {
		return nil, usagef("the version is missing: say --version, such as --version v1.2.3")
	}
	if strings.TrimSpace(s.version) != s.version {
		// clusterctl reads it all the same, and would look for a folder of that name.
		return nil, usagef("the version %q has a space at its end or beginning", s.version)
	}
	version, err := layouts.ParseVersion(s.version)
	if err != nil {
		return nil, usage(err)
	}
	images, err := parseImages(s.images)
	if err != nil {
		return nil, usage(err)
	}
	full, _, err := a.detect(s, dir)
	if err != nil {
		return nil, err
	}
	run := a.runner(s)
	for _, g := range full.Generated {
		if len(g.Run) == 0 || run == nil {
			continue
		}
		a.say("running %s", strings.Join(g.Run, " "))
		if _, err := run(ctx, filepath.Join(dir, filepath.FromSlash(g.Dir)), g.Run); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(g.Run, " "), err)
		}
	}
	tree, err := files.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.short(dir), cause(err))
	}
	defer tree.Close()
	plan, err := config.Resolve(tree, full, version.String())
	if err != nil {
		return nil, usage(err)
	}
	if err := choose(plan, s.providers); err != nil {
		return nil, err
	}
	defer a.muteLibraries()()
	start := time.Now()
	opts := transform.Options{
		Version: version, Images: images, AsIs: s.asIs, Tolerant: tolerant, AddSeries: s.addSeries, AllowRemote: s.allowRemote, Run: run,
	}
	var mu sync.Mutex
	var problems []error
	opts.Problem = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err)
	}
	releases, err := transform.Build(ctx, a.short(dir), plan, opts)
	if err != nil {
		return nil, &buildError{dir: a.short(dir), err: err}
	}
	for _, r := range releases {
		a.detail("built %s %s: %d files", r.Provider.Label(), r.Version, len(r.Artifacts))
	}
	a.detail("built in %s", time.Since(start).Round(time.Millisecond))
	b := &built{releases: releases, config: full, tracer: transform.NewTracer(ctx, a.short(dir), plan, opts, releases)}
	if err := errors.Join(problems...); err != nil {
		b.problem = &buildError{dir: a.short(dir), err: err}
	}
	return b, nil
}

// muteLibraries keeps kustomize's notes about deprecated fields, which it
// writes to the process's standard error, from the user who did not ask for
// them. Our own streams are not touched.
func (a *app) muteLibraries() (restore func()) {
	if a.verbose {
		return func() {}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	saved, logged := os.Stderr, log.Writer()
	os.Stderr = null
	log.SetOutput(io.Discard)
	return func() {
		os.Stderr = saved
		log.SetOutput(logged)
		null.Close()
	}
}

// runner starts commands for those who allowed it.
func (a *app) runner(s *source) func(context.Context, string, []string) ([]byte, error) {
	if !s.allowExec {
		return nil
	}
	return func(ctx context.Context, dir string, argv []string) ([]byte, error) {
		p := program.Program{Args: argv, Dir: dir, Stderr: a.Err}
		return p.Output(ctx)
	}
}

// choose keeps the providers with the given labels.
func choose(plan *config.Plan, labels []string) error {
	if len(labels) == 0 {
		return nil
	}
	var all []string
	for _, p := range plan.Providers {
		all = append(all, p.Label())
	}
	if err := known(labels, all, "this tree"); err != nil {
		return err
	}
	plan.Providers = slices.DeleteFunc(plan.Providers, func(p config.PlannedProvider) bool { return !slices.Contains(labels, p.Label()) })
	return nil
}

// parseImages reads the values of --image.
func parseImages(values []string) ([]config.Image, error) {
	var out []config.Image
	for _, v := range values {
		old, ref, ok := strings.Cut(v, "=")
		if !ok || old == "" || ref == "" {
			return nil, fmt.Errorf("--image %q is not OLD=NEW, such as controller=ghcr.io/acme/controller:v1.2.3", v)
		}
		image := config.Image{Name: old}
		image.NewName, image.NewTag, image.Digest = transform.SplitImage(ref)
		out = append(out, image)
	}
	return out, nil
}

// seriesVersion proposes a version for a source tree that is only looked at:
// the first of the highest release series in its metadata.
func seriesVersion(dir string, c *config.Config) string {
	const unknown = "v0.0.0"
	tree, err := files.Open(dir)
	if err != nil {
		return unknown
	}
	defer tree.Close()
	for _, name := range append([]string{c.Metadata}, metadataFiles(c)...) {
		if name == "" {
			continue
		}
		data, err := tree.ReadFile(path.Clean(name))
		if err != nil {
			continue
		}
		best, found := [2]int64{}, false
		for _, d := range yamldoc.Parse(yamldoc.NewFile(name, data)).Docs {
			for _, s := range d.Root.Get("releaseSeries").List() {
				major, _ := s.Get("major").Int()
				minor, _ := s.Get("minor").Int()
				if !found || major > best[0] || major == best[0] && minor > best[1] {
					best, found = [2]int64{major, minor}, true
				}
			}
		}
		if found {
			return fmt.Sprintf("v%d.%d.0", best[0], best[1])
		}
	}
	return unknown
}

func metadataFiles(c *config.Config) []string {
	var out []string
	for _, p := range c.Providers {
		out = append(out, p.Metadata)
	}
	return out
}
