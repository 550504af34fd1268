package behaviour

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// clusterChecks are about InfraClusters.
var clusterChecks = []*check{
	row("BEH101", "cluster-stays-provisioned", "An InfraCluster must stay provisioned", must, pageCluster+"initialization completed",
		"Controllers that read the InfraCluster stop working for a running Cluster.",
		"Never reset status.initialization.provisioned to false; report later problems in conditions.",
		check{Role: contract.InfraCluster, Violation: "provisioned changes from true to false or disappears", on: []string{infraCluster}, version: staysProvisioned}),
	row("BEH102", "cluster-endpoint", "A provisioned InfraCluster should have a control plane endpoint", should, pageCluster+"control plane endpoint",
		"Machines never join: the Cluster has no address of the API server.",
		"Set spec.controlPlaneEndpoint before reporting provisioned, unless the control plane provider sets one.",
		check{Role: contract.InfraCluster, Violation: "neither the InfraCluster, the Cluster nor the control plane has an endpoint when four times the bound has passed", Within: settle, Beware: "a control plane provider that is slow to set it", on: []string{infraCluster}, version: clusterEndpoint}),
	row("BEH103", "cluster-endpoint-fixed", "The endpoint of an InfraCluster must not change", must, pageCluster+"control plane endpoint",
		"The Cluster copies the endpoint once; kubeconfigs and certificates keep the old address.",
		"Set spec.controlPlaneEndpoint only if it is empty.",
		check{Role: contract.InfraCluster,
			Violation: "host or port, also those in the Cluster, differ from those of an earlier version, or are removed",
			on:        []string{infraCluster, cluster}, version: endpointFixed}),
	row("BEH104", "cluster-endpoint-given", "An endpoint given in the Cluster is respected", typical, pageCluster+"control plane endpoint",
		"Users who reserve an address for the API server get another one.",
		"Use Cluster.spec.controlPlaneEndpoint if it is set.",
		check{Rule: severity(lint.Info), Role: contract.InfraCluster, Action: "create a Cluster with an endpoint", Violation: "the InfraCluster gets a different endpoint than the Cluster had before", Beware: "providers that ignore the endpoint, which the contract allows", on: []string{infraCluster}, version: endpointGiven}),
	row("BEH105", "cluster-endpoint-whole", "Host and port of the endpoint must be set together", must, pageCluster+"control plane endpoint",
		"Core ignores half an endpoint, so the Cluster never gets one.",
		"Set host and port (1 to 65535) in one patch.",
		check{Role: contract.InfraCluster, Violation: "a provisioned InfraCluster has only one of them, or a port out of range", on: []string{infraCluster}, version: endpointWhole}),
	row("BEH106", "failure-domains-form", "Failure domains must have unique names", must, pageCluster+"failure domains",
		"Core cannot copy the list to the Cluster, and Machines are not spread.",
		"List each failure domain once, with a name and a boolean controlPlane.",
		check{Role: contract.InfraCluster, Violation: "two entries of status.failureDomains have the same name, or controlPlane is not a boolean", on: []string{infraCluster}, version: domainsForm}),
	row("BEH107", "failure-domains-stay", "Failure domains should stay while Machines are in them", should, pageCluster+"failure domains",
		"Control plane Machines in the missing domain are replaced.",
		"Keep a failure domain in the status as long as a Machine uses it.",
		check{Role: contract.InfraCluster, Violation: "a domain disappears from the status while a Machine of the Cluster has it", on: []string{infraCluster}, version: domainsStay}),
	row("BEH108", "externally-managed", "Externally managed InfraClusters must be left alone", must, pageCluster+"externally managed infrastructure",
		"The controller and the external system overwrite each other's status or create infrastructure twice.",
		"Skip objects with the annotation cluster.x-k8s.io/managed-by, with the predicate ResourceIsNotExternallyManaged. The page of the book calls it a label; the code of Cluster API reads the annotation.",
		check{Role: contract.InfraCluster, Action: actManaged, Violation: "the controller of the kind writes the annotated object, or a finalizer appears on it", on: []string{infraCluster}, version: externallyManaged}),
	row("BEH109", "cluster-goes-last", "The InfraCluster should disappear only after its InfraMachines", typical, pageCluster+"typical workflow, deleted resource",
		"Machines stay behind in networks that cannot be deleted.",
		"Remove the finalizer only after the infrastructure of all machines is gone.",
		check{Role: contract.InfraCluster, Action: actDelete, Violation: "the InfraCluster is gone while InfraMachines of the Cluster exist", on: []string{infraCluster}, gone: goesLast}),
	row("BEH110", "orphan-deleted", "Deleted objects without an owner should go away", typical, pageCluster+"typical workflow, deleted resource; "+pageMachine+"typical workflow, deleted resource",
		"Users who delete objects that never had an owner have to remove finalizers by hand.",
		"Handle deletionTimestamp before looking for the owner, or do not add a finalizer without one.",
		check{Action: actOrphan + ", delete it", Violation: "an object without owner references is deleted and still there when twice the bound has passed", Within: settle, on: []string{infraCluster, infraMachine}, version: orphanDeleted}),
	row("BEH111", "endpoint-usable", "The host of an endpoint must be a host name or an IP address", must, pageCluster+"control plane endpoint; "+pagePlane+"control plane endpoint",
		"Nothing can connect to the API server: clients build https://HOST:PORT from it.",
		"Set only the name or the address in host, IPv6 without brackets, and the port in port.",
		check{Violation: "the host is a URL, contains a port, brackets or spaces, or is an address such as 0.0.0.0 or a multicast address", on: []string{infraCluster, controlPlane}, version: endpointUsable}),
}

// machineChecks are about InfraMachines, those of pools included.
var machineChecks = []*check{
	row("BEH201", "machine-provider-id", "A provisioned InfraMachine must have a provider ID", must, pageMachine+"provider ID",
		"Core never matches the Machine with its Node, so the Machine never becomes ready.",
		"Patch spec.providerID before, or together with, status.initialization.provisioned.",
		check{Role: contract.InfraMachine,
			Violation: "a version reports provisioned without spec.providerID, or with one of more than 512 characters",
			on:        []string{infraMachine}, version: machineProviderID}),
	row("BEH202", "machine-provider-id-fixed", "The provider ID must not change", must, pageMachine+"provider ID",
		"Core matches the Machine with the wrong Node or with none, and health checks replace healthy machines.",
		"Set spec.providerID only if it is empty.",
		check{Role: contract.InfraMachine, Violation: "two versions have different provider IDs", on: []string{infraMachine}, version: fixed(providerIDPath, "the provider ID", "%q")}),
	row("BEH203", "machine-provider-id-unique", "Provider IDs must be unique", must, pageMachine+"provider ID",
		"Two Machines claim the same Node; deleting one drains the other.",
		"Put the ID of the instance into the provider ID.",
		check{Role: contract.InfraMachine, Violation: "two InfraMachines have the same provider ID", on: []string{infraMachine}, version: machineProviderIDUnique}),
	row("BEH204", "machine-node", "The provider ID should match that of the Node", should, pageMachine+"provider ID",
		"The Machine waits for its Node forever; MachineHealthChecks and rollouts stop.",
		"Use the value that the cloud controller manager or the kubelet writes into Node.spec.providerID.",
		check{Role: contract.InfraMachine, Violation: "the Machine of a provisioned InfraMachine in an initialized Cluster has no status.nodeRef when the bound has passed, or a younger Machine got one", Within: deletion, Beware: "clusters without a cloud controller manager or network plugin", on: []string{infraMachine}, version: machineNode}),
	row("BEH205", "machine-stays-provisioned", "An InfraMachine must stay provisioned", must, pageMachine+"initialization completed",
		"Core treats a running Machine as new; controllers stop working on it.",
		"Never reset status.initialization.provisioned to false; report later problems in conditions.",
		check{Role: contract.InfraMachine, Violation: "provisioned changes from true to false or disappears", on: []string{infraMachine}, version: staysProvisioned}),
	row("BEH206", "machine-after-cluster", "InfraMachines should wait for the infrastructure of the Cluster", typical, pageMachine+"typical workflow, normal resource",
		"Machines start in networks that do not exist yet, and fail or end up in a default network.",
		"Return while Cluster.status.initialization.infrastructureProvisioned is not true.",
		check{Role: contract.InfraMachine, Action: actManaged + " that never becomes ready", Violation: "the InfraMachine reports provisioned or gets a provider ID before", on: []string{infraMachine}, version: machineAfterCluster}),
	row("BEH207", "machine-after-bootstrap", "InfraMachines should wait for the bootstrap data", typical, pageMachine+"typical workflow, normal resource",
		"The machine starts without bootstrap data and never joins.",
		"Return while Machine.spec.bootstrap.dataSecretName is empty.",
		check{Role: contract.InfraMachine, Violation: "the InfraMachine reports provisioned before", on: []string{infraMachine}, version: machineAfterBootstrap}),
	row("BEH208", "deleted-before-cluster", "InfraMachines should be deletable before the infrastructure of the Cluster is ready", typical, pageMachine+"typical workflow, normal resource, note",
		"A Cluster whose infrastructure fails cannot be deleted; users remove finalizers by hand.",
		"Handle deletionTimestamp before checking whether the infrastructure of the Cluster is ready, and treat what does not exist as deleted.",
		check{Role: contract.InfraMachine, Action: "delete a Machine of a Cluster whose infrastructure never came", Violation: "the deleted InfraMachine is still there when the bound has passed", Within: settle, on: []string{infraMachine}, version: deletedBeforeCluster}),
	row("BEH209", "machine-failure-domain", "The failure domain of the Machine should be respected", should, pageMachine+"failure domain",
		"Control plane machines end up in one failure domain.",
		"Place the instance in Machine.spec.failureDomain, and report it in status.failureDomain.",
		check{Role: contract.InfraMachine, Violation: "status.failureDomain differs from Machine.spec.failureDomain", on: []string{infraMachine}, version: machineDomain}),
	row("BEH210", "machine-addresses", "Addresses must have a known type and a value", must, pageMachine+"addresses",
		"Core copies them to the Machine, whose API accepts only these types; the update fails.",
		"Use Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS, and leave out empty addresses.",
		check{Role: contract.InfraMachine,
			Violation: "an entry of status.addresses has another type or no address, one with a prefix length or a path, " +
				"or a name as InternalIP or ExternalIP",
			on: []string{infraMachine}, version: machineAddresses}),
	row("BEH211", "machine-in-place", "Changing the spec of a running InfraMachine should not change the machine", should, pageMachine+"in-place changes",
		"Users who edit an InfraMachine lose the running machine.",
		"Make the spec immutable with a webhook, or ignore changes after the machine exists.",
		check{Role: contract.InfraMachine, Action: actPatch, Violation: "addresses change within the bound after a person changed the spec", Within: settle, on: []string{infraMachine}, version: machineInPlace}),
	row("BEH212", "machine-asked", "InfraMachines should only be deleted together with their Machine", typical, pageMachine+"typical workflow, deleted resource",
		"Core loses a machine that it still counts as running.",
		"Leave the deletion of InfraMachines to core.",
		check{Role: contract.InfraMachine, Violation: "the InfraMachine is deleted or disappears, its Machine is not deleted, and no person did it", Beware: "a person who deletes it: the API server does not say who did", on: []string{infraMachine}, version: deletedUnasked, gone: goneUnasked}),
	row("BEH213", "machine-hooks", "InfraMachines should wait for pre-terminate hooks", typical, "Machine deletion phases, section pre-terminate hooks",
		"The machine is deleted while it is still needed, for example to leave the etcd cluster.",
		"Remove the finalizer only after core has deleted the InfraMachine.",
		check{Role: contract.InfraMachine, Action: actDelete, Violation: "the InfraMachine is gone while its deleted Machine has pre-terminate hooks", on: []string{infraMachine}, gone: machineHooks}),
	row("BEH214", "machine-failures", "Failures should be reported in conditions, not in failureReason", should, "Provider contracts, section terminal failures",
		"Core ignores failureReason under contract v1beta2, so users do not see the failure.",
		"Report the failure in a condition; failureReason may move to status.deprecated.",
		check{Violation: "a version with status.initialization has status.failureReason or status.failureMessage", on: providerRoles, version: machineFailures}),
	row("BEH215", "template-capacity", "The capacity of an InfraMachineTemplate must be readable", must,
		pageMachine+"support cluster autoscaling from zero",
		"The autoscaler ignores what it cannot read: node groups without machines never grow, or grow for another "+
			"architecture.",
		"Write quantities such as 4 or 16Gi into status.capacity, and amd64, arm64, s390x or ppc64le into "+
			"status.nodeInfo.architecture.",
		check{Role: contract.InfraMachine, on: []string{record.InfraTemplate}, version: templateCapacity,
			Violation: "an entry of status.capacity is not a quantity, or the architecture is not amd64, arm64, s390x or " +
				"ppc64le"}),
}

// machineOf finds the Machine of an InfraMachine or a BootstrapConfig.
func (c *change) machineOf(o *object) *object { return c.Owner(o, machine) }

func staysProvisioned(c *change) {
	if c.user || c.wiped || !c.prev.Completed(c.o.Tag) {
		return
	}
	c.demand(c.cur.Completed(c.o.Tag), []string{"status.initialization", "status.ready"},
		"the object was initialized, but no longer is")
}

// first reports whether a controller made the object show something for the first time.
func (c *change) first(shows func(record.Value) bool) bool {
	return !c.user && !c.gap && shows(c.cur) && !shows(c.prev) && (c.prev.Exists() || c.o.Seen.watched)
}

func clusterEndpoint(c *change) {
	if !c.first(record.Value.Provisioned) {
		return
	}
	c.later(4*c.opts.Settle, func(c *change) {
		cl := c.ClusterOf(c.o)
		if cl == nil || c.o.IsDeleting() || !c.runs(4*c.opts.Settle) {
			return
		}
		has := c.cur.Endpoint() != "" || cl.Cur.Endpoint() != ""
		if cp := c.Referred(cl, cl.Get("spec", "controlPlaneRef")); !has && cp != nil && cp.Cur.Endpoint() != "" {
			return
		}
		c.demand(has, []string{"status.initialization", "spec.controlPlaneEndpoint"},
			"provisioned, but the control plane endpoint is still missing %s later", 4*c.opts.Settle)
	})
}

func endpointFixed(c *change) {
	if host, port := c.cur.HostPort(); c.cur.Endpoint() == "" && (host != "" || port != 0) {
		return // half an endpoint is another fault
	}
	fixed(endpointPath, "the endpoint", "%s")(c)
}

// fixed demands that a value that was seen neither changes nor is removed before the end.
func fixed(path, what, verb string) func(*change) {
	return func(c *change) {
		before, now := c.o.Seen.kept[path], c.cur.Whole(path)
		switch {
		case before == "" || c.user || now == "" && (c.o.IsDeleting() || c.gap):
		case now == "":
			delete(c.o.Seen.kept, path)
			c.report([]string{path}, what+" "+verb+" was removed", before)
		default:
			c.demand(before == now, []string{path}, what+" changed from "+verb+" to "+verb, before, now)
		}
	}
}

func endpointGiven(c *change) {
	now := c.cur.Endpoint()
	if now == "" || c.o.Seen.kept[endpointPath] != "" || c.user || c.cur.Annotated(managedAnnotation) {
		return
	}
	cl := c.ClusterOf(c.o)
	if cl == nil || cl.Cur.Endpoint() == "" {
		return
	}
	c.demand(cl.Cur.Endpoint() == now, []string{"spec.controlPlaneEndpoint"},
		"the Cluster has the endpoint %s, but the InfraCluster got %s", cl.Cur.Endpoint(), now)
}

func endpointWhole(c *change) {
	if c.user || !c.cur.Provisioned() || !c.cur.Get("spec", "controlPlaneEndpoint").Exists() {
		return
	}
	switch host, port := c.cur.HostPort(); {
	case (host == "") != (port == 0):
		c.report([]string{"spec.controlPlaneEndpoint"}, "the endpoint has only one of host and port")
	case port < 0 || port > 65535:
		c.report([]string{"spec.controlPlaneEndpoint"}, "the port %d of the endpoint is out of range", port)
	default:
		c.held()
	}
}

func endpointUsable(c *change) {
	host, _ := c.cur.HostPort()
	if before, _ := c.prev.HostPort(); c.user || host == "" || host == before {
		return
	}
	ip, err := netip.ParseAddr(host)
	c.demand(err == nil && !ip.IsUnspecified() && !ip.IsMulticast() || err != nil && !strings.ContainsAny(host, ":/[]@?, \t"), []string{endpointPath},
		"the host of the endpoint is %q, which clients cannot connect to", host)
}

func domainsForm(c *change) {
	now := c.cur.Get("status", "failureDomains")
	if c.user || now.Len() == 0 || now.Equal(c.prev.Get("status", "failureDomains")) {
		return
	}
	seen := map[string]bool{}
	for d := range now.Items() {
		name := d.Get("name").Str()
		if now.Kind() == record.Map {
			name = d.Key()
		}
		flag := d.Get("controlPlane")
		switch {
		case name == "":
			c.report([]string{"status.failureDomains"}, "a failure domain has no name")
		case seen[name]:
			c.report([]string{"status.failureDomains"}, "the failure domain %s is listed twice", name)
		case flag.Exists() && flag.Kind() != record.Bool:
			c.report([]string{"status.failureDomains"}, "controlPlane of the failure domain %s is not a boolean", name)
		default:
			seen[name] = true
			continue
		}
		return
	}
	c.held()
}

func domainsStay(c *change) {
	if c.user || c.wiped || !c.prev.Exists() ||
		c.prev.Get("status", "failureDomains").Equal(c.cur.Get("status", "failureDomains")) || c.o.IsDeleting() {
		return
	}
	now := c.cur.FailureDomains()
	for _, d := range c.prev.FailureDomains() {
		if slices.Contains(now, d) {
			continue
		}
		for _, m := range c.MembersTagged(c.o.Cluster, machine) {
			if m.Get("spec", "failureDomain").Str() == d && !m.IsDeleting() {
				c.report([]string{"status.failureDomains"}, "the failure domain %s disappeared, but %s is in it", d, m)
				return
			}
		}
	}
	c.held()
}

func externallyManaged(c *change) {
	if !c.cur.Annotated(managedAnnotation) || c.user || !c.prev.Annotated(managedAnnotation) || c.o.IsDeleting() {
		return
	}
	if f := c.cur.Get("metadata", "finalizers"); f.Len() > c.prev.Get("metadata", "finalizers").Len() {
		c.report([]string{"metadata.finalizers", "metadata.annotations"},
			"a finalizer was added to an externally managed object")
		return
	}
	done := c.wishes()
	if c.Ours(c.o, c.wrote...) && !c.prev.At(endpointPath).Equal(c.cur.At(endpointPath)) {
		done = append(done, endpointPath)
	}
	if len(done) > 0 && c.wrote[0].Manager != "manager" {
		c.report(nil, "the controller %s changed %s of an externally managed object", c.wrote[0].Manager, fewChanges(done))
		return
	}
	if c.cur.Get("status").Equal(c.prev.Get("status")) {
		c.held()
		return
	}
	for _, w := range c.o.Writers {
		if w.Subresource == "status" && w.Manager != "manager" && c.Ours(c.o, w) {
			c.report([]string{"status", "metadata.annotations"},
				"the controller %s wrote the status of an externally managed object", w.Manager)
			return
		}
	}
}

func (c *change) finalizerKey(f string) string { return f + " " + c.o.Kind + "." + c.o.Group }

func goesLast(c *change) {
	c.outlived("the InfraCluster", apart, slices.DeleteFunc(c.MembersTagged(c.o.Cluster, infraMachine), func(m *object) bool { return len(m.Owners) == 0 }))
}

// outlived demands that the members are gone soon after the object. Garbage collection soon
// removes their references to it.
func (c *change) outlived(what string, within time.Duration, members []*object) {
	if c.user {
		return
	}
	c.even(within, func(c *change) {
		for _, m := range members {
			if !m.Gone {
				c.report([]string{"metadata.deletionTimestamp"}, "%s is gone, but its %s still exists", what, m)
				return
			}
		}
		c.held()
	})
}

func orphanDeleted(c *change) {
	if !c.o.IsDeleting() || len(c.o.Owners) > 0 || c.cur.Get("metadata", "finalizers").Len() == 0 || !c.once("orphan") {
		return
	}
	c.later(2*c.opts.Settle, func(c *change) {
		if len(c.o.Owners) > 0 || !c.PausedSince(c.o).IsZero() {
			return
		}
		c.report([]string{"metadata.deletionTimestamp", "metadata.finalizers"},
			"deleted without an owner at %s, but still there %s later", clock(c.o.Deleting), 2*c.opts.Settle)
	})
}

func machineProviderID(c *change) {
	if !c.first(record.Value.Provisioned) {
		return
	}
	id := c.cur.Get("spec", "providerID").Str()
	c.demand(id != "" && len(id) <= 512, []string{"spec.providerID", "status.initialization", "status.ready"},
		"the machine is provisioned, but has no provider ID that fits into the Machine")
}

func machineProviderIDUnique(c *change) {
	id := c.cur.Get("spec", "providerID").Str()
	if id == "" || c.prev.Get("spec", "providerID").Str() == id {
		return
	}
	if other := c.ids[id]; other.Alive() && other != c.o && other.Get("spec", "providerID").Str() == id {
		c.report([]string{"spec.providerID"}, "%s has the provider ID %q too", other, id)
		return
	}
	c.ids[id] = c.o
	c.held()
}

func machineNode(c *change) {
	if !c.first(record.Value.Provisioned) || c.o.OwnedBy(machinePool) {
		return
	}
	since := c.Now
	c.until(2*c.opts.Settle, 2*c.opts.Settle, func(c *change) bool {
		m, cl := c.machineOf(c.o), c.ClusterOf(c.o)
		if m == nil || cl == nil || m.IsDeleting() || c.o.IsDeleting() {
			return false
		}
		switch {
		case m.Get("status", "nodeRef").Exists():
			c.held()
		case !c.runs(2*c.opts.Settle) || c.Now.Sub(since) < c.opts.Delete && !c.youngerHasNode(m):
			return true
		case c.planeReady(cl):
			c.report([]string{"spec.providerID", "status.initialization"},
				"provisioned, but Machine %s has no Node %s later", m.Name, c.Now.Sub(since).Round(time.Second))
		}
		return false
	})
}

// youngerHasNode reports whether a Machine of the Cluster with an InfraMachine of the same
// kind, made after this one, has had its Node for a while.
func (c *change) youngerHasNode(m *object) bool {
	return slices.ContainsFunc(c.MembersTagged(m.Cluster, machine), func(other *object) bool {
		ref := other.Get("spec", "infrastructureRef").Ref()
		return other.Born.After(m.Born) && other.Get("status", "nodeRef").Exists() &&
			ref.Kind == c.o.Kind && ref.Group == c.o.Group && c.Now.Sub(other.Born) > 2*c.opts.Settle
	})
}

func (c *change) planeReady(cl *object) bool {
	return cl.Get("status", "initialization", "controlPlaneInitialized").True() ||
		cl.Cur.Condition("ControlPlaneInitialized").Get("status").Str() == "True"
}

func machineAfterCluster(c *change) {
	if !c.begins() || !c.o.Seen.wiped.IsZero() {
		return
	}
	c.later(apart, func(c *change) {
		cl := c.ClusterOf(c.o)
		if cl == nil || len(c.o.Owners) == 0 {
			return
		}
		c.demand(cl.Cur.InfrastructureReady(), []string{"spec.providerID", "status.initialization", "status.ready"},
			"the machine was created before the infrastructure of Cluster %s was provisioned", cl.Name)
	})
}

func machineAfterBootstrap(c *change) {
	if !c.first(record.Value.Provisioned) || !c.o.Seen.wiped.IsZero() {
		return
	}
	c.later(apart, func(c *change) {
		m := c.machineOf(c.o)
		if m == nil || c.poolOf(c.o) != nil || // the bootstrap data is that of the pool
			!m.Get("spec", "bootstrap").Exists() {
			return
		}
		c.demand(m.Get("spec", "bootstrap", "dataSecretName").Str() != "", []string{"spec.providerID", "status.initialization", "status.ready"},
			"the machine was provisioned before Machine %s had bootstrap data", m.Name)
	})
}

func deletedBeforeCluster(c *change) {
	if !c.o.IsDeleting() || len(c.o.Owners) == 0 {
		return
	}
	cl := c.ClusterOf(c.o)
	if cl == nil || cl.Cur.InfrastructureReady() || !c.PausedSince(c.o).IsZero() || !c.once("early") {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		if cl := c.ClusterOf(c.o); cl == nil || cl.Cur.InfrastructureReady() || !c.PausedSince(c.o).IsZero() {
			return
		}
		c.report([]string{"metadata.deletionTimestamp", "metadata.finalizers"}, "deleted at %s, but still there %s later; the infrastructure of the Cluster was never ready", clock(c.o.Deleting), c.opts.Settle)
	})
}

func machineDomain(c *change) {
	now := c.cur.Get("status", "failureDomain").Str()
	if now == "" || now == c.prev.Get("status", "failureDomain").Str() || c.user {
		return
	}
	c.later(apart, func(c *change) {
		m := c.machineOf(c.o)
		if m == nil || m.Get("spec", "failureDomain").Str() == "" {
			return
		}
		want, is := m.Get("spec", "failureDomain").Str(), c.cur.Get("status", "failureDomain").Str()
		c.demand(want == is, []string{"status.failureDomain"},
			"the machine is in %q, but Machine %s asks for %q", is, m.Name, want)
	})
}

var addressTypes = []string{"Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"}

func machineAddresses(c *change) {
	now := c.cur.Get("status", "addresses")
	if now.Len() == 0 || c.user || now.Equal(c.prev.Get("status", "addresses")) {
		return
	}
	for a := range now.Items() {
		kind, text := a.Get("type").Str(), a.Get("address").Str()
		_, err := netip.ParseAddr(text)
		switch {
		case !slices.Contains(addressTypes, kind):
			c.report([]string{"status.addresses"}, "the address %q has the unknown type %q", text, kind)
			return
		case text == "":
			c.report([]string{"status.addresses"}, "an address of the type %s is empty", kind)
			return
		case strings.ContainsAny(text, "/ "), strings.HasSuffix(kind, "IP") && err != nil:
			c.report([]string{"status.addresses"}, "%q is not an address of the type %s", text, kind)
			return
		}
	}
	c.held()
}

func machineInPlace(c *change) {
	before := c.prev.Get("status", "addresses")
	if c.user || c.wiped || c.o.Seen.patched.IsZero() || !c.prev.Provisioned() ||
		before.Len() == 0 || c.Now.Sub(c.o.Seen.patched) > c.opts.Settle || c.o.IsDeleting() {
		return
	}
	c.demand(before.Equal(c.cur.Get("status", "addresses")), []string{"status.addresses"},
		"the addresses changed %s after the spec was changed", c.Now.Sub(c.o.Seen.patched).Round(time.Second))
}

func deletedUnasked(c *change) {
	if c.o.IsDeleting() && c.prev.Exists() && !c.prev.Get("metadata", "deletionTimestamp").Exists() {
		goneUnasked(c)
	}
}

// goneUnasked demands that what core owns the object for, a Machine, a MachinePool or a Cluster, is deleted too. Of
// InfraMachines, a check of pools looks at those of pools that stay, the other one at the rest.
func goneUnasked(c *change) {
	pool, m := c.poolOf(c.o), c.machineOf(c.o)
	if c.check.Role == "" {
		_, m = c.OwnerTagged(c.o, coreOwners[c.o.Tag][0])
	}
	if !c.once(c.check.ID) || c.user || c.gap || c.driven() || m == nil ||
		(pool != nil) != (c.check.Role == contract.InfraMachinePool) || c.cur.Annotated(deleteForMove) {
		return
	}
	after := apart
	if c.o.Tag != infraMachine { // without a finalizer it goes before the Machine when a namespace is deleted
		after = c.opts.Settle
	}
	c.even(after, func(c *change) {
		c.demand(m.Gone || m.IsDeleting() || pool != nil && (pool.Gone || pool.IsDeleting()), []string{"metadata.deletionTimestamp"},
			"the %s was deleted, but %s was not", c.o.Tag, m)
	})
}

func machineHooks(c *change) {
	m := c.machineOf(c.o)
	if m == nil || !m.IsDeleting() || c.user {
		return
	}
	c.even(apart, func(c *change) {
		if m.Gone {
			return
		}
		for a := range m.Get("metadata", "annotations").Items() {
			if strings.HasPrefix(a.Key(), preTerminate) {
				c.report([]string{"metadata.deletionTimestamp"},
					"the InfraMachine is gone, but Machine %s still has the hook %s", m.Name, a.Key())
				return
			}
		}
		c.held()
	})
}

// quantities are those of Kubernetes (k8s.io/apimachinery pkg/api/resource).
var quantities = phrase.Pattern(`^\+?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`)

func templateCapacity(c *change) {
	status := c.cur.Get("status")
	if c.user || status.Equal(c.prev.Get("status")) {
		return
	}
	for item := range status.Get("capacity").Items() {
		if text := strings.Trim(item.Text(), `"`); !quantities().MatchString(text) {
			c.report([]string{"status.capacity"},
				"%s of the capacity is %s, which is not a quantity", item.Key(), item.Text())
			return
		}
	}
	arch := status.Get("nodeInfo", "architecture").Str()
	c.demand(slices.Contains([]string{"", "amd64", "arm64", "s390x", "ppc64le"}, arch), []string{"status.nodeInfo"},
		"the architecture is %q; want amd64, arm64, s390x or ppc64le", arch)
}

func machineFailures(c *change) {
	if c.user || !c.cur.Get("status", "initialization").Exists() {
		return
	}
	for _, field := range []string{"failureReason", "failureMessage"} {
		if text := c.cur.Get("status", field).Str(); text != "" {
			c.report([]string{"status." + field},
				"status.%s is %q, which core ignores under contract v1beta2", field, text)
			return
		}
	}
}
