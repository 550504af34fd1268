package yamldoc

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes are looked at at once, as one word in which the first is the lowest.
// What is found is marked by the highest bit of a byte: the lowest mark is that of
// the first byte that is meant, and marks above it may be wrong.

// lows and highs are the lowest and the highest bits of the bytes of a word.
const lows, highs = 0x0101010101010101, 0x8080808080808080

// word returns the first eight bytes of a text.
func word(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:8])) }

// unprintable marks the bytes that are not printable ASCII.
func unprintable(w uint64) uint64 { return (w | (w - ' '*lows) | (w + lows)) & highs }

// like marks the bytes that are c.
func like(w uint64, c byte) uint64 {
	w ^= uint64(c) * lows
	return (w - lows) &^ w & highs
}

// first returns the index of the first byte that is marked.
func first(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }
