package publish_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
)

// listing is a release whose metadata lists the series 1.0 to 1.most.
func listing(version string, most int) *repo.Release {
	var text strings.Builder
	text.WriteString("apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n")
	for minor := range most + 1 {
		fmt.Fprintf(&text, "- {major: 1, minor: %d, contract: v1beta2}\n", minor)
	}
	return &repo.Release{
		Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: version,
		Artifacts: []*repo.Artifact{
			repo.BytesArtifact(layouts.MetadataFile, []byte(text.String())),
			repo.BytesArtifact("infrastructure-components.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: foo}\n")),
		},
	}
}

// TestLatestKeepsWorking publishes ten versions with pre-releases in random orders,
// each with metadata that may list later series. Whatever is refused, "latest" can
// be resolved after every step.
func TestLatestKeepsWorking(t *testing.T) {
	ctx := context.Background()
	versions := []string{"v1.0.0", "v1.0.1", "v1.1.0-alpha.1", "v1.1.0-rc.0", "v1.1.0", "v1.1.1", "v1.2.0-beta.0", "v1.2.0", "v1.3.0-rc.1", "v1.3.0"}
	r := rand.New(rand.NewPCG(11, 15))
	refused := 0
	for range 150 {
		place := &shelf{name: "place"}
		site := publish.Site{Name: "place", Of: func(layouts.Provider) (publish.Destination, error) { return place, nil }}
		var published []*repo.Release
		for _, i := range r.Perm(len(versions)) {
			v, err := layouts.ParseVersion(versions[i])
			if err != nil {
				t.Fatal(err)
			}
			release := listing(versions[i], min(3, int(v.Minor())+r.IntN(2)))
			parcels, err := site.Parcels(ctx, []*repo.Release{release})
			if err != nil {
				t.Fatal(err)
			}
			var latest *publish.LatestError
			switch err := publish.CheckLatest(ctx, parcels); {
			case errors.As(err, &latest):
				refused++
				continue
			case err != nil:
				t.Fatal(err)
			}
			if _, err := parcels[0].Publish(ctx); err != nil {
				t.Fatal(err)
			}
			published = append(published, release)
			var all []string
			for _, p := range published {
				all = append(all, p.Version)
			}
			if _, err := metadata.Latest(all, func(version string) ([]byte, error) {
				i := slices.IndexFunc(published, func(p *repo.Release) bool { return p.Version == version })
				return published[i].Artifact(layouts.MetadataFile).Bytes()
			}); err != nil {
				t.Fatalf("after %v: %v", all, err)
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}
