// Package topology computes what the topology controller of Cluster API v1.14 makes of a
// new Cluster and its ClusterClass: all objects, with the patches applied, or the refusal
// with its place. The control plane of an existing Cluster, hooks and the answers of
// extensions would change the result; they are not known.
//
// What the controller makes of templates, and what patches see, is in repo/extension; what
// patches do is in repo/capi/patch. test/oracle compares the result with that of Cluster API.
//
// It must not know releases, files on a disk, or where the Cluster comes from.
package topology
