package oracle

//lint:file-ignore SA1019 v1beta1 is what users still write, so its admission is compared until Cluster API drops it.

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// admitting is a server that also knows Clusters and ExtensionConfigs, with the
// ClusterClasses that are there.
type admitting struct {
	*server
	classes map[client.ObjectKey]*clusterv1.ClusterClass
}

func newAdmitting(t testing.TB) *admitting {
	t.Helper()
	s := &admitting{newServer(t), map[client.ObjectKey]*clusterv1.ClusterClass{}}
	for _, name := range []string{"cluster.x-k8s.io_clusters", "runtime.cluster.x-k8s.io_extensionconfigs"} {
		data := given.Read(t, filepath.Join(coreModule(t), "core", "config", "crd", "bases", name+".yaml"))
		given.NoError(t, s.define(data))
	}
	return s
}

// Get makes the server a client that knows the classes.
func (s *admitting) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, asked := s.classes[key], false
	if into, isClass := into.(*clusterv1.ClusterClass); isClass && found != nil {
		asked = true
		found.DeepCopyInto(into)
	}
	if !asked {
		return apierrors.NewNotFound(clusterv1.GroupVersion.WithResource("objects").GroupResource(), key.Name)
	}
	return nil
}

// List finds nothing.
func (s *admitting) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// typed converts an object.
func typed(o map[string]any, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o, into)
}

// put makes a ClusterClass known as its controller leaves it: reconciled, with the
// definitions of its variables in the status.
func (s *admitting) put(o map[string]any) error {
	hub := &clusterv1.ClusterClass{}
	if o["apiVersion"] == clusterv1beta1.GroupVersion.String() {
		spoke := &clusterv1beta1.ClusterClass{}
		if err := typed(o, spoke); err != nil {
			return err
		}
		if err := conversion.ConvertClusterClassV1Beta1ToHub(context.Background(), spoke, hub); err != nil {
			return err
		}
	} else if err := typed(o, hub); err != nil {
		return err
	}
	hub.Namespace, hub.Status = "default", clusterv1.ClusterClassStatus{}
	for _, v := range hub.Spec.Variables {
		no := false
		hub.Status.Variables = append(hub.Status.Variables, clusterv1.ClusterClassStatusVariable{
			Name: v.Name, DefinitionsConflict: &no,
			Definitions: []clusterv1.ClusterClassStatusVariableDefinition{{From: clusterv1.VariableDefinitionFromInline, Required: v.Required, Schema: v.Schema}},
		})
	}
	hub.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterClassVariablesReadyCondition, Status: metav1.ConditionTrue, Reason: "VariablesReady"}}
	s.classes[client.ObjectKeyFromObject(hub)] = hub
	return nil
}

// cluster returns why a new Cluster is refused.
func (s *admitting) cluster(o map[string]any) error {
	if err := s.create(o); err != nil {
		return err
	}
	o = runtime.DeepCopyJSON(o)
	unstructured.RemoveNestedField(o, "status")
	hub := &clusterv1.Cluster{}
	if o["apiVersion"] == clusterv1beta1.GroupVersion.String() {
		spoke := &clusterv1beta1.Cluster{}
		if err := typed(o, spoke); err != nil {
			return err
		}
		if err := conversion.ConvertClusterV1Beta1ToHub(context.Background(), spoke, hub); err != nil {
			return err
		}
	} else if err := typed(o, hub); err != nil {
		return err
	}
	hub.Namespace = "default"
	ctx := context.Background()
	if s.classes[hub.GetClassKey()] == nil { // for which the webhook waits
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
	}
	webhook := &admission.Cluster{Client: s}
	if err := webhook.Default(ctx, hub); err != nil {
		return err
	}
	_, err := webhook.ValidateCreate(ctx, hub)
	return err
}

// extension returns why a new ExtensionConfig is refused.
func (s *admitting) extension(o map[string]any) error {
	if err := s.create(o); err != nil {
		return err
	}
	hub := &runtimev1.ExtensionConfig{}
	if o["apiVersion"] == runtimev1alpha1.GroupVersion.String() {
		spoke := &runtimev1alpha1.ExtensionConfig{}
		if err := typed(o, spoke); err != nil {
			return err
		}
		if err := conversion.ConvertExtensionConfigV1Alpha1ToHub(context.Background(), spoke, hub); err != nil {
			return err
		}
	} else if err := typed(o, hub); err != nil {
		return err
	}
	webhook := &admission.ExtensionConfig{}
	if err := webhook.Default(context.Background(), hub); err != nil {
		return err
	}
	_, err := webhook.ValidateCreate(context.Background(), hub)
	return err
}

// TestAdmissionExamples lets the admission of Cluster API prove the rules about Clusters
// and ExtensionConfigs that say it does.
func TestAdmissionExamples(t *testing.T) {
	t.Parallel()
	s := newAdmitting(t)
	count := 0
	for _, rule := range rules.All {
		if family := rules.FamilyOf(rule.ID); family != "TOP" && family != "RXS" {
			continue
		}
		e := given.Value(examples.Load(rule.ID))(t)
		if e.Oracle.Verdict != examples.AdmissionRefuses {
			continue
		}
		count++
		t.Run(rule.ID, func(t *testing.T) {
			bad, good := s.tree(t, e.Bad, e.Env), s.tree(t, e.Good, append(e.GoodEnv, e.Env...))
			if bad == nil || !regexp.MustCompile(e.Oracle.Pattern).MatchString(bad.Error()) {
				t.Errorf("bad: %v", bad)
			}
			if good != nil {
				t.Errorf("good: %v", good)
			}
		})
	}
	if count < 10 {
		t.Errorf("only %d examples", count)
	}
}

// tree returns why the first object of an example is refused.
func (s *admitting) tree(t *testing.T, files examples.Files, env []string) error {
	t.Helper()
	clear(s.classes)
	var clusters []map[string]any
	for _, name := range slices.Backward(sortedKeys(files.Text)) {
		text := []byte(files.Text[name])
		v := alwaysSet(dummies(text))
		for _, e := range env {
			key, value, _ := strings.Cut(e, "=")
			v[key] = value
		}
		var objects []unstructured.Unstructured
		switch layouts.KindOfFile(filepath.Base(name)) {
		case layouts.ClusterTemplate, layouts.ClusterClass:
			out := given.Value(template(text, v, "default", false))(t)
			objects = out.Objs()
		case layouts.Components:
			id := given.Value(layouts.ParseLabel(strings.SplitN(name, "/", 2)[0]))(t)
			out, err := components(real.Release{Type: string(id.Type), Name: id.Name}, text, v, nil, "", false)
			given.NoError(t, err)
			objects = out.Objs()
		}
		for _, o := range objects {
			switch o.GetKind() {
			case "ClusterClass":
				given.NoError(t, s.put(o.Object))
			case "Cluster":
				clusters = append(clusters, o.Object)
			case "ExtensionConfig":
				if err := s.extension(o.Object); err != nil {
					return err
				}
			}
		}
	}
	for _, c := range clusters {
		if err := s.cluster(c); err != nil {
			return err
		}
	}
	return nil
}

// pair is a Cluster with its class, which may be nil.
type pair struct {
	name           string
	cluster, class map[string]any
}

// pairs returns the Clusters of the corpus and of the examples of the rules.
func pairs(t *testing.T) []pair {
	t.Helper()
	var out []pair
	add := func(from string, texts map[string]string) {
		var clusters []map[string]any
		classes := map[string]map[string]any{}
		for _, name := range sortedKeys(texts) {
			kind := layouts.KindOfFile(filepath.Base(name))
			if kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
				continue
			}
			data := []byte(texts[name])
			rendered, err := template(data, alwaysSet(dummies(data)), "default", false)
			if err != nil {
				continue
			}
			for _, o := range rendered.Objs() {
				switch {
				case o.GetKind() == "ClusterClass":
					classes[o.GetName()] = o.Object
				case o.GetKind() == "Cluster" && strings.HasPrefix(o.GetAPIVersion(), "cluster.x-k8s.io/v1beta"):
					clusters = append(clusters, o.Object)
				}
			}
		}
		for _, c := range clusters {
			name, _, _ := unstructured.NestedString(c, "spec", "topology", "classRef", "name")
			if old, ok, _ := unstructured.NestedString(c, "spec", "topology", "class"); ok {
				name = old
			}
			out = append(out, pair{from, c, classes[name]})
		}
	}
	for _, rule := range rules.All {
		if e, err := examples.Load(rule.ID); err == nil && (strings.HasPrefix(rule.ID, "T") || strings.HasPrefix(rule.ID, "C")) {
			add(rule.ID, e.Good.Text)
			add(rule.ID, e.Bad.Text)
		}
	}
	for _, r := range subjects(t) {
		texts := map[string]string{}
		for _, name := range files(t, r.Dir()) {
			data := given.Read(t, filepath.Join(r.Dir(), name))
			texts[name] = string(data)
		}
		add(r.Name, texts)
	}
	return out
}

// beyondSchema are refusals that no rule finds: rules in CEL, and health checks, which are
// left to the webhook.
var beyondSchema = regexp.MustCompile(`failed rule:|rule evaluation error|evaluates? to|healthCheck|machineHealthCheck`)

// compare holds the verdicts of lint on a pair against those of the server.
func (s *admitting) compare(p pair, said map[string]int) (refused bool, err error) {
	clear(s.classes)
	var files []*repo.Artifact
	if p.class != nil {
		if err := s.put(p.class); err != nil {
			return false, err
		}
		data, err := yaml.Marshal(p.class)
		if err != nil {
			return false, err
		}
		name, _, _ := unstructured.NestedString(p.class, "metadata", "name")
		files = append(files, repo.BytesArtifact(layouts.ClusterClassFile(name), escaped(data)))
	}
	data, err := yaml.Marshal(p.cluster)
	if err != nil {
		return false, err
	}
	files = append(files, repo.BytesArtifact(layouts.TemplateFile(""), escaped(data)))
	report, err := lintRelease(foo, lint.Options{Rules: eachAlone(), Apart: true, Partial: true}, files...)
	if err != nil {
		return false, err
	}
	var found, noClass []string
	for _, f := range report.Findings {
		text := fmt.Sprintf("%d %s %s", f.Pos.Line, f.Rule.ID, f.Message)
		switch {
		case f.Severity == lint.Error && rules.FamilyOf(f.Rule.ID) == "TOP":
			found = append(found, text)
			said[f.Rule.ID]++
		case f.Rule.ID == "TPL009":
			noClass = append(noClass, text)
		}
	}
	verdict := s.cluster(p.cluster)
	switch {
	case verdict == nil && len(found) > 0:
		return false, fmt.Errorf("the API server accepts what lint does not: %q\n%s", found, data)
	case verdict != nil && len(found) == 0 && len(noClass) == 0 && !beyondSchema.MatchString(verdict.Error()):
		return true, fmt.Errorf("lint accepts what the API server does not: %w\n%s", verdict, data)
	}
	return verdict != nil, nil
}

// escaped keeps clusterctl from replacing anything.
func escaped(data []byte) []byte { return []byte(strings.ReplaceAll(string(data), "$", "$$")) }

// TestClusterAdmission compares lint with the API server and Cluster API's own
// admission on the Clusters of real templates and of the examples.
func TestClusterAdmission(t *testing.T) {
	t.Parallel()
	s := newAdmitting(t)
	said := map[string]int{}
	count, refused, withClass := 0, 0, 0
	for _, p := range pairs(t) {
		count++
		no, err := s.compare(p, said)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		if no {
			refused++
		}
		if p.class != nil {
			withClass++
		}
	}
	t.Logf("%d Clusters, %d with their class, %d refused; findings %v", count, withClass, refused, said)
}

// TestMutatedClusters does the same on mutants of the Clusters that are accepted.
func TestMutatedClusters(t *testing.T) {
	t.Parallel()
	s := newAdmitting(t)
	said := map[string]int{}
	var pool []pair
	for _, p := range pairs(t) {
		if no, err := s.compare(p, map[string]int{}); err == nil && !no && (p.class != nil || len(pool)%8 == 0) {
			pool = append(pool, p)
		}
	}
	random := rand.New(rand.NewPCG(*seed, 5))
	refused := 0
	for n := range mutations {
		p := pool[random.IntN(len(pool))]
		p.cluster = runtime.DeepCopyJSON(p.cluster)
		m := mutator{random: random, other: pool[random.IntN(len(pool))].cluster}
		var done []string
		for range 1 + random.IntN(4)/3 {
			if random.IntN(2) == 0 {
				done = append(done, m.mutate(p.cluster))
			} else {
				done = append(done, m.topology(p.cluster))
			}
		}
		no, err := s.compare(p, said)
		if err != nil {
			t.Errorf("-seed %d, number %d, %v: %v", *seed, n, done, err)
		}
		if no {
			refused++
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("-seed %d: mutants of %d Clusters, %d refused; findings %v", *seed, len(pool), refused, said)
}

// topologyFields are fields of Clusters to add or replace, with values of which
// many are wrong.
func topologyFields() map[string][]any {
	health := map[string]any{"checks": map[string]any{"nodeStartupTimeoutSeconds": int64(10)}}
	return map[string][]any{
		"version":  {"v1.34.0", "1.34.0", "v1.34", "v1.34.0-rc.1+build", "", "latest"},
		"name":     {"md-0", "a b", "A", strings.Repeat("n", 64), ""},
		"class":    {"default-worker", "nope", ""},
		"replicas": {int64(3), "3", int64(-1), nil},
		"metadata": {map[string]any{"labels": map[string]any{"a": "b c"}}, map[string]any{"labels": map[string]any{"a/b/c": "d"}}, map[string]any{
			"annotations": map[string]any{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1"}}},
		"variables": {[]any{map[string]any{"name": "nope", "value": "a"}}, map[string]any{"overrides": []any{map[string]any{"name": "nope", "value": "a"}}}, map[string]any{"overrides": []any{}}},
		"value":     {"a", int64(1), nil, true, []any{}, map[string]any{"a": "b"}},
		"healthCheck": {health, map[string]any{"enabled": true}, map[string]any{"enabled": false}, map[string]any{
			"enabled": true, "remediation": map[string]any{"triggerIf": map[string]any{"unhealthyLessThanOrEqualTo": "40"}}}},
		"machineHealthCheck": {map[string]any{"enable": true}, map[string]any{"enable": true, "maxUnhealthy": "40%"}, map[string]any{"nodeStartupTimeout": "10s"}},
		"taints":             {[]any{map[string]any{"key": "node.kubernetes.io/x", "effect": "NoSchedule", "propagation": "Always"}}},
		"clusterNetwork":     {map[string]any{"pods": map[string]any{"cidrBlocks": []any{"10.0.0.0/64"}}}, map[string]any{"services": map[string]any{"cidrBlocks": []any{"10.0.0.0/16"}}}},
		"rollout":            {map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "1", "maxUnavailable": int64(0)}}}},
		"strategy":           {map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(0)}}},
		"controlPlaneRef":    {map[string]any{}, map[string]any{"apiGroup": "a.b", "kind": "A", "name": "a"}},
		"topology":           {map[string]any{}, nil, map[string]any{"class": "a", "version": "v1.34.0"}},
		"workers":            {map[string]any{}, map[string]any{"machineDeployments": []any{map[string]any{"class": "default-worker", "name": "a"}, map[string]any{"class": "default-worker", "name": "a"}}}},
	}
}

// topology changes something that matters in a Cluster.
func (m *mutator) topology(object map[string]any) string {
	table := topologyFields()
	metadata := object["metadata"].(map[string]any)
	switch m.random.IntN(12) {
	case 0:
		metadata["name"] = []string{strings.Repeat("n", 64), "a.b", "a"}[m.random.IntN(3)]
		return "rename the Cluster"
	case 1:
		metadata["annotations"] = map[string]any{clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation: []any{"1", "0", "all", ""}[m.random.IntN(4)]}
		return "set the concurrency"
	}
	return m.set(object, table)
}

// set puts a value from a table into some mapping, rather under a name that is
// there already.
func (m *mutator) set(object map[string]any, table map[string][]any) string {
	var places []map[string]any
	paths := []string{"spec"}
	if spec, ok := object["spec"].(map[string]any); ok {
		places = append(places, spec)
	}
	for _, s := range spots(object) {
		if below, ok := s.value().(map[string]any); ok {
			places, paths = append(places, below), append(paths, s.path)
		}
	}
	if len(places) == 0 {
		return "nothing"
	}
	i := m.random.IntN(len(places))
	into := places[i]
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(table)), func(key string) bool { _, ok := into[key]; return !ok })
	if len(keys) == 0 || m.random.IntN(3) == 0 {
		keys = slices.Sorted(maps.Keys(table))
	}
	key := keys[m.random.IntN(len(keys))]
	into[key] = runtime.DeepCopyJSONValue(table[key][m.random.IntN(len(table[key]))])
	return "set " + key + " in " + paths[i]
}

// extensionFields are fields of ExtensionConfigs to add or replace, with values of
// which many are wrong.
func extensionFields() map[string][]any {
	return map[string][]any{
		"name":      {"foo", "foo.bar", "1foo", "Foo", strings.Repeat("n", 64), ""},
		"namespace": {"foo-system", "Foo", "a.b", ""},
		"path":      {"/hooks", "hooks", "", "/a b", "/" + strings.Repeat("p", 600)},
		"port":      {int64(443), int64(0), int64(70000), "443"},
		"url":       {"https://foo.example.com", "http://foo.example.com", "foo", "", nil},
		"service":   {map[string]any{"name": "foo", "namespace": "bar"}, map[string]any{}, map[string]any{"name": "foo"}, nil},
		"caBundle":  {"Cg==", "not base64", "", nil},
		"settings":  {map[string]any{"a": "b"}, map[string]any{"a": int64(1)}, map[string]any{"a": nil}, "a"},
		"namespaceSelector": {map[string]any{}, nil, map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "In"}}}, map[string]any{
			"matchExpressions": []any{map[string]any{"key": "a", "operator": "Exists", "values": []any{"b"}}}}, map[string]any{"matchLabels": map[string]any{"a": "b c"}}},
		"operator": {"In", "Equals", "", nil},
		"values":   {[]any{"a"}, []any{}, nil},
		"unknown":  {"a"},
	}
}

// TestMutatedExtensions compares lint with the API server and Cluster API's own
// admission on mutants of the ExtensionConfigs of the examples.
func TestMutatedExtensions(t *testing.T) {
	t.Parallel()
	s := newAdmitting(t)
	var pool []map[string]any
	for _, rule := range rules.All {
		if rules.FamilyOf(rule.ID) != "RXS" {
			continue
		}
		e := given.Value(examples.Load(rule.ID))(t)
		for _, name := range sortedKeys(e.Good.Text) {
			data := []byte(e.Good.Text[name])
			if layouts.KindOfFile(filepath.Base(name)) != layouts.Components {
				continue
			}
			out, err := components(real.Release{Type: string(layouts.RuntimeExtension), Name: "foo"}, data, alwaysSet(dummies(data)), nil, "", false)
			given.NoError(t, err)
			for _, o := range out.Objs() {
				if o.GetKind() == "ExtensionConfig" {
					o.SetNamespace("")
					pool = append(pool, o.Object)
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(*seed, 6))
	said := map[string]int{}
	refused := 0
	for n := range mutations {
		object := runtime.DeepCopyJSON(pool[random.IntN(len(pool))])
		m := mutator{random: random, other: pool[random.IntN(len(pool))]}
		what := m.set(object, extensionFields())
		if random.IntN(3) == 0 {
			what += ", " + m.mutate(object)
		}
		data := given.Value(yaml.Marshal(object))(t)
		file := repo.BytesArtifact("runtime-extension-components.yaml", escaped(data))
		opts := lint.Options{Rules: eachAlone(), Apart: true, Partial: true}
		report := given.Value(lintRelease(layouts.Provider{Type: layouts.RuntimeExtension, Name: "foo"}, opts, file))(t)
		var found []string
		for _, f := range report.Findings {
			if family := rules.FamilyOf(f.Rule.ID); f.Severity == lint.Error && f.Rule.Proof == lint.APIServer && (family == "RXS" || family == "TOP") {
				found = append(found, f.Rule.ID+" "+f.Message)
				said[f.Rule.ID]++
			}
		}
		verdict := s.extension(object)
		if (verdict == nil) != (len(found) == 0) {
			t.Fatalf("-seed %d, number %d, %s: the API server says %v, lint %q:\n%s", *seed, n, what, verdict, found, data)
		}
		if verdict != nil {
			refused++
		}
	}
	t.Logf("-seed %d: mutants of %d ExtensionConfigs, %d refused; findings %v", *seed, len(pool), refused, said)
}
