// Package imports checks the direction in which the packages of this project
// may know each other, and which of them may know a library.
package imports

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/clusterctl-repo/clusterctl-repo/"

// layers says what the packages below a folder may import of this project. The
// first row that matches counts. See docs/architecture.md.
var layers = []struct {
	folder string
	may    []string
}{
	{"cmd/clusterctl-repo", []string{"cmd/internal/cli"}},
	{"cmd/internal/cli", []string{"repo/live", "cmd/internal/term", "layouts", "repo", "transform", "publish"}},
	{"repo/live", []string{"repo/move/snapshot"}},
	{"cmd/internal/term", nil},
	{"layouts/config", []string{"layouts", "repo/text/yamldoc"}},
	{"layouts/detect", []string{"layouts", "layouts/config", "repo/text/yamldoc"}},
	{"layouts", nil},
	{"repo/parallel", nil},
	{"repo/text/yamldoc", []string{"repo/parallel"}},
	{"repo/capi/contract", []string{"repo/kube/crd"}},
	{"repo/report/internal/draw", []string{"repo/report/internal/markup"}},
	{"repo/report/internal/markup", nil},
	{"repo/text/vars", nil},
	{"repo/source/files", nil},
	{"repo/capi/metadata", []string{"layouts", "repo/text/yamldoc"}},
	{"repo/extension/checks", []string{"repo/extension", "repo/lint"}},
	{"repo/lint/rules/examples", []string{"layouts", "repo/capi/metadata"}},
	{"repo/", []string{"layouts", "repo"}},
	{"repo", []string{"layouts", "repo/source/files"}},
	{"transform/kustomize", []string{"repo/text/yamldoc", "repo/source/files", "repo/parallel"}},
	{"transform", []string{"layouts", "repo", "transform"}},
	{"publish", []string{"layouts", "repo", "publish"}},
	{"examples", nil},
	{"test", nil},
}

// owners says which packages may import a library. A package of the standard
// library is named with its full path.
var owners = []struct {
	library string
	may     []string
}{
	{"go.yaml.in/yaml/", []string{"repo/text/yamldoc"}},
	{"sigs.k8s.io/yaml", []string{"repo/text/yamldoc"}},
	{"github.com/evanphx/json-patch", []string{"repo/extension"}},
	{"sigs.k8s.io/kustomize/", []string{"transform/kustomize"}},
	{"github.com/spf13/cobra", []string{"cmd/internal/cli"}},
	{"github.com/spf13/viper", []string{"transform/clusterctl/config"}},
	{"k8s.io/client-go", []string{"repo/live"}},
	{"k8s.io/api", []string{"transform/clusterctl"}},
	{"sigs.k8s.io/cluster-api", []string{"transform/clusterctl"}},
	{"golang.org/x/crypto", []string{"repo/trust/sign"}},
	{"crypto/tls", []string{"repo/extension/probe", "publish/transport", "cmd/internal/cli", "test/fakes"}},
	{"os/exec", []string{"cmd/internal/cli"}},
	{"os/signal", []string{"cmd/clusterctl-repo"}},
	{"net/http", []string{"repo/extension/probe", "publish/transport", "publish/github", "publish/gitlab", "publish/oci", "cmd/internal/cli", "test/fakes"}},
	{"github.com/google/go-github/", []string{"publish/github"}},
	{"github.com/xanzy/go-gitlab", []string{"publish/gitlab"}},
	{"oras.land/oras-go/", []string{"publish/oci"}},
	{"github.com/opencontainers/", []string{"publish/oci"}},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps,Standard"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(out); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// below reports whether path is folder or in it; a folder that ends in a slash
// only means what is in it.
func below(path, folder string) bool {
	if strings.HasSuffix(folder, "/") {
		return strings.HasPrefix(path, folder)
	}
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func TestLayers(t *testing.T) {
	for _, p := range list(t, "./...") {
		path := strings.TrimPrefix(p.ImportPath, module)
		i := slices.IndexFunc(layers, func(l struct {
			folder string
			may    []string
		}) bool {
			return below(path, l.folder)
		})
		if i < 0 {
			t.Errorf("%s is in no layer", path)
			continue
		}
		for _, imported := range p.Imports {
			to, own := strings.CutPrefix(imported, module)
			if !own {
				for _, o := range owners {
					if (imported == o.library || strings.HasPrefix(imported, strings.TrimSuffix(o.library, "/")+"/")) && !slices.ContainsFunc(o.may, func(f string) bool { return below(path, f) }) {
						t.Errorf("%s imports %s, which only %v may", path, imported, o.may)
					}
				}
				continue
			}
			// Packages of one folder may know each other.
			if !slices.ContainsFunc(append([]string{layers[i].folder}, layers[i].may...), func(f string) bool { return below(to, f) }) {
				t.Errorf("%s imports %s; %s may only know %v", path, to, layers[i].folder, layers[i].may)
			}
		}
	}
}

// TestLibraryHasNoNetwork keeps the validator usable as a library: what is
// below repo links no network package, except for the probe of extensions
// and the client of management clusters.
func TestLibraryHasNoNetwork(t *testing.T) {
	for _, p := range list(t, "./repo/...", "./layouts/...") {
		if p.ImportPath == module+"repo/extension/probe" || p.ImportPath == module+"repo/live" {
			continue
		}
		for _, d := range p.Deps {
			if d == "net/http" || d == "crypto/tls" {
				t.Errorf("%s links %s", p.ImportPath, d)
			}
		}
	}
}
