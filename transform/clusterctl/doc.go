// Package clusterctl renders provider components and cluster templates as
// clusterctl v1.14 does: `generate provider` and `generate cluster` print the
// same bytes, or refuse for the same reason. What it adds is the place of a
// problem in the raw file.
//
// It follows the same steps in the same order with the same Kubernetes
// libraries, since much of the result is a by-product of these: dropped labels,
// added nulls, normalised quantities, the order of documents. test/oracle
// compares it with the real program.
//
// Read reads clusterctl.yaml with the library that clusterctl uses, since many
// rules are that library's: names do not tell case, 1.10 is 1.1, a list is the
// empty text.
//
// It works on data that the caller brings: it must not know where files,
// variables and settings come from, and it does not read the environment.
package clusterctl

// Release is the one of clusterctl whose output is rendered; the tests compare
// with it.
const Release = "v1.14.2"
