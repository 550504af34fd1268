package mirror

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// entry is what a run remembers of a release that it has copied.
type entry struct {
	Listing Listing           `json:"listing"`
	Release Locked            `json:"release"`
	Images  []inventory.Image `json:"images"`
}

func sumOf(data []byte) repo.Sum { return sha256.Sum256(data) }

// describe makes the entry of a release that was copied.
func (m *copier) describe(ctx context.Context, c *cargo, i int) (e entry, err error) {
	r := c.releases[i]
	e.Listing = Listing{Source: c.from.String(), Version: c.version, SHA256: c.digest, Providers: c.labels}
	e.Release = LockOf(r, c.from.String(), c.components[i], c.listed)
	if e.Release.Contract, err = contractOf(r); err != nil {
		return e, err
	}
	e.Images, err = m.imagesOf(ctx, r)
	return e, err
}

// contractOf returns the contract of a release, "" if its metadata gives none.
func contractOf(r *repo.Release) (string, error) {
	a := r.Artifact(layouts.MetadataFile)
	if a == nil {
		return "", nil
	}
	data, err := a.Bytes()
	if err != nil {
		return "", err
	}
	md, err := metadata.Read(yamldoc.NewFile(a.Path, data))
	if err != nil {
		return "", nil // clusterctl says what is wrong
	}
	return md.ContractOf(r.Version)
}

// imagesOf returns the images of a release. What cannot be parsed does not stop
// the mirror: clusterctl will say so, or not need it.
func (m *run) imagesOf(ctx context.Context, r *repo.Release) ([]inventory.Image, error) {
	images, err := inventory.References(ctx, r)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !onlyPlaces(err) {
		return nil, err
	}
	if err != nil {
		m.warn("%s: there may be more images than were found, because not all could be read: %v", publish.Name(r), err)
	}
	if images == nil {
		images = []inventory.Image{} // it was searched
	}
	SortImages(images)
	return images, nil
}

// onlyPlaces reports whether all of an error has places in files, so that it is
// about what is in them, not about reading them.
func onlyPlaces(err error) bool {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(list.Unwrap(), func(err error) bool { return !onlyPlaces(err) })
	}
	return err == nil || errors.As(err, new(*yamldoc.Error))
}

// finish writes the files next to the releases, all in one step.
func (m *run) finish(ctx context.Context) (err error) {
	defer func() {
		if err == nil {
			return
		}
		leftovers := []string{stagedDir}
		if !m.resumed && m.mayChange("") != nil {
			leftovers = append(leftovers, journalFile) // nothing was copied that is not in the lock
		}
		_ = m.beside.remove(leftovers) // the error above counts
	}()
	releases, err := m.standing(ctx)
	if err != nil {
		return err
	}
	sums := map[string]repo.Sum{}
	docs, inv, err := m.documents(ctx, releases, sums)
	if err != nil {
		return err
	}
	other := "" // the first file that is not what the signature is about
	put := func(name string, data []byte) error {
		old, err := m.beside.read(name)
		if err != nil {
			return err
		}
		if m.Repair && m.mayChange("") != nil && !bytes.Equal(old, data) && name != layouts.ChecksumFile && listedIn(m.sums, name, old) {
			m.note("%s was not changed, because the signature covers it; add --sign-key to make it fit this place", name)
			data = old
		}
		changed, err := m.beside.stage(name, data)
		if changed {
			m.result.Written = append(m.result.Written, name)
		}
		sums[name] = sumOf(data)
		if name != layouts.ChecksumFile && !listedIn(m.sums, name, data) {
			other = cmp.Or(other, name)
		}
		return err
	}
	for _, d := range docs {
		data, err := d.make()
		if err == nil && data != nil {
			err = put(d.name, data)
		}
		if err != nil {
			return err
		}
	}
	if other != "" && m.Settings.Images {
		if err := m.mayChange("this run would change " + other); err != nil {
			return err
		}
	}
	if err := m.bringImages(ctx, inv, sums); err != nil {
		return err
	}
	listed := m.checksums(releases, sums)
	// The old signature may still cover what is restored.
	if !bytes.Equal(listed, m.sums) && (m.Vouched == nil || !m.Vouched(listed, m.sig)) {
		if err := m.mayChange("this run would change " + cmp.Or(other, layouts.ChecksumFile)); err != nil {
			return err
		}
	}
	if err := put(layouts.ChecksumFile, listed); err != nil {
		return err
	}
	if m.Sign != nil {
		sig, err := m.Sign(listed)
		if err == nil {
			err = put(layouts.SignatureFile, sig)
		}
		if err != nil {
			return err
		}
	}
	if err := m.beside.commit(); err != nil {
		return err
	}
	var done []string
	if !m.begun {
		done = append(done, journalFile)
	}
	if !m.Settings.Images {
		done = append(done, layouts.ImagesFolder)
	}
	return m.beside.remove(done)
}

// document is a file next to the releases that follows from them. Its content is nil
// if there should be none.
type document struct {
	name string
	make func() ([]byte, error)
}

// documents returns what belongs next to the releases, in the order in which it is
// written, and the images. Sums gets the checksums of files that stay as they are.
func (m *run) documents(ctx context.Context, releases []Locked, sums map[string]repo.Sum) ([]document, *ImageInventory, error) {
	docs, err := m.configMaps(ctx, releases, sums)
	if err != nil {
		return nil, nil, err
	}
	config, err := m.config(releases)
	if err != nil {
		return nil, nil, err
	}
	m.result.CertManager = config.CertManager != nil
	if m.Settings.ImageRegistry != "" {
		var problems []string
		config.Images, problems = Overrides(m.Settings.ImageRegistry, releases, m.images)
		m.result.Warnings = append(m.result.Warnings, problems...)
		for _, key := range slices.Sorted(maps.Keys(config.Images)) {
			if key != AllImages {
				m.note("another image would have the same name in %s, so clusterctl takes %s from %s", m.Settings.ImageRegistry, key, config.Images[key].Repository)
			}
		}
	}
	m.result.Warnings = append(m.result.Warnings, Refused(releases, m.images)...)
	m.result.Warnings = append(m.result.Warnings, Misfits(releases)...)
	inv := InventoryOf(releases, m.images, config.Images)
	inv.Add(m.Settings.MoreImages)
	if left := inv.Unmapped(); config.Images != nil && len(left) > 0 {
		m.warn("clusterctl rewrites only images of components, so %d are not taken from %s: %s; provide them under their own names", len(left), m.Settings.ImageRegistry, few(left))
	}
	return append(docs,
		document{OperatorFile, func() ([]byte, error) { return m.operator(releases, config) }},
		document{layouts.ImageListFile, func() ([]byte, error) { return inv.List(), nil }},
		document{layouts.ImageInventoryFile, inv.Marshal},
		document{layouts.ConfigFile, config.Marshal},
		document{layouts.LockFile, func() ([]byte, error) { return m.book.Lock().Marshal() }},
	), inv, nil
}

// bringImages makes the mirror hold its container images, if it should have some.
func (m *run) bringImages(ctx context.Context, inv *ImageInventory, sums map[string]repo.Sum) error {
	m.result.Images, m.result.Lock = inv, m.book.Lock()
	if !m.Settings.Images {
		return nil
	}
	if m.Bring == nil {
		return errors.New("the images cannot be fetched")
	}
	files, err := m.Bring(ctx, inv.Pullable(), m.Settings.Platforms, m.otherPlatforms || m.Sign != nil && !m.vouchedImages)
	if err != nil {
		return err
	}
	for name, sum := range files {
		sums[layouts.ImagesFolder+"/"+name] = sum
	}
	return nil
}

// judge refuses to sign what earlier runs left in the mirror, unless it is vouched for
// or verified; releases that are excepted are not judged.
func (m *run) judge(ctx context.Context, except func(*Locked) bool) error {
	all := m.book.Sorted()
	return each(ctx, len(all), m.Jobs, func(ctx context.Context, i int) error {
		l := &all[i]
		if except(l) {
			return nil
		}
		r, err := m.at(ctx, l)
		switch {
		case errors.Is(err, fs.ErrNotExist) && m.vouched[l.ReleaseName]:
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("the mirror cannot be signed, because it lacks %s %s; %s", l.Provider, l.Version, lostAdvice)
		case err == nil:
			err = m.standsUp(ctx, l, r)
		}
		if err == nil {
			m.mu.Lock()
			m.judged[l.ReleaseName] = true
			m.mu.Unlock()
		}
		return err
	})
}

// standing returns the locked releases, after finding the images of those that
// were not searched yet. What the mirror lacks stays in the lock, so that verify
// reports it and repair restores it: only prune forgets.
func (m *run) standing(ctx context.Context) ([]Locked, error) {
	if m.Sign != nil {
		// What repair copies is what the lock says, which may itself be forged.
		err := m.judge(ctx, func(l *Locked) bool { return m.judged[l.ReleaseName] || m.touched[l.ReleaseName] && !m.Repair })
		if err != nil {
			return nil, err
		}
	}
	all := m.book.Sorted()
	gone := make([]bool, len(all))
	err := each(ctx, len(all), m.Jobs, func(ctx context.Context, i int) error {
		l := &all[i]
		m.mu.Lock()
		touched, images := m.touched[l.ReleaseName], m.images[l.ReleaseName] != nil
		m.mu.Unlock()
		if touched && images {
			return nil
		}
		r, err := m.at(ctx, l)
		if errors.Is(err, fs.ErrNotExist) && !touched {
			gone[i] = true
			return nil
		}
		if err != nil || images {
			return err
		}
		r = m.own(l, r)
		found, err := m.imagesOf(ctx, r)
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.images[l.ReleaseName] = found
		m.mu.Unlock()
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, l := range all {
		if gone[i] {
			m.lost[l.ReleaseName] = true
			m.warn("%s %s is missing from the mirror; %s", l.Provider, l.Version, lostAdvice)
		}
	}
	return all, nil
}

// lostAdvice says what to do about a release that the lock lists and the mirror
// lacks.
const lostAdvice = "restore it with mirror repair, or drop it with mirror prune"

// standsUp refuses to sign a release of an earlier run that was not verified, or
// that is not what the lock says, whose checksums are signed.
func (m *run) standsUp(ctx context.Context, l *Locked, r *repo.Release) error {
	own := m.own(l, r)
	has := func(f lockedFile) bool {
		return own.Artifact(f.Name) != nil || m.To.Shared && layouts.KindOfFile(f.Name).Attests() // the place has its own
	}
	if slices.ContainsFunc(l.Files, func(f lockedFile) bool { return !has(f) }) {
		return fmt.Errorf("%s %s in the mirror does not match %s; run mirror repair", l.Provider, l.Version, layouts.LockFile)
	}
	for _, a := range own.Artifacts {
		if m.To.Shared && a.Kind().Attests() {
			continue
		}
		if _, err := a.Sum(ctx); err != nil {
			return err
		}
	}
	if m.vouched[l.ReleaseName] {
		return nil
	}
	if m.Verify == nil {
		return fmt.Errorf("the mirror cannot be signed, because no signature covers %s %s, which is from an earlier run; name the keys it is signed with by --verify-key, mirror it again in this run, or remove it with mirror prune", l.Provider, l.Version)
	}
	if err := m.Verify(ctx, r, []layouts.Provider{l.Identity()}); err != nil {
		return fmt.Errorf("the mirror cannot be signed, because it holds %s %s from an earlier run: %w", l.Provider, l.Version, err)
	}
	return nil
}

// own leaves of a release in the mirror what belongs to a provider.
func (m *run) own(l *Locked, r *repo.Release) *repo.Release {
	out := *r
	out.Provider, out.Artifacts = l.Identity(), nil
	for _, a := range r.Artifacts {
		if f := l.File(a.Name); f != nil && a.Size == f.Size {
			out.Artifacts = append(out.Artifacts, a.Stating(f.Sum()))
		}
	}
	return &out
}

// configMaps returns the ConfigMaps of the releases. Those that are there from
// earlier runs are counted even if none are asked for now.
func (m *run) configMaps(ctx context.Context, releases []Locked, sums map[string]repo.Sum) (docs []document, err error) {
	for i := range releases {
		l := &releases[i]
		name := ConfigMapName(l)
		if name == "" {
			continue
		}
		name = layouts.ConfigMapFolder + "/" + name + ".yaml"
		old, err := m.beside.read(name)
		if err != nil {
			return nil, err
		}
		if old != nil && !m.Repair && !m.fresh[l.ReleaseName] {
			sums[name] = sumOf(old)
			continue
		}
		if !m.Settings.ConfigMaps && old == nil || m.lost[l.ReleaseName] {
			continue
		}
		docs = append(docs, document{name, func() ([]byte, error) {
			r, err := m.at(ctx, l)
			if err != nil {
				return nil, err
			}
			data, err := ConfigMap(l, m.own(l, r))
			if err != nil {
				m.warn("%s %s has no ConfigMap: %v", l.Provider, l.Version, err)
			}
			return data, nil
		}})
	}
	return docs, nil
}

// operator makes the provider objects of the operator, if that can read the
// mirror: where it is a registry, or has ConfigMaps.
func (m *run) operator(releases []Locked, c *Config) ([]byte, error) {
	urls, registry := map[layouts.Provider]string{}, false
	for _, p := range c.Providers {
		urls[layouts.Provider{Type: p.Type, Name: p.Name}] = p.URL
		registry = registry || strings.HasPrefix(p.URL, "oci://")
	}
	if !registry && !m.Settings.ConfigMaps {
		return nil, nil
	}
	return OperatorProviders(releases, urls)
}

func (m *run) config(releases []Locked) (*Config, error) {
	dir, err := filepath.Abs(m.Dir)
	if err != nil {
		return nil, err
	}
	here := "" // what layouts.MirrorVariable defaults to, if not to the folder itself
	if m.Portable {
		here = Portable
	}
	c := &Config{Providers: []ConfigProvider{}, OverridesFolder: OverridesFolder(dir, here, runtime.GOOS == "windows")}
	for _, l := range Newest(releases) {
		p := l.Identity()
		to, err := m.To.Of(p)
		if err != nil {
			return nil, err
		}
		url, err := to.URL(l.Version, l.Components)
		if err != nil {
			return nil, fmt.Errorf("the URL of %s %s for clusterctl: %w", l.Provider, l.Version, err)
		}
		if _, err := layouts.ParseProviderURL(url, p); err != nil {
			m.warn("%s %s: clusterctl does not read %s: %v", l.Provider, l.Version, url, err)
		}
		url = Movable(url, dir, here)
		if p == layouts.CertManager {
			c.CertManager = &ConfigCertManager{URL: url, Version: l.Version}
			continue
		}
		c.Providers = append(c.Providers, ConfigProvider{Name: p.Name, Type: p.Type, URL: url})
	}
	if m.Settings.ExternalCertManager {
		c.CertManager = &ConfigCertManager{ExternallyProvisioned: "true"}
	}
	return c, nil
}
