//go:build race

package open

// detector is how much more memory the race detector takes: it keeps what was freed.
const detector = 2
