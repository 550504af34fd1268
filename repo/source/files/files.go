// Package files reads untrusted files: only regular files, only up to
// a size that fits into memory, and below a folder never anything outside
// it. It must not know what the files are for.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// MaxSize is the largest file that is read into memory, in bytes. No provider
// comes near it (the largest known components file has 3 MB), so a larger file
// is a mistake that should be named, not swallowed.
const MaxSize = 64 << 20

// Folder is a folder as a file system. Symbolic links are followed as long as
// they stay in it. Pipes and devices, which would block or never end, are
// there but cannot be opened.
type Folder struct{ root *os.Root }

var (
	_ fs.ReadFileFS = (*Folder)(nil)
	_ fs.ReadDirFS  = (*Folder)(nil)
	_ fs.StatFS     = (*Folder)(nil)
)

// Open opens a folder. Close must be called in the end.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{root}, nil
}

func (f *Folder) Close() error { return f.root.Close() }

func (f *Folder) Open(name string) (fs.File, error) {
	file, err := f.OpenFile(name)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return file, nil
}

func (f *Folder) OpenFile(name string) (*os.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	file, err := f.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errSpecial}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

var errSpecial = errors.New("it is a device, pipe or socket, not a file")

func (f *Folder) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.root.FS(), name) }

func (f *Folder) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.root.FS(), name) }

// ReadFile implements fs.ReadFileFS. It fails for files over MaxSize.
func (f *Folder) ReadFile(name string) ([]byte, error) {
	file, err := f.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file, name)
}

// Read returns a file that the user named, which may be a pipe and anywhere.
// It fails for more than MaxSize.
func Read(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file, name)
}

func read(file *os.File, name string) ([]byte, error) {
	tooLarge := &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("the file has more than the %d bytes that are read into memory", MaxSize)}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := int64(0)
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	if size > MaxSize {
		return nil, tooLarge
	}
	data, err := ReadAll(file, size)
	if errors.Is(err, ErrTooLarge) {
		return nil, tooLarge
	}
	return data, err
}

// ErrTooLarge is the error of ReadAll for more than MaxSize.
var ErrTooLarge = fmt.Errorf("more than the %d bytes that are read into memory", MaxSize)

// ReadAll reads to the end, where about size bytes are expected, or 0 if nothing
// knows. Too much takes no more memory than MaxSize.
func ReadAll(r io.Reader, size int64) ([]byte, error) {
	const most = 4 << 20
	// One byte more than expected is enough to see the end, or that there is
	// none.
	part := make([]byte, 0, min(max(size, 0), MaxSize)+1)
	var full [][]byte
	total := 0
	for {
		if len(part) == cap(part) {
			full = append(full, part)
			part = make([]byte, 0, min(max(2*cap(part), 512), most))
		}
		n, err := r.Read(part[len(part):cap(part)])
		part = part[:len(part)+n]
		total += n
		switch {
		case total > MaxSize:
			return nil, ErrTooLarge
		case errors.Is(err, io.EOF) && full == nil:
			return part, nil
		case errors.Is(err, io.EOF):
			return slices.Concat(append(full, part)...), nil
		case err != nil:
			return nil, err
		}
	}
}
