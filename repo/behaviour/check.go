package behaviour

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// level says how strongly the contract demands something.
type level string

// The levels. Typical is what only the workflows of the pages say.
const (
	must     level = "must"
	should   level = "should"
	typical  level = "typical"
	practice level = "practice"
)

// The bounds of time that a check waits; see Options.
const (
	pause    = "pause"
	settle   = "settle"
	deletion = "delete"
)

// check is a statement about the behaviour of controllers, with what decides it.
type check struct {
	lint.Rule
	// Role is what the statement is about, "" for objects of all roles.
	Role  contract.Role
	Level level
	// Action is what has to happen in the run, "" if any run will do.
	Action string
	// Violation says what proves one.
	Violation string
	// Beware says what may cause a false alarm.
	Beware string
	// Within names the time that the check waits before it misses something.
	Within string
	// Needs are resources beside those of Cluster API: secrets, leases, events.
	Needs []string

	on      []string // roles, or core kinds
	version func(*change)
	gone    func(*change)
	paused  func(*change) // its Cluster, or it, was paused
	resumed func(*change) // and no longer is
}

// All are the checks, by number. It must not be changed.
var All = slices.Concat(objectChecks, clusterChecks, machineChecks, poolChecks, bootstrapChecks, controlPlaneChecks, ipamChecks, coreChecks)

// Family is the checks as rules, for the catalogue.
var Family = func() *lint.Family {
	f := &lint.Family{Prefix: "BEH", Title: "Behaviour of controllers"}
	for _, c := range All {
		f.Rules = append(f.Rules, &c.Rule)
	}
	slices.SortFunc(f.Rules, func(a, b *lint.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return f
}()

// row completes a check with what its level says: only a must is an error.
func row(id, name, title string, level level, source, why, fix string, c check) *check {
	severity, proof := c.Severity, lint.Contract
	if severity == lint.Off {
		severity = lint.Warning
		if level == must {
			severity = lint.Error
		}
	}
	if level == practice {
		proof = lint.Practice
	}
	c.Rule = lint.Rule{
		ID: id, Name: name, Since: "v0.1.0", Title: title, Severity: severity, Proof: proof, Source: source, Why: why, Fix: fix,
		Command: "contract replay", Example: sentence(c.Violation) + "." + c.needs(),
	}
	c.Level = level
	return &c
}

// severity sets one that the level does not give.
func severity(s lint.Severity) lint.Rule { return lint.Rule{Severity: s} }

// sentence begins with a capital letter, unless with the name of a field.
func sentence(s string) string {
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, ".ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// needs says what has to happen for the check to decide.
func (c *check) needs() string {
	out := ""
	if c.Action != "" {
		out += " To test it: " + c.Action + "."
	}
	if c.Within != "" {
		out += " The bound is --bound " + c.Within + "."
	}
	if c.Beware != "" {
		out += " A false alarm may come from " + strings.TrimSuffix(c.Beware, ".") + "."
	}
	return out
}
