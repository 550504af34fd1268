package mirror

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Carried returns all releases of a mirror that was carried here, and its lock.
// They keep the places that they came from in the first place. Its lock and its
// files have to agree.
func Carried(c *Bundle) ([]Want, *Lock, error) {
	lock, err := c.lock()
	if err != nil {
		return nil, nil, err
	}
	b := newBook()
	b.add(lock)
	var out []Want
	for i := range lock.Releases {
		l := &lock.Releases[i]
		for _, f := range l.Files {
			got, err := c.File(releasePath(lock, l) + "/" + f.Name)
			if err != nil {
				return nil, nil, err
			}
			if f.differs(got) {
				return nil, nil, fmt.Errorf("%s: %s and %s disagree about it", got.Path, layouts.LockFile, layouts.ChecksumFile)
			}
		}
		out = append(out, Want{From: carried{c, lock, b, l.Source}, Near: true, Provider: l.Identity(), File: l.Components, Version: Exactly(l.Version)})
	}
	return out, lock, nil
}

// carried is one of the original places of a carried mirror.
type carried struct {
	c    *Bundle
	lock *Lock
	book *book
	name string
}

func (s carried) String() string { return s.name }

func (s carried) Versions(context.Context) (out []string, err error) {
	for _, l := range s.lock.Releases {
		if l.Source == s.name {
			out = append(out, l.Version)
		}
	}
	return out, nil
}

// Fetch lists the files of all that share a release.
func (s carried) Fetch(_ context.Context, version string) (*repo.Release, error) {
	return s.c.release(s.lock, version, s.book.from(s.name, version))
}

// lock reads the lock file.
func (b *Bundle) lock() (*Lock, error) {
	l, _, err := beside{dir: b.name, in: b}.lock()
	if err == nil && l == nil {
		err = fmt.Errorf("%s has no %s", b, layouts.LockFile)
	}
	return l, err
}

// release lists the files of a release that the given entries of the lock have of it.
func (b *Bundle) release(lock *Lock, version string, from []*Locked) (*repo.Release, error) {
	if len(from) == 0 {
		return nil, fmt.Errorf("%s has no %s: %w", b, version, fs.ErrNotExist)
	}
	r := &repo.Release{Version: version, Path: b.name + "/" + version}
	if len(from) == 1 {
		r.Provider, r.Path = from[0].Identity(), b.name+"/"+releasePath(lock, from[0])
	}
	for _, l := range from {
		for _, f := range l.Files {
			a, err := b.File(releasePath(lock, l) + "/" + f.Name)
			if err != nil {
				return nil, err
			}
			if old := r.Artifact(f.Name); old == nil {
				r.Artifacts = append(r.Artifacts, a)
			} else if sum, _ := old.Stated(); f.differs(old) {
				return nil, fmt.Errorf("%s: two providers share the release and have different files of this name (%s)", a.Path, sum)
			}
		}
	}
	r.Sort()
	publish.CheckNames(r)
	return r, nil
}

// recorded is what the carried lock says about a release.
func (s carried) recorded(label, version string) (*Locked, Listing) {
	return s.book.release(label, version), s.book.listings[[2]string{s.name, version}]
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
	lock, err := b.lock()
	if err != nil {
		b.Close()
		return nil, err
	}
	o.in = b
	of := o.To.Of
	o.To.Of = func(p layouts.Provider) (publish.Destination, error) {
		to, err := of(p)
		return carriage{to, b, lock, p}, err
	}
	return b, nil
}

// carriage is the place of a provider in a bundle that is only read.
type carriage struct {
	publish.Destination
	b    *Bundle
	lock *Lock
	p    layouts.Provider
}

func (s carriage) Versions(context.Context) (out []string, err error) {
	for _, l := range s.lock.Releases {
		if l.Provider == s.p.Label() {
			out = append(out, l.Version)
		}
	}
	return out, nil
}

func (s carriage) Fetch(_ context.Context, version string) (*repo.Release, error) {
	var found []*Locked
	for i := range s.lock.Releases {
		if l := &s.lock.Releases[i]; l.Provider == s.p.Label() && l.Version == version {
			found = append(found, l)
		}
	}
	return s.b.release(s.lock, version, found)
}
