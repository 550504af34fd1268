package fix

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// Locate returns where a file below root really is, with symbolic links
// followed. The error says if that is outside of root.
func Locate(root, name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", cause(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", cause(err)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", errors.New("a symbolic link leads out of the folder")
	}
	return real, nil
}

// Replace puts new content in the place of a regular file in one step, if it
// still has the old content. The mode stays.
func Replace(name string, old, content []byte) error {
	info, err := os.Lstat(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	if info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s: the file is read-only", name)
	}
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	// As late as possible: an editor may have saved the file meanwhile.
	if now, err := files.Read(name); err != nil || !bytes.Equal(now, old) {
		return fmt.Errorf("%s has changed since it was checked; nothing was written to it", name)
	}
	if err := os.Rename(temp.Name(), name); err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	return nil
}

// cause drops the words of the system call, which repeat the path.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
