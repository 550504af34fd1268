package layouts

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Latest stands for the newest version in a provider URL.
const Latest = "latest"

const (
	gitHubHost       = "github.com"
	gitLabHostPrefix = "gitlab."
	gitLabAPIPrefix  = "/api/v4/projects/"
)

// LocationKind is the kind of place a release lives in.
type LocationKind int

// The kinds of places. The first three are clusterctl's.
const (
	Local LocationKind = iota
	GitHub
	GitLab
	OCI
)

var locationKindNames = [...]string{"local folder", "GitHub", "GitLab", "OCI registry"}

func (k LocationKind) String() string { return locationKindNames[k] }

// Location is the place of a release, taken apart.
type Location struct {
	Kind LocationKind
	// Base is the repository folder of a Local release, with slashes; below it
	// lie LABEL/VERSION/FILE.
	Base string
	// Label is the folder of the provider in a Local repository.
	Label string
	// Host is the server of GitLab and OCI, with its port if there is one. For
	// GitHub it is empty, or a GitHub Enterprise server.
	Host string
	// Server is the whole address of a forge that clusterctl does not read,
	// such as https://code.example.com; otherwise it is empty.
	Server string
	// Owner and Repository name a GitHub repository; Repository alone the
	// repository of an OCI registry.
	Owner, Repository string
	// Project is a GitLab project and Package its generic package, both as
	// they are escaped in the URL, because so clusterctl uses them.
	Project, Package string
	// Version is the tag or folder; Latest means the newest.
	Version string
	// Root is the folder before the file name that clusterctl expects in the
	// names of GitHub assets; empty in every sound URL.
	Root string
	// File is the components file.
	File string
}

// URLError is a provider URL that clusterctl refuses.
type URLError struct {
	// Message is the cause that clusterctl prints at the end of its own.
	Message string
	// Help says what to do instead.
	Help string
}

// Error joins the message of clusterctl with the advice.
func (e *URLError) Error() string {
	if e.Help == "" {
		return e.Message
	}
	return e.Message + ". " + e.Help
}

// ParseProviderURL takes a provider URL of clusterctl.yaml apart, exactly as
// clusterctl does after it has substituted variables
// (clusterctl: client/repository, repositoryFactory and the constructors it
// calls). A refusal is a *URLError with the message of clusterctl.
func ParseProviderURL(raw string, p Provider) (Location, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Location{}, &URLError{Message: "error parsing provider URL: " + err.Error()}
	}
	switch {
	case u.Scheme == "https" && u.Host == gitHubHost:
		return parseGitHub(u)
	case u.Scheme == "https" && strings.HasPrefix(u.Host, gitLabHostPrefix) && strings.HasPrefix(u.EscapedPath(), gitLabAPIPrefix):
		return parseGitLab(u)
	case u.Scheme == "https":
		return Location{}, &URLError{
			Message: `invalid provider url. Only GitHub and GitLab are supported for "https" schema`,
			Help:    "The host must be exactly github.com, or begin with gitlab. and be followed by /api/v4/projects/",
		}
	case u.Scheme == "file" || u.Scheme == "":
		l, err := parseLocal(raw, u)
		if err != nil {
			return Location{}, err
		}
		if l.Label != p.Label() {
			return Location{}, localError("invalid path: path %q must contain provider %q in the format {basepath}/{provider-label}/{version}/{components.yaml}", raw, p.Label())
		}
		return l, nil
	}
	return Location{}, &URLError{
		Message: fmt.Sprintf("invalid provider url. there are no provider implementation for %q schema", u.Scheme),
		Help:    "clusterctl reads https://github.com/…, https://gitlab.…/api/v4/projects/… and file:///…",
	}
}

// ParseURL takes the URL of a release apart for a reader that does not know the
// provider yet. It accepts what ParseProviderURL does, and what clusterctl does
// not read: oci://HOST/REPO:TAG, what people paste from a browser, also links to a download, which
// clusterctl treats as a release called "download", and the same paths on GitHub Enterprise and
// other known servers.
func ParseURL(raw string, servers Servers) (Location, error) {
	if rest, ok := strings.CutPrefix(raw, "oci://"); ok {
		return parseOCI(raw, rest)
	}
	if u, err := url.Parse(raw); err == nil && (u.Scheme == "file" || u.Scheme == "") {
		return parseLocal(raw, u)
	}
	if kind, server, u, ok := onForge(raw, servers); ok {
		l, err := parseGitLab(u)
		if kind == GitHub {
			l, err = parsePasted(u)
		}
		if err == nil {
			if server != "https://"+gitHubHost {
				l.Host = u.Host
			}
			if server != "https://"+gitHubHost && (kind == GitHub || server != "https://"+u.Host || !strings.HasPrefix(u.Host, gitLabHostPrefix)) {
				l.Server = server
			}
			return l, nil
		}
	}
	return ParseProviderURL(raw, Provider{})
}

// parsePasted reads the address of a repository on GitHub, of its releases, of one of them or of
// a file in it, also as it stands in a browser.
func parsePasted(u *url.URL) (Location, error) {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 2 || parts[0] == "" || len(parts) > 2 && parts[2] != "releases" {
		return parseGitHub(u)
	}
	l := Location{Kind: GitHub, Owner: parts[0], Repository: strings.TrimSuffix(parts[1], ".git"), Version: Latest}
	switch {
	case len(parts) > 4 && parts[3] == "tag":
		l.Version = strings.Join(parts[4:], "/")
	case len(parts) == 4 && parts[3] != "tag" && parts[3] != "download":
		l.Version = parts[3]
	case len(parts) > 3:
		l, err := parseGitHub(u)
		if sound, ok := l.withoutDownload(); ok {
			switch l = sound; KindOfFile(l.File) {
			case ClusterTemplate, ClusterClass, Metadata:
				l.File = "" // no provider is called so
			}
		}
		return l, err
	}
	return l, nil
}

// Place returns where a published release is; File and Version apart.
func (l Location) Place() Place {
	switch l.Kind {
	case GitHub:
		return Place{Kind: GitHub, Server: cmp.Or(l.Server, "https://"+gitHubHost), Name: l.Owner + "/" + l.Repository}
	case GitLab:
		name, err := url.PathUnescape(l.Project)
		if err != nil {
			name = l.Project
		}
		return Place{Kind: GitLab, Server: cmp.Or(l.Server, "https://"+l.Host), Name: name}
	case OCI:
		return Place{Kind: OCI, Server: l.Host, Name: l.Repository}
	}
	return Place{Kind: Local, Folder: path.Join(l.Base, l.Label)}
}

// withoutDownload turns the two forms of GitHub's download links,
// releases/download/TAG/FILE and releases/latest/download/FILE, into what was
// meant.
func (l Location) withoutDownload() (Location, bool) {
	switch {
	case l.Version == "download" && l.Root != "" && !strings.Contains(l.Root, "/"):
		l.Version, l.Root = l.Root, ""
	case l.Version == Latest && l.Root == "download":
		l.Root = ""
	default:
		return l, false
	}
	return l, true
}

func parseGitHub(u *url.URL) (Location, error) {
	names := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	if len(names) < 5 || names[2] != "releases" {
		return Location{}, &URLError{Message: "invalid url: a GitHub repository url should be in the form https://github.com/{owner}/{Repository}/releases/{latest|version-tag}/{componentsClient.yaml}"}
	}
	file := strings.Join(names[4:], "/")
	root := path.Dir(file)
	l := Location{Kind: GitHub, Owner: names[0], Repository: names[1], Version: names[3]}
	l.File = strings.TrimPrefix(strings.TrimPrefix(file, root), "/")
	if root != "." {
		l.Root = root
	}
	return l, nil
}

func parseGitLab(u *url.URL) (Location, error) {
	names := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	if len(names) != 9 || names[4] != "packages" || names[5] != "generic" {
		return Location{}, &URLError{
			Message: "invalid url: a GitLab repository url should be in the form https://{host}/api/v4/projects/{projectSlug}/packages/generic/{packageName}/{defaultVersion}/{componentsPath}",
			Help:    "The project is its number, or its path with every / written as %2F",
		}
	}
	return Location{Kind: GitLab, Host: u.Host, Project: names[3], Package: names[6], Version: names[7], File: names[8]}, nil
}

func localError(format string, args ...any) error {
	return &URLError{Message: fmt.Sprintf(format, args...)}
}

// parseLocal reads the path of a file URL. On Windows the path of file:///C:/x
// is /C:/x here; clusterctl drops that first slash.
func parseLocal(raw string, u *url.URL) (Location, error) {
	if !path.IsAbs(u.Path) {
		return Location{}, localError("invalid path: path %q must be an absolute path", raw)
	}
	names := strings.Split(u.Path, "/")
	if len(names) < 3 {
		return Location{}, localError("invalid path: path should be in the form {basepath}/{provider-name}/{version}/{components.yaml}")
	}
	tail := names[len(names)-3:]
	l := Location{Kind: Local, Label: tail[0], Version: tail[1], File: tail[2]}
	if l.Version != Latest {
		if _, err := ParseVersion(l.Version); err != nil {
			return Location{}, localError("invalid version: %q. Version must obey the syntax and semantics of the \"Semantic Versioning\" specification (http://semver.org/) and path format {basepath}/{provider-name}/{version}/{components.yaml}", l.Version)
		}
	}
	l.Base = path.Clean(strings.TrimSuffix(u.Path, path.Join(tail...)))
	return l, nil
}

// ociForms are compiled when an OCI reference is first read.
var ociForms = sync.OnceValue(func() (f struct{ host, repository, tag, digest *regexp.Regexp }) {
	f.host = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]+)?$|^\[[0-9A-Fa-f:]+\](:[0-9]+)?$`)
	f.repository = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	f.tag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	f.digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	return f
})

// parseOCI reads HOST/REPO[:TAG][@DIGEST] by the grammar of the OCI distribution
// specification. A digest is the version; without it and a tag that is empty.
func parseOCI(raw, rest string) (Location, error) {
	host, name, _ := strings.Cut(rest, "/")
	name, digest, pinned := strings.Cut(name, "@")
	repository, tag, tagged := strings.Cut(name, ":")
	forms := ociForms()
	switch {
	case !forms.host.MatchString(host):
		return Location{}, &URLError{Message: fmt.Sprintf("%q: %q is not a registry host", raw, host), Help: "The form is oci://HOST/REPOSITORY:TAG"}
	case !forms.repository.MatchString(repository):
		return Location{}, &URLError{Message: fmt.Sprintf("%q: %q is not a repository name", raw, repository), Help: "The form is oci://HOST/REPOSITORY, in lower-case letters and digits, separated by single dots, dashes, underscores and slashes"}
	case tagged && !forms.tag.MatchString(tag):
		return Location{}, &URLError{Message: fmt.Sprintf("%q: %q is not a tag", raw, tag), Help: "It consists of at most 128 letters, digits, dots, dashes and underscores"}
	}
	if pinned {
		if !forms.digest.MatchString(digest) {
			return Location{}, &URLError{Message: fmt.Sprintf("%q: %q is not a digest", raw, digest), Help: "The form is oci://HOST/REPOSITORY@sha256: and 64 hexadecimal digits"}
		}
		tag = digest // which counts, as in the names of images
	}
	return Location{Kind: OCI, Host: host, Repository: repository, Version: tag}, nil
}

// URL puts the location together again: the form for clusterctl.yaml, or
// oci://HOST/REPO:TAG.
func (l Location) URL() string {
	switch l.Kind {
	case GitHub:
		names := []string{"", l.Owner, l.Repository, "releases", l.Version, l.Root, l.File}
		if l.Root == "" {
			names = []string{"", l.Owner, l.Repository, "releases", l.Version, l.File}
		}
		return cmp.Or(l.Server, "https://"+gitHubHost) + (&url.URL{Path: strings.Join(names, "/")}).String()
	case GitLab:
		server := cmp.Or(l.Server, "https://"+l.Host)
		return server + gitLabAPIPrefix + l.Project + "/packages/generic/" + l.Package + "/" + l.Version + "/" + l.File
	case OCI:
		at := "oci://" + l.Host + "/" + l.Repository
		switch {
		case l.Version == "":
			return at
		case strings.Contains(l.Version, ":"):
			return at + "@" + l.Version
		}
		return at + ":" + l.Version
	}
	return (&url.URL{Scheme: "file", Path: path.Join("/", l.Base, l.Label, l.Version, l.File)}).String()
}

// At returns the location of another version of the same provider.
func (l Location) At(version string) Location {
	l.Version = version
	return l
}

// GitLabProject escapes the path of a project, such as group/project, for the
// Project of a Location; a number stays as it is.
func GitLabProject(project string) string { return url.PathEscape(project) }

// OverridePath is the file that clusterctl reads instead of one of the release,
// if it exists, relative to the overrides folder
// (clusterctl: client/repository/overrides.go, Path).
func OverridePath(p Provider, version, file string) string {
	return path.Join(p.Label(), version, file)
}

// OverrideFolders lists the folders in which clusterctl looks for overrides, the
// first that exists counts; if none does, the first. A folder set by the
// variable overridesFolder replaces them all. Both arguments are folders with
// slashes: $XDG_CONFIG_HOME (by default $HOME/.config) and $HOME.
func OverrideFolders(xdgConfigHome, home string) []string {
	return []string{path.Join(xdgConfigHome, "cluster-api", "overrides"), path.Join(home, ".cluster-api", "overrides")}
}
