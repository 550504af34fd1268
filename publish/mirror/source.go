package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Source is a place that releases are copied from. Every publish.Destination is
// one.
type Source interface {
	Versions(ctx context.Context) ([]string, error)
	// Fetch lists a release. The error wraps fs.ErrNotExist if there is none.
	// If the provider of the release is zero, its files tell who shares it.
	Fetch(ctx context.Context, version string) (*repo.Release, error)
	// String names the place in messages and in the lock file, without
	// credentials. No two places have the same name.
	String() string
}

// Want is one thing that is to be in the mirror.
type Want struct {
	From Source
	// Near says that reading from the place costs no network, so that contents
	// are compared where a place that is far is believed.
	Near bool
	// Provider is who the release is for, whatever its files say. If it is
	// zero, all are meant that share the release, or the one that File belongs
	// to. It may be layouts.CertManager.
	Provider layouts.Provider
	// File is the components file if the name does not tell it, or "".
	File    string
	Version Selector
	// Trusted says that the content of the place was verified as a whole.
	Trusted bool
}

// Selector chooses versions. The zero Selector is the latest version.
type Selector struct {
	exact string
	rule  *semver.Constraints
	text  string
}

// ParseSelector reads "" or "latest", a version such as v1.2.3, which is taken
// as it is, or a range such as ">=1.10 <1.12" or "1.11.x", which stands for all
// versions in it. A range holds pre-releases only if it names one.
func ParseSelector(text string) (Selector, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == layouts.Latest {
		return Selector{}, nil
	}
	if v, err := layouts.ParseVersion(text); err == nil && v.HasV() {
		return Selector{exact: text, text: text}, nil
	}
	rule, err := semver.NewConstraint(text)
	if err != nil {
		return Selector{}, fmt.Errorf("%q is neither a version such as v1.2.3 nor a range such as \">=1.10 <1.12\"", text)
	}
	return Selector{rule: rule, text: text}, nil
}

func Exactly(version string) Selector { return Selector{exact: version, text: version} }

func (s Selector) String() string {
	if s.text == "" {
		return layouts.Latest
	}
	return s.text
}

func (s Selector) IsLatest() bool { return s.exact == "" && s.rule == nil }

// fits reports whether a version is the one that was named, or in the range.
func (s Selector) fits(version string) bool {
	if s.rule == nil {
		return s.exact == version
	}
	v, err := semver.NewVersion(version)
	return err == nil && s.rule.Check(v)
}

// Of returns the releases of a provider in a lock that are meant.
func (s Selector) Of(l *Lock, p layouts.Provider) []Locked {
	return phrase.Only(l.Releases, func(r Locked) bool {
		return r.Provider == p.Label() && s.fits(r.Version)
	})
}

// choose returns the versions that are meant, oldest first, and all of the source if it
// was asked for them. Read reads the metadata.yaml of a version.
func (s Selector) choose(ctx context.Context, from Source, read func(version string) ([]byte, error)) (found, versions []string, err error) {
	if s.exact != "" {
		return []string{s.exact}, nil, nil
	}
	if versions, err = from.Versions(ctx); err != nil {
		return nil, nil, fmt.Errorf("list the versions at %s: %w", from, err)
	}
	if s.rule == nil {
		latest, err := metadata.Latest(versions, read)
		if err != nil {
			hint := ""
			if errors.Is(err, metadata.ErrNoVersion) && len(versions) > 0 {
				hint = "; choose with @VERSION from " + few(versions)
			}
			return nil, nil, fmt.Errorf("find the latest version at %s: %w%s", from, err, hint)
		}
		return []string{latest}, versions, nil
	}
	found = publish.Versions(slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return !s.fits(v) }))
	if len(found) == 0 {
		return nil, nil, fmt.Errorf("%s has no version in the range %q; it has %s", from, s.text, few(versions))
	}
	return found, versions, nil
}

// few joins the last of many names.
func few(names []string) string {
	const shown = 8
	switch n := len(names); {
	case n == 0:
		return "none at all"
	case n > shown:
		return fmt.Sprintf("%d, the last are %s", n, strings.Join(names[n-shown:], ", "))
	}
	return strings.Join(names, ", ")
}

// Named is a source under another name, which must be that of no other source, since the
// lock file goes by it.
type Named struct {
	Source
	Name string
}

func (n Named) String() string { return n.Name }

// Pinned is the one version of a source that a digest names, where the source takes
// digests for versions.
type Pinned struct {
	Source
	Digest string
}

func (p Pinned) Versions(ctx context.Context) ([]string, error) {
	r, err := p.Source.Fetch(ctx, p.Digest)
	if err != nil {
		return nil, err
	}
	if r.Version == p.Digest {
		return nil, fmt.Errorf("%s has no annotation org.opencontainers.image.version; name it by its tag", r.Path)
	}
	return []string{r.Version}, nil
}

func (p Pinned) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	r, err := p.Source.Fetch(ctx, p.Digest)
	if err == nil && r.Version != version {
		err = repo.Missing("%s is the version %s, not %s", r.Path, r.Version, version)
	}
	return r, err
}

func (p Pinned) String() string { return p.Source.String() + "@" + p.Digest }

// Provider is a provider that is already listed, such as one in a folder.
type Provider repo.Provider

func (p *Provider) Versions(context.Context) ([]string, error) {
	return phrase.List(p.Releases, func(r *repo.Release) string { return r.Version }), nil
}

func (p *Provider) Fetch(_ context.Context, version string) (*repo.Release, error) {
	var known []string
	for _, r := range p.Releases {
		if r.Version == version {
			return r, nil
		}
		known = append(known, r.Version)
	}
	return nil, repo.Missing("it has %s", few(known))
}

func (p *Provider) String() string { return p.Path }

// task is a release to be copied.
type task struct {
	from    Source
	near    bool
	trusted bool
	version string
	parts   []part
}

// part is who a release is copied for.
type part struct {
	provider layouts.Provider
	file     string
}

// brings reports whether a task may bring a locked release again, so that it need not be
// judged by what is in the mirror. Who shares a release that is not in the book shows only
// when it is read.
func (t *task) brings(l *Locked, b *Book) bool {
	_, known := b.Listings[[2]string{t.from.String(), t.version}]
	return t.version == l.Version && slices.ContainsFunc(t.parts, func(p part) bool {
		return p.provider == l.Identity() || p.provider == (layouts.Provider{}) && (!known || l.Source == t.from.String())
	})
}

// resolve finds the versions that are meant, and joins what is wanted of one
// release.
func (m *planner) resolve(ctx context.Context, wants []Want) ([]*task, error) {
	// Several providers of one place ask it once.
	type question struct{ from, selector string }
	first := map[question]int{}
	var ask []int
	for i, w := range wants {
		q := question{w.From.String(), w.Version.String()}
		if _, asked := first[q]; !asked {
			first[q] = i
			ask = append(ask, i)
		}
	}
	versions := make([][]string, len(wants))
	err := each(ctx, len(ask), m.Jobs, func(ctx context.Context, i int) error {
		w := wants[ask[i]]
		chosen, all, err := w.Version.choose(ctx, w.From, func(version string) ([]byte, error) {
			return m.metadata(ctx, w, version)
		})
		if versions[ask[i]] = chosen; err == nil && all != nil {
			m.withdrawn(w, all)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []*task
	known := map[[2]string]*task{}
	for _, w := range wants {
		for _, v := range versions[first[question{w.From.String(), w.Version.String()}]] {
			key := [2]string{w.From.String(), v}
			t := known[key]
			if t == nil {
				t = &task{from: w.From, near: w.Near, trusted: true, version: v}
				known[key] = t
				out = append(out, t)
			}
			t.trusted = t.trusted && w.Trusted
			if p := (part{w.Provider, w.File}); !slices.Contains(t.parts, p) {
				t.parts = append(t.parts, p)
			}
		}
	}
	return out, nil
}

// withdrawn tells of releases that are missing from their source, given all that it has. They
// stay in the mirror, although their project may have had a reason to remove them. A folder
// may just hold what was built last.
func (m *planner) withdrawn(w Want, all []string) {
	tell := m.warn
	if w.Near {
		tell = m.note
	}
	for _, l := range m.book.Sorted() {
		if l.Source == w.From.String() && !slices.Contains(all, l.Version) {
			tell("%s %s is missing from %s, where it was mirrored from, and stays in the mirror; if it was withdrawn, remove it with mirror prune %s %[1]s@%[2]s", l.Provider, l.Version, l.Source, m.Dir)
		}
	}
}

// metadata reads the metadata.yaml of a version, from the mirror if the lock
// says that it is there.
func (m *planner) metadata(ctx context.Context, w Want, version string) ([]byte, error) {
	r, err := w.From.Fetch(ctx, version)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, metadata.ErrNoRelease
	}
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.listed[[2]string{w.From.String(), version}] = r
	m.mu.Unlock()
	a := r.Artifact(layouts.MetadataFile)
	if a == nil {
		return nil, fmt.Errorf("%s has no %s", r.Path, layouts.MetadataFile)
	}
	for _, l := range m.book.From(w.From.String(), version) {
		f := l.File(a.Name)
		if w.Near || f == nil || f.Differs(a) {
			continue
		}
		if got, err := m.at(ctx, l); err == nil && got.Artifact(a.Name) != nil {
			if b := got.Artifact(a.Name); b.Size == f.Size {
				return b.Stating(f.Sum()).Bytes()
			}
		}
	}
	return a.Bytes()
}
