package snapshot

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"sigs.k8s.io/json"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// head is what is read of every object.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		UID       string `json:"uid"`
		Continue  string `json:"continue"`
		// Only whether it is there counts.
		Deletion *anything `json:"deletionTimestamp"`
		Labels   struct {
			Clusterctl    *string `json:"clusterctl.cluster.x-k8s.io"`
			Move          *string `json:"clusterctl.cluster.x-k8s.io/move"`
			MoveHierarchy *string `json:"clusterctl.cluster.x-k8s.io/move-hierarchy"`
			Cluster       string  `json:"cluster.x-k8s.io/cluster-name"`
		} `json:"labels"`
		Annotations struct {
			BlockMove *string `json:"clusterctl.cluster.x-k8s.io/block-move"`
			Paused    *string `json:"cluster.x-k8s.io/paused"`
		} `json:"annotations"`
		Owners []struct {
			reference
			UID string `json:"uid"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Items anything `json:"items"`
}

// anything is set if a field is there, whatever it holds.
type anything bool

func (a *anything) UnmarshalJSON(data []byte) error { *a = string(data) != "null"; return nil }

// reference is one in either spelling.
type reference struct {
	APIVersion string `json:"apiVersion"`
	APIGroup   string `json:"apiGroup"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

func (r reference) ref() Ref {
	group, version := manifest.SplitAPIVersion(r.APIVersion)
	if r.APIGroup != "" {
		group = r.APIGroup
	}
	return Ref{Group: group, Version: version, Kind: r.Kind, Name: r.Name}
}

// refs keeps those references that are set.
func refs(all ...*reference) []Ref {
	var out []Ref
	for _, r := range all {
		if r != nil && (r.Kind != "" || r.Name != "" || r.APIVersion != "" || r.APIGroup != "") {
			out = append(out, r.ref())
		}
	}
	return out
}

// Groups of the kinds with details.
const (
	coreGroup       = "cluster.x-k8s.io"
	addonsGroup     = "addons.cluster.x-k8s.io"
	clusterctlGroup = "clusterctl.cluster.x-k8s.io"
	runtimeGroup    = "runtime.cluster.x-k8s.io"
	definitionGroup = "apiextensions.k8s.io"
)

// details are the kinds of which more than the metadata is read.
var details = map[[2]string]func(data []byte) (any, error){
	{definitionGroup, "CustomResourceDefinition"}: readAs((*definitionWire).detail),
	{coreGroup, "Cluster"}:                        readAs((*clusterWire).detail),
	{coreGroup, "ClusterClass"}:                   readAs((*classWire).detail),
	{coreGroup, "Machine"}:                        readAs((*machineWire).detail),
	{addonsGroup, "ClusterResourceSetBinding"}:    readAs((*bindingWire).detail),
	{clusterctlGroup, "Provider"}:                 readAs(func(p *Provider) any { return p }),
	{runtimeGroup, "ExtensionConfig"}:             readAs((*extensionWire).detail),
}

// HasDetail reports whether the objects of a kind have a Detail.
func HasDetail(group, kind string) bool { return details[[2]string{group, kind}] != nil }

// NeedsSpec reports whether more than the metadata of a kind is read. It never is
// of Secrets.
func NeedsSpec(group, kind string) bool {
	return HasDetail(group, kind) || scanned(group)
}

func readAs[W any](detail func(*W) any) func([]byte) (any, error) {
	return func(data []byte) (any, error) {
		var w W
		if err := json.UnmarshalCaseSensitivePreserveInts(data, &w); err != nil {
			return nil, err
		}
		return detail(&w), nil
	}
}

type definitionWire struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind   string `json:"kind"`
			Plural string `json:"plural"`
		} `json:"names"`
		Scope    string `json:"scope"`
		Versions []struct {
			Name    string `json:"name"`
			Storage bool   `json:"storage"`
			Served  *bool  `json:"served"`
		} `json:"versions"`
	} `json:"spec"`
}

func (w *definitionWire) detail() any {
	d := &Definition{Group: w.Spec.Group, Kind: w.Spec.Names.Kind, Plural: w.Spec.Names.Plural, Global: w.Spec.Scope == "Cluster"}
	for _, v := range w.Spec.Versions {
		served := v.Served == nil || *v.Served
		if v.Storage {
			d.Storage, d.Unserved = v.Name, !served
		}
		if served {
			d.Served = append(d.Served, v.Name)
		}
	}
	return d
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

func isTrue(conditions []condition, kind string) bool {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status == "True"
		}
	}
	return false
}

type clusterWire struct {
	APIVersion string `json:"apiVersion"`
	Spec       struct {
		Paused            bool       `json:"paused"`
		InfrastructureRef *reference `json:"infrastructureRef"`
		ControlPlaneRef   *reference `json:"controlPlaneRef"`
		Topology          struct {
			ClassRef struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"classRef"`
			// In v1beta1.
			Class          string `json:"class"`
			ClassNamespace string `json:"classNamespace"`
		} `json:"topology"`
	} `json:"spec"`
	Status struct {
		Initialization struct {
			InfrastructureProvisioned bool `json:"infrastructureProvisioned"`
			ControlPlaneInitialized   bool `json:"controlPlaneInitialized"`
		} `json:"initialization"`
		Conditions []condition `json:"conditions"`
		// In v1beta1.
		InfrastructureReady bool `json:"infrastructureReady"`
		ControlPlaneReady   bool `json:"controlPlaneReady"`
		V1Beta2             struct {
			Conditions []condition `json:"conditions"`
		} `json:"v1beta2"`
	} `json:"status"`
}

const initializedCondition = "ControlPlaneInitialized"

// busyConditions are those of a Cluster that are true while its machines change.
var busyConditions = [...]string{"RollingOut", "ScalingUp", "ScalingDown", "Remediating"}

func busy(conditions []condition) []string {
	var out []string
	for _, kind := range busyConditions {
		if isTrue(conditions, kind) {
			out = append(out, kind)
		}
	}
	return out
}

func (w *clusterWire) detail() any {
	class, done, conditions := &w.Spec.Topology, w.Status.Initialization, w.Status.Conditions
	if strings.HasSuffix(w.APIVersion, "/v1beta1") {
		// As the conversion between the versions does (api/core/v1beta1, conversion.go).
		class.ClassRef.Name, class.ClassRef.Namespace = class.Class, class.ClassNamespace
		done.InfrastructureProvisioned, done.ControlPlaneInitialized = w.Status.InfrastructureReady, w.Status.ControlPlaneReady
		conditions = w.Status.V1Beta2.Conditions
	}
	return &Cluster{
		Class: class.ClassRef.Name, ClassNamespace: class.ClassRef.Namespace, Paused: w.Spec.Paused,
		Refs:            refs(w.Spec.InfrastructureRef, w.Spec.ControlPlaneRef),
		HasControlPlane: len(refs(w.Spec.ControlPlaneRef)) > 0,
		Provisioned:     done.InfrastructureProvisioned, ControlPlaneInitialized: done.ControlPlaneInitialized,
		Initialized: isTrue(conditions, initializedCondition), Busy: busy(conditions),
	}
}

// template is a reference of a ClusterClass: ref in v1beta1, templateRef in
// v1beta2.
type template struct {
	Ref         *reference `json:"ref"`
	TemplateRef *reference `json:"templateRef"`
}

type workers struct {
	Bootstrap      template `json:"bootstrap"`
	Infrastructure template `json:"infrastructure"`
	// In v1beta1.
	Template struct {
		Bootstrap      template `json:"bootstrap"`
		Infrastructure template `json:"infrastructure"`
	} `json:"template"`
}

// external are the handlers of a patch, in either spelling.
type external struct {
	GenerateExtension          string `json:"generateExtension"`
	ValidateExtension          string `json:"validateExtension"`
	GeneratePatchesExtension   string `json:"generatePatchesExtension"`
	ValidateTopologyExtension  string `json:"validateTopologyExtension"`
	DiscoverVariablesExtension string `json:"discoverVariablesExtension"`
}

type classWire struct {
	Spec struct {
		Patches []struct {
			External external `json:"external"`
		} `json:"patches"`
		Upgrade struct {
			External struct {
				GenerateUpgradePlanExtension string `json:"generateUpgradePlanExtension"`
			} `json:"external"`
		} `json:"upgrade"`
		Infrastructure template `json:"infrastructure"`
		ControlPlane   struct {
			template
			MachineInfrastructure template `json:"machineInfrastructure"`
		} `json:"controlPlane"`
		Workers struct {
			MachineDeployments []workers `json:"machineDeployments"`
			MachinePools       []workers `json:"machinePools"`
		} `json:"workers"`
	} `json:"spec"`
}

func (w *classWire) detail() any {
	c := &Class{}
	add := func(all ...template) {
		for _, t := range all {
			c.Templates = append(c.Templates, refs(t.Ref, t.TemplateRef)...)
		}
	}
	s := &w.Spec
	add(s.Infrastructure, s.ControlPlane.template, s.ControlPlane.MachineInfrastructure)
	for _, list := range [][]workers{s.Workers.MachineDeployments, s.Workers.MachinePools} {
		for _, m := range list {
			add(m.Infrastructure, m.Bootstrap, m.Template.Infrastructure, m.Template.Bootstrap)
		}
	}
	handlers := []string{s.Upgrade.External.GenerateUpgradePlanExtension}
	for _, p := range s.Patches {
		e := p.External
		handlers = append(handlers, e.GenerateExtension, e.ValidateExtension, e.GeneratePatchesExtension, e.ValidateTopologyExtension, e.DiscoverVariablesExtension)
	}
	for _, h := range handlers {
		if h != "" && !slices.Contains(c.Extensions, h) {
			c.Extensions = append(c.Extensions, h)
		}
	}
	return c
}

// digest is a number for the spec of an object: equal ones have equal numbers, in
// whatever order their fields are.
func digest(data []byte) uint64 {
	var o struct {
		Spec any `json:"spec"`
	}
	if json.UnmarshalCaseSensitivePreserveInts(data, &o) != nil {
		return 0
	}
	text, _ := stdjson.Marshal(o.Spec) // sorts the fields, and does not fail for JSON
	h := fnv.New64a()
	_, _ = h.Write(text)
	return h.Sum64()
}

type machineWire struct {
	Spec struct {
		Bootstrap struct {
			ConfigRef *reference `json:"configRef"`
		} `json:"bootstrap"`
		InfrastructureRef *reference `json:"infrastructureRef"`
	} `json:"spec"`
	Status struct {
		NodeRef struct {
			Name string `json:"name"`
		} `json:"nodeRef"`
	} `json:"status"`
}

func (w *machineWire) detail() any {
	return &Machine{HasNode: w.Status.NodeRef.Name != "", Refs: refs(w.Spec.Bootstrap.ConfigRef, w.Spec.InfrastructureRef)}
}

type bindingWire struct {
	Spec struct {
		ClusterName string `json:"clusterName"`
	} `json:"spec"`
}

func (w *bindingWire) detail() any { return &Binding{Cluster: w.Spec.ClusterName} }

type extensionWire struct {
	Status struct {
		Handlers []struct {
			Name string `json:"name"`
		} `json:"handlers"`
		Conditions []condition `json:"conditions"`
		// In v1alpha1.
		V1Beta2 struct {
			Conditions []condition `json:"conditions"`
		} `json:"v1beta2"`
	} `json:"status"`
}

func (w *extensionWire) detail() any {
	e := &Extension{}
	for _, c := range append(w.Status.Conditions, w.Status.V1Beta2.Conditions...) {
		if c.Type == "Discovered" {
			e.Discovered, e.Message = e.Discovered || c.Status == "True", c.Message
		}
	}
	for _, h := range w.Status.Handlers {
		e.Handlers = append(e.Handlers, h.Name)
	}
	return e
}

// piece is the text of one value in a stream.
type piece struct {
	data []byte
	line int // of the stream in which it begins, from 1
	yaml bool
	// What a list says about its items.
	apiVersion, kind string
	// cut is set for a list whose items are pieces of their own.
	cut bool
}

// decoded is what becomes of a piece.
type decoded struct {
	objects []Object
	next    string // where the list goes on
	err     error
}

// decode reads the objects in a piece; a List may hold any number.
func (s *Snapshot) decode(name string, p piece) decoded {
	data := p.data
	var err error
	if p.yaml {
		if data, err = yamldoc.ToJSON(data); err != nil {
			return decoded{err: p.fail(name, err)}
		}
	}
	var h head
	if err := json.UnmarshalCaseSensitivePreserveInts(data, &h); err != nil {
		if !p.yaml { // YAML may begin with a brace too
			p.yaml = true
			return s.decode(name, p)
		}
		if wrong := (&stdjson.UnmarshalTypeError{}); errors.As(err, &wrong) {
			err = fmt.Errorf("not a Kubernetes object: %s is a %s", cmp.Or(wrong.Field, "this"), nouns.Replace(wrong.Value))
		}
		return decoded{err: p.fail(name, err)}
	}
	if string(data) == "null" {
		return decoded{}
	}
	switch {
	case p.cut && !strings.HasSuffix(h.Kind, listSuffix):
		return decoded{err: p.fail(name, fmt.Errorf("the items are in a %q instead of a List", h.Kind))}
	case p.cut:
		return decoded{next: h.Metadata.Continue}
	case strings.HasSuffix(h.Kind, listSuffix) && bool(h.Items):
		return s.items(name, p, &h, data)
	case strings.HasSuffix(h.Kind, listSuffix) && h.Metadata.Name == "":
		return decoded{} // a list of nothing
	}
	o, err := h.object(p, data)
	if err != nil {
		return decoded{err: p.fail(name, err)}
	}
	if scanned(o.Group) {
		o.Names = s.fields.names(data)
	}
	return decoded{objects: []Object{o}}
}

const listSuffix = "List"

// items reads a list that was not read item by item.
func (s *Snapshot) items(name string, p piece, h *head, data []byte) decoded {
	var list struct {
		Items []raw `json:"items"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(data, &list); err != nil {
		return decoded{err: p.fail(name, err)}
	}
	out := decoded{next: h.Metadata.Continue}
	for _, item := range list.Items {
		inner := piece{data: item, line: p.line, apiVersion: h.APIVersion, kind: strings.TrimSuffix(h.Kind, listSuffix)}
		d := s.decode(name, inner)
		out.objects = append(out.objects, d.objects...)
		if out.err == nil {
			out.err = d.err
		}
	}
	return out
}

// raw is JSON as it stands.
type raw []byte

func (r *raw) UnmarshalJSON(data []byte) error { *r = append(*r, data...); return nil }

// nouns are the words for types of JSON.
var nouns = strings.NewReplacer("array", "list", "object", "map", "bool", "boolean")

var errNoObject = errors.New("not a Kubernetes object: apiVersion, kind or metadata.name is missing")

func (h *head) object(p piece, data []byte) (Object, error) {
	if h.Kind == "" && h.APIVersion == "" || h.Kind == "PartialObjectMetadata" {
		h.Kind, h.APIVersion = p.kind, p.apiVersion
	}
	m := &h.Metadata
	if h.Kind == "" || h.APIVersion == "" || m.Name == "" {
		return Object{}, errNoObject
	}
	o := Object{Kind: h.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, Cluster: m.Labels.Cluster}
	o.Group, o.Version = manifest.SplitAPIVersion(h.APIVersion)
	for _, row := range []struct {
		value *string
		mark  mark
	}{
		{m.Labels.Clusterctl, Clusterctl},
		{m.Labels.Move, Move},
		{m.Labels.MoveHierarchy, MoveHierarchy},
		{m.Annotations.BlockMove, BlockMove},
		{m.Annotations.Paused, Paused},
	} {
		if row.value != nil {
			o.Marks |= row.mark
		}
	}
	if m.Deletion != nil {
		o.Marks |= Deleting
	}
	o.Owners = slices.Grow(o.Owners, len(m.Owners))
	for _, r := range m.Owners {
		ref := r.ref()
		o.Owners = append(o.Owners, Owner{Group: ref.Group, Version: ref.Version, Kind: ref.Kind, Name: ref.Name, UID: r.UID})
	}
	if detail := details[[2]string{o.Group, o.Kind}]; detail != nil {
		var err error
		if o.Detail, err = detail(data); err != nil {
			return Object{}, fmt.Errorf("%s: %w", &o, err)
		}
		if class, ok := o.Detail.(*Class); ok {
			class.Digest = digest(data)
		}
	}
	return o, nil
}

// fail gives an error its place in the stream.
func (p piece) fail(name string, err error) error {
	pos := yamldoc.Pos{Line: p.line, Column: 1}
	if p.yaml {
		for _, d := range yamldoc.Parse(yamldoc.NewFile(name, p.data)).Docs {
			if d.Err != nil {
				// The end of the text is in the line before.
				line := min(d.Err.Pos.Line, max(1, bytes.Count(p.data, []byte("\n"))))
				pos, err = yamldoc.Pos{Line: p.line - 1 + line, Column: d.Err.Pos.Column}, d.Err.Err
				break
			}
		}
	}
	return &yamldoc.Error{File: name, Pos: pos, Err: err}
}
