package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Origin is a mirror in a folder whose releases are read as those of any folder.
type Origin struct {
	dir  string
	lock *Lock
	// Checksums is the content of SHA256SUMS, which fits the lock file, and Signature that
	// of its signature, or nil.
	Checksums, Signature []byte
}

// deepest is how far below its root a mirror holds the files of releases: under a label and
// a version, in static:DIR below six more folders.
const deepest = 8

// around finds the root of the mirror that a folder is, or whose releases, or those of a label,
// or one release, it holds; empty if there is none.
func around(dir string) string {
	dir, err := filepath.Abs(dir)
	for i, at := 0, dir; err == nil && i <= deepest; i, at = i+1, filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, layouts.LockFile)); err != nil {
			continue
		}
		l, _, err := beside{at}.readLockFile()
		if err != nil || l == nil {
			l = &Lock{} // whoever relies on it is told
		}
		part, err := filepath.Rel(filepath.Join(at, filepath.FromSlash(l.Settings.Folder)), dir)
		if part = filepath.ToSlash(part); err == nil && l.Settings.To == "" && !strings.HasPrefix(part, "..") && strings.Count(part, "/") < 2 || at == dir {
			return at
		}
	}
	return ""
}

// IsMirror reports whether a folder is a mirror or lies in one, so that only mirror may
// write there.
func IsMirror(dir string) bool { return around(dir) != "" }

// OriginOf finds the mirror whose releases are in a folder, or that the folder is a part of;
// nil if there is none. The error says why what the mirror recorded cannot be relied on.
func OriginOf(dir string) (*Origin, error) {
	if dir = around(dir); dir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b := beside{dir}
	c := &checker{beside: b, root: root, read: b.read, wanted: map[string]*wanted{}, again: "run mirror repair", remake: "run mirror repair", report: &Report{}}
	_, data, err := b.readLockFile()
	if err == nil {
		err = c.lists()
	}
	if err != nil {
		return nil, err
	}
	if w := c.wanted[layouts.LockFile]; len(c.report.Problems) == 0 && (w == nil || w.sum != sumOf(data)) {
		c.add(Damaged, layouts.LockFile, "%s has another checksum of it; %s", layouts.ChecksumFile, c.again)
	}
	if left, err := b.read(journalFile); err == nil && left != nil {
		return nil, fmt.Errorf("a run of mirror in %s is under way, or was interrupted; run it again to finish it", dir)
	}
	if len(c.report.Problems) > 0 {
		p := c.report.Problems[0]
		return nil, fmt.Errorf("the mirror %s is damaged: %s: %s", dir, p.Path, p.Message)
	}
	return &Origin{dir, c.report.Lock, c.report.Checksums, c.report.Signature}, nil
}

// within is the path of a folder below that of the releases, with slashes.
func (o *Origin) within(dir string) (string, bool) {
	at, err := filepath.Abs(dir)
	if err == nil {
		at, err = filepath.Rel(filepath.Join(o.dir, filepath.FromSlash(o.lock.Settings.Folder)), at)
	}
	return filepath.ToSlash(at), err == nil && filepath.IsLocal(at) && o.lock.Settings.To == ""
}

// Pin makes releases in a folder state what the mirror recorded, so that nothing else of
// them can be read. It refuses files that are missing, added or of another size, and a
// release that the mirror does not know.
func (o *Origin) Pin(r *repo.Release) error {
	at, inside := o.within(r.Path)
	if !inside || strings.Count(at, "/") != 1 {
		return nil // no release of a mirror lies there
	}
	i := slices.IndexFunc(o.lock.Releases, func(l Locked) bool { return l.Provider+"/"+l.Version == at })
	if i < 0 {
		return fmt.Errorf("%s lies in the mirror %s, but %s does not list it: it was not put there by mirror; move it away, and mirror it from there", r.Path, o.dir, layouts.LockFile)
	}
	l := &o.lock.Releases[i]
	d := l.Differences(r, nil)
	for _, odd := range r.Oddities {
		if odd.Kind != repo.OddHidden {
			d.Extra = append(d.Extra, filepath.Base(odd.Path))
		}
	}
	if !d.IsZero() {
		return fmt.Errorf("%s is not what %s of the mirror %s says: %s; run mirror repair", r.Path, layouts.LockFile, o.dir, d.In("missing", "added"))
	}
	for i, a := range r.Artifacts {
		r.Artifacts[i] = a.Stating(l.File(a.Name).Sum())
	}
	return nil
}

// Lacks is the error for releases that the mirror lists in a folder, or below it, and that
// are not there.
func (o *Origin) Lacks(dir string) error {
	at, inside := o.within(dir)
	for _, l := range o.lock.Releases {
		name := l.Provider + "/" + l.Version
		if !inside || at != "." && at != name && !strings.HasPrefix(name, at+"/") {
			continue
		}
		if _, err := os.Stat(filepath.Join(o.dir, filepath.FromSlash(releasePath(o.lock, &l)))); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the mirror %s lacks %s %s; %s", o.dir, l.Provider, l.Version, lostAdvice)
		}
	}
	return nil
}

// PinAll is Pin for all releases of a repository, and Lacks for its folder.
func (o *Origin) PinAll(r *repo.Repository) error {
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			if err := o.Pin(release); err != nil {
				return err
			}
		}
	}
	return o.Lacks(r.Path)
}

// Source returns the releases of a folder in the mirror, pinned.
func (o *Origin) Source(s Source) Source { return pinnedSource{s, o} }

type pinnedSource struct {
	Source
	origin *Origin
}

func (s pinnedSource) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	r, err := s.Source.Fetch(ctx, version)
	if err == nil {
		err = s.origin.Pin(r)
	}
	return r, err
}
