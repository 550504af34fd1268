// Package documents tests what people read: links lead somewhere, functions
// that are named exist, and the text avoids phrases that make readers stumble.
//
// It must not know what the documents are about.
package documents

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const root = "../.."

var (
	link       = regexp.MustCompile(`\[([^\]\n]+)\]\(([^)\s]+)\)`)
	identifier = regexp.MustCompile(`^\w+(\.\w+)?$`)
	fence      = regexp.MustCompile("(?ms)^```.*?^```$")
)

// pages returns the hand-written and generated pages of the project.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", ".github/*.md"} {
		found := given.Value(filepath.Glob(filepath.Join(root, pattern)))(t)
		all = append(all, found...)
	}
	if len(all) < 10 {
		t.Fatalf("found only the pages %v", all)
	}
	return all
}

func TestLinks(t *testing.T) {
	named := 0
	for _, page := range pages(t) {
		text := given.Read(t, page)
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			name, to := m[1], m[2]
			if strings.Contains(to, "://") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			file, _, _ := strings.Cut(to, "#")
			file = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: the link [%s](%s) leads nowhere", page, name, to)
				continue
			}
			if filepath.Ext(file) == ".go" && identifier.MatchString(name) && !strings.HasSuffix(name, ".go") {
				named++
				if !declares(t, file, name) {
					t.Errorf("%s: %s no longer declares %s; correct the page", page, to, name)
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d functions are named in links; the tour is gone?", named)
	}
}

// declares reports whether a file declares a name at its top: a function, a
// method, a type, a variable, or the package itself.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	f := given.Value(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
	if f.Name.Name == name {
		return true
	}
	name = name[strings.LastIndex(name, ".")+1:]
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == name {
						return true
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.Name == name {
							return true
						}
					}
				}
			}
		}
	}
	return false
}
