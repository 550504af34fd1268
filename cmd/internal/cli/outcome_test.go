package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutcomes tries all combinations of findings, a file that cannot be read, an
// output that fails and the flag --fail-on: the findings are always printed, every
// format says what is missing, and the exit code is that of the documented table.
func TestOutcomes(t *testing.T) {
	if os.Geteuid() < 0 {
		t.Skip("no permissions here")
	}
	const broken = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n"
	for i := range 1 << 4 {
		bit := func(n int) bool { return i>>n&1 == 1 }
		findings, unreadable, failing, never := bit(0), bit(1), bit(2), bit(3)
		dir := t.TempDir()
		t.Chdir(dir)
		release := filepath.Join("repo", "infrastructure-foo", "v0.1.0")
		write := func(name, text string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(release, "metadata.yaml"), "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 0, minor: 1, contract: v1beta2}]\n")
		write(filepath.Join(release, "infrastructure-components.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: foo-system, labels: {cluster.x-k8s.io/provider: infrastructure-foo}}\n")
		if findings {
			write(filepath.Join(release, "cluster-template.yaml"), broken)
		}
		if unreadable {
			// More than is read into memory; it takes no space on disk.
			big := filepath.Join(release, "cluster-template-big.yaml")
			write(big, "")
			if err := os.Truncate(big, 1<<40); err != nil {
				t.Skip("no sparse files here")
			}
		}
		args := []string{"lint", "repo", "-o", "text", "-o", "json=report.json"}
		if failing {
			args = append(args, "-o", "sarif=missing/report.sarif")
		}
		if never {
			args = append(args, "--fail-on", "never")
		}
		want := exitOK
		if findings && !never {
			want = exitFindings
		}
		if unreadable || failing {
			want = exitFailed
		}
		var out, errs bytes.Buffer
		code := Main(t.Context(), args, IO{In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(string) (string, bool) { return "", false }, Dir: dir})
		if code != want {
			t.Errorf("findings %v, unreadable %v, failing %v, never %v: exit code %d, want %d\n%s%s", findings, unreadable, failing, never, code, want, out.String(), errs.String())
		}
		if !strings.Contains(out.String(), "of 1 release") || findings != strings.Contains(out.String(), "cluster-template.yaml:") {
			t.Errorf("findings %v: the text is %s", findings, out.String())
		}
		if unreadable != strings.Contains(out.String(), "incomplete: ") {
			t.Errorf("unreadable %v: the text is %s", unreadable, out.String())
		}
		if failing != strings.Contains(errs.String(), "missing/report.sarif") {
			t.Errorf("failing %v: %s", failing, errs.String())
		}
		data, err := os.ReadFile("report.json")
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Kind     string   `json:"kind"`
			Failures []string `json:"failures"`
		}
		if err := json.Unmarshal(data, &doc); err != nil || doc.Kind != "lint" || unreadable != (len(doc.Failures) > 0) {
			t.Errorf("unreadable %v: %+v, %v", unreadable, doc, err)
		}
	}
}
