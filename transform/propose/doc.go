// Package propose finds what is missing in a source tree. Propose finds the
// configuration with which it builds: what the conventions give, what Makefiles and
// workflows say, and what building shows. Each part is built before it is proposed;
// what cannot be built is left out, with the reason. Migrate completes what a tree says
// about a contract: it adds the labels that are safe to add, and reports what is left.
//
// It must not know how recipes are read or how kustomize works, and it writes
// nothing.
package propose
