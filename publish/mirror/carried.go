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
	a, err := c.File(layouts.LockFile)
	if err != nil {
		return nil, nil, err
	}
	data, err := a.Bytes()
	if err != nil {
		return nil, nil, err
	}
	lock, err := ParseLock(a.Path, data)
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
	from := s.book.from(s.name, version)
	if len(from) == 0 {
		return nil, fmt.Errorf("%s has no %s: %w", s.c, version, fs.ErrNotExist)
	}
	r := &repo.Release{Version: version, Path: s.c.String() + "/" + version}
	if len(from) == 1 {
		r.Provider, r.Path = from[0].Identity(), s.c.String()+"/"+releasePath(s.lock, from[0])
	}
	for _, l := range from {
		for _, f := range l.Files {
			a, err := s.c.File(releasePath(s.lock, l) + "/" + f.Name)
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
	data, err := b.read(layouts.LockFile)
	if err == nil && data == nil {
		err = fmt.Errorf("%s has no %s", o.Bundle, layouts.LockFile)
	}
	var lock *Lock
	if err == nil {
		lock, err = ParseLock(o.Bundle+"/"+layouts.LockFile, data)
	}
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
	for i := range s.lock.Releases {
		l := &s.lock.Releases[i]
		if l.Provider != s.p.Label() || l.Version != version {
			continue
		}
		r := &repo.Release{Provider: s.p, Version: version, Path: s.b.String() + "/" + releasePath(s.lock, l)}
		for _, f := range l.Files {
			a, err := s.b.File(releasePath(s.lock, l) + "/" + f.Name)
			if err != nil {
				return nil, err
			}
			r.Artifacts = append(r.Artifacts, a)
		}
		r.Sort()
		return r, nil
	}
	return nil, fmt.Errorf("%s has no %s %s: %w", s.b, s.p.Label(), version, fs.ErrNotExist)
}
