package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
)

// LatestError says that clusterctl could resolve "latest" at a destination, and
// could not any more once something is published there.
type LatestError struct {
	Provider, To string
	Err          error
}

func (e *LatestError) Error() string {
	return fmt.Sprintf(`clusterctl could no longer resolve "latest" of %s at %s: %v`, e.Provider, e.To, e.Err)
}

// Unwrap returns what clusterctl would say.
func (e *LatestError) Unwrap() error { return e.Err }

// CheckLatest looks at the destinations as clusterctl will see them once all
// parcels are there, in any order of publishing. The error is a *LatestError if
// "latest" would stop working (clusterctl client/repository/repository_versions.go,
// latestContractRelease). Where it does not work now, nothing is demanded, except at
// a destination without versions.
func CheckLatest(ctx context.Context, parcels []Parcel) error {
	type place struct{ label, to string }
	var order []place
	groups := map[place][]Parcel{}
	for _, p := range parcels {
		at := place{p.From[0].Provider.Label(), p.To.String()}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], p)
	}
	for _, at := range order {
		to := groups[at][0].To
		have, err := to.Versions(ctx)
		if err != nil {
			continue // publishing says why
		}
		fresh := map[string]*repo.Release{}
		versions := slices.Clone(have)
		if slices.ContainsFunc(groups[at], func(p Parcel) bool { return p.Release.Artifact(layouts.MetadataFile) == nil }) {
			continue // lint says so; cert-manager has none
		}
		for _, p := range groups[at] {
			fresh[p.Release.Version] = p.Release
			if !slices.Contains(versions, p.Release.Version) {
				versions = append(versions, p.Release.Version)
			}
		}
		if _, err = latest(ctx, to, versions, fresh); err == nil || ctx.Err() != nil || errors.Is(err, errUnread) {
			continue
		}
		if len(have) > 0 {
			if _, before := latest(ctx, to, have, nil); before != nil {
				continue
			}
		}
		return &LatestError{Provider: at.label, To: at.to, Err: err}
	}
	return ctx.Err()
}

// errUnread says that a destination could not be read.
var errUnread = errors.New("the destination cannot be read")

// latest resolves "latest" among versions, of which the fresh ones are not at the
// destination yet.
func latest(ctx context.Context, to Destination, versions []string, fresh map[string]*repo.Release) (string, error) {
	return metadata.Latest(versions, func(version string) ([]byte, error) {
		r := fresh[version]
		if r == nil {
			var err error
			if r, err = to.Fetch(ctx, version); errors.Is(err, fs.ErrNotExist) {
				return nil, metadata.ErrNoRelease
			} else if err != nil {
				return nil, fmt.Errorf("%w: %w", errUnread, err)
			}
		}
		a := r.Artifact(layouts.MetadataFile)
		if a == nil {
			return nil, fmt.Errorf("%s has no %s", version, layouts.MetadataFile)
		}
		return a.Bytes()
	})
}
