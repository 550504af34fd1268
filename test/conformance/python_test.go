package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/proxy"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// script publishes, reads back and deletes, and prints what it saw.
const script = `
import json, os, sys, gitlab
url, project, folder = sys.argv[1:]
gl = gitlab.Gitlab(url, private_token=os.environ["TOKEN"])
gl.auth()
p = gl.projects.get(project)
seen = {"project": p.path_with_namespace, "version": gl.version()[0]}
for name in ("metadata.yaml", "infrastructure-components.yaml"):
    p.generic_packages.upload("infrastructure-acme", "v1.0.0", name, folder + "/" + name)
seen["content"] = p.generic_packages.download("infrastructure-acme", "v1.0.0", "metadata.yaml").decode()
pkg = p.packages.list(package_type="generic", package_name="infrastructure-acme", get_all=True)[0]
seen["package"] = [pkg.name, pkg.version, pkg.status]
files = pkg.package_files.list(get_all=True)
seen["files"] = [[f.file_name, f.size, f.file_sha256] for f in files]
try:
    p.generic_packages.upload("bad name", "v1.0.0", "x", folder + "/metadata.yaml")
except gitlab.GitlabUploadError as e:
    seen["bad"] = e.response_code
pkg.package_files.delete(files[0].id)
seen["left"] = [f.file_name for f in pkg.package_files.list(get_all=True)]
pkg.delete()
seen["packages"] = len(p.packages.list(get_all=True))
print(json.dumps(seen, sort_keys=True))
`

// TestPythonGitLab has python-gitlab work with the fake, by plain HTTP and as
// gitlab.example.com by TLS.
func TestPythonGitLab(t *testing.T) {
	python := find(t, "/usr/bin/python3", "install Debian's python3-gitlab", "TOKEN="+secret)
	if out, err := python.run(t, "-c", "import gitlab; print(gitlab.__version__)"); err != nil {
		missing(t, "no python3-gitlab; install Debian's: "+out)
	}
	const project = "acme/infra/provider"
	for _, o := range []gitlab.Options{{}, {DirectDownload: true}} {
		for _, url := range []string{"", "https://gitlab.example.com"} {
			t.Run(fmt.Sprintf("direct=%v %s", o.DirectDownload, url), func(t *testing.T) {
				s := gitlab.Start(t, o)
				s.AddToken(gitlab.Token{Secret: secret})
				s.AddProject(gitlab.Project{Path: project, Private: true, Members: map[string]gitlab.Role{"publisher": gitlab.Maintainer}})
				python := python
				if url == "" {
					url = s.URL()
				} else {
					python.env = append(python.env, proxy.Start(t, proxy.Hosts{}.Add(s, gitlab.Hosts("gitlab.example.com")...)).Env()...)
				}
				dir := t.TempDir()
				for _, name := range []string{"metadata.yaml", "infrastructure-components.yaml"} {
					given.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("of "+name), 0o600))
				}
				out := python.must(t, "-c", script, url, project, dir)
				var got map[string]any
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				for key, want := range map[string]string{
					"project": project, "version": "17.5.0", "content": "of metadata.yaml", "package": "[infrastructure-acme v1.0.0 default]",
					"bad": "400", "left": "[infrastructure-components.yaml]", "packages": "0",
				} {
					if s := fmt.Sprint(got[key]); s != want {
						t.Errorf("%s is %s, want %s", key, s, want)
					}
				}
				if s := fmt.Sprint(got["files"]); strings.Count(s, ".yaml") != 2 || !strings.HasPrefix(s, "[[metadata.yaml 16 ") {
					t.Errorf("files %s", s)
				}
			})
		}
	}
}
