package mirror

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// beside is the folder of the files beside the releases.
type beside struct{ dir string }

func (b beside) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// read returns a file, nil if it is not there.
func (b beside) read(name string) ([]byte, error) {
	data, err := files.Read(b.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.path(name), cause(err))
	}
	return data, nil
}

// write replaces a file in one step, durably, unless it has that content.
func (b beside) write(name string, data []byte) (changed bool, err error) {
	old, err := b.read(name)
	if err != nil || old != nil && bytes.Equal(old, data) {
		return false, err
	}
	path := b.path(name)
	fail := func(err error) (bool, error) {
		return false, fmt.Errorf("write %s: %w", path, cause(err))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fail(err)
	}
	// The prefix makes the next run remove it, should this one be killed.
	tmp, err := os.CreateTemp(b.dir, spoolPrefix)
	if err != nil {
		return fail(err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fail(err)
	}
	return true, nil
}

// cause drops the words of the system call, which repeat the path.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// journalFile remembers the releases of a run that has not come to its end. It
// has one entry on each line.
const journalFile = ".clusterctl-repo-mirror.jsonl"

// journal is open while releases are copied.
type journal struct{ f *os.File }

// write appends an entry in one piece. A line that a killed process leaves
// unfinished is ended by the next one.
func (m *run) write(e entry) error {
	if m.DryRun {
		return nil
	}
	if m.journal == nil {
		err := os.MkdirAll(m.Dir, 0o755)
		var f *os.File
		if err == nil {
			f, err = os.OpenFile(m.beside.path(journalFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", m.beside.path(journalFile), cause(err))
		}
		m.journal = &journal{f}
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := m.journal.f.Write(slices.Concat([]byte("\n"), line, []byte("\n"))); err != nil {
		return fmt.Errorf("write %s: %w", m.beside.path(journalFile), cause(err))
	}
	return nil
}

func (m *run) closeJournal() error {
	if m.journal == nil {
		return nil
	}
	if err := m.journal.f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", m.beside.path(journalFile), cause(err))
	}
	return nil
}

// load reads what earlier runs left.
func (m *run) load() error {
	data, err := m.beside.read(layouts.LockFile)
	if err != nil {
		return err
	}
	if data != nil {
		l, err := parseLock(data)
		if err != nil {
			return fmt.Errorf("%s: %w", m.beside.path(layouts.LockFile), err)
		}
		m.lock.add(l)
	}
	if err := m.loadImages(); err != nil {
		return err
	}
	entries, found, err := m.loadJournal()
	if err != nil {
		return err
	}
	for _, e := range entries {
		m.remember(e)
	}
	if data != nil || found {
		return nil
	}
	for _, name := range layouts.RootFiles {
		if _, err := os.Lstat(m.beside.path(name)); err == nil {
			return fmt.Errorf("%s is there, but no %s next to it, so it is not from a mirror and is not overwritten; move it away or take another folder", m.beside.path(name), layouts.LockFile)
		}
	}
	return nil
}

// loadJournal reads the entries of a run that was stopped. What is not whole is
// left out.
func (m *run) loadJournal() (entries []entry, found bool, err error) {
	f, err := os.Open(m.beside.path(journalFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", m.beside.path(journalFile), cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", m.beside.path(journalFile), cause(err))
	}
	for line := range bytes.Lines(data) {
		var e entry
		if json.Unmarshal(line, &e) != nil || (&Lock{Releases: []Locked{e.Release}}).check() != nil {
			continue
		}
		entries = append(entries, e)
	}
	return entries, true, nil
}

// loadImages reads the images that were found in earlier runs, if the checksums
// say that nobody changed the file.
func (m *run) loadImages() error {
	data, err := m.beside.read(layouts.ImageInventoryFile)
	if data == nil || err != nil {
		return err
	}
	sums, err := m.beside.read(layouts.ChecksumFile)
	if err != nil {
		return err
	}
	if !bytes.Contains(sums, []byte(sumOf(data).String()+"  "+layouts.ImageInventoryFile+"\n")) {
		return nil
	}
	known, ok := parseImages(data)
	if ok {
		for key, images := range known {
			m.images[key] = images
		}
	}
	return nil
}

// remember adds a copied release to what is known.
func (m *run) remember(e entry) {
	m.lock.add(&Lock{Sources: []Listing{e.Listing}, Releases: []Locked{e.Release}})
	m.images[[2]string{e.Release.Provider, e.Release.Version}] = e.Images
}

// checksums returns the content of the checksum file of the mirror: a line for
// each file of the releases, and for each beside them.
func (m *run) checksums(releases []Locked, beside map[string]repo.Sum) []byte {
	lines := make([]string, 0, len(beside))
	add := func(sum, name string) { lines = append(lines, fmt.Sprintf("%s  %s\n", sum, name)) }
	for _, r := range releases {
		for _, f := range r.Files {
			add(f.SHA256, r.Provider+"/"+r.Version+"/"+f.Name)
		}
	}
	for name, sum := range beside {
		add(sum.String(), name)
	}
	const name = 2 * len(repo.Sum{})
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[name:], b[name:]) })
	return []byte(strings.Join(lines, ""))
}
