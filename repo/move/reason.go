package move

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// marks says where a label is, in the words of a sentence.
func marks(label string, m mark) string {
	switch m {
	case onObject:
		return "it carries the label " + label
	case onType:
		return "the definition of its kind carries the label " + label
	}
	return "clusterctl moves every object of its kind with everything that it owns"
}

// Reason says in a sentence without a full stop why the verdict is what it is.
func (n *Node) Reason() string {
	switch n.Cause {
	case root:
		return marks(HierarchyLabel, n.Hierarchy)
	case marked:
		return marks(MoveLabel, n.Move)
	case ownedCause:
		return fmt.Sprintf("it moves with its owner %s: %s", n.By.From, n.By.Why)
	case Unowned:
		return "nothing refers to it, so no controller sets an owner"
	case NotOwned:
		return fmt.Sprintf("%s refers to it in %s, but no controller sets an owner: %s", n.By.By, n.By.Field, n.By.Why)
	case ReferrerLeft:
		if n.By.by() == n {
			return fmt.Sprintf("only %s could be its owner, and that stays behind too", n.By.From)
		}
		return fmt.Sprintf("only %s refers to it, and that stays behind too", n.By.by())
	case OwnerLeft:
		if n.By.From.Absent {
			return n.By.points()
		}
		if !n.By.Written {
			return fmt.Sprintf("its owner %s is not moved: %s", n.By.From, n.By.From.short())
		}
		return fmt.Sprintf("%s, which is not moved: %s", n.By.points(), n.By.From.short())
	case OwnerAlone:
		return fmt.Sprintf("its owner %s has the label %s, which moves it alone", n.By.From, MoveLabel)
	case Cycle:
		return fmt.Sprintf("it waits for its owner %s, which waits for it", n.By.From)
	case NotDiscovered:
		if n.unlisted != "" {
			return n.unlisted
		}
		return "clusterctl only moves Secrets, ConfigMaps and the kinds of providers"
	case notThere:
		return "it does not exist"
	case noOwner:
		return "it has neither an owner nor a label that moves it"
	case namedBy:
		where := "it has neither an owner nor a label that moves it"
		switch n.Scope {
		case Elsewhere:
			where = "it is not in the namespace that is moved"
		case Ignored:
			where = cmp.Or(n.unlisted, where)
		}
		return fmt.Sprintf("%s needs it (%s), but %s", n.By.By, n.By.Field, where)
	case otherNamespace:
		return "it is not in the namespace that is moved"
	case mayBeOwned:
		if n.By.From.Missing {
			return n.By.points()
		}
		if n.By.Link != MayOwn {
			return fmt.Sprintf("it is not clear what becomes of its owner %s: %s", n.By.From, n.By.From.short())
		}
		return fmt.Sprintf("%s may become its owner because of %s: %s", n.By.From, n.By.place(), n.By.Why)
	}
	if n.data() {
		return "clusterctl also lists the Secrets in the namespaces of infrastructure providers, " +
			"and the dump holds no provider of its inventory"
	}
	return "the definition of its kind is not in the input, or without the versions; " +
		"clusterctl only lists the objects if it carries the label " + clusterctlLabel
}

// Why kinds are left out: clusterctl did not install them, or cannot list them.
const (
	unlabelled = "the definition of its kind does not carry the label " + clusterctlLabel +
		", by which clusterctl finds kinds, so that labels and owners of the object do not count"
	unserved = "the definition of its kind does not serve the version in which objects are stored, " +
		"in which clusterctl lists them, so that it finds none"
)

// short is a reason that names no other object, for use in another reason.
func (n *Node) short() string {
	switch n.Cause {
	case OwnerLeft, OwnerAlone, ReferrerLeft, NotOwned:
		return "it stays behind too"
	case mayBeOwned:
		return "its own owners are not known"
	case Cycle:
		return "it is its own owner"
	}
	return n.Reason()
}

// by is the object that made an edge, or else where it comes from.
func (e *Edge) by() *Node {
	if e.By != nil {
		return e.By
	}
	return e.From
}

// points says where an edge leads: to an owner, and by which ownerReference.
func (e *Edge) points() string {
	what := e.From.String()
	switch {
	case e.From.Missing && e.From.Namesake:
		what += ", and the input does not hold the UIDs by which clusterctl knows owners"
	case e.From.Missing:
		what += ", and the input holds no object of that kind"
	case e.From.Namesake:
		what += ", but with a UID that the " + e.From.Kind + " of that name does not have"
	case e.From.Absent && e.From.Scope == Ignored:
		what += ", and clusterctl does not list objects of that kind"
	case e.From.Absent:
		what += ", which does not exist"
	}
	if k, ok := strings.CutPrefix(e.Field, "metadata.ownerReferences."); ok {
		if i, err := strconv.Atoi(k); err == nil {
			return fmt.Sprintf("ownerReference %d points to %s", i+1, what)
		}
	}
	return "its owner is " + what
}

// fix says what to do about an owner that keeps an object from being moved.
func (e *Edge) fix() string {
	owner := e.From
	switch {
	case owner.Namesake:
		return fmt.Sprintf("set the UID of %s, or remove the ownerReference", owner)
	case owner.unlisted == unlabelled:
		return fmt.Sprintf("give the definition of %s the label %s, or remove the ownerReference", owner.Kind, clusterctlLabel)
	case owner.Absent, owner.Scope == Ignored, owner.Scope == Elsewhere:
		return "remove the ownerReference to " + owner.String()
	}
	return ""
}

// clusterctlLabel is what clusterctl finds definitions by.
const clusterctlLabel = "clusterctl.cluster.x-k8s.io"

// Fix says in a sentence without a full stop what to change so that the object is
// moved. It is empty if there is nothing to change here, such as for an object
// that only waits for its owner.
func (n *Node) Fix() string {
	switch n.Cause {
	case Unowned, noOwner, NotOwned, ReferrerLeft:
		if n.Global {
			return fmt.Sprintf("give it or the definition of its kind the label %s, or create it in the target by hand",
				MoveLabel)
		}
		return fmt.Sprintf("give it the label %s, or an owner that is moved", MoveLabel)
	case OwnerLeft:
		if fix := n.By.fix(); fix != "" {
			return fix
		}
		if n.By.From.Cause == OwnerLeft || n.By.From.Cause == Cycle {
			return "" // its owner has the advice
		}
		return fmt.Sprintf("make %s move too (%s), or remove the ownerReference", n.By.From, n.By.From.Fix())
	case OwnerAlone:
		return fmt.Sprintf("use the label %s instead", HierarchyLabel)
	case Cycle:
		return "remove one of the ownerReferences of the cycle"
	case namedBy:
		if n.Scope == Elsewhere {
			return fmt.Sprintf("create it in namespace %s of the target before the move", n.Namespace)
		}
		if n.unlisted == unlabelled {
			return fmt.Sprintf("create it in the target before the move, or "+
				"give the definition of %s the label %s, and the object the label %s", n.Kind, clusterctlLabel, MoveLabel)
		}
		return fmt.Sprintf("give it the label %s, or create it in the target before the move", MoveLabel)
	case NotDiscovered:
		if n.ofKubernetes() {
			return "create it in the target by other means"
		}
		if n.unlisted == unserved {
			return "serve that version of " + n.Kind + " until the move is done"
		}
		fix := fmt.Sprintf("give the definition of %s the label %s, as clusterctl init does", n.Kind, clusterctlLabel)
		owned := n.first(func(e *Edge) bool { return e.Link == Owner }) != nil
		if n.Object == nil && n.Move == Unmarked && n.Hierarchy == Unmarked && !owned {
			fix += ", and the object the label " + MoveLabel
		}
		return fix
	case mayBeOwned:
		switch from := n.By.From; {
		case from.Missing && from.Namesake:
			return "use the output of kubectl get as it is, with every metadata.uid"
		case from.Missing:
			if from.ofKubernetes() {
				return fmt.Sprintf("add the objects of kind %s to the dump", from.Kind)
			}
			return fmt.Sprintf("add the objects of kind %s.%s and its definition to the dump", from.Kind, from.Group)
		}
	case mayBeIgnored:
		if n.data() {
			return "add the objects of kind providers.clusterctl.cluster.x-k8s.io to the dump"
		}
		return "name the release that defines " + n.Kind + " with --with, or a dump of the definitions (kubectl get crd)"
	}
	return ""
}

// Path names the owners from the root of a move to the object, or for an object
// that is not moved from the first one that is not to the object.
func (n *Node) Path() []*Node {
	path := []*Node{n}
	for e := n.By; e != nil && len(path) < longestPath; e = n.By {
		switch n.Cause {
		case ownedCause, OwnerLeft, OwnerAlone, mayBeOwned:
		default:
			e = nil
		}
		if e == nil || e.From == path[0] {
			break
		}
		n = e.From
		path = append(path, n)
	}
	slices.Reverse(path)
	return path
}

// longestPath is more than any real chain of owners.
const longestPath = 100
