package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// The functions of this file make the causes by which findings of different rules are known to be
// about one fault; see lint.Finding.Because.

// AsFile is that the release has no file of a name.
func AsFile(name string) string { return "file " + name }

// Undefined gives a finding its cause: that no CRD defines a kind. One of another group may be
// the one that is meant.
func Undefined(p *lint.Pass, f lint.Finding, group, kind string) lint.Finding {
	for _, c := range p.Release.CRDs() {
		if c.Kind == kind && c.Group != group {
			f.Message += "; the CRD of that kind is in group " + c.Group
			f = f.Because("kind "+kind, "group "+c.Group+" for "+group)
		}
	}
	return f.Lacks(contract.CRDName(group, kind))
}

// InGroup says that a finding may be due to the group of a CRD: objects of its kind are in
// another group, or its name is.
func InGroup(f lint.Finding, c *crd.CRD) lint.Finding {
	if !strings.HasSuffix(c.Object.Name, "."+c.Group) {
		f = f.Perhaps(c.Object.Name)
	}
	return f.Perhaps("kind " + c.Kind)
}

// Unversioned gives a finding its cause: that a CRD does not have a version, or none of its
// group does.
func Unversioned(p *lint.Pass, f lint.Finding, c *crd.CRD, version string) lint.Finding {
	if slices.ContainsFunc(p.Release.CRDs(), func(other *crd.CRD) bool { return other.Group == c.Group && other.Version(version) != nil }) {
		return f.Because("version " + version + " of " + c.Object.Name)
	}
	return f.Because("version " + version + " of group " + c.Group)
}

// Misplaced is that a field is where the object has none of its name.
func Misplaced(o *manifest.Object, name string) string { return "place of " + name + " in " + Named(o) }

// InSchema is that a version of a CRD does not have a field, of a path that it does not have.
func InSchema(c *crd.CRD, v *crd.Version, path []string) string {
	for i := range path {
		if _, presence := v.Schema.At(path[:i+1]...); presence == crd.Absent {
			path = path[:i+1]
			break
		}
	}
	return "schema of " + c.Object.Name + " " + v.Name + ": " + strings.Join(path, ".")
}

// Key is that a mapping does not have a key.
func Key(f *lint.File, n *yamldoc.Node, name string) string {
	return fmt.Sprintf("key %s of %p in %s", name, n, f.Raw.Name)
}

// Field is the cause of findings about a field that an object does not have.
func Field(o *manifest.Object, path string) string {
	return fmt.Sprintf("field %s of %s:%d", path, o.File.Raw.Name, o.Doc.Pos(nil).Line)
}

// FieldOf is Field for the first field of a path that is not there.
func FieldOf(o *manifest.Object, path string) string {
	n, way := o.Doc.Root, ""
	for part := range strings.SplitSeq(path, ".") {
		name, index, _ := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		way = strings.TrimPrefix(way+"."+part, ".")
		n = n.Get(name)
		if i, err := strconv.Atoi(index); err == nil && n != nil && i < len(n.List()) {
			n = n.List()[i]
		}
		if n == nil {
			break
		}
	}
	return Field(o, way)
}

// Sibling is Field for the field that was meant by another one, which a path leads to.
func Sibling(o *manifest.Object, path, meant string) string {
	return Field(o, path[:strings.LastIndexByte(path, '.')+1]+meant)
}

// FieldsOf are the causes of a violation: a field that is missing, or that an unknown one is meant as.
func FieldsOf(o *manifest.Object, v crd.Violation) (out []string) {
	switch meant := Meant(v); {
	case v.Fault == crd.Missing && len(v.Node.Fields()) == 0:
		out = append(out, Field(o, v.Path+".*"))
	case v.Fault == crd.Missing:
		for _, name := range v.Fields {
			out = append(out, Field(o, strings.TrimPrefix(v.Path+"."+name, ".")))
		}
	case v.Fault == crd.Unknown && meant != "":
		out = append(out, Sibling(o, v.Path, meant))
	}
	return out
}

// Reference is that a reference of an object leads nowhere.
func Reference(o *manifest.Object, n *yamldoc.Node) string {
	pos := o.Doc.Pos(n)
	return fmt.Sprintf("reference %s:%d:%d", o.File.Raw.Name, pos.Line, pos.Column)
}

// Default is that the default of a variable is not what it seems.
func Default(f *lint.File, name string) string { return "default of " + name + " in " + f.Raw.Name }

// Named is that an object may be the wrong one.
func Named(o *manifest.Object) string {
	return fmt.Sprintf("object %s:%d", o.File.Raw.Name, o.Doc.Pos(nil).Line)
}

// VersionOf is that an object has the fields of another version.
func VersionOf(o *manifest.Object) string { return "version " + o.Version + " in " + o.File.Raw.Name }

// Document is that a document is not one object.
func Document(f *lint.File, d *yamldoc.Document) string {
	return fmt.Sprintf("document %s:%d", f.Raw.Name, d.Pos(nil).Line)
}

// Unset is that a class does not define a variable, or any.
func Unset(c *clusterclass.Class, name string) string {
	if c.Spec.Get("variables") == nil {
		return FieldOf(c.Object, "spec.variables")
	}
	return "variable " + name + " of " + Named(c.Object)
}

// Meaning are the causes of findings about the references of a class that lead nowhere, if they
// may mean an object of its file: those with the same name, then those with the same kind, and a
// few others.
func Meaning(o *manifest.Object) []string {
	type key struct{}
	open := o.File.Memo(key{}, func() any { return unmet(o.File) }).(*unmetReferences)
	return slices.Concat(open.named[o.Name], open.alike[o.Kind], open.rest)
}

// unmetReferences are causes of findings about the references of classes: by the name and the kind of what
// they lead to, and those that are not complete.
type unmetReferences struct {
	named, alike map[string][]string
	rest         []string
}

// mostMeant is how many causes of one sort a finding has.
const mostMeant = 20

func unmet(f *manifest.File) *unmetReferences {
	out := &unmetReferences{named: map[string][]string{}, alike: map[string][]string{}}
	add := func(list []string, cause string) []string {
		if len(list) >= mostMeant {
			return list
		}
		return append(list, cause)
	}
	index := lint.NewIndex(f.Objects())
	for _, c := range clusterclass.In(f) {
		for _, r := range c.References() {
			switch {
			case r.Node == nil || len(r.Problems()) > 0:
				out.rest = add(out.rest, FieldOf(c.Object, r.String()))
			case index.Find(r.Group(), r.Kind, r.Name) == nil:
				cause := Reference(c.Object, r.Node)
				out.named[r.Name], out.alike[r.Kind] = add(out.named[r.Name], cause), add(out.alike[r.Kind], cause)
			}
		}
		if c.Spec.Get("workers") == nil {
			out.rest = add(out.rest, FieldOf(c.Object, "spec.workers"))
		}
	}
	return out
}
