package mirror

import (
	"context"
	"fmt"
	"io"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror/documents"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Carried returns all releases of a mirror that was carried here, and its lock.
// They keep the places that they came from in the first place. Its lock and its
// files have to agree.
func Carried(c *Bundle) ([]Want, *documents.Lock, error) {
	lock, err := c.readLockFile()
	if err != nil {
		return nil, nil, err
	}
	b := documents.NewBook()
	b.Add(lock)
	var out []Want
	for i := range lock.Releases {
		l := &lock.Releases[i]
		for _, f := range l.Files {
			got, err := c.File(releasePath(lock, l) + "/" + f.Name)
			if err != nil {
				return nil, nil, err
			}
			if f.Differs(got) {
				return nil, nil, fmt.Errorf("%s: %s and %s disagree about it", got.Path, layouts.LockFile, layouts.ChecksumFile)
			}
		}
		from := carried{shelf{c, lock, func(other *documents.Locked) bool { return other.Source == l.Source }}, b, l.Source}
		out = append(out, Want{From: from, Near: true, Provider: l.Identity(), File: l.Components, Version: Exactly(l.Version)})
	}
	return out, lock, nil
}

// carried is one of the original places of a carried mirror.
type carried struct {
	shelf
	book *documents.Book
	name string
}

func (s carried) String() string { return s.name }

// recorded is what the carried lock says about a release.
func (s carried) recorded(label, version string) (*documents.Locked, documents.Listing) {
	return s.book.Release(label, version), s.book.Listings[[2]string{s.name, version}]
}

// readLockFile returns the lock file, which every bundle has.
func (b *Bundle) readLockFile() (*documents.Lock, error) {
	l, _, err := beside{dir: b.name, in: b}.readLockFile()
	if err == nil && l == nil {
		err = fmt.Errorf("%s has no %s", b, layouts.LockFile)
	}
	return l, err
}

// shelf is those releases in a bundle that fit.
type shelf struct {
	b    *Bundle
	lock *documents.Lock
	fits func(*documents.Locked) bool
}

// Versions lists those of the releases.
func (s shelf) Versions(context.Context) (out []string, err error) {
	for i := range s.lock.Releases {
		if l := &s.lock.Releases[i]; s.fits(l) {
			out = append(out, l.Version)
		}
	}
	return out, nil
}

// Fetch lists the files of all that share a release.
func (s shelf) Fetch(_ context.Context, version string) (*repo.Release, error) {
	r := &repo.Release{Version: version, Path: s.b.name + "/" + version}
	var from []*documents.Locked
	for i := range s.lock.Releases {
		l := &s.lock.Releases[i]
		if l.Version != version || !s.fits(l) {
			continue
		}
		from = append(from, l)
		for _, f := range l.Files {
			a, err := s.b.File(releasePath(s.lock, l) + "/" + f.Name)
			if err != nil {
				return nil, err
			}
			if old := r.Artifact(f.Name); old == nil {
				r.Artifacts = append(r.Artifacts, a)
			} else if sum, _ := old.Stated(); f.Differs(old) {
				return nil, fmt.Errorf("%s: two providers share the release and have different files of this name (%s)", a.Path, sum)
			}
		}
	}
	switch len(from) {
	case 0:
		return nil, repo.Missing("%s has no %s", s.b, version)
	case 1:
		r.Provider, r.Path = from[0].Identity(), s.b.name+"/"+releasePath(s.lock, from[0])
	}
	r.Sort()
	publish.CheckNames(r)
	return r, nil
}

// Reading makes the options read the mirror in its bundle, if it is kept in one,
// until the result is closed. Nothing can be written then.
func (o *Options) Reading() (io.Closer, error) {
	if o.Bundle == "" {
		return io.NopCloser(nil), nil
	}
	b, err := OpenBundle(o.Bundle)
	if err != nil {
		return nil, err
	}
	lock, err := b.readLockFile()
	if err != nil {
		b.Close()
		return nil, err
	}
	o.in = b
	of := o.To.Of
	o.To.Of = func(p layouts.Provider) (publish.Destination, error) {
		to, err := of(p)
		return carriage{to, shelf{b, lock, func(l *documents.Locked) bool { return l.Provider == p.Label() }}}, err
	}
	return b, nil
}

// carriage is the place of a provider in a bundle that is only read.
type carriage struct {
	publish.Destination
	in shelf
}

func (s carriage) Versions(ctx context.Context) ([]string, error) { return s.in.Versions(ctx) }

func (s carriage) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	return s.in.Fetch(ctx, version)
}
