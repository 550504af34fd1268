package extension

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

//go:embed topology.yaml
var builtin []byte

// object is a Kubernetes object, or a part of one.
type object = map[string]any

// Topology is what requests are made from.
type Topology struct {
	Class *clusterclass.Class
	// Cluster is as a person would write it, in either version of the API.
	Cluster object
	// templates are the objects of the class by group, kind and name.
	templates map[[3]string]object
}

// ReadTopology returns the topology of a ClusterClass and a Cluster in the files; what they
// lack comes from a topology that is built in: the Cluster, or both. The Cluster
// of a class without one has each class of workers once. The error says which file
// cannot be used.
func ReadTopology(files ...*manifest.File) (*Topology, error) {
	t := &Topology{templates: map[[3]string]object{}}
	for _, f := range files {
		if err := f.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Artifact.Path, err)
		}
		if s := f.Docs(); s != nil && s.Err != nil {
			return nil, s.Err
		}
		for _, o := range f.Objects() {
			if err := t.add(o); err != nil {
				return nil, err
			}
		}
	}
	if t.Class != nil && t.Cluster != nil {
		return t, nil
	}
	given := *t
	for _, o := range ordinary() {
		if given.Class != nil && !o.Is(clusterclass.Group, "Cluster") ||
			given.Cluster != nil && o.Is(clusterclass.Group, "Cluster") {
			continue
		}
		if err := t.add(o); err != nil {
			return nil, err
		}
	}
	if given.Cluster == nil && given.Class != nil {
		delete(t.topology(), "variables")
	}
	if given.Class != nil || given.Cluster != nil {
		t.useClass()
	}
	return t, nil
}

// ordinary are the objects of the topology that is built in.
var ordinary = sync.OnceValue(func() []*manifest.Object {
	return manifest.New(repo.BytesArtifact("topology.yaml", builtin), layouts.ClusterClass, builtin).Objects()
})

// TopologyOf returns the topology of a ClusterClass with its templates among the objects.
// The Cluster is the one that is built in, with each class of workers once.
func TopologyOf(class *clusterclass.Class, objects []*manifest.Object) *Topology {
	t := &Topology{Class: class, templates: map[[3]string]object{}}
	for _, o := range objects {
		if o.Kind == clusterclass.Kind || o.Is(clusterclass.Group, "Cluster") {
			continue
		}
		if value, ok := o.Doc.Root.Value().(object); ok {
			t.templates[[3]string{o.Group, o.Kind, o.Name}] = value
		}
	}
	cluster := phrase.First(ordinary(), func(o *manifest.Object) bool { return o.Is(clusterclass.Group, "Cluster") })
	t.Cluster, _ = cluster.Doc.Root.Value().(object)
	delete(t.topology(), "variables")
	t.useClass()
	return t
}

// With returns the same topology with another Cluster.
func (t *Topology) With(cluster *manifest.Object) *Topology {
	out := *t
	out.Cluster, _ = cluster.Doc.Root.Value().(object)
	return &out
}

func (t *Topology) add(o *manifest.Object) error {
	value, ok := o.Doc.Root.Value().(object)
	if !ok {
		return nil
	}
	switch {
	case o.Is(clusterclass.Group, clusterclass.Kind):
		if t.Class != nil {
			return fmt.Errorf("%s: there are several ClusterClasses, %s and %s; keep only one",
				o.File.Artifact.Path, t.Class.Name(), o.Name)
		}
		t.Class = clusterclass.Of(o)
	case o.Is(clusterclass.Group, "Cluster"):
		if t.Cluster != nil {
			return fmt.Errorf("%s: there are several Clusters; keep only one", o.File.Artifact.Path)
		}
		t.Cluster = value
	default:
		t.templates[[3]string{o.Group, o.Kind, o.Name}] = value
	}
	return nil
}

// useClass makes the Cluster use each class of workers once.
func (t *Topology) useClass() {
	spec := yamldoc.Child(t.Cluster, "spec")
	topology := yamldoc.Child(spec, "topology")
	delete(topology, "class")
	topology["classRef"] = object{"name": t.Class.Name()}
	workers := object{}
	for _, w := range t.Class.Workers() {
		list, name := clusterclass.Deployments, "md-"
		if w.Pool {
			list, name = clusterclass.Pools, "mp-"
		}
		have, _ := workers[list].([]any)
		workers[list] = append(have, object{"class": w.Class, "name": fmt.Sprintf("%s%d", name, len(have)), "replicas": int64(1)})
	}
	topology["workers"] = workers
}

// text returns a string in a value, or "".
func text(v any, path ...string) string {
	for _, key := range path {
		m, _ := v.(object)
		v = m[key]
	}
	s, _ := v.(string)
	return s
}

func (t *Topology) name() string { return cmp.Or(text(t.Cluster, "metadata", "name"), "test-cluster") }
func (t *Topology) namespace() string {
	return cmp.Or(text(t.Cluster, "metadata", "namespace"), "test-ns")
}

// topology is that part of the Cluster.
func (t *Topology) topology() object {
	spec, _ := t.Cluster["spec"].(object)
	topology, _ := spec["topology"].(object)
	return topology
}

// Version is the version of Kubernetes of the Cluster.
func (t *Topology) Version() string { return cmp.Or(text(t.topology(), "version"), "v1.34.0") }

// className is the name of the ClusterClass that the Cluster names.
func (t *Topology) className() string {
	return cmp.Or(text(t.topology(), "classRef", "name"), text(t.topology(), "class"), t.Class.Name())
}

// cluster returns the Cluster as it is sent: without status and what only an API
// server needs (core/reconcilers/topology/cluster, cleanupCluster), in the version
// of the API that the release of Cluster API uses.
func (t *Topology) cluster(core int) object {
	out := yamldoc.Copied(t.Cluster).(object)
	delete(out, "status")
	metadata := yamldoc.Child(out, "metadata")
	delete(metadata, "managedFields")
	metadata["name"], metadata["namespace"] = t.name(), t.namespace()
	if annotations, ok := metadata["annotations"].(object); ok {
		delete(annotations, lastApplied)
	}
	version := CoreVersion(core)
	out["kind"], out["apiVersion"] = "Cluster", clusterclass.Group+"/"+string(version)
	spec := yamldoc.Child(out, "spec")
	topology := yamldoc.Child(spec, "topology")
	name := t.className()
	delete(topology, "class")
	delete(topology, "classRef")
	if version == contract.V1Beta1 {
		topology["class"] = name
	} else {
		topology["classRef"] = object{"name": name}
	}
	for _, ref := range []string{"infrastructureRef", "controlPlaneRef"} {
		if r, ok := spec[ref].(object); ok {
			spec[ref] = t.reference(r, version)
		}
	}
	return out
}

// reference returns a reference to a template or an object in the form that the
// version of the API has.
func (t *Topology) reference(r object, version contract.Contract) object {
	group := text(r, "apiGroup")
	if group == "" {
		group, _ = manifest.SplitAPIVersion(text(r, "apiVersion"))
	}
	out := object{"kind": text(r, "kind"), "name": text(r, "name")}
	if version == contract.V1Beta1 {
		out["apiVersion"] = cmp.Or(text(r, "apiVersion"), group+"/"+string(contract.V1Beta1))
		out["namespace"] = t.namespace()
	} else {
		out["apiGroup"] = group
	}
	return out
}

// template returns the object that a reference names, with what Cluster API makes
// sure is there. A class may come without its templates: then it is an empty one.
func (t *Topology) template(r clusterclass.Reference) object {
	o, ok := t.templates[[3]string{r.Group(), r.Kind, r.Name}]
	if ok {
		o = yamldoc.Copied(o).(object)
	} else {
		o = object{"spec": object{"template": object{"spec": object{}}}}
	}
	o["apiVersion"], o["kind"] = r.APIVersion, r.Kind
	metadata := yamldoc.Child(o, "metadata")
	metadata["name"], metadata["namespace"] = r.Name, t.namespace()
	return o
}

// Has reports whether the object that a reference names is there.
func (t *Topology) Has(r clusterclass.Reference) bool {
	_, ok := t.templates[[3]string{r.Group(), r.Kind, r.Name}]
	return ok
}

// instance returns an object made from a template: a DockerMachine from a
// DockerMachineTemplate.
func instance(template object, name, namespace string) object {
	spec, _ := template["spec"].(object)
	inner, _ := spec["template"].(object)
	body, ok := yamldoc.Copied(inner["spec"]).(object)
	if !ok {
		body = object{}
	}
	return object{
		"apiVersion": template["apiVersion"], "kind": strings.TrimSuffix(text(template, "kind"), "Template"),
		"metadata": object{"name": name, "namespace": namespace}, "spec": body,
	}
}

// worker is one MachineDeployment or MachinePool of the Cluster.
type worker struct {
	class    *clusterclass.Worker
	topology object
}

// workers are those of the Cluster whose class exists.
func (t *Topology) workers() []worker {
	lists, _ := t.topology()["workers"].(object)
	var out []worker
	for _, list := range []string{clusterclass.Deployments, clusterclass.Pools} {
		entries, _ := lists[list].([]any)
		for _, e := range entries {
			entry, _ := e.(object)
			if c := t.Class.Worker(list == clusterclass.Pools, text(entry, "class")); c != nil {
				out = append(out, worker{c, entry})
			}
		}
	}
	return out
}

// variables are the values of the Cluster and, where it has none, the defaults of
// the class and of what the extension defines.
func (t *Topology) variables(discovered []*yamldoc.Node) []any {
	values, _ := t.values(discovered, Samples{})
	return listed(values)
}

// listed writes values as a request has them.
func listed(values object) []any {
	names := slices.Sorted(maps.Keys(values))
	return phrase.List(names, func(name string) any { return object{"name": name, "value": values[name]} })
}

// builtins returns the variable of that name.
func builtins(v object) object { return object{"name": "builtin", "value": v} }

// clusterBuiltins are those of all items (patches/variables, Global).
func (t *Topology) clusterBuiltins() object {
	network := object{}
	spec, _ := t.Cluster["spec"].(object)
	if n, ok := spec["clusterNetwork"].(object); ok {
		if d := text(n, "serviceDomain"); d != "" {
			network["serviceDomain"] = d
		}
		for _, key := range []string{"services", "pods"} {
			if part, ok := n[key].(object); ok && part["cidrBlocks"] != nil {
				network[key] = yamldoc.Copied(part["cidrBlocks"])
			}
		}
	}
	in := cmp.Or(text(t.topology(), "classRef", "namespace"), text(t.topology(), "classNamespace"), t.namespace())
	cluster := object{
		"name": t.name(), "namespace": t.namespace(),
		"topology": object{
			"version": t.Version(), "class": t.className(), "classNamespace": in,
			"classRef": object{"name": t.className(), "namespace": in},
		},
	}
	if len(network) > 0 {
		cluster["network"] = network
	}
	if uid := text(t.Cluster, "metadata", "uid"); uid != "" {
		cluster["uid"] = uid
	}
	metadata := ownMetadata(t.Cluster)
	maps.Copy(yamldoc.Child(metadata, "labels"), object{clusterLabel: t.name(), ownedLabel: ""})
	cluster["metadata"] = metadata
	return object{"cluster": cluster}
}

// ownMetadata are labels and annotations of an object, as patches see them.
func ownMetadata(o object) object {
	metadata, _ := o["metadata"].(object)
	return cleaned(metadata)
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// cleaned returns labels and annotations without what only an API server needs.
func cleaned(metadata object) object {
	out := object{}
	for _, key := range []string{"labels", "annotations"} {
		m, _ := metadata[key].(object)
		m = maps.Clone(m)
		if key == "annotations" {
			delete(m, lastApplied)
			delete(m, "cluster.x-k8s.io/conversion-data")
		}
		if len(m) > 0 {
			out[key] = m
		}
	}
	return out
}

// overrides are the values that a part of the topology has for itself.
func (t *Topology) overrides(part object, s Samples) []any {
	variables, _ := part["variables"].(object)
	list, _ := variables["overrides"].([]any)
	var out []any
	for _, e := range list {
		entry, _ := yamldoc.Copied(e).(object)
		if v := t.Class.Variable(text(entry, "name")); v != nil {
			entry["value"], _ = clusterclass.Defaulted(v.Schema.Node, entry["value"], true)
		}
		if !s.Instead[text(entry, "name")] {
			out = append(out, entry)
		}
	}
	return out
}
