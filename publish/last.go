package publish

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
)

// Sibling is a destination with others next to it, such as the folder of a provider.
type Sibling interface {
	// Siblings lists the releases of other providers that have the version.
	Siblings(ctx context.Context, version string) ([]*repo.Release, error)
}

// Last returns the release before that of a parcel, taken apart by provider: the one of
// the highest lower version that readers see at the destination; none if there is none.
// With siblings it also returns those of other providers in a folder that were released
// with it, which share their metadata. The error is that of the destination.
func Last(ctx context.Context, p Parcel, siblings bool) ([]*repo.Release, error) {
	versions, err := p.To.Versions(ctx)
	if err != nil {
		return nil, err
	}
	next, err := layouts.ParseVersion(p.Release.Version)
	if err != nil {
		return nil, err
	}
	var best layouts.Version
	name := ""
	for _, version := range versions {
		v, err := layouts.ParseVersion(version)
		if err == nil && v.Compare(next) < 0 && (name == "" || v.Compare(best) > 0) {
			best, name = v, version
		}
	}
	if name == "" {
		return nil, nil
	}
	whole, err := p.To.Fetch(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // removed meanwhile
	}
	if err != nil {
		return nil, err
	}
	if len(p.From) == 1 && p.Release.Provider != (layouts.Provider{}) && whole.Provider == p.Release.Provider {
		out := []*repo.Release{whole}
		if s, ok := p.To.(Sibling); ok && siblings {
			more, err := s.Siblings(ctx, name)
			if err != nil {
				return nil, err
			}
			for _, r := range more {
				if sharesMetadata(whole, r) {
					out = append(out, r)
				}
			}
		}
		return out, nil
	}
	return providers.Split(ctx, whole, "")
}

// sharesMetadata reports whether two releases were made of the same tree, as far as
// their metadata shows.
func sharesMetadata(a, b *repo.Release) bool {
	x, y := a.Artifact(layouts.MetadataFile), b.Artifact(layouts.MetadataFile)
	if x == nil || y == nil {
		return false
	}
	one, err := x.Bytes()
	if err != nil {
		return false
	}
	other, err := y.Bytes()
	return err == nil && bytes.Equal(one, other)
}
