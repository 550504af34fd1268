package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// ClassTemplates returns the objects of a file that a class in it refers to, in
// any version. CC007 is about them, and TPL015 about all others.
func ClassTemplates(f *lint.File) map[*manifest.Object]bool {
	type identity struct{ group, kind, name string }
	wanted := map[identity]bool{}
	for _, c := range clusterclass.In(f) {
		for _, r := range c.References() {
			wanted[identity{r.Group(), r.Kind, r.Name}] = true
		}
	}
	out := map[*manifest.Object]bool{}
	for _, o := range f.Objects() {
		if wanted[identity{o.Group, o.Kind, o.Name}] {
			out[o] = true
		}
	}
	return out
}

// Mutated reports whether a webhook of the release sees, or may see, new objects of a kind
// before the API server compares them with the schema.
func Mutated(r *lint.Release, d *crd.CRD) bool {
	if _, in := r.Defines(d.Group, d.Kind); in != nil {
		r = in
	}
	for _, o := range r.Installed().Kind("admissionregistration.k8s.io", "MutatingWebhookConfiguration") {
		for _, rule := range o.Get("webhooks").All("*", "rules", "*") {
			if Holds(rule, "apiGroups", d.Group) && (Holds(rule, "resources", d.Plural) || Holds(rule, "resources", "*/*")) {
				return true
			}
		}
	}
	return r.MayHold("MutatingWebhookConfiguration ")
}

// Seconds reads whole seconds, or a duration as v1beta1 has it.
func Seconds(n *yamldoc.Node) (int64, bool) {
	if n.Is(yamldoc.String) {
		d, err := time.ParseDuration(n.Text())
		return int64(d / time.Second), err == nil
	}
	return n.Int()
}

// IsPercent reports whether a text is a percentage as Kubernetes reads it.
func IsPercent(text string) bool {
	v := intstr.FromString(text)
	_, err := intstr.GetScaledValueFromIntOrPercent(&v, 0, false)
	return err == nil
}

// Reversed reports whether a range such as [3-5] ends before it begins.
func Reversed(n *yamldoc.Node) bool {
	low, high, ok := strings.Cut(strings.Trim(n.Str(), "[]"), "-")
	first, err := strconv.ParseUint(low, 10, 32)
	last, wrong := strconv.ParseUint(high, 10, 32)
	return ok && err == nil && wrong == nil && last < first
}

// Groups and kinds of Cluster API.
const (
	CoreGroup    = "cluster.x-k8s.io"
	AddonsGroup  = "addons.cluster.x-k8s.io"
	ClusterKind  = "Cluster"
	ClassKind    = "ClusterClass"
	ResourceSets = "ClusterResourceSet"
)

// From returns the variable that a value came from.
func From(o *manifest.Object, n *yamldoc.Node) (vars.Ref, bool) { return o.File.Variable(o.Doc, n) }

// Variable reports whether a value came from a variable.
func Variable(o *manifest.Object, n *yamldoc.Node) bool {
	_, ok := From(o, n)
	return ok
}

// DiffersByVariable reports whether a name may equal that of another object, if
// only variables have the right values.
func DiffersByVariable(o *manifest.Object, name *yamldoc.Node, other *manifest.Object) bool {
	a, isA := From(o, name)
	b, isB := From(other, other.Get("metadata", "name"))
	return isA != isB || isA && (a.Name != b.Name || a.Default != b.Default)
}

// Blank reports whether a value says nothing: it is missing, null or empty.
func Blank(n *yamldoc.Node) bool {
	switch {
	case n == nil:
		return true
	case n.Kind == yamldoc.Map:
		return len(n.Fields()) == 0
	case n.Kind == yamldoc.List:
		return len(n.List()) == 0
	}
	return n.Kind == yamldoc.Null || n.Kind == yamldoc.String && n.Text() == ""
}

// MatchDefinitions reports where objects of the file differ from the definitions that the release
// has of their kinds: those of its classes, or all others.
func MatchDefinitions(p *lint.Pass, ofClasses bool) {
	templates := ClassTemplates(p.File)
	checker := crd.Checker{Received: true}
	for _, o := range p.File.Objects() {
		if templates[o] == ofClasses {
			ReportViolations(p, o, misfitsDefinition(&checker, p.Release, o), nil)
		}
	}
}

// misfitsDefinition returns where an object differs from the definition that the
// release has of its kind. What a webhook of the release may add is not missing.
func misfitsDefinition(checker *crd.Checker, r *lint.Release, o *manifest.Object) []crd.Violation {
	definition := r.CRD(o.Group, o.Kind)
	if definition == nil {
		return nil
	}
	version := definition.Version(o.Version)
	if version == nil || !version.Served {
		return nil // TPL013
	}
	webhook := sync.OnceValue(func() bool { return Mutated(r, definition) })
	return slices.DeleteFunc(checker.CheckObject(version.Schema, o.Doc.Root), func(v crd.Violation) bool {
		return OfStatus(v) || v.Fault == crd.Missing && webhook()
	})
}

// Meant returns the known field whose name is almost that of an unknown one; "" if there
// is none, or if the mapping has that one, too.
func Meant(v crd.Violation) string {
	if len(v.Fields) == 0 {
		return ""
	}
	known := phrase.List(v.Known.Fields(), func(f yamldoc.Field) string { return f.Name })
	return phrase.Nearest(v.Fields[0], phrase.Only(known, func(name string) bool { return v.In.Get(name) == nil }))
}

// OfStatus reports whether a violation is in the status, which the API server
// drops from new objects.
func OfStatus(v crd.Violation) bool {
	return v.Path == "status" || strings.HasPrefix(v.Path, "status.")
}

// limited are the places of v1beta1 whose length Cluster API limits since before v1.10.
var limited = phrase.Pattern(`\.clusterName$|unhealthyConditions\[\d+\]\.type$|resources\[\d+\]\.name$|\.machineNamingStrategy\.template$`)

// Limit makes a finding about a length a warning where the release is for Cluster API before
// v1.10, too, which did not limit lengths in v1beta1 (api/v1beta1, API review of v1.10).
func Limit(p *lint.Pass, o *manifest.Object, v crd.Violation, f lint.Finding) lint.Finding {
	_, own := p.Release.Series()
	_, core := contract.CoreSchema(o.Group, o.Kind, o.Version)
	if core && o.Version == string(contract.V1Beta1) && own != nil && own.Contract == o.Version &&
		slices.Contains([]string{"minLength", "maxLength", "maxItems"}, v.Keyword) &&
		strings.HasPrefix(v.Path, "spec.") && !limited().MatchString(v.Path) {
		f.Message += "; Cluster API before v1.10 accepts it"
		return f.As(lint.Warning)
	}
	return f
}

// ReportViolations reports where an object differs from its schema, but for
// values that are samples. With a default in its place the user may be spared.
func ReportViolations(p *lint.Pass, o *manifest.Object, list []crd.Violation, because func(crd.Violation) []string) {
	for _, v := range list {
		f := Limit(p, o, v, lint.On(o, v.Node, "%s %s", cmp.Or(v.Path, "the "+o.Kind), v.Message))
		f = f.Meant(Meant(v)).Because(FieldsOf(o, v)...)
		if because != nil {
			f = f.Because(because(v)...)
		}
		if c := p.Release.CRD(o.Group, o.Kind); c != nil && c.Version(o.Version) != nil && v.Fault == crd.Unknown {
			f = f.Perhaps(InSchema(c, c.Version(o.Version), strings.Split(v.Path, ".")))
		}
		var by []*yamldoc.Node
		switch {
		case v.Fault == crd.Type && sameType(o, v.Node):
			f.Severity = p.Rule.Severity // whatever users set
			if v.Node.Style == yamldoc.Quoted {
				f.Fix = "Remove the quotes: a variable in quotes is always a string. Write " + Spelling(o, v.Node) + "."
			}
		case v.Fault == crd.Type || v.Fault == crd.Value:
			by = []*yamldoc.Node{v.Node}
			parts := v.Reads
			if parts == nil {
				parts = by
			}
			by = append(by, phrase.Flat(parts, Within)...)
		}
		Settle(p, o, f, by...)
	}
}
