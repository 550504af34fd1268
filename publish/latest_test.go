package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
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
