// Package real runs the real clusterctl, as a program and as a library, on
// folders and bytes. It is what the tests of this module compare the tool with.
//
// It must not know the tool: only what clusterctl says counts.
package real
