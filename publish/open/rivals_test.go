package open_test

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/rivals"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

func gitHubRivalry(t *testing.T) rivals.Place {
	s := github.Start(t, github.Options{})
	s.AddToken(github.Token{Secret: "ghp_rival", Right: github.Admin})
	s.AddRepository(github.Repository{Owner: "acme", Name: "provider"})
	return rivals.Place{URL: "https://github.com/acme/provider", Env: map[string]string{"GH_TOKEN": "ghp_rival", "GITHUB_API_URL": strings.TrimSuffix(s.APIURL(), "/")}}
}

func gitLabRivalry(t *testing.T) rivals.Place {
	s := gitlab.Start(t, gitlab.Options{})
	s.AddToken(gitlab.Token{Secret: "glpat-rival", User: "publisher"})
	s.AddProject(gitlab.Project{Path: "acme/provider", Members: map[string]gitlab.Role{"publisher": gitlab.Maintainer}})
	return rivals.Place{URL: "https://gitlab.example.com/acme/provider", Env: map[string]string{"GITLAB_TOKEN": "glpat-rival", "CI_API_V4_URL": s.URL() + "/api/v4"}}
}

var registries atomic.Int32

func ociRivalry(t *testing.T) rivals.Place {
	options := []registry.Option{registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(registry.NewDiskBlobHandler(t.TempDir()))}
	if registries.Add(1)%2 == 0 { // the others keep lists of referrers under a tag
		options = append(options, registry.WithReferrersSupport(true))
	}
	s := httptest.NewServer(registry.New(options...))
	t.Cleanup(s.Close)
	return rivals.Place{URL: "oci://" + strings.TrimPrefix(s.URL, "http://") + "/acme/provider"}
}

// TestRivals lets two to five publishers of equal and different contents
// publish one version at the same time, some of which die.
func TestRivals(t *testing.T) {
	for kind, start := range map[string]func(*testing.T) rivals.Place{"GitHub": gitHubRivalry, "GitLab": gitLabRivalry, "OCI": ociRivalry} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rivals.Compete(t, share.Of(4, 50), start)
		})
	}
}
