package conformance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/conformance/registry"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// startRegistry runs the registry of the Distribution project and returns its
// host.
func startRegistry(t *testing.T) string {
	t.Helper()
	r, err := registry.Start(t.TempDir())
	if errors.Is(err, exec.ErrNotFound) {
		missing(t, err.Error())
	}
	given.NoError(t, err)
	t.Cleanup(r.Close)
	return r.Host
}

// releaseOf is a release of a provider, with marks to find its files by.
func releaseOf(p layouts.Provider, file string) *repo.Release {
	r := &repo.Release{Provider: p, Version: "v1.0.0", Path: p.Label(), Artifacts: []*repo.Artifact{
		repo.BytesArtifact(file, fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: of-%s\n  namespace: acme-system\n  labels: {cluster.x-k8s.io/provider: %[1]s}\n", p.Label())),
		repo.BytesArtifact("metadata.yaml", []byte(metadata)),
	}}
	r.Sort()
	return r
}

// TestRegistry publishes to a real registry and has others read that: skopeo, and the
// Cluster API operator, whose plugin also publishes.
func TestRegistry(t *testing.T) {
	host := startRegistry(t)
	var all []*repo.Release
	for _, info := range layouts.Types {
		p := layouts.Provider{Type: info.Type, Name: "acme"}
		if info.Type == layouts.Core {
			p.Name = layouts.CoreName
		}
		all = append(all, releaseOf(p, info.ComponentsFile))
	}
	all = append(all, releaseOf(layouts.Provider{Type: layouts.Infrastructure, Name: "other"}, "infrastructure-components-other.yaml"))
	open := func(t *testing.T, name string) *oci.Repository {
		t.Helper()
		return given.Value(oci.New(oci.Options{Host: host, Repository: name}))(t)
	}
	for _, shared := range []bool{false, true} {
		site := publish.Site{Name: host, Shared: shared, Of: func(p layouts.Provider) (publish.Destination, error) {
			if shared {
				return open(t, "shared"), nil
			}
			return open(t, "manifests/"+oci.RepositoryName(p)), nil
		}}
		parcels := given.Value(site.Parcels(t.Context(), all))(t)
		for _, p := range parcels {
			if result, err := p.Publish(t.Context(), false); err != nil || result.Unchanged {
				t.Fatalf("%+v, %v", result, err)
			}
			if result, err := p.Publish(t.Context(), false); err != nil || !result.Unchanged {
				t.Fatalf("once more: %+v, %v", result, err)
			}
		}
	}
	if versions, err := open(t, "shared").Versions(t.Context()); err != nil || !slices.Equal(versions, []string{"v1.0.0"}) {
		t.Errorf("%v, %v", versions, err)
	}

	t.Run("skopeo", func(t *testing.T) {
		skopeo := find(t, "skopeo", "install Debian's package of that name")
		folder := "oci:" + filepath.Join(t.TempDir(), "copy") + ":v1.0.0"
		skopeo.must(t, "copy", "--src-tls-verify=false", "docker://"+host+"/shared:v1.0.0", folder)
		skopeo.must(t, "copy", "--dest-tls-verify=false", folder, "docker://"+host+"/mirrored/shared:v1.0.0")
		want := given.Value(open(t, "shared").Fetch(t.Context(), "v1.0.0"))(t)
		if err := open(t, "mirrored/shared").Verify(t.Context(), want); err != nil {
			t.Error(err)
		}
	})

	t.Run("operator", func(t *testing.T) {
		operatorReads(t, all,
			func(r *repo.Release) *oci.Repository { return open(t, "manifests/"+oci.RepositoryName(r.Provider)) },
			func(*repo.Release) *oci.Repository { return open(t, "shared") })
		plugin := operator(t, "sigs.k8s.io/cluster-api-operator/cmd/plugin")
		dir := t.TempDir()
		theirs := releaseOf(layouts.Provider{Type: layouts.Addon, Name: "theirs"}, "addon-components.yaml")
		for _, a := range theirs.Artifacts {
			data := given.Value(a.Bytes())(t)
			given.NoError(t, os.WriteFile(filepath.Join(dir, a.Name), data, 0o600))
		}
		plugin.must(t, "publish", "-d", dir, "-u", open(t, "theirs").OperatorReference("v1.0.0"))
		if err := open(t, "theirs").Verify(t.Context(), theirs); err != nil {
			t.Error(err)
		}
		// Equal files are no other release, whoever published them.
		if result, err := open(t, "theirs").Put(t.Context(), theirs); err != nil || !result.Unchanged {
			t.Errorf("%+v, %v", result, err)
		}
	})
}
