package oracle

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// TestJudge makes sure that the library, as other tests use it, says what the
// stock program says.
func TestJudge(t *testing.T) {
	t.Parallel()
	tree := map[string]string{
		"infrastructure-foo/v1.2.3/metadata.yaml":                     seriesOf("1.2=v1beta2"),
		"infrastructure-foo/v1.2.3/infrastructure-components.yaml":    namespace + container("ghcr.io/x/y:v1") + "---\na: ${REQUIRED}\n",
		"infrastructure-foo/v1.2.3/cluster-template.yaml":             "a: ${NODE_COUNT} ${CLUSTER_NAME}\n",
		"infrastructure-foo/v1.2.3/cluster-template-bad.yaml":         "a: ${\n",
		"infrastructure-foo/v1.2.3/cluster-template-topology.yaml":    topology("good"),
		"infrastructure-foo/v1.2.3/cluster-template-missing.yaml":     topology("missing"),
		"infrastructure-foo/v1.2.3/cluster-template-bad-class.yaml":   topology("bad"),
		"infrastructure-foo/v1.2.3/cluster-template-both-twice.yaml":  topology("good") + "---\n" + topology("good"),
		"infrastructure-foo/v1.2.3/cluster-template-other-class.yaml": strings.Replace(topology("good"), "class: good", "class: good\n    classNamespace: elsewhere", 1),
		"infrastructure-foo/v1.2.3/clusterclass-good.yaml":            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: good}\na: ${IN_CLASS}\n",
		"infrastructure-foo/v1.2.3/clusterclass-bad.yaml":             "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\n--- x\n",
	}
	r := real.Release{Root: write(t, tree), Type: string(foo.Type), Name: foo.Name, Version: "v1.2.3", Components: "infrastructure-components.yaml"}
	verdicts := given.Value(real.Judge(background, r))(t)
	if len(verdicts) != 9 {
		t.Fatalf("%d verdicts", len(verdicts))
	}
	cfg := settings(t, r, "")
	env := values{"REQUIRED": "dummy", "NODE_COUNT": "1", "IN_CLASS": "dummy"}.env()
	for _, v := range verdicts {
		args := strings.Fields(v.Use)
		switch args[1] {
		case "provider":
			args = append(args, "-i", "foo:v1.2.3")
		case "cluster":
			args = append(args, "dummy", "-i", "foo:v1.2.3", "-n", "default", "--kubernetes-version", "v1.36.0")
		}
		want, wantErr := binary(t).Run(background, cfg, env, args...)
		same(t, v.File+", "+v.Use, want, wantErr, v.Output, v.Err)
		if refused := strings.Contains(v.File, "bad") || strings.Contains(v.File, "missing"); refused != (v.Err != nil) {
			t.Errorf("%s: %v", v.File, v.Err)
		}
	}
	compareRelease(t, r, verdicts)
}

func topology(class string) string {
	return "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  topology:\n    version: v1.36.0\n    class: " + class + "\n"
}
