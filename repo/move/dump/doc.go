// Package dump reads the objects of a management cluster from files: YAML and JSON
// as kubectl prints it, Lists, and folders of such files, also those that
// clusterctl move --to-directory wrote. Of each object it keeps what a move depends
// on, and of Secrets no values.
//
// It must not know what clusterctl makes of the objects.
package dump
