package imports

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// effects are the functions and variables with which a program prints, reads
// its environment or exits. Only cmd may use them.
var effects = map[string]string{
	"fmt":      "Print Printf Println",
	"os":       "Stdin Stdout Stderr Getenv LookupEnv Environ ExpandEnv Setenv Unsetenv Clearenv UserCacheDir UserConfigDir UserHomeDir TempDir Exit Args",
	"syscall":  "Getenv Environ Setenv Exit",
	"net/http": "ProxyFromEnvironment DefaultTransport DefaultClient Get Head Post PostForm",
}

// exceptions are the effects that stay below cmd, each with the reason.
var exceptions = []struct{ pkg, effect, why string }{
	{"publish/transport", "net/http.DefaultTransport", "the default of a nil parameter; proxies from the environment are what users of HTTP clients expect"},
	{"repo/lint/rules/examples", `os.MkdirTemp in ""`, "it writes documents in tests, never for users"},
}

// Effects returns the places below cmd that print, read the environment, or
// exit, and the exceptions that are no longer needed.
func Effects(source map[string]*Source) []string {
	var problems []string
	used := map[int]bool{}
	for _, p := range slices.Sorted(maps.Keys(source)) {
		if !matches("layouts/... repo/... transform/... publish/...", p) {
			continue
		}
		for _, e := range effectsOf(source[p]) {
			i := slices.IndexFunc(exceptions, func(x struct{ pkg, effect, why string }) bool { return x.pkg == p && x.effect == e.name })
			if i >= 0 {
				used[i] = true
				continue
			}
			problems = append(problems, fmt.Sprintf("%s uses %s: below cmd, nothing prints, reads the environment or exits. Return the value or take a parameter; cmd decides", e.at, e.name))
		}
	}
	for i, x := range exceptions {
		if !used[i] {
			problems = append(problems, fmt.Sprintf("test/imports/effects.go: the exception for %s in %s is not needed; remove it", x.effect, x.pkg))
		}
	}
	return problems
}

type effect struct{ name, at string }

func effectsOf(s *Source) []effect {
	var found []effect
	for _, f := range s.Files {
		names := map[string]string{} // local name of an import → its path
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			name := path.Base(imported)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name == "." {
				found = append(found, effect{"a dot import, which hides where names come from", s.Fset.Position(spec.Pos()).String()})
			}
			names[name] = imported
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if ok && slices.Contains(strings.Fields(effects[names[x.Name]]), n.Sel.Name) {
					found = append(found, effect{names[x.Name] + "." + n.Sel.Name, s.Fset.Position(n.Pos()).String()})
				}
			case *ast.CallExpr:
				found = append(found, callEffect(s, n, names)...)
			}
			return true
		})
	}
	return found
}

// callEffect finds the builtin print functions, and temporary files in the
// folder that the environment names.
func callEffect(s *Source, call *ast.CallExpr, names map[string]string) []effect {
	at := s.Fset.Position(call.Pos()).String()
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		if fun.Name == "print" || fun.Name == "println" {
			return []effect{{fun.Name, at}}
		}
	case *ast.SelectorExpr:
		x, ok := fun.X.(*ast.Ident)
		if !ok || names[x.Name] != "os" || fun.Sel.Name != "CreateTemp" && fun.Sel.Name != "MkdirTemp" {
			return nil
		}
		if dir, ok := call.Args[0].(*ast.BasicLit); ok && dir.Value == `""` {
			return []effect{{"os." + fun.Sel.Name + ` in ""`, at}}
		}
	}
	return nil
}
