package mirror

import (
	"archive/tar"
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
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// Bundle is a mirror in one tar file, open for reading; it is safe for concurrent
// use. The file is the same for the same mirror: SHA256SUMS comes first, with the
// checksum of everything else, then its signature if there is one, then all other
// files in the order of their paths. Unpacked with tar, it is the mirror again.
//
// It is read without being unpacked, and no content is used that is not what
// SHA256SUMS says.
type Bundle struct {
	name string
	file *os.File
	// Checksums is the content of SHA256SUMS, and Signature that of its
	// signature, or nil.
	Checksums, Signature []byte
	places               map[string]span
}

// span is where a file is in the bundle.
type span struct {
	offset, size int64
	sum          repo.Sum
}

// IsBundle reports whether a path has the name of a bundle.
func IsBundle(name string) bool { return filepath.Ext(name) == ".tar" }

// OpenBundle opens a bundle and reads its index. Contents are compared with it
// when they are read. The error wraps fs.ErrNotExist if there is no such file.
func OpenBundle(name string) (*Bundle, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a plain file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(name)
	}
	if err != nil {
		return nil, fmt.Errorf("open the bundle %s: %w", name, files.Cause(err))
	}
	b := &Bundle{name: name, file: f, places: map[string]span{}}
	if err := b.index(info.Size()); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is not a complete bundle: %w", name, err)
	}
	return b, nil
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
			if b.Checksums, err = inMemory(t, h); err != nil {
				return err
			}
			if sums, err = parseIndex(b.Checksums); err != nil {
				return err
			}
			continue
		case h.Name == layouts.SignatureFile && b.Signature == nil:
			if b.Signature, err = inMemory(t, h); err != nil {
				return err
			}
			continue
		}
		sum, listed := sums[h.Name]
		if !listed {
			return fmt.Errorf("%q is not listed exactly once in %s", h.Name, layouts.ChecksumFile)
		}
		delete(sums, h.Name)
		// The reader of the archive takes no more than it needs.
		at, err := b.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if h.Size > size-at {
			return fmt.Errorf("it ends within %q", h.Name)
		}
		b.places[h.Name] = span{at, h.Size, sum}
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

func inMemory(t io.Reader, h *tar.Header) ([]byte, error) {
	if h.Size > files.MaxSize {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", h.Name, h.Size, files.MaxSize)
	}
	return io.ReadAll(t)
}

func parseIndex(data []byte) (map[string]repo.Sum, error) {
	listed, err := parseSums(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", layouts.ChecksumFile, err)
	}
	out := make(map[string]repo.Sum, len(listed))
	for _, s := range listed {
		if s.Name == layouts.ChecksumFile || s.Name == layouts.SignatureFile {
			return nil, fmt.Errorf("%s must not list %q", layouts.ChecksumFile, s.Name)
		}
		out[s.Name] = s.Sum
	}
	return out, nil
}

func (b *Bundle) Close() error { return b.file.Close() }

func (b *Bundle) String() string { return b.name }

// File returns a file as an artifact that states its checksum. The error wraps
// fs.ErrNotExist if there is none of that name.
func (b *Bundle) File(name string) (*repo.Artifact, error) {
	p, ok := b.places[name]
	if !ok {
		return nil, repo.Missing("%s has no %s", b.name, name)
	}
	return repo.NewArtifact(path.Base(name), b.name+"/"+name, p.size, func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(b.file, p.offset, p.size)), nil
	}).Stating(p.sum), nil
}

// read returns a file, nil if it is not there.
func (b *Bundle) read(name string) ([]byte, error) {
	switch name {
	case layouts.ChecksumFile:
		return b.Checksums, nil
	case layouts.SignatureFile:
		return b.Signature, nil
	}
	a, err := b.File(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && a.Size > files.MaxSize {
		err = fmt.Errorf("%s has more than %d bytes", a.Path, files.MaxSize)
	}
	if err != nil {
		return nil, err
	}
	return a.Bytes()
}

// Export writes the mirror in dir as a bundle, which takes the place of the file of
// that name in one step, or of the one that a symbolic link of that name leads to. It
// returns the checksum of the bundle. A mirror that Check would find something wrong
// with is refused, and so is a second run that writes the same bundle.
func Export(ctx context.Context, dir, name string) (sum repo.Sum, err error) {
	claim, err := local.Occupy(dir, dir)
	if err != nil {
		return sum, err
	}
	defer claim.Close()
	report, err := check(ctx, dir, DefaultJobs, false)
	if err != nil {
		return sum, err
	}
	if len(report.Problems) > 0 {
		p := report.Problems[0]
		return sum, fmt.Errorf("%s is not a whole mirror: %s: %s", dir, p.Path, p.Message)
	}
	if report.Lock == nil || report.Lock.Settings.To != "" {
		return sum, fmt.Errorf("%s does not hold the releases of its mirror, so it cannot be a bundle", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return sum, err
	}
	defer root.Close()
	digest := sha256.New()
	err = replace(name, func(w io.Writer) error { return pack(ctx, io.MultiWriter(w, digest), root) })
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return sum, fmt.Errorf("write the bundle %s: %w", name, files.Cause(err))
	}
	return repo.Sum(digest.Sum(nil)), nil
}

// replace writes a file whole, durably, or not at all. Until then it is in a hidden
// folder next to its place, which keeps other runs out, and from which the next run
// removes what a killed one left.
func replace(name string, content func(io.Writer) error) error {
	if info, err := os.Lstat(name); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return errOdd
	}
	parent, base := filepath.Split(name)
	hidden := layouts.WorkPrefix + "bundle-" + base
	root, err := os.OpenRoot(filepath.Clean(parent))
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Lstat(hidden); err == nil && !info.IsDir() {
		return fmt.Errorf("%s: %w", filepath.Join(parent, hidden), errOdd)
	}
	claim, err := local.Occupy(filepath.Join(parent, hidden), name)
	if err != nil {
		return err
	}
	defer func() {
		_ = claim.Close()       // it ends with the process
		_ = root.Remove(hidden) // stays if there is something in it
	}()
	part := hidden + "/part"
	if err := root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := files.Write(root, base, part, content); err != nil {
		return err
	}
	syncDir(root, ".")
	return nil
}

// pack writes the mirror in a folder to w, in one pass. It fails if a file is not
// what the checksums of the mirror say.
func pack(ctx context.Context, w io.Writer, root *os.Root) error {
	sums, err := whole(root, layouts.ChecksumFile)
	if err != nil {
		return err
	}
	listed, err := parseSums(sums)
	if err != nil {
		return fmt.Errorf("%s: %w", layouts.ChecksumFile, err)
	}
	t := tar.NewWriter(w)
	add := func(name string, data []byte) error {
		if err := t.WriteHeader(header(name, int64(len(data)))); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	if err := add(layouts.ChecksumFile, sums); err != nil {
		return err
	}
	sig, err := whole(root, layouts.SignatureFile)
	if err == nil {
		err = add(layouts.SignatureFile, sig)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	slices.SortFunc(listed, func(a, b checksum) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range listed {
		a, err := artifactAt(root, f.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, files.Cause(err))
		}
		var sum repo.Sum
		if err = t.WriteHeader(header(f.Name, a.Size)); err == nil {
			sum, err = a.Copy(ctx, t)
		}
		if err != nil {
			return err
		}
		if sum != f.Sum {
			return fmt.Errorf("%s is not what %s says; run mirror repair", f.Name, layouts.ChecksumFile)
		}
	}
	return t.Close()
}

// header says nothing that depends on the machine or the time.
func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0).UTC()}
}
