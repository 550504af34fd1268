package migration

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/convert"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// What clusterctl convert makes of the templates and classes of the corpus is what
// migrate makes of them, for the kinds that it converts. Both get the same values.
//
// These differences are known:
//   - clusterctl leaves the old versions in references of ClusterClasses to kinds
//     that migrate too, and the patches of these kinds alone (bumped).
//   - It writes false where the old text has nothing (unset).
//   - v1.14.2 loses the references of Clusters and Machines: they are converted in
//     core/webhooks/conversion, which its scheme does not have (lost).
func TestClusterctlConvert(t *testing.T) {
	// As clusterctl's own command does (cmd/clusterctl/client/convert.go).
	converter := convert.NewConverter("cluster.x-k8s.io", []schema.GroupVersion{{Group: "cluster.x-k8s.io", Version: "v1beta1"}})
	files, objects, references, unread := 0, 0, 0, map[string]int{}
	for _, name := range templates(t) {
		data := given.Read(t, name)
		short := strings.Join(strings.Split(filepath.ToSlash(name), "/")[len(strings.Split(filepath.ToSlash(name), "/"))-3:], "/")
		r := migrate.Text(filepath.Base(name), data, migrate.Options{Contract: table.To("v1beta2")})
		if r.Migrated == 0 {
			continue
		}
		for _, numbers := range []bool{false, true} {
			converted, err := converter.Convert(sampled(t, data, numbers), "v1beta2")
			if err != nil {
				reason := err.Error()
				unread[reason[strings.LastIndex(reason, ": ")+1:]]++
				continue
			}
			files++
			want, got := coreObjects(t, converted.Output), coreObjects(t, sampled(t, r.New, numbers))
			for key := range want {
				objects++
				references += lost(want[key], got[key])
				if a, b := indented(t, want[key]), indented(t, got[key]); a != b {
					t.Errorf("%s: %s differs from clusterctl convert:\n%s", short, key, lineDiff(a, b))
				}
			}
			if len(want) != len(got) {
				t.Errorf("%s: %d objects of Cluster API's core, clusterctl has %d", short, len(got), len(want))
			}
		}
	}
	t.Logf("%d readings of files with %d objects; clusterctl convert loses %d references and cannot read %v", files, objects, references, unread)
	if files < 100 || objects < 200 {
		t.Errorf("only %d files and %d objects were compared", files, objects)
	}
}

// lost takes the references that clusterctl has lost out of the other object, and
// counts them.
func lost(want, got any) int {
	n := 0
	a, _ := want.(map[string]any)
	if b, ok := got.(map[string]any); ok {
		for name, value := range b {
			if _, kept := a[name]; !kept && (name == "controlPlaneRef" || name == "infrastructureRef" || name == "configRef") {
				delete(b, name)
				n++
				continue
			}
			if n += lost(a[name], value); empty(value) {
				delete(b, name)
			}
		}
	}
	return n
}

// unset drops false where the tables say that it means "not set".
func unset(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if v[name] = unset(value); value == false && slices.Contains(notSet, name) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = unset(v[i])
		}
	}
	return v
}

// notSet are the fields of table.NoFalse and table.Schema in this group.
var notSet = []string{
	"paused", "controlPlane", "infrastructureCluster",
	"uniqueItems", "exclusiveMaximum", "exclusiveMinimum", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string",
}

func indented(t *testing.T, v any) string {
	t.Helper()
	return string(given.Value(json.MarshalIndent(v, "", " "))(t))
}

// coreObjects are the objects that clusterctl convert converts, in the form that
// means the same, by version, kind and name.
func coreObjects(t *testing.T, text []byte) map[string]any {
	t.Helper()
	docs := given.Value(yamldoc.Split(string(text)))(t)
	out := map[string]any{}
	for _, d := range docs {
		var o map[string]any
		given.NoError(t, yaml.Unmarshal([]byte(d.Data), &o))
		version, _ := o["apiVersion"].(string)
		if !strings.HasPrefix(version, "cluster.x-k8s.io/") {
			continue
		}
		kind, _ := o["kind"].(string)
		metadata, _ := o["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		delete(o, "status")
		key := version + " " + kind + " " + name
		for out[key] != nil {
			key += "+"
		}
		out[key] = bumped(unset(o))
	}
	return out
}
