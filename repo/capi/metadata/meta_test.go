package metadata

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var foo = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}

const header = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n"

func file(content string) *yamldoc.File { return yamldoc.NewFile("metadata.yaml", []byte(content)) }

func TestCheckTellsThePlace(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"contract":           {header + "releaseSeries:\n- major: 1\n  minor: 2\n  contract: v1alpha4\n", "metadata.yaml:6:13: current version of clusterctl"},
		"no contract":        {header + "releaseSeries:\n- major: 1\n  minor: 2\n", "metadata.yaml:4:3: current version of clusterctl"},
		"version not listed": {header + "releaseSeries:\n- major: 1\n  minor: 3\n", "metadata.yaml:4:1: invalid provider metadata: version v1.2.3 for the provider foo does not match"},
		"wrong type":         {header + "releaseSeries:\n- {major: 1, minor: 2}\n- {major: 1, minor: '3'}\n", "metadata.yaml:5:21: error decoding"},
		"wrong apiVersion":   {"kind: Metadata\napiVersion: x/v1\n", `metadata.yaml:2:13: error decoding "metadata.yaml" for provider "infrastructure-foo": no kind "Metadata" is registered for version "x/v1"`},
		"wrong kind":         {"apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Foo\n", "metadata.yaml:2:7: error decoding"},
		"no apiVersion":      {"kind: Metadata\n", "metadata.yaml:1:1: invalid provider metadata: unexpected apiVersion"},
		"empty":              {"", "metadata.yaml: invalid provider metadata: unexpected apiVersion"},
		"no series":          {header + "releaseSeries: []\n", "metadata.yaml:3:16: invalid provider metadata: releaseSeries is empty"},
		"syntax":             {header + "a: ]\n", "metadata.yaml:3:4: error decoding"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(file(c.content), foo, "v1.2.3")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestSeries(t *testing.T) {
	m, err := Read(file(header + `releaseSeries:
- {major: 1, minor: 2, contract: v1beta1}
- {major: 1, minor: 2, contract: v1beta2}
- {major: 1, minor: 10, contract: v1beta2}
- {major: 1, minor: 9, contract: v1beta2}
- {major: -1, minor: 0, contract: v1beta1}
`))
	given.NoError(t, err)
	if s := m.SeriesOf(1, 2); s == nil || s.Contract != "v1beta1" || s.Pos.Line != 4 {
		t.Errorf("the first of equal series must count: %v", s)
	}
	if s := m.SeriesOf(1<<32+1, 2); s != nil {
		t.Errorf("a version too large for any series has %v", s)
	}
	if s := m.NewestSeries("v1beta2"); s == nil || s.String() != "1.10" {
		t.Errorf("newest series %v", s)
	}
	if s := m.NewestSeries("v1beta3"); s != nil {
		t.Errorf("there is no series of v1beta3: %v", s)
	}
}

// On GitHub there are tags without a release; test/oracle has no such place.
func TestLatestSkipsTagsWithoutRelease(t *testing.T) {
	metadata := []byte(header + "releaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n")
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		tags int // newer versions that are tags only
		err  error
		want string
	}{
		"none": {0, nil, "v1.0.0"},
		"four": {4, nil, "v1.0.0"},
		"five": {5, nil, ""},
		"any":  {1, broken, ""},
	} {
		t.Run(name, func(t *testing.T) {
			versions := []string{"v1.0.0"}
			for i := range c.tags {
				versions = append(versions, fmt.Sprintf("v1.0.%d", i+1))
			}
			got, err := Latest(versions, func(v string) ([]byte, error) {
				switch {
				case v == "v1.0.0":
					return metadata, nil
				case c.err != nil:
					return nil, c.err
				}
				return nil, fmt.Errorf("%s: %w", v, ErrNoRelease)
			})
			if got != c.want || (err == nil) != (c.want != "") || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
