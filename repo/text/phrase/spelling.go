package phrase

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the known word that was probably meant, whatever its case: one so
// near that the difference can be a slip, or else one that has the word as a part; ""
// if there is none. Of two words as near, the one with the same first letter is meant.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, near := 2*min(3, (len(word)+1)/2), "" // two slips, or one in a short word
	for _, k := range known {
		other := strings.ToLower(k)
		d := 2 * Distance(word, other)
		if word != "" && !strings.HasPrefix(other, word[:1]) {
			d++
		}
		if d < best {
			best, near = d, k
		}
	}
	if near == "" && len(word) > 2 { // or a part of one: aws for infrastructure-aws
		if i := slices.IndexFunc(known, func(k string) bool { return strings.Contains("-"+strings.ToLower(k)+"-", "-"+word+"-") }); i >= 0 {
			return known[i]
		}
	}
	return near
}

// DidYouMean is the end of a message about an unknown word: the nearest known one,
// or "".
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return `; did you mean "` + near + `"?`
	}
	return ""
}

// Unknown is a message about a word that is not among those there are, with what Among
// says. Flags are written with dashes.
func Unknown(what, word string, known []string) string {
	if len(known) == 0 {
		return fmt.Sprintf("unknown %s %q: there are none", what, word)
	}
	dashes := ""
	if what == "flag" {
		dashes = "--"
	}
	return fmt.Sprintf("unknown %s %q%s", what, dashes+word, among(word, known, dashes))
}

// Among is the end of a message about a word that is not among the known ones: the one
// that was probably meant, and all of them, nearest first; "" if none is known.
func Among(word string, known []string) string { return among(word, known, "") }

func among(word string, known []string, dashes string) string {
	if len(known) == 0 {
		return ""
	}
	meant, hint := Nearest(word, known), ""
	if meant != "" {
		hint = fmt.Sprintf("; did you mean %q?", dashes+meant)
	}
	far := func(s string) int {
		if s == meant {
			return -1
		}
		return Distance(word, s)
	}
	near := slices.SortedStableFunc(slices.Values(known), func(a, b string) int { return cmp.Compare(far(a), far(b)) })
	for i := range near {
		near[i] = dashes + near[i]
	}
	return fmt.Sprintf("%s (known: %s)", hint, Few(near, 10))
}

// Distance counts the insertions, deletions and substitutions of bytes, and the
// exchanges of neighbours, that lead from a to b. Long words count as far away, which
// bounds the cost.
func Distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	var before, last, row [long + 1]int
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last = last, row
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
