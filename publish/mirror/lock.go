package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

const lockVersion = 1

// Lock is the lock file: what is in the mirror, and where it came from. It holds
// no time, so that equal mirrors have equal locks.
type Lock struct {
	SchemaVersion int `json:"schemaVersion"`
	// Settings are those of the last run.
	Settings Settings `json:"settings,omitzero"`
	// Sources are the releases as their places listed them, by source and
	// version.
	Sources []Listing `json:"sources"`
	// Releases are what is in the mirror, by provider and version.
	Releases []Locked `json:"releases"`
}

// Given says which settings of a run count even if they are empty.
type Given struct{ ImageRegistry, ConfigMaps, Images, Platforms, CertManager bool }

// Settings are what a mirror keeps from run to run, if run.settle carries them over.
type Settings struct {
	// ImageRegistry is the registry and path that clusterctl takes all images from.
	ImageRegistry string `json:"imageRegistry,omitempty"`
	// ConfigMaps are the releases as Cluster API Operator reads them.
	ConfigMaps bool `json:"configMaps,omitempty"`
	Images     bool `json:"images,omitempty"`
	// ExternalCertManager says that the clusters of the site have their own.
	ExternalCertManager bool `json:"externalCertManager,omitempty"`
	// Platforms are those of the images, such as linux/amd64; all if there are none.
	Platforms []string `json:"platforms,omitempty"`
	// MoreImages are images that no release names, such as those that a suite loads.
	MoreImages []string `json:"moreImages,omitempty"`
	// Folder is where the releases are below the root, if not there, and To
	// their place if that is not below the root at all.
	Folder string `json:"folder,omitempty"`
	To     string `json:"to,omitempty"`
	// URL is the address of the web server that shows the mirror.
	URL string `json:"url,omitempty"`
}

// Listing is what a place said about a release.
type Listing struct {
	Source  string `json:"source"`
	Version string `json:"version"`
	// SHA256 is that of the list: of names, sizes, and checksums as far as the
	// place states them.
	SHA256 string `json:"sha256"`
	// Providers are the labels of all that share the release.
	Providers []string `json:"providers"`
}

// Locked is a release of one provider in the mirror.
type Locked struct {
	ReleaseName
	// Contract is that of Cluster API that the metadata gives for the version.
	Contract string `json:"contract,omitempty"`
	Source   string `json:"source"`
	// Components is the name of the file that clusterctl asks for first.
	Components string       `json:"components,omitempty"`
	Files      []lockedFile `json:"files"`
}

// lockedFile is one file of a release; its size is in bytes.
type lockedFile struct {
	Name string `json:"name"`
	// URL is where the file was read.
	URL    string `json:"url"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// UpstreamDigest is the checksum that the source stated, in the form of
	// OCI; empty if it stated none.
	UpstreamDigest string `json:"upstreamDigest,omitempty"`
}

func (f *lockedFile) Sum() repo.Sum {
	sum, _ := repo.ParseSum(f.SHA256) // the lock was checked when it was read
	return sum
}

// Differs reports whether a file cannot be the locked one, by what its place
// says.
func (f *lockedFile) Differs(a *repo.Artifact) bool {
	sum, stated := a.Stated()
	return a.Size != f.Size || stated && sum != f.Sum()
}

func (l *Locked) File(name string) *lockedFile {
	for i := range l.Files {
		if l.Files[i].Name == name {
			return &l.Files[i]
		}
	}
	return nil
}

func (l *Locked) Identity() layouts.Provider {
	p, _ := ParseLabel(l.Provider) // the lock was checked when it was read
	return p
}

// ParseLabel is layouts.ParseLabel, which also knows cert-manager.
func ParseLabel(label string) (layouts.Provider, error) {
	if label == layouts.CertManager.Label() {
		return layouts.CertManager, nil
	}
	return layouts.ParseLabel(label)
}

// LockOf describes a release whose files state their checksums. Upstream holds
// the files as the source lists them.
func LockOf(r *repo.Release, source, components string, upstream *repo.Release) Locked {
	name := ReleaseName{r.Provider.Label(), r.Version}
	l := Locked{ReleaseName: name, Source: source, Components: components, Files: []lockedFile{}}
	for _, a := range r.Artifacts {
		sum, _ := a.Stated()
		f := lockedFile{Name: a.Name, URL: withoutQuery(a.Path), Size: a.Size, SHA256: sum.String()}
		if b := upstream.Artifact(a.Name); b != nil {
			f.URL = withoutQuery(b.Path)
			if sum, ok := b.Stated(); ok {
				f.UpstreamDigest = "sha256:" + sum.String()
			}
		}
		l.Files = append(l.Files, f)
	}
	return l
}

// withoutQuery drops what may be secret in a URL. A path stays as it is.
func withoutQuery(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host == "" {
		return path
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Differences compares a locked release with its files now, as far as their checksums
// are stated or among those that are known by name.
func (l *Locked) Differences(r *repo.Release, sums map[string]repo.Sum) publish.Difference {
	locked := map[string]*lockedFile{}
	for i := range l.Files {
		locked[l.Files[i].Name] = &l.Files[i]
	}
	d, _ := publish.Differ(publish.ByName(r), locked, func(a *repo.Artifact, f *lockedFile) (bool, error) {
		sum, known := sums[f.Name]
		return !f.Differs(a) && (!known || sum == f.Sum()), nil
	})
	return d
}

// ChangedError says that a source gives another content for a version than it
// did when the version was mirrored.
type ChangedError struct {
	// Release names provider and version.
	Release string
	// From is the source now, Locked the one of the lock file.
	From, Locked string
	// Missing files are gone, Extra ones are new.
	publish.Difference
}

func (e *ChangedError) Error() string {
	other := ""
	if e.From != e.Locked {
		other = fmt.Sprintf(" (from %s)", e.Locked)
	}
	return fmt.Sprintf("%s at %s has changed since it was mirrored%s: %s; a released version must never change, so find out who changed it and why before you accept it with --allow changed", e.Release, e.From, other, e.In("gone", "new"))
}

// Book is the lock in memory.
type Book struct {
	Settings Settings
	Listings map[[2]string]Listing // by source and version
	Releases map[ReleaseName]Locked
	Labels   map[[2]string][]string // of releases, by source and version
}

func NewBook() *Book {
	return &Book{Listings: map[[2]string]Listing{}, Releases: map[ReleaseName]Locked{}, Labels: map[[2]string][]string{}}
}

func (b *Book) Add(l *Lock) {
	for _, s := range l.Sources {
		b.Listings[[2]string{s.Source, s.Version}] = s
	}
	for _, r := range l.Releases {
		b.Releases[r.ReleaseName] = r
		if from := [2]string{r.Source, r.Version}; !slices.Contains(b.Labels[from], r.Provider) {
			b.Labels[from] = append(b.Labels[from], r.Provider)
		}
	}
}

// Release returns what is locked for a label and a version, or nil.
func (b *Book) Release(label, version string) *Locked {
	if l, ok := b.Releases[ReleaseName{label, version}]; ok {
		return &l
	}
	return nil
}

// From returns what is locked of one release of a source.
func (b *Book) From(source, version string) []*Locked {
	labels := b.Labels[[2]string{source, version}]
	all := phrase.Some(labels, func(label string) *Locked { return b.Release(label, version) })
	return phrase.Only(all, func(l *Locked) bool { return l.Source == source })
}

// Sorted returns the releases by label and version, oldest first.
func (b *Book) Sorted() []Locked {
	out := slices.AppendSeq(make([]Locked, 0, len(b.Releases)), maps.Values(b.Releases))
	slices.SortFunc(out, compareLocked)
	return out
}

func compareLocked(a, b Locked) int { return a.compare(b.ReleaseName) }

func CompareVersions(a, b string) int {
	v, _ := layouts.ParseVersion(a)
	w, _ := layouts.ParseVersion(b)
	return cmp.Or(v.Compare(w), cmp.Compare(a, b))
}

func (b *Book) Lock() *Lock {
	l := &Lock{SchemaVersion: lockVersion, Settings: b.Settings, Sources: []Listing{}, Releases: b.Sorted()}
	l.Sources = slices.AppendSeq(l.Sources, maps.Values(b.Listings))
	slices.SortFunc(l.Sources, func(x, y Listing) int {
		return cmp.Or(cmp.Compare(x.Source, y.Source), CompareVersions(x.Version, y.Version))
	})
	return l
}

// Keep returns the releases of the lock that are not among the newest n of their
// provider. Pre-releases count only if nothing else is left.
func (l *Lock) Keep(n int) (rest []Locked) {
	byProvider := map[string][]Locked{}
	for _, r := range l.Releases {
		byProvider[r.Provider] = append(byProvider[r.Provider], r)
	}
	for _, list := range byProvider {
		slices.SortStableFunc(list, func(a, b Locked) int {
			if x, y := stable(a.Version), stable(b.Version); x != y {
				if x {
					return -1
				}
				return 1
			}
			return CompareVersions(b.Version, a.Version)
		})
		rest = append(rest, list[min(n, len(list)):]...)
	}
	slices.SortFunc(rest, compareLocked)
	return rest
}

func (b *Book) Forget(l *Locked) {
	delete(b.Releases, l.ReleaseName)
	from := [2]string{l.Source, l.Version}
	b.Labels[from] = slices.DeleteFunc(b.Labels[from], func(label string) bool { return label == l.Provider })
	if len(b.Labels[from]) == 0 {
		delete(b.Listings, from)
	}
}

func (l *Lock) Marshal() ([]byte, error) { return indent(l) }

func ParseLock(data []byte) (*Lock, error) {
	l := &Lock{}
	err := json.Unmarshal(data, l)
	if l.SchemaVersion != lockVersion && (err == nil || l.SchemaVersion != 0) { // also if its fields have other types
		return nil, fmt.Errorf("it has the schema version %d, but this program supports %d; use the program that wrote it, or a newer one", l.SchemaVersion, lockVersion)
	}
	if ambiguous := repo.UnambiguousJSON(data); err == nil && ambiguous != nil {
		err = fmt.Errorf("it %w", ambiguous)
	}
	if err == nil && (l.Sources == nil || l.Releases == nil) {
		err = errors.New("it lists no sources and no releases, so it was not written by mirror")
	}
	if err == nil {
		err = l.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; restore the file from a copy of the mirror", err)
	}
	return l, nil
}

// Check makes sure that nothing in the lock is used as a path or checksum
// without being one.
func (l *Lock) Check() error {
	if f := l.Settings.Folder; f != "" && !filepath.IsLocal(filepath.FromSlash(f)) {
		return fmt.Errorf("the folder %q is not inside the mirror", f)
	}
	if r := l.Settings.ImageRegistry; r != "" {
		if err := CheckRegistry(r); err != nil {
			return err
		}
	}
	again := map[ReleaseName]bool{}
	for _, r := range l.Releases {
		if err := r.check(); err != nil {
			return err
		}
		if again[r.ReleaseName] {
			return fmt.Errorf("it lists %s %s twice", r.Provider, r.Version)
		}
		again[r.ReleaseName] = true
		files := map[string]bool{}
		for _, f := range r.Files {
			if err := publish.CheckFileName(f.Name); err != nil {
				return err
			}
			if files[f.Name] {
				return fmt.Errorf("it lists %s of %s %s twice", f.Name, r.Provider, r.Version)
			}
			files[f.Name] = true
			if _, ok := repo.ParseSum(f.SHA256); !ok {
				return fmt.Errorf("%s %s: %q is not a SHA-256 of %s", r.Provider, r.Version, f.SHA256, f.Name)
			}
		}
	}
	return nil
}

func (n ReleaseName) compare(other ReleaseName) int {
	return cmp.Or(cmp.Compare(n.Provider, other.Provider), CompareVersions(n.Version, other.Version))
}

func (n ReleaseName) check() error {
	_, err := ParseLabel(n.Provider)
	if err == nil {
		_, err = layouts.ParseVersion(n.Version)
	}
	return err
}

// ListingOf condenses what a place says about a release. If it is near, contents
// count, and their checksums are returned by name.
func ListingOf(ctx context.Context, r *repo.Release, near bool) (digest string, sums map[string]repo.Sum, err error) {
	sums = map[string]repo.Sum{}
	lines := make([]string, 0, len(r.Artifacts))
	for _, a := range r.Artifacts {
		sum, known := a.Stated()
		if near {
			if sum, err = a.Sum(ctx); err != nil {
				return "", nil, err
			}
			known = true
		}
		word := "-"
		if known {
			word, sums[a.Name] = sum.String(), sum
		}
		lines = append(lines, fmt.Sprintf("%s %d %s\n", word, a.Size, a.Name))
	}
	slices.Sort(lines)
	return repo.Sum(sha256.Sum256([]byte(strings.Join(lines, "")))).String(), sums, nil
}
