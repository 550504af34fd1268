package cluster

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// migrated is an object of a release before and after the migration.
type migrated struct {
	where    string
	old, now unstructured.Unstructured
}

// TestMigrated sends the objects of real templates and classes to the API server
// before and after the migration to v1beta2: what it and the webhooks of Cluster API
// accepted, they accept again. They refuse most of the old objects if only their
// apiVersion is changed, or the test would show nothing.
func TestMigrated(t *testing.T) {
	t.Parallel()
	r := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	c := webhooked(t)
	var mutex sync.Mutex
	tried, accepted, renamed := 0, map[string]int{}, 0
	var work sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			for _, values := range valueSets {
				// The Clusters of a namespace find the classes of the same text.
				before, after := namespace(t, c), namespace(t, c)
				pairs := migratedObjects(t, parts(t, release), values)
				for _, o := range pairs {
					putClass(t, c, before, o.old)
					putClass(t, c, after, o.now)
				}
				for _, o := range pairs {
					if o.old.GetAPIVersion() == o.now.GetAPIVersion() {
						continue
					}
					tried++
					slots <- struct{}{}
					work.Go(func() {
						defer func() { <-slots }()
						before, after := before, after
						if o.old.GetKind() == "ClusterClass" { // it is there already
							before, after = metav1.NamespaceDefault, metav1.NamespaceDefault
						}
						if create(t, c, before, o.old) != nil {
							return
						}
						err := create(t, c, after, o.now)
						only := *o.old.DeepCopy()
						only.SetAPIVersion(o.now.GetAPIVersion())
						refused := create(t, c, after, only) != nil
						mutex.Lock()
						defer mutex.Unlock()
						accepted[o.old.GetKind()]++
						if refused {
							renamed++
						}
						if err != nil {
							text, _ := yaml.Marshal(o.now.Object)
							t.Errorf("%s: %s was accepted, but after the migration: %v\n%s", o.where, o.old.GetAPIVersion(), err, text)
						}
					})
				}
			}
		}
	}
	work.Wait()
	sum := 0
	for _, n := range accepted {
		sum += n
	}
	t.Logf("%d objects tried, %d accepted in v1beta1: %v; %d of them refused under the new apiVersion alone", tried, sum, accepted, renamed)
	if renamed < sum/2 {
		t.Errorf("only %d of %d objects have to be migrated to be accepted", renamed, sum)
	}
	for _, kind := range []string{"Cluster", "ClusterClass", "KubeadmConfigTemplate", "KubeadmControlPlane", "KubeadmControlPlaneTemplate", "MachineDeployment", "MachineHealthCheck", "MachinePool"} {
		if accepted[kind] == 0 {
			t.Errorf("no %s was accepted in v1beta1: %v", kind, slices.Sorted(maps.Keys(accepted)))
		}
	}
}

// valueSets give variables values: what a field refuses of one it may take of the
// other.
var valueSets = []func(required []string) values{
	plausible,
	func(required []string) values {
		v := same("3", required)
		for _, name := range required {
			if strings.HasSuffix(name, "VERSION") {
				v[name] = plausibleValue(name)
			}
		}
		return v
	},
}

// migratedObjects are the objects of templates and classes.
func migratedObjects(t *testing.T, parts []part, v func(required []string) values) (out []migrated) {
	t.Helper()
	for _, p := range parts {
		if p.kind == layouts.Components {
			continue
		}
		old, err := p.render(v(p.required))
		if err != nil {
			continue // clusterctl refuses the template with these values
		}
		p.file = yamldoc.NewFile(p.file.Name, migrate.Text(p.file.Name, []byte(p.file.Data), migrate.Options{Contract: table.To("v1beta2")}).New)
		now, err := p.render(v(p.required))
		if err != nil || len(old) != len(now) {
			t.Errorf("%s: %d objects became %d: %v", p, len(old), len(now), err)
			continue
		}
		for i := range old {
			out = append(out, migrated{p.String() + " " + nameOf(&old[i]), old[i], now[i]})
		}
	}
	return out
}

func namespace(t *testing.T, c client.Client) string {
	t.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "migrated-"}}
	given.NoError(t, c.Create(t.Context(), n))
	return n.Name
}

// create asks the API server for an object, as kubectl does, without effect.
func create(t *testing.T, c client.Client, namespace string, o unstructured.Unstructured) error {
	o = *o.DeepCopy()
	o.SetNamespace(namespace)
	return c.Create(t.Context(), &o, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
}

// putClass stores a ClusterClass as its controller leaves it: reconciled, with the
// definitions of its variables in the status. One that is refused is left out.
func putClass(t *testing.T, c client.Client, namespace string, o unstructured.Unstructured) {
	t.Helper()
	if o.GetKind() != "ClusterClass" {
		return
	}
	o = *o.DeepCopy()
	o.SetNamespace(namespace)
	if c.Create(t.Context(), &o) != nil {
		return
	}
	class := &clusterv1.ClusterClass{}
	given.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(&o), class))
	for _, v := range class.Spec.Variables {
		no := false
		class.Status.Variables = append(class.Status.Variables, clusterv1.ClusterClassStatusVariable{
			Name: v.Name, DefinitionsConflict: &no,
			Definitions: []clusterv1.ClusterClassStatusVariableDefinition{{From: clusterv1.VariableDefinitionFromInline, Required: v.Required, Schema: v.Schema}},
		})
	}
	class.Status.ObservedGeneration = class.Generation
	class.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterClassVariablesReadyCondition, Status: metav1.ConditionTrue, Reason: "VariablesReady", LastTransitionTime: metav1.Now()}}
	given.NoError(t, c.Status().Update(t.Context(), class))
}
