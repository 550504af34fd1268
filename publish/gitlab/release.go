package gitlab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/xanzy/go-gitlab"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// planRelease says what release would do.
func (p *Package) planRelease(ctx context.Context, r *repo.Release) ([]string, error) {
	exists, missing, err := p.releaseLinks(ctx, r)
	if err != nil {
		return nil, err
	}
	var steps []string
	if !exists {
		steps = append(steps, "make the release "+r.Version+" of the project")
	}
	for _, link := range missing {
		steps = append(steps, "link the release to "+*link.URL)
	}
	return steps, nil
}

// tagged refuses a release of the project that could not be made, because there
// is no tag and no commit for it. A token that may not look is let through.
func (p *Package) tagged(ctx context.Context, r *repo.Release) error {
	exists, _, err := p.releaseLinks(ctx, r)
	if err != nil || exists {
		return err
	}
	err = p.read(ctx, func() error {
		_, _, err := p.api.Tags.GetTag(p.o.Project, r.Version, gitlab.WithContext(ctx))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the project has no tag %s for its release; push it, or say which commit it is for", r.Version)
	}
	if refused(err, http.StatusUnauthorized, http.StatusForbidden) {
		return nil
	}
	return err
}

// release makes sure that the project has a release of that version with a link
// to every file, and reports whether it had to do anything. Packages of several
// providers share a release. A link that has the name or leads there already
// stays as it is.
func (p *Package) release(ctx context.Context, r *repo.Release) (made bool, err error) {
	for failed := 0; ; {
		exists, missing, err := p.releaseLinks(ctx, r)
		if err != nil || exists && len(missing) == 0 {
			return made, err
		}
		made = true
		if !exists {
			err = p.createRelease(ctx, r.Version, missing)
		}
		for exists && err == nil && len(missing) > 0 {
			err, missing = p.createLink(ctx, r.Version, missing[0]), missing[1:]
		}
		if err == nil {
			continue
		}
		failed++
		if err := p.o.Policy.Retry(ctx, failed, err); err != nil {
			return made, err
		}
	}
}

// releaseLinks returns which links are missing, and whether there is a release.
func (p *Package) releaseLinks(ctx context.Context, r *repo.Release) (exists bool, missing []*gitlab.ReleaseAssetLinkOptions, err error) {
	var found *gitlab.Release
	err = p.read(ctx, func() (err error) {
		found, _, err = p.api.Releases.GetRelease(p.o.Project, r.Version, gitlab.WithContext(ctx))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, nil, err
	}
	exists = err == nil
	taken := map[string]bool{}
	if exists {
		for _, l := range found.Assets.Links {
			taken[l.Name], taken[l.URL] = true, true
		}
	}
	for _, a := range r.Artifacts {
		name, at := p.o.Package+"/"+a.Name, p.fileURL(r.Version, a.Name)
		if !taken[name] && !taken[at] {
			missing = append(missing, &gitlab.ReleaseAssetLinkOptions{Name: &name, URL: &at, LinkType: gitlab.Ptr(gitlab.PackageLinkType)})
		}
	}
	return exists, missing, nil
}

// createRelease makes the release, with all its links.
func (p *Package) createRelease(ctx context.Context, version string, links []*gitlab.ReleaseAssetLinkOptions) error {
	o := &gitlab.CreateReleaseOptions{TagName: &version, Name: &version, Assets: &gitlab.ReleaseAssetsOptions{Links: links}}
	if p.o.Ref != "" {
		o.Ref = &p.o.Ref
	}
	if p.o.Notes != "" {
		o.Description = &p.o.Notes
	}
	_, _, err := p.api.Releases.CreateRelease(p.o.Project, o, gitlab.WithContext(ctx))
	return another(p.explain(err))
}

func (p *Package) createLink(ctx context.Context, version string, l *gitlab.ReleaseAssetLinkOptions) error {
	o := &gitlab.CreateReleaseLinkOptions{Name: l.Name, URL: l.URL, LinkType: l.LinkType}
	_, _, err := p.api.ReleaseLinks.CreateReleaseLink(p.o.Project, version, o, gitlab.WithContext(ctx))
	return another(p.explain(err))
}

// another makes an error temporary that says that somebody was first: another
// look shows what they made.
func another(err error) error {
	if refused(err, http.StatusConflict) || refused(err, http.StatusBadRequest) && strings.Contains(err.Error(), "already been taken") {
		return &publish.Temporary{Err: err}
	}
	return err
}
