package oracle

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
	"github.com/clusterctl-repo/clusterctl-repo/repo/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/rules"
)

// TestObjects compares what lint says about the objects of real templates with
// the code of the API server, given the definitions of the same release.
func TestObjects(t *testing.T) {
	t.Parallel()
	root, missing := corpus()
	if missing != "" {
		t.Skip(missing)
	}
	var checked, refused, samples atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d objects, %d refused, %d of them because of a sample", checked.Load(), refused.Load(), samples.Load())
	})
	for _, label := range files(t, root) {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			r, err := folder.Open(background, filepath.Join(root, label))
			if err != nil {
				t.Fatal(err)
			}
			// What lint says, by file and line of the object.
			said := map[string][]string{}
			var objects []*manifest.Object
			var view *lint.Release
			collect := &lint.Rule{ID: "TEST001", Scope: lint.ScopeRelease, Check: func(p *lint.Pass) {
				view = p.Release
				for _, f := range p.Release.Files {
					if f.Kind == layouts.ClusterTemplate || f.Kind == layouts.ClusterClass {
						objects = append(objects, f.Objects()...)
					}
				}
			}}
			checks := []*lint.Rule{collect, rules.ByID("TPL015")}
			if r := rules.ByID("CC007"); r != nil {
				checks = append(checks, r)
			}
			report, err := lint.Run(background, r, lint.Options{Rules: checks})
			if err != nil {
				t.Fatal(err)
			}
			key := func(file, object string) string { return file + " " + object }
			for _, f := range report.Findings {
				said[key(f.File, f.Object)] = append(said[key(f.File, f.Object)], f.Message)
			}
			for _, o := range objects {
				faults, ok := received(t, view, o)
				if !ok {
					continue
				}
				checked.Add(1)
				got := said[key(o.File.Raw.Name, lint.ObjectName(o.Doc))]
				switch {
				case len(faults) == 0 && len(got) > 0:
					t.Errorf("%s: %s: the API server accepts it; lint says %q", o.File.Raw.Name, lint.ObjectName(o.Doc), got)
				case len(faults) > 0 && len(got) == 0 && !fromVariables(o):
					t.Errorf("%s: %s: the API server refuses it, lint does not: %q", o.File.Raw.Name, lint.ObjectName(o.Doc), faults)
				case len(faults) > 0 && len(got) == 0:
					samples.Add(1)
				}
				if len(faults) > 0 {
					refused.Add(1)
				}
			}
		})
	}
}

// fromVariables reports whether a value in the spec of an object is a sample.
func fromVariables(o *manifest.Object) bool {
	found := false
	o.Get("spec").Walk(func(_ doc.Path, n *doc.Node) bool {
		_, ok := o.File.Variable(o.Doc, n)
		found = found || ok
		return !found
	})
	return found
}

// received does what the API server does with a new object, short of rules in CEL
// and of webhooks. It is not ok if the release does not define the kind.
func received(t testing.TB, r *lint.Release, o *manifest.Object) (faults []string, ok bool) {
	t.Helper()
	c := r.CRD(o.Group, o.Kind)
	if c == nil || c.Version(o.Version) == nil {
		return nil, false
	}
	data, err := json.Marshal(c.Version(o.Version).Schema.Node.Value())
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(data, &v1); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(o.Doc.Root.Value())
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	integers(object)
	for _, path := range pruning.PruneWithOptions(object, structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		if strings.HasPrefix(path, "spec.") {
			faults = append(faults, fmt.Sprintf("unknown field %s", path))
		}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, structural)
	defaulting.Default(object, structural)
	for _, err := range validation.ValidateCustomResource(nil, object, validator) {
		if err.Type == field.ErrorTypeRequired && hasWebhook(r, c) {
			continue // which may add the field
		}
		faults = append(faults, err.Error())
	}
	for _, err := range listtype.ValidateListSetsAndMaps(nil, structural, object) {
		faults = append(faults, err.Error())
	}
	return faults, true
}

// hasWebhook reports whether a webhook may change new objects of a kind.
func hasWebhook(r *lint.Release, c *crd.CRD) bool {
	for _, o := range r.Installed().Kind("admissionregistration.k8s.io", "MutatingWebhookConfiguration") {
		found := false
		o.Get("webhooks").Walk(func(_ doc.Path, n *doc.Node) bool {
			found = found || n.Str() == c.Plural
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// integers turns whole numbers into integers, as the decoder of the API server
// does.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = integers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}
