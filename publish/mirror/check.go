package mirror

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// problemKind says in which way a file is not what the mirror should hold.
type problemKind string

const (
	missing    problemKind = "missing"
	Damaged    problemKind = "damaged"
	Unexpected problemKind = "unexpected"
	unfinished problemKind = "unfinished"
	Unsigned   problemKind = "unsigned"
)

// Words are all kinds; see report.Document.
func (problemKind) Words() []string {
	return []string{string(missing), string(Damaged), string(Unexpected), string(unfinished), string(Unsigned)}
}

type Problem struct {
	Kind     problemKind `json:"kind" doc:"missing: listed but absent; damaged: the content differs from the record; unexpected: not listed; unfinished: left by an interrupted run; unsigned: without a signature by a required key"`
	Path     string      `json:"path" doc:"the file, relative to the root of the mirror, with slashes"`
	Message  string      `json:"message" doc:"what is wrong and what to do"`
	Provider string      `json:"provider,omitempty" doc:"the provider label; absent if the file belongs to no release"`
	Version  string      `json:"version,omitempty" doc:"the version; absent like provider"`
}

type Report struct {
	Releases int       `json:"releases" doc:"the number of releases that were checked"`
	Files    int       `json:"files" doc:"the number of files that were checked"`
	Bytes    int64     `json:"bytes" doc:"their size in bytes"`
	Problems []Problem `json:"problems" doc:"what is wrong, by path; the mirror is sound if the list is empty"`
	Notes    []string  `json:"notes" doc:"what the user should know but need not act on"`
	// Lock is the lock file, or nil if it cannot be read.
	Lock *Lock `json:"-"`
	// Checksums and Signature are the content of layouts.ChecksumFile with which the
	// files were compared, and of its signature; nil if they are not there.
	Checksums, Signature []byte `json:"-"`
	// Broken are the releases of the lock that are not whole.
	Broken []Locked `json:"-"`
}

// ReadLock reads the lock file of a mirror. The error wraps fs.ErrNotExist if
// there is none.
func ReadLock(dir string) (*Lock, error) {
	l, _, err := beside{dir}.readLockFile()
	if err == nil && l == nil {
		err = repo.Missing("%s is not a mirror: it has no %s", dir, layouts.LockFile)
	}
	return l, err
}

// Check compares a mirror, which is a folder or a bundle, with its lock file and its
// checksums, without network. What is wrong is in the report; the error is about the
// folder, which has to be a mirror and readable.
func Check(ctx context.Context, name string, jobs int) (*Report, error) {
	return check(ctx, name, jobs, true)
}

// check is Check, or all of it but reading the contents.
func check(ctx context.Context, name string, jobs int, contents bool) (*Report, error) {
	c := &checker{
		beside: beside{name}, jobs: max(jobs, 1), wanted: map[string]*wanted{},
		again: "run mirror repair", remake: "remove it, then run mirror repair",
		broken: map[*Locked]bool{}, report: &Report{Problems: []Problem{}, Notes: []string{}},
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() && IsBundle(name) {
		c.again, c.remake = "copy the bundle again", "recreate the bundle"
		b, err := OpenBundle(name)
		if err != nil {
			c.add(Damaged, name, "%v; %s", err, c.again)
			return c.report, nil
		}
		defer b.Close()
		c.read, c.file = b.read, b.File
	} else {
		if c.root, err = os.OpenRoot(name); err != nil {
			return nil, fmt.Errorf("open the mirror %s: %w", name, files.Cause(err))
		}
		defer c.root.Close()
		c.read = c.beside.read
		c.file = func(name string) (*repo.Artifact, error) { return artifactAt(c.root, name) }
	}
	if err := c.lists(); err != nil {
		return nil, err
	}
	if contents {
		c.sizes(layouts.ImagesFolder + "/index.json")
		if err := c.contents(ctx); err != nil {
			return nil, err
		}
	}
	if c.root != nil {
		if err := c.walk(ctx); err != nil {
			return nil, err
		}
		c.place()
	}
	if c.report.Lock != nil {
		for i := range c.report.Lock.Releases {
			if l := &c.report.Lock.Releases[i]; c.broken[l] {
				c.report.Broken = append(c.report.Broken, *l)
			}
		}
	}
	slices.SortFunc(c.report.Problems, func(x, y Problem) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(string(x.Kind), string(y.Kind)))
	})
	return c.report, nil
}

// wanted is what the lists say about a file.
type wanted struct {
	sum repo.Sum
	// size is that of the lock or of the index of the images, which by names; it is
	// negative if neither gives one, and files.MaxSize is then the limit.
	size int64
	by   string
	// of is the release that the file belongs to, or nil.
	of *Locked
}

type checker struct {
	beside beside
	// root is the folder, or nil for a bundle. Its files are read, whole or step by
	// step, with read and file.
	root *os.Root
	read func(name string) ([]byte, error)
	file func(name string) (*repo.Artifact, error)
	// again restores what is not what it was, and remake removes what must not be
	// there.
	again, remake string
	jobs          int
	wanted        map[string]*wanted
	broken        map[*Locked]bool
	report        *Report
}

func (c *checker) add(kind problemKind, name, format string, args ...any) {
	p := Problem{Kind: kind, Path: name, Message: fmt.Sprintf(format, args...)}
	if w := c.wanted[name]; w != nil && w.of != nil {
		p.Provider, p.Version = w.of.Provider, w.of.Version
	}
	c.report.Problems = append(c.report.Problems, p)
}

// lists reads the lock file and the checksums, and compares the two.
func (c *checker) lists() error {
	data, err := c.read(layouts.LockFile)
	if err != nil && c.root != nil {
		return err // of a damaged one in a bundle contents tells
	}
	sums, err := c.read(layouts.ChecksumFile)
	if err != nil {
		return err
	}
	// Whoever judges the signature does it by what is compared here.
	c.report.Checksums = sums
	if c.report.Signature, err = c.read(layouts.SignatureFile); err != nil {
		return err
	}
	if data == nil && sums == nil {
		return repo.Missing("%s is not a mirror: it has neither %s nor %s", c.beside.dir, layouts.LockFile, layouts.ChecksumFile)
	}
	listed, err := parseSums(sums)
	if err != nil {
		c.add(Damaged, layouts.ChecksumFile, "%v; %s", err, c.again)
	}
	if sums == nil {
		c.add(missing, layouts.ChecksumFile, "the mirror has no checksums; %s", c.again)
	}
	for _, s := range listed {
		c.wanted[s.Name] = &wanted{sum: s.Sum, size: -1}
	}
	if data == nil {
		if c.wanted[layouts.LockFile] == nil {
			c.add(missing, layouts.LockFile, "the mirror has no lock file; restore it from a copy of the mirror")
		}
		return nil // else the checksums tell
	}
	lock, err := ParseLock(data)
	if err != nil {
		c.add(Damaged, layouts.LockFile, "%v", err)
		return nil
	}
	c.report.Lock = lock
	if to := lock.Settings.To; to != "" {
		c.report.Notes = append(c.report.Notes, fmt.Sprintf("the releases are in %s; only the other files are checked here", to))
		for _, l := range lock.Releases {
			for _, f := range l.Files {
				delete(c.wanted, releasePath(lock, &l)+"/"+f.Name)
			}
		}
		c.strangers(listed)
		return nil
	}
	for i := range lock.Releases {
		l := &lock.Releases[i]
		c.report.Releases++
		for _, f := range l.Files {
			name := releasePath(lock, l) + "/" + f.Name
			if w := c.wanted[name]; sums != nil && (w == nil || w.sum != f.Sum()) {
				c.add(Damaged, layouts.ChecksumFile,
					"it lacks the checksum of %s that %s has; %s", name, layouts.LockFile, c.again)
			}
			c.wanted[name] = &wanted{sum: f.Sum(), size: f.Size, by: layouts.LockFile, of: l}
		}
	}
	c.strangers(listed)
	return nil
}

// strangers reports what the checksums list although no mirror has it.
func (c *checker) strangers(listed []checksum) {
	names := phrase.List(listed, func(s checksum) string { return s.Name })
	for _, name := range strangers(c.report.Lock, names) {
		if c.root != nil {
			if _, err := c.root.Lstat(filepath.FromSlash(name)); errors.Is(err, fs.ErrNotExist) {
				continue // it is missing, as after a prune that was stopped
			}
		}
		c.add(Unexpected, name, "%s lists it, but it belongs to no release in %s, and mirror never writes it; %s", layouts.ChecksumFile, layouts.LockFile, c.remake)
	}
}

// strangers returns those of the files in a mirror that belong neither to its
// releases nor next to them, although a checksum file lists them: clusterctl would
// read them like all others.
func strangers(lock *Lock, names []string) (out []string) {
	known := map[string]bool{}
	for i := range lock.Releases {
		for _, f := range lock.Releases[i].Files {
			known[releasePath(lock, &lock.Releases[i])+"/"+f.Name] = true
		}
	}
	for _, name := range names {
		folder, _, _ := strings.Cut(name, "/")
		if !known[name] && !slices.Contains(layouts.RootFiles, name) && folder != layouts.ConfigMapFolder &&
			folder != layouts.ImagesFolder {
			out = append(out, name)
		}
	}
	return out
}

// releasePath is the folder of a release below the root.
func releasePath(lock *Lock, l *Locked) string {
	return path.Join(lock.Settings.Folder, l.Provider, l.Version)
}

type checksum struct {
	Name string
	Sum  repo.Sum
}

// parseSums reads the checksums of a mirror. It refuses names that lead out of
// the folder or occur twice, and returns the lines before the one that it refuses.
func parseSums(data []byte) (out []checksum, err error) {
	seen := map[string]bool{}
	for line := range bytes.Lines(data) {
		text, ended := strings.CutSuffix(string(line), "\n")
		hex, name, two := strings.Cut(text, "  ")
		sum, ok := repo.ParseSum(hex)
		if !ended || !two || !ok || !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
			return out, fmt.Errorf("line %d is not a checksum followed by the path of a file in the mirror", len(out)+1)
		}
		if seen[name] {
			return out, fmt.Errorf("line %d lists %q again", len(out)+1, name)
		}
		seen[name] = true
		out = append(out, checksum{name, sum})
	}
	return out, nil
}

// sizes learns how large the parts of images are from the manifest or index in a
// file, as far as the checksums vouch for it.
func (c *checker) sizes(name string) {
	w := c.wanted[name]
	if w == nil || w.size > files.MaxSize {
		return
	}
	data, err := c.read(name)
	if err != nil || sumOf(data) != w.sum {
		return // contents reports it
	}
	type part struct {
		Digest string `json:"digest"`
		Size   int64  `json:"size"`
	}
	var m struct {
		Manifests []part `json:"manifests"`
		Layers    []part `json:"layers"`
		Config    part   `json:"config"`
	}
	if json.Unmarshal(data, &m) != nil {
		return
	}
	for i, p := range append(append(m.Manifests, m.Layers...), m.Config) {
		blob := layouts.ImagesFolder + "/blobs/" + strings.Replace(p.Digest, ":", "/", 1)
		if w := c.wanted[blob]; w == nil || w.size >= 0 {
			continue
		}
		c.wanted[blob].size, c.wanted[blob].by = max(p.Size, 0), name
		if i < len(m.Manifests) {
			c.sizes(blob)
		}
	}
}

// contents reads every file that is listed.
func (c *checker) contents(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(c.wanted))
	type verdict struct {
		size int64
		kind problemKind
		why  string
	}
	found := make([]verdict, len(names))
	err := each(ctx, len(names), c.jobs, func(ctx context.Context, i int) error {
		w := c.wanted[names[i]]
		v := &found[i]
		a, err := c.file(names[i])
		if errors.Is(err, fs.ErrNotExist) {
			v.kind, v.why = missing, "the file is not there"
			return nil
		}
		if err != nil {
			v.kind, v.why = Damaged, files.Cause(err).Error()
			return nil
		}
		v.size = a.Size
		if w.size >= 0 && w.size != v.size {
			v.kind, v.why = Damaged, fmt.Sprintf("the file has %d bytes, not the %d of %s", v.size, w.size, w.by)
			return nil
		}
		if w.size < 0 && v.size > files.MaxSize {
			v.kind, v.why = Damaged, fmt.Sprintf("the file has %d bytes, more than the allowed %d", v.size, files.MaxSize)
			return nil
		}
		sum, err := a.Sum(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			v.kind, v.why = Damaged, err.Error()
		case sum != w.sum:
			v.kind, v.why = Damaged, "the content has the checksum "+sum.String()+", not "+w.sum.String()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, name := range names {
		v, w := &found[i], c.wanted[name]
		c.report.Files++
		c.report.Bytes += v.size
		if v.kind == "" {
			continue
		}
		fix := c.again
		if c.report.Lock == nil {
			fix = "restore it from a copy of the mirror"
		}
		c.add(v.kind, name, "%s; %s", v.why, fix)
		if w.of != nil {
			c.broken[w.of] = true
		}
	}
	return nil
}

// walk finds what is in no list.
func (c *checker) walk(ctx context.Context) error {
	releases := map[string]*Locked{}
	if c.report.Lock != nil {
		for i := range c.report.Lock.Releases {
			l := &c.report.Lock.Releases[i]
			releases[releasePath(c.report.Lock, l)] = l
		}
	}
	begun, _, err := c.beside.loadJournal()
	if err != nil {
		return err
	}
	pending := map[string]bool{}
	for _, e := range begun {
		for _, f := range e.Release.Files {
			pending[releasePath(cmp.Or(c.report.Lock, &Lock{}), &e.Release)+"/"+f.Name] = true
		}
	}
	return fs.WalkDir(c.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("read %s: %w", c.beside.path(name), files.Cause(err))
		case name == ".", c.wanted[name] != nil, pending[name], name == layouts.ChecksumFile, name == layouts.SignatureFile:
			return nil
		case base == journalFile:
			c.add(unfinished, name, "a run of mirror was interrupted; run it again to finish it, or remove what it copied with mirror prune --unlisted")
			return nil
		case strings.HasPrefix(base, layouts.WorkPrefix):
			if base != local.OccupiedFile {
				c.add(unfinished, name, "an interrupted run left it behind; run mirror repair")
			}
			return skip(e)
		case strings.HasPrefix(base, "."):
			return skip(e) // clusterctl reads nothing hidden
		case e.IsDir():
			return nil
		}
		advice := "remove it, or run mirror prune --unlisted"
		switch l := releases[path.Dir(name)]; {
		case l != nil:
			c.broken[l] = true
			advice = "remove it, or " + c.again
		case isRelease(path.Dir(name)):
			advice = "another program put it there, and this may be the only copy; move its folder out of the mirror, and mirror it from there if you need it"
		}
		switch {
		case strings.HasPrefix(name, layouts.OverridesFolder+"/"):
			c.add(Unexpected, name, "clusterctl may read it instead of a file of the mirror; remove it unless you want that")
		case !e.Type().IsRegular():
			c.add(Unexpected, name, "it is not a plain file; %s", advice)
		default:
			c.add(Unexpected, name, "it is in neither %s nor %s; %s", layouts.LockFile, layouts.ChecksumFile, advice)
		}
		return nil
	})
}

// isRelease reports whether a folder has the name of one with a release.
func isRelease(dir string) bool {
	label, version := path.Split(dir)
	_, labelErr := ParseLabel(path.Base(label))
	_, versionErr := layouts.ParseVersion(version)
	return labelErr == nil && versionErr == nil
}

func skip(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// urls are the values of url in the clusterctl.yaml of a mirror.
var urls = phrase.Pattern(`(?m)^\s*(?:- )?url: (.*)$`)

// place notes that the mirror was moved.
func (c *checker) place() {
	data, err := c.read(layouts.ConfigFile)
	dir, absErr := filepath.Abs(c.beside.dir)
	if err != nil || absErr != nil {
		return
	}
	for _, m := range urls().FindAllSubmatch(data, -1) {
		made := MadeIn(strings.Trim(string(m[1]), `"' `))
		if made == "" || made == Portable || made == dir {
			continue
		}
		c.report.Notes = append(c.report.Notes, fmt.Sprintf("%s was made for %s; to use it here, set %s=%s, or run mirror repair to change the default", layouts.ConfigFile, made, layouts.MirrorVariable, dir))
		return
	}
}
