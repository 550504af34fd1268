package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/tree"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// lineOf is the line of an error, or 0.
func lineOf(err error) int {
	var at *tree.Error
	if errors.As(err, &at) {
		return at.Line
	}
	var y *yamldoc.Error
	if errors.As(err, &y) {
		return y.Pos.Line
	}
	return 0
}

// mentions reports whether a text that cannot be read seems to hold an object of
// an old version.
func mentions(text string, c *table.Contract) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "- ")
		if value, ok := strings.CutPrefix(line, "apiVersion:"); ok {
			group, version, _ := strings.Cut(strings.Trim(strings.TrimSpace(value), `"'`), "/")
			for _, k := range c.Kinds {
				if k.Group == group && slices.Contains(k.From, version) {
					return true
				}
			}
		}
	}
	return false
}

// sound fails unless the tree is what the YAML parser reads.
func sound(text string, d *tree.Document) error {
	if d.String() != text {
		return errors.New("it would not be written as it was read")
	}
	s := yamldoc.Parse(yamldoc.NewFile("", []byte(tree.Mask(text))))
	switch {
	case s.Err != nil:
		return s.Err.Err
	case len(s.Docs) == 0 && d.Root == nil:
		return nil
	case len(s.Docs) != 1:
		return errors.New("it is not one document")
	case s.Docs[0].Err != nil:
		return s.Docs[0].Err.Err
	case d.Anchors:
		return nil // not edited
	}
	return equal(d.Root, s.Docs[0].Root)
}

// equal compares the shape of a tree with what the parser reads.
func equal(n *tree.Node, y *yamldoc.Node) error {
	switch {
	case n.Kind == tree.Map && y.Is(yamldoc.Map):
		if len(n.Entries) != len(y.Fields()) {
			return fmt.Errorf("a mapping has %d keys or %d", len(n.Entries), len(y.Fields()))
		}
		seen := make(map[string]bool, len(n.Entries))
		for i, e := range n.Entries {
			if seen[e.Name] {
				return &tree.Error{Line: e.Line, Err: fmt.Errorf("the key %s occurs twice", e.Name)}
			}
			seen[e.Name] = true
			if name := y.Fields()[i].Name; name != e.Name {
				return &tree.Error{Line: e.Line, Err: fmt.Errorf("a key is %q or %q", e.Name, name)}
			}
			if err := equal(e.Value, y.Fields()[i].Value); err != nil {
				return err
			}
		}
	case n.Kind == tree.List && y.Is(yamldoc.List):
		if len(n.Entries) != len(y.List()) {
			return fmt.Errorf("a list has %d items or %d", len(n.Entries), len(y.List()))
		}
		for i, e := range n.Entries {
			if err := equal(e.Value, y.List()[i]); err != nil {
				return err
			}
		}
	case n.Kind == tree.Leaf && (y.Is(yamldoc.Map) || y.Is(yamldoc.List)):
		if n.IsMap() || n.IsList() {
			return equal(n, y)
		}
	case n.Kind != tree.Leaf:
		return fmt.Errorf("a collection is %s", y.Kind.Noun())
	}
	return nil
}

// same compares a tree after edits with what its text reads as.
func same(want, got *tree.Node) error {
	wantMap, gotMap := want.IsMap(), got.IsMap()
	wantList, gotList := want.IsList(), got.IsList()
	switch {
	case wantMap != gotMap || wantList != gotList:
		if want.Empty() && got.Empty() {
			return nil
		}
		return errors.New("a value has another form")
	case !wantMap && !wantList:
		if want.Raw != got.Raw {
			return fmt.Errorf("a value is %q or %q", want.Raw, got.Raw)
		}
		return nil
	case len(want.Entries) != len(got.Entries):
		return errors.New("a collection has another length")
	}
	for i, e := range want.Entries {
		if e.Name != got.Entries[i].Name {
			return fmt.Errorf("a key is %q or %q", e.Name, got.Entries[i].Name)
		}
		if err := same(e.Value, got.Entries[i].Value); err != nil {
			return err
		}
	}
	return nil
}
