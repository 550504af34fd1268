package repo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// sumOfHello is the SHA-256 of "hello\n" (echo hello | sha256sum).
const sumOfHello = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

func release(files ...string) *repo.Release {
	r := &repo.Release{Path: "out"}
	for i := 0; i < len(files); i += 2 {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(files[i], []byte(files[i+1])))
	}
	r.Sort()
	return r
}

func TestChecksumsAreThoseOfSha256sum(t *testing.T) {
	r := release("b.yaml", "hello\n", "a.yaml", "", "SHA256SUMS", "old", "SHA256SUMS.sig", "old")
	got := given.Value(repo.Checksums(t.Context(), r))(t)
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.yaml\n" + sumOfHello + "  b.yaml\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	tool, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("sha256sum is not installed; its opinion was not asked")
	}
	dir := t.TempDir()
	for name, data := range map[string]string{"a.yaml": "", "b.yaml": "hello\n", "SHA256SUMS": string(got)} {
		given.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	cmd := exec.Command(tool, "--check", "--strict", "SHA256SUMS")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum --check: %v\n%s", err, out)
	}
}

func TestVerifyChecksums(t *testing.T) {
	for name, tc := range map[string]struct {
		sums string
		want string // the problems, below the first line
	}{
		"true":          {sumOfHello + "  a\n", ""},
		"binary mark":   {sumOfHello + " *a\n", ""},
		"upper case":    {strings.ToUpper(sumOfHello) + "  a\n", ""},
		"no last LF":    {sumOfHello + "  a", ""},
		"CRLF":          {sumOfHello + "  a\r\n", ""},
		"with folder":   {sumOfHello + "  ./a\n", ""},
		"empty":         {"", "it is an empty file instead of a list of checksums; a server answered with something else when it was fetched"},
		"a page":        {"<html>\n" + sumOfHello + "  a\n", "it is an HTML or XML page instead of a list of checksums; a server answered with something else when it was fetched"},
		"other sum":     {strings.Repeat("0", 64) + "  a\n", "line 1: a has the checksum " + sumOfHello},
		"unknown file":  {sumOfHello + "  a\n" + sumOfHello + "  b\n", "line 2: b is missing"},
		"twice":         {sumOfHello + "  a\n" + sumOfHello + "  a\n", "line 2: a was already listed on line 1"},
		"itself":        {sumOfHello + "  a\n" + sumOfHello + "  SHA256SUMS\n", "line 2: SHA256SUMS cannot be listed in SHA256SUMS, because it is made from that file"},
		"its signature": {sumOfHello + "  a\n" + sumOfHello + "  SHA256SUMS.sig\n", "line 2: SHA256SUMS.sig cannot be listed in SHA256SUMS, because it is made from that file"},
		"short sum":     {sumOfHello[1:] + "  a\n", "line 1: expected 64 hexadecimal digits, two spaces and a file name\na has no line"},
		"no hex":        {strings.Repeat("x", 64) + "  a\n", "line 1: expected 64 hexadecimal digits, two spaces and a file name\na has no line"},
		"no name":       {sumOfHello + "  \n", "line 1: expected 64 hexadecimal digits, two spaces and a file name\na has no line"},
		"escape":        {sumOfHello + "  ../a\n", "line 1: ../a is missing\na has no line"},
	} {
		t.Run(name, func(t *testing.T) {
			err := repo.VerifyChecksums(t.Context(), release("a", "hello\n", "SHA256SUMS", tc.sums, "SHA256SUMS.sig", "x"))
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			failed, ok := errors.AsType[*repo.ChecksumError](err)
			if !ok {
				t.Fatalf("got %v, want a ChecksumError", err)
			}
			first, got, _ := strings.Cut(strings.ReplaceAll(failed.Error(), "\n  ", "\n"), "\n")
			if got != tc.want || first != "SHA256SUMS does not match the files next to it" {
				t.Errorf("got\n%s\n%s\nwant\n%s", first, got, tc.want)
			}
		})
	}
	if err := repo.VerifyChecksums(t.Context(), release("a", "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a checksum file: %v, want fs.ErrNotExist", err)
	}
}

func TestCopyRefusesAFileThatChangedItsLength(t *testing.T) {
	for _, listed := range []int64{0, 4, 6} {
		a := repo.NewArtifact("f", "out/f", listed, func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("12345")), nil
		})
		var out bytes.Buffer
		if _, err := a.Copy(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "out/f: the file no longer has") {
			t.Errorf("listed with %d bytes: %v", listed, err)
		}
		if int64(out.Len()) > listed+1 {
			t.Errorf("listed with %d bytes: %d were written", listed, out.Len())
		}
	}
}

// A release of an unknown provider has no label to look for, so no file holds its
// components.
func TestIdentify(t *testing.T) {
	for name, want := range map[string]string{"": "", "foo": "other.yaml"} {
		r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: name}, Artifacts: []*repo.Artifact{
			repo.BytesArtifact("other.yaml", []byte("cluster.x-k8s.io/provider: infrastructure-"+name+"\n")),
		}}
		if err := r.Identify(); err != nil || r.ComponentsFile != want {
			t.Errorf("%q: %q, %v", name, r.ComponentsFile, err)
		}
	}
}

// endless never ends by itself.
type endless struct{ read func() }

func (e endless) Read(p []byte) (int, error) { e.read(); return len(p), nil }

func TestSumStopsWithItsContext(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	reads := 0
	a := repo.NewArtifact("f", "f", 1<<62, func() (io.ReadCloser, error) {
		return io.NopCloser(endless{func() {
			if reads++; reads == 3 {
				cancel(stop)
			}
		}}), nil
	})
	if _, err := a.Sum(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if _, err := repo.Checksums(ctx, &repo.Release{Artifacts: []*repo.Artifact{a}}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// What Checksums writes, VerifyChecksums accepts, and nothing in a checksum
// file makes it panic or accept other content.
func FuzzVerifyChecksums(f *testing.F) {
	f.Add("a.yaml", []byte("hello\n"), []byte(sumOfHello+"  a.yaml\n"))
	f.Add("cluster-template.yaml", []byte(""), []byte("\\x  y\n\n  z"))
	f.Add("a", []byte("x"), []byte(sumOfHello+"  ./a"))
	f.Fuzz(func(t *testing.T, name string, data, sums []byte) {
		r := &repo.Release{Artifacts: []*repo.Artifact{repo.BytesArtifact(name, data), repo.BytesArtifact(layouts.ChecksumFile, sums)}}
		ok := repo.VerifyChecksums(t.Context(), r) == nil
		want := given.Value(repo.Checksums(t.Context(), r))(t)
		if ok && name != layouts.ChecksumFile && name != layouts.SignatureFile && !bytes.Contains(bytes.ToLower(sums), want[:64]) {
			t.Errorf("accepted %q, which lacks %q", sums, want)
		}
		if strings.ContainsAny(name, "\n\r") || name == "" || name == layouts.ChecksumFile || name == layouts.SignatureFile || strings.HasPrefix(name, "./") {
			return // no name in a release
		}
		r.Artifacts[1] = repo.BytesArtifact(layouts.ChecksumFile, want)
		if err := repo.VerifyChecksums(t.Context(), r); err != nil {
			t.Errorf("own checksums of %q: %v", name, err)
		}
	})
}

// Digest reads a file once, however often it is asked, also through copies of
// the artifact; Sum reads it each time.
func TestDigestReadsOnce(t *testing.T) {
	reads := 0
	a := repo.NewArtifact("f", "f", 6, func() (io.ReadCloser, error) {
		reads++
		return io.NopCloser(strings.NewReader("hello\n")), nil
	})
	same := a.Through(func(r io.ReadCloser) io.ReadCloser { return r })
	for _, a := range []*repo.Artifact{a, same, a} {
		if sum, err := a.Digest(t.Context()); err != nil || sum.String() != sumOfHello {
			t.Errorf("%v %v", sum, err)
		}
	}
	if reads != 1 {
		t.Errorf("read %d times", reads)
	}
	if _, err := same.Sum(t.Context()); err != nil || reads != 2 {
		t.Errorf("Sum does not read: %d %v", reads, err)
	}
	known, _ := repo.ParseSum(sumOfHello)
	b := repo.NewArtifact("f", "f", 6, func() (io.ReadCloser, error) { t.Error("read"); return nil, io.EOF })
	b.Remember(known)
	if sum, err := b.Digest(t.Context()); err != nil || sum != known {
		t.Errorf("%v %v", sum, err)
	}
	if sum, err := b.Stating(known).Digest(t.Context()); err != nil || sum != known {
		t.Errorf("%v %v", sum, err)
	}
}

// Whoever reads a file whose place states another checksum gets an error, by
// whichever way it is read.
func TestStatedChecksum(t *testing.T) {
	right, _ := repo.ParseSum(sumOfHello)
	wrong := right
	wrong[0]++
	a := repo.BytesArtifact("f", []byte("hello\n"))
	given.Value(a.Stating(right).Bytes())(t)
	lie := a.Stating(wrong)
	if _, err := lie.Bytes(); err == nil || !strings.Contains(err.Error(), "was stated") {
		t.Errorf("Bytes: %v", err)
	}
	if _, err := lie.Sum(t.Context()); err == nil || !strings.Contains(err.Error(), "was stated") {
		t.Errorf("Sum: %v", err)
	}
	if sum, err := lie.Digest(t.Context()); err != nil || sum != wrong {
		t.Errorf("Digest believes the place: %v %v", sum, err)
	}
}

// What this process has hashed is not hashed again, also where it is copied; its
// length is still looked at.
func TestHashed(t *testing.T) {
	known, _ := repo.ParseSum(sumOfHello)
	known[0]++ // would not pass if it were compared
	opened := 0
	file := func(size int64) *repo.Artifact {
		return repo.NewArtifact("f", "f", size, func() (io.ReadCloser, error) {
			opened++
			return io.NopCloser(strings.NewReader("hello\n")), nil
		}).Hashed(known)
	}
	if sum, err := file(6).Sum(t.Context()); err != nil || sum != known || opened > 0 {
		t.Errorf("Sum: %v %v, opened %d times", sum, err, opened)
	}
	var b bytes.Buffer
	if sum, err := file(6).Copy(t.Context(), &b); err != nil || sum != known || b.String() != "hello\n" {
		t.Errorf("Copy: %v %v %q", sum, err, b.String())
	}
	if data, err := file(6).Bytes(); err != nil || string(data) != "hello\n" {
		t.Errorf("Bytes: %q %v", data, err)
	}
	if _, err := file(5).Copy(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "no longer has the 5 bytes") {
		t.Errorf("another length: %v", err)
	}
	if _, err := file(6).Stating(known).Bytes(); err == nil || !strings.Contains(err.Error(), "was stated") {
		t.Errorf("a place that states a checksum is believed: %v", err)
	}
}

// TestHugeFiles checks that a file that programs read whole is refused for its size, and
// that any other file is not.
func TestHugeFiles(t *testing.T) {
	for name, refused := range map[string]bool{"metadata.yaml": true, "SHA256SUMS": true, "image.tar": false} {
		opened := false
		a := repo.NewArtifact(name, name, 300<<30, func() (io.ReadCloser, error) {
			opened = true
			return io.NopCloser(strings.NewReader("")), nil
		})
		if _, err := a.Sum(t.Context()); err == nil || opened == refused {
			t.Errorf("%s: opened %v, %v", name, opened, err)
		}
	}
}
