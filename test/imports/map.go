package imports

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Markdown is the map for docs/architecture.md: a section for every folder, and
// in it a row for every package.
func Markdown(folders []Folder, packages []Package) string {
	var b strings.Builder
	for _, f := range folders {
		fmt.Fprintf(&b, "### %s\n\nHolds %s; never %s.\n\n", f.Path, f.Holds, f.Never)
		rows := slices.DeleteFunc(slices.Clone(packages), func(p Package) bool {
			return p.Path != f.Path && (path.Dir(p.Path) != f.Path || slices.ContainsFunc(folders, func(g Folder) bool { return g.Path == p.Path }))
		})
		if len(rows) == 0 {
			continue
		}
		b.WriteString("| package | holds | must not know | imports |\n|---|---|---|---|\n")
		for _, p := range rows {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Path, p.Holds, p.Never, grouped(p.Knows))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// grouped shortens a list of packages: repo/text/{manifest, vars}.
func grouped(list string) string {
	in := map[string][]string{}
	for _, p := range strings.Fields(list) {
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
	if len(groups) == 0 {
		return "–"
	}
	return strings.Join(groups, "; ")
}

// rowOf is the row of a package as it stands in the table.
func rowOf(p, holds, never string, s *Source) string {
	var knows, libraries []string
	if s != nil {
		for _, imported := range slices.Sorted(maps.Keys(s.Imports)) {
			switch {
			case isOwn(imported):
				knows = append(knows, imported)
			case s.Module == "":
				libraries = append(libraries, imported)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\t{\n\t\tPath:  %q,\n\t\tHolds: %q,\n\t\tNever: %q,\n", p, holds, never)
	field := func(name string, list []string) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "\t\t%s: `%s`,\n", name, wrap(list))
		}
	}
	field("Knows", knows)
	field("Libraries", libraries)
	b.WriteString("\t},\n")
	return b.String()
}

// wrap gives each folder a line of its own in a long list, so that changes to
// it merge well.
func wrap(list []string) string {
	short := strings.Join(list, " ")
	if len(short) <= 90 {
		return short
	}
	var b strings.Builder
	for i, name := range list {
		switch {
		case i == 0:
		case path.Dir(name) != path.Dir(list[i-1]):
			b.WriteString("\n\t\t\t")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(name)
	}
	return b.String()
}
