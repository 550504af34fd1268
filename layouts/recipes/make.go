package recipes

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// The marks around the name of a value that cannot be told. They are characters
// of Unicode's private area, which the shell treats as parts of a word.
const (
	markStart = '\uE000'
	markEnd   = '\uE001'
)

// unknown stands for a value that cannot be told.
func unknown(name string) string { return string(markStart) + name + string(markEnd) }

// tagName are the names of variables for the version of a release.
var tagName = phrase.Pattern(`(?i)(^|_)(tag|version|ref_name)$`)

// untold stands for the value of a variable. That of a version begins with a v,
// so that a recipe can cut it off.
func untold(name string) string {
	switch {
	case name == "GITHUB_REF":
		return "refs/tags/v" + unknown(name)
	case tagName().MatchString(name):
		return "v" + unknown(name)
	}
	return unknown(name)
}

// tagOf is the tag that a text stands for, with {version} and {number}; empty if it
// cannot be told.
func tagOf(text string) string {
	name, number := strings.CutPrefix(text, string(markStart))
	if !number {
		name, number = strings.CutPrefix(text, "v"+string(markStart))
		if number && strings.HasSuffix(name, string(markEnd)) && strings.Count(name, string(markEnd)) == 1 {
			return "{version}"
		}
	}
	switch {
	case !isUnknown(text):
		return text
	case number && (tagName().MatchString(strings.TrimSuffix(name, string(markEnd))) || strings.HasPrefix(name, "GITHUB_REF")):
		return "{number}"
	}
	return ""
}

// named is the value that a variable gets, or what stands for one that cannot be told or
// is too long.
func named(name, value string) string {
	if len(value) > maxValue || isUnknown(value) && tagOf(value) == "" && tagName().MatchString(name) {
		return untold(name)
	}
	return value
}

func isUnknown(text string) bool { return strings.ContainsRune(text, markStart) }

var (
	assignment = phrase.Pattern(`^\s*(?:(?:export|override|private)\s+)*([A-Za-z0-9_.-]+)\s*(\?=|:::?=|:=|=|\+=|!=)\s*(.*)$`)
	ruleLine   = phrase.Pattern(`^([^\s#:=][^:=#]*?)\s*::?(?:\s*([^:=\s].*)|\s*)$`)
	included   = phrase.Pattern(`^\s*-?s?include\s+(.+)$`)
	// rootNames are what variables for the root of the tree are called.
	rootNames = phrase.Pattern(`(?i)^((repo|project|git)_?)?(root|root_?dir|dir|root_?directory|curdir|pwd|topdir|top_?level)$`)
)

// rules is a Makefile that is being read.
type rules struct {
	*reader
	vars map[string]string
	// soft are the variables that the environment overrides.
	soft map[string]bool
	list []rule
	seen map[string]bool
	dir  string // of the Makefile
	// done are the goals that were made already, each once.
	done map[string]bool
}

// rule is a rule of a Makefile, unexpanded.
type rule struct {
	file           string
	targets, needs string
	lines          []line
	// whole is set if one shell runs all lines.
	whole bool
}

// parse reads a Makefile. What it includes by a name that can be told shares
// its variables. Of conditional parts both sides are read, the first counts.
func (r *reader) parse(name, text string) *rules {
	m := &rules{reader: r, vars: map[string]string{}, soft: map[string]bool{}, seen: map[string]bool{}, done: map[string]bool{}, dir: path.Dir(name)}
	m.read(name, text)
	return m
}

// makefile reads all rules of a Makefile, whichever goal needs them.
func (r *reader) makefile(name, text string) {
	m := r.parse(name, text)
	for _, rule := range m.list {
		if rule.file == name {
			m.run(rule, "", "%", newScope(m.dir))
		}
	}
}

// directives are words that begin lines of which nothing is to be known: of
// conditional parts both sides are read.
var directives = []string{"ifeq", "ifneq", "ifdef", "ifndef", "else", "endif", "endef", "export", "unexport", "vpath", "undefine"}

// line is a logical line: one or more lines joined by backslashes.
type line struct {
	text string
	at   int
}

// logical joins continued lines. In recipes the backslash stays, because the
// shell reads it.
func logical(text string) []line {
	var out []line
	var parts []string
	for i, l := range strings.Split(text, "\n") {
		parts = append(parts, strings.TrimSuffix(l, "\r"))
		if !strings.HasSuffix(parts[len(parts)-1], `\`) {
			out = append(out, line{strings.Join(parts, "\n"), i + 2 - len(parts)})
			parts = nil
		}
	}
	if len(parts) > 0 {
		out = append(out, line{strings.Join(parts, "\n"), strings.Count(text, "\n") + 2 - len(parts)})
	}
	return out
}

// flat joins the parts of a continued line by spaces.
func flat(text string) string {
	return strings.Join(strings.Split(text, "\\\n"), " ")
}

// read reads the assignments and rules of a Makefile and of what it includes.
func (m *rules) read(name, text string) {
	if m.seen[name] {
		return
	}
	m.seen[name] = true
	whole := strings.Contains(text, "\n.ONESHELL:")
	open := false // lines of a recipe belong to the last rule
	defining := false
	var others []bool // for each condition, whether its else was reached
	for _, l := range logical(text) {
		first, _, _ := strings.Cut(strings.TrimSpace(l.text), " ")
		switch {
		case first == "define":
			defining = true
			m.unread(Place{name, l.at}, true, "a definition of several lines is skipped")
		case first == "endef":
			defining = false
		case strings.HasPrefix(first, "if") && slices.Contains(directives, first):
			others = append(others, false)
		case first == "else" && len(others) > 0:
			others[len(others)-1] = true
		case first == "endif" && len(others) > 0:
			others = others[:len(others)-1]
		}
		if defining {
			continue
		}
		if len(l.text) > maxValue {
			m.unread(Place{name, l.at}, false, "the line is too long")
			continue
		}
		if command, recipe := strings.CutPrefix(l.text, "\t"); recipe {
			if open {
				last := &m.list[len(m.list)-1]
				last.lines = append(last.lines, line{command, l.at})
			}
			continue
		}
		if i := included().FindStringSubmatch(flat(l.text)); i != nil {
			for _, f := range strings.Fields(m.expand(i[1], nil, 0)) {
				if data, ok := m.file(path.Join(m.dir, f)); ok {
					m.read(path.Join(m.dir, f), data)
				}
			}
			open = false
			continue
		}
		if a := assignment().FindStringSubmatch(flat(l.text)); a != nil {
			if _, set := m.vars[a[1]]; !set || !slices.Contains(others, true) {
				m.assign(a[1], a[2], strings.TrimSpace(uncommented(a[3])))
			}
			continue
		}
		r := ruleLine().FindStringSubmatch(flat(l.text))
		if r == nil {
			if uncommented(strings.TrimSpace(l.text)) != "" && !slices.Contains(directives, first) &&
				!strings.HasPrefix(first, "$(") {
				m.unread(Place{name, l.at}, true, "a line of make is skipped")
			}
			continue
		}
		needs, inline, has := strings.Cut(uncommented(r[2]), ";")
		if open = !assignment().MatchString(needs); !open {
			continue // a variable of the target
		}
		m.list = append(m.list, rule{file: name, targets: r[1], needs: needs, whole: whole})
		if has {
			m.list[len(m.list)-1].lines = []line{{inline, l.at}}
		}
	}
}

func (m *rules) assign(key, op, value string) {
	_, set := m.vars[key]
	switch {
	case op == "!=":
		value = unknown(key)
	case op == "?=" && set:
		return
	case op == "+=" && set && !m.spend(Place{path.Join(m.dir, "Makefile"), 1}, len(m.vars[key])/10):
		return
	case op == "+=" && set:
		value = m.vars[key] + " " + value
	case strings.Contains(value, "$("+key+")") && strings.Count(value, "$(")*len(m.vars[key]) <= maxFile:
		value = strings.ReplaceAll(value, "$("+key+")", m.vars[key])
	}
	if len(value) > maxValue {
		value = unknown(key)
	}
	m.vars[key] = value
	m.soft[key] = op == "?="
}

func (r *reader) file(name string) (string, bool) {
	if isUnknown(name) || !fs.ValidPath(path.Clean(name)) {
		return "", false
	}
	info, err := fs.Stat(r.fsys, path.Clean(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", false
	}
	data, err := fs.ReadFile(r.fsys, path.Clean(name))
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

// run reads the recipe of a rule as a script, line by line, for a target and what
// the % of a pattern stands for; empty means the first target as it is written.
func (m *rules) run(r rule, target, stem string, sc *scope) {
	needs := m.expand(strings.ReplaceAll(r.needs, "%", stem), nil, 0)
	auto := map[string]string{"@": target, "^": needs, "<": "", "*": stem}
	if targets := strings.Fields(m.expand(r.targets, nil, 0)); target == "" && len(targets) > 0 {
		auto["@"] = targets[0]
	}
	if f := strings.Fields(needs); len(f) > 0 {
		auto["<"] = f[0]
	}
	shell := sc.copy()
	for _, l := range r.lines {
		if !r.whole {
			shell = sc.copy()
		}
		shell.make = m
		m.script(r.file, l.at, m.expand(strings.TrimLeft(l.text, "@-+ \t"), auto, 0), shell)
	}
}

// maxGoals bounds the goals that a release is made of.
const maxGoals = 500

// goal makes a goal as make does: first what it needs, then its recipe.
func (m *rules) goal(name string) {
	name = path.Clean(name)
	if m.done[name] || len(m.done) > maxGoals || !m.spend(Place{path.Join(m.dir, "Makefile"), 1}, 10*len(m.list)) || m.follower != nil && m.folders[name] {
		return
	}
	m.done[name] = true
	patterned := -1
	found := false
	stem := ""
	for i, r := range m.list {
		for target := range strings.FieldsSeq(m.expand(r.targets, nil, 0)) {
			target = path.Clean(strings.TrimPrefix(target, "/"))
			if target == strings.TrimPrefix(name, "/") {
				found = true
				m.make(r, name, "")
			}
			before, after, ok := strings.Cut(target, "%")
			if ok && patterned < 0 && len(r.lines) > 0 && before != "" && len(name) > len(before)+len(after) &&
				strings.HasPrefix(name, before) && strings.HasSuffix(name, after) {
				patterned, stem = i, name[len(before):len(name)-len(after)]
			}
		}
	}
	if !found && patterned >= 0 {
		m.make(m.list[patterned], name, stem)
	}
}

func (m *rules) make(r rule, target, stem string) {
	for need := range strings.FieldsSeq(m.expand(strings.ReplaceAll(r.needs, "%", stem), nil, 0)) {
		if need != "|" && !isUnknown(need) {
			m.goal(need)
		}
	}
	m.run(r, target, stem, newScope(m.dir))
}

// with is the Makefile with variables of the command line and the environment, as
// a make of its own sees it.
func (m *rules) with(fixed, env map[string]string) *rules {
	out := *m
	out.vars, out.done = maps.Clone(m.vars), map[string]bool{}
	for key, value := range env {
		if _, set := m.vars[key]; !set || m.soft[key] {
			out.vars[key] = escaped(value)
		}
	}
	for key, value := range fixed {
		out.vars[key] = escaped(value)
	}
	return &out
}

func escaped(value string) string { return strings.ReplaceAll(value, "$", "$$") }

// maxExpansion bounds variables in variables.
const maxExpansion = 20

// expand replaces the variables of make. What cannot be told becomes a mark.
func (m *rules) expand(text string, auto map[string]string, depth int) string {
	if !strings.Contains(text, "$") {
		return text
	}
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
	if depth > maxExpansion || !m.spend(Place{path.Join(m.dir, "Makefile"), 1}, len(ref)+len(m.vars[ref])/10+10) {
		return unknown("loop")
	}
	if name, rest, ok := strings.Cut(ref, " "); ok {
		return m.function(name, strings.TrimSpace(rest), auto, depth)
	}
	ref = m.expand(ref, auto, depth)
	if from, to, ok := strings.Cut(ref, ":"); ok { // $(NAME:.a=.b)
		old, new, _ := strings.Cut(to, "=")
		if !strings.Contains(old, "%") {
			old, new = "%"+old, "%"+new
		}
		return patsubst(old, new, m.value(from, auto, depth+1))
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
		return untold(ref)
	case isUnknown(v) && !strings.ContainsAny(v, "/ :.-") && tagOf(v) == "":
		return untold(ref) // the nearest name tells the most
	}
	return v
}

// patsubst replaces the words of a list that match a pattern of make.
func patsubst(old, new, list string) string {
	before, after, _ := strings.Cut(old, "%")
	words := strings.Fields(list)
	for i, w := range words {
		if len(w) >= len(before)+len(after) && strings.HasPrefix(w, before) && strings.HasSuffix(w, after) {
			words[i] = strings.Replace(new, "%", w[len(before):len(w)-len(after)], 1)
		}
	}
	return strings.Join(words, " ")
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
	case "patsubst", "subst":
		if parts := strings.SplitN(args, ",", 3); len(parts) == 3 {
			old, new, list := m.expand(parts[0], auto, depth), m.expand(parts[1], auto, depth), m.expand(parts[2], auto, depth)
			if name == "patsubst" {
				return patsubst(old, new, list)
			}
			return strings.ReplaceAll(list, old, new)
		}
	case "or":
		for arg := range strings.SplitSeq(args, ",") {
			if value := strings.TrimSpace(m.expand(arg, auto, depth)); value != "" {
				return value
			}
		}
		return ""
	case "info", "warning", "error", "eval":
		return ""
	}
	return unknown(name)
}
