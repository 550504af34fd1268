// Package kustomize builds kustomizations in process, from a source tree that
// it never leaves. It is the only package that imports kustomize.
//
// It must not know what is built: no providers, no clusterctl rules.
package kustomize
