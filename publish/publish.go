package publish

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Destination is a place that holds published releases.
type Destination interface {
	// Versions lists the versions of a provider that readers can see, oldest
	// first. A provider that was never published has none; that is no error.
	Versions(ctx context.Context, p layouts.Provider) ([]string, error)
	// Fetch opens a published release. The error wraps fs.ErrNotExist if
	// readers see no such version.
	Fetch(ctx context.Context, p layouts.Provider, version string) (*repo.Release, error)
	// Put publishes a release whole or not at all and reads it back. If the
	// version is already there with equal content, nothing changes and the
	// result says so; with different content it is a *ConflictError. What
	// Check refuses is refused before anything is touched.
	Put(ctx context.Context, r *repo.Release) (Result, error)
	// URL returns the provider URL for clusterctl.yaml: of the given version,
	// or of the newest for "latest".
	URL(p layouts.Provider, version, componentsFile string) (string, error)
	// String names the destination in messages, without credentials.
	String() string
}

// Result says what Put did.
type Result struct {
	// Unchanged is true if the same content was already published.
	Unchanged bool
	// Where is the place a person would look at.
	Where string
}

// ConflictError says that a version is already published with other content.
type ConflictError struct {
	// Release names provider and version, for messages.
	Release string
	// Where is the published version.
	Where string
	Difference
}

// Error names the differing files and the way out.
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

// IsZero reports whether there is no difference.
func (d Difference) IsZero() bool { return len(d.Changed)+len(d.Missing)+len(d.Extra) == 0 }

// String lists the names by kind.
func (d Difference) String() string {
	var parts []string
	for _, kind := range []struct {
		word  string
		names []string
	}{{"changed", d.Changed}, {"not published", d.Missing}, {"only published", d.Extra}} {
		if len(kind.names) > 0 {
			parts = append(parts, kind.word+" "+strings.Join(kind.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Compare reads two releases, in constant memory, and returns how they differ.
// What lies next to the published artifacts counts as extra, unless it is
// hidden.
func Compare(ctx context.Context, published, r *repo.Release) (Difference, error) {
	var d Difference
	have := make(map[string]*repo.Artifact, len(published.Artifacts))
	for _, a := range published.Artifacts {
		have[a.Name] = a
	}
	for _, a := range r.Artifacts {
		b := have[a.Name]
		if b == nil {
			d.Missing = append(d.Missing, a.Name)
			continue
		}
		delete(have, a.Name)
		same, err := equal(ctx, a, b)
		if err != nil {
			return Difference{}, err
		}
		if !same {
			d.Changed = append(d.Changed, a.Name)
		}
	}
	for _, a := range published.Artifacts {
		if have[a.Name] != nil {
			d.Extra = append(d.Extra, a.Name)
		}
	}
	for _, o := range published.Oddities {
		if o.Kind != repo.OddHidden {
			d.Extra = append(d.Extra, filepath.Base(o.Path))
		}
	}
	slices.Sort(d.Extra)
	return d, nil
}

func equal(ctx context.Context, a, b *repo.Artifact) (bool, error) {
	if a.Size != b.Size {
		return false, nil
	}
	x, err := a.Sum(ctx)
	if err != nil {
		return false, err
	}
	y, err := b.Sum(ctx)
	return x == y, err
}

// Name returns how messages call a release: its label and version.
func Name(r *repo.Release) string { return r.Provider.Label() + " " + r.Version }

// maxName is the longest file name that common file systems take, in bytes.
const maxName = 255

var (
	// The letters that keep their meaning everywhere: in URLs, on every file
	// system, and as the name of a GitHub asset or GitLab package file.
	fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	// Windows opens a device for these, with any extension.
	deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// CheckFileName reports whether a file of that name can be published to every
// kind of destination and read back under the same name on every platform.
func CheckFileName(name string) error {
	why := ""
	switch {
	case len(name) > maxName:
		why = fmt.Sprintf("has %d characters, more than %d", len(name), maxName)
	case !fileName.MatchString(name):
		why = "must begin with a letter or digit and consist of letters, digits and . _ + -"
	case strings.HasSuffix(name, "."):
		why = "must not end with a dot"
	case deviceName.MatchString(name):
		why = "is the name of a device on Windows"
	default:
		return nil
	}
	return fmt.Errorf("file name %q %s", name, why)
}

// Check refuses a release that no destination can hold whole: an invalid
// provider or version, no files, a file whose name does not survive, two names
// that are equal where case does not count, or something next to the files
// that would be left behind. It does not look inside the files; lint does.
func Check(r *repo.Release) error {
	if problems := r.Provider.Problems(); len(problems) > 0 {
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
			return fmt.Errorf("cannot publish %s: the file names %q and %q are equal where case does not count, for example on macOS and Windows; rename one", Name(r), other, a.Name)
		}
		names[key] = a.Name
	}
	for _, o := range r.Oddities {
		if o.Kind != repo.OddHidden {
			return fmt.Errorf("cannot publish %s: %s %s; remove it or make it a plain file", Name(r), o.Path, o.Why)
		}
	}
	return nil
}
