// Package table says what becomes of every field of Cluster API's own kinds from
// one version to the next. It is the migration guide as data: the editor carries
// it out, and the documentation shows it.
//
// The tables are compared with Cluster API's conversion functions, for thousands
// of generated objects of each kind (test/oracle, TestMigrateObjects).
//
// It must not know texts, files or reports.
package table

import (
	"slices"
	"strings"
	"sync"
)

// value says how the value of a field changes.
type value string

// The changes of values.
const (
	// Same: the value stays.
	Same value = ""
	// Seconds: a duration such as 10m becomes a number of seconds, without fractions.
	Seconds value = "duration to seconds"
	// PositiveSeconds is Seconds where 0s means "not set", and disappears.
	PositiveSeconds value = "duration to seconds; 0s disappears"
	// Args: a map of arguments becomes a list of name and value, sorted by name.
	Args value = "map to list of name and value"
	// Reference: an object reference keeps the group of apiVersion as apiGroup,
	// kind and name.
	Reference value = "object reference to apiGroup, kind, name"
	// TemplateReference: an object reference keeps apiVersion, kind and name. The
	// version of a migrated kind becomes the new one.
	TemplateReference value = "object reference to apiVersion, kind, name"
	// NoFalse: false means "not set" in the old version, and disappears.
	NoFalse value = "false disappears"
	// NoZero: 0 means "not set" in the old version, and disappears.
	NoZero value = "0 disappears"
	// Schema: NoFalse for some fields of a JSON schema, at any depth.
	Schema value = "false disappears in uniqueItems, exclusiveMaximum, exclusiveMinimum, x-kubernetes-preserve-unknown-fields and x-kubernetes-int-or-string"
	// Patches: JSON patches follow the tables of the kind that they select.
	Patches value = "paths and values follow the selected kind"
	// Selector: the version of a migrated kind becomes the new one.
	Selector value = "apiVersion of a migrated kind"
)

// Row is what becomes of one field. Rows are carried out in their order.
type Row struct {
	// Path leads to the field in the old version; [] stands for each item of a list.
	Path string
	// To is the path in the new version; "" if the field is dropped, Path if it stays.
	To string
	// Also is a second place for the same value.
	Also  string
	Value value
	// Default is written if the field is missing in a map that is there; with
	// IfEmpty only if that map holds nothing.
	Default string
	IfEmpty bool
	// Why says why a field is dropped or moved, for users.
	Why string
}

// Dropped reports whether the new version has no such field.
func (r Row) Dropped() bool { return r.To == "" }

// Kind is a kind that has a new version.
type Kind struct {
	Group, Kind string
	// From are the old versions, To is the new one.
	From []string
	To   string
	Rows []Row
}

// APIVersion is the new one.
func (k *Kind) APIVersion() string { return k.Group + "/" + k.To }

// Contract is a step from one contract of Cluster API to the next.
type Contract struct {
	From, To string
	// Unserved says when the old version is no longer served, for users.
	Unserved string
	Kinds    []Kind
}

// Contracts are the known steps; the newest is the last.
var Contracts = sync.OnceValue(func() []*Contract { return []*Contract{v1beta2()} })

// To returns the step to a contract, or nil.
func To(version string) *Contract {
	for _, c := range Contracts() {
		if c.To == version {
			return c
		}
	}
	return nil
}

// Find returns the table for objects of a kind in an old version; nil if there is
// nothing to do for them.
func (c *Contract) Find(apiVersion, kind string) *Kind {
	group, version, _ := strings.Cut(apiVersion, "/")
	if k := c.Kind(group, kind); k != nil && slices.Contains(k.From, version) {
		return k
	}
	return nil
}

// Kind returns the table of a kind in any version, or nil.
func (c *Contract) Kind(group, kind string) *Kind {
	for i := range c.Kinds {
		if c.Kinds[i].Group == group && c.Kinds[i].Kind == kind {
			return &c.Kinds[i]
		}
	}
	return nil
}

// under puts rows below a path in both versions.
func under(path string, lists ...[]Row) []Row {
	var out []Row
	for _, rows := range lists {
		for _, r := range rows {
			r.Path = path + "." + r.Path
			if r.To != "" {
				r.To = path + "." + r.To
			}
			if r.Also != "" {
				r.Also = path + "." + r.Also
			}
			out = append(out, r)
		}
	}
	return out
}

// stays is a field whose value changes.
func stays(path string, v value) Row { return Row{Path: path, To: path, Value: v} }

func moved(from, to string) Row { return Row{Path: from, To: to} }

func changed(from, to string, v value) Row { return Row{Path: from, To: to, Value: v} }

func dropped(path, why string) Row { return Row{Path: path, Why: why} }
