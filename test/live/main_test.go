package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/live/rig"
)

// keptPrograms names a folder in which programs are kept between runs, for those who
// write tests. Programs in it are not built again, except the one under test.
const keptPrograms = "LIVE_PROGRAMS"

// kept names a folder for the recordings, reports and messages of the tests.
const kept = "LIVE_KEEP"

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if rig.Inside() != "" {
		if err := rig.Loopback(); err != nil {
			fmt.Fprintln(os.Stderr, "start the loopback interface:", err)
			return 1
		}
		defer func() { stopShared() }()
		// Parallel tests mostly wait, so more than there are processors may do that.
		if err := flag.Set("test.parallel", "8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}
	dir := os.Getenv(keptPrograms)
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "live"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
	}
	for _, p := range rig.Programs() {
		begin := time.Now()
		if _, err := rig.Build(context.Background(), dir, p, os.Getenv(keptPrograms) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Printf("built %s in %s\n", p.Name, time.Since(begin).Round(time.Second))
	}
	code, err := rig.Enter(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

var (
	scratch    string
	stopShared = func() {}
	// cluster is the management cluster that all tests share; they do not run side by side.
	cluster = sync.OnceValues(func() (*rig.Rig, error) {
		dir, err := os.MkdirTemp("", "live")
		if err != nil {
			return nil, err
		}
		scratch = dir
		r, err := rig.Start(context.Background(), rig.Inside(), dir)
		stopShared = func() {
			if r != nil {
				if err := r.Stop(); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}
			os.RemoveAll(dir)
		}
		return r, err
	})
)

func shared(t *testing.T) *rig.Rig {
	t.Helper()
	return given.Value(cluster())(t)
}

// namespace creates a namespace for a test. It is deleted at the end, but what hangs in
// it may stay until the server ends.
func namespace(t *testing.T, r *rig.Rig, name string) string {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	namespaces := r.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	given.Value(namespaces.Create(t.Context(), o, metav1.CreateOptions{}))(t)
	t.Cleanup(func() { _ = namespaces.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	return name
}

// finding is what the tests look at of a finding in the JSON report.
type finding struct {
	Rule     string   `json:"rule"`
	Severity string   `json:"severity"`
	Object   string   `json:"object"`
	Message  string   `json:"message"`
	Evidence []string `json:"evidence"`
}

func (f finding) String() string {
	return f.Rule + " " + f.Severity + " " + f.Object + ": " + f.Message
}

// what is the rule and the kind of the object.
func (f finding) what() string {
	kind, _, _ := strings.Cut(f.Object, " ")
	return f.Rule + " " + kind
}

// course is a run of the tool.
type course struct {
	findings []finding
	stderr   string
	code     int
	// recording is the path of the file with the events.
	recording string
}

// tool runs a contract command that judges, in front of a context that may be canceled to
// interrupt it like ^C.
func tool(ctx context.Context, t *testing.T, r *rig.Rig, args ...string) *course {
	t.Helper()
	dir := t.TempDir()
	c := &course{recording: filepath.Join(dir, "life.jsonl.gz")}
	report := filepath.Join(dir, "report.json")
	args = append([]string{"contract"}, args...)
	args = append(args, "--kubeconfig", r.Kubeconfig, "--record", c.recording, "-o", "json="+report, "-v")
	cmd := exec.CommandContext(ctx, r.Program(rig.Tool), args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Minute
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	name := strings.ReplaceAll(t.Name(), "/", "-")
	keep := os.Getenv(kept)
	if keep != "" {
		log := given.Value(os.Create(filepath.Join(keep, name+".log")))(t)
		defer log.Close()
		cmd.Stderr = io.MultiWriter(&stderr, log)
	}
	begin := time.Now()
	err := cmd.Run()
	c.stderr = stderr.String()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		c.code = exit.ExitCode()
	case err != nil && ctx.Err() == nil:
		t.Fatal(err)
	}
	t.Logf("%s: %s, exit code %d", args[1], time.Since(begin).Round(time.Second), c.code)
	if keep != "" {
		for ending, from := range map[string]string{".jsonl.gz": c.recording, ".json": report} {
			if data, err := os.ReadFile(from); err == nil {
				_ = os.WriteFile(filepath.Join(keep, name+ending), data, 0o600)
			}
		}
	}
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("no report: %v\n%s", err, c.stderr)
	}
	var parsed struct {
		Findings []finding `json:"findings"`
	}
	given.NoError(t, json.Unmarshal(data, &parsed))
	c.findings = parsed.Findings
	return c
}

// bounds are shorter than the defaults, because everything is in memory.
var bounds = []string{"--bound=pause=8s", "--bound=settle=15s", "--bound=delete=60s"}

// drive lets contract drive act with a template in a namespace that it makes.
func drive(t *testing.T, r *rig.Rig, ns, template string, args ...string) *course {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	given.NoError(t, os.WriteFile(file, []byte(template), 0o600))
	args = slices.Concat([]string{"drive", "--namespace", namespace(t, r, ns), file, "--yes-this-cluster-is-disposable", "--bound", "hold=12s", "--bound", "provision=3m"}, bounds, args)
	return tool(t.Context(), t, r, args...)
}

// expect compares what was found with what is known, by rule and kind. All that is known
// must be found, unless it is in the set of what may be.
func (c *course) expect(t *testing.T, want []string, may ...string) {
	t.Helper()
	found := map[string]bool{}
	for _, f := range c.findings {
		found[f.what()] = true
		if !slices.Contains(want, f.what()) && !slices.Contains(may, f.what()) {
			t.Errorf("not expected: %s\n\t%s", f, strings.Join(f.Evidence, "\n\t"))
		}
	}
	for _, w := range want {
		if !found[w] {
			t.Errorf("not found: %s", w)
		}
	}
	if t.Failed() {
		t.Logf("%s", strings.Join(slices.DeleteFunc(strings.Split(c.stderr, "\n"), func(line string) bool {
			return strings.HasPrefix(line, "BEH") && (strings.Contains(line, " held ") || strings.Contains(line, " not decided"))
		}), "\n"))
	}
}

// long skips what is not in the short course.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("TESTS") != "all" {
		t.Skip("without TESTS=all only the unchanged controllers are judged")
	}
}

// decode reads YAML objects.
func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	in := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var object map[string]any
		if err := in.Decode(&object); err != nil {
			return out
		}
		if object != nil {
			out = append(out, &unstructured.Unstructured{Object: object})
		}
	}
}
