package build

import (
	"context"
	"os"
	"path/filepath"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// buildSuite writes the local repository of an E2EConfig.
func buildSuite(ctx context.Context, env *cli.Env, f *targets.Suite, s *targets.Source, name, out string) error {
	if s.Config != "" {
		return cli.Usagef("%s is an E2EConfig, which itself lists what to build; leave out --config", name)
	}
	defer s.Mute(env)()
	suite, err := f.Open(ctx, env, s, name, false)
	if err != nil {
		return err
	}
	for _, r := range append(suite.Unset, suite.Config.Remarks...) {
		env.Say("info: %v", r)
	}
	made, err := suite.Build(ctx)
	if err != nil {
		return err
	}
	if suite.Own != "" {
		env.Say("info: %s; built the way the suite's own loader does, because the framework refuses this", suite.Own)
	}
	for _, r := range append(made.Idle, made.Repeated...) {
		env.Say("info: %v", r)
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
	return save(env, filepath.Join(out, localrepo.ConfigFile), data)
}

// save writes a file if that changes it.
func save(env *cli.Env, file string, data []byte) error {
	if before, err := os.ReadFile(env.Path(file)); err == nil && string(before) == string(data) {
		return nil
	}
	if err := env.WriteFile(file, data); err != nil {
		return err
	}
	env.Say("wrote %s", filepath.ToSlash(env.Short(file)))
	return nil
}
