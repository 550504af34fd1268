// Package inventory answers two questions about a release: which variables can
// or must a user set, and which images will a cluster pull. Both are read from
// the components, the cluster templates and the ClusterClasses.
//
// It states facts, with their places, about what clusterctl shows and what it
// hides. It must not judge them (repo/lint/rules does) nor know how they are printed
// (repo/report).
package inventory
