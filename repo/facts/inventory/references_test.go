package inventory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestReferences(t *testing.T) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const components = `apiVersion: apps/v1
kind: Deployment
metadata: {name: m, namespace: n}
spec:
  template:
    spec:
      containers:
      - name: manager
        image: ghcr.io/a/manager:v1
        command: [/manager, --init-image, ghcr.io/a/init:v1, --image-pull-policy, Always]
        args:
        - --rbac-proxy-image=ghcr.io/a/proxy:v2
        - --helper-image=${HELPER:=ghcr.io/a/helper:v3}
        - --secret-image=${SECRET_IMAGE}
        - --image-server=localhost:8080
        - --leader-elect
        - --imagery=ghcr.io/a/no:v1
        - --images
        - --v=2
        env:
        - {name: RELATED_IMAGE_AGENT, value: "agent@` + digest + `"}
        - {name: IMAGE_TYPE, value: qcow2}
        - {name: PLAIN, value: ghcr.io/a/no:v1}
        - {name: OTHER_IMAGE, valueFrom: {secretKeyRef: {name: x, key: y}}}
`
	const template = `kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  files:
  - content: |
      kind: Pod
      spec:
        containers:
        - image: ghcr.io/kube-vip/kube-vip:v1 # the address
        - "image": "ghcr.io/a/b:${T:=v9}"
        - image: ${OPEN}/x:v1
        - image: hello
        - imagePullPolicy: Always
        - image:
        # image: ghcr.io/a/comment:v1
    path: /etc/kubernetes/manifests/kube-vip.yaml
  image: ghcr.io/a/machine:v1
`
	found, err := inventory.References(t.Context(), release(componentsFile, components, templateFile, template))
	given.NoError(t, err)
	var got []string
	for _, img := range found {
		guess := ""
		if img.Guess {
			guess = " guess"
		}
		got = append(got, fmt.Sprintf("%d:%d %s [%s] %s %s%s%s", img.Line, img.Column, img.Ref, img.Field, img.Object, img.Name, img.Variable, guess))
	}
	want := []string{
		"9:16 ghcr.io/a/manager:v1 [containers] Deployment n/m manager",
		"10:43 ghcr.io/a/init:v1 [command --init-image] Deployment n/m init guess",
		"12:11 ghcr.io/a/proxy:v2 [args --rbac-proxy-image] Deployment n/m proxy guess",
		"13:11 ghcr.io/a/helper:v3 [args --helper-image] Deployment n/m helper guess",
		"14:11 ${SECRET_IMAGE} [args --secret-image] Deployment n/m SECRET_IMAGE guess",
		"21:46 agent@" + digest + " [env RELATED_IMAGE_AGENT] Deployment n/m agent guess",
		"9:18 ghcr.io/kube-vip/kube-vip:v1 [spec.files.0.content] KubeadmControlPlane cp kube-vip guess",
		"10:21 ghcr.io/a/b:v9 [spec.files.0.content] KubeadmControlPlane cp b guess",
		"11:18 ${OPEN}/x:v1 [spec.files.0.content] KubeadmControlPlane cp OPEN guess",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// They are nothing that clusterctl or a pod would pull.
	images, err := inventory.Images(t.Context(), release(componentsFile, components, templateFile, template))
	if err != nil || len(images) != 1 {
		t.Errorf("images %v, error %v", images, err)
	}
}

// Images are found however the text writes them down.
func TestReferencesInTexts(t *testing.T) {
	const template = `kind: ConfigMap
metadata: {name: c}
data:
  flow: |
    spec: {containers: [{name: a, image: ghcr.io/a/flow:v1}, {image: "ghcr.io/a/flow:v2", name: b}]}
  json: '{"spec":{"containers":[{"image":"ghcr.io/a/json:v1"}]}}'
  escaped: "{\"image\": \"ghcr.io/a/escaped:v1\"}"
  short: |
    {image: kube-vip/kube-vip:v1}
  toml: |
    sandbox_image = "registry.k8s.io/pause:3.10"
  script: |
    ctr -n k8s.io images pull localhost:5000/a/script:${TAG:=v1}; curl https://example.com/a/b:c
    # docker run ghcr.io/a/comment:v1
    Registry_IMAGE=other/name:v1 İmage: other/name:v2 IMAG other:v3
    echo ./a/b:c user@example.com:a/b hello 10.0.0.1:80 image:
---
kind: KubeadmControlPlane
metadata: {name: k}
spec:
  preKubeadmCommands:
  - crictl pull quay.io/a/command:v1
  image: ghcr.io/a/machine:v1
---
kind: CustomResourceDefinition
metadata: {name: d}
description: |
  such as ghcr.io/a/example:v1
`
	found := given.Value(inventory.References(t.Context(), release(templateFile, template)))(t)
	got := phrase.List(found, func(img inventory.Image) string { return fmt.Sprintf("%d:%d %s", img.Line, img.Column, img.Ref) })
	want := []string{
		"5:42 ghcr.io/a/flow:v1", "5:71 ghcr.io/a/flow:v2", "6:43 ghcr.io/a/json:v1", "7:27 ghcr.io/a/escaped:v1", "9:13 kube-vip/kube-vip:v1",
		"11:22 registry.k8s.io/pause:3.10", "13:31 localhost:5000/a/script:v1", "15:20 other/name:v1", "15:41 other/name:v2", "22:17 quay.io/a/command:v1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Clusterctl installs cert-manager like components, but replaces no variables
// (clusterctl: client/cluster/cert_manager.go, getManifestObjs).
func TestImagesOfCertManager(t *testing.T) {
	r := &repo.Release{Provider: layouts.CertManager, Version: "v1.0.0", Artifacts: []*repo.Artifact{
		repo.BytesArtifact(layouts.CertManagerFile, []byte("kind: Deployment\nmetadata: {name: c, annotations: {a: '${'}}\nspec: {template: {spec: {containers: [{name: c, image: quay.io/jetstack/c:v1}]}}}")),
		repo.BytesArtifact("other.yaml", []byte("kind: Pod\nspec: {containers: [{image: a}]}")),
	}}
	for _, list := range []func(*testing.T) ([]inventory.Image, error){
		func(t *testing.T) ([]inventory.Image, error) { return inventory.Images(t.Context(), r) },
		func(t *testing.T) ([]inventory.Image, error) { return inventory.References(t.Context(), r) },
	} {
		images, err := list(t)
		if err != nil || len(images) != 1 || images[0].Ref != "quay.io/jetstack/c:v1" || !images[0].SeenByClusterctl {
			t.Errorf("images %+v, error %v", images, err)
		}
	}
}

// Definitions are left out only where nothing else can be meant, and all else keeps
// its place.
func TestReferencesBesideDefinitions(t *testing.T) {
	const (
		definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: foos.example.com\n"
		pod        = "spec:\n  containers:\n  - name: c\n    image: quay.io/a/b:v1\n"
	)
	for name, text := range map[string]string{
		"behind":                   definition + "spec: {}\n---\napiVersion: v1\nkind: Pod\n" + pod,
		"between":                  "---\n" + definition + "spec:\n  group: x\nstatus:\n- a\n---\nkind: Pod\n" + pod + "---\n" + definition,
		"the last kind counts":     definition + pod + "kind: Pod\n",
		"quoted":                   definition + pod + "\"kind\": Pod\n",
		"escaped":                  definition + pod + "\"\\x6bind\": Pod\n",
		"explicit":                 definition + pod + "? kind\n: Pod\n",
		"kind in a block":          definition + "spec:\n  x: |\n    kind: Pod\n---\nkind: Pod\n" + pod,
		"after an open expression": "x: ${A:=\n---\n" + definition + "  y: }\n---\nkind: Pod\n" + pod,
		"with an expression":       definition + "spec: ${A:=b}\n---\nkind: Pod\n" + pod,
	} {
		r := release(componentsFile, text)
		want, wantErr := inventory.Images(t.Context(), r)
		got, err := inventory.References(t.Context(), r)
		if !slices.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, err, want, wantErr)
		}
		if len(want) != 1 && wantErr == nil {
			t.Errorf("%s: this test finds %d images", name, len(want))
		}
	}
}
