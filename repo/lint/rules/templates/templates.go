package templates

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/renamed"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/gotypes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var templateRules = &lint.Family{Prefix: "TPL", Title: "Cluster templates"}

// templates are the files that `generate cluster` starts from; rendered are all
// whose objects it prints.
var (
	templates = []layouts.FileKind{layouts.ClusterTemplate}
	rendered  = []layouts.FileKind{layouts.ClusterTemplate, layouts.ClusterClass}
)

// clusters returns the Clusters of a file in the versions that clusterctl looks
// into.
func clusters(f *lint.File) []*manifest.Object {
	return phrase.Only(f.Objects(), func(o *manifest.Object) bool {
		return o.Is(view.CoreGroup, view.ClusterKind) && (o.Version == "v1beta1" || o.Version == "v1beta2")
	})
}

// className returns the path in spec.topology of the class name in a version of
// the Cluster.
func className(version string) []string {
	if version == "v1beta1" {
		return []string{"class"}
	}
	return []string{"classRef", "name"}
}

// classOf returns the name of a Cluster's class. The node is nil if there is
// none.
func classOf(o *manifest.Object) *yamldoc.Node {
	return o.Get("spec", "topology").Get(className(o.Version)...)
}

// classFiles returns the files with the classes of a template that are in the
// release.
func classFiles(p *lint.Pass) []*lint.File {
	return phrase.Distinct(phrase.Some(clusters(p.File), func(c *manifest.Object) *lint.File {
		return p.Release.ClassFile(p.File, classOf(c).Str())
	}))
}

// similar are names that users may give to a template or a class.
var similar = phrase.Pattern(`(?i)^(?:(cluster[-_]?templates?[-_.]?|template[-_.]|template$)|(cluster[-_]?class(?:es)?[-_.]?))(.*)$`)

// suffixed are names of templates with the flavor in front.
var suffixed = phrase.Pattern(`(?i)^(.+)[-_.]cluster[-_]?templates?$`)

// meant returns the name that clusterctl requests for a file whose name is similar
// to that of a template or a class; ok is false for other files, and the name is
// empty for a class without a name.
func meant(file string) (name string, template, ok bool) {
	ending := path.Ext(file)
	if e := strings.ToLower(ending); e != ".yaml" && e != ".yml" {
		return "", false, false
	}
	stem := strings.TrimSuffix(file, ending)
	if m := similar().FindStringSubmatch(stem); m != nil {
		switch {
		case m[2] == "":
			return layouts.TemplateFile(m[3]), true, true
		case m[3] == "":
			return "", false, true
		}
		return layouts.ClusterClassFile(m[3]), false, true
	}
	if m := suffixed().FindStringSubmatch(stem); m != nil {
		return layouts.TemplateFile(m[1]), true, true
	}
	return "", false, false
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL001", Name: "template-name", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Templates and ClusterClasses must have the file names that clusterctl requests",
	Source: "clusterctl provider contract, sections Workload cluster templates and ClusterClass definitions, Naming conventions; clusterctl client/yamlprocessor/simple_processor.go, GetTemplateName",
	Why:    "Users cannot use the file with clusterctl, because no flavor or class name matches it.",
	Fix:    "Name it cluster-template.yaml, cluster-template-FLAVOR.yaml or clusterclass-NAME.yaml.",
	Scope:  lint.ScopeRelease, Check: templateName,
})

func templateName(p *lint.Pass) {
	if p.Release.Provider.Type != layouts.Infrastructure {
		return
	}
	for _, a := range p.Release.Artifacts {
		if a.Kind() != layouts.Asset {
			continue
		}
		name, _, ok := meant(a.Name)
		if strings.EqualFold(name, strings.TrimSuffix(a.Name, path.Ext(a.Name))+".yaml") {
			continue // REPO018
		}
		content := contentOf(a)
		f := lint.Finding{File: a.Path, Severity: lint.Error}
		if content == "" || content == view.ClusterKind && !ok {
			f.Severity = lint.Warning // it may be something else, or an example
		}
		switch {
		case !ok && content == "":
			continue
		case !ok:
			f.Message = fmt.Sprintf("the file contains a %s, and clusterctl does not find it under this name", content)
		case name == "":
			f.Message = "clusterctl does not find a ClusterClass in this file; it requests clusterclass-NAME.yaml"
		case p.Release.Release.Artifact(name) == nil:
			f.Message = fmt.Sprintf("clusterctl requests %s and does not find %s", name, a.Name)
			f = f.Because(view.AsFile(name))
		default:
			f.Message = fmt.Sprintf("clusterctl requests %s, which the release has, and never %s", name, a.Name)
		}
		p.Report(f)
	}
}

// readable end the names of files that may be templates or classes.
var readable = []string{".yaml", ".yml", ".tmpl", ".tpl", ".template", ".txt"}

// contentOf tells by its content what a file of any name is: a template for clusterctl
// ("Cluster template"), a ClusterClass, or an example of a Cluster; "" for anything else.
func contentOf(a *repo.Artifact) string {
	if !slices.Contains(readable, strings.ToLower(path.Ext(a.Name))) || !lint.IsSmall(a) {
		return ""
	}
	data, err := a.Text()
	if err != nil || !strings.Contains(data, view.CoreGroup+"/") {
		return ""
	}
	f := manifest.New(a, layouts.ClusterTemplate, data)
	kind := ""
	for _, o := range f.Objects() {
		switch {
		case o.Is(view.CoreGroup, view.ClusterKind) && len(view.Refs(f)) > 0:
			return "Cluster template"
		case o.Is(view.CoreGroup, view.ClusterKind), o.Is(view.CoreGroup, view.ClassKind) && kind == "":
			kind = o.Kind
		}
	}
	return kind
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL002", Name: "default-template", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A release of an infrastructure provider should have a default template",
	Source: "clusterctl provider contract, section Workload cluster templates, Naming conventions; clusterctl client/repository/template_client.go, Get",
	Why:    `"clusterctl generate cluster" without --flavor fails, because it requests cluster-template.yaml.`,
	Fix:    "Publish the template that most users need as cluster-template.yaml.",
	Yields: []string{"REPO018", "TPL001"},
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		if p.Release.Provider.Type != layouts.Infrastructure || p.Release.Release.Artifact(layouts.TemplateFile("")) != nil {
			return
		}
		switch list := p.Release.OfKind(layouts.ClusterTemplate); {
		case len(list) > 0:
			p.Report(lint.Finding{File: p.Release.Path, Message: fmt.Sprintf("the release has templates for flavors, such as %s, but no %s",
				list[0].Artifact.Name, layouts.TemplateFile(""))}.Because(view.AsFile(layouts.TemplateFile(""))))
		case !slices.ContainsFunc(p.Release.Artifacts, meantAsTemplate):
			p.Path(p.Release.Path, "the release has no cluster template, neither %s nor one for a flavor", layouts.TemplateFile(""))
		}
	},
})

// meantAsTemplate reports whether a file has the name of a template but for a
// mistake, which TPL001 is about.
func meantAsTemplate(a *repo.Artifact) bool {
	_, template, ok := meant(a.Name)
	return ok && template
}

// alwaysSet reports whether clusterctl gives a variable a value by itself
// (clusterctl: client/config.go, templateOptionsToVariables), and which; "" if
// the user has to say it.
func alwaysSet(name string) (value string, ok bool) {
	switch name {
	case "CLUSTER_NAME", "NAMESPACE":
		return "", true
	case "CONTROL_PLANE_MACHINE_COUNT":
		return "1", true
	case "WORKER_MACHINE_COUNT":
		return "0", true
	}
	return "", false
}

// common are the fields that a common variable is for, by what the kind ends
// with. Defaulted says that Cluster API chooses a number if there is none.
var common = []struct {
	suffix, variable string
	path             []string
	defaulted        bool
}{
	{view.ClusterKind, "KUBERNETES_VERSION", []string{"spec", "topology", "version"}, false},
	{"ControlPlane", "KUBERNETES_VERSION", []string{"spec", "version"}, false},
	{"MachineDeployment", "KUBERNETES_VERSION", []string{"spec", "template", "spec", "version"}, false},
	{"MachinePool", "KUBERNETES_VERSION", []string{"spec", "template", "spec", "version"}, false},
	{"MachineSet", "KUBERNETES_VERSION", []string{"spec", "template", "spec", "version"}, false},
	{"Machine", "KUBERNETES_VERSION", []string{"spec", "version"}, false},
	{view.ClusterKind, "CONTROL_PLANE_MACHINE_COUNT", []string{"spec", "topology", "controlPlane", "replicas"}, false},
	{"ControlPlane", "CONTROL_PLANE_MACHINE_COUNT", []string{"spec", "replicas"}, false},
	{view.ClusterKind, "WORKER_MACHINE_COUNT", []string{"spec", "topology", "workers", "machineDeployments", "replicas"}, false},
	{view.ClusterKind, "WORKER_MACHINE_COUNT", []string{"spec", "topology", "workers", "machinePools", "replicas"}, false},
	{"MachineDeployment", "WORKER_MACHINE_COUNT", []string{"spec", "replicas"}, true},
	{"MachinePool", "WORKER_MACHINE_COUNT", []string{"spec", "replicas"}, true},
	{"MachineSet", "WORKER_MACHINE_COUNT", []string{"spec", "replicas"}, true},
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL003", Name: "common-variables", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "A template should take names, namespace, version and replicas from the common variables",
	Source: "clusterctl provider contract, section Workload cluster templates, Common variables",
	Why:    `The flags of "clusterctl generate cluster" have no effect. With a fixed name, a second cluster overwrites the first.`,
	Fix:    "Use ${CLUSTER_NAME}, ${NAMESPACE}, ${KUBERNETES_VERSION}, ${CONTROL_PLANE_MACHINE_COUNT} and ${WORKER_MACHINE_COUNT}.",
	Yields: []string{"TOP001", "TPL015"},
	Kinds:  templates, Check: commonVariables,
})

// plain reports whether a file of a user is what kubectl applies, and not a template: it has
// neither a variable nor the name of a template.
func plain(p *lint.Pass) bool {
	_, named := layouts.Flavor(p.File.Artifact.Name)
	return p.Release.Own && !named && len(view.Refs(p.File)) == 0
}

func commonVariables(p *lint.Pass) {
	list := clusters(p.File)
	if len(list) == 0 || plain(p) {
		return
	}
	for _, c := range list {
		n := c.Get("metadata", "name")
		switch from, variable := view.From(c, n); {
		case n.Str() == "", comesFrom(c, n, "CLUSTER_NAME"):
		case variable:
			p.Report(lint.On(c, n, "the Cluster is named by ${%s}, so the name given to clusterctl has no effect", from.Name).Because(nameOf(c)))
		default:
			p.Report(lint.On(c, n, "the Cluster is always named %s, regardless of the name given to clusterctl", n.Text()).Because(nameOf(c)))
		}
	}
	for _, o := range p.File.Objects() {
		n := o.Get("metadata", "namespace")
		if from, variable := view.From(o, n); variable && !comesFrom(o, n, "NAMESPACE") {
			f := lint.On(o, n, "the namespace comes from ${%s}, but clusterctl replaces it by that of --target-namespace, ${NAMESPACE}", from.Name)
			if slices.ContainsFunc(p.File.Objects(), func(other *manifest.Object) bool {
				at := other.Get("metadata", "namespace")
				return !layouts.ClusterScoped(other.Group, other.Kind) && other.Kind != "Namespace" && view.Spelling(other, at) != view.Spelling(o, n)
			}) {
				f.Severity = lint.Error // all objects MUST be in one namespace
			}
			p.Report(f.Perhaps(view.Default(p.File, from.Name)))
			break // once is enough
		}
	}
	if slices.ContainsFunc(list, func(c *manifest.Object) bool { return view.Variable(c, c.Get("metadata", "name")) }) {
		sharedObjects(p)
	}
	used := map[string]bool{}
	for _, r := range view.Refs(p.File) {
		used[r.Name] = true
	}
	reported := map[string]bool{}
	for _, row := range common {
		for _, o := range p.File.Objects() {
			if reported[row.variable] || !strings.HasSuffix(o.Kind, row.suffix) || !contract.OfClusterAPI(o.Group) ||
				row.suffix == "Machine" && o.Group != view.CoreGroup {
				continue
			}
			values := valuesAt(o.Doc.Root, row.path)
			if len(values) == 0 && row.defaulted && o.Group == view.CoreGroup && !used[row.variable] && !scaled(o) {
				p.On(o, o.Get("spec"), "%s is always 1, because the template does not use ${%s}", strings.Join(row.path, "."), row.variable)
				reported[row.variable] = true
			}
			for _, n := range values {
				if f, ok := uncommon(o, n, row.path, row.variable, used[row.variable]); ok && !reported[row.variable] {
					if from, variable := view.From(o, n); variable {
						f = f.Perhaps(view.Default(p.File, from.Name))
					}
					p.Report(f)
					reported[row.variable] = true // once is enough
				}
			}
		}
	}
}

// nameOf is the cause of findings about the name of a Cluster, which is not the one given to clusterctl.
func nameOf(cluster *manifest.Object) string { return "name of " + view.Named(cluster) }

// comesFrom reports whether a value is made, in part or whole, of a variable, which may be in
// the default of another.
func comesFrom(o *manifest.Object, n *yamldoc.Node, variable string) bool {
	from, ok := view.From(o, n)
	return ok && (from.Name == variable || strings.Contains(view.Spelling(o, n), "${"+variable))
}

// scaled reports whether the cluster autoscaler sets the replicas of an object.
func scaled(o *manifest.Object) bool {
	return slices.ContainsFunc(o.Get("metadata", "annotations").Fields(), func(f yamldoc.Field) bool {
		return strings.Contains(f.Name, "autoscaler")
	})
}

// sharedObjects reports the objects that all clusters of the template share, because they have
// a fixed name, although users may give each cluster another content.
func sharedObjects(p *lint.Pass) {
	ofClass := view.ClassTemplates(p.File)
	var first *manifest.Object
	var names []string
	for _, o := range p.File.Objects() {
		n := o.Get("metadata", "name")
		if o.Name == "" || view.Variable(o, n) || ofClass[o] || o.Is(view.CoreGroup, view.ClassKind) || o.Is(view.CoreGroup, view.ClusterKind) ||
			o.Kind == "Namespace" || layouts.ClusterScoped(o.Group, o.Kind) || !individual(o) {
			continue
		}
		first = cmp.Or(first, o)
		names = append(names, o.Kind+" "+o.Name)
	}
	if first != nil {
		f := lint.On(first, first.Get("metadata", "name"), "the second cluster in a namespace overwrites what the first one has, because the name is fixed: %s", phrase.Few(names, 3))
		f.Object = "" // which the message names
		p.Report(f)
	}
}

// individual reports whether the content of an object depends on variables, or is that of a
// part of a cluster.
func individual(o *manifest.Object) bool {
	text := o.File.Text()
	if contract.OfClusterAPI(o.Group) && o.Group != view.AddonsGroup {
		return true
	}
	if text == nil {
		return false
	}
	start, end := o.Doc.Range()
	start, end = text.RawOffset(start), text.RawOffset(end)
	rs := view.Refs(o.File)
	first, _ := slices.BinarySearchFunc(rs, start, func(r vars.Ref, off int) int { return cmp.Compare(r.Start, off) })
	for _, r := range rs[first:] {
		if r.Start >= end {
			break
		}
		if r.Name != "NAMESPACE" {
			return true
		}
	}
	return false
}

// valuesAt returns the values at a path, in which a list stands for its entries.
func valuesAt(n *yamldoc.Node, way []string) []*yamldoc.Node {
	switch {
	case n == nil:
		return nil
	case n.Is(yamldoc.List):
		return phrase.Flat(n.List(), func(item *yamldoc.Node) []*yamldoc.Node { return valuesAt(item, way) })
	case len(way) == 0:
		return []*yamldoc.Node{n}
	}
	return valuesAt(n.Get(way[0]), way[1:])
}

// uncommon says what is wrong if a value does not come from the common variable.
// Elsewhere says that the template uses it in another place: then a number of
// machines may differ here on purpose, and a version may not.
func uncommon(o *manifest.Object, n *yamldoc.Node, way []string, common string, elsewhere bool) (f lint.Finding, ok bool) {
	field := strings.Join(way, ".")
	ref, variable := view.From(o, n)
	version := common == "KUBERNETES_VERSION"
	switch {
	case comesFrom(o, n, common):
	case variable && (version || !elsewhere):
		return lint.On(o, n, "%s comes from ${%s}, so %s of clusterctl has no effect", field, ref.Name, flagOf[common]), true
	case variable:
	case !elsewhere:
		return lint.On(o, n,
			"%s is always %s, because the template does not use ${%s}", field, view.ScalarText(n), common), true
	case version:
		return lint.On(o, n,
			"%s is always %s, although the template uses ${%s} elsewhere", field, view.ScalarText(n), common), true
	}
	return f, false
}

// flagOf is the flag of "clusterctl generate cluster" for a variable.
var flagOf = map[string]string{
	"KUBERNETES_VERSION": "--kubernetes-version", "CONTROL_PLANE_MACHINE_COUNT": "--control-plane-machine-count", "WORKER_MACHINE_COUNT": "--worker-machine-count",
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL004", Name: "default-without-effect", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Variables that clusterctl always sets should not have another default",
	Source: "clusterctl client/config.go, templateOptionsToVariables",
	Why:    "The default in the file is never used: clusterctl always sets the variable, by default to 1 control plane machine and 0 workers.",
	Fix:    "Remove the default, or use another variable for it.",
	Kinds:  rendered, Check: defaultWithoutEffect,
})

func defaultWithoutEffect(p *lint.Pass) {
	seen := map[string]bool{}
	rs := view.Refs(p.File)
	for i := range rs {
		r := &rs[i]
		value, ok := alwaysSet(r.Name)
		if !ok || r.Depth > 0 || !r.IsDefault() || r.Default == value || seen[r.Name] {
			continue
		}
		seen[r.Name] = true
		f := lint.Spanning(p.File, r.Start, r.End,
			"the default %[2]q is never used: clusterctl always sets %[1]s", r.Name, r.Default)
		if value != "" {
			f.Message = fmt.Sprintf("the default %[3]q is never used: clusterctl sets %[1]s to %[2]s unless the user gives another value", r.Name, value, r.Default)
		} else {
			f.Severity = lint.Info // it serves those who render without clusterctl
		}
		p.Report(f)
	}
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL005", Name: "cluster-wide-object", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Templates must not contain Namespaces or other cluster-wide objects",
	Source: "clusterctl provider contract, section Workload cluster templates, Target namespace; clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    `clusterctl renames a Namespace to the target namespace, so users who delete the rendered file delete everything in it. Other cluster-wide objects are shared by all clusters, and "clusterctl move" leaves them behind.`,
	Fix:    "Remove the object from the file and document it as a prerequisite.",
	Kinds:  rendered, Check: view.EachObject(clusterWide),
})

func clusterWide(p *lint.Pass, o *manifest.Object) {
	if plain(p) || p.Release.IsPart(p.File) {
		return
	}
	name := o.Get("metadata", "name")
	crd := p.Release.CRD(o.Group, o.Kind)
	switch {
	case o.Kind == "Namespace": // of any group, as for clusterctl
		if m := o.Get("metadata"); m != nil && !m.Is(yamldoc.Map) {
			return // clusterctl cannot rename it
		}
		p.On(o, name, "the %s contains a Namespace, which clusterctl renames to the target namespace", fileKind(p.File))
	case layouts.ClusterScoped(o.Group, o.Kind), crd != nil && crd.Scope == "Cluster":
		f := lint.On(o, name, "%s is cluster-wide, so all clusters created from the %s share this object", o.Kind, fileKind(p.File))
		f.Severity = lint.Warning
		if view.Variable(o, name) {
			n := move.NewNode(move.ID{Group: o.Group, Kind: o.Kind, Name: o.Name}, o, typesOf(p.Release))
			if n.Move == move.Unmarked {
				return // MOVE003
			}
			f.Severity = lint.Info
			f.Message = fmt.Sprintf("%s is cluster-wide, so clusterctl move copies this object and does not remove it from the source", o.Kind)
		}
		if crd != nil {
			f = f.Perhaps("scope of " + crd.Object.Name)
		}
		p.Report(f)
	}
}

// fileKind is what a file is called in messages.
func fileKind(f *lint.File) string {
	if f.Kind == layouts.ClusterClass {
		return "ClusterClass file"
	}
	return "template"
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL006", Name: "several-namespaces", Severity: lint.Error, Proof: lint.Contract,
	Title:  "All objects of a template and their references must be in one namespace",
	Source: "clusterctl provider contract, section Workload cluster templates, Target namespace; clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    "References do not work: clusterctl puts all objects into the target namespace, but does not change references.",
	Fix:    "Remove the namespace from all objects, or write ${NAMESPACE} everywhere.",
	Kinds:  templates, Check: severalNamespaces,
})

func severalNamespaces(p *lint.Pass) {
	if plain(p) {
		return // kubectl applies each object in its own
	}
	var first *manifest.Object // that counts: without a namespace, in the target namespace, or in any
	var own string
	for _, o := range p.File.Objects() {
		// Other kinds than Cluster may be cluster-wide.
		if space, ok := namespaceOf(o); ok && named(o, space) && (first == nil || space == "" && (own != "" || o.Kind == view.ClusterKind)) {
			first, own = o, space
		}
	}
	for _, o := range p.File.Objects() {
		if space, ok := namespaceOf(o); ok && named(o, space) && space != own {
			f := lint.On(o, o.Get("metadata", "namespace"), "the namespace is %s here, but %s for %s; clusterctl puts all objects into one namespace, kubectl does not",
				space, cmp.Or(own, "the target namespace"), cmp.Or(strings.TrimSpace(first.Kind+" "+view.Spelling(first, first.Get("metadata", "name"))), "another object"))
			p.Report(f.Because(p.Rule.ID + p.File.Raw.Name + space))
		}
	}
	index := lint.NewIndex(p.File.Objects())
	references(p.File, func(r objectRef) {
		n := r.node.Get("namespace")
		if n.Str() == "" || view.Variable(r.object, n) || index.Find(r.group, r.kind, r.name.Text()) == nil {
			return
		}
		p.Report(lint.At(r.object.File, r.object.Doc, n, "the reference keeps namespace %s, although clusterctl may move %s %s to another", n.Text(), r.kind, r.name.Text()).As(lint.Warning)) // Cluster API no longer reads it
	})
}

// named reports whether an object in a namespace says what it is; YAML007 reports one that does not.
func named(o *manifest.Object, space string) bool { return space != "" || o.Kind != "" && o.Name != "" }

// namespaceOf returns the namespace of an object as the file writes it: "" for the target
// namespace. It is not ok for cluster-wide objects, and if users choose the namespace.
func namespaceOf(o *manifest.Object) (space string, ok bool) {
	n := o.Get("metadata", "namespace")
	from, variable := view.From(o, n)
	space = view.Spelling(o, n)
	switch {
	case layouts.ClusterScoped(o.Group, o.Kind), o.Kind == "Namespace":
		return "", false
	case n.Str() == "":
		return "", true
	case !variable:
		return space, true
	case from.Name != "NAMESPACE":
		return "", false // TPL003
	case space == o.File.Raw.Data[from.Start:from.End] || space == n.Text():
		return "", true
	}
	return space, true
}

// objectRef is a value that names another object.
type objectRef struct {
	object      *manifest.Object
	node, name  *yamldoc.Node
	field       string
	group, kind string
}

// refers reports whether a field of an object refers to an object of a provider:
// in a kind of Cluster API, or in one of another provider.
func refers(field string, core bool) bool {
	switch field {
	case "infrastructureRef", "remediationTemplate":
		return true
	case "controlPlaneRef", "configRef", "templateRef":
		return core
	}
	return false
}

// references calls visit for the references that make up a cluster, and for the name of
// the Cluster if the file defines one. Those of ClusterClasses are left out.
func references(f *lint.File, visit func(objectRef)) {
	for _, o := range f.Objects() {
		if !contract.OfClusterAPI(o.Group) || o.Is(view.CoreGroup, view.ClassKind) {
			continue
		}
		var walk func(n *yamldoc.Node)
		walk = func(n *yamldoc.Node) {
			for i := range n.Fields() {
				field := &n.Fields()[i]
				if refers(field.Name, o.Group == view.CoreGroup) {
					if r, ok := refer(o, field.Name, field.Value); ok {
						visit(r)
						continue
					}
				}
				walk(field.Value)
			}
			for _, item := range n.List() {
				walk(item)
			}
		}
		if spec := o.Get("spec"); spec != nil {
			walk(spec)
			if name := spec.Get("clusterName"); name.Str() != "" && o.Group == view.CoreGroup && len(clusters(f)) > 0 {
				visit(objectRef{object: o, node: spec, field: "clusterName", name: name, kind: view.ClusterKind, group: view.CoreGroup})
			}
		}
	}
}

func refer(o *manifest.Object, field string, n *yamldoc.Node) (objectRef, bool) {
	r := objectRef{object: o, node: n, field: field, name: n.Get("name"), kind: n.Get("kind").Str(), group: manifest.GroupOf(n)}
	return r, r.name.Str() != "" && r.kind != "" && r.group != ""
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL007", Name: "reference-target", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Objects that a template refers to must be in the template or its ClusterClass",
	Source: "clusterctl provider contract, sections Workload cluster templates and Links to external objects",
	Why:    "The cluster never becomes ready, because its controller waits for an object that does not exist.",
	Fix:    "Correct the kind, group or name of the reference, or add the object.",
	Kinds:  templates, Check: referenceTarget,
})

// misfit says why an object cannot refer to this kind: it is a template where an object is
// needed, or the other way round.
func (r *objectRef) misfit() string {
	switch templates, known := contract.FromTemplates(r.object.Group, r.object.Kind); {
	case !known || r.field == "clusterName" || view.Open(r.object, r.node.Get("kind")),
		templates == strings.HasSuffix(r.kind, contract.Suffix):
		return ""
	case templates:
		return fmt.Sprintf("a %s makes objects from templates, such as %s", r.object.Kind, r.kind+contract.Suffix)
	}
	return fmt.Sprintf("a %s needs an object, not a template", r.object.Kind)
}

// dangling calls visit for the references to objects that neither the template nor its
// classes define, with all that they do.
func dangling(p *lint.Pass, visit func(r objectRef, all []*manifest.Object, index *lint.Index)) {
	all := slices.Concat(p.File.Objects(), phrase.Flat(classFiles(p), (*lint.File).Objects))
	if p.Release.IsPart(p.File) {
		all = append(all, phrase.Flat(p.Release.Files, (*lint.File).Objects)...) // it may be a part of any
	}
	index := lint.NewIndex(all)
	references(p.File, func(r objectRef) {
		if index.Find(r.group, r.kind, r.name.Text()) != nil ||
			p.Release.Brings(r.group, r.kind, r.name.Text()) {
			return
		}
		if view.Open(r.object, r.node.Get("kind")) || view.Open(r.object, r.node.Get("apiVersion")) ||
			view.Open(r.object, r.node.Get("apiGroup")) {
			return // the target is unknown
		}
		visit(r, all, index)
	})
}

func referenceTarget(p *lint.Pass) {
	references(p.File, func(r objectRef) {
		if why := r.misfit(); why != "" {
			f := lint.On(r.object, r.node.Get("kind"), "%s refers to %s, but %s", r.field, r.kind, why)
			p.Report(f.Because(view.Reference(r.object, r.node)))
		}
	})
	dangling(p, func(r objectRef, all []*manifest.Object, index *lint.Index) {
		if r.misfit() != "" || slices.ContainsFunc(append(classFiles(p), p.File), func(f *lint.File) bool { return f.MayHold(r.kind, "") }) {
			return // a document that cannot be read may have the object
		}
		f := lint.At(r.object.File, r.object.Doc, r.name,
			"%s refers to %s %s, which the template does not define", r.field, r.kind, view.Spelling(r.object, r.name))
		if p.Release.IsPart(p.File) || p.Release.Incomplete != "" {
			f.Severity = lint.Warning // the file with the object may not have been given
		}
		candidates := index.Kind(r.group, r.kind)
		for _, o := range candidates {
			if view.DiffersByVariable(r.object, r.name, o) {
				f.Severity = lint.Warning
				f.Message += "; whether it does depends on the values of variables"
				break
			}
		}
		names := phrase.List(candidates, func(o *manifest.Object) string { return o.Name })
		near := phrase.Nearest(r.name.Text(), names)
		if o := sameName(all, r); o != nil {
			f.Message += fmt.Sprintf("; it defines %s %s of %s", o.Kind, view.Spelling(o, o.Get("metadata", "name")), o.Group)
			f = f.Perhaps(view.Named(o))
			if o.Kind == r.kind {
				f = f.Because("group " + o.Group + " for " + r.group + " in " + p.File.Raw.Name)
			}
		} else if near != "" {
			o := candidates[slices.Index(names, near)]
			f.Fix = "Did you mean " + view.Spelling(o, o.Get("metadata", "name")) + "?"
		}
		if list := clusters(p.File); r.kind == view.ClusterKind && len(list) == 1 && comesFrom(r.object, r.name, "CLUSTER_NAME") {
			f = f.Perhaps(nameOf(list[0]))
		}
		p.Report(f.Because(view.Reference(r.object, r.node)))
	})
	missingLinks(p, func(l link) {
		if !l.released {
			return // TPL017
		}
		f := lint.On(l.object, l.name, "%s refers to %s %s, which the template does not define", l.field, l.kind, view.Spelling(l.object, l.name)).As(lint.Warning)
		if l.in != nil {
			f.Message += "; it is in " + l.in.Artifact.Name
		}
		f.Object = "" // one finding for all templates of a release
		p.Report(f)
	})
}

// sameName returns an object of a provider that has the name of a reference, but
// another kind or group.
func sameName(all []*manifest.Object, r objectRef) *manifest.Object {
	for _, o := range all {
		if o.Name == r.name.Text() && o.Group != view.CoreGroup &&
			contract.OfClusterAPI(o.Group) && (o.Kind == r.kind || o.Group == r.group) {
			return o
		}
	}
	return nil
}

// topologyFields are the fields of a topology in v1beta2; one that has none of
// them does not count for clusterctl.
var topologyFields = [][]string{
	{"classRef", "name"}, {"classRef", "namespace"}, {"version"}, {"controlPlane"},
	{"workers", "machineDeployments"}, {"workers", "machinePools"}, {"variables"},
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL009", Name: "class-name-missing", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A Cluster with a topology must name its class in the field of its version",
	Source: "clusterctl client/clusterclass.go, clusterClassNamesFromTemplate; api/core/v1beta1 and v1beta2, Cluster.GetClassKey",
	Why:    "clusterctl refuses the template: it reads an empty class name and requests a file clusterclass-.yaml.",
	Fix:    "Write spec.topology.classRef.name in a v1beta2 Cluster, or spec.topology.class in a v1beta1 Cluster.",
	Kinds:  templates, Check: func(p *lint.Pass) {
		for _, o := range clusters(p.File) {
			field := "spec.topology." + strings.Join(className(o.Version), ".")
			switch n, other := classOf(o), otherClassName(o); {
			case !classless(o):
			case other != nil:
				p.On(o, other, "a Cluster of %s names its class in %s, so clusterctl reads an empty name", o.Version, field)
			case n != nil:
				p.On(o, n, "the class name is empty")
			default:
				p.Report(lint.On(o, o.Get("spec", "topology"), "the topology has no %s", field).Because(view.FieldOf(o, field)))
			}
		}
	},
})

// classless reports whether clusterctl sees a topology without a class in a
// Cluster.
func classless(o *manifest.Object) bool {
	topology, n := o.Get("spec", "topology"), classOf(o)
	switch {
	case topology == nil || topology.Is(yamldoc.Null) || n.Str() != "":
		return false
	case n != nil && !n.Is(yamldoc.String) && !n.Is(yamldoc.Null): // which a rule about types reports
		return false
	case o.Version == "v1beta2": // an empty topology is none
		return slices.ContainsFunc(topologyFields, func(way []string) bool { return !view.Blank(topology.Get(way...)) })
	}
	return true
}

// otherClassName returns the class name in the field of the other version.
func otherClassName(o *manifest.Object) *yamldoc.Node {
	other := "v1beta1"
	if o.Version == other {
		other = "v1beta2"
	}
	f := o.Get("spec", "topology").Field(className(other)[0])
	if f == nil {
		return nil
	}
	return f.Key()
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL010", Name: "class-file-missing", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Every class of a Cluster must have a file clusterclass-NAME.yaml",
	Source: "clusterctl client/clusterclass.go, fetchMissingClusterClassTemplates",
	Why:    "clusterctl refuses the template unless the management cluster already has the class. It looks neither in the template nor in other flavors.",
	Fix:    "Publish the class as clusterclass-NAME.yaml in the same release.",
	Yields: []string{"REPO018", "TPL001", "CC024"},
	Kinds:  templates, Release: true, Check: classFileMissing,
})

func classFileMissing(p *lint.Pass) {
	for _, o := range clusters(p.File) {
		n := classOf(o)
		if n.Str() == "" || p.Release.File(layouts.ClusterClassFile(n.Text())) != nil {
			continue
		}
		if view.Open(o, n) {
			r, _ := view.From(o, n)
			if len(p.Release.OfKind(layouts.ClusterClass)) == 0 {
				p.Report(lint.On(o, n, "the user chooses the class with ${%s}, but the release has no clusterclass-NAME.yaml", r.Name).As(lint.Warning))
			}
			continue
		}
		f := lint.On(o, n,
			"class %s must be in %s, which the release does not contain", n.Text(), layouts.ClusterClassFile(n.Text())).
			Because(view.AsFile(layouts.ClusterClassFile(n.Text())))
		if c := classElsewhere(p, n.Text()); c != nil {
			f.Message += "; it is in " + c.Artifact.Name
		}
		p.Report(f)
	}
}

// classElsewhere returns the file that holds a class, or nil.
func classElsewhere(p *lint.Pass, name string) *lint.File {
	for _, f := range p.Release.WithClasses() {
		if slices.Contains(rendered, f.Kind) && slices.ContainsFunc(f.Objects(), func(o *manifest.Object) bool {
			return o.Is(view.CoreGroup, view.ClassKind) && o.Name == name
		}) {
			return f
		}
	}
	return nil
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL011", Name: "class-twice", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Clusters of a template should use different classes",
	Source: "clusterctl client/clusterclass.go, fetchMissingClusterClassTemplates",
	Why:    "Tools that refuse duplicates fail, because clusterctl prints the class and its templates once for each Cluster.",
	Fix:    "Put the Clusters into different templates.",
	Kinds:  templates, Check: func(p *lint.Pass) {
		seen := map[string]*manifest.Object{}
		for _, o := range clusters(p.File) {
			n := classOf(o)
			if n.Str() == "" {
				continue
			}
			if first := seen[n.Text()]; first != nil {
				p.On(o, n, "Cluster %s also uses class %s, so clusterctl prints the class twice", first.Name, n.Text())
				continue
			}
			seen[n.Text()] = o
		}
	},
})

// builtIn are the kinds of Cluster API and its kubeadm providers, all of which its
// supported releases serve in the same versions.
var builtIn = []struct {
	group string
	kinds []string
}{
	{view.CoreGroup, []string{view.ClusterKind, view.ClassKind, "Machine", "MachineDeployment", "MachineDrainRule", "MachineHealthCheck", "MachinePool", "MachineSet"}},
	{view.AddonsGroup, []string{view.ResourceSets, "ClusterResourceSetBinding"}},
	{"bootstrap.cluster.x-k8s.io", []string{"KubeadmConfig", "KubeadmConfigTemplate"}},
	{"controlplane.cluster.x-k8s.io", []string{"KubeadmControlPlane", "KubeadmControlPlaneTemplate"}},
}

// served returns the versions that are served of a kind, and whether that is
// known.
func served(r *lint.Release, group, kind string) (versions []string, known bool) {
	for _, row := range builtIn {
		if row.group == group && slices.Contains(row.kinds, kind) {
			return []string{"v1beta2", "v1beta1"}, true
		}
	}
	c := r.CRD(group, kind)
	if c == nil {
		return nil, false
	}
	return c.Served(), true
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL012", Name: "typed-cluster", Severity: lint.Error, Proof: lint.Clusterctl,
	Yields: []string{"YAML009"},
	Title:  "Clusters must match the types of Cluster API",
	Source: "clusterctl client/clusterclass.go, clusterClassNamesFromTemplate",
	Why:    "clusterctl refuses the template, because it cannot convert a Cluster with a value of the wrong type. A variable in quotes is always a string.",
	Fix:    "Write a value of the field's type: numbers and booleans without quotes, strings in quotes.",
	Kinds:  []layouts.FileKind{layouts.ClusterTemplate}, Check: view.EachObject(typedCluster),
})

func typedCluster(p *lint.Pass, o *manifest.Object) {
	if o.Kind == view.ClusterKind {
		view.Misfits(o, func(problem gotypes.Problem) {
			if !problem.Kind.Fatal() {
				return
			}
			f := lint.On(o, problem.Node, "clusterctl refuses this %s: %s", o.Kind, view.Misfit(problem))
			f.Fix = view.MisfitFix(o, problem)
			if p.Release.Own {
				f.Message = "the API server refuses this " + o.Kind + ": " + view.Misfit(problem)
			} else if p.Release.Provider.Type != layouts.Infrastructure {
				// Only --from reads this template, and does not look into it.
				f.Severity = lint.Warning
				f.Message = view.Misfit(problem)
			}
			p.Report(f)
		})
	}
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL013", Name: "version-not-served", Severity: lint.Error, Proof: lint.APIServer,
	Yields: []string{"CC001", "CRD011"},
	Title:  "Objects and references must use a served version",
	Source: "spec.versions of the CustomResourceDefinitions in the components; CustomResourceDefinitions of Cluster API",
	Why:    "The API server refuses the object, and a reference to an unserved version does not work.",
	Fix:    "Use a version that is served.",
	Kinds:  rendered, Check: versionNotServed,
})

func versionNotServed(p *lint.Pass) {
	check := func(o *manifest.Object, n *yamldoc.Node, kind string) {
		group, version := manifest.SplitAPIVersion(n.Str())
		if version == "" || view.Open(o, n) {
			return
		}
		versions, known := served(p.Release, group, kind)
		if !known || slices.Contains(versions, version) || len(versions) == 0 { // CRD006
			return
		}
		f := lint.On(o, n, "%s of %s is not served in version %s, but in %s", kind, group, version, strings.Join(versions, " and "))
		f.Fix = "Write " + group + "/" + versions[0] + ", and check the fields."
		if n != o.Get("apiVersion") {
			f.Severity = lint.Warning // Cluster API no longer reads the version
		}
		if c := p.Release.CRD(group, kind); c != nil && c.Version(version) == nil {
			f = view.Unversioned(p, f, c, version)
		}
		p.Report(f)
	}
	for _, o := range p.File.Objects() {
		check(o, o.Get("apiVersion"), o.Kind)
	}
	references(p.File, func(r objectRef) {
		if n := r.node.Get("apiVersion"); n != nil {
			check(r.object, n, r.kind)
		}
	})
}

// serverOwned are the fields that only the API server sets, or that it refuses.
var serverOwned = []struct {
	field, message string
	severity       lint.Severity
}{
	{"resourceVersion", "the API server refuses a new object with a resourceVersion", lint.Error},
	{"uid", "the uid is that of another object", lint.Warning},
	{"creationTimestamp", "the creationTimestamp is that of another object", lint.Warning},
	{"deletionTimestamp", "the deletionTimestamp is that of another object", lint.Warning},
	{"managedFields", "the managedFields are those of another object", lint.Warning},
	{"selfLink", "the selfLink is that of another object", lint.Warning},
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL014", Name: "server-fields", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Objects must not have fields that the API server sets",
	Source: "Kubernetes API conventions, section Metadata; apimachinery api/validation, ValidateObjectMeta",
	Why:    "The API server refuses a new object with a resourceVersion or an owner without uid, and deletes one whose owner does not exist. It ignores the other fields. All of them come from copying a live object.",
	Fix:    "Remove the field.",
	Kinds:  rendered, Check: view.EachObject(serverFields),
})

func serverFields(p *lint.Pass, o *manifest.Object) {
	meta := o.Get("metadata")
	for _, row := range serverOwned {
		if n := meta.Get(row.field); !view.Blank(n) && !view.Open(o, n) {
			p.Report(lint.On(o, meta.Field(row.field).Key(), "%s", row.message).As(row.severity))
		}
	}
	for _, owner := range meta.Get("ownerReferences").List() {
		if uid := owner.Get("uid"); view.Blank(uid) {
			p.On(o, owner, "the owner has no uid, which the API server refuses and a template cannot know")
		} else {
			p.Report(lint.On(o, uid, "the uid belongs to an object elsewhere, so the garbage collector deletes the %s", o.Kind).As(lint.Warning))
		}
	}
	if status := o.Doc.Root.Field("status"); status != nil && !view.Blank(status.Value) {
		p.Report(lint.On(o, status.Key(), "the status is that of another object, and the API server drops it").As(lint.Warning))
	}
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL015", Name: "object-schema", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Objects must match the CustomResourceDefinitions of the release",
	Source: "apiextensions-apiserver, validation of custom resources; Kubernetes API, fieldValidation Strict",
	Why:    "The API server refuses the object. kubectl refuses one with an unknown field; other clients lose the field silently.",
	Fix:    "Set the field to what the schema of the CRD allows, or remove it if the schema has no such field.",
	Kinds:  view.Substituted, Check: objectSchema,
})

func objectSchema(p *lint.Pass) { view.MatchDefinitions(p, false) }

var _ = templateRules.Add(lint.Rule{
	ID: "TPL016", Name: "old-contract", Severity: lint.Info, Proof: lint.Contract,
	Title:  "The file uses a deprecated version of a kind of Cluster API",
	Source: "Cluster API book, Version support; CustomResourceDefinitions of Cluster API v1.14",
	Why:    "v1beta1 has been deprecated since Cluster API v1.11. The API server warns users about it, and refuses the objects once Cluster API stops serving v1beta1 in 2027.",
	Fix:    "Convert the objects to v1beta2; some fields have other names there.",
	Kinds:  view.Substituted, Check: oldContract,
})

func oldContract(p *lint.Pass) {
	if p.Profile.Core < 11 {
		return
	}
	// One finding for the file: all of it is brought to the new version together.
	for _, o := range p.File.Objects() {
		if o.Is(view.CoreGroup, "ClusterClass") { // CC020
			continue
		}
		version := o.Get("apiVersion")
		if k := renamed.Find(version.Str(), o.Kind); k != nil {
			f := lint.At(p.File, o.Doc, version,
				"the file uses %s of Cluster API, which is deprecated; the version is %s now", o.Version, k.To)
			f.Object = ""
			f.Fix = view.Renamed(phrase.Only(p.File.Objects(), func(o *manifest.Object) bool { return !o.Is(view.CoreGroup, "ClusterClass") })...)
			p.Report(f.Perhaps(view.VersionOf(o)))
			return
		}
	}
}

var _ = templateRules.Add(lint.Rule{
	ID: "TPL018", Name: "no-cluster", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A template must contain a Cluster",
	Source: "clusterctl provider contract, section Workload cluster templates",
	Why:    `"clusterctl generate cluster" prints something that does not create a cluster.`,
	Fix:    "Add the Cluster and the objects that it refers to.",
	Kinds:  templates, Check: noCluster,
})

func noCluster(p *lint.Pass) {
	if p.File.MayHold(view.ClusterKind, "") || p.Release.IsPart(p.File) {
		return // a document that cannot be read may be the Cluster
	}
	var class *manifest.Object
	for _, o := range p.File.Objects() {
		switch {
		case o.Is(view.CoreGroup, view.ClusterKind), o.IsList(): // YAML008
			return
		case o.Is(view.CoreGroup, view.ClassKind) && class == nil:
			class = o
		}
	}
	switch {
	case len(p.File.Objects()) == 0 && !p.File.Parses(): // YAML001
	case len(p.File.Objects()) == 0:
		p.Path(p.File.Raw.Name, "the template does not contain any object")
	case class != nil: // clusterctl prints it, for users to apply
		f := lint.On(class, class.Get("metadata", "name"), "the template contains a ClusterClass and no Cluster; clusterctl only finds classes in clusterclass-NAME.yaml").As(lint.Warning)
		f.Object, f.Fix = "", "Publish the class as clusterclass-NAME.yaml in the same release."
		p.Report(f)
	default:
		p.Path(p.File.Raw.Name, "the template does not contain a Cluster")
	}
}
