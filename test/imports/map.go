package imports

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Markdown is the map for docs/architecture.md: the layers, then a section for
// every folder, and in it a row for every package.
func Markdown(source map[string]*Source) string {
	var b strings.Builder
	b.WriteString("| layer | packages |\n|---|---|\n")
	for i := range layers {
		fmt.Fprintf(&b, "| %d. %s | %s |\n", i+1, layers[i].name, grouped(packagesIn(source, i)))
	}
	folders := foldersOf(source)
	for _, dir := range folders {
		fmt.Fprintf(&b, "\n### %s\n\n", dir)
		if i := folderRow(dir); i >= 0 {
			fmt.Fprintf(&b, "Holds %s; never %s.\n\n", Folders[i].Holds, Folders[i].Never)
		}
		rows := slices.DeleteFunc(slices.Sorted(maps.Keys(source)), func(p string) bool {
			return p != dir && (path.Dir(p) != dir || slices.Contains(folders, p))
		})
		if len(rows) == 0 {
			continue
		}
		b.WriteString("| package | what it is | must not | imports | libraries |\n|---|---|---|---|---|\n")
		for _, p := range rows {
			s := source[p]
			holds, never := s.says()
			own, others := s.split()
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p, cell(holds), cell(never), grouped(own), cell(strings.Join(others, ", ")))
		}
	}
	return b.String() + "\n"
}

func cell(text string) string {
	if text == "" {
		return "–"
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "[*", "", "]", "", "[", "").Replace(text)
}

func packagesIn(source map[string]*Source, i int) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(source)), func(p string) bool { return layerOf(p) != i || matches("test/...", p) })
}

// split returns the packages of this project that a package imports, and, in the
// main module, its libraries.
func (s *Source) split() (own, others []string) {
	for _, imported := range slices.Sorted(maps.Keys(s.Imports)) {
		switch {
		case isOwn(imported):
			own = append(own, imported)
		case s.Module == "":
			others = append(others, imported)
		}
	}
	return own, others
}

// grouped shortens a list of packages: repo/text/{manifest, vars}.
func grouped(list []string) string {
	in := map[string][]string{}
	for _, p := range list {
		in[path.Dir(p)] = append(in[path.Dir(p)], path.Base(p))
	}
	var groups []string
	for _, dir := range slices.Sorted(maps.Keys(in)) {
		names := in[dir]
		switch {
		case dir == ".":
			groups = append(groups, names...)
		case len(names) == 1:
			groups = append(groups, dir+"/"+names[0])
		default:
			groups = append(groups, dir+"/{"+strings.Join(names, ", ")+"}")
		}
	}
	return cell(strings.Join(groups, "; "))
}
