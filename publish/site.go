package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Site is a DEST as a user names it. It gives every provider the destination
// that holds its releases.
type Site struct {
	// Name is what the user wrote, without credentials.
	Name string
	Kind layouts.LocationKind
	// Shared is true if all providers have one destination. Those of one
	// version are then one release, as on GitHub.
	Shared bool
	// Of returns the destination of a provider, and that of all if Shared. It is safe for
	// concurrent use.
	Of func(p layouts.Provider) (Destination, error)
}

// Parcel is one release on its way to its destination.
type Parcel struct {
	To Destination
	// Release is what goes there. Its provider is zero if it holds several.
	Release *repo.Release
	// From are the releases that it was made of.
	From []*repo.Release
}

// Parcels checks releases and addresses them: oldest version first, so that
// what is marked as the latest only ever moves forward. Providers that share a
// destination are merged.
func (s Site) Parcels(ctx context.Context, releases []*repo.Release) ([]Parcel, error) {
	type key struct{ label, version string }
	var keys []key
	groups := map[key][]*repo.Release{}
	for _, r := range releases {
		if err := Check(r); err != nil {
			return nil, err
		}
		k := key{r.Provider.Label(), r.Version}
		if s.Shared {
			k.label = ""
		}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], r)
	}
	var out []Parcel
	for _, k := range keys {
		group := groups[k]
		to, err := s.Of(group[0].Provider)
		if err != nil {
			return nil, err
		}
		merged, err := Merge(ctx, group)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		out = append(out, Parcel{To: to, Release: merged, From: group})
	}
	slices.SortStableFunc(out, func(a, b Parcel) int {
		v, _ := layouts.ParseVersion(a.Release.Version) // Check has parsed them
		w, _ := layouts.ParseVersion(b.Release.Version)
		return v.Compare(w)
	})
	return out, nil
}

// Publish puts the parcel into its destination and reads it back; in a dry run it plans.
func (p Parcel) Publish(ctx context.Context, dry bool) (Result, error) {
	if dry {
		return p.To.Plan(ctx, p.Release)
	}
	result, err := p.To.Put(ctx, p.Release)
	if err != nil {
		return Result{}, err
	}
	return result, p.To.Verify(ctx, p.Release)
}

// Unmixed refuses releases that cannot share a place, because one of them is signed: its
// signature would be lost with its checksums, of which the place holds one file.
func Unmixed(releases []*repo.Release) error {
	for _, r := range releases {
		if len(releases) > 1 && r.Artifact(layouts.SignatureFile) != nil {
			return fmt.Errorf("%s is signed, and would lose its signature in a place that it shares with others; give every provider its own place by writing {provider} in the name of the repository", cmp.Or(r.Path, Name(r)))
		}
	}
	return nil
}

// Merge makes one release of those that several providers have in the same
// version. Files with the same name must be equal, and the checksums are rewritten; none
// may be signed. A single release stays as it is.
func Merge(ctx context.Context, releases []*repo.Release) (*repo.Release, error) {
	if len(releases) == 1 {
		return releases[0], nil
	}
	if err := Unmixed(releases); err != nil {
		return nil, fmt.Errorf("%w, or let publish --sign-key sign the shared release", err)
	}
	out := &repo.Release{Version: releases[0].Version, Path: releases[0].Version}
	sums := false
	first := map[string]*repo.Artifact{}
	for _, r := range releases {
		for _, a := range r.Artifacts {
			if a.Kind().Attests() {
				sums = sums || a.Kind() == layouts.Checksums
				continue
			}
			b := first[a.Name]
			if b == nil {
				first[a.Name] = a
				out.Artifacts = append(out.Artifacts, a)
				continue
			}
			same, err := equal(ctx, a, b)
			if err != nil {
				return nil, err
			}
			if !same {
				return nil, fmt.Errorf("%s and %s are different, and one place cannot hold both; give every provider its own place by writing {provider} in the name of the repository", b.Path, a.Path)
			}
		}
	}
	out.Sort()
	if sums {
		return WithChecksums(ctx, out)
	}
	return out, Check(out)
}

// WithChecksums returns a release with a checksum file rewritten, and without
// what signs or describes the old one.
func WithChecksums(ctx context.Context, r *repo.Release) (*repo.Release, error) {
	out := *r
	out.Artifacts = slices.DeleteFunc(slices.Clone(r.Artifacts), func(a *repo.Artifact) bool { return a.Kind().Attests() })
	sums, err := repo.Checksums(ctx, &out)
	if err != nil {
		return nil, err
	}
	out.Artifacts = append(out.Artifacts, repo.BytesArtifact(layouts.ChecksumFile, sums))
	out.Sort()
	return &out, Check(&out)
}

// VerifyFiles reads the files of a published release and fails if they are not
// those of r: the part of Verify that all destinations share.
func VerifyFiles(ctx context.Context, published, r *repo.Release) error {
	fail := func(err error) error { return fmt.Errorf("read back %s: %w", Name(r), err) }
	d, err := Differ(ByName(published), ByName(r), func(b, a *repo.Artifact) (bool, error) {
		want, err := a.Digest(ctx)
		if err != nil {
			return false, err
		}
		got, err := b.Sum(ctx)
		return got == want, err
	})
	if err != nil {
		return fail(err)
	}
	if !d.IsZero() {
		return fail(errors.New("what readers see at " + published.Path + " differs: " + d.String()))
	}
	return nil
}
