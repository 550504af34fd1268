package cli

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/github"
	"github.com/clusterctl-repo/clusterctl-repo/publish/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// site opens a DEST.
func (a *app) site(name string, d *delivery) (publish.Site, error) {
	if err := withoutSecret(name); err != nil {
		return publish.Site{}, err
	}
	place, err := layouts.ParsePlace(name, a.servers())
	if err != nil {
		return publish.Site{}, usage(err)
	}
	if place.Kind == layouts.Local {
		if url := a.forgotten(name); url != "" {
			return publish.Site{}, usagef("%s would be a folder; write %s for the project, or ./%[1]s for the folder", name, url)
		}
		folder, err := local.New(a.path(filepath.FromSlash(place.Folder)))
		if err != nil {
			return publish.Site{}, usage(err)
		}
		return folder.Site(), nil
	}
	site := publish.Site{Name: name, Shared: place.Shared()}
	var mu sync.Mutex
	opened := map[string]publish.Destination{}
	site.Of = func(p layouts.Provider) (publish.Destination, error) {
		mu.Lock()
		defer mu.Unlock()
		label := ""
		if !site.Shared {
			label = p.Label()
		}
		if opened[label] == nil {
			dest, err := a.remote(place, p, d)
			if err != nil {
				return nil, err
			}
			opened[label] = dest
		}
		return opened[label], nil
	}
	// Names that the kind of place does not allow show before anything is built.
	if _, err := a.remote(place, layouts.Provider{Type: layouts.Core, Name: layouts.CoreName}, d); err != nil {
		return publish.Site{}, err
	}
	return site, nil
}

// forgotten returns the URL of the project that somebody means who writes
// github.com/OWNER/REPO or git@github.com:OWNER/REPO; nothing if there is a
// folder of that name, or no such server.
func (a *app) forgotten(name string) string {
	path := name
	if rest, ok := strings.CutPrefix(name, "git@"); ok {
		path = strings.Replace(rest, ":", "/", 1)
	}
	first, _, _ := strings.Cut(name, "/")
	if _, err := os.Lstat(a.path(first)); err == nil || first == "" {
		return ""
	}
	url := "https://" + strings.TrimSuffix(path, ".git")
	if place, err := layouts.ParsePlace(url, a.servers()); err != nil || place.Kind == layouts.Local {
		return ""
	}
	return url
}

// destinationAt opens the place of a release on a server, for reading.
func (a *app) destinationAt(l layouts.Location) (publish.Destination, error) {
	place := l.Place()
	d := &delivery{unreadable: true, pkg: l.Package, file: l.File}
	return a.remote(place, layouts.Provider{}, d)
}

// remote opens the destination of a provider on a server.
func (a *app) remote(place layouts.Place, p layouts.Provider, d *delivery) (publish.Destination, error) {
	notes := ""
	if d.notes != "" {
		data, err := a.readFile(d.notes)
		if err != nil {
			return nil, usagef("--notes-file: %w", err)
		}
		notes = string(data)
	}
	var dest publish.Destination
	var err error
	switch place.Kind {
	case layouts.GitHub:
		o := a.gitHub(place.Server, place.For(p.Label()), d)
		o.Notes = notes
		dest, err = github.New(o)
	case layouts.GitLab:
		o := a.gitLab(place.Server, place.For(p.Label()), d)
		o.Notes = notes
		o.Package, o.File = cmp.Or(d.pkg, p.Label()), d.file
		dest, err = gitlab.New(o)
	case layouts.OCI:
		dest, err = oci.New(a.oci(place.Server, place.For(oci.RepositoryName(p)), d))
	default:
		return nil, fmt.Errorf("%s is no server", place.Kind)
	}
	return dest, usage(err)
}

// env returns the first of the variables that is set to something.
func (a *app) env(names ...string) string {
	for _, name := range names {
		if v, _ := a.Env(name); v != "" {
			return v
		}
	}
	return ""
}

// secret returns the first of the variables that is set to something, and its
// name; if there is none, the name that the user should take.
func (a *app) secret(usual string, names ...string) (value, name string) {
	for _, name := range names {
		if v := a.env(name); v != "" {
			return v, name
		}
	}
	return "", usual
}

// servers are the forges that the environment names, as the runners of GitHub
// and GitLab set them.
func (a *app) servers() layouts.Servers {
	return layouts.Servers{
		GitHub: strings.TrimSuffix(a.env("GITHUB_SERVER_URL"), "/"),
		GitLab: strings.TrimSuffix(a.env("CI_SERVER_URL", "GITLAB_SERVER_URL"), "/"),
	}
}

func (a *app) policy(d *delivery) transport.Policy {
	return transport.Policy{MaxWait: d.maxWait, Waiting: func(reason string, wait time.Duration) {
		a.say("waiting %s because of %s", wait.Round(time.Second), reason)
	}}
}

const gitHubCom = "https://github.com"

// gitHub says how to reach a repository. The token of the environment belongs
// to the server that the environment names, which is github.com if it names
// none; no other server gets to see it.
func (a *app) gitHub(server, name string, d *delivery) github.Options {
	owner, repository, _ := strings.Cut(name, "/")
	o := github.Options{Owner: owner, Name: repository, ServerURL: server, Base: a.Transport, Policy: a.policy(d),
		Tool: "clusterctl-repo/" + programVersion(), Target: d.target, GenerateNotes: d.generateNotes, AdoptDraft: d.adopt, Complete: d.complete}
	here := a.servers().GitHub
	if here == "" {
		here = gitHubCom
	}
	if sameHost(server, here) {
		o.APIURL = a.env("GITHUB_API_URL")
		o.Token, o.TokenName = a.secret("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
	} else if server == gitHubCom {
		o.Token, o.TokenName = a.secret("GH_TOKEN", "GH_TOKEN")
	} else {
		o.Token, o.TokenName = a.secret("GH_ENTERPRISE_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
	}
	switch {
	case o.Target != "":
	case name == a.env("GITHUB_REPOSITORY") && sameHost(server, here):
		o.Target = a.env("GITHUB_SHA")
	case isRemote(d.remote, server, name):
		o.Target = d.commit
	}
	return o
}

// gitLab says how to reach a package. As with GitHub, a token goes to the
// server that the environment names; without a name, to the one that the user
// named.
func (a *app) gitLab(server, project string, d *delivery) gitlab.Options {
	o := gitlab.Options{ServerURL: server, Project: project, Base: a.Transport, Policy: a.policy(d),
		Release: d.gitLabRelease, Ref: d.target, AllowUnreadable: d.unreadable}
	here := a.servers().GitLab
	if here == "" || sameHost(server, here) {
		o.APIURL = a.env("CI_API_V4_URL")
		for _, from := range []struct {
			variable string
			kind     gitlab.TokenKind
		}{{"GITLAB_TOKEN", gitlab.AccessToken}, {"GITLAB_ACCESS_TOKEN", gitlab.AccessToken}, {"GITLAB_DEPLOY_TOKEN", gitlab.DeployToken}, {"CI_JOB_TOKEN", gitlab.JobToken}} {
			if o.Token = a.env(from.variable); o.Token != "" {
				o.TokenName, o.TokenKind = from.variable, from.kind
				break
			}
		}
	} else {
		o.TokenName = "GITLAB_TOKEN (and CI_SERVER_URL to " + server + ")"
	}
	switch {
	case o.Ref != "":
	case project == a.env("CI_PROJECT_PATH") && sameHost(server, here):
		o.Ref = a.env("CI_COMMIT_SHA")
	case isRemote(d.remote, server, project):
		o.Ref = d.commit
	}
	return o
}

// oci says how to reach a repository of a registry: with the variables of
// cluster-api-operator, or as docker login left it.
func (a *app) oci(host, name string, d *delivery) oci.Options {
	// The variables name no registry. They are for the first one: a DEST is
	// opened before what is published there.
	var static oci.Credential
	if a.registry == "" || a.registry == host {
		a.registry = host
		static = oci.Credential{
			UserName: a.env(oci.UserVariable), Password: a.env(oci.PasswordVariable),
			AccessToken: a.env(oci.AccessTokenVariable), RefreshToken: a.env(oci.RefreshTokenVariable),
		}
	}
	var files []string
	if dir := a.env("DOCKER_CONFIG"); dir != "" {
		files = append(files, filepath.Join(dir, "config.json"))
	} else if home := a.env("HOME", "USERPROFILE"); home != "" {
		files = append(files, filepath.Join(home, ".docker", "config.json"))
	}
	if file := a.env("REGISTRY_AUTH_FILE"); file != "" {
		files = append(files, file) // podman and skopeo
	} else if dir := a.env("XDG_RUNTIME_DIR"); dir != "" {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	return oci.Options{
		Host: host, Repository: name, Base: a.Transport, Policy: a.policy(d),
		Credential: oci.FirstCredential(oci.StaticCredential(static), oci.DockerCredentials(files...)),
	}
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
	return err == nil && err2 == nil && strings.EqualFold(u.Host, v.Host)
}
