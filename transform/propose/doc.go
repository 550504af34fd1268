// Package propose finds the configuration with which a source tree builds: what
// the conventions give, what Makefiles and workflows say, and what building shows.
// Each part is built before it is proposed; what cannot be built is left out, with
// the reason.
//
// It must not know how recipes are read or how kustomize works, and it writes
// nothing.
package propose
