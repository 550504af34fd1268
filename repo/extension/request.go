package extension

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

type Maker struct {
	Topology *Topology
	// Core is the minor version of Cluster API that would send them.
	Core int
	// Contract is that of the control plane, if it is known.
	Contract contract.Contract
	// Settings are sent with each request.
	Settings map[string]string
	// Discovered are the definitions of variables that the extension gave.
	Discovered []*yamldoc.Node

	// inputs are the templates for inline patches once they are made, with the values of
	// these variables replaced.
	inputs  []patch.Template
	instead map[string]bool
}

func (m *Maker) Make(h *Hook) map[string]any {
	out := object{"apiVersion": APIVersion, "kind": h.Name + "Request"}
	if !h.IsDiscovery() && len(m.Settings) > 0 {
		settings := object{}
		for k, v := range m.Settings {
			settings[k] = v
		}
		out["settings"] = settings
	}
	for _, f := range h.Request {
		if value := m.field(h, f.Name); value != nil {
			out[f.Name] = value
		}
	}
	return out
}

// Upgrade is what requests for a plan ask for: three minor versions, up to the one
// of the Cluster.
func (m *Maker) Upgrade() Upgrade {
	to := m.Topology.Version()
	from := earlier(to, 3)
	return Upgrade{ControlPlane: from, Workers: from, To: to}
}

// earlier returns the version some minor versions before.
func earlier(version string, minors uint64) string {
	v, err := semver.ParseTolerant(version)
	if err != nil || v.Minor < minors {
		return version
	}
	return fmt.Sprintf("v%d.%d.0", v.Major, v.Minor-minors)
}

// field returns the value of a field of a request; nil if it is left out.
func (m *Maker) field(h *Hook, name string) any {
	t := m.Topology
	to := t.Version()
	switch name {
	case "cluster":
		cluster := t.cluster(m.Core)
		if h.Name == "BeforeClusterDelete" { // the API server has set it by then
			yamldoc.Child(cluster, "metadata")["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}
		return cluster
	case "fromKubernetesVersion":
		return earlier(to, 1)
	case "toKubernetesVersion", "kubernetesVersion":
		return to
	case "fromControlPlaneKubernetesVersion":
		return m.Upgrade().ControlPlane
	case "fromWorkersKubernetesVersion":
		return m.Upgrade().Workers
	case "controlPlaneUpgrades", "workersUpgrades":
		if m.Core < 12 { // before that a request had no such lists
			return nil
		}
		return []any{object{"version": to}}
	case "variables":
		return append(t.variables(m.Discovered), builtins(t.clusterBuiltins()))
	case "items":
		return m.items(h.Name == "GeneratePatches")
	case "current", "desired":
		change := name == "desired"
		if h.Name == "CanUpdateMachineSet" {
			return m.machineSet(change)
		}
		objects := m.machine(change)
		if h.Name == "UpdateMachine" { // as long as an update is under way
			for _, o := range objects {
				yamldoc.Child(yamldoc.Child(o.(object), "metadata"), "annotations")["in-place-updates.internal.cluster.x-k8s.io/update-in-progress"] = ""
			}
		}
		return objects
	}
	return nil
}

// items are the templates of the Cluster with their holders
// (core/reconcilers/topology/cluster/patches, createRequest).
func (m *Maker) items(identified bool) []any {
	var out []any
	parts, _ := m.Parts(Samples{}) // a name that cannot be made is left to admission
	for i, p := range parts {
		reference := object{
			"apiVersion": p.holder["apiVersion"], "kind": p.Holder.Kind,
			"namespace": m.Topology.namespace(), "name": text(p.holder, "metadata", "name"), "fieldPath": p.Holder.FieldPath,
		}
		item := object{"holderReference": reference, "object": p.Template}
		if identified {
			item["uid"] = fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1)
		}
		if len(p.variables) > 0 {
			item["variables"] = p.variables
		}
		out = append(out, item)
	}
	return out
}

// machine is what the hooks for updates in place get of a machine. The change is the
// next patch release of Kubernetes.
func (m *Maker) machine(changed bool) object {
	t := m.Topology
	name := t.name() + "-machine"
	infrastructure, bootstrap := m.templates()
	out := object{
		"machine":               m.ofMachine("Machine", name, m.machineSpec(infrastructure, bootstrap)),
		"infrastructureMachine": instance(infrastructure, name, t.namespace()),
	}
	if bootstrap != nil {
		out["bootstrapConfig"] = instance(bootstrap, name, t.namespace())
	}
	if changed {
		spec := yamldoc.Child(out["machine"].(object), "spec")
		spec["version"] = later(t.Version())
	}
	return out
}

// later is the next patch release.
func later(version string) string {
	v, err := semver.ParseTolerant(version)
	if err != nil {
		return version
	}
	return fmt.Sprintf("v%d.%d.%d", v.Major, v.Minor, v.Patch+1)
}

func (m *Maker) machineSet(changed bool) object {
	t := m.Topology
	infrastructure, bootstrap := m.templates()
	spec := m.machineSpec(infrastructure, bootstrap)
	if changed {
		spec["version"] = later(t.Version())
	}
	set := m.ofMachine("MachineSet", t.name()+"-set", object{
		"clusterName": t.name(), "replicas": int64(1),
		"selector": object{"matchLabels": object{"cluster.x-k8s.io/cluster-name": t.name()}},
		"template": object{"metadata": object{"labels": object{"cluster.x-k8s.io/cluster-name": t.name()}}, "spec": spec},
	})
	out := object{"machineSet": set, "infrastructureMachineTemplate": infrastructure}
	if bootstrap != nil {
		out["bootstrapConfigTemplate"] = bootstrap
	}
	return out
}

func (m *Maker) ofMachine(kind, name string, spec object) object {
	return object{
		"apiVersion": clusterclass.Group + "/" + string(CoreVersion(m.Core)), "kind": kind,
		"metadata": object{"name": name, "namespace": m.Topology.namespace(), "labels": object{"cluster.x-k8s.io/cluster-name": m.Topology.name()}},
		"spec":     spec,
	}
}

func (m *Maker) machineSpec(infrastructure, bootstrap object) object {
	t := m.Topology
	version := CoreVersion(m.Core)
	ref := func(template object) object {
		return t.reference(object{
			"apiVersion": template["apiVersion"], "kind": strings.TrimSuffix(text(template, "kind"), "Template"), "name": t.name() + "-machine",
		}, version)
	}
	spec := object{"clusterName": t.name(), "version": t.Version(), "infrastructureRef": ref(infrastructure)}
	if bootstrap != nil {
		spec["bootstrap"] = object{"configRef": ref(bootstrap)}
	} else {
		spec["bootstrap"] = object{"dataSecretName": "bootstrap-data"}
	}
	return spec
}

// templates are those of the machines of the first worker, or else of the control
// plane, which has no template for bootstrap of its own.
func (m *Maker) templates() (infrastructure, bootstrap object) {
	t := m.Topology
	for _, w := range t.workers() {
		if !w.class.Pool && w.class.Infrastructure.Node != nil && w.class.Bootstrap.Node != nil {
			return t.template(w.class.Infrastructure), t.template(w.class.Bootstrap)
		}
	}
	machines := t.Class.MachineInfrastructure()
	if machines.Node == nil {
		machines.APIVersion, machines.Kind, machines.Name = "infrastructure.cluster.x-k8s.io/v1beta2", "ExampleMachineTemplate", "example"
	}
	return t.template(machines), nil
}

func RequestJSON(request map[string]any) []byte {
	data, err := json.Marshal(request)
	if err != nil { // cannot happen: values come from documents
		return []byte("{}")
	}
	return data
}
