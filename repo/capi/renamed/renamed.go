// Package renamed says which fields of Cluster API's own kinds have another name, place or
// form in the next version of its API, as data: what authors change in a template.
//
// The table is compared with the CustomResourceDefinitions and the conversion of Cluster API
// (test/oracle, TestRenamed and TestRenamedValues).
//
// It must not know files, rules or reports.
package renamed

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Field is one that the new version does not have as it was.
type Field struct {
	// Path leads to it in the old version; [] stands for each item of a list.
	Path string
	// To is its path in the new version: Path if only its form changes, "" if it is gone.
	To string
	// Note says what becomes of the value, or why the field is gone; it may be empty.
	Note string
}

// Kind is a kind that has a new version.
type Kind struct {
	Group, Kind string
	// From are the old versions, To is the new one.
	From   []string
	To     string
	Fields []Field
}

//go:embed v1beta2.txt
var table string

// Kinds are all of them. They must not be changed.
var Kinds = parse(table)

// parse reads a table in the form that its head describes.
func parse(table string) (kinds []Kind) {
	blocks := map[string][]string{}
	var heads []string
	for line := range strings.Lines(table) {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || line[0] == '#':
		case line[0] != '\t':
			heads = append(heads, text)
		default:
			head := heads[len(heads)-1]
			blocks[head] = append(blocks[head], text)
		}
	}
	var fields func(block, from, to string) []Field
	fields = func(block, from, to string) (out []Field) {
		for _, line := range blocks[block] {
			path, rest, _ := strings.Cut(line, " ")
			name, note, _ := strings.Cut(rest, " ")
			switch {
			case path == "+":
				before, after, differs := strings.Cut(note, " ")
				if !differs {
					after = before
				}
				out = append(out, fields(name, from+before, to+after)...)
			case name == "-":
				out = append(out, Field{from + path, "", note})
			case name == "=":
				out = append(out, Field{from + path, to + path, note})
			default:
				out = append(out, Field{from + path, to + name, note})
			}
		}
		return out
	}
	for _, head := range heads {
		if words := strings.Fields(head); len(words) == 3 {
			group, versions, _ := strings.Cut(words[0], "/")
			kinds = append(kinds, Kind{group, words[1], strings.Split(versions, ","), words[2], fields(head, "", "")})
		}
	}
	return kinds
}

// Find returns a kind by an old version of it; nil if it has no new one.
func Find(apiVersion, kind string) *Kind {
	group, version, _ := strings.Cut(apiVersion, "/")
	i := slices.IndexFunc(Kinds, func(k Kind) bool {
		return k.Group == group && k.Kind == kind && slices.Contains(k.From, version)
	})
	if i < 0 {
		return nil
	}
	return &Kinds[i]
}

// In returns the fields that an object has, in the order of the table.
func (k *Kind) In(object *yamldoc.Node) []Field {
	return phrase.Only(k.Fields, func(f Field) bool {
		return len(object.All(strings.Split(strings.ReplaceAll(f.Path, "[]", ".*"), ".")...)) > 0
	})
}
