package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	sdk "github.com/google/go-github/v60/github"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
)

// Put publishes a release: a draft, its files, a look at what GitHub made of
// them, and one request that makes all of it visible. The draft has a marker in
// its text, so that a later run finishes what this one leaves. The tag is
// created with the release, so that users see no tag without one.
//
// Several runs at the same time end with one release: GitHub gives a tag to one
// only, and the others find it.
func (d *Repository) Put(ctx context.Context, r *repo.Release) (publish.Result, error) {
	j, err := d.prepare(ctx, r)
	if err != nil {
		return publish.Result{}, publish.Failed(r, d, err)
	}
	s, err := j.machine().Run(ctx)
	if _, conflict := errors.AsType[*publish.ConflictError](err); conflict {
		j.discard(ctx, s.discard)
	}
	if err != nil {
		return publish.Result{}, publish.Failed(r, d, err)
	}
	result := publish.Result{Unchanged: !j.mine, Where: j.page(r.Version), Notes: j.notes(ctx, s)}
	result.Notes = append(result.Notes, j.discard(ctx, s.discard)...)
	moved, err := j.markLatest(ctx)
	if moved != "" {
		result.Notes = append(result.Notes, moved+" was not marked as the latest release; it is now")
	}
	if err != nil {
		result.Notes = append(result.Notes, fmt.Sprintf("the highest version may not be marked as the latest release: %v; the same command tries again", err))
	}
	if ctx.Err() != nil {
		return publish.Result{}, publish.Failed(r, d, context.Cause(ctx))
	}
	return result, nil
}

// visibly notes whether the step of this run may have made something visible.
func (j *job) visibly(err error) error {
	j.mine = j.mine || err == nil || transport.IsTemporary(err) && !overtaken(err)
	return err
}

// fill deletes and uploads files.
func (j *job) fill(ctx context.Context, s *state) error {
	for _, a := range s.remove {
		if err := j.remove(ctx, a); err != nil {
			return err
		}
	}
	return j.uploadAll(ctx, s.work, s.upload)
}

// create makes the draft. It is not repeated blindly, because every request
// would make another one.
func (j *job) create(ctx context.Context, s *state) error {
	var made release
	_, err := j.call(ctx, http.MethodPost, "releases", sdk.RepositoryRelease{
		TagName: &j.r.Version, TargetCommitish: transport.Optional(s.target), Name: &j.r.Version, Body: new(j.mark.marked(j.opt.Notes)),
		Draft: new(true), Prerelease: new(prerelease(j.r.Version)), GenerateReleaseNotes: &j.opt.GenerateNotes,
	}, &made)
	if err == nil {
		j.draft = made.ID
	}
	if refused(err, http.StatusNotFound) {
		return err // a missing right
	}
	return again(err)
}

// adopt marks a draft as one of this plan. The tag has to be named, or GitHub
// takes it away.
func (j *job) adopt(ctx context.Context, s *state) error {
	r, mark := s.work, j.mark
	if j.chosen(r) != "" {
		mark.commit = s.target
	}
	_, err := j.call(ctx, http.MethodPatch, fmt.Sprintf("releases/%d", r.ID), sdk.RepositoryRelease{
		TagName: &j.r.Version, Body: new(mark.marked(r.Body)), Draft: new(true),
	}, nil)
	if err == nil {
		j.draft = r.ID
	}
	return again(err)
}

// publish makes the draft visible, with everything in one request.
func (j *job) publish(ctx context.Context, s *state) error {
	latest := "false"
	if s.latest {
		latest = "true"
	}
	edit := sdk.RepositoryRelease{
		TagName: &j.r.Version, TargetCommitish: transport.Optional(s.target), Draft: new(false),
		Prerelease: new(prerelease(j.r.Version)), MakeLatest: &latest,
	}
	text := s.work.Body
	if j.opt.Notes != "" && !j.opt.GenerateNotes {
		text = j.opt.Notes // the draft may be of an earlier run
	}
	mark := j.mark
	mark.commit = cmp.Or(s.target, s.commit)
	edit.Body = new(mark.marked(text))
	j.draft = s.work.ID
	_, err := j.call(ctx, http.MethodPatch, fmt.Sprintf("releases/%d", s.work.ID), edit, nil)
	return j.visibly(again(err))
}

// remove deletes an asset that is wrong. One that was incomplete a moment ago
// may be complete already, and published by the one who uploads it.
func (j *job) remove(ctx context.Context, a asset) error {
	at := fmt.Sprintf("releases/assets/%d", a.ID)
	if a.State != uploaded {
		var now asset
		err := j.get(ctx, at, &now)
		if err == nil && now.State == uploaded {
			return converge.Overtaken(fmt.Errorf("%s was uploaded by another publisher", a.Name))
		}
		if err != nil && !overtaken(err) {
			return err
		}
	}
	if _, err := j.call(ctx, http.MethodDelete, at, nil, nil); !refused(err, http.StatusNotFound) {
		return again(err)
	}
	return nil
}

// discard deletes drafts that can no longer be published, because the tag has
// its release. The outcome does not depend on it; what remains is reported, and the
// next run tries again.
func (j *job) discard(ctx context.Context, drafts []*release) (notes []string) {
	for _, r := range drafts {
		at := fmt.Sprintf("releases/%d", r.ID)
		err := j.opt.Policy.Repeat(ctx, nil, func() error {
			var now release
			err := j.get(ctx, at, &now)
			if err == nil && now.Draft {
				_, err = j.call(ctx, http.MethodDelete, at, nil, nil)
			}
			if refused(err, http.StatusNotFound) {
				return nil
			}
			return err
		})
		if err != nil {
			notes = append(notes, fmt.Sprintf("the unfinished draft %s could not be deleted: %v", r.Page, err))
		}
	}
	return notes
}

// markLatest moves GitHub's mark of the latest release to the highest stable version, if
// this run is concerned: its version has the mark, although there is a higher one, or is
// the highest, and lacks the mark. Of several runs the last one to publish gets the mark,
// whatever its version; but all see by now what is higher, and so does a rerun. Who moved
// the mark looks again, because a still higher version may have been published meanwhile.
func (j *job) markLatest(ctx context.Context) (moved string, err error) {
	if prerelease(j.r.Version) {
		return "", nil
	}
	mine := []string{j.r.Version}
	const tries = 5
	for range tries {
		highest := release{Tag: j.r.Version} // a list may be some moments old
		_, err := list(ctx, j.Repository, "releases", func(r *release) bool {
			v, ok := r.stable()
			if w, _ := layouts.ParseVersion(highest.Tag); ok && v.Compare(w) >= 0 {
				highest = *r
			}
			return false
		})
		if err != nil || highest.ID == 0 {
			return moved, err
		}
		var marked release
		if err := j.get(ctx, "releases/latest", &marked); err != nil && !refused(err, http.StatusNotFound) {
			return moved, err
		}
		if marked.Tag == highest.Tag || highest.Tag != j.r.Version && !slices.Contains(mine, marked.Tag) {
			return moved, nil
		}
		latest := "true"
		if _, err := j.call(ctx, http.MethodPatch, fmt.Sprintf("releases/%d", highest.ID), sdk.RepositoryRelease{MakeLatest: &latest}, nil); err != nil {
			return moved, err
		}
		mine, moved = append(mine, highest.Tag), highest.Tag
	}
	return moved, errors.New("GitHub does not move the mark")
}

// wide is how many files are uploaded at the same time.
const wide = 4

// uploadAll uploads files. After an error no further ones are begun; what is
// there by then stays. An error that lasts goes before one that may pass. github.com
// takes some 80 files a minute, and says then how long the next ones have to wait.
func (j *job) uploadAll(ctx context.Context, r *release, files []*repo.Artifact) error {
	errs := make([]error, len(files))
	var failed atomic.Bool
	parallel.Limited(wide, len(files), func(i int) {
		if failed.Load() {
			return
		}
		if errs[i] = j.upload(ctx, r, files[i]); errs[i] != nil {
			failed.Store(true)
		}
	})
	return transport.Worst(errs)
}

// upload streams a file into a release, and checks what GitHub says about it.
func (j *job) upload(ctx context.Context, r *release, a *repo.Artifact) error {
	at, _, _ := strings.Cut(r.UploadURL, "{") // a template for the query
	body := publish.NewBody(a)
	req, err := j.api().NewUploadRequest(at+"?name="+url.QueryEscape(a.Name), body, a.Size, publish.MediaType(a.Name))
	if err != nil {
		return err
	}
	req.GetBody = func() (io.ReadCloser, error) { return publish.NewBody(a), nil }
	if err := j.authorize(req); err != nil {
		return err
	}
	var got asset
	_, err = j.send(ctx, req, &got)
	if source, ok := errors.AsType[*publish.SourceError](err); ok && ctx.Err() == nil {
		return source.Unwrap()
	}
	if err != nil {
		return again(err)
	}
	if got.Name != a.Name {
		_, _ = j.call(ctx, http.MethodDelete, fmt.Sprintf("releases/assets/%d", got.ID), nil, nil) // the error below is the one to report
		return fmt.Errorf("GitHub gave %s the name %s; rename the file so that its name survives", a.Path, got.Name)
	}
	sum, stated := got.sum()
	if got.State == uploaded && got.Size == a.Size && (!stated || sum == j.sums[a.Name]) {
		return nil
	}
	if now, err := a.Sum(ctx); err != nil || now != j.sums[a.Name] {
		return errors.Join(fmt.Errorf("%s changed while it was published; start again when nothing else changes it", a.Path), err)
	}
	return &publish.Temporary{Err: fmt.Errorf("GitHub stored %s in the state %s, with %d bytes and the digest %s, but %d bytes with sha256:%s were sent", a.Name, got.State, got.Size, got.Digest, a.Size, j.sums[a.Name])}
}

// authorize shows the token to the server for uploads that the API names. A
// server on this machine may have another port for them. Any other host does
// not get the token, and without it no upload succeeds.
func (d *Repository) authorize(req *http.Request) error {
	at := req.URL
	if slices.ContainsFunc(d.hosts, func(host string) bool { return strings.EqualFold(host, at.Host) }) {
		return nil // the transport does it
	}
	if !transport.Loopback(d.base.Host) || d.base.Hostname() != at.Hostname() {
		return fmt.Errorf("%s requires uploads to %s, but the token in %s is not for that host", d, at.Host, d.opt.TokenName)
	}
	req.Header.Set("Authorization", bearer(d.opt.Token))
	return nil
}
