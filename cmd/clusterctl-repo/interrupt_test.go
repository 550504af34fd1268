package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// interrupted is how a verb is tried: its arguments, in which DEST stands for a
// place that is new for each try, and whether it waits until it is interrupted.
type interrupted struct {
	args  []string
	waits bool
}

// interruptions has a row for every verb. Standard input has no end.
func interruptions(example string) map[string]interrupted {
	return map[string]interrupted{
		"build":             {args: []string{"build", example, "--version", "v0.1.0", "--out", "DEST"}},
		"config":            {args: []string{"config", "repo"}},
		"contract check":    {args: []string{"contract", "check", "-"}, waits: true},
		"contract list":     {args: []string{"contract", "list", "-o", "json"}},
		"contract show":     {args: []string{"contract", "show", "InfraMachine", "-o", "json"}},
		"diff":              {args: []string{"diff", "repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/v0.2.0", "-o", "json"}},
		"explain":           {args: []string{"explain", "META006"}},
		"extension check":   {args: []string{"extension", "check", "https://127.0.0.1:1", "--timeout", "5s"}},
		"extension config":  {args: []string{"extension", "config", "repo"}},
		"extension hooks":   {args: []string{"extension", "hooks", "-o", "json"}},
		"extension openapi": {args: []string{"extension", "openapi"}},
		"images":            {args: []string{"images", "repo", "-o", "json"}},
		"init":              {args: []string{"init", example, "-o", "DEST.yaml"}},
		"lint":              {args: []string{"lint", example, "--cache=off", "-o", "json", "-o", "sarif=DEST.sarif"}},
		"lint --watch":      {args: []string{"lint", "repo", "--watch"}, waits: true},
		"man":               {args: []string{"man", "DEST"}},
		"mirror":            {args: []string{"mirror", "repo@>=0", "--to", "DEST"}},
		"mirror prune":      {args: []string{"mirror", "prune", "mirror", "--keep", "1", "--dry-run"}},
		"mirror repair":     {args: []string{"mirror", "repair", "mirror"}},
		"mirror verify":     {args: []string{"mirror", "verify", "mirror", "-o", "json"}},
		"move-plan":         {args: []string{"move-plan", "-"}, waits: true},
		"publish":           {args: []string{"publish", "repo", "--to", "DEST"}},
		"release":           {args: []string{"release", "src", "--version", "v0.2.0", "--to", "DEST", "--fail-on", "never"}},
		"render cluster":    {args: []string{"render", "cluster", "repo/infrastructure-foo/v0.1.0", "c"}},
		"render provider":   {args: []string{"render", "provider", "repo/infrastructure-foo/v0.1.0"}},
		"render topology":   {args: []string{"render", "topology", "repo/infrastructure-foo/v0.1.0", "c"}},
		"rules":             {args: []string{"rules", "-o", "json"}},
		"schema":            {args: []string{"schema", "lint"}},
		"vars":              {args: []string{"vars", "repo", "-o", "json"}},
		"version":           {args: []string{"version", "-o", "json"}},
	}
}

// TestInterruptEveryVerb interrupts every command at random moments. It ends, says
// so unless it was done, and leaves nothing half written. After an interrupt nothing
// begins.
func TestInterruptEveryVerb(t *testing.T) {
	example := given.Value(filepath.Abs("../../examples/cluster-api-provider-acme"))(t)
	tries := share.Of(1, 20)
	w := newAttacked(t)
	w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
	w.must("mirror", "repo@>=0", "--to", "mirror")
	rows := interruptions(example)
	eachCommand(func(name string, c *cobra.Command) {
		if _, ok := rows[name]; !ok && acts(c) && name != "help" && !strings.HasPrefix(name, "completion") {
			t.Errorf("%s has no row in the table of this test", name)
		}
	})
	for verb, row := range rows {
		t.Run(verb, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(len(verb))))
			args := func(dest string) []string {
				out := slices.Clone(row.args)
				for i := range out {
					out[i] = strings.ReplaceAll(out[i], "DEST", dest)
				}
				return out
			}
			name := strings.ReplaceAll(verb, " ", "-")

			// Nothing begins after an interrupt.
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			var out, errs bytes.Buffer
			world := cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs, LookupEnv: func(string) (string, bool) { return "", false }, Dir: w.dir}
			if code := program.Main(ended, args(name+"-never"), world); code != cli.ExitFailed || out.Len() > 0 || !strings.Contains(errs.String(), "error: interrupted") {
				t.Errorf("interrupted before it began, it exits with %d: %s%s", code, out.String(), errs.String())
			}
			if left, _ := filepath.Glob(name + "-never*"); left != nil {
				t.Errorf("interrupted before it began, it left %q", left)
			}

			whole, within := cli.ExitOK, 100*time.Millisecond
			if !row.waits {
				start := time.Now()
				whole, _, _, _ = stopped(t, time.Hour, strings.NewReader(""), args(name+"-whole")...)
				within = time.Since(start)
			}
			worst := time.Duration(0)
			for i := range tries {
				endless, feed := io.Pipe()
				t.Cleanup(func() { feed.Close() })
				after := time.Duration(random.Int64N(int64(within) + 1))
				dest := fmt.Sprintf("%s-%d", name, i)
				code, out, errs, took := stopped(t, after, endless, args(dest)...)
				switch {
				case code == cli.ExitFailed && strings.Contains(errs, "error: interrupted"):
				case row.waits && verb == "lint --watch": // it reports what it saw
				case !row.waits && code == whole:
				default:
					t.Errorf("after %s: exit code %d: %s%s", after, code, out, errs)
				}
				if slices.Contains(row.args, "json") && out != "" && !json.Valid([]byte(out)) {
					t.Errorf("after %s: half a document: %q", after, out)
				}
				_, written, _ := strings.Cut(errs, "already written: ")
				for file := range strings.SplitSeq(strings.TrimSpace(written), ", ") {
					if _, err := os.Stat(file); file != "" && err != nil {
						t.Errorf("after %s: it says that %s is written", after, file)
					}
				}
				if !row.waits {
					sameReleases(t, name+"-whole", dest)
				}
				if took > soon {
					t.Errorf("interrupted after %s, it took %s more", after, took)
				}
				worst = max(worst, took)
			}
			t.Logf("at most %s after the interrupt", worst)
		})
	}
}

// sameReleases compares the releases that can be seen in a folder with those that a
// whole run leaves: each is there with all its files, or not at all.
func sameReleases(t *testing.T, whole, part string) {
	t.Helper()
	found := given.Value(filepath.Glob(filepath.Join(part, "*-*", "v*")))(t)
	for _, release := range found {
		rel := given.Value(filepath.Rel(part, release))(t)
		got, err := os.ReadDir(release)
		want, wantErr := os.ReadDir(filepath.Join(whole, rel))
		given.NoError(t, errors.Join(err, wantErr))
		if !slices.EqualFunc(got, want, func(a, b fs.DirEntry) bool { return fs.FormatDirEntry(a) == fs.FormatDirEntry(b) }) {
			t.Errorf("%s has %q, not %q", release, got, want)
		}
	}
}
