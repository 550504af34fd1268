package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/fleet"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// ContractFormats are the names of the formats that WriteContract knows.
var ContractFormats = []string{"text", "markdown", "json", "yaml", "openapi"}

// Statement is one about the behaviour of a role.
type Statement struct {
	ID    string `json:"id" doc:"the ID of the check"`
	Level string `json:"level" doc:"how much it binds: must, should, typical (as the workflows on the pages show it) or practice"`
	Title string `json:"title" doc:"what the contract says"`
}

// contractPage is a role under a contract. Its JSON is stable.
type contractPage struct {
	Role      string          `json:"role" doc:"the role, such as InfraMachine"`
	Contract  string          `json:"contract" doc:"the contract, such as v1beta2"`
	Core      string          `json:"core" doc:"the minor version of Cluster API, such as v1.14"`
	Label     string          `json:"label" doc:"the label that declares the contract on a CRD"`
	Page      string          `json:"page" doc:"the page of the contract in the repository of Cluster API"`
	Fields    []contractField `json:"fields" doc:"what the contract demands of the schema of the role and its template"`
	Behaviour []Statement     `json:"behaviour" doc:"what the contract says about behaviour"`
	rows      []*contract.Field
	template  []*contract.Field
}

type contractField struct {
	Kind    string `json:"kind" doc:"the role, or the role with Template"`
	Path    string `json:"path" doc:"the path of the field; [] stands for the elements of a list, * for the values of a map"`
	Type    string `json:"type,omitempty" doc:"the type that the schema must have; absent if any will do"`
	Need    string `json:"need" doc:"whether the contract demands the field" enum:"need"`
	Core    string `json:"core" doc:"what Cluster API does with the field"`
	Section string `json:"section" doc:"the section of the page"`
	If      string `json:"if,omitempty" doc:"fields, separated by blanks: without one of them this one is not needed; absent without condition"`
	Or      string `json:"or,omitempty" doc:"a field that serves as well; absent if there is none"`
	Was     string `json:"was,omitempty" doc:"where another contract has the field; absent if that is the same"`
	Since   string `json:"since,omitempty" doc:"the first minor version of Cluster API that has the demand; absent if all have it"`
	Until   string `json:"until,omitempty" doc:"the last one; absent if the newest has it"`
}

// coreDoes says what Cluster API does with a field.
func coreDoes(f *contract.Field) string {
	if f.Read {
		return "reads"
	}
	return "ignores"
}

func minor(n int) string {
	if n == 0 {
		return ""
	}
	return "v1." + strconv.Itoa(n)
}

func pageOf(role contract.Role, c contract.Contract, core int, statements []Statement) contractPage {
	p := contractPage{Role: string(role), Contract: string(c), Core: minor(core), Label: c.Label(), Behaviour: statements, Fields: []contractField{}}
	for _, row := range contract.Pages {
		if row.Role == role {
			p.Page = contract.PageFolder + row.Page
		}
	}
	if p.Behaviour == nil {
		p.Behaviour = []Statement{}
	}
	p.rows, p.template = contract.FieldsOf(role, false, c, core), contract.FieldsOf(role, true, c, core)
	for i, rows := range [][]*contract.Field{p.rows, p.template} {
		kind := string(role)
		if i == 1 {
			kind += contract.Suffix
		}
		for _, f := range rows {
			p.Fields = append(p.Fields, contractField{kind, f.Path, f.Type, f.Need.String(), coreDoes(f), string(f.Section), f.If, f.Or, f.Was, minor(f.Since), minor(f.Until)})
		}
	}
	return p
}

// WriteContract prints what a contract demands of a role, in a format of
// ContractFormats.
func WriteContract(w io.Writer, format string, role contract.Role, c contract.Contract, core int, statements []Statement) error {
	p := pageOf(role, c, core, statements)
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
	case "markdown":
		return contractMarkdown(w, &p)
	}
	return contractText(w, &p)
}

func writeYAML(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	out, err := yamldoc.Marshal(plain)
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}

func (f contractField) condition() string {
	var parts []string
	if f.If != "" {
		parts = append(parts, "if there is "+strings.ReplaceAll(f.If, " ", " and "))
	}
	if f.Or != "" {
		parts = append(parts, "or "+f.Or)
	}
	if f.Was != "" {
		parts = append(parts, "before: "+f.Was)
	}
	if f.Since != "" {
		parts = append(parts, "since "+f.Since)
	}
	if f.Until != "" {
		parts = append(parts, "until "+f.Until)
	}
	return strings.Join(parts, "; ")
}

func contractText(w io.Writer, p *contractPage) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, contract %s, Cluster API %s\nlabel %s on the CRD\nsource %s\n\n", p.Role, p.Contract, p.Core, p.Label, p.Page)
	rows := [][]string{{"KIND", "FIELD", "TYPE", "NEED", "CORE", "SECTION", "CONDITION"}}
	for _, f := range p.Fields {
		rows = append(rows, []string{f.Kind, f.Path, f.Type, f.Need, f.Core, f.Section, f.condition()})
	}
	table(&b, rows)
	if len(p.Behaviour) > 0 {
		b.WriteByte('\n')
		rows = [][]string{{"CHECK", "LEVEL", "STATEMENT"}}
		for _, s := range p.Behaviour {
			rows = append(rows, []string{s.ID, s.Level, s.Title})
		}
		table(&b, rows)
	}
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// trimLines removes the blanks at the ends of lines that empty cells leave.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func contractMarkdown(w io.Writer, p *contractPage) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, contract %s\n\nFor Cluster API %s. The CRD has the label `%s`. Source: `%s`.\n", p.Role, p.Contract, p.Core, p.Label, p.Page)
	b.WriteString("\n## Fields\n\n| kind | field | type | need | Cluster API | section | condition |\n|---|---|---|---|---|---|---|\n")
	for _, f := range p.Fields {
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s it | %s | %s |\n", f.Kind, f.Path, f.Type, f.Need, f.Core, f.Section, f.condition())
	}
	if len(p.Behaviour) > 0 {
		b.WriteString("\n## Behaviour\n\n| check | level | statement |\n|---|---|---|\n")
		for _, s := range p.Behaviour {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", s.ID, s.Level, s.Title)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type rolesBody struct {
	Core  string      `json:"core" doc:"the minor version of Cluster API, such as v1.14"`
	Roles []roleEntry `json:"roles" doc:"an entry for each role"`
}

type roleEntry struct {
	Role      string         `json:"role" doc:"the role, such as InfraMachine"`
	Page      string         `json:"page" doc:"the page of the contract in the repository of Cluster API"`
	Fields    map[string]int `json:"fields" doc:"the number of fields by contract"`
	Behaviour int            `json:"behaviour" doc:"the number of statements about behaviour"`
}

type matrixBody struct {
	Providers []MatrixRow `json:"providers" doc:"an entry for each release"`
}

// WriteContracts lists the roles with the number of their fields, as text or json.
func WriteContracts(w io.Writer, format string, core int, statements map[contract.Role][]Statement) error {
	roles := []roleEntry{}
	for _, row := range contract.Pages {
		e := roleEntry{string(row.Role), contract.PageFolder + row.Page, map[string]int{}, len(statements[row.Role])}
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
	rows := [][]string{append(head, "BEHAVIOUR", "PAGE")}
	for _, e := range roles {
		row := []string{e.Role}
		for _, c := range contract.Accepted {
			row = append(row, strconv.Itoa(e.Fields[string(c)]))
		}
		rows = append(rows, append(row, strconv.Itoa(e.Behaviour), e.Page))
	}
	table(w, rows)
	return nil
}

// MatrixFormats are the names of the formats that WriteMatrix knows.
var MatrixFormats = []string{"text", "markdown", "html", "json"}

// MatrixRow says how ready a provider is for each contract.
type MatrixRow struct {
	Provider string       `json:"provider" doc:"the provider label, such as infrastructure-aws"`
	Version  string       `json:"version" doc:"the version of the release"`
	Cells    []MatrixCell `json:"contracts" doc:"how ready it is for each contract, the current one first"`
}

// MatrixCell is what a provider lacks for a contract.
type MatrixCell fleet.Contract

func (c MatrixCell) text() string {
	switch {
	case c.Ready && c.Declared:
		return "ready"
	case c.Ready:
		return "ready, but not declared"
	case !c.Declared:
		return fmt.Sprintf("not declared, %d missing", len(c.Missing))
	}
	return fmt.Sprintf("%d missing", len(c.Missing))
}

// WriteMatrix prints a table of providers and contracts, in a format of MatrixFormats.
func WriteMatrix(w io.Writer, format string, rows []MatrixRow) error {
	if format == "json" {
		return documentOf("support").Write(w, nil, matrixBody{rows})
	}
	head := []string{"PROVIDER", "VERSION"}
	for _, c := range contract.Accepted {
		head = append(head, string(c))
	}
	cells := [][]string{head}
	for _, r := range rows {
		line := []string{visible(r.Provider), visible(r.Version)}
		for _, c := range r.Cells {
			line = append(line, c.text())
		}
		cells = append(cells, line)
	}
	switch format {
	case "markdown":
		return matrixMarkdown(w, cells, rows)
	case "html":
		return matrixHTML(w, cells, rows)
	}
	table(w, cells)
	for _, line := range missing(rows) {
		if _, err := fmt.Fprintln(w, "  "+line); err != nil {
			return err
		}
	}
	return nil
}

func missing(rows []MatrixRow) []string {
	var out []string
	for _, r := range rows {
		for _, c := range r.Cells {
			if !c.Declared {
				continue
			}
			for _, m := range c.Missing {
				out = append(out, visible(r.Provider+" "+r.Version)+", "+visible(c.Name)+": "+oneLine(m))
			}
		}
	}
	return out
}

func matrixMarkdown(w io.Writer, cells [][]string, rows []MatrixRow) error {
	var b strings.Builder
	for i, row := range cells {
		for j := range row {
			row[j] = prose(row[j])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	for i, line := range missing(rows) {
		if i == 0 {
			b.WriteString("\nMissing:\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", prose(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func matrixHTML(w io.Writer, cells [][]string, rows []MatrixRow) error {
	parts := []markup.Node{pageTable("Providers and contracts", cells, func(int) string { return "" })}
	var items []markup.Node
	for _, line := range missing(rows) {
		items = append(items, el("li", "", markup.Text(line)))
	}
	if len(items) > 0 {
		parts = append(parts, el("section", "", el("h2", "", markup.Text("Missing")), el("ul", "", items...)))
	}
	return writePage(w, "Providers and contracts", el("header", "", el("h1", "", markup.Text("Providers and contracts"))), el("main", "", parts...))
}

// pageTable is a table with a heading in the first cell of each row, which may be a
// link. On a small screen it scrolls in itself.
func pageTable(label string, cells [][]string, link func(row int) string) markup.Node {
	line := func(name, scope string, row []string, first markup.Node) markup.Node {
		nodes := []markup.Node{markup.El("th", markup.Attrs("scope", scope), first)}
		for _, text := range row[1:] {
			class := ""
			switch {
			case text == "ready":
				class = "good"
			case strings.HasSuffix(text, "missing"):
				class = "lacks"
			}
			if name == "th" {
				nodes = append(nodes, markup.El("th", markup.Attrs("scope", scope), markup.Text(text)))
			} else {
				nodes = append(nodes, el("td", class, markup.Text(text)))
			}
		}
		return el("tr", "", nodes...)
	}
	var body []markup.Node
	for i, row := range cells[1:] {
		first := markup.Text(row[0])
		if to := link(i); to != "" {
			first = markup.El("a", markup.Attrs("href", to), first)
		}
		body = append(body, line("td", "row", row, first))
	}
	return markup.El("div", markup.Attrs("class", "canvas", "tabindex", "0", "role", "region", "aria-label", label),
		el("table", "", el("thead", "", line("th", "col", cells[0], markup.Text(cells[0][0]))), el("tbody", "", body...)))
}

// writePage writes a page that loads nothing and runs no script.
func writePage(w io.Writer, title string, parts ...markup.Node) error {
	head := el("head", "",
		markup.El("meta", markup.Attrs("charset", "utf-8")),
		markup.El("meta", markup.Attrs("http-equiv", "Content-Security-Policy", "content", fmt.Sprintf("default-src 'none'; style-src %s; base-uri 'none'; form-action 'none'", policyHash(pageStyle)))),
		markup.El("meta", markup.Attrs("name", "viewport", "content", "width=device-width, initial-scale=1")),
		markup.El("meta", markup.Attrs("name", "color-scheme", "content", "light dark")),
		markup.El("title", nil, markup.Text(title)),
		markup.El("style", nil, markup.Raw(pageStyle)))
	if _, err := io.WriteString(w, "<!DOCTYPE html>\n"); err != nil {
		return err
	}
	return markup.Write(w, lines(markup.El("html", markup.Attrs("lang", "en"), head, markup.El("body", nil, parts...))))
}
