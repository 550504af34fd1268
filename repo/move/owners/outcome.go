package owners

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
)

// aftermath is what a failure leaves behind, in sentences without a full stop.
type aftermath struct {
	// When is the step in words.
	When string
	// Source and Target are the states of the two management clusters.
	Source, Target string
	// Recover are the steps that lead out of it, in their order.
	Recover []string
}

const (
	recoverResume = "resume the Clusters and ClusterClasses in the source, because clusterctl does not start while one of them is paused"
	recoverKeep   = "keep what is in the target, where all Clusters are paused: the next run updates it"
	recoverRepeat = "fix the cause and run the move again"
	recoverLeft   = "bring what was left behind to the target, or resume it in the source"
)

// restored is what the texts above become in a restore from a directory, which asks no source and
// skips what exists (clusterctl: client/cluster/mover.go, fromDirectory and
// restoreTargetObject).
var restored = map[string]string{
	recoverResume: "",
	recoverKeep:   "keep what is in the target, where all Clusters are paused: the next run skips it and creates the rest",
	recoverRepeat: "fix the cause and restore again",
	recoverLeft:   "bring what was left behind to the target",
}

// aftermaths of the steps (clusterctl: client/cluster/mover.go, move).
var aftermaths = map[Step]aftermath{
	Ready: {
		When:   "while clusterctl waits for objects to become ready, for about two minutes each",
		Source: "complete, but every Cluster and ClusterClass of the move stays paused", Target: "unchanged",
		Recover: []string{recoverResume, recoverRepeat},
	},
	Create: {
		When:   "while clusterctl creates objects in the target",
		Source: "complete, but every Cluster and ClusterClass of the move stays paused", Target: "holds the objects that were created before and in the same step, with paused Clusters",
		Recover: []string{recoverKeep, recoverResume, recoverRepeat},
	},
	deletion: {
		When:   "while clusterctl deletes objects in the source",
		Source: "holds what is not deleted yet, with paused Clusters", Target: "complete, but every Cluster and ClusterClass stays paused",
		Recover: []string{"do not resume anything in the source", "delete the rest of the objects in the source, finalizers first, owners last", "resume the ClusterClasses and Clusters in the target"},
	},
	ResumeClasses: {
		When:   "at the very end, when clusterctl resumes the ClusterClasses in the target",
		Source: "everything that moves is already deleted; what is left behind stays, with paused Clusters and ClusterClasses", Target: "holds all that moves, but every Cluster and some ClusterClasses stay paused",
		Recover: []string{"resume the ClusterClasses and Clusters in the target by hand", recoverLeft},
	},
	Resume: {
		When:   "at the very end, when clusterctl resumes the Clusters in the target, in any order",
		Source: "everything that moves is already deleted; what is left behind stays, with paused Clusters", Target: "holds all that moves, but healthy Clusters may stay paused",
		Recover: []string{"resume the Clusters in the target by hand", recoverLeft},
	},
	After: {
		When:   "after the move, without an error",
		Source: "everything that moves is deleted", Target: "complete and resumed",
		Recover: []string{"correct the objects in the target"},
	},
}

// Aftermath says what a failure in a step leaves behind, which is nothing in those before
// the move begins.
func (p *Plan) Aftermath(s Step) aftermath {
	a := aftermaths[s]
	if p.Restore && a.When != "" {
		a.Source = "not touched"
		var list []string
		for _, text := range a.Recover {
			if other, ok := restored[text]; ok {
				text = other
			}
			if text != "" {
				list = append(list, text)
			}
		}
		a.Recover = list
	}
	return a
}

var stepNames = [...]string{"contract", "providers", "discovery", "provisioning", "pause", "pause-classes", "ready", "create", "delete", "resume-classes", "resume", "after"}

// String returns a word for JSON.
func (s Step) String() string { return stepNames[s] }

// Words are all steps; see report.Document.
func (Step) Words() []string { return stepNames[:] }

// MarshalText writes the word.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Outcome is the worst that a plan foresees.
type Outcome uint8

// The outcomes, from good to bad.
const (
	// Safe: everything moves.
	Safe Outcome = iota
	// Unsure: nothing is known to be lost, but not everything is known.
	Unsure
	// Refuses: clusterctl does not begin, and changes nothing.
	Refuses
	// loses: the move succeeds, and objects are lost or left behind.
	loses
	// hurts: the move succeeds and does harm in the target.
	hurts
	// Fails: the move begins, and stops with an error.
	Fails
)

var outcomeNames = [...]string{"safe", "unclear", "refused", "loses", "hurts", "fails"}

// String returns a word for JSON.
func (o Outcome) String() string { return outcomeNames[o] }

// Outcome returns the worst that the plan foresees: what clusterctl refuses does
// not get as far as the rest.
func (p *Plan) Outcome() Outcome {
	certain := func(r Fault) bool { return !r.Sometimes }
	switch {
	case slices.ContainsFunc(p.Refusals, certain):
		return Refuses
	case slices.ContainsFunc(p.Failures, func(f Fault) bool { return !f.Hurts() }):
		return Fails
	case len(p.Failures) > 0:
		return hurts
	case slices.ContainsFunc(p.Nodes, func(n *Node) bool { return n.Lost }):
		return loses
	case len(p.Refusals) > 0:
		return Refuses
	case !p.Certain():
		return Unsure
	}
	return Safe
}

// Harms reports whether something is lost, clusterctl would not begin, or would
// fail or do harm.
func (p *Plan) Harms() bool {
	return len(p.Refusals)+len(p.Failures) > 0 || slices.ContainsFunc(p.Nodes, func(n *Node) bool { return n.Lost })
}

func (b *planner) failure(step Step, n *Node, fix, format string, args ...any) {
	b.Failures = append(b.Failures, Fault{Step: step, Node: n, Reason: fmt.Sprintf(format, args...), Fix: fix})
}

func (b *planner) note(step Step, n *Node, fix, format string, args ...any) {
	b.Notes = append(b.Notes, Fault{Step: step, Node: n, Reason: fmt.Sprintf(format, args...), Fix: fix})
}

// resumed reports that clusterctl tries to resume an object in the target, if its kind
// is resumed, although the object stays behind for a reason.
func (b *planner) resumed(f Fault) {
	step, ok := map[string]Step{"Cluster": Resume, "ClusterClass": ResumeClasses}[f.Node.Kind]
	if ok && f.Node.Group == coreGroup {
		f.Step, f.Reason = step, "it stays behind, and clusterctl fails when it tries to resume it in the target: "+f.Reason
		b.Failures = append(b.Failures, f)
	}
}

// fail finds what goes wrong once clusterctl has begun, as far as it does not need
// the target.
func (b *planner) fail() {
	for i, n := range b.nodes {
		if n == nil {
			continue
		}
		if n.BlockMove && n.Wanted && !b.Restore {
			b.failure(Ready, n, "wait until its controller removes the annotation, or find out why it does not",
				"the annotation %s blocks the move", BlockMoveAnnotation)
		}
		moved := n.Verdict.moves()
		if moved && b.s.Objects[i].Has(snapshot.Deleting) && !b.Restore {
			b.failure(After, n, "wait until it is gone before the move, or delete it again in the target",
				"it is being deleted, but its copy in the target is not: the controller there keeps it and reconciles it again")
		}
		if n.movable() && !moved && n.Verdict != Unclear {
			b.resumed(Fault{Node: n, Reason: n.Reason(), Fix: cmp.Or(n.Fix(), "see its owner")})
		}
	}
	observed(b, func(n *Node, _ *snapshot.Object, c *snapshot.Cluster) {
		if len(c.Busy) > 0 && !b.Restore {
			b.note(Provisioning, n, "wait until the condition is False",
				"its machines are changing (%s is True); the move interrupts that", strings.Join(c.Busy, ", "))
		}
	})
}
