package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/apply"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// part is a file of a release that becomes objects.
type part struct {
	file     *yamldoc.File
	kind     layouts.FileKind
	provider layouts.Provider
	// required are the variables without a default that clusterctl does not
	// set itself.
	required []string
}

// parts lists what a user of a release applies, in this order: the components, the
// classes, the templates.
func parts(t *testing.T, r *repo.Release) []part {
	t.Helper()
	var out []part
	kind := r.Kinds()
	for _, a := range r.Artifacts {
		k := kind(a)
		if k != layouts.Components && k != layouts.ClusterClass && k != layouts.ClusterTemplate {
			continue
		}
		if k == layouts.Components && a != r.Components() {
			continue
		}
		data := given.Value(a.Bytes())(t)
		p := part{file: yamldoc.NewFile(a.Path, data), kind: k, provider: r.Provider}
		view := manifest.New(a, k, data)
		if template, err := vars.Parse(data); err == nil {
			for _, v := range template.Variables() {
				if v.Default == nil && !view.IsOption(v.Name) {
					p.required = append(p.required, v.Name)
				}
			}
		}
		out = append(out, p)
	}
	order := map[layouts.FileKind]int{layouts.Components: 0, layouts.ClusterClass: 1, layouts.ClusterTemplate: 2}
	slices.SortStableFunc(out, func(a, b part) int { return cmp.Compare(order[a.kind], order[b.kind]) })
	return out
}

// render makes the objects that clusterctl makes. A class is rendered by itself,
// as `generate cluster --from` does.
func (p part) render(v values) ([]unstructured.Unstructured, error) {
	if p.kind == layouts.Components {
		c, err := clusterctl.RenderProvider(context.Background(), clusterctl.ProviderInput{Provider: p.provider, File: p.file, Variables: v.Get})
		if err != nil {
			return nil, err
		}
		return c.Objects, nil
	}
	one := int64(1)
	c, err := clusterctl.RenderCluster(context.Background(), clusterctl.ClusterInput{
		Provider: p.provider, Template: p.file, Variables: v.Get,
		Name: manifest.Sample("CLUSTER_NAME"), Namespace: manifest.Sample("NAMESPACE"), WorkerMachineCount: &one,
	})
	if err != nil {
		return nil, err
	}
	return c.Objects, nil
}

// by is who sends the objects to the server.
func (p part) by() apply.By {
	if p.kind == layouts.Components {
		return apply.Clusterctl
	}
	return apply.Kubectl
}

func (p part) String() string {
	return filepath.Join(p.provider.Label(), filepath.Base(filepath.Dir(p.file.Name)), filepath.Base(p.file.Name))
}

// refusal is an object that the server does not take.
type refusal struct {
	object unstructured.Unstructured
	index  int // in the rendered part
	err    error
	// known is false if there is no definition of the kind, which may well
	// belong to another provider.
	known bool
	// open is set if it is only for lack of fields that a webhook of the
	// provider may add.
	open bool
}

func (r refusal) String() string { return fmt.Sprintf("%s: %v", nameOf(&r.object), r.err) }

// nameOf names an object as findings do, but without the namespace.
func nameOf(o *unstructured.Unstructured) string {
	return strings.TrimSpace(o.GetKind() + " " + o.GetName())
}

// send applies objects one after the other and returns which are refused.
func send(t *testing.T, s *apply.Session, objs []unstructured.Unstructured, by apply.By) []refusal {
	t.Helper()
	var out []refusal
	for i := range objs {
		if err := s.Create(t.Context(), &objs[i], by); err != nil {
			gvk := objs[i].GroupVersionKind()
			out = append(out, refusal{objs[i], i, err, s.Knows(gvk.GroupKind()), onlyMissing(err) && s.Changes(t.Context(), gvk)})
		}
	}
	return out
}

// onlyMissing reports whether nothing is wrong but that fields are missing.
func onlyMissing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	missing := false
	for _, cause := range status.Status().Details.Causes {
		switch {
		case cause.Type == metav1.CauseTypeFieldValueRequired:
			missing = true
		case !strings.Contains(cause.Message, "some validation rules were not checked"): // not a cause, but an effect
			return false
		}
	}
	return missing
}

// values are variables by name.
type values map[string]string

func (v values) Get(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

// plausible gives required variables a value of the type that their names speak
// of, or the sample that findings are made with.
func plausible(required []string) values {
	v := values{}
	for _, name := range required {
		v[name] = plausibleValue(name)
	}
	return v
}

func plausibleValue(name string) string {
	for _, row := range []struct{ pattern, value string }{
		{`(^|_)(B64|BASE64)|B64ENCODED`, "c2FtcGxl"},
		{`(^|_)(COUNT|REPLICAS|PORT|SIZE|MIN|MAX|NUM|MTU|VLAN|CPUS?|CORES|SOCKETS|GIB|GB|MB)(_|$)|_DISK_SIZE|_SIZEGIB`, "1"},
		{`_ID$`, "6f1c2b3a-0d4e-4f5a-8b6c-7d8e9f0a1b2c"},
		{`CIDR`, "10.0.0.0/24"},
		{`(^|_)(IP|ADDRESS|HOST|ENDPOINT)$`, "10.0.0.1"},
		{`VERSION$`, "v1.34.0"},
		{`^(EXP_|ENABLE_)|_(ENABLED?|INSECURE)$`, "true"},
	} {
		if regexp.MustCompile(row.pattern).MatchString(name) {
			return row.value
		}
	}
	return manifest.Sample(name)
}

// same gives all variables one value.
func same(value string, required []string) values {
	v := values{}
	for _, name := range required {
		v[name] = value
	}
	return v
}
