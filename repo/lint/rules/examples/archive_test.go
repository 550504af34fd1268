package examples

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// readBase serves two bases.
func readBase(name string) ([]byte, error) {
	text := map[string]string{
		"a": "A base.\n-- f.yaml --\nkind: A\nmetadata:\n  name: one\nspec:\n  x: 1\n  y: 1\n---\nkind: B\nmetadata:\n  name: one\nspec: {}\n",
		"b": "-- f.yaml --\nkind: B\nmetadata:\n  name: one\nspec: {}\n---\nkind: C\nmetadata:\n  name: two\n-- g.yaml --\nkind: G\nx:\n- 1\n- 1\n",
	}[name]
	if text == "" {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

// summary is an example as text: both sides and what is shown of them.
func summary(e *Example) string {
	var b strings.Builder
	for _, side := range []struct {
		name  string
		files Files
	}{{"bad", e.Bad}, {"good", e.Good}} {
		var paths []string
		for path := range side.files.Text {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		for _, path := range paths {
			fmt.Fprintf(&b, "-- %s/%s --\n%s", side.name, path, side.files.Text[path])
		}
		for _, f := range side.files.Shown {
			fmt.Fprintf(&b, "[%s: %s]\n", side.name, f.Title())
		}
	}
	for _, w := range e.Wants {
		fmt.Fprintf(&b, "want %s:%d %s %s\n", w.Path, w.Line, w.Rule, w.Message)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	const one, two = "kind: A\nmetadata:\n  name: one\nspec:\n  x: 1\n  y: 1\n", "kind: B\nmetadata:\n  name: one\nspec: {}\n"
	for name, tc := range map[string]struct{ archive, want string }{
		"good is ordinary": {
			"as shown\nbase a\n-- f.yaml.diff --\n@@ A\n spec:\n-  x: 2 # want X001 \"two\"\n+  x: 1\n",
			"-- bad/f.yaml --\nkind: A\nmetadata:\n  name: one\nspec:\n  x: 2\n  y: 1\n---\n" + two + "[bad: f.yaml:4, in A one]\n" +
				"-- good/f.yaml --\n" + one + "---\n" + two + "[good: f.yaml:4, in A one]\nwant f.yaml:5 X001 two\n",
		},
		"bad is ordinary": {
			"as shown\nbase a\n-- f.yaml.diff --\n@@ B one\n   name: one # want X001 \"no label\"\n+  labels: {}\n spec: {}\n",
			"-- bad/f.yaml --\n" + one + "---\n" + two + "[bad: f.yaml:10, in B one]\n" +
				"-- good/f.yaml --\n" + one + "---\nkind: B\nmetadata:\n  name: one\n  labels: {}\nspec: {}\n[good: f.yaml:10, in B one]\nwant f.yaml:10 X001 no label\n",
		},
		"neither is, and two parts": {
			"as shown\nbase a\n-- f.yaml.diff --\n@@ A\n   y: 1\n!  z:\n-    bad: true\n+    good: true\n@@ A\n kind: A\n~metadata:\n!metadata: # a comment\n   name: one\n",
			"-- bad/f.yaml --\nkind: A\nmetadata: # a comment\n  name: one\nspec:\n  x: 1\n  y: 1\n  z:\n    bad: true\n---\n" + two + "[bad: f.yaml:1, in A one]\n[bad: f.yaml:6, in A one]\n" +
				"-- good/f.yaml --\nkind: A\nmetadata: # a comment\n  name: one\nspec:\n  x: 1\n  y: 1\n  z:\n    good: true\n---\n" + two + "[good: f.yaml:6, in A one]\n",
		},
		"objects come and go": {
			"as shown\nbase a\n-- f.yaml.diff --\n@@ without A\n@@ bad without B\n@@ new\n kind: C\n metadata:\n-  name: x\n+  name: y\n@@ new\n-kind: D\n",
			"-- bad/f.yaml --\nkind: C\nmetadata:\n  name: x\n---\nkind: D\n[bad: f.yaml without B one]\n[bad: f.yaml:1, in C y]\n[bad: f.yaml:5, in D]\n" +
				"-- good/f.yaml --\n" + two + "---\nkind: C\nmetadata:\n  name: y\n[good: f.yaml:1, in B one]\n[good: f.yaml:6, in C y]\n[good: f.yaml without D]\n",
		},
		"two bases": {
			"as shown\nbase a b\n-- g.yaml --\nkind: H\n",
			"-- bad/f.yaml --\n" + one + "---\n" + two + "---\nkind: C\nmetadata:\n  name: two\n-- bad/g.yaml --\nkind: H\n[bad: g.yaml]\n" +
				"-- good/f.yaml --\n" + one + "---\n" + two + "---\nkind: C\nmetadata:\n  name: two\n-- good/g.yaml --\nkind: H\n",
		},
		"whole files": {
			"as shown\n-- a.yaml.diff --\n kind: A\n\n-x: 1\n+x: 2\n-- bad/b.yaml good/c.yaml --\nx: 1 # want X001 \"name\"\n-- good/d.yaml.quoted --\n\"a\\tb\"\n",
			"-- bad/a.yaml --\nkind: A\n\nx: 1\n-- bad/b.yaml --\nx: 1\n[bad: a.yaml]\n[bad: b.yaml]\n" +
				"-- good/a.yaml --\nkind: A\n\nx: 2\n-- good/c.yaml --\nx: 1\n-- good/d.yaml --\na\tb[good: a.yaml]\n[good: c.yaml]\n[good: d.yaml]\nwant b.yaml:1 X001 name\n",
		},
		"only bad has the file": {
			"as shown\n-- bad/a.yaml --\nx\n-- b.yaml --\ny\n",
			"-- bad/a.yaml --\nx\n-- bad/b.yaml --\ny\n[bad: a.yaml]\n[bad: b.yaml]\n-- good/b.yaml --\ny\n[good: without a.yaml]\n",
		},
		"filled in": {
			"-- infrastructure-foo/v1.2.0/x.yaml --\n",
			"-- bad/infrastructure-foo/v1.2.0/infrastructure-components.yaml --\n" + ordinaryComponents("foo") +
				"-- bad/infrastructure-foo/v1.2.0/metadata.yaml --\napiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- major: 1\n  minor: 2\n  contract: v1beta2\n-- bad/infrastructure-foo/v1.2.0/x.yaml --\n" +
				"-- good/infrastructure-foo/v1.2.0/infrastructure-components.yaml --\n" + ordinaryComponents("foo") +
				"-- good/infrastructure-foo/v1.2.0/metadata.yaml --\napiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- major: 1\n  minor: 2\n  contract: v1beta2\n-- good/infrastructure-foo/v1.2.0/x.yaml --\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := given.Value(parse("X001", []byte(tc.archive), readBase))(t)
			if diff := cmp.Diff(tc.want, summary(e)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestParseRefuses demands that a part that does not fit is an error that says so,
// because an example that silently shows something else proves nothing.
func TestParseRefuses(t *testing.T) {
	const diff = "base a\n-- f.yaml.diff --\n"
	for name, tc := range map[string]struct{ archive, want string }{
		"unknown base":                 {"base c\n", "base c"},
		"no heading":                   {diff + "-x\n", "needs a heading @@ KIND NAME"},
		"no such object":               {diff + "@@ X\n x\n", "the base has 0 objects X: [A one B one]"},
		"no such name":                 {diff + "@@ A two\n x\n", "0 objects A two"},
		"context that is not there":    {diff + "@@ A\n   z: 1\n+  x: 1\n", "fit 0 places"},
		"neither side is ordinary":     {diff + "@@ A\n spec:\n-  x: 3\n+  x: 2\n", "fit 0 places"},
		"own lines without context":    {diff + "@@ A\n!  z: 1\n", "fit 0 places"},
		"two places":                   {"base b\n-- g.yaml.diff --\n@@ G\n - 1\n+- 2\n", "fit 2 places"},
		"dropped line that is not":     {diff + "@@ A\n spec:\n~  z: 1\n   x: 1\n", "fit 0 places"},
		"overlap":                      {diff + "@@ A\n spec:\n-  z: 1\n   x: 1\n@@ A\n spec:\n+  w: 1\n   x: 1\n", "overlap"},
		"no mark":                      {diff + "@@ A\nspec:\n", `must begin with one of " -+!~"`},
		"own line in a whole file":     {"-- x.yaml.diff --\n!x\n", `must begin with one of " -+"`},
		"lines after without":          {diff + "@@ without A\n x\n", "lines under a heading that has none"},
		"finding in a good line":       {diff + "@@ A\n spec:\n+  x: 1 # want X001 \"x\"\n", "bad does not have"},
		"finding in a dropped line":    {diff + "@@ A\n spec:\n~  x: 1 # want X001 \"x\"\n   y: 1\n", "bad does not have"},
		"finding in a good file":       {"-- good/x.yaml --\nx # want X001 \"x\"\n", "bad does not have"},
		"finding with a wrong pattern": {"-- x.yaml --\nx # want X001 \"(\"\n", "missing closing )"},
		"finding without a path":       {"want X001 \"x\"\n", "cannot read"},
		"oracle without a pattern":     {"oracle provider-refuses\n", "cannot read"},
		"twice":                        {"-- x.yaml --\n-- x.yaml --\n", "twice"},
		"quoted":                       {"-- x.yaml.quoted --\nx\n", "invalid syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := parse("X001", []byte(tc.archive), readBase)
			if err == nil {
				t.Fatalf("accepted:\n%s", summary(e))
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q instead of %q", err, tc.want)
			}
		})
	}
}

// TestArchives demands that every example can be read, shows both sides, and that
// every base has a comment and is in use.
func TestArchives(t *testing.T) {
	unused := map[string]bool{}
	for _, name := range bases() {
		unused[name] = true
		if data, err := embedded(name); err != nil || strings.HasPrefix(string(data), "--") {
			t.Errorf("base %s: no comment, or %v", name, err)
		}
	}
	for _, id := range IDs() {
		e, err := Load(id)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range e.Bases {
			delete(unused, name)
		}
		if len(e.Bad.Shown) == 0 || len(e.Good.Shown) == 0 {
			t.Errorf("%s: shows %d fragments of bad and %d of good", id, len(e.Bad.Shown), len(e.Good.Shown))
		}
	}
	for _, entry := range given.Value(os.ReadDir("statements"))(t) {
		for _, name := range given.Value(parse(entry.Name(), given.Read(t, filepath.Join("statements", entry.Name())), embedded))(t).Bases {
			delete(unused, name)
		}
	}
	for name := range unused {
		t.Errorf("no example begins with base %s", name)
	}
}

// FuzzParse demands that no archive breaks the reader.
func FuzzParse(f *testing.F) {
	for _, id := range IDs() {
		data := given.Value(archives.ReadFile(id + ".txtar"))(f)
		f.Add(string(data))
	}
	f.Add("base a\n-- f.yaml.diff --\n@@ A\n spec:\n-  x: 2\n+  x: 1\n")
	f.Fuzz(func(_ *testing.T, archive string) {
		_, _ = parse("X001", []byte(archive), readBase)
	})
}
