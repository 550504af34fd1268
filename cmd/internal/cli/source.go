package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
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
	cache       cacheFlags
	// input is told of the files that a build reads, or nil.
	input func(file string)
}

func (s *source) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.config, "config", "", "configuration file (default: clusterctl-repo.yaml in the source tree, if it is there)")
	f.StringVar(&s.version, "version", "", "version of the release, such as v1.2.3; LABEL=VERSION after a comma for a provider with its own")
	f.StringSliceVar(&s.providers, "provider", nil, "build only the provider with this `label`; may be repeated")
	f.StringSliceVar(&s.images, "image", nil, "set an image: `OLD=NEW`, where OLD is its name without a tag; LABEL:OLD=NEW for one provider; may be repeated")
	f.BoolVar(&s.asIs, "as-is", false, "leave objects exactly as kustomize gives them")
	f.BoolVar(&s.addSeries, "add-series", false, "add the release series of the version to metadata.yaml in the source tree if it is missing")
	f.BoolVar(&s.allowExec, "allow-exec", false, "run the commands that the configuration lists")
	f.BoolVar(&s.allowRemote, "allow-remote", false, "let kustomizations load bases from the network, if the configuration allows it")
	s.cache.flags(cmd)
}

// options are the flags as the library takes them.
func (a *app) options(s *source) (sourcetree.Options, error) {
	images, err := parseImages(s.images)
	if err != nil {
		return sourcetree.Options{}, usage(err)
	}
	a.remote = s.allowRemote
	kept, err := a.cache(&s.cache)
	if err != nil {
		return sourcetree.Options{}, err
	}
	o := sourcetree.Options{
		Version: s.version, Providers: s.providers, Images: images, AsIs: s.asIs, AddSeries: s.addSeries,
		AllowExec: s.allowExec, AllowRemote: s.allowRemote, Stderr: a.Err, Note: a.note,
		Cache: kept, Input: s.input,
	}
	if s.config != "" {
		o.Config = a.short(s.config)
	}
	return o, nil
}

// note passes on what the library says.
func (a *app) note(n sourcetree.Note) {
	if n.Detail {
		a.detail("%s", n.Text)
	} else {
		a.say("note: %s", n.Text)
	}
}

// build makes the releases of a source tree in memory.
func (a *app) build(ctx context.Context, s *source, dir string) (*sourcetree.Build, error) {
	if s.version == "" {
		return nil, usagef("missing version: pass --version, such as --version v1.2.3")
	}
	o, err := a.options(s)
	if err != nil {
		return nil, err
	}
	if o.Cache == nil {
		transform.Prepare()
	}
	t, err := sourcetree.Open(a.short(a.path(dir)), o)
	if err != nil {
		return nil, err
	}
	defer a.muteLibraries()()
	return t.Build(ctx)
}

// short makes a path relative to the working directory if it is below it.
func (a *app) short(name string) string {
	rel, err := filepath.Rel(a.Dir, a.path(name))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return name
	}
	return rel
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

// muteLibraries keeps kustomize's notes about deprecated fields, which it
// writes to the process's standard error without a place and again for each build,
// from the user; LINT004 and sayDeprecations have them with places. What it logs is
// for --verbose. Our own streams are not touched.
// What it may load from the network is bounded.
func (a *app) muteLibraries() (restore func()) {
	done := func() {}
	if a.remote {
		done = a.guardRemotes()
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return done
	}
	saved, logged := os.Stderr, log.Writer()
	os.Stderr = null
	if !a.verbose {
		log.SetOutput(io.Discard)
	}
	return func() {
		os.Stderr = saved
		log.SetOutput(logged)
		null.Close()
		done()
	}
}

// parseImages reads the values of --image.
func parseImages(values []string) ([]transform.Image, error) {
	var out []transform.Image
	for _, v := range values {
		old, ref, ok := strings.Cut(v, "=")
		if !ok || old == "" || ref == "" {
			return nil, fmt.Errorf("--image must be OLD=NEW, such as controller=ghcr.io/acme/controller:v1.2.3; got %q", v)
		}
		image := transform.Image{Image: config.Image{Name: old}}
		if label, name, ok := strings.Cut(old, ":"); ok {
			if _, err := layouts.ParseLabel(label); err == nil {
				image.Provider, image.Name = label, name
			}
		}
		image.NewName, image.NewTag, image.Digest = transform.SplitImage(ref)
		out = append(out, image)
	}
	return out, nil
}
