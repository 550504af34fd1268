// Package crd reads CustomResourceDefinitions as the API server and Cluster API
// read them: names, versions, and what the schema of a version says about a
// field. It compares values with schemas (k8s.io/kube-openapi/pkg/validation/validate),
// and names with what the API server accepts, and says where the wrong value stands.
//
// The library validates without places, and its formats (kube-openapi
// pkg/validation/strfmt) alone cost 1.3 ms at each start, in package variables.
//
// It must not know any contract of Cluster API, any rule, or what the values mean.
package crd

import (
	"cmp"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Group and Kind of definitions.
const (
	Group = "apiextensions.k8s.io"
	Kind  = "CustomResourceDefinition"
)

// CRD is a definition. Fields that are missing or no texts are empty.
type CRD struct {
	Object *manifest.Object
	// Group to Scope are from the spec: "infrastructure.cluster.x-k8s.io",
	// "FooMachine", "foomachines", "FooMachineList", "Namespaced".
	Group, Kind, Plural, ListKind, Scope string
	// Versions are in the order of the file.
	Versions []Version
}

type Version struct {
	Name            string
	Served, Storage bool
	// Node is the entry of spec.versions.
	Node *yamldoc.Node
	// Schema is what the version says about its objects.
	Schema Schema
	// Subresources is the mapping of that name, or nil.
	Subresources *yamldoc.Node
}

// In are the definitions among objects.
func In(objects []*manifest.Object) []*CRD { return phrase.Some(objects, Of) }

// Served are the names of the versions that the API server serves.
func (d *CRD) Served() []string {
	served := phrase.Only(d.Versions, func(v Version) bool { return v.Served })
	return phrase.List(served, func(v Version) string { return v.Name })
}

// Of returns the definition in an object, or nil if it is none.
func Of(o *manifest.Object) *CRD {
	if !o.Is(Group, Kind) {
		return nil
	}
	spec := o.Get("spec")
	c := &CRD{
		Object: o, Group: spec.Get("group").Str(), Kind: spec.Get("names", "kind").Str(), Plural: spec.Get("names", "plural").Str(),
		ListKind: spec.Get("names", "listKind").Str(), Scope: spec.Get("scope").Str(),
	}
	for _, n := range spec.Get("versions").List() {
		c.Versions = append(c.Versions, Version{
			Name: n.Get("name").Str(), Served: n.Get("served").Bool(), Storage: n.Get("storage").Bool(), Node: n,
			// In apiextensions.k8s.io/v1beta1 they may be those of all versions.
			Schema:       Schema{cmp.Or(n.Get("schema", "openAPIV3Schema"), spec.Get("validation", "openAPIV3Schema"))},
			Subresources: cmp.Or(n.Get("subresources"), spec.Get("subresources")),
		})
	}
	// In apiextensions.k8s.io/v1beta1 spec.version may name the only version.
	if name := spec.Get("version").Str(); name != "" && len(c.Versions) == 0 {
		schema := Schema{spec.Get("validation", "openAPIV3Schema")}
		c.Versions = []Version{{name, true, true, spec, schema, spec.Get("subresources")}}
	}
	return c
}

// Version returns the version of that name, or nil.
func (c *CRD) Version(name string) *Version {
	return c.first(func(v Version) bool { return v.Name == name })
}

// Storage returns the version that objects are stored in, or nil.
func (c *CRD) Storage() *Version { return c.first(func(v Version) bool { return v.Storage }) }

func (c *CRD) first(is func(Version) bool) *Version {
	if i := slices.IndexFunc(c.Versions, is); i >= 0 {
		return &c.Versions[i]
	}
	return nil
}

// Presence says what a schema tells about a field.
type Presence int

const (
	// Absent: the API server drops the field.
	Absent Presence = iota
	// Present: the schema describes the field.
	Present
	// Unknowable: the field may be there, but the schema does not describe it.
	Unknowable
)

// Schema is an OpenAPI v3 schema of a value; its Node may be nil.
type Schema struct{ Node *yamldoc.Node }

// Items in a path stands for the elements of a list.
const Items = "[]"

// Values in a path stands for the values of a map with any keys.
const Values = "*"

// At follows field names (or Items and Values) down through the schema. If the result is
// not Present, the schema is the last one that the path led to.
func (s Schema) At(path ...string) (Schema, Presence) {
	for _, name := range path {
		next := s.Node.Get("properties", name)
		if name == Items {
			next = s.Node.Get("items")
		}
		if next == nil && name != Items {
			// One schema for all values of a map.
			if n := s.Node.Get("additionalProperties"); n.Is(yamldoc.Map) && len(n.Fields()) > 0 {
				next = n
			}
		}
		if next == nil {
			if s.Open() {
				return s, Unknowable
			}
			return s, Absent
		}
		s = Schema{next}
	}
	return s, Present
}

// Open reports whether a value may have fields that the schema does not
// describe.
func (s Schema) Open() bool {
	if s.Node == nil || s.Node.Get("x-kubernetes-preserve-unknown-fields").Bool() ||
		s.Node.Get("x-kubernetes-embedded-resource").Bool() {
		return true
	}
	extra := s.Node.Get("additionalProperties")
	return extra.Bool() || extra.Is(yamldoc.Map)
}

// IntOrString is the Type of values that may be either.
const IntOrString = "int-or-string"

// Type returns object, array, string, integer, number or boolean, IntOrString,
// or "" if the schema does not say.
func (s Schema) Type() string {
	if s.Node.Get("x-kubernetes-int-or-string").Bool() {
		return IntOrString
	}
	return s.Node.Get("type").Str()
}

// Required reports whether an object must have the field.
func (s Schema) Required(name string) bool {
	return yamldoc.Has(s.Node.Get("required").List(), name)
}

// ListType returns the x-kubernetes-list-type; atomic if it is not set.
func (s Schema) ListType() string {
	return cmp.Or(s.Node.Get("x-kubernetes-list-type").Str(), "atomic")
}

// ListMapKeys returns the x-kubernetes-list-map-keys.
func (s Schema) ListMapKeys() []string {
	return phrase.List(s.Node.Get("x-kubernetes-list-map-keys").List(), (*yamldoc.Node).Str)
}
