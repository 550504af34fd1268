package contract

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Pages are the roles that have fields in the tables, in their order, with the page of
// the contract that describes them.
var Pages = [...]struct {
	Role Role
	Page string
}{
	{InfraCluster, "infra-cluster.md"},
	{InfraMachine, "infra-machine.md"},
	{InfraMachinePool, "infra-machinepool.md"},
	{MachinePoolMachine, "infra-machinepool.md"},
	{BootstrapConfig, "bootstrap-config.md"},
	{ControlPlane, "control-plane.md"},
}

// PageFolder is where the pages are in the source of Cluster API.
const PageFolder = "docs/book/src/developer/providers/contracts/"

// String returns the word of the contract pages.
func (n Need) String() string {
	return [...]string{Optional: "MAY", should: "SHOULD", Must: "MUST"}[n]
}

// FieldsOf returns the rows about the kinds of a role, or about their templates, under a
// contract for a minor version of Cluster API.
func FieldsOf(role Role, template bool, c Contract, core int) []*Field {
	return (&Kind{Role: role, Template: template, Contract: c}).Fields(Profile{Core: core})
}

// OpenAPI returns the part of a schema that the rows demand: an OpenAPI v3 object. Fields
// that must be there are marked with x-contract, because "required" would ask authors
// of objects for them.
func OpenAPI(rows []*Field) map[string]any {
	root := map[string]any{"type": "object"}
	for _, f := range rows {
		at := root
		for key := range strings.SplitSeq(f.Path, ".") {
			if key == crd.Items {
				at["type"] = "array"
				at = yamldoc.Child(at, "items")
				continue
			}
			if at["type"] == nil {
				at["type"] = "object"
			}
			if key == crd.Values {
				at = yamldoc.Child(at, "additionalProperties")
				continue
			}
			at = yamldoc.Child(yamldoc.Child(at, "properties"), key)
		}
		if f.Type != "" {
			at["type"] = f.Type
			if f.Type == "array" {
				yamldoc.Child(at, "items")
			}
		}
		at["x-contract"] = map[string]any{"need": f.Need.String(), "section": string(f.Section), "read": f.Read}
	}
	return root
}

// Lacks returns whether a definition declares the contract of the profile, and the
// gaps that block it, as "KIND PATH". Definitions without the label are judged by the
// version that is stored.
func Lacks(crds []*crd.CRD, p Profile) (declared bool, missing []string) {
	missing = []string{}
	for _, d := range crds {
		if value, _ := d.Object.Label(p.Contract.Label()); value != "" {
			declared = true
		}
	}
	for _, k := range p.Kinds(crds, nil) {
		if !k.Role.Referenced() || k.Judged == nil {
			continue
		}
		for _, f := range k.blocking(k.Judged.Schema, p) {
			missing = append(missing, k.CRD.Kind+" "+f.Path)
		}
	}
	return declared, missing
}

// blocking are the fields without which a kind with the schema does not work under its
// contract.
func (k *Kind) blocking(s crd.Schema, p Profile) (out []*Field) {
	for _, f := range k.Fields(p) {
		verdict, _ := f.Check(s)
		lacks := verdict == WrongType || (verdict == Missing || verdict == Moved) && f.Need != Optional
		if lacks && f.Blocks(k, verdict) {
			out = append(out, f)
		}
	}
	return out
}

// Implements reports whether a schema of the kind lacks nothing that the newest Cluster
// API needs for a contract.
func (k *Kind) Implements(c Contract, s crd.Schema) bool {
	as := *k
	as.Contract = c
	return slices.Contains(Accepted[:], c) && len(as.blocking(s, Profile{Core: NewestCore})) == 0
}
