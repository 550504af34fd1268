// Package live talks to management clusters. It reads what a move depends on: the kinds
// that clusterctl lists, and of most objects only their metadata, so that no content of a
// Secret is transmitted. It watches: one LIST and one WATCH for each resource of Cluster
// API and its providers, for Secrets without their values, and for the holders of Leases.
// And it drives: it plays the user in a namespace that was made for it, writes down each of
// its writes, and touches only what it made. Nothing else writes.
//
// It must not know what clusterctl makes of the objects, nor what controllers do wrong.
package live
