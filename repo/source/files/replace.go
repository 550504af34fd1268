package files

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
)

// errChanged: a file no longer has the content that was read.
var errChanged = errors.New("the file has changed since it was read")

// Replace puts new content in the place of a regular file in one step, if it
// still has the old content: afterwards the file has one or the other, whole. The
// mode stays. The error says so if the file has another content.
func Replace(name string, old, content []byte) error {
	fail := func(err error) error { return fmt.Errorf("%s: %w", name, Cause(err)) }
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return fail(err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", name)
	case info.Mode().Perm()&0o200 == 0:
		return fmt.Errorf("%s is read-only", name)
	}
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err = cmp.Or(err, temp.Chmod(info.Mode().Perm()), temp.Sync(), temp.Close()); err != nil {
		return fail(err)
	}
	// As late as possible: an editor may have saved the file meanwhile.
	if now, err := Read(name); err != nil || !bytes.Equal(now, old) {
		return fail(errChanged)
	}
	if err := os.Rename(temp.Name(), name); err != nil {
		return fail(err)
	}
	return nil
}

// Write puts a file into a folder in one step, durably: what was there before
// stays until the new content is whole. Temp is the name that the content has until
// then, which must be free.
func Write(root *os.Root, name, temp string, content func(io.Writer) error) error {
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err = content(f); err == nil {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp) // the error above counts
	}
	return err
}

// Cause drops the words of the system call from an error, which repeat the path.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// Parts are the errors that errors.Join joined, also of joined ones.
func Parts(err error) (out []error) {
	if err == nil {
		return nil
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok || reflect.TypeOf(err) != reflect.TypeOf(errors.Join(err)) {
		return []error{err}
	}
	for _, e := range list.Unwrap() {
		out = append(out, Parts(e)...)
	}
	return out
}
