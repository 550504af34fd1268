package oracle

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestObjects compares what lint says about the objects of real templates with
// the code of the API server, given the definitions of the same release.
func TestObjects(t *testing.T) {
	t.Parallel()
	root := share.Corpus(t, "releases")
	var checked, refused, samples atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d objects, %d refused, %d of them because of a sample", checked.Load(), refused.Load(), samples.Load())
	})
	for _, label := range files(t, root) {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			r := given.Value(folder.Open(background, filepath.Join(root, label)))(t)
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
			report, err := lint.Run(background, r, lint.Options{Rules: []*lint.Rule{collect, rules.ByID("TPL015"), rules.ByID("CC007")}})
			given.NoError(t, err)
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
	o.Get("spec").Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
		_, ok := o.File.Variable(o.Doc, n)
		found = found || ok
		return !found
	})
	return found
}

// received does what the API server does with a new object, short of webhooks. It
// is not ok if the release does not define the kind.
func received(t testing.TB, r *lint.Release, o *manifest.Object) (faults []string, ok bool) {
	t.Helper()
	c := r.CRD(o.Group, o.Kind)
	if c == nil || c.Version(o.Version) == nil {
		return nil, false
	}
	data := given.Value(json.Marshal(c.Object.Doc.Root.Value()))(t)
	s := &server{map[string]*kind{}}
	given.NoError(t, s.define(data))
	err := s.create(o.Doc.Root.Value().(map[string]any))
	var all utilerrors.Aggregate
	if !errors.As(err, &all) {
		if err != nil {
			faults = append(faults, err.Error())
		}
		return faults, true
	}
	for _, err := range all.Errors() {
		switch text := err.Error(); {
		case strings.Contains(text, ": Required value") && hasWebhook(r, c): // which may add the field
		case beyondSchema.MatchString(text):
		default:
			faults = append(faults, text)
		}
	}
	return faults, true
}

// hasWebhook reports whether a webhook may change new objects of a kind.
func hasWebhook(r *lint.Release, c *crd.CRD) bool {
	for _, o := range r.Installed().Kind("admissionregistration.k8s.io", "MutatingWebhookConfiguration") {
		found := false
		o.Get("webhooks").Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
			found = found || n.Str() == c.Plural
			return !found
		})
		if found {
			return true
		}
	}
	return false
}
