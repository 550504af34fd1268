// Package extension holds the Runtime SDK of Cluster API as data: the hooks, what
// Cluster API sends to them, and what it accepts as an answer. Discovery, patches
// and upgrade plans are judged as Cluster API judges them. Requests are made complete,
// in the version of the API that a release of Cluster API uses, from a ClusterClass
// with its templates and a Cluster.
//
// It must not know the network (repo/extension/probe), the checks
// (repo/extension/checks), nor how anything is reported. The types of Cluster API
// are not linked; tests keep the tables equal to them.
package extension
