package contract

import (
	"testing"
)

func TestParseCore(t *testing.T) {
	for s, want := range map[string]int{"1.14": 14, "v1.14": 14, "v1.13.6": 13, "1.12.0": 12, "v1.11": 11} {
		if got, err := ParseCore(s); got != want || err != nil {
			t.Errorf("%s: %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "1", "v2.14", "1.10", "1.15", "1.14x", "1.14.2.3", "v1.14.2-rc.1", "1.-14", "latest"} {
		if got, err := ParseCore(s); err == nil {
			t.Errorf("%q: %d", s, got)
		}
	}
}

func TestParseContract(t *testing.T) {
	if c, err := ParseContract("v1beta2"); err != nil || c.Label() != "cluster.x-k8s.io/v1beta2" {
		t.Error(c, err)
	}
	for _, s := range []string{"", "v1alpha4", "V1Beta2"} {
		if _, err := ParseContract(s); err == nil {
			t.Errorf("%q", s)
		}
	}
}
