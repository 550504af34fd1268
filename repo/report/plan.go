package report

import (
	"fmt"
	"io"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
)

// PlanFormats are the names of the formats that WritePlans knows.
var PlanFormats = []string{"text", "markdown", "json"}

// ProviderPlan says what a provider needs for a contract.
type ProviderPlan struct {
	MatrixRow
	// Series is the release series of the version in metadata.yaml, and Contract
	// what it says; empty if there is none.
	Series, Contract string
	Steps            []contract.Step
}

type plansBody struct {
	Contract  string     `json:"contract" doc:"the contract that the providers should have"`
	Providers []planBody `json:"providers" doc:"an entry for each release"`
}

type planBody struct {
	ofRelease
	Ready     bool         `json:"ready" doc:"nothing is left to do"`
	Contracts []MatrixCell `json:"contracts" doc:"how ready it is for each contract"`
	Series    planSeries   `json:"series" doc:"what metadata.yaml has for the version"`
	Kinds     []planKind   `json:"kinds" doc:"the kinds that the contract concerns"`
}

type planSeries struct {
	Series   string `json:"series" doc:"the release series of the version; empty if metadata.yaml has none"`
	Contract string `json:"contract" doc:"the contract that metadata.yaml gives it"`
	Change   bool   `json:"change" doc:"a new series must have the contract of the plan"`
}

type planKind struct {
	Kind     string      `json:"kind" doc:"the kind"`
	Group    string      `json:"group" doc:"the API group"`
	Version  string      `json:"version" doc:"the version that is judged"`
	Role     string      `json:"role" doc:"the role of the kind, such as InfraMachine"`
	Template bool        `json:"template" doc:"it is the template of the role"`
	Label    string      `json:"label" doc:"the label that the CRD needs, with its value; empty if it has it"`
	Safe     bool        `json:"safe" doc:"no required field is missing, so the label may be added now"`
	Fields   []planField `json:"fields" doc:"the fields to change; empty if there are none"`
	Go       string      `json:"go" doc:"the Go types of the missing fields; empty if none are missing"`
}

type planField struct {
	Path    string `json:"path" doc:"the path of the field; [] stands for the elements of a list, * for the values of a map"`
	Need    string `json:"need" doc:"whether the contract demands the field" enum:"need"`
	Type    string `json:"type" doc:"the type that the schema must have; empty if any type is allowed"`
	Problem string `json:"problem" doc:"what is wrong with the field" enum:"field"`
	Was     string `json:"was,omitempty" doc:"where another contract has it; absent if the problem is not moved"`
	Section string `json:"section" doc:"the section of the page of the contract"`
}

// problems name what is wrong with a field.
var problems = map[contract.Verdict]string{contract.Missing: "missing", contract.Moved: "moved", contract.WrongType: "wrong type"}

// WritePlans prints what providers need for a contract, in a format of PlanFormats.
func WritePlans(w io.Writer, format string, chosen contract.Contract, core int, plans []ProviderPlan) error {
	body := plansBody{string(chosen), []planBody{}}
	for _, p := range plans {
		b := planBody{
			ofRelease: ofRelease{p.Provider, p.Version}, Contracts: p.Cells, Kinds: []planKind{},
			Series: planSeries{p.Series, p.Contract, p.Contract != string(chosen)},
		}
		b.Ready = !b.Series.Change
		for _, s := range p.Steps {
			k := planKind{Kind: s.CRD.Kind, Group: s.Group, Version: s.Label, Role: string(s.Role), Template: s.Template, Safe: s.Ready(), Fields: []planField{}, Go: s.GoTypes(core)}
			if s.Declared == "" {
				k.Label = chosen.Label() + ": " + s.Label
			}
			for _, g := range s.Gaps {
				f := planField{g.Path, g.Need.String(), g.Type, problems[g.Verdict], "", string(g.Section)}
				if g.Verdict == contract.Moved {
					f.Was = g.Was
				}
				k.Fields = append(k.Fields, f)
			}
			b.Ready = b.Ready && k.Label == "" && k.Safe
			b.Kinds = append(b.Kinds, k)
		}
		body.Providers = append(body.Providers, b)
	}
	if format == "json" {
		return documentOf("contract-plan").Write(w, nil, body)
	}
	return planPage(format, body).Print(w)
}

func planPage(format string, body plansBody) *markup.Page {
	page := &markup.Page{Format: format}
	todo := func(format string, args ...any) { page.At(4).Item(fmt.Sprintf(format, args...)) }
	for i, p := range body.Providers {
		if i > 0 {
			page.Gap()
		}
		page.Heading(2, p.Provider+" "+p.Version+" and contract "+body.Contract)
		if p.Ready {
			todo("nothing is left to do")
		}
		for _, c := range p.Contracts {
			todo("now, %s: %s", c.Name, c.text())
		}
		switch {
		case p.Series.Series == "":
			todo("metadata.yaml has no release series for this version; add one with contract: %s", body.Contract)
		case p.Series.Change:
			todo("metadata.yaml: series %s has contract %s, and a series keeps its contract; start a new series with contract: %s", p.Series.Series, p.Series.Contract, body.Contract)
		}
		for _, role := range contract.Pages {
			title := false
			for _, k := range p.Kinds {
				if k.Role != string(role.Role) || k.Label == "" && len(k.Fields) == 0 {
					continue
				}
				if !title {
					page.Gap()
					page.Heading(3, string(role.Role))
					title = true
				}
				page.At(2).Heading(4, k.Kind+" "+k.Version)
				for _, f := range k.Fields {
					switch f.Problem {
					case "moved":
						todo("%s %s: moved; it is %s", f.Need, f.Path, f.Was)
					case "wrong type":
						todo("%s %s: wrong type; it must be %s", f.Need, f.Path, f.Type)
					default:
						todo("%s %s: %s", f.Need, f.Path, f.Problem)
					}
				}
				switch {
				case k.Label != "" && k.Safe:
					todo("add the label %s", k.Label)
				case k.Label != "":
					todo("add the label %s once the CRD has all fields that MUST exist", k.Label)
				}
				if k.Go != "" {
					page.Gap()
					page.At(6).Code("go", k.Go)
					page.Gap()
				}
			}
		}
	}
	return page
}
