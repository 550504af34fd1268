package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// server is a destination in memory that states checksums, as those on servers
// do.
type server struct {
	mu       sync.Mutex
	releases map[string]*repo.Release
	log      []string
	down     error
}

func (s *server) String() string { return "https://server" }

func (s *server) Versions(context.Context) (out []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.releases {
		out = append(out, v)
	}
	return out, nil
}

func (s *server) Fetch(_ context.Context, version string) (*repo.Release, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
	}
	if r := s.releases[version]; r != nil {
		return r, nil
	}
	return nil, fs.ErrNotExist
}

func (s *server) Plan(context.Context, *repo.Release) (publish.Result, error) {
	return publish.Result{}, nil
}

func (s *server) Put(ctx context.Context, r *repo.Release) (publish.Result, error) {
	old, err := s.Fetch(ctx, r.Version)
	if err == nil {
		return publish.Result{Unchanged: true, Where: s.String()}, publish.Conflict(ctx, old, r)
	}
	out := &repo.Release{Version: r.Version, Path: s.String() + "/" + r.Version}
	for _, a := range r.Artifacts {
		data, err := a.Bytes()
		if err != nil {
			return publish.Result{}, err
		}
		b := repo.BytesArtifact(a.Name, data)
		b.Path = out.Path + "/" + a.Name
		out.Artifacts = append(out.Artifacts, b.Stating(sumOf(data)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releases[r.Version] = out
	s.log = append(s.log, r.Version)
	return publish.Result{Where: s.String()}, nil
}

func (s *server) Verify(ctx context.Context, r *repo.Release) error {
	got, err := s.Fetch(ctx, r.Version)
	if err != nil {
		return err
	}
	return publish.VerifyFiles(ctx, got, r)
}

func (s *server) URL(version, file string) (string, error) {
	return "https://github.com/acme/mirror/releases/" + version + "/" + file, nil
}

// Providers that share a place are one release there, and versions come in
// their order.
func TestSharedPlace(t *testing.T) {
	shared, own := twoPlaces()
	s := &server{releases: map[string]*repo.Release{}}
	dir := given.MemoryDir(t)
	opts := Options{Settings: Settings{ConfigMaps: true}, Place: Place{Dir: dir, To: publish.Site{Name: "https://server", Shared: true, Of: func(layouts.Provider) (publish.Destination, error) { return s, nil }}}}
	// Those of one version must not differ in what they share.
	own.releases["v1.2.0"][3] = shared.releases["v1.2.0"][3]
	own.releases["v1.2.0"][5] = shared.releases["v1.2.0"][5]
	wants := []Want{{From: own, Version: selector(t, ">=0.1")}, {From: shared, Version: selector(t, ">=1.1")}}
	mirrored(t, wants, opts)
	if !slices.Equal(s.log, []string{"v0.9.0", "v1.1.0", "v1.2.0"}) {
		t.Errorf("published %v", s.log)
	}
	files := phrase.List(s.releases["v1.2.0"].Artifacts, func(a *repo.Artifact) string { return a.Name })
	if want := []string{"bootstrap-components.yaml", "cluster-template.yaml", "core-components.yaml", "infrastructure-components.yaml", "metadata.yaml"}; !slices.Equal(files, want) {
		t.Errorf("v1.2.0 holds %v", files)
	}
	want := []string{
		"bar https://github.com/acme/mirror/releases/v1.2.0/bootstrap-components.yaml",
		"cluster-api https://github.com/acme/mirror/releases/v1.2.0/core-components.yaml",
		"foo https://github.com/acme/mirror/releases/v1.2.0/infrastructure-components.yaml",
	}
	if diff := cmp.Diff(want, providersIn(t, tree(t, dir)[layouts.ConfigFile])); diff != "" {
		t.Error(diff)
	}
	opens := shared.opens() + own.opens()
	result := mirrored(t, wants, opts)
	if n := shared.opens() + own.opens() - opens; n > 0 || len(result.Written) > 0 || len(s.log) != 3 {
		t.Errorf("the second run opened %d files, wrote %v", n, result.Written)
	}
	// What they share differs.
	own.releases["v1.3.0"], shared.releases["v1.3.0"] = filesOf(foo, "v1.3.0"), filesOf(core, "v1.3.0")
	own.releases["v1.3.0"][5] += "# other"
	if _, err := Run(t.Context(), []Want{{From: own, Version: selector(t, "v1.3.0")}, {From: shared, Version: selector(t, "v1.3.0")}}, opts); err == nil || !strings.Contains(err.Error(), layouts.ProviderPlaceholder) {
		t.Errorf("%v", err)
	}
	if s.releases["v1.3.0"] != nil {
		t.Error("a part of v1.3.0 was published")
	}
	// A signature that would be lost is found before anything is copied.
	own.releases["v1.4.0"], own.releases["v1.5.0"] = filesOf(foo, "v1.4.0"), append(filesOf(foo, "v1.5.0"), layouts.SignatureFile, "signed")
	shared.releases["v1.5.0"] = filesOf(core, "v1.5.0")
	wants = []Want{{From: own, Version: selector(t, ">=1.4")}, {From: shared, Version: selector(t, "v1.5.0")}}
	if _, err := Run(t.Context(), wants, opts); err == nil || !strings.Contains(err.Error(), "https://own/v1.5.0 is signed, and would lose its signature") || len(s.log) != 3 {
		t.Errorf("%v; published %v", err, s.log)
	}
}

// A place that is far is believed, and nothing is read there again but the
// metadata, which tell what the latest version is.
func TestFarDestination(t *testing.T) {
	_, own := twoPlaces()
	for _, stated := range []bool{true, false} {
		own.stated = stated
		s := &server{releases: map[string]*repo.Release{}}
		dir := given.MemoryDir(t)
		opts := Options{Place: Place{Dir: dir, To: publish.Site{Name: "https://server", Of: func(layouts.Provider) (publish.Destination, error) { return s, nil }}}}
		wants := []Want{{From: own, Provider: foo}}
		mirrored(t, wants, opts)
		r := s.releases["v1.2.0"]
		for i, a := range r.Artifacts {
			sum, _ := a.Stated()
			if a.Name == layouts.MetadataFile {
				continue
			}
			r.Artifacts[i] = repo.NewArtifact(a.Name, a.Path, a.Size, nil).Stating(sum) // panics if it is read
		}
		opens := own.opens()
		result := mirrored(t, wants, opts)
		if n := own.opens() - opens; n > 0 || len(result.Written) > 0 || !result.Outcomes[0].Unchanged {
			t.Errorf("the second run opened %d files: %+v", n, result)
		}
		s.down = errors.New("down")
		for _, opts.DryRun = range []bool{false, true} {
			if _, err := Run(t.Context(), wants, opts); !errors.Is(err, s.down) {
				t.Errorf("dry run %t: %v", opts.DryRun, err)
			}
		}
	}
}

func TestContracts(t *testing.T) {
	for _, tt := range []struct{ core, other, want string }{
		{"v1beta2", "v1beta2", ""},
		{"v1beta2", "v1beta1", ""},
		{"v1beta1", "v1beta1", ""},
		{"v1beta1", "v1beta2", "infrastructure-foo v1.0.0 has the contract v1beta2, and no cluster-api in the mirror supports it: the mirror has v1.0.0 (v1beta1); clusterctl would refuse to install them together"},
		{"v1beta2", "v1alpha4", "infrastructure-foo v1.0.0 has the contract v1alpha4"},
		{"", "v1beta1", ""},
	} {
		var wants []Want
		for _, p := range []struct {
			provider layouts.Provider
			contract string
		}{{core, tt.core}, {foo, tt.other}} {
			if p.contract == "" {
				continue
			}
			files := filesOf(p.provider, "v1.0.0")
			files[3] = metadataOf("v1.0.0", p.contract)
			wants = append(wants, Want{From: newPlace("https://"+p.provider.Name, map[string][]string{"v1.0.0": files})})
		}
		result := mirrored(t, wants, toFolder(t, given.MemoryDir(t)))
		if got := strings.Join(result.Warnings, "\n"); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s with %s: %q", tt.core, tt.other, got)
		}
	}
	// Metadata without the series of the version.
	files := filesOf(foo, "v1.0.0")
	files[3] = metadataOf("v2.0.0", "v1beta2")
	result := mirrored(t, []Want{{From: newPlace("https://x", map[string][]string{"v1.0.0": files}), Version: selector(t, "v1.0.0")}}, toFolder(t, given.MemoryDir(t)))
	if len(result.Warnings) != 2 || !strings.Contains(result.Warnings[0], `no longer resolve "latest"`) || !strings.Contains(result.Warnings[1], "gives no contract for this version") {
		t.Errorf("%q", result.Warnings)
	}
}

func TestWarningsAreSorted(t *testing.T) {
	var wants []Want
	for i := range 9 {
		p := layouts.Provider{Type: layouts.Addon, Name: fmt.Sprint("p", 9-i)}
		files := filesOf(p, "v1.0.0")
		files[3] = "kind: Metadata\n"
		wants = append(wants, Want{From: newPlace("https://"+p.Name, map[string][]string{"v1.0.0": files}), Version: selector(t, "v1.0.0")})
	}
	result := mirrored(t, wants, toFolder(t, given.MemoryDir(t)))
	if len(result.Warnings) != 9 || !slices.IsSorted(result.Warnings) || !slices.IsSortedFunc(result.Outcomes, func(a, b Outcome) int { return strings.Compare(a.Provider.Name, b.Provider.Name) }) {
		t.Errorf("%q %v", result.Warnings, result.Outcomes)
	}
}

func TestEach(t *testing.T) {
	boom := errors.New("boom")
	ran := 0
	err := each(t.Context(), 10, 1, func(_ context.Context, i int) error {
		if ran++; i == 2 {
			return boom
		}
		return nil
	})
	if !errors.Is(err, boom) || ran != 3 {
		t.Errorf("%v after %d", err, ran)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(boom)
	if err := each(ctx, 10, 2, func(context.Context, int) error { t.Error("it runs"); return nil }); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

func TestWatch(t *testing.T) {
	_, own := twoPlaces()
	var mu sync.Mutex
	most := map[string]publish.Progress{}
	opts := toFolder(t, given.MemoryDir(t))
	opts.Watch = func(p publish.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if p.Read > most[p.Release].Read {
			most[p.Release] = p
		}
	}
	result := mirrored(t, []Want{{From: own, Version: selector(t, "v1.2.0")}}, opts)
	if p := most["https://own v1.2.0"]; p.Read != p.Total || p.Total != result.Outcomes[0].Bytes {
		t.Errorf("%+v", most)
	}
}

// Of a release that several providers share, none gets the checksums; they count all the same.
func TestChecksumsOfASharedRelease(t *testing.T) {
	bar := layouts.Provider{Type: layouts.Bootstrap, Name: "bar"}
	files := append(filesOf(foo, "v1.0.0"), "bootstrap-components.yaml", components(bar, "x:v1"))
	r := &repo.Release{}
	for i := 0; i < len(files); i += 2 {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(files[i], []byte(files[i+1])))
	}
	sums := string(given.Value(repo.Checksums(t.Context(), r))(t))
	for name, tc := range map[string]struct{ sums, want string }{
		"right":   {sums, ""},
		"wrong":   {strings.ReplaceAll(sums, sums[:8], "00000000"), "has the checksum"},
		"missing": {sums + sums[:64] + "  cluster-template-x.yaml\n", "cluster-template-x.yaml is missing"},
		"a page":  {"<html></html>", "an HTML or XML page instead of a list of checksums"},
	} {
		from := newPlace("https://x", map[string][]string{"v1.0.0": append(slices.Clone(files), layouts.ChecksumFile, tc.sums)})
		_, err := Run(t.Context(), []Want{{From: from, Provider: foo, Version: Exactly("v1.0.0")}}, toFolder(t, given.MemoryDir(t)))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
