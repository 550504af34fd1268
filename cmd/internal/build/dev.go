package build

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// developing builds what developers try their providers with.
type developing struct {
	source *targets.Source
	out    string
	// trees are the source trees of the last build.
	trees []string
}

// run builds, and rebuilds after changes if watch is set.
func (d *developing) run(ctx context.Context, env *cli.Env, args []string, watch bool) error {
	if s := d.source; s.Config != "" || len(s.Images) > 0 || s.AddSeries || s.AllowExec || s.AsIs {
		return cli.Usagef("--dev builds what kustomize produces; leave out --config, --image, --add-series, --allow exec and --as-is")
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	command, err := d.build(ctx, env, args)
	if err != nil {
		return err
	}
	fmt.Fprint(env.Text, command)
	if !watch {
		return nil
	}
	return targets.Watch(ctx, env, d.trees, func() error {
		if _, err := d.build(ctx, env, args); err != nil && ctx.Err() == nil {
			env.Complain(err)
		}
		return nil
	})
}

// build writes the repository, and returns the command that uses it.
func (d *developing) build(ctx context.Context, env *cli.Env, args []string) (command string, err error) {
	defer d.source.Mute(env)()
	sources := phrase.List(args, func(name string) string { return env.Short(env.Path(name)) })
	made, others, err := localrepo.Develop(ctx, sources, localrepo.Options{Version: d.source.Version, Parts: d.source.Providers, AllowRemote: d.source.AllowRemote, Cache: d.source.Cache.Open(env)})
	if err != nil {
		return "", err
	}
	for _, note := range made.Notes {
		env.Say("info: %v", note)
	}
	for _, name := range others {
		b, err := d.source.Build(ctx, env, name)
		if err != nil {
			return "", err
		}
		made.Releases, made.Trees = append(made.Releases, b.Releases...), append(made.Trees, name)
	}
	d.trees = made.Trees
	if err := env.MakeFolder(d.out); err != nil {
		return "", err
	}
	if err := put(ctx, env, made.Releases, d.out); err != nil {
		return "", err
	}
	out := env.Path(d.out)
	data, err := made.ConfigFile(out)
	if err != nil {
		return "", err
	}
	file := filepath.Join(out, "config.yaml")
	text := &strings.Builder{}
	text.WriteString("clusterctl init \\\n")
	for _, r := range made.Releases {
		info, _ := r.Provider.Type.Info()
		fmt.Fprintf(text, "    %s %s:%s \\\n", info.Flag, r.Provider.Name, r.Version)
	}
	fmt.Fprintf(text, "    --config %s\n", file)
	return text.String(), save(env, file, data)
}
