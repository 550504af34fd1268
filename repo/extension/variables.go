package extension

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// variableProblem is a fault of the definition of a variable.
type variableProblem struct {
	// Unknown says that a field is not known, which Cluster API drops. For all others it
	// refuses all definitions of the answer.
	Unknown bool
	Message string
}

// maxVariables is how many variables a ClusterClass has at most, with those of extensions.
const maxVariables = 1000

// Problems judges the definitions as Cluster API of a minor version judges those of
// a ClusterClass (core/reconcilers/clusterclass, reconcileExternalVariables;
// internal/topology/variables, ValidateClusterClassVariables). It also returns the
// definitions as documents. Each place is reported once.
func (r *VariablesResponse) Problems(core int) (definitions []*yamldoc.Node, problems []variableProblem) {
	version := string(CoreVersion(core))
	text, err := json.Marshal(map[string]any{
		"apiVersion": clusterclass.Group + "/" + version, "kind": clusterclass.Kind, "metadata": map[string]any{"name": "discovered"},
		"spec": map[string]any{"variables": r.Variables},
	})
	if err != nil {
		return nil, nil
	}
	if len(text) > MaxObject {
		return nil, []variableProblem{{false, fmt.Sprintf("the definitions have %d bytes, more than an API server accepts in a ClusterClass", len(text))}}
	}
	if n := len(r.Variables); n > maxVariables {
		problems = append(problems, variableProblem{false, fmt.Sprintf("there are %d variables, but the status of a ClusterClass can only hold %d", n, maxVariables)})
	}
	docs := yamldoc.Parse(yamldoc.NewFile("answer", text)).Docs
	if len(docs) == 0 || docs[0].Root == nil {
		return nil, problems
	}
	c := clusterclass.Of(&manifest.Object{Doc: docs[0], Group: clusterclass.Group, Version: version, Kind: clusterclass.Kind})
	taken := map[string]bool{}
	for _, v := range c.Variables() {
		definitions = append(definitions, v.Node)
		seen := map[*yamldoc.Node]bool{}
		add := func(unknown bool, n *yamldoc.Node, format string, args ...any) {
			if !seen[n] {
				seen[n] = true
				problems = append(problems, variableProblem{unknown, fmt.Sprintf("variable %q: ", v.Name) + fmt.Sprintf(format, args...)})
			}
		}
		switch {
		case taken[v.Name]:
			add(false, v.Node, "the name is taken by another variable")
		case v.Name == "builtin":
			add(false, v.Node, "the name belongs to Cluster API")
		case strings.Contains(v.Name, "."):
			add(false, v.Node, "the name contains a dot")
		}
		taken[v.Name] = true
		for _, violation := range c.CheckAt(v.Node, v.Path...) {
			switch {
			case violation.Fault != crd.Unknown:
				place := strings.TrimPrefix(strings.TrimPrefix(violation.Path, crd.Join(v.Path)), ".")
				add(false, violation.Node, "%s", strings.TrimSpace(place+" "+violation.Message))
			default:
				add(true, violation.Node, "%s of Cluster API has no field %s", version, violation.Path)
			}
		}
		for _, fault := range c.SchemaFaults(v) {
			if fault.Aspect != clusterclass.OfKeyword {
				add(false, fault.Node, "%s", fault.Message)
			}
		}
	}
	return definitions, problems
}
