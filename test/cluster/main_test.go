package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/apply"
	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// What tests share is made when the first one asks for it.
var (
	// built makes the programs of the API server in scratch.
	built = sync.OnceValue(func() error { return server.Build(context.Background(), scratch) })
	// running returns the server that tests put objects into, and shared does it
	// for them.
	running func() (*server.Server, error)
	shared  func() (*apply.Cluster, error)
	// core returns the definitions that every management cluster has.
	core = sync.OnceValues(coreLibrary)
	// scratch is a folder for programs.
	scratch string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	if programs := os.Getenv(starter); programs != "" {
		return startAndWait(programs)
	}
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	stop := func() error { return nil }
	running = sync.OnceValues(func() (*server.Server, error) {
		s, err := start()
		if err == nil {
			stop = s.Stop
		}
		return s, err
	})
	shared = sync.OnceValues(func() (*apply.Cluster, error) {
		s, err := running()
		if err != nil {
			return nil, err
		}
		return apply.New(s.Config)
	})
	defer func() {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return m.Run()
}

// start starts a server.
func start() (*server.Server, error) {
	if err := built(); err != nil {
		return nil, err
	}
	return server.Start(scratch)
}

// session begins a session on the shared server, so the test must not run next to
// others.
func session(t *testing.T) *apply.Session {
	t.Helper()
	c := given.Value(shared())(t)
	library := given.Value(core())(t)
	return c.Session(library)
}

// end undoes what a session did.
func end(t *testing.T, s *apply.Session) {
	t.Helper()
	if err := s.End(context.Background()); err != nil {
		t.Fatalf("the API server is not as before: %v", err)
	}
}

// coreLibrary holds what Cluster API itself defines, and permissive definitions for
// cert-manager: clusterctl installs both before any other provider.
func coreLibrary() (*apply.Library, error) {
	all, err := coreObjects()
	if err != nil {
		return nil, err
	}
	return apply.NewLibrary(append(all, certManager()...)...), nil
}

// coreObjects are the definitions of Cluster API and the configurations of its
// webhooks.
func coreObjects() ([]unstructured.Unstructured, error) {
	module := exec.Command("go", "mod", "download", "-json", "sigs.k8s.io/cluster-api")
	out, err := module.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", module, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return nil, err
	}
	var all []unstructured.Unstructured
	for _, part := range []string{"core", "bootstrap/kubeadm", "controlplane/kubeadm"} {
		for _, pattern := range []string{"crd/bases/*.yaml", "webhook/manifests.yaml"} {
			files, err := filepath.Glob(filepath.Join(downloaded.Dir, filepath.FromSlash(part), "config", filepath.FromSlash(pattern)))
			if err != nil {
				return nil, err
			}
			if len(files) == 0 {
				return nil, fmt.Errorf("no file %s in %s of %s", pattern, part, downloaded.Dir)
			}
			for _, file := range files {
				objs, err := objects(file)
				if err != nil {
					return nil, err
				}
				all = append(all, objs...)
			}
		}
	}
	return all, nil
}

// certManager defines the kinds of cert-manager, which may hold anything.
func certManager() (out []unstructured.Unstructured) {
	for plural, kind := range map[string]string{"issuers": "Issuer", "clusterissuers": "ClusterIssuer", "certificates": "Certificate", "certificaterequests": "CertificateRequest"} {
		out = append(out, permissive("cert-manager.io", plural, kind))
	}
	return out
}

// permissive defines a kind that may hold anything.
func permissive(group, plural, kind string) unstructured.Unstructured {
	scope := "Namespaced"
	if kind == "ClusterIssuer" {
		scope = "Cluster"
	}
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group,
			"names": map[string]any{"plural": plural, "kind": kind},
			"scope": scope,
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

// objects reads a file of YAML documents.
func objects(file string) ([]unstructured.Unstructured, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bufio.NewReader(f), 4096); ; {
		var o unstructured.Unstructured
		err := d.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if o.Object != nil {
			out = append(out, o)
		}
	}
}
