package behaviour

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// coreChecks are about Cluster API itself: what providers rely on.
var coreChecks = []*Check{
	row("BEH701", "core-resumes", "Core objects must resume together with their Cluster", Must, "cluster-api internal/controllers/machine, SetupWithManager; seen in v1.14.2",
		"Core does not reconcile the object until something else touches it: no health checks, no deletion of its Node.",
		"Annotate the object so that core reconciles it. Providers: set owner references again soon after the pause, which wakes core.",
		Check{Role: contract.Core, Action: actStrip + ", unpause", Violation: "a Machine, MachineSet, MachineDeployment or MachinePool shows Paused=True when the bound after the pause has passed", Within: Settle, on: []string{machine, machineSet, deployment, machinePool}, resumed: coreResumed}),
	row("BEH702", "core-reads-provisioned", "Core must accept status.initialization.provisioned of an InfraMachinePool", Must, pagePool+"initialization completed; cluster-api internal/controllers/machinepool, external.IsReady in v1.14.2",
		"The MachinePool waits for its infrastructure forever, although the provider follows the contract.",
		"Set status.ready as well, because Cluster API up to v1.14 reads only that.",
		Check{Role: contract.Core, Contract: contract.V1Beta2, Violation: "provisioned is true without status.ready, and the MachinePool does not report its infrastructure when the bound has passed", Within: Pause, on: []string{infraPool}, version: coreReads}),
}

func coreResumed(c *change) {
	c.resumes("Paused is still True %s after the pause of the Cluster ended at %s")
}

func coreReads(c *change) {
	status := c.cur.Get("status")
	if !status.Get("initialization", "provisioned").True() || status.Get("ready").True() || len(c.o.owners) == 0 || !c.once("reads") {
		return
	}
	c.later(max(apart, c.opts.Pause-lag), func(c *change) { // core takes no time for it
		delete(c.o.seen.had, "reads")
		mp := c.owner(c.o, machinePool)
		if mp == nil || c.cur.Get("status", "ready").True() || !c.cur.Get("status", "initialization", "provisioned").True() || !c.pausedSince(c.o).IsZero() || c.o.isDeleting() {
			return
		}
		if mp.get("status", "initialization", "infrastructureProvisioned").True() || mp.get("status", "infrastructureReady").True() {
			c.held()
			return
		}
		if !slices.ContainsFunc(c.o.owners, func(r owner) bool { return r.uid == mp.uid }) || !mp.get("status").Exists() {
			return
		}
		c.report([]string{"status.initialization", "status.ready"}, "the pool is provisioned, but MachinePool %s does not accept it; core reads only status.ready", mp.name)
	})
}
