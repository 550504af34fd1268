package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// start starts a registry that counts the bytes it sends.
func start(t *testing.T) (host string, sent *atomic.Int64, breaks *atomic.Int64) {
	sent, breaks = new(atomic.Int64), new(atomic.Int64)
	r := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") && breaks.Add(-1) >= 0 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		r.ServeHTTP(&counted{w, sent}, req)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), sent, breaks
}

type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

func store(t *testing.T, dir string) (*Store, *[]string) {
	var said []string
	say := func(text string) { said = append(said, text) }
	policy := transport.Policy{Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }}
	return &Store{Dir: dir, Tell: say, Warn: say, Open: func(host, repository string) (*Repository, error) {
		return New(Options{Host: host, Repository: repository, Policy: policy})
	}}, &said
}

// mirrorDir is the folder of a mirror as something that was carried.
type mirrorDir string

func (c mirrorDir) String() string { return string(c) }

func (c mirrorDir) File(name string) (*repo.Artifact, error) {
	path := filepath.Join(string(c), filepath.FromSlash(name))
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return repo.NewArtifact(filepath.Base(path), path, info.Size(), func() (io.ReadCloser, error) { return os.Open(path) }), nil
}

// put stores a blob.
func put(t *testing.T, l content.Pusher, mediaType string, data []byte) v1.Descriptor {
	t.Helper()
	desc := v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	given.NoError(t, l.Push(t.Context(), desc, bytes.NewReader(data)))
	return desc
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	return given.Value(json.Marshal(v))(t)
}

// image makes an image, which differs for every seed.
func image(t *testing.T, l content.Pusher, seed string) v1.Descriptor {
	t.Helper()
	config := put(t, l, v1.MediaTypeImageConfig, marshal(t, v1.Image{Author: seed, Platform: v1.Platform{OS: "linux", Architecture: seed}}))
	layer := put(t, l, v1.MediaTypeImageLayerGzip, []byte(strings.Repeat(seed, 3000)))
	return put(t, l, v1.MediaTypeImageManifest, marshal(t, v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, Config: config, Layers: []v1.Descriptor{layer}}))
}

// indexOf makes an index of images.
func indexOf(t *testing.T, l content.Pusher, annotations map[string]string, parts ...v1.Descriptor) v1.Descriptor {
	t.Helper()
	return put(t, l, v1.MediaTypeImageIndex, marshal(t, v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: append([]v1.Descriptor{}, parts...), Annotations: annotations}))
}

// scratch is a layout in a folder of its own.
func scratch(t *testing.T) *layout {
	t.Helper()
	l := given.Value(openLayout(t.TempDir(), "images"))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

// at opens a repository of a registry.
func at(t *testing.T, host, repository string) *Repository {
	t.Helper()
	return given.Value(New(Options{Host: host, Repository: repository}))(t)
}

// Images with several platforms go from their registry into a layout, and from
// there into the registry of a site, under their digests.
func TestOverTheGap(t *testing.T) {
	from, sent, broken := start(t)
	l := scratch(t)
	index := indexOf(t, l, nil, image(t, l, "amd64"), image(t, l, "arm64"))
	one := image(t, l, "one")
	given.NoError(t, at(t, from, "a/many").PushImage(t.Context(), "v1", index, l))
	given.NoError(t, at(t, from, "b/one").PushImage(t.Context(), "v2", one, l))
	many := Wanted{Ref: from + "/a/many:v1"}
	pinned := Wanted{Ref: from + "/b/one:v2@" + one.Digest.String()}
	guess := Wanted{Ref: from + "/no/such:v1", Guess: true}
	all := []Wanted{many, pinned, guess}

	near := t.TempDir()
	s, said := store(t, near)
	broken.Store(3) // answers that fail are asked for again
	files := given.Value(s.Bring(t.Context(), all, nil, false))(t)
	if !slices.ContainsFunc(*said, func(text string) bool { return strings.Contains(text, "/no/such:v1, which is only named") }) {
		t.Errorf("%q", *said)
	}
	c := mirrorDir(near)
	for path, sum := range files {
		a := given.Value(c.File("images/" + path))(t)
		if got, err := a.Sum(t.Context()); err != nil || got != sum {
			t.Errorf("%s has %s, not %s: %v", path, got, sum, err)
		}
	}
	// Nothing is transferred twice, and what is no longer wanted goes.
	before := sent.Load()
	again, err := s.Bring(t.Context(), all[:2], nil, false)
	if err != nil || len(again) != len(files) || sent.Load() != before {
		t.Errorf("%d files, %d before; %d bytes; %v", len(again), len(files), sent.Load()-before, err)
	}
	// A lost blob comes again.
	for path := range files {
		if strings.Contains(path, one.Digest.Encoded()) {
			given.NoError(t, os.Remove(filepath.Join(near, "images", path)))
		}
	}
	if again, err = s.Bring(t.Context(), all[:2], nil, false); err != nil || len(again) != len(files) {
		t.Errorf("%v", err)
	}

	to, _, _ := start(t)
	many.Target = to + "/capi/many:v1"
	far := t.TempDir()
	s, _ = store(t, far)
	s.Carried = []carrier{c}
	n, err := s.Push(t.Context(), []Wanted{many, pinned, guess}, to+"/capi")
	if err != nil || n != 2 {
		t.Fatalf("%d images, %v", n, err)
	}
	empty := scratch(t)
	if got, err := at(t, to, "capi/many").PullImage(t.Context(), "v1", empty, nil); err != nil || got.Digest != index.Digest {
		t.Errorf("%v, want %s: %v", got, index.Digest, err)
	}
	if sums, err := empty.Save(t.Context(), map[string]v1.Descriptor{"x": index}); err != nil || len(sums) != 1+2*3+2 {
		t.Errorf("%d files: %v", len(sums), err)
	}
	if got, err := at(t, to, "capi/"+strings.ReplaceAll(from, ":", "-")+"/b/one").PullImage(t.Context(), "v2", scratch(t), nil); err != nil || got.Digest != one.Digest {
		t.Errorf("%v, want %s: %v", got, one.Digest, err)
	}
	// What was carried is brought without its registry.
	before = sent.Load()
	if fresh, err := s.Bring(t.Context(), all[:2], nil, false); err != nil || len(fresh) != len(files) || sent.Load() != before {
		t.Errorf("%d files, %v", len(fresh), err)
	}
	if fewer, err := s.Bring(t.Context(), all[1:2], nil, false); err != nil || len(fewer) >= len(files) {
		t.Errorf("%d files, %v", len(fewer), err)
	}
}

// Of an image for several platforms only the chosen ones are carried, with their
// attestations, in an index that names nothing else.
func TestPlatforms(t *testing.T) {
	from, sent, _ := start(t)
	l := scratch(t)
	var all []v1.Descriptor
	for _, arch := range []string{"amd64", "arm64"} {
		one := image(t, l, arch)
		one.Platform = &v1.Platform{OS: "linux", Architecture: arch}
		attestation := image(t, l, "attestation of "+arch)
		attestation.Platform = &v1.Platform{OS: "unknown", Architecture: "unknown"}
		attestation.Annotations = map[string]string{"vnd.docker.reference.digest": one.Digest.String()}
		all = append(all, one, attestation)
	}
	index := indexOf(t, l, map[string]string{"a": "b"}, all...)
	given.NoError(t, at(t, from, "a/many").PushImage(t.Context(), "v1", index, l))
	tagged := Wanted{Ref: from + "/a/many:v1"}
	pinned := Wanted{Ref: from + "/a/many@" + index.Digest.String()}
	near := t.TempDir()
	s, said := store(t, near)
	brought := func(img Wanted, platforms []string, changed bool) v1.Descriptor {
		t.Helper()
		given.Value(s.Bring(t.Context(), []Wanted{img}, platforms, changed))(t)
		layout := given.Value(openLayout(near, "images"))(t)
		defer layout.Close()
		images := given.Value(layout.Images())(t)
		return images[img.Ref]
	}
	names := func(desc v1.Descriptor) (out []string) {
		t.Helper()
		data := given.Read(t, filepath.Join(near, "images/blobs/sha256", desc.Digest.Encoded()))
		var got v1.Index
		if err := json.Unmarshal(data, &got); err != nil || got.Annotations["a"] != "b" || got.MediaType != v1.MediaTypeImageIndex {
			t.Errorf("%s: %v", data, err)
		}
		for _, m := range got.Manifests {
			out = append(out, m.Platform.Architecture)
		}
		return out
	}
	only := []string{"linux/arm64"}
	part := brought(tagged, only, false)
	if got := names(part); !slices.Equal(got, []string{"arm64", "unknown"}) {
		t.Errorf("carries %v", got)
	}
	before := sent.Load()
	if again := brought(tagged, only, false); again.Digest != part.Digest || sent.Load() != before {
		t.Errorf("a second run makes %s of %s with %d bytes", again.Digest, part.Digest, sent.Load()-before)
	}
	to, _, _ := start(t)
	tagged.Target = to + "/capi/many:v1"
	if n, err := s.Push(t.Context(), []Wanted{tagged}, to+"/capi"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got, err := at(t, to, "capi/many").PullImage(t.Context(), "v1", scratch(t), nil); err != nil || got.Digest != part.Digest {
		t.Errorf("%v: %v", got, err)
	}
	if got := names(brought(tagged, []string{"linux/amd64", "linux/riscv64"}, true)); !slices.Equal(got, []string{"amd64", "unknown"}) {
		t.Errorf("carries %v", got)
	}
	if got := brought(tagged, nil, true); got.Digest != index.Digest {
		t.Errorf("without platforms it is %s", got.Digest)
	}
	if got := brought(pinned, only, false); got.Digest != index.Digest || !strings.Contains(strings.Join(*said, "\n"), "is named by its digest") {
		t.Errorf("the digest became %s: %q", got.Digest, *said)
	}
	_, err := s.Bring(t.Context(), []Wanted{tagged}, []string{"windows/amd64"}, true)
	if err == nil || !strings.Contains(err.Error(), "built for linux/amd64, linux/arm64, not for windows/amd64") {
		t.Error(err)
	}
}

// A layout that lies, or leads elsewhere, is refused.
func TestHostileLayout(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "images")); err != nil {
		t.Skip(err)
	}
	s, _ := store(t, dir)
	if _, err := s.Bring(t.Context(), nil, nil, false); err == nil {
		t.Error("a link is followed")
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("%v was written outside", entries)
	}
	from, _, _ := start(t)
	l := scratch(t)
	given.NoError(t, at(t, from, "a/one").PushImage(t.Context(), "v1", image(t, l, "one"), l))
	to, _, _ := start(t)
	near := t.TempDir()
	s, _ = store(t, near)
	img := Wanted{Ref: from + "/a/one:v1", Target: to + "/other:v1"}
	files := given.Value(s.Bring(t.Context(), []Wanted{img}, nil, false))(t)
	for path := range files {
		if info, err := os.Stat(filepath.Join(near, "images", path)); err == nil && info.Size() > 900 {
			given.NoError(t, os.WriteFile(filepath.Join(near, "images", path), make([]byte, info.Size()), 0o644))
		}
	}
	if _, err := s.Push(t.Context(), []Wanted{img}, to); err == nil {
		t.Error("a damaged blob was pushed")
	}
}

// Layers that only their vendor distributes stay where they are, and a registry that
// refuses the images that have them gets the other platforms on request. What is missing of a layout is
// fetched again, and an index of nothing is not an image.
func TestForeignLayers(t *testing.T) {
	from, _, _ := start(t)
	l := scratch(t)
	linux := image(t, l, "amd64")
	linux.Platform = &v1.Platform{OS: "linux", Architecture: "amd64"}
	config := put(t, l, v1.MediaTypeImageConfig, []byte(`{"os":"windows","architecture":"amd64"}`))
	const foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
	base := v1.Descriptor{MediaType: foreign, Digest: digest.FromString("base"), Size: 4, URLs: []string{"https://vendor.example.com/base"}}
	windows := put(t, l, v1.MediaTypeImageManifest, marshal(t, v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, Config: config, Layers: []v1.Descriptor{base}}))
	windows.Platform = &v1.Platform{OS: "windows", Architecture: "amd64"}
	for name, root := range map[string]v1.Descriptor{"both": indexOf(t, l, nil, linux, windows), "nothing": indexOf(t, l, nil)} {
		given.NoError(t, at(t, from, "a/"+name).PushImage(t.Context(), "v1", root, l))
	}
	near := t.TempDir()
	s, _ := store(t, near)
	both := []Wanted{{Ref: from + "/a/both:v1"}}
	files := given.Value(s.Bring(t.Context(), both, nil, false))(t)
	for name, sum := range files {
		got, err := os.ReadFile(filepath.Join(near, "images", filepath.FromSlash(name)))
		if err != nil || digest.FromBytes(got).Encoded() != sum.String() {
			t.Errorf("%s is listed: %v", name, err)
		}
	}
	// Something of it gets lost, and comes back.
	lost := filepath.Join(near, "images/blobs/sha256", linux.Digest.Encoded())
	given.NoError(t, os.Remove(lost))
	if again, err := s.Bring(t.Context(), both, nil, false); err != nil || len(again) != len(files) {
		t.Errorf("%d files, %v", len(again), err)
	}
	given.Value(os.Stat(lost))(t)
	if _, err := s.Bring(t.Context(), []Wanted{{Ref: from + "/a/nothing:v1"}}, nil, false); err == nil || !strings.Contains(err.Error(), "lists no manifest") {
		t.Errorf("%v", err)
	}
	// docker-registry refuses manifests with URLs unless it was told to allow them.
	r := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	strict := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/manifests/") {
			data, _ := io.ReadAll(req.Body)
			if req.Body = io.NopCloser(bytes.NewReader(data)); bytes.Contains(data, []byte(`"urls"`)) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"errors":[{"code":"MANIFEST_INVALID","message":"invalid URL on layer"}]}`))
				return
			}
		}
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(strict.Close)
	to := strings.TrimPrefix(strict.URL, "http://")
	both[0].Target = to + "/capi/both:v1"
	if _, err := s.Push(t.Context(), both, to+"/capi"); err == nil || !strings.Contains(err.Error(), "MANIFEST_INVALID") || !strings.Contains(err.Error(), "--platform") {
		t.Fatal(err)
	}
	given.Value(s.Bring(t.Context(), both, []string{"linux/amd64"}, true))(t)
	if n, err := s.Push(t.Context(), both, to+"/capi"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	end := scratch(t)
	got := given.Value(at(t, to, "capi/both").PullImage(t.Context(), "v1", end, nil))(t)
	if there, err := end.Exists(t.Context(), got); err != nil || !there {
		t.Errorf("%v %v", there, err)
	}
}

// TestSuspects checks that of the files that are called damaged those are fetched
// again that are, and that the others stay, also if nothing can be fetched.
func TestSuspects(t *testing.T) {
	host, _, _ := start(t)
	from := scratch(t)
	ref := host + "/acme/app:v1"
	given.NoError(t, at(t, host, "acme/app").PushImage(t.Context(), "v1", image(t, from, "a"), from))
	dir := t.TempDir()
	s, _ := store(t, dir)
	sums := given.Value(s.Bring(t.Context(), []Wanted{{Ref: ref}}, nil, false))(t)
	var blobs []string
	for name := range sums {
		s.Suspects = append(s.Suspects, name)
		if strings.HasPrefix(name, "blobs/") {
			blobs = append(blobs, filepath.Join(dir, "images", name))
		}
	}
	content := given.Read(t, blobs[0])
	given.NoError(t, os.WriteFile(blobs[0], bytes.Repeat([]byte("x"), len(content)), 0o600))
	open := s.Open
	s.Open = func(string, string) (*Repository, error) { return nil, io.ErrUnexpectedEOF }
	if _, err := s.Bring(t.Context(), []Wanted{{Ref: ref}}, nil, false); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without the registry: %v", err)
	}
	for _, blob := range blobs[1:] {
		if _, err := os.Stat(blob); err != nil {
			t.Error(err)
		}
	}
	s.Open = open
	if again, err := s.Bring(t.Context(), []Wanted{{Ref: ref}}, nil, false); err != nil || !maps.Equal(again, sums) {
		t.Errorf("%v, %v", again, err)
	}
	if now, err := os.ReadFile(blobs[0]); err != nil || !bytes.Equal(now, content) {
		t.Errorf("the damaged part stays: %q, %v", now, err)
	}
}
