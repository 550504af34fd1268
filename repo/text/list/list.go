// Package list makes one list from another, such as the words of a message. It must not know
// what is in them.
package list

// Of returns what of makes of each element, in their order; nil if there are none.
func Of[E, T any](all []E, of func(E) T) (out []T) {
	for _, e := range all {
		out = append(out, of(e))
	}
	return out
}
