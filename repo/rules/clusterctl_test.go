package rules_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/rules"
)

// TestClusterctl lets the real clusterctl judge the examples. It needs the
// program, v1.14, at $CLUSTERCTL.
func TestClusterctl(t *testing.T) {
	program := os.Getenv("CLUSTERCTL")
	if program == "" {
		t.Skip("set CLUSTERCTL to the program clusterctl, v1.14")
	}
	for _, r := range rules.All {
		if r.Proof != lint.Clusterctl {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			e, err := rules.LoadExample(r.ID)
			if err != nil {
				t.Fatal(err)
			}
			verdict := e.Oracle.Verdict
			if verdict == rules.Unproved || verdict == rules.UpgradeRefuses {
				t.Skipf("%s: %s", verdict, e.Oracle.Pattern)
			}
			pattern, err := regexp.Compile(e.Oracle.Pattern)
			if err != nil {
				t.Fatal(err)
			}
			bad, badErr := judge(t, program, e, e.Bad, e.Env)
			good, goodErr := judge(t, program, e, e.Good, append(e.GoodEnv, e.Env...))
			if goodErr != nil {
				t.Errorf("good: refused: %v", goodErr)
			}
			switch {
			case strings.HasSuffix(string(verdict), "-refuses"):
				if badErr == nil {
					t.Errorf("bad: accepted\n%s", bad)
				} else if !pattern.MatchString(badErr.Error()) {
					t.Errorf("bad: refused with another message: %v", badErr)
				}
			case badErr != nil:
				t.Errorf("bad: refused: %v", badErr)
			case !pattern.MatchString(bad):
				t.Errorf("bad: no damage\n%s", bad)
			case pattern.MatchString(good):
				t.Errorf("good: damage\n%s", good)
			}
		})
	}
}

// judge runs the command that the verdict of an example is about.
func judge(t *testing.T, program string, e *rules.Example, files rules.Files, env []string) (string, error) {
	dir := write(t, files)
	home := t.TempDir()
	run := func(config string, args ...string) (string, error) {
		file := filepath.Join(home, "clusterctl.yaml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, append(args, "--config", file)...)
		cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "none"), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOPROXY=off"}
		for _, v := range env {
			cmd.Env = append(cmd.Env, strings.ReplaceAll(v, `\n`, "\n"))
		}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%w: %s", err, stderr.String())
		}
		return stdout.String(), nil
	}
	if e.Oracle.Verdict == rules.ConfigRefuses {
		config := strings.ReplaceAll(files.Text["clusterctl.yaml"], "/srv/repository", dir)
		if out, err := run(config, "config", "repositories"); err != nil {
			return out, err
		}
		if strings.Contains(config, "https:") && !strings.Contains(config, "git.example.com") {
			return "", nil // needs the network
		}
		return run(strings.ReplaceAll(config, "-/srv", "-"+dir), "generate", "provider", "--infrastructure", "foo:v1.0.0")
	}
	label, version := "infrastructure-foo", "v1.0.0"
	for _, w := range e.Wants {
		if parts := strings.Split(w.Path, "/"); w.Rule == e.ID && len(parts) > 1 {
			label, version = parts[0], parts[1]
			break
		}
	}
	provider, err := layouts.ParseLabel(label)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := provider.Type.Info()
	config := func(version string) string {
		return fmt.Sprintf("providers:\n- name: %s\n  type: %s\n  url: file://%s/%s/%s/%s\n", provider.Name, provider.Type, dir, label, version, info.ComponentsFile)
	}
	template := []string{"generate", "cluster", "my-cluster", "--infrastructure", provider.Name + ":" + version, "--target-namespace", "default"}
	switch e.Oracle.Verdict {
	case rules.ProviderRefuses, rules.ProviderDamage:
		return run(config(version), "generate", "provider", info.Flag, provider.Name+":"+version)
	case rules.LatestRefuses, rules.LatestDamage:
		return run(config(layouts.Latest), "generate", "provider", info.Flag, provider.Name)
	case rules.TemplateRefuses, rules.TemplateDamage:
		return run(config(version), template...)
	case rules.ListDamage:
		return run(config(version), append(template, "--list-variables")...)
	}
	t.Fatalf("unknown verdict %q", e.Oracle.Verdict)
	return "", nil
}
