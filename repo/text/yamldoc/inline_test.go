package yamldoc

import (
	"testing"
)

func TestInline(t *testing.T) {
	const text = "patches:\n- patch: |-\n    spec:\n\n      a: é\n      b: 2\n- patch: 'c: 3'\n- patch: {\"d\": 4}\n- patch: \"e: \\x35\"\n- patch: >-\n    f:\n      6\n"
	f := NewFile("kustomization.yaml", []byte(text))
	d := Parse(f).Docs[0]
	want := []struct {
		path []string
		pos  Pos
	}{
		{[]string{"spec", "b"}, Pos{Line: 6, Column: 10}},
		{[]string{"c"}, Pos{Line: 7, Column: 14}},
		{nil, Pos{}},
		{[]string{"e"}, Pos{Line: 9, Column: 10}},
		{[]string{"f"}, Pos{Line: 12, Column: 7}},
	}
	for i, p := range d.Root.Get("patches").List() {
		n := p.Get("patch")
		if !n.Is(String) {
			continue
		}
		s := d.Inline(n)
		if s.Err != nil || len(s.Docs) != 1 || s.Docs[0].Err != nil {
			t.Fatalf("patch %d: %+v", i, s)
		}
		got := s.Docs[0]
		if pos := got.Pos(got.Root.Get(want[i].path...)); pos.Line != want[i].pos.Line || got.Root.Get(want[i].path...) == nil {
			t.Errorf("patch %d: %v, want %v", i, pos, want[i].pos)
		}
	}
	first := d.Inline(d.Root.Get("patches").List()[0].Get("patch")).Docs[0]
	if pos := first.Pos(first.Root.Get("spec", "b")); pos != (Pos{Line: 6, Column: 10}) {
		t.Errorf("the column in a block: %v", pos)
	}
}
