package gitlab

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// Options say where a package is, and how to get there.
type Options struct {
	// ServerURL is the GitLab as its users know it: https://gitlab.example.com.
	ServerURL string
	// APIURL is where requests to the API go, such as CI_API_V4_URL; by default
	// /api/v4 below ServerURL.
	APIURL string
	// Project is the path of the project with its groups, or its number.
	Project string
	Package string
	// File is the components file, if it is known. With a token that may not
	// list packages Fetch asks for it, and Put refuses a release without it.
	File string
	// Version is the only one that Put accepts; empty accepts all.
	Version string

	// Token may be empty for reading.
	Token     string
	TokenKind TokenKind
	// TokenName is what the user calls the place of the token, for messages;
	// GITLAB_TOKEN if empty.
	TokenName string

	// Base makes the requests; transport.Usual if nil.
	Base   http.RoundTripper
	Policy transport.Policy

	// TakeOver ignores that other content has the claim.
	TakeOver bool

	// AllowUnreadable lets New accept a place that clusterctl cannot read.
	AllowUnreadable bool
}

// Package is one generic package of a project, with all its versions. It is
// safe for concurrent use.
type Package struct {
	o      Options
	server string
	// base is the server whose API is asked, which may have another name.
	base string
	host string
	// unreadable says why clusterctl cannot read the package, or is nil.
	unreadable error
	http       *http.Client
	wire       *http.Client
	secrets    transport.Secrets
}

var _ publish.Destination = (*Package)(nil)

// New returns the destination, without asking the server for anything. It
// refuses what GitLab refuses as a name, and a place that clusterctl does not
// read (clusterctl: repositoryFactory, NewGitLabRepository): the host must begin
// with "gitlab.", the scheme be https, and GitLab not live in a folder of the
// host.
func New(o Options) (*Package, error) {
	fail := func(err error) (*Package, error) {
		return nil, fmt.Errorf("GitLab project %s: %w", o.Project, err)
	}
	server, err := transport.ParseServer(o.ServerURL, addressForm)
	if err != nil {
		return fail(err)
	}
	o.TokenName = cmp.Or(o.TokenName, "GITLAB_TOKEN")
	p := &Package{o: o, server: server.String()}
	if err := checkProject(o.Project); err != nil {
		return fail(err)
	}
	if err := checkPackage(o.Package); err != nil {
		return fail(err)
	}
	if p.unreadable = p.readable(); p.unreadable != nil && !o.AllowUnreadable {
		return fail(p.unreadable)
	}
	api := server
	if o.APIURL != "" {
		if api, err = transport.ParseServer(strings.TrimSuffix(strings.TrimSuffix(o.APIURL, "/"), apiPath), addressForm); err != nil {
			return fail(err)
		}
	}
	p.base, p.host = api.String(), api.Host
	p.secrets.Add(o.Token)
	p.http = transport.New(o.Base, o.Policy, o.TokenKind.credential(o.Token, api.Host))
	p.wire = transport.Bounded(p.http)
	p.wire.Transport = wire{p.wire.Transport, &p.secrets}
	return p, nil
}

const (
	apiPath     = "/api/v4"
	addressForm = "https://gitlab.example.com"
)

// checkProject refuses what would be another path of the API.
func checkProject(project string) error {
	number := strings.Trim(project, "0123456789") == "" && project != ""
	names := strings.Split(project, "/")
	for _, name := range names {
		if strings.Trim(name, ".") == "" || !plain(name) || len(names) < 2 && !number {
			return fmt.Errorf("%q is not the path of a project; it has the form GROUP/PROJECT or GROUP/SUBGROUP/PROJECT, or is a number", project)
		}
	}
	return nil
}

// checkPackage refuses the names that GitLab refuses
// (GitLab: Gitlab::Regex.generic_package_name_regex).
func checkPackage(name string) error {
	if strings.Trim(name, ".") == "" || !plain(name) {
		return fmt.Errorf("%q is not the name of a generic package; it consists of letters, digits and . _ + -", name)
	}
	return nil
}

// checkVersion refuses what GitLab refuses
// (GitLab: Gitlab::Regex.generic_package_version_regex), or clusterctl.
func checkVersion(version string) error {
	if _, err := layouts.ParseVersion(version); err != nil {
		return err
	}
	if !plain(version) {
		return fmt.Errorf("version %q has characters that GitLab does not accept", version)
	}
	return nil
}

// plain reports whether a name has only the letters that all names of GitLab may
// have, and that mean themselves in a URL.
func plain(name string) bool {
	return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-") == ""
}

// readable returns why clusterctl cannot read the package.
func (p *Package) readable() error {
	l, err := layouts.ParseProviderURL(p.fileURL("v0.0.0", "f"), layouts.Provider{})
	if err == nil && l.Kind != layouts.GitLab {
		err = fmt.Errorf("it takes the host for %s", l.Kind)
	}
	if err != nil {
		return fmt.Errorf("clusterctl cannot read packages of %s: it only reads a GitLab at https://gitlab.SOMETHING, not in a folder of a host: %w", p.server, err)
	}
	return nil
}

// fileURL is where clusterctl reads a file.
func (p *Package) fileURL(version, file string) string { return p.fileAt(p.server, version, file) }

// readURL is where we read it: the same, unless the API is elsewhere.
func (p *Package) readURL(version, file string) string { return p.fileAt(p.base, version, file) }

func (p *Package) fileAt(server, version, file string) string {
	return server + apiPath + "/projects/" + layouts.GitLabProject(p.o.Project) + "/packages/generic/" + p.o.Package + "/" + version + "/" + file
}

// URL returns the provider URL. GitLab has no latest version (clusterctl:
// gitLabRepository.GetVersions knows only the one in the URL).
func (p *Package) URL(version, componentsFile string) (string, error) {
	if version == layouts.Latest {
		return "", fmt.Errorf("%s: clusterctl cannot ask GitLab for the latest version; name a version", p)
	}
	if err := checkVersion(version); err != nil {
		return "", err
	}
	if err := publish.CheckFileName(componentsFile); err != nil {
		return "", err
	}
	return p.fileURL(version, componentsFile), nil
}

func (p *Package) String() string {
	return p.server + "/" + p.o.Project + " (package " + p.o.Package + ")"
}
