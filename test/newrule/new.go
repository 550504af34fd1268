package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

const rulesDir = "repo/lint/rules"

var (
	idForm     = regexp.MustCompile(`^([A-Z]+)([0-9]{3})$`)
	nameForm   = regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	familyVar  = regexp.MustCompile(`(?m)^var (\w+) = &lint\.Family\{Prefix: "([A-Z]+)"`)
	rowHead    = regexp.MustCompile(`ID: "([A-Z]+[0-9]{3})", Name: "([^"]+)"`)
	identifier = regexp.MustCompile(`(?m)^func (\w+)\(`)
)

// stub is what the templates get.
type stub struct{ ID, Name, Function, Variable, Package string }

var rowTemplate = template.Must(template.New("row").Parse(`
var _ = {{.Variable}}.Add(lint.Rule{
	ID: "{{.ID}}", Name: "{{.Name}}", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "TODO: the requirement, with must (error), should (warning) or a plain statement (info)",
	Source: "TODO: the section of the contract, or the function that makes it true",
	Why:    "TODO: whom it hits, and how.",
	Fix:    "TODO: what to write.",
	Check:  {{.Function}},
})

func {{.Function}}(p *lint.Pass) {
	for _, o := range p.File.Objects() {
		if n := o.Get("metadata", "name"); n.Str() == "todo" { // TODO: the condition
			p.On(o, n, "%s is named %q", o.Kind, n.Text) // TODO: the message
		}
	}
}
`))

var exampleTemplate = template.Must(template.New("example").Parse(`TODO: what the example shows.

-- bad/infrastructure-foo/v1.0.0/cluster-template.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: todo # want {{.ID}} "is named"
-- good/infrastructure-foo/v1.0.0/cluster-template.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: done
`))

var testTemplate = template.Must(template.New("test").Parse(`package {{.Package}}_test

import (
	"context"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
)

// Test{{.ID}} has the cases that the example does not show.
func Test{{.ID}}(t *testing.T) {
	for template, want := range map[string]int{
		"kind: ConfigMap\nmetadata: {name: todo}\n": 1, // TODO: what comes close to the fault
		"kind: ConfigMap\nmetadata: {}\n":           0,
	} {
		got := 0
		findings, err := examples.Findings(context.Background(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/cluster-template.yaml": template}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if f.Rule.ID == "{{.ID}}" {
				got++
			}
		}
		if got != want {
			t.Errorf("%q: %d findings, want %d", template, got, want)
		}
	}
}
`))

// written is what New did: the files it wrote, the one with the row first.
type written struct{ Row, Example, Test string }

// New writes the row and the check of a new rule at the end of the file of its
// family, an example, and a test. The root is that of the project. It writes
// nothing if the ID or the name is taken or has not the form of one.
func New(root, id, name string) (written, error) {
	s := stub{ID: id, Name: name}
	form := idForm.FindStringSubmatch(id)
	if form == nil {
		return written{}, fmt.Errorf("ID is %q: want a family and three digits, such as CC031", id)
	}
	if !nameForm.MatchString(name) {
		return written{}, fmt.Errorf("NAME is %q: want lower-case words joined by dashes, such as worker-class-name", name)
	}
	words := strings.Split(name, "-")
	for i, w := range words {
		if i > 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		s.Function += w
	}
	files, err := filepath.Glob(filepath.Join(root, rulesDir, "*", "*.go"))
	if err != nil {
		return written{}, err
	}
	var out written
	var families []string
	functions := map[string][]string{} // by folder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return written{}, err
		}
		for _, m := range rowHead.FindAllStringSubmatch(string(data), -1) {
			switch {
			case m[1] == id:
				return written{}, fmt.Errorf("%s is in %s already", id, file)
			case m[2] == name:
				return written{}, fmt.Errorf("%s is the name of %s already", name, m[1])
			}
		}
		for _, m := range identifier.FindAllStringSubmatch(string(data), -1) {
			functions[filepath.Dir(file)] = append(functions[filepath.Dir(file)], m[1])
		}
		for _, m := range familyVar.FindAllStringSubmatch(string(data), -1) {
			families = append(families, m[2])
			if m[2] == form[1] {
				s.Variable, out.Row = m[1], file
			}
		}
	}
	if out.Row == "" {
		slices.Sort(families)
		return written{}, fmt.Errorf("unknown family %s: want one of %s, or declare a new lint.Family in its package", form[1], strings.Join(families, ", "))
	}
	s.Package = filepath.Base(filepath.Dir(out.Row))
	if slices.Contains(functions[filepath.Dir(out.Row)], s.Function) {
		s.Function = "check" + id
	}
	out.Example = filepath.Join(root, rulesDir, "examples", id+".txtar")
	out.Test = filepath.Join(filepath.Dir(out.Row), strings.ToLower(id)+"_test.go")
	return out, out.write(s)
}

func (w written) write(s stub) error {
	old, err := os.ReadFile(w.Row)
	if err != nil {
		return err
	}
	row := execute(rowTemplate, s)
	source, err := format.Source(append(old, row...))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{w.Example, execute(exampleTemplate, s)}, {w.Test, execute(testTemplate, s)}, {w.Row, source}} {
		if err := os.WriteFile(f.name, f.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func execute(t *template.Template, s stub) []byte {
	var b strings.Builder
	if err := t.Execute(&b, s); err != nil {
		panic(err) // the templates are above
	}
	return []byte(b.String())
}
