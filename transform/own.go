package transform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// ErrNotOwn is the error of Own for what holds no template of a user.
var ErrNotOwn = errors.New("it holds no YAML file with an object of Cluster API")

// Own takes files as templates, ClusterClasses and Clusters of users, each as what it holds:
// one release that belongs to no provider. Of files without an object of Cluster API only the
// number is given.
func Own(ctx context.Context, name string, o Options) (*Resolved, error) {
	all, odd, err := folder.Files(ctx, name)
	if err != nil {
		return nil, err
	}
	out, err := OwnFiles(name, all)
	for _, entry := range odd {
		if entry.Kind == repo.OddUnreadable {
			return nil, fmt.Errorf("%s %s", entry.Path, entry.Why) // what was not read is not in order
		}
		o.note(false, "%s %s", entry.Path, entry.Why)
	}
	if err != nil {
		return nil, err
	}
	n := len(out.Repository.Providers[0].Releases[0].Artifacts)
	rest := ""
	if n < len(all) {
		rest = "; not read, because they hold no object of Cluster API: " + phrase.Count(len(all)-n, "file")
	}
	o.note(false, "treating %s as templates of your own (%s)%s", name, phrase.Count(n, "file"), rest)
	return out, nil
}

// OwnFiles is Own for files that are at hand.
func OwnFiles(name string, all []*repo.Artifact) (*Resolved, error) {
	release := &repo.Release{Path: name, Own: true}
	for _, a := range all {
		data, err := a.Text()
		if err != nil {
			return nil, err
		}
		if kind := ownKind(a.Name, data); kind != layouts.Asset {
			release.Artifacts = append(release.Artifacts, a.As(kind))
		}
	}
	if len(release.Artifacts) == 0 {
		return nil, ErrNotOwn
	}
	release.Sort()
	p := &repo.Provider{Path: name, Releases: []*repo.Release{release}}
	return &Resolved{Repository: &repo.Repository{Path: name, Providers: []*repo.Provider{p}}, Partial: true, Guessed: true}, nil
}

var (
	ofClusterAPI = phrase.Pattern(`(?m)^[ \t-]*["']?apiVersion["']?:[ \t]*["']?((addons|bootstrap|controlplane|infrastructure|ipam|runtime|[a-z0-9-]+\.[a-z0-9.-]+)\.)?cluster\.x-k8s\.io/`)
	ownClass     = phrase.Pattern(`(?m)^["']?kind["']?:[ \t]*["']?ClusterClass\b`)
	ownCluster   = phrase.Pattern(`(?m)^["']?kind["']?:[ \t]*["']?Cluster\b["']?[ \t]*(#.*)?$`)
)

// ownKind tells what a file of a user is: by its name if clusterctl knows that, and otherwise by
// what it holds.
func ownKind(name, data string) layouts.FileKind {
	is := func(p func() *regexp.Regexp) bool { return p().MatchString(data) }
	switch kind := layouts.KindOfFile(name); {
	case kind == layouts.ClusterTemplate, kind == layouts.ClusterClass:
		return kind
	case !is(ofClusterAPI):
		return layouts.Asset
	case is(ownClass) && !is(ownCluster):
		return layouts.ClusterClass
	}
	return layouts.ClusterTemplate
}

// MayBeOwn reports whether what is not a repository may be templates of users: it is there, and
// has neither a file of a release nor of a provider's source tree.
func MayBeOwn(name string, not *folder.NotRepositoryError) bool {
	if not.Flat || errors.Is(not, fs.ErrNotExist) {
		return false
	}
	if not.File {
		kind := layouts.KindOfFile(filepath.Base(name))
		return kind != layouts.Components && kind != layouts.Metadata && !slices.Contains([]string{".tar", ".tgz", ".gz"}, filepath.Ext(name))
	}
	return !slices.ContainsFunc([]string{"go.mod", "PROJECT", config.FileName, "." + config.FileName}, func(marker string) bool {
		_, err := os.Lstat(filepath.Join(name, marker))
		return err == nil
	})
}
