package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestSignedReleases signs no release of an earlier run that is not what the signature
// covered then, or that nothing covers and nothing verifies.
func TestSignedReleases(t *testing.T) {
	edit := func(name string, change func(string) string) func(dir string) error {
		return func(dir string) error {
			file := filepath.Join(dir, name)
			data, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, []byte(change(string(data))), 0o644))
		}
	}
	more := func(text string) string { return text + "\n" }
	unsigned := edit(layouts.SignatureFile, more)
	metadata := filepath.Join(foo.Label(), "v1.2.0", "metadata.yaml")
	for name, tc := range map[string]struct {
		change func(dir string) error
		verify func() error
		want   string // of the error
	}{
		"as it was":       {func(string) error { return nil }, nil, ""},
		"other content":   {edit(metadata, strings.ToUpper), nil, "metadata.yaml"},
		"other size":      {edit(metadata, more), nil, "infrastructure-foo v1.2.0 in the mirror does not match mirror.lock.json; run mirror repair"},
		"other lock":      {edit(layouts.LockFile, more), nil, "no signature covers infrastructure-foo v1.2.0"},
		"other signature": {unsigned, nil, "no signature covers infrastructure-foo v1.2.0"},
		"verified":        {unsigned, func() error { return nil }, ""},
		"refused":         {unsigned, func() error { return fs.ErrInvalid }, "it holds infrastructure-foo v1.2.0 from an earlier run: invalid"},
		"gone":            {func(dir string) error { return os.RemoveAll(filepath.Join(dir, foo.Label())) }, nil, ""},
		"gone, not signed": {func(dir string) error {
			return errors.Join(unsigned(dir), os.RemoveAll(filepath.Join(dir, foo.Label())))
		}, nil, "it lacks infrastructure-foo v1.2.0"},
	} {
		dir := given.MemoryDir(t)
		shared, own := twoPlaces()
		opts := toFolder(t, dir)
		opts.Sign = func([]byte) ([]byte, error) { return []byte("good"), nil }
		opts.Vouched = func(_, sig []byte) bool { return string(sig) == "good" }
		mirrored(t, []Want{{From: own, Provider: foo}}, opts)
		given.NoError(t, tc.change(dir))
		if tc.verify != nil {
			opts.Verify = func(_ context.Context, r *repo.Release, _ []layouts.Provider) error {
				if r.Artifact("infrastructure-components.yaml") == nil {
					return nil // of this run
				}
				return tc.verify()
			}
		}
		_, err := Run(t.Context(), []Want{{From: shared, Provider: bar}}, opts)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSignedImages checks that container images are fetched again before they are
// signed, unless the mirror's own signature covers their index.
func TestSignedImages(t *testing.T) {
	dir := given.MemoryDir(t)
	index := filepath.Join(dir, layouts.ImagesFolder, "index.json")
	fetched := false
	again := func(sign bool) bool {
		t.Helper()
		wants, opts, _, _ := scene(t, dir, nil, nil)
		opts.Settings.Images = true
		opts.Bring = func(_ context.Context, _ []MirroredImage, _ []string, changed bool) (map[string]repo.Sum, error) {
			fetched = changed
			if err := os.MkdirAll(filepath.Dir(index), 0o755); err != nil {
				return nil, err
			}
			text := []byte(`{"schemaVersion":2,"manifests":[]}`)
			return map[string]repo.Sum{"index.json": sumOf(text)}, os.WriteFile(index, text, 0o644)
		}
		if !sign {
			opts.Sign = nil
		}
		mirrored(t, wants, opts)
		return fetched
	}
	if again(false) {
		t.Error("without a signature nothing is fetched again")
	}
	if !again(true) {
		t.Error("images that no signature covers are signed")
	}
	if again(true) {
		t.Error("images that the signature covers are fetched again")
	}
	given.NoError(t, os.WriteFile(index, []byte(`{"schemaVersion":2,"manifests":[],"forged":true}`), 0o644))
	if !again(true) {
		t.Error("a forged index of images is signed")
	}
}

// TestSignedWithoutKey: a run without the key leaves a signed mirror as it is, or is
// refused before it changes anything.
func TestSignedWithoutKey(t *testing.T) {
	_, own := twoPlaces()
	dir := given.MemoryDir(t)
	old := Want{From: own, Provider: foo, Version: selector(t, "v0.9.0")}
	mirrored(t, []Want{old}, signing(toFolder(t, dir)))
	want := tree(t, dir)
	lock := given.Value(ReadLock(dir))(t)
	newer := Want{From: own, Version: selector(t, ">=0.1")}
	for name, tc := range map[string]struct {
		wants  []Want
		edit   func(o *Options)
		gone   []Locked
		damage bool
		want   string // of the error
	}{
		"nothing new": {wants: []Want{old}},
		"verified": {wants: []Want{old}, edit: func(o *Options) {
			o.Verify = func(context.Context, *repo.Release, []layouts.Provider) error { return nil }
		}},
		"repair":       {wants: []Want{old}, edit: func(o *Options) { o.Repair = true }, damage: true},
		"new release":  {wants: []Want{newer}, want: "is signed, and this run would copy infrastructure-foo v1.2.0; add --sign-key"},
		"dry run":      {wants: []Want{newer}, edit: func(o *Options) { o.DryRun = true }, want: "would copy infrastructure-foo v1.2.0"},
		"new settings": {wants: []Want{old}, edit: func(o *Options) { o.Settings.ImageRegistry = "registry.example.com" }, want: "would change images.json"},
		"new source":   {wants: []Want{{From: Named{own, "https://other"}, Provider: foo, Version: old.Version}}, want: "would change mirror.lock.json"},
		"prune":        {gone: lock.Releases, want: "would remove releases"},
	} {
		opts := toFolder(t, dir)
		if tc.edit != nil {
			tc.edit(&opts)
		}
		if tc.damage {
			given.NoError(t, os.WriteFile(filepath.Join(dir, foo.Label(), "v0.9.0", "metadata.yaml"), nil, 0o644))
		}
		var err error
		if tc.gone != nil {
			_, err = Prune(t.Context(), tc.gone, nil, opts)
		} else {
			_, err = Run(t.Context(), tc.wants, opts)
		}
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestRefusedToSign: a mirror that cannot be signed stays as it was.
func TestRefusedToSign(t *testing.T) {
	shared, own := twoPlaces()
	dir := given.MemoryDir(t)
	mirrored(t, []Want{{From: own, Provider: foo}}, toFolder(t, dir))
	want := tree(t, dir)
	wants := []Want{{From: shared, Provider: bar}}
	if _, err := Run(t.Context(), wants, signing(toFolder(t, dir))); err == nil || !strings.Contains(err.Error(), "no signature covers infrastructure-foo v1.2.0") {
		t.Error(err)
	}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	// A journal that gives a signed release another content is not believed.
	mirrored(t, append(wants, Want{From: own}), signing(toFolder(t, dir)))
	lock := given.Value(ReadLock(dir))(t)
	i := slices.IndexFunc(lock.Releases, func(l Locked) bool { return l.Provider == foo.Label() })
	forged := lock.Releases[i]
	forged.Files = slices.Clone(forged.Files)
	forged.Files[0].SHA256 = strings.Repeat("0", 64)
	line := given.Value(json.Marshal(entry{Release: forged}))(t)
	given.NoError(t, os.WriteFile(filepath.Join(dir, journalFile), line, 0o644))
	if _, err := Run(t.Context(), wants, signing(toFolder(t, dir))); err == nil {
		t.Error("it signs what only the journal says")
	}
	if _, err := Run(t.Context(), append(wants, Want{From: own}), signing(toFolder(t, dir))); err == nil || !strings.Contains(err.Error(), "has changed since it was mirrored") {
		t.Error(err)
	}
}

// TestUnfinishedRelease: what an interrupted run copied is not taken for the file of another
// program, and can be removed with and without the key; a signed mirror that was moved can
// be repaired.
func TestUnfinishedRelease(t *testing.T) {
	_, own := twoPlaces()
	old, other := Want{From: own, Provider: foo, Version: selector(t, "v0.9.0")}, given.MemoryDir(t)
	mirrored(t, []Want{{From: own, Provider: foo, Version: selector(t, "v1.2.0")}}, toFolder(t, other))
	added := given.Value(ReadLock(other))(t)
	for name, with := range map[string][2]func(Options) Options{
		"unsigned": {same, same}, "signed": {signing, signing}, "without key": {signing, same},
	} {
		dir := given.MemoryDir(t)
		mirrored(t, []Want{old}, with[0](toFolder(t, dir)))
		want, release := tree(t, dir), filepath.Join(foo.Label(), "v1.2.0")
		given.NoError(t, os.CopyFS(filepath.Join(dir, release), os.DirFS(filepath.Join(other, release))))
		line := given.Value(json.Marshal(entry{Listing: added.Sources[0], Release: added.Releases[0]}))(t)
		given.NoError(t, os.WriteFile(filepath.Join(dir, journalFile), line, 0o644))
		sound(t, dir, unfinished)
		if origin, err := OriginOf(dir); err != nil || len(origin.begun) != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Prune(t.Context(), nil, nil, with[1](toFolder(t, dir))); (err == nil) != (name == "unsigned") {
			t.Errorf("%s: %v", name, err)
		}
		begun := given.Value(Begun(dir, given.Value(ReadLock(dir))(t)))(t)
		if name == "unsigned" {
			begun = added.Releases // the run above has finished it
		}
		given.Value(Prune(t.Context(), begun, nil, with[1](toFolder(t, dir))))(t)
		if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		moved := filepath.Join(given.MemoryDir(t), "moved")
		given.NoError(t, os.CopyFS(moved, os.DirFS(dir)))
		opts := with[1](toFolder(t, moved))
		opts.Repair = true
		result := mirrored(t, nil, opts)
		if kept := strings.Contains(strings.Join(result.Notes, " "), "clusterctl.yaml was not changed"); kept != (name == "without key") {
			t.Errorf("%s: %v", name, result.Notes)
		}
		sound(t, moved)
	}
}

func same(opts Options) Options { return opts }
