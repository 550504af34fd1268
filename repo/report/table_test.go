package report

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
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

// TestEnums compares the words in the tags of fields with the constants that they name.
func TestEnums(t *testing.T) {
	for _, tt := range []struct {
		body        any
		field       string
		first, last fmt.Stringer
	}{
		{jsonFinding{}, "Severity", lint.Info, lint.Error},
		{jsonRule{}, "Severity", lint.Info, lint.Error},
		{contractField{}, "Need", contract.Optional, contract.Must},
		{jsonHook{}, "Level", extension.Discover, extension.All},
	} {
		f, _ := reflect.TypeOf(tt.body).FieldByName(tt.field)
		var want []string
		last := reflect.ValueOf(tt.last).Convert(reflect.TypeFor[int]()).Int()
		for i := reflect.ValueOf(tt.first).Convert(reflect.TypeFor[int]()).Int(); i <= last; i++ {
			want = append(want, word(reflect.TypeOf(tt.last), i))
		}
		if got := strings.Split(f.Tag.Get("enum"), ","); !slices.Equal(got, want) {
			t.Errorf("%T.%s has %q, its constants are %q", tt.body, tt.field, got, want)
		}
		func() {
			defer func() { _ = recover() }()
			t.Errorf("%T has a further constant, %s", tt.last, word(reflect.TypeOf(tt.last), last+1))
		}()
	}
}

// word is what a constant of a type is called; it panics if there is none.
func word(t reflect.Type, n int64) string {
	return reflect.ValueOf(n).Convert(t).Interface().(fmt.Stringer).String()
}

func TestWithLists(t *testing.T) {
	type inner struct{ List []string }
	type body struct {
		inner
		Lists []inner
		At    *inner
		Not   []string `json:"-"`
		None  *inner
	}
	got := WithLists(body{Lists: []inner{{}}, At: &inner{}})
	want := body{inner: inner{[]string{}}, Lists: []inner{{[]string{}}}, At: &inner{[]string{}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, want %#v", got, want)
	}
}
