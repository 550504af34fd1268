package behaviour

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// The pages of the Cluster API book that the sources name.
const (
	pagePause    = "Provider contracts, InfraCluster to ControlPlane, section Cluster and pausing"
	pageMove     = "clusterctl provider contract, section Move"
	pageOwners   = "clusterctl provider contract, section OwnerReferences chain"
	pageStatus   = "Provider contracts, section conditions"
	pageCluster  = "InfraCluster contract, section "
	pageMachine  = "InfraMachine contract, section "
	pagePool     = "InfraMachinePool contract, section "
	pageConfig   = "BootstrapConfig contract, section "
	pagePlane    = "ControlPlane contract, section "
	pageIPAM     = "IPAM contract, section "
	apiRules     = "Kubernetes API conventions, section Typical status properties"
	actPause     = "pause"
	actPoke      = "pause while something is under way, then poke"
	actAnnotate  = "annotate an object as paused"
	actStrip     = "strip finalizers and owner references while paused"
	actWipe      = "wipe the status while paused"
	actDelete    = "delete"
	actScale     = "scale"
	actRestart   = "restart the controller"
	actOrphan    = "create an object without an owner"
	actForeign   = "create a claim for the pool of another provider"
	actManaged   = "create an externally managed InfraCluster"
	actPatch     = "patch the spec"
	moveOrPaused = "deletions by clusterctl move, which are recognised by its annotation"
)

// objectChecks are about objects of all roles.
var objectChecks = []*check{
	row("BEH001", "quiet-while-paused", "Controllers must not act on objects of a paused Cluster", must, pagePause+"; "+pageMove,
		"Users who move, back up or repair a Cluster rely on the pause. A controller that continues to work creates or deletes infrastructure twice.",
		"Return from Reconcile when annotations.IsPaused is true or paused.EnsurePausedCondition says so, before anything else.",
		check{Action: actPoke, Violation: "a status, a provider ID or an endpoint changes, the controller writes other fields of the spec, labels, annotations or the data of an owned Secret, or an owned object is created, after the object shows Paused=True or the bound has passed", Within: pause,
			Beware: "requests under way when the pause begins; writes of the driver and of people are left out", on: makers, version: quietCluster}),
	row("BEH002", "quiet-while-annotated", "Controllers must not act on objects with the paused annotation", must, pagePause,
		"Users who pause one object to repair it by hand compete with the controller.",
		"Check the annotation cluster.x-k8s.io/paused of the object itself, as annotations.IsPaused does.",
		check{Action: actAnnotate, Violation: "the same as for BEH001, while only the object, or the owner of the Secret, has the annotation", Within: pause, on: makers, version: quietObject}),
	row("BEH003", "paused-condition-true", "Objects should show Paused=True soon after a pause begins", should, pagePause,
		"clusterctl move and people cannot tell when the controller has stopped.",
		"Set the condition Paused with paused.EnsurePausedCondition, and watch Clusters for changes of spec.paused.",
		check{Action: actPause, Violation: "the condition Paused is not True when the bound has passed", Within: pause, on: providerRoles, paused: showsPaused}),
	row("BEH004", "paused-condition-false", "Objects should show Paused=False soon after the pause ends", should, pagePause,
		"The object is not reconciled until something else changes it, so the Cluster seems stuck after a move.",
		"Watch Clusters with a predicate that lets the change of spec.paused to false pass.",
		check{Action: actPause, Violation: "the condition Paused is still True when the bound has passed", Within: settle, on: providerRoles, resumed: resumes("the condition Paused is still True, %s after the pause ended at %s")}),
	row("BEH005", "paused-condition-missing", "Kinds that are reconciled should show the condition Paused", should, pagePause,
		"Users cannot see whether the controller respects a pause.",
		"Set the condition Paused with paused.EnsurePausedCondition on every reconciliation.",
		check{Violation: "an object with an owner and a controller has no condition Paused, or the condition disappears", Within: settle, on: providerRoles, version: missingPaused}),
	row("BEH006", "resume-catches-up", "Changes made during a pause must be applied after it", must, pagePause,
		"Users who scale or upgrade a paused Cluster wait for a change that never comes.",
		"Reconcile the whole desired state when the pause ends; do not rely on an event for each change.",
		check{Action: actPause + ", change the spec, unpause", Violation: "status.observedGeneration is still the one from before the pause when the bound has passed", Within: settle, on: providerRoles, resumed: catchesUp}),
	row("BEH007", "paused-deletion-waits", "Objects deleted while paused must keep their finalizer", must, pageMove,
		"clusterctl move deletes the paused source objects; a controller that cleans up then destroys the infrastructure that was moved.",
		"Check for the pause before handling deletionTimestamp.",
		check{Action: actPause + ", delete an object", Violation: "the last finalizer of the provider or the object disappears during a pause, or the provider removes the finalizer of another controller", Within: pause, Beware: moveOrPaused, on: providerRoles, version: pausedFinalizer, gone: pausedGone}),
	row("BEH008", "finalizer-first", "The finalizer should be set before external resources exist", typical, pageCluster+"typical workflow, normal resource; "+pageMachine+"typical workflow, normal resource",
		"A deletion at the wrong moment leaves machines, load balancers or networks behind, which cost money.",
		"Add the finalizer and return before the first call that creates something.",
		check{Violation: "the object reports provisioned or gets a provider ID without a finalizer", on: []string{infraCluster, infraMachine, infraPool}, version: finalizerFirst}),
	row("BEH009", "finalizer-kept", "The finalizer must stay until the object is deleted", must, pageCluster+"typical workflow, deleted resource; "+pageMachine+"typical workflow, deleted resource",
		"Deleting the object later leaves external resources behind.",
		"Remove the finalizer only when deletionTimestamp is set and the clean-up is done.",
		check{Violation: "the last finalizer of the provider disappears, or it removes that of another controller, without deletionTimestamp, not during a pause", Beware: "a person who removes it; the API server does not say who removed something", on: append([]string{claim}, providerRoles...), version: finalizerKept}),
	row("BEH010", "finalizer-restored", "Lost finalizers should be set again", practice, "cluster-api test/framework/finalizers_helpers.go, ValidateFinalizersResilience",
		"Objects restored from a backup have no finalizers; deleting them leaves external resources behind.",
		"Add the finalizer on every reconciliation if it is missing.",
		check{Action: actStrip, Violation: "a finalizer that was lost during a pause is not back when the bound after the pause has passed", Within: settle, on: providerRoles, resumed: finalizerRestored}),
	row("BEH011", "deletion-ends", "Deleted objects must disappear", must, pageCluster+"typical workflow, deleted resource; "+pageMachine+"typical workflow, deleted resource",
		"The Cluster or its namespace cannot be deleted; users remove finalizers by hand and leave resources behind.",
		"Handle resources that are already gone, and remove the finalizer at the end.",
		check{Action: actDelete, Violation: "deletionTimestamp is older than the bound and nothing that depends on the object is left", Within: deletion, Beware: "slow clouds: raise the bound", on: providerRoles, version: deletionEnds}),
	row("BEH012", "finalizer-on-deleted", "Finalizers must not be added to objects that are being deleted", must, "Kubernetes API, apimachinery pkg/api/validation, ValidateObjectMetaUpdate",
		"The API server refuses the update, and the controller retries it forever instead of cleaning up.",
		"Add the finalizer only if deletionTimestamp is not set.",
		check{Action: actDelete, Violation: "a warning event reports that the API server refused new finalizers", Needs: []string{"events"}}),
	row("BEH013", "comes-to-rest", "Controllers should come to rest", practice, "cluster-api test/framework/resourceversion_helpers.go, ValidateResourceVersionStable",
		"Writes without a cause load the API server and wake every other controller.",
		"Patch only when something differs; do not write times or counters that change by themselves.",
		check{Violation: "more than ten writes within a minute, or more than twenty within five minutes once it is initialized, to an object or a Secret of a Cluster in which nothing happened for a minute, or more than twenty of its spec within a minute",
			on: append([]string{cluster, machine, machineSet, deployment, machinePool, secret}, providerRoles...), version: comesToRest, Beware: "bootstrap configurations whose tokens rotate; those of pools are left out"}),
	row("BEH014", "no-fight", "Fields of the spec and conditions should not change back and forth", practice, "Server-side apply, section Conflicts",
		"Two controllers fight over the field; neither result lasts.",
		"Let one controller own the field, or use server-side apply with separate field managers.",
		check{Violation: "a field of the spec changes to its former value three times within a minute, or the status of a condition ten times", on: providerRoles, version: noFight}),
	row("BEH015", "transition-time", "lastTransitionTime should be the time at which the status of a condition changed", should, pageStatus+"; "+apiRules,
		"Users and MachineHealthChecks cannot tell for how long a condition has lasted.",
		"Set conditions with the functions of apimachinery or of util/conditions.",
		check{Violation: "two versions have the same status and different times, or another status and the same time, long past, or the time is in the future or before 2000", on: providerKinds, version: transitionTime}),
	row("BEH016", "condition-complete", "Conditions must have a type, a valid status, a reason and a time", must, pageStatus+"; "+apiRules,
		"Tools that read conditions fail or show nothing.",
		"Set type, status (True, False or Unknown), reason and lastTransitionTime of every condition.",
		check{Violation: "an entry of status.conditions lacks one of them, its type is listed twice, or its type or reason " +
			"has characters that Kubernetes does not allow",
			on: providerKinds, version: conditionComplete}),
	row("BEH017", "observed-generation", "observedGeneration must not exceed the generation", must, pageStatus+"; "+apiRules,
		"kstatus and other tools consider a change done that the controller has not seen.",
		"Copy metadata.generation of the object that was reconciled.",
		check{Violation: "status.observedGeneration or that of a condition is larger than metadata.generation", on: providerKinds, version: observedGeneration}),
	row("BEH018", "observed-generation-follows", "observedGeneration should follow the generation", should, apiRules,
		"Users who wait for a change wait forever.",
		"Set status.observedGeneration at the end of every reconciliation.",
		check{Action: actPatch,
			Violation: "the generation changed and status.observedGeneration still lags after twice the bound, or an " +
				"observedGeneration decreases",
			Within: settle, on: providerRoles, version: generationFollows}),
	row("BEH019", "ready-stays", "The condition Ready should exist during the whole life of an object", should, pageStatus,
		"Core computes the readiness of Machines and Clusters from it and reports Unknown without it.",
		"Set Ready on every reconciliation, also while deleting.",
		check{Violation: "the condition Ready disappears", on: providerRoles, version: readyStays}),
	row("BEH020", "owner-first", "Nothing should be done for an object that has no owner yet", typical, pageCluster+"typical workflow; "+pageMachine+"typical workflow; "+pageConfig+"typical workflow",
		"Users who prepare objects before their Cluster or Machine get infrastructure that belongs to no Cluster.",
		"Return until util.GetOwnerCluster or util.GetOwnerMachine finds the owner.",
		check{Action: actOrphan, Violation: "the object reports its initialization, or gets a provider ID, without any owner reference", on: []string{infraCluster, infraMachine, infraPool, bootstrapRole}, version: ownerFirst}),
	row("BEH021", "owner-kept", "The owner reference that core sets must stay", must, pageOwners,
		"clusterctl move loses the object, and deleting the Cluster leaves it behind.",
		"Patch objects with the patch helper instead of replacing metadata.ownerReferences.",
		check{Violation: "the controlling owner changes to another UID, or the reference to it, or to the Cluster, the " +
			"Machine or the MachinePool that core sets, disappears, not during a pause; Secrets may get another controller",
			Beware: "a person who removes it: the API server does not say who did",
			on:     append([]string{secret, claim, address}, providerRoles...), version: ownerKept}),
	row("BEH022", "owner-chain", "Objects made by providers should have owners up to the Cluster", should, pageOwners,
		"clusterctl move leaves the object behind, and deleting the Cluster does not delete it.",
		"Set an owner reference when you create the object.",
		check{Within: settle, on: []string{secret, claim, infraMachine, bootstrapRole}, version: ownerChain,
			Violation: "an object, claim or Secret with the label of the Cluster, not made by a person, has no owner " +
				"reference when the bound has passed, or an object becomes its own owner"}),
	row("BEH023", "owner-version", "Owner references should be updated to the current API version", should, "cluster-api test/framework/ownerreference_helpers.go, ValidateOwnerReferencesOnUpdate",
		"References in an old version break when that version is no longer served.",
		"Set the owner references on every reconciliation with the version of the owner.",
		check{Action: "write old API versions into owner references while paused",
			Violation: "a reference whose version became older, during a pause or by a controller, is still old when the " +
				"bound has passed",
			Within: settle, on: providerRoles, resumed: ownerVersion, version: ownerOlder}),
	row("BEH024", "restart-changes-nothing", "Objects at rest should not change when a controller restarts", practice, "Provider contracts, typical workflow, step Patch",
		"Every upgrade of the provider changes running Clusters.",
		"Make reconciliation idempotent: compute the desired state from the spec and from what exists outside.",
		check{Action: actRestart, Violation: "a field other than conditions changes within the bound after a restart, with nothing else having happened", Within: settle, Needs: []string{"leases"}, on: providerRoles, version: restartQuiet}),
	row("BEH025", "status-rebuilt", "The status must be the same after it was lost", must, pageMove+", Status subresource is never restored",
		"clusterctl move drops the status. If it cannot be computed again, the moved Cluster is broken or its machines are created a second time.",
		"Derive the status from the spec and from what exists outside; keep identities in the spec.",
		check{Action: actWipe, Violation: "after the status was wiped and the pause has ended, the initialization is not reported again within the bound, or an identity differs", Within: settle, on: providerRoles, version: statusRebuilt, resumed: statusResumed}),
	row("BEH026", "block-move-removed", "The annotation block-move should be removed when the object can move", should, pageMove,
		"clusterctl move waits for the annotation to disappear and fails after its time limit.",
		"Remove clusterctl.cluster.x-k8s.io/block-move as soon as the Cluster is paused and nothing is under way.",
		check{Action: actPause,
			Violation: "the annotation is still there four times the bound after the pause began, or after it was set " +
				"during one",
			Within: settle,
			on:     providerRoles, paused: blockMoveRemoved, version: blockMoveRemoved}),
	row("BEH027", "paused-with-cause", "Objects should show Paused=True only while they are paused", should, pagePause,
		"Users who look for the reason why nothing happens find a pause that does not exist.",
		"Compute the condition Paused from spec.paused of the Cluster and the annotation of the object, as paused.EnsurePausedCondition does.",
		check{Violation: "the condition Paused becomes True without a pause, and is still True when the bound has passed", Within: settle, on: providerRoles, version: pausedFalsely}),
	row("BEH028", "edits-kept", "Controllers should keep what users set", practice, "Kubernetes documentation, Labels and Selectors, section Syntax and character set: keys without a prefix are private to the user",
		"Labels, annotations and settings of users disappear without a message.",
		"Patch only the fields that the controller owns, from the newest version of the object.",
		check{Action: "label an object and " + actPatch, Violation: "the controller of the kind removes, in a write that also sets something, a label or an annotation without a prefix or the paused annotation, or sets a string or a number of the spec back to what it was before a user changed it", on: providerRoles, version: editsKept}),
	row("BEH029", "no-leak", "Controllers should not create objects without end", practice, "Kubernetes documentation, Controllers, section Desired versus current state",
		"etcd of the management cluster fills up, and every controller that watches the kind slows down.",
		"Look for the object that exists already, by a name computed from the owner, before creating one.",
		check{Violation: "an object gets control of more than twenty new Secrets, IPAddressClaims and Machines within five minutes; only Secrets count for an InfraMachinePool", on: []string{secret, claim, machine}, version: noLeak}),
	row("BEH030", "status-types", "Fields of the contract must have the type that core reads", must, pageCluster+"initialization completed; failure domains; "+pageMachine+"provider ID; addresses; "+pagePool+"replicas; "+pagePlane+"replicas",
		"Core cannot read the field: it returns an error on every reconciliation, or takes the field as missing.",
		"Use the type of the contract in the Go type and in the CRD.",
		check{Violation: "a field has another type, for example provisioned is a string, or failureDomains is a map next to status.initialization", on: providerRoles, version: statusTypes}),
	row("BEH031", "cluster-label-fixed", "The label of the Cluster must not change", must, pageOwners,
		"Controllers and clusterctl move take the object for a part of another Cluster.",
		"Never change or remove the label cluster.x-k8s.io/cluster-name.",
		check{Violation: "the label changes to a different value, or is removed, not during a pause, or names another Cluster than that of the owner", Beware: "a person who removes it: the API server does not say who did", on: append([]string{machine}, providerRoles...), version: clusterLabelFixed}),
	row("BEH032", "ready-is-initialized", "Objects that are ready must report their initialization", must, pageCluster+"initialization completed; "+pageMachine+"initialization completed; "+pageConfig+"initialization completed",
		"Core waits forever: it reads status.initialization, not the condition Ready.",
		"Set status.initialization.provisioned or dataSecretCreated when the work is done for the first time.",
		check{Violation: "at rest the condition Ready is True, and the initialization is not reported", Within: settle, on: []string{infraCluster, infraMachine, bootstrapRole}, version: readyInitialized}),
	row("BEH033", "no-birth-while-deleting", "Nothing new should be made for an object that is being deleted", typical,
		pagePlane+"machines; "+pagePool+"MachinePoolMachines support; "+pageIPAM+"IPAM provider, deleted IPAddressClaim",
		"The deletion takes turns with new machines and addresses and never ends, or they are left behind.",
		"Handle deletionTimestamp before anything else, and return after it.",
		check{Action: actDelete, Within: pause, on: []string{machine, infraMachine, claim, address}, version: bornLate,
			Violation: "a Machine, InfraMachine, claim or IPAddress is created when its owner, a ControlPlane, an " +
				"InfraMachinePool, an InfraMachine or a claim, has been deleted for longer than the bound"}),
	row("BEH034", "deleted-with-owner",
		"InfraClusters, pools and ControlPlanes should only be deleted together with what they belong to", typical,
		pageCluster+"typical workflow, deleted resource; "+pagePool+"typical workflow; "+pagePlane+"typical workflow",
		"Core loses infrastructure that it still counts on, and the Cluster can no longer be changed.",
		"Leave the deletion to core.",
		check{Within: settle, Beware: "a person who deletes it: the API server does not say who did",
			on: []string{infraCluster, infraPool, controlPlane}, version: deletedUnasked, gone: goneUnasked,
			Violation: "the object is deleted or disappears, its Cluster or MachinePool is not deleted within the bound, " +
				"and no person did it"}),
}

// noticed returns the time from which a paused object must be left alone: shortly after
// it showed that it is paused, or when the bound has passed.
func (c *change) noticed(o *object, since time.Time) time.Time {
	if !o.Acked.IsZero() {
		if o.Acked.After(since) {
			since = o.Acked
		}
		return since.Add(apart)
	}
	return since.Add(c.opts.Pause + lag)
}

func quietCluster(c *change) {
	if since := c.ClusterPaused(c.o); !since.IsZero() {
		c.quiet(since, "while the Cluster was paused")
	}
}

func quietObject(c *change) {
	who := c.o
	if p := c.Controller(c.o); p.Alive() && (c.o.Tag == secret || !c.prev.Exists()) {
		who = p
	}
	if who.Annotated.IsZero() || !c.ClusterPaused(c.o).IsZero() {
		return
	}
	c.quiet(who.Annotated, "while it had the paused annotation")
}

func (c *change) quiet(since time.Time, when string) {
	if !c.prev.Exists() {
		c.quietBirth(since, when)
		return
	}
	who := c.o
	if c.o.Tag == secret {
		who = c.Controller(c.o)
	}
	if c.user || c.gap || len(c.o.Owners) == 0 || !who.Alive() ||
		!slices.Contains(providerRoles, who.Tag) || c.made.Before(c.noticed(who, since)) {
		return
	}
	done := append(record.Work(c.prev, c.cur), c.wishes()...)
	var shown []string
	if c.o.Tag == secret { // whose values are not shown
		shown = []string{"metadata.resourceVersion"}
		if !c.prev.Get("data").Equal(c.cur.Get("data")) {
			done = append(done, "data")
		}
	}
	if len(done) == 0 {
		c.held()
		return
	}
	c.report(shown, "the controller changed %s %s, %s after it began",
		fewChanges(done), when, c.Now.Sub(since).Round(100*time.Millisecond))
}

// wishes are the changes of the spec, the labels and the annotations by a controller of the kind: one that
// writes the status of its objects. Nobody else is known to be one.
func (c *change) wishes() []string {
	var out []string
	alone := func(v record.Value) bool { return v.Len() == 1 && v.Get(blockMove).Exists() }
	for _, part := range []string{"spec", "metadata.labels", "metadata.annotations"} {
		for _, d := range record.Diff(c.prev.At(part), c.cur.At(part)) {
			d.Path = strings.TrimSuffix(part+"."+d.Path, ".")
			seen := strings.HasPrefix(d.Path, "spec.providerID") || strings.HasPrefix(d.Path, "spec.controlPlaneEndpoint") // see work
			if !seen && !strings.HasSuffix(d.Path, blockMove) && !alone(d.New) && !alone(d.Old) {
				out = append(out, d.String())
			}
		}
	}
	if len(out) == 0 || len(c.wrote) == 0 {
		return nil
	}
	for _, w := range c.wrote {
		if w.Subresource != "" || !c.Ours(c.o, w) {
			return nil
		}
	}
	return out
}

// quietBirth is for what a controller makes: it belongs to a paused object.
func (c *change) quietBirth(since time.Time, when string) {
	if !c.o.Seen.watched || c.o.Seen.byUser || c.user {
		return
	}
	for _, r := range c.o.Owners {
		if p := c.Object(r.UID); r.Controller && p.Alive() &&
			slices.Contains(providerRoles, p.Tag) && c.Now.After(since.Add(c.opts.Pause)) {
			c.reportOn(p, []string{"metadata.name"}, "the controller created %s %s", c.o, when)
		}
	}
}

func fewChanges(list []string) string {
	path, _, _ := strings.Cut(list[0], ": ")
	if len(list) == 1 {
		return path
	}
	return path + " and " + strconv.Itoa(len(list)-1) + " more fields"
}

func showsPaused(c *change) {
	if len(c.o.Owners) == 0 || c.o.IsDeleting() {
		return
	}
	since := c.PausedSince(c.o)
	c.later(c.opts.Pause, func(c *change) {
		if !c.PausedSince(c.o).Equal(since) || len(c.o.Owners) == 0 || c.o.IsDeleting() || c.o.Seen.wiped.After(since) {
			return
		}
		p := c.cur.Condition("Paused")
		if !p.Exists() {
			return // the kind does not show it at all
		}
		c.demand(p.Get("status").Str() == "True", []string{"status.conditions[Paused]"},
			"the condition Paused is %s, %s after the pause began at %s", p.Get("status").Str(), c.opts.Pause, clock(since))
	})
}

// resumes demands that an object no longer shows a pause that has ended.
func resumes(format string) func(*change) {
	return func(c *change) {
		ended := c.o.Seen.resumed
		c.later(c.opts.Settle, func(c *change) {
			if !c.PausedSince(c.o).IsZero() || !c.o.Seen.resumed.Equal(ended) ||
				len(c.o.Owners) == 0 && c.o.Tag != cluster || !c.cur.Condition("Paused").Exists() {
				return
			}
			c.demand(!c.cur.Paused(), []string{"status.conditions[Paused]"}, format, c.opts.Settle, clock(ended))
		})
	}
}

func missingPaused(c *change) {
	c.conditionStays("Paused")
	if !c.prev.Exists() || len(c.o.Owners) == 0 || !c.once("paused") {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		key := c.check.ID + " " + c.o.Kind + "." + c.o.Group
		if c.kinds[key] || len(c.o.Owners) == 0 || c.o.IsDeleting() || !c.reconciled() {
			return
		}
		shows := c.cur.Condition("Paused").Exists() || !c.PausedSince(c.o).IsZero()
		c.kinds[key] = !shows
		c.demand(shows, []string{"metadata.finalizers", "status.conditions"},
			"%s is reconciled, but has no condition Paused", c.o.Kind)
	})
}

// once reports that a check begins to wait, and remembers it.
func (c *change) once(what string) bool {
	begins := !c.o.Seen.had[what]
	put(&c.o.Seen.had, what, true)
	return begins
}

// reconciled reports whether a controller works on the object: it has a finalizer, or a
// status that no person wrote.
func (c *change) reconciled() bool {
	return c.cur.Get("metadata", "finalizers").Len() > 0 ||
		c.cur.Get("status").Len() > 0 && !slices.ContainsFunc(c.o.Writers, func(w record.Writer) bool {
			return w.Subresource == "status" && record.ByPeople(nil, []record.Writer{w})
		})
}

func catchesUp(c *change) {
	observed := c.cur.Get("status", "observedGeneration")
	if !observed.Exists() || c.cur.Generation() == c.o.Seen.stamp {
		return
	}
	want := c.cur.Generation()
	c.later(c.opts.Settle, func(c *change) {
		got, ok := c.cur.Get("status", "observedGeneration").Int()
		if !c.PausedSince(c.o).IsZero() || !ok || c.o.IsDeleting() {
			return
		}
		c.demand(got >= want, []string{"metadata.generation", "status.observedGeneration"},
			"generation %d, made during the pause, is not observed %s after it", want, c.opts.Settle)
	})
}

// ownFinalizer reports whether the finalizer is one of the provider.
func (c *change) ownFinalizer(f string) bool {
	known := func(f string) bool { return c.Ours(c.o, c.added[c.finalizerKey(f)]...) }
	// What is there from the beginning is that of the provider, unless it adds another one to a new object.
	return known(f) || strings.Contains(f, c.o.Group) ||
		!c.o.Seen.late[f] && (!c.o.Seen.watched || !slices.ContainsFunc(c.prev.Finalizers(), known))
}

// lostFinalizers are those that the provider lost, so that none of its own is left, and those of
// other controllers that it removed.
func (c *change) lostFinalizers() []string {
	kept := slices.ContainsFunc(record.LostFinalizers(c.cur, record.Value{}), c.ownFinalizer) // without those of Kubernetes
	return slices.DeleteFunc(record.LostFinalizers(c.prev, c.cur), func(f string) bool {
		own := c.ownFinalizer(f)
		return own && kept || !own && !c.Ours(c.o, c.wrote...)
	})
}

func pausedFinalizer(c *change) {
	since := c.PausedSince(c.o)
	lost := c.lostFinalizers()
	if since.IsZero() || len(lost) == 0 {
		return
	}
	if !c.o.IsDeleting() || c.user {
		c.o.Seen.lost = append(c.o.Seen.lost, lost...)
		return
	}
	if c.cur.Annotated(deleteForMove) || c.made.Before(c.noticed(c.o, since)) {
		return
	}
	c.report([]string{"metadata.finalizers", "metadata.deletionTimestamp"},
		"the finalizer %s was removed %s after the pause began", lost[0], c.Now.Sub(since).Round(100*time.Millisecond))
}

func pausedGone(c *change) {
	since := c.PausedSince(c.o)
	if since.IsZero() || c.user || c.prev.Get("metadata", "finalizers").Len() == 0 ||
		c.cur.Annotated(deleteForMove) || c.made.Before(c.noticed(c.o, since)) || c.driven() {
		return
	}
	c.report([]string{"metadata.finalizers", "metadata.deletionTimestamp"},
		"the object disappeared %s after the pause began", c.Now.Sub(since).Round(100*time.Millisecond))
}

// begins reports whether the outside resource shows for the first time in this version.
func (c *change) begins() bool {
	if c.user || c.gap || !c.prev.Exists() && !c.o.Seen.watched || c.cur.Annotated(managedAnnotation) {
		return false
	}
	now := c.cur.Completed(c.o.Tag) || c.cur.Get("spec", "providerID").Str() != "" && c.o.Tag != bootstrapRole
	before := c.prev.Completed(c.o.Tag) || c.prev.Get("spec", "providerID").Str() != ""
	return now && !before && !byUserID(c.o, c.cur)
}

// byUserID reports whether the only sign is a provider ID that the maker gave.
func byUserID(o *object, v record.Value) bool {
	return o.Seen.byUser && !v.Completed(o.Tag) && o.Seen.kept[providerIDPath] != "" &&
		o.Seen.kept[providerIDPath] == v.Get("spec", "providerID").Str()
}

func finalizerFirst(c *change) {
	has := c.cur.Get("metadata", "finalizers").Len() > 0
	if !c.begins() || !has && (c.o.IsDeleting() || len(c.o.Owners) == 0) { // see owner-first
		return
	}
	c.demand(has, []string{"metadata.finalizers", "spec.providerID", "status.initialization", "status.ready"},
		"external resources exist, but the object has no finalizer")
}

func finalizerKept(c *change) {
	// Who uses a claim is gone before garbage collection deletes the claim.
	unused := c.o.Tag == claim && slices.ContainsFunc(c.o.Owners, func(r record.Owner) bool { p := c.Object(r.UID); return !p.Alive() || p.IsDeleting() })
	if c.user || c.gap || unused || c.o.IsDeleting() || !c.PausedSince(c.o).IsZero() || c.driven() {
		return
	}
	lost := c.lostFinalizers()
	if len(lost) == 0 {
		return
	}
	proof := c.o.Proof
	c.even(apart, func(c *change) { // a new name may come in the next write
		renamed := slices.ContainsFunc(record.LostFinalizers(c.o.Cur, c.prev), c.ownFinalizer)
		lost = slices.DeleteFunc(lost, func(f string) bool { return renamed && c.ownFinalizer(f) })
		if len(lost) > 0 {
			c.asOf(proof)
			c.report([]string{"metadata.finalizers"},
				"the finalizer %s was removed, but the object is not being deleted", lost[0])
		}
	})
}

func finalizerRestored(c *change) {
	lost := slices.Clone(c.o.Seen.lost)
	if len(lost) == 0 || c.o.IsDeleting() {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		if !c.PausedSince(c.o).IsZero() || c.o.IsDeleting() || len(c.o.Owners) == 0 {
			return
		}
		back := c.cur.Finalizers()
		still := slices.IndexFunc(lost, func(f string) bool { return !slices.Contains(back, f) })
		c.demand(still < 0, []string{"metadata.finalizers"},
			"the finalizer %s, lost during the pause, is not back %s after it", lost[max(still, 0)], c.opts.Settle)
	})
}

func deletionEnds(c *change) {
	if !c.o.IsDeleting() || !c.once("deleting") {
		return
	}
	c.until(c.opts.Delete, c.opts.Settle, func(c *change) bool {
		switch cl := c.ClusterOf(c.o); {
		case len(c.o.Owners) == 0, // see orphan-deleted
			c.o.Tag == infraMachine && cl != nil && !cl.Cur.InfrastructureReady(): // see deleted-before-cluster
			return false
		}
		return c.stays(c.waits())
	})
}

// stays reports a deleted object that is still there, unless it has a reason to wait, and
// returns whether it has one.
func (c *change) stays(waits bool, paths ...string) bool {
	if !waits {
		c.report(append([]string{"metadata.deletionTimestamp", "metadata.finalizers"}, paths...),
			"deleted at %s, but still there %s later", clock(c.o.Deleting), c.Now.Sub(c.o.Deleting).Round(time.Second))
	}
	return waits
}

// waits reports whether a deleted object has a reason to stay. Secrets and objects without a role
// are no reason, unless these are being deleted too: garbage collection deletes them after it.
func (c *change) waits() bool {
	if !c.runs(c.opts.Settle) || (c.o.Tag == infraCluster || c.o.Tag == controlPlane) &&
		len(c.MembersTagged(c.o.Cluster, machine))+len(c.MembersTagged(c.o.Cluster, infraMachine)) > 0 {
		return true
	}
	return slices.ContainsFunc(c.Children(c.o.UID), func(o *object) bool {
		return o.Tag != secret && (o.Tag != record.ProviderKind || o.IsDeleting())
	})
}

// warn judges an event of the kind Event.
func (j *Judge) warn(e *record.Event) {
	text := e.Object.Get("message").Str() + e.Object.Get("note").Str()
	if !strings.Contains(text, "no new finalizers can be added if the object is being deleted") {
		return
	}
	about := e.Object.Get("involvedObject")
	if !about.Exists() {
		about = e.Object.Get("regarding")
	}
	if o := j.world.Object(about.Get("uid").Str()); o.Alive() {
		refuses := All[slices.IndexFunc(All, func(c *check) bool { return c.ID == "BEH012" })]
		c := j.changeOf(o)
		c.check = refuses
		c.report([]string{"metadata.deletionTimestamp", "metadata.finalizers"},
			"the API server refused a new finalizer, because the object is being deleted")
	}
}

// The bounds of comes-to-rest and no-fight.
const (
	restAfter  = time.Minute
	restWrites = 10
	slowly     = 5 * time.Minute
	mostWrites = 20
	fights     = 3
	ahead      = 30 * time.Minute // of the clock of the server; local times written as UTC are an hour or more ahead
)

func comesToRest(c *change) {
	who, woken := c.o, c.WokenAt(c.o)
	// A BootstrapConfig of a MachinePool renews its token, so neither it nor its Secrets come to rest.
	if p := c.Controller(c.o); c.o.Tag == secret && p.Alive() {
		who = p
	}
	if woken.IsZero() || c.user || c.gap || !c.prev.Exists() || c.o.IsDeleting() ||
		who.Tag == bootstrapRole && who.OwnedBy(machinePool) {
		return
	}
	// Each write of the spec is a cause for others to work, so that nothing ever seems to
	// be at rest.
	if c.prev.Generation() != c.cur.Generation() && c.often(&c.o.Seen.specs, mostWrites, time.Minute) {
		c.report(nil, "more than %d writes of the spec within a minute", mostWrites)
	}
	switch seen := &c.o.Seen; {
	case c.Now.Sub(woken) < restAfter:
		seen.writes, seen.slow = nil, nil
	case c.often(&seen.writes, restWrites, time.Minute):
		c.report(nil, "more than %d writes within a minute, although nothing changed since %s", restWrites, clock(woken))
	case (c.o.Tag == secret || slices.Contains(providerRoles, c.o.Tag) && c.prev.Completed(c.o.Tag)) &&
		c.often(&seen.slow, mostWrites, slowly):
		c.report(nil, "more than %d writes within %g minutes, although nothing changed since %s",
			mostWrites, slowly.Minutes(), clock(woken))
	}
}

// often notes a write, and reports whether more than most came within a time.
func (c *change) often(last *[]time.Time, most int, within time.Duration) bool {
	*last = append(*last, c.Now)
	if len(*last) <= most {
		return false
	}
	first := (*last)[0]
	*last = (*last)[1:]
	return c.Now.Sub(first) < within
}

func noFight(c *change) {
	if c.user || c.gap || !c.prev.Exists() {
		return
	}
	s := &c.o.Seen
	for _, d := range record.Settings(c.prev, c.cur) {
		f := s.flips[d.Path]
		switch {
		case f == nil:
			if len(s.flips) < 100 {
				put(&s.flips, d.Path, &flip{last: d.New.Text(), before: d.Old.Text(), first: c.Now})
			}
			continue
		case f.before != d.New.Text() || c.Now.Sub(f.first) > time.Minute:
			f.count, f.first = 0, c.Now
		default:
			f.count++
		}
		f.before, f.last = d.Old.Text(), d.New.Text()
		most := fights
		if strings.HasPrefix(d.Path, "status.") { // a machine that starts may become ready twice
			most = restWrites
		}
		if f.count == most {
			c.report([]string{strings.TrimSuffix(d.Path, ".status")},
				"%s changes back and forth between %s and %s", d.Path, f.before, f.last)
		}
	}
}

func transitionTime(c *change) {
	if c.user || c.gap || !c.prev.Exists() || c.prev.Get("status", "conditions").Equal(c.cur.Get("status", "conditions")) && !c.cur.Get("status", "v1beta2").Exists() {
		return
	}
	before := c.prev.Conditions()
	for now := range c.cur.Conditions().Items() {
		b := now.Get("lastTransitionTime").Str()
		if at, err := time.Parse(time.RFC3339, b); err == nil && (at.Add(c.skew.Best()).Sub(c.Now) > ahead || at.Year() < 2000) {
			c.report(nil, "lastTransitionTime of %s is %s, which cannot be", now.Get("type").Str(), b)
			return
		}
		for old := range before.Items() {
			kind, was, is := now.Get("type").Str(), old.Get("status").Str(), now.Get("status").Str()
			a := old.Get("lastTransitionTime").Str()
			at, err := time.Parse(time.RFC3339, b)
			switch {
			case old.Get("type").Str() != kind || a == "" || b == "" || (a == b) == (was == is):
				continue
			case was == is:
				c.report(nil, "lastTransitionTime of %s changed from %s to %s, but its status did not", kind, a, b)
			case err != nil || c.made.Sub(at.Add(c.skew.Best())) < lag+apart: // it may change twice within a second
				continue
			default:
				c.report(nil, "the status of %s changed from %s to %s, but lastTransitionTime is still %s", kind, was, is, b)
			}
			return
		}
	}
	c.held()
}

// words are the reasons of conditions (k8s.io/apimachinery pkg/apis/meta/v1, Condition).
var words = phrase.Pattern(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

func conditionComplete(c *change) {
	if c.user || c.prev.Get("status").Equal(c.cur.Get("status")) {
		return
	}
	seen := map[string]bool{}
	for now := range c.cur.Conditions().Items() {
		status, reason := now.Get("status").Str(), now.Get("reason").Str()
		switch kind := now.Get("type").Str(); {
		case kind == "":
			c.report([]string{"status.conditions"}, "a condition has no type")
		case seen[kind]:
			c.report([]string{"status.conditions"}, "the condition %s is listed twice", kind)
		case !words().MatchString(reason) && reason != "":
			c.report([]string{"status.conditions"},
				"the condition %s has the reason %q; it must be one CamelCase word", kind, reason)
		case strings.ContainsAny(kind, " ,:;()"):
			c.report([]string{"status.conditions"}, "the condition %q must have a type of one CamelCase word", kind)
		case status != "True" && status != "False" && status != "Unknown":
			c.report([]string{"status.conditions"}, "the condition %s has the status %q", kind, status)
		case reason == "":
			c.report([]string{"status.conditions"}, "the condition %s has no reason", kind)
		case now.Get("lastTransitionTime").Str() == "":
			c.report([]string{"status.conditions"}, "the condition %s has no lastTransitionTime", kind)
		default:
			seen[kind] = true
			continue
		}
		return
	}
	c.held()
}

func observedGeneration(c *change) {
	if c.user {
		return
	}
	generation := c.cur.Generation()
	if n, ok := c.cur.Get("status", "observedGeneration").Int(); ok && n > generation {
		c.report([]string{"metadata.generation", "status.observedGeneration"},
			"status.observedGeneration is %d, but the generation is %d", n, generation)
		return
	}
	for now := range c.cur.Conditions().Items() {
		if n, ok := now.Get("observedGeneration").Int(); ok && n > generation {
			c.report([]string{"metadata.generation", "status.conditions"},
				"observedGeneration of %s is %d, but the generation is %d", now.Get("type").Str(), n, generation)
			return
		}
	}
	c.held()
}

func generationFollows(c *change) {
	before, _ := c.prev.Get("status", "observedGeneration").Int()
	if now, ok := c.cur.Get("status", "observedGeneration").Int(); ok && now < before && !c.user {
		c.report([]string{"metadata.generation", "status.observedGeneration"},
			"status.observedGeneration went back from %d to %d", before, now)
		return
	}
	for was := range c.prev.Conditions().Items() {
		kind := was.Get("type").Str()
		now, ok := c.cur.Condition(kind).Get("observedGeneration").Int()
		if ok && now < was.Get("observedGeneration").Number() && !c.user {
			c.report([]string{"metadata.generation", "status.conditions[" + kind + "]"},
				"observedGeneration of %s went back to %d", kind, now)
			return
		}
	}
	if !c.prev.Exists() || c.prev.Generation() == c.cur.Generation() ||
		!c.cur.Get("status", "observedGeneration").Exists() {
		return
	}
	want := c.cur.Generation()
	c.later(2*c.opts.Settle, func(c *change) {
		got, ok := c.cur.Get("status", "observedGeneration").Int()
		if !ok || c.o.IsDeleting() || !c.runs(2*c.opts.Settle+apart) ||
			len(c.o.Owners) == 0 || c.cur.Annotated(managedAnnotation) {
			return
		}
		c.demand(got >= want, []string{"metadata.generation", "status.observedGeneration"},
			"status.observedGeneration is %d, %s after generation %d", got, 2*c.opts.Settle, want)
	})
}

func readyStays(c *change) { c.conditionStays("Ready") }

func (c *change) conditionStays(kind string) {
	if !c.user && !c.wiped && c.prev.Condition(kind).Exists() {
		c.demand(c.cur.Condition(kind).Exists(), []string{"status.conditions[" + kind + "]"},
			"the condition %s disappeared", kind)
	}
}

func ownerFirst(c *change) {
	begins := c.begins()
	if c.o.Tag == bootstrapRole {
		begins = c.first(record.Value.DataCreated)
	}
	owned := len(c.o.Owners) > 0
	if !begins || !owned && !c.o.Seen.wiped.IsZero() {
		return
	}
	c.demand(owned, []string{"metadata.ownerReferences", "spec.providerID", "status.initialization", "status.ready"},
		"the controller acted although the object has no owner")
}

func ownerKept(c *change) {
	if c.user || c.gap || !c.prev.Exists() || c.o.IsDeleting() || !c.PausedSince(c.o).IsZero() {
		return
	}
	old := record.OwnersOf(c.prev)
	before, now := record.ControllerOf(old), record.ControllerOf(c.o.Owners)
	if lost := c.lostOwner(old); lost.UID != "" && lost.UID != before.UID && !c.driven() {
		c.report([]string{"metadata.ownerReferences"}, "the owner reference to %s %s disappeared", lost.Kind, lost.Name)
		return
	}
	adopted := now.UID != "" && c.o.Tag == secret // a ControlPlane adopts those of the first bootstrap
	if before.UID == "" || before.UID == now.UID || adopted || c.driven() {
		return
	}
	paths := []string{"metadata.ownerReferences"}
	switch p := c.Object(before.UID); {
	case now.UID != "":
		c.report(paths, "the controlling owner changed from %s %s to %s %s", before.Kind, before.Name, now.Kind, now.Name)
	case p.Alive() && !p.IsDeleting():
		c.report(paths, "the owner reference to %s %s disappeared", before.Kind, before.Name)
	}
}

// lostOwner is the owner that core gave the object, if it still exists and the reference to it
// does not. Core does not control InfraClusters and ControlPlanes.
func (c *change) lostOwner(old []record.Owner) record.Owner {
	for _, r := range old {
		if p := c.Object(r.UID); p.Alive() && !p.IsDeleting() && slices.Contains(coreOwners[c.o.Tag], p.Tag) &&
			!slices.ContainsFunc(c.o.Owners, func(now record.Owner) bool { return now.UID == r.UID }) {
			return r
		}
	}
	return record.Owner{}
}

// coreOwners are the kinds of the owners that core gives to objects of a role.
var coreOwners = map[string][]string{
	infraCluster: {cluster}, controlPlane: {cluster}, infraMachine: {machine}, infraPool: {machinePool}, bootstrapRole: {machine, machinePool},
}

func ownerChain(c *change) {
	own := func(r record.Owner) bool { return r.UID == c.o.UID }
	if slices.ContainsFunc(c.o.Owners, own) && !slices.ContainsFunc(record.OwnersOf(c.prev), own) && !c.user {
		c.report([]string{"metadata.ownerReferences"},
			"the object is its own owner, so garbage collection never deletes it")
		return
	}
	if c.prev.Exists() || !c.o.Seen.watched || c.o.Seen.byUser || c.o.Label(clusterLabel) == "" ||
		c.o.Tag == secret && (c.cur.Get("type").Str() != secretType || len(c.o.Writers) == 0) {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		chained := len(c.o.Owners) > 0 || c.cur.Get("metadata", "labels", moveLabel).Exists()
		if !chained && (c.o.IsDeleting() || c.ClusterOf(c.o) == nil || !c.o.Seen.wiped.IsZero() ||
			!c.runs(c.opts.Settle)) {
			return
		}
		c.demand(chained, []string{"metadata.labels", "metadata.ownerReferences"},
			"the object belongs to Cluster %s, but has no owner reference %s after it was created", c.o.Label(clusterLabel), c.opts.Settle)
	})
}

// ownerOlder remembers the versions before the change, as at the beginning of a pause, if the owner has them.
func ownerOlder(c *change) {
	if c.user || c.gap || !c.prev.Exists() || !c.PausedSince(c.o).IsZero() {
		return
	}
	c.o.Seen.owners = map[string]string{}
	for _, r := range record.OwnersOf(c.prev) {
		if p := c.Object(r.UID); p.Alive() && p.Get("apiVersion").Str() == r.APIVersion {
			c.o.Seen.owners[r.UID] = r.APIVersion
		}
	}
	ownerVersion(c)
}

func ownerVersion(c *change) {
	older := map[string]bool{}
	for _, r := range c.o.Owners {
		before := c.o.Seen.owners[r.UID]
		_, was, _ := strings.Cut(before, "/")
		_, is, _ := strings.Cut(r.APIVersion, "/")
		if before != "" && contract.CompareVersions(is, was) < 0 {
			older[r.UID+" "+r.APIVersion] = true
		}
	}
	if len(older) == 0 {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		if !c.PausedSince(c.o).IsZero() || c.o.IsDeleting() {
			return
		}
		for _, r := range c.o.Owners {
			if older[r.UID+" "+r.APIVersion] {
				c.report([]string{"metadata.ownerReferences"},
					"the owner reference to %s %s still has the version %s, %s after it became older",
					r.Kind, r.Name, r.APIVersion, c.opts.Settle)
				return
			}
		}
		c.held()
	})
}

func restartQuiet(c *change) {
	if c.Restarted.IsZero() || c.user || c.gap || !c.prev.Exists() || c.o.IsDeleting() {
		return
	}
	at, woken := c.Restarted, c.WokenAt(c.o)
	rest := at.Add(-c.opts.Settle)
	if c.Now.Sub(at) > c.opts.Settle || woken.IsZero() || woken.After(rest) || c.old.At.After(rest) {
		return
	}
	done := slices.DeleteFunc(record.Work(c.prev, c.cur), func(s string) bool { return strings.Contains(s, "onditions") })
	if !c.prev.Get("metadata", "finalizers").Equal(c.cur.Get("metadata", "finalizers")) {
		done = append(done, "metadata.finalizers: ")
	}
	if len(done) == 0 {
		c.held()
		return
	}
	c.report(nil, "%s changed %s after the controller restarted, although nothing else happened",
		fewChanges(done), c.Now.Sub(at).Round(100*time.Millisecond))
}

func statusRebuilt(c *change) {
	if c.wiped && c.PausedSince(c.o).IsZero() {
		c.rebuilt(c.prev.Identity(c.o.Tag))
	}
}

func statusResumed(c *change) {
	if c.o.Seen.wiped.IsZero() || c.o.Seen.before == nil {
		return
	}
	before := c.o.Seen.before
	c.o.Seen.before = nil
	c.rebuilt(before)
}

func (c *change) rebuilt(before map[string]string) {
	if before["initialized"] == "" || c.o.IsDeleting() {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		if !c.PausedSince(c.o).IsZero() || c.o.IsDeleting() || len(c.o.Owners) == 0 {
			return
		}
		now := c.cur.Identity(c.o.Tag)
		for _, path := range slices.Concat([]string{"initialized"}, record.Identities, []string{"status.addresses"}) {
			was, is := before[path], now[path]
			if was == is || was == "" {
				continue
			}
			if path == "initialized" {
				c.report([]string{"status"},
					"the wiped status does not report the initialization again %s later", c.opts.Settle)
			} else {
				c.report([]string{path}, "%s was %s before the status was wiped and is %q after it", path, was, is)
			}
			return
		}
		c.held()
	})
}

func blockMoveRemoved(c *change) {
	since := c.PausedSince(c.o)
	if c.user || since.IsZero() || !c.cur.Annotated(blockMove) || c.prev.Annotated(blockMove) {
		return
	}
	c.later(4*c.opts.Settle, func(c *change) {
		if !c.PausedSince(c.o).Equal(since) {
			return
		}
		c.demand(!c.cur.Annotated(blockMove), []string{"metadata.annotations"},
			"the annotation %s is still there during the pause %s later", blockMove, 4*c.opts.Settle)
	})
}

func pausedFalsely(c *change) {
	if c.user || !c.prev.Exists() || c.prev.Paused() || !c.cur.Paused() || !c.PausedSince(c.o).IsZero() {
		return
	}
	c.later(c.opts.Settle, func(c *change) {
		if c.ClusterOf(c.o) != nil && c.runs(2*c.opts.Settle) && c.o.Seen.wiped.IsZero() {
			c.demand(!c.cur.Paused(), []string{"status.conditions[Paused]"},
				"the condition Paused has been True for %s, but nothing is paused", c.opts.Settle)
		}
	})
}

func editsKept(c *change) {
	if !c.prev.Exists() || c.gap {
		return
	}
	for _, d := range record.OfUsers(c.prev, c.cur) {
		before, edited := c.o.Seen.edits[d.Path]
		switch {
		case c.user:
			put(&c.o.Seen.edits, d.Path, d)
			continue
		case edited && d.Old.Equal(before.New) && d.New.Equal(before.Old) && c.Ours(c.o, c.wrote...):
			c.report(nil, "%s is %s again; a user had set it to %s", d.Path, d.New.Text(), d.Old.Text())
		}
		delete(c.o.Seen.edits, d.Path)
	}
}

func noLeak(c *change) {
	p := c.Controller(c.o)
	if c.prev.Exists() || !c.o.Seen.watched || c.o.Seen.byUser || !p.Alive() ||
		p.Tag == infraPool && c.o.Tag != secret || !slices.Contains(providerRoles, p.Tag) {
		return
	}
	if c.often(&p.Seen.births, mostWrites, slowly) {
		c.reportOn(p, []string{"metadata.name"}, "more than %d objects were created for it within %g minutes, the last one is %s", mostWrites, slowly.Minutes(), c.o)
	}
}

func bornLate(c *change) {
	if c.prev.Exists() || !c.o.Seen.watched || c.o.Seen.byUser || c.user {
		return
	}
	born, err := time.Parse(time.RFC3339, c.cur.Get("metadata", "creationTimestamp").Str())
	if err != nil {
		return
	}
	for _, r := range c.o.Owners {
		p := c.Object(r.UID)
		if !p.Alive() || !slices.Contains([]string{controlPlane, infraPool, infraMachine, claim}, p.Tag) {
			continue
		}
		deleted, err := time.Parse(time.RFC3339, p.Get("metadata", "deletionTimestamp").Str())
		paths := []string{"metadata.creationTimestamp", "metadata.ownerReferences"}
		c.demand(err != nil || born.Sub(deleted) <= c.opts.Pause, paths,
			"created %s after %s was deleted", born.Sub(deleted), p)
	}
}

func statusTypes(c *change) {
	if c.user || c.prev.Get("status").Equal(c.cur.Get("status")) && c.prev.Get("spec").Equal(c.cur.Get("spec")) {
		return
	}
	path, want := c.cur.Mistyped(c.o.Tag)
	c.demand(path == "", []string{path}, "%s is %s; want type %s", path, c.cur.At(path).Text(), want)
}

func clusterLabelFixed(c *change) {
	before, now := c.prev.Label(clusterLabel), c.o.Label(clusterLabel)
	for _, r := range c.o.Owners {
		if p := c.Object(r.UID); p.Alive() && before == "" && now != "" &&
			p.Label(clusterLabel) != "" && p.Label(clusterLabel) != now && !c.user {
			c.report([]string{"metadata.labels"},
				"the label %s is %q, but the owner %s has %q", clusterLabel, now, p, p.Label(clusterLabel))
			return
		}
	}
	labelled := now == "" && (c.planeOf(c.o) != nil || c.poolOf(c.o) != nil) // see the labels of their Machines
	if before == "" || before == now || labelled || c.user || c.driven() || c.o.IsDeleting() ||
		!c.PausedSince(c.o).IsZero() {
		return
	}
	c.report([]string{"metadata.labels"}, "the label %s changed from %q to %q", clusterLabel, before, now)
}

func readyInitialized(c *change) {
	lacks := func(v record.Value) bool {
		return v.Condition("Ready").Get("status").Str() == "True" && !v.Completed(c.o.Tag)
	}
	if c.cur.Completed(c.o.Tag) {
		c.once("initialized")
	}
	if c.user || !lacks(c.cur) || c.o.Seen.had["initialized"] { // see those that stay initialized
		return
	}
	c.rests(func(c *change) {
		if len(c.o.Owners) > 0 && c.o.Seen.wiped.IsZero() && !c.cur.Annotated(managedAnnotation) && lacks(c.cur) {
			c.report([]string{"status.conditions[Ready]", "status.initialization"},
				"the condition Ready is True, but the initialization is not reported %s later", c.opts.Settle)
		}
	})
}
