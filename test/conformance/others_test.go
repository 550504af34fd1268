package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// ghAt returns gh as a client of the fake GitHub.
func (w *world) ghAt(t *testing.T) program {
	t.Helper()
	gh := find(t, "gh", "install Debian's gh", w.proxy.Env()...)
	dir := t.TempDir()
	hosts := gitHubHost + ":\n  user: publisher\n  oauth_token: " + secret + "\n"
	given.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yml"), []byte(hosts), 0o600))
	return gh.with("GH_CONFIG_DIR="+dir, "GH_NO_UPDATE_NOTIFIER=1", "GH_PROMPT_DISABLED=1")
}

// infrastructure returns the release of the infrastructure provider among the
// examples, and its files.
func infrastructure(t *testing.T) (r release, contents map[string]string) {
	t.Helper()
	all := releases(t, path(t, built))
	i := slices.IndexFunc(all, func(r release) bool { return r.Type == layouts.Infrastructure })
	return all[i], files(t, all[i].dir)
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// TestGHReads has gh work with a release of the program, and the program with what
// gh made of it.
func TestGHReads(t *testing.T) {
	r, want := infrastructure(t)
	w := newWorld(t, github.Repository{Owner: "acme", Name: "provider"})
	gh := w.ghAt(t)
	dest := []string{"publish", r.dir, "--to", "https://github.com/acme/provider"}
	w.tool.must(t, dest...)

	var seen struct {
		TagName             string
		IsDraft             bool
		IsPrerelease        bool
		Assets              []struct{ Name, State string }
		PublishedAt, Author any
	}
	view := func() {
		t.Helper()
		out := gh.must(t, "release", "view", r.version, "-R", "acme/provider", "--json", "tagName,isDraft,isPrerelease,assets,publishedAt,author")
		if err := json.Unmarshal([]byte(out), &seen); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	view()
	var names []string
	for _, a := range seen.Assets {
		if names = append(names, "/"+a.Name); a.State != github.Uploaded {
			t.Errorf("%s is %s", a.Name, a.State)
		}
	}
	slices.Sort(names)
	if seen.TagName != r.version || seen.IsDraft || seen.IsPrerelease || seen.PublishedAt == nil || !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		t.Errorf("gh sees %+v", seen)
	}
	if out := gh.must(t, "release", "list", "-R", "acme/provider"); !strings.Contains(out, r.version+"\tLatest\t"+r.version) {
		t.Errorf("gh lists %s", out)
	}
	back := t.TempDir()
	gh.must(t, "release", "download", r.version, "-R", "acme/provider", "--dir", back)
	sameFiles(t, r.dir, back)
	sums := find(t, "sha256sum", "install coreutils")
	sums.must(t, "--check", "--strict", "--quiet", absolute(t, back))

	// Who edits the text or the kind of a release does not touch its files.
	gh.must(t, "release", "edit", r.version, "-R", "acme/provider", "--notes", "New words.", "--title", "A title", "--prerelease")
	if view(); !seen.IsPrerelease {
		t.Error("gh cannot edit the release")
	}
	if out := w.tool.must(t, dest...); !strings.Contains(out, "already published") {
		t.Errorf("after an edit: %s", out)
	}
	if got, _ := w.hub.Published("acme/provider", r.version); got.Body != "New words." || !got.Prerelease {
		t.Errorf("the edit is gone: %+v", got)
	}
	extra := filepath.Join(t.TempDir(), "extra.yaml")
	given.NoError(t, os.WriteFile(extra, []byte("a: b\n"), 0o600))
	gh.must(t, "release", "upload", r.version, extra, "-R", "acme/provider")
	if out := w.tool.exits(t, 3, dest...); !strings.Contains(out, "only published extra.yaml") {
		t.Errorf("with another file: %s", out)
	}
	gh.must(t, "release", "delete", r.version, "-R", "acme/provider", "--yes", "--cleanup-tag")
	if out := w.tool.must(t, dest...); strings.Contains(out, "already") {
		t.Errorf("after the end of the release: %s", out)
	}
}

// absolute writes a checksum file with absolute names beside nothing, for
// sha256sum has no option for the folder.
func absolute(t *testing.T, dir string) string {
	t.Helper()
	data := given.Read(t, filepath.Join(dir, layouts.ChecksumFile))
	out := filepath.Join(t.TempDir(), "sums")
	given.NoError(t, os.WriteFile(out, []byte(strings.ReplaceAll(string(data), "  ", "  "+dir+"/")), 0o600))
	return out
}

// TestGHMade has gh make releases, and the program meet them.
func TestGHMade(t *testing.T) {
	r, contents := infrastructure(t)
	entries := given.Value(filepath.Glob(filepath.Join(r.dir, "*")))(t)
	other := filepath.Join(t.TempDir(), layouts.MetadataFile)
	given.NoError(t, os.WriteFile(other, []byte(metadata), 0o600))
	rest := slices.DeleteFunc(slices.Clone(entries), func(f string) bool { return filepath.Base(f) == layouts.MetadataFile })
	for _, tt := range []struct {
		name string
		// gh is what gh is given after "release create", flags what the program is.
		gh, flags []string
		code      int
		says      string
		published bool
	}{
		{name: "equal", gh: entries, says: "already published", published: true},
		{name: "other content", gh: append([]string{other}, rest...), code: 3, says: "changed metadata.yaml", published: true},
		{name: "incomplete", gh: rest, code: 3, says: "allow completion with --allow completion", published: true},
		{name: "incomplete, to complete", gh: rest, flags: []string{"--allow=completion"}, says: "published", published: true},
		{name: "draft", gh: append([]string{"--draft"}, entries...), code: 3, says: "adopt it with --allow draft"},
		{name: "empty draft", gh: []string{"--draft"}, code: 3, says: "adopt it with --allow draft"},
		{name: "draft, to adopt", gh: append([]string{"--draft"}, entries...), flags: []string{"--allow=draft"}, says: "published", published: true},
		{name: "draft with other content, to adopt", gh: append([]string{"--draft", other}, rest...), flags: []string{"--allow=draft"}, says: "published", published: true},
		{name: "empty draft, to adopt", gh: []string{"--draft"}, flags: []string{"--allow=draft"}, says: "published", published: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, github.Repository{Owner: "acme", Name: "provider"})
			gh := w.ghAt(t)
			gh.must(t, append([]string{"release", "create", r.version, "-R", "acme/provider", "--notes", "Words of gh."}, tt.gh...)...)
			before := w.hub.Releases("acme/provider")
			args := append([]string{"publish", r.dir, "--to", "https://github.com/acme/provider"}, tt.flags...)
			if out := w.tool.exits(t, tt.code, args...); !strings.Contains(out, tt.says) {
				t.Errorf("no %q in %s", tt.says, out)
			}
			got, published := w.hub.Published("acme/provider", r.version)
			if published != tt.published || len(w.hub.Releases("acme/provider")) != 1 {
				t.Fatalf("published: %v, of %d releases", published, len(w.hub.Releases("acme/provider")))
			}
			if !strings.Contains(w.hub.Releases("acme/provider")[0].Body, "Words of gh.") {
				t.Error("the words of gh are gone")
			}
			if tt.code != 0 {
				if after := w.hub.Releases("acme/provider"); len(after[0].Assets) != len(before[0].Assets) || after[0].Body != before[0].Body {
					t.Errorf("a refusal changed the release: %+v", after)
				}
				return
			}
			for name, data := range contents {
				if a, ok := got.Asset(strings.TrimPrefix(name, "/")); !ok || a.Digest != "sha256:"+sum(data) {
					t.Errorf("%s: %+v", name, a)
				}
			}
		})
	}
}

// look lists a package and its files as python-gitlab sees them, changes nothing
// but what the second script says, and prints what it saw.
const look = `
import json, os, sys, hashlib, gitlab
url, project, package, version = sys.argv[1:5]
gl = gitlab.Gitlab(url, private_token=os.environ["TOKEN"])
p = gl.projects.get(project)
found = [k for k in p.packages.list(package_type="generic", get_all=True) if k.name == package and k.version == version]
seen = {"packages": len(found), "status": [k.status for k in found], "files": {}}
for f in found[0].package_files.list(get_all=True):
    data = p.generic_packages.download(package, version, f.file_name)
    if isinstance(data, str): data = data.encode()
    assert hashlib.sha256(data).hexdigest() == f.file_sha256 and len(data) == f.size, f.file_name
    assert f.file_name not in seen["files"], f.file_name + " twice"
    seen["files"][f.file_name] = f.file_sha256
print(json.dumps(seen))
`

// upload makes a package of the files of a folder.
const upload = `
import os, sys, gitlab
url, project, package, version = sys.argv[1:5]
p = gitlab.Gitlab(url, private_token=os.environ["TOKEN"]).projects.get(project)
for name in sys.argv[5:]:
    p.generic_packages.upload(package, version, os.path.basename(name), name)
`

// pythonAt returns python-gitlab as a client of the fake GitLab.
func (w *world) pythonAt(t *testing.T) program {
	t.Helper()
	python := find(t, "/usr/bin/python3", "install Debian's python3-gitlab", append(w.proxy.Env(), "TOKEN="+secret)...)
	if out, err := python.run(t, "-c", "import gitlab"); err != nil {
		missing(t, "no python3-gitlab; install Debian's: "+out)
	}
	return python
}

// TestPythonReads has python-gitlab read a package of the program.
func TestPythonReads(t *testing.T) {
	r, contents := infrastructure(t)
	w := newWorld(t)
	python := w.pythonAt(t)
	dest := []string{"publish", r.dir, "--to", "https://" + gitLabHost + "/" + labProject}
	for _, says := range []string{"published", "already published"} {
		if out := w.tool.must(t, dest...); !strings.Contains(out, says) {
			t.Errorf("no %q in %s", says, out)
		}
		out := python.must(t, "-c", look, "https://"+gitLabHost, labProject, r.Label(), r.version)
		var seen struct {
			Packages int
			Status   []string
			Files    map[string]string
		}
		if err := json.Unmarshal([]byte(out), &seen); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if seen.Packages != 1 || seen.Status[0] != "default" || len(seen.Files) != len(contents) {
			t.Errorf("python-gitlab sees %+v", seen)
		}
		for name, data := range contents {
			if seen.Files[strings.TrimPrefix(name, "/")] != sum(data) {
				t.Errorf("%s has %s", name, seen.Files[strings.TrimPrefix(name, "/")])
			}
		}
	}
}

// TestPythonMade has python-gitlab make packages, and the program meet them.
func TestPythonMade(t *testing.T) {
	r, _ := infrastructure(t)
	entries := given.Value(filepath.Glob(filepath.Join(r.dir, "*")))(t)
	other := filepath.Join(t.TempDir(), layouts.MetadataFile)
	given.NoError(t, os.WriteFile(other, []byte(metadata), 0o600))
	for _, tt := range []struct {
		name  string
		files []string
		code  int
		says  string
	}{
		{"equal", entries, 0, "already published"},
		{"uploaded twice", append(slices.Clone(entries), entries...), 0, "already published"},
		{"other content", append(slices.Clone(entries), other), 3, "changed metadata.yaml"},
		{"mended", append(append([]string{}, other), entries...), 0, "already published"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			python := w.pythonAt(t)
			python.must(t, append([]string{"-c", upload, "https://" + gitLabHost, labProject, r.Label(), r.version}, tt.files...)...)
			if out := w.tool.exits(t, tt.code, "publish", r.dir, "--to", "https://"+gitLabHost+"/"+labProject); !strings.Contains(out, tt.says) {
				t.Errorf("no %q in %s", tt.says, out)
			}
		})
	}
}
