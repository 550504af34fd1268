package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one small change of a file: text in the place of what is from start to end.
type mutant struct {
	file, fn, kind string
	line           int
	start, end     int
	from, text     string
}

// key names a mutant independently of its line, for lists and sampling.
func (m *mutant) key() string {
	return fmt.Sprintf("%s %s: %s: %s → %s", filepath.Base(m.file), m.fn, m.kind, oneLine(m.from), oneLine(m.text))
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
			f.within("constant", n, map[string]string{"true": "false", "false": "true"}[n.Name])
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
		after := at + len(n.Op.String())
		if n.Op.Precedence() > token.EQL.Precedence() {
			if !isText(n.X) && !isText(n.Y) && f.inStatement(n) {
				f.add("arithmetic", n, at, after, to)
			}
			continue
		}
		kind := "comparison"
		if n.Op == token.LAND || n.Op == token.LOR {
			kind = "logic"
		}
		f.replace(kind, n, f.src[f.offset(n.Pos()):at]+to+f.src[after:f.offset(n.End())])
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
	f.replace("negation", cond, "!("+f.text(cond)+")")
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
			f.within("constant", n, strconv.FormatInt(v+1, 10))
		}
	case token.STRING:
		if v, err := strconv.Unquote(n.Value); err == nil && v != "" && !strings.ContainsAny(v, " %\n") {
			f.within("constant", n, strconv.Quote(v+"~"))
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
		f.within("result", r, to)
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
	f.replace("statement", n, "")
}

func isList(n ast.Node) bool {
	switch n.(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// within replaces a part of a statement.
func (f *finder) within(kind string, n ast.Expr, to string) {
	if f.inStatement(n) {
		f.replace(kind, n, to)
	}
}

// inStatement reports whether a node is a part of a boolean expression or of a statement
// of a list, and not of a declaration or of what calls something to begin with.
func (f *finder) inStatement(n ast.Expr) bool {
	for i, at := range slices.Backward(f.stack) {
		switch a := at.(type) {
		case *ast.BinaryExpr:
			if a.Op.Precedence() <= token.EQL.Precedence() && a != n {
				return true
			}
		case *ast.ReturnStmt, *ast.ExprStmt, *ast.SendStmt:
			return isList(f.parent(len(f.stack) - i))
		case *ast.AssignStmt:
			return isList(f.parent(len(f.stack)-i)) && (a.Tok != token.DEFINE || len(a.Lhs) == 1 && !calls(a.Rhs[0]))
		case *ast.BlockStmt, *ast.FuncLit, *ast.CaseClause:
			return false
		}
	}
	return false
}

func calls(n ast.Node) bool {
	for n := range ast.Preorder(n) {
		if _, ok := n.(*ast.CallExpr); ok {
			return true
		}
	}
	return false
}

func (f *finder) replace(kind string, n ast.Node, to string) {
	f.add(kind, n, f.offset(n.Pos()), f.offset(n.End()), to)
}

func (f *finder) add(kind string, n ast.Node, start, end int, to string) {
	m := &mutant{file: f.file, kind: kind, line: f.fset.Position(n.Pos()).Line, start: start, end: end, from: f.src[start:end], text: to}
	for _, outer := range f.stack {
		if d, ok := outer.(*ast.FuncDecl); ok {
			m.fn = d.Name.Name
		}
	}
	f.found = append(f.found, m)
}
