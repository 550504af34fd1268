package extension

import (
	"cmp"
	"errors"
	"maps"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Random stands for the five characters that Cluster API makes up for the end of names.
const Random = "xxxxx"

// Labels and annotations that the topology controller sets.
const (
	clusterLabel    = "cluster.x-k8s.io/cluster-name"
	ownedLabel      = "topology.cluster.x-k8s.io/owned"
	deploymentLabel = "topology.cluster.x-k8s.io/deployment-name"
	poolLabel       = "topology.cluster.x-k8s.io/pool-name"
	clonedFromName  = "cluster.x-k8s.io/cloned-from-name"
	clonedFromKind  = "cluster.x-k8s.io/cloned-from-groupkind"
)

// Part is what the topology controller makes from a template of the class, before patches
// (cluster-api exp/topology/desiredstate).
type Part struct {
	// Of is the control plane or the workers that the object belongs to; nil for the
	// infrastructure of the cluster.
	Of     *Set
	Holder patch.Holder
	// Object is what is made, and Template is what patches see instead.
	Object, Template object
	// Reference is that of the class to the template.
	Reference clusterclass.Reference

	holder    object
	variables []any
}

// Set is the control plane, a MachineDeployment or a MachinePool.
type Set struct {
	// Class and Topology describe the workers in the class and in the Cluster; Class is nil
	// for the control plane.
	Class    *clusterclass.Worker
	Topology object
	Name     string
	// Labels and Annotations are those that class and Cluster give its machines.
	Labels, Annotations object
}

// builtins is the variable that tells patches about the set.
func (s *Set) builtins(version string, more object) object {
	out := object{"version": version, "name": s.Name}
	maps.Copy(out, more)
	if replicas := s.Topology["replicas"]; replicas != nil {
		out["replicas"] = replicas
	}
	return out
}

// set reads what the control plane and workers have in common. Of labels in both, those of
// the Cluster win.
func (t *Topology) set(class *clusterclass.Worker, topology object) *Set {
	inClass := t.Class.Spec.Get("controlPlane", "metadata")
	if class != nil {
		inClass = class.Metadata
	}
	s := &Set{Class: class, Topology: topology, Labels: object{}, Annotations: object{}}
	metadata, _ := topology["metadata"].(object)
	for key, into := range map[string]object{"labels": s.Labels, "annotations": s.Annotations} {
		in, _ := inClass.Get(key).Value().(object)
		maps.Copy(into, in)
		own, _ := metadata[key].(object)
		maps.Copy(into, own)
	}
	s.Labels[clusterLabel], s.Labels[ownedLabel] = t.name(), ""
	return s
}

// Parts returns what the topology controller makes of the templates, and why names cannot be
// made.
func (m *Maker) Parts(s Samples) ([]Part, error) {
	t := m.Topology
	references := t.Class.References()
	if len(references) < 2 {
		return nil, nil
	}
	var out []Part
	var errs []error
	name := func(n clusterclass.Naming, topology, existing string) string {
		made, err := n.Name(t.name(), topology, Random)
		errs = append(errs, err)
		return cmp.Or(existing, made, t.name()+"-"+Random)
	}
	add := func(r clusterclass.Reference, of *Set, holder object, path string, o object) {
		p := Part{Of: of, Holder: patch.Holder{Kind: text(holder, "kind"), FieldPath: path}, Object: o, Reference: r, holder: holder}
		p.Template = t.seen(&p)
		out = append(out, p)
	}
	core := clusterclass.Group + "/" + string(CoreVersion(m.Core))
	cluster := object{"apiVersion": core, "kind": "Cluster", "metadata": object{"name": t.name(), "uid": text(t.Cluster, "metadata", "uid")}}
	owners := []any{Owner(cluster)}
	ofInfrastructure, ofControlPlane := t.Class.ClusterNamings()
	infrastructure := t.made(references[0], name(ofInfrastructure, "", text(t.Cluster, "spec", "infrastructureRef", "name")))
	add(references[0], nil, cluster, patch.InfrastructureClusterPath, t.labeled(infrastructure, nil, nil, references[0]))
	topology, _ := t.topology()["controlPlane"].(object)
	control := t.set(nil, topology)
	control.Name = name(ofControlPlane, "", text(t.Cluster, "spec", "controlPlaneRef", "name"))
	controlPlane := t.labeled(t.made(references[1], control.Name), control.Labels, control.Annotations, references[1])
	add(references[1], control, cluster, patch.ControlPlanePath, controlPlane)
	own := control.builtins(t.Version(), object{"metadata": ownMetadata(controlPlane)})
	if machines := t.Class.MachineInfrastructure(); machines.Node != nil {
		o := t.labeled(t.own(machines, clusterclass.Generated(t.name()+"-", Random)), nil, nil, machines)
		Put(o, owners, "metadata", "ownerReferences")
		own["machineTemplate"] = object{"infrastructureRef": object{"name": text(o, "metadata", "name")}}
		path := "spec.machineTemplate.spec.infrastructureRef"
		if m.ControlPlaneContract() == contract.V1Beta1 {
			path = "spec.machineTemplate.infrastructureRef"
		}
		add(machines, control, controlPlane, path, o)
	}
	for i := 1; i < len(out); i++ {
		out[i].variables = append(t.overrides(topology, s), builtins(object{"controlPlane": own}))
	}
	for _, w := range t.workers() {
		kind, builtin, label, made := "MachineDeployment", "machineDeployment", deploymentLabel, t.own
		if w.class.Pool {
			kind, builtin, label, made = "MachinePool", "machinePool", poolLabel, t.made
		}
		set := t.set(w.class, w.topology)
		topologyName := text(w.topology, "name")
		set.Labels[label] = topologyName
		delete(set.Annotations, "topology.cluster.x-k8s.io/hold-upgrade-sequence")
		delete(set.Annotations, "topology.cluster.x-k8s.io/defer-upgrade")
		set.Name = name(w.class.Naming, topologyName, "")
		holder := object{"apiVersion": core, "kind": kind, "metadata": object{"name": set.Name}}
		more := object{"class": w.class.Class, "topologyName": topologyName, "metadata": cleaned(object{"labels": set.Labels, "annotations": set.Annotations})}
		first := len(out)
		for _, r := range []clusterclass.Reference{w.class.Bootstrap, w.class.Infrastructure} {
			if r.Node == nil {
				continue
			}
			o := made(r, clusterclass.Generated(t.name()+"-"+topologyName+"-", Random))
			Put(t.labeled(o, object{label: topologyName}, nil, r), owners, "metadata", "ownerReferences")
			ref, path := object{"name": text(o, "metadata", "name")}, patch.InfrastructurePath
			if r.Role == contract.BootstrapConfig {
				path, more["bootstrap"] = patch.BootstrapPath, object{"configRef": ref}
			} else {
				more["infrastructureRef"] = ref
			}
			add(r, set, holder, path, o)
		}
		for i := first; i < len(out); i++ {
			out[i].variables = append(t.overrides(w.topology, s), builtins(object{builtin: set.builtins(t.Version(), more)}))
		}
	}
	return out, errors.Join(errs...)
}

// ControlPlaneContract is Contract or, without it, what the apiVersion lets expect.
func (m *Maker) ControlPlaneContract() contract.Contract {
	if references := m.Topology.Class.References(); m.Contract == "" && len(references) > 1 && strings.HasSuffix(references[1].APIVersion, "/"+string(contract.V1Beta1)) {
		return contract.V1Beta1
	}
	return cmp.Or(m.Contract, contract.V1Beta2)
}

// InTemplate reports whether the object is made of what its template holds for it, instead of
// being a template itself.
func (p *Part) InTemplate() bool { return p.Holder.Kind == "Cluster" || p.Holder.Kind == "MachinePool" }

// Patched is the object with what its template holds after patches, without what they cannot
// change (core/reconcilers/topology/cluster/patches, updateDesiredState).
func (p *Part) Patched(template object) object {
	out := yamldoc.Copied(p.Object).(object)
	fields := [][2]string{{"spec.template.spec", "spec"}, {"spec.template.metadata.labels", "metadata.labels"}, {"spec.template.metadata.annotations", "metadata.annotations"}}
	if !p.InTemplate() {
		fields = [][2]string{{"spec.template.spec", "spec.template.spec"}, {"metadata.labels", "metadata.labels"}, {"metadata.annotations", "metadata.annotations"},
			{"spec.template.metadata.labels", "spec.template.metadata.labels"}, {"spec.template.metadata.annotations", "spec.template.metadata.annotations"}}
	}
	for _, f := range fields {
		if value, ok := Get(template, strings.Split(f[0], ".")...); ok {
			Put(out, yamldoc.Copied(value), strings.Split(f[1], ".")...)
		}
	}
	keep := func(path ...string) {
		if value, ok := Get(p.Object, path...); ok {
			Put(out, yamldoc.Copied(value), path...)
		}
	}
	for _, label := range []string{clusterLabel, ownedLabel, deploymentLabel, poolLabel} {
		keep("metadata", "labels", label)
	}
	keep("metadata", "annotations", clonedFromName)
	keep("metadata", "annotations", clonedFromKind)
	if p.Holder.FieldPath == patch.ControlPlanePath {
		for _, field := range restored {
			keep(append([]string{"spec"}, strings.Split(field, ".")...)...)
		}
	}
	return out
}

func Get(v any, path ...string) (any, bool) {
	for _, key := range path {
		m, ok := v.(object)
		if !ok {
			return nil, false
		}
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	return v, true
}

// Put puts a value at a path, and mappings above it.
func Put(o map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		o = yamldoc.Child(o, key)
	}
	o[path[len(path)-1]] = value
}

// seen is the template of the class with the labels and annotations of what is made from it,
// as patches see it.
func (t *Topology) seen(p *Part) object {
	template := t.template(p.Reference)
	at := yamldoc.Child(template, "metadata")
	delete(at, "managedFields")
	if p.InTemplate() {
		if annotations := cleaned(at)["annotations"]; annotations != nil {
			at["annotations"] = annotations
		} else {
			delete(at, "annotations")
		}
		at = yamldoc.Child(yamldoc.Child(yamldoc.Child(template, "spec"), "template"), "metadata")
	}
	made := yamldoc.Copied(p.Object["metadata"]).(object)
	at["labels"], at["annotations"] = made["labels"], made["annotations"]
	if !p.InTemplate() {
		at["annotations"] = cleaned(made)["annotations"]
	}
	return template
}

// labeled adds labels and annotations to what is made from a template, with those that
// Cluster API gives all of it.
func (t *Topology) labeled(o, labels, annotations object, r clusterclass.Reference) object {
	metadata := yamldoc.Child(o, "metadata")
	maps.Copy(yamldoc.Child(metadata, "labels"), labels)
	maps.Copy(yamldoc.Child(metadata, "labels"), object{clusterLabel: t.name(), ownedLabel: ""})
	kind := r.Kind
	if group := r.Group(); group != "" {
		kind += "." + group
	}
	maps.Copy(yamldoc.Child(metadata, "annotations"), annotations)
	maps.Copy(yamldoc.Child(metadata, "annotations"), object{clonedFromName: r.Name, clonedFromKind: kind})
	return o
}

// Owner is the reference to a Cluster as the owner of an object.
func Owner(cluster map[string]any) map[string]any {
	return object{"apiVersion": cluster["apiVersion"], "kind": "Cluster", "name": text(cluster, "metadata", "name"), "uid": text(cluster, "metadata", "uid")}
}

// own is a copy of a template for one cluster.
func (t *Topology) own(r clusterclass.Reference, name string) object {
	o := t.template(r)
	if annotations, ok := o["metadata"].(object)["annotations"].(object); ok {
		delete(annotations, lastApplied)
	}
	return t.fresh(o, name)
}

// made is an object made from a template: a DockerCluster from a DockerClusterTemplate.
func (t *Topology) made(r clusterclass.Reference, name string) object {
	template := t.template(r)
	o := object{}
	if spec, ok := template["spec"].(object); ok {
		o = yamldoc.Child(spec, "template")
	}
	if text(o, "apiVersion") == "" {
		o["apiVersion"] = template["apiVersion"]
	}
	if text(o, "kind") == "" {
		o["kind"] = strings.TrimSuffix(text(template, "kind"), contract.Suffix)
	}
	return t.fresh(o, name)
}

// fresh removes from an object what belongs to the one that it is made from.
func (t *Topology) fresh(o object, name string) object {
	metadata := yamldoc.Child(o, "metadata")
	for _, key := range []string{"resourceVersion", "finalizers", "uid", "selfLink"} {
		delete(metadata, key)
	}
	metadata["name"], metadata["namespace"] = name, t.namespace()
	return o
}
