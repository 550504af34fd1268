package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
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
	name := s.config
	if name == "" {
		for _, base := range configNames {
			if _, err := os.Stat(filepath.Join(dir, base)); err == nil {
				name = filepath.Join(dir, base)
				break
			}
		}
		if name == "" {
			return &config.Config{}, nil
		}
	}
	data, err := os.ReadFile(a.path(name))
	if err != nil {
		return nil, usagef("read the configuration: %w", err)
	}
	a.detail("configuration: %s", a.short(name))
	c, err := config.Decode(a.short(name), data)
	return c, usage(err)
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
	root, err := os.OpenRoot(dir) // which no link leads out of
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a.short(dir), cause(err))
	}
	defer root.Close()
	full, notes, err := detect.Complete(root.FS(), c, detect.Hints{Folder: filepath.Base(dir)})
	for _, n := range notes {
		a.detail("%s", n)
	}
	return full, notes, usage(err)
}

func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// build makes the releases of a source tree in memory.
func (a *app) build(ctx context.Context, s *source, dir string) ([]*repo.Release, *config.Config, error) {
	dir = a.path(dir)
	if s.version == "" {
		return nil, nil, usagef("the version is missing: say --version, such as --version v1.2.3")
	}
	version, err := layouts.ParseVersion(s.version)
	if err != nil {
		return nil, nil, usage(err)
	}
	images, err := parseImages(s.images)
	if err != nil {
		return nil, nil, usage(err)
	}
	full, _, err := a.detect(s, dir)
	if err != nil {
		return nil, nil, err
	}
	run := a.runner(s)
	for _, g := range full.Generated {
		if len(g.Run) == 0 || run == nil {
			continue
		}
		a.say("running %s", strings.Join(g.Run, " "))
		if _, err := run(ctx, filepath.Join(dir, filepath.FromSlash(g.Dir)), g.Run); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", strings.Join(g.Run, " "), err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a.short(dir), cause(err))
	}
	defer root.Close()
	plan, err := config.Resolve(root.FS(), full, version.String())
	if err != nil {
		return nil, nil, usage(err)
	}
	if err := choose(plan, s.providers); err != nil {
		return nil, nil, err
	}
	defer a.muteLibraries()()
	start := time.Now()
	releases, err := transform.Build(ctx, a.short(dir), plan, transform.Options{
		Version: version, Images: images, AsIs: s.asIs, AddSeries: s.addSeries, AllowRemote: s.allowRemote, Run: run,
	})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range releases {
		a.detail("built %s %s: %d files", r.Provider.Label(), r.Version, len(r.Artifacts))
	}
	a.detail("built in %s", time.Since(start).Round(time.Millisecond))
	return releases, full, nil
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
	saved := os.Stderr
	os.Stderr = null
	return func() {
		os.Stderr = saved
		null.Close()
	}
}

// runner starts commands for those who allowed it.
func (a *app) runner(s *source) func(context.Context, string, []string) ([]byte, error) {
	if !s.allowExec {
		return nil
	}
	return func(ctx context.Context, dir string, argv []string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = dir
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, a.Err
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 5 * time.Second
		err := cmd.Run()
		return out.Bytes(), err
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
	for _, label := range labels {
		if !slices.Contains(all, label) {
			return usagef("there is no provider %s in this tree; it has %s", label, strings.Join(all, ", "))
		}
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
	for _, name := range append([]string{c.Metadata}, metadataFiles(c)...) {
		if name == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			continue
		}
		best, found := [2]int64{}, false
		for _, d := range doc.Parse(doc.NewFile(name, data)).Docs {
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
	return "v0.0.0"
}

func metadataFiles(c *config.Config) []string {
	var out []string
	for _, p := range c.Providers {
		out = append(out, p.Metadata)
	}
	return out
}
