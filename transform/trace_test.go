package transform_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// traced is a source tree in which every value has a mark at the line that sets
// it: "# <- KIND way".
var traced = map[string]string{
	"metadata.yaml": "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n",
	"config/default/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namePrefix: foo-
namespace: foo-system # <- Service metadata.namespace, Namespace metadata.name
labels:
- pairs:
    team: red # <- Service metadata.labels.team, Namespace metadata.labels
commonAnnotations:
  owner: us # <- Service metadata.annotations.owner, Namespace metadata.annotations
resources:
- ../manager
- ../crd
images:
- name: controller
  newName: ghcr.io/acme/foo
  newTag: v1.0.0 # <- Deployment spec.template.spec.containers.0.image
replicas:
- name: manager
  count: 3 # <- Deployment spec.replicas
patches:
- path: env.yaml
- target: {kind: Deployment, name: manager}
  patch: |-
    - op: add
      path: /spec/template/spec/priorityClassName
      value: system-cluster-critical
- target: {kind: Deployment, name: manager}
  patch: |-
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --leader-elect # <- Deployment spec.template.spec.containers.0.args.1
    - op: replace
      path: /spec/template/spec/priorityClassName
      value: system-cluster-critical # <- Deployment spec.template.spec.priorityClassName
    - op: add
      path: /metadata/annotations/acme.io~1note
      value: patched # <- Deployment metadata.annotations.acme.io/note
- target: {kind: Service, name: other}
  patch: |-
    - op: add
      path: /spec/template/spec/priorityClassName
      value: system-cluster-critical
replacements:
- source: {kind: Service, name: webhook, fieldPath: metadata.name}
  targets:
  - select: {kind: CustomResourceDefinition}
    fieldPaths: [".metadata.annotations.[x.io/service]"] # <- CustomResourceDefinition metadata.annotations.x.io/service
    options: {create: true}
`,
	"config/default/env.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
spec:
  template:
    spec:
      containers:
      - name: manager
        env:
        - name: LEVEL # <- Deployment spec.template.spec.containers.0.env.0.name
          value: "5" # <- Deployment spec.template.spec.containers.0.env.0.value
`,
	"config/manager/kustomization.yaml": "resources: [manager.yaml]\ncommonLabels:\n  team: red\n",
	"config/manager/manager.yaml": `apiVersion: v1
kind: Namespace
metadata:
  name: system
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${FOO_NAME}
data:
  region: north # <- ConfigMap data.region
---
apiVersion: v1
kind: Service
metadata:
  name: webhook # <- Service metadata.name
spec:
  ports:
  - port: 443 # <- Service spec.ports.0.port
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
spec:
  replicas: 1
  template:
    spec:
      priorityClassName: low
      serviceAccountName: ${FOO_ACCOUNT:=manager} # <- Deployment spec.template.spec.serviceAccountName
      containers:
      - name: manager # <- Deployment spec.template.spec.containers.0.name
        image: controller:latest
        args:
        - --v=1 # <- Deployment spec.template.spec.containers.0.args.0
        env:
        - name: OTHER
          value: x # <- Deployment spec.template.spec.containers.0.env.1.value
`,
	"config/crd/kustomization.yaml": `resources: [bases/foos.yaml]
commonLabels:
  cluster.x-k8s.io/v1beta2: v1beta1 # <- CustomResourceDefinition metadata.labels.cluster.x-k8s.io/v1beta2
patchesStrategicMerge:
- webhook.yaml
`,
	"config/crd/bases/foos.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition # <- CustomResourceDefinition kind
metadata:
  name: foos.infrastructure.cluster.x-k8s.io
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: Foo, plural: foos}
  versions:
  - name: v1beta1
    served: true # <- CustomResourceDefinition spec.versions.0.served
`,
	"config/crd/webhook.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: foos.infrastructure.cluster.x-k8s.io
spec:
  conversion:
    strategy: Webhook # <- CustomResourceDefinition spec.conversion.strategy
`,
}

func TestTraces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster-api-provider-foo")
	want := map[string]string{}
	for name, text := range traced {
		file := filepath.Join(dir, filepath.FromSlash(name))
		given.File(t, file, text)
		for i, line := range strings.Split(text, "\n") {
			if _, marks, ok := strings.Cut(line, "# <- "); ok {
				for mark := range strings.SplitSeq(marks, ", ") {
					want[mark] = fmt.Sprintf("%s:%d", name, i+1)
				}
			}
		}
	}
	releases, tracer := buildTraced(t, dir, "v1.0.0", transform.Options{Tolerant: true})
	a := releases[0].Components()
	data := given.Value(a.Bytes())(t)
	// Rules see the names that clusterctl makes of variables.
	rendered := strings.ReplaceAll(string(data), "${FOO_NAME}", "north-1")
	docs, seen := yamldoc.Parse(yamldoc.NewFile(a.Path, []byte(rendered))).Docs, map[string]bool{}
	for _, d := range slices.Concat(docs, docs) { // twice, because the tracer remembers answers
		d.Root.Walk(func(way yamldoc.Path, v *yamldoc.Node) bool {
			mark := d.Root.Get("kind").Str() + " " + way.String()
			if want[mark] == "" {
				return true
			}
			s, ok := tracer.Locate(a.Path, d, v)
			if got := fmt.Sprintf("%s:%d", strings.TrimPrefix(s.File, filepath.ToSlash(dir)+"/"), s.Pos.Line); !ok || !s.Exact || got != want[mark] {
				t.Errorf("%s: %s, want %s", mark, got, want[mark])
			}
			seen[mark] = true
			return true
		})
	}
	for mark := range want {
		if !seen[mark] {
			t.Errorf("%s is not in the built file", mark)
		}
	}
	// A variable inside a value, a key, what is between objects, what the build adds.
	text := yamldoc.NewFile(a.Path, data)
	for span, want := range map[string]string{
		"${FOO_ACCOUNT:=manager}": "config/manager/manager.yaml:30:27-30:50",
		"serviceAccountName":      "config/manager/manager.yaml:21:1-21:20",
		"---":                     "config/default/kustomization.yaml:0:0-0:0",
		"foo-webhook":             "config/default/kustomization.yaml:47:18-47:56",
		"infrastructure-foo":      "config/manager/manager.yaml:4:3-4:15",
	} {
		start := strings.Index(text.Data, span)
		s, ok := tracer.LocateSpan(a.Path, start, start+len(span))
		if pos, same := tracer.LocatePos(a.Path, text.Pos(start)); same != ok || pos.Pos != s.Pos {
			t.Errorf("%s: %+v, but its position: %+v", span, s, pos)
		}
		if got := fmt.Sprintf("%s:%d:%d-%d:%d", strings.TrimPrefix(s.File, filepath.ToSlash(dir)+"/"), s.Pos.Line, s.Pos.Column, s.End.Line, s.End.Column); !ok || got != want {
			t.Errorf("%s: %s, want %s", span, got, want)
		}
	}
	if s, ok := tracer.LocatePos(a.Path, yamldoc.Pos{}); !ok || !strings.HasSuffix(s.File, "config/default/kustomization.yaml") {
		t.Errorf("the file: %+v", s)
	}
	if _, ok := tracer.LocatePos("other.yaml", yamldoc.Pos{Line: 1}); ok {
		t.Error("a file that nobody built has a source")
	}
}

// TestReplacedTraces builds the same sources for two providers, of which one replaces a text
// in a kustomization, and the other joins what is made of it.
func TestReplacedTraces(t *testing.T) {
	dir := t.TempDir()
	given.Files(t, dir, traced)
	given.File(t, filepath.Join(dir, "clusterctl-repo.yaml"), `apiVersion: clusterctl-repo.dev/v1alpha1
kind: Config
providers:
- type: infrastructure
  name: bar
  components: {path: config/default}
  assets: [{name: all.yaml, concat: [{output: infrastructure-foo/infrastructure-components.yaml}]}]
- type: infrastructure
  name: foo
  components: {path: config/default}
  sourceReplacements: [{file: config/default/kustomization.yaml, old: "team: red", new: "team: tan"}]
`)
	releases, tracer := buildTraced(t, dir, "v1.0.0", transform.Options{Tolerant: true})
	for _, r := range releases {
		a := r.Components()
		text := string(given.Value(a.Bytes())(t))
		start := strings.Index(text, "team: ") + len("team: ")
		s, ok := tracer.LocateSpan(a.Path, start, start+len("red"))
		if !ok || s.Pos.Line != 7 || !s.Exact {
			t.Errorf("%s: %+v", a.Path, s)
		}
	}
}

// TestCorpusTraces asks for the place of values all over the built files of real
// source trees. Nearly all are found in a line of the source, with the same
// value.
func TestCorpusTraces(t *testing.T) {
	share.SkipInRace(t)
	dir := filepath.Dir(share.Corpus(t, "sources"))
	versions := corpusVersions(t, dir)
	for i, source := range slices.Sorted(maps.Keys(versions)) {
		if i%share.Of(3, 1) != 0 {
			continue
		}
		version := versions[source]
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			releases, tracer := buildTraced(t, filepath.Join(dir, "sources", source), version, transform.Options{Tolerant: true})
			asked, same, exact, nearest, none := 0, 0, 0, 0, 0
			for _, r := range releases {
				for _, a := range r.Artifacts {
					if k := a.Kind(); k != layouts.Components && k != layouts.ClusterTemplate && k != layouts.ClusterClass || a.Path != filepath.ToSlash(filepath.Join(r.Path, a.Name)) {
						continue
					}
					data := given.Value(a.Bytes())(t)
					n := 0
					for _, d := range yamldoc.Parse(yamldoc.NewFile(a.Path, data)).Docs {
						d.Root.Walk(func(way yamldoc.Path, v *yamldoc.Node) bool {
							if v.Kind == yamldoc.Map || v.Kind == yamldoc.List {
								return true
							}
							if n++; n%97 != 0 && !(len(way) > 2 && way[0] == "metadata") {
								return true
							}
							asked++
							s, ok := tracer.Locate(a.Path, d, v)
							switch {
							case !ok:
								none++
								t.Errorf("%s %s: nothing is known", d.Root.Get("kind").Str(), way)
							case s.Same:
								same++
							case s.Exact:
								exact++
							default:
								nearest++
								// We put this one in ourselves.
								if way.String() != "metadata.labels.cluster.x-k8s.io/provider" {
									t.Errorf("%s %s: only near %s:%d", d.Root.Get("kind").Str(), way, s.File, s.Pos.Line)
								}
							}
							return true
						})
					}
				}
			}
			t.Logf("%d values: %d found, %d on a line that was changed on its way, %d near, %d unknown", asked, same, exact, nearest, none)
		})
	}
}
