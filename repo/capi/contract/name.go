package contract

import (
	_ "embed"
	"strings"
)

// CRDName returns the name that a definition must have so that Cluster API
// finds it by group and kind (util/contract.CalculateCRDName). The kind must be
// one that the API server accepts: letters, digits and dashes.
//
// The original asks a library that reads files of the working directory when it
// is loaded, so that a repository could change the answer; its rules are here
// instead. The tests compare the two.
func CRDName(group, kind string) string { return plural(strings.ToLower(kind)) + "." + group }

// plural returns the plural of a word in lower case.
func plural(word string) string {
	dash := strings.LastIndexByte(word, '-') + 1
	head, last := word[:dash], word[dash:]
	for _, n := range nouns {
		switch stem, ends := strings.CutSuffix(last, n.singular); {
		case n.whole && last != n.singular:
		case n.whole && n.plural == "+":
			return word + strings.ToUpper(last) + "es"
		case n.whole:
			return head + n.plural
		case strings.HasSuffix(last, n.plural):
			return word
		case ends:
			return head + stem + n.plural
		}
	}
	if strings.HasSuffix(last, "s") {
		return word
	}
	return word + "s"
}

// noun is a word, or the end of words, and its plural.
type noun struct {
	singular, plural string
	whole            bool
}

//go:embed plurals.txt
var plurals string

var nouns = parseNouns(plurals)

func parseNouns(text string) (out []noun) {
	for line := range strings.Lines(text) {
		for words := strings.Fields(line); len(words) > 1 && words[0] != "#"; words = words[2:] {
			singular, whole := strings.CutPrefix(words[0], "^")
			out = append(out, noun{singular, words[1], whole || words[1] == "+"})
		}
	}
	return out
}
