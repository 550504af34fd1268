package topology

//lint:file-ignore SA1019 Clusters and classes in v1beta1 are what users still write

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/conversion"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

type object = map[string]any

// read makes Cluster and class what the API server makes of them in v1beta2.
func (g *generator) read() {
	g.cluster = converted(g, g.Cluster, g.Value, clusterv1beta1.Convert_v1beta1_Cluster_To_v1beta2_Cluster)
	g.class = converted(g, g.Class.Object, g.Class.Object.Doc.Root.Value(), clusterv1beta1.Convert_v1beta1_ClusterClass_To_v1beta2_ClusterClass)
	if g.Cluster.Version == clusterclass.V1Beta1 { // what its webhook for conversion does in addition
		if paused, _ := extension.Get(g.cluster, "spec", "paused"); paused == false {
			delete(part(g.cluster, "spec"), "paused")
		}
		for _, ref := range []string{"infrastructureRef", "controlPlaneRef"} {
			if name, ok := extension.Get(g.Value, "spec", ref, "name"); ok {
				extension.Put(g.cluster, name, "spec", ref, "name")
			}
		}
	}
	if version, _ := g.topology()["version"].(string); !strings.HasPrefix(version, "v") {
		extension.Put(g.cluster, "v"+version, "spec", "topology", "version")
	}
}

// admit compares an object with what the API server and the webhooks of Cluster API take.
func (g *generator) admit(o *manifest.Object) {
	schema, ok := contract.CoreSchema(o.Group, o.Kind, o.Version)
	if !ok {
		g.refuse(o, o.Get("apiVersion"), "%s %s is in version %s, which Cluster API does not read", o.Kind, o.Name, o.Version)
		return
	}
	checker := crd.Checker{Received: true}
	for _, v := range checker.CheckObject(schema, o.Doc.Root) {
		switch {
		case strings.HasPrefix(v.Path, "status"):
		case v.Fault == crd.Unknown:
			pos := o.Doc.Pos(v.Node)
			g.note("%s:%d:%d: %s is left out: a %s of %s has no such field", o.Doc.File.Name, pos.Line, pos.Column, v.Path, o.Kind, o.Version)
		default:
			g.refuse(o, v.Node, "%s %s", cmp.Or(v.Path, o.Kind), v.Message)
		}
	}
	for _, p := range crd.Problems(o.Get("metadata")) {
		g.refuse(o, p.Node, "%s", p.Says(p.Node.Text()))
	}
}

func converted[Old, New any](g *generator, o *manifest.Object, value any, upgrade func(*Old, *New, conversion.Scope) error) object {
	old, into := new(Old), new(New)
	var err error
	if o.Version == clusterclass.V1Beta1 {
		if err = utiljson.Unmarshal(encoded(value), old); err == nil {
			err = upgrade(old, into, nil)
		}
	} else {
		err = utiljson.Unmarshal(encoded(value), into) // tells case, as the API server does
	}
	var misfit *json.UnmarshalTypeError
	if errors.As(err, &misfit) {
		g.refuse(o, o.Doc.Root.Misfit(misfit), "%s %s cannot be read: %s cannot be of type %s", o.Kind, o.Name, misfit.Field, misfit.Value)
	} else if err != nil {
		g.refuse(o, nil, "%s %s cannot be read: %w", o.Kind, o.Name, err)
	}
	out := plain(into)
	out["apiVersion"], out["kind"] = clusterv1.GroupVersion.String(), o.Kind
	return out
}

// encoded is a value as JSON; none that comes from documents or types of Cluster API fails.
func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return data
}

// plain is a value as JSON has it.
func plain(v any) (out object) {
	if json.Unmarshal(encoded(v), &out) != nil {
		return object{}
	}
	return out
}

// part is a mapping in a value, an empty one if it is not there.
func part(v any, path ...string) object {
	v, _ = extension.Get(v, path...)
	if m, ok := v.(object); ok {
		return m
	}
	return object{}
}

func (g *generator) topology() object { return part(g.cluster, "spec", "topology") }

// over are fields of the topology and, where it lacks them, those of the class.
func over(topology, class object, fields ...string) object {
	out := object{}
	for _, f := range fields {
		if v, ok := topology[f]; ok {
			out[f] = v
		} else if v, ok := class[f]; ok {
			out[f] = v
		}
	}
	return out
}

// timeouts are the fields of deletion, without their unit.
var timeouts = [...]string{"nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"}

func deletion(topology, class object) object {
	fields := phrase.List(timeouts[:], func(t string) string { return t + "Seconds" })
	return over(part(topology, "deletion"), part(class, "deletion"), fields...)
}

// controlPlane sets what the controller sets in a control plane, in the form of its contract
// (computeControlPlane). Machine is the template of its machines, nil if there is none.
func (g *generator) controlPlane(p extension.Part, machine object, of contract.Contract) {
	o, in, class := p.Object, p.Of.Topology, part(g.class, "spec", "controlPlane")
	machines := part(o, "spec", "machineTemplate")
	spec := machines
	if of != contract.V1Beta1 {
		spec = part(machines, "spec")
	}
	if machine != nil {
		ref := ref(machine)
		if of == contract.V1Beta1 {
			delete(ref, "apiGroup")
			ref["apiVersion"], ref["namespace"] = machine["apiVersion"], part(machine, "metadata")["namespace"]
		}
		spec["infrastructureRef"] = ref
		metadata := part(machines, "metadata")
		for key, more := range map[string]object{"labels": p.Of.Labels, "annotations": p.Of.Annotations} {
			all := part(metadata, key)
			maps.Copy(all, more)
			if delete(metadata, key); len(all) > 0 {
				metadata[key] = all
			}
		}
		machines["metadata"] = metadata
	}
	maps.Copy(spec, over(in, class, "readinessGates", "taints"))
	times := part(spec, "deletion")
	for name, v := range deletion(in, class) {
		if seconds, _ := v.(float64); of == contract.V1Beta1 {
			spec[strings.TrimSuffix(name, "Seconds")] = (time.Duration(seconds) * time.Second).String()
		} else {
			times[name] = v
			spec["deletion"] = times
		}
	}
	if of != contract.V1Beta1 && len(spec) > 0 {
		machines["spec"] = spec
	}
	if len(machines) > 0 {
		extension.Put(o, machines, "spec", "machineTemplate")
	}
	if replicas, ok := in["replicas"]; ok {
		extension.Put(o, replicas, "spec", "replicas")
	}
	if after, ok := extension.Get(in, "rollout", "after"); ok {
		extension.Put(o, after, "spec", "rollout", "after")
	}
	extension.Put(o, g.topology()["version"], "spec", "version")
}

// arrange puts all objects into the order in which they refer to each other, with those that
// have no template.
func (g *generator) arrange(parts []extension.Part, made []*Object) {
	metadata := part(g.cluster, "metadata")
	labels := part(metadata, "labels")
	labels[clusterv1.ClusterNameLabel], labels[clusterv1.ClusterTopologyOwnedLabel] = metadata["name"], ""
	metadata["labels"] = labels
	delete(part(metadata, "annotations"), clusterv1.ClusterTopologyUpgradeStepAnnotation)
	extension.Put(g.cluster, ref(made[0].Value), "spec", "infrastructureRef")
	extension.Put(g.cluster, ref(made[1].Value), "spec", "controlPlaneRef")
	add := func(objects ...*Object) { g.state.Objects = append(g.state.Objects, objects...) }
	add(&Object{Value: g.cluster}, made[0])
	for i := 1; i < len(parts); {
		end, of := i+1, parts[i].Of
		for end < len(parts) && parts[end].Of == of {
			end++
		}
		switch own := made[i:end]; {
		case of.Class != nil:
			add(own...)
			g.workers(of, own)
		default:
			add(own[1:]...)
			add(own[0])
			if class := part(g.class, "spec", "controlPlane"); len(own) > 1 {
				g.healthCheck(of, class, clusterv1.MachineControlPlaneLabel, "")
			}
		}
		i = end
	}
}

// core adds an object of Cluster API's own.
func (g *generator) core(kind string, metadata, spec object) {
	metadata["namespace"] = part(g.cluster, "metadata")["namespace"]
	spec["clusterName"] = part(g.cluster, "metadata")["name"]
	o := plain(object{"apiVersion": clusterv1.GroupVersion.String(), "kind": kind, "metadata": metadata, "spec": spec})
	prune(o)
	g.state.Objects = append(g.state.Objects, &Object{Value: o})
}

// prune removes empty mappings, and what is nil.
func prune(o object) {
	for key, v := range o {
		m, ok := v.(object)
		if ok {
			prune(m)
		}
		if v == nil || ok && len(m) == 0 {
			delete(o, key)
		}
	}
}

// workers adds a MachineDeployment, with its health check if it has one, or a MachinePool
// (computeMachineDeployment, computeMachinePool).
func (g *generator) workers(of *extension.Set, made []*Object) {
	kind, list, in, class := "MachineDeployment", clusterclass.Deployments, of.Topology, object{}
	if of.Class.Pool {
		kind, list = "MachinePool", clusterclass.Pools
	}
	classes, _ := extension.Get(g.class, "spec", "workers", list)
	for _, c := range slices.Backward(classes.([]any)) { // the first counts
		if c, ok := c.(object); ok && c["class"] == of.Class.Class {
			class = c
		}
	}
	machine := over(in, class, "minReadySeconds", "taints")
	machine["deletion"] = deletion(in, class)
	machine["clusterName"], machine["version"] = part(g.cluster, "metadata")["name"], g.topology()["version"]
	machine["bootstrap"], machine["infrastructureRef"] = object{"configRef": ref(made[0].Value)}, ref(made[1].Value)
	spec := object{
		"replicas": in["replicas"],
		"template": object{"metadata": object{"labels": maps.Clone(of.Labels), "annotations": maps.Clone(of.Annotations)}, "spec": machine},
	}
	if of.Class.Pool {
		maps.Copy(spec, over(in, class, "failureDomains"))
	} else {
		maps.Copy(machine, over(in, class, "failureDomain", "readinessGates"))
		maps.Copy(spec, over(in, class, "rollout"))
		spec["deletion"] = over(part(in, "deletion"), part(class, "deletion"), "order")
		spec["remediation"] = over(part(in, "healthCheck", "remediation"), part(class, "healthCheck", "remediation"), "maxInFlight")
		selector := object{}
		for _, label := range []string{clusterv1.ClusterNameLabel, clusterv1.ClusterTopologyOwnedLabel, clusterv1.ClusterTopologyMachineDeploymentNameLabel} {
			selector[label] = of.Labels[label]
		}
		spec["selector"] = object{"matchLabels": selector}
	}
	g.core(kind, object{"name": of.Name, "labels": maps.Clone(of.Labels), "annotations": maps.Clone(of.Annotations)}, spec)
	if !of.Class.Pool {
		g.healthCheck(of, class, clusterv1.ClusterTopologyMachineDeploymentNameLabel, of.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel])
	}
}

// healthCheck adds the health check of the Cluster or of the class, for the machines of the
// topology that have one more label (computeMachineHealthCheck).
func (g *generator) healthCheck(of *extension.Set, class object, label string, value any) {
	own := part(of.Topology, "healthCheck")
	check := over(own, nil, "checks", "remediation")
	if len(check) == 0 {
		check = over(part(class, "healthCheck"), nil, "checks", "remediation")
	}
	if len(check) == 0 || own["enabled"] == false {
		return
	}
	checks := maps.Clone(part(check, "checks"))
	if checks["nodeStartupTimeoutSeconds"] == nil {
		checks["nodeStartupTimeoutSeconds"] = float64(clusterv1.DefaultNodeStartupTimeoutSeconds)
	}
	g.core("MachineHealthCheck", object{
		"name":            of.Name,
		"labels":          object{clusterv1.ClusterNameLabel: of.Labels[clusterv1.ClusterNameLabel], clusterv1.ClusterTopologyOwnedLabel: ""},
		"ownerReferences": []any{extension.Owner(g.cluster)},
	}, object{
		"checks": checks, "remediation": over(part(check, "remediation"), nil, "triggerIf", "templateRef"),
		"selector": object{"matchLabels": object{clusterv1.ClusterTopologyOwnedLabel: "", label: value}},
	})
}

func ref(o object) object {
	apiVersion, _ := o["apiVersion"].(string)
	group, _ := manifest.SplitAPIVersion(apiVersion)
	return object{"apiGroup": group, "kind": o["kind"], "name": part(o, "metadata")["name"]}
}

func (g *generator) finish(p extension.Part, t *patch.Template) *Object {
	out := &Object{Value: plain(p.Object), Template: p.Reference.Kind + " " + p.Reference.Name}
	if len(g.Class.Patches()) > 0 {
		out.Value = plain(p.Patched(plain(t.Object)))
		if g.Changes {
			out.Changes = g.changes(&p, t)
		}
	}
	return out
}
