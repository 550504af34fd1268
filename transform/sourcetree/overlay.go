package sourcetree

import (
	"bytes"
	"io/fs"
	"time"
)

// overlaid is a tree with other content in some of its files.
func overlaid(tree fs.FS, overlay map[string][]byte) fs.FS {
	if len(overlay) == 0 {
		return tree
	}
	return &overlayFS{tree, overlay}
}

type overlayFS struct {
	fs.FS
	overlay map[string][]byte
}

// Open implements fs.FS.
func (o *overlayFS) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	data, ok := o.overlay[name]
	if err != nil || !ok {
		return f, err
	}
	info, err := f.Stat()
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return &overlayFile{bytes.NewReader(data), overlayInfo{info, int64(len(data))}}, nil
}

type overlayFile struct {
	*bytes.Reader
	info overlayInfo
}

// Stat implements fs.File.
func (f *overlayFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File.
func (f *overlayFile) Close() error { return nil }

type overlayInfo struct {
	fs.FileInfo
	size int64
}

// Size is that of the other content.
func (i overlayInfo) Size() int64 { return i.size }

// ModTime is not known.
func (i overlayInfo) ModTime() time.Time { return time.Time{} }
