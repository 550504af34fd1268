package gitlab

import "github.com/clusterctl-repo/clusterctl-repo/publish/transport"

// TokenKind is the kind of a token. GitLab has a header for each.
type TokenKind int

const (
	// AccessToken is a personal, project or group access token, or an OAuth
	// token. It is the only kind that clusterctl can use.
	AccessToken TokenKind = iota
	// JobToken is that of a CI job, CI_JOB_TOKEN.
	JobToken
	// DeployToken can read and write packages, and nothing else: it cannot list
	// or delete them.
	DeployToken
)

// tokenKinds says how each kind is sent and what it must be allowed.
var tokenKinds = [...]struct {
	header, prefix string
	word, rights   string
}{
	AccessToken: {"Authorization", "Bearer ", "access token", "the scope api, and at least the role Developer in the project"},
	JobToken:    {"JOB-TOKEN", "", "CI job token", "a user with at least the role Developer in the project, and a project that admits this job (Settings > CI/CD > Job token permissions)"},
	DeployToken: {"DEPLOY-TOKEN", "", "deploy token", "the scope write_package_registry, and must belong to this project or to a group above it"},
}

func (k TokenKind) String() string { return tokenKinds[k].word }

// credential is what the hosts of one GitLab get to see.
func (k TokenKind) credential(token string, hosts ...string) transport.Credential {
	if token == "" {
		return transport.Credential{}
	}
	return transport.Credential{Hosts: hosts, Header: tokenKinds[k].header, Value: tokenKinds[k].prefix + token}
}
