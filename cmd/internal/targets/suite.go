package targets

import (
	"context"
	"os"
	"sync"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/program"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// Suite says where an E2EConfig takes releases of others from.
type Suite struct {
	from    string
	offline bool
}

func (f *Suite) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.from, "from", "", "")
	flags.BoolVar(&f.offline, "offline", false, "")
}

// Unused refuses the flags for what is not an E2EConfig.
func (f *Suite) Unused() error {
	if *f != (Suite{}) {
		return cli.Usagef("--from and --offline only work with an E2EConfig")
	}
	return nil
}

// Open reads an E2EConfig, and resolves its markers. Tolerant leaves out versions that
// cannot be fetched now.
func (f *Suite) Open(ctx context.Context, env *cli.Env, s *Source, name string, tolerant bool) (*localrepo.Suite, error) {
	switch {
	case s.Version != "" || len(s.Images) > 0 || s.AddSeries || s.AllowExec:
		return nil, cli.Usagef("%s is an E2EConfig, which itself lists what to build; leave out --version, --image, --add-series and --allow exec", name)
	case f.from != "" && f.offline:
		return nil, cli.Usagef("--from and --offline contradict each other; use one of them")
	}
	kept := s.Cache.Open(env)
	o := localrepo.Options{Env: env.LookupEnv, Parts: s.Providers, AllowRemote: s.AllowRemote, Cache: kept}
	if tolerant {
		o.Absent = func(err error) { env.Say("info: not checked: %v", err) }
	}
	if f.from != "" {
		t, err := Open(ctx, env, f.from, nil)
		if err != nil {
			return nil, err
		}
		o.Upstream = localrepo.Mirror{Repository: t.Repository}
	} else {
		// Without go there is no answer, and the user is asked for one. Outside of any
		// module, and with the go that is there, nothing is fetched for the question.
		asked := sync.OnceValue(func() string {
			out, _ := (&program.Program{Args: []string{"go", "env", "GOPROXY"}, Dir: os.TempDir(), Env: []string{"GOTOOLCHAIN=local"}}).Output(ctx)
			return string(out)
		})
		o.Upstream = open.NewWeb(open.WebOptions{
			Client: transport.New(env.Transport, env.Policy()), Offline: f.offline,
			Proxy: func(ctx context.Context) (string, error) {
				if proxy, _ := env.LookupEnv("GOPROXY"); proxy != "" {
					return proxy, nil
				}
				return asked(), context.Cause(ctx)
			},
			Get: func(key string) ([]byte, bool) { return kept.Get(key, nil) },
			Put: func(key string, data []byte) { kept.Put(key, nil, data) },
		})
	}
	return localrepo.Open(ctx, env.Short(env.Path(name)), o)
}
