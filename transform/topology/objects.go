package topology

//lint:file-ignore SA1019 Clusters and classes in v1beta1 are what users still write

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

type (
	cluster  = clusterv1.Cluster
	class    = clusterv1.ClusterClass
	variable = clusterv1.ClusterVariable
	object   = map[string]any
)

// read converts Cluster and class to the types of v1beta2, as the API server does.
func (g *generator) read() {
	g.cluster, g.class = &cluster{}, &class{}
	var old clusterv1beta1.Cluster
	var oldClass clusterv1beta1.ClusterClass
	if g.Cluster.Version == clusterclass.V1Beta1 {
		g.decode(g.Cluster, g.Value, &old)
		g.convert(clusterv1beta1.Convert_v1beta1_Cluster_To_v1beta2_Cluster(&old, g.cluster, nil))
		if !old.Spec.Paused {
			g.cluster.Spec.Paused = nil
		}
		if old.Spec.InfrastructureRef != nil {
			g.cluster.Spec.InfrastructureRef.Name = old.Spec.InfrastructureRef.Name
		}
		if old.Spec.ControlPlaneRef != nil {
			g.cluster.Spec.ControlPlaneRef.Name = old.Spec.ControlPlaneRef.Name
		}
	} else {
		g.decode(g.Cluster, g.Value, g.cluster)
	}
	if c := g.Class.Object; g.Class.Version == clusterclass.V1Beta1 {
		g.decode(c, c.Doc.Root.Value(), &oldClass)
		g.convert(clusterv1beta1.Convert_v1beta1_ClusterClass_To_v1beta2_ClusterClass(&oldClass, g.class, nil))
	} else {
		g.decode(c, c.Doc.Root.Value(), g.class)
	}
	g.cluster.APIVersion, g.cluster.Kind = clusterv1.GroupVersion.String(), "Cluster"
	if t := &g.cluster.Spec.Topology; !strings.HasPrefix(t.Version, "v") {
		t.Version = "v" + t.Version
	}
}

func (g *generator) decode(o *manifest.Object, value any, into any) {
	data, err := json.Marshal(value)
	if err == nil {
		err = utiljson.Unmarshal(data, into) // tells case, as the API server does
	}
	var misfit *json.UnmarshalTypeError
	if n := o.Doc.Root; errors.As(err, &misfit) {
		g.refuse(o, n.Misfit(misfit), "%s %s cannot be read: %s is %s", o.Kind, o.Name, misfit.Field, misfit.Value)
	} else if err != nil {
		g.refuse(o, n, "%s %s cannot be read: %w", o.Kind, o.Name, err)
	}
}

func (g *generator) convert(err error) {
	if err != nil {
		g.refuse(g.Cluster, nil, "cannot be converted to v1beta2: %w", err)
	}
}

// encoded is a value as JSON; nothing that comes from documents or types of Cluster API fails.
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

// controlPlane sets what the controller sets in a control plane, in the form of its contract
// (computeControlPlane).
func (g *generator) controlPlane(parts []extension.Part, i int, of contract.Contract) {
	o, in, from := parts[i].Object, g.cluster.Spec.Topology.ControlPlane, g.class.Spec.ControlPlane
	old := of == contract.V1Beta1
	template, machines := []string{"spec", "machineTemplate"}, []string{"spec", "machineTemplate", "spec"}
	if old {
		machines = template
	}
	at := func(path []string, more ...string) []string { return append(slices.Clip(path), more...) }
	if i+1 < len(parts) && parts[i+1].Of == parts[i].Of {
		machine := parts[i+1].Object
		ref := object{"kind": machine["kind"], "name": Name(machine)}
		if old {
			ref["apiVersion"], ref["namespace"] = machine["apiVersion"], g.cluster.Namespace
		} else {
			ref["apiGroup"] = group(machine)
		}
		extension.Put(o, ref, at(machines, "infrastructureRef")...)
		for key, more := range map[string]object{"labels": parts[i].Of.Labels, "annotations": parts[i].Of.Annotations} {
			value, _ := extension.Get(o, at(template, "metadata", key)...)
			values, _ := value.(object)
			merged := maps.Clone(values)
			if merged == nil {
				merged = object{}
			}
			maps.Copy(merged, more)
			if len(merged) > 0 {
				extension.Put(o, merged, at(template, "metadata", key)...)
			} else if in, ok := extension.Get(o, at(template, "metadata")...); ok {
				delete(in.(object), key)
			}
		}
	}
	if in.Replicas != nil {
		extension.Put(o, *in.Replicas, "spec", "replicas")
	}
	if !in.Rollout.After.IsZero() {
		extension.Put(o, in.Rollout.After, "spec", "rollout", "after")
	}
	if gates := first(in.ReadinessGates, from.ReadinessGates); gates != nil {
		extension.Put(o, gates, at(machines, "readinessGates")...)
	}
	if taints := first(in.Taints, from.Taints); taints != nil {
		extension.Put(o, taints, at(machines, "taints")...)
	}
	for name, seconds := range map[string]*int32{
		"nodeDrainTimeout":        cmp.Or(in.Deletion.NodeDrainTimeoutSeconds, from.Deletion.NodeDrainTimeoutSeconds),
		"nodeVolumeDetachTimeout": cmp.Or(in.Deletion.NodeVolumeDetachTimeoutSeconds, from.Deletion.NodeVolumeDetachTimeoutSeconds),
		"nodeDeletionTimeout":     cmp.Or(in.Deletion.NodeDeletionTimeoutSeconds, from.Deletion.NodeDeletionTimeoutSeconds),
	} {
		switch {
		case seconds == nil:
		case old:
			extension.Put(o, (time.Duration(*seconds) * time.Second).String(), at(machines, name)...)
		default:
			extension.Put(o, *seconds, at(machines, "deletion", name+"Seconds")...)
		}
	}
	extension.Put(o, g.cluster.Spec.Topology.Version, "spec", "version")
}

// first is the first list that is there.
func first[E any](a, b []E) []E {
	if a != nil {
		return a
	}
	return b
}

// arrange puts all objects into the order in which they refer to each other, with those that
// have no template.
func (g *generator) arrange(parts []extension.Part, made []*Object) {
	c := g.cluster
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	c.Labels[clusterv1.ClusterNameLabel], c.Labels[clusterv1.ClusterTopologyOwnedLabel] = c.Name, ""
	delete(c.Annotations, clusterv1.ClusterTopologyUpgradeStepAnnotation)
	c.Spec.InfrastructureRef, c.Spec.ControlPlaneRef = ref(made[0]), ref(made[1])
	add := func(objects ...*Object) { g.state.Objects = append(g.state.Objects, objects...) }
	typed := func(kind string, v any) {
		value := plain(v)
		value["apiVersion"], value["kind"] = clusterv1.GroupVersion.String(), kind
		add(&Object{Value: value})
	}
	typed("Cluster", c)
	add(made[0])
	for i := 1; i < len(parts); {
		end := i + 1
		for end < len(parts) && parts[end].Of == parts[i].Of {
			end++
		}
		of := parts[i].Of
		switch {
		case of.Class == nil:
			add(made[i+1 : end]...)
			add(made[i])
			if check := g.controlPlaneCheck(end > i+1); check != nil {
				typed("MachineHealthCheck", g.healthCheck(of.Name, check, clusterv1.MachineControlPlaneLabel, ""))
			}
		case of.Class.Pool:
			add(made[i:end]...)
			typed("MachinePool", g.pool(of, made[i:end]))
		default:
			add(made[i:end]...)
			deployment, check := g.deployment(of, made[i:end])
			typed("MachineDeployment", deployment)
			if check != nil {
				topologyName := of.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel].(string)
				typed("MachineHealthCheck", g.healthCheck(of.Name, check, clusterv1.ClusterTopologyMachineDeploymentNameLabel, topologyName))
			}
		}
		i = end
	}
}

// check is a health check, of the Cluster or of the class.
type check struct {
	checks      clusterv1.MachineHealthCheckChecks
	remediation clusterv1.MachineHealthCheckRemediation
}

// controlPlaneCheck returns the health check of the control plane, nil if there is none.
func (g *generator) controlPlaneCheck(machines bool) *check {
	in, from := g.cluster.Spec.Topology.ControlPlane.HealthCheck, g.class.Spec.ControlPlane.HealthCheck
	if !machines || !in.IsDefined() && !from.IsDefined() || in.Enabled != nil && !*in.Enabled {
		return nil
	}
	if in.IsDefined() {
		return &check{clusterv1.MachineHealthCheckChecks(in.Checks), clusterv1.MachineHealthCheckRemediation{TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf(in.Remediation.TriggerIf), TemplateRef: in.Remediation.TemplateRef}}
	}
	return &check{clusterv1.MachineHealthCheckChecks(from.Checks), clusterv1.MachineHealthCheckRemediation{TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf(from.Remediation.TriggerIf), TemplateRef: from.Remediation.TemplateRef}}
}

// healthCheck is what selects the machines of the topology with one more label.
func (g *generator) healthCheck(name string, c *check, label, value string) *clusterv1.MachineHealthCheck {
	out := &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: g.cluster.Namespace,
			Labels: map[string]string{clusterv1.ClusterTopologyOwnedLabel: "", clusterv1.ClusterNameLabel: g.cluster.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: g.cluster.Name, UID: g.cluster.UID,
			}},
		},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: g.cluster.Name, Checks: c.checks, Remediation: c.remediation,
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterTopologyOwnedLabel: "", label: value}},
		},
	}
	if out.Spec.Checks.NodeStartupTimeoutSeconds == nil {
		out.Spec.Checks.NodeStartupTimeoutSeconds = &clusterv1.DefaultNodeStartupTimeoutSeconds
	}
	return out
}

// machines is the template of the machines of workers.
func (g *generator) machines(of *extension.Set, made []*Object) clusterv1.MachineTemplateSpec {
	return clusterv1.MachineTemplateSpec{
		ObjectMeta: clusterv1.ObjectMeta{Labels: strs(of.Labels), Annotations: strs(of.Annotations)},
		Spec: clusterv1.MachineSpec{
			ClusterName: g.cluster.Name, Version: g.cluster.Spec.Topology.Version,
			Bootstrap: clusterv1.Bootstrap{ConfigRef: ref(made[0])}, InfrastructureRef: ref(made[len(made)-1]),
		},
	}
}

// deployment returns a MachineDeployment, with its health check if it has one.
func (g *generator) deployment(of *extension.Set, made []*Object) (*clusterv1.MachineDeployment, *check) {
	list, classes := g.cluster.Spec.Topology.Workers.MachineDeployments, g.class.Spec.Workers.MachineDeployments
	in := list[slices.IndexFunc(list, func(t clusterv1.MachineDeploymentTopology) bool {
		return t.Name == of.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel]
	})]
	from := classes[slices.IndexFunc(classes, func(c clusterv1.MachineDeploymentClass) bool { return c.Class == in.Class })]
	labels := strs(of.Labels)
	out := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: of.Name, Namespace: g.cluster.Namespace, Labels: labels, Annotations: strs(of.Annotations)},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: g.cluster.Name, Replicas: in.Replicas, Template: g.machines(of, made),
			Deletion:    clusterv1.MachineDeploymentDeletionSpec{Order: cmp.Or(in.Deletion.Order, from.Deletion.Order)},
			Remediation: clusterv1.MachineDeploymentRemediationSpec{MaxInFlight: cmp.Or(in.HealthCheck.Remediation.MaxInFlight, from.HealthCheck.Remediation.MaxInFlight)},
			Selector: metav1.LabelSelector{MatchLabels: map[string]string{
				clusterv1.ClusterNameLabel: g.cluster.Name, clusterv1.ClusterTopologyOwnedLabel: "",
				clusterv1.ClusterTopologyMachineDeploymentNameLabel: in.Name,
			}},
		},
	}
	rollout := &out.Spec.Rollout
	if !reflect.ValueOf(from.Rollout).IsZero() {
		rollout.Strategy.Type = from.Rollout.Strategy.Type
		rollout.Strategy.RollingUpdate = clusterv1.MachineDeploymentRolloutStrategyRollingUpdate(from.Rollout.Strategy.RollingUpdate)
	}
	if !reflect.ValueOf(in.Rollout).IsZero() {
		rollout.After, rollout.Strategy.Type = in.Rollout.After, in.Rollout.Strategy.Type
		rollout.Strategy.RollingUpdate = clusterv1.MachineDeploymentRolloutStrategyRollingUpdate(in.Rollout.Strategy.RollingUpdate)
	}
	spec := &out.Spec.Template.Spec
	spec.FailureDomain = cmp.Or(in.FailureDomain, from.FailureDomain)
	spec.MinReadySeconds = cmp.Or(in.MinReadySeconds, from.MinReadySeconds)
	spec.ReadinessGates, spec.Taints = first(in.ReadinessGates, from.ReadinessGates), first(in.Taints, from.Taints)
	spec.Deletion = clusterv1.MachineDeletionSpec{
		NodeDrainTimeoutSeconds:        cmp.Or(in.Deletion.NodeDrainTimeoutSeconds, from.Deletion.NodeDrainTimeoutSeconds),
		NodeVolumeDetachTimeoutSeconds: cmp.Or(in.Deletion.NodeVolumeDetachTimeoutSeconds, from.Deletion.NodeVolumeDetachTimeoutSeconds),
		NodeDeletionTimeoutSeconds:     cmp.Or(in.Deletion.NodeDeletionTimeoutSeconds, from.Deletion.NodeDeletionTimeoutSeconds),
	}
	h, c := in.HealthCheck, from.HealthCheck
	switch {
	case !h.IsDefined() && !c.IsDefined(), h.Enabled != nil && !*h.Enabled:
		return out, nil
	case h.IsDefined():
		return out, &check{clusterv1.MachineHealthCheckChecks(h.Checks), clusterv1.MachineHealthCheckRemediation{TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf(h.Remediation.TriggerIf), TemplateRef: h.Remediation.TemplateRef}}
	}
	return out, &check{clusterv1.MachineHealthCheckChecks(c.Checks), clusterv1.MachineHealthCheckRemediation{TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf(c.Remediation.TriggerIf), TemplateRef: c.Remediation.TemplateRef}}
}

// pool returns a MachinePool.
func (g *generator) pool(of *extension.Set, made []*Object) *clusterv1.MachinePool {
	list, classes := g.cluster.Spec.Topology.Workers.MachinePools, g.class.Spec.Workers.MachinePools
	in := list[slices.IndexFunc(list, func(t clusterv1.MachinePoolTopology) bool {
		return t.Name == of.Labels[clusterv1.ClusterTopologyMachinePoolNameLabel]
	})]
	from := classes[slices.IndexFunc(classes, func(c clusterv1.MachinePoolClass) bool { return c.Class == in.Class })]
	out := &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Name: of.Name, Namespace: g.cluster.Namespace, Labels: strs(of.Labels), Annotations: strs(of.Annotations)},
		Spec: clusterv1.MachinePoolSpec{
			ClusterName: g.cluster.Name, Replicas: in.Replicas, FailureDomains: first(in.FailureDomains, from.FailureDomains), Template: g.machines(of, made),
		},
	}
	spec := &out.Spec.Template.Spec
	spec.MinReadySeconds, spec.Taints = cmp.Or(in.MinReadySeconds, from.MinReadySeconds), first(in.Taints, from.Taints)
	spec.Deletion = clusterv1.MachineDeletionSpec{
		NodeDrainTimeoutSeconds:        cmp.Or(in.Deletion.NodeDrainTimeoutSeconds, from.Deletion.NodeDrainTimeoutSeconds),
		NodeVolumeDetachTimeoutSeconds: cmp.Or(in.Deletion.NodeVolumeDetachTimeoutSeconds, from.Deletion.NodeVolumeDetachTimeoutSeconds),
		NodeDeletionTimeoutSeconds:     cmp.Or(in.Deletion.NodeDeletionTimeoutSeconds, from.Deletion.NodeDeletionTimeoutSeconds),
	}
	return out
}

// ref is a reference to an object.
func ref(o *Object) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: group(o.Value), Kind: fmt.Sprint(o.Value["kind"]), Name: Name(o.Value)}
}

func group(o object) string {
	g, _ := manifest.SplitAPIVersion(fmt.Sprint(o["apiVersion"]))
	return g
}

// Name is the name of an object.
func Name(o map[string]any) string {
	value, _ := extension.Get(o, "metadata", "name")
	text, _ := value.(string)
	return text
}

// strs are the texts of a mapping; nil if there are none.
func strs(o object) map[string]string {
	if len(o) == 0 {
		return nil
	}
	out := map[string]string{}
	for k, v := range o {
		out[k], _ = v.(string)
	}
	return out
}

// finish is an object with the patches of its template.
func (g *generator) finish(p extension.Part, t *patch.Template) *Object {
	out := &Object{Value: plain(p.Object), Template: p.Reference.Kind + " " + p.Reference.Name}
	if len(g.Class.Patches()) > 0 {
		out.Value = plain(p.Patched(plain(t.Object)))
		out.Changes = g.changes(&p, t, out.Value)
	}
	return out
}
