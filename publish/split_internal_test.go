package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// Who is found early is who is found in the whole file.
func TestNamedEarly(t *testing.T) {
	object := func(label string) string {
		return "kind: A\nmetadata:\n  labels:\n    " + label + "\n"
	}
	foo, bar := object(layouts.ProviderLabel+": infrastructure-foo"), object(layouts.ProviderLabel+": infrastructure-bar")
	other := "kind: B\ntext: " + strings.Repeat("x", 70_000) + "\n"
	tests := map[string]struct {
		text  string
		early bool
	}{
		"first":                 {foo + "---\n" + bar, true},
		"after a separator":     {"# text\n---\n" + foo + "---\n" + bar, true},
		"after large ones":      {other + "---\n" + other + "---\n" + foo + "---\n" + bar, true},
		"at the end":            {other + "---\n" + foo, true},
		"cut":                   {"kind: C\nmetadata: {labels: {" + layouts.ProviderLabel + ": infrastructure-x}}\n" + other + "metadata: {}\n---\n" + foo, false},
		"invalid label":         {object(layouts.ProviderLabel+": x") + "---\n" + foo, false},
		"broken object":         {"a: [\n---\n" + foo, true},
		"escaped":               {object("\"cluster.x-k8s.io\\x2fprovider\": infrastructure-bar") + "---\n" + foo, true},
		"in a list":             {"kind: List\nitems:\n- metadata: {labels: {" + layouts.ProviderLabel + ": infrastructure-bar}}\n---\n" + foo, false},
		"variable behind":       {foo + "---\na: ${A:=b}\n", true},
		"variable before":       {"a: ${A:=b}\n---\n" + foo, false},
		"variable of separator": {"a: ${A:=\"b\n---\n\"}\n---\n" + foo, false},
		"escape before":         {"a: $${A}\n---\n" + foo, false},
		"NUL":                   {"a: \x00\n---\n" + foo, false},
		"bad separator":         {"a: b\n--- x\n" + foo, false},
		"bad variable":          {foo + "---\na: ${A", false},
		"bad expression":        {foo + "---\na: ${A:0:x}\n", true},
		"escapes":               {"a: \"\\n\"\n---\n" + foo, true},
		"none":                  {"a: b\n", false},
		"empty":                 {"", false},
	}
	corpus := os.Getenv("CORPUS")
	if corpus == "" {
		corpus = filepath.Join("..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(corpus, "releases", "*", "*", "*components*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, text string) bool {
		a := repo.BytesArtifact("infrastructure-components.yaml", []byte(text))
		f := manifest.New(a, layouts.Components, []byte(text))
		want, found := named(f)
		if f.Replaceable() != (f.Docs() != nil) {
			t.Errorf("%s: Replaceable %v: %v", name, f.Replaceable(), f.Err())
		}
		p, early := namedEarly(f)
		if early && f.Replaceable() && (!found || p != want) {
			t.Errorf("%s: early %v, but whole %v %v", name, p, want, found)
		}
		if !found {
			want = layouts.Provider{Type: layouts.Infrastructure}
		}
		if got := providerOf(a, text); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		return early
	}
	for name, tt := range tests {
		if early := check(name, tt.text); early != tt.early {
			t.Errorf("%s: early %v", name, early)
		}
	}
	late := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !check(f, string(data)) {
			late++
		}
	}
	t.Logf("%d of %d files of the corpus are parsed as a whole", late, len(files))
}
