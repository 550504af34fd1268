// Package term decides whether output is coloured, and colours it; it also sets how much
// memory the process takes before it collects garbage. It must not know what is printed.
package term

import (
	"fmt"
	"io"
	"os"
)

// Style colours text, or leaves it alone if it is not enabled.
type Style struct {
	Enabled bool
	// marked codes are for a Writer, which lets no others through.
	marked bool
}

func (s Style) paint(code, text string) string {
	if !s.Enabled || text == "" {
		return text
	}
	begin := "\x1b["
	if s.marked {
		begin = secret()
	}
	return begin + code + "m" + text + begin + "0m"
}

// Red is for errors.
func (s Style) Red(text string) string { return s.paint("1;31", text) }

// Yellow is for warnings.
func (s Style) Yellow(text string) string { return s.paint("1;33", text) }

// Blue is for information.
func (s Style) Blue(text string) string { return s.paint("1;34", text) }

// Green is for success.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Bold is for what the eye should find.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for what it may skip.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// isTerminal reports whether w is a character device.
func isTerminal(w io.Writer) bool {
	if inner, ok := w.(interface{ Unwrap() io.Writer }); ok {
		return isTerminal(inner.Unwrap())
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// StyleFor decides whether to colour what goes to w. A flag other than auto
// decides; then FORCE_COLOR, NO_COLOR and TERM=dumb; then whether w is a
// terminal.
func StyleFor(w io.Writer, mode string, env func(string) (string, bool)) (Style, error) {
	_, marked := w.(*Writer)
	enabled, err := colours(w, mode, env)
	return Style{enabled, marked}, err
}

func colours(w io.Writer, mode string, env func(string) (string, bool)) (bool, error) {
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
	default:
		return false, fmt.Errorf("--color is %q; it must be auto, always or never", mode)
	}
	if v, ok := env("FORCE_COLOR"); ok && v != "" && v != "0" {
		return true, nil
	}
	if v, ok := env("NO_COLOR"); ok && v != "" {
		return false, nil
	}
	if v, _ := env("TERM"); v == "dumb" {
		return false, nil
	}
	return isTerminal(w), nil
}
