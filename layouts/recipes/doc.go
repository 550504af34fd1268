// Package recipes reads what Makefiles, release workflows and scripts of a
// source tree do to make a release: which folders they build with kustomize,
// which files they copy, and under which names. It runs none of it. What depends
// on a value that the files do not tell is reported as unread.
//
// Builds use Follow, which tells which of these files a release holds in the end.
// Read lists all that the files do, for local repositories, and Guess what of it may be
// released, for proposals. Files
// are told apart by their names only.
//
// It must not know what the folders hold or how anything is built.
package recipes
