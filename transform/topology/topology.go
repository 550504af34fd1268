package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Input is a Cluster with what the controller reads for it.
type Input struct {
	// Cluster is the Cluster with its places, and Value what is created of it.
	Cluster *manifest.Object
	Value   map[string]any
	Class   *clusterclass.Class
	// Templates are objects, among them the templates of the class.
	Templates []*manifest.Object
	// Contract is that of the control plane; empty if it is not known.
	Contract contract.Contract
	// Changes asks for what patches make of each object.
	Changes bool
}

type State struct {
	// Objects are the Cluster and all that belongs to it.
	Objects []*Object
	// Notes say what is not known.
	Notes []string
	// Unpatched says that patches could not be applied.
	Unpatched bool
}

// Object is one that the controller creates or, for the Cluster, changes.
type Object struct {
	Value map[string]any
	// Template is the kind and name of the template that it is made from; empty if there
	// is none.
	Template string
	// Changes are what patches make of it, in their order.
	Changes []Change
}

// Admit returns what the API server and the webhooks of Cluster API refuse of Cluster and
// class before the controller sees them, and notes about what they drop.
func Admit(in Input) (notes []string, err error) {
	g := &generator{Input: in, state: &State{}}
	g.admit(g.Cluster)
	g.admit(g.Class.Object)
	return g.state.Notes, errors.Join(g.errs...)
}

// Generate computes the objects of a Cluster (cluster-api exp/topology/desiredstate,
// Generate, and what the controller does before). All refusals are returned, each a
// *yamldoc.Error where it has a place.
func Generate(in Input) (*State, error) {
	g := &generator{Input: in, state: &State{}}
	g.read()
	if len(g.errs) > 0 {
		return nil, errors.Join(g.errs...)
	}
	g.classes()
	g.templates()
	g.variables()
	if len(g.errs) > 0 {
		return nil, errors.Join(g.errs...)
	}
	g.generate()
	if len(g.errs) > 0 {
		return nil, errors.Join(g.errs...)
	}
	return g.state, nil
}

// Refused is what the webhook of KubeadmControlPlanes says to the replicas of the control plane
// of a Cluster (controlplane/kubeadm/webhooks/admission, validateKubeadmControlPlaneSpec).
func (s *State) Refused(cluster *manifest.Object) error {
	n := cluster.Get("spec", "topology", "controlPlane", "replicas")
	replicas, ok := n.Int()
	for _, o := range s.Objects {
		config := part(o.Value, "spec", "kubeadmConfigSpec", "clusterConfiguration", "etcd")
		why := ""
		switch {
		case !ok || o.Value["kind"] != "KubeadmControlPlane":
		case replicas <= 0:
			why = "it must be more than 0"
		case replicas%2 == 0 && config["external"] == nil && !s.Unpatched:
			why = "it must be odd, because etcd runs on the same machines"
		}
		if why != "" {
			return &yamldoc.Error{File: cluster.Doc.File.Name, Pos: cluster.Doc.Pos(n), Err: fmt.Errorf("the webhook of KubeadmControlPlane refuses %d replicas: %s", replicas, why)}
		}
	}
	return nil
}

type generator struct {
	Input
	cluster, class object // in v1beta2
	state          *State
	errs           []error
}

func (g *generator) refuse(o *manifest.Object, n *yamldoc.Node, format string, args ...any) {
	err := &yamldoc.Error{File: o.Doc.File.Name, Pos: o.Doc.Pos(n), Err: fmt.Errorf(format, args...)}
	if !slices.ContainsFunc(g.errs, func(known error) bool { return known.Error() == err.Error() }) {
		g.errs = append(g.errs, err)
	}
}

// note adds what is not known, once.
func (g *generator) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(g.state.Notes, text) {
		g.state.Notes = append(g.state.Notes, text)
	}
}

// classes checks that the class has the classes of the workers.
func (g *generator) classes() {
	own := part(g.cluster, "metadata")["namespace"]
	if in := part(g.topology(), "classRef")["namespace"]; in != nil && in != own {
		g.note("Cluster %s names ClusterClass %s of namespace %v, which is not at hand: the one in namespace %v stands for it",
			g.Cluster.Name, g.Class.Name(), in, own)
	}
	seen := map[string]bool{}
	for _, list := range [...]string{clusterclass.Deployments, clusterclass.Pools} {
		for _, n := range g.Cluster.Get("spec", "topology", "workers", list).List() {
			class, name := n.Get("class"), n.Get("name")
			if g.Class.Worker(list == clusterclass.Pools, class.Str()) == nil {
				g.refuse(g.Cluster, cmp.Or(class, n), "ClusterClass %s has no class %q in spec.workers.%s", g.Class.Name(), class.Text(), list)
			}
			if seen[list+name.Str()] {
				g.refuse(g.Cluster, cmp.Or(name, n), "the name %q is there twice in %s", name.Text(), list)
			}
			seen[list+name.Str()] = true
		}
	}
}

// templates checks that the class has its templates, and that all are there.
func (g *generator) templates() {
	references := g.Class.References()
	if len(references) < 2 {
		g.refuse(g.Class.Object, nil, "ClusterClass %s has no spec", g.Class.Name())
	}
	for _, r := range references {
		if r.Role == contract.Remediation {
			continue
		}
		if r.Node == nil {
			g.refuse(g.Class.Object, r.Parent, "ClusterClass %s has no %s", g.Class.Name(), &r)
			continue
		}
		found := slices.IndexFunc(g.Templates, func(o *manifest.Object) bool {
			return o.Group == r.Group() && o.Kind == r.Kind && o.Name == r.Name
		})
		if found < 0 {
			g.refuse(g.Class.Object, r.Node, "%s %s, which ClusterClass %s refers to, is missing", r.Kind, r.Name, g.Class.Name())
		} else if o := g.Templates[found]; o.Group+"/"+o.Version != r.APIVersion {
			g.note("%s %s is written in %s, but ClusterClass %s reads it in %s: what the API server's conversion changes is not known",
				r.Kind, r.Name, o.Version, g.Class.Name(), r.APIVersion)
		}
	}
}

// generate computes the objects once everything is there.
func (g *generator) generate() {
	maker := &extension.Maker{Topology: extension.TopologyOf(g.Class, g.Templates), Core: contract.NewestCore, Contract: g.Contract}
	maker.Topology.Cluster = g.cluster
	parts, err := maker.Parts(extension.Samples{})
	if err != nil {
		g.errs = append(g.errs, fmt.Errorf("ClusterClass %s: %w", g.Class.Name(), err))
		return
	}
	global, _, templates := maker.Templates(extension.Samples{})
	var machine object
	if len(parts) > 2 && parts[2].Of == parts[1].Of {
		machine = parts[2].Object
		group, version := manifest.SplitAPIVersion(parts[1].Reference.APIVersion)
		kind := strings.TrimSuffix(parts[1].Reference.Kind, contract.Suffix)
		if _, known := contract.CoreSchema(group, kind, version); g.Contract == "" && !known {
			g.note("the contract of %s is not known without its CustomResourceDefinition; %s is assumed", kind, maker.ControlPlaneContract())
		}
	}
	g.controlPlane(parts[1], machine, maker.ControlPlaneContract())
	g.patch(global, templates, parts)
	if len(g.errs) > 0 {
		return
	}
	made := make([]*Object, len(parts))
	for i, p := range parts {
		made[i] = g.finish(p, templates[i])
	}
	g.arrange(parts, made)
}

// patch applies the patches, and says which ones are not.
func (g *generator) patch(global patch.Values, templates []*patch.Template, parts []extension.Part) {
	for _, p := range g.Class.Patches() {
		if p.External == nil {
			continue
		}
		generate, validate, _ := g.Class.Handlers(p)
		if generate != nil {
			g.state.Unpatched = true
			g.note("external patch %q (%s) is not applied: only the running extension knows what it changes", p.Name, generate.Text())
		}
		if validate != nil {
			g.note("the extension of patch %q (%s) would validate the result, and may refuse it", p.Name, validate.Text())
		}
	}
	for _, f := range patch.Run(g.Class, global, templates, contract.NewestCore) {
		o, text := parts[slices.Index(templates, f.Template)].Object, f.Reason()
		if f.Stage == patch.Apply {
			text = f.Node.Str() + ": " + text
			if !f.Unsure && f.Reason() != f.Err.Error() {
				text += "; in a cluster, a default of the API server or a webhook may add it"
			}
		}
		text = fmt.Sprintf("patch %q fails for %v %v: %s", f.Patch, o["kind"], part(o, "metadata")["name"], text)
		if f.Unsure {
			pos := g.Class.Object.Doc.Pos(f.Node)
			g.state.Unpatched = true
			g.note("%s:%d:%d: not applied, because %s", g.Class.Object.Doc.File.Name, pos.Line, pos.Column, text)
			continue
		}
		g.refuse(g.Class.Object, f.Node, "%s", text)
	}
}

// variables fills in defaults and compares values with their schemas, as admission and the
// controller do.
func (g *generator) variables() {
	in := g.Cluster.Get("spec", "topology")
	topology := g.topology()
	g.defaulted(in.Get("variables"), topology, "variables", true)
	parts := [][2]any{{in.Get("controlPlane"), topology["controlPlane"]}}
	for _, list := range [...]string{clusterclass.Deployments, clusterclass.Pools} {
		all, _ := part(topology, "workers")[list].([]any)
		nodes := in.Get("workers", list).List()
		for i := range min(len(all), len(nodes)) {
			parts = append(parts, [2]any{nodes[i], all[i]})
		}
	}
	for _, p := range parts {
		if n := p[0].(*yamldoc.Node).Get("variables", "overrides"); len(n.List()) > 0 {
			g.defaulted(n, part(p[1], "variables"), "overrides", false)
		}
	}
}

// defaulted checks the values of a list, and writes it with those that the class has by
// default (internal/topology/variables, DefaultClusterVariables and ValidateClusterVariables).
func (g *generator) defaulted(at *yamldoc.Node, in object, field string, whole bool) {
	var out []any
	add := func(name string, v *clusterclass.Variable, n *yamldoc.Node, value any, set bool) {
		if v != nil {
			value, _ = clusterclass.Defaulted(v.Schema.Node, value, set)
			g.check(v, n, value)
		}
		out = append(out, object{"name": name, "value": value})
	}
	definitions := slices.Clone(g.Class.Variables())
	slices.SortStableFunc(definitions, func(a, b clusterclass.Variable) int { return strings.Compare(a.Name, b.Name) })
	names := phrase.List(definitions, func(v clusterclass.Variable) string { return v.Name })
	set := map[string]bool{}
	for _, n := range at.List() {
		name, value := n.Get("name").Str(), n.Get("value").Value()
		switch v := g.Class.Variable(name); {
		case set[name]:
			g.refuse(g.Cluster, n, "variable %q is set twice", name)
		case v == nil && g.Class.Discovers():
			g.note("variable %q is not checked: ClusterClass %s does not define it, but an extension of the class may", name, g.Class.Name())
			add(name, nil, n, value, true)
		case v == nil:
			g.refuse(g.Cluster, n, "ClusterClass %s does not define variable %q%s", g.Class.Name(), name, phrase.DidYouMean(name, names))
		default:
			add(name, v, n, value, true)
		}
		set[name] = true
	}
	for _, v := range definitions {
		switch {
		case set[v.Name] || !whole:
		case v.Default() != nil:
			add(v.Name, &v, at, nil, false)
		case v.Required:
			g.refuse(g.Cluster, cmp.Or(at, g.Cluster.Get("spec", "topology")), "ClusterClass %s requires variable %q, which the Cluster does not set", g.Class.Name(), v.Name)
		}
		set[v.Name] = true
	}
	if len(out) > 0 {
		in[field] = out
	}
}

// check compares a value with the schema of its variable.
func (g *generator) check(v *clusterclass.Variable, at *yamldoc.Node, value any) {
	docs := yamldoc.Parse(yamldoc.NewFile("value", encoded(object{"value": value}))).Docs
	for _, w := range new(crd.Checker).Check(v.Schema, docs[0].Root.Get("value"), true, v.Name) {
		g.refuse(g.Cluster, at, "variable %s %s", w.Path, w.Message)
	}
	v.Schema.Node.Walk(func(path yamldoc.Path, n *yamldoc.Node) bool {
		if len(path) > 0 && path[len(path)-1] == "x-kubernetes-validations" && len(n.List()) > 0 {
			g.note("variable %q is not checked by the CEL rules of its schema", v.Name)
		}
		return true
	})
}
