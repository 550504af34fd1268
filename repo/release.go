package repo

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// MaxFileSize is the largest file that is read into memory, in bytes.
const MaxFileSize = files.MaxSize

// Artifact is one file of a release. Its content is opened on demand, so that
// a repository of any size can be walked and published in constant memory.
type Artifact struct {
	// Name is the file name, without a folder.
	Name string
	// Size is the length in bytes.
	Size int64
	// Path is where the file is, as a person would type it; used in findings
	// and messages. For a file built in memory it is the name in the release.
	Path string
	// Link is set for a symbolic link. Its content is that of another file, which
	// a later reader may find changed.
	Link bool
	// Literal is set for a file of users in which ${} are parts of scripts, not variables
	// of clusterctl.
	Literal bool

	open func() (io.ReadCloser, error)
	// kind is set if it is known otherwise than by the name.
	kind *layouts.FileKind
	// stated is the checksum that the place of the file gives, or nil.
	stated *Sum
	// own says that this process has computed stated, of content that nothing else
	// can change.
	own bool
	// read is the checksum that was found when the content was last read whole.
	// Copies of the artifact share it.
	read *atomic.Pointer[Sum]
}

// NewArtifact returns an artifact whose content open delivers. Open may be
// called several times and from several goroutines.
func NewArtifact(name, path string, size int64, open func() (io.ReadCloser, error)) *Artifact {
	return &Artifact{Name: name, Path: path, Size: size, open: open, read: new(atomic.Pointer[Sum])}
}

// BytesArtifact returns an artifact held in memory. Its content, which Bytes returns
// as it is, must not change.
func BytesArtifact(name string, data []byte) *Artifact {
	return NewArtifact(name, name, int64(len(data)), func() (io.ReadCloser, error) {
		return &held{bytes.NewReader(data), data}, nil
	})
}

// held reads content that is in memory.
type held struct {
	*bytes.Reader
	data []byte
}

func (*held) Close() error { return nil }

// Kind says what clusterctl does with the file: as the build knows it, otherwise
// as the name tells.
func (a *Artifact) Kind() layouts.FileKind {
	if a.kind != nil {
		return *a.kind
	}
	return layouts.KindOfFile(a.Name)
}

// As returns the same file with a kind that its name need not tell.
func (a *Artifact) As(kind layouts.FileKind) *Artifact {
	out := *a
	out.kind = &kind
	return &out
}

// Stating returns the same file with the checksum that its place states for it,
// as GitHub, GitLab and OCI registries do. A reader of the file to its
// end gets an error if the content has another checksum.
func (a *Artifact) Stating(sum Sum) *Artifact {
	out := *a
	out.stated, out.own = &sum, false
	return &out
}

// Hashed is Stating for content that this process keeps where nothing else can
// change it, and whose checksum it has computed. It is not computed again when the
// content is read; who copies it has to read the copy back.
func (a *Artifact) Hashed(sum Sum) *Artifact {
	out := *a
	out.stated, out.own = &sum, true
	return &out
}

// Through returns the same file whose content passes through wrap whenever it is
// opened; wrap must not change it.
func (a *Artifact) Through(wrap func(io.ReadCloser) io.ReadCloser) *Artifact {
	out := *a
	out.open = func() (io.ReadCloser, error) {
		r, err := a.open()
		if err != nil {
			return nil, err
		}
		return wrap(r), nil
	}
	return &out
}

// Open opens the content for reading from the start.
func (a *Artifact) Open() (io.ReadCloser, error) {
	r, err := a.open()
	if err != nil || a.stated == nil || a.own {
		return r, err
	}
	return &checked{r, sha256.New(), a}, nil
}

// Text reads the whole content. It fails for files over MaxFileSize, and for YAML
// with more documents than yamldoc.MaxDocuments.
func (a *Artifact) Text() (string, error) {
	var out strings.Builder
	err := a.whole(func(r io.Reader) error {
		out.Grow(int(max(a.Size, 0)))
		n, err := io.Copy(&out, io.LimitReader(r, MaxFileSize+1))
		if err == nil && n > MaxFileSize {
			err = files.ErrTooLarge
		}
		return err
	}, func() error { return yamldoc.CheckCount(out.String()) })
	if err != nil {
		return "", err
	}
	return out.String(), nil
}

// Bytes is Text for who needs bytes, which must not be changed.
func (a *Artifact) Bytes() (data []byte, err error) {
	err = a.whole(func(r io.Reader) (err error) {
		if h, ok := r.(*held); ok && int64(len(h.data)) <= MaxFileSize {
			data = slices.Clip(h.data)
		} else {
			data, err = files.ReadAll(r, a.Size)
		}
		return err
	}, func() error { return yamldoc.CheckCount(data) })
	if err != nil {
		return nil, err
	}
	return data, nil
}

// fits refuses a file that is too large to be read into memory.
func (a *Artifact) fits() error {
	if a.Size > MaxFileSize {
		return fmt.Errorf("%s: the file has %d bytes, more than the %d that are read into memory", a.Path, a.Size, MaxFileSize)
	}
	return nil
}

// whole lets a function read the whole content, and another one count documents.
func (a *Artifact) whole(read func(io.Reader) error, count func() error) error {
	if err := a.fits(); err != nil {
		return err
	}
	r, err := a.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err = read(r); errors.Is(err, files.ErrTooLarge) {
		err = fmt.Errorf("the file has %w", err)
	}
	if ext := path.Ext(a.Name); err == nil && (ext == ".yaml" || ext == ".yml" || a.Kind().Read()) {
		err = count()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.Path, err)
	}
	return nil
}

// OddityKind says in which way an entry of a folder is odd.
type OddityKind string

// The kinds of oddities.
const (
	// OddHidden: the name begins with a dot.
	OddHidden OddityKind = "hidden"
	// OddEntry: a file where a folder belongs, or a folder without a release
	// in it. Nothing reads it.
	OddEntry OddityKind = "entry"
	// OddSubfolder: a folder inside a version; clusterctl asks for files next
	// to each other only.
	OddSubfolder OddityKind = "sub-folder"
	// OddLabel: a folder that holds releases, but whose name is no label.
	OddLabel OddityKind = "label"
	// OddVersion: a folder that holds a release, but whose name is no
	// semantic version; clusterctl does not list it.
	OddVersion OddityKind = "version"
	// OddSymlink: a version that is a symbolic link; clusterctl reads it when
	// it is named, but does not list it, so it is never "latest".
	OddSymlink OddityKind = "symlink"
	// OddCase: two names that are equal where case does not count.
	OddCase OddityKind = "case"
	// OddSpecial: a device, pipe or socket.
	OddSpecial OddityKind = "special"
	// OddBroken: a broken link.
	OddBroken OddityKind = "broken"
	// OddUnreadable: a link that leaves the folder, or a folder that cannot be
	// listed.
	OddUnreadable OddityKind = "unreadable"
)

// Oddity is an entry of a folder that has no place in the model, or (OddCase)
// should have none. It is kept so that lint can report it and so that nothing
// is published with a part of it missing.
type Oddity struct {
	Kind OddityKind
	// Path is where the entry is, as a person would type it.
	Path string
	// Why is the reason, in words that follow the path.
	Why string
}

// Release is one version of one provider: the files that clusterctl finds
// next to each other.
type Release struct {
	Provider layouts.Provider
	// Version is the folder name or tag, as it is written. It need not be
	// valid; lint says so if it is not.
	Version string
	// Artifacts are sorted by name.
	Artifacts []*Artifact
	// ComponentsFile names the file that clusterctl installs where its name does
	// not tell: a provider may call it as it likes, since users write the name in
	// the URL of the provider. It is empty if the name follows the convention.
	ComponentsFile string
	// Path is where the release is, for messages.
	Path string
	// Oddities lie next to the artifacts, sorted by path.
	Oddities []Oddity
	// Own is set for templates, classes and Clusters of users, which belong to no provider:
	// their names, with slashes below the folder that holds them, say nothing.
	Own bool
	// Titles are the names that a registry lists, with the checksums of what they name: those
	// of the files, and more names of the same files for other readers. Other places have none.
	Titles map[string]Sum
	// Beside are more files of users, which are not judged: those next to one that was named
	// alone, and those with objects that templates name, such as Secrets.
	Beside []*Artifact
	// Incomplete says why the place may hold more files than Artifacts, in words
	// that follow the path; it is empty if the place lists all its files.
	Incomplete string
}

// Unlisted is the error for a release of which files may be missing without a sign: its
// place cannot list them, and it has no checksum file that does.
func (r *Release) Unlisted() error {
	if r.Incomplete == "" || r.Artifact(layouts.ChecksumFile) != nil {
		return nil
	}
	names := phrase.List(r.Artifacts, func(a *Artifact) string { return a.Name })
	return fmt.Errorf("%s %s; it has no %s either, so only %s are known", r.Path, r.Incomplete, layouts.ChecksumFile, phrase.And(names))
}

// Sort brings the artifacts into the order of their names.
func (r *Release) Sort() {
	slices.SortFunc(r.Artifacts, func(a, b *Artifact) int { return cmp.Compare(a.Name, b.Name) })
}

// Artifact returns the file of that name, or nil.
func (r *Release) Artifact(name string) *Artifact {
	return phrase.First(r.Artifacts, func(a *Artifact) bool { return a.Name == name })
}

// Components returns the components file: the one that ComponentsFile names,
// otherwise the one with the recommended name, otherwise the only file whose name
// has the form of a components file of this provider type. It is nil if there is
// none or if the choice is not unique.
func (r *Release) Components() *Artifact {
	if r.ComponentsFile != "" {
		return r.Artifact(r.ComponentsFile)
	}
	if info, ok := r.Provider.Type.Info(); ok {
		if a := r.Artifact(info.ComponentsFile); a != nil {
			return a
		}
	}
	var found *Artifact
	for _, a := range r.Artifacts {
		if a.Kind() == layouts.Components {
			if found != nil {
				return nil
			}
			found = a
		}
	}
	return found
}

// Kinds returns a function that tells what clusterctl does with an artifact of
// r. Unlike the kind by name, it knows the components file under any name.
func (r *Release) Kinds() func(*Artifact) layouts.FileKind {
	components := r.Components()
	return func(a *Artifact) layouts.FileKind {
		if a == components {
			return layouts.Components
		}
		return a.Kind()
	}
}

// Identify sets ComponentsFile for a release whose components file cannot be told
// by its name: the only YAML file that is labelled with the provider, as clusterctl
// demands of components. It opens files only if no name tells. The error is that
// of reading a file; ComponentsFile stays empty if no file, or several, qualify.
func (r *Release) Identify() error {
	if r.ComponentsFile != "" || r.Provider.Name == "" ||
		slices.ContainsFunc(r.Artifacts, func(a *Artifact) bool { return a.Kind() == layouts.Components }) {
		return nil
	}
	label := layouts.ProviderLabel + ": " + r.Provider.Label() + "\n"
	found := ""
	for _, a := range r.Artifacts {
		if ext := path.Ext(a.Name); a.Kind() != layouts.Asset || ext != ".yaml" && ext != ".yml" ||
			a.Size > MaxFileSize {
			continue
		}
		text, err := a.Text()
		if err != nil {
			return err
		}
		if !strings.Contains(text, label) {
			continue
		}
		if found != "" {
			return nil
		}
		found = a.Name
	}
	r.ComponentsFile = found
	return nil
}

// Provider is a provider with its versions, oldest first.
type Provider struct {
	layouts.Provider
	Releases []*Release
	// Path is where the provider's folder is, for messages.
	Path string
	// Oddities lie next to the versions, sorted by path.
	Oddities []Oddity
}

// Repository is a set of providers, sorted by label.
type Repository struct {
	Providers []*Provider
	// Path is the root, for messages.
	Path string
	// Oddities lie next to the providers, sorted by path.
	Oddities []Oddity
	// Config is the clusterctl.yaml in the root, or nil. It does not belong to a
	// release.
	Config *Artifact
}

// Missing is the error for what does not exist. It matches fs.ErrNotExist, whose text
// it does not repeat.
func Missing(format string, args ...any) error { return missing(fmt.Sprintf(format, args...)) }

type missing string

func (m missing) Error() string { return string(m) }

func (missing) Is(target error) bool { return target == fs.ErrNotExist }
