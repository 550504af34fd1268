package manifest

import (
	"cmp"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Object is a document that is a mapping, with what names it. Fields that are
// missing or no texts are empty.
type Object struct {
	File *File
	Doc  *yamldoc.Document
	// Group is empty for the core group and for an apiVersion that is missing.
	Group, Version, Kind, Namespace, Name string
	// PodTemplate holds metadata and spec of the pods of the object; nil if it runs
	// none.
	PodTemplate *yamldoc.Node
}

// PodTemplates says where metadata and spec of the pods are in each kind of object
// that runs pods.
var PodTemplates = map[string][]string{
	"Deployment":            {"spec", "template"},
	"DaemonSet":             {"spec", "template"},
	"StatefulSet":           {"spec", "template"},
	"ReplicaSet":            {"spec", "template"},
	"ReplicationController": {"spec", "template"},
	"Job":                   {"spec", "template"},
	"CronJob":               {"spec", "jobTemplate", "spec", "template"},
	"Pod":                   {},
}

// Get follows the keys down from the root.
func (o *Object) Get(path ...string) *yamldoc.Node { return o.Doc.Root.Get(path...) }

// Is reports whether the object is of a group and kind, in any version.
func (o *Object) Is(group, kind string) bool { return o.Kind == kind && o.Group == group }

// IsList reports whether a document is a list of objects.
func (o *Object) IsList() bool {
	return strings.HasSuffix(o.Kind, "List") && o.Get("items").Is(yamldoc.List)
}

func (o *Object) Label(key string) (value string, ok bool) {
	n := o.Get("metadata", "labels", key)
	return n.Str(), n != nil
}

func (o *Object) Annotation(key string) (value string, ok bool) {
	n := o.Get("metadata", "annotations", key)
	return n.Str(), n != nil
}

// Objects returns the documents that are mappings, in their order. The result
// is shared and must not be changed.
func (f *File) Objects() []*Object { return f.parts().objects() }

func (f *File) list() []*Object {
	s := f.Docs()
	if s == nil {
		return nil
	}
	var out []*Object
	for _, d := range s.Docs {
		if !d.Root.Is(yamldoc.Map) {
			continue
		}
		o := &Object{
			File: f, Doc: d, Kind: d.Root.Get("kind").Str(),
			Namespace: d.Root.Get("metadata", "namespace").Str(), Name: d.Root.Get("metadata", "name").Str(),
		}
		o.Group, o.Version = SplitAPIVersion(d.Root.Get("apiVersion").Str())
		if path, ok := PodTemplates[o.Kind]; ok {
			o.PodTemplate = o.Get(path...)
		}
		out = append(out, o)
	}
	return out
}

func SplitAPIVersion(s string) (group, version string) {
	if group, version, ok := strings.Cut(s, "/"); ok {
		return group, version
	}
	return "", s
}

// GroupOf is the group that a reference names, in either spelling.
func GroupOf(ref *yamldoc.Node) string {
	group, _ := SplitAPIVersion(ref.Get("apiVersion").Str())
	return cmp.Or(ref.Get("apiGroup").Str(), group)
}
