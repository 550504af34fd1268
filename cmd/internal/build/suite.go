package build

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/e2e"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/publish/upstream"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// suiteFlags say where an E2EConfig takes releases of others from.
type suiteFlags struct {
	from    string
	offline bool
}

func (f *suiteFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.from, "from", "", "E2EConfig: take versions by URL from this mirror (`FOLDER`) instead of the network")
	flags.BoolVar(&f.offline, "offline", false, "E2EConfig: use only versions by URL that earlier runs have fetched")
}

// build writes the local repository of an E2EConfig.
func (f *suiteFlags) build(ctx context.Context, env *cli.Env, s *targets.Source, name, out string) error {
	switch {
	case s.Version != "" || s.Config != "" || len(s.Images) > 0 || s.AddSeries || s.AllowExec:
		return cli.Usagef("%s is an E2EConfig, which says itself what to build; leave out --version, --config, --image, --add-series and --allow-exec", name)
	case out == "":
		return cli.Usagef("--out is empty; name a folder, such as --out _artifacts/repository")
	case f.from != "" && f.offline:
		return cli.Usagef("--from and --offline contradict each other; use one of them")
	}
	kept, err := s.Cache.Open(env)
	if err != nil {
		return err
	}
	o := localrepo.Options{Env: env.LookupEnv, Parts: s.Providers, AllowRemote: s.AllowRemote, Cache: kept}
	if f.from != "" {
		t, err := targets.Open(ctx, env, f.from, nil)
		if err != nil {
			return err
		}
		o.Upstream = localrepo.Mirror(t.Repository)
	} else {
		proxy, _ := env.LookupEnv("GOPROXY")
		o.Upstream = upstream.New(upstream.Options{
			Client: transport.New(env.Transport, env.Policy()), Proxy: proxy, Offline: f.offline,
			Get: func(key string) ([]byte, bool) { return kept.Get(key, nil) },
			Put: func(key string, data []byte) { kept.Put(key, nil, data) },
		})
	}
	defer s.Mute(env)()
	suite, err := localrepo.Open(ctx, env.Short(env.Path(name)), o)
	if err != nil {
		return err
	}
	for _, r := range append(suite.Unset, suite.Config.Remarks...) {
		env.Say("note: %v", r)
	}
	made, err := suite.Build(ctx)
	if err != nil {
		return err
	}
	if suite.Own != "" {
		env.Say("note: %s; built as the suite's own loader does, because the framework refuses this", suite.Own)
	}
	for _, r := range append(made.Idle, made.Repeated...) {
		env.Say("note: %v", r)
	}
	if err := put(ctx, env, made.Releases, out); err != nil {
		return err
	}
	data, err := suite.ConfigFile(out)
	if err != nil {
		return err
	}
	if err := env.MakeFolder(filepath.Join(out, layouts.OverridesFolder)); err != nil {
		return err
	}
	file := filepath.Join(out, e2e.ConfigFile)
	if before, err := os.ReadFile(env.Path(file)); err == nil && string(before) == string(data) {
		return nil
	}
	if err := env.WriteFile(file, data); err != nil {
		return err
	}
	env.Say("wrote %s", filepath.ToSlash(env.Short(file)))
	return nil
}
