package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// Bundle is an open bundle. It is safe for concurrent use.
type Bundle struct {
	name string
	file *os.File
	// Checksums is the content of SHA256SUMS, and Signature that of its
	// signature, or nil.
	Checksums, Signature []byte
	names                []string // in order
	places               map[string]place
}

// place is where a file is in the bundle.
type place struct {
	offset, size int64
	sum          repo.Sum
}

// IsBundle reports whether a path has the name of a bundle.
func IsBundle(name string) bool { return filepath.Ext(name) == ".tar" }

// Open opens a bundle and reads its index. Contents are compared with it when
// they are read. The error wraps fs.ErrNotExist if there is no such file.
func Open(name string) (*Bundle, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a plain file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(name)
	}
	if err != nil {
		return nil, fmt.Errorf("open the bundle %s: %w", name, cause(err))
	}
	b := &Bundle{name: name, file: f, places: map[string]place{}}
	if err := b.index(info.Size()); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is not a whole bundle: %w", name, err)
	}
	return b, nil
}

func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// index reads the headers of the archive, which has to hold what SHA256SUMS
// lists and nothing else.
func (b *Bundle) index(size int64) error {
	t := tar.NewReader(b.file)
	var sums map[string]repo.Sum
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%q is not a plain file", h.Name)
		}
		// Long names aside, what else can stand in a header makes programs read
		// another content, or another size.
		for key := range h.PAXRecords {
			if key != "path" {
				return fmt.Errorf("%q has the extended header %q, which programs read differently", h.Name, key)
			}
		}
		switch {
		case sums == nil:
			if h.Name != layouts.ChecksumFile {
				return fmt.Errorf("it begins with %q, not with %s", h.Name, layouts.ChecksumFile)
			}
			if b.Checksums, err = small(t, h); err != nil {
				return err
			}
			if sums, err = parse(b.Checksums); err != nil {
				return err
			}
			continue
		case h.Name == layouts.SignatureFile && b.Signature == nil:
			if b.Signature, err = small(t, h); err != nil {
				return err
			}
			continue
		}
		sum, listed := sums[h.Name]
		if !listed {
			return fmt.Errorf("%q is not in %s, or is there twice", h.Name, layouts.ChecksumFile)
		}
		delete(sums, h.Name)
		// The reader of the archive takes no more than it needs.
		at, err := b.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if h.Size < 0 || at+h.Size > size {
			return fmt.Errorf("it ends within %q", h.Name)
		}
		b.names = append(b.names, h.Name)
		b.places[h.Name] = place{at, h.Size, sum}
	}
	if sums == nil {
		return errors.New("it is empty")
	}
	if err := b.ended(); err != nil {
		return err
	}
	for name := range sums {
		return fmt.Errorf("%q is missing", name)
	}
	return nil
}

// ended refuses what follows the end of the archive, where some programs read on.
func (b *Bundle) ended() error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := b.file.Read(buffer)
		if slices.ContainsFunc(buffer[:n], func(c byte) bool { return c != 0 }) {
			return errors.New("something follows the end of the archive")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// small reads a file that is kept in memory.
func small(t io.Reader, h *tar.Header) ([]byte, error) {
	if h.Size > files.MaxSize {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", h.Name, h.Size, files.MaxSize)
	}
	return io.ReadAll(t)
}

func parse(data []byte) (map[string]repo.Sum, error) {
	listed, err := mirror.ParseSums(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", layouts.ChecksumFile, err)
	}
	out := make(map[string]repo.Sum, len(listed))
	for _, s := range listed {
		if _, twice := out[s.Name]; twice || s.Name == layouts.ChecksumFile || s.Name == layouts.SignatureFile {
			return nil, fmt.Errorf("%s lists %q, which it must not", layouts.ChecksumFile, s.Name)
		}
		out[s.Name] = s.Sum
	}
	return out, nil
}

// Close closes the file.
func (b *Bundle) Close() error { return b.file.Close() }

// String is the path of the bundle.
func (b *Bundle) String() string { return b.name }

// Names are the files in the bundle, in order, without the checksums and their
// signature.
func (b *Bundle) Names() []string { return slices.Clone(b.names) }

// File returns a file as an artifact that states its checksum. The error wraps
// fs.ErrNotExist if there is none of that name.
func (b *Bundle) File(name string) (*repo.Artifact, error) {
	p, ok := b.places[name]
	if !ok {
		return nil, fmt.Errorf("%s has no %s: %w", b.name, name, fs.ErrNotExist)
	}
	return repo.NewArtifact(path.Base(name), b.name+"/"+name, p.size, func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(b.file, p.offset, p.size)), nil
	}).Stating(p.sum), nil
}

// Unpack writes all files into a folder, which must be empty or not exist.
func (b *Bundle) Unpack(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range b.names {
		a, err := b.File(name)
		if err != nil {
			return err
		}
		if err := unpack(ctx, root, name, a); err != nil {
			return err
		}
	}
	if b.Signature != nil {
		if err := root.WriteFile(layouts.SignatureFile, b.Signature, 0o666); err != nil {
			return err
		}
	}
	// The checksums are the sign that everything is there.
	return root.WriteFile(layouts.ChecksumFile, b.Checksums, 0o666)
}

func unpack(ctx context.Context, root *os.Root, name string, a *repo.Artifact) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = a.Copy(ctx, f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Verify reads every file and compares it with the checksums. It returns how
// many bytes it read.
func (b *Bundle) Verify(ctx context.Context) (bytes int64, err error) {
	for _, name := range b.names {
		a, err := b.File(name)
		if err != nil {
			return bytes, err
		}
		if _, err := a.Sum(ctx); err != nil {
			return bytes, err
		}
		bytes += a.Size
	}
	return bytes, nil
}
