package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// mostFiles bounds the files of a folder that Files lists.
const mostFiles = 10_000

// charts are in folders whose files are the input of another program, which makes the objects
// of them; see Files.
var charts = map[string]string{
	"Chart.yaml":         "is a Helm chart; check what it makes: helm template FOLDER | clusterctl-repo lint -",
	"kustomization.yaml": "is a kustomization; check what it makes: kustomize build FOLDER | clusterctl-repo lint -",
	"kustomization.yml":  "is a kustomization; check what it makes: kustomize build FOLDER | clusterctl-repo lint -",
	"Kustomization":      "is a kustomization; check what it makes: kustomize build FOLDER | clusterctl-repo lint -",
}

// Files lists the YAML files of a folder and of those in it, by their names with slashes, or the
// one file that the path names. Hidden ones are left out, links out of the folder are not
// followed, and folders whose files another program puts together are oddities.
func Files(ctx context.Context, name string) ([]*repo.Artifact, []repo.Oddity, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, cause(err))
	}
	base, only := name, ""
	if !info.IsDir() {
		base, only = filepath.Split(name)
		if base == "" {
			base = "."
		}
	}
	r, err := newReader(ctx, base, ".", base)
	if err != nil {
		return nil, nil, err
	}
	defer r.close()
	var out []*repo.Artifact
	odd := oddities{r: r}
	add := func(at string) {
		info, err := r.stat(at)
		switch {
		case err != nil:
			odd.add(repo.OddUnreadable, at, "%v", err)
		case info.Mode().IsRegular():
			shown := r.join(at)
			if only != "" {
				shown = name
			}
			out = append(out, repo.NewArtifact(at, shown, info.Size(), r.opener(at)))
		}
	}
	if only != "" {
		add(only)
		return out, odd.list, nil
	}
	var walk func(dir string) error
	walk = func(dir string) error {
		entries, err := r.list(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if why := charts[e.Name()]; why != "" && !e.IsDir() {
				odd.add(repo.OddEntry, dir, "%s", why)
				return nil
			}
		}
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			switch {
			case len(out) >= mostFiles:
				return fmt.Errorf("%s holds more than %d YAML files; name a folder in it", name, mostFiles)
			case hidden(e.Name()):
			case layouts.InRelease(at):
				odd.add(repo.OddEntry, at, "is a release, not templates of your own; name it alone, or with --with")
			case e.Type()&fs.ModeSymlink == 0 && e.IsDir():
				if err := walk(at); err != nil {
					return err
				}
			case slices.Contains([]string{".yaml", ".yml"}, path.Ext(e.Name())):
				add(at)
			}
		}
		return nil
	}
	if err := walk("."); err != nil {
		return nil, nil, errors.Join(context.Cause(ctx), err)
	}
	return out, odd.list, nil
}
