package oracle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// clusterAPI is the source of Cluster API, and its version, in the module cache.
// Packages below internal cannot be imported, so they are read.
var clusterAPI = sync.OnceValues(func() ([2]string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "sigs.k8s.io/cluster-api").Output()
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return [2]string{dir, version}, err
})

// parseFolder returns the syntax of the files of a package, but for its tests.
func parseFolder(t *testing.T, parts ...string) []*ast.File {
	t.Helper()
	source := given.Value(clusterAPI())(t)
	dir := filepath.Join(append([]string{source[0]}, parts...)...)
	names := given.Value(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	var out []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := given.Value(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		out = append(out, file)
	}
	if len(out) == 0 {
		t.Fatalf("%s has no files", dir)
	}
	return out
}

// access is one field that a method of internal/contract gives access to.
type access struct {
	role     contract.Role
	template bool
	contract contract.Contract // empty for both
	path     string
	accessor string // the type that reads and writes it
}

// receivers are the types of internal/contract whose methods give access to fields.
var receivers = map[string]struct {
	role     contract.Role
	template bool
}{
	"InfrastructureClusterContract":             {contract.InfraCluster, false},
	"InfrastructureMachineContract":             {contract.InfraMachine, false},
	"BootstrapContract":                         {contract.BootstrapConfig, false},
	"ControlPlaneContract":                      {contract.ControlPlane, false},
	"ControlPlaneMachineTemplate":               {contract.ControlPlane, false},
	"InfrastructureClusterTemplateTemplate":     {contract.InfraCluster, true},
	"InfrastructureMachineTemplateTemplate":     {contract.InfraMachine, true},
	"InfrastructureMachinePoolTemplateTemplate": {contract.InfraMachinePool, true},
	"BootstrapConfigTemplateTemplate":           {contract.BootstrapConfig, true},
	"ControlPlaneTemplateTemplate":              {contract.ControlPlane, true},
	"ControlPlaneTemplateMachineTemplate":       {contract.ControlPlane, true},
}

// schemaTypes are the types in a schema that accessors can read; empty for those
// that give no access to a field of their own.
var schemaTypes = map[string]string{
	"Bool": "boolean", "String": "string", "Int32": "integer", "Int64": "integer", "Duration": "string", "Time": "string",
	"Metadata": "object", "ControlPlaneEndpoint": "object", "V1Beta1Ref": "object", "ControlPlaneMachineTemplateInfrastructureRef": "object",
	"MachineAddresses": "array", "FailureDomains": "array", "StatusVersions": "array", "ReadinessGates": "array", "Taints": "array",
}

// terminal are the fields of terminal failures, about which CRD029 is.
var terminal = []string{"status.failureReason", "status.failureMessage"}

// accesses reads the methods of internal/contract.
func accesses(t *testing.T) []access {
	t.Helper()
	var out []access
	for _, file := range parseFolder(t, "internal", "contract") {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			receiver := typeName(f.Recv.List[0].Type)
			row, ok := receivers[receiver]
			if !ok {
				if _, known := schemaTypes[receiver]; !known && givesAccess(f) && receiver != "ControlPlaneEndpoint" {
					t.Errorf("%s.%s gives access to a field, and no role is known for %[1]s", receiver, f.Name.Name)
				}
				continue
			}
			versioned := slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
				return slices.ContainsFunc(p.Names, func(n *ast.Ident) bool { return n.Name == "contractVersion" })
			})
			visit(f.Body, false, func(path []string, accessor string, old bool) {
				a := access{role: row.role, template: row.template, path: strings.Join(path, "."), accessor: accessor}
				if versioned {
					a.contract = contract.V1Beta2
					if old {
						a.contract = contract.V1Beta1
					}
				}
				out = append(out, a)
			})
		}
	}
	return out
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func givesAccess(f *ast.FuncDecl) bool {
	found := false
	visit(f.Body, false, func([]string, string, bool) { found = true })
	return found
}

// visit calls found for each literal with a path, and says whether it is below a
// comparison with contract v1beta1.
func visit(n ast.Node, old bool, found func(path []string, accessor string, old bool)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			below := old || comparesOld(n.Cond)
			visit(n.Body, below, found)
			if n.Else != nil {
				visit(n.Else, old, found)
			}
			return false
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if !ok || typeName(kv.Key) != "path" {
					continue
				}
				if list, ok := kv.Value.(*ast.CompositeLit); ok {
					var path []string
					for _, e := range list.Elts {
						if text, err := strconv.Unquote(e.(*ast.BasicLit).Value); err == nil {
							path = append(path, text)
						}
					}
					found(path, typeName(n.Type), old)
				}
			}
		}
		return true
	})
}

func comparesOld(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.EQL {
		return false
	}
	text, ok := b.Y.(*ast.BasicLit)
	return ok && text.Value == `"v1beta1"`
}

// row returns the row of the table about a field, or nil.
func row(role contract.Role, template bool, c contract.Contract, path string) *contract.Field {
	var found *contract.Field
	for _, f := range contract.FieldsOf(role, template, c, contract.NewestCore) {
		if f.Path == path && (found == nil || found.Type == "") {
			found = f
		}
	}
	return found
}

// TestContractTable demands that the table has every field that internal/contract
// gives access to, with the type that the accessor can read, and that the newest
// profile is that of the module.
func TestContractTable(t *testing.T) {
	source := given.Value(clusterAPI())(t)
	if core, err := contract.ParseCore(source[1]); err != nil || core != contract.NewestCore {
		t.Errorf("the module is %s, the newest profile v1.%d: add the profile (%v)", source[1], contract.NewestCore, err)
	}
	all := accesses(t)
	if len(all) < 45 {
		t.Fatalf("only %d accessors found: internal/contract has another form", len(all))
	}
	for _, a := range all {
		if _, ok := schemaTypes[a.accessor]; !ok {
			t.Errorf("%s %s is read by %s, an accessor that is not known", a.role, a.path, a.accessor)
			continue
		}
		if slices.Contains(terminal, a.path) {
			continue
		}
		for _, c := range contract.Accepted {
			if a.contract != "" && a.contract != c {
				continue
			}
			if onlyOne := map[string]contract.Contract{"V1Beta1Ref": contract.V1Beta1, "Duration": contract.V1Beta1, "ControlPlaneMachineTemplateInfrastructureRef": contract.V1Beta2}[a.accessor]; onlyOne != "" && onlyOne != c {
				continue // the callers look at the contract
			}
			if strings.HasPrefix(a.path, "spec.machineTemplate.spec.") && c == contract.V1Beta1 {
				continue
			}
			if newer[a.path] && c == contract.V1Beta1 || older[a.path] && c == contract.V1Beta2 {
				continue
			}
			f := row(a.role, a.template, c, a.path)
			want := schemaTypes[a.accessor]
			if a.accessor == "FailureDomains" && c == contract.V1Beta1 {
				want = "object"
			}
			switch {
			case f == nil:
				t.Errorf("%s (template: %v) under %s: the table has no row for %s", a.role, a.template, c, a.path)
			case f.Type != want:
				t.Errorf("%s under %s: %s has type %q in the table, and %s reads %s", a.role, c, a.path, f.Type, a.accessor, want)
			}
		}
	}
}

// newer and older are fields without a contract in the name of the accessor, which
// callers only use for one (core/reconcilers/cluster/cluster_controller_status.go,
// exp/topology/desiredstate/desired_state.go).
var (
	newer = map[string]bool{"status.availableReplicas": true, "spec.rollout.after": true}
	older = map[string]bool{"status.unavailableReplicas": true}
)

// TestReferences demands the subfields that the readers of references ask for.
func TestReferences(t *testing.T) {
	for name, at := range map[string]struct {
		c    contract.Contract
		path string
	}{
		"getNestedV1Beta1Ref": {contract.V1Beta1, "spec.machineTemplate.infrastructureRef"},
		"getNestedRef":        {contract.V1Beta2, "spec.machineTemplate.spec.infrastructureRef"},
	} {
		found := 0
		for _, file := range parseFolder(t, "internal", "contract") {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Name.Name != name {
					continue
				}
				ast.Inspect(f.Body, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok || typeName(call.Fun) != "append" || len(call.Args) != 2 {
						return true
					}
					field, err := strconv.Unquote(call.Args[1].(*ast.BasicLit).Value)
					if err != nil {
						return true
					}
					found++
					if r := row(contract.ControlPlane, false, at.c, at.path+"."+field); r == nil || r.Type != "string" || r.Need != contract.Must {
						t.Errorf("%s reads %s of a reference, and the row for it is %+v", name, field, r)
					}
					return true
				})
			}
		}
		if found < 3 {
			t.Errorf("%s reads %d subfields: it has another form", name, found)
		}
	}
}

// elsewhere are the fields of kinds of providers that other packages of Cluster API
// name literally, and where this project has them.
var elsewhere = map[string]string{
	"spec.template":                        "TemplateSpec",
	"status.failureReason":                 "CRD029",
	"status.failureMessage":                "CRD029",
	"status.ready":                         "Initialization",
	"status.v1beta2.conditions":            "CRD021",
	"status.conditions":                    "CRD021",
	"status.deprecated.v1beta1.conditions": "kinds of Cluster API itself",
	"status.externalManagedControlPlane":   "ExternalMachines",
	"status.interruptible":                 "Interruptible",
	"spec.providerIDList":                  "ProviderIDList",
	"status.replicas":                      "Replicas",
	"status.infrastructureMachineKind":     "PoolMachines",
	"spec.providerID":                      "ProviderID",
	"spec.template.spec":                   "kinds of Cluster API itself",
	"status.observedGeneration":            "written for kinds of Cluster API itself",
}

// TestLiteralFields demands that every field that core reads or writes by its name,
// beside internal/contract, is known here.
func TestLiteralFields(t *testing.T) {
	seen := map[string]bool{}
	for _, dir := range [][]string{
		{"controllers", "external"}, {"util"}, {"util", "conditions"}, {"util", "conditions", "deprecated", "v1beta1"}, {"util", "patch"},
		{"core", "reconcilers", "cluster"}, {"core", "reconcilers", "machine"}, {"core", "reconcilers", "machinepool"}, {"core", "reconcilers", "machineset"},
		{"core", "reconcilers", "machinedeployment"}, {"core", "reconcilers", "machinehealthcheck"}, {"core", "reconcilers", "topology", "cluster"},
		{"exp", "topology", "desiredstate"}, {"core", "webhooks", "admission"},
	} {
		for _, file := range parseFolder(t, dir...) {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := typeName(call.Fun)
				if s, ok := call.Fun.(*ast.SelectorExpr); ok {
					name = s.Sel.Name
				}
				if !strings.Contains(name, "Nested") && name != "UnstructuredUnmarshalField" {
					return true
				}
				var path []string
				for _, a := range call.Args {
					if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
						text, _ := strconv.Unquote(lit.Value)
						path = append(path, text)
					}
				}
				if len(path) > 1 && (path[0] == "spec" || path[0] == "status") {
					seen[strings.Join(path, ".")] = true
				}
				return true
			})
		}
	}
	for path := range seen {
		if elsewhere[path] == "" {
			t.Errorf("Cluster API reads or writes %s, which nothing here knows", path)
		}
	}
	for path := range elsewhere {
		if !seen[path] {
			t.Errorf("Cluster API no longer names %s", path)
		}
	}
}

// TestWritten demands that the fields that the topology controller writes have the
// right type in the table: the API server refuses another one.
func TestWritten(t *testing.T) {
	written := map[string]bool{}
	for _, file := range parseFolder(t, "exp", "topology", "desiredstate") {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			set, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || set.Sel.Name != "Set" {
				return true
			}
			if of, ok := set.X.(*ast.CallExpr); ok {
				if accessor, ok := of.Fun.(*ast.SelectorExpr); ok {
					written[accessor.Sel.Name] = true
				}
			}
			return true
		})
	}
	want := []string{
		"InfrastructureRef", "InfrastructureV1Beta1Ref", "Metadata", "NodeDeletionTimeout", "NodeDeletionTimeoutSeconds", "NodeDrainTimeout",
		"NodeDrainTimeoutSeconds", "NodeVolumeDetachTimeout", "NodeVolumeDetachTimeoutSeconds", "ReadinessGates", "Replicas", "RolloutAfter", "Taints", "Version",
	}
	if got := slices.Sorted(maps.Keys(written)); !slices.Equal(got, want) {
		t.Errorf("the topology controller writes %v, want %v", got, want)
	}
	for _, f := range contract.Fields {
		if f.Role == contract.ControlPlane && !f.Template && strings.HasPrefix(f.Path, "spec.") && (!f.Read || f.Lenient) {
			t.Errorf("%s is written, and the table says that another type does no harm", f.Path)
		}
	}
}

// TestNothingWaitsForCounters guards what CP004 and CP005 say: IsScaling, which
// needs all counters, is only called by tests.
func TestNothingWaitsForCounters(t *testing.T) {
	source := given.Value(clusterAPI())(t)
	fset := token.NewFileSet()
	err := filepath.WalkDir(source[0], func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, string(filepath.Separator)+"test"+string(filepath.Separator)) {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "IsScaling" {
				t.Errorf("%s calls IsScaling: what CP004 says is no longer true", fset.Position(s.Pos()))
			}
			return true
		})
		return nil
	})
	given.NoError(t, err)
}
