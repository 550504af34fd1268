package owners

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
)

// named finds the Secrets and ConfigMaps that stay behind although an object that
// is moved names them.
func (b *planner) named() {
	needles := map[uint64][]int32{}
	for i := range b.s.Objects {
		o := &b.s.Objects[i]
		if !idOf(o).data() {
			continue
		}
		if n := b.nodes[i]; n == nil || n.Verdict == Left && !n.Lost {
			key := snapshot.Key(o.Name)
			needles[key] = append(needles[key], int32(i))
		}
	}
	if len(needles) == 0 {
		return
	}
	for i, n := range b.nodes {
		if n == nil || n.Verdict != Moves && n.Verdict != Copied {
			continue
		}
		for _, name := range b.s.Objects[i].Names {
			found := needles[name.Key()]
			if len(found) == 0 {
				continue
			}
			field := b.s.Field(name)
			for _, k := range found {
				b.needs(n, &b.s.Objects[k], k, field)
			}
		}
	}
}

// needs settles that an object that stays behind is named by one that is moved.
func (b *planner) needs(by *Node, o *snapshot.Object, i int32, f snapshot.Field) {
	switch {
	case f.Kind != "" && f.Kind != o.Kind:
		return
	case f.Namespace != "" && f.Namespace != o.Namespace:
		return
	case f.Namespace == "" && by.Namespace != "" && by.Namespace != o.Namespace:
		return
	case f.Namespace == "" && by.Namespace == "" && !b.infra[o.Namespace]:
		return // of a global object without a namespace: that of its provider
	case !f.Reference && !by.foreign() && !(by.Kind == "Cluster" && strings.HasPrefix(f.Path, "spec.topology.")):
		return // but patches of a class may make a reference of any variable
	}
	n := b.nodes[i]
	if n == nil {
		n, _ = b.Add(b.node(o))
		if n.Scope != Ignored {
			n.Scope = Elsewhere
		}
		b.nodes[i] = n
		b.Elsewhere--
	}
	if n.Lost || n.Verdict == Unclear && !f.Reference {
		return
	}
	e := &Edge{From: by, To: n, Link: reference, By: by, Field: f.Path, Why: "it names the object"}
	b.Link(e)
	n.Cause, n.By = namedBy, e
	n.Verdict, n.Lost = Left, true
	if !f.Reference {
		n.Verdict, n.Lost, n.Cause = Unclear, false, mayBeNamed
	}
}
