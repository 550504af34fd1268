package mirror

import (
	"context"
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Wants returns all releases of the mirror in a bundle, and its lock. Its lock and
// its files have to agree.
func (b *Bundle) Wants() (out []Want, lock *Lock, err error) {
	data, err := b.read(layouts.LockFile)
	if err == nil && data == nil {
		err = fmt.Errorf("%s has no %s", b, layouts.LockFile)
	}
	if err != nil {
		return nil, nil, err
	}
	if lock, err = ParseLock(data); err != nil {
		return nil, nil, fmt.Errorf("%s/%s: %w", b, layouts.LockFile, err)
	}
	book := NewBook()
	book.Add(lock)
	for i := range lock.Releases {
		l := &lock.Releases[i]
		for _, f := range l.Files {
			got, err := b.File(releasePath(lock, l) + "/" + f.Name)
			if err != nil {
				return nil, nil, err
			}
			if f.Differs(got) {
				return nil, nil, fmt.Errorf("%s: %s and %s disagree about it", got.Path, layouts.LockFile, layouts.ChecksumFile)
			}
		}
		p := l.Identity()
		from := recorded{b, lock, book, p}
		out = append(out, Want{From: from, Near: true, Provider: p, File: l.Components, Version: Exactly(l.Version)})
	}
	return out, lock, nil
}

// recorded are the releases of a provider in a mirror whose lock says where they
// came from.
type recorded struct {
	bundle *Bundle
	lock   *Lock
	book   *Book
	of     layouts.Provider
}

// String is the folder of the provider in the bundle.
func (s recorded) String() string { return s.bundle.name + "/" + s.of.Label() }

// record is what the lock says about a version.
func (s recorded) record(version string) (l *Locked, listing Listing) {
	if l = s.book.Release(s.of.Label(), version); l != nil {
		listing = s.book.Listings[[2]string{l.Source, version}]
	}
	return l, listing
}

func (s recorded) Versions(context.Context) ([]string, error) {
	all := phrase.Only(s.lock.Releases, func(l Locked) bool { return l.Identity() == s.of })
	return phrase.List(all, func(l Locked) string { return l.Version }), nil
}

func (s recorded) Fetch(_ context.Context, version string) (*repo.Release, error) {
	l, _ := s.record(version)
	if l == nil {
		return nil, repo.Missing("%s has no %s", s, version)
	}
	r := &repo.Release{Provider: s.of, Version: version, Path: s.bundle.name + "/" + releasePath(s.lock, l)}
	for _, f := range l.Files {
		a, err := s.bundle.File(releasePath(s.lock, l) + "/" + f.Name)
		if err != nil {
			return nil, err
		}
		r.Artifacts = append(r.Artifacts, a)
	}
	r.Sort()
	publish.CheckNames(r)
	return r, nil
}
