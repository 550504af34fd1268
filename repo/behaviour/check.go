package behaviour

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// Level says how strongly the contract demands something.
type Level string

// The levels. Typical is what only the workflows of the pages say.
const (
	Must     Level = "must"
	Should   Level = "should"
	Typical  Level = "typical"
	Practice Level = "practice"
)

// Risk says how likely a false alarm is.
type Risk string

// The risks of false alarms.
const (
	Low    Risk = "low"
	Medium Risk = "medium"
	High   Risk = "high"
)

// What a check takes to be decided, apart from the actions of a driver.
const (
	Passive = "" // any run shows it
)

// Bound names the time that a check waits; see Options.
type Bound string

// The bounds of time.
const (
	None   Bound = ""
	Pause  Bound = "pause"
	Settle Bound = "settle"
	Delete Bound = "delete"
)

// Check is a statement about the behaviour of controllers, with what decides it.
type Check struct {
	lint.Rule
	// Role is what the statement is about, "" for objects of all roles.
	Role contract.Role
	// Contract is the one that says so, empty for each.
	Contract contract.Contract
	Level    Level
	// Action is what has to happen in the run; Passive if any run will do.
	Action string
	// Violation says what proves one.
	Violation string
	Risk      Risk
	// Beware says what may cause a false alarm.
	Beware string
	// Within is the time that the check waits before it misses something.
	Within Bound
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

// ByID finds a check by its ID, in any case and also with a dash after the family, or
// nil.
func ByID(id string) *Check {
	id = lint.NormalizeID(id)
	for _, c := range All {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// row completes a check with what its level says: only a must is an error.
func row(id, name, title string, level Level, source, why, fix string, c Check) *Check {
	severity, proof := c.Severity, lint.Contract
	if severity == lint.Off {
		severity = lint.Warning
		if level == Must {
			severity = lint.Error
		}
	}
	if level == Practice {
		proof = lint.Practice
	}
	c.Rule = lint.Rule{
		ID: id, Name: name, Since: "v0.1.0", Title: title, Severity: severity, Proof: proof, Source: source, Why: why, Fix: fix,
		Scope: lint.ScopeLive, Command: "contract replay", Example: sentence(c.Violation) + "." + c.needs(),
	}
	c.Level = level
	if c.Risk == "" {
		c.Risk = Low
	}
	return &c
}

// severity sets one that the level does not give.
func severity(s lint.Severity) lint.Rule { return lint.Rule{Severity: s} }

// sentence begins with a capital letter.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// needs says what has to happen for the check to decide.
func (c *Check) needs() string {
	out := ""
	if c.Action != "" {
		out += " To decide: " + c.Action + "."
	}
	if c.Within != None {
		out += " Bound: " + string(c.Within) + "."
	}
	if c.Beware != "" {
		out += " A false alarm may come from " + strings.TrimSuffix(c.Beware, ".") + "."
	}
	return out
}
