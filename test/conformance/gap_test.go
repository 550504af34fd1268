package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOverTheGap has the real clusterctl read mirrors that were carried to
// another place, as a folder and as a bundle, without any network.
func TestOverTheGap(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"v1.0.0", "v1.0.1"} {
		source := filepath.Join(dir, "repo", "infrastructure-acme", version)
		write(t, filepath.Join(source, "metadata.yaml"), metadata)
		write(t, filepath.Join(source, "infrastructure-components.yaml"), fmt.Sprintf(components, version))
		write(t, filepath.Join(source, "cluster-template.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"${CLUSTER_NAME}\", namespace: \"${NAMESPACE}\"}\n")
	}
	ours := find(t, path(t, tool), "")
	// Every host is out of reach.
	clusterctl := find(t, path(t, stock), "", "HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1", "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOPROXY=off")
	reads := func(clusterctl program, folder, version string) {
		t.Helper()
		config := filepath.Join(folder, "clusterctl.yaml")
		if out := clusterctl.must(t, "generate", "provider", "--config", config, "--infrastructure", "acme"); !strings.Contains(out, "from: "+version) {
			t.Errorf("generate provider prints\n%s", out)
		}
		if out := clusterctl.must(t, "generate", "cluster", "mine", "--config", config, "--infrastructure", "acme:"+version, "-n", "default", "--kubernetes-version", "v1.34.0"); !strings.Contains(out, "name: mine") {
			t.Errorf("generate cluster prints\n%s", out)
		}
	}
	here := filepath.Join(dir, "here")
	ours.must(t, "mirror", filepath.Join(dir, "repo", "infrastructure-acme")+"@>=1.0", "--to", here)
	reads(clusterctl, here, "v1.0.1")
	bundle := filepath.Join(dir, "b.tar")
	ours.must(t, "mirror", filepath.Join(dir, "repo", "infrastructure-acme")+"@v1.0.0", "--to", bundle)
	if err := os.RemoveAll(filepath.Join(dir, "repo")); err != nil {
		t.Fatal(err)
	}

	there := filepath.Join(dir, "another machine", "mirror")
	if err := os.MkdirAll(filepath.Dir(there), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(here, there); err != nil {
		t.Fatal(err)
	}
	if out, err := clusterctl.run(t, "generate", "provider", "--config", filepath.Join(there, "clusterctl.yaml"), "--infrastructure", "acme"); err == nil {
		t.Errorf("the old place still counts: %s", out)
	}
	reads(clusterctl.with("CLUSTERCTL_MIRROR="+there), there, "v1.0.1")
	ours.must(t, "mirror", "repair", there)
	reads(clusterctl, there, "v1.0.1")

	far := filepath.Join(dir, "far")
	ours.must(t, "mirror", bundle, "--to", far)
	reads(clusterctl, far, "v1.0.0")
	unpacked := filepath.Join(dir, "unpacked")
	if err := os.MkdirAll(unpacked, 0o755); err != nil {
		t.Fatal(err)
	}
	find(t, "tar", "install tar").must(t, "-xf", bundle, "-C", unpacked)
	reads(clusterctl.with("PWD="+unpacked), unpacked, "v1.0.0") // as a shell sets it
	sums := find(t, "sha256sum", "install coreutils").command(t.Context(), t, "-c", "SHA256SUMS")
	sums.Dir = unpacked
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
