package clusterclass

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Problems returns why admission refuses a reference, in words that follow the place
// (internal/topology/check, ClusterClassTemplateIsValid). Values that are no
// texts are left out, and so is the template of a remediation, which admission
// does not look at.
func (r *Reference) Problems() []fault {
	if r.Role == contract.Remediation || !r.Node.Is(yamldoc.Map) {
		return nil
	}
	var out []fault
	check := func(name string, wrong func(text string) string) {
		n := r.Node.Get(name).Given()
		if n == nil {
			out = append(out, fault{Node: r.Node, Message: "has no " + name})
		} else if message := wrong(n.Str()); message != "" && n.Is(yamldoc.String) {
			out = append(out, fault{Node: n, Message: message})
		}
	}
	check("name", func(text string) string {
		if text == "" {
			return "has an empty name"
		}
		return ""
	})
	check("kind", func(text string) string {
		if len(text) <= len(contract.Suffix) || !strings.HasSuffix(text, contract.Suffix) {
			return fmt.Sprintf("has the kind %q, which does not end with %s", text, contract.Suffix)
		}
		return ""
	})
	check("apiVersion", func(text string) string {
		if text == "" || text == "/" || strings.Count(text, "/") > 1 {
			return fmt.Sprintf("has the apiVersion %q; want GROUP/VERSION", text)
		}
		return ""
	})
	return out
}

// appendMetadata appends the x-metadata of a schema and those in it.
func appendMetadata(out []*yamldoc.Node, s *yamldoc.Node) []*yamldoc.Node {
	if !s.Is(yamldoc.Map) {
		return out
	}
	if n := s.Get("x-metadata"); n != nil {
		out = append(out, n)
	}
	out = appendMetadata(out, s.Get("additionalProperties"))
	out = appendMetadata(out, s.Get("items"))
	for _, f := range s.Get("properties").Fields() {
		out = appendMetadata(out, f.Value)
	}
	return out
}

// TaintProblem returns why nodes of a cluster may not have a taint with that key,
// "" if they may (internal/util/taints, ValidateMachineTaints).
func TaintProblem(key string) string {
	switch {
	case key == "node.cluster.x-k8s.io/uninitialized", key == "node.cluster.x-k8s.io/outdated-revision":
		return "belongs to Cluster API"
	case strings.HasPrefix(key, "node.kubernetes.io/") && key != "node.kubernetes.io/out-of-service":
		return "belongs to Kubernetes"
	case strings.HasPrefix(key, "node.cloudprovider.kubernetes.io/"):
		return "belongs to cloud providers"
	case key == "node-role.kubernetes.io/master":
		return "is deprecated since Kubernetes v1.24"
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return "is not possible: " + problems[0]
	}
	return ""
}

// CompareVersions orders versions of Kubernetes as Cluster API does, with what
// follows the + (util/version, Compare). The result is over 1 if the order is
// not known.
func CompareVersions(a, b semver.Version) int {
	if c := a.Compare(b); c != 0 {
		return c
	}
	for i := range min(len(a.Build), len(b.Build)) {
		x, y := a.Build[i], b.Build[i]
		n, xerr := strconv.ParseUint(x, 10, 64)
		m, yerr := strconv.ParseUint(y, 10, 64)
		switch {
		case x == y || xerr == nil && yerr == nil && n == m:
			continue
		case xerr == nil && yerr == nil && n < m, xerr == nil && yerr != nil:
			return -1
		case xerr == nil || yerr == nil:
			return 1
		}
		return 2
	}
	return cmp.Compare(len(a.Build), len(b.Build))
}
