// Package documents has the files next to the releases of a mirror, as types and as
// texts: the lock, the list of images, clusterctl.yaml, and what Cluster API Operator
// reads.
//
// It must not know how releases are copied or where files lie; it reads only the
// releases that it is given.
package documents
