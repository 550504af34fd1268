// Package patch computes what the inline patches of a ClusterClass make of its
// templates for one Cluster: the same objects, or the same refusal, as the
// topology controller of Cluster API (core/reconcilers/topology/cluster/patches).
//
// Input is a class with positions, the variables of a Cluster as JSON, and the
// templates that the controller would patch. Output is the patched templates, a
// record of who wrote which path, and the failures with the text that causes them.
//
// It must not know rules, releases, or where the Cluster comes from. Patches of
// extensions are not computed: what they may have changed is marked as unsure.
package patch
