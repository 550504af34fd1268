//go:build !race

package open

// detector is how much more memory the race detector takes.
const detector = 1
