// Package imports holds the law of imports: in which direction packages may know
// each other, and who may link which library. The map in
// docs/architecture.md is generated from the comments of packages and the code.
//
// It must not know what any package does.
package imports

import (
	"fmt"
	"go/doc"
	"maps"
	"path"
	"slices"
	"strings"
)

// Module is the import path of this project.
const Module = "github.com/clusterctl-repo/clusterctl-repo"

const tableFile = "test/imports/table.go"

// Lists of paths are separated by spaces; "/..." at the end of a path means the
// folder with all that is in it.
type (
	// Folder is a directory that groups packages.
	Folder struct{ Path, Holds, Never string }
	layer  struct{ name, of string }
	// A principle forbids the packages in of, but for those in except, to import
	// those in not.
	principle struct{ of, except, not, why string }
	library   struct{ names, users, why string }
)

// guarded says which packages of the standard library reach beyond memory and
// files.
func guarded(importPath string) bool {
	switch importPath {
	case "C", "crypto/tls", "flag", "log", "log/slog", "net", "os/exec", "os/signal", "os/user", "plugin", "syscall", "testing", "unsafe":
		return true
	}
	return strings.HasPrefix(importPath, "net/http") || strings.HasPrefix(importPath, "net/rpc") || importPath == "net/smtp"
}

// matches reports whether one of the patterns covers the path.
func matches(patterns, p string) bool { return longest(patterns, p) > 0 }

// longest says how closely the closest of the patterns covers the path: 0 if none
// does, and most for the path itself.
func longest(patterns, p string) int {
	best := 0
	for pattern := range strings.FieldsSeq(patterns) {
		folder, below := strings.CutSuffix(pattern, "/...")
		switch {
		case p == pattern:
			return 1 << 16
		case below && (p == folder || strings.HasPrefix(p, folder+"/")):
			best = max(best, len(folder))
		}
	}
	return best
}

// layerOf returns the index of a package's layer, and -1 if it has none.
func layerOf(p string) int {
	found, length := -1, 0
	for i, l := range layers {
		if n := longest(l.of, p); n > length {
			found, length = i, n
		}
	}
	return found
}

// Judge returns the imports that go the wrong way, and what the table lacks or
// has in excess, each with what to do.
func Judge(source map[string]*Source) []string {
	var problems []string
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, p := range slices.Sorted(maps.Keys(source)) {
		s := source[p]
		if layerOf(p) < 0 {
			add("%s belongs to no layer: add it to layers in %s, below what it needs and above what needs it", p, tableFile)
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(s.Imports)) {
			if why := s.forbidden(imported); why != "" {
				add("%s imports %s, which %s must not know. %s\n\tMove the code to a package that may know both, or let the caller pass in what it needs. The law is in %s.",
					s.Imports[imported], imported, p, why, tableFile)
			}
		}
	}
	return slices.Concat(problems, unused(source), judgeFolders(source))
}

// forbidden says why a package must not have an import, and returns "" if it may.
func (s *Source) forbidden(imported string) string {
	p := s.Path
	for _, pr := range principles {
		if matches(pr.of, p) && !matches(pr.except, p) && matches(pr.not, imported) {
			return pr.why
		}
	}
	if !isOwn(imported) {
		return s.stranger(imported)
	}
	from, to := layerOf(p), layerOf(imported)
	if to > from {
		return fmt.Sprintf("In the order of the layers, %q comes before %q.", layers[from].name, layers[to].name)
	}
	if folder := path.Dir(p); apart[folder] != "" && path.Dir(imported) == folder && imported != p {
		return apart[folder]
	}
	return ""
}

// stranger says why a package must not link a library, and returns "" if it may.
func (s *Source) stranger(imported string) string {
	if s.Module != "" || matches("examples/... test/...", s.Path) {
		return ""
	}
	for _, l := range libraries {
		if slices.Contains(strings.Fields(l.names), imported) {
			if matches(l.users, s.Path) {
				return ""
			}
			return l.why + " Today its users are " + strings.ReplaceAll(l.users, " ", ", ") + "."
		}
	}
	return "Every user of the package would link it, and libraries in " + tableFile + " does not list it."
}

// isOwn reports whether an import is a package of this project; Scan has cut
// the module path off.
func isOwn(imported string) bool {
	top, _, _ := strings.Cut(imported, "/")
	return slices.Contains([]string{"cmd", "examples", "layouts", "publish", "repo", "test", "transform"}, top)
}

// unused returns the rows of libraries that allow more than the code needs.
func unused(source map[string]*Source) []string {
	var problems []string
	imports := func(users, names string) bool {
		for p, s := range source {
			if s.Module == "" && matches(users, p) && slices.ContainsFunc(strings.Fields(names), func(n string) bool { return s.Imports[n] != "" }) {
				return true
			}
		}
		return false
	}
	for _, l := range libraries {
		for name := range strings.FieldsSeq(l.names) {
			if !imports(l.users, name) {
				problems = append(problems, fmt.Sprintf("%s: libraries lists %s, which %s does not import; remove it", tableFile, name, l.users))
			}
		}
		for user := range strings.FieldsSeq(l.users) {
			if !imports(user, l.names) {
				problems = append(problems, fmt.Sprintf("%s: libraries lets %s import %s, which it does not; remove it", tableFile, user, l.names))
			}
		}
	}
	return problems
}

// maxRepo is how many folders a reader can survey in repo.
const maxRepo = 14

// judgeFolders checks that every folder says what it holds: in the comment of its
// package, or in a row.
func judgeFolders(source map[string]*Source) []string {
	var problems []string
	folders := foldersOf(source)
	for _, dir := range folders {
		if i := folderRow(dir); (source[dir] == nil) != (i >= 0) {
			problems = append(problems, fmt.Sprintf("%s: %s must have a row in Folders if it groups packages without being one, and only then", tableFile, dir))
		}
	}
	for _, f := range Folders {
		if !slices.Contains(folders, f.Path) {
			problems = append(problems, fmt.Sprintf("%s: the folder %s has no packages; remove its row", tableFile, f.Path))
		}
	}
	inRepo := map[string]bool{}
	for p := range source {
		if rest, ok := strings.CutPrefix(p, "repo/"); ok {
			top, _, _ := strings.Cut(rest, "/")
			inRepo[top] = true
		}
	}
	if len(inRepo) > maxRepo {
		problems = append(problems, fmt.Sprintf("repo has %d folders; %d is the limit, so that a newcomer can guess where things live", len(inRepo), maxRepo))
	}
	return problems
}

// foldersOf returns the directories that have packages below them, sorted.
func foldersOf(source map[string]*Source) []string {
	dirs := map[string]bool{}
	for p := range source {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

func folderRow(dir string) int {
	return slices.IndexFunc(Folders, func(f Folder) bool { return f.Path == dir })
}

// Comments returns the packages whose comment does not say what they are for and
// what they must not know.
func Comments(source map[string]*Source) []string {
	var problems []string
	for _, p := range slices.Sorted(maps.Keys(source)) {
		s := source[p]
		if matches("examples/...", p) {
			continue
		}
		holds, never := s.says()
		begin := "Package " + s.Name + " "
		if s.Name == "main" {
			begin = ""
		}
		if holds == "" || !strings.HasPrefix(s.Doc, begin) {
			problems = append(problems, fmt.Sprintf("%s: the package comment must begin with %q and say what the package is for", p, begin))
		}
		if never == "" {
			problems = append(problems, fmt.Sprintf("%s: the package comment must say what the package must not know or do, in a sentence with \"must not\"", p))
		}
	}
	return problems
}

// says returns the first sentence of the package comment without its first two
// words, and what follows "must not" in the sentence that has it.
func (s *Source) says() (holds, never string) {
	text := strings.Join(strings.Fields(s.Doc), " ")
	var pkg doc.Package
	holds = strings.TrimPrefix(pkg.Synopsis(s.Doc), "Package "+s.Name+" ")
	if _, after, ok := strings.Cut(text, "must not "); ok {
		never = pkg.Synopsis(after)
	}
	return strings.TrimSuffix(holds, "."), strings.TrimSuffix(never, ".")
}
