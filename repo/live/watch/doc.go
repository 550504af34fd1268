// Package watch records what happens to the objects of a management cluster: one LIST
// and one WATCH for each resource of Cluster API and its providers, for Secrets without
// their values, and for the holders of Leases. It never writes.
//
// It must not know what the objects mean.
package watch
