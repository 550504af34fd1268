package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/transform/cache"
)

// cacheFlags say where the results of builds are kept.
type cacheFlags struct {
	dir string
	off bool
}

func (c *cacheFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.dir, "cache", "", "keep what kustomize makes in this `folder`, for the next run (default: clusterctl-repo in the user's cache folder)")
	cmd.Flags().BoolVar(&c.off, "no-cache", false, "neither use nor keep results of builds")
}

// cache opens the cache; nil if there is none. Builds work without it, so a folder
// that cannot be used is not an error.
func (a *app) cache(c *cacheFlags) (*cache.Cache, error) {
	dir := c.dir
	switch {
	case dir != "" && c.off:
		return nil, usagef("--cache and --no-cache contradict each other; use one of them")
	case c.off:
		return nil, nil
	case dir != "":
		dir = a.path(dir)
	default:
		if dir = a.cacheFolder(); dir == "" {
			return nil, nil
		}
	}
	program, err := programIdentity()
	if err != nil {
		return nil, nil
	}
	return cache.Open(dir, program), nil
}

// cacheFolder is where programs of the user keep what they can make again; empty if
// that is not known.
func (a *app) cacheFolder() string {
	below := func(name string, path ...string) string {
		if v, ok := a.Env(name); ok && filepath.IsAbs(v) {
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

// programIdentity tells programs apart, also those without a version.
func programIdentity() (string, error) {
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
