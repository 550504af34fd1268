package gitlab

//lint:file-ignore SA1019 go-gitlab v0.115.0 is the library that users of this project fixed; its successor has another module path.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/xanzy/go-gitlab"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// api returns a new client of the library, which adds no token, repeats nothing and
// waits for nothing: the transport below knows better when. Kept in a field, it would
// add a megabyte to the program, as in package github.
func (p *Package) api() *gitlab.Client {
	// The error would be an address that is not a URL; net/url has written base.
	client, _ := gitlab.NewClient("", gitlab.WithBaseURL(p.base), gitlab.WithHTTPClient(p.wire), gitlab.WithoutRetries(),
		gitlab.WithCustomLimiter(unlimited{}), gitlab.WithRequestOptions(plainDots))
	return client
}

// plainDots undoes that the library escapes dots. Asking as clusterctl asks meets
// the same caches, and the same rules of proxies.
func plainDots(req *retryablehttp.Request) error {
	req.URL.RawPath = strings.ReplaceAll(req.URL.RawPath, "%2E", ".")
	return nil
}

type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

// garbled is an answer that cannot be read.
type garbled struct{ error }

// read does what changes nothing again, as long as the answer is garbled. All
// other failures that may pass the transport has repeated already.
func (p *Package) read(ctx context.Context, do func() error) error {
	again := func(err error) bool { _, ok := errors.AsType[*garbled](err); return ok }
	return p.o.Policy.Repeat(ctx, again, func() error { return p.explain(do()) })
}

// all reads the pages of a list, and keeps what keep makes of its entries.
func all[T, K any](ctx context.Context, p *Package, page func(context.Context, gitlab.ListOptions) ([]T, *gitlab.Response, error), keep func(T) (K, bool)) (out []K, err error) {
	const most = 100 // per page
	err = transport.Pages(ctx, p.o.Policy, p.host, func(ctx context.Context, n int, add func(int) error) (int, error) {
		part, resp, err := page(ctx, gitlab.ListOptions{Page: n, PerPage: most})
		if err != nil {
			return 0, err
		}
		before := len(out)
		for _, x := range part {
			if k, ok := keep(x); ok {
				out = append(out, k)
			}
		}
		return resp.NextPage, add(len(out) - before)
	})
	return out, err
}

// stored is one file of a package. Its sum is unknown if GitLab does not say it.
type stored struct {
	pkg, id int
	name    string
	size    int64
	sum     repo.Sum
	known   bool
}

func newStored(pkg, id int, name string, size int, sha256 string) stored {
	sum, ok := repo.ParseSum(sha256)
	return stored{pkg, id, name, int64(size), sum, ok}
}

// listed is a version of the package in a list.
type listed struct {
	id      int
	version string
	// visible reports whether people see it and clusterctl can read it. GitLab
	// shows packages with an error to people, too.
	visible bool
	// page is the path of its page, "" if it is unknown.
	page string
}

// packages lists the packages of that name in one status; the empty status
// means all that people see. The version may be empty.
func (p *Package) packages(ctx context.Context, version, status string) (out []listed, err error) {
	err = p.read(ctx, func() error {
		out, err = all(ctx, p, func(ctx context.Context, page gitlab.ListOptions) ([]*gitlab.Package, *gitlab.Response, error) {
			return p.api().Packages.ListProjectPackages(p.o.Project, &gitlab.ListProjectPackagesOptions{
				ListOptions: page, PackageType: gitlab.Ptr("generic"),
				PackageName: &p.o.Package, PackageVersion: transport.Optional(version), Status: transport.Optional(status),
			}, gitlab.WithContext(ctx))
		}, func(k *gitlab.Package) (listed, bool) {
			// The server looks for names that contain this one, and old ones do
			// not know how to look for a version.
			if k == nil || k.Name != p.o.Package || version != "" && k.Version != version || len(k.Version) > maxName {
				return listed{}, false
			}
			out := listed{id: k.ID, version: k.Version, visible: k.Status == "default" || k.Status == "deprecated"}
			if k.Links != nil && len(k.Links.WebPath) > 1 && k.Links.WebPath[0] == '/' {
				out.page = p.secrets.Quote(k.Links.WebPath)
			}
			return out, true
		})
		return err
	})
	return out, err
}

// files lists the files of a package, oldest first. A name that no release can
// have is cut short, so that it stays one.
func (p *Package) files(ctx context.Context, id int) (out []stored, err error) {
	err = p.read(ctx, func() error {
		out, err = all(ctx, p, func(ctx context.Context, page gitlab.ListOptions) ([]*gitlab.PackageFile, *gitlab.Response, error) {
			return p.api().Packages.ListPackageFiles(p.o.Project, id, (*gitlab.ListPackageFilesOptions)(&page), gitlab.WithContext(ctx))
		}, func(f *gitlab.PackageFile) (stored, bool) {
			if f == nil {
				return stored{}, false
			}
			return newStored(id, f.ID, f.FileName[:min(len(f.FileName), maxName+1)], f.Size, f.FileSHA256), true
		})
		return err
	})
	slices.SortStableFunc(out, func(a, b stored) int { return cmp.Compare(a.id, b.id) })
	return out, err
}

// maxName is the longest name of a file or version, in bytes.
const maxName = 255

// upload stores a file, and gives the package a status unless that is empty. It
// returns the checksum of what it sent, and what GitLab says that it stored: the
// zero value if it says nothing. The file is streamed.
func (p *Package) upload(ctx context.Context, version string, a *repo.Artifact, status gitlab.GenericPackageStatusValue) (sent repo.Sum, got stored, err error) {
	path, err := p.api().GenericPackages.FormatPackageURL(p.o.Project, p.o.Package, version, a.Name)
	if err != nil {
		return sent, got, err
	}
	// As the library's PublishPackageFile, which takes no body that is streamed,
	// has a length and can be opened again.
	query := &gitlab.PublishPackageFileOptions{Select: gitlab.GenericPackageSelect(gitlab.SelectPackageFile)}
	if status != "" {
		query.Status = &status
	}
	req, err := p.api().NewRequest(http.MethodGet, path, query, []gitlab.RequestOptionFunc{gitlab.WithContext(ctx)})
	if err != nil {
		return sent, got, err
	}
	req.Method = http.MethodPut
	var last *publish.Body
	if err := req.SetBody(retryablehttp.ReaderFunc(func() (io.Reader, error) {
		last = publish.NewBody(a)
		if a.Size == 0 {
			return http.NoBody, nil // so that the length is known to be 0
		}
		return last, nil
	})); err != nil {
		return sent, got, err
	}
	req.ContentLength = a.Size
	var said gitlab.GenericPackagesFile
	if _, err := p.api().Do(req, &said); err != nil {
		return sent, got, p.explain(err)
	}
	got = newStored(said.PackageID, said.ID, said.FileName, said.Size, said.FileSHA256)
	sent, ok := last.Sum()
	if !ok { // a server that did not need to read it all
		sent, err = a.Digest(ctx)
		return sent, got, err
	}
	a.Remember(sent)
	return sent, got, nil
}

// project is what decides whether an upload can succeed.
type project struct {
	Archived bool   `json:"archived"`
	Registry string `json:"package_registry_access_level"`
	Packages *bool  `json:"packages_enabled"`
	// Permissions hold null for who is no member, also for an administrator.
	Permissions map[string]*struct {
		Level gitlab.AccessLevelValue `json:"access_level"`
	} `json:"permissions"`
}

// mayUpload is false if the role of the token is known and too low. It may come
// from the project or from a group.
func (p project) mayUpload() bool {
	known, level := false, gitlab.NoPermissions
	for _, access := range p.Permissions {
		if access != nil {
			known, level = true, max(level, access.Level)
		}
	}
	return !known || level >= gitlab.DeveloperPermissions
}

// preflight asks whether the project takes packages. Only an access token may
// ask. What else it lacks shows in the refusal of the first upload.
func (p *Package) preflight(ctx context.Context) error {
	switch {
	case p.o.Token == "":
		return fmt.Errorf("publishing needs a token; set %s to one with %s", p.o.TokenName, tokenKinds[p.o.TokenKind].rights)
	case p.o.TokenKind != AccessToken:
		return nil
	}
	var got project
	err := p.read(ctx, func() error {
		req, err := p.api().NewRequest(http.MethodGet, "projects/"+gitlab.PathEscape(p.o.Project), nil, []gitlab.RequestOptionFunc{gitlab.WithContext(ctx)})
		if err == nil {
			_, err = p.api().Do(req, &got)
		}
		return err
	})
	switch {
	case refused(err, http.StatusForbidden):
		return nil // a token for packages alone
	case err != nil:
		return err
	case got.Archived:
		return errors.New("the project is archived and accepts no files; unarchive it")
	case got.Registry == "disabled" || got.Packages != nil && !*got.Packages:
		return errors.New("the package registry of the project is off; turn it on (Settings > General > Visibility)")
	case !got.mayUpload():
		return fmt.Errorf("the role of the token in %s in the project is too low; it needs %s", p.o.TokenName, tokenKinds[p.o.TokenKind].rights)
	}
	return nil
}
