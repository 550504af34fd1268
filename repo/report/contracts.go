package report

import (
	"io"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// ContractFormats are the names of the formats that WriteContract knows.
var ContractFormats = []string{"text", "markdown", "json", "yaml", "openapi"}

// contractPage is a role under a contract. Its JSON is stable.
type contractPage struct {
	Role     string          `json:"role" doc:"the role, such as InfraMachine"`
	Contract string          `json:"contract" doc:"the contract, such as v1beta2"`
	Core     string          `json:"core" doc:"the minor version of Cluster API, such as v1.14"`
	Label    string          `json:"label" doc:"the label that declares the contract on a CRD"`
	Page     string          `json:"page" doc:"the page of the contract in the repository of Cluster API"`
	Fields   []contractField `json:"fields" doc:"what the contract demands of the schema of the role and its template"`
	rows     []*contract.Field
	template []*contract.Field
}

type contractField struct {
	Kind    string `json:"kind" doc:"the role, or the role with Template"`
	Path    string `json:"path" doc:"the path of the field; [] stands for the elements of a list, * for the values of a map"`
	Type    string `json:"type,omitempty" doc:"the type that the schema must have; absent if any type is allowed"`
	Need    string `json:"need" doc:"whether the contract demands the field" enum:"MAY,SHOULD,MUST"`
	Core    string `json:"core" doc:"what Cluster API does with the field"`
	Section string `json:"section" doc:"the section of the page"`
	If      string `json:"if,omitempty" doc:"fields, separated by spaces: this one is only needed if the schema has all of them; absent if there is no condition"`
	Or      string `json:"or,omitempty" doc:"a field that serves as well; absent if there is none"`
	Was     string `json:"was,omitempty" doc:"where another contract has the field; absent if that is the same"`
	Since   string `json:"since,omitempty" doc:"the first minor version of Cluster API that has the demand; absent if all have it"`
	Until   string `json:"until,omitempty" doc:"the last minor version that has it; absent if the newest has it"`
}

func minor(n int) string {
	if n == 0 {
		return ""
	}
	return "v1." + strconv.Itoa(n)
}

func pageOf(role contract.Role, c contract.Contract, core int) contractPage {
	p := contractPage{Role: string(role), Contract: string(c), Core: minor(core), Label: c.Label()}
	for _, row := range contract.Pages {
		if row.Role == role {
			p.Page = contract.PageFolder + row.Page
		}
	}
	p.rows, p.template = contract.FieldsOf(role, false, c, core), contract.FieldsOf(role, true, c, core)
	for i, rows := range [][]*contract.Field{p.rows, p.template} {
		kind := string(role)
		if i == 1 {
			kind += contract.Suffix
		}
		for _, f := range rows {
			does := map[bool]string{true: "reads", false: "ignores"}[f.Read]
			p.Fields = append(p.Fields, contractField{kind, f.Path, f.Type, f.Need.String(), does, string(f.Section), f.If, f.Or, f.Was, minor(f.Since), minor(f.Until)})
		}
	}
	return p
}

// WriteContract prints what a contract demands of a role, in a format of
// ContractFormats.
func WriteContract(w io.Writer, format string, role contract.Role, c contract.Contract, core int) error {
	p := pageOf(role, c, core)
	switch format {
	case "json":
		return documentOf("contract").Write(w, nil, p)
	case "yaml":
		return writeYAML(w, p)
	case "openapi":
		schemas := map[string]any{string(role): contract.OpenAPI(p.rows)}
		if len(p.template) > 0 {
			schemas[string(role)+contract.Suffix] = contract.OpenAPI(p.template)
		}
		return writeYAML(w, map[string]any{
			"openapi":    "3.0.3",
			"info":       map[string]any{"title": "Cluster API contract " + string(c) + ", " + string(role), "version": string(c)},
			"paths":      map[string]any{},
			"components": map[string]any{"schemas": schemas},
		})
	}
	return p.show(format).Print(w)
}

func writeYAML(w io.Writer, v any) error {
	out, err := yamldoc.Marshal(WithLists(v))
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}

func (f contractField) condition() string {
	var parts []string
	for _, c := range [][2]string{
		{"if there is ", strings.ReplaceAll(f.If, " ", " and ")}, {"or ", f.Or},
		{"before: ", f.Was}, {"since ", f.Since}, {"until ", f.Until},
	} {
		if c[1] != "" {
			parts = append(parts, c[0]+c[1])
		}
	}
	return strings.Join(parts, "; ")
}

func (c *contractPage) show(format string) *Page {
	p := &Page{Format: format}
	if p.IsText() {
		p.Para(Raw(c.Role + ", contract " + c.Contract + ", Cluster API " + c.Core))
		p.Para(Raw("label " + c.Label + " on the CRD"))
		p.Para(Raw("source " + c.Page))
		p.Gap()
	} else {
		p.Heading(1, Raw(c.Role+", contract "+c.Contract))
		p.Para(Raw("For Cluster API "+c.Core+". The CRD has the label "), Code(c.Label), Raw(". Source: "), Code(c.Page), Raw("."))
		p.Heading(2, Raw("Fields"))
	}
	if p.IsText() {
		p.Table("KIND", "FIELD", "TYPE", "NEED", "CORE", "SECTION", "CONDITION")
	} else {
		p.Table("kind", "field", "type", "need", "Cluster API", "section", "condition")
	}
	for _, f := range c.Fields {
		row := []any{Raw(f.Kind), Code(f.Path), Raw(f.Type), Raw(f.Need), Raw(f.Core), Raw(f.Section), Raw(f.condition())}
		if !p.IsText() {
			row[4] = Raw(f.Core + " it")
		} else if row[6] == Raw("") {
			row = row[:6] // no blanks at the end of the line
		}
		p.Row(row...)
	}
	return p
}

type rolesBody struct {
	Core  string      `json:"core" doc:"the minor version of Cluster API, such as v1.14"`
	Roles []roleEntry `json:"roles" doc:"an entry for each role"`
}

type roleEntry struct {
	Role   string         `json:"role" doc:"the role, such as InfraMachine"`
	Page   string         `json:"page" doc:"the page of the contract in the repository of Cluster API"`
	Fields map[string]int `json:"fields" doc:"the number of fields by contract"`
}

// WriteContracts lists the roles with the number of their fields, as text or json.
func WriteContracts(w io.Writer, format string, core int) error {
	var roles []roleEntry
	for _, row := range contract.Pages {
		e := roleEntry{string(row.Role), contract.PageFolder + row.Page, map[string]int{}}
		for _, c := range contract.Accepted {
			e.Fields[string(c)] = len(contract.FieldsOf(row.Role, false, c, core)) + len(contract.FieldsOf(row.Role, true, c, core))
		}
		roles = append(roles, e)
	}
	if format == "json" {
		return documentOf("contracts").Write(w, nil, rolesBody{minor(core), roles})
	}
	head := []string{"ROLE"}
	for _, c := range contract.Accepted {
		head = append(head, "FIELDS "+string(c))
	}
	rows := [][]string{append(head, "PAGE")}
	for _, e := range roles {
		row := []string{e.Role}
		for _, c := range contract.Accepted {
			row = append(row, strconv.Itoa(e.Fields[string(c)]))
		}
		rows = append(rows, append(row, e.Page))
	}
	return WriteTable(w, rows, Columns(w))
}
