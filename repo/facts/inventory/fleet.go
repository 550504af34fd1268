package inventory

import (
	"cmp"
	"fmt"
	"slices"
)

// Survey is the result of one run, or of a shard of it.
type Survey struct {
	Program   string     `json:"program" doc:"the version of clusterctl-repo"`
	Newest    int        `json:"newest" doc:"how many versions of each provider were checked at most"`
	Subjects  int        `json:"subjects" doc:"how many providers the source names; a shard has only some of them"`
	Source    string     `json:"source" doc:"a digest of the names of the providers; shards of one survey agree in it"`
	Shard     *Shard     `json:"shard,omitempty" doc:"which part of the survey this is; absent if it is all of it"`
	Providers []Provider `json:"providers" doc:"an entry for each provider, by subject and label"`
}

// Shard is a part of a run.
type Shard struct {
	Index int `json:"index" doc:"the number of the part, from 1"`
	Of    int `json:"of" doc:"the number of parts"`
}

// String writes the shard as the flag --shard takes it.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Has reports whether the shard has the i-th subject, from 0.
func (s Shard) Has(i int) bool { return i%s.Of == s.Index-1 }

// Provider is what was found of one provider.
type Provider struct {
	Subject        string    `json:"subject" doc:"what the source names: a URL, or a label in a folder"`
	Label          string    `json:"label" doc:"the provider label; empty if it is not known"`
	Versions       int       `json:"versions" doc:"how many versions the place has"`
	WithoutRelease []string  `json:"withoutRelease" doc:"versions that the place lists but that cannot be read, such as tags without a release"`
	Upgrade        *Upgrade  `json:"upgrade,omitempty" doc:"what clusterctl upgrade plan proposes for the oldest checked version; absent if it was not asked"`
	Releases       []Release `json:"releases" doc:"the newest versions, newest first"`
	Failure        string    `json:"failure,omitempty" doc:"why the provider could not be surveyed; absent if it was"`
}

// Upgrade is what `clusterctl upgrade plan` would say.
type Upgrade struct {
	From    string `json:"from" doc:"the oldest checked version"`
	To      string `json:"to" doc:"the version that would be proposed; empty if there is none"`
	Problem string `json:"problem,omitempty" doc:"why the plan would fail; absent if it would not"`
}

// Release is what was found of one version.
type Release struct {
	Version   string     `json:"version" doc:"the version of the release"`
	Contracts []Contract `json:"contracts" doc:"how ready it is for each contract"`
	Errors    int        `json:"errors" doc:"findings of severity error"`
	Warnings  int        `json:"warnings" doc:"findings of severity warning"`
	Infos     int        `json:"infos" doc:"findings of severity info, which are not listed"`
	Findings  []Finding  `json:"findings" doc:"the findings of severity error and warning"`
	Images    []string   `json:"images" doc:"the images that it uses, each once"`
	Unread    string     `json:"unread,omitempty" doc:"why the release could not be checked completely; absent if it was"`
}

// Contract is how ready a release is for a contract of Cluster API.
type Contract struct {
	Name     string   `json:"contract" doc:"the contract, such as v1beta2"`
	Declared bool     `json:"declared" doc:"a CRD has the label of the contract"`
	Ready    bool     `json:"ready" doc:"nothing is missing"`
	Missing  []string `json:"missing" doc:"the fields that the contract demands but the CRDs lack, as KIND PATH"`
}

// Finding is one of lint.
type Finding struct {
	Rule        string `json:"rule" doc:"the ID of the rule; clusterctl-repo explain ID tells more"`
	Severity    string `json:"severity" doc:"how bad it is" enum:"severity"`
	File        string `json:"file" doc:"the name of the file in the release"`
	Line        int    `json:"line,omitempty" doc:"the line, from 1; absent if it is about the whole file"`
	Message     string `json:"message" doc:"what is wrong here"`
	Fingerprint string `json:"fingerprint" doc:"identifies the fault; the next version has the same value if it still has the fault"`
}

// Sort puts the providers in their order.
func (s *Survey) Sort() {
	slices.SortFunc(s.Providers, func(a, b Provider) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Label, b.Label))
	})
}

// Failed counts the providers that could not be surveyed.
func (s *Survey) Failed() int {
	n := 0
	for _, p := range s.Providers {
		if p.Failure != "" {
			n++
		}
	}
	return n
}

// Failures say what the survey lacks: providers and releases that could not be read.
func (s *Survey) Failures() []error {
	var out []error
	for _, p := range s.Providers {
		if p.Failure != "" {
			out = append(out, fmt.Errorf("%s: %s", p.Subject, p.Failure))
		}
		for _, r := range p.Releases {
			if r.Unread != "" {
				out = append(out, fmt.Errorf("%s %s: %s", p.Subject, r.Version, r.Unread))
			}
		}
	}
	return out
}

// Merge joins the shards of one run to what a single run gives. The error names the
// shards that are missing, twice, or of another run. Names are those of files.
func Merge(shards []*Survey, names []string) (*Survey, error) {
	if len(shards) == 0 {
		return nil, fmt.Errorf("there are no shards to merge")
	}
	first := shards[0]
	out := *first
	out.Shard, out.Providers = nil, []Provider{}
	seen := map[int]string{}
	for i, s := range shards {
		switch {
		case s.Shard == nil:
			return nil, fmt.Errorf("%s is not a shard but a whole survey", names[i])
		case s.Source != first.Source || s.Subjects != first.Subjects:
			return nil, fmt.Errorf("%s and %s are shards of different sources", names[0], names[i])
		case s.Program != first.Program || s.Newest != first.Newest:
			return nil, fmt.Errorf("%s and %s were made by different programs or with another --newest", names[0], names[i])
		case s.Shard.Of != first.Shard.Of:
			return nil, fmt.Errorf("%s is shard %s, and %s is shard %s", names[0], first.Shard, names[i], s.Shard)
		case seen[s.Shard.Index] != "":
			return nil, fmt.Errorf("%s and %s are both shard %s", seen[s.Shard.Index], names[i], s.Shard)
		}
		seen[s.Shard.Index] = names[i]
		out.Providers = append(out.Providers, s.Providers...)
	}
	var missing []string
	for i := 1; i <= first.Shard.Of; i++ {
		if seen[i] == "" {
			missing = append(missing, Shard{i, first.Shard.Of}.String())
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("shards are missing: %v", missing)
	}
	out.Sort()
	return &out, nil
}
