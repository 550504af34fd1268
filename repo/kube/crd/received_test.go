package crd_test

import (
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// TestNulls says what happens to fields that are missing or null before a schema
// looks at them.
func TestNulls(t *testing.T) {
	const text = `type: object
required: [plain, filled, nullable]
properties:
  plain: {type: string}
  filled: {type: string, default: a}
  nullable: {type: string, nullable: true}
additionalProperties: {type: string}
`
	parse := func(text string) *yamldoc.Node { return yamldoc.Parse(yamldoc.NewFile("", []byte(text))).Docs[0].Root }
	s := crd.Schema{Node: parse(text)}
	for _, tc := range []struct {
		value                   string
		plain, filled, received []crd.Fault
	}{
		{`{plain: a, filled: b, nullable: c}`, nil, nil, nil},
		{`{plain: a, nullable: c}`, []crd.Fault{crd.Missing}, nil, nil},
		{`{plain: a, filled: null, nullable: null}`, []crd.Fault{crd.Type}, nil, nil},
		{`{plain: null, filled: b, nullable: c}`, []crd.Fault{crd.Type}, []crd.Fault{crd.Type}, []crd.Fault{crd.Missing}},
		{`{plain: a, filled: b}`, []crd.Fault{crd.Missing}, []crd.Fault{crd.Missing}, []crd.Fault{crd.Missing}},
		{`{plain: a, filled: b, nullable: c, other: null}`, []crd.Fault{crd.Type}, []crd.Fault{crd.Type}, nil},
	} {
		for _, mode := range []struct {
			checker *crd.Checker
			want    []crd.Fault
		}{
			{&crd.Checker{}, tc.plain},
			{&crd.Checker{Filled: true}, tc.filled},
			{&crd.Checker{Received: true}, tc.received},
		} {
			got := phrase.List(mode.checker.Check(s, parse(tc.value), true), func(v crd.Violation) crd.Fault { return v.Fault })
			if !slices.Equal(got, mode.want) {
				t.Errorf("%s, filled %v, received %v: %v, want %v", tc.value, mode.checker.Filled, mode.checker.Received, got, mode.want)
			}
		}
	}
}
