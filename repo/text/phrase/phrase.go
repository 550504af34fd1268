// Package phrase puts words into messages: numbers with their nouns, lists that are
// made of other lists or cut, texts that may hold anything, the word that was probably
// meant, and the patterns that find words. It must not know what the words are about.
package phrase

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Count is a number of things: "1 file", "2 files", "3 entries".
func Count[N ~int | ~int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// And joins words: "a, b and c".
func And(words []string) string { return join(words, " and ") }

// Or joins words: "a, b or c".
func Or(words []string) string { return join(words, " or ") }

func join(words []string, last string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + last + words[n-1]
	}
	return strings.Join(words, "")
}

// List returns what of makes of each element, in their order; nil if there are none.
func List[E, T any](all []E, of func(E) T) (out []T) {
	out = slices.Grow(out, len(all))
	for _, e := range all {
		out = append(out, of(e))
	}
	return out
}

// Only returns the elements that are wanted, in their order; nil if there are none.
func Only[E any](all []E, wanted func(E) bool) (out []E) {
	for _, e := range all {
		if wanted(e) {
			out = append(out, e)
		}
	}
	return out
}

// Some is List without what is nothing.
func Some[E any, T comparable](all []E, of func(E) T) []T {
	var none T
	return Only(List(all, of), func(t T) bool { return t != none })
}

// Flat is List where an element may have several.
func Flat[E, T any](all []E, of func(E) []T) []T { return slices.Concat(List(all, of)...) }

// First returns the first element that is wanted, or else nothing.
func First[E any](all []E, wanted func(E) bool) (none E) {
	if i := slices.IndexFunc(all, wanted); i >= 0 {
		return all[i]
	}
	return none
}

// Groups puts together what has the same key, in the order of the first of each.
func Groups[T any, K comparable](all []T, key func(T) K) [][]T {
	var out [][]T
	place := map[K]int{} // in out
	for _, one := range all {
		k := key(one)
		i, known := place[k]
		if !known {
			i = len(out)
			place[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], one)
	}
	return out
}

// Distinct leaves the first of those that are equal.
func Distinct[E comparable](all []E) []E { return DistinctBy(all, func(e E) E { return e }) }

// DistinctBy leaves the first of those that have the same key.
func DistinctBy[E any, K comparable](all []E, key func(E) K) []E {
	return List(Groups(all, key), func(same []E) E { return same[0] })
}

// Few joins the first words of a list that may be long: "a, b, c and 5 more". At
// most one word more than that number is shown.
func Few(words []string, most int) string { return FewOf(words, most, len(words)) }

// FewOf is Few for a list that was cut before: all is how many words there are.
func FewOf(words []string, most, all int) string {
	if all > len(words) || all > most+1 {
		shown := min(len(words), most)
		words = append(words[:shown:shown], strconv.Itoa(all-shown)+" more")
	}
	return And(words)
}

// Fit shortens a text to a number of characters, of which the last one shows that
// something is missing.
func Fit(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// Cut shortens a text to a number of characters, after which the sign stands that Fit has.
func Cut(s string, most int) string {
	s = s[:min(len(s), 4*(most+1))] // a character has four bytes at most
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// Visible writes characters that cannot be seen, or that move others, as escapes.
// Texts come from unchecked files, and go to terminals, logs and
// pages. The result is one line of valid UTF-8.
func Visible(s string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[n:]
	}
	return b.String()
}
