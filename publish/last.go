package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
)

// Sibling is a destination with others next to it, such as the folder of a provider.
type Sibling interface {
	// Siblings are the other destinations by their providers.
	Siblings(ctx context.Context) (map[layouts.Provider]Destination, error)
}

// Last returns the release before that of a parcel, taken apart by provider: the one of
// the highest lower version that readers see at the destination and that has components;
// none if there is none. The error is that of the destination.
//
// With siblings, and a destination that has some, the release is one of several from the
// same source, and those count that were released with the last one: which have its
// version, its metadata, and components under another name. If the provider has no
// release, a sibling counts that has its components and CRDs under another label.
func Last(ctx context.Context, p Parcel, siblings bool) ([]*repo.Release, error) {
	whole, err := before(ctx, p.To, p.Release)
	if err != nil {
		return nil, err
	}
	others, ok := p.To.(Sibling)
	if whole != nil && (len(p.From) != 1 || whole.Provider != p.Release.Provider) {
		return providers.Split(ctx, whole, "")
	}
	var out []*repo.Release
	if whole != nil {
		out = append(out, whole)
	}
	if !ok || !siblings {
		return out, nil
	}
	places, err := others.Siblings(ctx)
	if err != nil {
		return nil, err
	}
	for provider, place := range places {
		if slices.ContainsFunc(p.From, func(r *repo.Release) bool { return r.Provider == provider }) {
			continue
		}
		r, err := before(ctx, place, p.Release)
		if err != nil {
			return nil, err
		}
		switch {
		case r == nil:
		case whole == nil:
			same, err := providers.Same(r, p.Release)
			if err != nil {
				return nil, err
			}
			if same {
				out = append(out, r)
			}
		case r.Version == whole.Version && (r.Components() == nil || whole.Components() == nil || r.Components().Name != whole.Components().Name):
			same, err := sharesMetadata(whole, r)
			if err != nil {
				return nil, err
			}
			if same {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// before is the release of the highest version at a place that is lower than that of
// another release and has components; nil if there is none.
func before(ctx context.Context, to Destination, next *repo.Release) (*repo.Release, error) {
	versions, err := to.Versions(ctx)
	if err != nil {
		return nil, err
	}
	than, err := layouts.ParseVersion(next.Version)
	if err != nil {
		return nil, err
	}
	for _, version := range slices.Backward(versions) {
		if v, err := layouts.ParseVersion(version); err != nil || v.Compare(than) >= 0 {
			continue
		}
		r, err := to.Fetch(ctx, version)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			return nil, err
		case slices.ContainsFunc(r.Artifacts, func(a *repo.Artifact) bool { return a.Kind() == layouts.Components }):
			return r, nil
		default:
			for _, o := range r.Oddities {
				if o.Kind == repo.OddUnreadable || o.Kind == repo.OddBroken {
					return nil, fmt.Errorf("%s: %s", o.Path, o.Why)
				}
			}
		}
	}
	return nil, nil
}

// sharesMetadata reports whether two releases were made of the same tree, as far as
// their metadata shows.
func sharesMetadata(a, b *repo.Release) (bool, error) {
	x, y := a.Artifact(layouts.MetadataFile), b.Artifact(layouts.MetadataFile)
	if x == nil || y == nil {
		return false, nil
	}
	one, err := x.Bytes()
	if err != nil {
		return false, err
	}
	other, err := y.Bytes()
	return bytes.Equal(one, other), err
}
