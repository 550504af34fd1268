package schema_test

import (
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
	"github.com/clusterctl-repo/clusterctl-repo/repo/schema"
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
	parse := func(text string) *doc.Node { return doc.Parse(doc.NewFile("", []byte(text))).Docs[0].Root }
	s := crd.Schema{Node: parse(text)}
	for _, tc := range []struct {
		value                   string
		plain, filled, received []schema.Fault
	}{
		{`{plain: a, filled: b, nullable: c}`, nil, nil, nil},
		{`{plain: a, nullable: c}`, []schema.Fault{schema.Missing}, nil, nil},
		{`{plain: a, filled: null, nullable: null}`, []schema.Fault{schema.Type}, nil, nil},
		{`{plain: null, filled: b, nullable: c}`, []schema.Fault{schema.Type}, []schema.Fault{schema.Type}, []schema.Fault{schema.Missing}},
		{`{plain: a, filled: b}`, []schema.Fault{schema.Missing}, []schema.Fault{schema.Missing}, []schema.Fault{schema.Missing}},
		{`{plain: a, filled: b, nullable: c, other: null}`, []schema.Fault{schema.Type}, []schema.Fault{schema.Type}, nil},
	} {
		for _, mode := range []struct {
			checker *schema.Checker
			want    []schema.Fault
		}{
			{&schema.Checker{}, tc.plain},
			{&schema.Checker{Filled: true}, tc.filled},
			{&schema.Checker{Received: true}, tc.received},
		} {
			var got []schema.Fault
			for _, v := range mode.checker.Check(s, parse(tc.value), true) {
				got = append(got, v.Fault)
			}
			if !slices.Equal(got, mode.want) {
				t.Errorf("%s, filled %v, received %v: %v, want %v", tc.value, mode.checker.Filled, mode.checker.Received, got, mode.want)
			}
		}
	}
}
