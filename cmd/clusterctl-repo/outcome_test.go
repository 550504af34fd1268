package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// failingWriter is standard output that cannot be written to.
type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// sink is where a report goes: whether writing it fails, and how.
type sink struct {
	name string
	// file follows the format in -o; empty for standard output.
	file string
	// out is standard output if that fails, and err what is then said.
	out error
	err string
}

var sinks = []sink{
	{name: "standard output"},
	{name: "file", file: "report"},
	{name: "long name", file: strings.Repeat("x", 300), err: "xxx"},
	{name: "closed pipe", out: syscall.EPIPE, err: syscall.EPIPE.Error()},
	{name: "full standard output", out: syscall.ENOSPC, err: syscall.ENOSPC.Error()},
	{name: "full disk", file: "/dev/full", err: "/dev/full"},
}

// TestOutcomes tries every combination of findings below, at and above --fail-on
// and none, a file that cannot be read, each way in which an output fails, and all
// formats: the exit code is that of the table in docs/ci.md, every format says what
// is missing, and findings are printed even if the output fails that was asked for.
func TestOutcomes(t *testing.T) {
	share.SkipInRace(t)
	if os.Geteuid() < 0 {
		t.Skip("no permissions here")
	}
	const broken = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n"
	judged := map[string]int{}
	for _, most := range []string{"", "warning", "error"} { // of the severities that are found
		findings := most == "error"
		for _, unreadable := range []bool{false, true} {
			dir := t.TempDir()
			t.Chdir(dir)
			release := filepath.Join("repo", "infrastructure-foo", "v0.1.0")
			given.File(t, filepath.Join(release, "metadata.yaml"), "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 0, minor: 1, contract: v1beta2}]\n")
			given.File(t, filepath.Join(release, "infrastructure-components.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: foo-system, labels: {cluster.x-k8s.io/provider: infrastructure-foo}}\n")
			if findings {
				given.File(t, filepath.Join(release, "cluster-template.yaml"), broken)
			}
			if unreadable {
				// More than is read into memory; it takes no space on disk.
				big := filepath.Join(release, "cluster-template-big.yaml")
				given.File(t, big, "")
				if err := os.Truncate(big, 1<<40); err != nil {
					t.Skip("no sparse files here")
				}
			}
			lint := func(out io.Writer, args ...string) (code int, errs string) {
				var stderr bytes.Buffer
				args = append(args, "--ignore", "COMP039")
				if most == "" {
					args = append(args, "--ignore", "TPL002")
				}
				code = program.Main(t.Context(), append([]string{"lint", "repo"}, args...), cli.IO{In: strings.NewReader(""), Out: out, Err: &stderr, LookupEnv: func(string) (string, bool) { return "", false }, Dir: dir})
				return code, stderr.String()
			}
			var all bytes.Buffer
			lint(&all, "-o", "json", "--fail-on", "never")
			var doc struct {
				Failures []string
				Findings []struct{ Severity string }
			}
			if err := json.Unmarshal(all.Bytes(), &doc); err != nil || unreadable != (len(doc.Failures) > 0) {
				t.Fatalf("unreadable %v: %+v, %v", unreadable, doc, err)
			}
			for _, level := range []string{"error", "warning", "never"} {
				reached, how := false, "none"
				for _, f := range doc.Findings {
					switch ranks := map[string]int{"info": 1, "warning": 2, "error": 3, "never": 4}; {
					case ranks[f.Severity] > ranks[level]:
						reached, how = true, "above"
					case ranks[f.Severity] == ranks[level]:
						reached = true
						if how != "above" {
							how = "at"
						}
					case how == "none":
						how = "below"
					}
				}
				for _, format := range report.FindingsFormats {
					for _, s := range sinks {
						if s.file == "/dev/full" && runtime.GOOS != "linux" {
							continue
						}
						judged[how]++
						want := cli.ExitOK
						if reached {
							want = cli.ExitFindings
						}
						if unreadable || s.err != "" {
							want = cli.ExitFailed
						}
						o := format
						if s.file != "" {
							o += "=" + s.file
						}
						var stdout bytes.Buffer
						var out io.Writer = &stdout
						if s.out != nil {
							out = failingWriter{s.out}
						}
						code, errs := lint(out, "-o", o, "--fail-on", level)
						where := "findings " + how + ", " + format + " to " + s.name
						if code != want {
							t.Errorf("%s, unreadable %v: exit code %d, want %d\n%s%s", where, unreadable, code, want, stdout.String(), errs)
						}
						if s.err != "" && !strings.Contains(errs, s.err) {
							t.Errorf("%s: standard error is %q", where, errs)
						}
						text := stdout.String()
						if s.file == "report" {
							data, err := os.ReadFile("report")
							if err := errors.Join(err, os.Remove("report")); err != nil {
								t.Fatalf("%s: %v", where, err)
							}
							if text != "" {
								t.Errorf("%s: standard output is %q", where, text)
							}
							text = string(data)
						}
						if s.out != nil {
							continue
						}
						// If the file fails, the text stands in for it. The page names files
						// below the name of their release.
						found := strings.Contains(text, "v0.1.0/cluster-template.yaml") || strings.Contains(text, ">cluster-template.yaml<")
						if findings != found || unreadable && !strings.Contains(text+errs, "cluster-template-big.yaml") {
							t.Errorf("%s, unreadable %v: the report is %s", where, unreadable, text)
						}
					}
				}
			}
		}
	}
	for _, how := range []string{"none", "below", "at", "above"} {
		if judged[how] == 0 {
			t.Errorf("no findings are %s --fail-on; %v", how, judged)
		}
	}
}
