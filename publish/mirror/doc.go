// Package mirror copies releases from anywhere to anywhere, for sites without
// internet: it resolves which versions are wanted, copies each release whole or
// not at all, and writes what a site needs next to them: where every file came
// from, checksums, a clusterctl.yaml with fixed versions, and the images.
//
// A run that ended in whatever way is finished by the next one, and a run after
// that transfers nothing: what the places state about their files, or what the
// lock file remembers, decides without reading contents.
//
// It must not know what kinds of places there are, nor how a user names them.
package mirror
