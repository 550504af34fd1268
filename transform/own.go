package transform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// ErrNotOwn is the error of Own for what holds no template of a user.
var ErrNotOwn = errors.New("holds no YAML file with an object of Cluster API")

// Own takes files as templates, ClusterClasses and Clusters of users, each as what it holds:
// one release that belongs to no provider. What another program has to make first is not read,
// and of files without an object of Cluster API only the number is given.
func Own(ctx context.Context, name string, o Options) (*Resolved, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	dir, only := name, ""
	if !info.IsDir() {
		dir, only = filepath.Split(name)
	}
	all, made, odd, err := folder.Files(ctx, cmp.Or(dir, "."), only)
	if err != nil {
		return nil, err
	}
	for _, entry := range odd {
		if entry.Kind == repo.OddUnreadable {
			return nil, fmt.Errorf("%s %s", entry.Path, entry.Why) // what was not read is not in order
		}
		o.note(false, "%s %s", entry.Path, entry.Why)
	}
	alone := len(all) > 0 && only != "" && all[0].Name == only
	var beside []*repo.Artifact
	if alone {
		all, beside, made = all[:1], all[1:], nil
	}
	out, left, err := ownFiles(name, all)
	if err != nil && !errors.Is(err, ErrNotOwn) {
		return nil, err
	}
	for _, m := range made {
		if only == "" || slices.ContainsFunc(m.Files, func(a *repo.Artifact) bool { return a.Name == only }) {
			if _, unread, err := ownFiles(m.Path, m.Files); err == nil || len(unread) > 0 {
				left = append(left, &folder.Made{Path: m.Path, Program: m.Program, Command: m.Command})
			}
		}
	}
	var notes []string
	for _, of := range phrase.Groups(left, func(m *folder.Made) string { return m.Program }) {
		at, which := of[0], "FOLDER"
		if len(of) == 1 {
			which = at.Path
		}
		paths := phrase.Few(phrase.List(of, func(m *folder.Made) string { return m.Path }), 10)
		if at.Command == "" {
			notes = append(notes, fmt.Sprintf("%s: %s; check what it makes of them", paths, at.Program))
			continue
		}
		notes = append(notes, fmt.Sprintf("%s makes the objects of %s; check what it makes: %s %s | clusterctl-repo lint -", at.Program, paths, at.Command, which))
	}
	if err != nil && len(notes) > 0 {
		return nil, wrongf("%s holds no template that can be read as it is: %s", name, strings.Join(notes, "\n"))
	}
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		o.note(false, "not read: %s", note)
	}
	r := out.Repository.Providers[0].Releases[0]
	if more, _, err := ownFiles(dir, beside); err == nil {
		r.Beside = append(r.Beside, slices.Concat(more.Repository.Providers[0].Releases[0].Artifacts, more.Repository.Providers[0].Releases[0].Beside)...)
	}
	rest := ""
	if n := len(all) - len(r.Artifacts); n > 0 {
		rest = "; not read, because they hold no object of Cluster API: " + phrase.Count(n, "file")
	}
	o.note(false, "treating %s as templates of your own (%s)%s", name, phrase.Count(len(r.Artifacts), "file"), rest)
	return out, nil
}

// OwnFile is Own for a file that is at hand.
func OwnFile(a *repo.Artifact) (*Resolved, error) {
	out, left, err := ownFiles(a.Name, []*repo.Artifact{a})
	if len(left) > 0 {
		err = wrongf("%s: %s; check what it makes of it", a.Name, left[0].Program)
	}
	return out, err
}

// ownFiles takes the files that hold an object of Cluster API. Those that are text for another
// program are left.
func ownFiles(name string, all []*repo.Artifact) (out *Resolved, left []*folder.Made, err error) {
	release := &repo.Release{Path: name, Own: true}
	for _, a := range all {
		data, err := a.Text()
		if err != nil {
			return nil, nil, err
		}
		switch kind := ownKind(a.Name, data); {
		case kind == layouts.Asset && ownBeside().MatchString(data):
			release.Beside = append(release.Beside, a.As(layouts.ClusterTemplate))
		case kind == layouts.Asset:
		case templated(data):
			left = append(left, &folder.Made{Path: a.Path, Program: "not YAML, but text for Helm or another program"})
		default:
			release.Artifacts = append(release.Artifacts, a.As(kind))
		}
	}
	if len(release.Artifacts) == 0 {
		return nil, left, ErrNotOwn
	}
	release.Sort()
	p := &repo.Provider{Path: name, Releases: []*repo.Release{release}}
	return &Resolved{Repository: &repo.Repository{Path: name, Providers: []*repo.Provider{p}}, Partial: true, Guessed: true}, left, nil
}

// templated reports whether a text is not YAML because of actions of Go templates.
func templated(data string) bool {
	if !strings.Contains(data, "{{") {
		return false
	}
	f := yamldoc.NewFile("", []byte(data))
	return slices.ContainsFunc(yamldoc.Parse(f).Docs, func(d *yamldoc.Document) bool {
		if d.Err == nil {
			return false
		}
		near := strings.Join(strings.Split(data, "\n")[max(d.Err.Pos.Line-2, 0):max(d.Err.Pos.Line, 0)], "")
		return strings.Contains(near, "{{") || strings.Contains(near, "}}")
	})
}

var (
	ofClusterAPI = phrase.Pattern(`(?m)^([ \t]*"|([ \t]*-[ \t]+)?'?)apiVersion["']?:[ \t]*["']?((addons|bootstrap|controlplane|infrastructure|ipam|runtime|[a-z0-9-]+\.[a-z0-9.-]+)\.)?cluster\.x-k8s\.io/`)
	ownClass     = phrase.Pattern(`(?m)^["']?kind["']?:[ \t]*["']?ClusterClass\b`)
	ownBeside    = phrase.Pattern(`(?m)^["']?kind["']?:[ \t]*["']?(ConfigMap|Secret|SealedSecret|ExternalSecret|ServiceAccount|Role)\b`)
	ownCluster   = phrase.Pattern(`(?m)^["']?kind["']?:[ \t]*["']?Cluster\b["']?[ \t]*(#.*)?$`)
)

// ownKind tells what a file of a user is: by its name if clusterctl knows that, and otherwise by
// what it holds.
func ownKind(name, data string) layouts.FileKind {
	is := func(p func() *regexp.Regexp) bool { return p().MatchString(data) }
	switch kind := layouts.KindOfFile(name); {
	case kind == layouts.ClusterTemplate, kind == layouts.ClusterClass:
		return kind
	case !strings.Contains(data, "cluster.x-k8s.io/") || !is(ofClusterAPI): // most files of a repository
		return layouts.Asset
	case is(ownClass) && !is(ownCluster):
		return layouts.ClusterClass
	}
	return layouts.ClusterTemplate
}

// mayBeOwn reports whether what is not a repository may be templates of users: it has neither
// a file of a release nor one of a provider's source tree.
func mayBeOwn(name string, not *folder.NotRepositoryError) bool {
	if not.File {
		kind := layouts.KindOfFile(filepath.Base(name))
		return kind != layouts.Components && kind != layouts.Metadata && !slices.Contains([]string{".tar", ".tgz", ".gz"}, filepath.Ext(name))
	}
	return !slices.ContainsFunc(append([]string{"PROJECT", layouts.MetadataFile}, ConfigNames...), func(marker string) bool {
		_, err := os.Lstat(filepath.Join(name, marker))
		return err == nil
	})
}
