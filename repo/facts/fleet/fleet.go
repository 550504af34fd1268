// Package fleet holds what a survey finds of many providers: their versions,
// readiness for contracts, findings, images and upgrades, for one run or for a
// shard of it. It must not know how releases are read or judged.
package fleet

import (
	"cmp"
	"fmt"
	"slices"
)

// Survey is the result of one run, or of a shard of it.
type Survey struct {
	// Program is the version of the program that judged.
	Program string `json:"program"`
	// Newest is how many versions of each provider were checked.
	Newest int `json:"newest"`
	// Subjects is the number of providers that the source names, and Source a
	// digest of their names. Shards of one run agree in both.
	Subjects int    `json:"subjects"`
	Source   string `json:"source"`
	// Shard is nil for the whole.
	Shard *Shard `json:"shard,omitempty"`
	// Providers are sorted by subject, label and version.
	Providers []Provider `json:"providers"`
}

// Shard is a part of a run.
type Shard struct {
	Index int `json:"index"` // from 1
	Of    int `json:"of"`
}

// String writes the shard as the flag --shard takes it.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Has reports whether the shard has the i-th subject, from 0.
func (s Shard) Has(i int) bool { return i%s.Of == s.Index-1 }

// Provider is what was found of one provider.
type Provider struct {
	// Subject is what the source names: a URL, or a label in a folder.
	Subject string `json:"subject"`
	Label   string `json:"label"`
	// Versions is how many versions the place has.
	Versions int `json:"versions"`
	// WithoutRelease are versions that the place lists and nothing can be read of,
	// such as tags without a release.
	WithoutRelease []string `json:"withoutRelease"`
	// Upgrade is from the oldest checked version.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Releases are the newest ones, newest first.
	Releases []Release `json:"releases"`
	// Failure is why the provider could not be surveyed; empty if it was.
	Failure string `json:"failure,omitempty"`
}

// Upgrade is what `clusterctl upgrade plan` would say.
type Upgrade struct {
	From string `json:"from"`
	// To is the version it would propose; empty if there is none.
	To string `json:"to"`
	// Problem is why it would fail; empty if it would not.
	Problem string `json:"problem,omitempty"`
}

// Release is what was found of one version.
type Release struct {
	Version   string     `json:"version"`
	Contracts []Contract `json:"contracts"`
	Errors    int        `json:"errors"`
	Warnings  int        `json:"warnings"`
	Infos     int        `json:"infos"`
	// Findings are the errors and warnings.
	Findings []Finding `json:"findings"`
	Images   []string  `json:"images"`
	// Unread is why the release could not be checked whole; empty if it was.
	Unread string `json:"unread,omitempty"`
}

// Contract is how ready a release is for a contract of Cluster API.
type Contract struct {
	Name     string   `json:"contract"`
	Declared bool     `json:"declared"`
	Ready    bool     `json:"ready"`
	Missing  []string `json:"missing"`
}

// Finding is one of lint.
type Finding struct {
	Rule        string `json:"rule"`
	Severity    string `json:"severity"`
	File        string `json:"file"`
	Line        int    `json:"line,omitempty"`
	Message     string `json:"message"`
	Fingerprint string `json:"fingerprint"`
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
		return nil, fmt.Errorf("no shard to merge")
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
