package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// Family is a group of rules about one thing.
type Family struct {
	// Prefix begins the IDs.
	Prefix string
	// Title says what the rules are about.
	Title string
	Rules []*lint.Rule
}

// Families are sorted by prefix. They must not be changed.
var Families = families([]Family{
	{"BC", "CRDs of the role BootstrapConfig", nil},
	{"CC", "ClusterClasses: files, references and classes", nil},
	{"COMP", "Components: namespace, labels, images and types", nil},
	{"CP", "CRDs of the role ControlPlane", nil},
	{"CRD", "CustomResourceDefinitions and their contract labels", nil},
	{"CV", "Variables of ClusterClasses", nil},
	{"DEP", "Workloads of the components", nil},
	{"IC", "CRDs of the role InfraCluster", nil},
	{"IM", "CRDs of the role InfraMachine", nil},
	{"IMP", "CRDs of the role InfraMachinePool", nil},
	{"IPAM", "CRDs of IPAM providers", nil},
	{"LINT", "Comments that silence rules", nil},
	{"META", "metadata.yaml", nil},
	{"MOVE", "Owners: what clusterctl move would do", nil},
	{"NAME", "Names of providers and files", nil},
	{"PA", "Patches of ClusterClasses", nil},
	{"RBAC", "Roles and bindings", nil},
	{"REPO", "The repository: folders, versions, files and URLs", nil},
	{"RXS", "Runtime extensions", nil},
	{"TOP", "Clusters and their topology", nil},
	{"TPL", "Cluster templates", nil},
	{"VAR", "Variables in components, templates and classes", nil},
	{"WH", "Webhooks, services and certificates", nil},
	{"YAML", "Documents and objects", nil},
})

// All are the rules, sorted by ID. It must not be changed.
var All = slices.SortedFunc(slices.Values(slices.Concat(
	metaRules, nameRules, repoRules, varRules, yamlRules,
	compRules, compTypedRules, rbacRules, depRules, webhookRules, crdRules, roleRules,
	classRules, templateRules, topologyRules, extensionRules, extensionAccountRules, moveRules, lintRules,
)), func(a, b *lint.Rule) int { return cmp.Compare(a.ID, b.ID) })

// families gives every family its rules.
func families(list []Family) []Family {
	for i := range list {
		f := &list[i]
		first, _ := slices.BinarySearchFunc(All, f.Prefix, func(r *lint.Rule, prefix string) int { return cmp.Compare(FamilyOf(r.ID), prefix) })
		last := first
		for last < len(All) && FamilyOf(All[last].ID) == f.Prefix {
			last++
		}
		f.Rules = All[first:last:last]
	}
	return list
}

// FamilyOf returns the prefix of an ID.
func FamilyOf(id string) string { return strings.TrimRight(id, "0123456789") }

// ByID finds a rule by its ID, in any case and also with a dash after the
// family ("meta-006"), or nil.
func ByID(id string) *lint.Rule {
	id = lint.NormalizeID(id)
	i, found := slices.BinarySearchFunc(All, id, func(r *lint.Rule, id string) int { return cmp.Compare(r.ID, id) })
	if !found {
		return nil
	}
	return All[i]
}

// Suggest returns the ID of the rule that was probably meant by an unknown ID or
// by the name of a rule, or "".
func Suggest(id string) string {
	if id == "" {
		return ""
	}
	word := lint.NormalizeID(id)
	best, distance := "", 3 // more typing errors than two are no typing error
	for _, r := range All {
		d := min(layouts.Distance(word, r.ID), layouts.Distance(word, lint.NormalizeID(r.Name)))
		if d < distance {
			best, distance = r.ID, d
		}
	}
	return best
}
