package report

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
)

// A table of lines looks as tabwriter would write it.
func TestTable(t *testing.T) {
	for name, rows := range map[string][][]string{
		"plain":       {{"A", "LONGER", "C"}, {"long cell", "", "x"}, {"", "y", ""}},
		"characters":  {{"ä", "b"}, {"漢字", "c"}, {"e\u0301", "d"}},
		"one column":  {{"a"}, {"bb"}},
		"no rows":     {},
		"empty cells": {{"", ""}, {"", ""}},
	} {
		var got, want strings.Builder
		_ = WriteTable(&got, rows, 0)
		w := tabwriter.NewWriter(&want, 0, 0, spacing, ' ', 0)
		for _, row := range rows {
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
		w.Flush()
		if got.String() != want.String() {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got.String(), want.String())
		}
	}
}

// On a terminal the last cells end where the line does.
func TestTableOnTerminal(t *testing.T) {
	const long = "one two three four five six seven eight nine ten eleven"
	const address = "https://cluster-api.sigs.k8s.io/developer/providers/contracts"
	var got strings.Builder
	_ = WriteTable(&got, [][]string{{"RULE", "TITLE"}, {"A1", long}, {"A2", "short"}, {"A3", address}, {"A4"}}, 60)
	const want = "RULE  TITLE\nA1    one two three four five six seven eight nine ten elev…\nA2    short\nA3    " + address + "\nA4\n"
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	got.Reset()
	_ = WriteTable(&got, [][]string{{long, long}}, 10)
	if got.String() != long+"  one two three four …\n" {
		t.Errorf("in a narrow terminal: %s", got.String())
	}
}
