package fix

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// compare reads the text before and after edits, and fails unless every value
// is as before, but for the scalars that the edits are in and the entries that
// they add. Anchors make one line the value of several places; changing it there
// fails too.
func compare(before, after []byte, edits []edit) error {
	old, changed := yamldoc.Parse(yamldoc.NewFile("", before)), yamldoc.Parse(yamldoc.NewFile("", after))
	switch {
	case old.Err != nil || changed.Err != nil:
		return errors.New("the file cannot be split into documents")
	case len(old.Docs) != len(changed.Docs):
		return errors.New("the file would have another number of documents")
	}
	c := &comparison{edits: edits, hits: make([]int, len(edits))}
	shift := 0
	for _, e := range edits {
		c.places = append(c.places, [2]int{e.start + shift, e.start + shift + len(e.text)})
		shift += len(e.text) - (e.end - e.start)
	}
	for i, d := range old.Docs {
		if err := c.document(d, changed.Docs[i]); err != nil {
			return err
		}
	}
	for i, n := range c.hits {
		if n > 1 {
			return fmt.Errorf("the value is used in %d places, through an alias or a merge key; change it by hand", n)
		}
		_ = i
	}
	return nil
}

// comparison walks through two versions of a file at once.
type comparison struct {
	edits []edit
	// places are the byte ranges of the edits in the new text.
	places [][2]int
	// hits counts the changed values by edit.
	hits        []int
	old, change *yamldoc.Document
}

// legacy is an expression that means the same without its spaces.
var legacy = regexp.MustCompile(`^\$\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}$`)

func (c *comparison) document(old, changed *yamldoc.Document) error {
	c.old, c.change = old, changed
	if old.Err == nil {
		if changed.Err != nil {
			return fmt.Errorf("the file would no longer be valid YAML: %w", changed.Err.Err)
		}
		return c.value(nil, old.Root, changed.Root)
	}
	// Before variables have values it is not YAML. Then only an edit is made
	// that leaves every expression what it is.
	from, to := old.Range()
	for _, e := range c.edits {
		if e.end < from || e.start > to {
			continue
		}
		before := legacy.FindStringSubmatch(string(old.File.Data[e.start:e.end]))
		after := legacy.FindStringSubmatch(e.text)
		if before == nil || after == nil || before[1] != after[1] {
			return fmt.Errorf("the document cannot be read without its variables: %w", old.Err.Err)
		}
	}
	return nil
}

func (c *comparison) value(path yamldoc.Path, old, changed *yamldoc.Node) error {
	switch {
	case old == nil && changed == nil:
		return nil
	case old == nil || changed == nil:
		return c.otherwise(path)
	case old.Kind == yamldoc.Map && changed.Kind == yamldoc.Map:
		return c.fields(path, old, changed)
	case old.Kind == yamldoc.List && changed.Kind == yamldoc.List:
		return c.items(path, old, changed)
	case old.Kind == yamldoc.Map || old.Kind == yamldoc.List || changed.Kind == yamldoc.Map || changed.Kind == yamldoc.List:
		return c.otherwise(path)
	case old.Kind == changed.Kind && old.Text() == changed.Text():
		return nil
	}
	return c.scalar(path, old, changed)
}

// otherwise says that an edit reaches further than it should.
func (c *comparison) otherwise(path yamldoc.Path) error {
	where := "another value"
	if len(path) > 0 {
		where = path.String()
	}
	return fmt.Errorf("the edit would also change %s, as through an anchor, an alias or a merge key; change it by hand", where)
}

// scalar accepts a changed scalar that an edit is in.
func (c *comparison) scalar(path yamldoc.Path, old, changed *yamldoc.Node) error {
	start, end := c.old.Offsets(old)
	for i, e := range c.edits {
		if e.start < start || e.end > end || e.start == e.end {
			continue
		}
		if e.start == start && e.end == end && e.whole {
			// The new value is what the text of the edit means.
			want := yamldoc.Parse(yamldoc.NewFile("", []byte("v: "+e.text+"\n")))
			if len(want.Docs) != 1 || want.Docs[0].Err != nil {
				return c.otherwise(path)
			}
			if v := want.Docs[0].Root.Get("v"); v == nil || v.Kind != changed.Kind || v.Text() != changed.Text() {
				return c.otherwise(path)
			}
		} else if strings.Join(strings.Fields(old.Text()), "") != strings.Join(strings.Fields(changed.Text()), "") {
			return c.otherwise(path) // only spaces inside expressions are edited in place
		}
		c.hits[i]++
		return nil
	}
	return c.otherwise(path)
}

// added reports whether a value of the new text stands in the text of an edit.
func (c *comparison) added(n *yamldoc.Node) bool {
	start, _ := c.change.Offsets(n)
	for _, p := range c.places {
		if start >= p[0] && start < p[1] {
			return true
		}
	}
	return false
}

func (c *comparison) fields(path yamldoc.Path, old, changed *yamldoc.Node) error {
	i := 0
	for j := range changed.Fields() {
		f := &changed.Fields()[j]
		here := append(path[:len(path):len(path)], f.Name)
		if i < len(old.Fields()) && old.Fields()[i].Name == f.Name && old.Fields()[i].Merged == f.Merged {
			if err := c.value(here, old.Fields()[i].Value, f.Value); err != nil {
				return err
			}
			i++
			continue
		}
		if f.Merged || f.Key() == nil || !c.added(f.Key()) {
			return c.otherwise(here)
		}
		for _, o := range old.Fields() {
			if o.Name == f.Name {
				return c.otherwise(here) // the key would be there twice
			}
		}
	}
	if i < len(old.Fields()) {
		return c.otherwise(append(path[:len(path):len(path)], old.Fields()[i].Name))
	}
	return nil
}

func (c *comparison) items(path yamldoc.Path, old, changed *yamldoc.Node) error {
	i := 0
	for _, item := range changed.List() {
		here := append(path[:len(path):len(path)], fmt.Sprint(i))
		if len(changed.List()) > len(old.List()) && c.added(item) {
			continue
		}
		if i >= len(old.List()) {
			return c.otherwise(here)
		}
		if err := c.value(here, old.List()[i], item); err != nil {
			return err
		}
		i++
	}
	if i < len(old.List()) {
		return c.otherwise(path)
	}
	return nil
}
