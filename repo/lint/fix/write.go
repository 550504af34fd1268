package fix

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
