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
)

// place is where releases are published, with the environment for it.
type place struct {
	url string
	env map[string]string
}

func gitHub(t *testing.T) place {
	s := github.Start(t, github.Options{})
	s.AddToken(github.Token{Secret: "ghp_secret", Right: github.Admin})
	s.AddRepository(github.Repository{Owner: "acme", Name: "provider"})
	return place{url: "https://github.com/acme/provider", env: map[string]string{"GH_TOKEN": "ghp_secret", "GITHUB_API_URL": strings.TrimSuffix(s.APIURL(), "/")}}
}

func gitLab(t *testing.T) place {
	s := gitlab.Start(t, gitlab.Options{})
	s.AddToken(gitlab.Token{Secret: "glpat-secret", User: "publisher"})
	s.AddProject(gitlab.Project{Path: "acme/provider", Members: map[string]gitlab.Role{"publisher": gitlab.Maintainer}})
	return place{url: "https://gitlab.example.com/acme/provider", env: map[string]string{"GITLAB_TOKEN": "glpat-secret", "CI_API_V4_URL": s.URL() + "/api/v4"}}
}

var registries atomic.Int32

func oci(t *testing.T) place {
	options := []registry.Option{registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(registry.NewDiskBlobHandler(t.TempDir()))}
	if registries.Add(1)%2 == 0 { // the others keep lists of referrers under a tag
		options = append(options, registry.WithReferrersSupport(true))
	}
	s := httptest.NewServer(registry.New(options...))
	t.Cleanup(s.Close)
	return place{url: "oci://" + strings.TrimPrefix(s.URL, "http://") + "/acme/provider"}
}
