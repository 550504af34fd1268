package imports

import (
	"errors"
	"fmt"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	packagePath = regexp.MustCompile(`^(cmd|layouts|publish|repo|test|transform)(/[a-z][a-z0-9]*)+$`)
	rowStart    = regexp.MustCompile(`(?m)^\t\{\n\t\tPath: +"([^"]+)",\n`)
)

// New starts a package below the root of the project: doc.go with its comment,
// and its row in the table. It returns the files it wrote, and fails without
// writing any if the package exists or the path is not one.
func New(root, dir, holds, never string) ([]string, error) {
	dir = path.Clean(filepath.ToSlash(dir))
	if !packagePath.MatchString(dir) {
		return nil, fmt.Errorf("%s is not the path of a package: want lower-case names below cmd, layouts, publish, repo, test or transform", dir)
	}
	holds, never = strings.TrimSuffix(holds, "."), strings.TrimSuffix(never, ".")
	doc := filepath.Join(root, filepath.FromSlash(dir), "doc.go")
	if old, err := filepath.Glob(filepath.Join(filepath.Dir(doc), "*.go")); err != nil || len(old) > 0 {
		return nil, errors.Join(err, fmt.Errorf("%s is a package already", dir))
	}
	table := filepath.Join(root, filepath.FromSlash(tableFile))
	text, err := os.ReadFile(table)
	if err != nil {
		return nil, err
	}
	changed, err := insert(string(text), dir, rowOf(dir, holds, never, nil))
	if err != nil {
		return nil, err
	}
	comment := fmt.Sprintf("// Package %s holds %s.\n//\n// It must not know %s.\npackage %[1]s\n", path.Base(dir), holds, never)
	if err := os.MkdirAll(filepath.Dir(doc), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(doc, []byte(comment), 0o644); err != nil {
		return nil, err
	}
	return []string{doc, table}, os.WriteFile(table, changed, 0o644)
}

// insert puts a row at its place in the sorted table of packages.
func insert(table, p, row string) ([]byte, error) {
	start := strings.Index(table, "var Packages = ")
	if start < 0 {
		return nil, fmt.Errorf("%s: missing var Packages", tableFile)
	}
	at := -1
	for _, m := range rowStart.FindAllStringSubmatchIndex(table[start:], -1) {
		switch existing := table[start+m[2] : start+m[3]]; {
		case existing == p:
			return nil, fmt.Errorf("%s has a row for %s already", tableFile, p)
		case existing > p && at < 0:
			at = start + m[0]
		}
	}
	if at < 0 {
		at = strings.LastIndex(table, "}")
	}
	return format.Source([]byte(table[:at] + row + table[at:]))
}
