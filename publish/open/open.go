package open

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/github"
	"github.com/clusterctl-repo/clusterctl-repo/publish/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Places opens the places of one run. It is safe for concurrent use. Every
// credential belongs to exactly one server: the one that the environment
// names, or else the first DEST of its kind that Site opens. All other servers
// are asked anonymously.
type Places struct {
	// Env is os.LookupEnv, or nil for an empty environment.
	Env func(name string) (string, bool)
	// Dir is what relative folders are relative to; "" is the working directory.
	Dir string
	// Base makes the connections; nil is transport.Usual.
	Base   http.RoundTripper
	Policy transport.Policy
	// Tool is the name and version of the program, such as tool/v1.2.3.
	Tool string

	secrets transport.Secrets

	mu sync.Mutex
	// claimed are the servers of the first DESTs, by kind.
	claimed map[layouts.LocationKind]string
}

// Options say how releases are published. The zero value is good for most.
type Options struct {
	// Notes is the text of a release on GitHub.
	Notes string
	// Target is the commit of the tag.
	Target string
	// Remote and Commit are the git remote of what is published and the commit that
	// it is at. A tag that does not exist yet is there if Remote is the destination.
	Remote, Commit string
	// GenerateNotes, AdoptDraft and Complete are those of github.Options.
	// AdoptDraft is TakeOver of the other kinds.
	GenerateNotes, AdoptDraft, Complete bool
	// URL is the address of the web server of static:DIR.
	URL string
	// AllowUnreadable is that of gitlab.Options.
	AllowUnreadable bool
}

// Servers are the forges that the environment names, as the runners of GitHub
// and GitLab and their command lines set them.
func (p *Places) Servers() layouts.Servers {
	server := func(v string) string {
		if v != "" && !strings.Contains(v, "://") {
			v = "https://" + v
		}
		return strings.TrimSuffix(v, "/")
	}
	return layouts.Servers{
		GitHub: server(p.env("GITHUB_SERVER_URL", "GH_HOST")),
		GitLab: server(p.env("CI_SERVER_URL", "GITLAB_SERVER_URL", "GITLAB_HOST")),
	}
}

// Site opens a DEST: a folder, file:///FOLDER, static:DIR,
// https://github.com/OWNER/REPO, https://gitlab.HOST/GROUP/PROJECT, the URL of a package
// there, or oci://HOST/REPO. No request is made. All
// errors are about the name or the options.
func (p *Places) Site(name string, o Options) (publish.Site, error) {
	if err := WithoutSecret(name); err != nil {
		return publish.Site{}, err
	}
	if folder, ok := Static(name); ok {
		return p.static(name, folder, o.URL)
	}
	place, err := layouts.ParsePlace(name, p.Servers())
	if err != nil {
		return publish.Site{}, err
	}
	if place.Kind == layouts.Local {
		folder, err := p.Folder(name)
		if err != nil {
			return publish.Site{}, err
		}
		return folder.Site(), nil
	}
	p.claim(place)
	site := publish.Site{Name: name, Kind: place.Kind, Shared: place.Shared()}
	var mu sync.Mutex
	opened := map[string]publish.Destination{}
	site.Of = func(provider layouts.Provider) (publish.Destination, error) {
		mu.Lock()
		defer mu.Unlock()
		label := ""
		if !site.Shared {
			label = provider.Label()
		}
		if opened[label] == nil {
			dest, err := p.remote(place, provider, layouts.Location{}, o)
			if err != nil {
				return nil, err
			}
			opened[label] = dest
		}
		return opened[label], nil
	}
	// Names that the kind of place does not allow show before anything is built.
	_, err = p.remote(place, layouts.Provider{Type: layouts.Core, Name: layouts.CoreName}, layouts.Location{}, o)
	return site, err
}

// Folder opens a DEST that is a folder or static:DIR. It returns nil if the DEST
// is another kind of place.
func (p *Places) Folder(name string) (*local.Folder, error) {
	if folder, ok := Static(name); ok {
		return local.New(p.path(folder))
	}
	place, err := layouts.ParsePlace(name, p.Servers())
	if err != nil || place.Kind != layouts.Local {
		return nil, err
	}
	if err := p.Misread(name); err != nil {
		return nil, err
	}
	dir := p.path(filepath.FromSlash(place.Folder))
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, not a folder", name)
	}
	if _, err := os.Lstat(dir); err != nil && slices.Contains(archives, filepath.Ext(dir)) && !strings.HasSuffix(name, "/") {
		return nil, fmt.Errorf("%s would be a folder; only mirror writes an archive, and its name must end with .tar;"+
			" make the folder first if you mean one", name)
	}
	return local.New(dir)
}

// Misread refuses the name of a folder or file that is more likely a URL without its
// scheme, or a path after a scheme that does not exist, such as bundle:b.tar.
func (p *Places) Misread(name string) error {
	if url := p.forgotten(name); url != "" {
		return fmt.Errorf("%s would be a folder; write %s for the server, or ./%[1]s for the folder", name, url)
	}
	scheme, rest, _ := strings.Cut(name, ":")
	if _, err := os.Lstat(p.path(name)); err == nil || rest == "" || IsURL(name) || !schemes().MatchString(scheme) {
		return nil
	}
	return fmt.Errorf("%s: unknown scheme %q; write %s, or ./%[1]s for a file or folder of that name", name, scheme+":", rest)
}

// schemes are more than the letter of a Windows drive.
var schemes = phrase.Pattern(`^[a-zA-Z][a-zA-Z0-9+-]+$`)

// archives end the names of what a user expects to be a file.
var archives = []string{".tar", ".tgz", ".gz", ".zip"}

// Location opens the place of a release on a server, for reading. No request
// is made.
func (p *Places) Location(l layouts.Location) (publish.Destination, error) {
	return p.remote(l.Place(), layouts.Provider{}, l, Options{AllowUnreadable: true})
}

// Registry opens a repository of a registry for container images. No request is
// made.
func (p *Places) Registry(host, repository string) (*oci.Repository, error) {
	return oci.New(p.oci(host, repository, Options{}))
}

// Printable makes a text that may come from a server fit for a terminal:
// without control characters and without the credentials of the environment.
func (p *Places) Printable(text string) string { return p.secrets.Redact(transport.Printable(text)) }

// path returns a path as the process sees it.
func (p *Places) path(name string) string {
	if p.Dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

// forgotten returns the URL that a user means who writes github.com/OWNER/REPO,
// git@github.com:OWNER/REPO, oci:HOST/REPO or the name of a registry's repository without oci://;
// nothing if there is a folder of that name, or its first part is not like a host.
func (p *Places) forgotten(name string) string {
	path := name
	if rest, ok := strings.CutPrefix(name, "git@"); ok {
		path = strings.Replace(rest, ":", "/", 1)
	}
	first, _, deep := strings.Cut(name, "/")
	if _, err := os.Lstat(p.path(first)); err == nil || first == "" {
		return ""
	}
	url := "https://" + strings.TrimSuffix(path, ".git")
	if scheme, rest, _ := strings.Cut(name, ":"); scheme == "oci" || scheme == "https" {
		url = scheme + "://" + strings.TrimLeft(rest, "/")
	}
	if place, err := layouts.ParsePlace(url, p.Servers()); err == nil && place.Kind != layouts.Local {
		return url
	}
	// ghcr.io and localhost:5000 look like hosts; out, v1.2 and .cache do not.
	if host, _ := regexp.MatchString(`^[a-z0-9][a-z0-9.-]*(\.[a-z]{2,}|:[0-9]+)$`, first); deep && host {
		if _, err := layouts.ParsePlace("oci://"+name, p.Servers()); err == nil {
			return "oci://" + name
		}
	}
	return ""
}

// remote opens the destination of a provider on a server. Of the location only
// the names of package and file count.
func (p *Places) remote(place layouts.Place, provider layouts.Provider, l layouts.Location, o Options) (publish.Destination, error) {
	switch place.Kind {
	case layouts.GitHub:
		return github.New(p.gitHub(place.Server, place.For(provider.Label()).Name, o))
	case layouts.GitLab:
		place = place.For(provider.Label())
		options := p.gitLab(place.Server, place.Name, o)
		options.Package, options.File = cmp.Or(l.Package, place.Package, provider.Label()), cmp.Or(l.File, place.File)
		options.Version = place.Version
		return gitlab.New(options)
	case layouts.OCI:
		return oci.New(p.oci(place.Server, place.For(oci.RepositoryName(provider)).Name, o))
	}
	return nil, fmt.Errorf("%s is not on a server", place.Kind)
}

// isRemote reports whether a remote of git is a project on a server.
func isRemote(remote, server, name string) bool {
	remote = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(remote, "/"), ".git"))
	host := strings.ToLower(server[strings.Index(server, "://")+len("://"):])
	at := strings.Index(remote, host)
	return at >= 0 && strings.TrimLeft(remote[at+len(host):], ":/") == strings.ToLower(name)
}

func sameHost(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	return err == nil && err2 == nil && u.Host != "" && strings.EqualFold(u.Host, v.Host)
}

// IsURL tells a URL from a folder.
func IsURL(name string) bool {
	return strings.Contains(name, "://") || strings.HasPrefix(name, "file:")
}

// WithoutSecret refuses URLs that bring their own credentials, without showing
// them; all other messages show the URL.
func WithoutSecret(raw string) error {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme == "file" {
		return nil
	}
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	at := strings.LastIndexByte(host, '@')
	switch {
	case at >= 0:
		return fmt.Errorf("%s://%s: the URL must not contain a user or password; tokens come from the environment", scheme, host[at+1:])
	case strings.ContainsAny(rest, "?#"):
		return fmt.Errorf("%s: the URL must end before ? or #; tokens come from the environment", raw[:strings.IndexAny(raw, "?#")])
	}
	return nil
}
