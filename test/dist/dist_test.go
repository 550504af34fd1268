package dist

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// root is the project, and release the folder that goreleaser and the program
// image have filled.
const (
	root    = "../.."
	release = root + "/out/dist"
)

// tag is what goreleaser knows about the release.
type tag struct{ Version, Commit string }

func TestMain(m *testing.M) {
	if _, err := os.Stat(filepath.Join(release, "SHA256SUMS")); err != nil {
		fmt.Println("skipped: out/dist has no release; run make dist")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func metadata(t *testing.T) tag {
	t.Helper()
	var m tag
	data, err := os.ReadFile(filepath.Join(release, "metadata.json"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	given.NoError(t, err)
	m.Version = "v" + m.Version
	return m
}

// version is what a program of the release prints.
type version struct {
	Version, Commit, Date, Clusterctl string
	Contracts                         []string
}

func askVersion(t *testing.T, program ...string) version {
	t.Helper()
	var v version
	out, err := exec.CommandContext(t.Context(), program[0], append(program[1:], "--version", "-o", "json")...).Output()
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", program, err, out)
	}
	return v
}

// isRelease checks that a program is that of the release, and that a new user
// gets a first result from it within a minute.
func isRelease(t *testing.T, program ...string) {
	t.Helper()
	want := metadata(t)
	if v := askVersion(t, program...); v.Version != want.Version || v.Commit != want.Commit || v.Date == "" || v.Clusterctl == "" || len(v.Contracts) == 0 {
		t.Errorf("--version says %+v, want %+v", v, want)
	}
	begin := time.Now()
	out, err := exec.CommandContext(t.Context(), program[0], append(program[1:], "lint", example(t))...).CombinedOutput()
	if took := time.Since(begin); err != nil || took > time.Minute {
		t.Errorf("lint of the example: %v after %v\n%s", err, took, out)
	} else {
		t.Logf("lint of the example took %v", took.Round(time.Millisecond))
	}
}

func example(t *testing.T) string {
	t.Helper()
	return given.Value(filepath.Abs(filepath.Join(root, "examples/cluster-api-provider-acme")))(t)
}

func sum(t *testing.T, path string) string {
	t.Helper()
	data := given.Read(t, path)
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// platforms are those that a release is made for.
func platforms() (all []string) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			all = append(all, system+"_"+arch)
		}
	}
	return all
}

func archive(platform string) string {
	if strings.HasPrefix(platform, "windows") {
		return "clusterctl-repo_" + platform + ".zip"
	}
	return "clusterctl-repo_" + platform + ".tar.gz"
}

// TestChecksums wants a right checksum for everything that users download.
func TestChecksums(t *testing.T) {
	data := given.Read(t, filepath.Join(release, "SHA256SUMS"))
	listed := map[string]string{}
	for line := range strings.Lines(string(data)) {
		hash, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Errorf("SHA256SUMS has the line %q", line)
		}
		listed[name] = hash
	}
	var want []string
	for _, p := range platforms() {
		want = append(want, archive(p), "clusterctl-repo_"+p+".cdx.json")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		want = append(want, "clusterctl-repo_linux_"+arch+".deb", "clusterctl-repo_linux_"+arch+".rpm")
	}
	for _, name := range want {
		if got := sum(t, filepath.Join(release, name)); listed[name] != got {
			t.Errorf("%s: SHA256SUMS has %q, the file %s", name, listed[name], got)
		}
	}
	if len(listed) != len(want) {
		t.Errorf("SHA256SUMS lists %d files, want %d: %v", len(listed), len(want), listed)
	}
	if path, err := exec.LookPath("sha256sum"); err == nil {
		cmd := exec.CommandContext(t.Context(), path, "--check", "--strict", "SHA256SUMS")
		cmd.Dir = release
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sha256sum: %v\n%s", err, out)
		}
	}
}

// contents returns the files of an archive.
func contents(t *testing.T, path string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	given.NoError(t, err)
	files := map[string][]byte{}
	add := func(name string, r io.Reader) {
		if files[name], err = io.ReadAll(r); err != nil {
			t.Fatalf("%s: %s: %v", path, name, err)
		}
	}
	if strings.HasSuffix(path, ".zip") {
		z := given.Value(zip.NewReader(bytes.NewReader(data), int64(len(data))))(t)
		for _, f := range z.File {
			r := given.Value(f.Open())(t)
			add(f.Name, r)
			r.Close()
		}
		return files
	}
	z := given.Value(gzip.NewReader(bytes.NewReader(data)))(t)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			add(h.Name, r)
		}
	}
}

func write(t *testing.T, path string, data []byte, mode os.FileMode) string {
	t.Helper()
	given.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, mode)))
	return path
}

// TestArchives wants in each archive a program for its platform with all that
// belongs to it, and runs the one for this machine.
func TestArchives(t *testing.T) {
	want := metadata(t)
	for _, platform := range platforms() {
		t.Run(platform, func(t *testing.T) {
			system, arch, _ := strings.Cut(platform, "_")
			files := contents(t, filepath.Join(release, archive(platform)))
			name := "clusterctl-repo"
			if system == "windows" {
				name += ".exe"
			}
			for _, file := range []string{
				name, "LICENSE", "NOTICE", "README.md", "CHANGELOG.md",
				"completions/clusterctl-repo.bash", "completions/clusterctl-repo.zsh", "completions/clusterctl-repo.fish", "completions/clusterctl-repo.ps1",
				"man/man1/clusterctl-repo.1", "man/man1/clusterctl-repo-lint.1", "man/man1/clusterctl-repo-contract-check.1",
			} {
				if len(files[file]) == 0 {
					t.Errorf("%s is missing", file)
				}
			}
			if page := files["man/man1/clusterctl-repo.1"]; !bytes.Contains(page, []byte("clusterctl-repo "+want.Version)) {
				t.Errorf("the manual page does not name %s: %.100s", want.Version, page)
			}
			info := given.Value(buildinfo.Read(bytes.NewReader(files[name])))(t)
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			if settings["GOOS"] != system || settings["GOARCH"] != arch || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
				t.Errorf("built with %v", settings)
			}
			if system == runtime.GOOS && arch == runtime.GOARCH {
				isRelease(t, write(t, filepath.Join(t.TempDir(), name), files[name], 0o755))
			}
		})
	}
}

// TestSBOM wants every module that a program was compiled from in its list.
func TestSBOM(t *testing.T) {
	for _, platform := range platforms() {
		var bom struct {
			BOMFormat, SpecVersion string
			Components             []struct{ Name, Version string }
		}
		data, err := os.ReadFile(filepath.Join(release, "clusterctl-repo_"+platform+".cdx.json"))
		if err == nil {
			err = json.Unmarshal(data, &bom)
		}
		given.NoError(t, err)
		listed := map[string]string{}
		for _, c := range bom.Components {
			listed[c.Name] = c.Version
		}
		name := "clusterctl-repo"
		if strings.HasPrefix(platform, "windows") {
			name += ".exe"
		}
		info, err := buildinfo.Read(bytes.NewReader(contents(t, filepath.Join(release, archive(platform)))[name]))
		given.NoError(t, err)
		for _, m := range info.Deps {
			if listed[m.Path] != m.Version {
				t.Errorf("%s: %s is %s in the program and %q in the SBOM", platform, m.Path, m.Version, listed[m.Path])
			}
		}
		if bom.BOMFormat != "CycloneDX" || len(info.Deps) < 20 || listed["std"] == "" {
			t.Errorf("%s: %s %s with %d components", platform, bom.BOMFormat, bom.SpecVersion, len(bom.Components))
		}
	}
}

// need returns the path of a program, or skips the test; DIST=complete makes
// that a failure.
func need(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("DIST") == "complete" {
			t.Fatalf("%s is missing: %s", name, from)
		}
		t.Skipf("skipped: %s is missing: %s", name, from)
	}
	return path
}

func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// TestDeb installs the package with dpkg, below a folder of its own.
func TestDeb(t *testing.T) {
	dpkg := need(t, "dpkg", "it is in every Debian")
	dir := t.TempDir()
	for _, file := range []string{"status", "available", "info/format", "updates/.keep"} {
		text := ""
		if file == "info/format" {
			text = "1\n"
		}
		write(t, filepath.Join(dir, "var/lib/dpkg", file), []byte(text), 0o644)
	}
	given.NoError(t, os.Remove(filepath.Join(dir, "var/lib/dpkg/updates/.keep")))
	deb := given.Value(filepath.Abs(filepath.Join(release, "clusterctl-repo_linux_"+runtime.GOARCH+".deb")))(t)
	must(t, exec.CommandContext(t.Context(), dpkg, "--root="+dir, "--force-not-root", "--install", deb))
	isRelease(t, filepath.Join(dir, "usr/bin/clusterctl-repo"))
	for _, file := range []string{
		"usr/share/man/man1/clusterctl-repo-lint.1", "usr/share/bash-completion/completions/clusterctl-repo", "usr/share/fish/vendor_completions.d/clusterctl-repo.fish",
		"usr/share/zsh/vendor-completions/_clusterctl-repo", "usr/share/doc/clusterctl-repo/copyright",
	} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	must(t, exec.CommandContext(t.Context(), dpkg, "--root="+dir, "--force-not-root", "--remove", "clusterctl-repo"))
	if _, err := os.Stat(filepath.Join(dir, "usr/bin/clusterctl-repo")); err == nil {
		t.Error("the program is still there after the package was removed")
	}
}

// TestRPM installs the package with rpm, below a folder of its own.
func TestRPM(t *testing.T) {
	rpm := need(t, "rpm", "install the Debian package of that name")
	dir := t.TempDir()
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	file := given.Value(filepath.Abs(filepath.Join(release, "clusterctl-repo_linux_"+runtime.GOARCH+".rpm")))(t)
	if got := must(t, exec.CommandContext(t.Context(), rpm, "-qp", "--qf", "%{NAME} %{ARCH} %{LICENSE}", file)); got != "clusterctl-repo "+arch+" Apache-2.0" {
		t.Errorf("the package is %q", got)
	}
	if os.Getuid() != 0 {
		t.Skip("skipped the installation: rpm wants to be root for it")
	}
	must(t, exec.CommandContext(t.Context(), rpm, "--root", dir, "--nodeps", "--nosignature", "--install", file))
	isRelease(t, filepath.Join(dir, "usr/bin/clusterctl-repo"))
}

// TestFormula checks what Homebrew would download. Ruby does not run here.
func TestFormula(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(release, "homebrew", "*.rb"))
	if deeper, _ := filepath.Glob(filepath.Join(release, "homebrew", "*", "*.rb")); err == nil {
		found = append(found, deeper...)
	}
	if len(found) != 1 {
		t.Fatalf("found the formulas %v", found)
	}
	data := given.Read(t, found[0])
	var url string
	var archives []string
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if u, ok := strings.CutPrefix(line, `url "`); ok {
			url = strings.TrimSuffix(u, `"`)
		}
		if s, ok := strings.CutPrefix(line, `sha256 "`); ok {
			name := url[strings.LastIndexByte(url, '/')+1:]
			archives = append(archives, name)
			if got := sum(t, filepath.Join(release, name)); s != got+`"` {
				t.Errorf("%s: the formula has %s, the file %s", name, s, got)
			}
		}
	}
	slices.Sort(archives)
	var want []string
	for _, p := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		want = append(want, archive(p))
	}
	if !slices.Equal(archives, want) {
		t.Errorf("the formula has %v, want %v", archives, want)
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		must(t, exec.CommandContext(t.Context(), ruby, "-c", found[0]))
	}
}
