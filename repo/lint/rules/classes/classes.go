package classes

import (
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var classRules = &lint.Family{Prefix: "CC", Title: "ClusterClasses: files, references and classes", Kinds: view.Substituted}

// Sources of what the API server says about a ClusterClass.
const (
	classCRD       = "CustomResourceDefinition of ClusterClass in Cluster API"
	classAdmission = "cluster-api core/webhooks/admission, ClusterClass"
	classContract  = "Cluster API book, Writing a ClusterClass, and clusterctl provider contract, ClusterClass definitions"
)

// classFileKinds are the files that clusterctl brings with a class.
var classFileKinds = []layouts.FileKind{layouts.ClusterClass, layouts.ClusterTemplate}

// eachClass applies a check to every ClusterClass of a file.
func eachClass(check func(*lint.Pass, *clusterclass.Class)) func(*lint.Pass) {
	return view.ForEach(func(p *lint.Pass) []*clusterclass.Class { return clusterclass.In(p.File) }, check)
}

// each applies a check to what a function returns of every ClusterClass of a file.
func each[T any](of func(*clusterclass.Class) []T, check func(*lint.Pass, *clusterclass.Class, T)) func(*lint.Pass) {
	return eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		for _, one := range of(c) {
			check(p, c, one)
		}
	})
}

// sampled reports whether one of the values came from a variable, so that others
// may take its place.
func sampled(o *manifest.Object, nodes ...*yamldoc.Node) bool {
	return slices.ContainsFunc(nodes, func(n *yamldoc.Node) bool { return view.Variable(o, n) })
}

// spokenFor are the paths of a class that a rule of their own is about; CC022
// leaves them out. Indices of lists are left out of the paths. Missing says that
// the rule also sees that nothing is there.
var spokenFor = []struct {
	rule, prefix, suffix string
	missing              bool
}{
	{"CC002", "spec.", "ef.apiVersion", true},
	{"CC002", "spec.", "ef.kind", true},
	{"CC002", "spec.", "ef.name", true},
	{"CC002", "spec.", ".ref", true},
	{"CC002", "spec.", ".templateRef", true},
	{"CC002", "spec.infrastructure", "spec.infrastructure", true},
	{"CC002", "spec.controlPlane", "spec.controlPlane", true},
	{"CC002", "spec.workers.", "[].template", true},
	{"CC002", "spec.workers.", ".bootstrap", true},
	{"CC002", "spec.workers.", ".infrastructure", true},
	{"CC008", "spec.workers.", "[].class", true},
	{"CC012", "spec.", ".unhealthyRange", false},
	{"CC012", "spec.", ".unhealthyInRange", false},
	{"CV001", "spec.variables[].name", "", true},
	{"CV002", "spec.variables[].schema", ".type", false},
	{"PA001", "spec.patches[].name", "", true},
	{"PA003", "spec.patches[].enabledIf", "", false},
	{"PA004", "spec.patches[].", "valueFrom.template", false},
	{"PA008", "spec.patches[].", "jsonPatches[].op", false},
	{"PA009", "spec.patches[].", "jsonPatches[].path", false},
}

// spoken reports whether another rule is about a violation.
func spoken(v crd.Violation) bool {
	path := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, v.Path)
	if v.Fault == crd.Missing {
		path += "." + v.Fields[0]
	}
	for _, s := range spokenFor {
		if (s.missing || v.Fault != crd.Missing) && strings.HasPrefix(path, s.prefix) && strings.HasSuffix(path, s.suffix) {
			return true
		}
	}
	return v.Keyword == "x-kubernetes-list-type" && slices.Equal(v.Fields, []string{"class"}) // CC008
}

// violation reports a value that the API does not allow.
func violation(p *lint.Pass, c *clusterclass.Class, v crd.Violation) {
	if v.Fault != crd.Missing && v.Fault != crd.Unknown && sampled(c.Object, v.Node) {
		return
	}
	f := lint.On(c.Object, v.Node, "%s %s", v.Path, v.Message).Meant(view.Meant(v)).Because(view.FieldsOf(c.Object, v)...)
	p.Report(view.Limit(p, c.Object, v, f))
}

// inVariableSchema reports whether a path leads into the schema of a variable, to whose
// keywords CV008 looks.
func inVariableSchema(path string) bool {
	return strings.HasPrefix(path, "spec.variables[") && strings.Contains(path, "].schema.openAPIV3Schema.")
}

var _ = classRules.Add(lint.Rule{
	ID: "CC001", Name: "class-decodes", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A ClusterClass must only have fields and types of its API version",
	Source: classCRD,
	Why:    "The API server refuses a value of the wrong type. kubectl refuses an object with an unknown field; every other client loses the field silently.",
	Fix:    "Correct the name or the type of the field.",
	Check:  eachClass(classDecodes),
})

func classDecodes(p *lint.Pass, c *clusterclass.Class) {
	if _, served := clusterclass.Schema(c.Version); !served && !sampled(c.Object, c.Object.Get("apiVersion")) {
		p.On(c.Object, c.Object.Get("apiVersion"), "Cluster API does not serve ClusterClass in version %s", c.Version)
		return
	}
	for _, v := range c.Check() {
		if v.Fault != crd.Unknown && v.Fault != crd.Type || v.Fault == crd.Unknown && inVariableSchema(v.Path) {
			continue
		}
		if _, elsewhere := c.Elsewhere(v.Path); v.Fault == crd.Type || !elsewhere {
			violation(p, c, v)
		}
	}
	for _, n := range c.Durations() {
		if _, err := time.ParseDuration(n.Str()); err != nil && n.Is(yamldoc.String) && !sampled(c.Object, n) {
			p.On(c.Object, n, "%q is not a duration such as 10m", n.Text())
		}
	}
}

var _ = classRules.Add(lint.Rule{
	ID: "CC002", Name: "class-reference", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Every reference of a ClusterClass must have a group, version, kind and name",
	Source: classAdmission + ", check.ClusterClassTemplatesAreValid",
	Why:    "The API server refuses the class.",
	Fix:    "Write apiVersion as GROUP/VERSION, a kind that ends in Template, and a name.",
	Check:  eachClass(classReference),
})

func classReference(p *lint.Pass, c *clusterclass.Class) {
	if !c.Spec.Is(yamldoc.Map) {
		if c.Spec == nil {
			p.On(c.Object, nil, "the class has no spec")
		}
		return
	}
	for _, r := range c.References() {
		o := c.Object
		if r.Misplaced {
			continue // CC021
		}
		if r.Node == nil {
			p.Report(lint.On(o, r.Parent, "%s is missing", r.String()).Because(view.FieldOf(o, r.String())))
			continue
		}
		if !r.Node.Is(yamldoc.Map) {
			continue // CC001
		}
		problems := r.Problems()
		for _, f := range problems {
			if !sampled(o, f.Node) {
				p.On(o, f.Node, "%s %s", r.String(), f.Message)
			}
		}
		if len(problems) > 0 {
			continue
		}
		for _, v := range c.CheckAt(r.Node, r.Path...) {
			if v.Fault == crd.Value || v.Fault == crd.Missing {
				violation(p, c, v)
			}
		}
	}
}

// target returns the object that a reference leads to, of the same file; any
// version of it.
func target(c *clusterclass.Class, r *clusterclass.Reference) *manifest.Object {
	type key struct{}
	f := c.Object.File
	return f.Memo(key{}, func() any {
		all := map[templateKey]*manifest.Object{}
		for _, o := range slices.Backward(f.Objects()) {
			all[templateKey{o.Group, o.Kind, o.Name}] = o
		}
		return all
	}).(map[templateKey]*manifest.Object)[templateKey{r.Group(), r.Kind, r.Name}]
}

// complete reports whether a reference says what it refers to, and not by
// variables but for the name.
func complete(c *clusterclass.Class, r *clusterclass.Reference) bool {
	return len(r.Problems()) == 0 && r.Kind != "" && r.APIVersion != "" &&
		r.Name != "" && !sampled(c.Object, r.Node.Get("kind"), r.Node.Get("apiVersion"))
}

var _ = classRules.Add(lint.Rule{
	ID: "CC003", Name: "class-template-missing", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The templates of a ClusterClass must be in its file",
	Source: classContract,
	Why:    "clusterctl creates only the objects of this file. The class never becomes ready, and no cluster can use it.",
	Fix:    "Add the template to the file. If the file has it under another name, write that name in the reference.",
	Check:  each((*clusterclass.Class).References, classTemplateMissing),
})

func classTemplateMissing(p *lint.Pass, c *clusterclass.Class, r clusterclass.Reference) {
	if !complete(c, &r) || target(c, &r) != nil || p.File.MayHold(r.Kind, "") || p.Release.Brings(r.Group(), r.Kind, r.Name) {
		return
	}
	if mayMean(p.File, c, &r) {
		return // it depends on the values of variables
	}
	alike := phrase.Only(p.File.Objects(), func(o *manifest.Object) bool { return o.Is(r.Group(), r.Kind) })
	f := lint.On(c.Object, r.Node.Get("name"),
		"%s refers to %s %s of %s, which the file does not contain", r.String(), r.Kind, r.Name, r.Group())
	if len(alike) > 0 {
		names := phrase.List(alike, func(o *manifest.Object) string { return o.Name })
		f.Fix = "Add the template, or refer to one that is in the file: " + strings.Join(names, ", ") + "."
	}
	if p.Release.Own && !slices.ContainsFunc(c.References(), func(r clusterclass.Reference) bool { return target(c, &r) != nil }) {
		f = f.Because("templates of " + view.Named(c.Object))
		f.Severity, f.Message = lint.Warning, "the templates of the class are not in the file, so the class is not checked against them"
		f.Fix = "Check the folder that has them, too. Ignore this if they are in the cluster already."
	}
	p.Report(f.Because(view.Reference(c.Object, r.Node), "no "+r.Kind+" "+r.Name+" in "+p.File.Raw.Name))
}

// mayMean reports whether a reference may lead to an object of a file, if variables have the right values.
func mayMean(f *lint.File, c *clusterclass.Class, r *clusterclass.Reference) bool {
	return slices.ContainsFunc(f.Objects(), func(o *manifest.Object) bool {
		return o.Is(r.Group(), r.Kind) && view.DiffersByVariable(c.Object, r.Node.Get("name"), o)
	})
}

// endings are the roles of templates by what their kinds end with. They are for
// kinds whose definition is not at hand.
var endings = []struct {
	suffix string
	role   contract.Role
}{
	{"MachinePoolTemplate", contract.InfraMachinePool},
	{"MachineTemplate", contract.InfraMachine},
	{"ClusterTemplate", contract.InfraCluster},
	{"ControlPlaneTemplate", contract.ControlPlane},
	{"ConfigTemplate", contract.BootstrapConfig},
}

// roleOf returns the role of a kind of templates; "" if it is unknown.
func roleOf(p *lint.Pass, group, kind string) contract.Role {
	if k := p.Release.Role(group, kind); k != nil {
		if k.Role == contract.Aux {
			return ""
		}
		return k.Role
	}
	for _, e := range endings {
		if strings.HasSuffix(kind, e.suffix) && contract.OfClusterAPI(group) {
			return e.role
		}
	}
	return ""
}

// inRole reports whether a kind has the role of a reference besides another one.
func inRole(p *lint.Pass, r *clusterclass.Reference) bool {
	k := p.Release.Role(r.Group(), r.Kind)
	return k != nil && slices.ContainsFunc(k.Also, func(also *contract.Kind) bool { return also.Role == r.Role })
}

var _ = classRules.Add(lint.Rule{
	ID: "CC004", Name: "class-template-role", Severity: lint.Error, Proof: lint.Contract,
	Title:  "References of a ClusterClass must name templates of the right role",
	Source: "Cluster API provider contracts, the pages of the roles",
	Why:    "Cluster API creates an object of this kind and waits forever for fields that only another role has.",
	Fix:    "Refer to a template of the expected role, and add it to the file if it is missing.",
	Check: each((*clusterclass.Class).References, func(p *lint.Pass, c *clusterclass.Class, r clusterclass.Reference) {
		if !complete(c, &r) || r.Role == contract.Remediation || !strings.HasSuffix(r.Kind, contract.Suffix) {
			return
		}
		role := roleOf(p, r.Group(), r.Kind)
		switch {
		case role == "", role == r.Role:
		case r.Role == contract.InfraCluster && role == contract.ControlPlane:
			// One object may be both, as control planes of clouds were.
		case inRole(p, &r):
		default:
			p.On(c.Object, r.Node.Get("kind"),
				"%s needs a template of the role %s, but %s has the role %s", r.String(), r.Role, r.Kind, role)
		}
	}),
})

// kubeadm are the kinds of templates of Cluster API's own providers, and the
// version that it chooses.
var kubeadm = map[[2]string]string{
	{"bootstrap." + clusterclass.Group, "KubeadmConfigTemplate"}:          clusterclass.V1Beta2,
	{"controlplane." + clusterclass.Group, "KubeadmControlPlaneTemplate"}: clusterclass.V1Beta2,
}

var _ = classRules.Add(lint.Rule{
	ID: "CC005", Name: "class-reference-version", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "References of a ClusterClass should use the version that Cluster API chooses",
	Source: "cluster-api core/controllers/clusterclass, condition RefVersionsUpToDate; contract labels",
	Why:    "The class reports outdated references, and its patches are written for a version that is not in use.",
	Fix:    "Use the highest version in the contract label of the CRD.",
	Check:  eachClass(classReferenceVersion),
})

func classReferenceVersion(p *lint.Pass, c *clusterclass.Class) {
	for _, r := range c.References() {
		if !complete(c, &r) || r.Role == contract.Remediation {
			continue
		}
		group, version := manifest.SplitAPIVersion(r.APIVersion)
		chosen := kubeadm[[2]string{group, r.Kind}]
		d := p.Release.CRD(group, r.Kind)
		if d != nil {
			_, chosen, _ = p.Profile.Choose(d)
		}
		if chosen == "" || chosen == version {
			continue
		}
		f := lint.On(c.Object, r.Node.Get("apiVersion"), "%s refers to %s in version %s, but Cluster API chooses %s", r.String(), r.Kind, version, chosen)
		if d != nil && d.Version(version) == nil {
			f = view.Unversioned(p, f, d, version)
		}
		p.Report(f.Because(p.Rule.ID + view.Named(c.Object)))
	}
}

var _ = classRules.Add(lint.Rule{
	ID: "CC006", Name: "class-kind-unknown", Severity: lint.Error, Proof: lint.Contract,
	Title:  "References of a ClusterClass must name kinds that exist",
	Source: "CustomResourceDefinitions in the components; CustomResourceDefinitions of the kubeadm providers",
	Why:    "The API server refuses the template because no CRD defines its kind, so the class never becomes ready.",
	Fix:    "Correct the kind or the group.",
	Check:  each((*clusterclass.Class).References, classKindUnknown),
})

func classKindUnknown(p *lint.Pass, c *clusterclass.Class, r clusterclass.Reference) {
	group := r.Group()
	if !complete(c, &r) || p.Release.CRD(group, r.Kind) != nil || kubeadm[[2]string{group, r.Kind}] != "" {
		return
	}
	var kinds []string
	for _, d := range p.Release.CRDs() {
		if d.Group == group && strings.HasSuffix(d.Kind, contract.Suffix) {
			kinds = append(kinds, d.Kind)
		}
	}
	own := len(kinds) > 0 && p.Release.Provider.Type == layouts.Infrastructure && strings.HasPrefix(group, "infrastructure.")
	for known := range kubeadm {
		if known[0] == group {
			kinds = append(kinds, known[1])
		}
	}
	near := phrase.Nearest(r.Kind, kinds)
	if !own && near == "" {
		return // a kind of another provider
	}
	f := lint.On(c.Object, r.Node.Get("kind"), "%s refers to kind %s of %s, which no CRD defines", r.String(), r.Kind, group).Meant(near)
	f = view.Undefined(p, f, group, r.Kind).Because(view.Reference(c.Object, r.Node))
	if near != "" && slices.ContainsFunc(p.File.Objects(), func(o *manifest.Object) bool { return o.Is(group, r.Kind) }) {
		f.Fix += " Correct the kind of the object as well."
	}
	p.Report(f)
}

var _ = classRules.Add(lint.Rule{
	ID: "CC007", Name: "class-template-valid", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The templates of a ClusterClass must match their CRDs",
	Source: "spec.versions[].schema of the CustomResourceDefinition in the components",
	Why:    "The API server refuses the template, or drops the field, and clusters of the class differ from what the author intended.",
	Fix:    "Correct the value.",
	Check:  classTemplateValid,
})

func classTemplateValid(p *lint.Pass) { view.MatchDefinitions(p, true) }

var _ = classRules.Add(lint.Rule{
	ID: "CC008", Name: "class-worker-name", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Worker classes of one list must have unique names",
	Source: classAdmission + ", check.MachineDeploymentClassesAreUnique and check.MachinePoolClassesAreUnique",
	Why:    "The API server refuses the class.",
	Fix:    "Give every worker class its own name.",
	Check:  eachClass(classWorkerName),
})

func classWorkerName(p *lint.Pass, c *clusterclass.Class) {
	seen := map[[2]string]*yamldoc.Node{}
	for _, w := range c.Workers() {
		n := w.Node.Get("class").Given()
		list := clusterclass.Deployments
		if w.Pool {
			list = clusterclass.Pools
		}
		key := [2]string{list, w.Class}
		switch {
		case !w.Node.Is(yamldoc.Map) || n != nil && !n.Is(yamldoc.String): // CC001
		case n == nil:
			p.On(c.Object, w.Node, "an entry of %s lacks the field class", list)
		case n.Text() == "":
			p.On(c.Object, n, "an entry of %s has an empty class", list)
		case len(n.Text()) > 256:
			violations(p, c, n, append(w.Path, "class")...)
		case seen[key] != nil:
			view.Settle(p, c.Object, lint.On(c.Object, n, "two entries of %s have the class %q", list, w.Class), n, seen[key])
		}
		seen[key] = n
	}
}

// violations reports all that the API does not allow in a value.
func violations(p *lint.Pass, c *clusterclass.Class, n *yamldoc.Node, path ...string) {
	for _, v := range c.CheckAt(n, path...) {
		if v.Fault == crd.Value {
			violation(p, c, v)
		}
	}
}

var _ = classRules.Add(lint.Rule{
	ID: "CC009", Name: "class-health-check-machines", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A control plane with a health check must have machineInfrastructure",
	Source: classAdmission + ", validateMachineHealthCheckClasses",
	Why:    "The API server refuses the class, because a health check needs machines.",
	Fix:    "Add spec.controlPlane.machineInfrastructure and its template, or remove the health check.",
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		for _, h := range c.HealthChecks() {
			if h.ControlPlane && h.Defined() && c.MachineInfrastructure().Node == nil {
				p.On(c.Object, h.Node, "the control plane has a health check but no machineInfrastructure")
			}
		}
	}),
})

var _ = classRules.Add(lint.Rule{
	ID: "CC010", Name: "class-startup-timeout", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The startup timeout of a health check must be 0 or at least 30 seconds",
	Source: classAdmission + ", validateMachineHealthCheckNodeStartupTimeoutSeconds",
	Why:    "The API server refuses the class.",
	Fix:    "Use 30 seconds or more, or 0 to disable the timeout.",
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		for _, h := range c.HealthChecks() {
			n := h.NodeStartupTimeout
			if seconds, ok := view.Seconds(n); ok && seconds != 0 && seconds < 30 && !sampled(c.Object, n) {
				p.On(c.Object, n, "the startup timeout is %s; it must be 0 or at least 30 seconds", n.Text())
			}
		}
	}),
})

var _ = classRules.Add(lint.Rule{
	ID: "CC011", Name: "class-int-or-percent", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Limits of health checks and rollouts must be integers or percentages",
	Source: classAdmission + ", validateMachineHealthCheckClasses and validateRolloutStrategy",
	Why:    "The API server refuses the class.",
	Fix:    `Write an integer, or a string such as "40%" without spaces.`,
	Check:  eachClass(classIntOrPercent),
})

func classIntOrPercent(p *lint.Pass, c *clusterclass.Class) {
	check := func(n *yamldoc.Node, what string) {
		if n.Is(yamldoc.String) && !view.IsPercent(n.Text()) && !sampled(c.Object, n) {
			p.On(c.Object, n, "%s is %q, which is neither an integer nor a percentage", what, n.Text())
		}
	}
	for _, h := range c.HealthChecks() {
		check(h.MaxUnhealthy, "the limit of unhealthy machines")
		if !h.ControlPlane {
			check(h.MaxInFlight, "maxInFlight")
		}
	}
	for _, w := range c.Workers() {
		unavailable, surge := c.Rollout(w)
		check(unavailable, "maxUnavailable")
		check(surge, "maxSurge")
		u, isInt := unavailable.Int()
		s, areInts := surge.Int()
		if isInt && areInts && u == 0 && s == 0 && !sampled(c.Object, unavailable, surge) {
			p.On(c.Object, surge, "maxUnavailable and maxSurge are both 0, so no machine can ever be replaced")
		}
	}
}

var _ = classRules.Add(lint.Rule{
	ID: "CC012", Name: "class-unhealthy-range", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The range of unhealthy machines must have the form [3-5]",
	Source: classCRD,
	Why:    "The API server refuses the class.",
	Fix:    `Write a string such as "[3-5]".`,
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		for _, h := range c.HealthChecks() {
			switch n := h.UnhealthyRange; {
			case !n.Is(yamldoc.String) || sampled(c.Object, n):
			case !unhealthyRange().MatchString(n.Text()) || len(n.Text()) > 32:
				p.On(c.Object, n, "the range of unhealthy machines is %q; it must have the form [3-5]", n.Text())
			case view.Reversed(n):
				f := lint.On(c.Object, n, "the range of unhealthy machines is %s, whose end is below its beginning, so no machine is ever replaced", n.Text()).As(lint.Warning)
				f.Fix = "Write the smaller number first."
				p.Report(f)
			}
		}
	}),
})

var unhealthyRange = phrase.Pattern(`^\[[0-9]+-[0-9]+\]$`)

var _ = classRules.Add(lint.Rule{
	ID: "CC013", Name: "class-naming-template", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Naming templates must be valid Go templates",
	Source: classAdmission + ", validateNamingStrategies",
	Why:    "The API server refuses the class. Unlike the templates of patches, naming templates cannot call sprig functions.",
	Fix:    "Use .cluster.name and .random, and for workers .machineDeployment.topologyName or .machinePool.topologyName.",
	Check: each((*clusterclass.Class).Namings, func(p *lint.Pass, c *clusterclass.Class, n clusterclass.Naming) {
		if _, err := n.Render(n.Template.Text()); err != nil && !sampled(c.Object, n.Template) {
			p.On(c.Object, n.Template, "the naming template cannot be rendered: %v", err)
		}
	}),
})

var _ = classRules.Add(lint.Rule{
	ID: "CC014", Name: "class-naming-result", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Naming templates must produce valid object names",
	Source: classAdmission + ", validateNamingStrategies",
	Why:    "The API server refuses the class.",
	Fix:    `Use only lower-case letters, digits, "-" and ".".`,
	Check: each((*clusterclass.Class).Namings, func(p *lint.Pass, c *clusterclass.Class, n clusterclass.Naming) {
		name, err := n.Render(n.Template.Text())
		if err != nil || n.Template.Text() == "" || sampled(c.Object, n.Template) {
			return
		}
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			p.On(c.Object, n.Template, "the naming template produces %q, which is not a valid name: %s", name, problems[0])
		}
	}),
})

var _ = classRules.Add(lint.Rule{
	ID: "CC015", Name: "class-kubernetes-versions", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The Kubernetes versions of a ClusterClass must ascend without gaps",
	Source: classAdmission + ", validateKubernetesVersions",
	Why:    "The API server refuses the class: clusters are upgraded along this list and cannot skip a minor version.",
	Fix:    "List semantic versions in ascending order, with at least one for each minor version.",
	Check:  eachClass(classKubernetesVersions),
})

func classKubernetesVersions(p *lint.Pass, c *clusterclass.Class) {
	var before *semver.Version
	var text string // before, as the list writes it
	for _, n := range c.KubernetesVersions() {
		if !n.Is(yamldoc.String) || sampled(c.Object, n) {
			continue
		}
		v, err := semver.ParseTolerant(n.Text())
		if err != nil {
			p.On(c.Object, n, "%q is not a semantic version", n.Text())
			continue
		}
		if before != nil {
			switch {
			case clusterclass.CompareVersions(v, *before) <= 0:
				p.On(c.Object, n, "%s is not higher than %s before it", n.Text(), text)
			case v.Minor != before.Minor && v.Minor != before.Minor+1:
				p.On(c.Object, n, "the list skips minor version %d before %s", before.Minor+1, n.Text())
			}
		}
		before, text = &v, n.Text()
	}
}

// templateKey names a template.
type templateKey struct{ group, kind, name string }

var _ = classRules.Add(lint.Rule{
	ID: "CC016", Name: "class-template-shared", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "An object should belong to one ClusterClass only",
	Source: classContract,
	Why:    "A change for one class changes the other. clusterctl refuses to add the second class to a management cluster that has the first.",
	Fix:    "Give each class its own objects.",
	Scope:  lint.ScopeRelease, Check: classTemplateShared,
})

func classTemplateShared(p *lint.Pass) {
	defined := map[templateKey]*manifest.Object{}   // in such files
	owners := map[templateKey]*clusterclass.Class{} // of classes in files of classes
	for _, f := range p.Release.WithClasses() {
		within := owners
		if f.Kind != layouts.ClusterClass {
			within = map[templateKey]*clusterclass.Class{} // flavors are alternatives
		}
		for _, c := range clusterclass.In(f) {
			for _, r := range c.References() {
				if !complete(c, &r) || sampled(c.Object, r.Node.Get("name")) {
					continue
				}
				key := templateKey{r.Group(), r.Kind, r.Name}
				first := within[key]
				if first == nil {
					within[key] = c
				} else if first.Object != c.Object && first.Name() != c.Name() {
					p.On(c.Object, r.Node.Get("name"), "%s %s also belongs to ClusterClass %s in %s",
						r.Kind, r.Name, first.Name(), first.Object.File.Artifact.Name)
				}
			}
		}
		if f.Kind != layouts.ClusterClass {
			continue
		}
		for _, o := range f.Objects() {
			key := templateKey{o.Group, o.Kind, o.Name}
			if first := defined[key]; first == nil {
				defined[key] = o
			} else if first.File != f && owners[key] == nil && o.Name != "" &&
				!sampled(o, o.Get("metadata", "name")) && !o.Is(clusterclass.Group, clusterclass.Kind) {
				p.On(o, o.Get("metadata", "name"), "%s %s is also in %s", o.Kind, o.Name, first.File.Artifact.Name)
			}
		}
	}
}

var _ = classRules.Add(lint.Rule{
	ID: "CC017", Name: "class-template-unused", Severity: lint.Info, Proof: lint.Practice,
	Title:  "A ClusterClass file contains only templates that are used",
	Source: classContract,
	Why:    "The template is created with the class and never used.",
	Fix:    "Refer to the template, or remove it.",
	Yields: []string{"MOVE003"},
	Kinds:  classFileKinds, Check: classTemplateUnused,
})

func classTemplateUnused(p *lint.Pass) {
	list := clusterclass.In(p.File)
	if len(list) == 0 {
		return
	}
	used := map[*manifest.Object]bool{}
	open := map[[2]string]bool{} // kinds of references that lead to what variables say
	for _, c := range list {
		for _, r := range c.References() {
			if !complete(c, &r) {
				return // who knows
			}
			if o := target(c, &r); o != nil {
				used[o] = true
			} else if mayMean(p.File, c, &r) {
				open[[2]string{r.Group(), r.Kind}] = true
			}
		}
	}
	for _, o := range p.File.Objects() {
		if used[o] || !strings.HasSuffix(o.Kind, contract.Suffix) ||
			!contract.OfClusterAPI(o.Group) || o.Name == "" || open[[2]string{o.Group, o.Kind}] {
			continue
		}
		if !mentioned(p.File, o) {
			p.Report(lint.On(o, o.Get("metadata", "name"), "%s %s is not used by any object in the file", o.Kind, o.Name).Perhaps(view.Meaning(o)...))
		}
	}
}

// mentioned reports whether a mapping in another object of a file has kind and name of an
// object.
func mentioned(f *lint.File, o *manifest.Object) bool {
	type key struct{}
	by := f.Memo(key{}, func() any {
		by := map[[2]string][]*manifest.Object{}
		for _, o := range f.Objects() {
			view.Each(o.Doc.Root, func(n *yamldoc.Node) {
				at := [2]string{n.Get("kind").Str(), n.Get("name").Str()}
				if list := by[at]; at[0] != "" && at[1] != "" && len(list) < 2 && !slices.Contains(list, o) {
					by[at] = append(list, o)
				}
			})
		}
		return by
	}).(map[[2]string][]*manifest.Object)
	return slices.ContainsFunc(by[[2]string{o.Kind, o.Name}], func(other *manifest.Object) bool { return other != o })
}

var _ = classRules.Add(lint.Rule{
	ID: "CC018", Name: "class-namespace", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Objects and references of a ClusterClass should not name a namespace",
	Source: classContract,
	Why:    "clusterctl moves all objects into the namespace of the cluster. Users who apply the file with kubectl find the class in another namespace, and references to other namespaces do not work.",
	Fix:    "Remove metadata.namespace.",
	Check:  classNamespace,
})

func classNamespace(p *lint.Pass) {
	for _, c := range clusterclass.In(p.File) {
		for _, r := range c.References() {
			// In v1beta2 there is no such field (CC001, CC021).
			if n := r.Node.Get("namespace"); n.Str() != "" && c.Version == clusterclass.V1Beta1 {
				f := lint.On(c.Object, n, "%s has the namespace %s, although templates are always taken from that of the class",
					r.String(), view.Spelling(c.Object, n)).Because(p.Rule.ID + view.Named(c.Object))
				f.Fix = "Remove namespace from the references."
				p.Report(f)
			}
		}
	}
	if p.File.Kind != layouts.ClusterClass || p.Release.Own && layouts.KindOfFile(p.File.Artifact.Name) != layouts.ClusterClass {
		return // other files have the namespace that clusterctl is given
	}
	for _, o := range p.File.Objects() {
		if o.Namespace != "" {
			n := o.Get("metadata", "namespace")
			p.Report(lint.On(o, n, "the object has the namespace %s", view.Spelling(o, n)).Because(p.Rule.ID + p.File.Raw.Name))
		}
	}
}

var _ = classRules.Add(lint.Rule{
	ID: "CC019", Name: "class-variables", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "ClusterClass files should not contain clusterctl variables",
	Source: classContract + "; clusterctl client/config.go, GetClusterTemplate",
	Why:    `Users must set the variable, but "clusterctl generate cluster --list-variables" does not list it. It also ties the class to one cluster.`,
	Fix:    "Write a fixed value; patches can set it from a variable of the ClusterClass.",
	Kinds:  []layouts.FileKind{layouts.ClusterClass}, Check: classVariables,
})

func classVariables(p *lint.Pass) {
	namespaces := map[int]bool{} // where CC018 says that there should be none
	for _, o := range p.File.Objects() {
		if from, ok := view.From(o, o.Get("metadata", "namespace")); ok {
			namespaces[from.Start] = true
		}
	}
	rs := slices.DeleteFunc(slices.Clone(view.Refs(p.File)), func(r vars.Ref) bool { return namespaces[r.Start] })
	names := phrase.Distinct(phrase.List(rs, func(r vars.Ref) string { return r.Name }))
	if len(rs) > 0 {
		p.Span(rs[0].Start, rs[0].End, "the file contains clusterctl variables: %s", strings.Join(names, ", "))
	}
}

var _ = classRules.Add(lint.Rule{
	ID: "CC020", Name: "class-api-version", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "A ClusterClass should use API version v1beta2",
	Source: "Cluster API book, Version support; CustomResourceDefinition of ClusterClass",
	Why:    "v1beta1 has been deprecated since Cluster API v1.11. The API server warns users about it, and refuses it once Cluster API stops serving v1beta1 in 2027.",
	Fix:    "Convert the class to v1beta2; some fields have other names there.",
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		if c.Version == clusterclass.V1Beta1 && p.Profile.Core >= 11 {
			f := lint.On(c.Object, c.Object.Get("apiVersion"), "ClusterClass v1beta1 is deprecated")
			f.Object = "" // one finding for the classes of a release
			f.Fix = view.Renamed(c.Object)
			p.Report(f.Perhaps(view.VersionOf(c.Object)))
		}
	}),
})

var _ = classRules.Add(lint.Rule{
	ID: "CC021", Name: "class-field-of-other-version", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A ClusterClass must not mix field names of v1beta1 and v1beta2",
	Source: classCRD + "; cluster-api api/core/v1beta1/conversion.go",
	Why:    "kubectl refuses the object because of the unknown field; every other client loses the field silently.",
	Fix:    "Use the name that the field has in the API version of the object.",
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		for _, v := range c.Check() {
			if v.Fault != crd.Unknown || inVariableSchema(v.Path) {
				continue
			}
			name, elsewhere := c.Elsewhere(v.Path)
			if !elsewhere {
				continue
			}
			f := lint.On(c.Object, v.Node, "%s is not a field of ClusterClass in %s; the other version has it", v.Path, c.Version)
			if name != "" {
				f.Fix = "In version " + c.Version + " this is " + name + "."
			}
			p.Report(f.Because(view.VersionOf(c.Object)))
		}
	}),
})

var _ = classRules.Add(lint.Rule{
	ID: "CC022", Name: "class-limits", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The values of a ClusterClass must be within the limits of the API",
	Source: classCRD + "; " + classAdmission,
	Why:    "The API server refuses the class.",
	Fix:    "Change the value so that it is within the limit, or remove it.",
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		for _, v := range c.Check() {
			if (v.Fault == crd.Value || v.Fault == crd.Missing) && !spoken(v) {
				violation(p, c, v)
			}
		}
		for _, m := range c.Metadata() {
			view.JudgeMetadata(p, c.Object, m)
		}
		for _, n := range c.Taints() {
			if problem := clusterclass.TaintProblem(n.Get("key").Str()); problem != "" &&
				n.Get("key").Is(yamldoc.String) && !sampled(c.Object, n.Get("key")) {
				p.On(c.Object, n.Get("key"), "a taint with the key %q %s", n.Get("key").Text(), problem)
			}
		}
	}),
})

var _ = classRules.Add(lint.Rule{
	ID: "CC023", Name: "class-upgrade-plan", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The upgrade plan extension must be named HANDLER.EXTENSIONCONFIG",
	Source: "Cluster API book, Runtime SDK, Implementing Topology Mutation and Upgrade Plan Runtime Extensions",
	Why:    "Cluster API registers extensions only under such names. It never finds this one, and clusters of the class cannot be upgraded.",
	Fix:    "Write the name of the handler, a dot, and the name of the ExtensionConfig.",
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		n := c.Spec.Get("upgrade", "external", "generateUpgradePlanExtension")
		if n.Is(yamldoc.String) && n.Text() != "" && !isHandler(n.Text()) && !sampled(c.Object, n) {
			p.On(c.Object, n, "%q does not have the form HANDLER.EXTENSIONCONFIG", n.Text())
		}
	}),
})

// isHandler reports whether a text has the form under which Cluster API registers
// the handlers of extensions.
func isHandler(text string) bool {
	handler, config, ok := strings.Cut(text, ".")
	return ok && handler != "" && config != ""
}

var _ = classRules.Add(lint.Rule{
	ID: "CC024", Name: "class-file-name", Severity: lint.Error, Proof: lint.Contract,
	Title:  "clusterclass-NAME.yaml must contain one ClusterClass, named NAME",
	Source: "clusterctl client/clusterclass.go, fetchMissingClusterClassTemplates",
	Why:    "clusterctl fetches the file named after a Cluster's class and does not check its content. The Cluster then waits for a class that does not exist.",
	Fix:    "Give the ClusterClass the name in the file name, or rename the file if no template uses the other class.",
	Kinds:  []layouts.FileKind{layouts.ClusterClass}, Release: true, Check: classFileName,
})

func classFileName(p *lint.Pass) {
	want, _ := layouts.ClassOf(p.File.Artifact.Name)
	list := clusterclass.In(p.File)
	if len(list) == 0 && !p.File.MayHold(clusterclass.Kind, "") {
		p.Path(p.File.Raw.Name, "the file does not contain a ClusterClass")
	}
	for i, c := range list {
		n := c.Object.Get("metadata", "name")
		switch {
		case i > 0:
			p.Report(lint.On(c.Object, n, "the file contains a second ClusterClass %q, which clusterctl looks for in %s",
				c.Name(), layouts.ClusterClassFile(c.Name())).As(lint.Warning))
		case c.Name() == want || n.Str() == "":
		case sampled(c.Object, n):
			p.Report(lint.On(c.Object, n,
				"clusterctl finds the class only if the variable makes its name %q", want).As(lint.Info))
		default:
			p.Report(lint.On(c.Object, n, "the ClusterClass is named %q, but the file name is for %q", c.Name(), want).
				Because(view.AsFile(layouts.ClusterClassFile(c.Name()))))
		}
	}
}

var _ = classRules.Add(lint.Rule{
	ID: "CC025", Name: "class-namespace-quoted", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "The class namespace of a Cluster should be a valid namespace or empty",
	Source: "clusterctl client/clusterclass.go, clusterClassNamesFromTemplate",
	Why:    "clusterctl looks for the class in exactly this namespace. With quotes inside quotes, the namespace consists of two quotes.",
	Fix:    "Write a default that is a namespace, without inner quotes. In v1beta1 it may be empty: ${CLUSTER_CLASS_NAMESPACE:=\"\"}, with no quotes around it.",
	Kinds:  []layouts.FileKind{layouts.ClusterTemplate}, Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		if !o.Is(clusterclass.Group, "Cluster") {
			return
		}
		topology := o.Get("spec", "topology")
		for _, n := range []*yamldoc.Node{topology.Get("classNamespace"), topology.Get("classRef", "namespace")} {
			if n.Is(yamldoc.String) && n.Text() != "" && !layouts.IsDNSLabel(n.Text()) {
				p.On(o, n, "clusterctl looks for the class in %s, which is not a valid namespace", n.Text())
			}
		}
	}),
})
