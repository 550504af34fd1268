package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

var (
	breaks    = share.Of(4, 40) // faults that TestFaultsInOneLine makes in source trees
	breakSeed = flag.Uint64("break-seed", 1, "of the faults")
)

// lineFaults are the faults that a pull request may bring into one line of a
// source tree. Some do nothing, as when the line is replaced by a transformer.
var lineFaults = []struct {
	name       string
	file, line *regexp.Regexp
	with       string
}{
	{"CRD label", regexp.MustCompile(`config/.*\.yaml$`), regexp.MustCompile(`^(\s*"?cluster\.x-k8s\.io/v1beta[12]"?: ).*`), "${1}v9"},
	{"contract", regexp.MustCompile(`(^|/)metadata\.yaml$`), regexp.MustCompile(`^(\s*-?\s*contract: ).*`), "${1}V1Beta2"},
	{"series", regexp.MustCompile(`(^|/)metadata\.yaml$`), regexp.MustCompile(`^(\s*-?\s*minor: )(\d+)`), `${1}"${2}"`},
	{"variable", regexp.MustCompile(`templates/.*\.yaml$|config/manager/.*\.yaml$`), regexp.MustCompile(`^([^#]*\$\{[A-Z_]+)(:=[^}]*)?\}`), "${1}.x}"},
	{"template reference", regexp.MustCompile(`templates/cluster-template.*\.yaml$`), regexp.MustCompile(`^(\s+name: )\$\{CLUSTER_NAME\}(-control-plane|-md-0)$`), "${1}$${CLUSTER_NAME}-nowhere"},
	{"image tag", regexp.MustCompile(`config/.*kustomization\.yaml$`), regexp.MustCompile(`^(\s*newTag: ).*`), "${1}latest"},
	{"image name", regexp.MustCompile(`config/.*kustomization\.yaml$`), regexp.MustCompile(`^(\s*newName: ).*`), "${1}nginx"},
	{"image", regexp.MustCompile(`config/.*(manager|patch).*\.yaml$`), regexp.MustCompile(`^(\s*-?\s*image: ).*`), "${1}nginx"},
	{"namespace", regexp.MustCompile(`config/.*\.yaml$`), regexp.MustCompile(`^(  namespace: ).*`), "${1}kube-system"},
	{"label value", regexp.MustCompile(`config/.*\.yaml$`), regexp.MustCompile(`^(    control-plane: ).*`), "${1}7"},
}

// TestSourceExamples runs the examples of rules that need a source tree.
func TestSourceExamples(t *testing.T) {
	n := 0
	for _, r := range rules.All {
		e := given.Value(examples.Load(r.ID))(t)
		if !e.Source {
			continue
		}
		n++
		bad, good := t.TempDir(), t.TempDir()
		given.NoError(t, e.Bad.Write(bad))
		given.NoError(t, e.Good.Write(good))
		lint := func(dir string) map[string]seenFinding {
			if e.Last {
				return lintWith(t, filepath.Join(dir, "out"), "--version", "v1.0.1", "--previous", filepath.Join(dir, "last", "v1.0.0"))
			}
			return lintSource(t, dir, "")
		}
		findings := lint(bad)
		for _, w := range e.Wants {
			hit := false
			for print, f := range findings {
				if f.Rule == w.Rule && f.Line == w.Line && strings.HasSuffix(filepath.ToSlash(f.File), "/"+w.Path) && w.Message.MatchString(f.Message) {
					hit = true
					delete(findings, print)
				}
			}
			if !hit {
				t.Errorf("%s: bad: missing %s:%d %s %q in %+v", r.ID, w.Path, w.Line, w.Rule, w.Message, findings)
			}
		}
		for _, f := range findings {
			if f.Rule == r.ID {
				t.Errorf("%s: bad: unexpected %+v", r.ID, f)
			}
		}
		for _, f := range lint(good) {
			if f.Rule == r.ID {
				t.Errorf("%s: good: unexpected %+v", r.ID, f)
			}
		}
	}
	if n == 0 {
		t.Error("no rule has such an example")
	}
}

// sources are the source trees of the examples and of the corpus, with the
// configuration that each needs.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	own := given.Value(filepath.Glob(filepath.Join("..", "..", "examples", "*", "metadata.yaml")))(t)
	for _, file := range own {
		out[filepath.Dir(file)] = ""
	}
	corpus, missing := share.FindCorpus("sources")
	if missing != "" {
		t.Logf("without faults in the sources of real providers: %s", missing)
		return out
	}
	entries := given.Value(os.ReadDir(corpus))(t)
	for _, e := range entries {
		c := filepath.Join("..", "..", "test", "corpus", e.Name()+".yaml")
		if _, err := os.Stat(c); err != nil {
			c = ""
		} else if c, err = filepath.Abs(c); err != nil {
			t.Fatal(err)
		}
		out[filepath.Join(corpus, e.Name())] = c
	}
	return out
}

type seenFinding struct {
	Rule, File, Fingerprint, Message string
	Line                             int
}

// lintSource returns the findings in a source tree by fingerprint.
func lintSource(t *testing.T, dir, config string) map[string]seenFinding {
	t.Helper()
	if config != "" {
		return lintWith(t, dir, "--config", config)
	}
	return lintWith(t, dir)
}

func lintWith(t *testing.T, dir string, flags ...string) map[string]seenFinding {
	t.Helper()
	args := append([]string{"lint", dir, "-o", "json", "--fail-on", "never"}, flags...)
	// Not in the folder of this package: lint would look for .git above it, which every
	// git command changes, and go test could never reuse a cached result.
	code, stdout, stderr := run(t, t.TempDir(), args...)
	if code != cli.ExitOK {
		t.Fatalf("lint %s: exit code %d: %s", dir, code, stderr)
	}
	var report struct{ Findings []seenFinding }
	given.NoError(t, json.Unmarshal([]byte(stdout), &report))
	out := map[string]seenFinding{}
	for _, f := range report.Findings {
		out[f.Fingerprint] = f
	}
	return out
}

// TestFaultsInOneLine makes faults in one line of source trees and demands that
// what lint finds then, and did not find before, includes a finding on that line
// of that file.
func TestFaultsInOneLine(t *testing.T) {
	share.SkipInRace(t)
	trees := sources(t)
	names := slices.Sorted(maps.Keys(trees))
	random := rand.New(rand.NewPCG(*breakSeed, 1))
	before := map[string]map[string]seenFinding{}
	copies := map[string]string{}
	made, elsewhere, noticed, silent := 0, 0, map[string]int{}, map[string]int{}
	for tries := 0; made < breaks && tries < 100*breaks; tries++ {
		tree := names[random.IntN(len(names))]
		fault := lineFaults[tries%len(lineFaults)]
		dir := copies[tree]
		if dir == "" {
			dir = filepath.Join(t.TempDir(), filepath.Base(tree))
			given.NoError(t, os.CopyFS(dir, os.DirFS(tree)))
			copies[tree], before[tree] = dir, lintSource(t, dir, trees[tree])
		}
		type place struct {
			file string
			line int
		}
		var places []place
		err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, file)
			if err != nil || d.IsDir() || !fault.file.MatchString(filepath.ToSlash(rel)) {
				return err
			}
			data, err := os.ReadFile(file)
			for i, line := range strings.Split(string(data), "\n") {
				if fault.line.MatchString(line) {
					places = append(places, place{file, i})
				}
			}
			return err
		})
		given.NoError(t, err)
		if len(places) == 0 {
			continue
		}
		p := places[random.IntN(len(places))]
		original := given.Read(t, p.file)
		lines := strings.Split(string(original), "\n")
		old := lines[p.line]
		lines[p.line] = fault.line.ReplaceAllString(old, fault.with)
		given.NoError(t, os.WriteFile(p.file, []byte(strings.Join(lines, "\n")), 0o644))
		made++
		rel, _ := filepath.Rel(dir, p.file)
		what := fmt.Sprintf("%s: %s at %s:%d: %q became %q", filepath.Base(tree), fault.name, rel, p.line+1, old, lines[p.line])
		var fresh []seenFinding
		hit := false
		for print, f := range lintSource(t, dir, trees[tree]) {
			if _, old := before[tree][print]; !old {
				fresh = append(fresh, f)
				hit = hit || f.Line == p.line+1 && strings.HasSuffix(filepath.ToSlash(f.File), filepath.ToSlash(rel))
			}
		}
		switch {
		case hit:
			noticed[fault.name]++
		case len(fresh) > 0:
			elsewhere++
			t.Logf("%s: no finding is on that line, but these are new: %+v", what, fresh)
		default:
			silent[fault.name]++
			t.Logf("%s: nothing is found", what)
		}
		given.NoError(t, os.WriteFile(p.file, original, 0o644))
	}
	t.Logf("-break-seed %d: %d faults; on the right line: %v; elsewhere: %d; without effect: %v", *breakSeed, made, noticed, elsewhere, silent)
	// A ServiceAccount that moves to another namespace breaks its bindings, and
	// these are where the fault shows.
	if elsewhere > max(1, made/20) {
		t.Errorf("%d of %d faults are found on other lines only", elsewhere, made)
	}
}
