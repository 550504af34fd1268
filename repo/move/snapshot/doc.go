// Package snapshot reads the objects of a management cluster from dumps of any
// size: files and folders of YAML and JSON, Lists as kubectl prints them, what
// clusterctl move --to-directory writes, and the answers of an API server.
//
// Of each object only those fields are kept that a move depends on; the content
// of Secrets is never kept. Memory grows with the number of objects, not with
// their size. What cannot be read becomes a problem, and the rest is still there.
//
// It must not know what clusterctl makes of the objects.
package snapshot
