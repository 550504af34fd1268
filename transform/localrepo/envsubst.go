package localrepo

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// The programs called envsubst that Makefiles put configurations through. They
// agree on ${NAME}; only GNU's knows no defaults, and only drone's keeps $NAME.
const (
	drone = "drone"
	a8m   = "a8m"
	gnu   = "gnu"
)

var (
	// substituting is the line of a recipe that prepares a configuration of tests.
	substituting = phrase.Pattern(`(?im)^\t.*envsubst[^|\n]*<\s*"?(?:\$[({]\w*E2E\w*CONF\w*[)}]|\S*e2e\S*\.yaml)`)
	strict       = phrase.Pattern(`(?im)^\t.*envsubst[^|\n]*-no-(?:unset|empty)[^|\n]*<\s*"?\$[({]\w*E2E\w*CONF`)
	simple       = phrase.Pattern(`\$(?:\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)`)
	withDefault  = phrase.Pattern(`\$(?:\{[A-Za-z_]\w*(?::?[-=+][^{}]*)?\}|[A-Za-z_]\w*)`)
)

// dialect is the envsubst that the recipes of the tree put E2EConfigs through;
// empty if they do not, and whether it refuses variables without a value.
func (s *Suite) dialect() (name string, demanding bool) {
	names, _ := filepath.Glob(filepath.Join(s.top, "*.mk"))
	var all []byte
	for _, name := range append([]string{filepath.Join(s.top, "Makefile"), filepath.Join(s.top, "GNUmakefile")}, names...) {
		data, err := os.ReadFile(name)
		if err == nil {
			all = append(append(all, data...), '\n')
		}
	}
	line := substituting().FindString(string(all))
	module, _ := os.ReadFile(filepath.Join(s.top, "go.mod"))
	demanding = strict().Match(all)
	switch text := string(all) + string(module); {
	case line == "":
		return "", false
	case strings.Contains(text, "a8m/envsubst"):
		return a8m, demanding
	case strings.Contains(text, "drone/envsubst"), strings.Contains(line, "tool envsubst"):
		return drone, demanding
	}
	return gnu, demanding
}

// substituted parses a configuration after the variables of the environment are
// put into it, as the recipes do. ${PWD} is the root of the tree, where make runs.
func (s *Suite) substituted(f *yamldoc.File) (*yamldoc.Stream, error) {
	if !strings.Contains(f.Data, "$") {
		return yamldoc.Parse(f), nil
	}
	dialect, demanding := s.dialect()
	lookup := func(name string) (string, bool) {
		if name == "PWD" {
			return s.top, true
		}
		return s.opts.Env(name)
	}
	unset := func(offset int, name string) {
		if v, ok := lookup(name); !ok || demanding && v == "" {
			s.Unset = append(s.Unset, f.Errorf(offset, "variable %s is not set, so envsubst replaces it with nothing", name))
		}
	}
	var text string
	var raw func(int) int
	switch dialect {
	case "":
		return yamldoc.Parse(f), nil
	case drone:
		t, err := vars.Parse(f.Data)
		var out *vars.Text
		if err == nil {
			for _, ref := range t.Refs() {
				if ref.Depth == 0 && ref.Default == "" && !slices.Contains([]string{":-", "=", ":="}, ref.Op) {
					unset(ref.Start, ref.Name)
				}
			}
			out, err = t.Execute(func(name string) (string, bool) {
				v, _ := lookup(name)
				return v, true
			})
		}
		if at, ok := errors.AsType[*vars.Error](err); ok {
			return nil, f.Errorf(at.Offset, "envsubst: %w", at.Err)
		} else if err != nil {
			return nil, err
		}
		text, raw = out.Data, out.RawOffset
	default:
		text, raw = replaced(f.Data, dialect == gnu, lookup, unset)
	}
	if demanding && len(s.Unset) > 0 {
		return nil, errors.Join(phrase.List(s.Unset, func(err *yamldoc.Error) error { return err })...)
	}
	return yamldoc.ParseText(f, text, raw), nil
}

// replaced puts values in the place of $NAME, ${NAME} and, but for GNU's envsubst,
// ${NAME:-default}. Raw leads an offset of the result back.
func replaced(data string, plain bool, lookup func(string) (string, bool), unset func(int, string)) (text string, raw func(int) int) {
	rx := withDefault
	if plain {
		rx = simple
	}
	type step struct{ from, to int }
	steps := []step{{}}
	last := 0
	var b strings.Builder
	for _, at := range rx().FindAllStringIndex(data, -1) {
		ref := strings.Trim(data[at[0]+1:at[1]], "{}")
		end := strings.IndexFunc(ref, func(r rune) bool { return strings.ContainsRune(":-=+", r) })
		name, rest := ref, ""
		if end >= 0 {
			name, rest = ref[:end], ref[end:]
		}
		value, ok := lookup(name)
		colon := strings.HasPrefix(rest, ":")
		absent := !ok || colon && value == ""
		switch op := strings.TrimPrefix(rest, ":"); {
		case op == "":
			unset(at[0], name)
		case op[0] == '+':
			if value = op[1:]; absent {
				value = ""
			}
		case absent:
			value = op[1:]
		}
		b.WriteString(data[last:at[0]])
		b.WriteString(value)
		steps = append(steps, step{b.Len() - len(value), at[0]}, step{b.Len(), at[1]})
		last = at[1]
	}
	b.WriteString(data[last:])
	return b.String(), func(off int) int {
		i, _ := slices.BinarySearchFunc(steps, off+1, func(s step, off int) int { return s.from - off })
		before := steps[i-1]
		if (i-1)%2 == 1 {
			return before.to // inside a value
		}
		return before.to + off - before.from
	}
}
