package gitlab

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"net/http"

	"github.com/xanzy/go-gitlab"

	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// state is what is there of one version.
type state struct {
	// listed is false if the token may not list packages. Then the files are
	// those that were asked for by name, nobody knows whether the package is
	// hidden, and it passes for visible.
	listed  bool
	visible bool
	// pkg is the number of the package, 0 if it is not listed.
	pkg int
	// where is the page of the package for people.
	where string
	// files are all files by name, oldest first. The last one is what readers
	// get.
	files map[string][]stored

	// steps are what is left to do, the gate last, and tidy the deletions of what
	// no reader sees.
	steps, tidy []step
	// hidden: the gate was opened by this run and is closed again.
	hidden bool
	// unseen, conflict, mixed and refused say what is in the way.
	unseen, conflict, mixed, refused error
}

// winner returns the file that readers get.
func (s state) winner(name string) (stored, bool) {
	if all := s.files[name]; len(all) > 0 {
		return all[len(all)-1], true
	}
	return stored{}, false
}

// errUnlisted says that the token may not list packages.
var errUnlisted = errors.New("the token may not list packages")

// list finds a version and its files. The error is errUnlisted where that is
// not allowed. GitLab does not say whether it is the project that is missing, or
// the right to see it.
func (p *Package) list(ctx context.Context, version string) (state, error) {
	s := state{listed: true, where: p.fileURL(version, ""), files: map[string][]stored{}}
	for _, status := range []gitlab.GenericPackageStatusValue{gitlab.PackageHidden, ""} {
		found, err := p.packages(ctx, version, string(status))
		if p.unlisted(err) {
			return s, errUnlisted
		}
		if err != nil {
			return s, err
		}
		// Of several, such as one that is being deleted, uploads and downloads
		// meet the youngest.
		for _, k := range found {
			if k.id < s.pkg {
				continue
			}
			s.pkg, s.visible = k.id, k.visible
			if k.page != "" {
				s.where = p.server + k.page
			}
		}
	}
	if s.pkg == 0 {
		return s, nil
	}
	files, err := p.files(ctx, s.pkg)
	for _, f := range files {
		s.files[f.name] = append(s.files[f.name], f)
	}
	return s, err
}

// unlisted reports whether err means that the token may not list packages, and
// may nevertheless read or write them. Where a kind of token does not count, it
// is as if there was none.
func (p *Package) unlisted(err error) bool {
	wrongToken := p.o.Token != "" && p.o.TokenKind == AccessToken && refused(err, http.StatusUnauthorized)
	return refused(err, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound) && !wrongToken
}

// look finds out what is there of a version. Without the right to list it asks
// for the files one by one.
func (p *Package) look(ctx context.Context, version string, names []string) (state, error) {
	s, err := p.list(ctx, version)
	if err == errUnlisted {
		s.listed, s.visible = false, true
		return s, p.ask(ctx, s, version, names...)
	}
	if err != nil {
		return s, err
	}
	for _, name := range names {
		if f, ok := s.winner(name); ok && !f.known {
			read, err := p.probe(ctx, version, name)
			if err != nil {
				return s, err
			}
			read.pkg, read.id = f.pkg, f.id
			s.files[name][len(s.files[name])-1] = read
		}
	}
	return s, nil
}

// ask adds those files to a state that are there, of which the names are known.
func (p *Package) ask(ctx context.Context, s state, version string, names ...string) error {
	for _, name := range names {
		f, err := p.probe(ctx, version, name)
		switch {
		case err == nil:
			s.files[name] = []stored{f}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// probe finds out what readers get under a name, from the header if that has the
// checksum. The error wraps fs.ErrNotExist if there is nothing.
func (p *Package) probe(ctx context.Context, version, name string) (stored, error) {
	at := p.readURL(version, name)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return stored{}, err
	}
	req.Header.Set("Accept-Encoding", "identity") // otherwise the length is unknown
	resp, err := p.wire.Do(req)
	if err != nil {
		return stored{}, p.explain(err)
	}
	defer resp.Body.Close()
	if sum, ok := repo.ParseSum(resp.Header.Get("X-Checksum-Sha256")); ok && resp.ContentLength >= 0 {
		// What is small is read, so that the connection can be used again.
		io.CopyN(io.Discard, resp.Body, 64<<10)
		return stored{name: name, size: resp.ContentLength, sum: sum, known: true}, nil
	}
	content, err := transport.Download(ctx, p.http, at, nil, -1)
	if err != nil {
		return stored{}, err
	}
	defer content.Close()
	h := sha256.New()
	size, err := io.Copy(h, content)
	return stored{name: name, size: size, sum: repo.Sum(h.Sum(nil)), known: true}, err
}
