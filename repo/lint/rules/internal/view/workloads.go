package view

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
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

// Flag returns the value that the arguments of a container give to a flag, as
// --flag=value or --flag value, and nil if they do not. Of several the last
// counts.
func Flag(c *yamldoc.Node, flag string) (n *yamldoc.Node, value string) {
	arguments := slices.Concat(c.Get("command").List(), c.Get("args").List())
	for i, a := range arguments {
		text := a.Str()
		name, rest, joined := strings.Cut(strings.TrimLeft(text, "-"), "=")
		switch {
		case name != flag || !strings.HasPrefix(text, "-"):
		case joined:
			n, value = a, rest
		case i+1 < len(arguments):
			n, value = arguments[i+1], arguments[i+1].Str()
		}
	}
	return n, value
}

// ManagerName is what clusterctl calls the container of a controller.
const ManagerName = "manager"

// Managers returns the containers of an object that clusterctl treats as the
// controller of the provider.
func Managers(o *manifest.Object) []*yamldoc.Node {
	if o.Kind != "Deployment" {
		return nil
	}
	return phrase.Only(PodOf(o).Get("containers").List(), func(c *yamldoc.Node) bool {
		return c.Get("name").Str() == ManagerName
	})
}
