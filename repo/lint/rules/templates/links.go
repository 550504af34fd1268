package templates

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// link is a field that names an object that controllers expect, and do not make. The
// kind is empty if only the provider knows it.
type link struct {
	object      *manifest.Object
	field       string
	group, kind string
	name        *yamldoc.Node
	number      int // among the missing ones of a file
	// in is the file of the release that has the object, and released says that the release
	// should have it: its authors know what is in it, or have made it.
	in       *lint.File
	released bool
}

// linkFields are the kinds of what a field names without a kind, by the end of the name of
// the field before Name, Ref and the like.
var linkFields = []struct{ suffix, kind string }{
	{"secret", "Secret"}, {"secrets", "Secret"}, {"credential", "Secret"}, {"credentials", "Secret"},
	{"configmap", "ConfigMap"}, {"identity", ""},
}

// makes are the words by which a field says that a controller makes what it names.
var makes = phrase.Pattern(`(?i)generate|create|output|write|target`)

// kindOf returns the kind of what a field names; not ok if it names nothing. With a
// scalar as its value it says in its name that this is a name.
func kindOf(field string, scalar bool) (kind string, ok bool) {
	word := strings.ToLower(field)
	for _, end := range [...]string{"name", "reference", "ref", "key"} {
		word = strings.TrimSuffix(word, end)
	}
	if scalar && len(word) == len(field) {
		return "", false
	}
	for _, row := range linkFields {
		if strings.HasSuffix(word, row.suffix) && (row.kind != "" || !scalar) {
			return row.kind, !makes().MatchString(field)
		}
	}
	return "", false
}

// links calls visit for the fields of an object that name Secrets, ConfigMaps, identities,
// or what else a provider defines; references has those that make up a cluster.
func links(o *manifest.Object, visit func(link)) {
	switch {
	case o.Group == view.CertManagerGroup, o.Is("", "Secret"), o.Is("", "ConfigMap"), o.Is(view.CoreGroup, view.ClassKind):
		return // which name what is made, or hold anything; CC003 is about classes
	}
	found := func(field, group, kind string, name *yamldoc.Node) {
		if name.Str() != "" {
			visit(link{object: o, field: field, group: group, kind: kind, name: name})
		}
	}
	// item is a value of a field, or of the list that is its value.
	item := func(field string, n *yamldoc.Node) {
		if n.Is(yamldoc.Map) && n.Get("name") == nil || n.Is(yamldoc.List) {
			return
		}
		kind, named := kindOf(field, !n.Is(yamldoc.Map))
		given := n.Get("kind").Str()
		group := manifest.GroupOf(n)
		switch {
		case n.Get("optional").Bool(), o.Group == view.RbacGroup && elsewhereIn(o.File, n.Get("namespace").Str()):
		case !n.Is(yamldoc.Map):
			if named && n.Is(yamldoc.String) {
				found(field, "", kind, n)
			}
		case given == "Secret" || given == "ConfigMap" || o.Group == view.RbacGroup && (given == "ServiceAccount" || given == "Role"):
			if !makes().MatchString(field) {
				found(field, "", given, n.Get("name"))
			}
		case given != "":
			if group == "" { // as in references to identities
				group = o.Group
			}
			if contract.OfClusterAPI(group) && strings.HasSuffix(field, "Ref") && !refers(field, o.Group == view.CoreGroup) {
				found(field, group, given, n.Get("name"))
			}
		case named:
			found(field, "", kind, n.Get("name"))
		}
	}
	var walk func(n *yamldoc.Node)
	walk = func(n *yamldoc.Node) {
		for i := range n.Fields() {
			f := &n.Fields()[i]
			if f.Value.Is(yamldoc.List) {
				for _, one := range f.Value.List() {
					item(f.Name, one)
				}
			} else {
				item(f.Name, f.Value)
			}
			walk(f.Value)
		}
		for _, one := range n.List() {
			walk(one)
		}
	}
	for i := range o.Doc.Root.Fields() {
		switch f := &o.Doc.Root.Fields()[i]; f.Name {
		case "metadata", "status":
		case "spec":
			walk(f.Value)
		default: // of a ServiceAccount or a RoleBinding
			for _, one := range f.Value.All("*") {
				item(f.Name, one)
			}
			item(f.Name, f.Value)
		}
	}
	found("serviceAccountName", "", "ServiceAccount", o.PodTemplate.Get("spec", "serviceAccountName"))
}

// elsewhereIn reports whether a subject is in a namespace in which a file has no object.
func elsewhereIn(f *lint.File, namespace string) bool {
	return namespace != "" && !slices.ContainsFunc(f.Objects(), func(o *manifest.Object) bool { return o.Namespace == namespace })
}

// ofKubernetes are objects that Kubernetes makes.
var ofKubernetes = map[[2]string]bool{
	{"ServiceAccount", view.DefaultAccount}: true, {"ConfigMap", "kube-root-ca.crt"}: true,
	{"Role", "extension-apiserver-authentication-reader"}: true,
}

// clusterSecrets end the names of the Secrets that Cluster API makes for a Cluster.
var clusterSecrets = []string{"-kubeconfig", "-ca", "-etcd", "-sa", "-proxy"}

// missingLinks calls visit for the objects that a file names, and that neither it, its classes
// nor the components define; each once.
func missingLinks(p *lint.Pass, visit func(link)) {
	type key struct{}
	for _, l := range p.File.Memo(key{}, func() any { return findMissing(p) }).([]link) {
		visit(l)
	}
}

func findMissing(p *lint.Pass) (out []link) {
	files := append(classFiles(p), p.File)
	if slices.ContainsFunc(files, func(f *lint.File) bool { return !f.Healthy() }) {
		return nil // a document that cannot be read may have the object
	}
	names := map[[2]string]bool{}       // of objects, by kind
	others := map[string]bool{"": true} // that fields without a kind may mean
	patched := map[string]bool{}        // kinds in which classes may set the names
	for _, f := range files {
		for _, o := range f.Objects() {
			names[[2]string{o.Kind, o.Name}] = true
			switch {
			case o.Is(view.CoreGroup, view.ClusterKind):
				for _, end := range clusterSecrets {
					names[[2]string{"Secret", o.Name + end}] = true
				}
			case o.Is(view.CoreGroup, view.ClassKind):
				for _, kind := range o.Get("spec").All("patches", "*", "definitions", "*", "selector", "kind") {
					patched[kind.Str()] = true
				}
			case o.Group == view.CertManagerGroup:
				names[[2]string{"Secret", o.Get("spec", "secretName").Str()}] = true
			case o.Group != "" && strings.Contains(o.Kind, "Secret"): // ExternalSecret, SealedSecret
				names[[2]string{"Secret", o.Name}] = true
			}
			if strings.HasSuffix(o.Kind, "Identity") || o.Is("", "Secret") {
				others[o.Name] = true
			}
			view.Each(o.Get("spec"), func(n *yamldoc.Node) {
				for i := range n.Fields() {
					f := &n.Fields()[i]
					if name := f.Value.Get("name"); name.Str() != "" && makes().MatchString(f.Name) {
						names[[2]string{"Secret", name.Text()}] = true
					}
				}
			})
		}
	}
	seen := map[[2]string]bool{}
	for _, o := range p.File.Objects() {
		links(o, func(l link) {
			at := [2]string{l.kind, l.name.Text()}
			if names[at] || seen[at] || l.kind == "" && others[at[1]] || patched[o.Kind] ||
				p.Release.Brings(l.group, l.kind, at[1]) ||
				l.kind == "Secret" && (p.Release.Brings("bitnami.com", "SealedSecret", at[1]) || p.Release.Brings("external-secrets.io", "ExternalSecret", at[1])) ||
				ofKubernetes[at] {
				return
			}
			seen[at] = true
			l.number = len(seen)
			if l.find(p) {
				out = append(out, l)
			}
		})
	}
	return out
}

// elsewhere returns another file of the release that has an object; nil if there is none. So that
// the work stays small, it is not known for the last of many links in a release of many files.
func elsewhere(p *lint.Pass, l *link) (in *lint.File, known bool) {
	if l.number*len(p.Release.Files) > 10_000 {
		return nil, false
	}
	for _, f := range p.Release.Files {
		if f != p.File && slices.Contains(rendered, f.Kind) && strings.Contains(f.Raw.Data, "kind: "+l.kind) &&
			strings.Contains(f.Raw.Data, view.Spelling(l.object, l.name)) &&
			slices.ContainsFunc(f.Objects(), func(o *manifest.Object) bool { return o.Kind == l.kind && o.Name == l.name.Text() }) {
			return f, true
		}
	}
	return nil, true
}

// find sets what a missing link says of the release, and reports whether that is known.
func (l *link) find(p *lint.Pass) (known bool) {
	from, variable := view.From(l.object, l.name)
	if l.kind == "" || variable && !l.object.File.IsOption(from.Name) { // users say what it is called
		return true
	}
	l.in, known = elsewhere(p, l)
	l.released = l.in != nil || l.kind == "ConfigMap" || l.kind == "ServiceAccount" || l.kind == "Role"
	return known
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL017", Name: "objects-of-users", Severity: lint.Info, Proof: lint.Contract,
	Title:  "Templates name objects that users create",
	Source: "clusterctl provider contract, section Links to external objects",
	Why:    "Clusters do not become ready without these objects, and clusterctl does not ask for them.",
	Fix:    "Document how users create them, or add them to the template, with variables for what only users know. Ignore those that a controller creates.",
	Kinds:  rendered, Scope: lint.ScopeRelease, Check: objectsOfUsers,
})

// objectsOfUsers reports each of the objects of a release once.
func objectsOfUsers(p *lint.Pass) {
	told := map[string]bool{}
	for _, f := range p.Release.Files {
		if !slices.Contains(rendered, f.Kind) {
			continue
		}
		of := *p
		of.File = f
		missingLinks(&of, func(l link) {
			if l.released && f.Kind != layouts.ClusterClass {
				return // TPL007
			}
			if what := strings.TrimSpace(l.kind + " " + view.Spelling(l.object, l.name)); !told[what] {
				told[what] = true
				p.Report(lint.On(l.object, l.name, "users must create %s first, unless a controller does: %s of %s refers to it", what, l.field, l.object.Kind).Because(p.Rule.ID))
			}
		})
	}
}
