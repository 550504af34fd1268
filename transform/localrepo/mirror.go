package localrepo

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Mirror takes everything from a repository, and nothing from the network.
type Mirror struct{ *repo.Repository }

func (m Mirror) releases(p layouts.Provider) []*repo.Release {
	of := phrase.Only(m.Providers, func(in *repo.Provider) bool { return in.Provider == p })
	return phrase.Flat(of, func(in *repo.Provider) []*repo.Release { return in.Releases })
}

// Version returns the best version that the mirror has.
func (m Mirror) Version(_ context.Context, p layouts.Provider, marker layouts.Marker) (string, error) {
	found := marker.Candidates(phrase.List(m.releases(p), func(r *repo.Release) string { return r.Version }))
	if len(found) == 0 {
		return "", fmt.Errorf("%s has no version of %s in the series %s", m.Path, p.Label(), marker.Series)
	}
	return found[0], nil
}

// Components returns the file of the URL's name, or the components of the version.
func (m Mirror) Components(_ context.Context, p layouts.Provider, version, url string) ([]byte, error) {
	for _, r := range m.releases(p) {
		if r.Version != version {
			continue
		}
		name := path.Base(strings.SplitN(url, "?", 2)[0])
		a := cmp.Or(r.Artifact(name), r.Components())
		if a == nil {
			return nil, fmt.Errorf("%s has no file %s", r.Path, name)
		}
		return a.Bytes()
	}
	return nil, fmt.Errorf("%s does not have %s %s; mirror the configuration again", m.Path, p.Label(), version)
}
