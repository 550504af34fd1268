package mirror

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// beside is the folder of the files next to the releases. Others may write there,
// so nothing is followed that is not a plain file or folder.
type beside struct{ dir string }

// failed says what could not be done with a file; it is nil if err is.
func (b beside) failed(to, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", to, b.path(name), files.Cause(err))
}

func (b beside) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// open opens the folder, which it makes if necessary.
func (b beside) open() (*os.Root, error) {
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return nil, err
	}
	return os.OpenRoot(b.dir)
}

var errOdd = errors.New("it is not a plain file or folder, such as a symbolic link or a pipe; remove it")

// plain refuses a name under which, or above which, lies something else than a
// file in folders. The file need not exist.
func plain(root *os.Root, name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return errOdd
		}
	}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errOdd
	}
	return err
}

// openFile opens a plain file without waiting, and again makes sure that it is
// one.
func openFile(root *os.Root, name string, flag int) (*os.File, error) {
	if ready := path.Join(readyDir, name); flag == os.O_RDONLY && !strings.HasPrefix(name, readyDir) {
		if _, err := root.Lstat(ready); err == nil {
			// A run was stopped before it moved it, or is about to.
			if f, err := openFile(root, ready, flag); !errors.Is(err, fs.ErrNotExist) {
				return f, err
			}
		}
	}
	if err := plain(root, name); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	mine, err := f.Stat()
	if err == nil {
		there, lstatErr := root.Lstat(name)
		if lstatErr != nil || !mine.Mode().IsRegular() || !os.SameFile(mine, there) {
			err = errOdd
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// artifactAt is a plain file, which is opened when it is read.
func artifactAt(root *os.Root, name string) (*repo.Artifact, error) {
	f, err := openFile(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return repo.NewArtifact(path.Base(name), name, info.Size(), func() (io.ReadCloser, error) { return openFile(root, name, os.O_RDONLY) }), nil
}

// read returns a file, nil if it is not there.
func (b beside) read(name string) (data []byte, err error) {
	root, err := os.OpenRoot(b.dir)
	if err == nil {
		data, err = whole(root, name)
		root.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.path(name), files.Cause(err))
	}
	return data, nil
}

// readLockFile returns the lock file, which is nil if there is none, and its content.
func (b beside) readLockFile() (l *Lock, data []byte, err error) {
	if data, err = b.read(layouts.LockFile); data == nil || err != nil {
		return nil, nil, err
	}
	if l, err = ParseLock(data); err != nil {
		err = fmt.Errorf("%s: %w", b.path(layouts.LockFile), err)
	}
	return l, data, err
}

// whole reads a plain file into memory, up to files.MaxSize.
func whole(root *os.Root, name string) ([]byte, error) {
	f, err := openFile(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := files.ReadAll(f, min(info.Size(), files.MaxSize))
	if errors.Is(err, files.ErrTooLarge) {
		err = fmt.Errorf("it has more than %d bytes", files.MaxSize)
	}
	return data, err
}

// The files next to the releases vouch for each other: the lock file, the checksums
// that cover it, and the signature that covers those. No file system replaces several
// files in one step, so all that change are written to stagedDir, which is renamed to
// readyDir when it is whole. That is the step: from then on readyDir counts for
// readers, and the same or the next run moves its files to their places, without the
// key. Until then the old files, with their signature, are as they were. (A signature
// written before or after the checksums would leave a killed run without a pair that
// its next run could trust.)
const (
	stagedDir = layouts.WorkPrefix + "staged"
	readyDir  = layouts.WorkPrefix + "ready"
)

// stage writes new content for a file, durably, unless the file has it already.
func (b beside) stage(name string, data []byte) (changed bool, err error) {
	old, err := b.read(name)
	if err != nil || old != nil && bytes.Equal(old, data) {
		return false, err
	}
	root, err := b.open()
	if err == nil {
		defer root.Close()
		err = root.MkdirAll(path.Dir(path.Join(stagedDir, name)), 0o777)
	}
	if err == nil {
		err = files.Write(root, path.Join(stagedDir, name), path.Join(stagedDir, spoolPrefix+rand.Text()), func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	return err == nil, b.failed("write", name, err)
}

// commit puts all that was staged into the place of what was there, in one step.
func (b beside) commit() error {
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		return b.failed("open", "", err)
	}
	defer root.Close()
	dirs, _, err := b.below(root, stagedDir)
	if err != nil || len(dirs) == 0 {
		return b.failed("write", stagedDir, err)
	}
	for _, dir := range dirs {
		syncDir(root, dir)
		if err := root.MkdirAll(path.Clean("./"+strings.TrimPrefix(dir, stagedDir)), 0o777); err != nil {
			return b.failed("write", dir, err) // before anything is in its place
		}
	}
	if err := root.Rename(stagedDir, readyDir); err != nil {
		return b.failed("write", readyDir, err)
	}
	syncDir(root, ".")
	return b.settle()
}

// settle moves the files of readyDir to their places, those last that vouch for the
// others.
func (b beside) settle() error {
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		return nil // the one who writes there complains
	}
	defer root.Close()
	dirs, names, err := b.below(root, readyDir)
	if err != nil || len(dirs) == 0 {
		return b.failed("read", readyDir, err)
	}
	for _, name := range slices.Backward(names) {
		to := strings.TrimPrefix(name, readyDir+"/")
		err := root.MkdirAll(path.Dir(to), 0o777)
		if err == nil {
			err = plain(root, to)
		}
		if err == nil {
			err = root.Rename(name, to)
		}
		if err != nil {
			return b.failed("write", to, err)
		}
	}
	syncDir(root, ".")
	return b.failed("remove", readyDir, root.RemoveAll(readyDir))
}

// below lists a hidden folder with what is in it, in the order of the names.
func (b beside) below(root *os.Root, dir string) (dirs, names []string, err error) {
	err = fs.WalkDir(root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == dir:
		case err != nil:
			return err
		case e.IsDir():
			dirs = append(dirs, name)
		default:
			names = append(names, name)
		}
		return nil
	})
	return dirs, names, err
}

// syncDir makes the entries of a folder durable where the file system can.
func syncDir(root *os.Root, dir string) {
	if d, err := root.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// remove deletes files, and the folders that get empty by that. What is not
// there is no error.
func (b beside) remove(names []string) error {
	root, err := os.OpenRoot(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the mirror %s: %w", b.dir, files.Cause(err))
	}
	defer root.Close()
	for _, name := range names {
		if err := root.RemoveAll(name); err != nil {
			// A read-only file system refuses also what is not there.
			if _, there := root.Lstat(name); !errors.Is(there, fs.ErrNotExist) {
				return b.failed("remove", name, err)
			}
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if root.Remove(dir) != nil {
				break // there is something in it
			}
		}
	}
	return nil
}

// journalFile remembers the releases of a run that has not come to its end. It
// has one entry on each line.
const journalFile = layouts.WorkPrefix + "mirror.jsonl"

// write appends an entry in one piece. A line that a killed process leaves
// unfinished is ended by the next one.
func (m *run) write(e entry) error {
	if m.DryRun {
		return nil
	}
	if m.journal == nil {
		root, err := m.beside.open()
		var f *os.File
		if err == nil {
			f, err = openFile(root, journalFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
			root.Close()
		}
		if err != nil {
			return m.beside.failed("write", journalFile, err)
		}
		m.journal = f
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = m.journal.Write(slices.Concat([]byte("\n"), line, []byte("\n")))
	return m.beside.failed("write", journalFile, err)
}

func (m *run) closeJournal() error {
	if m.journal == nil {
		return nil
	}
	return m.beside.failed("write", journalFile, m.journal.Close())
}

// load reads what earlier runs left.
func (m *run) load() error {
	l, data, err := m.beside.readLockFile()
	if err != nil {
		return err
	}
	if m.sums, err = m.beside.read(layouts.ChecksumFile); err != nil {
		return err
	}
	if m.sig, err = m.beside.read(layouts.SignatureFile); err != nil {
		return err
	}
	if l != nil {
		m.book.Add(l)
		m.settle(l.Settings)
		if m.sums != nil && m.sig != nil && m.Vouched != nil && m.Vouched(m.sums, m.sig) {
			if err := m.vouch(l, data); err != nil {
				return err
			}
		}
	}
	if _, err := parseSums(m.sums); m.Repair && (m.sums == nil || err != nil) {
		m.sig = nil // it signs what repair makes again of the lock, or nothing
	}
	m.book.Settings = m.Settings
	m.book.Settings.Folder = strings.TrimSuffix(m.Below, "/")
	if m.Apart || m.Folder == nil {
		m.book.Settings.To = m.To.Name
	}
	if err := m.loadImages(); err != nil {
		return err
	}
	entries, found, err := m.beside.loadJournal()
	if err != nil {
		return err
	}
	m.resumed = found
	for _, e := range entries {
		old := m.book.Release(e.Release.Provider, e.Release.Version)
		if old == nil || !slices.Equal(old.Files, e.Release.Files) {
			if m.Repair && m.sig != nil {
				m.begun = true // the run that copied it finishes it; repair restores what the lock says
				continue
			}
			delete(m.vouched, e.Release.ReleaseName)
			m.adopted[e.Release.ReleaseName] = old == nil
		}
		if m.Sign != nil {
			e.Images = nil // no signature covers them, so they are looked for again
		}
		m.remember(e)
	}
	if l != nil || found {
		return nil
	}
	for _, name := range layouts.RootFiles {
		if _, err := os.Lstat(m.beside.path(name)); err == nil {
			return fmt.Errorf("%s exists without %s next to it, so it is not from a mirror and is not overwritten; move it away or use another folder", m.beside.path(name), layouts.LockFile)
		}
	}
	return nil
}

// vouch takes note of the releases in a lock whose checksums have a good signature.
func (m *run) vouch(l *Lock, data []byte) error {
	listed, err := parseSums(m.sums)
	if err != nil || !slices.Contains(listed, checksum{layouts.LockFile, sumOf(data)}) {
		return nil // what was signed is not this lock
	}
	for _, r := range l.Releases {
		m.vouched[r.ReleaseName] = true
	}
	const index = layouts.ImagesFolder + "/index.json"
	if data, err = m.beside.read(index); err != nil || data == nil {
		return err
	}
	m.vouchedImages = slices.Contains(listed, checksum{index, sumOf(data)})
	return nil
}

// settle takes the settings of earlier runs that the user did not give.
func (m *run) settle(last Settings) {
	s := &m.Settings
	if !m.Given.ImageRegistry && s.ImageRegistry == "" && last.ImageRegistry != "" {
		s.ImageRegistry = last.ImageRegistry
		m.note("clusterctl takes images from %s, as in the last run", s.ImageRegistry)
	}
	s.ConfigMaps = s.ConfigMaps || last.ConfigMaps && !m.Given.ConfigMaps
	s.ExternalCertManager = s.ExternalCertManager || last.ExternalCertManager && !m.Given.CertManager
	s.Images = s.Images || last.Images && !m.Given.Images
	if !m.Given.Platforms {
		s.Platforms = last.Platforms
	}
	if s.MoreImages == nil {
		s.MoreImages = last.MoreImages
	}
	m.otherPlatforms = last.Images && !slices.Equal(s.Platforms, last.Platforms)
}

// loadJournal reads the entries of a run that was stopped. What is not whole is
// left out.
func (b beside) loadJournal() (entries []entry, found bool, err error) {
	data, err := b.read(journalFile)
	if data == nil || err != nil {
		return nil, false, err
	}
	for line := range bytes.Lines(data) {
		var e entry
		if json.Unmarshal(line, &e) != nil || (&Lock{Releases: []Locked{e.Release}}).Check() != nil {
			continue
		}
		entries = append(entries, e)
	}
	return entries, true, nil
}

// Begun returns the releases in the folder of a mirror that a run which was stopped has
// copied, and that a lock lacks.
func Begun(dir string, l *Lock) (out []Locked, err error) {
	entries, _, err := beside{dir}.loadJournal()
	book := NewBook()
	book.Add(l)
	for _, e := range entries {
		if r := e.Release; book.Release(r.Provider, r.Version) == nil {
			book.Add(&Lock{Releases: []Locked{r}})
			out = append(out, r)
		}
	}
	return out, err
}

// loadImages reads the images that were found in earlier runs, if the checksums say
// that the file has not changed. What is signed rests only on checksums that were.
func (m *run) loadImages() error {
	data, err := m.beside.read(layouts.ImageInventoryFile)
	if data == nil || err != nil || m.Sign != nil && len(m.vouched) == 0 {
		return err
	}
	if !listedIn(m.sums, layouts.ImageInventoryFile, data) {
		return nil
	}
	if known, ok := ParseImages(data); ok {
		m.images = known
	}
	return nil
}

// listedIn reports whether checksums are those of a file with this content.
func listedIn(sums []byte, name string, data []byte) bool {
	return bytes.Contains(sums, []byte(sumOf(data).String()+"  "+name+"\n"))
}

func (m *run) remember(e entry) {
	m.book.Add(&Lock{Sources: []Listing{e.Listing}, Releases: []Locked{e.Release}})
	m.images[e.Release.ReleaseName] = e.Images
}

// checksums returns the content of the checksum file of the mirror: a line for
// each file of the releases, and for each next to them.
func (m *run) checksums(releases []Locked, beside map[string]repo.Sum) []byte {
	lines := make([]string, 0, len(beside))
	add := func(sum, name string) { lines = append(lines, fmt.Sprintf("%s  %s\n", sum, name)) }
	for _, r := range releases {
		for _, f := range r.Files {
			add(f.SHA256, m.Below+r.Provider+"/"+r.Version+"/"+f.Name)
		}
	}
	for name, sum := range beside {
		add(sum.String(), name)
	}
	const name = 2 * len(repo.Sum{})
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[name:], b[name:]) })
	return []byte(strings.Join(lines, ""))
}
