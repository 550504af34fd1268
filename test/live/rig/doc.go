// Package rig builds and starts a management cluster with real controllers: API server,
// etcd, garbage collection, Cluster API, the kubeadm providers, the infrastructure
// provider in memory and an IPAM provider.
//
// It must not know what the tests do with it.
package rig
