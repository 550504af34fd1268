package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// latestError says that clusterctl cannot use "latest" at a destination once
// something is published there.
type latestError struct {
	Provider, To string
	// Before is true if clusterctl cannot use it now either.
	Before bool
	// Refused is true if clusterctl finds a version, and refuses its metadata.
	Refused bool
	Err     error
}

func (e *latestError) Error() string {
	if e.Before {
		return fmt.Sprintf(`clusterctl cannot use "latest" of %s at %s, even once this is published: %v`, e.Provider, e.To, e.Err)
	}
	return fmt.Sprintf(`clusterctl could no longer resolve "latest" of %s at %s: %v`, e.Provider, e.To, e.Err)
}

func (e *latestError) Unwrap() error { return e.Err }

// How far clusterctl gets with "latest", the best first.
const (
	usable     = iota
	refused    // it finds a version, and refuses its metadata
	unresolved // it finds none
)

// CheckLatest looks at the destinations as clusterctl will see them once all
// parcels are there, in any order of publishing. It returns those where "latest"
// does not work then (clusterctl client/repository/repository_versions.go,
// latestContractRelease). One without versions has to resolve it afterwards, except
// with releases that have no metadata.
func CheckLatest(ctx context.Context, parcels []Parcel) ([]*latestError, error) {
	type place struct {
		provider layouts.Provider
		to       string
	}
	var order []place
	groups := map[place][]Parcel{}
	for _, p := range parcels {
		if p.From[0].Provider == layouts.CertManager {
			continue // clusterctl reads no metadata of it
		}
		at := place{p.From[0].Provider, p.To.String()}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], p)
	}
	var out []*latestError
	for _, at := range order {
		to := groups[at][0].To
		have, err := to.Versions(ctx)
		if err != nil {
			continue // publishing says why
		}
		fresh := map[string]*repo.Release{}
		versions := slices.Clone(have)
		before := refused
		for _, p := range groups[at] {
			if slices.Contains(versions, p.Release.Version) {
				continue // what is there stays
			}
			fresh[p.Release.Version] = p.Release
			versions = append(versions, p.Release.Version)
			if p.Release.Artifact(layouts.MetadataFile) == nil {
				before = unresolved
			}
		}
		if len(fresh) == 0 {
			continue
		}
		after, err := latest(ctx, to, at.provider, versions, fresh)
		if after == usable || ctx.Err() != nil || errors.Is(err, errUnread) {
			continue
		}
		if len(have) > 0 {
			var unread error
			if before, unread = latest(ctx, to, at.provider, have, nil); errors.Is(unread, errUnread) {
				continue
			}
		}
		out = append(out, &latestError{Provider: at.provider.Label(), To: at.to, Before: after <= before, Refused: after == refused, Err: err})
	}
	return out, ctx.Err()
}

// errUnread says that a destination could not be read.
var errUnread = errors.New("the destination cannot be read")

// latest says how far clusterctl gets with "latest" among versions, of which the
// fresh ones are not at the destination yet, and what stops it.
func latest(ctx context.Context, to Destination, p layouts.Provider, versions []string, fresh map[string]*repo.Release) (int, error) {
	read := func(version string) ([]byte, error) {
		r := fresh[version]
		if r == nil {
			var err error
			switch r, err = to.Fetch(ctx, version); {
			case errors.Is(err, fs.ErrNotExist) && isFolder(to):
				return nil, fmt.Errorf("the folder %s does not exist", version)
			case errors.Is(err, fs.ErrNotExist):
				return nil, metadata.ErrNoRelease
			case err != nil:
				return nil, fmt.Errorf("%w: %w", errUnread, err)
			}
		}
		a := r.Artifact(layouts.MetadataFile)
		if a == nil {
			return nil, fmt.Errorf("%s has no %s", version, layouts.MetadataFile)
		}
		return a.Bytes()
	}
	version, err := metadata.Latest(versions, read)
	if err != nil {
		return unresolved, err
	}
	data, err := read(version)
	if err == nil {
		err = metadata.Check(yamldoc.NewFile(version+"/"+layouts.MetadataFile, data), p, version)
	}
	if err != nil {
		return refused, err
	}
	return usable, nil
}

// isFolder reports whether clusterctl reads a destination as a folder. It then
// takes a listed version that it does not find for an error, and elsewhere for a tag
// without a release.
func isFolder(to Destination) bool {
	address, err := to.URL(layouts.Latest, "components.yaml")
	return err == nil && strings.HasPrefix(address, "file:")
}
