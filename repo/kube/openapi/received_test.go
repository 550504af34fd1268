package openapi_test

import (
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/openapi"
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
		plain, filled, received []openapi.Fault
	}{
		{`{plain: a, filled: b, nullable: c}`, nil, nil, nil},
		{`{plain: a, nullable: c}`, []openapi.Fault{openapi.Missing}, nil, nil},
		{`{plain: a, filled: null, nullable: null}`, []openapi.Fault{openapi.Type}, nil, nil},
		{`{plain: null, filled: b, nullable: c}`, []openapi.Fault{openapi.Type}, []openapi.Fault{openapi.Type}, []openapi.Fault{openapi.Missing}},
		{`{plain: a, filled: b}`, []openapi.Fault{openapi.Missing}, []openapi.Fault{openapi.Missing}, []openapi.Fault{openapi.Missing}},
		{`{plain: a, filled: b, nullable: c, other: null}`, []openapi.Fault{openapi.Type}, []openapi.Fault{openapi.Type}, nil},
	} {
		for _, mode := range []struct {
			checker *openapi.Checker
			want    []openapi.Fault
		}{
			{&openapi.Checker{}, tc.plain},
			{&openapi.Checker{Filled: true}, tc.filled},
			{&openapi.Checker{Received: true}, tc.received},
		} {
			var got []openapi.Fault
			for _, v := range mode.checker.Check(s, parse(tc.value), true) {
				got = append(got, v.Fault)
			}
			if !slices.Equal(got, mode.want) {
				t.Errorf("%s, filled %v, received %v: %v, want %v", tc.value, mode.checker.Filled, mode.checker.Received, got, mode.want)
			}
		}
	}
}
