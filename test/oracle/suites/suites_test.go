// Package suites compares local repositories with those of the e2e framework. It
// must not know how either makes them.
package suites

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/drone/envsubst/v2"
	"github.com/onsi/gomega"
	framework "sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// internet answers all requests of the framework and of ours from memory.
type internet struct{}

var inSeries = regexp.MustCompile(`/v([0-9]+)/@v/list$`)

func (internet) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(code int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
	}
	switch p := r.URL.Path; {
	case inSeries.MatchString(p), strings.Contains(p, "absent"), strings.HasSuffix(p, "/v1.9.7/metadata.yaml"):
		return answer(404, "")
	case strings.HasSuffix(p, "/@v/list"):
		var out strings.Builder
		for major := range 5 {
			for minor := range 22 {
				for _, patch := range []string{"0-rc.1", "0", "3", "7"} {
					fmt.Fprintf(&out, "v%d.%d.%s\n", major, minor, patch)
				}
			}
		}
		return answer(200, out.String())
	case strings.HasSuffix(p, "/page"):
		return answer(200, "<!DOCTYPE html>\n<html></html>\n")
	case strings.HasSuffix(p, "/metadata.yaml"):
		return answer(200, "kind: Metadata\n")
	default:
		return answer(200, "# "+r.URL.String()+"\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: x\n---\n        args:\n        - --leader-elect\n        image: registry.k8s.io/x/"+path.Base(p)+":v1\n        imagePullPolicy: Always\n")
	}
}

// givenUp is what the framework says when it gives up.
type givenUp string

// kustomizeBinary builds the stock program into a folder that TestMain removes.
var (
	programs        string
	kustomizeBinary = sync.OnceValues(func() (string, error) {
		name := filepath.Join(programs, "kustomize")
		out, err := exec.Command("go", "run", "-exec", "cp", "sigs.k8s.io/kustomize/kustomize/v5", name).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return name, nil
	})
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "suites"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(programs)
		return m.Run()
	}())
}

// createRepository makes the repository with the framework.
func createRepository(t testing.TB, config, out string) (err error) {
	t.Helper()
	binary, err := kustomizeBinary()
	given.NoError(t, err)
	t.Setenv("CAPI_KUSTOMIZE_PATH", binary)
	before := http.DefaultTransport
	http.DefaultTransport = internet{}
	gomega.RegisterFailHandler(func(message string, _ ...int) { panic(givenUp(message)) })
	defer func() {
		http.DefaultTransport = before
		if r := recover(); r != nil {
			message, ok := r.(givenUp)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%s", string(message))
		}
	}()
	c := framework.LoadE2EConfig(t.Context(), framework.LoadE2EConfigInput{ConfigPath: config})
	framework.CreateRepository(t.Context(), framework.CreateRepositoryInput{RepositoryFolder: out, E2EConfig: c})
	return nil
}

// bypassed makes it as suites do that have no kubeadm.
func bypassed(t *testing.T, config, out string) {
	data := given.Read(t, config)
	var kept framework.E2EConfig
	given.NoError(t, yaml.Unmarshal(data, &kept))
	before := http.DefaultTransport
	http.DefaultTransport = internet{}
	defer func() { http.DefaultTransport = before }()
	given.NoError(t, kept.ResolveReleases(t.Context()))
	kept.Defaults()
	kept.AbsPaths(filepath.Dir(config))
	framework.CreateRepository(t.Context(), framework.CreateRepositoryInput{RepositoryFolder: out, E2EConfig: &kept})
}

func ours(t *testing.T, config, out string, kept *kustomize.Cache) (own string, err error) {
	t.Helper()
	web := open.NewWeb(open.WebOptions{Client: transport.New(internet{}, transport.Policy{Attempts: 1}), Proxy: func(context.Context) (string, error) { return "https://modules.example", nil }, Get: func(string) ([]byte, bool) { return nil, false }, Put: func(string, []byte) {}})
	s, err := localrepo.Open(t.Context(), config, localrepo.Options{Env: os.LookupEnv, Upstream: web, Cache: kept})
	if err != nil {
		return "", err
	}
	m, err := s.Build(t.Context())
	if err != nil {
		return s.Own, err
	}
	dest := given.Value(local.New(out))(t)
	for _, r := range m.Releases {
		if _, err := dest.Replace(t.Context(), r); err != nil {
			return s.Own, err
		}
	}
	data := given.Value(s.ConfigFile(out))(t)
	return s.Own, os.WriteFile(filepath.Join(out, "clusterctl-config.yaml"), data, 0o600)
}

// folderOf reads all files below a folder.
func folderOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[rel] = strings.ReplaceAll(string(data), dir, "OUT")
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

func sameFiles(t *testing.T, want, got map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		text, ok := got[name]
		switch {
		case !ok:
			t.Errorf("%s is missing", name)
		case text != want[name]:
			t.Errorf("%s differs: %s", name, firstDifference([]byte(want[name]), []byte(text)))
		}
		delete(got, name)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		t.Errorf("%s is there, and the framework does not write it", name)
	}
}

// suites are the real configurations, and what make does before the framework runs.
var suites = []struct {
	tree, config string
	make         []string
	// substituted is set where envsubst prepares the configuration, first where only make
	// knows what some templates are made from, so that it runs before the tool too.
	substituted, first bool
}{
	{"cluster-api", "test/e2e/config/docker.yaml", []string{"make generate-e2e-templates-main KUSTOMIZE=$KUSTOMIZE"}, false, true},
	{"cluster-api-provider-openstack", "test/e2e/data/e2e_conf.yaml", []string{"mkdir -p test/e2e/data/infrastructure-openstack-no-artifact", "make e2e-templates KUSTOMIZE=$KUSTOMIZE"}, false, true},
	{"cluster-api-provider-gcp", "test/e2e/config/gcp-ci.yaml", nil, true, false},
	{"cluster-api-provider-metal3", "test/e2e/config/e2e_conf.yaml", []string{"mkdir -p test/e2e/_out/main test/e2e/_out/v1.12 test/e2e/_out/v1.13", "make clusterclass-templates KUSTOMIZE=$KUSTOMIZE -o $KUSTOMIZE", "make cluster-templates KUSTOMIZE=$KUSTOMIZE -o $KUSTOMIZE"}, true, true},
	{"cluster-api-provider-proxmox", "test/e2e/config/proxmox-ci.yaml", nil, true, false},
	{"cluster-api-provider-proxmox", "test/e2e/config/proxmox-dev.yaml", nil, true, false},
	{"cluster-api-provider-rke2", "test/e2e/config/e2e_conf.yaml", nil, false, false},
	{"cluster-api-addon-provider-helm", "test/e2e/config/helm.yaml", nil, true, false},
	{"cluster-api-provider-aws", "test/e2e/data/e2e_conf.yaml", []string{"chmod +x hack/*.sh; mkdir -p hack/tools/bin && ln -s $KUSTOMIZE hack/tools/bin/kustomize", "make generate-test-flavors -o hack/tools/bin/kustomize"}, false, true},
	{"cluster-api-provider-aws", "test/e2e/data/e2e_eks_conf.yaml", []string{"chmod +x hack/*.sh; mkdir -p hack/tools/bin && ln -s $KUSTOMIZE hack/tools/bin/kustomize", "make generate-test-flavors -o hack/tools/bin/kustomize"}, false, true},
	{"cluster-api-provider-azure", "test/e2e/config/azure-dev.yaml", []string{"make generate-e2e-templates KUSTOMIZE=$KUSTOMIZE -o $KUSTOMIZE"}, true, false},
	{"cluster-api-provider-nutanix", "test/e2e/config/nutanix.yaml", []string{"git init -q; mkdir make && touch make/test-cluster-with-topology.mk make/test-cluster-without-topology.mk", "PATH=$(dirname $KUSTOMIZE):$PATH make cluster-e2e-templates"}, true, true},
	{"k0smotron", "e2e/config/aws.yaml", []string{"mkdir -p inttest && touch inttest/Makefile.variables", "make generate-aws-e2e-templates KUSTOMIZE=$KUSTOMIZE"}, false, false},
	{"k0smotron", "e2e/config/docker.yaml", []string{"mkdir -p inttest && touch inttest/Makefile.variables", "make generate-e2e-templates-main KUSTOMIZE=$KUSTOMIZE"}, false, false},
}

var remoteBase = regexp.MustCompile(`(?m)^(\s*- )"?(https://|github\.com/).*\n`)

// standIns take the place of bases from the network, which patches need.
var standIns = map[string]string{
	"/azureserviceoperator_":                    "aso.yaml",
	"nutanix/releases/download/v1.9.2/cluster-": "nutanix.yaml",
}

// copyTree copies a source tree without bases from the network.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	given.NoError(t, os.CopyFS(to, os.DirFS(from)))
	err := filepath.WalkDir(to, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "kustomization.yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, remoteBase.ReplaceAllFunc(data, func(line []byte) []byte {
			for part, file := range standIns {
				if strings.Contains(string(line), part) {
					data, err := os.ReadFile(filepath.Join("testdata", file))
					if err == nil {
						err = os.WriteFile(filepath.Join(filepath.Dir(name), file), data, 0o600)
					}
					given.NoError(t, err)
					return remoteBase.ReplaceAll(line, []byte("${1}"+file+"\n"))
				}
			}
			return nil
		}), 0o600)
	})
	given.NoError(t, err)
}

// TestLocalRepositories makes the repositories of real configurations with the
// framework, after make has prepared their trees, and with the tool, from the trees as
// they are in git if that is enough.
func TestLocalRepositories(t *testing.T) {
	root := share.Corpus(t, "e2e")
	binary := given.Value(kustomizeBinary())(t)
	t.Setenv("MANAGER_IMAGE", "example.com/manager:dev")
	t.Setenv("LOCAL_PROVIDER_VERSION", "v1.9.99")
	t.Setenv("CAPI_CONFIG_FOLDER", "")
	t.Setenv("DATE", "20260821")
	t.Setenv("IMAGE_ID", "an image")
	for _, s := range suites {
		t.Run(s.tree+"/"+path.Base(s.config), func(t *testing.T) {
			dir := t.TempDir()
			tree := filepath.Join(dir, s.tree)
			copyTree(t, filepath.Join(root, s.tree), tree)
			got := filepath.Join(dir, "got")
			prepare := func() {
				for _, line := range s.make {
					cmd := exec.Command("bash", "-c", line)
					cmd.Dir, cmd.Env = tree, append(os.Environ(), "KUSTOMIZE="+binary)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%s: %v\n%s", line, err, out)
					}
				}
			}
			if s.first {
				prepare()
			}
			own := given.Value(ours(t, filepath.Join(tree, s.config), got, nil))(t)
			if !s.first {
				prepare()
			}
			config := filepath.Join(tree, s.config)
			if s.substituted {
				data := given.Read(t, config)
				text, err := envsubst.Eval(string(data), func(name string) string {
					if name == "PWD" {
						return tree
					}
					return os.Getenv(name)
				})
				given.NoError(t, err)
				data = []byte(text)
				config = strings.TrimSuffix(config, ".yaml") + "-envsubst.yaml"
				given.NoError(t, os.WriteFile(config, data, 0o600))
			}
			want := filepath.Join(dir, "want")
			if err := createRepository(t, config, want); err != nil {
				if own == "" || !strings.Contains(err.Error(), "should be named kubeadm") && !strings.Contains(err.Error(), "-provider") {
					t.Fatalf("the framework refuses what we build: %v", err)
				}
				bypassed(t, config, want)
			} else if own != "" {
				t.Errorf("we say that the framework refuses: %s", own)
			}
			files, made := folderOf(t, want), folderOf(t, got)
			t.Logf("%d files", len(files))
			sameFiles(t, files, made)
		})
	}
}

func firstDifference(want, got []byte) string {
	a, b := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: want %q, got %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(a), len(b))
}
