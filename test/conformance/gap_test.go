package conformance

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
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
	clusterctl := find(t, offline(t, path(t, stock)), "", "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOPROXY=off")
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
	given.NoError(t, os.RemoveAll(filepath.Join(dir, "repo")))

	there := filepath.Join(dir, "another machine", "mirror")
	given.NoError(t, os.MkdirAll(filepath.Dir(there), 0o755))
	given.NoError(t, os.Rename(here, there))
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
	given.NoError(t, os.MkdirAll(unpacked, 0o755))
	find(t, "tar", "install tar").must(t, "-xf", bundle, "-C", unpacked)
	reads(clusterctl.with("FOLDER="+unpacked), unpacked, "v1.0.0")
	sums := find(t, "sha256sum", "install coreutils").command(t.Context(), t, "-c", "SHA256SUMS")
	sums.Dir = unpacked
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// offline returns a program that runs another one in a network namespace without
// any interface, so that it cannot reach even this machine. Where that is not
// allowed, only its proxies are out of reach. FOLDER is where it starts.
func offline(t *testing.T, program string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "offline")
	start := "export HTTPS_PROXY=http://127.0.0.1:1 HTTP_PROXY=http://127.0.0.1:1; exec"
	for _, rights := range []string{"-n", "-rn"} {
		if exec.CommandContext(t.Context(), "unshare", rights, "true").Run() == nil {
			start = "exec unshare " + rights
			break
		}
	}
	t.Log(start)
	write(t, name, "#!/bin/sh\ncd \"${FOLDER:-.}\" || exit; "+start+" '"+program+"' \"$@\"\n")
	given.NoError(t, os.Chmod(name, 0o755))
	return name
}

// TestImagesOverTheGap carries an image for one of its platforms from one real
// registry to another, where skopeo reads all of it.
func TestImagesOverTheGap(t *testing.T) {
	skopeo := find(t, "skopeo", "install Debian's package of that name")
	ours := find(t, path(t, tool), "")
	near, far := startRegistry(t), startRegistry(t)
	dir := t.TempDir()
	const name, image = "acme/manager", "application/vnd.oci.image."
	var manifests []string
	for _, arch := range []string{"amd64", "arm64"} {
		config := `{"os":"linux","architecture":"` + arch + `","rootfs":{"type":"layers","diff_ids":[]}}`
		manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"%smanifest.v1+json","config":{"mediaType":"%[1]sconfig.v1+json","digest":%q,"size":%d},"layers":[]}`,
			image, push(t, near, name, []byte(config)), len(config))
		put(t, "http://"+near+"/v2/"+name+"/manifests/"+arch, image+"manifest.v1+json", []byte(manifest))
		manifests = append(manifests, fmt.Sprintf(`{"mediaType":"%smanifest.v1+json","digest":"sha256:%x","size":%d,"platform":{"os":"linux","architecture":%q}}`, image, sha256.Sum256([]byte(manifest)), len(manifest), arch))
	}
	put(t, "http://"+near+"/v2/"+name+"/manifests/v1.0.0", image+"index.v1+json", []byte(`{"schemaVersion":2,"mediaType":"`+image+`index.v1+json","manifests":[`+strings.Join(manifests, ",")+`]}`))
	source := filepath.Join(dir, "repo", "infrastructure-acme", "v1.0.0")
	write(t, filepath.Join(source, "metadata.yaml"), metadata)
	write(t, filepath.Join(source, "infrastructure-components.yaml"), fmt.Sprintf(components, "gap")+`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: acme, namespace: acme-system, labels: {cluster.x-k8s.io/provider: infrastructure-acme}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: manager, image: "`+near+`/acme/manager:v1.0.0"}]
`)
	bundle, site := filepath.Join(dir, "b.tar"), filepath.Join(dir, "site")
	ours.must(t, "mirror", filepath.Join(dir, "repo"), "--images", "--platform", "linux/arm64", "--to", bundle)
	ours.must(t, "mirror", bundle, "--to", site, "--image-registry", far+"/capi", "--push-images")
	ours.must(t, "mirror", "verify", site)
	at := "docker://" + far + "/capi/manager:v1.0.0"
	index := skopeo.must(t, "inspect", "--raw", "--tls-verify=false", at)
	if !strings.Contains(index, `"arm64"`) || strings.Contains(index, `"amd64"`) {
		t.Errorf("the registry of the site has %s", index)
	}
	layout := filepath.Join(dir, "layout")
	skopeo.must(t, "copy", "--all", "--src-tls-verify=false", at, "oci:"+layout+":all")
	if out := skopeo.must(t, "inspect", "--config", "--override-arch", "arm64", "--tls-verify=false", at); !strings.Contains(out, `"arm64"`) {
		t.Errorf("skopeo reads %s", out)
	}
	// The folder in the bundle is an OCI layout for others too.
	unpacked := filepath.Join(dir, "unpacked")
	given.NoError(t, os.MkdirAll(unpacked, 0o755))
	find(t, "tar", "install tar").must(t, "-xf", bundle, "-C", unpacked)
	data, err := os.ReadFile(filepath.Join(unpacked, "images", "index.json"))
	if err != nil || !strings.Contains(string(data), near+"/acme/manager:v1.0.0") {
		t.Errorf("%s: %v", data, err)
	}
	skopeo.must(t, "copy", "--all", "--dest-tls-verify=false", "oci:"+filepath.Join(unpacked, "images")+":"+near+"/acme/manager:v1.0.0", "docker://"+far+"/copied/manager:v1.0.0")
}
