package targets

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
)

// watchInterval is how often --watch looks for changes. Files are looked at again
// until two looks in a row find the same, so that a save is not read halfway.
const watchInterval = 250 * time.Millisecond

// Watch calls a function after each change of a file in folders. It ends with ctx, or
// with an error of the function.
func Watch(ctx context.Context, env *cli.Env, folders []string, changed func() error) error {
	seen := files(env, folders)
	env.Say("watching %d files; press Ctrl-C to stop", len(seen))
	last := seen
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchInterval):
		}
		now := files(env, folders)
		settled := sameFiles(now, last)
		last = now
		if !settled || sameFiles(now, seen) {
			continue
		}
		seen = now
		if err := changed(); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// stamp tells versions of a file apart without reading it.
type stamp struct {
	size     int64
	modified time.Time
}

// files lists the files of folders. What cannot be looked at counts as absent.
func files(env *cli.Env, folders []string) map[string]stamp {
	out := map[string]stamp{}
	for _, folder := range folders {
		_ = filepath.WalkDir(env.Path(folder), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case e.IsDir() && e.Name() == ".git":
				return fs.SkipDir
			case !e.Type().IsRegular():
				return nil
			}
			if info, err := e.Info(); err == nil {
				out[path] = stamp{info.Size(), info.ModTime()}
			}
			return nil
		})
	}
	return out
}

func sameFiles(a, b map[string]stamp) bool {
	return maps.EqualFunc(a, b, func(s, t stamp) bool { return s.size == t.size && s.modified.Equal(t.modified) })
}
