package oracle

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// TestRuleExamples lets clusterctl prove the rules that say it does: the bad
// example shows what the rule says, and the good one does not.
func TestRuleExamples(t *testing.T) {
	t.Parallel()
	for _, rule := range rules.All {
		if rule.Proof != lint.Clusterctl {
			continue
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			e := given.Value(examples.Load(rule.ID))(t)
			if e.Oracle.Verdict == examples.Unproved {
				if strings.TrimSpace(e.Oracle.Pattern) == "" {
					t.Error("no reason why clusterctl cannot show it")
				}
				return
			}
			pattern := regexp.MustCompile(e.Oracle.Pattern)
			bad, badErr := prove(t, e, e.Bad, e.Env)
			good, goodErr := prove(t, e, e.Good, append(e.GoodEnv, e.Env...))
			if goodErr != nil {
				t.Errorf("good: refused: %v", goodErr)
			}
			refuses := strings.HasSuffix(string(e.Oracle.Verdict), "-refuses")
			switch {
			case refuses && badErr == nil:
				t.Errorf("bad: not refused\n%s", bad)
			case refuses && !pattern.MatchString(badErr.Error()):
				t.Errorf("bad: refused for another reason than %q: %v", pattern, badErr)
			case refuses:
			case badErr != nil:
				t.Errorf("bad: refused: %v", badErr)
			case !pattern.MatchString(bad):
				t.Errorf("bad: no damage like %q\n%s", pattern, bad)
			case pattern.MatchString(good):
				t.Errorf("good: damage\n%s", good)
			}
		})
	}
}

// TestRuleRenderings renders every file in the examples of the rules in all ways.
func TestRuleRenderings(t *testing.T) {
	t.Parallel()
	for _, rule := range rules.All {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			e := given.Value(examples.Load(rule.ID))(t)
			for _, tree := range []examples.Files{e.Bad, e.Good} {
				for name, text := range tree.Text {
					switch layouts.KindOfFile(filepath.Base(name)) {
					case layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass:
						for _, v := range []values{{}, dummies([]byte(text))} {
							compareManifest(t, []byte(text), v)
						}
					}
				}
			}
		})
	}
}

// examplePath is where the clusterctl.yaml of examples says that they are.
const examplePath = "/srv/repository"

// online are URLs for which clusterctl asks a server.
var online = regexp.MustCompile(`https://(github\.com|gitlab\.)`)

// prove runs the command that a verdict is about and returns what it prints.
func prove(t *testing.T, e *examples.Example, tree examples.Files, env []string) (string, error) {
	t.Helper()
	root := newFolder(t)
	given.NoError(t, tree.Write(root))
	var vars []string
	for _, v := range env {
		vars = append(vars, strings.ReplaceAll(v, `\n`, "\n"))
	}
	run := func(cfg string, args ...string) (string, error) {
		out, err := binary(t).Run(background, cfg, vars, args...)
		return string(out), err
	}
	if e.Oracle.Verdict == examples.ConfigRefuses {
		text := strings.ReplaceAll(tree.Text["clusterctl.yaml"], examplePath, root)
		text = strings.ReplaceAll(text, "-/srv}", "-"+root+"}/.") // a default that is a part of the path
		cfg := filepath.Join(write(t, map[string]string{"clusterctl.yaml": text}), "clusterctl.yaml")
		if out, err := run(cfg, "config", "repositories"); err != nil || online.MatchString(text) {
			return out, err
		}
		return run(cfg, "generate", "provider", "--infrastructure", "foo:v1.0.0")
	}
	r := shown(t, e, root)
	switch e.Oracle.Verdict {
	case examples.ProviderRefuses, examples.ProviderDamage:
		return run(settings(t, r, ""), "generate", "provider", flagOf(t, r), r.Name+":"+r.Version)
	case examples.TargetDamage:
		return run(settings(t, r, ""), "generate", "provider", flagOf(t, r), r.Name+":"+r.Version, "-n", "another-system")
	case examples.RawRefuses:
		return run(settings(t, r, ""), "generate", "provider", flagOf(t, r), r.Name+":"+r.Version, "--raw")
	case examples.TemplateRefuses, examples.TemplateDamage:
		return run(settings(t, r, ""), "generate", "cluster", "my-cluster", flagOf(t, r), r.Name+":"+r.Version, "-n", "default")
	case examples.ListDamage:
		return run(settings(t, r, ""), "generate", "cluster", "my-cluster", flagOf(t, r), r.Name+":"+r.Version, "-n", "default", "--list-variables")
	case examples.MoveLeaves, examples.MoveRefuses:
		return moved(t, e, r, run)
	case examples.LatestRefuses, examples.LatestDamage:
		r.Version = layouts.Latest
		return run(settings(t, r, ""), "generate", "provider", flagOf(t, r), r.Name)
	case examples.InitRefuses:
		return "", initialize(t, root, provider(r), r.Version, nil)
	case examples.UpgradeRefuses:
		for _, installed := range files(t, filepath.Join(root, r.Label())) {
			if _, err := plan(t, root, provider(r), installed); err != nil {
				return "", err
			}
		}
		return "", nil
	}
	t.Fatalf("unknown verdict %q", e.Oracle.Verdict)
	return "", nil
}

// shown is the release that the first finding of an example is in.
func shown(t testing.TB, e *examples.Example, root string) real.Release {
	t.Helper()
	label, version := "infrastructure-foo", "v1.0.0"
	for _, w := range e.Wants {
		if parts := strings.Split(w.Path, "/"); w.Rule == e.ID && len(parts) > 1 {
			label, version = parts[0], parts[1]
			break
		}
	}
	p := given.Value(layouts.ParseLabel(label))(t)
	info, _ := p.Type.Info()
	return real.Release{Root: root, Type: string(p.Type), Name: p.Name, Version: version, Components: info.ComponentsFile}
}
