package main

import (
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const root = "../.."

func written(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	given.NoError(t, run(root, out))
	return out
}

// Every rule has a page, at the address that SARIF names.
func TestRulesHavePages(t *testing.T) {
	out := written(t)
	config := given.Read(t, filepath.Join(root, "docs/mkdocs.yml"))
	base := regexp.MustCompile(`(?m)^site_url: (.*)$`).FindSubmatch(config)
	for _, rule := range slices.Concat(rules.Catalogue, checks.Family.Rules) {
		if want := string(base[1]) + "rules/" + rule.ID + "/"; report.HelpURI(rule.ID) != want {
			t.Errorf("SARIF says %s, the site has %s", report.HelpURI(rule.ID), want)
		}
		page, err := os.ReadFile(filepath.Join(out, "rules", rule.ID+".md"))
		if err != nil || !strings.HasPrefix(string(page), "# "+rule.ID+": ") {
			t.Errorf("%s: %v, %.60s", rule.ID, err, page)
		}
	}
}

// Links of the prepared pages lead to prepared pages.
func TestPreparedLinks(t *testing.T) {
	out := written(t)
	links := 0
	err := filepath.WalkDir(out, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text := fenced.ReplaceAllString(string(data), "")
		for _, m := range inline.FindAllStringSubmatch(regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "code"), -1) {
			file, _, _ := strings.Cut(m[2], "#")
			if strings.Contains(file, "://") || file == "" {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[2])
			}
		}
		return nil
	})
	if err != nil || links < 500 {
		t.Errorf("%d links, %v", links, err)
	}
}

func TestTargets(t *testing.T) {
	s := site{root: os.DirFS(root), pages: map[string]string{"docs/commands.md": "commands.md", "docs/rules.md": "rules.md", "docs/rules/meta.md": "rules/meta.md", "docs/using.md": "using.md", "README.md": "index.md"},
		parts: map[string]string{"meta006": "rules/META006.md", "clusterctl-repo-render-provider": "commands/render-provider.md"}}
	for _, tt := range []struct{ from, to, link, want string }{
		{"README.md", "index.md", "docs/using.md#formats", "using.md#formats"},
		{"docs/using.md", "using.md", "../README.md", "index.md"},
		{"docs/using.md", "using.md", "rules/meta.md#meta006", "rules/META006.md"},
		{"docs/using.md", "using.md", "rules.md#meta006", "rules/META006.md"},
		{"docs/rules/meta.md", "rules/META006.md", "../rules.md", "../rules.md"},
		{"docs/using.md", "using.md", "commands.md#clusterctl-repo-render-provider", "commands/render-provider.md"},
		{"docs/commands.md", "commands/render-provider.md", "commands.md", "../commands.md"},
		{"docs/using.md", "using.md", "../repo/lint/run.go", source + "/blob/main/repo/lint/run.go"},
		{"docs/using.md", "using.md", "../repo/lint", source + "/tree/main/repo/lint"},
		{"docs/using.md", "using.md", "https://example.com/a.md", "https://example.com/a.md"},
	} {
		if got := s.target(tt.from, tt.to, tt.link); got != tt.want {
			t.Errorf("%s in %s leads to %s, want %s", tt.link, tt.from, got, tt.want)
		}
	}
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor    = regexp.MustCompile(`\bid="([^"]*)"`)
	// loaded is what a browser gets from elsewhere without being asked. For the
	// component "source" the theme's script does.
	loaded = regexp.MustCompile(`\bsrc="(?:https?:)?//[^"]*"|<link [^>]*rel="(?:stylesheet|icon|preconnect|preload)"[^>]*href="(?:https?:)?//[^"]*"|data-md-component="source"`)
)

// TestBuiltLinks follows every link of the site in out/site, to the anchor.
func TestBuiltLinks(t *testing.T) {
	built := filepath.Join(root, "out/site")
	if _, err := os.Stat(filepath.Join(built, "index.html")); err != nil {
		t.Skip("skipped: out/site is not there; run make site")
	}
	pages := map[string]string{}
	err := filepath.WalkDir(built, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		data, err := os.ReadFile(name)
		pages[filepath.ToSlash(strings.TrimPrefix(name, built))] = string(data)
		return err
	})
	given.NoError(t, err)
	anchors := map[string]map[string]bool{}
	for name, text := range pages {
		anchors[name] = map[string]bool{}
		for _, m := range anchor.FindAllStringSubmatch(text, -1) {
			anchors[name][html.UnescapeString(m[1])] = true
		}
	}
	links, broken := 0, 0
	for name, text := range pages {
		for _, m := range loaded.FindAllString(text, -1) {
			t.Errorf("%s loads something from another host: %s", name, m)
		}
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			to := html.UnescapeString(m[1])
			if name == "/404.html" || strings.Contains(to, ":") || strings.HasPrefix(to, "//") {
				continue
			}
			links++
			file, id, _ := strings.Cut(to, "#")
			file, _, _ = strings.Cut(file, "?")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
				if strings.HasSuffix(file, "/") || path.Ext(file) == "" {
					target = path.Join(target, "index.html")
				}
			}
			_, isPage := pages[target]
			if _, err := os.Stat(filepath.Join(built, filepath.FromSlash(target))); err != nil || isPage && id != "" && !anchors[target][id] {
				if broken++; broken < 30 {
					t.Errorf("%s: the link %s leads nowhere", name, to)
				}
			}
		}
	}
	if len(pages) < 400 || links < 10000 {
		t.Errorf("followed %d links on %d pages", links, len(pages))
	}
	t.Logf("followed %d links on %d pages, %d lead nowhere", links, len(pages), broken)
}
