// Package apply puts objects into an API server one after the other, as
// clusterctl and kubectl do, and takes them away again.
//
// No controllers run, so nothing may affect the next object once it is
// accepted: webhooks without a server are switched off at once.
// Definitions that a management cluster has anyway come from a library, when an
// object first needs them.
//
// It must not know where objects come from, nor what should become of them.
package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// By is who sends the objects.
type By string

const (
	// Clusterctl installs components: the server drops unknown fields
	// (clusterctl: client/cluster/components.go, createObj).
	Clusterctl By = ""
	// Kubectl applies the output of `generate cluster`: by default it asks the
	// server to refuse unknown and repeated fields.
	Kubectl By = metav1.FieldValidationStrict
)

const (
	// patience bounds the wait for the server to act on a change by itself.
	patience = time.Minute
	pause    = 20 * time.Millisecond
)

var (
	crds       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// active are kinds that change what becomes of other requests. Their objects are
// removed as soon as they are accepted, because nothing answers for them.
var active = map[schema.GroupKind]bool{
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:                             true,
}

// resource is where the objects of a kind are.
type resource struct {
	schema.GroupVersionResource
	namespaced bool
}

// Library is what a management cluster has anyway.
type Library struct {
	// definitions are CustomResourceDefinitions by the kind that they define.
	definitions map[schema.GroupKind]*unstructured.Unstructured
	webhooks    []webhook
}

// NewLibrary returns the definitions and webhooks among the objects. Of two
// definitions of a kind the first counts.
func NewLibrary(objs ...unstructured.Unstructured) *Library { return (&Library{}).With(objs...) }

// With returns a library that has more.
func (l *Library) With(objs ...unstructured.Unstructured) *Library {
	out := &Library{definitions: map[schema.GroupKind]*unstructured.Unstructured{}, webhooks: slices.Clone(l.webhooks)}
	maps.Copy(out.definitions, l.definitions)
	for i := range objs {
		out.webhooks = append(out.webhooks, webhooks(&objs[i])...)
		if !isCRD(&objs[i]) {
			continue
		}
		if gk := defines(&objs[i]); out.definitions[gk] == nil {
			out.definitions[gk] = offline(&objs[i])
		}
	}
	return out
}

// webhook is a rule of a mutating webhook that nobody answers.
type webhook struct{ groups, resources []string }

// webhooks reads a MutatingWebhookConfiguration; other objects have none.
func webhooks(o *unstructured.Unstructured) (out []webhook) {
	if o.GetKind() != "MutatingWebhookConfiguration" {
		return nil
	}
	each := func(list any, f func(map[string]any)) {
		items, _ := list.([]any)
		for _, item := range items {
			if m, ok := item.(map[string]any); ok {
				f(m)
			}
		}
	}
	each(o.Object["webhooks"], func(hook map[string]any) {
		each(hook["rules"], func(rule map[string]any) {
			groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
			resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
			out = append(out, webhook{groups, resources})
		})
	})
	return out
}

func (w webhook) sees(r schema.GroupVersionResource) bool {
	is := func(list []string, name string) bool {
		return slices.Contains(list, name) || slices.Contains(list, "*")
	}
	return is(w.groups, r.Group) && is(w.resources, r.Resource)
}

// offline is the definition without its conversion webhook.
func offline(crd *unstructured.Unstructured) *unstructured.Unstructured {
	crd = crd.DeepCopy()
	unstructured.RemoveNestedField(crd.Object, "spec", "conversion")
	return crd
}

func isCRD(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == schema.GroupKind{Group: crds.Group, Kind: "CustomResourceDefinition"}
}

func defines(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// served lists the resources of a definition.
func served(crd *unstructured.Unstructured) map[schema.GroupVersionKind]resource {
	gk := defines(crd)
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	out := map[schema.GroupVersionKind]resource{}
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["served"] == true {
			name, _ := v["name"].(string)
			gvk := gk.WithVersion(name)
			out[gvk] = resource{gvk.GroupVersion().WithResource(plural), scope == "Namespaced"}
		}
	}
	return out
}

// Cluster is an API server that nobody else writes to.
type Cluster struct {
	client  dynamic.Interface
	builtin map[schema.GroupVersionKind]resource
	// installed are the definitions from libraries by name.
	installed map[string]*unstructured.Unstructured
}

// New connects to a server, which has no objects of others yet.
func New(config *rest.Config) (*Cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	_, lists, err := discover.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	c := &Cluster{client: client, builtin: map[schema.GroupVersionKind]resource{}, installed: map[string]*unstructured.Unstructured{}}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "create") {
				c.builtin[gv.WithKind(r.Kind)] = resource{gv.WithResource(r.Name), r.Namespaced}
			}
		}
	}
	return c, nil
}

// at is the client for the place of an object.
func (c *Cluster) at(r resource, namespace string) dynamic.ResourceInterface {
	if r.namespaced {
		return c.client.Resource(r.GroupVersionResource).Namespace(cmp.Or(namespace, metav1.NamespaceDefault))
	}
	return c.client.Resource(r.GroupVersionResource)
}

// Session is a time after which the server is as it was before, but for the
// definitions of the library, which stay for the next session. Only one session,
// or one inside another, can be used at a time.
type Session struct {
	cluster *Cluster
	library *Library
	outer   *Session
	own     map[string]map[schema.GroupVersionKind]resource // by name of the definition
	silent  []webhook
	done    []change
}

// change is an object that was created, or changed if it has a state before.
type change struct {
	resource
	namespace, name string
	before          *unstructured.Unstructured
}

// Session begins a session.
func (c *Cluster) Session(library *Library) *Session {
	return &Session{cluster: c, library: library, own: map[string]map[schema.GroupVersionKind]resource{}}
}

// Inside begins a session that sees what s did and ends before it.
func (s *Session) Inside(library *Library) *Session {
	inner := s.cluster.Session(library)
	inner.outer = s
	return inner
}

// lookup asks the session and those around it for what they defined.
func (s *Session) lookup(is func(crd string, gvk schema.GroupVersionKind) bool) (resource, bool) {
	for ; s != nil; s = s.outer {
		for crd, kinds := range s.own {
			for gvk, r := range kinds {
				if is(crd, gvk) {
					return r, true
				}
			}
		}
	}
	return resource{}, false
}

// Knows reports whether the server can tell what is right for a kind by now: the
// kind has a definition, or belongs to a group of Kubernetes itself.
func (s *Session) Knows(gk schema.GroupKind) bool {
	for gvk := range s.cluster.builtin {
		if gvk.Group == gk.Group {
			return true
		}
	}
	if s.library.definitions[gk] != nil {
		return true
	}
	_, ok := s.lookup(func(_ string, gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == gk })
	return ok
}

// Changes reports whether a webhook that is switched off would have been asked to
// change objects of a kind. Then a field that is missing may not be missing in
// a real management cluster: webhooks come before validation.
func (s *Session) Changes(ctx context.Context, gvk schema.GroupVersionKind) bool {
	r, err := s.find(ctx, gvk)
	if err != nil {
		return false
	}
	sees := func(w webhook) bool { return w.sees(r.GroupVersionResource) }
	for ; s != nil; s = s.outer {
		if slices.ContainsFunc(s.silent, sees) || slices.ContainsFunc(s.library.webhooks, sees) {
			return true
		}
	}
	return false
}

// find returns where objects of a kind are, or meta.NoKindMatchError.
func (s *Session) find(ctx context.Context, gvk schema.GroupVersionKind) (resource, error) {
	if r, ok := s.cluster.builtin[gvk]; ok {
		return r, nil
	}
	if r, ok := s.lookup(func(_ string, own schema.GroupVersionKind) bool { return own == gvk }); ok {
		return r, nil
	}
	if crd := s.library.definitions[gvk.GroupKind()]; crd != nil {
		_, own := s.lookup(func(name string, _ schema.GroupVersionKind) bool { return name == crd.GetName() })
		if r, ok := served(crd)[gvk]; ok && !own {
			return r, s.cluster.install(ctx, crd)
		}
	}
	return resource{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}

// Create sends an object; the error is why it is refused. It is changed if it
// exists, with what both programs do then: a patch.
func (s *Session) Create(ctx context.Context, o *unstructured.Unstructured, by By) error {
	r, err := s.find(ctx, o.GroupVersionKind())
	if err != nil {
		return err
	}
	if isCRD(o) {
		if err := s.cluster.uninstall(ctx, o.GetName()); err != nil {
			return err
		}
	}
	err = wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		err := s.send(ctx, r, o, by)
		if passing(err) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	return s.settle(ctx, r, o)
}

// passing is an error by a webhook that was switched off, which some thread of
// the server does not know yet.
func passing(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

func (s *Session) send(ctx context.Context, r resource, o *unstructured.Unstructured, by By) error {
	at := s.cluster.at(r, o.GetNamespace())
	name := o.GetName()
	if name == "" && o.GetGenerateName() != "" {
		return errors.New("resource name may not be empty") // both look for the object first
	}
	if name != "" {
		before, err := at.Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			patch, err := json.Marshal(o)
			if err != nil {
				return err
			}
			if _, err := at.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldValidation: string(by)}); err != nil {
				return err
			}
			s.done = append(s.done, change{r, o.GetNamespace(), name, before})
			return nil
		case !apierrors.IsNotFound(err):
			return err
		}
	}
	created, err := at.Create(ctx, o, metav1.CreateOptions{FieldValidation: string(by)})
	if err != nil {
		return err
	}
	s.done = append(s.done, change{r, created.GetNamespace(), created.GetName(), nil})
	return nil
}

// settle waits until an accepted object counts, and keeps it from having an
// effect on others.
func (s *Session) settle(ctx context.Context, r resource, o *unstructured.Unstructured) error {
	switch {
	case isCRD(o):
		if err := s.cluster.serve(ctx, o.GetName()); err != nil {
			return err
		}
		now, err := s.cluster.client.Resource(crds).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.own[o.GetName()] = served(now)
	case active[o.GroupVersionKind().GroupKind()]:
		s.silent = append(s.silent, webhooks(o)...)
		return s.cluster.at(r, "").Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	}
	return nil
}

// install adds a definition of a library, if it is not there.
func (c *Cluster) install(ctx context.Context, crd *unstructured.Unstructured) error {
	name := crd.GetName()
	if c.installed[name] == crd {
		return nil
	}
	if err := c.uninstall(ctx, name); err != nil {
		return err
	}
	if _, err := c.client.Resource(crds).Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("library: %w", err)
	}
	c.installed[name] = crd
	return c.serve(ctx, name)
}

// uninstall removes a definition of a library, if it is there.
func (c *Cluster) uninstall(ctx context.Context, name string) error {
	if c.installed[name] == nil {
		return nil
	}
	delete(c.installed, name)
	if err := c.client.Resource(crds).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return c.gone(ctx, resource{crds, false}, "", name)
}

// serve switches the conversion webhook of a definition off and waits until the
// server has its resources.
func (c *Cluster) serve(ctx context.Context, name string) error {
	crd, err := c.client.Resource(crds).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
		off := []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
		if _, err := c.client.Resource(crds).Patch(ctx, name, types.MergePatchType, off, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	err = wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		if crd, err = c.client.Resource(crds).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return false, err
		}
		if message := condition(crd, "NamesAccepted", "False"); message != "" {
			return false, fmt.Errorf("CustomResourceDefinition %s: its names are not accepted: %s", name, message)
		}
		return condition(crd, "Established", "True") != "", nil
	})
	if err != nil {
		return err
	}
	if err := c.age(ctx, crd); err != nil {
		return err
	}
	for _, r := range served(crd) {
		err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
			_, err := c.client.Resource(r.GroupVersionResource).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %s is not served: %w", name, r.GroupVersionResource, err)
		}
	}
	return nil
}

// age makes a definition look older than it is: for two seconds the server lets
// whoever creates an object wait, for the sake of other servers.
func (c *Cluster) age(ctx context.Context, crd *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok {
			condition["lastTransitionTime"] = time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	if err != nil {
		return err
	}
	_, err = c.client.Resource(crds).Patch(ctx, crd.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// condition returns the message of a condition that has a status, or "".
func condition(o *unstructured.Unstructured, kind, status string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind && c["status"] == status {
			return fmt.Sprint(c["message"])
		}
	}
	return ""
}

// End undoes what the session did. After an error the server is no longer
// usable.
func (s *Session) End(ctx context.Context) error {
	var definitions []change
	for _, d := range slices.Backward(s.done) {
		if d.before == nil && d.GroupVersionResource == crds {
			definitions = append(definitions, d)
			continue
		}
		if err := s.undo(ctx, d); err != nil {
			return err
		}
	}
	for _, d := range definitions {
		if err := s.cluster.delete(ctx, d); err != nil {
			return err
		}
	}
	for _, d := range definitions {
		if err := s.cluster.gone(ctx, d.resource, "", d.name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) undo(ctx context.Context, d change) error {
	if d.before == nil {
		if err := s.cluster.delete(ctx, d); err != nil {
			return err
		}
		return s.cluster.gone(ctx, d.resource, d.namespace, d.name)
	}
	at := s.cluster.at(d.resource, d.namespace)
	now, err := at.Get(ctx, d.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	d.before.SetResourceVersion(now.GetResourceVersion())
	_, err = at.Update(ctx, d.before, metav1.UpdateOptions{})
	return err
}

func (c *Cluster) delete(ctx context.Context, d change) error {
	now := int64(0)
	err := c.at(d.resource, d.namespace).Delete(ctx, d.name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// gone waits until a deleted object is gone, and does what the controllers that
// do not run would do for that.
func (c *Cluster) gone(ctx context.Context, r resource, namespace, name string) error {
	at := c.at(r, namespace)
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		o, err := at.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err != nil:
			return false, err
		case r.GroupVersionResource == crds: // the server itself
			return false, nil
		case r.GroupVersionResource == namespaces:
			unstructured.RemoveNestedField(o.Object, "spec", "finalizers")
			_, err = at.Update(ctx, o, metav1.UpdateOptions{}, "finalize")
		default:
			_, err = at.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			err = nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("%s %s cannot be removed: %w", r.Resource, name, err)
	}
	return nil
}
