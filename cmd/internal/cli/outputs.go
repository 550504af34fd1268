package cli

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Outputs is the flag -o FORMAT[=FILE], which may be repeated.
type Outputs struct {
	Formats []string // what the command can do
	// All are the outputs that were chosen, or else the first format. They are set before
	// the command runs.
	All    []Output
	values []string
}

// Output is one value of -o.
type Output struct {
	Format string
	File   string // empty for standard output
}

func (o *Outputs) Bind(f *pflag.FlagSet) { o.bind(f, o.Parse) }

// bind adds the flag; parse checks its values.
func (o *Outputs) bind(f *pflag.FlagSet, parse func() error) {
	f.StringArrayVarP(&o.values, "output", "o", nil, strings.Join(o.Formats, ", "))
	flag := f.Lookup("output")
	flag.Value = outputFlag{flag.Value.(listValue), parse}
}

type listValue interface {
	pflag.Value
	pflag.SliceValue
}

// outputFlag is the value of -o.
type outputFlag struct {
	listValue
	parse func() error
}

func (o *Outputs) Chosen() bool { return len(o.values) > 0 }

func (o *Outputs) Has(format string) bool {
	return slices.ContainsFunc(o.All, func(o Output) bool { return o.Format == format })
}

// Parse reads the values. Env.Check calls it, except for hidden flags.
func (o *Outputs) Parse() error {
	values := o.values
	if len(values) == 0 {
		values = o.Formats[:1]
	}
	o.All = nil
	stdout := 0
	for _, v := range values {
		format, file, hasFile := strings.Cut(v, "=")
		if !slices.Contains(o.Formats, format) {
			hint := ""
			if filepath.Ext(v) != "" {
				hint = "; for a file, write -o FORMAT=" + v
			}
			return Usagef("unknown output format %q: expected %s%s", format, strings.Join(o.Formats, ", "), hint)
		}
		if hasFile && file == "" {
			return Usagef("-o %s has no file after \"=\"", v)
		}
		if file == "" || file == "-" {
			file = ""
			stdout++
		}
		if file != "" && slices.ContainsFunc(o.All, func(o Output) bool { return o.File != "" && filepath.Clean(o.File) == filepath.Clean(file) }) {
			return Usagef("two outputs go to %s; give each its own file", file)
		}
		o.All = append(o.All, Output{format, file})
	}
	if stdout > 1 {
		return Usagef("only one output can go to standard output; give each of the others a file, such as -o json=report.json")
	}
	return nil
}

// forms are the syntaxes of formats. Others are text.
var forms = map[string]term.Form{"json": term.JSON, "sarif": term.JSON, "junit": term.XML, "html": term.XML}

// Write sends what render makes to each output, also if another one fails. The style
// colours only what goes to standard output. Files are written whole. If they cannot be,
// and none goes to standard output, the text does.
func (e *Env) Write(to *Outputs, render func(w io.Writer, format string, style term.Style) error) error {
	shown := slices.ContainsFunc(to.All, func(o Output) bool { return o.File == "" })
	err := errors.Join(phrase.List(to.All, func(o Output) error { return e.writeOne(o, render) })...)
	if err != nil && !shown {
		err = errors.Join(err, e.writeOne(Output{Format: "text"}, render))
	}
	return err
}

// writeOne writes texts as they come, and everything else at once: half a document is
// of no use, so an interrupt must not leave one.
func (e *Env) writeOne(o Output, render func(w io.Writer, format string, style term.Style) error) error {
	var buf bytes.Buffer
	form, other := forms[o.Format]
	var w io.Writer
	switch {
	case o.File == "" && o.Format == "github": // its encoder knows the commands that it writes
		w = e.Out
	case o.Format == "github":
		w = &buf
	case o.File == "" && !other:
		w = e.Text
	default:
		w = term.NewWriter(&buf, form)
	}
	style := term.Style{}
	if o.File == "" {
		style, _ = term.StyleFor(w, e.color, e.LookupEnv) // Begin has checked the colour
	}
	err := render(w, o.Format, style)
	if escaped, ok := w.(*term.Writer); ok {
		err = errors.Join(err, escaped.Flush())
	}
	switch {
	case err != nil:
	case o.File != "":
		err = e.WriteOutput(o.File, buf.Bytes())
	case buf.Len() > 0:
		_, err = e.Out.Write(buf.Bytes())
	}
	return err
}

// WriteText writes a text that may come in parts to standard output. An interrupt
// waits for the last of them, as it does for a text that comes at once.
func (e *Env) WriteText(text io.WriterTo) error {
	_, err := e.results.all(text)
	return err
}

// WriteJSON writes a document in JSON to standard output.
func (e *Env) WriteJSON(data []byte) error {
	_, err := term.NewWriter(e.Out, term.JSON).Write(data)
	return err
}
