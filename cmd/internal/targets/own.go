package targets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// OwnHelp follows Help for commands that take templates of users.
const OwnHelp = `
Or TARGET is templates, ClusterClasses and Clusters of your own: a file, a folder
with files of any name, "-" for standard input, or the https URL of a file, such
as https://github.com/OWNER/REPO/blob/BRANCH/FILE.`

// stdin is what messages call standard input.
const stdin = "<stdin>"

// OpenOwn is Open for verbs that also take templates of users; see OwnHelp.
func OpenOwn(ctx context.Context, env *cli.Env, name string, s *Source) (*Target, error) {
	if name == "-" || isWebFile(env, name) {
		return openStream(ctx, env, name)
	}
	own := Source{finished: s == nil}
	if s != nil {
		own = *s
	}
	own.own = true
	return Open(ctx, env, name, &own)
}

// openStream reads the one file of a pipe or of a web server.
func openStream(ctx context.Context, env *cli.Env, name string) (*Target, error) {
	var data []byte
	var err error
	shown := name
	if name == "-" {
		shown = stdin
		data, err = io.ReadAll(io.LimitReader(env.In, repo.MaxFileSize+1))
	} else {
		data, err = open.NewWeb(open.WebOptions{
			Client: transport.New(env.Transport, env.Policy()),
			Get:    func(string) ([]byte, bool) { return nil, false },
			Put:    func(string, []byte) {},
		}).Components(ctx, layouts.Provider{}, "", rawURL(name))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; if it is private, download it: no token is sent for single files", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	r, err := transform.OwnFile(repo.BytesArtifact(shown, data))
	if err != nil {
		return nil, err
	}
	t, err := resolved(r)
	if err == nil {
		t.Remote = name != "-"
	}
	return t, err
}

// isWebFile tells the URL of a file from that of a release, as clusterctl generate cluster
// --from takes it.
func isWebFile(env *cli.Env, name string) bool {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "https" || open.WithoutSecret(name) != nil {
		return false
	}
	l, err := layouts.ParseURL(name, env.Places().Servers())
	kind := layouts.KindOfFile(path.Base(u.Path))
	template := kind == layouts.ClusterTemplate || kind == layouts.ClusterClass
	return rawURL(name) != "" && (err != nil || l.File == "" && template)
}

// rawURL is where the content of a file is; pages of GitHub and GitLab show it. It is empty for
// a page of GitHub that shows no file.
func rawURL(name string) string {
	rest, ok := strings.CutPrefix(name, "https://github.com/")
	if !ok {
		return strings.Replace(name, "/-/blob/", "/-/raw/", 1)
	}
	switch parts := strings.SplitN(rest, "/", 4); {
	case len(parts) < 4:
	case parts[2] == "releases":
		return name
	case parts[2] == "blob" || parts[2] == "raw":
		return "https://raw.githubusercontent.com/" + path.Join(parts[0], parts[1], parts[3])
	}
	return ""
}

// With is the flag --with: the releases of the providers that templates use.
type With struct{ names []string }

func (w *With) Bind(f *pflag.FlagSet) { f.StringArrayVar(&w.names, "with", nil, "") }

// Open opens the newest release of each provider of the targets.
func (w *With) Open(ctx context.Context, env *cli.Env) (out []*repo.Release, err error) {
	for _, name := range w.names {
		var releases []*repo.Release
		t, err := OpenOwn(ctx, env, name, &Source{})
		if err == nil {
			releases, err = t.Newest()
		}
		if err != nil {
			return nil, fmt.Errorf("--with %s: %w", name, err)
		}
		out = append(out, releases...)
	}
	return out, nil
}

// labelled opens the release of a provider that clusterctl knows, by its label; nil if the name
// is something else.
func labelled(ctx context.Context, env *cli.Env, name string) (*Target, error) {
	label, version, pinned := strings.Cut(name, "@")
	p, err := layouts.ParseLabel(label)
	e, known := layouts.EmbeddedProvider(p)
	if err != nil || !known {
		return nil, nil
	}
	l, err := ParseURL(env, e.URL())
	if err != nil {
		return nil, err
	}
	if pinned {
		l = l.At(version)
	}
	env.Say("info: there is no folder %s; reading %s", name, l.URL())
	return openLocation(ctx, env, l.URL(), l)
}

// isConfig reports whether a file is a configuration of clusterctl.
func isConfig(name string) bool {
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) || localrepo.Is(name) {
		return false
	}
	data, err := cli.ReadDocuments(name)
	if err != nil {
		return false
	}
	docs := yamldoc.Parse(yamldoc.NewFile(name, data)).Docs
	if len(docs) != 1 || docs[0].Err != nil || docs[0].Root.Get("kind") != nil {
		return filepath.Base(name) == layouts.ConfigFile
	}
	return filepath.Base(name) == layouts.ConfigFile || docs[0].Root.Get("providers").Is(yamldoc.List)
}

// openConfig opens what the providers of a configuration of clusterctl name.
func openConfig(ctx context.Context, env *cli.Env, name string) (*Target, error) {
	data, err := env.ReadFile(name)
	if err != nil {
		return nil, err
	}
	a := repo.BytesArtifact(layouts.ConfigFile, data)
	a.Path = env.Short(env.Path(name))
	out := &Target{Repository: &repo.Repository{Path: a.Path, Config: a}, Partial: true}
	config, err := clusterctl.Read(name, data, clusterctl.Env(env.LookupEnv))
	if err != nil {
		return nil, cli.UsageError(err)
	}
	providers, err := config.Providers()
	if err != nil {
		return out, cli.UsageError(err)
	}
	for _, p := range providers {
		l, err := ParseURL(env, p.URL)
		if err != nil {
			return out, err
		}
		t, err := openLocation(ctx, env, p.URL, l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, of := range t.Repository.Providers {
			of.Provider = p.Provider // as the configuration calls it
			for _, r := range of.Releases {
				r.Provider = p.Provider
			}
		}
		out.parts = append(out.parts, t)
		out.Remote = out.Remote || t.Remote
		out.Repository.Providers = append(out.Repository.Providers, t.Repository.Providers...)
		out.Wholes = append(out.Wholes, t.Wholes...)
	}
	return out, nil
}

// Named reports whether a TARGET is neither a folder nor a file of templates, but names releases
// that lie elsewhere: the label of a provider, or a clusterctl.yaml.
func Named(env *cli.Env, name string) bool {
	if _, err := os.Lstat(env.Path(name)); err != nil {
		label, _, _ := strings.Cut(name, "@")
		p, err := layouts.ParseLabel(label)
		_, known := layouts.EmbeddedProvider(p)
		return err == nil && known
	}
	return isConfig(env.Path(name))
}
