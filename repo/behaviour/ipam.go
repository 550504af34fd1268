package behaviour

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// ipamChecks are about claims of addresses and what IPAM providers make of them.
var ipamChecks = []*check{
	row("BEH601", "claim-answered", "A claim should get an address", should, pageIPAM+"IPAM provider, normal IPAddressClaim, step 4",
		"The machine waits for its address.",
		"Reconcile claims when they, their pool or their Cluster change; report an exhausted pool in a condition of the claim.",
		check{Role: contract.IPPool, Violation: "a claim for a pool that gives addresses has none when the bound has passed, and no condition says that the pool is exhausted", Within: settle, Beware: "exhausted pools", on: []string{claim}, version: claimAnswered, resumed: (*change).answered}),
	row("BEH602", "address-name", "An IPAddress should have the name of its claim", should, pageIPAM+"IPAM provider, normal IPAddressClaim, step 5",
		"Two reconciliations at the same time can give one claim two addresses.",
		"Give the IPAddress the name of the claim.",
		check{Role: contract.IPPool, Violation: "name and spec.claimRef.name of an IPAddress differ", on: []string{address}, version: addressName}),
	row("BEH603", "foreign-claims", "Claims for pools of other providers must be left alone", must, pageIPAM+"IPAM provider, normal IPAddressClaim, step 1",
		"A foreign finalizer on the claim is never removed, so the claim, its machine and the Cluster cannot be deleted.",
		"Check group and kind of spec.poolRef before the first write, also for claims that a change of the Cluster enqueued.",
		check{Role: contract.IPPool, Action: actForeign + " with a Cluster, then unpause or restart", Violation: "a claim gets the finalizer that a provider sets on the claims of its own pools, but its pool is in another group", Within: pause, on: []string{claim}, version: foreignClaims}),
	row("BEH604", "claim-paused", "Claims of a paused Cluster must wait", must, pageIPAM+"IPAM provider, normal IPAddressClaim, step 2",
		"clusterctl move loses or duplicates the address.",
		"Check the pause of the Cluster and of the claim first.",
		check{Role: contract.IPPool, Action: "create a claim while paused", Violation: "an IPAddress is created for a claim that was made during the pause, or after the bound", Within: pause, on: []string{address}, version: claimPaused}),
	row("BEH605", "claim-without-cluster", "Claims of a Cluster that does not exist should wait", typical, pageIPAM+"IPAM provider, normal IPAddressClaim, step 2.3",
		"Restored claims get different addresses than before.",
		"Return if the Cluster in spec.clusterName is not found.",
		check{Role: contract.IPPool, Action: "create a claim for a Cluster that does not exist", Violation: "an IPAddress is created for it", on: []string{address}, version: claimWithoutCluster}),
	row("BEH606", "claim-finalizer", "The claim must have a finalizer before its address exists", must, pageIPAM+"IPAM provider, normal IPAddressClaim, step 3",
		"A claim deleted at the wrong moment leaves an address that is never released.",
		"Add the finalizer and patch the claim before allocating the address.",
		check{Role: contract.IPPool, Violation: "an IPAddress is older than the first version of its claim that has a finalizer", on: []string{address}, version: claimFinalizer}),
	row("BEH607", "address-owners", "An IPAddress must be owned by its claim and its pool", must, pageIPAM+"IPAM provider, normal IPAddressClaim, steps 5.2 and 5.3",
		"clusterctl move leaves the address behind, or the pool disappears while addresses are in use.",
		"Set the claim as controller and the pool as owner, both with blockOwnerDeletion.",
		check{Role: contract.IPPool, Violation: "the claim is not the controlling owner, the pool is not a non-controlling owner, or blockOwnerDeletion is missing", on: []string{address}, version: addressOwners}),
	row("BEH608", "address-finalizer", "An IPAddress should have a finalizer", should, pageIPAM+"IPAM provider, normal IPAddressClaim, step 5.4",
		"An IPAddress deleted by mistake is given to another machine.",
		"Create the IPAddress with a finalizer, and remove it when the claim is deleted.",
		check{Role: contract.IPPool, Violation: "an IPAddress has no finalizer", on: []string{address}, version: addressFinalizer}),
	row("BEH609", "address-unique", "A pool must not give an address twice", must, pageIPAM+"IPAM provider",
		"Two machines have the same address.",
		"Derive the addresses in use from all IPAddresses of the pool, under a lock.",
		check{Role: contract.IPPool, Violation: "two IPAddresses of a pool have the same address", on: []string{address}, version: addressUnique}),
	row("BEH610", "address-reference", "status.addressRef must name an existing IPAddress and not change", must, pageIPAM+"IPAM provider, normal IPAddressClaim, step 6",
		"The infrastructure provider configures the machine with no address or with another one.",
		"Set status.addressRef once, after the IPAddress was created.",
		check{Role: contract.IPPool,
			Violation: "the name changes, or names an IPAddress that does not exist or is for another claim",
			on:        []string{claim}, version: addressReference}),
	row("BEH611", "address-goes-first", "The IPAddress must be gone before its claim", must, pageIPAM+"IPAM provider, deleted IPAddressClaim",
		"The address is never released.",
		"Delete the IPAddress, and remove the finalizer of the claim when it is gone.",
		check{Role: contract.IPPool, Action: "delete a claim", Violation: "the claim is gone, and its IPAddress exists five seconds later", on: []string{claim}, gone: addressGoesFirst}),
	row("BEH612", "claim-deleted", "Deleted claims should disappear", should, pageIPAM+"IPAM provider, deleted IPAddressClaim",
		"The machine and the Cluster cannot be deleted.",
		"Release the address and remove the finalizer also when the pool or the Cluster is gone.",
		check{Role: contract.IPPool, Action: actDelete, Violation: "deletionTimestamp of the claim is older than the bound", Within: deletion, on: []string{claim}, version: claimDeleted}),
	row("BEH613", "address-protected", "An IPAddress should stay until its claim is deleted", should, pageIPAM+"IPAM provider, normal IPAddressClaim, step 5.4",
		"A machine uses an address that is given to another one.",
		"Keep the finalizer of the IPAddress until the claim is deleted.",
		check{Role: contract.IPPool, Action: "delete an IPAddress", Violation: "the IPAddress is gone, and its claim is not being deleted", on: []string{address}, gone: addressProtected}),
	row("BEH614", "claim-owner", "Claims of an InfraMachine should have it as controlling owner", should, pageIPAM+"infrastructure provider",
		"clusterctl move leaves the claim behind, and the address is not released with the machine.",
		"Create claims with a controlling owner reference to the InfraMachine and with spec.clusterName.",
		check{Role: contract.InfraMachine,
			Violation: "a claim owned by an InfraMachine is not controlled by it, or names no Cluster or another one",
			on:        []string{claim}, version: claimOwner}),
	row("BEH615", "claim-released", "Claims should be deleted with their InfraMachine", should, pageIPAM+"infrastructure provider",
		"The pool runs out of addresses.",
		"Set the owner reference, or delete the claims before removing the finalizer of the InfraMachine.",
		check{Role: contract.InfraMachine, Action: actDelete, Violation: "the InfraMachine is gone, and its claim is not being deleted when twice the bound has passed", Within: settle, Beware: "a server without garbage collection", on: []string{claim}, version: claimReleased}),
	row("BEH616", "address-usable", "An IPAddress must be usable, and stay as it is", must,
		pageIPAM+"data types, IPAddress; cluster-api internal/webhooks/ipaddress.go",
		"The machine configures an address that does not work, or that the pool does not know.",
		"Parse address, prefix and gateway before creating the IPAddress, and never change its spec.",
		check{Role: contract.IPPool, on: []string{address}, version: addressUsable,
			Violation: "address or gateway do not parse, belong to different families or are the same, the prefix does not " +
				"fit, or the spec changes"}),
}

// claimPool is group and kind of the pool that a claim or an address is for.
func claimPool(v record.Value) [2]string {
	r := v.Get("spec", "poolRef").Ref()
	return [2]string{r.Group, r.Kind}
}

// claimOf finds the claim of an IPAddress.
func (c *change) claimOf(a *object) *object {
	return c.Live(record.IPAMGroup, claim, a.Namespace, a.Get("spec", "claimRef", "name").Str())
}

// gives notes that a pool gives addresses, and with which finalizers on its claims.
func (c *change) gives(pool [2]string, cl *object) {
	if c.pools[pool] == nil {
		c.pools[pool] = map[string]bool{}
	}
	for _, f := range cl.Seen.finalizers {
		c.pools[pool][f] = true
	}
}

func claimAnswered(c *change) {
	if !c.prev.Exists() {
		c.answered()
	}
}

func (c *change) answered() {
	c.later(c.opts.Settle, func(c *change) {
		if c.cur.Get("status", "addressRef", "name").Str() != "" {
			c.held()
			return
		}
		if c.pools[claimPool(c.cur)] == nil || c.o.IsDeleting() ||
			!c.runs(c.opts.Settle) || c.o.Cluster != "" && c.ClusterOf(c.o) == nil {
			return
		}
		for item := range c.cur.Get("status", "conditions").Items() {
			if strings.Contains(item.Get("reason").Str()+item.Get("message").Str(), "xhaust") {
				return
			}
		}
		c.report([]string{"spec.poolRef", "status.addressRef"},
			"the claim has no address %s later, although its pool gives addresses", c.opts.Settle)
	})
}

func addressName(c *change) {
	if c.prev.Exists() {
		return
	}
	n := c.cur.Get("spec", "claimRef", "name").Str()
	c.demand(n == c.o.Name, []string{"metadata.name", "spec.claimRef"}, "the IPAddress is for the claim %q", n)
}

func foreignClaims(c *change) {
	now := c.cur.Finalizers()
	if len(now) == 0 || slices.Equal(now, c.o.Seen.finalizers) {
		return
	}
	c.o.Seen.finalizers = now
	if c.user {
		return
	}
	added := slices.DeleteFunc(slices.Clone(now), func(f string) bool { return slices.Contains(c.prev.Finalizers(), f) })
	old, cur, proof, since := c.prev, c.cur, c.o.Proof, c.Now
	c.later(c.opts.Pause, func(c *change) {
		pool := claimPool(cur)
		if c.cur.Get("status", "addressRef", "name").Str() != "" || c.pools[pool] != nil {
			return // it is answered, so the pool is that of the provider
		}
		for _, other := range slices.SortedFunc(maps.Keys(c.pools), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
			if other[0] == pool[0] {
				continue
			}
			for _, f := range added {
				if c.pools[other][f] {
					c.asOf(proof)
					c.prev, c.cur = old, cur
					c.report([]string{"metadata.finalizers", "spec.poolRef"}, "the provider of %s.%s put its finalizer %s on a claim for %s.%s at %s", other[1], other[0], f, pool[1], pool[0], clock(since))
					return
				}
			}
		}
	})
}

func claimPaused(c *change) {
	if c.prev.Exists() || !c.o.Seen.watched || c.user || c.o.Seen.byUser {
		return
	}
	cl := c.claimOf(c.o)
	if cl == nil {
		return
	}
	since := c.PausedSince(cl)
	switch {
	case since.IsZero():
		c.held()
	case cl.Born.After(since.Add(apart/2)) || c.Now.Sub(since) > c.opts.Pause:
		c.report([]string{"spec.claimRef", "spec.address"},
			"the address was given %s after the pause began", c.Now.Sub(since).Round(100*time.Millisecond))
	}
}

func claimWithoutCluster(c *change) {
	if c.prev.Exists() || !c.o.Seen.watched || c.user || c.o.Seen.byUser {
		return
	}
	c.later(apart, func(c *change) {
		cl := c.claimOf(c.o)
		if cl == nil || cl.Cluster == "" || c.o.IsDeleting() || cl.IsDeleting() {
			return
		}
		c.demand(c.ClusterOf(cl) != nil, []string{"spec.claimRef"},
			"the address was given, but Cluster %s does not exist", cl.Cluster)
	})
}

func claimFinalizer(c *change) {
	if c.prev.Exists() || !c.o.Seen.watched || c.user || c.o.Seen.byUser {
		return
	}
	version := c.o.Version
	c.even(apart, func(c *change) {
		cl := c.claimOf(c.o)
		if cl == nil || !cl.Seen.watched || version == 0 {
			return
		}
		first := cl.Seen.finalized
		c.demand(first != 0 && first <= version, []string{"spec.claimRef"},
			"the address was created before claim %s had a finalizer", cl.Name)
	})
}

// fresh looks at an object soon after a controller made it, or changed a part of it.
func (c *change) fresh(part string, look func(*change)) {
	if c.prev.Exists() && (c.gap || c.prev.At(part).Equal(c.cur.At(part))) || c.o.Seen.byUser || c.user {
		return
	}
	c.later(apart, func(c *change) {
		if !c.o.IsDeleting() {
			look(c)
		}
	})
}

func addressOwners(c *change) {
	c.fresh("metadata.ownerReferences", func(c *change) {
		pool := c.cur.Get("spec", "poolRef").Ref()
		var byClaim, byPool *record.Owner
		for i, r := range c.o.Owners {
			switch {
			case r.Kind == claim:
				byClaim = &c.o.Owners[i]
			case r.Kind == pool.Kind && r.Name == pool.Name:
				byPool = &c.o.Owners[i]
			}
		}
		paths := []string{"metadata.ownerReferences"}
		switch {
		case byClaim == nil || !byClaim.Controller || c.claimOf(c.o) != nil && c.claimOf(c.o).UID != byClaim.UID:
			c.report(paths, "the claim is not the controlling owner of the IPAddress")
		case byPool == nil:
			c.report(paths, "the pool %s is not an owner of the IPAddress", pool.Name)
		case byPool.Controller:
			c.report(paths, "the pool %s is the controlling owner; the claim must be", pool.Name)
		case !byClaim.Block || !byPool.Block:
			c.report(paths, "an owner reference of the IPAddress lacks blockOwnerDeletion")
		default:
			c.held()
		}
	})
}

func addressFinalizer(c *change) {
	c.fresh("metadata.finalizers", func(c *change) {
		cl := c.claimOf(c.o) // once the claim goes, the finalizer may go
		c.demand(c.cur.Get("metadata", "finalizers").Len() > 0 || c.prev.Exists() && (cl == nil || cl.IsDeleting()),
			[]string{"metadata.finalizers"},
			"the IPAddress has no finalizer")
	})
}

func ipKey(o *object) [4]string {
	r := o.Get("spec", "poolRef").Ref()
	namespace := o.Namespace
	if strings.HasPrefix(r.Kind, "Global") {
		namespace = ""
	}
	return [4]string{namespace, r.Group + "/" + r.Kind, r.Name, o.Get("spec", "address").Str()}
}

func addressUnique(c *change) {
	if cl := c.claimOf(c.o); cl != nil {
		c.gives(claimPool(c.cur), cl)
	}
	if c.prev.Exists() || c.cur.Get("spec", "address").Str() == "" {
		return
	}
	key := ipKey(c.o)
	if other := c.ips[key]; other.Alive() && other != c.o && !other.IsDeleting() {
		c.report([]string{"spec.address", "spec.poolRef"}, "%s has the address %s of the same pool", other, key[3])
		return
	}
	c.ips[key] = c.o
	c.held()
}

func addressReference(c *change) {
	if c.o.Seen.kept[addressPath] != "" {
		fixed(addressPath, "addressRef", "%s")(c)
		return
	}
	now := c.cur.At(addressPath).Str()
	if now == "" || c.user {
		return
	}
	c.later(apart, func(c *change) {
		if c.o.IsDeleting() {
			return
		}
		a := c.Live(record.IPAMGroup, address, c.o.Namespace, now)
		if a.Alive() {
			c.gives(claimPool(c.cur), c.o)
		}
		c.demand(a.Alive() && a.Get("spec", "claimRef", "name").Str() == c.o.Name, []string{"status.addressRef"},
			"IPAddress %s does not exist or is for another claim", now)
	})
}

func addressGoesFirst(c *change) {
	n := c.cur.Get("status", "addressRef", "name").Str()
	a := c.Live(record.IPAMGroup, address, c.o.Namespace, n)
	if n == "" {
		return
	}
	if !a.Alive() {
		c.held()
		return
	}
	c.even(5*time.Second, func(c *change) {
		c.demand(!a.Alive(), []string{"status.addressRef"}, "the claim is gone, but IPAddress %s still exists", n)
	})
}

func addressUsable(c *change) {
	spec, before := c.cur.Get("spec"), c.prev.Get("spec")
	if c.user || before.Equal(spec) {
		return
	}
	ip, err := netip.ParseAddr(spec.Get("address").Str())
	prefix, gateway := spec.Get("prefix"), spec.Get("gateway").Str()
	via, wrong := netip.ParseAddr(gateway)
	paths := []string{"spec"}
	switch {
	case before.Exists():
		c.report(paths, "the spec of the IPAddress changed")
	case err != nil:
		c.report(paths, "%q is not an address", spec.Get("address").Str())
	case prefix.Exists() && (prefix.Number() < 0 || prefix.Number() > int64(ip.BitLen())):
		c.report(paths, "prefix %s does not fit the address %s", prefix.Text(), ip)
	case gateway != "" && (wrong != nil || via.Is4() != ip.Is4() || via == ip):
		c.report(paths, "%q cannot be the gateway of %s", gateway, ip)
	default:
		c.held()
	}
}

func claimDeleted(c *change) {
	if !c.o.IsDeleting() || !c.once("deleted") {
		return
	}
	c.until(c.opts.Delete, c.opts.Settle, func(c *change) bool {
		return c.stays(!c.runs(c.opts.Settle), "spec.poolRef")
	})
}

func addressProtected(c *change) {
	cl := c.claimOf(c.o)
	if cl == nil || c.user {
		return
	}
	c.even(apart, func(c *change) {
		used := cl.Alive() && !cl.IsDeleting() && cl.Get("status", "addressRef", "name").Str() == c.o.Name
		c.demand(!used, []string{"metadata.finalizers"}, "the IPAddress is gone, but claim %s is in use", cl.Name)
	})
}

func claimOwner(c *change) {
	r, m := c.OwnerTagged(c.o, infraMachine)
	if m == nil || c.prev.Exists() || c.o.Seen.byUser {
		return
	}
	switch {
	case !r.Controller:
		c.report([]string{"metadata.ownerReferences"}, "%s owns the claim, but does not control it", m)
	case c.cur.Get("spec", "clusterName").Str() == "" && c.o.Label(clusterLabel) == "":
		c.report([]string{"spec.clusterName"}, "the claim of %s names no Cluster", m)
	case m.Cluster != "" && c.o.Cluster != m.Cluster:
		c.report([]string{"spec.clusterName", "metadata.labels"}, "%s belongs to Cluster %s, but its claim to %s",
			m, m.Cluster, c.o.Cluster)
	default:
		c.held()
	}
}

func claimReleased(c *change) {
	_, m := c.OwnerTagged(c.o, infraMachine)
	if m == nil || !c.once("consumer") {
		return
	}
	c.until(2*c.opts.Settle, 2*c.opts.Settle, func(c *change) bool {
		if m.Gone && m.IsDeleting() && !c.o.IsDeleting() && c.Now.Sub(m.Proof.At) >= 2*c.opts.Settle {
			c.report([]string{"metadata.ownerReferences", "metadata.deletionTimestamp"},
				"%s is gone, but its claim is not being deleted", m)
			return false
		}
		return !c.o.IsDeleting()
	})
}
