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
		_ = writeTable(&got, rows)
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
