// Package vars reads the ${VAR} language of clusterctl with byte positions: it
// finds the variables of a text, replaces them, and leads every byte of the
// result back to the raw file.
//
// It accepts, refuses and produces exactly what clusterctl's
// client/yamlprocessor SimpleProcessor does on top of drone/envsubst v2, in
// linear time and without crashing: where the library panics, or recurses
// without bound, this package returns an [*Error].
//
// The language is applied to text before it is YAML, so the package must not
// know what the text is: no YAML, no files, no rules about good variables. It
// imports nothing of this project.
package vars

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxDepth is how deep expressions may be nested. The deepest known provider
// nests two; the library has no bound and exhausts the stack.
const maxDepth = 1000

// maxSize is the largest result of Execute, in bytes. Nested replacements can
// grow exponentially, so a small text could otherwise fill the memory.
const maxSize = 64 << 20

// Template is a parsed text. It does not change and is safe for concurrent use.
type Template struct {
	data    string  // the raw text up to the first NUL, which envsubst takes for the end
	src     string  // data after conversion of the legacy syntax
	cuts    cuts    // from src to data
	pieces  []piece // the top level of src, in order
	refs    []Ref
	args    [][]arg // of each Ref
	escapes []escape
	vars    []Variable
	needed  map[string]bool
}

// Ref is one expression ${…}.
type Ref struct {
	Name string
	// Start and End are the raw byte span, from `$` to after `}`.
	Start, End int
	// Op is the operator as written: one of
	//
	//	:- := = :+ :?   default; all five mean the same
	//	# ## % %%       trim prefix, suffix
	//	/ // /# /%      replace first, all, prefix, suffix
	//	^ ^^ , ,,       upper, lower case; ^, and ,^ do nothing
	//	:               substring
	//
	// "len" for ${#A}, empty for ${A}.
	Op string
	// Default is what clusterctl shows as the default: all arguments in a row,
	// whatever the operator, nested expressions as ${NAME}. The variable is
	// optional for clusterctl if it is not empty in the first Ref to it.
	Default string
	// ArgRaw is the raw text from the operator to the closing brace.
	ArgRaw string
	// Depth is the number of expressions around this one. clusterctl does not
	// list variables that only occur at a depth above 0.
	Depth int
	// Parent is the index of the enclosing Ref, or -1.
	Parent int
	// Legacy says that it was written with spaces around the name.
	Legacy bool
}

func (r *Ref) IsDefault() bool {
	switch r.Op {
	case ":-", ":=", "=", ":+", ":?":
		return true
	}
	return false
}

// escape is the raw byte span of a `$$` that turns into `$`, at the top level.
type escape struct{ Start, End int }

// Variable is a variable as clusterctl lists it. Default is nil if a value is
// required. The first Ref at the top level decides.
type Variable struct {
	Name    string
	Default *string
}

// Error is a fault of one expression. Offset is the raw byte offset of its `$`.
// Err is the error of drone/envsubst (see its package parse) if that refuses
// the text too.
type Error struct {
	Offset int
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%v at byte %d", e.Err, e.Offset) }

func (e *Error) Unwrap() error { return e.Err }

// ErrCrash is the cause of an Error where the library that clusterctl uses panics.
var ErrCrash = errors.New("clusterctl crashes on this expression")

// MissingError names the variables that have neither a value nor a default,
// sorted. Its text is that of clusterctl.
type MissingError struct{ Names []string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("value for variables [%s] is not set. Please set the value using os environment variables or the clusterctl config file",
		strings.Join(e.Names, ", "))
}

// Parse reads data. Like clusterctl it ignores everything from the first NUL byte
// on. The error is an *Error; the first fault in reading order ends the parsing.
func Parse[T string | []byte](data T) (*Template, error) {
	text := string(data)
	if strings.IndexByte(text, '$') < 0 {
		text, _, _ = strings.Cut(text, "\x00")
		return &Template{data: text}, nil
	}
	t := &Template{}
	if err := t.parse(text); err != nil {
		return nil, err
	}
	t.vars = variables(t.refs)
	t.needed = needed(t)
	return t, nil
}

// variables lists the variables as clusterctl does (SimpleProcessor,
// GetVariableMap).
func variables(refs []Ref) []Variable {
	var vars []Variable
	seen := map[string]bool{}
	for i, r := range refs {
		if r.Depth > 0 || seen[r.Name] {
			continue
		}
		seen[r.Name] = true
		v := Variable{Name: r.Name}
		if r.Default != "" {
			v.Default = &refs[i].Default
		}
		vars = append(vars, v)
	}
	slices.SortFunc(vars, func(a, b Variable) int { return cmp.Compare(a.Name, b.Name) })
	return vars
}

// Needed are the variables without a value unless the user sets them. Some are optional
// for clusterctl, which takes the arguments of any function for a default.
// The map must not be changed.
func (t *Template) Needed() map[string]bool { return t.needed }

func needed(t *Template) map[string]bool {
	out, given := map[string]bool{}, map[string]bool{}
	for i := range t.refs {
		r := &t.refs[i]
		_, length, _ := strings.Cut(r.ArgRaw, ":")
		// With a negative length, clusterctl crashes on each value that is longer than the offset (VAR009).
		negative := r.Op == ":" && strings.HasPrefix(strings.TrimLeft(length, ":"), "-") && !strings.Contains(r.ArgRaw, "${")
		given[r.Name] = given[r.Name] || r.Default != "" && (r.IsDefault() || negative)
	}
	for _, v := range t.vars {
		out[v.Name] = v.Default == nil || !given[v.Name]
	}
	return out
}

// Refs returns all expressions, nested ones included, in reading order. The
// slice must not be changed.
func (t *Template) Refs() []Ref { return t.refs }

// Escapes returns the `$$` of the top level in reading order. The slice must
// not be changed.
func (t *Template) Escapes() []escape { return t.escapes }

// Variables returns the variables as clusterctl lists them, sorted by name.
// The slice must not be changed.
func (t *Template) Variables() []Variable { return t.vars }
