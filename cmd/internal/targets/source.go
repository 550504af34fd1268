package targets

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// Source is a source tree and how to build it.
type Source struct {
	Config      string
	Version     string
	Providers   []string
	Images      []string
	AsIs        bool
	AddSeries   bool
	AllowExec   bool
	AllowRemote bool
	Cache       Cache
	// Note takes what does not stop the build; by default, the user is told.
	Note     func(transform.Note)
	own      bool // see OpenOwn
	finished bool // is not built
}

func (s *Source) Bind(f *pflag.FlagSet) {
	f.StringVar(&s.Config, "config", "", "")
	f.StringVar(&s.Version, "version", "", "")
	f.StringSliceVar(&s.Providers, "provider", nil, "")
	f.StringSliceVar(&s.Images, "image", nil, "")
	f.BoolVar(&s.AsIs, "as-is", false, "")
	cli.Allow(f, "exec", &s.AllowExec)
	cli.Allow(f, "remote", &s.AllowRemote)
	s.Cache.Bind(f)
}

// BindSeries adds --add-series, for verbs that make releases.
func (s *Source) BindSeries(f *pflag.FlagSet) { f.BoolVar(&s.AddSeries, "add-series", false, "") }

// Options are the flags as the library takes them.
func (s *Source) Options(env *cli.Env) (transform.Options, error) {
	images, err := parseImages(s.Images)
	if err != nil {
		return transform.Options{}, cli.UsageError(err)
	}
	version, err := transform.ParseVersions(s.Version)
	if err != nil {
		return transform.Options{}, err
	}
	o := transform.Options{
		Version: version, Providers: s.Providers, Images: images, AsIs: s.AsIs, AddSeries: s.AddSeries,
		AllowExec: s.AllowExec, AllowRemote: s.AllowRemote, Stderr: env.Err,
		Note: s.Note, Own: s.own, Finished: s.finished,
	}
	if o.Note == nil {
		o.Note = Tell(env)
	}
	if !s.finished {
		o.Cache = s.Cache.Open(env)
	}
	if s.Config != "" {
		o.Config = env.Short(s.Config)
	}
	return o, nil
}

// Tell tells the user what does not stop the build.
func Tell(env *cli.Env) func(transform.Note) {
	return func(n transform.Note) {
		if n.Detail {
			env.Detail("%s", n.Text)
		} else {
			env.Say("info: %s", n.Text)
		}
	}
}

// Build makes the releases of a source tree in memory.
func (s *Source) Build(ctx context.Context, env *cli.Env, dir string) (*transform.Build, error) {
	if s.Version == "" {
		example := "v1.2.3"
		if _, err := layouts.ParseVersion(dir); err == nil {
			example = "v" + strings.TrimPrefix(dir, "v")
		} else if _, err := os.Stat(env.Path(dir)); os.IsNotExist(err) {
			return nil, cli.Usagef("%s does not exist", dir)
		}
		return nil, cli.Usagef("missing version: pass --version, such as --version %s", example)
	}
	o, err := s.Options(env)
	if err != nil {
		return nil, err
	}
	if o.Cache == nil {
		transform.Prepare()
	}
	t, err := transform.Open(env.Short(env.Path(dir)), o)
	if err != nil {
		return nil, err
	}
	defer s.Mute(env)()
	return t.Build(ctx)
}

// Mute keeps kustomize's notes about deprecated fields, which it
// writes to the process's standard error without a place and again for each build,
// from the user; LINT004 and build have them with places. What it logs is
// for --verbose. Our own streams are not touched.
// What it may load from the network is bounded.
func (s *Source) Mute(env *cli.Env) (restore func()) {
	done := func() {}
	if s.AllowRemote {
		done = guardRemotes(env)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return done
	}
	saved, logged := os.Stderr, log.Writer()
	os.Stderr = null
	if !env.Verbose() {
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
		if _, err := imageref.Parse(ref); err != nil {
			return nil, fmt.Errorf("--image %s: %q is not an image reference: %w", v, ref, err)
		}
		image := transform.Image{Image: config.Image{Name: old}}
		if label, name, ok := strings.Cut(old, ":"); ok {
			if _, err := layouts.ParseLabel(label); err == nil {
				image.Provider, image.Name = label, name
			}
		}
		image.NewName, image.NewTag, image.Digest = imageref.Split(ref)
		out = append(out, image)
	}
	return out, nil
}

// Arg is the argument that names a source tree: the working directory by default.
func Arg(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}

// SaveSeries writes the release series that were added into the source tree.
func SaveSeries(env *cli.Env, b *transform.Build) error {
	changed, err := b.SaveSeries()
	for _, name := range changed {
		env.Say("added the release series to %s; commit the change", env.Short(name))
	}
	return err
}

// Severities are those that a configuration gives rules; nil without a file.
func Severities(env *cli.Env, file string) (map[string]lint.Severity, error) {
	if file == "" {
		return nil, nil
	}
	c, _, err := transform.LoadConfig(env.Dir, file)
	if err != nil {
		return nil, err
	}
	return check.Severities(c)
}
