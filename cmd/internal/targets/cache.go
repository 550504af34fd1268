package targets

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// Cache says where the results of builds are kept.
type Cache struct{ dir string }

// off is the value of --cache that keeps nothing.
const off = "off"

func (c *Cache) Bind(f *pflag.FlagSet) {
	f.StringVar(&c.dir, "cache", "", "")
}

// Open opens the cache; nil if there is none. Builds work without it, so a folder
// that cannot be used is not an error.
func (c *Cache) Open(env *cli.Env) *kustomize.Cache {
	program, err := ProgramIdentity()
	if dir := c.Folder(env); dir != "" && err == nil {
		return kustomize.OpenCache(dir, program)
	}
	return nil
}

// Folder is where results are kept; empty for nowhere. Without the flag it is where
// programs of the user keep what they can make again.
func (c *Cache) Folder(env *cli.Env) string {
	switch c.dir {
	case off:
		return ""
	case "":
	default:
		return env.Path(c.dir)
	}
	below := func(name string, path ...string) string {
		if v, ok := env.LookupEnv(name); ok && filepath.IsAbs(v) {
			return filepath.Join(append(append([]string{v}, path...), "clusterctl-repo")...)
		}
		return ""
	}
	switch runtime.GOOS {
	case "windows":
		return below("LocalAppData")
	case "darwin":
		return below("HOME", "Library", "Caches")
	}
	if dir := below("XDG_CACHE_HOME"); dir != "" {
		return dir
	}
	return below("HOME", ".cache")
}

// Home returns the folders in which clusterctl keeps its things, found by the
// rules of its library (adrg/xdg).
func Home(env *cli.Env) (xdg, home string) {
	if home, _ = env.LookupEnv("HOME"); home == "" {
		home = "/"
	}
	if xdg, _ = env.LookupEnv("XDG_CONFIG_HOME"); !filepath.IsAbs(xdg) {
		xdg = filepath.Join(home, ".config")
	}
	return xdg, home
}

// ProgramIdentity tells programs apart, also those without a version.
func ProgramIdentity() (string, error) {
	file, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d %d", file, info.Size(), info.ModTime().UnixNano()), nil
}
