package repo_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

func TestUnambiguousJSON(t *testing.T) {
	for _, good := range []string{
		`{}`, `[]`, `null`, `"a"`, `1`, `{"a": {"a": {"a": []}}, "b": [{"a": 1}, {"a": 2}], "c": "a"}`, `["a", "a"]`, `{"a": "a", "b": "a"}`,
	} {
		if err := repo.UnambiguousJSON([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		`{"a": 1, "a": 1}`:                     `"a" and "a"`,
		`{"a": 1, "b": {}, "A": 2}`:            `"a" and "A"`,
		`[{"x": [{"sub": 1, "\u017Fub": 2}]}]`: "readers differ in which one they use",
		`{"a": {"b": 1}, "c": 2, "\u0061": 3}`: `"a" and "a"`,
		"{\"a\xff\": 1}":                       "UTF-8",
		`{"a": 1`:                              "EOF",
		`{"a": 1}}`:                            "invalid character",
	} {
		if err := repo.UnambiguousJSON([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}
