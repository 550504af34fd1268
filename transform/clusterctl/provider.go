package clusterctl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	File    *yamldoc.File
	// TargetNamespace replaces the namespace of the components; empty keeps it.
	TargetNamespace string
	// Raw leaves the variables as they are, as --raw and --describe do.
	Raw bool
	// Variables are not needed in raw mode.
	Variables variables
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
func (c *Components) YAML() ([]byte, error) { return marshal(c.sources) }

// RenderProvider turns a components file into the objects that clusterctl
// installs (clusterctl: client/repository/components.go, NewComponents): it
// replaces variables and images, moves everything to the target namespace,
// labels it and puts it in order. Errors carry clusterctl's message and, where
// one object or expression is to blame, are a *doc.Error with its place.
func RenderProvider(ctx context.Context, in ProviderInput) (*Components, error) {
	c, objs, err := renderProvider(ctx, in, false)
	if err != nil {
		return nil, err
	}
	c.Objects, c.sources = contents(objs), objs
	return c, nil
}

// PrintProvider returns what YAML does of the rendered provider, as a text to write.
// Objects are not held longer than it takes to write them, and their texts are not
// joined.
func PrintProvider(ctx context.Context, in ProviderInput) (io.WriterTo, error) {
	_, objs, err := renderProvider(ctx, in, true)
	if err != nil {
		return nil, err
	}
	texts, err := marshalEach(objs)
	if err != nil {
		return nil, err
	}
	return printed(texts), nil
}

// printed are the documents of a text.
type printed [][]byte

func (p printed) WriteTo(w io.Writer) (int64, error) {
	b := bufio.NewWriterSize(w, 64<<10) // larger documents pass it by
	n := 0
	for i, text := range p {
		// Flush returns the first error of these.
		if i > 0 {
			k, _ := b.WriteString(separator)
			n += k
		}
		k, _ := b.Write(text)
		n += k
	}
	err := b.Flush()
	return int64(n - b.Buffered()), err
}

// renderProvider renders objects, and also writes them if print is set: then only
// their identity is left next to the text.
func renderProvider(ctx context.Context, in ProviderInput, print bool) (*Components, []object, error) {
	template, err := variablesOf(in.File)
	if err != nil {
		return nil, nil, err
	}
	src := newSource(in.File, in.File.Data, nil)
	if !in.Raw {
		if src, err = substitute(in.File, template, in.Variables); err != nil {
			return nil, nil, within(err, "failed to perform variable substitution")
		}
	}
	namespaces := src.namespaces()
	target, targetErr := targetNamespace(namespaces)
	if in.TargetNamespace != "" {
		target = in.TargetNamespace
	}
	finish := func(o *object) error {
		if path, err := moveTo(o, target); err != nil {
			return o.fail(fmt.Errorf("failed to set the TargetNamespace on the components: %w", err), path...)
		}
		addLabels(o, in.Provider)
		if print {
			o.write()
		}
		return nil
	}
	objs, err := src.work(ctx, func(o *object) {
		if o.images, o.imageErr = applyImages(o, in.Provider.Label(), in.Images); o.imageErr == nil &&
			targetErr == nil && target != "" {
			o.moveErr = finish(o)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	c := &Components{Provider: in.Provider, Version: in.Version, TargetNamespace: target, Variables: template.Variables()}
	for i := range objs {
		if err := objs[i].imageErr; err != nil {
			return nil, nil, err
		}
		c.Images = append(c.Images, objs[i].images...)
	}
	switch {
	case targetErr != nil:
		return nil, nil, targetErr
	case target == "":
		return nil, nil, &yamldoc.Error{File: in.File.Name, Err: errors.New("target namespace can't be defaulted. Please specify a target namespace")}
	}
	for i := range objs {
		if err := objs[i].moveErr; err != nil {
			return nil, nil, err
		}
	}
	if len(namespaces) == 0 {
		o := object{Unstructured: unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "Namespace",
			"metadata":   map[string]any{"name": target},
		}}}
		if err := finish(&o); err != nil {
			return nil, nil, err
		}
		objs = append(objs, o)
	}
	order(objs)
	return c, objs, ctx.Err()
}

// write makes the text of an object and lets go of what was written, unless that
// fails: marshal says why.
func (o *object) write() {
	text, err := yamldoc.Marshal(o.UnstructuredContent())
	if err == nil {
		if o.text = text; cap(text) > len(text)+len(text)/8 {
			o.text = bytes.Clone(text) // without the room that was reserved for a longer one
		}
		o.Object = map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()}
	}
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

func addLabels(o *object, p layouts.Provider) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelClusterctl] = ""
	labels[layouts.ProviderLabel] = p.Label()
	o.SetLabels(labels)
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

// separator stands between documents.
const separator = "---\n"

// marshal joins the objects as clusterctl prints them (clusterctl: util/yaml,
// FromUnstructured, and cmd/util.go, printYamlOutput).
func marshal(objs []object) ([]byte, error) {
	texts, err := marshalEach(objs)
	if err != nil {
		return nil, err
	}
	return bytes.Join(texts, []byte(separator)), nil
}

// marshalEach writes each object. Errors have the place of what cannot be written.
func marshalEach(objs []object) ([][]byte, error) {
	if len(objs) == 0 {
		return [][]byte{[]byte("\n")}, nil
	}
	texts := make([][]byte, len(objs))
	errs := make([]error, len(objs))
	parallel.Each(len(objs), func(i int) {
		if texts[i] = objs[i].text; texts[i] == nil {
			texts[i], errs[i] = yamldoc.Marshal(objs[i].UnstructuredContent())
		}
	})
	for i, err := range errs {
		if o := &objs[i]; err != nil {
			return nil, o.unwritable(fmt.Errorf("failed to marshal yaml for %s, %s/%s: %w", o.GroupVersionKind(), o.GetNamespace(), o.GetName(), err))
		}
	}
	return texts, nil
}
