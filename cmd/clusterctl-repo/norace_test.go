//go:build !race

package main

// raceFactor is how much more memory the race detector takes.
const raceFactor = 1
