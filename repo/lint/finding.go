package lint

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Finding is one violated rule at one place.
type Finding struct {
	Rule     *Rule
	Severity Severity
	// File is the path of the file, or of the folder if the finding is about
	// something that is not there.
	File string
	// Pos and End are the place in the raw file; zero if the finding is about
	// the file as a whole. End is exclusive.
	Pos, End yamldoc.Pos
	// Provider and Version are the label and the version of the release that the
	// finding is in; empty if it is in none, or in no single one.
	Provider, Version string
	// Object names the Kubernetes object, "Deployment capx-system/manager".
	Object string
	// Message says what is wrong here.
	Message string
	// Fix says what to do here; if empty, Rule.Fix does.
	Fix string
	// Source is the line of the file that Pos is in, or the part of a long one
	// that begins at column SourceColumn.
	Source       string
	SourceColumn int
	// Also is where else the fault shows: in other templates of the release, which are
	// usually made of the same parts, and in what follows from it.
	Also []Place
	// Way is the path of the value in the built object, for a finding that no
	// single line of the source tree caused.
	Way string
	// Evidence are lines that prove the finding, where no source does.
	Evidence []string
	// Edit fixes the fault; nil if no edit is known to be safe.
	Edit *Edit
	// Fingerprint tells the finding from all others of a release. It is made of the
	// rule, the label of the provider, the file in the release, the object and the
	// path of the value, so that it stays the same when lines move, messages are
	// reworded, the next release has the same fault, or lint is started elsewhere.
	Fingerprint string

	// causes are the faults behind the finding, if others may have the same; see Because.
	causes []string
	// perhaps are faults that explain it if another finding is about them.
	perhaps []string
	// lacks is the text that would stand in a document with what the components do not have.
	lacks string
	// own is the severity without what follows from the finding; Off if nothing does.
	own Severity
	// of counts the findings of its kind.
	of *tally
	// about is the place until the finding is reported, and origin what its
	// fingerprint is made of then; forgotten afterwards.
	about  *about
	origin *origin
}

// Place is a position in a file, with the fingerprint that a finding there would
// have.
type Place struct {
	File        string
	Pos         yamldoc.Pos
	Fingerprint string
	// Rule and Message are those of what follows from the fault; empty where the finding says
	// the same.
	Rule    *Rule
	Message string

	// follows is what is reported here if the fault itself is known.
	follows *Finding
}

// place is where a finding shows as what follows from another.
func (f Finding) place() Place {
	return Place{f.File, f.Pos, f.Fingerprint, f.Rule, f.Message, &f}
}

// Edit is a change that fixes a fault and cannot break anything else.
type Edit struct {
	// Start and End are the byte range in the file of the finding that Text
	// takes the place of.
	Start, End int
	Text       string
	// Linted is the content of that file when the finding was made; empty unless
	// Options.Edits asks for it.
	Linted string
	// Proven says that Text is a whole file whose maker has compared what it means
	// with what is there. It may change more than single values.
	Proven bool
	// Rename is the new name of the file or folder instead, without a folder.
	Rename string
}

// Unless makes a warning of a finding that holds only while the user does not set a
// variable.
func (f *Finding) Unless(variable string) {
	f.Severity = Warning
	f.Message += ", unless the user sets " + variable
}

// As gives a finding a severity that differs from that of its rule.
func (f Finding) As(s Severity) Finding {
	f.Severity = s
	return f
}

// Because names the faults behind a finding. The findings of a release that share one become
// one, as severe as the worst; see headed.
func (f Finding) Because(causes ...string) Finding {
	f.causes = slices.Concat(f.causes, causes)
	return f
}

// Perhaps names faults that would explain a finding, the most likely ones first. It becomes one
// with the findings that name the first of these in Because, if there are any.
func (f Finding) Perhaps(causes ...string) Finding {
	f.perhaps = slices.Concat(f.perhaps, causes)
	return f
}

// Lacks says that a finding is due to something that is not in the components, such as "Service a".
// Where a document of these cannot be understood, it may be that, and there is no finding.
func (f Finding) Lacks(what string) Finding { return f.Without(what).Because(what) }

// Without is Lacks for findings that do not share their cause.
func (f Finding) Without(what string) Finding {
	f.lacks = what
	return f
}

// Meant advises to write the word that was probably meant, if there is one.
func (f Finding) Meant(word string) Finding {
	if word != "" {
		f.Fix = "Did you mean " + word + "?"
	}
	return f
}

// Help returns what to do.
func (f *Finding) Help() string { return cmp.Or(f.Fix, f.Rule.Fix) }

// Rest is how many more findings of a rule there are in a file.
type Rest struct {
	Rule     *Rule
	Severity Severity
	File     string
	Count    int
}

// counts are findings by severity.
type counts struct {
	Errors, Warnings, Infos int
}

// Report is the result of a run.
type Report struct {
	// Findings are sorted by file, line, column and rule.
	Findings []Finding
	// Rest counts the findings that were not kept, because there are many of their kind.
	Rest []Rest
	// Suppressed are findings that comments suppress, or files in Weighed.
	Suppressed []Suppressed
	// Weighed are files among the judged ones that changed severities.
	Weighed []Weighed
	// Open are questions about files of users that were not judged, in words.
	Open []string
	// Failures are rules that did not work, and files that could not be read;
	// the rest was checked all the same.
	Failures []error
	// Files, Releases and Providers count what was looked at.
	Files, Releases, Providers int
	// Subject says what was looked at if that was no files: "16 handlers of
	// https://localhost:9443".
	Subject string
	// Command is the one that judges, if that is neither lint nor extension check.
	Command string
	// Kinds are what was judged if that was definitions alone.
	Kinds []*contract.Kind
}

// Count counts the findings by severity.
func (r *Report) Count() (c counts) {
	add := func(s Severity, n int) {
		switch s {
		case Error:
			c.Errors += n
		case Warning:
			c.Warnings += n
		case Info:
			c.Infos += n
		}
	}
	for i := range r.Findings {
		add(r.Findings[i].Severity, 1)
	}
	for _, rest := range r.Rest {
		add(rest.Severity, rest.Count)
	}
	return c
}

// Worst returns the highest severity among the findings, Off if there are none.
func (r *Report) Worst() Severity {
	worst := Off
	for i := range r.Findings {
		worst = max(worst, r.Findings[i].Severity)
	}
	for _, rest := range r.Rest {
		worst = max(worst, rest.Severity)
	}
	return worst
}

func compareFindings(a, b *Finding) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.Pos.Line, b.Pos.Line),
		cmp.Compare(a.Pos.Column, b.Pos.Column),
		cmp.Compare(a.Rule.ID, b.Rule.ID),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Object, b.Object),
	)
}

// sorted returns findings in order. Which of equal ones comes first, and is left in the
// end, is decided by what they are about, because rules report at the same time; after
// that by their order. Findings are large: each is moved once.
func sorted(list []Finding) []Finding {
	order := make([]*Finding, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortStableFunc(order, func(a, b *Finding) int {
		c := compareFindings(a, b)
		if x, y := a.origin, b.origin; c == 0 && x != nil && y != nil {
			return cmp.Or(cmp.Compare(x.provider, y.provider), cmp.Compare(x.file, y.file), cmp.Compare(x.object, y.object), cmp.Compare(x.value, y.value))
		}
		return c
	})
	return phrase.List(order, func(f *Finding) Finding { return *f })
}

// yield leaves out the findings about a fault that another rule explains, so that one
// fault gives one finding.
func (r *Report) yield() {
	type about struct {
		file string
		pos  yamldoc.Pos
		rule string
	}
	found := map[about]Severity{}
	for i := range r.Findings {
		f := &r.Findings[i]
		at := about{f.File, f.Pos, f.Rule.ID}
		found[at] = max(found[at], f.Severity)
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		return !f.Pos.IsZero() && slices.ContainsFunc(f.Rule.Yields, func(id string) bool { return found[about{f.File, f.Pos, id}] >= f.Severity })
	})
}

// finish sorts the findings, drops duplicates and gives them fingerprints.
func (r *Report) finish() {
	r.Findings = slices.CompactFunc(sorted(r.Findings), func(a, b Finding) bool { return compareFindings(&a, &b) == 0 })
	all := make([]*Finding, 0, len(r.Findings)+len(r.Suppressed))
	for i := range r.Findings {
		all = append(all, &r.Findings[i])
	}
	// Those that comments suppress count last, so that a comment changes no other
	// fingerprint.
	for i := range r.Suppressed {
		all = append(all, &r.Suppressed[i].Finding)
	}
	fingerprints(all)
}

// causes makes one finding of those with the same cause in a release. Errors of templates
// become one as well, because one change removes them all. With edits, those that have one stay.
func (r *Report) causes(edits bool) {
	type key struct{ release, cause string }
	parent := make([]int, len(r.Findings))
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]] // so that chains stay short
			i = parent[i]
		}
		return i
	}
	join := func(i, j int) {
		a, b := root(i), root(j)
		parent[max(a, b)] = min(a, b)
	}
	first := map[key]int{}
	var list []int
	for i := range r.Findings {
		f := &r.Findings[i]
		parent[i] = i
		if f.origin == nil || len(f.causes)+len(f.perhaps) == 0 || edits && f.Edit != nil {
			continue
		}
		list = append(list, i)
		for _, cause := range f.causes {
			k := key{f.origin.release, cause}
			if j, again := first[k]; again {
				join(i, j)
			} else {
				first[k] = i
			}
		}
	}
	core := map[int]int{} // by what findings say themselves
	for _, i := range list {
		core[i] = root(i)
	}
	due := map[int]bool{} // what others explain
	for _, i := range list {
		for _, cause := range r.Findings[i].perhaps {
			j, known := first[key{r.Findings[i].origin.release, cause}]
			if !known || due[core[i]] {
				continue
			}
			if root(i) != root(j) {
				join(i, j)
				due[core[i]] = true
			}
			break
		}
	}
	for _, group := range phrase.Groups(list, root) {
		r.headed(group, func(i int) bool { return due[core[i]] })
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Rule == nil })
}

// headed makes one finding of a group, with the severity of the worst: of the one that states the
// fault rather than what follows from it, or is missing because of it, and best of one that says
// what to do here.
func (r *Report) headed(group []int, due func(i int) bool) {
	ids := map[string]bool{}
	worst := Off
	for _, i := range group {
		f := &r.Findings[i]
		ids[f.Rule.ID] = true
		worst = max(worst, f.Severity)
	}
	rank := func(i int) (n int) {
		f := &r.Findings[i]
		for _, later := range []bool{due(i), slices.ContainsFunc(f.Rule.Yields, func(id string) bool { return ids[id] }), f.lacks != "", f.Fix == ""} {
			n *= 2
			if later {
				n++
			}
		}
		return n*(int(Error)+1) - int(f.Severity)
	}
	at := slices.MinFunc(group, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	head := &r.Findings[at]
	head.own, head.Severity = head.Severity, worst
	for _, i := range group {
		f := &r.Findings[i]
		if i == at {
			continue
		}
		head.Also = append(head.Also, f.place())
		r.counted(f)
		f.Rule = nil
	}
}

// merge makes one finding of those that say the same about the templates of a
// release, and forgets the origins of all. Errors stay, so that each file that does
// not work has its own, and with edits those that have one.
func (r *Report) merge(edits bool) {
	type key struct {
		rule                     *Rule
		release, object, message string
	}
	r.causes(edits)
	first := map[key]int{}
	kept := r.Findings[:0]
	for _, f := range r.Findings {
		release := f.origin.template()
		f.origin = nil
		if f.Severity == Error || release == "" || len(f.Also) > 0 || f.Way != "" || f.Pos.IsZero() || edits && f.Edit != nil {
			kept = append(kept, f)
			continue
		}
		k := key{f.Rule, release, f.Object, f.Message}
		i, again := first[k]
		if !again {
			first[k] = len(kept)
		}
		if !again || kept[i].File == f.File {
			kept = append(kept, f)
			continue
		}
		kept[i].Also = append(kept[i].Also, Place{File: f.File, Pos: f.Pos, Fingerprint: f.Fingerprint})
	}
	r.Findings = kept
}

// rest counts what was not kept of the kinds of findings that are left.
func (r *Report) rest() {
	for i := range r.Findings {
		r.counted(&r.Findings[i])
		r.Findings[i].of = nil
	}
}

// counted adds to Rest, once, how many findings of the kind of one were not kept.
func (r *Report) counted(f *Finding) {
	if n := f.of.rest(); n > 0 {
		r.Rest = append(r.Rest, Rest{f.Rule, f.Severity, f.File, n})
		f.of.n = 0
	}
}

// Rename changes the names of files.
func (r *Report) Rename(rename func(file string) string) {
	for i := range r.Findings {
		f := &r.Findings[i]
		before := f.File
		f.File = rename(before)
		if about := f.Rule.Scope; (about == ScopeComments || about == ScopeKustomizations) &&
			filepath.Base(f.File) != filepath.Base(before) {
			f.Fingerprint = "" // it was made from the old name
		}
		for j := range r.Findings[i].Also {
			r.Findings[i].Also[j].File = rename(r.Findings[i].Also[j].File)
		}
	}
	for i := range r.Rest {
		r.Rest[i].File = rename(r.Rest[i].File)
	}
	for i := range r.Suppressed {
		r.Suppressed[i].File = rename(r.Suppressed[i].File)
	}
	r.finish()
}

// Fingerprints adds those of all findings, and of what follows from them, to a set.
func (r *Report) Fingerprints(to map[string]bool) {
	for i := range r.Findings {
		f := &r.Findings[i]
		to[f.Fingerprint] = true
		for _, p := range f.Also {
			to[p.Fingerprint] = true
		}
	}
}

// Without takes the findings with the given fingerprints away and returns how many they
// were. Of a finding that is known, what follows from it and is not known stays, with its own
// severity. Those that were only counted stay, because which ones they are is not known.
func (r *Report) Without(fingerprints map[string]bool) int {
	before := len(r.Findings)
	kept := r.Findings[:0]
	for _, f := range r.Findings {
		known := fingerprints[f.Fingerprint]
		var left, next []Place
		worst := f.own
		for _, p := range f.Also {
			switch {
			case !fingerprints[p.Fingerprint]:
				left = append(left, p)
			case p.follows == nil:
				known = true
			}
		}
		for _, p := range left {
			if p.follows != nil {
				next = append(next, p)
				worst = max(worst, p.follows.Severity)
			}
		}
		switch {
		case known && len(next) == 0:
			continue
		case known:
			at := slices.MinFunc(next, func(a, b Place) int { return cmp.Compare(b.follows.Severity, a.follows.Severity) })
			f = *at.follows
			f.File, f.Also = at.File, slices.DeleteFunc(next, func(p Place) bool { return p.follows == at.follows })
			f.own = f.Severity
		case len(left) < len(f.Also):
			f.Also, f.Severity = left, cmp.Or(worst, f.Severity)
		}
		kept = append(kept, f)
	}
	clear(r.Findings[len(kept):])
	r.Findings = kept
	return before - len(kept)
}

// Join adds the results of another run.
func (r *Report) Join(other *Report) {
	r.Findings = append(r.Findings, other.Findings...)
	r.Rest = append(r.Rest, other.Rest...)
	r.Suppressed = append(r.Suppressed, other.Suppressed...)
	r.Weighed = append(r.Weighed, other.Weighed...)
	r.Failures = append(r.Failures, other.Failures...)
	r.Open = append(r.Open, other.Open...)
	r.Files += other.Files
	r.Releases += other.Releases
	r.Providers += other.Providers
	r.finish()
}
