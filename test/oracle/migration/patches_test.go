package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// patches is how many random patches are compared before and after.
var patches = share.Of(300, 5000)

const controlPlaneTemplate = `apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlaneTemplate
metadata:
  name: cp
spec:
  template:
    spec:
      machineNamingStrategy:
        template: "{{ .cluster.name }}-{{ .random }}"
      rolloutStrategy:
        type: RollingUpdate
        rollingUpdate:
          maxSurge: 1
      machineTemplate:
        nodeDrainTimeout: 1m
        metadata:
          labels:
            a: b
      kubeadmConfigSpec:
        files:
        - path: /a
          content: b
        clusterConfiguration:
          apiServer:
            extraArgs:
              audit: "1"
            certSANs:
            - localhost
          controllerManager:
            extraArgs:
              audit: "2"
        initConfiguration:
          nodeRegistration:
            kubeletExtraArgs:
              audit: "3"
        joinConfiguration:
          nodeRegistration:
            kubeletExtraArgs:
              audit: "4"
          discovery:
            timeout: 5m
`

// operations are random JSON patches of that template. The value is YAML below
// "value:" or "valueFrom:".
func randomOperation(r *rand.Rand, i int) string {
	pick := func(list ...string) string { return list[r.Intn(len(list))] }
	const spec = "/spec/template/spec/"
	const kubeadm = spec + "kubeadmConfigSpec/"
	args := kubeadm + pick("clusterConfiguration/apiServer/extraArgs", "clusterConfiguration/controllerManager/extraArgs", "initConfiguration/nodeRegistration/kubeletExtraArgs", "joinConfiguration/nodeRegistration/kubeletExtraArgs")
	text := pick(`value: "3"`, `value: a-b`, `valueFrom: {variable: region}`, "valueFrom:\n    variable: builtin.cluster.name", "valueFrom:\n    template: \"{{ .region }}-x\"", "valueFrom:\n    template: |\n      {{ .region }}-y")
	op := func(op, path, value string) string {
		return fmt.Sprintf("- op: %s\n  path: %s # %d\n  %s\n", op, path, i, value)
	}
	switch r.Intn(16) {
	case 0, 1, 2:
		return op("add", fmt.Sprint(args, "/arg", i), text)
	case 3:
		return op(pick("add", "replace"), args, "value:\n    # why\n    cloud: external\n    audit: \"9\"")
	case 4:
		return op(pick("add", "replace"), args, "valueFrom:\n    template: |\n      # why\n      cloud: {{ .region }}\n      audit: \"9\"")
	case 5:
		return op("add", kubeadm+"clusterConfiguration/apiServer/certSANs/-", text)
	case 6:
		return op("replace", spec+"machineTemplate/nodeDrainTimeout", "value: "+pick("10m", "0s", `"90s"`))
	case 7:
		return op(pick("add", "replace"), spec+"rolloutStrategy", "value:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: 0")
	case 8:
		return op(pick("add", "replace"), spec+"rolloutStrategy/rollingUpdate/maxSurge", "value: 2")
	case 9:
		return op("add", kubeadm+"files/-", "value:\n    path: /x"+fmt.Sprint(i)+"\n    content: |\n      a: b\n      # c\n    append: true")
	case 10:
		return op("replace", spec+"machineNamingStrategy/template", text)
	case 11:
		return op("add", kubeadm+"joinConfiguration/discovery/timeout", "value: 3m")
	case 12:
		return op("add", kubeadm+"clusterConfiguration/apiServer/timeoutForControlPlane", "value: "+pick("20m", "4m"))
	case 13:
		return op("add", spec+"machineTemplate/"+pick("nodeDeletionTimeout", "nodeVolumeDetachTimeout"), "value: 2h")
	case 14:
		return op("add", kubeadm+"useExperimentalRetryJoin", "value: true")
	}
	return op("add", spec+"remediationStrategy", "value:\n    maxRetry: 3\n    retryPeriod: "+pick("30s", "5m")+"\n    minHealthyPeriod: 1h")
}

// result is the patched template as the API server stores it.
func result(t *testing.T, text []byte) (string, error) {
	t.Helper()
	docs, err := yamldoc.Split(string(text))
	if err != nil || len(docs) != 2 {
		t.Fatal(err, string(text))
	}
	var class struct{ Spec json.RawMessage }
	given.NoError(t, yaml.Unmarshal([]byte(docs[0].Data), &class))
	object := given.Value(yaml.YAMLToJSON([]byte(docs[1].Data)))(t)
	values := map[string]json.RawMessage{"region": json.RawMessage(`"eu"`), "builtin": json.RawMessage(`{"cluster":{"name":"c"}}`)}
	var spec struct {
		Patches json.RawMessage `json:"patches"`
	}
	given.NoError(t, json.Unmarshal(class.Spec, &spec))
	patchesOnly := given.Value(yaml.Marshal(spec))(t)
	out, err := real.ApplyInline(t.Context(), patchesOnly, values, []real.InlineTemplate{{HolderKind: "Cluster", FieldPath: "spec.controlPlaneRef", Object: object, Values: values}})
	if err != nil {
		return "", err
	}
	for _, k := range oldKinds {
		if k.kind != "KubeadmControlPlaneTemplate" {
			continue
		}
		if strings.Contains(string(out[0]), "/v1beta1") {
			converted, err := k.convert(out[0])
			if err != nil {
				return "", err
			}
			return inOrder(t, withoutStatus(t, converted)), nil
		}
		fresh := k.fresh()
		if err := yaml.UnmarshalStrict(out[0], fresh); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out[0])
		}
		return inOrder(t, withoutStatus(t, fresh)), nil
	}
	return "", nil
}

// inOrder sorts the arguments, whose order means nothing.
func inOrder(t *testing.T, text string) string {
	var v any
	given.NoError(t, yaml.Unmarshal([]byte(text), &v))
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				if list, ok := value.([]any); ok && strings.HasSuffix(name, "xtraArgs") {
					byName := map[string]any{}
					for i, item := range list {
						name := fmt.Sprint(item.(map[string]any)["name"])
						if byName[name] != nil {
							name = fmt.Sprint(name, " again ", i)
						}
						byName[name] = item
					}
					v[name] = byName
					continue
				}
				v[name] = walk(value)
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return v
	}
	return string(given.Value(yaml.Marshal(walk(v)))(t))
}

// effects is what migrate says about the effect of the patches of a class, with an
// operation more after the migration.
func effects(text, more string) []migrate.Finding {
	const refs = "spec:\n  infrastructure:\n    ref: {apiVersion: infrastructure.example.com/v1, kind: AcmeClusterTemplate, name: c}\n  controlPlane:\n    ref: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, name: cp}\n" +
		"  variables:\n  - name: region\n    required: true\n    schema: {openAPIV3Schema: {type: string, default: eu}}\n"
	old := strings.Replace(text, "spec:\n", refs, 1)
	r := migrate.Text("x", []byte(old), migrate.Options{Contract: table.To("v1beta2")})
	if more != "" {
		// After the others, so that none of them can undo it.
		r.New = []byte(strings.Replace(string(r.New), "\n---\n", "\n"+more+"---\n", 1))
	}
	return migrate.CompareEffects(context.Background(), []*migrate.File{{Name: "x", Old: []byte(old), Result: r}}, table.To("v1beta2"))
}

// A patched template is the same, whether the patches or their result are migrated.
func TestMigratePatches(t *testing.T) {
	compared, manual, refused := 0, 0, 0
	reasons := map[string]int{}
	for seed := range patches {
		r := rand.New(rand.NewSource(int64(seed)))
		var ops strings.Builder
		for i := range 1 + r.Intn(4) {
			ops.WriteString(randomOperation(r, i))
		}
		text := "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata:\n  name: x\nspec:\n  patches:\n  - name: a\n    definitions:\n    - selector:\n        apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n        kind: KubeadmControlPlaneTemplate\n        matchResources:\n          controlPlane: true\n      jsonPatches:\n" +
			"      " + strings.ReplaceAll(strings.TrimSuffix(ops.String(), "\n"), "\n", "\n      ") + "\n---\n" + controlPlaneTemplate
		want, err := result(t, []byte(text))
		if err != nil {
			refused++
			continue
		}
		got := migrate.Text("x", []byte(text), migrate.Options{Contract: table.To("v1beta2")})
		if strings.Contains(fmt.Sprint(got.Findings), "{manual") {
			manual++
			for _, f := range got.Findings {
				if f.Level == migrate.Manual {
					reasons[f.Message]++
				}
			}
			continue
		}
		after, err := result(t, got.New)
		if err != nil || after != want {
			t.Errorf("seed %d: %v\n%s\nold:\n%s\nnew:\n%s", seed, err, lineDiff(want, after), text, got.New)
			if t.Failed() && compared > 0 && seed > 40 {
				return
			}
			continue
		}
		compared++
		if found := effects(text, ""); len(found) > 0 {
			t.Errorf("seed %d: migrate says that the effect is another: %v\n%s", seed, found, text)
		}
		if !strings.Contains(string(got.New), "jsonPatches") {
			continue // all were of fields that are gone
		}
		if found := effects(text, "      - op: add\n        path: /spec/template/spec/kubeadmConfigSpec/format\n        value: ignition\n"); len(found) != 1 {
			t.Errorf("seed %d: migrate does not see another effect: %v\n%s", seed, found, text)
		}
	}
	t.Logf("%d classes have the same effect, %d are left to do by hand, Cluster API refuses %d", compared, manual, refused)
	for reason, n := range reasons {
		t.Logf("%4d %s", n, reason)
	}
	if compared*10 < patches*9 {
		t.Errorf("only %d of %d were compared", compared, patches)
	}
}
