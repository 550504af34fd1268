package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/proxy"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const (
	metadata = `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- {major: 1, minor: 0, contract: v1beta2}
`
	components = `apiVersion: v1
kind: Namespace
metadata:
  name: acme-system
  labels: {cluster.x-k8s.io/provider: infrastructure-acme, from: %s}
`
)

// TestClusterctl has the real clusterctl read from the fakes, by the names that it
// insists on.
func TestClusterctl(t *testing.T) {
	const project = "acme/infra/provider"
	for _, tt := range []struct {
		name, url, goproxy string
		private, token     bool
		direct             bool
		want               string
		step               string
	}{
		{name: "GitHub API", url: "https://github.com/acme/provider/releases/v1.0.0/infrastructure-components.yaml", goproxy: "off", want: "from: github", step: "get-asset"},
		{name: "GitHub latest", url: "https://github.com/acme/provider/releases/latest/infrastructure-components.yaml", goproxy: "off", want: "from: github", step: "list-releases"},
		{name: "GitHub private", url: "https://github.com/acme/provider/releases/latest/infrastructure-components.yaml", goproxy: "off", private: true, token: true, want: "from: github", step: "get-asset"},
		{name: "GitHub pages", url: "https://github.com/acme/provider/releases/v1.0.0/infrastructure-components.yaml", goproxy: "https://goproxy.test", want: "from: github", step: "download"},
		{name: "GitLab", url: "https://gitlab.example.com/api/v4/projects/acme%2Finfra%2Fprovider/packages/generic/infrastructure-acme/v1.0.0/infrastructure-components.yaml", want: "from: gitlab", step: "download-file"},
		{name: "GitLab private", url: "https://gitlab.example.com/api/v4/projects/acme%2Finfra%2Fprovider/packages/generic/infrastructure-acme/v1.0.0/infrastructure-components.yaml", private: true, token: true, want: "from: gitlab", step: "download-file"},
		{name: "GitLab with storage", url: "https://gitlab.example.com/api/v4/projects/acme%2Finfra%2Fprovider/packages/generic/infrastructure-acme/v1.0.0/infrastructure-components.yaml", direct: true, want: "from: gitlab", step: "storage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hub := gitHub(t, nil, github.Options{})
			hub.AddRepository(github.Repository{Owner: "acme", Name: "private", Private: true})
			lab := gitlab.Start(t, gitlab.Options{DirectDownload: tt.direct})
			lab.AddToken(gitlab.Token{Secret: secret})
			lab.AddProject(gitlab.Project{Path: project, Private: tt.private, Members: map[string]gitlab.Role{"publisher": gitlab.Reporter}})
			repository, url := repository, tt.url
			if tt.private {
				repository, url = "acme/private", strings.Replace(tt.url, "acme/provider/", "acme/private/", 1)
			}
			if _, err := hub.AddRelease(repository, github.Release{Tag: "v1.0.0", Assets: []github.Asset{
				{Name: "metadata.yaml", Data: []byte(metadata)}, {Name: "infrastructure-components.yaml", Data: fmt.Appendf(nil, components, "github")},
			}}); err != nil {
				t.Fatal(err)
			}
			if _, err := lab.AddPackage(project, gitlab.Package{Name: "infrastructure-acme", Version: "v1.0.0", Files: []gitlab.File{
				{Name: "metadata.yaml", Data: []byte(metadata)}, {Name: "infrastructure-components.yaml", Data: fmt.Appendf(nil, components, "gitlab")},
			}}); err != nil {
				t.Fatal(err)
			}
			p := proxy.Start(t, proxy.Hosts{}.Add(hub, github.Hosts("github.com")...).Add(lab, gitlab.Hosts("gitlab.example.com")...))
			clusterctl := find(t, path(t, stock), "", append(p.Env(), "GOPROXY="+tt.goproxy, "CLUSTERCTL_DISABLE_VERSIONCHECK=true")...)
			if tt.token {
				clusterctl.env = append(clusterctl.env, "GITHUB_TOKEN="+secret, "GITLAB_ACCESS_TOKEN="+secret)
			}
			config := filepath.Join(t.TempDir(), "clusterctl.yaml")
			given.NoError(t, os.WriteFile(config, []byte("providers:\n- {name: acme, type: InfrastructureProvider, url: \""+url+"\"}\n"), 0o600))
			if out := clusterctl.must(t, "generate", "provider", "--config", config, "--infrastructure", "acme"); !strings.Contains(out, tt.want) {
				t.Errorf("no %q in:\n%s", tt.want, out)
			}
			var steps []string
			for _, e := range append(hub.Faults.Log(), lab.Faults.Log()...) {
				steps = append(steps, e.Step)
			}
			if !slices.Contains(steps, tt.step) {
				t.Errorf("no %s among %v", tt.step, steps)
			}
			t.Log(steps, p.Seen())
		})
	}
}
