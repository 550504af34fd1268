package report

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// conclusion is the last sentence about plans.
func conclusion(plans []MovePlan, o MoveOptions) string {
	all := make([]*owners.Plan, len(plans))
	for i := range plans {
		all[i] = plans[i].Plan
	}
	return owners.Conclude(all, len(o.Problems) == 0)
}

// flock are the plans of a release, which are shown together, or one other plan.
type flock struct {
	title string
	plans []MovePlan
}

// flocks puts the templates of a release together, unless everything is shown.
func flocks(plans []MovePlan, all bool) []flock {
	var out []flock
	for _, p := range plans {
		last := len(out) - 1
		if !all && p.File != "" && last >= 0 && out[last].plans[0].File != "" && out[last].plans[0].Provider == p.Provider && out[last].plans[0].Version == p.Version {
			f := &out[last]
			f.plans = append(f.plans, p)
			f.title = fmt.Sprintf("%s %s, %d templates", p.Provider, p.Version, len(f.plans))
			continue
		}
		out = append(out, flock{p.Title, []MovePlan{p}})
	}
	return out
}

// fold are objects of one kind to which the same happens for the same reason.
type fold struct {
	first *moveRow
	names []string // a few, in their order
	known map[string]bool
	files []string
}

// mostNamed objects or files are named.
const mostNamed = 5

func foldsOf(plans []MovePlan, all []([]moveRow), want func(*moveRow) bool) []*fold {
	type key struct {
		fate, group, kind, why, todo string
		lost                         bool
	}
	var out []*fold
	found := map[key]*fold{}
	for i, rows := range all {
		for k := range rows {
			r := &rows[k]
			if !want(r) {
				continue
			}
			id := key{r.fate, r.Group, r.Kind, r.why(), r.todo(), r.Lost}
			f := found[id]
			if f == nil {
				f = &fold{first: r, known: map[string]bool{}}
				found[id] = f
				out = append(out, f)
			}
			if name := strings.TrimPrefix(r.String(), r.Kind+" "); !f.known[name] {
				f.known[name] = true
				if len(f.names) < mostNamed {
					f.names = append(f.names, name)
				}
			}
			if file := plans[i].File; file != "" && (len(f.files) == 0 || f.files[len(f.files)-1] != file) {
				f.files = append(f.files, file)
			}
		}
	}
	return out
}

// title names the objects of a fold.
func (f *fold) title() string {
	if len(f.known) == 1 {
		return f.first.String()
	}
	return fmt.Sprintf("%s (%d): %s", f.first.Kind, len(f.known), phrase.FewOf(f.names, mostNamed, len(f.known)))
}

func movesText(w *bufio.Writer, plans []MovePlan, o MoveOptions) {
	for i, f := range flocks(plans, o.All) {
		if i > 0 {
			w.WriteByte('\n')
		}
		flockText(w, f, o)
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

func flockText(w *bufio.Writer, f flock, o MoveOptions) {
	all := make([][]moveRow, len(f.plans))
	t := tallyOf(nil)
	for i, p := range f.plans {
		all[i] = rowsOf(p.Plan)
		t.add(all[i])
	}
	fmt.Fprintf(w, "%s: %s\n", o.Paint.Bold(phrase.Visible(f.title)), t.sentence())
	for _, p := range f.plans {
		moveRefusals(w, p, o.Paint)
		moveFailures(w, p, o.Paint)
	}
	for _, fold := range foldsOf(f.plans, all, func(r *moveRow) bool {
		return r.Lost || r.fate == owners.Unclear.String() || o.All && r.fate != fates[0].word
	}) {
		foldText(w, fold, len(f.plans), o.Paint)
	}
	if kinds := t.kinds(); len(kinds) > 1 {
		w.WriteByte('\n')
		_ = writeTable(w, kinds, 0) // numbers
	}
	if len(f.plans) > 1 {
		return // each template has an order of its own
	}
	p := f.plans[0]
	if order := orderOf(p.Plan); len(order) > 0 {
		fmt.Fprintf(w, "\n%s\n", o.Paint.Bold("Order:"))
		for i, kinds := range order {
			fmt.Fprintf(w, "  %d. %s\n", i+1, kinds)
		}
	}
	if len(p.Notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", o.Paint.Bold("Worth knowing:"))
		for i := range p.Notes {
			writeFault(w, p.Notes[i].Node.String(), &p.Notes[i], o.Paint)
		}
	}
	if len(p.Gaps) > 0 {
		fmt.Fprintf(w, "\n%s\n", o.Paint.Yellow("What is missing to be certain:"))
		for _, gap := range p.Gaps {
			fmt.Fprintf(w, "  %s\n", phrase.Visible(gap))
		}
	}
}

func moveRefusals(w *bufio.Writer, p MovePlan, paint Painter) {
	if len(p.Refusals) == 0 {
		return
	}
	title := "clusterctl would refuse to start:"
	if !slices.ContainsFunc(p.Refusals, func(r owners.Fault) bool { return !r.Sometimes }) {
		title = "clusterctl may refuse to start, depending on chance:"
	}
	var folds []faultFold
	for i := range p.Refusals {
		folds = append(folds, faultFold{&p.Refusals[i], p.Refusals[i].Node.String()})
	}
	writeFaults(w, paint.Red(title), folds, paint)
}

// mostReasons of a kind are shown in text.
const mostReasons = 50

// writeFaults writes reasons with what to do about them.
func writeFaults(w *bufio.Writer, title string, folds []faultFold, paint Painter) {
	fmt.Fprintf(w, "\n%s\n", title)
	for i, f := range folds {
		if i == mostReasons {
			fmt.Fprintf(w, "  and %d more; -o json lists all\n", len(folds)-i)
			break
		}
		writeFault(w, f.title, f.first, paint)
	}
}

func writeFault(w *bufio.Writer, title string, f *owners.Fault, paint Painter) {
	fmt.Fprintf(w, "  %s: %s\n    %s %s\n", paint.Bold(phrase.Visible(title)), phrase.Visible(f.Reason), paint.Dim("to do:"), phrase.Visible(f.Fix))
}

// moveFailures writes what goes wrong after the start, with what each step leaves
// behind.
func moveFailures(w *bufio.Writer, p MovePlan, paint Painter) {
	for from := 0; from < len(p.Failures); {
		step := p.Failures[from].Step
		to := from
		for to < len(p.Failures) && p.Failures[to].Step == step {
			to++
		}
		list := p.Failures[from:to]
		a := step.Aftermath()
		title := "clusterctl would start and then fail, " + a.When + ":"
		switch {
		case step == owners.After:
			title = "The move would succeed, but do harm:"
		case !slices.ContainsFunc(list, func(f owners.Fault) bool { return !f.Sometimes }):
			title = "clusterctl may start and then fail, " + a.When + ":"
		}
		writeFaults(w, paint.Red(title), foldFailures(list), paint)
		if step != owners.After {
			fmt.Fprintf(w, "  %s %s\n  %s %s\n", paint.Dim("source then:"), a.Source, paint.Dim("target then:"), a.Target)
			for i, text := range a.Recover {
				fmt.Fprintf(w, "  %s %s\n", paint.Dim(fmt.Sprintf("recover %d:", i+1)), text)
			}
		}
		from = to
	}
}

// faultFold are failures of objects of one kind for the same reason.
type faultFold struct {
	first *owners.Fault
	title string
}

func foldFailures(list []owners.Fault) []faultFold {
	type key struct {
		kind, reason, fix string
	}
	var out []faultFold
	place := map[key]int{} // in out
	names := map[key][]string{}
	for i := range list {
		f := &list[i]
		k := key{f.Node.Kind, f.Reason, f.Fix}
		if names[k] == nil {
			place[k] = len(out)
			out = append(out, faultFold{f, f.Node.String()})
		}
		names[k] = append(names[k], strings.TrimPrefix(f.Node.String(), f.Node.Kind+" "))
		if n := len(names[k]); n > 1 {
			out[place[k]].title = fmt.Sprintf("%s (%d): %s", k.kind, n, phrase.FewOf(names[k], mostNamed, n))
		}
	}
	return out
}

// foldText writes objects with the reason, and if they are lost with the way there
// and what to do.
func foldText(w *bufio.Writer, f *fold, templates int, paint Painter) {
	r := f.first
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
	fmt.Fprintf(w, "\n%s %s\n", word, paint.Bold(phrase.Visible(f.title())))
	if templates > 1 {
		fmt.Fprintf(w, "  %s %d of %d templates: %s\n", paint.Dim("in:"), len(f.files), templates, phrase.Visible(phrase.FewOf(f.files, mostNamed, len(f.files))))
	}
	fmt.Fprintf(w, "  %s %s\n", paint.Dim("why:"), phrase.Visible(r.why()))
	if path := r.path(); path != "" && len(f.known) == 1 {
		fmt.Fprintf(w, "  %s %s\n", paint.Dim("owners:"), path)
	}
	if r.Verdict == owners.Deleted {
		fmt.Fprintf(w, "  %s %s\n", paint.Dim("then:"), "Kubernetes deletes it in the source, because all its owners are gone; its controller may delete the infrastructure it stands for")
	}
	if fix := r.todo(); fix != "" {
		fmt.Fprintf(w, "  %s %s\n", paint.Dim("to do:"), phrase.Visible(fix))
	}
}
