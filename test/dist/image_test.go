package dist

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/clusterctl-repo/clusterctl-repo/test/conformance/registry"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// index opens the image of the release.
func index(t *testing.T) v1.ImageIndex {
	t.Helper()
	outer := given.Value(layout.ImageIndexFromPath(filepath.Join(release, "image")))(t)
	m, err := outer.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("the layout has %v, %v", m, err)
	}
	return given.Value(outer.ImageIndex(m.Manifests[0].Digest))(t)
}

// unpack writes the file system of an image into a folder.
func unpack(t *testing.T, image v1.Image, dir string) {
	t.Helper()
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, h.FileInfo().Mode()))
		} else {
			data, readErr := io.ReadAll(r)
			err = errors.Join(readErr, os.WriteFile(path, data, h.FileInfo().Mode()))
		}
		given.NoError(t, err)
	}
}

// TestImage checks the layout and runs the program as the image has it.
func TestImage(t *testing.T) {
	inner := index(t)
	given.NoError(t, validate.Index(inner))
	m := given.Value(inner.IndexManifest())(t)
	want := metadata(t)
	if m.Annotations["org.opencontainers.image.revision"] != want.Commit || m.Annotations["org.opencontainers.image.version"] != want.Version {
		t.Errorf("the annotations are %v", m.Annotations)
	}
	var have []string
	for _, d := range m.Manifests {
		have = append(have, d.Platform.String())
		if d.Platform.Architecture != runtime.GOARCH {
			continue
		}
		image := given.Value(inner.Image(d.Digest))(t)
		config := given.Value(image.ConfigFile())(t)
		dir := t.TempDir()
		unpack(t, image, dir)
		certificates, err := os.ReadFile(filepath.Join(dir, "etc/ssl/certs/ca-certificates.crt"))
		if n := strings.Count(string(certificates), "BEGIN CERTIFICATE"); err != nil || n < 50 {
			t.Errorf("%d certificate authorities, %v", n, err)
		}
		if config.Config.User != "65532:65532" || len(config.Config.Entrypoint) != 1 {
			t.Errorf("the configuration is %+v", config.Config)
		}
		isRelease(t, filepath.Join(dir, config.Config.Entrypoint[0]))
		if chroot, err := exec.LookPath("chroot"); err == nil && os.Getuid() == 0 {
			// Nothing of this machine is there, as in a container.
			copied := filepath.Join(dir, "src", "example")
			given.NoError(t, os.CopyFS(copied, os.DirFS(example(t))))
			out := must(t, exec.CommandContext(t.Context(), chroot, "--userspec="+config.Config.User, dir, config.Config.Entrypoint[0], "lint", "/src/example"))
			if !strings.Contains(out, "0 errors") && !strings.Contains(out, "no findings") {
				t.Errorf("lint in the image says: %s", out)
			}
		}
	}
	slices.Sort(have)
	if !slices.Equal(have, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the platforms are %v", have)
	}
}

// TestImageInRegistry pushes the image with the program of the release workflow
// and reads it with another one.
func TestImageInRegistry(t *testing.T) {
	need(t, "docker-registry", "install the Debian package of that name")
	r := given.Value(registry.Start(t.TempDir()))(t)
	t.Cleanup(r.Close)
	want := metadata(t)
	begin := askVersion(t, write(t, filepath.Join(t.TempDir(), "program"), contents(t, filepath.Join(release, archive(runtime.GOOS+"_"+runtime.GOARCH)))["clusterctl-repo"], 0o755))
	dist := t.TempDir()
	for _, file := range []string{archive("linux_amd64"), archive("linux_arm64"), "metadata.json"} {
		from := given.Value(filepath.Abs(filepath.Join(release, file)))(t)
		given.NoError(t, os.Symlink(from, filepath.Join(dist, file)))
	}
	to := r.Host + "/clusterctl-repo:" + want.Version
	out := must(t, exec.CommandContext(t.Context(), "go", "run", "./image", "-dist", dist, "-date", begin.Date, "-push", to))
	digest := given.Value(index(t).Digest())(t)
	if strings.TrimSpace(out) != digest.String() {
		t.Errorf("a second run made %s, the first %s", strings.TrimSpace(out), digest)
	}
	ref := given.Value(name.ParseReference(to))(t)
	pushed, err := remote.Get(ref)
	if err != nil || pushed.Digest != digest {
		t.Errorf("the registry has %v, %v; want %s", pushed, err, digest)
	}
	if skopeo, err := exec.LookPath("skopeo"); err == nil {
		if out := must(t, exec.CommandContext(t.Context(), skopeo, "inspect", "--tls-verify=false", "--override-arch", runtime.GOARCH, "docker://"+to)); !strings.Contains(out, want.Commit) {
			t.Errorf("skopeo inspect: %s", out)
		}
	}
}
