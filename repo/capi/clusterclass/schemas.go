package clusterclass

import (
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// checker keeps the patterns of the schemas.
var checker = sync.OnceValue(func() *crd.Checker { return &crd.Checker{Received: true} })

// Schema is what a version of the API says about a ClusterClass; ok is false for
// a version that Cluster API does not serve.
func Schema(version string) (s crd.Schema, ok bool) {
	return contract.CoreSchema("cluster.x-k8s.io", "ClusterClass", version)
}

// Check compares the spec with the schema of its version, strictly. It finds
// nothing in a version that is not served.
func (c *Class) Check() []crd.Violation { return c.CheckAt(c.Spec, "spec") }

// CheckAt compares a value with what the API says about its path.
func (c *Class) CheckAt(n *yamldoc.Node, path ...string) []crd.Violation {
	s, ok := Schema(c.Version)
	if !ok {
		return nil
	}
	for _, name := range path {
		if s, ok = below(s, name); !ok {
			return nil
		}
	}
	return checker().Check(s, n, true, path...)
}

// below is one step of a path, in which the elements of lists are numbers in
// brackets.
func below(s crd.Schema, name string) (crd.Schema, bool) {
	if strings.HasPrefix(name, "[") {
		name = crd.Items
	}
	s, presence := s.At(name)
	return s, presence == crd.Present
}

// Elsewhere reports whether the other version of the API has a field where this
// one has none, and under which name this one has it, "" if it has no such thing.
func (c *Class) Elsewhere(path string) (name string, ok bool) {
	other := V1Beta1
	if c.old() {
		other = V1Beta2
	}
	s, _ := Schema(other)
	path = strings.ReplaceAll(path, "[", ".[")
	for step := range strings.SplitSeq(path, ".") {
		if s, ok = below(s, step); !ok {
			return "", false
		}
	}
	field := path[strings.LastIndexByte(path, '.')+1:]
	for _, m := range moves {
		from, to := m.old, m.new
		if c.old() {
			from, to = to, from
		}
		if field == from[strings.LastIndexByte(from, '.')+1:] && strings.Contains(path, m.in) {
			return to, true
		}
	}
	return "", true
}

// moves are the fields that have other names or places in v1beta2, the longer
// ones first (api/core/v1beta1/conversion.go). In is a part of the path.
var moves = [...]struct{ in, old, new string }{
	{"", "ref", "templateRef"},
	{"", "infrastructureNamingStrategy", "infrastructure.naming"},
	{"", "namingStrategy", "naming"},
	{"workers.", "template", "metadata, bootstrap and infrastructure, without template"},
	{"workers.", "template.metadata", "metadata"},
	{"workers.", "template.bootstrap", "bootstrap"},
	{"workers.", "template.infrastructure", "infrastructure"},
	{"", "machineHealthCheck", "healthCheck"},
	{"", "nodeDrainTimeout", "deletion.nodeDrainTimeoutSeconds"},
	{"", "nodeVolumeDetachTimeout", "deletion.nodeVolumeDetachTimeoutSeconds"},
	{"", "nodeDeletionTimeout", "deletion.nodeDeletionTimeoutSeconds"},
	{"", "strategy", "rollout.strategy"},
	{"variables.", "metadata", "deprecatedV1Beta1Metadata"},
	{"", "generateExtension", "generatePatchesExtension"},
	{"", "validateExtension", "validateTopologyExtension"},
}
