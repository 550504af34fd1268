package extension_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// jsonFields returns the types of the fields of a struct by their JSON names.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = f.Type
		}
	}
	return out
}

// same compares how two types are decoded. What ours keeps as raw text is left out.
func same(t *testing.T, path string, ours, real reflect.Type) {
	t.Helper()
	if ours.Kind() == reflect.Slice && ours.Elem().String() == "json.RawMessage" {
		return
	}
	if ours.Kind() != real.Kind() {
		t.Errorf("%s is %s instead of %s", path, ours, real)
		return
	}
	switch ours.Kind() {
	case reflect.Pointer, reflect.Slice:
		same(t, path, ours.Elem(), real.Elem())
	case reflect.Struct:
		a, b := jsonFields(ours), jsonFields(real)
		for name := range b {
			if a[name] == nil {
				t.Errorf("%s has no field %s", path, name)
				continue
			}
			same(t, path+"."+name, a[name], b[name])
		}
		for name := range a {
			if b[name] == nil {
				t.Errorf("%s has a field %s too many", path, name)
			}
		}
	}
}

// TestHooksAreThoseOfTheCatalog compares the table with the catalog that Cluster
// API registers its hooks in.
func TestHooksAreThoseOfTheCatalog(t *testing.T) {
	c := catalog.New()
	given.NoError(t, hooksv1.AddToCatalog(c))
	real := c.AllKnownHooks()
	hooks := extension.Hooks(contract.NewestCore)
	if len(hooks) != len(real) {
		t.Errorf("%d hooks instead of %d", len(hooks), len(real))
	}
	for gvh, descriptor := range real {
		h := extension.Find(gvh.Hook)
		if h == nil || gvh.Group != extension.Group || gvh.Version != extension.Version {
			t.Errorf("there is no %s", gvh)
			continue
		}
		for _, name := range []string{"", "Some-Handler"} {
			if got, want := h.Path(name), catalog.GVHToPath(gvh, name); got != want {
				t.Errorf("path %s instead of %s", got, want)
			}
		}
		if h.IsDiscovery() != descriptor.Metadata.Singleton {
			t.Errorf("%s: a hook without a handler: %t", h.Name, h.IsDiscovery())
		}
		if descriptor.Request.Kind != h.Name+"Request" || descriptor.Response.Kind != h.Name+"Response" {
			t.Errorf("%s: kinds are %s and %s", h.Name, descriptor.Request.Kind, descriptor.Response.Kind)
		}
		request, _ := c.NewRequest(gvh)
		response, _ := c.NewResponse(gvh)
		if _, retry := response.(hooksv1.RetryResponseObject); retry != h.Retry {
			t.Errorf("%s: answers have retryAfterSeconds: %t", h.Name, retry)
		}
		if h.Retry != (h.BlocksSince > 0) || h.BlocksSince > contract.NewestCore {
			t.Errorf("%s: waits since %d", h.Name, h.BlocksSince)
		}
		listed(t, h.Name+"Request", h.Request, reflect.TypeOf(request).Elem(), "apiVersion", "kind", "settings")
		listed(t, h.Name+"Response", h.Response, reflect.TypeOf(response).Elem(), "apiVersion", "kind", "status", "message")
		ours := given.Value(h.Decode([]byte("{}")))(t)
		same(t, h.Name+"Response", reflect.TypeOf(ours).Elem(), reflect.TypeOf(response).Elem())
	}
}

// listed compares the listed fields with those of a type.
func listed(t *testing.T, name string, list []extension.Field, real reflect.Type, common ...string) {
	t.Helper()
	fields := jsonFields(real)
	for _, c := range common {
		delete(fields, c)
	}
	for _, f := range list {
		if fields[f.Name] == nil {
			t.Errorf("%s has no field %s", name, f.Name)
		}
		delete(fields, f.Name)
	}
	for f := range fields {
		t.Errorf("%s: field %s is not listed", name, f)
	}
}

func TestProfiles(t *testing.T) {
	for core, want := range map[int]int{11: 10, 12: 17, 13: 17, 14: 17} {
		if got := len(extension.Hooks(core)); got != want {
			t.Errorf("v1.%d: %d hooks instead of %d", core, got, want)
		}
	}
	if extension.CoreVersion(12) != contract.V1Beta1 || extension.CoreVersion(13) != contract.V1Beta2 {
		t.Error("the version of clusters in requests")
	}
	if h := extension.Find("AfterClusterUpgrade"); h.Blocks(11) || !h.Blocks(12) {
		t.Error("AfterClusterUpgrade blocks since v1.12")
	}
	if extension.Find("beforeClusterCreate") != nil {
		t.Error("the case of a name does not count")
	}
	for _, name := range extension.Levels() {
		if l, ok := extension.ParseLevel(name); !ok || l.String() != name {
			t.Errorf("level %s", name)
		}
	}
}

func TestDecode(t *testing.T) {
	h := extension.Find("BeforeClusterCreate")
	for body, want := range map[string]string{
		`{"status":"Success","retryAfterSeconds":5}`:   "",
		`{"STATUS":"Success","retryafterseconds":5} x`: "",
		`{"status":"Success","retryAfterSeconds":"5"}`: "retryAfterSeconds is a string",
		`{"status":7}`: "status is a number",
		`[]`:           "JSON array instead of an object",
		`<html>`:       "not JSON",
		``:             "not JSON",
	} {
		_, err := h.Decode([]byte(body))
		if got := ""; err != nil {
			if got = extension.Explain(err); want == "" || !strings.Contains(got, want) {
				t.Errorf("%s: %s instead of %q", body, got, want)
			}
		} else if want != "" {
			t.Errorf("%s: accepted", body)
		}
	}
}

func TestUnknownFields(t *testing.T) {
	for _, tc := range []struct{ hook, body, want string }{
		{"Discovery", `{"status":"Success","handlers":[{"name":"a","requestHook":{"apiVersion":"x","hook":"y"}}]}`, ""},
		{"Discovery", `{"handlers":[{"name":"a"},{"nam":"b"}]}`, "handlers[1].nam"},
		{"Discovery", `{"handlers":[{"requestHook":{"name":"b"}}]}`, "handlers[0].requestHook.name"},
		{"GeneratePatches", `{"items":[{"uid":"1","patchType":"JSONPatch","patch":""}]}`, ""},
		{"GeneratePatches", `{"items":[{"Uid":"1"}]}`, "items[0].Uid"},
		{"CanUpdateMachine", `{"machinePatch":{"patchtype":"x"}}`, "machinePatch.patchtype"},
		{"DiscoverVariables", `{"variables":[{"anything":1}]}`, ""},
		{"ValidateTopology", `{"retryAfterSeconds":1}`, ""},
		{"ValidateTopology", `{"statuses":1}`, "statuses"},
		{"ValidateTopology", `[]`, ""},
	} {
		if got := extension.Find(tc.hook).UnknownField([]byte(tc.body)); got != tc.want {
			t.Errorf("%s %s: %q instead of %q", tc.hook, tc.body, got, tc.want)
		}
	}
}

func TestDiscoveryProblems(t *testing.T) {
	const good = `{"name":"a","requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"BeforeClusterCreate"}}`
	change := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, tc := range map[string]struct {
		handlers string
		core     int
		want     []extension.Fault
	}{
		"good":           {good, 14, nil},
		"none":           {"", 14, nil},
		"twice":          {good + "," + good, 14, []extension.Fault{extension.DuplicateName}},
		"upper case":     {change(`"a"`, `"A_b"`), 14, []extension.Fault{extension.BadName}},
		"too long":       {change(`"a"`, `"`+strings.Repeat("a", 64)+`"`), 14, []extension.Fault{extension.BadName}},
		"timeout of 31":  {change(`"name"`, `"timeoutSeconds":31,"name"`), 14, []extension.Fault{extension.BadTimeout}},
		"timeout of -1":  {change(`"name"`, `"timeoutSeconds":-1,"name"`), 14, []extension.Fault{extension.BadTimeout}},
		"timeout of 0":   {change(`"name"`, `"timeoutSeconds":0,"name"`), 14, nil},
		"policy":         {change(`"name"`, `"failurePolicy":"ignore","name"`), 14, []extension.Fault{extension.BadPolicy}},
		"empty policy":   {change(`"name"`, `"failurePolicy":"","name"`), 14, []extension.Fault{extension.BadPolicy}},
		"version":        {change("v1alpha1", "v1alpha2"), 14, []extension.Fault{extension.BadVersion}},
		"hook":           {change("BeforeCluster", "beforeCluster"), 14, []extension.Fault{extension.UnknownHook}},
		"hook of v1.12":  {change("BeforeClusterCreate", "UpdateMachine"), 11, []extension.Fault{extension.UnknownHook}},
		"several faults": {change(`"a"`, `""`) + "," + change("Before", "After"), 14, []extension.Fault{extension.BadName, extension.UnknownHook}},
	} {
		r, err := extension.Find("Discovery").Decode([]byte(`{"status":"Success","handlers":[` + tc.handlers + `]}`))
		given.NoError(t, err)
		var got []extension.Fault
		for _, p := range r.(*extension.DiscoveryResponse).Problems(tc.core) {
			got = append(got, p.Fault)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v instead of %v", name, got, tc.want)
		}
	}
}

func TestPlans(t *testing.T) {
	up := extension.Upgrade{ControlPlane: "v1.30.0", Workers: "v1.30.0", To: "v1.33.1"}
	for name, tc := range map[string]struct {
		upgrade       extension.Upgrade
		plan, workers string
		want          string
	}{
		"step by step":       {up, "v1.31.0 v1.32.0 v1.33.1", "", ""},
		"with workers":       {up, "v1.31.0 v1.32.0 v1.33.1", "v1.32.0 v1.33.1", ""},
		"leaves one out":     {up, "v1.31.0 v1.33.1", "", "skips minor versions"},
		"goes back":          {up, "v1.31.0 v1.30.5 v1.33.1", "", "not greater"},
		"ends early":         {up, "v1.31.0 v1.32.0", "", "ends with"},
		"nothing":            {up, "", "", "ends with"},
		"no version":         {up, "latest", "", "version"},
		"others for workers": {up, "v1.31.0 v1.32.0 v1.33.1", "v1.32.5 v1.33.1", "is not one of the control plane's"},
		"workers end early":  {up, "v1.31.0 v1.32.0 v1.33.1", "v1.32.0", "ends with"},
		"already there":      {extension.Upgrade{ControlPlane: "v1.33.1", To: "v1.33.1"}, "", "", ""},
		"no need":            {extension.Upgrade{ControlPlane: "v1.33.1", To: "v1.33.1"}, "v1.33.1", "", "already"},
		"far workers":        {extension.Upgrade{ControlPlane: "v1.29.0", Workers: "v1.29.0", To: "v1.33.0"}, "v1.30.0 v1.31.0 v1.32.0 v1.33.0", "v1.33.0", "more than 3"},
		"far, left to core":  {extension.Upgrade{ControlPlane: "v1.29.0", Workers: "v1.29.0", To: "v1.33.0"}, "v1.30.0 v1.31.0 v1.32.0 v1.33.0", "", ""},
	} {
		steps := func(list string) (out []extension.Step) {
			for _, v := range strings.Fields(list) {
				out = append(out, extension.Step{Version: v})
			}
			return out
		}
		err := tc.upgrade.Check(&extension.PlanResponse{ControlPlaneUpgrades: steps(tc.plan), WorkersUpgrades: steps(tc.workers)})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v instead of %q", name, err, tc.want)
		}
	}
}

func TestPatches(t *testing.T) {
	const before = `{"kind":"A","spec":{"template":{"spec":{"replicas":1,"a":"b"}}}}`
	for name, tc := range map[string]struct{ kind, patch, want string }{
		"add":           {extension.JSONPatch, `[{"op":"add","path":"/spec/template/spec/c","value":1}]`, "spec.template.spec.c"},
		"merge":         {extension.JSONMergePatch, `{"metadata":{"labels":{"x":"y"}}}`, "metadata"},
		"nothing":       {extension.JSONPatch, ` [] `, ""},
		"empty objects": {extension.JSONPatch, `[{"op":"add","path":"/metadata","value":{}},{"op":"add","path":"/status","value":{"x":[]}}]`, ""},
		"missing path":  {extension.JSONPatch, `[{"op":"replace","path":"/spec/none","value":1}]`, "error"},
		"no object":     {extension.JSONMergePatch, `null`, "error"},
		"no kind":       {extension.JSONMergePatch, `{"kind":null}`, "error"},
		"unknown type":  {"Patch", `{"a":1}`, "error"},
		"copies":        {extension.JSONPatch, doubling(60), "error"},
		"no list":       {extension.JSONPatch, `{"op":"add"}`, "error"},
	} {
		p := extension.Patch{PatchType: tc.kind, Patch: []byte(tc.patch)}
		got := ""
		after, err := p.Apply([]byte(before))
		if err != nil {
			got = "error"
		} else {
			changed := given.Value(extension.Changed([]byte(before), after))(t)
			if len(changed) > 0 {
				got = strings.Join(changed[0], ".")
			}
		}
		if got != tc.want && !(tc.want != "" && strings.HasPrefix(got, tc.want)) {
			t.Errorf("%s: %q instead of %q", name, got, tc.want)
		}
	}
	path := func(s string) []string { return strings.Split(s, ".") }
	if !extension.Restored(path("spec.template.spec.replicas")) || extension.Restored(path("spec.template.spec.replicasX")) || extension.Restored(path("spec.template.spec.kubeadmConfigSpec")) {
		t.Error("what of a control plane is restored")
	}
}

// doubling is a patch that copies all there is into itself, again and again.
func doubling(times int) string {
	var operations []string
	for i := range times {
		operations = append(operations, fmt.Sprintf(`{"op":"copy","from":"/spec","path":"/spec/a%d"}`, i))
	}
	return "[" + strings.Join(operations, ",") + "]"
}

func FuzzApply(f *testing.F) {
	f.Add("JSONPatch", `[{"op":"copy","from":"/spec","path":"/spec/a"}]`, `{"spec":{}}`)
	f.Add("JSONPatch", `[{"op":"move","from":"/spec"},null,{"op":null,"path":null}]`, `{"spec":[]}`)
	f.Add("JSONMergePatch", `{"a":null}`, `[1]`)
	f.Fuzz(func(_ *testing.T, kind, patch, object string) {
		p := extension.Patch{PatchType: kind, Patch: []byte(patch)}
		_ = p.Malformed()
		if after, err := p.Apply([]byte(object)); err == nil {
			_, _ = extension.Changed([]byte(object), after)
		}
	})
}
