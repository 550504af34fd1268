package imports

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Source is what the files of one package, for whatever platform they are
// built, say at their top. Tests do not count.
type Source struct {
	Path   string
	Module string // the folder of its module; empty for the main one
	Name   string
	Doc    string         // the package comment
	Files  []*ast.File    // without tests
	Fset   *token.FileSet // of Files
	// Imports has the packages of this project by their path below its root,
	// guarded packages of the standard library, and modules of others; each with
	// the place of one import.
	Imports map[string]string
}

// Scan reads all Go packages of the project, those of nested modules too. It
// fails if a file cannot be read or parsed.
func Scan(root fs.FS) (map[string]*Source, error) {
	modules := map[string]module{}
	found := map[string]*Source{}
	fset := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || slices.Contains([]string{"testdata", "bin", "out"}, d.Name())) {
				return fs.SkipDir
			}
			if text, err := fs.ReadFile(root, path.Join(p, "go.mod")); err == nil {
				modules[p] = readModule(text)
			}
			return nil
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		return scanFile(root, p, fset, modules, found)
	})
	return found, err
}

func scanFile(root fs.FS, p string, fset *token.FileSet, modules map[string]module, found map[string]*Source) error {
	text, err := fs.ReadFile(root, p)
	if err != nil {
		return err
	}
	dir := path.Dir(p)
	s := found[dir]
	if s == nil {
		s = &Source{Path: dir, Fset: fset, Imports: map[string]string{}}
		for m := dir; ; m = path.Dir(m) {
			if _, ok := modules[m]; ok {
				s.Module = strings.TrimPrefix(m, ".")
				break
			}
			if m == "." {
				return fmt.Errorf("%s is in no module: missing go.mod", p)
			}
		}
		found[dir] = s
	}
	test := strings.HasSuffix(p, "_test.go")
	mode := parser.ParseComments | parser.SkipObjectResolution
	if test {
		mode |= parser.PackageClauseOnly
	}
	f, err := parser.ParseFile(fset, p, text, mode)
	if err != nil {
		return err
	}
	if f.Doc != nil && s.Doc == "" {
		s.Doc = f.Doc.Text()
	}
	s.Name = strings.TrimSuffix(f.Name.Name, "_test")
	if test {
		return nil
	}
	s.Files = append(s.Files, f)
	m := modules["."]
	if s.Module != "" {
		m = modules[s.Module]
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if name := m.reduce(imported); name != "" {
			s.Imports[name] = fset.Position(spec.Pos()).String()
		}
	}
	return nil
}

// A module is what counts of a go.mod.
type module struct{ requires []string }

func readModule(text []byte) module {
	var m module
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		fields := strings.Fields(strings.TrimPrefix(sc.Text(), "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") && strings.Contains(fields[0], ".") {
			m.requires = append(m.requires, fields[0])
		}
	}
	return m
}

// reduce returns the name under which a row lists an import, and nothing for
// the harmless part of the standard library.
func (m module) reduce(imported string) string {
	if imported == Module {
		return "."
	}
	if p, ok := strings.CutPrefix(imported, Module+"/"); ok {
		return p
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		if guarded(imported) {
			return imported
		}
		return ""
	}
	best := ""
	for _, r := range m.requires {
		if (imported == r || strings.HasPrefix(imported, r+"/")) && len(r) > len(best) {
			best = r
		}
	}
	if best == "" {
		return imported
	}
	return best
}
