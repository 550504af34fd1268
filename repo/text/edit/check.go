package edit

import (
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// same fails unless two texts mean the same: every value of the one is at the same
// place in the other, but for scalars that changed accepts. It is the one meaning of
// "nothing else was changed". A nil node is a document that holds nothing. The path
// leads to the two nodes.
func same(path yamldoc.Path, want, got *yamldoc.Node, changed func(want, got *yamldoc.Node) bool) error {
	other := func(path yamldoc.Path) error {
		where := "another value"
		if len(path) > 0 {
			where = path.String()
		}
		return fmt.Errorf("the edit would also change %s, for example through an anchor, an alias or a merge key; change it by hand", where)
	}
	below := func(name string) yamldoc.Path { return append(path[:len(path):len(path)], name) }
	switch {
	case want == nil || got == nil:
		if want != got {
			return other(path)
		}
	case want.Kind != got.Kind && (want.Kind >= yamldoc.Map || got.Kind >= yamldoc.Map):
		return other(path)
	case want.Kind == yamldoc.Map:
		for i, f := range want.Fields() {
			if i >= len(got.Fields()) || got.Fields()[i].Name != f.Name || got.Fields()[i].Merged != f.Merged {
				return other(below(f.Name))
			}
			if err := same(below(f.Name), f.Value, got.Fields()[i].Value, changed); err != nil {
				return err
			}
		}
		if more := got.Fields()[len(want.Fields()):]; len(more) > 0 {
			return other(below(more[0].Name))
		}
	case want.Kind == yamldoc.List:
		if len(want.List()) != len(got.List()) {
			return other(path)
		}
		for i, item := range want.List() {
			if err := same(below(fmt.Sprint(i)), item, got.List()[i], changed); err != nil {
				return err
			}
		}
	case want.Kind != got.Kind || want.Text() != got.Text():
		if changed == nil || !changed(want, got) {
			return other(path)
		}
	}
	return nil
}

// Scalar is what a text means as the value of a key; nil if it cannot be one.
// Variables have no values yet.
func Scalar(text string) *yamldoc.Node {
	if s := yamldoc.Parse(yamldoc.NewFile("", mask("v: "+text+"\n"))); len(s.Docs) == 1 &&
		s.Docs[0].Err == nil && len(s.Docs[0].Root.Fields()) == 1 {
		return s.Docs[0].Root.Get("v")
	}
	return nil
}
