package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Destination is a place that holds releases by version: the folder of a
// provider, a GitHub repository, a generic package of a GitLab project, a
// repository of an OCI registry. It does not know providers: a Site does.
type Destination interface {
	// Versions lists the versions that readers can see, oldest first. A place
	// where nothing was published has none; that is not an error.
	Versions(ctx context.Context) ([]string, error)
	// Fetch lists a published release. Its files are read when they are
	// opened, under ctx. The provider of the release may be zero; providers.Split finds
	// it. The error wraps fs.ErrNotExist if readers see no such version.
	Fetch(ctx context.Context, version string) (*repo.Release, error)
	// Plan says what Put would do, and changes nothing. What Put would refuse
	// is an error already here, as far as it can be known before.
	Plan(ctx context.Context, r *repo.Release) (Result, error)
	// Put publishes a release whole or not at all: readers see nothing of it
	// before all of it is there and checked. If the version is already there
	// with equal content, nothing changes and the result says so; with
	// different content it is a *ConflictError. What Check refuses is refused
	// before anything is touched. After any failure, a second Put finishes
	// what the first one began.
	Put(ctx context.Context, r *repo.Release) (Result, error)
	// Verify reads a published release the way clusterctl reads it, and fails
	// if that is not r.
	Verify(ctx context.Context, r *repo.Release) error
	// URL returns the provider URL for clusterctl.yaml: of the given version,
	// or of the newest for layouts.Latest if the place knows that.
	URL(version, componentsFile string) (string, error)
	// String names the destination in messages, without credentials.
	String() string
}

type Result struct {
	// Unchanged is true if the same content was already published.
	Unchanged bool
	// Where is the place a person would look at.
	Where string
	// Digest is that of the manifest in a registry, such as sha256:0123…; it is
	// empty elsewhere.
	Digest string
	// Steps are what Plan says would be done, in order, as short sentences
	// without a subject: "upload metadata.yaml (1200 bytes)".
	Steps []string
	// Notes are what the user should know but need not act on.
	Notes []string
}

// Temporary is an error that may be gone on the next attempt, such as a reset
// connection. Nothing is known about whether the server did its work.
type Temporary struct{ Err error }

func (e *Temporary) Error() string { return e.Err.Error() }

func (e *Temporary) Unwrap() error { return e.Err }

// ConflictError says that a version is already published with other content.
type ConflictError struct {
	// Release names provider and version, for messages.
	Release string
	Where   string
	Difference
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s is already published at %s with other content: %s; a published version never changes, so publish this content under a new version", e.Release, e.Where, e.Difference)
}

// Difference names the files in which a published release and a release to be
// published differ. The names are sorted.
type Difference struct {
	// Changed files are in both, with different content.
	Changed []string
	// Missing files are not published.
	Missing []string
	// Extra files are published only.
	Extra []string
}

func (d Difference) IsZero() bool { return len(d.Changed)+len(d.Missing)+len(d.Extra) == 0 }

// String lists the names by kind.
func (d Difference) String() string { return d.In("not published", "only published") }

// In is String with other words for missing and extra files.
func (d Difference) In(missing, extra string) string {
	var parts []string
	for _, kind := range []struct {
		word  string
		names []string
	}{{"changed", d.Changed}, {missing, d.Missing}, {extra, d.Extra}} {
		if len(kind.names) > 0 {
			parts = append(parts, kind.word+" "+strings.Join(kind.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Compare returns how two releases differ. Files whose checksum is not stated
// are read, in constant memory.
// What lies next to the published artifacts counts as extra, unless it is
// hidden.
func Compare(ctx context.Context, published, r *repo.Release) (Difference, error) {
	d, err := Differ(ByName(published), ByName(r), func(a, b *repo.Artifact) (bool, error) { return equal(ctx, a, b) })
	if err != nil {
		return Difference{}, err
	}
	for _, o := range published.Oddities {
		if o.Kind != repo.OddHidden {
			d.Extra = append(d.Extra, filepath.Base(o.Path))
		}
	}
	slices.Sort(d.Extra)
	return d, nil
}

// ByName returns the files of a release by their names.
func ByName(r *repo.Release) map[string]*repo.Artifact {
	out := make(map[string]*repo.Artifact, len(r.Artifacts))
	for _, a := range r.Artifacts {
		out[a.Name] = a
	}
	return out
}

// Differ returns how published files differ from those to be published, both by
// name. Same is asked about what is in both, in the order of the names.
func Differ[P, W any](published map[string]P, want map[string]W, same func(P, W) (bool, error)) (d Difference, err error) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		have, there := published[name]
		if !there {
			d.Missing = append(d.Missing, name)
			continue
		}
		switch equal, err := same(have, want[name]); {
		case err != nil:
			return d, err
		case !equal:
			d.Changed = append(d.Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(published)) {
		if _, wanted := want[name]; !wanted {
			d.Extra = append(d.Extra, name)
		}
	}
	return d, nil
}

func equal(ctx context.Context, a, b *repo.Artifact) (bool, error) {
	if a.Size != b.Size {
		return false, nil
	}
	x, err := a.Digest(ctx)
	if err != nil {
		return false, err
	}
	y, err := b.Digest(ctx)
	return x == y, err
}

// ContentID names the content of a release: it depends on the names of its
// files and on what is in them, and consists of 32 letters and digits.
func ContentID(ctx context.Context, r *repo.Release) (string, error) {
	lines := make([]string, 0, len(r.Artifacts))
	for _, a := range r.Artifacts {
		sum, err := a.Digest(ctx)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", a.Name, err)
		}
		lines = append(lines, sum.String()+"  "+a.Name+"\n")
	}
	slices.Sort(lines)
	return repo.Sum(sha256.Sum256([]byte(strings.Join(lines, "")))).String()[:32], nil
}

// Conflict compares a published release with one to be published. It returns
// nil if they are equal, and a *ConflictError if they are not.
func Conflict(ctx context.Context, published, r *repo.Release) error {
	diff, err := Compare(ctx, published, r)
	if err == nil && !diff.IsZero() {
		err = &ConflictError{Release: Name(r), Where: published.Path, Difference: diff}
	}
	return err
}

// Versions returns the semantic versions among words, oldest first, each once.
func Versions(words []string) []string {
	var found []layouts.Version
	for _, word := range phrase.Distinct(words) {
		if v, err := layouts.ParseVersion(word); err == nil {
			found = append(found, v)
		}
	}
	slices.SortStableFunc(found, layouts.Version.Compare)
	return phrase.List(found, layouts.Version.String)
}

// mediaTypes are those of files, by their extension. They are the same on every
// machine, unlike those of package mime.
var mediaTypes = map[string]string{
	".yaml": "application/yaml",
	".yml":  "application/yaml",
	".json": "application/json",
	".md":   "text/markdown",
	".txt":  "text/plain",
}

// MediaType names the type of a file by its extension.
func MediaType(file string) string {
	return cmp.Or(mediaTypes[path.Ext(file)], "application/octet-stream")
}

// Failed is the error of a release that could not be published to a place.
func Failed(r *repo.Release, to fmt.Stringer, err error) error {
	if _, ok := errors.AsType[*ConflictError](err); ok {
		return err // names itself
	}
	return fmt.Errorf("publish %s to %s: %w", Name(r), to, err)
}

// Name returns how messages call a release: its label and version, or only the
// version if several providers share it.
func Name(r *repo.Release) string {
	if r.Provider == (layouts.Provider{}) {
		return r.Version
	}
	return r.Provider.Label() + " " + r.Version
}

// maxName is the longest file name that common file systems take, in bytes.
const maxName = 255

var (
	// The letters that keep their meaning everywhere: in URLs, on every file
	// system, and as the name of a GitHub asset or GitLab package file.
	fileName = phrase.Pattern(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	// Windows opens a device for these, with any extension.
	deviceName = phrase.Pattern(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// CheckFileName reports whether a file of that name can be published to every
// kind of destination and read back under the same name on every platform.
func CheckFileName(name string) error {
	why := ""
	switch {
	case len(name) > maxName:
		why = fmt.Sprintf("has %d characters, more than %d", len(name), maxName)
	case !fileName().MatchString(name):
		why = "must begin with a letter or digit and consist of letters, digits and . _ + -"
	case strings.HasSuffix(name, "."):
		why = "must not end with a dot"
	case deviceName().MatchString(name):
		why = "is the name of a device on Windows"
	default:
		return nil
	}
	return fmt.Errorf("file name %q %s", name, why)
}

// CheckNames makes oddities of the files of a fetched release whose names no
// release can have, so that nothing uses them as names of files.
func CheckNames(r *repo.Release) {
	r.Artifacts = slices.DeleteFunc(r.Artifacts, func(a *repo.Artifact) bool {
		err := CheckFileName(a.Name)
		if err != nil {
			const long = 80 // enough to recognize it
			r.Oddities = append(r.Oddities, repo.Oddity{Kind: repo.OddEntry, Path: fmt.Sprintf("%s/%.*q", strings.TrimSuffix(r.Path, "/"), long, a.Name), Why: "has a name that a file of a release cannot have"})
		}
		return err != nil
	})
}

// Check refuses a release that no destination can hold whole: an invalid
// provider (none at all is the sign of several) or version, no files, a file whose name does not survive, two names
// that are equal where case does not matter, or something next to the files
// that would be left behind. It does not look inside the files; lint does.
func Check(r *repo.Release) error {
	if problems := r.Provider.Problems(); len(problems) > 0 && r.Provider != (layouts.Provider{}) {
		return fmt.Errorf("cannot publish %s: %s", r.Path, problems[0].Message)
	}
	if _, err := layouts.ParseVersion(r.Version); err != nil {
		return fmt.Errorf("cannot publish %s: %w", cmp.Or(r.Path, r.Provider.Label()), err)
	}
	if len(r.Artifacts) == 0 {
		return fmt.Errorf("cannot publish %s: it has no files", Name(r))
	}
	names := make(map[string]string, len(r.Artifacts))
	for _, a := range r.Artifacts {
		if err := CheckFileName(a.Name); err != nil {
			return fmt.Errorf("cannot publish %s: %w", Name(r), err)
		}
		key := strings.ToLower(a.Name)
		if other, clash := names[key]; clash {
			return fmt.Errorf("cannot publish %s: the file names %q and %q are equal where case does not matter, for example on macOS and Windows; rename one", Name(r), other, a.Name)
		}
		names[key] = a.Name
	}
	for _, o := range r.Oddities {
		if o.Kind != repo.OddHidden {
			return fmt.Errorf("cannot publish %s: %s %s; remove it or replace it with a plain file", Name(r), o.Path, o.Why)
		}
	}
	return nil
}
