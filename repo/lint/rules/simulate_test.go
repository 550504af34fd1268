package rules_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestSimulations makes small providers by chance and compares the findings
// about versions with what clusterctl's commands would do.
func TestSimulations(t *testing.T) {
	share.SkipInRace(t)
	names := []string{"v1.0.0", "v1.0.1", "v1.1.0", "v1.1.0-rc.0", "v1.2.0", "v1.2.0-alpha.1", "v2.0.0", "2.1.0", "v0.9.0"}
	all := []string{"0.9 v1beta1", "1.0 v1beta1", "1.0 v1beta2", "1.1 v1beta2", "1.2 v1beta2", "2.0 v1beta2", "2.0 v1beta3", "2.1 v1beta2"}
	seen := map[string]int{}
	worlds := share.Of(250, 1000)
	for seed := range uint64(worlds) {
		r := rand.New(rand.NewPCG(seed, 1))
		id := layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
		p := &repo.Provider{Provider: id, Path: "infrastructure-foo"}
		files := map[string][]byte{}
		for _, i := range r.Perm(len(names))[:1+r.IntN(4)] {
			release := &repo.Release{Provider: id, Version: names[i], Path: p.Path + "/" + names[i]}
			release.Artifacts = append(release.Artifacts, repo.BytesArtifact("infrastructure-components.yaml", nil))
			if r.IntN(8) > 0 {
				text := "apiVersion: " + metadata.APIVersion + "\nkind: Metadata\nreleaseSeries:\n"
				if r.IntN(10) == 0 {
					text = "apiVersion: v1\nkind: Metadata\nreleaseSeries:\n"
				}
				for _, j := range r.Perm(len(all))[:2+r.IntN(5)] {
					number, contract, _ := strings.Cut(all[j], " ")
					major, minor, _ := strings.Cut(number, ".")
					text += fmt.Sprintf("- major: %s\n  minor: %s\n  contract: %s\n", major, minor, contract)
				}
				files[names[i]] = []byte(text)
				release.Artifacts = append(release.Artifacts, repo.BytesArtifact(layouts.MetadataFile, []byte(text)))
			}
			p.Releases = append(p.Releases, release)
		}
		slices.SortFunc(p.Releases, func(a, b *repo.Release) int {
			x, _ := layouts.ParseVersion(a.Version)
			y, _ := layouts.ParseVersion(b.Version)
			return x.Compare(y)
		})
		versions := phrase.List(p.Releases, func(release *repo.Release) string { return release.Version })
		report, err := lint.Run(context.Background(), &repo.Repository{Providers: []*repo.Provider{p}}, lint.Options{Rules: rules.All})
		given.NoError(t, err)
		found := map[string]bool{}
		for _, f := range report.Findings {
			if f.Severity == lint.Error || f.Rule.ID == "META011" {
				found[f.Rule.ID] = true
			}
		}
		fetch := func(version string) ([]byte, error) {
			if data, ok := files[version]; ok {
				return data, nil
			}
			return nil, errors.New("no such file")
		}
		explain := func(what string, fails bool, ids ...string) {
			t.Helper()
			explained := slices.ContainsFunc(ids, func(id string) bool { return found[id] })
			if fails && !explained {
				t.Errorf("seed %d, %v: %s, but none of %v was found", seed, versions, what, ids)
			}
			for _, id := range ids {
				if fails && found[id] {
					seen[id]++
				}
			}
		}
		latest, err := metadata.Latest(versions, fetch)
		explain(fmt.Sprintf("latest fails (%v)", err), err != nil, "META012", "REPO002", "REPO003")
		if err == nil && found["META012"] {
			t.Errorf("seed %d, %v: META012, but latest is %s", seed, versions, latest)
		}
		stable := slices.ContainsFunc(versions, func(v string) bool { return !strings.Contains(v, "-") })
		if early := err == nil && strings.Contains(latest, "-") && stable; early != found["META011"] {
			t.Errorf("seed %d, %v: latest is %s, META011 %v", seed, versions, latest, found["META011"])
		}
		broken := false
		for _, installed := range versions[:len(versions)-1] {
			err := upgrades(installed, versions, fetch)
			explain(fmt.Sprintf("no upgrade from %s (%v)", installed, err), err != nil, "META001", "META006", "META009", "REPO002", "REPO003")
			broken = broken || err != nil
		}
		if !broken && found["META009"] {
			t.Errorf("seed %d, %v: META009, but every upgrade can be planned", seed, versions)
		}
	}
	for _, id := range []string{"META009", "META012", "REPO002", "REPO003"} {
		if seen[id] < worlds/100 {
			t.Errorf("%s explained a failure only %d times", id, seen[id])
		}
	}
}

// upgrades returns why "clusterctl upgrade plan" refuses a version that is installed: the
// newest metadata must have its series and those of all newer versions (clusterctl
// client/cluster/upgrader_info.go, getUpgradeInfo).
func upgrades(installed string, versions []string, fetch func(version string) ([]byte, error)) error {
	newest := versions[len(versions)-1]
	data, err := fetch(newest)
	if err != nil {
		return err
	}
	m, err := metadata.ReadValid(yamldoc.NewFile(layouts.MetadataFile, data), "infrastructure-foo")
	if err != nil {
		return err
	}
	for _, v := range versions[slices.Index(versions, installed):] {
		parsed, err := layouts.ParseVersion(v)
		if err != nil {
			return err
		}
		if m.SeriesOf(parsed.Major(), parsed.Minor()) == nil {
			return fmt.Errorf("%s has no series in %s", v, newest)
		}
	}
	return nil
}
