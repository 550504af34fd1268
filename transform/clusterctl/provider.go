package clusterctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// labelClusterctl is on every object that clusterctl installs.
const labelClusterctl = "clusterctl.cluster.x-k8s.io"

// ProviderInput is what `clusterctl generate provider` works on.
type ProviderInput struct {
	Provider layouts.Provider
	// Version is shown by Describe; it does not change the objects.
	Version string
	// File holds the components.
	File *yamldoc.File
	// TargetNamespace replaces the namespace of the components; empty keeps it.
	TargetNamespace string
	// Raw leaves the variables as they are, as --raw and --describe do.
	Raw bool
	// Variables are not needed in raw mode.
	Variables Variables
	Images    Images
}

// Components is a rendered provider.
type Components struct {
	Provider        layouts.Provider
	Version         string
	TargetNamespace string
	// Variables are sorted by name.
	Variables []vars.Variable
	// Images are those of the Deployments and DaemonSets, in document order,
	// with overrides applied and repetitions kept.
	Images []string
	// Objects are in the order in which clusterctl prints and installs them.
	Objects []unstructured.Unstructured

	sources []object // of Objects
}

// YAML returns what `clusterctl generate provider` prints.
func (c *Components) YAML() ([]byte, error) { return marshal(c.Objects, c.sources) }

// RenderProvider turns a components file into the objects that clusterctl
// installs (clusterctl: client/repository/components.go, NewComponents): it
// replaces variables and images, moves everything to the target namespace,
// labels it and puts it in order. Errors carry clusterctl's message and, where
// one object or expression is to blame, are a *doc.Error with its place.
func RenderProvider(ctx context.Context, in ProviderInput) (*Components, error) {
	template, err := variablesOf(in.File)
	if err != nil {
		return nil, err
	}
	src := &source{file: in.File, text: in.File.Data}
	if !in.Raw {
		if src, err = substitute(in.File, template, in.Variables); err != nil {
			return nil, within(err, "failed to perform variable substitution")
		}
	}
	objs, err := src.objects(ctx)
	if err != nil {
		return nil, err
	}
	images, err := applyImages(objs, in.Provider.Label(), in.Images)
	if err != nil {
		return nil, err
	}
	target, err := targetNamespace(objs)
	if err != nil {
		return nil, err
	}
	if in.TargetNamespace != "" {
		target = in.TargetNamespace
	}
	if target == "" {
		return nil, &yamldoc.Error{File: in.File.Name, Err: errors.New("target namespace can't be defaulted. Please specify a target namespace")}
	}
	objs = withNamespace(objs, target)
	if err := setNamespace(objs, target, "failed to set the TargetNamespace on the components"); err != nil {
		return nil, err
	}
	addLabels(objs, in.Provider)
	order(objs)
	return &Components{
		Provider: in.Provider, Version: in.Version, TargetNamespace: target,
		Variables: template.Variables(), Images: images, Objects: contents(objs), sources: objs,
	}, ctx.Err()
}

// within puts words in front of a message, after its position.
func within(err error, words string) error {
	var at *yamldoc.Error
	if errors.As(err, &at) {
		return &yamldoc.Error{File: at.File, Pos: at.Pos, Err: fmt.Errorf("%s: %w", words, at.Err)}
	}
	return fmt.Errorf("%s: %w", words, err)
}

// targetNamespace returns the name of the one Namespace, or "".
func targetNamespace(objs []object) (string, error) {
	name := ""
	for i := range objs {
		if objs[i].GetKind() != "Namespace" {
			continue
		}
		if name != "" {
			return "", objs[i].fail(errors.New("failed to detect default target namespace: Invalid manifest. There should be no more than one resource with Kind Namespace in the provider components yaml"))
		}
		name = objs[i].GetName()
	}
	return name, nil
}

// withNamespace adds the Namespace if there is none.
func withNamespace(objs []object, name string) []object {
	for i := range objs {
		if objs[i].GetKind() == "Namespace" {
			return objs
		}
	}
	return append(objs, object{Unstructured: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata":   map[string]any{"name": name},
	}}})
}

func addLabels(objs []object, p layouts.Provider) {
	for i := range objs {
		labels := objs[i].GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[labelClusterctl] = ""
		labels[layouts.ProviderLabel] = p.Label()
		objs[i].SetLabels(labels)
	}
}

// order puts the Namespace first and cert-manager's objects second. The
// comparison is not an order of the latter: it reverses them. Only the same
// algorithm gives the same result, so this must stay sort.SliceStable.
func order(objs []object) {
	sort.SliceStable(objs, func(i, j int) bool {
		if objs[i].GetKind() == "Namespace" {
			return true
		}
		if objs[j].GetKind() == "Namespace" {
			return false
		}
		return objs[i].GroupVersionKind().Group == "cert-manager.io"
	})
}

func contents(objs []object) []unstructured.Unstructured {
	out := make([]unstructured.Unstructured, len(objs))
	for i := range objs {
		out[i] = objs[i].Unstructured
	}
	return out
}

// marshal joins the objects as clusterctl prints them (clusterctl: util/yaml,
// FromUnstructured, and cmd/util.go, printYamlOutput). Errors have the place of what
// cannot be written.
func marshal(objs []unstructured.Unstructured, sources []object) ([]byte, error) {
	if len(objs) == 0 {
		return []byte("\n"), nil
	}
	texts := make([][]byte, len(objs))
	errs := make([]error, len(objs))
	parallel.Each(len(objs), func(i int) { texts[i], errs[i] = yamldoc.Marshal(objs[i].UnstructuredContent()) })
	for i, err := range errs {
		if o := objs[i]; err != nil {
			return nil, sources[i].unwritable(fmt.Errorf("failed to marshal yaml for %s, %s/%s: %w", o.GroupVersionKind(), o.GetNamespace(), o.GetName(), err))
		}
	}
	return bytes.Join(texts, []byte("---\n")), nil
}
