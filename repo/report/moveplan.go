package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

type MovePlan struct {
	Title string
	// Provider, Version and File are set for a template.
	Provider, Version, File string
	*move.Plan
}

// WriteMovePlans prints plans in a format of InventoryFormats. Text and Markdown
// only show what stays or is not known, unless all is set. Failures say what could
// not be read, so that nothing is certain.
func WriteMovePlans(w io.Writer, format string, plans []MovePlan, all bool, failures ...error) error {
	if format != "json" {
		return movePage(format, plans, all, len(failures) == 0).Print(w)
	}
	body := moveBody{Objects: movesOf(plans), Summary: map[string]int{}}
	for _, p := range plans {
		answers, lost := p.Counts()
		for _, word := range move.Answers() {
			body.Summary[word] += answers[word]
		}
		body.Lost += lost
		for _, r := range p.Remarks {
			body.Remarks = append(body.Remarks, moveRemark{p.Title, r})
		}
		for _, n := range p.Needs {
			body.Needs = append(body.Needs, moveNeed{p.Title, n})
		}
	}
	body.Answer, body.Conclusion = conclude(plans, len(failures) == 0)
	return documentOf("move-plan").Write(w, failures, body)
}

// conclude says what becomes of everything.
func conclude(plans []MovePlan, complete bool) (answer, sentence string) {
	return move.Conclude(phrase.List(plans, func(p MovePlan) *move.Plan { return p.Plan }), complete)
}

type moveBody struct {
	Answer     string         `json:"answer" doc:"what becomes of everything that belongs to Clusters: moves, all of it; stays, some of it, or clusterctl should not be started; not known"`
	Conclusion string         `json:"conclusion" doc:"the same in a sentence"`
	Lost       int            `json:"lost" doc:"the number of objects that belong to Clusters and stay"`
	Summary    map[string]int `json:"summary" doc:"the number of objects by answer"`
	Objects    []jsonMove     `json:"objects" doc:"an entry for each object of each plan"`
	Remarks    []moveRemark   `json:"remarks" doc:"what is in the way of the moves, or missing in the input"`
	Needs      []moveNeed     `json:"needs" doc:"what the target must have"`
}

type (
	moveRemark struct {
		Plan string `json:"plan" doc:"the plan, as in objects"`
		move.Remark
	}
	moveNeed struct {
		Plan string `json:"plan" doc:"the plan, as in objects"`
		move.Need
	}
)

type jsonMove struct {
	Plan     string `json:"plan" doc:"what is moved: a template of a release, or a namespace of a dump"`
	Provider string `json:"provider,omitempty" doc:"the provider label; absent for objects of a dump"`
	Version  string `json:"version,omitempty" doc:"the version of the release; absent like provider"`
	File     string `json:"file,omitempty" doc:"the name of the template in the release; absent like provider"`
	move.ID
	Answer  string   `json:"answer" doc:"what becomes of it: moves to the target, stays in the source, or not known"`
	Kept    bool     `json:"kept,omitempty" doc:"it is cluster-wide, or a ClusterClass that other namespaces have or use, or belongs to one: it moves, but is not deleted in the source; absent if not"`
	Deleted bool     `json:"deleted,omitempty" doc:"it stays, and Kubernetes deletes it there because its owners move; absent if not"`
	Lost    bool     `json:"lost" doc:"it belongs to a Cluster or to something that moves, and stays"`
	Reason  string   `json:"reason" doc:"what decides it"`
	Fix     string   `json:"fix,omitempty" doc:"what to do; absent if there is nothing"`
	Path    []string `json:"path" doc:"the owners through which clusterctl finds the object, and the object"`
}

func movesOf(plans []MovePlan) (out []jsonMove) {
	for _, p := range plans {
		for _, n := range p.Shown() {
			out = append(out, jsonMove{
				p.Title, p.Provider, p.Version, p.File, n.ID, n.Answer(), n.Verdict == move.Copied, n.Orphaned(),
				n.Lost, n.Reason(), todo(n), phrase.List(n.Path(), (*move.Node).String),
			})
		}
	}
	return out
}

// todo says what to do about an object.
func todo(n *move.Node) string {
	if n.Lost || n.Verdict == move.Unclear {
		return n.Fix()
	}
	return ""
}

func movePage(format string, plans []MovePlan, all, complete bool) *Page {
	p := &Page{Format: format}
	for _, plan := range plans {
		answers, _ := plan.Counts()
		word := move.Answers()
		p.Heading(2, plan.Title, fmt.Sprintf(": %d move, %d stay, %d not known", answers[word[0]], answers[word[1]], answers[word[2]]))
		p.Gap()
		moveObjects(p, plan, all)
		for _, r := range plan.Remarks {
			if r.Object == nil {
				p.Item(Strong("missing in the input"), ": ", r.Reason)
			} else {
				p.Item(Strong("in the way"), " ", Code(r.Object.String()), ": ", r.Reason)
				p.At(2).Para("to do: ", r.Fix)
			}
			p.Gap()
		}
		for i, n := range plan.Needs {
			if i == 0 {
				p.Para("The target must have:")
			}
			parts := []any{n.What, ": ", n.Why}
			if n.Status != "" {
				parts = append([]any{Strong(n.Status), ": "}, parts...)
			}
			if n.Found != "" {
				parts = append(parts, "; ", n.Found)
			}
			p.At(2).Item(parts...)
		}
		if len(plan.Needs) > 0 {
			p.Gap()
		}
	}
	_, sentence := conclude(plans, complete)
	p.Para(sentence)
	return p
}

// moveObjects shows the objects of a plan, those that are lost first.
func moveObjects(p *Page, plan MovePlan, all bool) {
	rank := func(n *move.Node) int { return slices.Index([]bool{n.Lost, n.Verdict == move.Unclear, true}, true) }
	nodes := slices.Clone(plan.Shown())
	slices.SortStableFunc(nodes, func(x, y *move.Node) int { return rank(x) - rank(y) })
	var kinds []string
	count := map[string]int{}
	for _, n := range nodes {
		if rank(n) == 2 && !all {
			if n.Answer() == move.Answers()[0] {
				if count[n.Kind]++; count[n.Kind] == 1 {
					kinds = append(kinds, n.Kind)
				}
			}
			continue
		}
		p.Item(Strong(n.Answer()), " ", Code(n.String()))
		why := n.Reason()
		if n.Orphaned() {
			why += "; its owners move, and then Kubernetes deletes it in the source"
		}
		p.At(2).Para("why: ", why)
		if fix := todo(n); fix != "" {
			p.At(2).Para("to do: ", fix)
		}
		if path := n.Path(); len(path) > 1 {
			p.At(2).Para("owners: ", strings.Join(phrase.List(path, (*move.Node).String), " > "))
		}
		p.Gap()
	}
	if len(kinds) > 0 {
		with := phrase.List(kinds, func(k string) string { return fmt.Sprintf("%s (%d)", k, count[k]) })
		p.Para("moves: ", strings.Join(with, ", "))
		p.Gap()
	}
}
