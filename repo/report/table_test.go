package report

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
)

// A table looks as tabwriter would write it.
func TestTable(t *testing.T) {
	for name, rows := range map[string][][]string{
		"plain":       {{"A", "LONGER", "C"}, {"long cell", "", "x"}, {"", "y", ""}},
		"characters":  {{"ä", "b"}, {"漢字", "c"}, {"e\u0301", "d"}},
		"uneven":      {{"a", "b", "c"}, {"long"}, {"d", "long too", "e"}},
		"one column":  {{"a"}, {"bb"}},
		"odd":         {{"a\tb", "c"}, {"d", "e"}},
		"not UTF-8":   {{"a\xffb\xff", "c"}, {"d", "e"}},
		"no rows":     {},
		"empty cells": {{"", ""}, {"", ""}},
	} {
		var got, want strings.Builder
		table(&got, rows)
		w := tabwriter.NewWriter(&want, 0, 0, gap, ' ', 0)
		for _, row := range rows {
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
		w.Flush()
		if got.String() != want.String() {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got.String(), want.String())
		}
	}
}
