package behaviour

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// Prefix begins the IDs of checks; Title says what they are about.
const (
	Prefix = "BEH"
	Title  = "Behaviour of controllers"
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
	resumed func(*change) // and is not any more
}

// Example says in prose what the check finds.
func (c *Check) Example() string { return "A violation: " + c.Violation }

// All are the checks, by number. It must not be changed.
var All = slices.Concat(objectChecks, clusterChecks, machineChecks, poolChecks, bootstrapChecks, controlPlaneChecks, ipamChecks, coreChecks)

// Rules are the checks as rules, for the catalogue.
func Rules() []*lint.Rule {
	out := make([]*lint.Rule, len(All))
	for i, c := range All {
		out[i] = &c.Rule
	}
	return out
}

// ByID finds a check, or returns nil.
func ByID(id string) *Check {
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
	c.Rule = lint.Rule{ID: id, Name: name, Title: title, Severity: severity, Proof: proof, Source: source, Why: why, Fix: fix}
	c.Level = level
	if c.Risk == "" {
		c.Risk = Low
	}
	return &c
}

// severity sets one that the level does not give.
func severity(s lint.Severity) lint.Rule { return lint.Rule{Severity: s} }
