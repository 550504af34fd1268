package metadata

import (
	"errors"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// test/oracle compares these verdicts with clusterctl's on many more inputs;
// here are the smallest ones, each for one decision.

func read(t *testing.T, series string) *Metadata {
	t.Helper()
	m := given.Value(Read(file(header + "releaseSeries:\n" + series)))(t)
	return m
}

func TestReadDecidesWhatAFileIs(t *testing.T) {
	const series = "releaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n"
	for content, want := range map[string]string{
		header + series: "",
		"APIVERSION: clusterctl.cluster.x-k8s.io/v1alpha3\nKIND: Metadata\n" + series:                           `unexpected apiVersion ""`,
		"apiVersion: clusterctl.cluster.x-k8s.io/\nkind: Metadata\n" + series:                                   "unexpected apiVersion \"clusterctl.cluster.x-k8s.io/\"",
		"apiVersion: /\nkind: Metadata\n" + series:                                                              `unexpected apiVersion "/"`,
		"apiVersion: a/b/c\nkind: Metadata\n" + series:                                                          "1:13: error decoding \"metadata.yaml\" for provider \"x\": unexpected GroupVersion string: a/b/c",
		"apiVersion: v1alpha3\nkind: Metadata\n" + series:                                                       `1:13: error decoding "metadata.yaml" for provider "x": no kind "Metadata" is registered for version "v1alpha3"`,
		"apiVersion: other/\nkind: Metadata\n" + series:                                                         "1:13: error decoding \"metadata.yaml\" for provider \"x\": Object 'apiVersion' is missing",
		"apiVersion: clusterctl.cluster.x-k8s.io/v1\nkind: Metadata\n" + series:                                 `1:13: error decoding "metadata.yaml" for provider "x": no kind "Metadata" is registered for version "clusterctl.cluster.x-k8s.io/v1"`,
		"apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: X\n" + series:                                  `2:7: error decoding "metadata.yaml" for provider "x": no kind "X" is registered for version "clusterctl.cluster.x-k8s.io/v1alpha3"`,
		"apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\n" + series:                                           "",
		"apiVersion: 1\nkind: Metadata\n":                                                                       "couldn't get version/kind; json parse error",
		header + "metadata: {creationTimestamp: 2020-01-01T00:00:00Z, deletionTimestamp: null}\n" + series:      "",
		header + "metadata: {creationTimestamp: null}\n" + series:                                               "",
		header + "metadata: {creationTimestamp: yesterday}\n" + series:                                          "1:1: error decoding",
		header + "metadata: {creationTimestamp: 5}\n" + series:                                                  "3:31: error decoding",
		header + "metadata: {labels: {a: 1}}\n" + series:                                                        "3:24: error decoding",
		"  {\"apiVersion\": \"clusterctl.cluster.x-k8s.io/v1alpha3\", \"releaseSeries\": [{\"major\": 1}]}\n":   "",
		"  {\"apiVersion\": \"clusterctl.cluster.x-k8s.io/v1alpha3\", \"releaseSeries\": [{\"major\": 1}]} x\n": "error decoding",
		header + "releaseSeries: []\n":                                                                          "3:16: invalid provider metadata: releaseSeries is empty in metadata.yaml for provider x",
	} {
		_, err := ReadValid(file(content), "x")
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", content, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q:\ngot  %v\nwant %s", content, err, want)
		}
	}
}

func TestCheckDecidesByContract(t *testing.T) {
	for _, c := range []struct{ series, version, want string }{
		{"- {major: 1, minor: 2, contract: v1beta2}\n", "v1.2.3", ""},
		{"- {major: 1, minor: 2, contract: v1beta1}\n", "v1.2.3", ""},
		{"- {major: 1, minor: 2, contract: v1alpha4}\n", "v1.2.3", "only compatible with provider implementing v1beta2, v1beta1 contract versions, detected v1alpha4 for provider foo"},
		{"- {major: 1, minor: 2, contract: v1beta2}\n", "v1.3.0", "does not match any release series"},
		{"- {major: 1, minor: 2, contract: v1beta2}\n", "v2.2.0", "does not match any release series"},
		{"- {major: 1, minor: 2, contract: v1beta2}\n", "latest", `could not parse "latest"`},
		{"- {major: 2147483647, minor: 2147483647, contract: v1beta2}\n", "v2147483647.2147483647.0", ""},
		{"- {major: 0, minor: 0, contract: v1beta2}\n", "v2147483648.0.0", "does not match any release series"},
		{"- {major: 0, minor: 0, contract: v1beta2}\n", "v0.2147483648.0", "does not match any release series"},
	} {
		err := Check(file(header+"releaseSeries:\n"+c.series), foo, c.version)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %s:\ngot  %v\nwant %s", c.version, c.series, err, c.want)
		}
	}
}

func TestLatestDecidesByContract(t *testing.T) {
	const old, current = "- {major: 1, minor: 0, contract: v1beta2}\n", "- {major: 1, minor: 1, contract: v1beta3}\n"
	gone := errors.New("gone")
	for name, c := range map[string]struct {
		versions string // the first is the one whose metadata is read
		metadata string
		want     string
	}{
		"a release comes before newer pre-releases": {"v1.0.0 v1.1.0-rc.1 v1.1.0-rc.0", old, "v1.0.0"},
		"of pre-releases the newest":                {"v1.1.0-rc.1 v1.1.0-rc.0 v1.0.0-rc.9", old + "- {major: 1, minor: 1, contract: v1beta2}\n", "v1.1.0-rc.1"},
		"order does not matter":                     {"v1.0.10 v1.0.9 v1.0.1 v1.0.2", old, "v1.0.10"},
		"numbers without v":                         {"1.0.1 1.0.0", old, "v1.0.1"},
		"what is no version is ignored":             {"v1.0.0 latest 1.0 nightly", old, "v1.0.0"},
		"the newest of the current contract":        {"v1.1.0 v1.0.3 v1.0.5", old + current, "v1.0.5"},
		"no series of the current contract":         {"v1.1.0 v1.0.3", "- {major: 1, minor: 0, contract: v1beta1}\n" + current, "v1.1.0"},
		"the newest is in the highest series":       {"v1.1.0 v1.0.0", old + "- {major: 1, minor: 1, contract: v1beta2}\n", "v1.1.0"},
		"a series of another major":                 {"v2.0.0 v1.0.1", old, "v1.0.1"},
		"no release of the series":                  {"v1.1.0", old + current, ""},
		"unreadable metadata":                       {"v1.1.0 v1.0.0", "- x\n", "v1.1.0"},
		"the first of equal versions":               {"v1.0.0+b v1.0.0+a", old, "v1.0.0+b"},
		"nothing":                                   {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			given := strings.Fields(c.versions)
			var asked []string
			got, err := Latest(given, func(v string) ([]byte, error) {
				asked = append(asked, v)
				if len(asked) > 2 {
					return nil, gone
				}
				return []byte(header + "releaseSeries:\n" + c.metadata), nil
			})
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v; asked for %v", got, err, asked)
			}
			if len(given) > 0 && asked[0] != "v"+strings.TrimPrefix(given[0], "v") {
				t.Errorf("asked for %v first", asked)
			}
			if strings.Join(given, " ") != c.versions {
				t.Errorf("the list was changed: %v", given)
			}
		})
	}
}

func TestNewestSeriesTakesTheLastOfEqualOnes(t *testing.T) {
	m := read(t, "- {major: 2, minor: 0, contract: v1beta2}\n- {major: 1, minor: 9, contract: v1beta2}\n- {major: 2, minor: 0, contract: v1beta2}\n")
	if s := m.NewestSeries("v1beta2"); s != &m.Series[2] {
		t.Errorf("got %v at %v", s, s.Pos)
	}
	if s := read(t, "- {major: 1, minor: 0, contract: v1beta2}\n- {major: -1, minor: 0, contract: v1beta2}\n").NewestSeries("v1beta2"); s.String() != "-1.0" {
		t.Errorf("negative numbers count as large: got %v", s)
	}
}
