package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// gatePaths is a world with releases of infrastructure-acme: v0.1.0 in good and v0.1.1 in next,
// which a case makes bad in out, or in tree, where their source is.
type gatePaths struct {
	*attackedWorld
	t                 *testing.T
	dir, work, module string
	// version is that in out, from what is published or mirrored instead of out, and
	// earlier the folder of what is at the destination already.
	version, from, earlier string
}

// place is a destination, and what shows that a version is there.
type place struct {
	name string
	to   []string
	seen func(p *gatePaths) bool
}

const acme = "infrastructure-acme"

func (p *gatePaths) exists(name string) bool {
	_, err := os.Stat(filepath.Join(p.work, name))
	return err == nil
}

func (p *gatePaths) onGitHub() bool {
	for _, r := range p.hub.Releases("acme/provider") {
		if !r.Draft && r.Tag == p.version {
			return true
		}
	}
	return false
}

var places = []place{
	{"folder", []string{"repo"}, func(p *gatePaths) bool { return p.exists("repo/" + acme + "/" + p.version) }},
	{"static", []string{"static:www"}, func(p *gatePaths) bool { return p.exists("www/" + open.StaticFolder + "/" + acme + "/" + p.version) }},
	{"GitHub", []string{"https://github.com/acme/provider"}, (*gatePaths).onGitHub},
	{"GitLab", []string{"https://gitlab.example.com/acme/provider"}, func(p *gatePaths) bool {
		for _, k := range p.lab.Packages("acme/provider") {
			if k.Version == p.version && k.Status == "default" {
				return true
			}
		}
		return false
	}},
	{"OCI", []string{"oci://registry.test/capi/{provider}"}, func(p *gatePaths) bool {
		rec := httptest.NewRecorder()
		p.registry.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/v2/capi/"+acme+"/manifests/"+p.version, nil))
		return rec.Code == http.StatusOK
	}},
	{"several", []string{"https://github.com/acme/provider", "repo"}, func(p *gatePaths) bool {
		return p.onGitHub() || p.exists("repo/"+acme+"/"+p.version)
	}},
	{"bundle", []string{"b.tar"}, func(p *gatePaths) bool { return p.exists("b.tar") }},
}

// crossing is a release that does not pass a gate.
type crossing struct {
	gate, name string
	// want is in what is printed where it is refused or reported.
	want string
	// bad makes it of the good one in out; nil if only a tree can be so.
	bad func(p *gatePaths)
	// tree makes the source tree so, and returns the version to release; nil if it cannot be.
	tree func(p *gatePaths) string
}

func (p *gatePaths) at(name string) string {
	for _, dir := range []string{filepath.Join(p.work, "out", acme, p.version), filepath.Join(p.work, "tree")} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join(p.work, "out", acme, p.version, name)
}

func (p *gatePaths) edit(name string, f func(string) string) {
	p.t.Helper()
	given.File(p.t, p.at(name), f(string(given.Read(p.t, p.at(name)))))
}

// unsummed removes the checksums, so that nothing but a change is wrong.
func (p *gatePaths) unsummed() { given.NoError(p.t, os.Remove(p.at("SHA256SUMS"))) }

func set(text string) func(string) string { return func(string) string { return text } }

func add(text string) func(string) string { return func(s string) string { return s + text } }

// wide is a text in UTF-16.
func wide(text string) string {
	var b strings.Builder
	for _, r := range "\ufeff" + text {
		b.Write([]byte{byte(r), byte(r >> 8)})
	}
	return b.String()
}

const (
	componentsName = "infrastructure-components.yaml"
	templateName   = "cluster-template-topology.yaml"
	signIn         = "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n"
)

// changed is a crossing of a file that is changed, without checksums.
func changed(gate, name, want, file string, change func(string) string) crossing {
	return crossing{gate: gate, name: name, want: want, bad: func(p *gatePaths) {
		p.unsummed()
		p.edit(file, change)
	}}
}

// mirrored is a crossing of a mirror that is changed.
func mirrored(name, want string, change func(p *gatePaths, at string)) crossing {
	return crossing{gate: "recorded", name: name, want: want, bad: func(p *gatePaths) {
		p.must("mirror", "out", "--to", "m")
		p.from = "m"
		change(p, filepath.Join(p.work, "m", acme, p.version))
	}}
}

// following is a crossing of a version after one that is published.
func following(gate, name, want string, bad func(p *gatePaths)) crossing {
	return crossing{gate: gate, name: name, want: want, bad: func(p *gatePaths) {
		p.earlier, p.version = "../good", "v0.1.1"
		given.NoError(p.t, os.RemoveAll(filepath.Join(p.work, "out")))
		given.NoError(p.t, os.CopyFS(filepath.Join(p.work, "out"), os.DirFS(filepath.Join(p.dir, "next"))))
		p.unsummed()
		bad(p)
	}, tree: func(p *gatePaths) string {
		p.earlier = "../good"
		bad(p)
		return "v0.1.1"
	}}
}

const more = "- {major: 0, minor: 9, contract: v1beta2}\n"

// crossings are the cases of all gates.
var crossings = []crossing{
	mirrored("changed template", "was stated", func(p *gatePaths, at string) {
		text := string(given.Read(p.t, filepath.Join(at, templateName)))
		given.File(p.t, filepath.Join(at, templateName), strings.Replace(text, "a", "b", 1))
	}),
	mirrored("removed class", "missing clusterclass", func(p *gatePaths, at string) {
		given.NoError(p.t, os.Remove(filepath.Join(at, "clusterclass-quick-start.yaml")))
	}),
	mirrored("added flavor", "added cluster-template-x.yaml", func(p *gatePaths, at string) {
		given.File(p.t, filepath.Join(at, "cluster-template-x.yaml"), "kind: X\n")
	}),
	mirrored("changed lock", "another checksum", func(p *gatePaths, at string) {
		lock := filepath.Join(p.work, "m", "mirror.lock.json")
		given.File(p.t, lock, string(given.Read(p.t, lock))+"\n")
	}),
	mirrored("changed with the lock", "lacks the checksum", func(p *gatePaths, at string) {
		lock := filepath.Join(p.work, "m", "mirror.lock.json")
		text := regexp.MustCompile(`"sha256": "[0-9a-f]{8}`).ReplaceAllString(string(given.Read(p.t, lock)), `"sha256": "00000000`)
		given.File(p.t, lock, text)
	}),
	mirrored("removed version", "lacks "+acme+" v0.1.1", func(p *gatePaths, _ string) {
		p.must("mirror", "../next", "--to", "m")
		given.NoError(p.t, os.RemoveAll(filepath.Join(p.work, "m", acme, "v0.1.1")))
	}),
	{gate: "recorded", name: "published into a mirror", want: "does not list it", bad: func(p *gatePaths) {
		p.must("mirror", "out", "--to", "m")
		given.NoError(p.t, os.CopyFS(filepath.Join(p.work, "m"), os.DirFS(filepath.Join(p.dir, "next"))))
		p.from, p.version = "m", "v0.1.1"
	}},
	{gate: "listed", name: "web server without SHA256SUMS", want: "so only cluster-template.yaml, ", bad: func(p *gatePaths) {
		p.unsummed()
		site := filepath.Join(p.work, "site", open.StaticFolder)
		given.NoError(p.t, os.MkdirAll(site, 0o777))
		given.NoError(p.t, os.CopyFS(site, os.DirFS(filepath.Join(p.work, "out"))))
		p.hosts["gitlab.site.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			data, err := os.ReadFile(filepath.Join(p.work, "site", r.URL.Path))
			if err != nil {
				http.NotFound(rw, r)
			}
			_, _ = rw.Write(data)
		})
		p.from = "https://gitlab.site.test/" + open.StaticFolder + "/" + acme + "/v0.1.0/" + componentsName
	}},
	{gate: "text", name: "page in the place of a template", want: "HTML|not a mapping", bad: func(p *gatePaths) {
		p.unsummed()
		p.edit("cluster-template.yaml", set(signIn))
	}, tree: func(p *gatePaths) string {
		p.edit("templates/cluster-template-topology.yaml", set(signIn))
		return "v0.1.0"
	}},
	changed("text", "page in the place of components", "is an HTML or XML page", componentsName, set(signIn)),
	changed("text", "components in UTF-16", "not UTF-8", componentsName, wide),
	changed("text", "empty components", "is an empty file", componentsName, set("")),
	changed("text", "components of comments", "without a Kubernetes object", componentsName, set("# kind: Namespace\n---\n")),
	changed("text", "answer in the place of metadata", "without a Kubernetes object", "metadata.yaml", set("404: Not Found\n")),
	changed("text", "page in the place of an asset", "is an HTML or XML page", "crds.yaml", set(signIn)),
	{gate: "files", name: "folder", want: "is a folder", bad: func(p *gatePaths) {
		p.unsummed()
		given.NoError(p.t, os.Remove(p.at(templateName)))
		given.NoError(p.t, os.Mkdir(p.at(templateName), 0o777))
	}},
	{gate: "files", name: "broken link", want: "cannot be read", bad: func(p *gatePaths) {
		p.unsummed()
		if os.Symlink("nowhere", p.at("more.yaml")) != nil {
			p.t.Skip("no symbolic links here")
		}
	}},
	{gate: "checksums", name: "changed after build", want: "has the checksum", bad: func(p *gatePaths) { p.edit(templateName, add("# later\n")) }},
	{gate: "checksums", name: "removed after build", want: templateName + " is missing", bad: func(p *gatePaths) { given.NoError(p.t, os.Remove(p.at(templateName))) }},
	{gate: "checksums", name: "added after build", want: "has no line", bad: func(p *gatePaths) { given.File(p.t, p.at("x.txt"), "x") }},
	{gate: "checksums", name: "page in the place of the list", want: "instead of a list of checksums", bad: func(p *gatePaths) { p.edit("SHA256SUMS", set(signIn)) }},
	changed("findings", "two Namespaces", "COMP001|lint finds", componentsName, add("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other, labels: {cluster.x-k8s.io/provider: infrastructure-acme}}\n")),
	{gate: "findings", name: "wrong variable", want: "cannot read|lint finds", bad: func(p *gatePaths) {
		p.unsummed()
		p.edit("cluster-template.yaml", add("# ${VAR$FOO}\n"))
	}, tree: func(p *gatePaths) string {
		p.edit("templates/cluster-template-topology.yaml", add("# ${VAR$FOO}\n"))
		return "v0.1.0"
	}},
	{gate: "findings", name: "no metadata", want: "REPO003|lint finds", bad: func(p *gatePaths) {
		p.unsummed()
		given.NoError(p.t, os.Remove(p.at("metadata.yaml")))
	}},
	following("losses", "lost flavor", "REPO024", func(p *gatePaths) {
		name := p.at("cluster-template-machinepool.yaml")
		if p.exists("tree") {
			name = p.at("templates/flavors/machine-pool")
			p.edit("clusterctl-repo.yaml", func(s string) string {
				return strings.ReplaceAll(s, "    rename:\n      machine-pool: machinepool\n", "")
			})
		}
		given.NoError(p.t, os.RemoveAll(name))
	}),
	following("latest", "series without a release", "no longer resolve", func(p *gatePaths) { p.edit("metadata.yaml", add(more)) }),
	{gate: "content", name: "another content", want: "with other content", bad: func(p *gatePaths) {
		p.earlier = "../good"
		p.unsummed()
		p.edit(templateName, add("# other\n"))
	}, tree: func(p *gatePaths) string {
		p.earlier = "../good"
		p.edit("templates/"+templateName, add("# other\n"))
		return "v0.1.0"
	}},
	{gate: "images", name: "image of development", want: "not the image of v0.1.0", tree: func(p *gatePaths) string {
		p.edit("clusterctl-repo.yaml", func(s string) string { return strings.ReplaceAll(s, `    newTag: "{version}"`+"\n", "") })
		return "v0.1.0"
	}},
	{gate: "versions", name: "without v", want: "publish it as v0.1.0|lacks the leading v", bad: func(p *gatePaths) {
		given.NoError(p.t, os.Rename(filepath.Join(p.work, "out", acme, "v0.1.0"), filepath.Join(p.work, "out", acme, "0.1.0")))
		p.version = "0.1.0"
	}, tree: func(p *gatePaths) string { return "0.1.0" }},
	{gate: "series", name: "series that is not listed", want: "META00|metadata|lint finds", bad: func(p *gatePaths) {
		p.unsummed()
		p.edit("metadata.yaml", func(s string) string { return strings.ReplaceAll(s, "minor: 1", "minor: 7") })
	}, tree: func(p *gatePaths) string { return "v0.8.0" }},
}

func (p *gatePaths) must(args ...string) {
	p.t.Helper()
	if r := p.run(p.t, p.dir, args...); r.code != 0 {
		p.t.Fatalf("%q exits with %d: %s", args, r.code, r.printed)
	}
}

// fresh begins with empty servers, and with what a case publishes.
func (p *gatePaths) fresh(c *crossing, tree bool) (version string) {
	p.forget(p.t)
	for _, e := range given.Value(os.ReadDir(p.work))(p.t) {
		given.NoError(p.t, os.RemoveAll(filepath.Join(p.work, e.Name())))
	}
	p.version, p.from, p.earlier = "v0.1.0", "out", ""
	if tree {
		given.NoError(p.t, os.CopyFS(filepath.Join(p.work, "tree"), os.DirFS(filepath.Join(p.module, "examples", "cluster-api-provider-acme"))))
		p.version = c.tree(p)
		return p.version
	}
	given.NoError(p.t, os.CopyFS(filepath.Join(p.work, "out"), os.DirFS(filepath.Join(p.dir, "good"))))
	c.bad(p)
	return p.version
}

// TestPaths sends every release that does not pass a gate on every path to users. What a
// path refuses, no reader sees anywhere; what it lets pass arrives.
func TestPaths(t *testing.T) {
	share.SkipInRace(t)
	p := &gatePaths{t: t, module: given.Value(filepath.Abs("../.."))(t), attackedWorld: newAttackedWorld(t)}
	p.dir = attackedFolder(t, p.attackedWorld)
	p.work = filepath.Join(p.dir, "work")
	for version, out := range map[string]string{"v0.1.0": "../good", "v0.1.1": "../next"} {
		p.must("build", filepath.Join(p.module, "examples/cluster-api-provider-acme"), "--version", version, "--out", out)
	}
	every, n, tried := share.Of(10, 1), 0, 0
	try := func(c *crossing, verdict check.Verdict, to place, args ...string) {
		for _, dry := range []bool{false, true} {
			if n++; n%every != 0 {
				continue
			}
			tried++
			tree := args[0] == "tree"
			version := p.fresh(c, tree)
			line := slices.Clone(args)
			for i, word := range line {
				line[i] = strings.NewReplacer("FROM", p.from, "VERSION", version, "tree", "release").Replace(word)
			}
			if tree {
				line = []string{"release", "tree", "--version", version}
			}
			if p.earlier != "" && to.name != "bundle" {
				for _, at := range to.to {
					p.must("publish", p.earlier, "--to", at, "--allow", "broken-latest")
				}
			}
			for _, at := range to.to {
				line = append(line, "--to", at)
			}
			before := to.seen(p)
			if dry {
				line = append(line, "--dry-run")
			}
			r := p.run(p.t, p.dir, line...)
			refused := verdict == check.Refused || slices.Contains(line, "--fail-on") && verdict == check.Reported
			said := regexp.MustCompile(c.want).MatchString(r.printed)
			switch after := to.seen(p); {
			case refused && (r.code == cli.ExitOK || r.code > cli.ExitFailed || !said || after && !before):
				t.Errorf("%s: %q exits with %d, there is %v, want %q in %s", c.name, line, r.code, after, c.want, r.printed)
			case !refused && (r.code != cli.ExitOK || !dry && !after):
				t.Errorf("%s: %q exits with %d, there is %v: %s", c.name, line, r.code, after, r.printed)
			case verdict == check.Reported && !dry && !said:
				t.Errorf("%s: %q does not print %q: %s", c.name, line, c.want, r.printed)
			}
		}
	}
	had := map[string]bool{}
	for i := range crossings {
		c := &crossings[i]
		at := slices.IndexFunc(check.Gates, func(g check.Gate) bool { return g.Name == c.gate })
		if at < 0 {
			t.Fatalf("there is no gate %q", c.gate)
		}
		g := check.Gates[at]
		for _, to := range places {
			bundle := to.name == "bundle"
			if c.tree != nil && !bundle {
				had[g.Name+" tree"] = true
				try(c, g.Tree, to, "tree")
			}
			if c.bad == nil {
				continue
			}
			had[g.Name+" built"] = true
			if !bundle {
				try(c, g.Built, to, "publish", "FROM")
				if g.Name != "listed" { // release takes no URL
					try(c, g.Built, to, "release", "FROM", "--version", "VERSION")
				}
			}
			remote := strings.Contains(to.to[0], "://")
			if len(to.to) > 1 || bundle && p.earlier != "" && g.Mirror != check.Passed || g.Name == "versions" {
				continue // mirror has one destination, a bundle is new, and mirror names no such version
			}
			args := []string{"mirror", "FROM@VERSION"}
			if remote {
				args = append(args, "--out", "beside")
			}
			if to.name == "static" {
				args = append(args, "--url", "https://gitlab.acme.test")
			}
			try(c, g.Mirror, to, args...)
			if g.Mirror == check.Reported && g.Name != "latest" {
				try(c, g.Mirror, to, append(args, "--fail-on", "error")...)
			}
		}
	}
	for _, g := range check.Gates {
		if g.Tree != check.Passed && !had[g.Name+" tree"] || g.Built != check.Passed && !had[g.Name+" built"] {
			t.Errorf("the gate %s has no case", g.Name)
		}
	}
	t.Logf("%d of %d", tried, n)
}

// The table in the documentation has exactly these gates; -update writes it.
func TestPathsAreDocumented(t *testing.T) {
	const file, head = "../../docs/publishing.md", "| a release is not passed on if | what lets it pass | `release` of a tree | `release` of a folder, `publish` | `mirror` |\n|---|---|---|---|---|\n"
	text := string(given.Read(t, file))
	before, after, ok := strings.Cut(text, head)
	_, after, ended := strings.Cut(after, "\n\n")
	if !ok || !ended {
		t.Fatal("docs/publishing.md has no table of gates")
	}
	var rows strings.Builder
	for _, g := range check.Gates {
		fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s |\n", g.Refuses, g.Override, g.Tree, g.Built, g.Mirror)
	}
	want := before + head + rows.String() + "\n" + after
	if *update {
		given.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	} else if want != text {
		t.Error("the table of gates in docs/publishing.md is out of date: run make generate")
	}
}
