package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/xanzy/go-gitlab"

	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// planRelease says what release would do.
func (p *Package) planRelease(ctx context.Context, r *repo.Release) ([]string, error) {
	s, err := p.lookAtRelease(ctx, r)
	if err != nil {
		return nil, err
	}
	var steps []string
	if !s.exists {
		steps = append(steps, "make the release "+r.Version+" of the project")
	}
	for _, link := range s.missing {
		steps = append(steps, "link the release to "+*link.URL)
	}
	return steps, nil
}

// tagged refuses a release of the project that could not be made, because it has
// neither a tag nor a commit, and one whose tag is at another commit than was
// asked for. A token that may not look is let through.
func (p *Package) tagged(ctx context.Context, r *repo.Release) error {
	s, err := p.lookAtRelease(ctx, r)
	want := p.o.Ref
	if !s.exists {
		want = cmp.Or(want, p.o.Commit)
	}
	if err != nil || s.exists && want == "" {
		return err
	}
	var tag *gitlab.Tag
	err = p.read(ctx, func() (err error) {
		tag, _, err = p.api().Tags.GetTag(p.o.Project, r.Version, gitlab.WithContext(ctx))
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) && want == "":
		return fmt.Errorf("the project has no tag %s for its release; push it, or name its commit", r.Version)
	case errors.Is(err, fs.ErrNotExist), refused(err, http.StatusUnauthorized, http.StatusForbidden):
		return nil
	case err != nil:
		return err
	case sha().MatchString(want) && tag.Commit != nil && !strings.HasPrefix(tag.Commit.ID, want):
		return fmt.Errorf("the tag %s is at the commit %s, not at %s; publish the commit of the tag, or choose another version", r.Version, tag.Commit.ID, want)
	}
	return nil
}

// sha is a commit by its number; a branch may have moved on since.
var sha = phrase.Pattern(`^[0-9a-f]{7,64}$`)

// release makes sure that the project has a release of that version with a link
// to every file, and reports whether it had to do anything. Packages of several
// providers share a release. A link that has the name or leads there already
// stays as it is.
func (p *Package) release(ctx context.Context, r *repo.Release) (made bool, err error) {
	refusals := map[string]error{} // by link; "" is the release
	note := func(name string, err error) error {
		if !refused(err, http.StatusBadRequest, http.StatusConflict) {
			return err
		}
		refusals[name] = err // another publisher may have been first, as the next look shows
		return nil
	}
	machine := converge.Machine[*projectRelease]{
		Place: p.server, Policy: p.o.Policy, Left: (*projectRelease).left,
		Look: func(ctx context.Context, _ bool) (*projectRelease, error) {
			return p.lookAtRelease(ctx, r)
		},
		Table: converge.Table[*projectRelease]{
			{
				When: "the release of the project has a link to every file", Step: "done",
				Why: "links that are there stay as they are",
				Is:  func(s *projectRelease) bool { return s.left() == 0 },
			},
			{
				When: "GitLab refuses the release or a link, and does not have it", Step: "refuse",
				Why:    "only a person can change the cause of the refusal",
				Is:     func(s *projectRelease) bool { return s.refused(refusals) != nil },
				Refuse: func(s *projectRelease) error { return s.refused(refusals) },
			},
			{
				When: "there is no release", Step: "make it with all links",
				Why: "people never see it without them",
				Is:  func(s *projectRelease) bool { return !s.exists },
				Do: func(ctx context.Context, s *projectRelease) error {
					made = true
					return note("", p.createRelease(ctx, r.Version, s.missing))
				},
			},
			{
				When: "links are missing", Step: "add the links",
				Why: "packages of several providers share a release",
				Do: func(ctx context.Context, s *projectRelease) error {
					made = true
					for _, l := range s.missing {
						if err := note(*l.Name, p.createLink(ctx, r.Version, l)); err != nil {
							return err
						}
					}
					return nil
				},
			},
		},
	}
	_, err = machine.Run(ctx)
	return made, err
}

// projectRelease is the release of a project, as far as it is there.
type projectRelease struct {
	exists  bool
	missing []*gitlab.ReleaseAssetLinkOptions
}

func (s *projectRelease) left() int {
	if !s.exists {
		return 1 + len(s.missing)
	}
	return len(s.missing)
}

// refused returns why what is still missing was refused.
func (s *projectRelease) refused(refusals map[string]error) error {
	if !s.exists {
		return refusals[""]
	}
	for _, l := range s.missing {
		if err := refusals[*l.Name]; err != nil {
			return err
		}
	}
	return nil
}

// lookAtRelease finds out whether there is a release, and which links it lacks.
func (p *Package) lookAtRelease(ctx context.Context, r *repo.Release) (*projectRelease, error) {
	s := new(projectRelease)
	var found *gitlab.Release
	err := p.read(ctx, func() (err error) {
		found, _, err = p.api().Releases.GetRelease(p.o.Project, r.Version, gitlab.WithContext(ctx))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.exists = err == nil
	taken := map[string]bool{}
	if s.exists {
		for _, l := range found.Assets.Links {
			taken[l.Name], taken[l.URL] = true, true
		}
	}
	for _, a := range r.Artifacts {
		name, at := p.o.Package+"/"+a.Name, p.fileURL(r.Version, a.Name)
		if !taken[name] && !taken[at] {
			s.missing = append(s.missing, &gitlab.ReleaseAssetLinkOptions{Name: &name, URL: &at, LinkType: gitlab.Ptr(gitlab.PackageLinkType)})
		}
	}
	return s, nil
}

// createRelease makes the release, with all its links.
func (p *Package) createRelease(ctx context.Context, version string, links []*gitlab.ReleaseAssetLinkOptions) error {
	o := &gitlab.CreateReleaseOptions{
		TagName: &version, Name: &version, Ref: transport.Optional(cmp.Or(p.o.Ref, p.o.Commit)), Description: transport.Optional(p.o.Notes),
		Assets: &gitlab.ReleaseAssetsOptions{Links: links},
	}
	_, _, err := p.api().Releases.CreateRelease(p.o.Project, o, gitlab.WithContext(ctx))
	return p.explain(err)
}

func (p *Package) createLink(ctx context.Context, version string, l *gitlab.ReleaseAssetLinkOptions) error {
	o := &gitlab.CreateReleaseLinkOptions{Name: l.Name, URL: l.URL, LinkType: l.LinkType}
	_, _, err := p.api().ReleaseLinks.CreateReleaseLink(p.o.Project, version, o, gitlab.WithContext(ctx))
	return p.explain(err)
}
