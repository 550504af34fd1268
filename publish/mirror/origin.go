package mirror

import (
	"bytes"
	"cmp"
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
	// begun are releases of a run that was interrupted, which nothing else lists: they do not
	// count where the signature has to cover all, which is then Signed.
	begun  []Locked
	Signed bool
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
	dir = Real(dir)
	for i, at := 0, dir; err == nil && i <= deepest; i, at = i+1, filepath.Dir(at) {
		if !isRoot(at) {
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

// isRoot reports whether a folder is the root of a mirror, which may have lost its lock file
// or never got one.
func isRoot(dir string) bool {
	b := beside{dir}
	for _, name := range []string{layouts.LockFile, journalFile} {
		if _, err := os.Lstat(b.path(name)); err == nil {
			return true
		}
		if data, err := b.read(name); err == nil && data != nil {
			return true // a run was stopped before it moved it
		}
	}
	sums, _ := b.read(layouts.ChecksumFile) // what cannot be read lists nothing
	return bytes.Contains(sums, []byte("  "+layouts.LockFile+"\n"))
}

// Real follows the symbolic links of a path, the last parts of which need not exist.
func Real(name string) string {
	to, err := filepath.EvalSymlinks(name)
	if dir := filepath.Dir(name); err != nil && dir != name {
		return filepath.Join(Real(dir), filepath.Base(name))
	}
	return cmp.Or(to, name)
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
	var begun []Locked
	_, data, err := b.readLockFile()
	if err == nil && data == nil {
		err = fmt.Errorf("the mirror %s has no %s; run mirror again if its first run was interrupted, or else restore it from a copy of the mirror", dir, layouts.LockFile)
	}
	if err == nil {
		err = c.lists()
	}
	if err == nil && c.report.Lock != nil {
		begun, err = Begun(dir, c.report.Lock)
	}
	if err != nil {
		return nil, err
	}
	if w := c.wanted[layouts.LockFile]; len(c.report.Problems) == 0 && (w == nil || w.sum != sumOf(data)) {
		c.add(Damaged, layouts.LockFile, "%s has another checksum of it; %s", layouts.ChecksumFile, c.again)
	}
	if len(c.report.Problems) > 0 {
		p := c.report.Problems[0]
		return nil, fmt.Errorf("the mirror %s is damaged: %s: %s", dir, p.Path, p.Message)
	}
	return &Origin{dir: dir, lock: c.report.Lock, begun: begun, Checksums: c.report.Checksums, Signature: c.report.Signature}, nil
}

// within is the path of a folder below that of the releases, with slashes.
func (o *Origin) within(dir string) (string, bool) {
	at, err := filepath.Abs(dir)
	if err == nil {
		at, err = filepath.Rel(filepath.Join(o.dir, filepath.FromSlash(o.lock.Settings.Folder)), Real(at))
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
	known := slices.Concat(o.lock.Releases, o.begun)
	i := slices.IndexFunc(known, func(l Locked) bool { return l.Provider+"/"+l.Version == at })
	if i < 0 {
		return fmt.Errorf("%s lies in the mirror %s, but %s does not list it: it was not put there by mirror; move it away, and mirror it from there", r.Path, o.dir, layouts.LockFile)
	}
	if o.Signed && i >= len(o.lock.Releases) {
		return fmt.Errorf("%s was copied by a run of mirror that was interrupted, and no signature covers it; run mirror again to finish", r.Path)
	}
	l := &known[i]
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

// PinAll is Pin for all releases of a repository. It also refuses a mirror that lists
// releases in the folder of the repository, or below it, that are not there.
func (o *Origin) PinAll(r *repo.Repository) error {
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			if err := o.Pin(release); err != nil {
				return err
			}
		}
	}
	at, inside := o.within(r.Path)
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

// Recorded is the releases of a folder in a mirror, pinned.
type Recorded struct {
	Source
	Origin *Origin
}

func (s Recorded) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	r, err := s.Source.Fetch(ctx, version)
	if err == nil {
		err = s.Origin.Pin(r)
	}
	return r, err
}
