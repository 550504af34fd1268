package localrepo

import (
	"errors"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var (
	// reference is a variable as envsubst knows it.
	reference = phrase.Pattern(`\$\{[A-Za-z_]\w*[^{}]*\}`)
	// expression is a line in which it may be a group of a regular expression.
	expression = phrase.Pattern(`(?i)(^|[\s{,])(old|new)\s*:`)
)

// prepared reports whether a configuration is one that envsubst goes over before the
// framework reads it: it has variables among its images or providers, where the
// framework would take them literally. Other variables end in clusterctl's own file.
func prepared(text string) bool {
	section := ""
	for line := range strings.Lines(text) {
		if key, _, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(line[:1], " -#\n\r\t") {
			section = key
		}
		line, _, _ = strings.Cut(line, " #")
		if (section == "images" || section == "providers") && reference().MatchString(line) && !expression().MatchString(line) {
			return true
		}
	}
	return false
}

// substituted parses a configuration after the variables of the environment are put
// into it, as envsubst does. ${PWD} is the root of the tree.
func (s *Suite) substituted(f *yamldoc.File) (*yamldoc.Stream, error) {
	if !prepared(f.Data) {
		return yamldoc.Parse(f), nil
	}
	lookup := func(name string) (string, bool) {
		if name == "PWD" {
			return s.top, true
		}
		return s.opts.Env(name)
	}
	t, err := vars.Parse(f.Data)
	var out *vars.Text
	if err == nil {
		for _, ref := range t.Refs() {
			switch ref.Op {
			case ":-", "=", ":=":
				continue
			}
			if _, ok := lookup(ref.Name); !ok && ref.Depth == 0 && ref.Default == "" {
				s.Unset = append(s.Unset, f.Errorf(ref.Start, "variable %s is not set, so envsubst replaces it with nothing", ref.Name))
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
	return yamldoc.ParseText(f, out.Data, out.RawOffset), nil
}
