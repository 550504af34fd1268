package migration

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// templates are the cluster templates and classes of real releases.
func templates(t *testing.T) []string {
	out, _ := filepath.Glob(filepath.Join(share.Corpus(t, "releases"), "*", "*", "*.yaml"))
	out = slices.DeleteFunc(out, func(name string) bool {
		base := filepath.Base(name)
		return !strings.HasPrefix(base, "cluster-template") && !strings.HasPrefix(base, "clusterclass") && base != "cluster-template.yaml"
	})
	if len(out) == 0 {
		t.Fatal("the corpus has no templates")
	}
	return out
}

// sampled replaces the variables of a text; numbers chooses numbers for those
// without a default.
func sampled(t *testing.T, text []byte, numbers bool) []byte {
	t.Helper()
	parsed := given.Value(vars.Parse(text))(t)
	optional := map[string]bool{}
	for _, v := range parsed.Variables() {
		optional[v.Name] = v.Default != nil
	}
	out, err := parsed.Execute(func(name string) (string, bool) {
		if optional[name] {
			return "", false
		}
		if numbers {
			return "3", true
		}
		return manifest.Sample(name), true
	})
	given.NoError(t, err)
	return []byte(out.Data)
}

// names are the variables of a text.
func names(t *testing.T, text []byte) []string {
	parsed := given.Value(vars.Parse(text))(t)
	var out []string
	for _, v := range parsed.Variables() {
		out = append(out, v.Name)
	}
	return out
}

// comments are the comments of a text, sorted: those that stand on a line of
// their own, and the words after values.
func commentsOf(text []byte) []string {
	var out []string
	for _, chunk := range edit.Split(string(text)) {
		d, err := edit.Parse(chunk, 0)
		if err != nil || d.Root == nil {
			continue
		}
		take := func(lines ...string) {
			for _, line := range lines {
				if c := strings.TrimSpace(line); strings.HasPrefix(c, "#") {
					out = append(out, c)
				}
			}
		}
		d.Root.Walk(func(e *edit.Entry) bool {
			take(e.Lead...)
			take(e.Comment)
			take(e.Tail...)
			return true
		})
	}
	slices.Sort(out)
	return out
}

// bumped writes the new versions into references to migrated kinds, which the
// conversion leaves alone, and leaves out the patches that follow those kinds.
func bumped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if a, ok := v["apiVersion"].(string); ok {
			if kind, ok := v["kind"].(string); ok {
				if k := table.To("v1beta2").Find(a, kind); k != nil {
					v["apiVersion"] = k.APIVersion()
				}
			}
		}
		delete(v, "jsonPatches")
		for name := range v {
			if v[name] = bumped(v[name]); empty(v[name]) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = bumped(v[i])
		}
	}
	return v
}

// empty values mean the same as none, and v1beta2 refuses most of them.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

func normal(t *testing.T, text string) string {
	var v any
	given.NoError(t, yaml.Unmarshal([]byte(text), &v))
	return string(given.Value(json.MarshalIndent(bumped(v), "", " "))(t))
}

// Every object of every template and class of the corpus becomes what Cluster API's
// conversion makes of it, with the same values for the variables.
func TestMigrateCorpus(t *testing.T) {
	contract := table.To("v1beta2")
	files, objects, unread, left := 0, 0, 0, 0
	for _, name := range templates(t) {
		data := given.Read(t, name)
		r := migrate.Text(filepath.Base(name), data, migrate.Options{Contract: contract})
		left += r.Left
		if r.Migrated == 0 {
			continue
		}
		files++
		short := strings.Join(strings.Split(filepath.ToSlash(name), "/")[len(strings.Split(filepath.ToSlash(name), "/"))-3:], "/")
		if a, b := names(t, data), names(t, r.New); !slices.Equal(a, b) {
			t.Errorf("%s: variables were %v, are %v", short, a, b)
		}
		after := commentsOf(r.New)
		for _, c := range commentsOf(data) {
			i, ok := slices.BinarySearch(after, c)
			if !ok {
				t.Errorf("%s: lost the comment %s", short, c)
				continue
			}
			after = slices.Delete(after, i, i+1)
		}
		if again := migrate.Text("x", r.New, migrate.Options{Contract: contract}); again.Changed(r.New) {
			t.Errorf("%s: the second run changes something", short)
		}
		for _, numbers := range []bool{false, true} {
			n, bad := compareFiles(t, short, sampled(t, data, numbers), sampled(t, r.New, numbers))
			objects += n
			unread += bad
		}
	}
	t.Logf("%d files, %d objects compared (each with two sets of values), %d not read by the old types, %d left by hand", files, objects, unread, left)
	if files < 60 || unread*4 > objects {
		t.Errorf("only %d files and %d objects were compared, %d not", files, objects, unread)
	}
}

// compareFiles compares the documents of a file before and after.
func compareFiles(t *testing.T, name string, old, migrated []byte) (compared, unread int) {
	before, err1 := yamldoc.Split(string(old))
	after, err2 := yamldoc.Split(string(migrated))
	if err1 != nil || err2 != nil || len(before) != len(after) {
		t.Errorf("%s: %d documents became %d (%v, %v)", name, len(before), len(after), err1, err2)
		return 0, 0
	}
	for i := range before {
		var head struct{ APIVersion, Kind string }
		if yaml.Unmarshal([]byte(before[i].Data), &head) != nil || before[i].Data == after[i].Data {
			continue
		}
		for _, k := range oldKinds {
			if head.APIVersion != k.group+"/"+k.version || head.Kind != k.kind {
				continue
			}
			want, err := k.convert([]byte(before[i].Data))
			if err != nil {
				unread++
				continue
			}
			fresh := k.fresh()
			if err := yaml.Unmarshal([]byte(after[i].Data), fresh); err != nil {
				t.Errorf("%s: document %d: %v\n%s", name, i, err, after[i].Data)
				continue
			}
			compared++
			if a, b := normal(t, withoutStatus(t, want)), normal(t, withoutStatus(t, fresh)); a != b {
				t.Errorf("%s: %s differs from the conversion:\n%s", name, k.kind, lineDiff(a, b))
			}
		}
	}
	return compared, unread
}
