package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one small change of a file.
type mutant struct {
	id               int
	file             string
	line             int
	fn, kind         string
	from, to         string
	start, end       int    // what is replaced as a whole
	text             string // with what
	suffix           bool   // text follows what is replaced, as a statement
	boolean, dropped bool   // text is a boolean expression; the statement is left out
}

// key names a mutant independently of its line, for lists and sampling.
func (m *mutant) key() string {
	return fmt.Sprintf("%s %s: %s: %s → %s", m.file, m.fn, m.kind, oneLine(m.from), oneLine(m.to))
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 90 {
		s = s[:88] + "…"
	}
	if s == "" {
		s = "∅"
	}
	return s
}

// A finder collects the mutants of one file.
type finder struct {
	file  string
	src   string
	fset  *token.FileSet
	stack []ast.Node
	found []*mutant
}

// find returns the mutants of a file: compared and joined conditions, negated
// conditions, arithmetic, constants, results, and statements left out.
func find(name, src string) ([]*mutant, error) {
	f := &finder{file: name, src: src, fset: token.NewFileSet()}
	parsed, err := parser.ParseFile(f.fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.PreorderStack(parsed, nil, func(n ast.Node, above []ast.Node) bool {
		f.stack = append(above, n)
		if d, ok := n.(*ast.GenDecl); ok && d.Tok != token.VAR {
			return false
		}
		f.visit(n)
		return true
	})
	return f.found, nil
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }
func (f *finder) text(n ast.Node) string { return f.src[f.offset(n.Pos()):f.offset(n.End())] }
func (f *finder) parent(up int) ast.Node {
	if i := len(f.stack) - 1 - up; i >= 0 {
		return f.stack[i]
	}
	return nil
}

func (f *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			f.anchored("constant", n, map[string]string{"true": "false", "false": "true"}[n.Name])
		}
	case *ast.ReturnStmt:
		f.results(n)
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.AssignStmt, *ast.BranchStmt, *ast.SendStmt:
		f.drop(n.(ast.Stmt))
	}
}

var swaps = map[token.Token][]string{
	token.EQL: {"!="}, token.NEQ: {"=="},
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"}, token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.LAND: {"||"}, token.LOR: {"&&"},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"}, token.REM: {"*"},
}

func (f *finder) binary(n *ast.BinaryExpr) {
	for _, to := range swaps[n.Op] {
		at := f.offset(n.OpPos)
		if n.Op.Precedence() > token.EQL.Precedence() {
			if !isText(n.X) && !isText(n.Y) {
				f.inAnchor("arithmetic", n, at, at+len(n.Op.String()), to)
			}
			continue
		}
		kind := "comparison"
		if n.Op == token.LAND || n.Op == token.LOR {
			kind = "logic"
		}
		start, end := f.offset(n.Pos()), f.offset(n.End())
		f.add(kind, n, &mutant{from: f.text(n), start: start, end: end, boolean: true,
			text: f.src[start:at] + to + f.src[at+len(n.Op.String()):end]})
	}
}

func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(e.X) || isText(e.Y)
	}
	return false
}

// negate inverts a condition that no other mutant inverts.
func (f *finder) negate(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	f.add("negation", cond, &mutant{from: f.text(cond), start: f.offset(cond.Pos()), end: f.offset(cond.End()), boolean: true, text: "!(" + f.text(cond) + ")"})
}

// literal changes numbers, and strings that are names rather than prose.
func (f *finder) literal(n *ast.BasicLit) {
	if f.inCall("make", "Grow", "NewReader", "NewReaderSize", "Errorf", "New", "Sprintf", "Fprintf", "panic") {
		return
	}
	if _, ok := f.parent(1).(*ast.ArrayType); ok {
		return
	}
	switch n.Kind {
	case token.INT:
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			f.anchored("constant", n, strconv.FormatInt(v+1, 10))
		}
	case token.STRING:
		if v, err := strconv.Unquote(n.Value); err == nil && v != "" && !strings.ContainsAny(v, " %\n") {
			f.anchored("constant", n, strconv.Quote(v+"~"))
		}
	}
}

// inCall reports whether the node is an argument of a function of that name.
func (f *finder) inCall(names ...string) bool {
	for _, n := range f.stack {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		id, _ := call.Fun.(*ast.Ident)
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			id = sel.Sel
		}
		if id != nil && slices.Contains(names, id.Name) {
			return true
		}
	}
	return false
}

// results changes one result of a return at a time: errors to nil, truth
// values to their opposite, texts, numbers, pointers and lists to nothing.
func (f *finder) results(n *ast.ReturnStmt) {
	types := f.resultTypes()
	if len(types) != len(n.Results) {
		return
	}
	for i, r := range n.Results {
		old, to := f.text(r), ""
		switch t := types[i].(type) {
		case *ast.Ident:
			switch t.Name {
			case "error":
				to = "nil"
			case "bool":
				to = "!(" + old + ")"
			case "string":
				to = `""`
			case "int", "int64":
				to = "0"
			}
		case *ast.StarExpr, *ast.MapType:
			to = "nil"
		case *ast.ArrayType:
			if t.Len == nil {
				to = "nil"
			}
		}
		if to == "" || to == old || old == "true" || old == "false" {
			continue
		}
		if _, ok := r.(*ast.BinaryExpr); ok && strings.HasPrefix(to, "!") {
			continue
		}
		f.inAnchor("result", r, f.offset(r.Pos()), f.offset(r.End()), to)
	}
}

func (f *finder) resultTypes() []ast.Expr {
	for _, n := range slices.Backward(f.stack) {
		var t *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncDecl:
			t = n.Type
		case *ast.FuncLit:
			t = n.Type
		default:
			continue
		}
		var types []ast.Expr
		if t.Results != nil {
			for _, field := range t.Results.List {
				for range max(1, len(field.Names)) {
					types = append(types, field.Type)
				}
			}
		}
		return types
	}
	return nil
}

// drop leaves out a statement of a list.
func (f *finder) drop(n ast.Stmt) {
	if !isList(f.parent(1)) {
		return
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return
		}
		if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name == "_" {
			return
		}
	case *ast.BranchStmt:
		if n.Tok == token.FALLTHROUGH || n.Tok == token.GOTO {
			return
		}
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
				return
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Grow", "Close"}, sel.Sel.Name) {
				return
			}
		}
	}
	f.add("statement", n, &mutant{from: f.text(n), start: f.offset(n.Pos()), end: f.offset(n.End()), dropped: true})
}

func isList(n ast.Node) bool {
	switch n.(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

func (f *finder) anchored(kind string, n ast.Expr, to string) {
	f.inAnchor(kind, n, f.offset(n.Pos()), f.offset(n.End()), to)
}

// inAnchor changes a part of the nearest boolean expression or statement around
// a node, because only these can be chosen at run time without types.
func (f *finder) inAnchor(kind string, n ast.Node, start, end int, to string) {
	for i := len(f.stack) - 1; i >= 0; i-- {
		at, m := f.stack[i], &mutant{from: f.src[start:end]}
		switch a := at.(type) {
		case *ast.BinaryExpr:
			if a.Op.Precedence() > token.EQL.Precedence() || a == n {
				continue
			}
			m.boolean = true
		case *ast.ReturnStmt, *ast.ExprStmt, *ast.SendStmt:
			if !isList(f.parent(len(f.stack) - i)) {
				return
			}
		case *ast.AssignStmt:
			if !isList(f.parent(len(f.stack) - i)) {
				return
			}
			if a.Tok == token.DEFINE {
				if len(a.Lhs) != 1 || calls(a.Rhs[0]) {
					return
				}
				m.suffix = true
			}
		case *ast.BlockStmt, *ast.FuncLit, *ast.CaseClause:
			return
		default:
			continue
		}
		m.start, m.end = f.offset(at.Pos()), f.offset(at.End())
		m.text = f.src[m.start:start] + to + f.src[end:m.end]
		if m.suffix {
			m.text = strings.Replace(m.text, ":=", "=", 1)
		}
		f.add(kind, n, m)
		m.to = to
		return
	}
}

func calls(n ast.Node) bool {
	for n := range ast.Preorder(n) {
		if _, ok := n.(*ast.CallExpr); ok {
			return true
		}
	}
	return false
}

func (f *finder) add(kind string, n ast.Node, m *mutant) {
	m.kind, m.file, m.line, m.to = kind, f.file, f.fset.Position(n.Pos()).Line, m.text
	for _, outer := range f.stack {
		if d, ok := outer.(*ast.FuncDecl); ok {
			m.fn = d.Name.Name
		}
	}
	f.found = append(f.found, m)
}
