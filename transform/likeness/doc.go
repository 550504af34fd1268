// Package likeness finds the configuration of a source tree: the one that the
// conventions give, or the one that makes the files of a release that is out already.
// The origin of each of these files is looked for by content, among the files of the
// tree and what its kustomizations build. What is found is built and compared with the
// release; what is not found is named, with the difference.
//
// It must not know where the release comes from, and it writes nothing. It reads no
// Makefile, script or workflow.
package likeness
