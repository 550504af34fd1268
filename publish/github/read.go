package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Versions lists the published releases that clusterctl lists: those whose tag
// is a semantic version (clusterctl: gitHubRepository.getVersions). Drafts,
// which clusterctl shows to those who may write, are none.
func (d *Repository) Versions(ctx context.Context) ([]string, error) {
	fail := func(err error) ([]string, error) { return nil, fmt.Errorf("list the releases of %s: %w", d, err) }
	var tags []string
	_, err := list(ctx, d, "releases", func(r *release) bool {
		if !r.Draft && len(r.Tag) <= maxName {
			tags = append(tags, r.Tag)
		}
		return false
	})
	if refused(err, http.StatusNotFound) {
		if _, err := d.repository(ctx); err != nil {
			return fail(err)
		}
	}
	if err != nil {
		return fail(err)
	}
	// A release that is published while pages are read moves others onto the next
	// page, so that they come twice.
	return publish.Versions(tags), nil
}

// Fetch lists a published release. The files of a public repository on
// github.com come from where clusterctl gets them, without the token; all
// others from the API, and so do all if the API is elsewhere.
func (d *Repository) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	if _, err := layouts.ParseVersion(version); err != nil {
		return nil, err
	}
	r, err := d.releaseOf(ctx, version)
	var public bool
	if err == nil {
		// These questions do not depend on each other.
		var asking sync.WaitGroup
		var hidden error
		asking.Go(func() { public, hidden = d.public(ctx) })
		err = d.load(ctx, r)
		asking.Wait()
		err = cmp.Or(err, hidden)
	}
	if err != nil {
		return nil, fmt.Errorf("fetch %s from %s: %w", version, d, err)
	}
	return d.released(ctx, r, public && !d.enterprise() && !d.elsewhere), nil
}

// releaseOf reads the release of a tag, without its assets. The error wraps
// fs.ErrNotExist if there is none.
func (d *Repository) releaseOf(ctx context.Context, version string) (*release, error) {
	r := new(release)
	err := d.get(ctx, "releases/tags/"+escape(version), r)
	if refused(err, http.StatusNotFound) {
		if _, err := d.repository(ctx); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("that version has no release: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if r.Tag != version {
		return nil, fmt.Errorf("the server answers with the release of the tag %q", r.Tag)
	}
	return r, nil
}

// released turns a release of GitHub into one of the model: what readers see.
// Its files come from where clusterctl gets them, or else from the API.
func (d *Repository) released(ctx context.Context, r *release, pages bool) *repo.Release {
	out := &repo.Release{Version: r.Tag, Path: d.page(r.Tag)}
	for _, a := range r.assets {
		if a.State != uploaded {
			continue
		}
		at := d.link(r.Tag, a.Name)
		open := func() (io.ReadCloser, error) {
			if !pages {
				return d.content(ctx, a)
			}
			return transport.Download(ctx, d.anonymous, at, http.Header{"User-Agent": {d.opt.Tool}}, a.Size)
		}
		file := repo.NewArtifact(a.Name, at, a.Size, open)
		if sum, ok := a.sum(); ok {
			file = file.Stating(sum)
		}
		out.Artifacts = append(out.Artifacts, file)
	}
	publish.CheckNames(out)
	out.Sort()
	return out
}

// content opens an asset in the API, also that of a draft. The API
// redirects to a signed address on another host, which does not see the token.
func (d *Repository) content(ctx context.Context, a asset) (io.ReadCloser, error) {
	at := fmt.Sprintf("%s/repos/%s/releases/assets/%d", d.opt.APIURL, d.full(), a.ID)
	return transport.Download(ctx, d.client, at, http.Header{"Accept": {"application/octet-stream"}, "User-Agent": {d.opt.Tool}}, a.Size)
}

// Verify reads every file the way Fetch does. What is not there yet is waited
// for, because GitHub's caches may lag.
func (d *Repository) Verify(ctx context.Context, r *repo.Release) error {
	for failed := 1; ; failed++ {
		got, err := d.Fetch(ctx, r.Version)
		if err == nil {
			err = publish.VerifyFiles(ctx, got, r)
		} else {
			err = fmt.Errorf("read back %s: %w", publish.Name(r), err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if lasting := d.opt.Policy.Retry(ctx, failed, &publish.Temporary{Err: err}); lasting != nil {
			return err
		}
	}
}
