package clusterctl

//lint:file-ignore SA1019 clusterctl v1.14 converts through v1beta1, so rendering does

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// ClusterInput is what `clusterctl generate cluster` works on, without a
// management cluster.
type ClusterInput struct {
	// Provider is named in messages.
	Provider layouts.Provider
	Template *yamldoc.File
	// Class opens the file of a ClusterClass of the same release. If it is nil,
	// classes are not looked for, as with --from.
	Class func(name string) (*yamldoc.File, error)
	// Name is the name of the cluster, a DNS-1123 subdomain.
	Name string
	// Namespace takes all objects; a DNS-1123 label.
	Namespace string
	// KubernetesVersion is a semantic version, or empty to take the variable.
	KubernetesVersion string
	// The counts are nil to take the variable, or else 1 and 0.
	ControlPlaneMachineCount, WorkerMachineCount *int64
	Variables                                    variables
	// ListVariablesOnly stops before the variables are replaced.
	ListVariablesOnly bool
}

// Template is a rendered cluster template, with the ClusterClasses it uses in
// front.
type Template struct {
	// Variables are sorted by name. Those of ClusterClasses are only known
	// after rendering.
	Variables []vars.Variable
	// Objects is empty if only the variables were asked for.
	Objects []unstructured.Unstructured

	sources []object // of Objects
}

// YAML returns what `clusterctl generate cluster` prints.
func (t *Template) YAML() ([]byte, error) { return marshal(t.sources) }

// Manifests are the objects with their places in the file, as they are before clusterctl
// changes them, but for the namespace.
func (t *Template) Manifests() (out []*manifest.Object, err error) {
	for i := range t.sources {
		o := &t.sources[i]
		d := o.src.document(o.start)
		if d == nil || d.Root == nil { // only clusterctl's parser reads it
			text, err := yamldoc.Marshal(o.Object)
			if err != nil {
				return nil, o.fail(err)
			}
			d = yamldoc.Parse(yamldoc.NewFile(o.src.file.Name, text)).Docs[0]
		}
		gvk := o.GroupVersionKind()
		out = append(out, &manifest.Object{Doc: d, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return out, nil
}

// RenderCluster turns a cluster template into the objects of a cluster
// (clusterctl: client/config.go, GetClusterTemplate, and
// client/repository/template.go, NewTemplate). Errors carry clusterctl's message
// and, where one object or expression is to blame, are a *doc.Error with its
// place. Errors of Class are wrapped.
func RenderCluster(ctx context.Context, in ClusterInput) (*Template, error) {
	values, err := in.options()
	if err != nil {
		return nil, err
	}
	t, objs, err := render(ctx, in.Template, values, in.Namespace, in.ListVariablesOnly)
	if err != nil || in.Class == nil {
		return t, err
	}
	refs, err := classes(objs)
	if err != nil || len(refs) == 0 {
		return t, err
	}
	var parts []*Template
	for _, ref := range refs {
		part, err := in.class(ctx, ref, values)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return merge(append(parts, t)), nil
}

func render(ctx context.Context, f *yamldoc.File, values variables, namespace string, variablesOnly bool) (*Template, []object, error) {
	template, err := variablesOf(f)
	if err != nil {
		return nil, nil, err
	}
	t := &Template{Variables: template.Variables()}
	if variablesOnly {
		return t, nil, nil
	}
	src, err := substitute(f, template, values)
	if err != nil {
		return nil, nil, err
	}
	objs, err := src.work(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := setNamespace(objs, namespace, "failed to set the TargetNamespace in the template"); err != nil {
		return nil, nil, err
	}
	t.Objects, t.sources = contents(objs), objs
	return t, objs, ctx.Err()
}

// options checks the options and puts them over the other variables (clusterctl:
// client/config.go, templateOptionsToVariables).
func (in *ClusterInput) options() (variables, error) {
	if errs := validation.IsDNS1123Label(in.Namespace); len(errs) > 0 {
		return nil, fmt.Errorf("invalid target-namespace: %s", strings.Join(errs, "; "))
	}
	if errs := validation.IsDNS1123Subdomain(in.Name); len(errs) > 0 {
		return nil, fmt.Errorf("invalid cluster name: %s", strings.Join(errs, "; "))
	}
	// Names are in lower case, as clusterctl does not tell case.
	values := map[string]string{"namespace": in.Namespace, "cluster_name": in.Name}
	if in.KubernetesVersion != "" {
		if _, err := version.ParseSemantic(in.KubernetesVersion); err != nil {
			return nil, errors.New("invalid KubernetesVersion. Please use a semantic version number")
		}
		values["kubernetes_version"] = in.KubernetesVersion
	}
	for _, count := range []struct {
		variable, words string
		option          *int64
		least           int64 // also the default
	}{
		{"CONTROL_PLANE_MACHINE_COUNT", "ControlPlaneMachineCount", in.ControlPlaneMachineCount, 1},
		{"WORKER_MACHINE_COUNT", "WorkerMachineCount", in.WorkerMachineCount, 0},
	} {
		n := count.least
		if count.option != nil {
			n = *count.option
		} else if text, ok := in.Variables(count.variable); ok {
			var err error
			if n, err = strconv.ParseInt(text, 10, 64); err != nil {
				return nil, fmt.Errorf("invalid value for %s set", count.variable)
			}
		}
		if n < count.least {
			return nil, fmt.Errorf("invalid %s. Please use a number greater than or equal to %d", count.words, count.least)
		}
		values[strings.ToLower(count.variable)] = strconv.FormatInt(n, 10)
	}
	return func(name string) (string, bool) {
		if v, ok := values[strings.ToLower(name)]; ok {
			return v, true
		}
		return in.Variables(name)
	}, nil
}

// classRef is the use of a ClusterClass by a Cluster.
type classRef struct {
	types.NamespacedName
	cluster *object
	path    []string // of the class name in the Cluster
}

// classes finds the ClusterClasses that are used, one for each use (clusterctl:
// client/clusterclass.go, clusterClassNamesFromTemplate).
func classes(objs []object) ([]classRef, error) {
	var refs []classRef
	for i := range objs {
		o := &objs[i]
		gvk := o.GroupVersionKind()
		if gvk.Group != clusterv1.GroupVersion.Group || gvk.Kind != "Cluster" {
			continue
		}
		switch gvk.Version {
		case clusterv1.GroupVersion.Version:
			c := &clusterv1.Cluster{}
			if err := toTyped(o, c); err != nil {
				return nil, o.fail(fmt.Errorf("failed to convert object to Cluster: %w", err))
			}
			if c.Spec.Topology.IsDefined() {
				refs = append(refs, classRef{c.GetClassKey(), o, []string{"spec", "topology", "classRef", "name"}})
			}
		case clusterv1beta1.GroupVersion.Version:
			c := &clusterv1beta1.Cluster{}
			if err := toTyped(o, c); err != nil {
				return nil, o.fail(fmt.Errorf("failed to convert object to Cluster: %w", err))
			}
			if c.Spec.Topology != nil {
				refs = append(refs, classRef{c.GetClassKey(), o, []string{"spec", "topology", "class"}})
			}
		}
	}
	return refs, nil
}

// class renders the file of a ClusterClass (clusterctl: client/clusterclass.go,
// fetchMissingClusterClassTemplates).
func (in *ClusterInput) class(ctx context.Context, ref classRef, values variables) (*Template, error) {
	what := fmt.Sprintf("failed to get the cluster class template for %q", ref.NamespacedName)
	f, err := in.Class(ref.Name)
	if err != nil {
		return nil, ref.cluster.fail(fmt.Errorf("%s: failed to read %q from provider's repository %q: %w",
			what, layouts.ClusterClassFile(ref.Name), in.Provider.Label(), err), ref.path...)
	}
	t, _, err := render(ctx, f, values, ref.Namespace, false)
	if err != nil {
		return nil, within(err, what)
	}
	return t, nil
}

// merge joins templates (clusterctl: client/repository/template.go,
// MergeTemplates): of two defaults for a variable the first counts.
func merge(parts []*Template) *Template {
	merged := &Template{}
	defaults := map[string]*string{}
	for _, t := range parts {
		for _, v := range t.Variables {
			if defaults[v.Name] == nil {
				defaults[v.Name] = v.Default
			}
		}
		merged.Objects, merged.sources = append(merged.Objects, t.Objects...), append(merged.sources, t.sources...)
	}
	for name, value := range defaults {
		merged.Variables = append(merged.Variables, vars.Variable{Name: name, Default: value})
	}
	slices.SortFunc(merged.Variables, func(a, b vars.Variable) int { return strings.Compare(a.Name, b.Name) })
	return merged
}
