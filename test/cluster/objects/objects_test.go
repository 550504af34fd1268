package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationinstall "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationvalidation "k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	admissionvalidation "k8s.io/kubernetes/pkg/apis/admissionregistration/validation"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/coordination"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	coordinationvalidation "k8s.io/kubernetes/pkg/apis/coordination/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/discovery"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	discoveryvalidation "k8s.io/kubernetes/pkg/apis/discovery/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/node"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	nodevalidation "k8s.io/kubernetes/pkg/apis/node/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
	"k8s.io/kubernetes/pkg/capabilities"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// objectMutants is how many changed objects are compared with the validation of the
// API server, and sameVerdict the share of the random ones that have to get the same
// verdict. The objects with one of objectFaults are always compared, and all must agree.
var objectMutants = share.Of(3000, 60000)

const sameVerdict = 0.98

// validated are the kinds of components whose validation is called, by apiVersion and kind.
var validated = map[string]func() runtime.Object{
	"apps/v1 Deployment":                                             func() runtime.Object { return new(appsv1.Deployment) },
	"apps/v1 DaemonSet":                                              func() runtime.Object { return new(appsv1.DaemonSet) },
	"v1 Service":                                                     func() runtime.Object { return new(corev1.Service) },
	"rbac.authorization.k8s.io/v1 Role":                              func() runtime.Object { return new(rbacv1.Role) },
	"rbac.authorization.k8s.io/v1 ClusterRole":                       func() runtime.Object { return new(rbacv1.ClusterRole) },
	"rbac.authorization.k8s.io/v1 RoleBinding":                       func() runtime.Object { return new(rbacv1.RoleBinding) },
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding":                func() runtime.Object { return new(rbacv1.ClusterRoleBinding) },
	"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": func() runtime.Object { return new(admissionv1.ValidatingWebhookConfiguration) },
	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":   func() runtime.Object { return new(admissionv1.MutatingWebhookConfiguration) },

	"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":        func() runtime.Object { return new(admissionv1.ValidatingAdmissionPolicy) },
	"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": func() runtime.Object { return new(admissionv1.ValidatingAdmissionPolicyBinding) },
	"apps/v1 StatefulSet":                    func() runtime.Object { return new(appsv1.StatefulSet) },
	"autoscaling/v2 HorizontalPodAutoscaler": func() runtime.Object { return new(autoscalingv2.HorizontalPodAutoscaler) },
	"batch/v1 CronJob":                       func() runtime.Object { return new(batchv1.CronJob) },
	"networking.k8s.io/v1 Ingress":           func() runtime.Object { return new(networkingv1.Ingress) },
	"networking.k8s.io/v1 NetworkPolicy":     func() runtime.Object { return new(networkingv1.NetworkPolicy) },
	"policy/v1 PodDisruptionBudget":          func() runtime.Object { return new(policyv1.PodDisruptionBudget) },
	"scheduling.k8s.io/v1 PriorityClass":     func() runtime.Object { return new(schedulingv1.PriorityClass) },
	"storage.k8s.io/v1 StorageClass":         func() runtime.Object { return new(storagev1.StorageClass) },
	"v1 ConfigMap":                           func() runtime.Object { return new(corev1.ConfigMap) },
	"v1 LimitRange":                          func() runtime.Object { return new(corev1.LimitRange) },
	"v1 PersistentVolumeClaim":               func() runtime.Object { return new(corev1.PersistentVolumeClaim) },
	"v1 ResourceQuota":                       func() runtime.Object { return new(corev1.ResourceQuota) },
	"v1 Secret":                              func() runtime.Object { return new(corev1.Secret) },
	"coordination.k8s.io/v1 Lease":           func() runtime.Object { return new(coordinationv1.Lease) },
	"discovery.k8s.io/v1 EndpointSlice":      func() runtime.Object { return new(discoveryv1.EndpointSlice) },
	"networking.k8s.io/v1 IngressClass":      func() runtime.Object { return new(networkingv1.IngressClass) },
	"node.k8s.io/v1 RuntimeClass":            func() runtime.Object { return new(nodev1.RuntimeClass) },
	"storage.k8s.io/v1 CSIDriver":            func() runtime.Object { return new(storagev1.CSIDriver) },
	"apiregistration.k8s.io/v1 APIService":   func() runtime.Object { return new(apiregistrationv1.APIService) },
}

// kubernetes returns what the API server has against an object; not ok if it does not
// come to look, because the object does not decode.
func kubernetes(t *testing.T, m object) (errs field.ErrorList, ok bool) {
	t.Helper()
	of := validated[fmt.Sprint(m["apiVersion"], " ", m["kind"])]
	data, err := json.Marshal(m)
	if err != nil || of == nil {
		t.Fatal(err, m["kind"])
	}
	typed := of()
	if yaml.UnmarshalStrict(data, typed) != nil {
		return nil, false
	}
	legacyscheme.Scheme.Default(typed)
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(typed, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, false
	}
	switch o := internal.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(o, podutil.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil)), true
	case *apps.DaemonSet:
		return appsvalidation.ValidateDaemonSet(o, podutil.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil)), true
	case *apps.StatefulSet:
		return appsvalidation.ValidateStatefulSet(o, podutil.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil)), true
	case *autoscaling.HorizontalPodAutoscaler:
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(o, autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{MinReplicasLowerBound: 1, ObjectMetricsValidationOptions: autoscalingvalidation.CrossVersionObjectReferenceValidationOptions{AllowEmptyAPIGroup: true}}), true
	case *apiregistration.APIService:
		return apiregistrationvalidation.ValidateAPIService(o), true
	case *batch.CronJob:
		return batchvalidation.ValidateCronJobCreate(o, podutil.GetValidationOptionsFromPodTemplate(&o.Spec.JobTemplate.Spec.Template, nil)), true
	case *networking.Ingress:
		return networkingvalidation.ValidateIngressCreate(o), true
	case *networking.IngressClass:
		return networkingvalidation.ValidateIngressClass(o), true
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.NetworkPolicyValidationOptions{}), true
	case *node.RuntimeClass:
		return nodevalidation.ValidateRuntimeClass(o), true
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{}), true
	case *scheduling.PriorityClass:
		return schedulingvalidation.ValidatePriorityClass(o), true
	case *storage.CSIDriver:
		return storagevalidation.ValidateCSIDriver(o), true
	case *storage.StorageClass:
		return storagevalidation.ValidateStorageClass(o), true
	case *coordination.Lease:
		return coordinationvalidation.ValidateLease(o), true
	case *discovery.EndpointSlice:
		return discoveryvalidation.ValidateEndpointSliceCreate(o), true
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o), true
	case *core.LimitRange:
		return corevalidation.ValidateLimitRange(o), true
	case *core.PersistentVolumeClaim:
		return corevalidation.ValidatePersistentVolumeClaim(o, corevalidation.ValidationOptionsForPersistentVolumeClaimCreate()), true
	case *core.ResourceQuota:
		return corevalidation.ValidateResourceQuota(o), true
	case *core.Secret:
		return corevalidation.ValidateSecret(o), true
	case *core.Service:
		return corevalidation.ValidateServiceCreate(o), true
	case *rbac.Role:
		return rbacvalidation.ValidateRole(o), true
	case *rbac.ClusterRole:
		return rbacvalidation.ValidateClusterRole(o, rbacvalidation.ClusterRoleValidationOptions{}), true
	case *rbac.RoleBinding:
		return rbacvalidation.ValidateRoleBinding(o), true
	case *rbac.ClusterRoleBinding:
		return rbacvalidation.ValidateClusterRoleBinding(o), true
	case *admissionregistration.ValidatingWebhookConfiguration:
		return admissionvalidation.ValidateValidatingWebhookConfiguration(o), true
	case *admissionregistration.MutatingWebhookConfiguration:
		return admissionvalidation.ValidateMutatingWebhookConfiguration(o), true
	case *admissionregistration.ValidatingAdmissionPolicy:
		return admissionvalidation.ValidateValidatingAdmissionPolicy(o), true
	case *admissionregistration.ValidatingAdmissionPolicyBinding:
		return admissionvalidation.ValidateValidatingAdmissionPolicyBinding(o), true
	}
	t.Fatalf("%T", internal)
	return nil, false
}

// objectRules speak for the validation of objects that are in components.
var objectRules = []string{
	"RBAC015", "WH007", "WH008", "WH011", "WH012", "WH013", "WH014", "WH015", "DEP006", "DEP007", "DEP008", "COMP006", "YAML007", "YAML013", "YAML014",
}

// linted returns the errors that some rules find in components with one object.
func linted(t *testing.T, m object, ids []string) []string {
	t.Helper()
	data := given.Value(json.Marshal(m))(t)
	var own []*lint.Rule
	for _, id := range ids {
		own = append(own, rules.ByID(id))
	}
	a := repo.BytesArtifact("infrastructure-components.yaml", data)
	release := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Artifacts: []*repo.Artifact{a}}
	r := &repo.Repository{Providers: []*repo.Provider{{Provider: release.Provider, Releases: []*repo.Release{release}}}}
	report, err := lint.Run(context.Background(), r, lint.Options{Rules: own})
	if err != nil || len(report.Failures) > 0 {
		t.Fatal(err, report.Failures)
	}
	var errs []string
	for _, f := range report.Findings {
		if f.Severity == lint.Error {
			errs = append(errs, f.Rule.ID+" "+f.Message)
		}
	}
	return errs
}

// TestCoreObjects compares the rules about objects of Kubernetes with the validation of
// the API server: the objects of the corpus as they are, with each of objectFaults, and
// changed at random.
func TestCoreObjects(t *testing.T) {
	t.Parallel()
	capabilities.Setup(true, 0) // kube-apiserver --allow-privileged
	apiregistrationinstall.Install(legacyscheme.Scheme)
	objects := coreSamples(t)
	same := func(what string, m object) (agree, refused bool) {
		server, ok := kubernetes(t, m)
		if !ok {
			return true, false
		}
		errs := linted(t, m, objectRules)
		agree = (len(server) > 0) == (len(errs) > 0)
		if !agree {
			data, _ := json.Marshal(m["metadata"])
			t.Logf("%s: %v %s:\nAPI server: %.500v\nlint: %.500s", what, m["kind"], data, server.ToAggregate(), strings.Join(errs, "; "))
		}
		return agree, len(server) > 0
	}
	for _, m := range objects {
		if agree, _ := same("as it is", m); !agree {
			t.Error("a sample gets another verdict")
		}
	}
	for _, f := range append(objectFaults, rows(t)...) {
		refused := 0
		for _, m := range objects {
			c := clone(m)
			if c["kind"] != f.kind && !strings.HasSuffix(c["kind"].(string), "Webhook"+f.kind) || !f.make(c) {
				continue
			}
			agree, bad := same(f.name, c)
			if !agree {
				t.Errorf("%s: another verdict", f.name)
				break
			}
			if bad {
				refused++
			}
		}
		if (refused > 0) == f.good {
			t.Errorf("%s: %d are refused", f.name, refused)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	differ, refused := 0, 0
	for range objectMutants {
		c := clone(objects[random.IntN(len(objects))])
		what := disturb(random, c)
		agree, bad := same(what, c)
		if !agree {
			differ++
		}
		if bad {
			refused++
		}
	}
	t.Logf("%d random objects, %d refused, %d with another verdict", objectMutants, refused, differ)
	if float64(differ) > (1-sameVerdict)*float64(objectMutants) {
		t.Errorf("%d of %d random objects get another verdict", differ, objectMutants)
	}
	if refused < objectMutants/20 {
		t.Errorf("only %d of %d random objects are refused", refused, objectMutants)
	}
}

// coreSamples are the objects of the corpus's components whose kind is validated, once
// each, and those of kinds that are rare there: as often as others, for the random changes.
func coreSamples(t *testing.T) []object {
	t.Helper()
	out := samples(t, func(m object, text string) bool {
		return validated[fmt.Sprint(m["apiVersion"], " ", m["kind"])] != nil
	})
	data := given.Read(t, "testdata/rare.yaml")
	var rare []object
	for _, o := range manifest.New(repo.BytesArtifact("rare.yaml", nil), layouts.Components, data).Objects() {
		m, _ := o.Doc.Root.Value().(object)
		rare = append(rare, m)
	}
	return append(out, slices.Repeat(rare, 1+len(out)/len(rare))...)
}

// rows are those of testdata/rows.yaml. A path that does not begin at the top is one in
// the pod, and a number in it the place in a list.
func rows(t *testing.T) (out []objectFault) {
	t.Helper()
	data, err := os.ReadFile("testdata/rows.yaml")
	var tables map[string][]object
	if err == nil {
		err = yaml.Unmarshal(data, &tables)
	}
	given.NoError(t, err)
	for _, title := range slices.Sorted(maps.Keys(tables)) {
		kind, verdict, _ := strings.Cut(title, " ")
		for _, row := range tables[title] {
			data, _ := json.Marshal(row)
			out = append(out, objectFault{string(data), kind, verdict == "legal", func(m object) bool {
				for _, path := range keys(row) {
					value := clone(row)[path]
					switch steps := strings.Split(path, "."); {
					case steps[0] == "spec" || steps[0] == "metadata" || m[path] != nil:
						set(value, steps...)(m)
					default:
						pod, _ := at(m, "spec", "template", "spec").(object)
						if job := at(m, "spec", "jobTemplate", "spec", "template", "spec"); job != nil {
							pod = job.(object)
						}
						if name, ok := strings.CutPrefix(path, "containers 0 "); ok {
							pod, path = pod["containers"].([]any)[0].(object), name
						}
						pod[path] = value
					}
				}
				return true
			}})
		}
	}
	return out
}

func at(m object, path ...string) any {
	var v any = m
	for _, name := range path {
		in, _ := v.(object)
		v = in[name]
	}
	return v
}

// definitions are the smaller CRDs of the corpus.
func definitions(t *testing.T) []object {
	t.Helper()
	return samples(t, func(m object, text string) bool { return m["kind"] == "CustomResourceDefinition" && len(text) < 20<<10 })
}

func samples(t *testing.T, wanted func(m object, text string) bool) []object {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(share.Corpus(t, "releases"), "*", "*", "*components*.yaml"))
	if len(files) == 0 {
		t.Fatal("the corpus has no components")
	}
	var out []object
	seen := map[string]bool{}
	for _, name := range files {
		data := given.Read(t, name)
		file := manifest.New(repo.BytesArtifact(name, nil), layouts.Components, data)
		for _, o := range file.Objects() {
			m, _ := o.Doc.Root.Value().(object)
			data, _ := json.Marshal(m)
			if text := string(data); !seen[text] && !strings.Contains(text, "${") && wanted(m, text) {
				seen[text] = true
				out = append(out, m)
			}
		}
	}
	t.Logf("%d objects", len(out))
	return out
}

// disturb changes one random place of an object, and says which.
func disturb(r *rand.Rand, m object) string {
	type place struct {
		path  string
		set   func(any)
		value any
		drop  func()
	}
	var places []place
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case object:
			for _, k := range keys(v) {
				if path == "" && (k == "kind" || k == "apiVersion" || k == "metadata") {
					continue
				}
				at := path + "." + k
				places = append(places, place{at, func(n any) { v[k] = n }, v[k], func() { delete(v, k) }})
				walk(at, v[k])
			}
		case []any:
			for i := range v {
				at := fmt.Sprint(path, "[", i, "]")
				places = append(places, place{at, func(n any) { v[i] = n }, v[i], func() { v[i] = v[r.IntN(len(v))] }})
				walk(at, v[i])
			}
		}
	}
	walk("", m)
	if len(places) == 0 {
		return "nothing"
	}
	p := places[r.IntN(len(places))]
	if r.IntN(8) == 0 {
		p.set(nil)
		return "null at " + p.path
	}
	switch v := p.value.(type) {
	case string:
		words := []any{"", "*", "a", "A b", "Always", "-a", "a/b/c", "70000", "None", "10%", v + "x"}
		p.set(words[r.IntN(len(words))])
	case float64, int64, int:
		numbers := []any{0, -1, 1, 70000, 1 << 31}
		p.set(numbers[r.IntN(len(numbers))])
	case bool:
		p.set(!v)
	case []any:
		switch {
		case r.IntN(2) == 0 || len(v) == 0:
			p.set([]any{})
		default:
			p.set(append(slices.Clone(v), v[r.IntN(len(v))]))
		}
	default:
		p.drop()
		return "without " + p.path
	}
	return fmt.Sprint("changed ", p.path)
}

type object = map[string]any

func clone(m object) object {
	data, _ := json.Marshal(m)
	var out object
	_ = json.Unmarshal(data, &out)
	return out
}

func keys(m object) []string { return slices.Sorted(maps.Keys(m)) }
