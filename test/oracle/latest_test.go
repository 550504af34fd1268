package oracle

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// worlds is how many ten versions with their metadata are published in all orders.
var worlds = share.Of(1, 10)

// How far clusterctl gets with "latest".
const (
	usable = iota
	refused
	unresolved
)

// tenVersions makes up versions, some of them pre-releases, with the metadata.yaml
// of each: mostly right, or with series to come, without its own, with contracts
// that clusterctl does not know, or missing.
func tenVersions(random *rand.Rand) (names []string, metadata map[string]string) {
	metadata = map[string]string{}
	for len(metadata) < 10 {
		minor := random.IntN(4)
		name := fmt.Sprintf("v1.%d.%d%s", minor, random.IntN(2), pick(random, "", "", "", "-alpha.1", "-beta.0", "-rc.0", "-rc.10"))
		if _, ok := metadata[name]; ok {
			continue
		}
		var series []string
		for m := range minor {
			series = append(series, fmt.Sprintf("1.%d=v1beta2", m))
		}
		own := fmt.Sprintf("1.%d=", minor)
		kind := random.IntN(20)
		switch {
		case kind < 11:
			series = append(series, own+"v1beta2")
		case kind < 15:
			series = append(series, own+"v1beta2", fmt.Sprintf("1.%d=v1beta2", minor+1+random.IntN(2)))
		case kind < 16:
			series = append(series, "0.9=v1beta1")
		case kind < 17:
			series = append(series, own+"v1beta9")
		case kind < 18:
			series = []string{own + "v1beta9"}
		case kind < 19:
			series = []string{own + "v1beta1"}
		}
		metadata[name] = seriesOf(series...)
		if kind == 19 {
			metadata[name] = missing
		}
		names = append(names, name)
	}
	return names, metadata
}

// reach says how far clusterctl gets with "latest" in a folder.
func reach(t testing.TB, root string) int {
	t.Helper()
	r := real.Release{Root: root, Type: string(foo.Type), Name: foo.Name, Version: layouts.Latest, Components: "infrastructure-components.yaml"}
	if _, err := defaultVersion(t, r); err != nil {
		return unresolved
	}
	if _, err := generate(t, r, foo.Name); err != nil {
		return refused
	}
	return usable
}

// TestLatestInAllOrders publishes ten versions in all orders. What a step does
// depends on what is there and not on the order in which it came, so that each of
// the 1024 sets stands for all orders that lead to it.
func TestLatestInAllOrders(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(*seed, 15))
	verdicts := map[string]int{}
	for n := range worlds {
		names, metadata := tenVersions(random)
		releases := make([]*repo.Release, len(names))
		for i, name := range names {
			releases[i] = &repo.Release{Provider: foo, Version: name, Artifacts: []*repo.Artifact{repo.BytesArtifact("infrastructure-components.yaml", []byte(namespaceOnly))}}
			if metadata[name] != missing {
				releases[i].Artifacts = append(releases[i].Artifacts, repo.BytesArtifact(layouts.MetadataFile, []byte(metadata[name])))
			}
		}
		// at makes the folder that holds a set of the versions.
		at := func(set int) string {
			there := map[string]string{}
			for i, name := range names {
				if set&(1<<i) != 0 {
					there[name] = metadata[name]
				}
			}
			return write(t, versions(there))
		}
		reached := map[int]int{}
		reachOf := func(set int, root string) int {
			if _, ok := reached[set]; !ok {
				if root == "" {
					root = at(set)
					defer os.RemoveAll(root)
				}
				reached[set] = reach(t, root)
			}
			return reached[set]
		}
		seen := map[int]bool{}
		var walk func(set int)
		walk = func(set int) {
			if seen[set] {
				return
			}
			seen[set] = true
			root := at(set)
			defer os.RemoveAll(root)
			folder := given.Value(local.New(root))(t)
			for i, r := range releases {
				if set&(1<<i) != 0 {
					continue
				}
				// An empty place has to resolve "latest" afterwards, unless the
				// release has no metadata.
				before := refused
				if set != 0 {
					before = reachOf(set, root)
				} else if metadata[r.Version] == missing {
					before = unresolved
				}
				after := reachOf(set|1<<i, "")
				parcels := given.Value(folder.Site().Parcels(background, []*repo.Release{r}))(t)
				broken := given.Value(publish.CheckLatest(background, parcels))(t)
				got, want := "accepted", "accepted"
				if len(broken) > 0 {
					got = "refused"
					if broken[0].Before {
						got = "told"
					}
				}
				switch {
				case after > before:
					want = "refused"
				case after > usable:
					want = "told"
				}
				if verdicts[got]++; got != want {
					t.Fatalf("-seed %d, world %d, %s to %v: %s, not %s; clusterctl gets to %d, before to %d\n%v\n%q", *seed, n, r.Version, files(t, root), got, want, after, before, broken, metadata)
				}
				if got != "refused" {
					walk(set | 1<<i)
				}
			}
		}
		walk(0)
	}
	t.Logf("-seed %d: %v", *seed, verdicts)
	if verdicts["accepted"] == 0 || verdicts["refused"] == 0 {
		t.Error("one verdict is missing")
	}
}
