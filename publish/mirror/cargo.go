package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// cargo is a task under way.
type cargo struct {
	*task
	// listed is the release as the source lists it, with the digest of that
	// list, and sums the checksums that are known without a download.
	listed *repo.Release
	digest string
	sums   map[string]repo.Sum
	// known is what the lock says of the release if nothing has to be done.
	known []*Locked
	// whole is the release with what the mirror has of it in its place.
	whole *repo.Release
	// labels are those of all providers that share the release.
	labels []string
	// releases are what is wanted of it, and components the name of the
	// components file of each.
	releases   []*repo.Release
	components []string
	// here are files that are read in the mirror, because they are there
	// already.
	here  map[*repo.Artifact]bool
	spool *spool
}

// open finds out what of a release belongs to whom it is wanted for. Files that
// the mirror has already are read there.
func (m *copier) open(ctx context.Context, c *cargo) error {
	whole := *c.listed
	for _, p := range c.parts {
		if p.provider != (layouts.Provider{}) {
			if err := m.borrow(ctx, c, &whole, p.provider); err != nil {
				return err
			}
		}
	}
	c.whole = &whole
	split, err := m.split(ctx, c)
	if err != nil {
		return err
	}
	c.labels = phrase.List(split, func(r *repo.Release) string { return r.Provider.Label() })
	if len(split) > 1 && whole.Artifact(layouts.SignatureFile) != nil {
		m.note("%s is signed as a whole, so the mirror does not have the signature; --sign-key signs the mirror", whole.Path)
	}
	seen := map[layouts.Provider]bool{}
	for _, p := range c.parts {
		chosen, err := p.choose(split)
		if err != nil {
			if err := c.whole.Readable(); err != nil {
				return err // what cannot be read does not say whose it is
			}
			return fmt.Errorf("%s: %w", c.listed.Path, err)
		}
		for _, r := range chosen {
			if seen[r.Provider] {
				continue
			}
			seen[r.Provider] = true
			if p.provider == (layouts.Provider{}) {
				if err := m.borrow(ctx, c, r, r.Provider); err != nil {
					return err
				}
			}
			components := p.file
			if a := r.Components(); components == "" && a != nil {
				components = a.Name
			}
			if r.Provider == layouts.CertManager {
				components = layouts.CertManagerFile
			}
			if components == "" {
				return fmt.Errorf("%s: it is not clear which file has the components of %s; name it by its URL", c.listed.Path, r.Provider)
			}
			c.releases = append(c.releases, r)
			c.components = append(c.components, components)
		}
	}
	return nil
}

// split takes a release apart by provider.
func (m *copier) split(ctx context.Context, c *cargo) ([]*repo.Release, error) {
	if c.whole.Provider != (layouts.Provider{}) {
		one := *c.whole
		return []*repo.Release{&one}, nil
	}
	file := ""
	for _, p := range c.parts {
		if p.file != "" && layouts.KindOfFile(p.file) != layouts.Components {
			file = p.file
		}
	}
	if err := take(ctx, m.tokens); err != nil {
		return nil, err
	}
	defer m.release()
	return providers.Split(ctx, c.whole, file)
}

// choose returns what a part means of a release.
func (p part) choose(split []*repo.Release) ([]*repo.Release, error) {
	fits := func(fit func(*repo.Release) bool) *repo.Release {
		if found := phrase.Only(split, fit); len(found) == 1 {
			return found[0]
		}
		return nil
	}
	labels := phrase.List(split, func(r *repo.Release) string { return r.Provider.Label() })
	ofFile := func(r *repo.Release) bool { return p.file != "" && r.Artifact(p.file) != nil }
	if p.provider == (layouts.Provider{}) {
		if p.file != "" {
			r := fits(ofFile)
			if r == nil {
				return nil, fmt.Errorf("the components file %s does not exist", p.file)
			}
			split = []*repo.Release{r}
		}
		for _, r := range split {
			if problems := r.Provider.Problems(); len(problems) > 0 {
				return nil, fmt.Errorf("the components do not show which provider they belong to (label %s); name the provider in a clusterctl.yaml and use --config", layouts.ProviderLabel)
			}
		}
		return split, nil
	}
	r := cmp.Or(fits(func(r *repo.Release) bool { return r.Provider == p.provider }), fits(ofFile))
	if r == nil {
		r = fits(func(r *repo.Release) bool { return r.Provider.Type == p.provider.Type })
	}
	if r == nil {
		return nil, fmt.Errorf("it holds nothing of %s; it has %s", p.provider, strings.Join(labels, ", "))
	}
	named := *r
	named.Provider = p.provider
	return []*repo.Release{&named}, nil
}

// borrow replaces the files of a release that the mirror has with equal content
// by those.
func (m *copier) borrow(ctx context.Context, c *cargo, r *repo.Release, p layouts.Provider) error {
	if c.near || len(p.Problems()) > 0 {
		return nil
	}
	to, err := m.To.Of(p)
	if err != nil {
		return err
	}
	got, err := to.Fetch(ctx, c.version)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Artifacts = slices.Clone(r.Artifacts)
	for i, a := range r.Artifacts {
		sum, known := c.sums[a.Name]
		b := got.Artifact(a.Name)
		if !known || b == nil || c.here[a] || a.Size != b.Size {
			continue
		}
		have, stated := b.Stated()
		if !stated && m.Folder != nil {
			if have, err = b.Sum(ctx); err != nil {
				return err
			}
			stated = true
		}
		if stated && have == sum {
			r.Artifacts[i] = b.Stating(sum)
			c.here[r.Artifacts[i]] = true
		}
	}
	return nil
}

// small is the size up to which every file is kept on disk while it is copied.
const small = 1 << 20

// passes reports whether a file goes from the source to the destination without
// being kept: its checksum is known, and nobody else has to read it.
func (m *copier) passes(a *repo.Artifact) bool {
	_, stated := a.Stated()
	ext := path.Ext(a.Name)
	return stated && a.Size > small && a.Kind() == layouts.Asset && ext != ".yaml" && ext != ".yml" && m.Verify == nil
}

// fill downloads the files of the wanted releases, each once, and checks them.
// After that every file states its checksum.
func (m *copier) fill(ctx context.Context, c *cargo) error {
	if !c.near {
		dir := m.Dir
		if m.DryRun {
			dir = "" // nothing is written there
		}
		s, err := newSpool(dir)
		if err != nil {
			return err
		}
		c.spool = s
	}
	releases := c.releases
	if m.Verify != nil {
		// A signature is one of the whole, also if several providers share it.
		releases = append(slices.Clone(releases), c.whole)
	}
	type place struct {
		offset int64
		made   *repo.Artifact
	}
	places := map[*repo.Artifact]*place{}
	var todo []*repo.Artifact
	for _, r := range releases {
		for _, a := range r.Artifacts {
			if c.near || c.here[a] || places[a] != nil || m.passes(a) {
				continue
			}
			places[a] = &place{offset: c.spool.place(a)}
			todo = append(todo, a)
		}
	}
	watched := todo
	if m.Watch != nil {
		watched = publish.Watched(c.from.String()+" "+c.version, todo, m.Watch)
	}
	err := each(ctx, len(todo), m.Jobs, func(ctx context.Context, i int) (err error) {
		if err := take(ctx, m.tokens); err != nil {
			return err
		}
		defer m.release()
		p := places[todo[i]]
		p.made, err = c.spool.copy(ctx, watched[i], p.offset)
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range releases {
		r.Artifacts = slices.Clone(r.Artifacts)
		for i, a := range r.Artifacts {
			switch p := places[a]; {
			case p != nil:
				r.Artifacts[i] = p.made
			case c.near:
				r.Artifacts[i] = a.Stating(c.sums[a.Name])
			}
		}
	}
	return m.check(ctx, c)
}

// check refuses releases that are not what their source, the lock or the user
// says they are.
func (m *copier) check(ctx context.Context, c *cargo) error {
	if m.Verify != nil && !c.trusted {
		whole := *c.whole
		whole.Incomplete = "" // nothing else than its files is copied
		as := phrase.List(c.releases, func(r *repo.Release) layouts.Provider { return r.Provider })
		if err := m.Verify(ctx, &whole, as); err != nil {
			return fmt.Errorf("%s from %s: %w", publish.Name(c.whole), c.from, err)
		}
	}
	if err := c.wholeSums(ctx); err != nil {
		return err
	}
	for i, r := range c.releases {
		for _, a := range r.Artifacts {
			// Components were read twice, to find out whose they are.
			sum, _ := a.Stated()
			if b := c.whole.Artifact(a.Name); m.Verify != nil && (b == nil || !states(b, sum)) {
				return fmt.Errorf("%s: the content changed while it was read", a.Path)
			}
		}
		r, err := publish.Whole(ctx, r, false) // what is near was compared when it was listed
		if err != nil {
			return err
		}
		c.releases[i] = r
		if m.Inspect != nil && r.Provider != layouts.CertManager {
			if err := take(ctx, m.parsing); err != nil {
				return err
			}
			err := m.Inspect(ctx, r)
			<-m.parsing
			if err != nil {
				return err
			}
		}
		m.mu.Lock()
		l := m.book.Release(r.Provider.Label(), r.Version)
		m.mu.Unlock()
		if l != nil {
			if err := m.unchanged(l, l.Differences(r, nil), c); err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeSums compares the files that are copied with the checksums of a release that several
// providers share, of which none gets the checksum file.
func (c *cargo) wholeSums(ctx context.Context) error {
	file := c.whole.Artifact(layouts.ChecksumFile)
	if file == nil || slices.ContainsFunc(c.releases, func(r *repo.Release) bool { return r.Artifact(file.Name) != nil }) {
		return nil
	}
	data, err := file.Bytes()
	if err != nil {
		return err
	}
	whole := *c.whole
	whole.Artifacts = slices.Clone(whole.Artifacts)
	sums := repo.ParseChecksums(data)
	for i, a := range whole.Artifacts {
		if sum, listed := sums[a.Name]; listed {
			whole.Artifacts[i] = a.Stating(sum) // not read for this
		}
		for _, r := range c.releases {
			if own := r.Artifact(a.Name); own != nil {
				whole.Artifacts[i] = own
			}
		}
	}
	return repo.VerifyChecksums(ctx, &whole)
}

func states(a *repo.Artifact, sum repo.Sum) bool {
	s, ok := a.Stated()
	return ok && s == sum
}
