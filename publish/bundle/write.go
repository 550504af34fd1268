package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Write writes the mirror in a folder to w, in one pass. It fails if a file is
// not what the checksums of the mirror say.
func Write(ctx context.Context, w io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	sums, err := root.ReadFile(layouts.ChecksumFile)
	if err != nil {
		return fmt.Errorf("read the checksums of %s: %w", dir, err)
	}
	listed, err := mirror.ParseSums(sums)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", layouts.ChecksumFile, dir, err)
	}
	t := tar.NewWriter(w)
	if err := add(t, layouts.ChecksumFile, int64(len(sums)), bytes.NewReader(sums)); err != nil {
		return err
	}
	sig, err := root.ReadFile(layouts.SignatureFile)
	if err == nil {
		err = add(t, layouts.SignatureFile, int64(len(sig)), bytes.NewReader(sig))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	slices.SortFunc(listed, func(a, b mirror.Checksum) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range listed {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := pack(ctx, t, root, f); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, filepath.FromSlash(f.Name)), err)
		}
	}
	return t.Close()
}

// pack adds one file of the mirror.
func pack(ctx context.Context, t *tar.Writer, root *os.Root, f mirror.Checksum) error {
	info, err := root.Lstat(f.Name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a plain file")
	}
	file, err := root.Open(f.Name)
	if err != nil {
		return err
	}
	a := repo.NewArtifact(path.Base(f.Name), f.Name, info.Size(), func() (io.ReadCloser, error) { return file, nil }).Stating(f.Sum)
	if err := t.WriteHeader(header(f.Name, info.Size())); err != nil {
		file.Close()
		return err
	}
	_, err = a.Copy(ctx, t)
	return err
}

func add(t *tar.Writer, name string, size int64, r io.Reader) error {
	if err := t.WriteHeader(header(name, size)); err != nil {
		return err
	}
	_, err := io.Copy(t, r)
	return err
}

// header says nothing that depends on the machine or the time.
func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0).UTC()}
}

// Create writes the mirror in a folder to a file, which it replaces in one step.
// It returns the checksum of the file, in the form of SHA256SUMS.
func Create(ctx context.Context, name, dir string) (sum repo.Sum, err error) {
	fail := func(err error) (repo.Sum, error) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return repo.Sum{}, fmt.Errorf("write the bundle %s: %w", name, err)
	}
	parent, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return fail(err)
	}
	defer parent.Close()
	part := Staging(filepath.Base(name)) + ".part"
	// What a killed run left is of no use. O_EXCL keeps links out.
	if err := parent.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	f, err := parent.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fail(err)
	}
	h := sha256.New()
	err = Write(ctx, io.MultiWriter(f, h), dir)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = parent.Rename(part, filepath.Base(name))
	}
	if err != nil {
		_ = parent.Remove(part) // the next run removes it as well
		return fail(err)
	}
	return repo.Sum(h.Sum(nil)), nil
}

// Staging is the name of the folder, next to a bundle, in which its mirror is
// made. It stays if a run is stopped, and the next one begins with it.
func Staging(base string) string { return ".clusterctl-repo-bundle-" + base }
