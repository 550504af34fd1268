package recipes

import (
	"io/fs"
	"path"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/pattern"
)

// The marks around the name of a value that cannot be told. They are characters
// of Unicode's private area, which the shell takes for parts of a word.
const (
	markStart = '\uE000'
	markEnd   = '\uE001'
)

// unknown stands for a value that cannot be told.
func unknown(name string) string { return string(markStart) + name + string(markEnd) }

func isUnknown(text string) bool { return strings.ContainsRune(text, markStart) }

var (
	assignment = pattern.New(`^\s*(?:(?:export|override|private)\s+)*([A-Za-z0-9_.-]+)\s*(\?=|:::?=|:=|=|\+=|!=)\s*(.*)$`)
	ruleLine   = pattern.New(`^([^\s#:=][^:=#]*?)\s*::?(?:\s+(.*)|\s*)$`)
	included   = pattern.New(`^\s*-?s?include\s+(.+)$`)
	// rootNames are what variables for the root of the tree are called.
	rootNames = pattern.New(`(?i)^((repo|project|git)_?)?(root|root_?dir|dir|root_?directory|curdir|pwd|topdir|top_?level)$`)
)

// rules is a Makefile that is being read.
type rules struct {
	*reader
	vars map[string]string
	seen map[string]bool
	dir  string // of the Makefile
	work int    // references that were followed
}

// makefile reads a Makefile. What it includes by a name that can be told shares
// its variables. Of conditional parts both sides are read, the first counts.
func (r *reader) makefile(name, text string) {
	m := &rules{reader: r, vars: map[string]string{}, seen: map[string]bool{}, dir: path.Dir(name)}
	m.variables(name, text)
	m.recipes(name, text)
}

// line is a logical line: one or more lines joined by backslashes.
type line struct {
	text string
	at   int
}

// logical joins continued lines. In recipes the backslash stays, because the
// shell reads it.
func logical(text string) []line {
	var out []line
	joined := false
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimSuffix(l, "\r")
		if joined {
			out[len(out)-1].text += "\n" + l
		} else {
			out = append(out, line{l, i + 1})
		}
		joined = strings.HasSuffix(l, `\`)
	}
	return out
}

// flat joins the parts of a continued line by spaces.
func flat(text string) string {
	return strings.Join(strings.Split(text, "\\\n"), " ")
}

// variables reads the assignments of a Makefile and of what it includes.
func (m *rules) variables(name, text string) {
	if m.seen[name] {
		return
	}
	m.seen[name] = true
	defining := false
	for _, l := range logical(text) {
		first, _, _ := strings.Cut(strings.TrimSpace(l.text), " ")
		switch {
		case first == "define":
			defining = true
		case first == "endef":
			defining = false
		}
		if defining || strings.HasPrefix(l.text, "\t") {
			continue
		}
		if i := included().FindStringSubmatch(flat(l.text)); i != nil {
			for _, f := range strings.Fields(m.expand(i[1], nil, 0)) {
				if data, ok := m.read(path.Join(m.dir, f)); ok {
					m.variables(path.Join(m.dir, f), data)
				}
			}
			continue
		}
		a := assignment().FindStringSubmatch(flat(l.text))
		if a == nil {
			continue
		}
		key, op, value := a[1], a[2], strings.TrimSpace(uncommented(a[3]))
		_, set := m.vars[key]
		switch {
		case op == "!=":
			value = unknown(key)
		case op == "?=" && set:
			continue
		case op == "+=" && set:
			value = m.vars[key] + " " + value
		case strings.Contains(value, "$("+key+")"):
			value = strings.ReplaceAll(value, "$("+key+")", m.vars[key])
		}
		m.vars[key] = value
	}
}

func (m *rules) read(name string) (string, bool) {
	if isUnknown(name) {
		return "", false
	}
	info, err := fs.Stat(m.fsys, path.Clean(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", false
	}
	data, err := fs.ReadFile(m.fsys, path.Clean(name))
	return string(data), err == nil
}

// uncommented drops a comment at the end of a line.
func uncommented(text string) string {
	if i := strings.Index(text, " #"); i >= 0 {
		return text[:i]
	}
	if strings.HasPrefix(text, "#") {
		return ""
	}
	return text
}

// recipes reads the rules of a Makefile as scripts, line by line.
func (m *rules) recipes(name, text string) {
	auto := map[string]string{}
	whole := strings.Contains(text, "\n.ONESHELL:")
	shell := newScope(m.dir)
	defining := false
	for _, l := range logical(text) {
		first, _, _ := strings.Cut(strings.TrimSpace(l.text), " ")
		switch {
		case first == "define", first == "endef":
			defining = first == "define"
			continue
		case defining:
			continue
		}
		command, isRecipe := strings.CutPrefix(l.text, "\t")
		if !isRecipe {
			rule := ruleLine().FindStringSubmatch(flat(l.text))
			if rule == nil || assignment().MatchString(flat(l.text)) {
				continue
			}
			targets := strings.Fields(m.expand(rule[1], nil, 0))
			needs, inline, has := strings.Cut(uncommented(rule[2]), ";")
			auto = map[string]string{"@": "", "<": "", "^": m.expand(needs, nil, 0)}
			if len(targets) > 0 {
				auto["@"] = targets[0]
			}
			if f := strings.Fields(auto["^"]); len(f) > 0 {
				auto["<"] = f[0]
			}
			if assignment().MatchString(needs) {
				continue // a variable of the target
			}
			shell = newScope(m.dir)
			if !has {
				continue
			}
			command = inline
		}
		if !whole {
			shell = newScope(m.dir)
		}
		m.script(name, l.at, m.expand(strings.TrimLeft(command, "@-+ \t"), auto, 0), shell)
	}
}

// maxExpansion bounds variables in variables, maxWork all of them together.
const (
	maxExpansion = 20
	maxWork      = 200_000
)

// expand replaces the variables of make. What cannot be told becomes a mark.
func (m *rules) expand(text string, auto map[string]string, depth int) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; {
		case c == '$':
			out.WriteByte('$')
		case c == '(' || c == '{':
			end := closing(text[i:])
			if end < 0 {
				out.WriteString(unknown("open"))
				return out.String()
			}
			out.WriteString(m.value(text[i+1:i+end], auto, depth+1))
			i += end
		default:
			out.WriteString(m.value(string(c), auto, depth+1))
		}
		if out.Len() > maxFile {
			return out.String()[:maxFile] // variables that multiply
		}
	}
	return out.String()
}

// closing returns the index of the bracket that closes the first one.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// value returns what a reference such as NAME or `dir NAMES` stands for.
func (m *rules) value(ref string, auto map[string]string, depth int) string {
	if m.work++; depth > maxExpansion || m.work > maxWork {
		return unknown("loop")
	}
	if name, rest, ok := strings.Cut(ref, " "); ok {
		return m.function(name, strings.TrimSpace(rest), auto, depth)
	}
	ref = m.expand(ref, auto, depth)
	if from, to, ok := strings.Cut(ref, ":"); ok { // $(NAME:.a=.b)
		old, new, _ := strings.Cut(to, "=")
		words := strings.Fields(m.value(from, auto, depth+1))
		for i, w := range words {
			if stem, ok := strings.CutSuffix(w, strings.TrimPrefix(old, "%")); ok {
				words[i] = stem + strings.TrimPrefix(new, "%")
			}
		}
		return strings.Join(words, " ")
	}
	if v, ok := auto[ref]; ok {
		return v
	}
	if len(ref) == 2 && (ref[1] == 'D' || ref[1] == 'F') {
		if v, ok := auto[ref[:1]]; ok {
			if ref[1] == 'D' {
				return path.Dir(v)
			}
			return path.Base(v)
		}
	}
	raw, ok := m.vars[ref]
	v := m.expand(raw, auto, depth)
	switch {
	case rootNames().MatchString(ref) && (!ok || isUnknown(v)):
		return "/"
	case !ok || raw == "":
		return unknown(ref)
	case isUnknown(v) && !strings.ContainsAny(v, "/ :.-"):
		return unknown(ref) // the nearest name tells the most
	}
	return v
}

// function evaluates the functions of make that name files.
func (m *rules) function(name, args string, auto map[string]string, depth int) string {
	each := func(f func(string) string) string {
		words := strings.Fields(m.expand(args, auto, depth))
		for i, w := range words {
			words[i] = f(w)
		}
		return strings.Join(words, " ")
	}
	switch name {
	case "abspath", "realpath", "strip":
		return each(func(w string) string { return w })
	case "dir":
		return each(func(w string) string { return path.Dir(w) + "/" })
	case "notdir":
		return each(path.Base)
	case "basename":
		return each(func(w string) string { return strings.TrimSuffix(w, path.Ext(w)) })
	case "wildcard":
		return each(func(w string) string { return w }) // the shell expands it
	case "addprefix", "addsuffix":
		extra, list, _ := strings.Cut(m.expand(args, auto, depth), ",")
		words := strings.Fields(list)
		for i, w := range words {
			if words[i] = extra + w; name == "addsuffix" {
				words[i] = w + extra
			}
		}
		return strings.Join(words, " ")
	case "info", "warning", "error", "eval":
		return ""
	}
	return unknown(name)
}
