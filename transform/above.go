package transform

import (
	"os"
	"path/filepath"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
)

// ConfigAbove reads the nearest configuration in a folder above dir, at most up to the
// root of the git repository. It is empty, and file too, if there is none. Nothing else
// of that tree is read. Errors are *InputError.
func ConfigAbove(dir string) (c *config.Config, file string, err error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", err
	}
	for name := dir; at != filepath.Dir(at); {
		if _, err := os.Lstat(filepath.Join(name, ".git")); err == nil {
			break
		}
		at, name = filepath.Dir(at), filepath.Join(name, "..")
		if c, file, err := LoadConfig(name, ""); file != "" || err != nil {
			return c, file, err
		}
	}
	return &config.Config{}, "", nil
}
