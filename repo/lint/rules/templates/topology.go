package templates

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var topologyRules = &lint.Family{Prefix: "TOP", Title: "Clusters and their topology"}

const clusterAdmission = "cluster-api core/webhooks/admission, Cluster"

// topology is a Cluster with a topology.
type topology struct {
	*manifest.Object
	// node is spec.topology.
	node *yamldoc.Node
	// class is nil if it is not known.
	class *clusterclass.Class
}

// old reports whether the fields have the names of v1beta1.
func (t *topology) old() bool { return t.Version == clusterclass.V1Beta1 }

// topologyWorker is an entry of spec.topology.workers.
type topologyWorker struct {
	node *yamldoc.Node
	pool bool
	// class is nil if it is not known.
	class *clusterclass.Worker
}

func (t *topology) workers() []topologyWorker {
	var out []topologyWorker
	for _, list := range [...]string{clusterclass.Deployments, clusterclass.Pools} {
		for _, n := range t.node.Get("workers", list).List() {
			w := topologyWorker{node: n, pool: list == clusterclass.Pools}
			if t.class != nil {
				w.class = t.class.Worker(w.pool, n.Get("class").Str())
			}
			out = append(out, w)
		}
	}
	return out
}

// parts returns the control plane and the workers, which have fields in common.
func (t *topology) parts() []*yamldoc.Node {
	out := t.node.All("controlPlane")
	for _, w := range t.workers() {
		out = append(out, w.node)
	}
	return out
}

// perCluster is a check for every Cluster of a file.
func perCluster(check func(*lint.Pass, *manifest.Object)) func(*lint.Pass) {
	return view.ForEach(func(p *lint.Pass) []*manifest.Object { return clusters(p.File) }, check)
}

// perTopology is a check for every Cluster of a file that has a topology.
func perTopology(check func(*lint.Pass, *topology)) func(*lint.Pass) {
	return perCluster(func(p *lint.Pass, o *manifest.Object) {
		if n := o.Get("spec", "topology"); n.Is(yamldoc.Map) && len(n.Fields()) > 0 {
			check(p, &topology{o, n, usedClass(p, o)})
		}
	})
}

// usedClass returns the class of a Cluster: from the file that clusterctl takes
// it from, from the file of the Cluster, or from a flavor that has it under its
// name; nil if there is none.
func usedClass(p *lint.Pass, o *manifest.Object) *clusterclass.Class {
	n := classOf(o)
	if n.Str() == "" {
		return nil
	}
	if in := o.Get("spec", "topology", "classRef", "namespace"); in.Str() != "" && in.Text() != o.Namespace &&
		!view.Open(o, in) {
		return nil // clusterctl puts the class of the release where the Cluster is
	}
	named := func(f *lint.File) *clusterclass.Class {
		if f == nil {
			return nil
		}
		for _, c := range clusterclass.In(f) {
			if c.Name() == n.Text() {
				return c
			}
		}
		return nil
	}
	if c := cmp.Or(named(p.Release.ClassFile(p.File, n.Text())), named(p.File)); c != nil ||
		view.Variable(o, n) || p.Release.Own { // ClassFile knows all files of users
		return c
	}
	return named(classElsewhere(p, n.Text()))
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP001", Name: "core-schema", Severity: lint.Error, Proof: lint.APIServer,
	Yields: []string{"TPL012", "TPL015", "CC025", "VAR021"},
	Title:  "Objects of Cluster API must match its CustomResourceDefinitions",
	Source: "CustomResourceDefinitions of Cluster API " + contract.CoreRelease,
	Why:    "The API server refuses the object. kubectl refuses one with an unknown field; other clients lose the field silently.",
	Fix:    "Set the field to what the schema allows, or remove it if the schema has no such field. Many fields have different names in v1beta2.",
	Kinds:  view.Substituted, Check: coreSchema,
})

func coreSchema(p *lint.Pass) {
	checker := crd.Checker{Received: true}
	for _, o := range p.File.Objects() {
		s, ok := contract.CoreSchema(o.Group, o.Kind, o.Version)
		if !ok || o.Kind == clusterclass.Kind { // which has rules of its own
			continue
		}
		list := slices.DeleteFunc(checker.CheckObject(s, o.Doc.Root), func(v crd.Violation) bool {
			missing := v.Fault == crd.Missing
			switch {
			case view.OfStatus(v):
				return true
			case o.Is(view.CoreGroup, view.ClusterKind) && v.Path == "": // TOP002
				return missing
			case o.Is(view.CoreGroup, view.ClusterKind) && classless(o) && otherClassName(o) != nil: // of which another rule says all
				return v.Path == "spec.topology.class" || v.Path == "spec.topology.classRef" ||
					v.Path == "spec.topology" && missing && (v.Fields[0] == "class" || v.Fields[0] == "classRef")
			case o.Is(view.RuntimeGroup, view.ExtensionKind):
				return v.Fault != crd.Unknown && ofExtensionRule(v)
			case o.Is(view.CoreGroup, "MachineDeployment"): // the webhook of Cluster API adds the selector
				return missing && v.Path == "spec" && v.Fields[0] == "selector"
			}
			return false
		})
		view.ReportViolations(p, o, list, ofVersion(&checker, o, list))
		if o.Version == clusterclass.V1Beta1 {
			conversionFails(p, o)
		}
	}
}

// ofVersion returns a function that says which differences are due to the version of an object:
// those that another version does not have, if it has a field that this one does not know.
func ofVersion(checker *crd.Checker, o *manifest.Object, list []crd.Violation) func(crd.Violation) []string {
	other := clusterclass.V1Beta1
	if o.Version == other {
		other = clusterclass.V1Beta2
	}
	s, ok := contract.CoreSchema(o.Group, o.Kind, other)
	if !ok || len(list) == 0 {
		return nil
	}
	there := map[string]bool{}
	key := func(v crd.Violation) string { return fmt.Sprint(v.Fault, v.Path, v.Fields) }
	for _, v := range checker.CheckObject(s, o.Doc.Root) {
		there[key(v)] = true
	}
	known := func(v crd.Violation) bool { return v.Fault == crd.Unknown && !there[key(v)] }
	return func(v crd.Violation) []string {
		if v.Fault != crd.Missing && v.Fault != crd.Unknown || there[key(v)] || !slices.ContainsFunc(list, known) {
			return nil
		}
		return []string{view.VersionOf(o)}
	}
}

// ofExtensionRule reports whether a rule of the family RXS says what is wrong in an
// ExtensionConfig.
func ofExtensionRule(v crd.Violation) bool {
	missing := v.Fault == crd.Missing
	switch field, _ := strings.CutPrefix(v.Path, "spec.clientConfig"); {
	case v.Path == "spec", field == "", field == ".service":
		return missing || field == "" && v.Fault == crd.Value
	case strings.HasPrefix(field, ".service."), strings.HasPrefix(v.Path, "spec.settings."):
		return true
	case field == ".url":
		return v.Fault == crd.Type
	case field == ".caBundle":
		return v.Fault == crd.Value && v.Node.Text() != ""
	}
	return strings.HasPrefix(v.Path, "spec.namespaceSelector.matchExpressions[") &&
		(missing || strings.HasSuffix(v.Path, ".operator"))
}

// isDuration reports whether a field of v1beta1 holds a time such as 10m, for
// which the schema only asks for a text.
func isDuration(field string) bool {
	switch field {
	case "nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout", "nodeStartupTimeout", "timeout",
		"retryPeriod", "minHealthyPeriod", "timeoutForControlPlane", "ttl":
		return true
	}
	return false
}

// conversionFails reports values of v1beta1 that agree with the schema and cannot
// be converted to v1beta2.
func conversionFails(p *lint.Pass, o *manifest.Object) {
	for _, field := range []string{"infrastructureRef", "controlPlaneRef"} {
		if n := o.Get("spec", field, "apiVersion"); o.Kind == view.ClusterKind &&
			strings.Count(n.Str(), "/") > 1 && !view.Open(o, n) {
			p.On(o, n, "spec.%s.apiVersion is %q; it must have the form GROUP/VERSION", field, n.Text())
		}
	}
	var walk func(n *yamldoc.Node)
	walk = func(n *yamldoc.Node) {
		for i := range n.Fields() {
			switch f := &n.Fields()[i]; {
			case f.Name == "value": // of a variable, which may be anything
			case isDuration(f.Name) && f.Value.Is(yamldoc.String) && !view.Open(o, f.Value):
				if _, err := time.ParseDuration(f.Value.Text()); err != nil {
					p.On(o, f.Value, "%s is %q; it must be a duration such as 10m", f.Name, f.Value.Text())
				}
			default:
				walk(f.Value)
			}
		}
		for _, item := range n.List() {
			walk(item)
		}
	}
	if spec := o.Get("spec"); spec != nil {
		walk(spec)
	}
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP002", Name: "cluster-without-spec", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A Cluster must have either a topology or references",
	Source: clusterAdmission + ", validate",
	Why:    "The Cluster API webhook refuses a Cluster with neither. With a topology, Cluster API sets the references.",
	Fix:    "Write spec.topology, or spec.infrastructureRef and spec.controlPlaneRef with the objects that they name.",
	Yields: []string{"TOP001"},
	Kinds:  rendered, Check: perCluster(func(p *lint.Pass, o *manifest.Object) {
		spec := o.Get("spec")
		topology := !view.Blank(spec.Get("topology"))
		explicit := cmp.Or(spec.Field("infrastructureRef"), spec.Field("controlPlaneRef"))
		switch {
		case !topology && view.Blank(spec.Get("infrastructureRef")) && view.Blank(spec.Get("controlPlaneRef")):
			p.Report(lint.On(o, cmp.Or(spec, o.Doc.Root), "the Cluster has neither a topology nor references").Because(
				view.FieldOf(o, "spec.topology"), view.FieldOf(o, "spec.infrastructureRef"), view.FieldOf(o, "spec.controlPlaneRef")))
		case topology && explicit != nil && !view.Blank(explicit.Value):
			p.Report(lint.On(o, explicit.Key(), "the Cluster has a topology, so Cluster API sets the %s itself", explicit.Name).As(lint.Warning))
		}
	}),
})

// version returns the version of the topology as Cluster API completes it; not ok
// if it is up to the user.
func (t *topology) version() (n *yamldoc.Node, text string, ok bool) {
	n = t.node.Get("version")
	return n, "v" + strings.TrimPrefix(n.Str(), "v"), n.Str() != "" && !view.Open(t.Object, n)
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP004", Name: "topology-version", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The version of a topology must be a Kubernetes version",
	Source: clusterAdmission + ", validateTopology",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Write a version with three numbers, for example v1.34.0.",
	Kinds:  rendered, Check: perTopology(func(p *lint.Pass, t *topology) {
		n, text, ok := t.version()
		if !ok {
			return
		}
		if _, err := semver.Parse(text[1:]); err != nil {
			p.On(t.Object, n, "%s is not a version: %v", n.Text(), err)
		}
	}),
})

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP005", Name: "topology-version-of-class", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The version of a topology must be one that its class allows",
	Source: clusterAdmission + ", ValidateClusterForClusterClass",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Use a version from kubernetesVersions of the ClusterClass, or add the version there.",
	Kinds:  rendered, Check: perTopology(topologyVersionOfClass), Yields: []string{"TOP004"},
})

func topologyVersionOfClass(p *lint.Pass, t *topology) {
	n, text, ok := t.version()
	if !ok || t.class == nil {
		return
	}
	list := t.class.KubernetesVersions()
	var all []string
	for _, v := range list {
		if v.Str() == text || view.Open(t.class.Object, v) {
			return
		}
		all = append(all, v.Text())
	}
	if len(list) > 0 {
		p.On(t.Object, n, "class %s does not allow %s; it allows %s", t.class.Name(), text, phrase.Few(all, 3))
	}
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP006", Name: "worker-class", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The class of every worker must be in the ClusterClass",
	Source: clusterAdmission + ", check.MachineDeploymentTopologiesAreValidAndDefinedInClusterClass",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Correct the name.",
	Kinds:  rendered, Check: perTopology(workerClass),
})

func workerClass(p *lint.Pass, t *topology) {
	if t.class == nil {
		return
	}
	for _, w := range t.workers() {
		n := w.node.Get("class")
		if n.Str() == "" || w.class != nil || view.Open(t.Object, n) {
			continue
		}
		kind, known := "MachineDeployments", []string(nil)
		if w.pool {
			kind = "MachinePools"
		}
		for _, c := range t.class.Workers() {
			switch {
			case c.Pool == w.pool && view.Open(t.class.Object, c.Node.Get("class")):
				return // it may be that one
			case c.Pool == w.pool:
				known = append(known, c.Class)
			}
		}
		f := lint.On(t.Object, n, "class %s has no %s with class %q", t.class.Name(), kind, n.Text())
		if len(t.class.Workers()) == 0 {
			f = f.Because(view.FieldOf(t.class.Object, "spec.workers"))
		}
		p.Report(f.Meant(phrase.Nearest(n.Text(), known)))
	}
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP008", Name: "required-variable", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A Cluster must set all variables that its class requires",
	Source: "cluster-api internal/topology/variables, validateRequiredVariables",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Add the variable to spec.topology.variables.",
	Kinds:  rendered, Check: perTopology(requiredVariable),
})

func requiredVariable(p *lint.Pass, t *topology) {
	if t.class == nil {
		return
	}
	set := map[string]bool{}
	list := t.node.Get("variables")
	for _, v := range list.List() {
		name := v.Get("name")
		if view.Open(t.Object, name) {
			return
		}
		set[name.Str()] = true
	}
	for _, v := range t.class.Variables() {
		if v.Name != "" && v.Required && !set[v.Name] && v.Default() == nil &&
			!view.Open(t.class.Object, v.Node.Get("name")) {
			p.On(t.Object, cmp.Or(list, t.node),
				"class %s requires variable %q, which the Cluster does not set", t.class.Name(), v.Name)
			set[v.Name] = true
		}
	}
}

// values calls visit for every entry of a list of values that has a name.
func (t *topology) values(list *yamldoc.Node, visit func(name *yamldoc.Node, value *yamldoc.Node, definition *clusterclass.Variable)) {
	if t.class == nil {
		return
	}
	for _, v := range list.List() {
		if name := v.Get("name"); name.Str() != "" && !view.Open(t.Object, name) {
			visit(name, v.Get("value"), t.class.Variable(name.Text()))
		}
	}
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP009", Name: "unknown-variable", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A Cluster must only set variables that its class defines",
	Source: "cluster-api internal/topology/variables, validateClusterVariables",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Correct the name, or define the variable in the ClusterClass and use it in a patch.",
	Kinds:  rendered, Check: perTopology(unknownVariable),
})

func unknownVariable(p *lint.Pass, t *topology) { reportUnknown(p, t, t.node.Get("variables")) }

// reportUnknown reports the values in a list that belong to no variable of the class.
func reportUnknown(p *lint.Pass, t *topology, list *yamldoc.Node) {
	if t.class == nil {
		return // its variables are not known
	}
	set := map[string]bool{}
	t.values(list, func(name, _ *yamldoc.Node, _ *clusterclass.Variable) { set[name.Text()] = true })
	names := phrase.List(t.class.Variables(), func(v clusterclass.Variable) string { return v.Name })
	unset := phrase.Only(names, func(name string) bool { return !set[name] })
	t.values(list, func(name, _ *yamldoc.Node, definition *clusterclass.Variable) {
		if definition != nil {
			return
		}
		f := lint.On(t.Object, name, "class %s does not define variable %q", t.class.Name(), name.Text())
		if t.class.Discovers() {
			f.Severity = lint.Warning
			f.Message += " itself; one of its extensions may"
		}
		p.Report(f.Meant(phrase.Nearest(name.Text(), unset)).Perhaps(view.Unset(t.class, name.Text())))
	})
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP010", Name: "variable-value", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Values of variables must match their schema",
	Source: "cluster-api internal/topology/variables, ValidateClusterVariable",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Correct the value, or the schema in the ClusterClass.",
	Kinds:  rendered, Check: perTopology(variableValue),
})

func variableValue(p *lint.Pass, t *topology) { checkValues(p, t, t.node.Get("variables")) }

// checkValues compares the values in a list with the definitions of their variables.
func checkValues(p *lint.Pass, t *topology, list *yamldoc.Node) {
	checker := crd.Checker{Filled: true}
	t.values(list, func(_, value *yamldoc.Node, definition *clusterclass.Variable) {
		if definition != nil && value != nil && (value.Kind != yamldoc.Null || definition.Default() == nil) {
			view.ReportViolations(p, t.Object, checker.Check(definition.Schema, value, true, definition.Name), nil)
		}
	})
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP011", Name: "variable-override", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Variable overrides must match the variables of the class and their schema",
	Source: "cluster-api internal/topology/variables, ValidateControlPlaneVariables and ValidateMachineVariables",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Correct the name or the value.",
	Kinds:  rendered, Check: perTopology(func(p *lint.Pass, t *topology) {
		for _, part := range t.parts() {
			list := part.Get("variables", "overrides")
			reportUnknown(p, t, list)
			checkValues(p, t, list)
		}
	}),
})

// limitProblem returns what is wrong with a number or percentage, "" if nothing
// is or if it has another type.
func limitProblem(n *yamldoc.Node) string {
	v, isInt := n.Int()
	switch {
	case n.Is(yamldoc.String) && !view.IsPercent(n.Text()):
		return strconv.Quote(n.Text()) + " is neither an integer nor a percentage"
	case n.Is(yamldoc.Int) && (!isInt || int64(int32(v)) != v):
		return n.Text() + " does not fit into 32 bits"
	}
	return ""
}

// Annotations by which the autoscaler scales workers.
const (
	minSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	maxSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

// autoscaled returns an annotation by which the autoscaler scales workers.
func autoscaled(metadata *yamldoc.Node) *yamldoc.Node {
	annotations := metadata.Get("annotations")
	return cmp.Or(annotations.Get(minSize), annotations.Get(maxSize))
}

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP013", Name: "replicas-and-autoscaler", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Workers must have either replicas or the annotations of the autoscaler",
	Source: clusterAdmission + ", validateAutoscalerAnnotationsForCluster",
	Why:    "The Cluster API webhook refuses the Cluster, because the autoscaler and the topology would both set the number. The webhook of MachineDeployments refuses sizes that are not integers.",
	Fix:    "Remove replicas, or the annotations.",
	Kinds:  rendered, Check: perTopology(func(p *lint.Pass, t *topology) {
		for _, w := range t.workers() {
			n := w.node.Get("replicas")
			sizes(w.node.Get("metadata"), view.Failure{Pass: p, Object: t.Object, Value: w.node})
			switch {
			case w.pool || n == nil || n.Is(yamldoc.Null):
			case autoscaled(w.node.Get("metadata")) != nil:
				p.On(t.Object, n, "these workers have both replicas and annotations of the autoscaler")
			case w.class != nil && autoscaled(cmp.Or(w.class.Node.Get("template", "metadata"), w.class.Node.Get("metadata"))) != nil:
				p.On(t.Object, n, "class %s sets annotations of the autoscaler for these workers", t.class.Name())
			}
		}
	}),
})

// sizes judges the annotations of the autoscaler, which wants two integers, the largest no
// smaller than the other.
func sizes(metadata *yamldoc.Node, fail view.Failure) {
	integer := fail.As(lint.Warning, "Write an integer in quotes.")
	low, high := metadata.Get("annotations", minSize), metadata.Get("annotations", maxSize)
	least, err := strconv.ParseInt(low.Str(), 10, 32)
	most, wrong := strconv.ParseInt(high.Str(), 10, 32)
	switch {
	case !low.Is(yamldoc.String) || !high.Is(yamldoc.String):
	case err != nil:
		integer.By(low).Says("%s is %q; it must be an integer", minSize, low.Text())
	case wrong != nil:
		integer.By(high).Says("%s is %q; it must be an integer", maxSize, high.Text())
	case least > most:
		fail.As(lint.Warning, "Make the largest size no smaller than the other.").By(high, low).Says("the autoscaler scales to at most %d machines, but to at least %d, so it leaves these workers alone", most, least)
	}
}

var _ = topologyRules.AddAll(lint.Rule{
	ID: "TOP014", Name: "cluster-name", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The name of a Cluster must be a valid label value",
	Source: clusterAdmission + ", validate",
	Why:    "The Cluster API webhook refuses the Cluster: its name becomes a label of all objects, with at most 63 characters.",
	Fix:    "Shorten the name.",
	Kinds:  rendered, Check: perCluster(func(p *lint.Pass, o *manifest.Object) {
		n := o.Get("metadata", "name")
		if problems := validation.IsValidLabelValue(n.Str()); len(problems) > 0 {
			view.Judge(p, o, n, func(n *yamldoc.Node) bool {
				return n.Is(yamldoc.String) && len(validation.IsValidLabelValue(n.Text())) == 0
			}, func(value string) lint.Finding {
				return lint.On(o, n, "%q is not a valid label value: %s", value, problems[0])
			})
		}
	}),
}, lint.Rule{
	ID: "TOP015", Name: "cluster-network", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Networks of a Cluster must be in CIDR notation",
	Source: clusterAdmission + ", validateCIDRBlocks",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Write an address, a slash and the prefix length, for example 10.0.0.0/16.",
	Kinds:  rendered, Check: perCluster(func(p *lint.Pass, o *manifest.Object) {
		for _, of := range []string{"pods", "services"} {
			for _, n := range o.Get("spec", "clusterNetwork", of, "cidrBlocks").List() {
				if _, _, err := net.ParseCIDR(n.Str()); err != nil && n.Is(yamldoc.String) {
					view.Failure{Pass: p, Object: o, Value: n}.Says("%q is not in CIDR notation", n.Text())
				}
			}
		}
	}),
}, lint.Rule{
	ID: "TOP021", Name: "topology-metadata", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Labels and annotations in a topology must be valid",
	Source: clusterAdmission + ", validateTopologyMetadata",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Correct the key or the value.",
	Kinds:  rendered, Check: perTopology(func(p *lint.Pass, t *topology) {
		for _, part := range t.parts() {
			view.JudgeMetadata(p, t.Object, part.Get("metadata"))
		}
	}),
})

// concurrency says how many workers are upgraded at a time.
const concurrency = "topology.cluster.x-k8s.io/upgrade-concurrency"

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP022", Name: "upgrade-concurrency", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The number of concurrent upgrades must be 1 or more",
	Source: clusterAdmission + ", validateTopology",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Write an integer of 1 or more, in quotes.",
	Kinds:  rendered, Check: perTopology(func(p *lint.Pass, t *topology) {
		n := t.Get("metadata", "annotations", concurrency)
		if v, err := strconv.Atoi(n.Str()); n.Is(yamldoc.String) && (err != nil || v < 1) {
			view.Failure{Pass: p, Object: t.Object, Value: n}.Says("%q is not an integer of 1 or more", n.Text())
		}
	}),
})

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP023", Name: "topology-taints", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Taints in a topology must not be reserved",
	Source: "cluster-api internal/util/taints, ValidateMachineTaints",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Use another key.",
	Kinds:  rendered, Check: perTopology(func(p *lint.Pass, t *topology) {
		for _, part := range t.parts() {
			for _, taint := range part.Get("taints").List() {
				n := taint.Get("key")
				if problem := clusterclass.TaintProblem(n.Str()); n.Str() != "" && problem != "" {
					view.Failure{Pass: p, Object: t.Object, Value: n}.Says("taint %q %s", n.Text(), problem)
				}
			}
		}
	}),
})

var _ = topologyRules.Add(lint.Rule{
	ID: "TOP024", Name: "topology-rollout", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A rollout of workers must be able to replace machines",
	Source: clusterAdmission + ", validateTopologyRollout",
	Why:    "The Cluster API webhook refuses the Cluster.",
	Fix:    "Write integers or percentages that are not both 0.",
	Kinds:  rendered, Check: perTopology(topologyRollout),
})

func topologyRollout(p *lint.Pass, t *topology) {
	for _, w := range t.workers() {
		strategy := w.node.Get("rollout", "strategy")
		if t.old() {
			strategy = w.node.Get("strategy")
		}
		unavailable, surge := strategy.Get("rollingUpdate", "maxUnavailable"), strategy.Get("rollingUpdate", "maxSurge")
		for _, n := range []*yamldoc.Node{unavailable, surge} {
			if problem := limitProblem(n); problem != "" {
				view.Failure{Pass: p, Object: t.Object, Value: n}.Says("%s", problem)
			}
		}
		a, isA := unavailable.Int()
		b, isB := surge.Int()
		if isA && isB && a == 0 && b == 0 {
			view.Failure{Pass: p, Object: t.Object, Value: surge}.By(surge, unavailable).Says("maxUnavailable and maxSurge are both 0, so no machine can ever be replaced")
		}
	}
}
