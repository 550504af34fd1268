package recipes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// scope is the state of a shell: its folder, its variables and the Makefile that
// started it, nil without one.
type scope struct {
	dir  string
	vars map[string]string
	make *rules
}

func newScope(dir string) *scope { return &scope{dir: dir, vars: map[string]string{}} }

func (s *scope) copy() *scope { return &scope{s.dir, maps.Clone(s.vars), s.make} }

// path makes a path of a script relative to the tree. An absolute one is taken
// for one in the tree: the root of the tree is expanded to /.
func (s *scope) path(p string) string {
	if strings.HasPrefix(p, "/") {
		return strings.TrimPrefix(path.Clean(p), "/")
	}
	return path.Join(s.dir, p)
}

// shell is a script that is being read.
type shell struct {
	*reader
	file  string
	first int
}

var expression = phrase.Pattern(`\$?\{\{[^{}]*\}\}`) // of workflows and goreleaser

// variableOf are the expressions for a variable of a workflow and for an output of a
// step or of another job.
var variableOf = phrase.Pattern(`^\$\{\{\s*(env|steps|needs)\.(?:([\w-]+)\.outputs\.)?([\w-]+)\s*\}\}$`)

// variable is the key in env of what such an expression means in a job.
func variable(m []string, job string) string {
	switch m[1] {
	case "steps":
		return job + "." + m[2] + "." + m[3]
	case "needs":
		return m[2] + "/" + m[3]
	}
	return m[3]
}

// told is what an expression of a workflow or of goreleaser stands for.
func (r *reader) told(at Place, text string) string {
	if m := variableOf().FindStringSubmatch(text); m != nil {
		value, ok := r.env[variable(m, r.job)]
		if m[1] == "needs" && strings.Contains(value, "{{") {
			of := variableOf().FindStringSubmatch(value)
			if ok = of != nil && of[1] == "steps"; ok {
				value, ok = r.env[variable(of, m[2])]
			} else {
				text = value // its names tell what it is
			}
		}
		if ok && r.spend(at, len(value)) {
			return value
		}
	}
	switch {
	case strings.Contains(text, "github.repository }}") && r.repository != "":
		return r.repository
	case strings.Contains(text, "ref_name"), strings.Contains(text, ".Tag"):
		return "v" + unknown("TAG")
	case strings.Contains(text, "github.ref"):
		return untold("GITHUB_REF")
	case strings.Contains(text, ".Version"):
		return unknown("VERSION")
	case strings.Contains(strings.ToLower(text), "version"), strings.Contains(strings.ToLower(text), "tag"):
		return "v" + unknown("TAG")
	}
	return unknown("expression")
}

// expressions replaces those of a text, unless that makes it too long.
func (r *reader) expressions(at Place, text string) string {
	out := expression().ReplaceAllStringFunc(text, func(e string) string { return r.told(at, e) })
	if len(out) > len(text)+maxValue {
		return unknown("expression")
	}
	return out
}

// script reads shell commands that begin at a line of a file.
func (r *reader) script(file string, first int, text string, in *scope) {
	if !r.spend(Place{file, first}, len(text)+50) {
		return
	}
	text = r.expressions(Place{file, first}, text)
	if r.parser == nil {
		r.parser = syntax.NewParser(syntax.Variant(syntax.LangBash))
	}
	f, err := r.parser.Parse(strings.NewReader(text), file)
	s := &shell{reader: r, file: file, first: first}
	if err != nil {
		r.unread(Place{file, first}, !strings.Contains(text, "kustomize"), "the line cannot be read as shell")
		return
	}
	s.stmts(f.Stmts, in)
}

// unread notes what was not understood, once.
func (r *reader) unread(at Place, detail bool, why string) {
	if u := (unread{at, why, detail}); (len(r.out.Unread) < maxNoted || !detail) && !slices.Contains(r.out.Unread, u) {
		r.out.Unread = append(r.out.Unread, u)
	}
}

func (s *shell) at(n syntax.Node) Place {
	return Place{s.file, s.first + int(n.Pos().Line()) - 1}
}

func (s *shell) stmts(list []*syntax.Stmt, in *scope) {
	for _, st := range list {
		s.stmt(st, in)
	}
}

func (s *shell) stmt(st *syntax.Stmt, in *scope) {
	if !s.spend(s.at(st), 100) {
		return
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
			s.stmt(c.X, in)
			s.stmt(c.Y, in)
			return
		}
		s.pipe(st, stream{}, in)
	case *syntax.Subshell:
		s.stmts(c.Stmts, in.copy())
	case *syntax.Block:
		s.stmts(c.Stmts, in)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			s.stmts(c.Cond, in)
			if !s.absent(c.Cond, in) {
				s.stmts(c.Then, in)
			}
		}
	case *syntax.WhileClause:
		s.stmts(c.Do, in)
	case *syntax.ForClause:
		s.loop(c, in)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			s.stmts(item.Stmts, in)
		}
	case *syntax.FuncDecl:
		s.declared++ // it runs later
		s.stmt(c.Body, in.copy())
		s.declared--
	case *syntax.DeclClause:
		s.assign(c.Args, in)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.stmt(c.Stmt, in)
		}
	case *syntax.CallExpr, nil:
		s.pipe(st, stream{}, in)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		// They only ask and count.
	default:
		s.unread(s.at(st), true, "a construct of the shell is skipped")
	}
}

// absent reports whether a condition asks for a file that its folder lacks, as far as
// what is in there is known.
func (s *shell) absent(cond []*syntax.Stmt, in *scope) bool {
	if len(cond) != 1 || s.follower == nil || s.declared > 0 || cond[0].Negated {
		return false
	}
	call, ok := cond[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	args := s.fields(call.Args, in)
	if !(len(args) == 3 && args[0] == "test" || len(args) == 4 && args[0] == "[") || args[1] != "-f" ||
		isUnknown(args[2]) {
		return false
	}
	dir, name := path.Split(in.path(args[2]))
	dir = path.Clean(dir)
	entries, _ := s.list(dir)
	return (s.isDir(dir) || s.folders[dir]) &&
		!slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) &&
		!slices.ContainsFunc(s.opaque, func(o opaque) bool { return o.at == dir || path.Dir(o.at) == dir })
}

func (s *shell) loop(c *syntax.ForClause, in *scope) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		s.stmts(c.Do, in)
		return
	}
	items := s.fields(iter.Items, in)
	for _, item := range items {
		in.vars[iter.Name.Value] = item
		s.stmts(c.Do, in)
	}
}

func (s *shell) assign(list []*syntax.Assign, in *scope) {
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		var words []*syntax.Word
		known := a.Index == nil // elements by index or key are not followed
		if a.Value != nil {
			words = append(words, a.Value)
		}
		if a.Array != nil {
			for _, e := range a.Array.Elems {
				if known = known && e.Index == nil && e.Value != nil; known {
					words = append(words, e.Value)
				}
			}
		}
		fields := s.fields(words, in)
		known = known && (fields != nil || len(words) == 0)
		value, old := strings.Join(fields, " "), in.vars[a.Name.Value]
		if a.Array != nil {
			value = strings.Join(append(fields, ""), element)
			if old != "" && !strings.HasSuffix(old, element) {
				old += element // a text becomes the first element
			}
		}
		if a.Append {
			value = old + value
		}
		if !known || len(value) > maxValue || a.Array == nil && strings.Contains(value, element) {
			value = unknown(a.Name.Value)
		}
		in.vars[a.Name.Value] = value
	}
}

var errUnknown = errors.New("it is unknown without running it")

// multiplies reports whether the braces of a word stand for more words than a
// recipe of files needs: {1..1000000}, or many alternatives in a row.
func multiplies(w *syntax.Word) bool {
	const most = 1000
	words := 1
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || !strings.Contains(lit.Value, "{") && words == 1 {
			continue
		}
		for braces := range strings.SplitSeq(lit.Value, "{") {
			words *= strings.Count(braces, ",") + 1
			if words > most || len(lit.Value) > most {
				return true
			}
		}
		if sequence().MatchString(lit.Value) {
			return true
		}
	}
	return false
}

var sequence = phrase.Pattern(`[0-9]{3}|[a-zA-Z]\.\.`)

// fields expands words as the shell does, with the files of the tree. Words that
// stand for something else than text, such as <(…), give nil and are noted.
func (s *shell) fields(words []*syntax.Word, in *scope) (out []string) {
	if slices.ContainsFunc(words, multiplies) {
		return nil
	}
	skip := func(err error) {
		s.unread(s.at(words[0]), true, "a construct of the shell is skipped: "+err.Error())
		out = nil
	}
	defer func() {
		if r := recover(); r != nil { // the library refuses some constructs so
			skip(fmt.Errorf("%v", r))
		}
	}()
	cfg := &expand.Config{
		Env: environ(func(name string) string {
			if value := s.variable(name, in); len(words) > 0 && s.spend(s.at(words[0]), len(value)/10+1) {
				return value
			}
			return unknown(name)
		}),
		CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
			_, err := io.WriteString(w, s.substitute(c, in))
			return err
		},
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", errUnknown },
		ReadDir2: func(dir string) ([]fs.DirEntry, error) {
			return s.list(path.Clean("./" + strings.TrimPrefix(dir, "/")))
		},
	}
	out, err := expand.Fields(cfg, words...)
	if err != nil {
		skip(err)
	}
	return out
}

// element ends each element of an array, in the text of a variable.
const element = "\x00"

// environ are the variables of a shell.
type environ func(name string) string

// Get implements expand.Environ.
func (e environ) Get(name string) expand.Variable {
	value := e(name)
	if value == "" {
		return expand.Variable{} // also an empty array
	}
	if list, ok := strings.CutSuffix(value, element); ok {
		return expand.Variable{Set: true, Kind: expand.Indexed, List: strings.Split(list, element)}
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: value}
}

// Each implements expand.Environ.
func (environ) Each(func(string, expand.Variable) bool) {}

func (s *shell) variable(name string, in *scope) string {
	if v, ok := in.vars[name]; ok {
		return v
	}
	switch {
	case name == "GITHUB_REPOSITORY" && s.repository != "":
		return s.repository
	case name == "IFS":
		return " \t\n"
	case name == "PWD":
		return "/" + in.dir
	case name != "HOME" && rootNames().MatchString(name):
		return "/"
	}
	return untold(name)
}

// substitute evaluates the substitutions that name files: ls, basename, dirname
// and the root of the tree.
func (s *shell) substitute(c *syntax.CmdSubst, in *scope) string {
	if len(c.Stmts) == 1 && s.spend(s.at(c), 100) {
		cmd := c.Stmts[0].Cmd
		if b, ok := cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
			if sort, ok := b.Y.Cmd.(*syntax.CallExpr); ok && len(sort.Args) == 1 && sort.Args[0].Lit() == "sort" {
				cmd = b.X.Cmd
			}
		}
		if call, ok := cmd.(*syntax.CallExpr); ok {
			args := s.fields(call.Args, in)
			switch {
			case len(args) == 0:
			case args[0] == "pwd":
				return "/" + in.dir
			case args[0] == "git" && slices.Contains(args, "--show-toplevel"):
				return "/"
			case args[0] == "mktemp":
				return "/" + unknown("mktemp")
			case args[0] == "basename" && len(args) > 1 && !isUnknown(args[1]):
				name := path.Base(args[1])
				if len(args) > 2 {
					name = strings.TrimSuffix(name, args[2])
				}
				return name
			case args[0] == "dirname" && len(args) > 1 && !isUnknown(args[1]):
				return path.Dir(args[1])
			case args[0] == "ls" && len(args) == 2 && !isUnknown(args[1]):
				entries, err := s.list(in.path(args[1]))
				names := phrase.List(entries, fs.DirEntry.Name)
				if err == nil {
					return strings.Join(names, "\n")
				}
			case args[0] == "find" && len(args) > 1 && !isUnknown(args[1]) && !strings.HasPrefix(args[1], "-"):
				return found(args[1], args[2:])
			case args[0] == "cd" || args[0] == "readlink" || args[0] == "realpath":
				return "/"
			}
		}
		if _, ok := c.Stmts[0].Cmd.(*syntax.BinaryCmd); ok && strings.Contains(s.source(c), "pwd") {
			return "/" // $(cd "$(dirname "$0")/.." && pwd)
		}
	}
	return unknown("command")
}

// found is a pattern for what find prints of a folder. What it leaves out is not told.
func found(dir string, conditions []string) string {
	pattern := "*"
	for i, c := range conditions {
		switch c {
		case "-o", "-or", "-path", "-regex", "-iname":
			return unknown("command")
		case "-name":
			if i+1 < len(conditions) && (i == 0 || conditions[i-1] != "!" && conditions[i-1] != "-not") {
				pattern = conditions[i+1]
			}
		}
	}
	return path.Join(dir, pattern)
}

func (s *shell) source(n syntax.Node) string {
	var b strings.Builder
	_ = syntax.NewPrinter().Print(&b, n.(*syntax.CmdSubst).Stmts[0])
	return b.String()
}

// stream is what flows through a pipe.
type stream struct {
	kustomize    string
	unrestricted bool
	unsorted     bool
	from         []string
	through      []string
	bad          string // why it cannot be told
	ok           bool
}

// pipe follows a statement, which may be a pipe of several, and returns what it
// prints.
func (s *shell) pipe(st *syntax.Stmt, in stream, sc *scope) stream {
	var out stream
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			out = s.pipe(c.Y, s.pipe(c.X, in, sc), sc)
		} else {
			s.pipe(c.X, in, sc)
			out = s.pipe(c.Y, in, sc)
		}
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			s.assign(c.Assigns, sc)
			return stream{}
		}
		for _, r := range st.Redirs {
			if r.Op == syntax.RdrIn && r.Word != nil {
				if f := s.fields([]*syntax.Word{r.Word}, sc); len(f) == 1 {
					in = stream{ok: true, from: []string{sc.path(f[0])}}
				}
			}
		}
		args := s.fields(c.Args, sc)
		if len(args) == 0 {
			return stream{}
		}
		env := sc
		if len(c.Assigns) > 0 {
			env = sc.copy()
			s.assign(c.Assigns, env)
		}
		if out = s.call(args, in, env, s.at(c)); env.dir != sc.dir {
			sc.dir = env.dir
		}
	case nil:
	default:
		s.stmt(&syntax.Stmt{Cmd: st.Cmd, Position: st.Position}, sc)
	}
	for _, r := range st.Redirs {
		if (r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob) && (r.N == nil || r.N.Value == "1") {
			switch f := s.fields([]*syntax.Word{r.Word}, sc); {
			case len(f) != 1:
			case f[0] == unknown("GITHUB_ENV"):
				s.keep("", st, sc)
			case f[0] == unknown("GITHUB_OUTPUT"):
				s.keep(s.job+"."+s.step+".", st, sc)
			default:
				s.write(f[0], out, r.Op == syntax.AppOut, sc, s.at(st))
			}
		}
	}
	return out
}

// keep notes a variable that a step sets for those after it, as in
// echo TAG=v1 >> $GITHUB_ENV.
func (s *shell) keep(prefix string, st *syntax.Stmt, sc *scope) {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || s.env == nil {
		return
	}
	if args := s.fields(call.Args, sc); len(args) == 2 && args[0] == "echo" {
		if key, value, ok := strings.Cut(args[1], "="); ok && !isUnknown(key) {
			s.env[prefix+key] = named(key, value)
		}
	}
}
