package transform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
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
	var beside []*repo.Artifact
	incomplete := ""
	if only != "" {
		for _, entry := range odd {
			incomplete = "has a neighbour that is not read: " + entry.Path
		}
		n := slices.IndexFunc(all, func(a *repo.Artifact) bool { return a.Name == only }) + 1
		all, beside = all[:n], phrase.Only(all[n:], func(a *repo.Artifact) bool {
			_, err := a.Text()
			return err == nil
		})
	}
	r, left, err := ownFiles(name, all)
	if err != nil {
		return nil, err
	}
	unread := len(all) - len(r.Artifacts)
	for _, m := range left {
		unread -= len(m.Files)
	}
	for _, m := range made {
		if in, texts, err := ownFiles(m.Path, m.Files); err == nil && len(in.Artifacts)+len(texts) > 0 {
			left = append(left, m)
		}
	}
	if len(r.Artifacts) == 0 && len(left) == 0 {
		return nil, ErrNotOwn
	}
	notes := phrase.List(left, func(m *folder.Made) string {
		if m.Command == "" {
			return fmt.Sprintf("%s: input for %s; pipe the output of that program into clusterctl-repo lint -", m.Path, m.Program)
		}
		return fmt.Sprintf("%s: input for %s; check its output: %s | clusterctl-repo lint -", m.Path, m.Program, m.Command)
	})
	if len(r.Artifacts) == 0 {
		return nil, wrongf("%s", strings.Join(notes, "\n"))
	}
	for _, note := range notes {
		o.note(false, "not read: %s", note)
	}
	r.Incomplete = incomplete
	if len(left) > 0 {
		paths := phrase.List(left, func(m *folder.Made) string { return m.Path })
		r.Incomplete = "holds files that are not read: " + phrase.Few(paths, 6)
	}
	if more, _, err := ownFiles(dir, beside); err == nil {
		r.Beside = slices.Concat(r.Beside, more.Artifacts, more.Beside)
	}
	rest := ""
	if unread > 0 {
		rest = "; not read, because they hold no object of Cluster API: " + phrase.Count(unread, "file")
	}
	o.note(false, "treating %s as templates of your own (%s)%s", name, phrase.Count(len(r.Artifacts), "file"), rest)
	return ownRelease(r), nil
}

func ownRelease(r *repo.Release) *Resolved {
	p := &repo.Provider{Path: r.Path, Releases: []*repo.Release{r}}
	return &Resolved{Repository: &repo.Repository{Path: r.Path, Providers: []*repo.Provider{p}}, Partial: true, Guessed: true}
}

// OwnFile is Own for a file that is at hand.
func OwnFile(a *repo.Artifact) (*Resolved, error) {
	r, left, err := ownFiles(a.Name, []*repo.Artifact{a})
	switch {
	case err != nil:
		return nil, err
	case len(left) > 0:
		return nil, wrongf("%s is not YAML, but input for %s; check its output", a.Name, left[0].Program)
	case len(r.Artifacts) == 0:
		return nil, wrongf("%s %w", a.Name, ErrNotOwn)
	}
	return ownRelease(r), nil
}

// ownFiles takes the files that hold an object of Cluster API. Those that are text for another
// program are left.
func ownFiles(name string, all []*repo.Artifact) (r *repo.Release, left []*folder.Made, err error) {
	r = &repo.Release{Path: name, Own: true}
	text := &folder.Made{Program: "Helm, Jinja or another program"}
	var texts []string
	for _, a := range all {
		data, err := a.Text()
		if err != nil {
			return nil, nil, err
		}
		switch kind, beside := ownKind(a, data); {
		case kind == layouts.Asset && beside:
			r.Beside = append(r.Beside, a.As(layouts.ClusterTemplate))
		case kind == layouts.Asset:
		case layouts.KindOfFile(a.Name) == layouts.Asset && templated(data):
			texts, text.Files = append(texts, a.Path), append(text.Files, a)
		default:
			a = a.As(kind)
			a.Literal = literal(a.Name, data)
			r.Artifacts = append(r.Artifacts, a)
		}
	}
	if len(texts) > 0 {
		text.Path = phrase.Few(texts, 3)
		left = append(left, text)
	}
	r.Sort()
	return r, left, nil
}

// bare is what a template program such as Helm or Jinja replaces, where YAML reads it as a mapping.
var bare = phrase.Pattern(`(?m)(^[ \t]*|[:,\[-][ \t]+)\{[{%]|^[ \t]*[}%]\}`)

// templated reports whether a text is not YAML, or names no object, because of what a template
// program replaces.
func templated(data string) bool {
	marked := func(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "{%") }
	if !marked(data) {
		return false
	}
	lines := strings.Split(data, "\n")
	return slices.ContainsFunc(yamldoc.Parse(yamldoc.NewFile("", []byte(data))).Docs, func(d *yamldoc.Document) bool {
		if d.Err == nil {
			return marked(d.Root.Get("metadata", "name").Str()) || marked(d.Root.Get("kind").Str())
		}
		at := max(d.Err.Pos.Line-1, 0)
		before := lines[at][:min(max(d.Err.Pos.Column-1, 0), len(lines[at]))]
		return marked(before) || bare().MatchString(strings.Join(lines[max(at-1, 0):at+1], "\n"))
	})
}

// common are variables that only templates of clusterctl have.
var common = phrase.Pattern(`\$\$\{|\$\{ *(CLUSTER_NAME|NAMESPACE|KUBERNETES_VERSION|[A-Z_]+_MACHINE_COUNT)\b`)

// literal reports whether a file is what kubectl applies, such as the output of Helm: it has ${}
// only in scripts, and none that clusterctl sets.
func literal(name, data string) bool {
	if layouts.KindOfFile(name) != layouts.Asset || !strings.Contains(data, "${") || common().MatchString(data) {
		return false
	}
	return !slices.ContainsFunc(yamldoc.Parse(yamldoc.NewFile(name, data)).Docs, func(d *yamldoc.Document) bool {
		return d.Err != nil || hasVariable(d.Root)
	})
}

// hasVariable reports whether something else than a text of several lines holds a variable.
func hasVariable(n *yamldoc.Node) bool {
	if slices.ContainsFunc(n.Fields(), func(f yamldoc.Field) bool { return strings.Contains(f.Name, "${") || hasVariable(f.Value) }) {
		return true
	}
	return slices.ContainsFunc(n.List(), hasVariable) || n.Is(yamldoc.String) && n.Style != yamldoc.Block && strings.Contains(n.Text(), "${")
}

// ownKind tells what a file of a user is: by its name if clusterctl knows that, and otherwise by
// what it holds. Beside are files with what objects of Cluster API name, such as Secrets.
func ownKind(a *repo.Artifact, data string) (_ layouts.FileKind, beside bool) {
	named := layouts.KindOfFile(a.Name)
	known := named == layouts.ClusterTemplate || named == layouts.ClusterClass
	ofAPI := strings.Contains(data, "cluster.x-k8s.io/")
	if !known && !ofAPI && (path.Ext(a.Name) == ".json" || !slices.ContainsFunc(besideKinds, func(kind string) bool { return strings.Contains(data, kind) })) {
		return layouts.Asset, false // as most files of a repository
	}
	identified := false
	holds := map[string]bool{} // the kinds of Cluster API, for others ""
	f := manifest.New(a, layouts.ClusterTemplate, data)
	for _, o := range f.Objects() {
		identified = identified || manifest.Identified(o.Doc)
		nodes := []*yamldoc.Node{o.Doc.Root}
		if o.IsList() {
			nodes = o.Get("items").List()
		}
		for _, n := range nodes {
			of := n.Get("kind").Str()
			group, _ := manifest.SplitAPIVersion(n.Get("apiVersion").Str())
			_, core := contract.CoreSchema(group, of, string(contract.V1Beta2))
			switch {
			case core:
				holds[of] = true
			case slices.Contains(installs, group):
			case contract.OfClusterAPI(group) && n.Get("metadata") != nil: // unlike the configuration of clusterawsadm
				holds[""] = true
			case slices.Contains(besideKinds, of):
				beside = true
			}
		}
	}
	switch {
	case known && (identified || len(holds) > 0 || !f.Parses()):
		return named, false
	case holds[clusterclass.Kind] && !holds["Cluster"] && !strings.Contains(data, "${"): // with variables it is a template, for --from
		return layouts.ClusterClass, false
	case len(holds) > 0, ofAPI && !f.Parses() && ownVersion().MatchString(data): // for lint to say what is wrong with it
		return layouts.ClusterTemplate, false
	}
	return layouts.Asset, beside
}

// installs are the groups of what installs providers, such as metadata.yaml.
var installs = []string{"clusterctl.cluster.x-k8s.io", "operator.cluster.x-k8s.io"}

var ownVersion = phrase.Pattern(`(?m)^([ \t{]*"|'?)apiVersion["']?:[ \t]*["']?[a-z0-9.-]*cluster\.x-k8s\.io/`)

// besideKinds are the kinds of what objects of Cluster API name.
var besideKinds = []string{"ConfigMap", "Secret", "SealedSecret", "ExternalSecret", "ServiceAccount", "Role"}

// mayBeOwn reports whether what is not a repository may be templates of users: it has neither
// a file of a release nor one of a provider's source tree.
func mayBeOwn(name string, not *folder.NotRepositoryError) bool {
	if not.File {
		kind := layouts.KindOfFile(filepath.Base(name))
		return kind != layouts.Components && kind != layouts.Metadata && !slices.Contains([]string{".tar", ".tgz", ".gz"}, filepath.Ext(name))
	}
	project, _ := os.ReadFile(filepath.Join(name, "PROJECT")) // of Kubebuilder, which makes other operators, too
	return !strings.Contains(string(project), "cluster-api") && !strings.Contains(string(project), "cluster.x-k8s.io") &&
		!slices.ContainsFunc(append([]string{layouts.MetadataFile}, ConfigNames...), func(marker string) bool {
			_, err := os.Lstat(filepath.Join(name, marker))
			return err == nil
		})
}
