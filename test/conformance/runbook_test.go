package conformance

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/documents/session"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/proxy"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// runbook says on which side of the gap the commands of docs/air-gap.md run: the
// blocks of a section in their order, and then the commands in its text that are
// worth a run of their own.
var runbook = []struct {
	section string
	blocks  []side
	then    []step
}{
	{"A bundle", []side{near, far, near}, []step{
		{far, "clusterctl-repo mirror new.tar --to /srv/mirror"},
		{far, "clusterctl init --config /srv/mirror/clusterctl.yaml --infrastructure aws:v1.0.1"},
		{far, "clusterctl-repo mirror verify /srv/mirror"},
		{far, "mkdir mirror && tar -xf bundle.tar -C mirror && cd mirror"},
		{far, "clusterctl init --config clusterctl.yaml --infrastructure aws:v1.0.0 && cd .."},
		{far, "rm -r /srv/mirror/infrastructure-aws && clusterctl-repo mirror repair /srv/mirror --from bundle.tar --from new.tar"},
		{far, "clusterctl-repo mirror prune /srv/mirror --keep 1 && clusterctl-repo mirror verify /srv/mirror"},
	}},
	{"A folder", []side{near, far}, []step{
		{far, "cd .. && clusterctl-repo mirror repair mirror && clusterctl init --config mirror/clusterctl.yaml --infrastructure aws"},
	}},
	{"A web server", []side{near}, []step{
		{reader, "clusterctl init --config mirror/clusterctl.yaml --infrastructure aws"},
	}},
	{"Cluster API Operator", nil, []step{
		{near, "clusterctl-repo mirror cluster-api infrastructure-aws --to mirror --config-maps && test -f mirror/capi-operator/providers.yaml"},
		{near, "clusterctl-repo mirror cluster-api infrastructure-aws --to 'oci://registry.example.com/capi/{provider}' --out beside --config-maps"},
		{near, "grep -q oci: beside/capi-operator/providers.yaml"},
	}},
}

// step is a command, and where it runs.
type step struct {
	side side
	text string
}

// side is what a machine can reach.
type side string

const (
	near   side = "near"   // the internet
	far    side = "far"    // the registry of the site
	reader side = "reader" // the web server of the site
)

// certManager is the version that the stock clusterctl installs.
const certManager = "v1.21.1"

// TestRunbook runs docs/air-gap.md: providers on GitHub and their images in public
// registries, on the far side only a real registry. In the place of "clusterctl
// init", which needs a cluster, the real clusterctl prints all that it would
// install.
func TestRunbook(t *testing.T) {
	page := given.Read(t, "../../docs/air-gap.md")
	openssl := find(t, "openssl", "install Debian's package of that name")
	sections := regexp.MustCompile(`(?m)^## (.*)$`).Split(string(page), -1)
	titles := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(page), -1)
	known := 0
	for _, tt := range runbook {
		i := slices.IndexFunc(titles, func(m []string) bool { return m[1] == tt.section })
		if i < 0 {
			t.Fatalf("docs/air-gap.md has no section %q", tt.section)
		}
		blocks := slices.DeleteFunc(session.Blocks(sections[i+1]), func(b session.Block) bool { return b.Language != "sh" })
		if len(blocks) != len(tt.blocks) {
			t.Fatalf("%s: %d blocks, of which %d have a side", tt.section, len(blocks), len(tt.blocks))
		}
		known += len(blocks)
		t.Run(tt.section, func(t *testing.T) {
			w := newGap(t)
			openssl.must(t, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", filepath.Join(w.dir, "key.pem"))
			openssl.must(t, "ec", "-in", filepath.Join(w.dir, "key.pem"), "-pubout", "-out", filepath.Join(w.dir, "key.pub"))
			for i, b := range blocks {
				if strings.Contains(b.Text, "new.tar") {
					// What changed between the two journeys.
					w.release("kubernetes-sigs/cluster-api-provider-aws", "v1.0.1", map[string]string{"infrastructure-components.yaml": w.components("infrastructure-aws", "v1.0.1")})
				}
				w.run(step{tt.blocks[i], b.Text})
			}
			for _, s := range tt.then {
				w.run(s)
			}
		})
	}
	if all := strings.Count(string(page), "\n```sh\n"); all != known {
		t.Errorf("docs/air-gap.md has %d blocks of commands, %d are run", all, known)
	}
}

// gap is the two sides of a gap, and one folder that stands for both machines.
type gap struct {
	t      *testing.T
	hub    *github.Server
	images string // the host of the public registry
	dir    string
	shells map[side]*session.Shell
}

func newGap(t *testing.T) *gap {
	w := &gap{t: t, hub: github.New(github.Options{}), images: startRegistry(t), dir: t.TempDir(), shells: map[side]*session.Shell{}}
	t.Cleanup(w.hub.Close)
	w.hub.AddToken(github.Token{Secret: secret, Right: github.Write})
	site := forward(t, startRegistry(t))
	for _, r := range []string{"kubernetes-sigs/cluster-api", "kubernetes-sigs/cluster-api-provider-aws", "cert-manager/cert-manager"} {
		owner, name, _ := strings.Cut(r, "/")
		w.hub.AddRepository(github.Repository{Owner: owner, Name: name})
	}
	w.release("kubernetes-sigs/cluster-api", "v1.0.0", map[string]string{
		"core-components.yaml":          w.components("cluster-api", "v1.0.0"),
		"bootstrap-components.yaml":     w.components("bootstrap-kubeadm", "v1.0.0"),
		"control-plane-components.yaml": w.components("control-plane-kubeadm", "v1.0.0"),
	})
	w.release("kubernetes-sigs/cluster-api-provider-aws", "v1.0.0", map[string]string{"infrastructure-components.yaml": w.components("infrastructure-aws", "v1.0.0")})
	w.release("cert-manager/cert-manager", certManager, map[string]string{"cert-manager.yaml": w.components("cert-manager", certManager)})

	// A web server shows the folder from whatever is there.
	web := http.FileServer(http.Dir(filepath.Join(w.dir, "mirror")))
	reached := map[side]proxy.Hosts{
		near:   proxy.Hosts{}.Add(w.hub, github.Hosts(gitHubHost)...).Add(forward(t, w.images), "registry.k8s.io", "quay.io").Add(site, "registry.example.com"),
		far:    proxy.Hosts{}.Add(site, "registry.example.com"),
		reader: proxy.Hosts{}.Add(web, gitLabHost),
	}
	bin := filepath.Join(w.dir, "bin")
	w.program(bin, "clusterctl-repo", "exec '"+path(t, tool)+"' \"$@\"")
	w.program(bin, "clusterctl", install+"\nclusterctl='"+path(t, stock)+"'\n"+`for p in "--core cluster-api" "--bootstrap kubeadm" "--control-plane kubeadm" "--infrastructure $provider"; do
	"$clusterctl" generate provider $p --config "$config" | grep 'version: '
done`)
	for s, hosts := range reached {
		state := t.TempDir()
		shell, err := session.NewShell(w.dir, state, append(proxy.Start(t, hosts).Env(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+state,
			"GH_TOKEN=", "GITHUB_TOKEN=", "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOPROXY=off")...)
		given.NoError(t, err)
		w.shells[s] = shell
	}
	return w
}

// install reads the arguments of clusterctl init.
const install = `[ "$1" = init ] || { echo "clusterctl $1 is not in the runbook" >&2; exit 2; }
while [ $# -gt 0 ]; do
	case $1 in
	--config) config=$2; shift ;;
	--infrastructure) provider=$2; shift ;;
	esac
	shift
done
set -e -o pipefail`

// forward leads what is asked of a public name to a registry on this machine.
func forward(t *testing.T, host string) http.Handler {
	t.Helper()
	to := given.Value(url.Parse("http://" + host))(t)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // so that the registry names itself as it was asked
		r.Out.Header.Set("X-Forwarded-Proto", "https")
	}}
}

func (w *gap) program(bin, name, script string) {
	w.t.Helper()
	file := filepath.Join(bin, name)
	write(w.t, file, "#!/bin/bash\n"+script+"\n")
	if err := os.Chmod(file, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// components is what a provider installs: a manager, whose image is in the public
// registry.
func (w *gap) components(label, version string) string {
	w.t.Helper()
	host, name := "registry.k8s.io", "capi/"+label
	if label == "cert-manager" {
		host, name = "quay.io", "jetstack/cert-manager-controller"
	}
	const kind = "application/vnd.oci.image."
	image := []byte(`{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":[]},"config":{"Labels":{"version":"` + version + `"}}}`)
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"%smanifest.v1+json","config":{"mediaType":"%[1]sconfig.v1+json","digest":%q,"size":%d},"layers":[]}`, kind, push(w.t, w.images, name, image), len(image))
	put(w.t, "http://"+w.images+"/v2/"+name+"/manifests/"+version, kind+"manifest.v1+json", []byte(manifest))
	return fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata:
  name: %[1]s-system
  labels: {cluster.x-k8s.io/provider: %[1]s, version: %[2]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[1]s-system, labels: {cluster.x-k8s.io/provider: %[1]s}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: manager, image: "%[3]s/%[4]s:%[2]s"}]
`, label, version, host, name)
}

// release publishes files with metadata on GitHub.
func (w *gap) release(repository, version string, files map[string]string) {
	w.t.Helper()
	r := github.Release{Tag: version}
	files["metadata.yaml"] = metadata
	for name, data := range files {
		r.Assets = append(r.Assets, github.Asset{Name: name, Data: []byte(data), Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(data)))})
	}
	if _, err := w.hub.AddRelease(repository, r); err != nil {
		w.t.Fatal(err)
	}
}

// run runs commands of the page; its folder /srv is one of the test.
func (w *gap) run(s step) {
	w.t.Helper()
	text := strings.ReplaceAll(s.text, "/srv/", filepath.Join(w.dir, "srv")+"/")
	out, err := w.shells[s.side].Run(w.t.Context(), session.Block{Text: text})
	w.t.Logf("%s$ %s\n%s", s.side, strings.TrimSpace(s.text), out)
	if err != nil {
		w.t.Fatal(err)
	}
	if n := strings.Count(out, "version: v"); strings.Contains(text, "clusterctl init") && n != 4 {
		w.t.Errorf("clusterctl would install %d providers, want 4", n)
	}
}
