package check_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// judged are the rules that the comments are about.
var judged = []*lint.Rule{rules.ByID("VAR017"), rules.ByID("YAML009")}

// released are files in which comments silence an error and a warning.
var released = map[string]string{
	"infrastructure-acme/v0.1.0/metadata.yaml":                  provider["metadata.yaml"],
	"infrastructure-acme/v0.1.0/infrastructure-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n  labels:\n    team: 5 # clusterctl-repo:ignore YAML009 we like numbers\n",
	"infrastructure-acme/v0.1.0/cluster-template.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}\ndata:\n  a: ${ ACME_A } # clusterctl-repo:ignore VAR017 so do blanks\n",
}

// TestForeign: the comments of others silence no errors, and count as needed.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, released)
	r := given.Value(folder.Open(t.Context(), dir))(t)
	silenced := func(foreign bool) (found, silent []string) {
		t.Helper()
		result := given.Value(check.Repository(t.Context(), r, true, check.Options{Foreign: foreign, Rules: judged}))(t)
		for _, f := range result.Report.Suppressed {
			silent = append(silent, f.Rule.ID)
		}
		slices.Sort(silent)
		return ids(result), silent
	}
	if found, silent := silenced(false); len(found) != 0 || !slices.Equal(silent, []string{"VAR017", "YAML009"}) {
		t.Errorf("our own: %v, silent %v", found, silent)
	}
	if found, silent := silenced(true); !slices.Equal(found, []string{"YAML009"}) || !slices.Equal(silent, []string{"VAR017"}) {
		t.Errorf("of others: %v, silent %v", found, silent)
	}
}

// TestAbove: of the tree around finished releases only the nearest configuration counts:
// not its comments, not what it builds, and none that is about other providers.
func TestAbove(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "tree")
	write(t, dir, provider)
	write(t, filepath.Join(dir, "out"), map[string]string{
		"infrastructure-acme/v0.1.0/metadata.yaml":                  provider["metadata.yaml"],
		"infrastructure-acme/v0.1.0/infrastructure-components.yaml": provider["config/default/manager.yaml"],
	})
	judge := func(below string) []string {
		t.Helper()
		r := given.Value(check.Folder(t.Context(), filepath.Join(dir, below), check.Options{Rules: judged}))(t)
		return ids(r)
	}
	if got := judge("out"); !slices.Equal(got, []string{"YAML009"}) {
		t.Errorf("without a configuration: %v", got)
	}
	write(t, dir, map[string]string{"config/default/manager.yaml": "# clusterctl-repo:ignore YAML009 we like numbers\n" + provider["config/default/manager.yaml"]})
	if got := judge("out"); !slices.Equal(got, []string{"YAML009"}) {
		t.Errorf("with a comment in the tree: %v", got)
	}
	const head = "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\n"
	write(t, dir, map[string]string{"clusterctl-repo.yaml": head + "rules:\n  YAML009: \"off\"\n"})
	for _, below := range []string{"out", "out/infrastructure-acme", "out/infrastructure-acme/v0.1.0"} {
		if got := judge(below); len(got) != 0 {
			t.Errorf("%s: %v", below, got)
		}
	}
	write(t, outer, map[string]string{"clusterctl-repo.yaml": "a: [\n"})
	if got := judge("out"); len(got) != 0 {
		t.Errorf("below the configuration of another tree: %v", got)
	}
	other := "providers:\n- type: infrastructure\n  name: other\n  components:\n    path: config/default\nrules:\n  YAML009: \"off\"\n"
	write(t, dir, map[string]string{"clusterctl-repo.yaml": head + other})
	if got := judge("out"); !slices.Equal(got, []string{"YAML009"}) {
		t.Errorf("below the configuration of another provider: %v", got)
	}
	write(t, dir, map[string]string{"clusterctl-repo.yaml": "rules: 5\n"})
	if _, err := check.Folder(t.Context(), filepath.Join(dir, "out"), check.Options{}); err == nil {
		t.Error("a wrong configuration is taken")
	}
}

// TestOwnConfiguration: a configuration that lies with the releases that it is about
// silences and lowers no errors, whichever of their folders it is in, and does nothing
// where the releases are those of others. One that is named does all.
func TestOwnConfiguration(t *testing.T) {
	const head = "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\nproviders:\n- type: infrastructure\n  name: acme\n  components:\n    path: config\nroles:\n  Acme.acme.test: InfraMachine\n"
	const release = "infrastructure-acme/v0.1.0"
	releases := map[string]string{
		release + "/metadata.yaml":                  provider["metadata.yaml"],
		release + "/infrastructure-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n  labels:\n    team: 5\n",
		release + "/cluster-template.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}\ndata:\n  a: ${ ACME_A }\n",
	}
	const infoAndError = "VAR017 warning, YAML009 error"
	tests := []struct {
		name string
		// at is the folder of the file, lints the one that is judged, and rules are what
		// the file says.
		at, lints, rules string
		foreign, named   bool
		want             string
		weighed          lint.Weighed
	}{
		{name: "an error stays", rules: "YAML009: warning", want: infoAndError, weighed: lint.Weighed{Kept: 1}},
		{name: "an error is not switched off", rules: `YAML009: "off"`, want: infoAndError, weighed: lint.Weighed{Kept: 1}},
		{name: "a note is", rules: `VAR017: "off"`, want: "YAML009 error", weighed: lint.Weighed{Silenced: 1}},
		{name: "by name", rules: `yaml-009: "off"`, want: infoAndError, weighed: lint.Weighed{Kept: 1}},
		{name: "raised", rules: "VAR017: warning", want: "VAR017 warning, YAML009 error"},
		{name: "raised, and kept then", rules: "VAR017: error\n  YAML009: info", want: "VAR017 error, YAML009 error", weighed: lint.Weighed{Kept: 1}},
		{name: "as it is", rules: "YAML009: error", want: infoAndError},
		{name: "of the version", at: release, lints: release, rules: `VAR017: "off"`, want: "YAML009 error", weighed: lint.Weighed{Silenced: 1}},
		{name: "above the provider, which is no source tree", lints: "infrastructure-acme", rules: `YAML009: "off"`, want: infoAndError, weighed: lint.Weighed{Kept: 1}},
		{name: "above the version", lints: release, rules: `VAR017: "off"`, want: "YAML009 error", weighed: lint.Weighed{Silenced: 1}},
		{name: "between them", at: "infrastructure-acme", lints: release, rules: `YAML009: "off"`, want: infoAndError, weighed: lint.Weighed{Kept: 1}},
		{name: "of others", rules: `VAR017: "off"`, foreign: true, want: infoAndError},
		{name: "of others, above the version", lints: release, rules: `VAR017: "off"`, foreign: true, want: infoAndError},
		{name: "of others, wrong", rules: "NONE: info", foreign: true, want: infoAndError},
		{name: "named", rules: `YAML009: "off"`, named: true, want: "VAR017 warning"},
		{name: "named for others", rules: `YAML009: "off"`, foreign: true, named: true, want: "VAR017 warning"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, releases)
			// It names the provider, as that of a source tree does.
			write(t, filepath.Join(dir, test.at), map[string]string{"clusterctl-repo.yaml": head + "rules:\n  " + test.rules + "\n"})
			file := filepath.Join(dir, test.at, "clusterctl-repo.yaml")
			var notes []string
			o := check.Options{Rules: judged, Foreign: test.foreign}
			o.Source.Note = func(n transform.Note) { notes = append(notes, n.Text) }
			if test.named {
				o.Source.Config = file
			}
			r := given.Value(check.Folder(t.Context(), filepath.Join(dir, test.lints), o))(t)
			var got []string
			for _, f := range r.Report.Findings {
				got = append(got, f.Rule.ID+" "+f.Severity.String())
			}
			slices.Sort(got)
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			var weighed []lint.Weighed
			for _, w := range r.Report.Weighed {
				if at, err := filepath.Abs(w.File); err != nil || at != file {
					t.Errorf("%s is blamed", w.File)
				}
				w.File = ""
				weighed = append(weighed, w)
			}
			if want := []lint.Weighed{test.weighed}; test.weighed == (lint.Weighed{}) && len(weighed) > 0 || test.weighed != (lint.Weighed{}) && !slices.Equal(weighed, want) {
				t.Errorf("weighed %+v, want %+v", weighed, want)
			}
			if n := len(r.Report.Suppressed); n != test.weighed.Silenced {
				t.Errorf("%d suppressed", n)
			}
			said := len(notes) == 1 && strings.Contains(notes[0], "is not applied")
			if want := test.foreign && !test.named && test.lints == test.at; said != want {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
