//go:build !race

package share

// Race says whether the race detector is on.
const Race = false
