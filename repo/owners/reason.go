package owners

import "fmt"

// marks says where a label is, in the words of a sentence.
func marks(label string, m Mark) string {
	switch m {
	case OnObject:
		return "it carries the label " + label
	case OnType:
		return "the definition of its kind carries the label " + label
	}
	return "clusterctl moves every object of its kind with all that it owns"
}

// Reason says in a sentence without a full stop why the verdict is what it is.
func (n *Node) Reason() string {
	switch n.Cause {
	case Root:
		return marks(HierarchyLabel, n.Hierarchy)
	case Marked:
		return marks(MoveLabel, n.Move)
	case Owned:
		return fmt.Sprintf("its owner %s takes it along: %s", n.By.From, n.By.Why)
	case Unowned:
		return "nothing names it, so no controller sets an owner"
	case NotOwned:
		return fmt.Sprintf("%s names it in %s, but no controller makes an owner of that: %s", n.By.By, n.By.Field, n.By.Why)
	case ReferrerLeft:
		return fmt.Sprintf("only %s names it, which stays behind itself", n.By.by())
	case OwnerLeft:
		if n.By.From.Absent {
			return fmt.Sprintf("its owner %s is not there", n.By.From)
		}
		return fmt.Sprintf("its owner %s is not moved: %s", n.By.From, n.By.From.short())
	case OwnerAlone:
		return fmt.Sprintf("its owner %s has the label %s, which moves it alone", n.By.From, MoveLabel)
	case Cycle:
		return fmt.Sprintf("it waits for its owner %s, which waits for it", n.By.From)
	case NotDiscovered:
		return "clusterctl looks only at Secrets, ConfigMaps and the kinds of providers"
	case NotThere:
		return "it is not there"
	case MayBeOwned:
		if n.By.Link != MayOwn {
			return fmt.Sprintf("it is not clear what becomes of its owner %s", n.By.From)
		}
		return fmt.Sprintf("%s may become its owner because of %s: %s", n.By.From, n.By.place(), n.By.Why)
	}
	return "the definition of its kind is not at hand; it may carry a label"
}

// short is a reason that names no other object, for use in another reason.
func (n *Node) short() string {
	switch n.Cause {
	case OwnerLeft, OwnerAlone, ReferrerLeft, NotOwned:
		return "it stays behind too"
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
