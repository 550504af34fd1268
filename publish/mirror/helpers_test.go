package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var (
	core = layouts.Provider{Type: layouts.Core, Name: layouts.CoreName}
	foo  = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
	bar  = layouts.Provider{Type: layouts.Bootstrap, Name: "bar"}
)

const metadataFormat = `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- {major: %d, minor: %d, contract: %s}
`

func metadataOf(version, contract string) string {
	v, err := layouts.ParseVersion(version)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(metadataFormat, v.Major(), v.Minor(), contract)
}

// components is a components file of a provider with one image.
func components(p layouts.Provider, image string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller
  namespace: system
  labels: {cluster.x-k8s.io/provider: %s}
spec: {template: {spec: {containers: [{name: manager, image: %q}]}}}
`, p.Label(), image)
}

// files returns the files of a release of one provider, by name and content.
func filesOf(p layouts.Provider, version string) []string {
	info, _ := p.Type.Info()
	return []string{
		info.ComponentsFile, components(p, "registry.example.com/"+p.Name+"/controller:"+version),
		"metadata.yaml", metadataOf(version, "v1beta2"),
		"cluster-template.yaml", "kind: Cluster\nmetadata: {name: \"${CLUSTER_NAME}\"}\n" + strings.Repeat("# text\n", 5000),
	}
}

// place is a source in memory that counts, and calls hook before each step.
type place struct {
	name   string
	stated bool
	// incomplete is why its files cannot be listed.
	incomplete string
	hook       func(step string) error
	body       func(step string, content []byte) io.Reader // of a file, if not nil

	mu       sync.Mutex
	releases map[string][]string // files by version
	steps    []string
	opened   int
	reading  int
	most     int // files read at a time
}

func newPlace(name string, releases map[string][]string) *place {
	return &place{name: name, stated: true, releases: releases}
}

func (p *place) step(format string, args ...any) error {
	step := fmt.Sprintf(format, args...)
	p.mu.Lock()
	p.steps = append(p.steps, step)
	p.mu.Unlock()
	if p.hook != nil {
		return p.hook(p.name + ": " + step)
	}
	return nil
}

func (p *place) String() string { return p.name }

func (p *place) Versions(context.Context) ([]string, error) {
	var out []string
	for v := range p.releases {
		out = append(out, v)
	}
	slices.SortFunc(out, CompareVersions)
	return out, p.step("versions")
}

func (p *place) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	if err := p.step("fetch %s", version); err != nil {
		return nil, err
	}
	files, ok := p.releases[version]
	if !ok {
		return nil, fmt.Errorf("%s has no %s: %w", p.name, version, fs.ErrNotExist)
	}
	r := &repo.Release{Version: version, Path: p.name + "/" + version, Incomplete: p.incomplete}
	for i := 0; i < len(files); i += 2 {
		name, content := files[i], []byte(files[i+1])
		where := p.name + "/" + version + "/" + name
		a := repo.NewArtifact(name, where, int64(len(content)), func() (io.ReadCloser, error) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err := p.step("open %s %s", version, name); err != nil {
				return nil, err
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.opened++
			p.reading++
			p.most = max(p.most, p.reading)
			body := io.Reader(bytes.NewReader(content))
			if p.body != nil {
				body = p.body(p.name+": open "+version+" "+name, content)
			}
			return &reading{body, p}, nil
		})
		if p.stated {
			a = a.Stating(sha256.Sum256(content))
		}
		r.Artifacts = append(r.Artifacts, a)
	}
	r.Sort()
	return r, nil
}

type reading struct {
	io.Reader
	p *place
}

func (r *reading) Close() error {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.p.reading--
	return nil
}

func (p *place) opens() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

func folderOf(t testing.TB, dir string) *local.Folder {
	t.Helper()
	return given.Value(local.New(dir))(t)
}

// toFolder are options for a mirror in a folder.
func toFolder(t testing.TB, dir string) Options {
	folder := folderOf(t, dir)
	return Options{Place: Place{To: folder.Site(), Folder: folder, Dir: dir}}
}

// signing makes a run sign with the key of these tests.
func signing(opts Options) Options {
	sig := func(sums []byte) []byte { return []byte("signed " + sumOf(sums).String()) }
	opts.Sign = func(sums []byte) ([]byte, error) { return sig(sums), nil }
	opts.Vouched = func(sums, s []byte) bool { return bytes.Equal(s, sig(sums)) }
	return opts
}

func mirrored(t testing.TB, wants []Want, opts Options) *Result {
	t.Helper()
	return given.Value(Run(t.Context(), wants, opts))(t)
}

// tree returns all files below a folder, with their contents.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		out[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

func names(files map[string]string) []string {
	var out []string
	for name := range files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// sameTree compares two mirrors, which differ in the folder that they are in.
func sameTree(t testing.TB, got, want string) {
	t.Helper()
	a, b := tree(t, got), tree(t, want)
	if x, y := names(a), names(b); !slices.Equal(x, y) {
		t.Errorf("it holds %v, want %v", x, y)
		return
	}
	for name := range a {
		x := strings.ReplaceAll(a[name], got, want)
		if x != b[name] && name != layouts.ChecksumFile && name != layouts.SignatureFile {
			t.Errorf("%s is\n%s\nwant\n%s", name, x, b[name])
		}
	}
	checkSums(t, got)
}

// checkSums does what sha256sum --check does, and finds files without a line.
func checkSums(t testing.TB, root string) {
	t.Helper()
	files := tree(t, root)
	lines := strings.Split(strings.TrimSuffix(files[layouts.ChecksumFile], "\n"), "\n")
	if !slices.IsSortedFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) }) {
		t.Errorf("the checksums are not sorted:\n%s", strings.Join(lines, "\n"))
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		content, ok := files[name]
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(content))); !ok || got != sum {
			t.Errorf("%s: the checksum of %q is %s", layouts.ChecksumFile, name, got)
		}
		delete(files, name)
	}
	delete(files, layouts.ChecksumFile)
	delete(files, layouts.SignatureFile)
	for name := range files {
		t.Errorf("%s has no line in %s", name, layouts.ChecksumFile)
	}
}

// whole checks that every release in a folder is one of the places', with all
// its files, and returns how many there are.
func allWhole(t testing.TB, dir string, places ...*place) (n int) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		p, err := ParseLabel(e.Name())
		if err != nil {
			continue
		}
		to := given.Value(folderOf(t, dir).Site().Of(p))(t)
		versions := given.Value(to.Versions(t.Context()))(t)
	next:
		for _, v := range versions {
			got := given.Value(to.Fetch(t.Context(), v))(t)
			n++
			for _, from := range places {
				if _, ok := from.releases[v]; !ok || !strings.Contains(strings.Join(from.releases[v], "\n"), p.Label()) {
					continue
				}
				quiet := &place{name: from.name, releases: from.releases}
				all := given.Value(quiet.Fetch(t.Context(), v))(t)
				parts := given.Value(providers.Split(t.Context(), all, ""))(t)
				for _, want := range parts {
					if d, err := publish.Compare(t.Context(), got, want); want.Provider == p && (err != nil || !d.IsZero()) {
						t.Errorf("%s %s is not whole: %v %v", p, v, d, err)
					}
				}
				continue next
			}
			t.Errorf("%s %s is from nowhere", p, v)
		}
	}
	return n
}

// noTrace checks that nothing is left of a run that ended, but a journal.
func noTrace(t testing.TB, dir string) {
	t.Helper()
	for name := range tree(t, dir) {
		if strings.Contains(name, layouts.WorkPrefix) && name != journalFile {
			t.Errorf("it left %s", name)
		}
	}
}
