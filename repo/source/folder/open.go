package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// ErrNotRepository is wrapped by the error of Open for a path that is neither
// a repository nor a part of one.
var ErrNotRepository = errors.New("not a provider repository")

// NotRepositoryError says what a path is instead of a repository.
type NotRepositoryError struct {
	Path string
	// Reason is what was found.
	Reason string
	// Source is set if it looks like the source tree of a provider, File if it is a
	// file, and Flat if it holds the files of a release for Flat.
	Source, File, Flat bool
	// Err is fs.ErrNotExist if nothing is there, or nil.
	Err error
}

// Error says what was found and what was expected.
func (e *NotRepositoryError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("%s does not exist%s", e.Path, neighbours(e.Path))
	}
	if e.Source || e.File || e.Flat {
		return fmt.Sprintf("%s is %v: %s", e.Path, ErrNotRepository, e.Reason)
	}
	return fmt.Sprintf("%s is %v: %s; expected a folder with <label>/<version>/<files>, a <label> folder such as infrastructure-foo, or a <label>/<version> folder", e.Path, ErrNotRepository, e.Reason)
}

// neighbours are the end of a message about a path that does not exist: what was probably
// meant, and the versions that there are where one was named.
func neighbours(path string) string {
	parent := filepath.Dir(path)
	entries, _ := os.ReadDir(parent)
	names := phrase.Only(phrase.List(entries, fs.DirEntry.Name), func(name string) bool { return !hidden(name) })
	base := filepath.Base(path)
	if _, err := layouts.ParseLabel(filepath.Base(parent)); err == nil {
		return phrase.Among(base, names)
	}
	near := phrase.DidYouMean(base, names)
	_, noLabel := layouts.ParseLabel(base)
	if _, noVersion := layouts.ParseVersion(base); near == "" && path == base && (noLabel == nil || noVersion == nil) {
		return "; name its folder with the path, or the URL of a release"
	}
	return near
}

// Unwrap makes the error match ErrNotRepository and its cause.
func (e *NotRepositoryError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrNotRepository}
	}
	return []error{ErrNotRepository, e.Err}
}

// Open reads a folder in clusterctl's layout <root>/<label>/<version>/<file>
// (clusterctl: client/repository/repository_local.go), and tells by looking
// whether it is the root, a label or a version. In the last two cases the
// result has one provider, or one provider with one release, whose identity
// comes from the folder names. A label that is none gives a provider without a
// name and an oddity; its type is then taken from the components file.
//
// Symbolic links are read as clusterctl reads them, as far as they stay in the
// repository: also in a label or version that is opened alone, the repository being
// the folder above <label> or <label>/<version>. No link out of it is followed.
//
// The files are listed, and opened only when they are asked for. The error is
// a *NotRepositoryError if the folder holds no repository.
func Open(ctx context.Context, dir string) (*repo.Repository, error) {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &NotRepositoryError{Path: dir, Reason: "it does not exist", Err: fs.ErrNotExist}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", dir, cause(err))
	case !info.IsDir():
		reason := "it is a file; name the folder of its release"
		if filepath.Ext(dir) == ".tar" {
			reason = "it is a file; to unpack a bundle, run clusterctl-repo mirror FILE --to FOLDER"
		}
		return nil, &NotRepositoryError{Path: dir, Reason: reason, File: true}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	base, below := around(abs)
	r, err := newReader(ctx, base, below, dir)
	if errors.Is(err, fs.ErrPermission) && below != "." { // of a repository of which only this may be read
		base, below = abs, "."
		r, err = newReader(ctx, base, below, dir)
	}
	if err != nil {
		return nil, err
	}
	defer r.close()
	s, err := r.look(abs)
	if err != nil {
		return nil, err
	}
	switch s {
	case isVersion:
		label := filepath.Base(filepath.Dir(abs))
		id, labelErr := layouts.ParseLabel(label)
		release, err := r.release(".", id, filepath.Base(abs))
		if err != nil {
			return nil, err
		}
		p := &repo.Provider{Provider: id, Path: r.join(".."), Releases: []*repo.Release{release}}
		if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 && below != "." {
			p.Oddities = append(p.Oddities, repo.Oddity{Kind: repo.OddSymlink, Path: dir, Why: whySymlink})
		}
		identify(p, labelErr)
		return &repo.Repository{Path: dir, Providers: []*repo.Provider{p}}, nil
	case isLabel:
		id, labelErr := layouts.ParseLabel(filepath.Base(abs))
		p, err := r.provider(".", id)
		if err != nil {
			return nil, err
		}
		identify(p, labelErr)
		return &repo.Repository{Path: dir, Providers: []*repo.Provider{p}}, nil
	case isFlat:
		return nil, &NotRepositoryError{Path: dir, Reason: "the files of a release lie flat in it; --version tells which release it is", Flat: true}
	default:
		if below != "." { // a repository that is named like a part of one
			root, err := newReader(ctx, abs, ".", dir)
			if err != nil {
				return nil, err
			}
			defer root.close()
			r = root
		}
		return r.repository()
	}
}

// Flat reads the files of a folder as those of one release, as make leaves them and a
// GitHub release has them: without folders for provider and version. Who the providers
// are is not known here. The version is the name of the folder if that is one, and
// otherwise empty. Symbolic links are followed inside the folder.
func Flat(ctx context.Context, dir string) (*repo.Release, error) {
	r, err := newReader(ctx, dir, ".", dir)
	if err != nil {
		return nil, err
	}
	defer r.close()
	version := ""
	if abs, err := filepath.Abs(dir); err == nil {
		if _, err := layouts.ParseVersion(filepath.Base(abs)); err == nil {
			version = filepath.Base(abs)
		}
	}
	return r.release(".", layouts.Provider{}, version)
}

// around returns the repository that a folder is a part of by its name, and the way
// from there to the folder. Links are followed inside it: a version may share files
// with the next one, whether the root is opened or only the version.
func around(abs string) (base, below string) {
	dir, name := filepath.Split(abs)
	_, versionErr := layouts.ParseVersion(name)
	parent, label := filepath.Split(filepath.Clean(dir))
	if _, err := layouts.ParseLabel(label); err == nil && versionErr == nil {
		return filepath.Clean(parent), path.Join(label, name)
	}
	if _, err := layouts.ParseLabel(name); err == nil {
		return filepath.Clean(dir), name
	}
	return abs, "."
}

// OpenRelease lists one release below base, outside which nothing is read.
// The folder dir is relative to base, with slashes; it is not checked against
// the identity that the release gets. The error wraps fs.ErrNotExist if the
// folder is not there.
func OpenRelease(ctx context.Context, base, dir string, id layouts.Provider, version string) (*repo.Release, error) {
	r, err := newReader(ctx, base, ".", base)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.release(dir, id, version)
}

// identify gives a provider whose folder has no label the type that its files
// have.
func identify(p *repo.Provider, labelErr error) {
	if labelErr == nil {
		return
	}
	p.Oddities = append(p.Oddities, repo.Oddity{Kind: repo.OddLabel, Path: p.Path, Why: "holds releases, but " + labelErr.Error()})
	for _, r := range p.Releases {
		for _, a := range r.Artifacts {
			if t := layouts.TypeOfComponents(a.Name); t != "" {
				p.Type = t
			}
		}
	}
	for _, r := range p.Releases {
		r.Provider = p.Provider
	}
}

type shape int

const (
	isRoot shape = iota
	isLabel
	isVersion
	isFlat
)

// sourceMarkers are in the source tree of a provider, never in a release.
var sourceMarkers = []string{"go.mod", "PROJECT", "config", "kustomization.yaml", "kustomization.yml", "Kustomization", "clusterctl-repo.yaml", ".clusterctl-repo.yaml"}

// sourceHints are in source trees, but may lie beside releases as well.
var sourceHints = []string{"Makefile", "Dockerfile", "go.work", "templates"}

// meant matches names of folders that are meant as versions, such as v1.0.
var meant = phrase.Pattern(`^v?[0-9]`)

// look decides what the folder is, from its name and what it holds. Content is
// stronger evidence than a name: a metadata.yaml lies in every source tree
// too, and a version may be built into a folder of any name. A source tree may
// hold releases of its own (releases/v0.1.0) or a components file.
func (r *reader) look(abs string) (shape, error) {
	name := filepath.Base(abs)
	_, labelErr := layouts.ParseLabel(filepath.Base(filepath.Dir(abs)))
	entries, err := r.list(".")
	if err != nil {
		return 0, err
	}
	var source, hinted, components, metadata, files, folders bool
	var below evidence
	var unread error
	for _, e := range entries {
		source = source || slices.Contains(sourceMarkers, e.Name())
		hinted = hinted || slices.Contains(sourceHints, e.Name())
		switch {
		case hidden(e.Name()):
		case !r.isDir(".", e):
			files = true
			components = components || layouts.KindOfFile(e.Name()) == layouts.Components
			metadata = metadata || e.Name() == layouts.MetadataFile
		case below < labelled:
			folders = true
			found, err := r.versionsIn(e.Name(), e.Name())
			below, unread = max(below, found), cmp.Or(unread, err)
		}
	}
	own, err := r.versionsIn(".", name)
	unread = cmp.Or(unread, err)
	_, versionErr := layouts.ParseVersion(name)
	fail := func(reason string) (shape, error) {
		return 0, &NotRepositoryError{Path: r.path, Reason: reason}
	}
	switch {
	case r.ctx.Err() != nil:
		return 0, context.Cause(r.ctx)
	case components && labelErr == nil && (versionErr == nil || !source && meant().MatchString(name)):
		return isVersion, nil
	case components && (versionErr == nil || !source):
		return isFlat, nil
	case own == labelled && !source:
		return isLabel, nil
	case below == labelled && !components:
		return isRoot, nil
	case source || hinted:
		return 0, &NotRepositoryError{Path: r.path, Reason: "it looks like a source tree; build its releases with clusterctl-repo build", Source: true}
	case own >= weak:
		return isLabel, nil
	case below >= weak:
		return isRoot, nil
	case versionErr == nil && labelErr == nil && files:
		return isVersion, nil
	case metadata && !folders:
		return isFlat, nil
	case versionErr == nil && metadata: // files of users are in folders of Kubernetes versions, too
		return isVersion, nil
	case unread != nil: // what it holds is not known
		return 0, unread
	case len(entries) == 0:
		return fail("the folder is empty")
	default:
		return fail("the folder holds no releases")
	}
}

// evidence is how sure it is that a folder holds the versions of a provider.
type evidence int

const (
	none     evidence = iota
	weak              // the name of a label, over a release whose name is not a version
	strong            // the name of a version, over a release
	labelled          // the names of a label and a version
)

// versionsIn looks for versions in the folder dir of the given name. The error says what of
// it is not known.
func (r *reader) versionsIn(dir, name string) (found evidence, unread error) {
	_, labelErr := layouts.ParseLabel(name)
	entries, err := r.list(dir)
	if err != nil {
		return none, err
	}
	for _, e := range entries {
		if hidden(e.Name()) || !r.isDir(dir, e) {
			continue
		}
		_, versionErr := layouts.ParseVersion(e.Name())
		switch {
		case labelErr != nil && versionErr != nil:
		case labelErr == nil && versionErr == nil:
			return labelled, nil
		default:
			holds, err := r.holdsRelease(path.Join(dir, e.Name()))
			switch unread = cmp.Or(unread, err); {
			case !holds:
			case versionErr == nil:
				found = strong
			default:
				found = max(found, weak)
			}
		}
	}
	return found, unread
}
