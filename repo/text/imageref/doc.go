// Package imageref holds references to container images, taken apart as clusterctl does.
//
// It must not know which images a release has, nor any registry.
package imageref
