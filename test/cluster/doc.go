// Package cluster compares the tool with a real Kubernetes API server. It only
// has tests; the module is apart so that Kubernetes stays out of the tool.
//
// It must not know how rules are implemented.
package cluster
