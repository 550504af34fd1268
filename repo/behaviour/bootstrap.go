package behaviour

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

var secretsNeeded = []string{"secrets"}

// bootstrapChecks are about BootstrapConfigs.
var bootstrapChecks = []*check{
	row("BEH401", "bootstrap-secret", "The bootstrap Secret must exist when it is reported", must, pageConfig+"data secret",
		"The infrastructure provider starts the machine and does not find its data.",
		"Create the Secret before setting status.initialization.dataSecretCreated.",
		check{Role: contract.BootstrapConfig, Violation: "dataSecretCreated is true and no Secret has the name in status.dataSecretName, or it was deleted before the Machine had a node and is still missing after the settle bound", Needs: secretsNeeded, Beware: "a person who deletes it", on: []string{bootstrapRole, secret}, version: bootstrapSecret, gone: secretGone}),
	row("BEH402", "bootstrap-secret-name", "dataSecretName must be set with dataSecretCreated", must, pageConfig+"data secret",
		"Core cannot pass the data to the Machine.",
		"Set both in one patch.",
		check{Role: contract.BootstrapConfig, Violation: "dataSecretCreated is true and status.dataSecretName is empty", on: []string{bootstrapRole}, version: bootstrapName}),
	row("BEH403", "bootstrap-secret-fixed", "dataSecretName must not change", must, pageConfig+"data secret",
		"The Machine keeps the name of the old Secret, and clusterctl move breaks the reference.",
		"Derive the name from that of the BootstrapConfig.",
		check{Role: contract.BootstrapConfig, Violation: "two versions have different names, or a later one has none", on: []string{bootstrapRole}, version: fixed(secretPath, "dataSecretName", "%s")}),
	row("BEH404", "bootstrap-secret-value", "The bootstrap Secret must have the key value", must, pageConfig+"data secret",
		"The machine starts with empty user data and never joins.",
		"Write the data under the key value.",
		check{Role: contract.BootstrapConfig, Violation: "the Secret lacks the key, or it is empty, also later", Needs: secretsNeeded, Beware: "a person who removes it: the API server does not say who did", on: []string{bootstrapRole, secret}, version: bootstrapValue}),
	row("BEH405", "bootstrap-secret-form", "The bootstrap Secret should have the label of the Cluster and its configuration as controlling owner", should, pageConfig+"data secret; "+pageOwners,
		"Controllers that cache only labelled Secrets do not see it, and clusterctl move leaves it behind.",
		"Set the label cluster.x-k8s.io/cluster-name to the name of the Cluster, and an owner reference to the BootstrapConfig with controller: true.",
		check{Role: contract.BootstrapConfig, Violation: "the Secret lacks one of them, the label has another value, or the owner does not control", Needs: secretsNeeded, on: []string{bootstrapRole}, version: bootstrapForm}),
	row("BEH406", "bootstrap-stays-created", "dataSecretCreated must stay true", must, pageConfig+"initialization completed",
		"Core treats a running Machine as new.",
		"Never reset it; report later problems in conditions.",
		check{Role: contract.BootstrapConfig, Violation: "the field changes from true to false or disappears", on: []string{bootstrapRole}, version: staysProvisioned}),
	row("BEH407", "bootstrap-one-init", "Only one control plane machine initializes the Cluster", typical, pageConfig+"typical workflow",
		"Two machines run kubeadm init and form two clusters.",
		"Hold a lock until the Cluster reports ControlPlaneInitialized.",
		check{Rule: severity(lint.Info), Role: contract.BootstrapConfig, Violation: "two configurations of control plane Machines have data before the control plane is initialized", Beware: "distributions in which all machines may start at once", on: []string{bootstrapRole}, version: bootstrapOneInit}),
	row("BEH408", "bootstrap-in-place", "Changing the spec should not create new data after the bootstrap", should, pageConfig+"in-place changes",
		"Machines that reboot find data that does not fit them.",
		"Ignore changes of the spec once dataSecretCreated is true.",
		check{Role: contract.BootstrapConfig, Action: actPatch, Violation: "the Secret changes within the bound after a person changed the spec", Within: settle, Needs: secretsNeeded, Beware: "configurations that rotate; those of pools are left out", on: []string{secret}, version: bootstrapInPlace}),
	row("BEH409", "bootstrap-asked", "BootstrapConfigs should only be deleted together with their Machine", typical, pageConfig+"typical workflow",
		"clusterctl move fails on the missing reference, and the Machine can no longer be changed.",
		"Leave the deletion of BootstrapConfigs to core.",
		check{Role: contract.BootstrapConfig, Violation: "the BootstrapConfig is deleted or disappears, its Machine is not deleted within the bound, and no person did it", Within: settle, Beware: "a person who deletes it: the API server does not say who did", on: []string{bootstrapRole}, version: deletedUnasked, gone: goneUnasked}),
}

// controlPlaneChecks are about ControlPlanes and the Machines that they make.
var controlPlaneChecks = []*check{
	row("BEH501", "plane-stays-initialized", "A ControlPlane must stay initialized", must, pagePlane+"initialization completed",
		"Bootstrap providers try to initialize the Cluster a second time.",
		"Never reset status.initialization.controlPlaneInitialized to false; report later problems in conditions.",
		check{Role: contract.ControlPlane, Violation: "the field changes from true to false or disappears", on: []string{controlPlane}, version: staysProvisioned}),
	row("BEH502", "plane-kubeconfig", "An initialized ControlPlane must have a kubeconfig Secret", must, pagePlane+"kubeconfig",
		"Core and users cannot reach the Cluster.",
		"Create the Secret CLUSTER-kubeconfig of the type cluster.x-k8s.io/secret with the label cluster.x-k8s.io/cluster-name and the key value.",
		check{Role: contract.ControlPlane, Violation: "the Secret is still missing or malformed after the bound, loses its value or label later, or was deleted and is still missing after the settle bound", Within: pause, Needs: secretsNeeded, Beware: "a person who deletes it or removes its label", on: []string{controlPlane, secret}, version: planeKubeconfig, gone: secretGone}),
	row("BEH503", "plane-certificates", "Certificate Secrets should have the type and the label of Cluster API", should, pagePlane+"certificates",
		"Controllers that cache only labelled Secrets do not find the certificates.",
		"Use the type cluster.x-k8s.io/secret and the label cluster.x-k8s.io/cluster-name for CLUSTER-ca, -etcd, -proxy and "+
			"-sa, with tls.crt and tls.key.",
		check{Role: contract.ControlPlane,
			Violation: "one of these Secrets exists when the control plane is initialized and lacks the type, the label, " +
				"tls.crt or, except for etcd, tls.key",
			Needs: secretsNeeded, Beware: "Secrets that users provide", on: []string{controlPlane}, version: planeCertificates}),
	row("BEH504", "plane-machine-labels", "Control plane Machines must have the labels of Cluster API", must, pagePlane+"machines",
		"Core does not count the Machine as control plane and deletes it with the workers.",
		"Set the labels cluster.x-k8s.io/control-plane and cluster.x-k8s.io/cluster-name when you create Machines.",
		check{Role: contract.ControlPlane, Violation: "a Machine owned by a ControlPlane lacks one of them", on: []string{machine}, version: planeLabels}),
	row("BEH505", "plane-counters", "Counters of a ControlPlane must not exceed its replicas", must, pagePlane+"replicas",
		"Cluster topology considers an unfinished upgrade complete.",
		"Count only Machines that status.replicas counts too.",
		check{Role: contract.ControlPlane, Violation: "readyReplicas, availableReplicas or upToDateReplicas is negative or larger than status.replicas", on: []string{controlPlane}, version: planeCounters}),
	row("BEH506", "plane-replicas", "Counters of a ControlPlane should match its Machines", should,
		pagePlane+"replicas",
		"Autoscalers and kubectl show a wrong number.",
		"Count the Machines on every reconciliation.",
		check{Role: contract.ControlPlane,
			Violation: "at rest status.replicas differs from the number of Machines that the ControlPlane owns, or " +
				"another counter from those with the condition",
			Within: settle, on: []string{controlPlane}, version: planeReplicas}),
	row("BEH507", "plane-scales", "A ControlPlane should reach spec.replicas and spec.version", should,
		pagePlane+"replicas, scale subresource; version",
		"Users who scale or upgrade the control plane see no change.",
		"Create or delete one Machine after the other until the number is reached and all have the version.",
		check{Role: contract.ControlPlane, Action: actScale,
			Violation: "spec.replicas or spec.version changed, all Machines have Nodes, nothing has changed for four " +
				"times the bound, and the number of Machines differs, or none has the version",
			Within: settle, Beware: "control planes in which a person starts the upgrade",
			on: []string{controlPlane}, version: planeScales}),
	row("BEH508", "plane-selector", "status.selector should match exactly the Machines of the ControlPlane", should, pagePlane+"replicas, scale subresource",
		"Autoscalers count the wrong Machines.",
		"Write the labels of the Machines as a selector, for example cluster.x-k8s.io/cluster-name=NAME,cluster.x-k8s.io/control-plane.",
		check{Role: contract.ControlPlane, Violation: "at rest it does not select exactly the Machines that the ControlPlane owns", Within: settle, on: []string{controlPlane}, version: planeSelector}),
	row("BEH509", "plane-versions", "status.versions should be ordered, and its replicas should add up", should, pagePlane+"version",
		"Cluster topology computes a wrong state of the upgrade.",
		"List each version of the Machines once, the oldest first, with the number of Machines.",
		check{Role: contract.ControlPlane, Violation: "an entry is older than the one before it, or the sum differs from status.replicas at rest", Within: settle, on: []string{controlPlane}, version: planeVersions}),
	row("BEH510", "plane-version", "status.version should be the lowest version of the control plane", should, pagePlane+"version",
		"Cluster topology upgrades the workers too early.",
		"Report the new version only when every Machine has it.",
		check{Role: contract.ControlPlane, Action: "upgrade",
			Violation: "status.version is newer than spec.version of a Machine of the ControlPlane, or at rest older than " +
				"that of all, or missing",
			on: []string{controlPlane}, version: planeVersion}),
	row("BEH511", "plane-metadata", "Metadata and deletion timeouts of the machine template should reach running Machines",
		should, pagePlane+"machines, in-place propagation",
		"Users who add a label wait for it, or lose their Machines to a rollout.",
		"Propagate metadata.labels, metadata.annotations and deletion timeouts without a rollout.",
		check{Role: contract.ControlPlane, Action: "patch the labels of the machine template",
			Violation: "a Machine lacks a label, an annotation or a timeout after twice the bound, or has been replaced",
			Within:    settle, on: []string{controlPlane}, version: planeMetadata}),
	row("BEH512", "plane-rollout", "rollout.after should create new Machines", should, pagePlane+"rolloutAfter",
		"Users who renew certificates by a rollout keep the old Machines.",
		"Replace Machines that were created before the time.",
		check{Role: contract.ControlPlane, Action: "set rollout.after", Violation: "the time is past, and no Machine was created within the bound, or within four times the settle bound for a time in the past", Within: deletion, on: []string{controlPlane}, version: planeRollout}),
	row("BEH513", "plane-domains", "Control plane Machines should only be in failure domains for control planes", should, pagePlane+"placement",
		"The control plane runs where its endpoint or etcd cannot reach it.",
		"Choose only failure domains with controlPlane: true.",
		check{Role: contract.ControlPlane, Violation: "a control plane Machine has a failure domain that the Cluster does not list with controlPlane: true", on: []string{machine}, version: planeDomains}),
	row("BEH514", "plane-external", "An external control plane must not have control plane Machines", must, pagePlane+"externalManagedControlPlane",
		"Core waits for Nodes that never appear.",
		"Set status.externalManagedControlPlane only if the control plane runs outside the Cluster.",
		check{Role: contract.ControlPlane, Violation: "status.externalManagedControlPlane is true and the ControlPlane owns Machines", on: []string{controlPlane}, version: planeExternal}),
	row("BEH515", "plane-endpoint-fixed", "The endpoint of a ControlPlane must not change", must, pagePlane+"control plane endpoint",
		"The Cluster copies the endpoint once; kubeconfigs and certificates keep the old address.",
		"Set spec.controlPlaneEndpoint only if it is empty.",
		check{Role: contract.ControlPlane, Violation: "host or port differ from those of an earlier version, or are removed", on: []string{controlPlane}, version: endpointFixed}),
	row("BEH516", "plane-up-to-date", "Control plane Machines have the condition UpToDate", should, pagePlane+"machines, UpToDate",
		"Users and Cluster topology cannot see the progress of a rollout.",
		"Set the condition UpToDate on every Machine.",
		check{Rule: severity(lint.Info), Role: contract.ControlPlane, Violation: "an owned Machine lacks it when the bound has passed", Within: settle, on: []string{machine}, version: planeUpToDate}),
	row("BEH517", "plane-goes-last", "The ControlPlane should disappear only after its Machines", typical, pagePlane+"machines",
		"Garbage collection deletes all control plane Machines at once, and nothing cleans up what they share.",
		"Remove the finalizer only after all Machines of the control plane are gone.",
		check{Role: contract.ControlPlane, Action: actDelete, Violation: "the ControlPlane is gone while Machines that it controls exist", on: []string{controlPlane}, gone: planeGoesLast}),
	row("BEH518", "plane-initialized-late", "A ControlPlane must not be initialized before its first Machine", must, pagePlane+"initialization completed",
		"Core and bootstrap providers let other machines join an API server that does not exist.",
		"Set status.initialization.controlPlaneInitialized only when the API server answers.",
		check{Role: contract.ControlPlane, Violation: "the ControlPlane reports its initialization, and no Machine that it controls has bootstrap data or infrastructure", on: []string{controlPlane}, version: planeEarly}),
	row("BEH519", "plane-certificates-kept", "Certificate Secrets of a running Cluster should stay as they are", should, pagePlane+"certificates",
		"Kubeconfigs and machines trust the old certificate authority and can no longer connect.",
		"Create the Secrets CLUSTER-ca, -etcd, -proxy and -sa only if they do not exist, and never rewrite them.",
		check{Role: contract.ControlPlane, Violation: "a value in one of these Secrets, which the ControlPlane controls, changes once the ControlPlane is initialized, or the Secret is deleted and the Cluster still lives when the bound has passed", Within: settle, Needs: secretsNeeded, Beware: "a person who deletes it", on: []string{secret}, version: certificateKept, gone: certificateGone}),
	row("BEH520", "plane-machine-owner", "Control plane Machines should have an owner other than the Cluster", should, pagePlane+"machines; "+pageOwners,
		"Nothing counts, repairs or upgrades the Machine.",
		"Set the ControlPlane as the controlling owner when you create Machines.",
		check{Role: contract.ControlPlane, Violation: "a Machine with the label of control planes, not made by a person, has no owner but the Cluster when the bound has passed, although the Cluster has a ControlPlane", Within: settle, on: []string{machine}, version: planeOwned}),
	row("BEH521", "plane-surplus", "A ControlPlane should not have more Machines than replicas", should, pagePlane+"replicas",
		"An even number of etcd members tolerates no more failures, and the surplus machine costs money.",
		"Count the Machines from a current cache before creating one.",
		check{Role: contract.ControlPlane, Violation: "four times the bound after a Machine was created, the ControlPlane has more Machines than spec.replicas, although all its other Machines are up to date and the spec did not change", Within: settle, on: []string{machine}, version: planeSurplus}),
	row("BEH522", "plane-machine-complete", "Control plane Machines must be complete", must, pagePlane+"machines; version",
		"The Machine never starts, or deleting it deletes the infrastructure of another Machine.",
		"Create a BootstrapConfig and an InfraMachine for each Machine, and set spec.version and spec.clusterName.",
		check{Role: contract.ControlPlane, Within: settle, on: []string{machine}, version: planeWhole,
			Violation: "a Machine that a ControlPlane created has no spec.version although the ControlPlane has one, " +
				"a spec.clusterName that differs from its label, or refers to an object that does not exist when the " +
				"bound has passed, or that another Machine refers to"}),
}

func (c *change) secretNamed(namespace, secretName string) *object {
	return c.Live("", secret, namespace, secretName)
}

func bootstrapSecret(c *change) {
	c.withSecret(func(c *change, n string, s *object) {
		if c.Read["secrets"] && c.Denied["secrets"] == "" && !c.o.IsDeleting() {
			c.demand(s != nil, []string{"status.dataSecretName", "status.initialization", "status.ready"},
				"the Secret %s does not exist", n)
		}
	})
}

// secretGone demands that a Secret comes back that an object of the role still needs. The
// data of a Machine that has a node is not needed, and KubeadmConfigs do not make it again.
func secretGone(c *change) {
	needs := func(p *object) bool {
		m := c.machineOf(p)
		return p.Get("status", "dataSecretName").Str() == c.o.Name && m != nil && !m.Get("status", "nodeRef").Exists() ||
			p.Tag == controlPlane && strings.HasSuffix(c.o.Name, "-kubeconfig")
	}
	for _, r := range c.o.Owners {
		p := c.Object(r.UID)
		if !p.Alive() || p.Tag != string(c.check.Role) || !p.Cur.Completed(p.Tag) || !needs(p) ||
			c.user || c.driven() {
			continue
		}
		c.even(c.opts.Settle, func(c *change) {
			used := p.Alive() && needs(p) && !p.IsDeleting() && c.PausedSince(p).IsZero() && (c.ClusterOf(p) == nil || !c.ClusterOf(p).IsDeleting())
			c.demandOn(p, !used || c.secretNamed(c.o.Namespace, c.o.Name) != nil, []string{"status.dataSecretName", "status.initialization"},
				"the Secret %s was deleted and is still missing %s later", c.o.Name, c.opts.Settle)
		})
	}
}

func bootstrapName(c *change) {
	if !c.first(record.Value.DataCreated) {
		return
	}
	c.demand(c.cur.Get("status", "dataSecretName").Str() != "", []string{"status.dataSecretName", "status.initialization", "status.ready"},
		"the data is reported as created, but status.dataSecretName is empty")
}

// withSecret looks at the Secret when its data is reported; it may be missing.
func (c *change) withSecret(do func(c *change, named string, s *object)) {
	n := c.cur.Get("status", "dataSecretName").Str()
	if !c.first(record.Value.DataCreated) || n == "" {
		return
	}
	c.later(apart, func(c *change) { do(c, n, c.secretNamed(c.o.Namespace, n)) })
}

// stillWhole demands that a Secret that an object of the role controls keeps its value and its label.
func (c *change) stillWhole() {
	p := c.Controller(c.o)
	whole := func(v record.Value) bool { return v.Get("data", "value").Filled() && v.Label(clusterLabel) != "" }
	if c.user || !p.Alive() || p.Tag != string(c.check.Role) || p.IsDeleting() || !whole(c.prev) ||
		!c.PausedSince(c.o).IsZero() || p.Tag == controlPlane && !strings.HasSuffix(c.o.Name, "-kubeconfig") {
		return
	}
	c.demand(whole(c.cur), []string{"metadata.labels"}, "the Secret lost its value or the label %s", clusterLabel)
}

func bootstrapValue(c *change) {
	if c.o.Tag == secret {
		c.stillWhole()
	}
	c.withSecret(func(c *change, n string, s *object) {
		if s != nil {
			c.demand(s.Get("data", "value").Filled(), []string{"status.dataSecretName"},
				"the Secret %s has no data under the key value", n)
		}
	})
}

func bootstrapForm(c *change) {
	c.withSecret(func(c *change, _ string, s *object) {
		switch {
		case s == nil:
		case s.Label(clusterLabel) == "" || c.ClusterOf(c.o) != nil && s.Label(clusterLabel) != c.ClusterOf(c.o).Name:
			c.report([]string{"status.dataSecretName"}, "the Secret %s has the label %s=%q; it must name the Cluster", s.Name, clusterLabel, s.Label(clusterLabel))
		case record.ControllerOf(s.Owners).UID != c.o.UID:
			c.report([]string{"status.dataSecretName"}, "the Secret %s is not controlled by the configuration", s.Name)
		default:
			c.held()
		}
	})
}

func bootstrapOneInit(c *change) {
	if !c.first(record.Value.DataCreated) {
		return
	}
	m, cl := c.machineOf(c.o), c.ClusterOf(c.o)
	if m == nil || cl == nil || !m.Get("metadata", "labels", controlPlaneLabel).Exists() || c.planeReady(cl) {
		return
	}
	for _, other := range c.MembersTagged(c.o.Cluster, bootstrapRole) {
		om := c.machineOf(other)
		if other != c.o && om != nil && om.Get("metadata", "labels", controlPlaneLabel).Exists() &&
			other.Cur.DataCreated() && !other.IsDeleting() {
			c.report([]string{"status.initialization", "status.dataSecretName"},
				"%s has bootstrap data too, and the control plane is not initialized", other)
			return
		}
	}
	c.held()
}

func bootstrapInPlace(c *change) {
	if !c.prev.Exists() || c.user || c.gap || c.prev.Get("data").Equal(c.cur.Get("data")) {
		return
	}
	for _, r := range c.o.Owners {
		config := c.Object(r.UID)
		if !config.Alive() || config.Tag != bootstrapRole || config.OwnedBy(machinePool) {
			continue
		}
		if patched := config.Seen.patched; !patched.IsZero() && c.Now.Sub(patched) <= c.opts.Settle &&
			config.Get("status", "dataSecretName").Str() == c.o.Name {
			c.reportOn(config, []string{"status.dataSecretName", "metadata.generation"}, "the data in Secret %s changed %s after the spec", c.o.Name, c.Now.Sub(patched).Round(100*time.Millisecond))
		}
	}
}

func planeKubeconfig(c *change) {
	if c.o.Tag == secret {
		c.stillWhole()
	}
	if !c.first(record.Value.Initialized) {
		return
	}
	c.later(c.opts.Pause, func(c *change) {
		cl := c.ClusterOf(c.o)
		if cl == nil || !c.Read["secrets"] || c.Denied["secrets"] != "" || c.o.IsDeleting() {
			return
		}
		n := cl.Name + "-kubeconfig"
		s := c.secretNamed(c.o.Namespace, n)
		paths := []string{"status.initialization", "status.initialized"}
		switch {
		case s == nil:
			c.report(paths, "the Secret %s does not exist %s after the initialization", n, c.opts.Pause)
		case s.Get("type").Str() != secretType:
			c.report(paths, "the Secret %s has the type %q; want %s", n, s.Get("type").Str(), secretType)
		case s.Label(clusterLabel) != cl.Name:
			c.report(paths, "the Secret %s has no label %s=%s", n, clusterLabel, cl.Name)
		case !s.Get("data", "value").Filled():
			c.report(paths, "the Secret %s has no data under the key value", n)
		default:
			c.held()
		}
	})
}

// certificates are the ends of the names of the Secrets that hold them.
var certificates = []string{"ca", "etcd", "proxy", "sa"}

func planeCertificates(c *change) {
	if !c.first(record.Value.Initialized) {
		return
	}
	c.later(apart, func(c *change) {
		cl := c.ClusterOf(c.o)
		if cl == nil {
			return
		}
		for _, purpose := range certificates {
			s := c.secretNamed(c.o.Namespace, cl.Name+"-"+purpose)
			if s == nil || s.Seen.byUser || record.ControllerOf(s.Owners).UID == "" {
				continue // what users provide has other types
			}
			if s.Get("type").Str() != secretType || s.Label(clusterLabel) != cl.Name {
				c.report([]string{"status.initialization"}, "the Secret %s has the type %q and the label %s=%q", s.Name, s.Get("type").Str(), clusterLabel, s.Label(clusterLabel))
				return
			}
			for _, key := range []string{"tls.crt", "tls.key"} {
				external := purpose == "etcd" && key == "tls.key" // its key may be elsewhere
				if !external && !s.Get("data", key).Filled() {
					c.report([]string{"status.initialization"},
						"the Secret %s has no data under the key %s", s.Name, key)
					return
				}
			}
			c.held()
		}
	})
}

// planeOf finds the ControlPlane that controls a Machine.
func (c *change) planeOf(o *object) *object {
	if p := c.Controller(o); p.Alive() && p.Tag == controlPlane {
		return p
	}
	return nil
}

func planeLabels(c *change) {
	if c.planeOf(c.o) != nil {
		c.labelled("the Machine of a control plane", controlPlaneLabel, clusterLabel, "")
	}
}

// labelled demands two labels when the object is made, and that they stay; the second one may
// have to have a value.
func (c *change) labelled(what, one, two, value string) {
	if c.user || c.prev.Exists() && c.prev.At("metadata.labels").Equal(c.cur.At("metadata.labels")) {
		return
	}
	c.later(apart, func(c *change) {
		switch {
		case c.o.IsDeleting() || !c.PausedSince(c.o).IsZero():
		case !c.cur.Get("metadata", "labels", one).Exists() || one == clusterLabel && c.o.Label(one) == "":
			c.report([]string{"metadata.labels"}, what+" has no label %s", one)
		case c.o.Label(two) == "" || value != "" && c.o.Label(two) != value:
			c.report([]string{"metadata.labels"}, what+" has no label %s", strings.TrimSuffix(two+"="+value, "="))
		default:
			c.held()
		}
	})
}

func planeCounters(c *change) {
	status := c.cur.Get("status")
	if c.user || !status.Get("replicas").Exists() && !status.Get("readyReplicas").Exists() {
		return
	}
	for _, counter := range []string{"readyReplicas", "availableReplicas", "upToDateReplicas", "updatedReplicas"} {
		if n := status.Get(counter).Number(); n < 0 || n > status.Get("replicas").Number() {
			c.report([]string{"status.replicas", "status." + counter},
				"status.%s is %d, but status.replicas is %d", counter, n, status.Get("replicas").Number())
			return
		}
	}
	c.held()
}

// machinesOf are the Machines that a ControlPlane controls.
func (c *change) machinesOf(plane *object) []*object {
	return slices.DeleteFunc(c.ChildrenTagged(plane.UID, machine), func(m *object) bool {
		return record.ControllerOf(m.Owners).UID != plane.UID
	})
}

// calm is settled for a ControlPlane, and passes on the Machines that it controls.
func (c *change) calm(do func(*change, []*object)) {
	c.settled(machine, func(c *change) { do(c, c.machinesOf(c.o)) })
}

func planeGoesLast(c *change) { c.outlived("the ControlPlane", apart+apart, c.machinesOf(c.o)) }

// counters are the fields of a ControlPlane that count Machines with a condition.
var counters = []struct{ condition, field string }{
	{"Ready", "readyReplicas"}, {"Available", "availableReplicas"}, {"UpToDate", "upToDateReplicas"},
}

func planeReplicas(c *change) {
	if !c.cur.Get("status", "replicas").Exists() && !c.cur.Initialized() || c.user {
		return
	}
	c.calm(func(c *change, all []*object) {
		want := c.cur.Get("status", "replicas").Number()
		if len(all) == 0 || !c.cur.Get("spec", "replicas").Exists() {
			return // Machines of other kinds, or none
		}
		for _, counter := range counters {
			counted := c.cur.Get("status", counter.field)
			n, known := int64(0), c.cur.Get("status", "initialization").Exists() && counted.Exists()
			for _, m := range all {
				is := m.Cur.Condition(counter.condition)
				known = known && is.Exists() && c.Now.Sub(m.Proof.At) >= c.opts.Settle
				if is.Get("status").Str() == "True" {
					n++
				}
			}
			if got := counted.Number(); known && got != n && got >= 0 && got <= want {
				c.report([]string{"status." + counter.field}, "status.%s is %d, but %d Machines have %s=True",
					counter.field, got, n, counter.condition)
				return
			}
		}
		c.demand(want == int64(len(all)), []string{"status.replicas"},
			"status.replicas is %d, but the ControlPlane owns %d Machines", want, len(all))
	})
}

func planeScales(c *change) {
	for _, field := range []string{"replicas", "version"} {
		if c.prev.Exists() && !c.prev.Get("spec", field).Equal(c.cur.Get("spec", field)) {
			c.reaches(field)
		}
	}
}

// reaches demands that the Machines of a ControlPlane follow a field of its spec.
func (c *change) reaches(field string) {
	want, wait := c.cur.Get("spec", field), 4*c.opts.Settle
	c.until(wait, wait, func(c *change) bool {
		all := c.machinesOf(c.o)
		if c.o.IsDeleting() || len(all) == 0 || !want.Exists() || !c.cur.Get("spec", field).Equal(want) {
			return false
		}
		has, state := int64(len(all)) == want.Number(), ""
		if field == "version" {
			for _, strategy := range []string{"spec.rollout.strategy.type", "spec.rolloutStrategy.type"} {
				if c.cur.At(strategy).Str() == "OnDelete" {
					return false
				}
			}
			state = fmt.Sprintf(", %s has the version %q", all[0], all[0].Get("spec", field).Str())
			has = slices.ContainsFunc(all, func(m *object) bool {
				return record.CompareVersions(m.Get("spec", field).Str(), want.Str()) == 0
			})
		}
		if has {
			c.held()
			return false
		}
		waits := slices.ContainsFunc(all, func(m *object) bool {
			return m.IsDeleting() || !m.Get("status", "nodeRef").Exists() || c.Now.Sub(m.Proof.At) < wait
		})
		if waits || c.Now.Sub(c.o.Proof.At) < wait || !c.runs(wait) {
			return true
		}
		c.report([]string{"spec." + field, "status." + field},
			"spec.%s is %s, but the ControlPlane has %d Machines%s, and nothing changes", field, want.Text(), len(all), state)
		return false
	})
}

func planeSelector(c *change) {
	if c.cur.Get("status", "selector").Str() == "" || c.user {
		return
	}
	c.calm(func(c *change, all []*object) {
		selector := c.cur.Get("status", "selector").Str()
		if len(all) == 0 {
			return
		}
		for _, m := range c.MembersTagged(c.o.Cluster, machine) {
			match, known := record.Selects(selector, m.Get("metadata", "labels"))
			if !known {
				return
			}
			if match != slices.Contains(all, m) {
				word := "does not select its"
				if match {
					word = "selects the foreign"
				}
				c.report([]string{"status.selector"}, "status.selector %q %s %s", selector, word, m)
				return
			}
		}
		c.held()
	})
}

func planeVersions(c *change) {
	versions := c.cur.Get("status", "versions")
	if versions.Len() == 0 || c.user {
		return
	}
	last := ""
	for v := range versions.Items() {
		now := v.Get("version").Str()
		if last != "" && record.CompareVersions(now, last) <= 0 {
			c.report([]string{"status.versions"}, "status.versions lists %s after %s", now, last)
			return
		}
		last = now
	}
	c.rests(func(c *change) {
		sum, any := int64(0), false
		for v := range c.cur.Get("status", "versions").Items() {
			any = any || v.Get("replicas").Exists()
			sum += v.Get("replicas").Number()
		}
		want := c.cur.Get("status", "replicas").Number()
		c.demand(!any || sum == want, []string{"status.versions", "status.replicas"},
			"the replicas in status.versions add up to %d, but status.replicas is %d", sum, want)
	})
}

func planeVersion(c *change) {
	now := c.cur.Get("status", "version").Str()
	if c.user || now == c.prev.Get("status", "version").Str() && (now != "" || !c.cur.Initialized()) {
		return
	}
	c.calm(func(c *change, all []*object) {
		now := c.cur.Get("status", "version").Str()
		if now == "" {
			if want := c.cur.Get("spec", "version"); want.Exists() && len(all) > 0 {
				c.report([]string{"spec.version", "status.version"},
					"status.version is missing, but spec.version is %s", want.Str())
			}
			return
		}
		newer := func(m *object) bool { return record.CompareVersions(now, m.Get("spec", "version").Str()) < 0 }
		if len(all) > 0 && !slices.ContainsFunc(all, func(m *object) bool { return !newer(m) }) {
			c.report([]string{"spec.version", "status.version"}, "status.version is %s, but Machine %s has %s and none is older", now, all[0].Name, all[0].Get("spec", "version").Str())
		}
	})
	c.later(apart, func(c *change) {
		all := c.machinesOf(c.o)
		now := c.cur.Get("status", "version").Str()
		if now == "" {
			return
		}
		for _, m := range all {
			if is := m.Get("spec", "version").Str(); is != "" && record.CompareVersions(now, is) > 0 &&
				m.Born.Before(c.o.Proof.At) {
				c.report([]string{"spec.version", "status.version"},
					"status.version is %s, but Machine %s has %s", now, m.Name, is)
				return
			}
		}
		if len(all) > 0 {
			c.held()
		}
	})
}

func planeMetadata(c *change) {
	if !c.prev.Exists() {
		return
	}
	now, changed := c.cur.Get("spec", "machineTemplate"), record.Diff(c.prev.Get("spec"), c.cur.Get("spec"))
	for _, d := range changed {
		first := d.Path == "machineTemplate" && !d.Old.Exists() && d.New.Len() == 1 &&
			(d.New.Get("metadata").Exists() || d.New.At("spec.deletion").Exists())
		if !first && !strings.HasPrefix(d.Path, "machineTemplate.metadata") &&
			!strings.HasPrefix(d.Path, "machineTemplate.spec.deletion") {
			return
		}
	}
	if len(changed) == 0 {
		return
	}
	had := c.machinesOf(c.o)
	replicas := c.prev.Get("spec", "replicas")
	c.later(2*c.opts.Settle, func(c *change) {
		if !c.runs(2*c.opts.Settle) || c.o.IsDeleting() || !c.cur.Get("spec", "machineTemplate").Equal(now) {
			return
		}
		all := c.machinesOf(c.o)
		for _, m := range all {
			if !slices.Contains(had, m) && len(had) > 0 && c.cur.Get("spec", "replicas").Equal(replicas) {
				c.report([]string{"spec.machineTemplate"}, "a change that needs no rollout created Machine %s", m.Name)
				return
			}
			for _, part := range []string{"metadata.labels", "metadata.annotations", "spec.deletion"} {
				for item := range now.At(part).Items() {
					if !m.Cur.At(part).Get(item.Key()).Equal(item) {
						c.report([]string{"spec.machineTemplate"}, "%s.%s has not reached Machine %s after %s",
							part, item.Key(), m.Name, 2*c.opts.Settle)
						return
					}
				}
			}
		}
		if len(all) > 0 {
			c.held()
		}
	})
}

func planeRollout(c *change) {
	after := c.cur.RolloutAfter()
	if !c.prev.Exists() || after == "" || after == c.prev.RolloutAfter() {
		return
	}
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		return
	}
	wait := 4 * c.opts.Settle // the write itself wakes the controller
	if d := at.Sub(c.Now.Add(-c.skew.Best())); d > 0 {
		wait = c.opts.Delete + d
	}
	if wait > 24*time.Hour {
		return
	}
	start := c.Now
	c.later(wait, func(c *change) {
		if c.cur.RolloutAfter() != after || c.o.IsDeleting() || !c.runs(wait) {
			return
		}
		if all := c.machinesOf(c.o); len(all) > 0 {
			c.demand(slices.ContainsFunc(all, func(m *object) bool { return m.Born.After(start) }), []string{"spec.rollout", "spec.rolloutAfter"},
				"the time for the rollout was %s, but no Machine has been created since", after)
		}
	})
}

func planeDomains(c *change) {
	now := c.cur.Get("spec", "failureDomain").Str()
	if now == "" || c.prev.Exists() || !c.o.Seen.watched || c.planeOf(c.o) == nil {
		return
	}
	c.later(apart, func(c *change) {
		cl := c.ClusterOf(c.o)
		if cl == nil {
			return
		}
		for d := range cl.Get("status", "failureDomains").Items() {
			if d.Get("name").Str() == now || d.Key() == now {
				c.demand(d.Get("controlPlane").True(), []string{"spec.failureDomain"},
					"the control plane Machine is in the failure domain %s, which is not for control planes", now)
				return
			}
		}
		if all := cl.Get("status", "failureDomains"); all.Len() > 0 {
			c.report([]string{"spec.failureDomain"},
				"the control plane Machine is in the failure domain %s, which the Cluster does not have", now)
		}
	})
}

func planeExternal(c *change) {
	if !c.cur.Get("status", "externalManagedControlPlane").True() || !c.once("external") {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		all := c.machinesOf(c.o)
		if len(all) > 0 && c.cur.Get("status", "externalManagedControlPlane").True() {
			c.report([]string{"status.externalManagedControlPlane"},
				"the control plane is external, but owns %s", all[0])
			return
		}
		c.held()
	})
}

func planeUpToDate(c *change) {
	if c.prev.Exists() || c.planeOf(c.o) == nil {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		p := c.planeOf(c.o)
		if p == nil || !p.Get("status", "initialization").Exists() || c.o.IsDeleting() || !c.runs(c.opts.Settle) {
			return
		}
		c.demand(c.cur.Condition("UpToDate").Exists(), []string{"status.conditions"},
			"the Machine has no condition UpToDate %s after it was created", c.opts.Settle)
	})
}

func planeEarly(c *change) {
	if !c.first(record.Value.Initialized) {
		return
	}
	c.later(apart, func(c *change) {
		all := c.machinesOf(c.o)
		begun := slices.ContainsFunc(all, func(m *object) bool {
			infra := c.Referred(m, m.Get("spec", "infrastructureRef"))
			return m.Get("spec", "bootstrap", "dataSecretName").Str() != "" ||
				infra != nil && (infra.Cur.Provisioned() || infra.Get("spec", "providerID").Exists())
		})
		if len(all) > 0 {
			c.demand(begun, []string{"status.initialization", "status.initialized"},
				"initialized, but %s has neither bootstrap data nor infrastructure", all[0])
		}
	})
}

// certificate reports whether a Secret holds a certificate that a running ControlPlane made.
func (c *change) certificate() bool {
	p, cl := c.planeOf(c.o), c.ClusterOf(c.o)
	if p == nil || cl == nil || p.IsDeleting() || cl.IsDeleting() || !p.Cur.Initialized() ||
		!c.PausedSince(c.o).IsZero() {
		return false
	}
	purpose, ok := strings.CutPrefix(c.o.Name, cl.Name+"-")
	return ok && slices.Contains(certificates, purpose)
}

func certificateKept(c *change) {
	if c.user || !c.prev.Exists() || !c.certificate() {
		return
	}
	for v := range c.prev.Get("data").Items() {
		if !v.Equal(c.cur.Get("data", v.Key())) {
			c.report([]string{"metadata.resourceVersion"}, "the value of %s changed, but the Cluster uses it", v.Key())
			return
		}
	}
	c.held()
}

func certificateGone(c *change) {
	if c.user || c.driven() || !c.certificate() {
		return
	}
	p, cl := c.planeOf(c.o), c.ClusterOf(c.o)
	c.even(c.opts.Settle, func(c *change) { // a namespace that is deleted loses one kind after the other
		c.demand(!p.Alive() || p.IsDeleting() || !cl.Alive() || cl.IsDeleting(), []string{"metadata.resourceVersion"}, "the Secret was deleted, but the Cluster uses it")
	})
}

func planeOwned(c *change) {
	if c.o.Seen.byUser || !c.cur.Get("metadata", "labels", controlPlaneLabel).Exists() ||
		c.prev.Exists() && c.prev.At("metadata.ownerReferences").Equal(c.cur.At("metadata.ownerReferences")) {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		cl := c.ClusterOf(c.o)
		if cl == nil || cl.IsDeleting() || c.o.IsDeleting() || !c.runs(2*c.opts.Settle) {
			return
		}
		if p := c.Referred(cl, cl.Get("spec", "controlPlaneRef")); p != nil && !p.IsDeleting() {
			c.demand(slices.ContainsFunc(c.o.Owners, func(r record.Owner) bool { return r.Kind != cluster }), []string{"metadata.ownerReferences"},
				"the control plane Machine is not owned by %s", p)
		}
	})
}

func planeWhole(c *change) {
	p := c.planeOf(c.o)
	if c.prev.Exists() || !c.o.Seen.watched || p == nil {
		return
	}
	c.until(c.opts.Settle, c.opts.Settle, func(c *change) bool {
		if !c.runs(c.opts.Settle) {
			return true
		}
		if c.o.IsDeleting() || !p.Alive() {
			return false
		}
		if c.cur.Get("spec", "version").Str() == "" && p.Get("spec", "version").Str() != "" {
			c.report([]string{"spec.version"},
				"the Machine has no version, but %s has %s", p, p.Get("spec", "version").Str())
		}
		if named := c.cur.Get("spec", "clusterName").Str(); named != "" && named != c.o.Label(clusterLabel) {
			c.report([]string{"spec.clusterName", "metadata.labels"},
				"the Machine has the label of Cluster %s, but spec.clusterName is %s", c.o.Label(clusterLabel), named)
		}
		for _, path := range []string{"spec.infrastructureRef", "spec.bootstrap.configRef"} {
			ref := c.cur.At(path).Ref()
			if c.last[ref.Group+"/"+ref.Kind].IsZero() {
				continue // the kind is not in the stream
			}
			all := c.machinesOf(p)
			shared := slices.IndexFunc(all, func(m *object) bool { return m != c.o && m.Cur.At(path).Ref() == ref })
			switch {
			case c.Referred(c.o, c.cur.At(path)) == nil:
				c.report([]string{path}, "%s %s does not exist", ref.Kind, ref.Name)
			case shared >= 0:
				c.report([]string{path}, "%s %s also belongs to %s", ref.Kind, ref.Name, all[shared])
			default:
				c.held()
			}
		}
		return false
	})
}

func planeSurplus(c *change) {
	p := c.planeOf(c.o)
	if c.prev.Exists() || !c.o.Seen.watched || p == nil {
		return
	}
	generation, wait := p.Cur.Generation(), 4*c.opts.Settle
	c.later(wait, func(c *change) {
		all, want := c.machinesOf(p), p.Get("spec", "replicas")
		stirs := slices.ContainsFunc(all, func(m *object) bool {
			return m.IsDeleting() || m != c.o && m.Cur.Condition("UpToDate").Get("status").Str() != "True" ||
				m.Cur.Condition("OwnerRemediated").Exists()
		})
		if stirs || !p.Alive() || p.IsDeleting() || !want.Exists() || p.Cur.Generation() != generation ||
			!c.runs(wait) {
			return
		}
		c.demandOn(p, int64(len(all)) <= want.Number(), []string{"spec.replicas", "status.replicas"},
			"spec.replicas is %d, but the ControlPlane has %d Machines, %s after %s was created", want.Number(), len(all), wait, c.o)
	})
}
