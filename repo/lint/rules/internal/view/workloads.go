package view

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// PodOf returns the spec of the pods of an object, or nil.
func PodOf(o *manifest.Object) *yamldoc.Node { return o.PodTemplate.Get("spec") }

// ContainersOf returns the containers of the pods of an object, those that run
// at the start last.
func ContainersOf(o *manifest.Object) []*yamldoc.Node {
	pod := PodOf(o)
	if pod == nil {
		return nil
	}
	return slices.Concat(pod.Get("containers").List(), pod.Get("initContainers").List())
}

// ServiceAccount returns where a pod names its account, nil if it does not.
func ServiceAccount(pod *yamldoc.Node) *yamldoc.Node {
	if n := pod.Get("serviceAccountName"); n.Str() != "" {
		return n
	}
	return pod.Get("serviceAccount")
}
