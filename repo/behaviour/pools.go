package behaviour

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// poolChecks are about InfraMachinePools and the InfraMachines that they make.
var poolChecks = []*check{
	row("BEH301", "pool-reports-provisioned", "An InfraMachinePool with instances must report that it is provisioned", must, pagePool+"initialization completed",
		"The MachinePool waits for its infrastructure forever.",
		"Set status.ready, which core still reads, and status.initialization.provisioned.",
		check{Role: contract.InfraMachinePool, Violation: "the pool has replicas or provider IDs, and reports neither when the bound has passed", Within: settle, on: []string{infraPool}, version: poolProvisioned}),
	row("BEH302", "pool-stays-provisioned", "An InfraMachinePool must stay provisioned", must, pagePool+"initialization completed",
		"Core treats a running MachinePool as new.",
		"Never reset status.ready or status.initialization.provisioned; report later problems in conditions.",
		check{Role: contract.InfraMachinePool, Violation: "provisioned changes from true to false or disappears", on: []string{infraPool}, version: poolStaysProvisioned}),
	row("BEH303", "pool-ids-unique", "providerIDList must not list an instance twice", must, pagePool+"providerIDList",
		"Core counts one Node twice and considers the pool complete.",
		"Collect the IDs in a set before writing the list.",
		check{Role: contract.InfraMachinePool, Violation: "spec.providerIDList has the same value twice", on: []string{infraPool}, version: poolUnique}),
	row("BEH304", "pool-ids-replicas", "providerIDList should be as long as status.replicas", should, pagePool+"providerIDList; replicas",
		"Core waits for Nodes that do not exist, or misses some.",
		"Write both from the same observation.",
		check{Role: contract.InfraMachinePool, Violation: "at rest the list and status.replicas have different lengths, or the latter is missing", Within: settle, on: []string{infraPool}, version: poolReplicas}),
	row("BEH305", "pool-ids-follow", "providerIDList must follow scaling", must, pagePool+"providerIDList",
		"Users who scale a pool see no change, or core keeps Nodes that are gone.",
		"Update the list whenever instances are created or deleted.",
		check{Role: contract.InfraMachinePool, Action: actScale, Violation: "MachinePool.spec.replicas changed and the list has another length when the bound has passed", Within: deletion, Beware: "missing capacity; pools whose replicas are managed elsewhere are left out", on: []string{machinePool}, version: poolFollows}),
	row("BEH306", "pool-ids-gone", "Provider IDs removed from the list should not come back", should, pagePool+"providerIDList",
		"Core treats a deleted instance as a running one.",
		"Leave out instances that are being terminated.",
		check{Role: contract.InfraMachinePool, Violation: "an ID is missing in one version and there in a later one", Beware: "clouds whose lists are eventually consistent", on: []string{infraPool}, version: poolGone}),
	row("BEH307", "pool-kind-fixed", "infrastructureMachineKind must not change", must, pagePool+"MachinePoolMachines support",
		"Core stops watching the machines of the pool.",
		"Set status.infrastructureMachineKind once, when the pool is created.",
		check{Role: contract.InfraMachinePool, Violation: "two versions have different kinds", on: []string{infraPool}, version: fixed(poolKindPath, "the kind", "%s")}),
	row("BEH308", "pool-machines-count", "A pool with infrastructureMachineKind must have an InfraMachine for each replica", must, pagePool+"MachinePoolMachines support",
		"Instances have no Machine: they are not drained, and health checks miss them.",
		"Create and delete InfraMachines together with the instances.",
		check{Role: contract.InfraMachinePool, Violation: "at rest the number of InfraMachines of the pool differs from status.replicas, or providerIDList lacks the provider ID of one", Within: settle, on: []string{infraPool}, version: poolCount}),
	row("BEH309", "pool-machine-labels", "InfraMachines of a pool must have the labels of the pool and the Cluster", must, pagePool+"MachinePoolMachines support",
		"Core creates no Machine for the InfraMachine.",
		"Set the labels cluster.x-k8s.io/pool-name and cluster.x-k8s.io/cluster-name when you create InfraMachines.",
		check{Role: contract.InfraMachinePool, Violation: "an InfraMachine owned by an InfraMachinePool lacks one of them", on: []string{infraMachine}, version: poolLabels}),
	row("BEH310", "pool-machine-deleted", "The InfraMachine of a pool must be deleted when its Machine is deleted", must, pagePool+"MachinePoolMachines support",
		"Users who delete a Machine keep the instance and pay for it.",
		"Watch the Machines of the pool, and delete the instance of a deleted one.",
		check{Role: contract.InfraMachinePool, Action: "delete one Machine of a pool", Violation: "the Machine is gone, and its InfraMachine is not being deleted when the bound has passed", Within: settle, on: []string{machine}, gone: poolMachineDeleted}),
	row("BEH311", "pool-scales-by-machines", "Scaling a pool down should delete Machines, not their instances directly", should, pagePool+"MachinePoolMachines support",
		"Nodes disappear without being drained.",
		"Delete the Machine of the instance, and let core delete the InfraMachine.",
		check{Role: contract.InfraMachinePool, Action: actScale, Violation: "an InfraMachine of the pool is deleted while its Machine is not", Beware: "managed services that choose the instances themselves", on: []string{infraMachine}, version: deletedUnasked, gone: goneUnasked}),
	row("BEH312", "pool-instances-agree", "instances should agree with providerIDList", should, pagePool+"instances",
		"Users see instances that are not part of the pool, or miss some.",
		"Write both from the same observation.",
		check{Role: contract.InfraMachinePool, Violation: "at rest a provider ID is in only one of them", Within: settle, on: []string{infraPool}, version: poolInstances}),
	row("BEH313", "pool-goes-last", "The InfraMachinePool should disappear only after its InfraMachines", typical, pagePool+"MachinePoolMachines support",
		"Instances that no controller knows stay behind.",
		"Remove the finalizer of the pool only after all its InfraMachines are gone.",
		check{Role: contract.InfraMachinePool, Action: actDelete, Violation: "the pool is gone while InfraMachines that it owns exist", on: []string{infraPool}, gone: poolGoesLast}),
}

// poolOf finds the InfraMachinePool of an InfraMachine.
func (c *change) poolOf(o *object) *object {
	_, pool := c.OwnerTagged(o, infraPool)
	return pool
}

func poolProvisioned(c *change) {
	if !c.cur.HasInstances() || c.user || c.o.IsDeleting() || !c.once("filled") {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		if !c.cur.HasInstances() || c.o.IsDeleting() || len(c.o.Owners) == 0 || !c.PausedSince(c.o).IsZero() ||
			!c.o.Seen.wiped.IsZero() {
			return
		}
		c.demand(c.cur.PoolProvisioned(), []string{"spec.providerIDList", "status.replicas", "status.ready", "status.initialization"},
			"the pool has instances, but does not report that it is provisioned %s later", c.opts.Settle)
	})
}

func poolStaysProvisioned(c *change) {
	if c.user || c.wiped {
		return
	}
	lost := func(path string) bool { return c.prev.At(path).True() && !c.cur.At(path).True() }
	if gone := lost("status.ready") || lost("status.initialization.provisioned"); gone || c.cur.PoolProvisioned() {
		c.demand(!gone, []string{"status.ready", "status.initialization"}, "the pool was provisioned, but no longer is")
	}
}

func poolUnique(c *change) {
	ids := c.cur.Get("spec", "providerIDList").Strings()
	if c.user || len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	for i := range ids[1:] {
		if ids[i] == ids[i+1] {
			c.report([]string{"spec.providerIDList"}, "the provider ID %q is listed twice", ids[i])
			return
		}
	}
	c.held()
}

// rests looks again when the object has not changed for the bound.
func (c *change) rests(do func(*change)) {
	last := c.o.Proof
	c.later(c.opts.Settle, func(c *change) {
		if c.o.Proof == last && !c.o.IsDeleting() && c.PausedSince(c.o).IsZero() {
			do(c)
		}
	})
}

// settled looks again when the object has not changed for the bound, and later if something
// made the controllers of its Cluster work meanwhile, or one of its children is being deleted.
func (c *change) settled(children string, do func(*change)) {
	c.rests(func(c *change) {
		if c.Now.Sub(c.WokenAt(c.o)) < c.opts.Settle+lag ||
			slices.ContainsFunc(c.ChildrenTagged(c.o.UID, children), (*object).IsDeleting) {
			c.settled(children, do)
			return
		}
		do(c)
	})
}

func poolReplicas(c *change) {
	replicas := c.cur.Get("status", "replicas")
	if c.user || !replicas.Exists() && !c.cur.PoolProvisioned() ||
		int64(c.cur.Get("spec", "providerIDList").Len()) == replicas.Number() {
		return
	}
	c.rests(func(c *change) {
		c.report([]string{"spec.providerIDList", "status.replicas"}, "providerIDList has %d entries, but status.replicas is %s", c.cur.Get("spec", "providerIDList").Len(), c.cur.Get("status", "replicas").Text())
	})
}

func poolFollows(c *change) {
	if !c.prev.Exists() || c.prev.Get("spec", "replicas").Equal(c.cur.Get("spec", "replicas")) ||
		c.cur.Annotated(replicasManaged) {
		return
	}
	want := c.cur.Get("spec", "replicas")
	c.later(c.opts.Delete, func(c *change) {
		infra := c.Referred(c.o, c.cur.Get("spec", "template", "spec", "infrastructureRef"))
		if infra == nil || c.o.IsDeleting() || !c.cur.Get("spec", "replicas").Equal(want) ||
			!c.runs(c.opts.Delete) || c.cur.Annotated(replicasManaged) {
			return
		}
		n := infra.Get("spec", "providerIDList").Len()
		c.demandOn(infra, int64(n) == want.Number(), []string{"spec.providerIDList", "status.replicas"},
			"providerIDList has %d entries, but the MachinePool has wanted %d replicas for %s", n, want.Number(), c.opts.Delete)
	})
}

// mostLeft bounds how many IDs are remembered.
const mostLeft = 10000

func poolGone(c *change) {
	before, now := c.prev.Get("spec", "providerIDList").Strings(), c.cur.Get("spec", "providerIDList").Strings()
	if c.user || slices.Equal(before, now) {
		return
	}
	s := &c.o.Seen
	for _, id := range before {
		if !slices.Contains(now, id) && len(s.left) < mostLeft {
			put(&s.left, id, true)
		}
	}
	for _, id := range now {
		if s.left[id] && !slices.Contains(before, id) {
			c.report([]string{"spec.providerIDList"}, "the provider ID %q was removed from the list and came back", id)
			return
		}
	}
	c.held()
}

func poolCount(c *change) {
	if c.cur.Get("status", "infrastructureMachineKind").Str() == "" || !c.cur.Get("status", "replicas").Exists() {
		return
	}
	c.settled(infraMachine, func(c *change) {
		machines := c.ChildrenTagged(c.o.UID, infraMachine)
		n, want := int64(len(machines)), c.cur.Get("status", "replicas").Number()
		ids := slices.Compact(slices.Sorted(slices.Values(c.cur.Get("spec", "providerIDList").Strings()))) // twice: BEH303
		for _, m := range machines {
			if id := m.Get("spec", "providerID").Str(); id != "" && n == want && len(ids) == len(machines) &&
				!slices.Contains(ids, id) {
				c.report([]string{"spec.providerIDList"}, "providerIDList lacks %q, the provider ID of %s", id, m)
				return
			}
		}
		c.demand(n == want, []string{"status.replicas", "status.infrastructureMachineKind"},
			"status.replicas is %d, but the pool has %d InfraMachines", want, n)
	})
}

func poolLabels(c *change) {
	if pool := c.poolOf(c.o); pool != nil {
		want := ""
		if mp := c.Owner(pool, machinePool); mp != nil && len(mp.Name) <= 63 { // core shortens longer ones
			want = mp.Name
		}
		c.labelled("the InfraMachine of a pool", clusterLabel, poolLabel, want)
	}
}

func poolMachineDeleted(c *change) {
	infra := c.Referred(c.o, c.o.Get("spec", "infrastructureRef"))
	if infra == nil || c.poolOf(infra) == nil {
		return
	}
	c.even(c.opts.Settle, func(c *change) {
		c.demandOn(infra, infra.Gone || infra.IsDeleting() || !c.PausedSince(infra).IsZero(), []string{"metadata.deletionTimestamp"},
			"Machine %s is gone, but its InfraMachine is not being deleted %s later", c.o.Name, c.opts.Settle)
	})
}

func poolInstances(c *change) {
	if c.cur.Get("status", "instances").Len() == 0 || c.user {
		return
	}
	c.rests(func(c *change) {
		ids := c.cur.Get("spec", "providerIDList").Strings()
		var in []string
		for i := range c.cur.Get("status", "instances").Items() {
			id := i.Get("providerID").Str()
			if id == "" {
				return // instances are named in another way
			}
			in = append(in, id)
		}
		slices.Sort(ids)
		slices.Sort(in)
		c.demand(slices.Equal(ids, in), []string{"spec.providerIDList", "status.instances"},
			"status.instances and providerIDList name different instances")
	})
}

func poolGoesLast(c *change) {
	c.outlived("the pool", apart+apart, c.ChildrenTagged(c.o.UID, infraMachine))
}

// coreChecks are about Cluster API itself: what providers rely on.
var coreChecks = []*check{
	row("BEH701", "core-resumes", "Core objects must resume together with their Cluster", must, "cluster-api internal/controllers/machine, SetupWithManager; seen in v1.14.2",
		"Core does not reconcile the object until something else touches it: no health checks, no deletion of its Node.",
		"Annotate the object so that core reconciles it. Providers: set owner references again soon after the pause, which wakes core.",
		check{Role: contract.Core, Action: actStrip + ", unpause", Violation: "a Machine, MachineSet, MachineDeployment or MachinePool shows Paused=True when the bound after the pause has passed", Within: settle, on: []string{machine, machineSet, deployment, machinePool}, resumed: resumes("Paused is still True %s after the pause of the Cluster ended at %s")}),
	row("BEH702", "core-reads-provisioned", "Core must accept status.initialization.provisioned of an InfraMachinePool", must, pagePool+"initialization completed; cluster-api internal/controllers/machinepool, external.IsReady in v1.14.2",
		"The MachinePool waits for its infrastructure forever, although the provider follows the contract.",
		"Set status.ready as well, because Cluster API up to v1.14 reads only that.",
		check{Role: contract.Core, Violation: "provisioned is true without status.ready, and the MachinePool does not report its infrastructure when the bound has passed", Within: pause, on: []string{infraPool}, version: coreReads}),
}

func coreReads(c *change) {
	status := c.cur.Get("status")
	if !status.Get("initialization", "provisioned").True() || status.Get("ready").True() ||
		len(c.o.Owners) == 0 || !c.once("reads") {
		return
	}
	c.later(max(apart, c.opts.Pause-lag), func(c *change) { // core takes no time for it
		delete(c.o.Seen.had, "reads")
		mp := c.Owner(c.o, machinePool)
		if mp == nil || !mp.Get("status").Exists() || c.cur.Get("status", "ready").True() ||
			!c.cur.Get("status", "initialization", "provisioned").True() || !c.PausedSince(c.o).IsZero() || c.o.IsDeleting() {
			return
		}
		accepts := mp.Get("status", "initialization", "infrastructureProvisioned").True() || mp.Get("status", "infrastructureReady").True()
		c.demand(accepts, []string{"status.initialization", "status.ready"},
			"the pool is provisioned, but MachinePool %s does not accept it; core reads only status.ready", mp.Name)
	})
}
