package transform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// An objectProblem is an object that must not be in the components of a
// release.
type objectProblem struct {
	object object
	why    string
}

// setLabel puts the provider label on every object (contract: "Components
// YAML", section "Labels"), or only where there is none.
func setLabel(objs []object, label string, keep bool) (problems []objectProblem) {
	for _, o := range objs {
		meta, ok := o["metadata"].(map[string]any)
		if !ok {
			problems = append(problems, objectProblem{o, "metadata is missing or not a mapping"})
			continue
		}
		labels, ok := meta["labels"].(map[string]any)
		if !ok {
			if meta["labels"] != nil {
				problems = append(problems, objectProblem{o, "metadata.labels is not a mapping"})
				continue
			}
			labels = map[string]any{}
			meta["labels"] = labels
		}
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if why := labelProblem(key, labels[key]); why != "" {
				problems = append(problems, objectProblem{o, why})
			}
		}
		if _, ok := labels[layouts.ProviderLabel]; !ok || !keep {
			labels[layouts.ProviderLabel] = label
		}
	}
	return problems
}

// labelProblem returns why clusterctl or the API server refuses a label, or "".
func labelProblem(key string, v any) string {
	value, ok := v.(string)
	if !ok {
		return fmt.Sprintf("the value of label %s is not a string; clusterctl would drop all labels of the object. Put it in quotes", key)
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Sprintf("Kubernetes refuses the label key %q: %s", key, problems[0])
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		help := ""
		if key == "app.kubernetes.io/managed-by" && strings.HasPrefix(value, "kustomize-") {
			help = "; remove managedByLabel from buildMetadata in the kustomization"
		}
		return fmt.Sprintf("Kubernetes refuses the value %q of label %s: %s%s", value, key, problems[0], help)
	}
	return ""
}

// checkNamespace enforces the rule of the contract that a components file has
// exactly one Namespace, and every namespaced object is in it.
func checkNamespace(objs []object) (problems []objectProblem) {
	scope := map[string]bool{} // group/kind of custom resources → cluster scoped
	var namespaces []object
	for _, o := range objs {
		switch {
		case o.kind() == "Namespace" && o.group() == "":
			namespaces = append(namespaces, o)
		case o.kind() == "CustomResourceDefinition":
			scope[o.text("spec", "group")+"/"+o.text("spec", "names", "kind")] = o.text("spec", "scope") == "Cluster"
		}
	}
	switch {
	case len(namespaces) == 0:
		return []objectProblem{{nil, "missing Namespace object; the contract requires exactly one, in which clusterctl installs the provider"}}
	case len(namespaces) > 1:
		for _, o := range namespaces[1:] {
			problems = append(problems, objectProblem{o, fmt.Sprintf("found a second Namespace besides %s, but clusterctl refuses files with two; keep the one the provider runs in", namespaces[0].name())})
		}
		return problems
	}
	target := namespaces[0].name()
	for _, o := range objs {
		if o.kind() == "" {
			problems = append(problems, objectProblem{o, "the object has no kind"})
			continue
		}
		cluster, known := scope[o.group()+"/"+o.kind()]
		if !known {
			cluster = layouts.ClusterScoped(o.group(), o.kind())
		}
		switch ns := o.namespace(); {
		case cluster || ns == target:
		case ns == "":
			problems = append(problems, objectProblem{o, fmt.Sprintf("the object has no namespace and would not be installed into %s; set `namespace: %s` in the kustomization", target, target)})
		default:
			problems = append(problems, objectProblem{o, fmt.Sprintf("the object is in the namespace %s; all namespaced objects of a provider must be in its namespace, %s, and clusterctl would move it there", ns, target)})
		}
	}
	return problems
}
