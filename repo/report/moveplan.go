package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// MoveFormats are the names of the formats that WriteMovePlans knows.
var MoveFormats = []string{"text", "json", "mermaid", "html", "runbook", "runbook-markdown"}

// MovePlan is a plan and what it is of: a template of a release, or the namespace
// of a management cluster.
type MovePlan struct {
	// Title names it.
	Title string
	// Provider, Version and File are set for a template.
	Provider, Version, File string
	*owners.Plan
}

// MoveOptions are what some formats show besides the plans.
type MoveOptions struct {
	// Paint is only used for text, and needed there.
	Paint painter
	// Version is that of this program.
	Version string
	// All shows each object in text, not only those that are lost.
	All bool
	// Problems say what could not be read, so that no plan is certain.
	Problems []error
	// MoreProblems counts those that were too many to keep.
	MoreProblems int
}

// WriteMovePlans prints plans in a format of MoveFormats. JSON is one object with
// one list, of which every entry says to which plan it belongs.
func WriteMovePlans(w io.Writer, format string, plans []MovePlan, o MoveOptions) error {
	b := bufio.NewWriter(w)
	var err error
	switch format {
	case "json":
		err = movesJSON(b, plans, o)
	case "mermaid":
		movesMermaid(b, plans)
	case "html":
		err = movesHTML(b, plans, o)
	case "runbook":
		err = runbookPage("text", plans).Print(b)
	case "runbook-markdown":
		err = runbookPage("markdown", plans).Print(b)
	default:
		movesText(b, plans, o)
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

// fates are what becomes of an object, worst first, with the words for people. An
// object that holds up the move is blocked.
var fates = []fateWords{
	{"blocked", "refused", "REFUSED"},
	{owners.Deleted.String(), "deleted", "DELETED"},
	{owners.Left.String(), "left behind", "LEFT"},
	{owners.Unclear.String(), "unclear", "UNCLEAR"},
	{owners.Copied.String(), "copied", "COPIED"},
	{owners.Moves.String(), "moved", "MOVED"},
}

type fateWords struct{ word, people, heading string }

// moveRow is an object of a plan, ready to be shown.
type moveRow struct {
	*owners.Node
	file        string // of the plan
	fate        string
	reason, fix string
}

// rowsOf lists the objects of a plan, in its order. What is only named is none.
func rowsOf(p MovePlan) []moveRow {
	blocked := map[*owners.Node]*owners.Fault{}
	for i := range p.Refusals {
		if r := &p.Refusals[i]; blocked[r.Node] == nil {
			blocked[r.Node] = r
		}
	}
	rows := make([]moveRow, 0, len(p.Nodes))
	for _, n := range p.Nodes {
		if n.Absent || n.Scope == owners.Elsewhere && !n.Lost && n.Verdict != owners.Unclear {
			continue
		}
		row := moveRow{Node: n, file: p.File, fate: n.Verdict.String()}
		if r := blocked[n]; r != nil {
			row.fate, row.reason, row.fix = fates[0].word, r.Reason, r.Fix
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *moveRow) why() string { return cmp.Or(r.reason, r.Node.Reason()) }

func (r *moveRow) todo() string {
	switch {
	case r.fix != "":
		return r.fix
	case r.Lost || r.Verdict == owners.Unclear:
		return r.Node.Fix()
	}
	return ""
}

// names are the owners that lead to the object, and the object.
func (r *moveRow) names() []string { return phrase.List(r.Node.Path(), (*owners.Node).String) }

// path is the same for people; empty if it leads nowhere.
func (r *moveRow) path() string {
	if names := r.names(); len(names) > 1 {
		return strings.Join(phrase.List(names, phrase.Visible), " > ")
	}
	return ""
}

type jsonMove struct {
	Provider string `json:"provider,omitempty" doc:"the provider label; absent for objects of a management cluster"`
	Version  string `json:"version,omitempty" doc:"the version of the release; absent like provider"`
	File     string `json:"file,omitempty" doc:"the name of the template in the release; absent like provider"`
	owners.ID
	Verdict string   `json:"verdict" doc:"what happens to it: moves, to the target; copied, so that both clusters have it; left in the source; deleted in the source and lost; unclear; blocked, if it keeps clusterctl from moving anything" enum:"verdict"`
	Lost    bool     `json:"lost" doc:"the target needs the object but does not get it"`
	Step    *int     `json:"step,omitempty" doc:"the number of the group, from 0, in which it is created in the target; absent if it is not"`
	Owners  int      `json:"owners,omitempty" doc:"how many owners it has in the target; absent if none"`
	Reason  string   `json:"reason" doc:"why"`
	Fix     string   `json:"fix,omitempty" doc:"what to do; absent if there is nothing"`
	Path    []string `json:"path" doc:"the owners through which clusterctl finds the object, and the object"`
}

type jsonFailure struct {
	owners.Fault
	Hurts   bool     `json:"hurts" doc:"the move ends without an error, but does harm in the target"`
	Source  string   `json:"source" doc:"what is in the source afterwards"`
	Target  string   `json:"target" doc:"what is in the target afterwards"`
	Recover []string `json:"recover" doc:"what to do afterwards, in this order"`
}

// moveBody is the plan as JSON.
type moveBody struct {
	Objects    markup.EntryLines[jsonMove] `json:"objects" doc:"an entry for each object of each plan"`
	Summary    map[string]int              `json:"summary" doc:"the number of objects by verdict" enum:"verdict"`
	Lost       int                         `json:"lost" doc:"the number of objects that the target needs but does not get"`
	Certain    bool                        `json:"certain" doc:"everything that the plan depends on could be read"`
	Outcome    string                      `json:"outcome" doc:"the worst that is foreseen: safe, everything moves; unclear, not everything is known; refused, clusterctl changes nothing; loses, objects are lost; hurts, the move does harm in the target; fails, it stops with an error half-way" enum:"outcome"`
	Conclusion string                      `json:"conclusion" doc:"the outcome in a sentence"`
	Refusals   []owners.Fault              `json:"refusals" doc:"why clusterctl would not start"`
	Failures   []jsonFailure               `json:"moveFailures" doc:"why the move would fail or do harm"`
	Notes      []owners.Fault              `json:"notes" doc:"what is worth knowing"`
	Gaps       []string                    `json:"gaps" doc:"what is not known for certain, in sentences"`
	Problems   []string                    `json:"problems" doc:"what could not be read; the same as failures"`
}

// incomplete says what the plans lack.
func (o MoveOptions) incomplete() []error {
	out := o.Problems
	if o.MoreProblems > 0 {
		out = append(slices.Clone(out), fmt.Errorf("and %d more like these", o.MoreProblems))
	}
	return out
}

func movesJSON(w io.Writer, plans []MovePlan, o MoveOptions) error {
	rows := make([][]moveRow, len(plans))
	body := moveBody{
		Objects: func(yield func(jsonMove) bool) {
			for i, p := range plans {
				for k := range rows[i] {
					if !yield(moveJSON(p, &rows[i][k])) {
						return
					}
				}
			}
		},
		Summary: map[string]int{}, Certain: len(o.Problems) == 0, Outcome: worstOf(plans, o).String(), Conclusion: conclusion(plans, o),
	}
	for _, fate := range fates {
		body.Summary[fate.word] = 0
	}
	for i, p := range plans {
		rows[i] = rowsOf(p)
		for _, r := range rows[i] {
			body.Summary[r.fate]++
			if r.Lost {
				body.Lost++
			}
		}
		for _, f := range p.Failures {
			a := p.Aftermath(f.Step)
			body.Failures = append(body.Failures, jsonFailure{f, f.Hurts(), a.Source, a.Target, a.Recover})
		}
		body.Refusals, body.Notes = append(body.Refusals, p.Refusals...), append(body.Notes, p.Notes...)
		body.Gaps = append(body.Gaps, p.Gaps...)
		body.Certain = body.Certain && p.Certain()
	}
	body.Problems = phrase.List(o.incomplete(), error.Error)
	return documentOf("move-plan").Write(w, o.incomplete(), body)
}

func moveJSON(p MovePlan, r *moveRow) jsonMove {
	m := jsonMove{
		Provider: p.Provider, Version: p.Version, File: p.File, ID: r.ID,
		Verdict: r.fate, Lost: r.Lost, Reason: r.why(), Fix: r.todo(), Path: r.names(),
	}
	if r.Verdict == owners.Moves || r.Verdict == owners.Copied {
		m.Step = &r.Layer
		for _, e := range r.In {
			if e.Link == owners.Owner {
				m.Owners++
			}
		}
	}
	return m
}

// tally counts what becomes of objects, all together and by kind.
type tally struct {
	all    map[string]int
	byKind map[string]map[string]int
	lost   int
	others int // left behind where they belong
}

func tallyOf(rows []moveRow) tally {
	t := tally{all: map[string]int{}, byKind: map[string]map[string]int{}}
	t.add(rows)
	return t
}

func (t *tally) add(rows []moveRow) {
	for i := range rows {
		r := &rows[i]
		if r.Lost {
			t.lost++
		} else if r.Verdict == owners.Left && r.fate != fates[0].word {
			t.others++
			continue
		}
		t.all[r.fate]++
		kind := r.Kind
		if r.Group != "" {
			kind += "." + r.Group
		}
		if t.byKind[kind] == nil {
			t.byKind[kind] = map[string]int{}
		}
		t.byKind[kind][r.fate]++
	}
}

// sentence says in one line what becomes of the objects.
func (t *tally) sentence() string {
	var parts []string
	for _, fate := range slices.Backward(fates) {
		if n := t.all[fate.word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, fate.people))
		}
	}
	if t.others > 0 {
		parts = append(parts, fmt.Sprintf("%d not concerned", t.others))
	}
	if len(parts) == 0 {
		return "no objects"
	}
	return strings.Join(parts, ", ")
}

// kinds are the rows of the summary, with a heading.
func (t *tally) kinds() [][]string {
	columns := phrase.Only(fates, func(f fateWords) bool { return t.all[f.word] > 0 })
	slices.Reverse(columns)
	headings := phrase.List(columns, func(f fateWords) string { return f.heading })
	rows := [][]string{append([]string{"KIND"}, headings...)}
	for _, kind := range slices.Sorted(maps.Keys(t.byKind)) {
		row := []string{markup.Printable(kind)}
		for _, f := range columns {
			row = append(row, strconv.Itoa(t.byKind[kind][f.word]))
		}
		rows = append(rows, row)
	}
	return rows
}

// orderOf says which kinds are made in each step.
func orderOf(p *owners.Plan) []string {
	var out []string
	for _, step := range p.Order() {
		byKind := phrase.Groups(step, func(n *owners.Node) string { return n.Kind })
		slices.SortFunc(byKind, func(a, b []*owners.Node) int { return cmp.Compare(a[0].Kind, b[0].Kind) })
		kinds := phrase.List(byKind, func(n []*owners.Node) string { return fmt.Sprintf("%s (%d)", markup.Printable(n[0].Kind), len(n)) })
		out = append(out, strings.Join(kinds, ", "))
	}
	return out
}

// classOf is the class of a node in a picture; empty if it moves.
func classOf(n *owners.Node) string {
	switch {
	case n.Verdict == owners.Left && !n.Lost:
		return "weak"
	case n.Verdict == owners.Left, n.Verdict == owners.Deleted:
		return "bad"
	case n.Verdict == owners.Unclear:
		return "warn"
	case n.Verdict == owners.Copied:
		return "accent"
	}
	return ""
}

// Most boxes that a picture for people shows.
const mostBoxes = 400

// drawn are the objects worth drawing: not those without links that are left where
// they belong.
func drawn(g *owners.Graph) []*owners.Node {
	return phrase.Only(g.Nodes, func(n *owners.Node) bool {
		return n.Lost || n.Verdict != owners.Left || len(n.In)+len(n.Out) > 0 || n.Object != nil
	})
}

// shown picks at most so many of them: those that are lost first, with their owners.
func shown(g *owners.Graph, most int) []*owners.Node {
	all := drawn(g)
	if len(all) <= most {
		return all
	}
	picked := map[*owners.Node]bool{}
	add := func(want func(*owners.Node) bool) {
		for _, n := range all {
			if len(picked) >= most {
				return
			}
			if want(n) {
				for _, on := range n.Path() {
					picked[on] = true
				}
			}
		}
	}
	add(func(n *owners.Node) bool { return n.Lost })
	add(func(n *owners.Node) bool { return n.Hierarchy != owners.Unmarked })
	add(func(*owners.Node) bool { return true })
	return slices.DeleteFunc(all, func(n *owners.Node) bool { return !picked[n] })
}

// Owners draws the owners in a graph and what becomes of each object.
func Owners(g *owners.Graph) *markup.Graph {
	nodes := shown(g, mostBoxes)
	out := &markup.Graph{Title: "Owners, and what clusterctl move does with each object"}
	if len(nodes) < len(g.Nodes) {
		out.Title += fmt.Sprintf(" (%d of %d shown)", len(nodes), len(g.Nodes))
	}
	id := make(map[*owners.Node]string, len(nodes))
	for i, n := range nodes {
		id[n] = strconv.Itoa(i)
		name := n.Name
		if n.Namespace != "" {
			name = n.Namespace + "/" + name
		}
		out.Nodes = append(out.Nodes, markup.Vertex{ID: id[n], Label: phrase.Visible(n.Kind), Sublabel: phrase.Visible(name), Tooltip: phrase.Visible(n.String() + ": " + n.Reason()), Class: classOf(n)})
	}
	for _, n := range nodes {
		for _, e := range n.Out {
			if id[e.To] == "" {
				continue
			}
			class := ""
			if e.Link != owners.Owner && e.Link != owners.SoftOwner {
				class = "weak"
			}
			label := "" // for the usual
			if !strings.HasPrefix(e.Field, "metadata.ownerReferences.") {
				label = phrase.Visible(e.Field[strings.LastIndexByte(e.Field, '.')+1:])
			}
			out.Edges = append(out.Edges, markup.Edge{From: id[n], To: id[e.To], Label: label, Class: class})
		}
	}
	return out
}

func movesMermaid(w *bufio.Writer, plans []MovePlan) {
	fmt.Fprintln(w, "flowchart LR")
	for i, p := range plans {
		nodes := drawn(p.Graph)
		id := make(map[*owners.Node]int, len(nodes))
		fmt.Fprintf(w, "  subgraph p%d[%s]\n", i, mermaidText(p.Title))
		for k, n := range nodes {
			id[n] = k
			fmt.Fprintf(w, "    n%d_%d[%s]:::%s\n", i, k, mermaidText(n.String()), cmp.Or(classOf(n), "moved"))
		}
		fmt.Fprintln(w, "  end")
		for k, n := range nodes {
			for _, e := range n.Out {
				to, ok := id[e.To]
				if !ok {
					continue
				}
				arrow := "-->"
				if e.Link != owners.Owner {
					arrow = "-.->"
				}
				fmt.Fprintf(w, "  n%d_%d %s n%d_%d\n", i, k, arrow, i, to)
			}
		}
	}
	fmt.Fprint(w, `  classDef bad stroke:#b3141d
  classDef warn stroke:#8a5a00
  classDef accent stroke:#0858c7
  classDef weak stroke:#8c959f
  classDef moved stroke:#1f2328
`)
}

// mermaidText quotes a text for Mermaid, which knows entities like HTML. It takes
// %%{…}%% for a directive wherever it stands (mermaid: directiveRegex).
func mermaidText(s string) string {
	return `"` + strings.NewReplacer("#", "#35;", "%", "#37;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;").Replace(phrase.Visible(s)) + `"`
}

// movesHTML writes one page that needs nothing else.
func movesHTML(w io.Writer, plans []MovePlan, o MoveOptions) error {
	p := &markup.Page{Format: "html"}
	gaps := phrase.List(o.incomplete(), error.Error)
	for _, plan := range plans {
		gaps = append(gaps, plan.Gaps...)
	}
	p.Element(gapsHTML("What is missing to be certain", gaps))
	for i := range plans {
		addMove(p, i, &plans[i])
	}
	return p.HTML(w, "clusterctl-repo move-plan", "What clusterctl move would do",
		producer(o.Version)+" planned "+phrase.Count(len(plans), "move")+". "+conclusion(plans, o))
}

// mostArticles of a plan are in a page.
const mostArticles = 1000

// addMove adds the ith plan.
func addMove(p *markup.Page, i int, plan *MovePlan) {
	rows := rowsOf(*plan)
	t := tallyOf(rows)
	p.Section("", "group")
	p.Heading(2, plan.Title)
	p.Para(t.sentence())
	for _, r := range plan.Refusals {
		p.Element(fateHTML("error", "refused", r.Node.String(), r.Reason, "", r.Fix))
	}
	for _, f := range plan.Failures {
		word, more := "harm", []markup.Element(nil)
		if !f.Hurts() {
			a := plan.Aftermath(f.Step)
			word = "fails"
			for _, text := range []string{a.When, "source: " + a.Source, "target: " + a.Target} {
				more = append(more, markup.Tag(`p class="help"`, phrase.Visible(text)))
			}
		}
		p.Element(fateHTML("error", word, f.Node.String(), f.Reason, "", f.Fix, more...))
	}
	for _, r := range plan.Notes {
		p.Element(fateHTML("info", "note", r.Node.String(), r.Reason, "", r.Fix))
	}
	articles := 0
	for k := range rows {
		r := &rows[k]
		class := "error"
		switch {
		case r.fate == fates[0].word:
			continue
		case r.fate == owners.Unclear.String():
			class = "warning"
		case !r.Lost:
			continue
		}
		if articles++; articles <= mostArticles {
			p.Element(fateHTML(class, r.fate, r.String(), r.why(), r.path(), r.todo()))
		}
	}
	if articles > mostArticles {
		p.Para(fmt.Sprintf("And %d more; -o json lists them all.", articles-mostArticles))
	}
	kinds := t.kinds()
	var facts []any
	for _, row := range kinds[1:] {
		var parts []string
		for i, n := range row[1:] {
			if n != "0" {
				parts = append(parts, n+" "+strings.ToLower(kinds[0][i+1]))
			}
		}
		facts = append(facts, row[0], strings.Join(parts, ", "))
	}
	p.Heading(3, "Kinds")
	p.Element(factsHTML(facts...))
	if order := orderOf(plan.Plan); len(order) > 0 {
		p.Heading(3, "Order")
		for _, kinds := range order {
			p.Step(kinds)
		}
	}
	p.Element(Picture{"Who owns whom", Owners(plan.Graph)}.html(i))
}

// fateHTML is what becomes of an object, with the owners that lead to it and what to do;
// both may be empty.
func fateHTML(class, word, object, reason, path, fix string, more ...markup.Element) markup.Element {
	head := []markup.Element{" ", markup.Tag(`span class="object"`, phrase.Visible(object))}
	help := []markup.Element{helpHTML("Owners", markup.Inside(path)), helpHTML("What to do", markup.Inside(phrase.Visible(fix)))}
	return cardHTML(`article class="finding `+class+`"`, word, head, phrase.Visible(reason), append(help, more...)...)
}
