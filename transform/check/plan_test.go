package check

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// finding is one whose edit puts text in the place of the n-th occurrence of old.
func finding(data, old, text string) *lint.Finding {
	start := strings.Index(data, old)
	return &lint.Finding{File: "f.yaml", Rule: &lint.Rule{ID: "X001"}, Message: old, Edit: &lint.Edit{Start: start, End: start + len(old), Text: text, Linted: data}}
}

// TestToday compares files of a release with those of its tree, where each can be read.
func TestToday(t *testing.T) {
	old := t.TempDir()
	given.Files(t, old, map[string]string{"a.yaml": "a", "empty.yaml": ""})
	renamed := map[string]string{"b.yaml": "a.yaml", "full.yaml": "empty.yaml", "there.yaml": "gone.yaml"}
	for _, tc := range []struct {
		a    *repo.Artifact
		want string
	}{
		{repo.BytesArtifact("a.yaml", []byte("a")), "b.yaml"},
		{repo.BytesArtifact("a.yaml", []byte("b")), ""},
		{repo.BytesArtifact("gone.yaml", nil), ""},
		{repo.NewArtifact("empty.yaml", "", 0, func() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }), ""},
	} {
		if got := today(tc.a, renamed, old); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.a.Name, got, tc.want)
		}
	}
}

func TestPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		data, old, text string
		want            string // the new text, or
		refused         string // why it is not made
	}{
		"a scalar":                {"labels: {a: 3, keep: \"x\"}\n", "3", `"3"`, "labels: {a: \"3\", keep: \"x\"}\n", ""},
		"with a comment":          {"a: yes # why\nb: 1\n", "yes", "true", "a: true # why\nb: 1\n", ""},
		"with a tag":              {"labels: {a: !!int 3, keep: \"x\"}\n", "!!int 3, keep: \"x\"}", `"3"`, "", "written with a tag"},
		"with an anchor":          {"data: {a: &y yes, b: *y}\n", "&y yes, b: *y}", "true", "", "written with an anchor"},
		"with an alias":           {"data: {a: &y yes, b: *y}\n", "*y", "true", "", "written with an alias"},
		"behind an anchor":        {"data:\n  a: &y yes\n  b: *y\n", "yes", "true", "", "change it by hand"},
		"behind an anchor, other": {"data:\n  a: &y 5\n  b: *y\n", "5", `"5"`, "", "change it by hand"},
		"inside an anchor":        {"a: &y {n: 5}\nb: *y\n", "5", `"5"`, "", "change it by hand"},
		"merged":                  {"a: &y\n  n: 5\nb:\n  <<: *y\n  m: 1\n", "5", `"5"`, "", "change it by hand"},
		"anchor nobody uses":      {"a: &y {n: 5}\nb: 1\n", "5", `"5"`, "a: &y {n: \"5\"}\nb: 1\n", ""},
		"breaks the file":         {"a: [1, 2]\n", "1, 2]", `"1"`, "", "would no longer be valid YAML"},
		"another value too":       {"a: 1\nb: 2\n", "1\nb: 2", "\"1\"", "", "change it by hand"},
		"a key":                   {"5: a\n", "5", `"6"`, "", "change it by hand"},
		"the wrong place":         {"a: ${ X }\nb: c\n", "X }\nb", "${X}", "", "would no longer be valid YAML"},
		"old spaces":              {"a: x ${ X } y\n", "${ X }", "${X}", "a: x ${X} y\n", ""},
		"old spaces in a comment": {"# ${ X }\na: 1\n", "${ X }", "${X}", "# ${X}\na: 1\n", ""},
		"old spaces in a block":   {"a: |\n  x ${ X }\n  y\nb: 1\n", "${ X }", "${X}", "a: |\n  x ${X}\n  y\nb: 1\n", ""},
		"not YAML by itself":      {"a: ${A}: {${ X }\n", "${ X }", "${X}", "a: ${A}: {${X}\n", ""},
		"before what is no YAML":  {"a: 5\n---\na: ${A}: {${B}\n", "5", `"5"`, "a: \"5\"\n---\na: ${A}: {${B}\n", ""},
		"after what is no YAML":   {"a: ${A}: {${B}\n---\na: 5\n", "5", `"5"`, "a: ${A}: {${B}\n---\na: \"5\"\n", ""},
		"not YAML, other edit":    {"a: ${A}: {${ X }\nb: 5\n", "5", `"5"`, "", "without its variables"},
		"one more document":       {"a: 5\n", "5", "5\n---\nb: 5", "", "a different number of documents"},
		"another document":        {"a: 5\n---\na: 5\n", "5\n---\na: 5", "5\n", "", "a different number of documents"},
	} {
		if strings.Count(tc.data, tc.old) == 0 {
			t.Fatalf("%s: %q is not in %q", name, tc.old, tc.data)
		}
		f := finding(tc.data, tc.old, tc.text)
		p := planned(tc.data, []*lint.Finding{f})
		switch {
		case tc.refused == "" && (p.new != tc.want || len(p.fixed) != 1 || len(p.refused) != 0):
			t.Errorf("%s: %+v; want %q", name, p, tc.want)
		case tc.refused != "" && (p.fixed != nil || len(p.refused) != 1 || !strings.Contains(p.refused[0].Reason, tc.refused)):
			t.Errorf("%s: %+v; want %q", name, p, tc.refused)
		}
	}
}

// TestPlanTogether: one bad edit does not keep the others back, and a file that
// is not the one that was linted is left alone.
func TestPlanTogether(t *testing.T) {
	data := "a: 1\nb: &b 2\nc: *b\nd: 4\n"
	findings := []*lint.Finding{finding(data, "1", `"1"`), finding(data, "2", `"2"`), finding(data, "4", `"4"`), finding(data, "4", `"4"`)}
	p := planned(data, findings)
	if p.new != "a: \"1\"\nb: &b 2\nc: *b\nd: \"4\"\n" || len(p.fixed) != 3 || len(p.refused) != 1 {
		t.Errorf("%+v", p)
	}
	for _, data := range []string{"# ${ X }\na: 12\n", "a: 12\n# ${ X }\n"} {
		if p := planned(data, []*lint.Finding{finding(data, "2", "3"), finding(data, "${ X }", "${X}")}); len(p.fixed) != 1 || len(p.refused) != 1 || p.refused[0].Finding.Message != "2" {
			t.Errorf("a part of a value next to a good edit: %+v", p)
		}
	}
	if p := planned("a: 1\n", []*lint.Finding{finding("a: 1\n", "", "# x\n"), finding("a: 1\n", "", "# y\n")}); p.new != "# x\na: 1\n" || len(p.fixed) != 1 {
		t.Errorf("two insertions at one place: %+v", p)
	}
	p = planned("# "+data, findings)
	if p.fixed != nil || len(p.refused) != 4 || !strings.Contains(p.refused[0].Reason, "has changed since it was checked") {
		t.Errorf("changed file: %+v", p)
	}
}

func TestLocate(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "root")
	given.NoError(t, os.Mkdir(root, 0o755))
	for _, name := range []string{"root/a", "b"} {
		given.NoError(t, os.WriteFile(filepath.Join(top, name), nil, 0o644))
	}
	for link, to := range map[string]string{"near": "a", "far": "../b", "broken": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	if real, err := locate(root, filepath.Join(root, "near")); err != nil || filepath.Base(real) != "a" {
		t.Errorf("near: %q, %v", real, err)
	}
	for _, name := range []string{"far", "broken", "missing"} {
		if real, err := locate(root, filepath.Join(root, name)); err == nil {
			t.Errorf("%s: %q", name, real)
		}
	}
}
