// Package live reads what a move depends on from a management cluster: the kinds
// that clusterctl lists, and nothing else. It only asks for what is there, and of
// most objects only for their metadata, so that no content of a Secret is
// transmitted.
//
// It must not know what clusterctl makes of the objects.
package live
