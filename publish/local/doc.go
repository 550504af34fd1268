// Package local publishes releases to a folder that clusterctl reads as a
// local repository: <root>/<label>/<version>/<file>
// (clusterctl: client/repository/repository_local.go).
//
// A release is written to a hidden folder next to its destination, synced,
// read back, and becomes visible by one rename. A run that dies before leaves
// nothing that clusterctl lists, and the next publisher removes it. The
// package must not know how a release was made or whether it is any good.
package local
