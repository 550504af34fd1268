package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// series is a release whose metadata lists some series, each such as
// 1.2=v1beta2. It has no metadata if there is none.
func series(version string, list ...string) *repo.Release {
	r := &repo.Release{
		Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: version,
		Artifacts: []*repo.Artifact{repo.BytesArtifact("infrastructure-components.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: foo}\n"))},
	}
	if len(list) > 0 {
		text := "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n"
		for _, s := range list {
			number, contract, _ := strings.Cut(s, "=")
			major, minor, _ := strings.Cut(number, ".")
			text += fmt.Sprintf("- {major: %s, minor: %s, contract: %s}\n", major, minor, contract)
		}
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(layouts.MetadataFile, []byte(text)))
	}
	return r
}

// upTo lists the series 1.0 to 1.most.
func upTo(most int) []string {
	var out []string
	for minor := range most + 1 {
		out = append(out, fmt.Sprintf("1.%d=v1beta2", minor))
	}
	return out
}

// resolves asks for "latest" among releases.
func resolves(all []*repo.Release) error {
	versions := phrase.List(all, func(r *repo.Release) string { return r.Version })
	_, err := metadata.Latest(versions, func(version string) ([]byte, error) {
		i := slices.IndexFunc(all, func(r *repo.Release) bool { return r.Version == version })
		a := all[i].Artifact(layouts.MetadataFile)
		if a == nil {
			return nil, fs.ErrNotExist
		}
		return a.Bytes()
	})
	return err
}

// TestLatestKeepsWorking publishes ten versions with pre-releases in all orders,
// some with metadata that lists later series. Whatever is refused, "latest" can
// be resolved after every step. What a step does depends on what is there and not
// on the order in which it came, so that each of the 1024 sets stands for all
// orders that lead to it; test/oracle does the same with clusterctl.
func TestLatestKeepsWorking(t *testing.T) {
	ctx := context.Background()
	versions := []string{"v1.0.0", "v1.0.1", "v1.1.0-alpha.1", "v1.1.0-rc.0", "v1.1.0", "v1.1.1", "v1.2.0-beta.0", "v1.2.0", "v1.3.0-rc.1", "v1.3.0"}
	for name, later := range map[string]func(i int) bool{
		"as they are":  func(int) bool { return false },
		"one in three": func(i int) bool { return i%3 == 1 },
		"all":          func(int) bool { return true },
	} {
		var releases []*repo.Release
		for i, text := range versions {
			v := given.Value(layouts.ParseVersion(text))(t)
			most := int(v.Minor())
			if later(i) {
				most = min(3, most+1)
			}
			releases = append(releases, series(text, upTo(most)...))
		}
		seen := make([]bool, 1<<len(versions))
		refused := 0
		var walk func(set int)
		walk = func(set int) {
			if seen[set] {
				return
			}
			seen[set] = true
			place := &shelf{name: "place", held: map[string]*repo.Release{}}
			var all []*repo.Release
			for i, r := range releases {
				if set&(1<<i) != 0 {
					place.held[r.Version] = r
					all = append(all, r)
				}
			}
			if set != 0 {
				if err := resolves(all); err != nil {
					t.Fatalf("%s, with %010b: %v", name, set, err)
				}
			}
			for i, r := range releases {
				if set&(1<<i) != 0 {
					continue
				}
				broken, err := publish.CheckLatest(ctx, []publish.Parcel{{To: place, Release: r, From: []*repo.Release{r}}})
				given.NoError(t, err)
				if len(broken) == 0 {
					walk(set | 1<<i)
					continue
				}
				if refused++; broken[0].Before {
					t.Fatalf("%s, %s to %010b: %v", name, r.Version, set, broken[0])
				}
				if resolves(append(slices.Clone(all), r)) == nil {
					t.Fatalf("%s, %s to %010b is refused without need: %v", name, r.Version, set, broken[0])
				}
			}
		}
		walk(0)
		if (refused == 0) != (name == "as they are") {
			t.Errorf("%s: %d refused", name, refused)
		}
	}
}

// rooted is a shelf that clusterctl reads as a folder.
type rooted struct{ *shelf }

func (rooted) URL(version, file string) (string, error) {
	return "file:///place/" + version + "/" + file, nil
}

func TestLatestAtOnePlace(t *testing.T) {
	ctx := context.Background()
	const refused, told, fine = "could no longer", "even once this is published", ""
	works := series("v1.0.0", "1.0=v1beta2")
	for name, c := range map[string]struct {
		have   []*repo.Release
		add    *repo.Release
		folder bool
		want   string
	}{
		"first, of a later series":         {nil, series("v1.0.0", "1.0=v1beta2", "1.1=v1beta2"), false, refused},
		"first, without metadata":          {nil, series("v1.0.0"), false, told},
		"first, of a contract to come":     {nil, series("v1.0.0", "1.0=v1beta9"), false, told},
		"newest without metadata":          {[]*repo.Release{works}, series("v1.0.1"), false, refused},
		"older without metadata":           {[]*repo.Release{works}, series("v0.9.0"), false, fine},
		"pre-release without metadata":     {[]*repo.Release{works}, series("v1.1.0-rc.0"), false, fine},
		"newest of a contract to come":     {[]*repo.Release{works}, series("v2.0.0", "2.0=v1beta9"), false, refused},
		"the same, and the old one listed": {[]*repo.Release{works}, series("v2.0.0", "2.0=v1beta9", "1.0=v1beta2"), false, fine},
		"already there":                    {[]*repo.Release{works}, series("v1.0.0", "1.0=v1beta9"), false, fine},
		"newest that does not list itself": {[]*repo.Release{works}, series("v1.1.0", "1.9=v1beta1"), false, refused},
		"broken before, and mended":        {[]*repo.Release{series("v1.0.0", "1.1=v1beta2")}, series("v1.1.0", "1.1=v1beta2"), false, fine},
		"broken before and afterwards":     {[]*repo.Release{series("v1.0.0", "1.1=v1beta2")}, series("v0.9.0", "0.9=v1beta2"), false, told},
		"refused before and afterwards":    {[]*repo.Release{series("v1.0.0", "1.0=v1beta9")}, series("v1.0.1", "1.0=v1beta9"), false, told},
		"a tag without v":                  {[]*repo.Release{series("2.0.0", "2.0=v1beta2")}, works, false, fine},
		"a folder without v":               {[]*repo.Release{series("2.0.0", "2.0=v1beta2")}, works, true, told},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{name: "place", held: map[string]*repo.Release{}}
			for _, r := range c.have {
				s.held[r.Version] = r
			}
			var to publish.Destination = s
			if c.folder {
				to = rooted{s}
			}
			parcel := publish.Parcel{To: to, Release: c.add, From: []*repo.Release{c.add}}
			broken, err := publish.CheckLatest(ctx, []publish.Parcel{parcel})
			if err != nil || len(broken) > 1 {
				t.Fatal(broken, err)
			}
			got := ""
			if len(broken) == 1 {
				got = broken[0].Error()
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			// Nothing is known about a place that cannot be read.
			s.fail = func(method string) error {
				if method == "fetch" {
					return errors.New("no answer")
				}
				return nil
			}
			if broken, err := publish.CheckLatest(ctx, []publish.Parcel{parcel}); err != nil || len(c.have) > 0 && len(broken) > 0 && broken[0].Before {
				t.Error(broken, err)
			}
			// Clusterctl reads no metadata of cert-manager.
			s.fail, parcel.From = nil, []*repo.Release{{Provider: layouts.CertManager}}
			if broken, err := publish.CheckLatest(ctx, []publish.Parcel{parcel}); err != nil || broken != nil {
				t.Error(broken, err)
			}
		})
	}
}

// TestLatestOfPlaces: places come in the order of the parcels.
func TestLatestOfPlaces(t *testing.T) {
	r := series("v1.0.0")
	var parcels []publish.Parcel
	for _, name := range []string{"b", "c", "a"} {
		parcels = append(parcels, publish.Parcel{To: &shelf{name: name}, Release: r, From: []*repo.Release{r}})
	}
	broken := given.Value(publish.CheckLatest(t.Context(), parcels))(t)
	if len(broken) != 3 || broken[0].To != "b" || broken[1].To != "c" || broken[2].To != "a" {
		t.Error(broken)
	}
}
