// Package renamed says which fields of Cluster API's own kinds have another name, place or
// form in the next version of its API: the work of whoever brings a template there, as data.
//
// The table is compared with the CustomResourceDefinitions and the conversion of Cluster API
// (test/oracle, TestRenamed).
//
// It must not know files, rules or reports.
package renamed

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Field is one that the new version does not have as it was.
type Field struct {
	// Path leads to it in the old version; [] stands for each item of a list.
	Path string
	// To is its path in the new version: Path if only its form changes, "" if it is gone.
	To string
	// Note says what becomes of the value, or why the field is gone; it may be empty.
	Note string
}

// Kind is a kind that has a new version.
type Kind struct {
	Group, Kind string
	// From are the old versions, To is the new one.
	From   []string
	To     string
	Fields []Field
}

// Kinds are all of them. They must not be changed.
var Kinds = v1beta2()

// Find returns a kind by an old version of it; nil if it has no new one.
func Find(apiVersion, kind string) *Kind {
	group, version, _ := strings.Cut(apiVersion, "/")
	i := slices.IndexFunc(Kinds, func(k Kind) bool {
		return k.Group == group && k.Kind == kind && slices.Contains(k.From, version)
	})
	if i < 0 {
		return nil
	}
	return &Kinds[i]
}

// In returns the fields that an object has, in the order of the table.
func (k *Kind) In(object *yamldoc.Node) (out []Field) {
	for _, f := range k.Fields {
		if len(object.All(strings.Split(strings.ReplaceAll(f.Path, "[]", ".*"), ".")...)) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// under puts fields below a path in both versions.
func under(path string, lists ...[]Field) []Field {
	var out []Field
	for _, f := range slices.Concat(lists...) {
		f.Path = path + "." + f.Path
		if f.To != "" {
			f.To = path + "." + f.To
		}
		out = append(out, f)
	}
	return out
}

// What becomes of values.
const (
	seconds           = "in seconds"
	args              = "a list of name and value"
	reference         = "a reference with apiGroup, kind and name"
	templateReference = "a reference with apiVersion, kind and name"
)

// stays is a field whose value has another form.
func stays(path, note string) Field { return Field{path, path, note} }

func moved(from, to string) Field { return Field{Path: from, To: to} }

func changed(from, to, note string) Field { return Field{from, to, note} }

func dropped(path, why string) Field { return Field{Path: path, Note: why} }
