// Package transform makes releases: it turns a plan of a source tree
// (layouts/config) into the files of a release. Each step is a pure function
// over objects or text; build.go puts them in order. The package below it,
// clusterctl, does to a finished release what clusterctl does when it installs
// from it.
//
// It must not know where releases are published, and it applies no lint rules:
// it refuses only what cannot become a release.
package transform
