package publish_test

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// shelf is a destination in memory. Fail is asked before every call.
type shelf struct {
	name string
	held map[string]*repo.Release
	fail func(method string) error
}

func (s *shelf) ask(method string) error {
	if s.fail == nil {
		return nil
	}
	return s.fail(method)
}

func (s *shelf) Versions(context.Context) ([]string, error) {
	var out []string
	for v := range s.held {
		out = append(out, v)
	}
	slices.Sort(out)
	return out, s.ask("versions")
}

func (s *shelf) Fetch(_ context.Context, version string) (*repo.Release, error) {
	if err := s.ask("fetch"); err != nil {
		return nil, err
	}
	if r := s.held[version]; r != nil {
		return r, nil
	}
	return nil, fs.ErrNotExist
}

func (s *shelf) Plan(ctx context.Context, r *repo.Release) (publish.Result, error) {
	if old := s.held[r.Version]; old != nil {
		return publish.Result{Unchanged: true}, publish.Conflict(ctx, old, r)
	}
	return publish.Result{Steps: []string{"write"}}, s.ask("plan")
}

func (s *shelf) Put(ctx context.Context, r *repo.Release) (publish.Result, error) {
	if err := s.ask("put"); err != nil {
		return publish.Result{}, err
	}
	copied := *r
	copied.Artifacts = nil
	for _, a := range r.Artifacts {
		data, err := a.Bytes()
		if err != nil {
			return publish.Result{}, err
		}
		copied.Artifacts = append(copied.Artifacts, repo.BytesArtifact(a.Name, data))
	}
	if s.held == nil {
		s.held = map[string]*repo.Release{}
	}
	s.held[r.Version] = &copied
	return publish.Result{Where: s.name + "/" + r.Version}, nil
}

func (s *shelf) Verify(ctx context.Context, r *repo.Release) error {
	if err := s.ask("verify"); err != nil {
		return err
	}
	got, err := s.Fetch(ctx, r.Version)
	if err != nil {
		return err
	}
	return publish.VerifyFiles(ctx, got, r)
}

func (s *shelf) URL(version, file string) (string, error) {
	return s.name + "/" + version + "/" + file, nil
}

func (s *shelf) String() string { return s.name }

var _ publish.Destination = (*shelf)(nil)

func of(label, version string, files ...string) *repo.Release {
	p, err := layouts.ParseLabel(label)
	if err != nil {
		panic(err)
	}
	r := release(files...)
	r.Provider, r.Version, r.Path = p, version, "out/"+label+"/"+version
	r.Sort()
	return r
}

func names(r *repo.Release) string {
	return strings.Join(phrase.List(r.Artifacts, func(a *repo.Artifact) string { return a.Name }), " ")
}

func TestParcels(t *testing.T) {
	core := of("cluster-api", "v1.10.0", "core-components.yaml", "c", "metadata.yaml", "m", "SHA256SUMS", "x")
	kubeadm := of("bootstrap-kubeadm", "v1.10.0", "bootstrap-components.yaml", "b", "metadata.yaml", "m", "SHA256SUMS", "y")
	older := of("cluster-api", "v1.9.0", "core-components.yaml", "c", "metadata.yaml", "m")
	t.Run("shared", func(t *testing.T) {
		place := &shelf{name: "place"}
		site := publish.Site{Name: "place", Shared: true, Of: func(layouts.Provider) (publish.Destination, error) { return place, nil }}
		parcels := given.Value(site.Parcels(t.Context(), []*repo.Release{core, kubeadm, older}))(t)
		var got []string
		for _, p := range parcels {
			got = append(got, publish.Name(p.Release)+": "+names(p.Release))
			if err := checksums(p.Release); err != nil {
				t.Error(err)
			}
		}
		want := []string{
			"cluster-api v1.9.0: core-components.yaml metadata.yaml",
			"v1.10.0: SHA256SUMS bootstrap-components.yaml core-components.yaml metadata.yaml",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, p := range parcels {
			if _, err := p.Publish(t.Context(), false); err != nil {
				t.Error(err)
			}
		}
		if versions, _ := place.Versions(t.Context()); !slices.Equal(versions, []string{"v1.10.0", "v1.9.0"}) {
			t.Errorf("holds %v", versions)
		}
	})
	t.Run("apart", func(t *testing.T) {
		site := publish.Site{Name: "place", Of: func(p layouts.Provider) (publish.Destination, error) { return &shelf{name: p.Label()}, nil }}
		parcels := given.Value(site.Parcels(t.Context(), []*repo.Release{core, kubeadm, older}))(t)
		var got []string
		for _, p := range parcels {
			got = append(got, p.To.String()+" "+p.Release.Version)
			if p.Release != p.From[0] {
				t.Error("a single release was changed")
			}
		}
		if diff := cmp.Diff([]string{"cluster-api v1.9.0", "cluster-api v1.10.0", "bootstrap-kubeadm v1.10.0"}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("different files of one name", func(t *testing.T) {
		other := of("bootstrap-kubeadm", "v1.10.0", "metadata.yaml", "other", "bootstrap-components.yaml", "b")
		site := publish.Site{Name: "place", Shared: true, Of: func(layouts.Provider) (publish.Destination, error) { return &shelf{}, nil }}
		if _, err := site.Parcels(t.Context(), []*repo.Release{core, other}); err == nil || !strings.Contains(err.Error(), "{provider}") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("unfit", func(t *testing.T) {
		site := publish.Site{Of: func(layouts.Provider) (publish.Destination, error) { return &shelf{}, nil }}
		if _, err := site.Parcels(t.Context(), []*repo.Release{core, of("addon-x", "latest", "a", "")}); err == nil {
			t.Error("an invalid version was taken")
		}
	})
}

func checksums(r *repo.Release) error {
	if r.Artifact(layouts.ChecksumFile) == nil {
		return nil
	}
	return repo.VerifyChecksums(context.Background(), r)
}

func TestSplit(t *testing.T) {
	object := func(label string) string {
		return "kind: Namespace\napiVersion: v1\nmetadata:\n  name: x\n---\nkind: ConfigMap\napiVersion: v1\nmetadata:\n  name: x\n  labels:\n    cluster.x-k8s.io/provider: " + label + "\n"
	}
	for name, tc := range map[string]struct {
		files []string
		file  string
		want  []string
		fail  string
	}{
		"one provider keeps everything": {
			files: []string{"infrastructure-components.yaml", object("infrastructure-foo"), "metadata.yaml", "", "SHA256SUMS", "", "clusterclass-a.yaml", "", "notes.txt", ""},
			want:  []string{"infrastructure-foo: SHA256SUMS clusterclass-a.yaml infrastructure-components.yaml metadata.yaml notes.txt"},
		},
		"variants of one provider": {
			files: []string{"infrastructure-components.yaml", object("infrastructure-foo"), "infrastructure-components-x.yaml", object("infrastructure-foo")},
			want:  []string{"infrastructure-foo: infrastructure-components-x.yaml infrastructure-components.yaml"},
		},
		"several": {
			files: []string{"core-components.yaml", object("cluster-api"), "infrastructure-components-a.yaml", object("infrastructure-a"), "infrastructure-components-b.yaml", object("infrastructure-b"),
				"metadata.yaml", "", "SHA256SUMS", "", "cluster-template.yaml", "", "other.yaml", ""},
			want: []string{
				"cluster-api: core-components.yaml metadata.yaml other.yaml",
				"infrastructure-a: cluster-template.yaml infrastructure-components-a.yaml metadata.yaml other.yaml",
				"infrastructure-b: cluster-template.yaml infrastructure-components-b.yaml metadata.yaml other.yaml",
			},
		},
		"templates without an infrastructure provider": {
			files: []string{"bootstrap-components.yaml", object("bootstrap-a"), "control-plane-components.yaml", object("control-plane-a"), "cluster-template.yaml", ""},
			want: []string{
				"bootstrap-a: bootstrap-components.yaml cluster-template.yaml",
				"control-plane-a: cluster-template.yaml control-plane-components.yaml",
			},
		},
		"a name of its own": {
			files: []string{"components.yaml", object("ipam-x"), "metadata.yaml", ""}, file: "components.yaml",
			want: []string{"ipam-x: components.yaml metadata.yaml"},
		},
		"no label": {
			files: []string{"addon-components.yaml", "kind: X"},
			want:  []string{"addon-: addon-components.yaml"},
		},
		"a label that is none": {
			files: []string{"addon-components.yaml", object("whatever")},
			want:  []string{"addon-: addon-components.yaml"},
		},
		"no YAML":       {files: []string{"addon-components.yaml", "\t{"}, want: []string{"addon-: addon-components.yaml"}},
		"no components": {files: []string{"metadata.yaml", ""}, fail: "no components file"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := release(tc.files...)
			whole.Provider = layouts.Provider{}
			whole.Sort()
			parts, err := providers.Split(t.Context(), whole, tc.file)
			if tc.fail != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fail) {
					t.Errorf("got %v", err)
				}
				return
			}
			given.NoError(t, err)
			got := phrase.List(parts, func(p *repo.Release) string { return p.Provider.Label() + ": " + names(p) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What Merge puts together, Split takes apart.
func TestMergeAndSplitAreInverse(t *testing.T) {
	object := func(label string) string {
		return "kind: ConfigMap\napiVersion: v1\nmetadata:\n  labels:\n    cluster.x-k8s.io/provider: " + label + "\n"
	}
	in := []*repo.Release{
		of("bootstrap-a", "v1.0.0", "bootstrap-components.yaml", object("bootstrap-a"), "metadata.yaml", "m"),
		of("infrastructure-a", "v1.0.0", "infrastructure-components.yaml", object("infrastructure-a"), "metadata.yaml", "m", "cluster-template.yaml", "t"),
	}
	whole := given.Value(publish.Merge(t.Context(), in))(t)
	parts, err := providers.Split(t.Context(), whole, "")
	if err != nil || len(parts) != len(in) {
		t.Fatal(parts, err)
	}
	for i, r := range parts {
		if diff, err := publish.Compare(t.Context(), r, in[i]); err != nil || !diff.IsZero() || r.Provider != in[i].Provider {
			t.Errorf("%s: %v %v", r.Provider, diff, err)
		}
	}
}

func TestDryRunAndWatch(t *testing.T) {
	r := of("infrastructure-foo", "v1.0.0", "metadata.yaml", "0123456789")
	place := &shelf{name: "place"}
	result, err := publish.Parcel{To: place, Release: r}.Publish(t.Context(), true)
	if err != nil || len(place.held) > 0 || !slices.Equal(result.Steps, []string{"write"}) {
		t.Errorf("%v %v %v", result, err, place.held)
	}
	var last publish.Progress
	site := publish.Site{Of: func(layouts.Provider) (publish.Destination, error) { return place, nil }}.Watch(func(p publish.Progress) { last = p })
	given.Value(given.Value(site.Of(r.Provider))(t).Put(t.Context(), r))(t)
	if want := (publish.Progress{Release: "infrastructure-foo v1.0.0", Read: 10, Total: 10}); last != want {
		t.Errorf("got %+v", last)
	}
}

// Verify reads; it does not believe what a place states.
func TestVerifyFilesReads(t *testing.T) {
	r := of("infrastructure-foo", "v1.0.0", "a", "1", "b", "2")
	for name, tc := range map[string]struct {
		change func(*repo.Release)
		want   string
	}{
		"equal":   {func(*repo.Release) {}, ""},
		"changed": {func(r *repo.Release) { r.Artifacts[0] = repo.BytesArtifact("a", []byte("x")) }, "changed a"},
		"missing": {func(r *repo.Release) { r.Artifacts = r.Artifacts[:1] }, "not published b"},
		"extra":   {func(r *repo.Release) { r.Artifacts = append(r.Artifacts, repo.BytesArtifact("c", nil)) }, "only published c"},
		"states what it does not hold": {func(r *repo.Release) {
			sum, _ := r.Artifacts[0].Sum(t.Context())
			lie := repo.NewArtifact("a", "a", 1, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil })
			r.Artifacts[0] = lie.Stating(sum)
		}, "was stated"},
	} {
		published := of("infrastructure-foo", "v1.0.0", "a", "1", "b", "2")
		tc.change(published)
		err := publish.VerifyFiles(t.Context(), published, r)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
