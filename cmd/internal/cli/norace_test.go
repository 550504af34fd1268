//go:build !race

package cli

// raceFactor is how much more memory the race detector takes.
const raceFactor = 1
