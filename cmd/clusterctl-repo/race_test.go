//go:build race

package main

// raceFactor is how much more memory the race detector takes: it keeps what was freed.
const raceFactor = 2
