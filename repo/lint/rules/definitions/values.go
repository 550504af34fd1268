package definitions

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD033", Name: "required-of-users", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Fields that the controller fills must be optional",
	Source: "contract pages, the sections of the fields, which have the marker +optional",
	Why:    "The API server refuses the objects that users and Cluster API create, because only the controller knows the value.",
	Fix:    "Add the marker +optional and omitempty, or omitzero, to the field, and generate the CRD again.",
	Check:  both(requiredOfUsers, requiredInStatus),
})

// requires returns the entry of required for a field that has no default.
func requires(s crd.Schema, name string) *yamldoc.Node {
	if s.Node.Get("properties", name, "default").Given() != nil {
		return nil
	}
	return phrase.First(s.Node.Get("required").List(), func(n *yamldoc.Node) bool { return n.Str() == name })
}

func requiredOfUsers(p *lint.Pass) {
	for _, k := range view.InRoles(p) {
		if k.Judged == nil || k.Role == contract.Aux || k.Role == contract.Core {
			continue
		}
		s := k.Judged.Schema
		if n := requires(s, "status"); n != nil {
			view.Accuse(p, k, n, 0, "%s requires a status, which only its controller writes", named(k))
		}
		below := ""
		if k.Template {
			s, _ = s.At("spec", "template")
			below = "spec.template."
		}
		if k.Role == contract.MachinePoolMachine {
			continue // the controller creates the machines of a pool itself
		}
		base := *k
		base.Template = false // a template has the fields of what it makes
		for _, f := range base.Fields(p.Profile) {
			if !f.Filled {
				continue
			}
			in, name, _ := strings.Cut(f.Path, ".")
			if at, presence := s.At(in); presence == crd.Present {
				if n := requires(at, name); n != nil {
					view.Accuse(p, k, n, 0, "%s requires %s%s, which only the controller knows", named(k), below, f.Path)
				}
			}
		}
	}
}

// requiredInStatus reports what a controller has to report before everything else.
func requiredInStatus(p *lint.Pass) {
	for _, k := range reporting(p) {
		status, presence := k.Judged.Schema.At("status")
		if presence != crd.Present {
			continue
		}
		for _, n := range status.Node.Get("required").List() {
			if requires(status, n.Str()) != nil {
				f := lint.On(k.Object, n, "%s requires status.%s, so the controller cannot report anything else before it", named(k), n.Str())
				view.Settle(p, k.Object, f.As(lint.Warning).Because(p.Rule.ID+" in status"), view.Within(n)...)
			}
		}
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD034", Name: "refused-values", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The schema must accept all values that the contract allows",
	Source: "contract pages, the sections of the fields",
	Why:    "The API server refuses what the controller reports, or reports it in its place, so that Cluster API waits forever or continues too early.",
	Fix:    "Remove the keyword from the schema, or give it a value that allows what the message names.",
	Check:  refusedValues,
})

func refusedValues(p *lint.Pass) {
	for _, k := range view.InRoles(p) {
		if k.Judged == nil {
			continue
		}
		for _, f := range k.Fields(p.Profile) {
			s, ok := f.Find(k.Judged.Schema)
			if !ok || s.Type() != f.Type {
				continue
			}
			if n := fixedFrom(k.Judged.Schema, f.Path); n != nil && f.Filled && f.Section == contract.ProviderIDList {
				view.Accuse(p, k, n, 0, "the schema forbids changes of %s in %s, although the list must be kept up to date", f.Path, named(k))
			}
			for _, r := range f.Refused(s) {
				view.Accuse(p, k, r.Keyword.Value, 0, "%s of %s does not accept %s, because of its %s", f.Path, named(k), r.Value, r.Keyword.Name)
				break
			}
			if f.Section == contract.Initialization || f.Section == contract.Provisioned {
				if n := s.Node.Get("default"); n.Bool() {
					view.Accuse(p, k, n, 0, "%s of %s is true by default, so that Cluster API does not wait for the controller", f.Path, named(k))
				}
			}
		}
	}
}

// fixedFrom returns an expression, at the field or around it, that keeps the field as it is.
func fixedFrom(s crd.Schema, field string) *yamldoc.Node {
	names := strings.Split(field, ".")
	for i := 0; i <= len(names); i++ {
		at, ok := s.At(names[:i]...)
		if ok != crd.Present {
			return nil
		}
		for _, rule := range at.Node.Get("x-kubernetes-validations").List() {
			rest := strings.Join(append([]string{""}, names[i:]...), ".")
			if fixed, ok := fixedField(rule.Get("rule").Str()); ok && (fixed == "" || fixed == rest || strings.HasPrefix(rest, fixed+".")) {
				return rule.Get("rule")
			}
		}
	}
	return nil
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD035", Name: "version-names", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Versions should have names like v1alpha1, v1beta2 or v1",
	Source: versionSection + ": Kubernetes API deprecation policy",
	Why:    "Users do not see how stable the API is, and Cluster API and kubectl prefer any other version: names of another form have the lowest priority.",
	Fix:    "Name the version v, a number, and alpha or beta with a number for those that are not stable.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		for i := range k.Versions {
			if v := &k.Versions[i]; k.Role.Referenced() && v.Served && !contract.IsVersion(v.Name) {
				alike(p, k, "", k.Kind, v.Node.Get("name"), "the version %s does not follow the names of Kubernetes", v.Name)
			}
		}
	}),
})
