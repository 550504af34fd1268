package open

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/github"
	"github.com/clusterctl-repo/clusterctl-repo/publish/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
)

// gitHubCom is the server of GH_TOKEN, and that of GITHUB_TOKEN unless the
// environment names another one.
const gitHubCom = "https://github.com"

// registryVariable names the registry that the OCI_* variables are for.
const registryVariable = "OCI_REGISTRY"

// env returns the first of the variables that has a value.
func (p *Places) env(names ...string) string {
	value, _ := p.secret("", names...)
	return value
}

// secret returns the first of the variables that has a value, and its name; or
// else the name that the user should take.
func (p *Places) secret(usual string, names ...string) (value, name string) {
	for _, name := range names {
		if p.Env == nil {
			break
		}
		if v, _ := p.Env(name); v != "" {
			if strings.HasSuffix(name, "_TOKEN") || strings.HasSuffix(name, "_PASSWORD") {
				p.secrets.Add(v)
			}
			return v, name
		}
	}
	return "", usual
}

// claim gives the credentials that the environment names no server for to the
// first DEST of a kind.
func (p *Places) claim(place layouts.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claimed == nil {
		p.claimed = map[layouts.LocationKind]string{}
	}
	if _, taken := p.claimed[place.Kind]; !taken && !sameHost(place.Server, gitHubCom) {
		p.claimed[place.Kind] = place.Server
	}
}

// owner returns the server that the credentials of a kind belong to: the one
// that is named, or that of the first DEST; "" if there is none.
func (p *Places) owner(kind layouts.LocationKind, named string) string {
	if named != "" {
		return named
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claimed[kind]
}

// gitHub says how to reach a repository. As with gh, GH_TOKEN is for
// github.com, or the tenant of ghe.com that the environment names, and
// GH_ENTERPRISE_TOKEN for an enterprise server. GITHUB_TOKEN is for the server
// of the workflow run.
func (p *Places) gitHub(server, name string, o Options) github.Options {
	owner, repository, _ := strings.Cut(name, "/")
	out := github.Options{
		Owner: owner, Name: repository, ServerURL: server, Base: p.Base, Policy: p.Policy, Tool: p.Tool, Notes: o.Notes,
		GenerateNotes: o.GenerateNotes, AdoptDraft: o.AdoptDraft, Complete: o.Complete,
	}
	named := p.Servers().GitHub
	here, run := named, cmp.Or(named, gitHubCom)
	if !strings.HasSuffix(here, ".ghe.com") {
		here = gitHubCom
	}
	var tokens []string
	if sameHost(server, here) {
		tokens = append(tokens, "GH_TOKEN")
	}
	enterprise := p.owner(layouts.GitHub, strings.TrimSuffix(named, gitHubCom))
	if !sameHost(server, here) && sameHost(server, enterprise) {
		tokens = append(tokens, "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
	}
	if sameHost(server, run) {
		out.APIURL = p.env("GITHUB_API_URL")
		tokens = append(tokens, "GITHUB_TOKEN")
	}
	switch {
	case len(tokens) == 0:
		out.TokenName = "GH_ENTERPRISE_TOKEN (and GH_HOST to the server)"
	case sameHost(server, here) && sameHost(server, run):
		out.Token, out.TokenName = p.secret("GITHUB_TOKEN", tokens...)
	default:
		out.Token, out.TokenName = p.secret(tokens[0], tokens...)
	}
	out.Target = o.Target
	switch {
	case name == p.env("GITHUB_REPOSITORY") && sameHost(server, run):
		out.Commit = p.env("GITHUB_SHA")
	case isRemote(o.Remote, server, name):
		out.Commit = o.Commit
	}
	return out
}

// gitLabTokens are the variables of tokens, the first that is set counts.
var gitLabTokens = []struct {
	variable string
	kind     gitlab.TokenKind
}{
	{"GITLAB_TOKEN", gitlab.AccessToken},
	{"GITLAB_ACCESS_TOKEN", gitlab.AccessToken},
	{"GITLAB_DEPLOY_TOKEN", gitlab.DeployToken},
	{"CI_JOB_TOKEN", gitlab.JobToken},
}

// gitLab says how to reach a package.
func (p *Places) gitLab(server, project string, o Options) gitlab.Options {
	out := gitlab.Options{
		ServerURL: server, Project: project, Base: p.Base, Policy: p.Policy,
		AllowUnreadable: o.AllowUnreadable, TakeOver: o.AdoptDraft,
	}
	here, api := p.owner(layouts.GitLab, p.Servers().GitLab), p.env("CI_API_V4_URL")
	// With only the API named, that host gets the token, whatever the server is
	// called in the URL.
	if sameHost(server, here) || here == "" && api != "" {
		out.APIURL = api
		for _, from := range gitLabTokens {
			if out.Token = p.env(from.variable); out.Token != "" {
				out.TokenName, out.TokenKind = from.variable, from.kind
				break
			}
		}
	} else {
		out.TokenName = fmt.Sprintf("GITLAB_TOKEN (and CI_SERVER_URL to %s)", server)
	}
	return out
}

// oci says how to reach a repository of a registry: with the variables of
// cluster-api-operator, or as docker login left it.
func (p *Places) oci(host, name string, o Options) oci.Options {
	var static oci.Credential
	if p.owner(layouts.OCI, p.env(registryVariable)) == host {
		static = oci.Credential{
			UserName: p.env(oci.UserVariable), Password: p.env(oci.PasswordVariable),
			AccessToken: p.env(oci.AccessTokenVariable), RefreshToken: p.env(oci.RefreshTokenVariable),
		}
	}
	var files []string
	if dir := p.env("DOCKER_CONFIG"); dir != "" {
		files = append(files, filepath.Join(dir, "config.json"))
	} else if home := p.env("HOME", "USERPROFILE"); home != "" {
		files = append(files, filepath.Join(home, ".docker", "config.json"))
	}
	if file := p.env("REGISTRY_AUTH_FILE"); file != "" {
		files = append(files, file) // podman and skopeo
	} else if dir := p.env("XDG_RUNTIME_DIR"); dir != "" {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	return oci.Options{
		Host: host, Repository: name, Base: p.Base, Policy: p.Policy, TakeOver: o.AdoptDraft,
		Secrets: &p.secrets, TokenServer: p.env(oci.TokenServerVariable),
		Credential: oci.Credentials(static, files...),
	}
}
