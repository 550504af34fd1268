package report

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// conclusion is the last sentence about plans.
func conclusion(plans []MovePlan, o MoveOptions) string {
	return owners.Conclude(phrase.List(plans, func(p MovePlan) *owners.Plan { return p.Plan }), len(o.Problems) == 0)
}

// mostNamed objects or files are named.
const mostNamed = 5

// titleOf names objects of one kind, of which some may be left out.
func titleOf(nodes []*owners.Node, all int) string {
	if all == 1 {
		return nodes[0].String()
	}
	names := phrase.List(nodes, func(n *owners.Node) string { return strings.TrimPrefix(n.String(), n.Kind+" ") })
	return fmt.Sprintf("%s (%d): %s", nodes[0].Kind, all, phrase.FewOf(names, mostNamed, all))
}

func movesText(w *bufio.Writer, plans []MovePlan, o MoveOptions) {
	type release struct {
		provider, version string
		alone             *owners.Plan
	}
	// The templates of a release are shown together, unless everything is shown.
	for i, together := range phrase.Groups(plans, func(p MovePlan) release {
		if o.All || p.File == "" {
			return release{alone: p.Plan}
		}
		return release{p.Provider, p.Version, nil}
	}) {
		if i > 0 {
			w.WriteByte('\n')
		}
		moveText(w, together, o)
	}
	w.WriteByte('\n')
	last := conclusion(plans, o)
	switch worst := worstOf(plans, o); {
	case worst >= owners.Refuses:
		last = o.Paint.Red(last)
	case worst == owners.Unsure:
		last = o.Paint.Yellow(last)
	}
	fmt.Fprintln(w, last)
}

func worstOf(plans []MovePlan, o MoveOptions) owners.Outcome {
	worst := owners.Safe
	if len(o.Problems) > 0 {
		worst = owners.Unsure
	}
	for _, p := range plans {
		worst = max(worst, p.Outcome())
	}
	return worst
}

// moveText writes the plans of a release, or one other plan.
func moveText(w *bufio.Writer, plans []MovePlan, o MoveOptions) {
	p, title := plans[0], plans[0].Title
	if len(plans) > 1 {
		title = fmt.Sprintf("%s %s, %d templates", p.Provider, p.Version, len(plans))
	}
	var shown []*moveRow
	t := tallyOf(nil)
	for _, p := range plans {
		rows := rowsOf(p)
		t.add(rows)
		for i := range rows {
			if r := &rows[i]; r.Lost || r.fate == owners.Unclear.String() || o.All && r.fate != fates[0].word {
				shown = append(shown, r)
			}
		}
	}
	fmt.Fprintf(w, "%s: %s\n", o.Paint.Bold(phrase.Visible(title)), t.sentence())
	for _, p := range plans {
		if len(p.Refusals) > 0 {
			title := "clusterctl would refuse to start:"
			if !slices.ContainsFunc(p.Refusals, func(r owners.Fault) bool { return !r.Sometimes }) {
				title = "clusterctl may refuse to start; this varies between runs:"
			}
			writeFaults(w, o.Paint.Red(title), slices.Collect(slices.Chunk(p.Refusals, 1)), o.Paint)
		}
		moveFailures(w, p, o.Paint)
	}
	type fold struct {
		fate, group, kind, why, todo string
		lost                         bool
	}
	for _, rows := range phrase.Groups(shown, func(r *moveRow) fold {
		return fold{r.fate, r.Group, r.Kind, r.why(), r.todo(), r.Lost}
	}) {
		rowsText(w, rows, len(plans), o.Paint)
	}
	if kinds := t.kinds(); len(kinds) > 1 {
		w.WriteByte('\n')
		_ = markup.WriteTable(w, kinds, 0) // numbers
	}
	if len(plans) > 1 {
		return // each template has an order of its own
	}
	if order := orderOf(p.Plan); len(order) > 0 {
		fmt.Fprintf(w, "\n%s\n", o.Paint.Bold("Order:"))
		for i, kinds := range order {
			fmt.Fprintf(w, "  %d. %s\n", i+1, kinds)
		}
	}
	if len(p.Notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", o.Paint.Bold("Worth knowing:"))
		for i := range p.Notes {
			writeFault(w, p.Notes[i:i+1], o.Paint)
		}
	}
	if len(p.Gaps) > 0 {
		fmt.Fprintf(w, "\n%s\n", o.Paint.Yellow("Missing information:"))
		for _, gap := range p.Gaps {
			fmt.Fprintf(w, "  %s\n", phrase.Visible(gap))
		}
	}
}

// mostReasons of a kind are shown in text.
const mostReasons = 50

// writeFaults writes reasons with what to do about them.
func writeFaults(w *bufio.Writer, title string, all [][]owners.Fault, paint painter) {
	fmt.Fprintf(w, "\n%s\n", title)
	for i, same := range all {
		if i == mostReasons {
			fmt.Fprintf(w, "  and %d more; -o json lists all\n", len(all)-i)
			break
		}
		writeFault(w, same, paint)
	}
}

// writeFault writes the same fault of objects of one kind.
func writeFault(w *bufio.Writer, same []owners.Fault, paint painter) {
	nodes := phrase.List(same, func(f owners.Fault) *owners.Node { return f.Node })
	title := phrase.Visible(titleOf(nodes, len(nodes)))
	fmt.Fprintf(w, "  %s: %s\n", paint.Bold(title), phrase.Visible(same[0].Reason))
	fmt.Fprintf(w, "    %s %s\n", paint.Dim("to do:"), phrase.Visible(same[0].Fix))
}

// moveFailures writes what goes wrong after the start, with what each step leaves
// behind.
func moveFailures(w *bufio.Writer, p MovePlan, paint painter) {
	type fold struct{ kind, reason, fix string }
	for _, list := range phrase.Groups(p.Failures, func(f owners.Fault) owners.Step { return f.Step }) {
		step := list[0].Step
		a := p.Aftermath(step)
		title := "clusterctl would start and then fail, " + a.When + ":"
		switch {
		case step == owners.After:
			title = "The move would succeed, but do harm:"
		case !slices.ContainsFunc(list, func(f owners.Fault) bool { return !f.Sometimes }):
			title = "clusterctl may start and then fail, " + a.When + ":"
		}
		folds := phrase.Groups(list, func(f owners.Fault) fold { return fold{f.Node.Kind, f.Reason, f.Fix} })
		writeFaults(w, paint.Red(title), folds, paint)
		if step != owners.After {
			fmt.Fprintf(w, "  %s %s\n  %s %s\n", paint.Dim("source then:"), a.Source, paint.Dim("target then:"), a.Target)
			for i, text := range a.Recover {
				fmt.Fprintf(w, "  %s %s\n", paint.Dim(fmt.Sprintf("recover %d:", i+1)), text)
			}
		}
	}
}

// rowsText writes objects of one kind to which the same happens, with the reason, and
// if they are lost with the way there and what to do.
func rowsText(w *bufio.Writer, rows []*moveRow, templates int, paint painter) {
	r := rows[0]
	word := r.fate
	for _, fate := range fates {
		if fate.word == r.fate {
			word = fate.people
		}
	}
	switch {
	case r.Lost:
		word = paint.Red(word)
	case r.fate == owners.Unclear.String():
		word = paint.Yellow(word)
	}
	objects := phrase.Groups(rows, (*moveRow).String)
	named := phrase.List(objects[:min(len(objects), mostNamed)], func(same []*moveRow) *owners.Node { return same[0].Node })
	fmt.Fprintf(w, "\n%s %s\n", word, paint.Bold(phrase.Visible(titleOf(named, len(objects)))))
	if templates > 1 {
		byFile := phrase.Groups(rows, func(r *moveRow) string { return r.file })
		files := phrase.List(byFile, func(same []*moveRow) string { return same[0].file })
		few := phrase.Visible(phrase.Few(files, mostNamed))
		fmt.Fprintf(w, "  %s %d of %d templates: %s\n", paint.Dim("in:"), len(files), templates, few)
	}
	fmt.Fprintf(w, "  %s %s\n", paint.Dim("why:"), phrase.Visible(r.why()))
	if path := r.path(); path != "" && len(objects) == 1 {
		fmt.Fprintf(w, "  %s %s\n", paint.Dim("owners:"), path)
	}
	if r.Verdict == owners.Deleted {
		fmt.Fprintf(w, "  %s %s\n", paint.Dim("then:"), "Kubernetes deletes it in the source, because all its owners are gone; its controller may delete the infrastructure it stands for")
	}
	if fix := r.todo(); fix != "" {
		fmt.Fprintf(w, "  %s %s\n", paint.Dim("to do:"), phrase.Visible(fix))
	}
}
