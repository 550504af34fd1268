package cli

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Path makes a path of the command line absolute.
func (e *Env) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, name)
}

// Short makes a path relative to the working directory if it is below it.
func (e *Env) Short(name string) string {
	rel, err := filepath.Rel(e.Dir, e.Path(name))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return name
	}
	return rel
}

func (e *Env) ReadFile(name string) ([]byte, error) {
	data, err := ReadDocuments(e.Path(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	return data, nil
}

// ReadDocuments is files.Read for what may be YAML.
func ReadDocuments(path string) ([]byte, error) {
	data, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	if err := yamldoc.CheckCount(data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
}

// ReadInput returns what stands on standard input.
func (e *Env) ReadInput() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(e.In, repo.MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if len(data) > repo.MaxFileSize {
		return nil, Usagef("standard input has more than %d MB", repo.MaxFileSize>>20)
	}
	return data, nil
}

// WriteOutput writes a file that the user named. What is not a regular file, such as
// /dev/stdout or a link, is written to and not replaced.
func (e *Env) WriteOutput(name string, data []byte) error {
	if info, err := os.Lstat(e.Path(name)); err != nil || info.Mode().IsRegular() {
		return e.WriteFile(name, data)
	}
	f, err := os.OpenFile(e.Path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, files.Cause(err))
	}
	_, err = (&gate{w: f, s: e.stopping}).Write(data)
	if err = cmp.Or(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, files.Cause(err))
	}
	return nil
}

// WriteFile replaces a file in one step. An interrupt waits for that, so that no
// half of it stays behind.
func (e *Env) WriteFile(name string, data []byte) error {
	name = e.Path(name)
	err := e.stopping.wrote(e.Short(name), func() error {
		tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
		if err != nil {
			return err
		}
		defer os.Remove(tmp.Name())
		_, err = tmp.Write(data)
		if err = cmp.Or(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
			return err
		}
		return os.Rename(tmp.Name(), name)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", e.Short(name), files.Cause(err))
	}
	return nil
}

func (e *Env) MakeFolder(name string) error {
	if open.IsURL(name) {
		return Usagef("%s is a URL; name a folder to write to", name)
	}
	if err := os.MkdirAll(e.Path(name), 0o755); err != nil {
		return fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	return nil
}
