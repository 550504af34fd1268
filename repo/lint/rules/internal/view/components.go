package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Installed are the files that `clusterctl init` applies.
var Installed = []layouts.FileKind{layouts.Components}

// Open reports whether a value depends on a variable that only the user knows,
// so that it is only a sample.
func Open(o *manifest.Object, n *yamldoc.Node) bool {
	ref, ok := o.File.Variable(o.Doc, n)
	if !ok {
		return false
	}
	t, _ := o.File.Template()
	_, end := o.Doc.Offsets(n)
	last := o.File.Text().RawOffset(end)
	rs := t.Refs()
	first, _ := slices.BinarySearchFunc(rs, ref.Start, func(r vars.Ref, off int) int { return cmp.Compare(r.Start, off) })
	for i := first; i < len(rs) && (i == first || rs[i].Start < last); i++ {
		if rs[i].Depth == 0 && (o.File.IsOption(rs[i].Name) || t.Needed()[rs[i].Name]) {
			return true
		}
	}
	return false
}

// TargetNamespace returns the Namespace that clusterctl takes the target
// namespace from, or nil.
func TargetNamespace(f *lint.File) *manifest.Object {
	return phrase.First(f.Objects(), func(o *manifest.Object) bool { return o.Kind == "Namespace" && o.Name != "" })
}

// TargetName returns the name of that Namespace; not ok if there is none, or if its
// name is the choice of the user.
func TargetName(f *lint.File) (name string, ok bool) {
	o := TargetNamespace(f)
	if o == nil || Open(o, o.Get("metadata", "name")) {
		return "", false
	}
	return o.Name, true
}

// Mentions reports whether a text holds a name as a word of its own.
func Mentions(text, name string) bool {
	inside := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '-' || text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z')
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		if !inside(i-1) && !inside(i+len(name)) {
			return true
		}
		from = i + 1
	}
}

const CertManagerGroup = "cert-manager.io"

// Certificates returns the Certificates of the components, by the name of the Secret that
// they make.
func Certificates(r *lint.Release) map[string]*manifest.Object {
	out := map[string]*manifest.Object{}
	for _, c := range r.Installed().Kind(CertManagerGroup, "Certificate") {
		if name := c.Get("spec", "secretName").Str(); name != "" {
			out[name] = c
		}
	}
	return out
}

// Selects reports whether a selector of labels, which must not be empty, matches
// the labels of a pod.
func Selects(selector, labels *yamldoc.Node) bool {
	return len(selector.Fields()) > 0 && !slices.ContainsFunc(selector.Fields(), func(f yamldoc.Field) bool {
		n := labels.Get(f.Name)
		return n == nil || n.Text() != f.Value.Text()
	})
}
