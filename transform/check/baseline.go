package check

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Fingerprints reads the fingerprints of the findings in a report of lint in
// JSON. Name is that of the file, for errors.
func Fingerprints(name string, data []byte) (map[string]bool, error) {
	var r struct {
		SchemaVersion int              `json:"schemaVersion"`
		Summary       *json.RawMessage `json:"summary"`
		Findings      *[]struct {
			Rule        string `json:"rule"`
			Fingerprint string `json:"fingerprint"`
			Also        []struct {
				Fingerprint string `json:"fingerprint"`
			} `json:"also"`
		} `json:"findings"`
	}
	hint := "create one with: clusterctl-repo lint TARGET -o json=FILE"
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%s is empty, not a report of lint in JSON; %s", name, hint)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s is not a report of lint in JSON: %w; %s", name, err, hint)
	}
	switch {
	case r.Findings == nil || r.Summary == nil:
		return nil, fmt.Errorf("%s is not a report of lint: it has no findings and summary; %s", name, hint)
	case r.SchemaVersion != 1:
		return nil, fmt.Errorf("%s: unsupported schemaVersion %d (supported: 1); %s", name, r.SchemaVersion, hint)
	}
	out := map[string]bool{}
	for i, f := range *r.Findings {
		if f.Fingerprint == "" || f.Rule == "" {
			return nil, fmt.Errorf("%s is not a report of lint: findings[%d] has no rule and fingerprint; %s", name, i, hint)
		}
		out[f.Fingerprint] = true
		for _, p := range f.Also {
			out[p.Fingerprint] = true
		}
	}
	return out, nil
}
