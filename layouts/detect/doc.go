// Package detect finds out how a source tree is laid out: which providers it
// holds, where their kustomizations, metadata and templates are, and what the
// providers are called. It applies the conventions that most Cluster API
// providers follow and says in notes which one led to what. Its result is an
// ordinary configuration (layouts/config), so that a tree with a
// clusterctl-repo.yaml and one without take the same way from there.
//
// It must not know particular providers, and it reads nothing but the tree it
// is given: no network, no command, no environment.
package detect
