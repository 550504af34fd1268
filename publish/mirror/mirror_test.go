package mirror

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

func selector(t testing.TB, text string) Selector {
	t.Helper()
	return given.Value(ParseSelector(text))(t)
}

// twoPlaces are a source that two providers share, with three versions, and one
// of a third.
func twoPlaces() (shared, own *place) {
	releases := map[string][]string{}
	for _, v := range []string{"v1.0.0", "v1.1.0", "v1.2.0"} {
		releases[v] = append(filesOf(core, v), filesOf(bar, v)[:2]...)
	}
	return newPlace("https://shared", releases), newPlace("https://own", map[string][]string{"v0.9.0": filesOf(foo, "v0.9.0"), "v1.2.0": filesOf(foo, "v1.2.0")})
}

func wantsOf(shared, own *place, t testing.TB) []Want {
	return []Want{{From: shared, Version: selector(t, ">=1.1")}, {From: own, Provider: foo}}
}

func TestMirror(t *testing.T) {
	shared, own := twoPlaces()
	dir := given.MemoryDir(t)
	result := mirrored(t, wantsOf(shared, own, t), toFolder(t, dir))
	var got []string
	for _, o := range result.Outcomes {
		got = append(got, fmt.Sprintf("%s %s %s %d %t", o.Provider, o.Version, o.From, o.Files, o.Unchanged))
	}
	want := []string{
		"bootstrap-bar v1.1.0 https://shared 3 false",
		"bootstrap-bar v1.2.0 https://shared 3 false",
		"cluster-api v1.1.0 https://shared 3 false",
		"cluster-api v1.2.0 https://shared 3 false",
		"infrastructure-foo v1.2.0 https://own 3 false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(result.Warnings) > 0 {
		t.Errorf("warnings %q", result.Warnings)
	}
	unsigned := slices.DeleteFunc(slices.Clone(layouts.RootFiles), func(name string) bool { return name == layouts.SignatureFile })
	if got := slices.Sorted(slices.Values(result.Written)); !slices.Equal(got, slices.Sorted(slices.Values(unsigned))) {
		t.Errorf("written: %v", got)
	}
	if n := allWhole(t, dir, shared, own); n != 5 {
		t.Errorf("%d releases", n)
	}
	checkSums(t, dir)
	files := tree(t, dir)
	if len(files) != 5*3+len(unsigned) {
		t.Errorf("it holds %v", names(files))
	}
	if got, want := files["images.txt"], "registry.example.com/bar/controller:v1.1.0\nregistry.example.com/bar/controller:v1.2.0\nregistry.example.com/cluster-api/controller:v1.1.0\nregistry.example.com/cluster-api/controller:v1.2.0\nregistry.example.com/foo/controller:v1.2.0\n"; got != want {
		t.Errorf("images:\n%s", got)
	}
	want = []string{"cluster-api file://" + dir + "/cluster-api/v1.2.0/core-components.yaml", "bar file://" + dir + "/bootstrap-bar/v1.2.0/bootstrap-components.yaml", "foo file://" + dir + "/infrastructure-foo/v1.2.0/infrastructure-components.yaml"}
	slices.Sort(want)
	if diff := cmp.Diff(want, providersIn(t, files[layouts.ConfigFile])); diff != "" {
		t.Errorf("clusterctl.yaml -want +got:\n%s", diff)
	}
	// Nothing in the folder is odd to who reads it.
	r, err := folder.Open(t.Context(), dir)
	if err != nil || len(r.Oddities) > 0 || len(r.Providers) != 3 {
		t.Errorf("%+v %v", r, err)
	}
}

// providersIn reads a clusterctl.yaml as clusterctl does.
func providersIn(t testing.TB, text string) (out []string) {
	t.Helper()
	config := readConfig(t, text)
	providers := given.Value(config.Providers())(t)
	for _, p := range providers {
		if _, err := layouts.ParseProviderURL(p.URL, p.Provider); err != nil {
			t.Error(err)
		}
		out = append(out, p.Name+" "+p.URL)
	}
	slices.Sort(out)
	return out
}

func readConfig(t testing.TB, text string) *clusterctlconfig.Config {
	t.Helper()
	config, err := clusterctlconfig.Read(layouts.ConfigFile, []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return config
}

// times returns when each file was written.
func times(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name := range tree(t, dir) {
		info := given.Value(os.Stat(filepath.Join(dir, name)))(t)
		out[name] = info.ModTime().String()
	}
	return out
}

func TestSecondRunTransfersNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		stated bool
		// lost is removed or forged between the runs.
		lost   string
		forged bool
	}{
		"the source states checksums":                       {true, "", false},
		"the lock remembers":                                {false, "", false},
		"the images are lost":                               {true, layouts.ImageInventoryFile, false},
		"the images are forged":                             {true, layouts.ImageInventoryFile, true},
		"the checksums are lost, so the images are suspect": {true, layouts.ChecksumFile, false},
	} {
		t.Run(name, func(t *testing.T) {
			shared, own := twoPlaces()
			shared.stated, own.stated = tc.stated, tc.stated
			dir := given.MemoryDir(t)
			mirrored(t, wantsOf(shared, own, t), toFolder(t, dir))
			want := times(t, dir)
			lost := filepath.Join(dir, tc.lost)
			if tc.forged {
				given.File(t, lost, strings.ReplaceAll(string(given.Read(t, lost)), "example", "evil"))
			} else if tc.lost != "" {
				given.NoError(t, os.Remove(lost))
			}
			opens := shared.opens() + own.opens()
			result := mirrored(t, wantsOf(shared, own, t), toFolder(t, dir))
			if n := shared.opens() + own.opens() - opens; n > 0 {
				t.Errorf("it opened %d files", n)
			}
			for _, o := range result.Outcomes {
				if !o.Unchanged {
					t.Errorf("%+v", o)
				}
			}
			if tc.lost == "" && len(result.Written) > 0 || tc.lost != "" && !slices.Equal(result.Written, []string{tc.lost}) {
				t.Errorf("it wrote %v", result.Written)
			}
			got := times(t, dir)
			delete(got, tc.lost)
			delete(want, tc.lost)
			if !maps.Equal(got, want) {
				t.Errorf("files were touched: %v, then %v", want, got)
			}
			checkSums(t, dir)
		})
	}
}

// Without the lock file, equal checksums are enough to know that only the
// components have to be read, to find out whose they are.
func TestLostLock(t *testing.T) {
	for _, provider := range []layouts.Provider{foo, {}} {
		_, own := twoPlaces()
		wants := []Want{{From: own, Provider: provider, Version: selector(t, "v1.2.0")}}
		dir := given.MemoryDir(t)
		mirrored(t, wants, toFolder(t, dir))
		before := tree(t, dir)
		for _, name := range layouts.RootFiles {
			os.Remove(filepath.Join(dir, name))
		}
		opens := own.opens()
		result := mirrored(t, wants, toFolder(t, dir))
		limit := 0
		if provider == (layouts.Provider{}) {
			limit = 1
		}
		if n := own.opens() - opens; n != limit {
			t.Errorf("%s: it opened %d files, want %d", provider, n, limit)
		}
		if !result.Outcomes[0].Unchanged {
			t.Errorf("%+v", result.Outcomes)
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNewVersionsAreAdded(t *testing.T) {
	shared, own := twoPlaces()
	dir := given.MemoryDir(t)
	mirrored(t, []Want{{From: own, Provider: foo, Version: selector(t, "v0.9.0")}}, toFolder(t, dir))
	mirrored(t, []Want{{From: shared, Provider: bar, Version: selector(t, "1.0.x")}}, toFolder(t, dir))
	result := mirrored(t, []Want{{From: own}, {From: own, Provider: foo}, {From: shared, File: "core-components.yaml"}}, toFolder(t, dir))
	if len(result.Outcomes) != 2 || result.Outcomes[0].Unchanged || result.Outcomes[1].Unchanged {
		t.Errorf("%+v", result.Outcomes)
	}
	step := given.MemoryDir(t)
	opts := toFolder(t, step)
	mirrored(t, []Want{
		{From: own, Provider: foo, Version: selector(t, ">=0.1")},
		{From: shared, Provider: bar, Version: selector(t, "v1.0.0")}, {From: shared, Provider: core, Version: selector(t, "latest")},
	}, opts)
	sameTree(t, dir, step)
	if n := allWhole(t, dir, shared, own); n != 4 {
		t.Errorf("%d releases", n)
	}
}

// What the lock lists and the mirror lacks is a loss until it is pruned: no run
// forgets it, verify reports it, and repair restores it.
func TestLostReleases(t *testing.T) {
	ctx := t.Context()
	_, own := twoPlaces()
	dir := given.MemoryDir(t)
	all := []Want{{From: own, Provider: foo, Version: selector(t, ">0.1")}}
	mirrored(t, all, toFolder(t, dir))
	before := tree(t, dir)
	given.NoError(t, os.RemoveAll(filepath.Join(dir, "infrastructure-foo", "v0.9.0")))
	result := mirrored(t, []Want{{From: own, Provider: foo}}, toFolder(t, dir))
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "infrastructure-foo v0.9.0 is missing from the mirror") {
		t.Errorf("%q", result.Warnings)
	}
	report := given.Value(Check(ctx, dir, 2))(t)
	if len(report.Broken) != 1 || report.Broken[0].Version != "v0.9.0" {
		t.Errorf("%+v", report.Broken)
	}
	// A loss is not signed, but one that was signed before may still be listed.
	opts := toFolder(t, dir)
	opts.Sign = func([]byte) ([]byte, error) { return []byte("signed"), nil }
	opts.Verify = func(context.Context, *repo.Release, []layouts.Provider) error { return nil }
	if _, err := Run(ctx, []Want{{From: own, Provider: foo}}, opts); err == nil || !strings.Contains(err.Error(), "it lacks infrastructure-foo v0.9.0") {
		t.Errorf("%v", err)
	}
	opts = toFolder(t, dir)
	opts.Repair = true
	mirrored(t, []Want{{From: own, Provider: foo, Version: selector(t, "v0.9.0")}}, opts)
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	// Prune forgets it, there or not.
	given.NoError(t, os.RemoveAll(filepath.Join(dir, "infrastructure-foo", "v0.9.0")))
	given.Value(Prune(ctx, report.Broken, nil, toFolder(t, dir)))(t)
	if report, err := Check(ctx, dir, 2); err != nil || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report.Problems, err)
	}
	checkSums(t, dir)
}

func TestChangedUpstream(t *testing.T) {
	for name, tc := range map[string]struct {
		change     func(files []string) []string
		difference publish.Difference
	}{
		"a file": {func(f []string) []string { f[3] += "# \n"; return f }, publish.Difference{Changed: []string{"metadata.yaml"}}},
		"a file of equal size": {func(f []string) []string { f[3] = strings.Replace(f[3], "beta2", "beta1", 1); return f },
			publish.Difference{Changed: []string{"metadata.yaml"}}},
		"gone":    {func(f []string) []string { return f[:4] }, publish.Difference{Missing: []string{"cluster-template.yaml"}}},
		"new":     {func(f []string) []string { return append(f, "notes.txt", "x") }, publish.Difference{Extra: []string{"notes.txt"}}},
		"renamed": {func(f []string) []string { f[4] = "clusterclass-a.yaml"; return f }, publish.Difference{Missing: []string{"cluster-template.yaml"}}},
	} {
		for _, near := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s near %t", name, near), func(t *testing.T) {
				_, own := twoPlaces()
				own.stated = !near
				wants := []Want{{From: own, Near: near, Provider: foo}}
				dir := given.MemoryDir(t)
				mirrored(t, wants, toFolder(t, dir))
				before := tree(t, dir)
				own.releases["v1.2.0"] = tc.change(slices.Clone(own.releases["v1.2.0"]))
				_, err := Run(t.Context(), wants, toFolder(t, dir))
				changed, ok := errors.AsType[*ChangedError](err)
				if !ok || changed.Release != "infrastructure-foo v1.2.0" || !cmp.Equal(changed.Difference, tc.difference) || !strings.Contains(err.Error(), "--allow changed") {
					t.Errorf("%v", err)
				}
				if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
					t.Error(diff)
				}
				opts := toFolder(t, dir)
				opts.AcceptChanged = true
				opts.Folder = nil
				if _, err := Run(t.Context(), wants, opts); !errors.As(err, new(*publish.ConflictError)) {
					t.Errorf("a destination that replaces nothing: %v", err)
				}
				opts.Folder = folderOf(t, dir)
				mirrored(t, wants, opts)
				allWhole(t, dir, own)
				checkSums(t, dir)
				result := mirrored(t, wants, toFolder(t, dir))
				if !result.Outcomes[0].Unchanged {
					t.Errorf("%+v", result.Outcomes)
				}
			})
		}
	}
}

// A file of somebody else who shares the release is no change of this provider.
func TestChangeOfOthers(t *testing.T) {
	shared, _ := twoPlaces()
	wants := []Want{{From: shared, Provider: core}}
	dir := given.MemoryDir(t)
	mirrored(t, wants, toFolder(t, dir))
	files := shared.releases["v1.2.0"]
	i := slices.Index(files, "bootstrap-components.yaml")
	files[i+1] += "# changed\n"
	if result := mirrored(t, wants, toFolder(t, dir)); !result.Outcomes[0].Unchanged {
		t.Errorf("%+v", result.Outcomes)
	}
}

func TestTamperedMirror(t *testing.T) {
	_, own := twoPlaces()
	wants := []Want{{From: own, Provider: foo}}
	for name, tamper := range map[string]func(dir string) error{
		"changed": func(dir string) error { return os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("x"), 0o644) },
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "metadata.yaml")) },
		"added":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "more.yaml"), nil, 0o644) },
	} {
		dir := given.MemoryDir(t)
		mirrored(t, wants, toFolder(t, dir))
		given.NoError(t, tamper(filepath.Join(dir, "infrastructure-foo", "v1.2.0")))
		if _, err := Run(t.Context(), wants, toFolder(t, dir)); !errors.As(err, new(*publish.ConflictError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDryRun(t *testing.T) {
	shared, own := twoPlaces()
	dir := given.MemoryDir(t)
	opts := toFolder(t, filepath.Join(dir, "new"))
	opts.DryRun = true
	wants := wantsOf(shared, own, t)
	result := mirrored(t, wants, opts)
	if len(result.Outcomes) != 5 || len(tree(t, dir)) != 0 {
		t.Errorf("%+v, it holds %v", result, names(tree(t, dir)))
	}
	for _, step := range append(shared.steps, own.steps...) {
		if strings.HasPrefix(step, "open") && !strings.HasSuffix(step, ".yaml") {
			t.Errorf("it did: %s", step)
		}
	}
	opts.DryRun = false
	mirrored(t, wants, opts)
	opts.DryRun = true
	before := tree(t, dir)
	for _, o := range mirrored(t, wants, opts).Outcomes {
		if !o.Unchanged {
			t.Errorf("%+v", o)
		}
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	own.releases["v1.2.0"][3] += "# changed"
	if _, err := Run(t.Context(), wants, opts); !errors.As(err, new(*ChangedError)) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	shared, own := twoPlaces()
	own.releases["v3.0.0"] = []string{"metadata.yaml", metadataOf("v3.0.0", "v1beta2")}
	own.releases["v4.0.0"] = []string{"infrastructure-components.yaml", "kind: Namespace\n", "metadata.yaml", "kind: x"}
	late := map[string][]string{"v9.0.0": {"metadata.yaml", metadataOf("v9.0.0", "v1beta2"), "core-components.yaml", "kind: Namespace\n"}}
	late["v9.0.0"][1] = strings.ReplaceAll(late["v9.0.0"][1], "9", "10") // a series without a release
	for name, tc := range map[string]struct {
		want Want
		text string
	}{
		"version":           {Want{From: own, Version: selector(t, "v9.9.9")}, "https://own has no release v9.9.9"},
		"range":             {Want{From: own, Version: selector(t, "<0.1")}, "has no version in the range \"<0.1\"; it has v0.9.0, v1.2.0"},
		"provider":          {Want{From: shared, Provider: layouts.Provider{Type: layouts.IPAM, Name: "x"}}, "it holds nothing of ipam-x; it has bootstrap-bar, cluster-api"},
		"file":              {Want{From: shared, File: "x-components.yaml"}, "the components file x-components.yaml does not exist"},
		"components":        {Want{From: own, Version: selector(t, "v3.0.0")}, "has no components file"},
		"name":              {Want{From: own, Version: selector(t, "v4.0.0")}, "do not show which provider"},
		"any version":       {Want{From: newPlace("https://empty", nil)}, "find the latest version at https://empty"},
		"latest":            {Want{From: newPlace("https://late", late)}, "; choose with @VERSION from v9.0.0"},
		"cert-manager.yaml": {Want{From: own, Provider: layouts.CertManager, Version: selector(t, "v1.2.0")}, "has no file cert-manager.yaml"},
	} {
		dir := given.MemoryDir(t)
		_, err := Run(t.Context(), []Want{tc.want}, toFolder(t, dir))
		if err == nil || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
		if files := tree(t, dir); len(files) > 0 {
			t.Errorf("%s: it left %v", name, names(files))
		}
	}
	// Who has no name in the components gets the one that is wanted.
	dir := given.MemoryDir(t)
	result := mirrored(t, []Want{{From: own, Provider: foo, Version: selector(t, "v4.0.0")}}, toFolder(t, dir))
	if o := result.Outcomes[0]; o.Provider != foo {
		t.Errorf("%+v", o)
	}
}

// Clusterctl knows a provider by the name that its configuration gives it.
func TestProviderUnderAnotherName(t *testing.T) {
	_, own := twoPlaces()
	mine := layouts.Provider{Type: layouts.Infrastructure, Name: "mine"}
	dir := given.MemoryDir(t)
	wants := []Want{{From: own, Provider: mine}}
	mirrored(t, wants, toFolder(t, dir))
	given.Value(os.Stat(filepath.Join(dir, "infrastructure-mine", "v1.2.0", "metadata.yaml")))(t)
	opens := own.opens()
	if result := mirrored(t, wants, toFolder(t, dir)); !result.Outcomes[0].Unchanged || own.opens() != opens {
		t.Errorf("%+v, opened %d", result.Outcomes, own.opens()-opens)
	}
}

func TestCertManager(t *testing.T) {
	manifest := "kind: Deployment\nmetadata: {name: c}\nspec: {template: {spec: {containers: [{name: c, image: \"quay.io/jetstack/controller:v1\"}]}}}\n"
	from := newPlace("https://cm", map[string][]string{"v1.21.1": {"cert-manager.yaml", manifest, "cert-manager.crds.yaml", "x", "helm.tgz", "y"}})
	_, own := twoPlaces()
	dir := given.MemoryDir(t)
	wants := []Want{{From: from, Provider: layouts.CertManager, File: "cert-manager.yaml", Version: selector(t, "v1.21.1")}, {From: own, Provider: foo}}
	opts := toFolder(t, dir)
	opts.Settings.ImageRegistry = "mirror.example.com:5000/capi/"
	opts.Settings.ConfigMaps = true
	result := mirrored(t, wants, opts)
	if len(result.Warnings) > 0 {
		t.Errorf("%q", result.Warnings)
	}
	files := tree(t, dir)
	if files["cert-manager/v1.21.1/cert-manager.yaml"] != manifest || files["cert-manager/v1.21.1/helm.tgz"] != "" || from.opens() != 1 {
		t.Errorf("it holds %v, opened %d", names(files), from.opens())
	}
	config := readConfig(t, files[layouts.ConfigFile])
	cm, err := config.CertManager()
	if err != nil || cm.Version != "v1.21.1" || cm.URL != "file://"+dir+"/cert-manager/v1.21.1/cert-manager.yaml" {
		t.Errorf("%+v %v", cm, err)
	}
	if overrides, err := config.OverridesFolder(); err != nil || overrides != filepath.Join(dir, "overrides") {
		t.Errorf("overrides folder %q %v", overrides, err)
	}
	images := given.Value(config.Images())(t)
	// Both are called controller, so each keeps its path.
	for _, tt := range [][3]string{
		{"cert-manager", "quay.io/jetstack/controller:v1", "mirror.example.com:5000/capi/quay.io/jetstack/controller:v1"},
		{"infrastructure-foo", "registry.example.com/foo/controller:v1.2.0", "mirror.example.com:5000/capi/registry.example.com/foo/controller:v1.2.0"},
		{"infrastructure-foo", "registry.example.com/foo/other:v1", "mirror.example.com:5000/capi/other:v1"},
	} {
		if got, err := images.Apply(tt[0], tt[1]); got != tt[2] || err != nil {
			t.Errorf("%s %s: %s %v", tt[0], tt[1], got, err)
		}
	}
	if !strings.Contains(files[layouts.ImageInventoryFile], `"target": "mirror.example.com:5000/capi/quay.io/jetstack/controller:v1"`) {
		t.Error(files[layouts.ImageInventoryFile])
	}
	opens := from.opens() + own.opens()
	if result := mirrored(t, wants, opts); len(result.Written) > 0 || from.opens()+own.opens() != opens {
		t.Errorf("the second run wrote %v", result.Written)
	}
	if result := mirrored(t, nil, toFolder(t, dir)); len(result.Written) > 0 {
		t.Errorf("the registry was forgotten: %+v", result)
	}
	opts = toFolder(t, dir)
	opts.Given.ImageRegistry = true
	if result := mirrored(t, nil, opts); len(result.Warnings) > 0 || !slices.Equal(result.Written, []string{layouts.ImageInventoryFile, layouts.ConfigFile, layouts.LockFile, layouts.ChecksumFile}) {
		t.Errorf("without a registry: %+v", result)
	}
	checkSums(t, dir)
}

func TestForeignFiles(t *testing.T) {
	_, own := twoPlaces()
	wants := []Want{{From: own, Provider: foo}}
	for _, name := range layouts.RootFiles {
		dir := given.MemoryDir(t)
		given.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644))
		if _, err := Run(t.Context(), wants, toFolder(t, dir)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if files := tree(t, dir); len(files) != 1 || files[name] != "mine" {
			t.Errorf("%s: it holds %v", name, files)
		}
	}
}

func TestHostileLock(t *testing.T) {
	_, own := twoPlaces()
	for _, text := range []string{
		"", "x", "{}", `{"schemaVersion": 2}`, `[]`,
		`{"schemaVersion": 1, "releases": [{"provider": "../x", "version": "v1.0.0"}]}`,
		`{"schemaVersion": 1, "releases": [{"provider": "infrastructure-foo", "version": "../v1.0.0"}]}`,
		`{"schemaVersion": 1, "releases": [{"provider": "infrastructure-foo", "version": "v1.0.0", "files": [{"name": "../../x", "sha256": "00"}]}]}`,
		`{"schemaVersion": 1, "releases": [{"provider": "infrastructure-foo", "version": "v1.0.0", "files": [{"name": "x", "sha256": "00"}]}]}`,
	} {
		dir := given.MemoryDir(t)
		given.NoError(t, os.WriteFile(filepath.Join(dir, layouts.LockFile), []byte(text), 0o644))
		if _, err := Run(t.Context(), []Want{{From: own, Provider: foo}}, toFolder(t, dir)); err == nil || !strings.Contains(err.Error(), layouts.LockFile) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestChecksumsOfTheSource(t *testing.T) {
	_, own := twoPlaces()
	files := own.releases["v1.2.0"]
	quiet := &place{name: "x", releases: own.releases}
	r := given.Value(quiet.Fetch(t.Context(), "v1.2.0"))(t)
	sums := given.Value(repo.Checksums(t.Context(), r))(t)
	own.releases["v1.2.0"] = append(slices.Clone(files), layouts.ChecksumFile, string(sums))
	dir := given.MemoryDir(t)
	mirrored(t, []Want{{From: own, Provider: foo}}, toFolder(t, dir))
	own.releases["v1.2.0"] = append(slices.Clone(files), layouts.ChecksumFile, strings.Replace(string(sums), "a", "b", 1))
	if _, err := Run(t.Context(), []Want{{From: own, Provider: foo}}, toFolder(t, given.MemoryDir(t))); !errors.As(err, new(*repo.ChecksumError)) {
		t.Errorf("wrong checksums: %v", err)
	}
}

// TestUnlistedSource: of a place that cannot list its files, only what a list of
// checksums names is known to be all.
func TestUnlistedSource(t *testing.T) {
	files := filesOf(foo, "v1.0.0")
	certs := []string{layouts.CertManagerFile, "kind: Namespace\n"}
	listed := slices.Clone(files)
	sums := ""
	for i := 0; i < len(files); i += 2 {
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(files[i+1])), files[i])
	}
	listed = append(listed, layouts.ChecksumFile, sums)
	for name, tc := range map[string]struct {
		files    []string
		provider layouts.Provider
		want     bool
	}{
		"with checksums":    {listed, foo, true},
		"without":           {files, foo, false},
		"a listed one gone": {listed[2:], foo, false},
		"cert-manager":      {certs, layouts.CertManager, true},
	} {
		from := newPlace("origin", map[string][]string{"v1.0.0": tc.files})
		from.incomplete = "cannot be listed with this token"
		dir := given.MemoryDir(t)
		_, err := Run(t.Context(), []Want{{From: from, Provider: tc.provider, Version: selector(t, "v1.0.0")}}, toFolder(t, dir))
		if (err == nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
		if got := tree(t, dir); err != nil && len(got) > 0 {
			t.Errorf("%s: %v", name, names(got))
		}
	}
}

func TestVerify(t *testing.T) {
	shared, own := twoPlaces()
	shared.releases["v1.2.0"] = append(shared.releases["v1.2.0"], "SHA256SUMS", "", "large.bin", strings.Repeat("x", small+1))
	dir := given.MemoryDir(t)
	opts := toFolder(t, dir)
	var seen []string
	refusal := errors.New("nobody signed it")
	opts.Verify = func(ctx context.Context, r *repo.Release, _ []layouts.Provider) error {
		for _, a := range r.Artifacts {
			if _, err := a.Sum(ctx); err != nil {
				t.Error(err)
			}
			seen = append(seen, a.Name)
		}
		if r.Artifact("SHA256SUMS") != nil {
			return refusal
		}
		return nil
	}
	opts.Jobs = 1
	mirrored(t, []Want{{From: own, Provider: foo}}, opts)
	if _, err := Run(t.Context(), []Want{{From: shared, Provider: bar}}, opts); !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
	want := []string{"cluster-template.yaml", "infrastructure-components.yaml", "metadata.yaml", "SHA256SUMS", "bootstrap-components.yaml", "cluster-template.yaml", "core-components.yaml", "large.bin", "metadata.yaml"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if n := allWhole(t, dir, own); n != 1 {
		t.Errorf("%d releases", n)
	}
	// What was mirrored without a demand is no exception.
	opts.Verify = nil
	mirrored(t, []Want{{From: own, Provider: foo}}, opts)
	opts.Verify = func(context.Context, *repo.Release, []layouts.Provider) error { return refusal }
	dry := opts
	dry.DryRun = true
	if _, err := Run(t.Context(), []Want{{From: own, Provider: foo}}, dry); !errors.Is(err, refusal) {
		t.Errorf("dry run: %v", err)
	}
	if _, err := Run(t.Context(), []Want{{From: own, Provider: foo}}, opts); !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
}

func TestOverridesFolder(t *testing.T) {
	for _, dir := range []string{"/srv/mirror", "/srv/$HOME/${x}/a b"} {
		c := &Config{OverridesFolder: OverridesFolder(dir, "", false)}
		text := given.Value(c.Marshal())(t)
		if got, err := readConfig(t, string(text)).OverridesFolder(); err != nil || got != dir+"/overrides" {
			t.Errorf("%s: clusterctl looks into %q, %v", dir, got, err)
		}
	}
	if got := OverridesFolder("C:/mirror", "", true); got != "file:///C:/mirror/overrides" {
		t.Error(got)
	}
}

func TestSelectors(t *testing.T) {
	place := newPlace("https://x", map[string][]string{})
	for _, v := range []string{"v1.9.0", "v1.10.0", "v1.10.3", "v1.11.0-rc.0", "v1.11.0", "v2.0.0-alpha.1", "nonsense"} {
		place.releases[v] = []string{"metadata.yaml", strings.Replace(metadataOf("v1.11.0", "v1beta2"), "- {", "- {major: 1, minor: 10, contract: v1beta1}\n- {", 1)}
	}
	for text, want := range map[string]string{
		"":                   "v1.11.0",
		"latest":             "v1.11.0",
		"v7.7.7":             "v7.7.7",
		"v1.2.3-rc.1":        "v1.2.3-rc.1",
		">=1.10 <1.12":       "v1.10.0 v1.10.3 v1.11.0",
		">=1.10, <1.11":      "v1.10.0 v1.10.3",
		"1.10":               "v1.10.0 v1.10.3",
		"1.10.x":             "v1.10.0 v1.10.3",
		"~1.10.1":            "v1.10.3",
		"^1":                 "v1.9.0 v1.10.0 v1.10.3 v1.11.0",
		"1.9.0":              "v1.9.0",
		">=1.11.0-0 <1.12":   "v1.11.0-rc.0 v1.11.0",
		"1.9.0 || >=2.0.0-0": "v1.9.0 v2.0.0-alpha.1",
	} {
		s := selector(t, text)
		m := &planner{run: &run{book: NewBook()}, listed: map[[2]string]*repo.Release{}}
		got, _, err := s.choose(t.Context(), place, func(v string) ([]byte, error) { return m.metadata(t.Context(), Want{From: place}, v) })
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"one", "v1.2.3.4", ">>1", "a b"} {
		if s, err := ParseSelector(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
}

// TestCorpus mirrors the releases of real providers.
func TestCorpus(t *testing.T) {
	r := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	dir := given.MemoryDir(t)
	var wants []Want
	for _, p := range r.Providers {
		wants = append(wants, Want{From: (*Provider)(p), Near: true, Provider: p.Provider})
	}
	opts := toFolder(t, dir)
	opts.Settings.ImageRegistry, opts.Settings.ConfigMaps = "mirror.example.com/capi", true
	result := mirrored(t, wants, opts)
	if len(result.Outcomes) != len(r.Providers) {
		t.Errorf("%d of %d providers", len(result.Outcomes), len(r.Providers))
	}
	for _, w := range result.Warnings {
		t.Log(w)
	}
	got, err := folder.Open(t.Context(), dir)
	if err != nil || len(got.Oddities) > 0 {
		t.Fatalf("%v %v", got.Oddities, err)
	}
	for i, p := range r.Providers {
		last := p.Releases[len(p.Releases)-1]
		if d, err := publish.Compare(t.Context(), got.Providers[i].Releases[0], last); err != nil || !d.IsZero() {
			t.Errorf("%s: %v %v", p.Label(), d, err)
		}
	}
	checkSums(t, dir)
	files := tree(t, dir)
	if n := len(providersIn(t, files[layouts.ConfigFile])); n != len(r.Providers) {
		t.Errorf("clusterctl.yaml has %d providers", n)
	}
	t.Logf("%d files, %d images, %d bytes of lock", len(files), strings.Count(files[layouts.ImageListFile], "\n"), len(files[layouts.LockFile]))
	if result := mirrored(t, wants, opts); len(result.Written) > 0 {
		t.Errorf("the second run wrote %v", result.Written)
	}
	checkTargets(t, files)
}

func TestNoSuchFolder(t *testing.T) {
	_, own := twoPlaces()
	file := filepath.Join(given.MemoryDir(t), "file")
	given.NoError(t, os.WriteFile(file, nil, 0o644))
	if _, err := Run(t.Context(), []Want{{From: own, Provider: foo}}, toFolder(t, filepath.Join(file, "x"))); err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
}

// Forges limit the number of questions.
func TestPlacesAreAskedOnce(t *testing.T) {
	shared, _ := twoPlaces()
	wants := []Want{{From: shared, Provider: core}, {From: shared, Provider: bar}, {From: shared, File: "core-components.yaml"}}
	dir := given.MemoryDir(t)
	mirrored(t, wants, toFolder(t, dir))
	count := func(prefix string) (n int) {
		for _, s := range shared.steps {
			if strings.HasPrefix(s, prefix) {
				n++
			}
		}
		return n
	}
	if count("versions") != 1 || count("fetch") != 1 || count("open v1.2.0 cluster-template.yaml") != 1 {
		t.Errorf("%v", shared.steps)
	}
	shared.steps = nil
	mirrored(t, wants, toFolder(t, dir))
	if !slices.Equal(shared.steps, []string{"versions", "fetch v1.2.0"}) {
		t.Errorf("the second run: %v", shared.steps)
	}
}

// The list of a place is known until the last of its providers goes.
func TestPruneOneOfTwo(t *testing.T) {
	dir := given.MemoryDir(t)
	shared, _ := twoPlaces()
	mirrored(t, []Want{{From: shared, Version: selector(t, "v1.2.0")}}, toFolder(t, dir))
	for left := 2; left >= 0; left-- {
		lock, err := ReadLock(dir)
		if err != nil || len(lock.Releases) != left || (len(lock.Sources) == 1) != (left > 0) {
			t.Fatalf("%d releases, %d lists, %v; want %d releases", len(lock.Releases), len(lock.Sources), err, left)
		}
		if left > 0 {
			given.Value(Prune(t.Context(), lock.Releases[:1], nil, toFolder(t, dir)))(t)
		}
	}
}

// If the releases are stored elsewhere, Prune forgets only those that are gone there.
func TestPruneApart(t *testing.T) {
	place := given.MemoryDir(t)
	opts := toFolder(t, place)
	opts.Dir, opts.Folder, opts.Apart = given.MemoryDir(t), nil, true
	_, own := twoPlaces()
	mirrored(t, []Want{{From: own, Provider: foo, Version: selector(t, "v0.9.0")}}, opts)
	lock := given.Value(ReadLock(opts.Dir))(t)
	if _, err := Prune(t.Context(), lock.Releases, nil, opts); err == nil || !strings.Contains(err.Error(), "is still in") {
		t.Error(err)
	}
	given.NoError(t, os.RemoveAll(filepath.Join(place, foo.Label())))
	given.Value(Prune(t.Context(), lock.Releases, nil, opts))(t)
	if left := given.Value(ReadLock(opts.Dir))(t).Releases; len(left) > 0 {
		t.Errorf("still in the lock: %+v", left)
	}
}

// What is in no list is found while no other run can list it: a release that is just
// being copied is not a leftover.
func TestPruneLooksWhileItHolds(t *testing.T) {
	dir := given.MemoryDir(t)
	opts := toFolder(t, dir)
	_, own := twoPlaces()
	mirrored(t, []Want{{From: own, Provider: foo, Version: selector(t, "v0.9.0")}}, opts)
	given.NoError(t, os.WriteFile(filepath.Join(dir, "x.yaml"), nil, 0o644))
	find := func() ([]string, error) {
		if lock, err := local.Occupy(dir, dir); err == nil {
			lock.Close()
			t.Error("another run can be at work")
		}
		return []string{"x.yaml"}, nil
	}
	given.Value(Prune(t.Context(), nil, find, opts))(t)
	if report, err := Check(t.Context(), dir, 2); err != nil || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	refused := errors.New("no")
	if _, err := Prune(t.Context(), nil, func() ([]string, error) { return nil, refused }, opts); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}

func TestLockRefuses(t *testing.T) {
	file := `{"name": "a", "size": 1, "sha256": "` + strings.Repeat("0", 64) + `"}`
	release := func(files string) string {
		return `{"provider": "infrastructure-foo", "version": "v1.0.0", "files": [` + files + `]}`
	}
	for releases, want := range map[string]string{
		release(file):                                     "",
		release(file + "," + file):                        "lists a of infrastructure-foo v1.0.0 twice",
		release(file) + "," + release(""):                 "lists infrastructure-foo v1.0.0 twice",
		release(strings.Replace(file, "0", "x", 1)):       "is not a SHA-256 of a",
		release(strings.Replace(file, `"a"`, `"a/b"`, 1)): "a/b",
	} {
		_, err := ParseLock([]byte(`{"schemaVersion": 1, "sources": [], "releases": [` + releases + `]}`))
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", releases, err)
		}
	}
}

// The checksums that people compare with must be those of the lock.
func TestOtherChecksum(t *testing.T) {
	dir := given.MemoryDir(t)
	_, own := twoPlaces()
	mirrored(t, []Want{{From: own, Provider: foo, Version: selector(t, "v0.9.0")}}, toFolder(t, dir))
	name := filepath.Join(dir, layouts.ChecksumFile)
	sums := given.Read(t, name)
	line := regexp.MustCompile(`(?m)^[0-9a-f]{64}(  .*/v0\.9\.0/metadata\.yaml)$`)
	given.NoError(t, os.WriteFile(name, line.ReplaceAll(sums, []byte(strings.Repeat("0", 64)+"$1")), 0o644))
	report, err := Check(t.Context(), dir, 2)
	if err != nil || len(report.Problems) != 1 || report.Problems[0].Path != layouts.ChecksumFile || report.Problems[0].Kind != Damaged {
		t.Errorf("%+v, %v", report, err)
	}
}
