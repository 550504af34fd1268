package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// Severity says how bad a finding is.
type Severity int

// The severities. Off is only used in configuration: it suppresses a rule.
const (
	Off Severity = iota
	Info
	Warning
	Error
)

var severityNames = [...]string{"off", "info", "warning", "error"}

// String returns the word used in output and configuration.
func (s Severity) String() string { return severityNames[s] }

// ParseSeverity is the inverse of String.
func ParseSeverity(word string) (Severity, error) {
	for i, name := range severityNames {
		if name == word {
			return Severity(i), nil
		}
	}
	return Off, fmt.Errorf("unknown severity %q: expected error, warning, info or off", word)
}

// Proof says who shows that a rule is right.
type Proof string

// The kinds of proof.
const (
	// Clusterctl: the real clusterctl refuses the bad example, or silently
	// does something else than the author meant.
	Clusterctl Proof = "clusterctl"
	// APIServer: a real API server refuses the bad example.
	APIServer Proof = "apiserver"
	// Contract: the text of the provider contract says so.
	Contract Proof = "contract"
	// Practice: experience; nothing breaks at once.
	Practice Proof = "practice"
)

// Words are all kinds; see report.Document.
func (Proof) Words() []string {
	return []string{string(Clusterctl), string(APIServer), string(Contract), string(Practice)}
}

// scope says what a rule is called for.
type scope int

// The scopes, from small to large. A rule is called once for each file, release,
// provider or repository and reports only inside it.
const (
	scopeFile scope = iota
	ScopeRelease
	ScopeProvider
	ScopeRepository
	// ScopeComments is once, after all others, for the comments that suppress
	// rules.
	ScopeComments
	// ScopeKustomizations is once, for the kustomizations that the files were built
	// from, if they were.
	ScopeKustomizations
)

// Rule is one check with all that is known about it. Everything but Check is
// data for `rules`, `explain` and the documentation.
type Rule struct {
	// ID is the family and a number: "META006". IDs are never reused.
	ID string
	// Name is a slug for documentation: "series-missing".
	Name string
	// Title is one line that states the rule, without a full stop.
	Title string
	// Since is the first version of clusterctl-repo that has the rule; v0.1.0 where a
	// row does not say it.
	Since string
	// Severity of the findings, unless Check says otherwise.
	Severity Severity
	// Flag is the flag of lint without which the rule is not applied, because it
	// asks servers; empty for all others.
	Flag  string
	Proof Proof
	// Source is the section of the contract or the function of clusterctl that
	// makes it true.
	Source string
	// Why says what happens to the user.
	Why string
	// Fix says what to do.
	Fix string
	// Scope and Kinds say what Check is called for; Kinds only matter for
	// rules for files, are those of the family where a row does not say them, and none means
	// every kind that is read.
	Scope scope
	Kinds []layouts.FileKind
	// Release is set if the rule is about which file clusterctl reads in a release, which
	// does not hold for the files of users.
	Release bool
	// Yields names the rules that explain the same fault better: a finding is left out
	// if one of theirs is at the same place, or has the same cause, and is at least as severe.
	Yields []string
	// Check is nil if Run does not apply the rule, because something else than a
	// repository is judged.
	Check func(*Pass)
	// Command applies a rule without a Check ("lint CONFIG"), and Example says in
	// one line what violates it; the others have an archive of files.
	Command, Example string
}

// Family is a group of rules about one subject. Packages of rules have one as a
// variable and add every rule to it, in a declaration directly above its check, which is in the
// declaration itself if it is short.
type Family struct {
	// Prefix begins the IDs.
	Prefix string
	// Title says what the rules are about.
	Title string
	// Kinds are those of its rules that say none.
	Kinds []layouts.FileKind
	// Rules are sorted by ID.
	Rules []*Rule
}

// Add puts a rule into the family and returns it.
func (f *Family) Add(r Rule) *Rule {
	r.Since = cmp.Or(r.Since, "v0.1.0")
	if r.Kinds == nil {
		r.Kinds = f.Kinds
	}
	i, _ := slices.BinarySearchFunc(f.Rules, r.ID, func(r *Rule, id string) int { return cmp.Compare(r.ID, id) })
	f.Rules = slices.Insert(f.Rules, i, &r)
	return &r
}

// AddAll puts rules into the family that differ only in data, and returns it.
func (f *Family) AddAll(rules ...Rule) *Family {
	for _, r := range rules {
		f.Add(r)
	}
	return f
}

// judgesOwn reports whether the rule is about what templates and classes hold, not about
// their release and the names in it.
func (r *Rule) judgesOwn() bool {
	return !r.Release && (r.Scope == scopeFile || slices.Contains(r.Kinds, layouts.ClusterTemplate))
}

// applies reports whether the rule wants files of a kind.
func (r *Rule) applies(kind layouts.FileKind) bool {
	return len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind)
}
