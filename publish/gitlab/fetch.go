package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Versions lists the versions of the package that are semantic versions and not
// hidden. GitLab shows the list to those who may see the project, and to no
// deploy token of a private one.
func (p *Package) Versions(ctx context.Context) ([]string, error) {
	found, err := p.packages(ctx, "", "")
	if err != nil {
		return nil, fmt.Errorf("list the versions at %s: %w", p, err)
	}
	visible := phrase.Only(found, func(k listed) bool { return k.visible })
	return publish.Versions(phrase.List(visible, func(k listed) string { return k.version })), nil
}

// Fetch lists a published release. If the package cannot be listed, the release
// has the files that are there of those whose names are known: what its checksum
// file lists, or else the components file and the files with fixed names.
func (p *Package) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	fail := func(err error) (*repo.Release, error) {
		return nil, fmt.Errorf("fetch %s from %s: %w", version, p, err)
	}
	if err := checkVersion(version); err != nil {
		return fail(err)
	}
	s, err := p.list(ctx, version)
	incomplete := ""
	if err == errUnlisted {
		incomplete = "cannot be listed with this token, so it may hold unlisted files; use a token that may list packages"
		s, err = p.guess(ctx, version)
	}
	if err != nil {
		return fail(err)
	}
	out := &repo.Release{Version: version, Path: p.fileURL(version, ""), Incomplete: incomplete}
	for name := range s.files {
		f, _ := s.winner(name)
		out.Artifacts = append(out.Artifacts, p.artifact(ctx, version, f))
	}
	publish.CheckNames(out)
	if len(out.Artifacts) == 0 || !s.visible {
		return fail(repo.Missing("the version does not exist, or it is not public and the token may not see it"))
	}
	out.Sort()
	return out, nil
}

// artifact is a file as clusterctl reads it.
func (p *Package) artifact(ctx context.Context, version string, f stored) *repo.Artifact {
	at := p.readURL(version, f.name)
	a := repo.NewArtifact(f.name, p.fileURL(version, f.name), f.size, func() (io.ReadCloser, error) {
		return transport.Download(ctx, p.http, at, nil, f.size)
	})
	if f.known {
		return a.Stating(f.sum)
	}
	return a
}

// guess asks for the files whose names are known.
func (p *Package) guess(ctx context.Context, version string) (state, error) {
	s := state{visible: true, files: map[string][]stored{}}
	if err := p.ask(ctx, s, version, layouts.ChecksumFile); err != nil {
		return s, err
	}
	names := p.fixedNames()
	if f, ok := s.winner(layouts.ChecksumFile); ok {
		data, err := p.artifact(ctx, version, f).Bytes()
		sums := repo.ParseChecksums(data)
		if err == nil && len(sums) == 0 {
			err = fmt.Errorf("%s is %s instead of a list of checksums", p.fileURL(version, layouts.ChecksumFile), cmp.Or(repo.Unfit(data), "another text"))
		}
		if err != nil {
			return s, err
		}
		names = slices.DeleteFunc(slices.Sorted(maps.Keys(sums)), func(name string) bool {
			return publish.CheckFileName(name) != nil // lint finds what is wrong with it
		})
	}
	return s, p.ask(ctx, s, version, names...)
}

// fixedNames are the names that clusterctl asks for, in a release that does not
// say what is in it. The names of flavors and classes are free.
func (p *Package) fixedNames() []string {
	names := []string{layouts.MetadataFile, layouts.TemplateFile("")}
	if p.o.File != "" {
		return append(names, p.o.File)
	}
	if p.o.Package == layouts.CertManager.Label() {
		return append(names, layouts.CertManagerFile)
	}
	return append(names, phrase.List(layouts.Types, func(t layouts.TypeInfo) string { return t.ComponentsFile })...)
}

// Verify reads every file from the URL at which clusterctl reads it, unless the
// API is elsewhere, and with an access token with the same header.
func (p *Package) Verify(ctx context.Context, r *repo.Release) error {
	published := &repo.Release{Version: r.Version, Path: p.fileURL(r.Version, "")}
	for _, a := range r.Artifacts {
		published.Artifacts = append(published.Artifacts, p.artifact(ctx, r.Version, stored{name: a.Name, size: a.Size}))
	}
	s, err := p.list(ctx, r.Version)
	switch {
	case err == errUnlisted:
	case err != nil:
		return fmt.Errorf("read back %s: %w", publish.Name(r), err)
	case !s.visible:
		return repo.Missing("read back %s: %s is not public", publish.Name(r), s.where)
	}
	for name := range s.files {
		if r.Artifact(name) == nil {
			f, _ := s.winner(name)
			published.Artifacts = append(published.Artifacts, p.artifact(ctx, r.Version, f))
		}
	}
	published.Sort()
	return publish.VerifyFiles(ctx, published, r)
}
