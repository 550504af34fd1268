package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// mutations is how many faults the tests below make.
var mutations = share.Of(8, 100)

// run calls the program in this process.
func run(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return fed(t, dir, "", args...)
}

// fed is run with a standard input.
func fed(t *testing.T, dir, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": dir, "XDG_CACHE_HOME": os.DevNull, "GITHUB_TOKEN": secret, "KUBERNETES_VERSION": "v1.34.0"}[name]
		return v, ok
	}
	world := cli.IO{In: strings.NewReader(input), Out: &out, Err: &err, LookupEnv: env, Dir: dir}
	code = program.Main(context.Background(), args, world)
	return code, out.String(), err.String()
}

// secret must never be printed: no release asks for it.
const secret = "gho_a_token_nobody_should_see"

// fragments are what YAML, substitution and the tools around them stumble over.
var fragments = []string{
	"\x00", "\xff\xfe", "\ufeff", "\r\n", "\t", "\u2028", "---\n", "--- x\n", "...\n", "%YAML 1.1\n---\n", "&a ", "*a", "<<: *a\n", "&a [*a]",
	"!!binary x", "!!float ", "? ", ": ", "- ", "{", "}", "[", "]", "\"", "'", "|\n", ">-\n", "#", "0x", "1e999", ".nan", "null", "~", "yes", "2020-01-01",
	"${", "${A}", "${A:=${B}}", "${A:-", "${A/x/y}", "$${", "${#A}", "${A:1:", "${1}", "${A:=\n", "a: a: a", "kind: List\nitems: [1]\n",
	"name: ", "metadata:\n", "kind: Namespace\n", "apiVersion: v1\n", strings.Repeat("[", 3000), strings.Repeat("a", 70000), strings.Repeat("- ", 500), strings.Repeat("a: {", 200),
}

// mutate breaks a text in one to four places.
func mutate(rng *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(out) + 1)
		end := min(len(out), at+rng.IntN(60))
		switch rng.IntN(6) {
		case 0: // drop
			out = append(out[:at:at], out[end:]...)
		case 1: // repeat
			out = append(out[:end:end], append(bytes.Clone(out[at:end]), out[end:]...)...)
		case 2: // flip
			if at < len(out) {
				out[at] = byte(rng.IntN(256))
			}
		case 3: // cut
			if rng.IntN(4) == 0 {
				out = out[:at]
			}
		default:
			out = append(out[:at:at], append([]byte(fragments[rng.IntN(len(fragments))]), out[end:]...)...)
		}
	}
	return out
}

// TestMutations gives the program releases with random faults. Whatever they
// are, it answers: with an exit code of its own, valid JSON, errors on stderr,
// and the same again.
func TestMutations(t *testing.T) {
	share.SkipInRace(t)
	dir := t.TempDir()
	var paths []string
	for _, source := range []string{"cluster-api-provider-acme", "acme-k8s", "cluster-api-addon-provider-acme"} {
		path := given.Value(filepath.Abs(filepath.Join("../../examples", source)))(t)
		paths = append(paths, path)
	}
	t.Chdir(dir)
	for _, path := range paths {
		if code, _, stderr := run(t, dir, "build", path, "--version", "v0.1.0"); code != cli.ExitOK {
			t.Fatalf("build %s: %s", path, stderr)
		}
	}
	answers := map[string]int{}
	files, err := filepath.Glob(filepath.Join(dir, "out/*/*/*"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for seed := range mutations {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		file := files[rng.IntN(len(files))]
		good := given.Read(t, file)
		given.NoError(t, os.WriteFile(file, mutate(rng, good), 0o644))
		release := filepath.Dir(file)
		for _, args := range [][]string{
			{"lint", release, "-o", "json"}, {"lint", release}, {"vars", release, "-o", "json"}, {"images", release, "-o", "json"}, {"vars", release}, {"images", release, "-o", "markdown"},
			{"render", "provider", release}, {"render", "provider", release, "--raw"}, {"render", "cluster", release, "c"}, {"render", "cluster", release, "c", "--list-variables"},
		} {
			code, stdout, stderr := run(t, dir, args...)
			fail := func(format string, more ...any) {
				t.Errorf("seed %d, %s: "+format, append([]any{seed, args}, more...)...)
			}
			answers[args[0]] |= 1 << code
			switch {
			case code < cli.ExitOK || code > cli.ExitFailed || code == cli.ExitFindings && args[0] != "lint":
				fail("exit code %d", code)
			case code >= cli.ExitUsage && !strings.Contains(stderr, "error: "):
				fail("exit code %d, stderr %q", code, stderr)
			case code >= cli.ExitUsage && args[0] != "lint" && stdout != "" && !(code == cli.ExitFailed && strings.Contains(stdout, "\"failures\": [\n")):
				fail("exit code %d, and stdout has %.80q", code, stdout)
			case args[len(args)-1] == "json" && stdout != "":
				checkJSON(t, args, stdout)
			}
			if strings.Contains(stdout+stderr, secret) {
				fail("prints the token")
			}
			if again, stdoutAgain, stderrAgain := run(t, dir, args...); again != code || stdoutAgain != stdout || stderrAgain != stderr {
				fail("a second run gives something else")
			}
		}
		given.NoError(t, os.WriteFile(file, good, 0o644))
	}
	// Otherwise all this has shown nothing.
	if answers["lint"]&3 != 3 || answers["render"] != 1<<cli.ExitOK|1<<cli.ExitFailed || answers["vars"]&1 == 0 || answers["images"]&1 == 0 {
		t.Errorf("exit codes, as bits: %v", answers)
	}
}

// TestBrokenSources is the same for the files of a source tree.
func TestBrokenSources(t *testing.T) {
	share.SkipInRace(t)
	dir := t.TempDir()
	given.NoError(t, os.CopyFS(filepath.Join(dir, "src"), os.DirFS("../../examples/cluster-api-addon-provider-acme")))
	t.Chdir(dir)
	var files []string
	err := filepath.WalkDir("src", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	})
	given.NoError(t, err)
	answers := map[int]int{}
	for seed := range mutations {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		file := files[rng.IntN(len(files))]
		good := given.Read(t, file)
		given.NoError(t, os.WriteFile(file, mutate(rng, good), 0o644))
		for _, args := range [][]string{{"build", "src", "--version", "v0.1.0"}, {"init", "src", "--dry-run"}, {"lint", "src"}, {"images", "src"}} {
			code, stdout, stderr := run(t, dir, args...)
			answers[code]++
			switch {
			case code < cli.ExitOK || code > cli.ExitFailed:
				t.Errorf("seed %d, %s: exit code %d", seed, args, code)
			case code >= cli.ExitUsage && (!strings.Contains(stderr, "error: ") || stdout != "" && args[0] != "lint"):
				t.Errorf("seed %d, %s: exit code %d, stdout %.80q, stderr %q", seed, args, code, stdout, stderr)
			case strings.Contains(stdout+stderr, secret):
				t.Errorf("seed %d, %s: prints the token", seed, args)
			}
		}
		given.NoError(t, os.WriteFile(file, good, 0o644))
	}
	if answers[cli.ExitOK] == 0 || answers[cli.ExitUsage] == 0 || answers[cli.ExitFailed] == 0 {
		t.Errorf("exit codes: %v", answers)
	}
}

// checkJSON wants one object with a schemaVersion and nothing behind it.
func checkJSON(t *testing.T, args []string, text string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Errorf("%s: %v", args, err)
	}
	if version, ok := v["schemaVersion"].(float64); !ok || version < 1 || v["kind"] == "" || v["failures"] == nil || v["suppressed"] == nil {
		t.Errorf("%s: kind %v, schemaVersion %v, failures %v, suppressed %v", args, v["kind"], v["schemaVersion"], v["failures"], v["suppressed"])
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("%s: text behind the object", args)
	}
}
