package mirror

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// spoolPrefix begins the name of a spool, which is hidden from everybody who
// lists releases.
const spoolPrefix = layouts.WorkPrefix + "spool-"

// spool keeps the files of one release on disk, between a source that is read
// once and a destination that needs checksums first. It is one file, whose name
// goes away at once where the system permits, so that not even a killed
// process leaves it.
type spool struct {
	dir  string
	file *os.File
	end  int64
}

// newSpool makes a spool in a folder, or in that of the operating system for
// temporary files.
func newSpool(dir string) (*spool, error) {
	s := &spool{dir: cmp.Or(dir, "the folder for temporary files")}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, s.fail(err)
		}
	}
	f, err := os.CreateTemp(dir, spoolPrefix)
	if err != nil {
		return nil, s.fail(err)
	}
	os.Remove(f.Name()) // fails on Windows; close tries again
	s.file = f
	return s, nil
}

func (s *spool) fail(err error) error {
	return fmt.Errorf("keep files in %s while they are copied: %w", s.dir, files.Cause(err))
}

// place is where one file will be. It must be called by one goroutine.
func (s *spool) place(a *repo.Artifact) (offset int64) {
	offset = s.end
	s.end += max(a.Size, 0) + 1 // a file that is too long shows before it is refused
	return offset
}

// copy reads a file into its place and returns what is there, with its checksum.
func (s *spool) copy(ctx context.Context, a *repo.Artifact, offset int64) (*repo.Artifact, error) {
	w := &spoolWriter{w: io.NewOffsetWriter(s.file, offset)}
	sum, err := a.Copy(ctx, w)
	if w.err != nil {
		return nil, s.fail(w.err)
	}
	if err != nil {
		return nil, err
	}
	return repo.NewArtifact(a.Name, a.Path, a.Size, func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(s.file, offset, a.Size)), nil
	}).Hashed(sum), nil
}

// spoolWriter tells errors of the disk from those of the source.
type spoolWriter struct {
	w   io.Writer
	err error
}

func (w *spoolWriter) Write(p []byte) (n int, err error) {
	n, w.err = w.w.Write(p)
	return n, w.err
}

func (s *spool) close() {
	s.file.Close()
	os.Remove(s.file.Name())
}

// cleanSpools removes what killed processes left. A living process needs no
// name, or has the file open, so that it cannot be removed.
func cleanSpools(dir string) error {
	if err := (beside{dir}).remove([]string{stagedDir}); err != nil {
		return err // it would be part of what this run writes
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the one who writes there complains
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), spoolPrefix) && e.Type().IsRegular() {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return nil
}
