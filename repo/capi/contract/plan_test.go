package contract

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// The types for every role are Go, in the form of gofmt, and have every field.
func TestGoTypes(t *testing.T) {
	for _, page := range Pages {
		for _, c := range Accepted {
			for _, template := range []bool{false, true} {
				k := &Kind{CRD: &crd.CRD{Kind: "Foo"}, Role: page.Role, Template: template, Contract: c}
				s := Step{Kind: k}
				rows := FieldsOf(page.Role, template, c, NewestCore)
				for _, f := range rows {
					s.Gaps = append(s.Gaps, gap{f, Missing, true})
				}
				text := s.GoTypes(NewestCore)
				if len(rows) == 0 && text == "" {
					continue
				}
				formatted, err := format.Source([]byte(text))
				if err != nil {
					t.Fatalf("%s %s: %v\n%s", page.Role, c, err, text)
				}
				if fields := strings.Fields(string(formatted)); strings.Join(fields, " ") != strings.Join(strings.Fields(text), " ") {
					t.Errorf("%s %s: gofmt changes\n%s", page.Role, c, text)
				}
				for _, f := range rows {
					if !covered(text, f.Path, c) {
						t.Errorf("%s %s: the types lack %s\n%s", page.Role, c, f.Path, text)
					}
				}
			}
		}
	}
	if got := (Step{Kind: &Kind{CRD: &crd.CRD{Kind: "Foo"}}}).GoTypes(NewestCore); got != "" {
		t.Errorf("nothing is missing, but the types are\n%s", got)
	}
}

// The types compile: those for all fields of each role, and those for each single
// field. They go through go vet as one file, against the modules of go.mod.
func TestGoTypesCompile(t *testing.T) {
	var b strings.Builder
	n := 0
	add := func(role Role, template bool, c Contract, gaps ...gap) {
		n++
		s := Step{Kind: &Kind{CRD: &crd.CRD{Kind: fmt.Sprint("Foo", n)}, Role: role, Template: template, Contract: c}, Gaps: gaps}
		b.WriteString(s.GoTypes(NewestCore) + "\n\n")
	}
	for _, page := range Pages {
		for _, c := range Accepted {
			for _, template := range []bool{false, true} {
				var all []gap
				for _, f := range FieldsOf(page.Role, template, c, NewestCore) {
					all = append(all, gap{f, Missing, true})
					add(page.Role, template, c, gap{f, Missing, true})
				}
				add(page.Role, template, c, all...)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "types.go")
	text := "package types\n\nimport clusterv1 \"sigs.k8s.io/cluster-api/api/core/v1beta2\"\n\nvar _ clusterv1.Cluster\n\n" + b.String()
	given.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "vet", file)
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(text, "struct {") < 100 {
		t.Errorf("%d types: %v\n%s", strings.Count(text, "struct {"), err, out)
	}
	if got := (Step{Kind: &Kind{CRD: &crd.CRD{Kind: "Foo struct{}\n"}}, Gaps: []gap{{&Fields[0], Missing, true}}}).GoTypes(NewestCore); got != "" {
		t.Errorf("a name that cannot be in Go: %s", got)
	}
}

// covered reports whether types have a field, or one around it that Cluster API
// has a type for.
func covered(text, path string, c Contract) bool {
	parts := strings.Split(path, ".")
	for i := range parts {
		if known := goTypes[strings.Join(parts[:i+1], ".")]; known != "" && c == V1Beta2 {
			return strings.Contains(text, " "+known+" `json:\""+parts[i]+",")
		}
	}
	last := parts[len(parts)-1]
	return last == crd.Items || last == crd.Values || strings.Contains(text, "`json:\""+last+",")
}

// The types of Cluster API have the fields that the tables demand.
func TestKnownGoTypes(t *testing.T) {
	types := map[string]reflect.Type{
		"clusterv1.APIEndpoint":                      reflect.TypeFor[clusterv1.APIEndpoint](),
		"clusterv1.FailureDomain":                    reflect.TypeFor[clusterv1.FailureDomain](),
		"clusterv1.MachineAddress":                   reflect.TypeFor[clusterv1.MachineAddress](),
		"clusterv1.StatusVersion":                    reflect.TypeFor[clusterv1.StatusVersion](),
		"clusterv1.ObjectMeta":                       reflect.TypeFor[clusterv1.ObjectMeta](),
		"clusterv1.ContractVersionedObjectReference": reflect.TypeFor[clusterv1.ContractVersionedObjectReference](),
		"clusterv1.MachineReadinessGate":             reflect.TypeFor[clusterv1.MachineReadinessGate](),
		"clusterv1.MachineTaint":                     reflect.TypeFor[clusterv1.MachineTaint](),
	}
	for path, name := range goTypes {
		known := types[strings.TrimPrefix(name, "[]")]
		if known == nil {
			t.Errorf("%s is not compared", name)
			continue
		}
		tags := map[string]bool{}
		for i := range known.NumField() {
			tag, _, _ := strings.Cut(known.Field(i).Tag.Get("json"), ",")
			tags[tag] = true
		}
		rows := 0
		for _, f := range Fields {
			rest, ok := strings.CutPrefix(f.Path, path+".")
			if !ok || f.Contract == V1Beta1 {
				continue
			}
			rest = strings.TrimPrefix(strings.TrimPrefix(rest, crd.Items), ".")
			field, _, _ := strings.Cut(rest, ".")
			if rows++; field != "" && !tags[field] {
				t.Errorf("%s has no field %s for %s", name, field, f.Path)
			}
		}
		if rows == 0 && !strings.Contains(path, "machineTemplate.metadata") {
			t.Errorf("no row is below %s", path)
		}
	}
}
