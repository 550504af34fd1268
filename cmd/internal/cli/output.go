package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
)

// outputs is the flag -o FORMAT[=FILE], which may be repeated.
type outputs struct {
	formats []string // what the command can do
	values  []string
}

type output struct {
	format, file string
}

// parse checks the values before any work is done.
func (o *outputs) parse() ([]output, error) {
	values := o.values
	if len(values) == 0 {
		values = o.formats[:1]
	}
	var out []output
	stdout := 0
	for _, v := range values {
		format, file, hasFile := strings.Cut(v, "=")
		if !slices.Contains(o.formats, format) {
			return nil, usagef("unknown output format %q: expected %s", format, strings.Join(o.formats, ", "))
		}
		if hasFile && file == "" {
			return nil, usagef("-o %s has no file after \"=\"", v)
		}
		if file == "" || file == "-" {
			file = ""
			stdout++
		}
		if file != "" && slices.ContainsFunc(out, func(o output) bool { return o.file != "" && filepath.Clean(o.file) == filepath.Clean(file) }) {
			return nil, usagef("two outputs go to %s; give each its own file", file)
		}
		out = append(out, output{format, file})
	}
	if stdout > 1 {
		return nil, usagef("only one output can go to standard output; give each of the others a file, such as -o json=report.json")
	}
	return out, nil
}

// forms are the syntaxes of formats. Others are text.
var forms = map[string]term.Form{"json": term.JSON, "sarif": term.JSON, "junit": term.XML, "html": term.XML, "svg": term.XML, "runbook-html": term.XML}

// write sends what render makes to each output, also if another one fails. Files
// are written whole. If they cannot be, and none goes to standard output, the text
// does.
func (a *app) write(outs []output, render func(w io.Writer, format string, terminal bool) error) error {
	var errs []error
	shown := false
	for _, o := range outs {
		shown = shown || o.file == ""
	}
	for _, o := range outs {
		if err := a.writeOne(o, render); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 && !shown {
		errs = append(errs, a.writeOne(output{format: "text"}, render))
	}
	return errors.Join(errs...)
}

func (a *app) writeOne(o output, render func(w io.Writer, format string, terminal bool) error) error {
	var buf bytes.Buffer
	to := io.Writer(&buf)
	if o.file == "" {
		to = a.Out
	}
	w := to
	form, other := forms[o.format]
	switch {
	case o.format == "github": // its encoder knows the commands that it writes
	case o.file == "" && !other:
		w = a.text
	default:
		w = term.NewWriter(to, form)
	}
	err := render(w, o.format, o.file == "")
	if escaped, ok := w.(*term.Writer); ok {
		err = errors.Join(err, escaped.Flush())
	}
	if err != nil || o.file == "" {
		return err
	}
	return a.writeOutput(o.file, buf.Bytes())
}

// writeOutput writes a file that the user named. What is no regular file, such as
// /dev/stdout or a link, is written to and not replaced.
func (a *app) writeOutput(name string, data []byte) error {
	if info, err := os.Lstat(a.path(name)); err != nil || info.Mode().IsRegular() {
		return a.writeFile(name, data)
	}
	f, err := os.OpenFile(a.path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, cause(err))
	}
	_, err = (&gate{f, a.stopping}).Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, cause(err))
	}
	return nil
}

// writeFile replaces a file in one step. An interrupt waits for that, so that no
// half of it stays behind.
func (a *app) writeFile(name string, data []byte) error {
	name = a.path(name)
	err := a.stopping.wrote(a.short(name), func() error {
		tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
		if err != nil {
			return err
		}
		defer os.Remove(tmp.Name())
		_, err = tmp.Write(data)
		if err == nil {
			err = tmp.Chmod(0o644)
		}
		if closeErr := tmp.Close(); err == nil {
			err = closeErr
		}
		if err == nil {
			err = os.Rename(tmp.Name(), name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", a.short(name), cause(err))
	}
	return nil
}

// path makes a path of the command line absolute.
func (a *app) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Dir, name)
}

// makeFolder makes a folder that a command writes into.
func (a *app) makeFolder(name string) error {
	if isURL(name) {
		return usagef("%s is a URL; name a folder to write to", name)
	}
	if err := os.MkdirAll(a.path(name), 0o755); err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	return nil
}
