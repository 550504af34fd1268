// Package checks is the catalogue of what a running extension is checked for: the
// family LIV, as rules like those of repo/lint/rules, with the level at which each runs
// and an example of what it finds.
//
// It must not know the network, nor how anything is checked (repo/extension/probe).
package checks

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

type check struct {
	lint.Rule
	// Level is the lowest at which it runs.
	Level extension.Level
}

// Family are the checks as rules of the catalogue.
var Family = func() *lint.Family {
	f := &lint.Family{Prefix: "LIV", Title: "Running extensions"}
	for _, c := range All {
		f.Rules = append(f.Rules, &c.Rule)
	}
	return f
}()

//go:embed checks.txt
var table string

// All are the checks by their number. It must not be changed.
var All = parse(table)

// parse reads checks, with a blank line before each.
func parse(table string) (out []*check) {
	for _, text := range strings.Split(table, "\n\n")[1:] {
		lines := strings.Split(text, "\n")
		words := strings.Fields(lines[0])
		level, known := extension.ParseLevel(words[2])
		severity, err := lint.ParseSeverity(words[3])
		if !known || err != nil {
			panic("checks.txt: " + lines[0]) // it is part of the program
		}
		out = append(out, &check{lint.Rule{
			ID: words[0], Name: words[1], Since: "v0.1.0", Severity: severity, Proof: lint.Proof(words[4]),
			Title: lines[1], Source: lines[2], Why: lines[3], Fix: lines[4], Example: lines[5],
			Command: "extension check --level " + words[2],
		}, level})
	}
	return out
}

// Advice says what to do about a finding, and what the contract says with its
// source.
func (c *check) Advice() string {
	label := "The contract"
	if c.Proof == lint.Practice {
		label = "Good practice"
	}
	return fmt.Sprintf("%s %s: %s (%s).", c.Fix, label, c.Title, c.Source)
}

// ByID finds a check by its ID, in any case and also with a dash after the family,
// or by its name, or returns nil.
func ByID(word string) *check {
	id := lint.NormalizeID(word)
	i := slices.IndexFunc(All, func(c *check) bool { return c.ID == id || strings.EqualFold(c.Name, word) })
	if i < 0 {
		return nil
	}
	return All[i]
}
