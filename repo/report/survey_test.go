package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// What a survey lacks stands at its beginning, and the document is read as it was.
func TestReadSurvey(t *testing.T) {
	s := &inventory.Survey{Source: "x", Newest: 2, Shard: &inventory.Shard{Index: 1, Of: 2}, Providers: []inventory.Provider{
		{Subject: "a", Failure: "not found"},
		{Subject: "b", Releases: []inventory.Release{{Version: "v1.0.0", Unread: "no metadata"}, {Version: "v0.9.0"}}},
	}}
	var first, again bytes.Buffer
	given.NoError(t, WriteSurvey(&first, "json", s))
	var begin head
	if err := json.Unmarshal(first.Bytes(), &begin); err != nil || !slices.Equal(begin.Failures, []string{"a: not found", "b v1.0.0: no metadata"}) {
		t.Errorf("%v, failures: %q", err, begin.Failures)
	}
	read := given.Value(ReadSurvey("x.json", first.Bytes()))(t)
	if err := WriteSurvey(&again, "json", read); err != nil || first.String() != again.String() {
		t.Errorf("%v\n%s\n%s", err, first.String(), again.String())
	}
}

func TestReadSurveyRefuses(t *testing.T) {
	for _, data := range []string{
		"", "{}", `{"kind": "lint", "schemaVersion": 1, "source": "x", "providers": []}`,
		`{"kind": "survey", "schemaVersion": 2, "source": "x", "providers": []}`,
		`{"kind": "survey", "schemaVersion": 1, "source": "x", "providers": [], "shard": {"index": 3, "of": 2}}`,
	} {
		if _, err := ReadSurvey("x.json", []byte(data)); err == nil || !strings.Contains(err.Error(), "x.json") {
			t.Errorf("%q: %v", data, err)
		}
	}
}
