package rules_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/rules"
)

func mutate(r *rand.Rand, s string, frag []string) string {
	for range 1 + r.Intn(3) {
		i := r.Intn(len(s) + 1)
		j := min(len(s), i+r.Intn(4))
		switch r.Intn(4) {
		case 0:
			s = s[:i] + s[j:]
		case 1, 2:
			s = s[:i] + frag[r.Intn(len(frag))] + s[i:]
		case 3:
			lines := strings.SplitAfter(s, "\n")
			a, b := r.Intn(len(lines)), r.Intn(len(lines))
			lines[a], lines[b] = lines[b], lines[a]
			s = strings.Join(lines, "")
		}
	}
	return s
}

func TestScratch(t *testing.T) {
	seed := time.Now().UnixNano()
	r := rand.New(rand.NewSource(seed))
	meta := "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- major: 0\n  minor: 9\n  contract: v1beta1\n- major: 1\n  minor: 0\n  contract: v1beta2\n"
	tmpl := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}\n  labels:\n    a: ${FOO_A:=\"b\"}\ndata:\n  x: ${FOO_B}\n  y1: \"${FOO_C:=c}\"\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: two\nstringData:\n  k: |\n    v: ${FOO_D}\n"
	frag := []string{"${", "}", "$$", ":", "\"", "'", "---\n", "\n", "\t", " ", "  ", "- ", "#", "*a", "&a ", ".inf", "null", "~", "1.0", "yes", "{", "[", "]", "${FOO_X:-}", "\x00", "\xff", "\ufeff", "%", "!!int ", "|\n", ">", "%YAML 1.1\n", "? ", "--- a\n", "...\n", "${FOO_A}", "${FOO_Z/x/y}", "!foo ", "!!binary ", "<<: ", "\u0085", "\u2028", "-0", "0x1F", "\r\n", "\r"}
	dir := t.TempDir()
	home := t.TempDir()
	n, bad := 0, 0
	refusing := map[string]bool{}
	for _, rule := range rules.All {
		if e, err := rules.LoadExample(rule.ID); err == nil && strings.HasSuffix(string(e.Oracle.Verdict), "-refuses") && rule.Severity == lint.Error {
			refusing[rule.ID] = true
		}
	}
	for stop := time.Now().Add(60 * time.Second); time.Now().Before(stop) && bad < 25; {
		n++
		m, x := meta, tmpl
		isMeta := r.Intn(3) == 0
		if isMeta {
			m = mutate(r, m, frag)
		} else {
			x = mutate(r, x, frag)
		}
		files := rules.Files{Text: map[string]string{
			"infrastructure-foo/v1.0.0/metadata.yaml":                  m,
			"infrastructure-foo/v1.0.0/cluster-template.yaml":          x,
			"infrastructure-foo/v1.0.0/infrastructure-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: foo-system\n",
		}}
		if err := files.Write(dir); err != nil {
			t.Fatal(err)
		}
		cfg := filepath.Join(home, "c.yaml")
		os.WriteFile(cfg, []byte("providers:\n- name: foo\n  type: InfrastructureProvider\n  url: file://"+dir+"/infrastructure-foo/v1.0.0/infrastructure-components.yaml\n"), 0o600)
		args := []string{"generate", "cluster", "my-cluster", "-i", "foo:v1.0.0", "-n", "default"}
		if isMeta {
			args = []string{"generate", "provider", "--infrastructure", "foo:v1.0.0"}
		}
		cmd := exec.Command("/tmp/w/clusterctl", append(args, "--config", cfg)...)
		cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "KUBECONFIG=/none", "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "FOO_A=x-foo-a", "FOO_B=x-foo-b", "FOO_C=x-foo-c", "FOO_D=x-foo-d", "FOO_X=x-foo-x", "FOO_Y=x-foo-y"}
		// optional variables keep their defaults
		cmd.Env = cmd.Env[:4]
		s := x
		for _, v := range []string{"A", "B", "C", "D", "X", "Y", "Z", "OO_A", "O_A"} {
			_ = s
			_ = v
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		// required ones get lint's sample
		env := cmd.Env
		for try := 0; try < 3; try++ {
			cmd = exec.Command("/tmp/w/clusterctl", append(args, "--config", cfg)...)
			cmd.Env = env
			stderr.Reset()
			cmd.Stderr = &stderr
			err := cmd.Run()
			msg := stderr.String()
			if err != nil && strings.Contains(msg, "value for variables [") {
				_, rest, _ := strings.Cut(msg, "value for variables [")
				names, _, _ := strings.Cut(rest, "]")
				for _, v := range strings.Split(names, ", ") {
					env = append(env, strings.ToUpper(v)+"="+manifest.Sample(v))
				}
				continue
			}
			findings := lintFiles(t, files)
			worst, refuse := "", ""
			for _, f := range findings {
				if f.Severity == lint.Error && f.Rule.Proof == lint.Clusterctl {
					worst += show(f) + "\n"
					if refusing[f.Rule.ID] && f.Rule.ID != "VAR010" && f.Rule.ID != "META009" && f.Rule.ID != "META010" && f.Rule.ID != "META012" {
						refuse = show(f)
					}
				}
			}
			uncertain := false
			for _, f := range findings {
				uncertain = uncertain || strings.Contains(f.Message, "depends on the values") || f.Rule.ID == "VAR023"
			}
			if err != nil && worst == "" && !uncertain {
				bad++
				t.Errorf("REFUSED but clean (meta %v):\n%q\n%s\n%v", isMeta, map[bool]string{true: m, false: x}[isMeta], msg, fmt.Sprint(findings))
			}
			if err == nil && refuse != "" {
				bad++
				t.Errorf("ACCEPTED but error %s (meta %v):\n%q", refuse, isMeta, map[bool]string{true: m, false: x}[isMeta])
			}
			break
		}
	}
	t.Logf("%d cases, seed %d", n, seed)
}
