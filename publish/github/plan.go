package github

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// job is one release on its way into the repository.
type job struct {
	*Repository
	r    *repo.Release
	sums map[string]repo.Sum // by file name
	mark marker
	home *home
	// draft is the number of the draft that this run made or adopted, or 0.
	draft int64
	// read are the checksums of assets for which GitHub states none.
	read map[int64]repo.Sum
}

// prepare checks what can be checked before anything is looked at, and reads
// the checksums.
func (d *Repository) prepare(ctx context.Context, r *repo.Release) (*job, error) {
	if err := publish.Check(r); err != nil {
		return nil, err
	}
	if n := len(r.Artifacts); n > maxAssets {
		return nil, fmt.Errorf("it has %d files, and a release on GitHub has at most %d", n, maxAssets)
	}
	for _, a := range r.Artifacts {
		switch {
		case a.Size <= 0:
			return nil, fmt.Errorf("%s is empty, which GitHub refuses; remove it or put something in", a.Path)
		case a.Size >= maxSize:
			return nil, fmt.Errorf("%s has %d bytes, and GitHub takes less than %d", a.Path, a.Size, maxSize)
		case strings.Contains(a.Name, ".."):
			return nil, fmt.Errorf("%s: GitHub makes one dot of two in a row; rename the file", a.Path)
		}
	}
	if d.opt.Latest != nil && *d.opt.Latest && d.prerelease(r.Version) {
		return nil, errors.New("a pre-release cannot be the latest release on GitHub; ask for one of the two")
	}
	if d.opt.Token == "" {
		return nil, fmt.Errorf("GitHub lets nobody publish without a token; set %s to one with the right \"Contents: read and write\" (classic: the scope repo)", d.opt.TokenName)
	}
	h, err := d.repository(ctx)
	if err != nil {
		return nil, err
	}
	j := &job{Repository: d, r: r, home: h, sums: map[string]repo.Sum{}, read: map[int64]repo.Sum{}}
	plan := sha256.New()
	for _, a := range r.Artifacts {
		sum, err := a.Digest(ctx)
		if err != nil {
			return nil, err
		}
		j.sums[a.Name] = sum
	}
	for _, name := range slices.Sorted(maps.Keys(j.sums)) {
		fmt.Fprintf(plan, "%s  %s\n", j.sums[name], name)
	}
	j.mark = marker{version: r.Version, plan: digits(plan), tool: d.opt.Tool}
	return j, nil
}

func digits(h hash.Hash) string { return repo.Sum(h.Sum(nil)).String() }

// writable refuses a repository that takes no releases from this token.
func (j *job) writable() error {
	switch h := j.home; {
	case h.Archived:
		return errors.New("the repository is archived, so nothing can be published there; unarchive it or choose another one")
	case h.Disabled:
		return errors.New("the repository is disabled, so nothing can be published there; its owner has to ask GitHub why")
	case h.Permissions != nil && !h.Permissions.Push && !installation(j.opt.Token):
		return errors.New("the repository can be read but not written: " + j.needsWrite())
	}
	return nil
}

// installation reports whether a token belongs to an app, as that of a workflow
// run does. GitHub says of all of them that they may not push.
func installation(token string) bool { return strings.HasPrefix(token, "ghs_") }

func (d *Repository) prerelease(version string) bool {
	if d.opt.Prerelease != nil {
		return *d.opt.Prerelease
	}
	v, err := layouts.ParseVersion(version)
	return err == nil && v.Prerelease() != ""
}

// of reports whether a draft is meant for a version, and whether it has the
// marker of this program. GitHub changes the tag of a draft into untagged-… if
// somebody edits it without naming the tag.
func of(r *release, version string) (meant, marked bool) {
	m, ok := findMarker(r.Body)
	marked = ok && m.version == version
	return r.Tag == version || marked && strings.HasPrefix(r.Tag, "untagged-"), marked
}

// state is what is there of a version.
type state struct {
	published *release
	// drafts are those with a marker, lowest number first, and foreign those
	// without.
	drafts, foreign []*release
	// stable are the other published versions that may be the latest; commit
	// is where the tag is.
	stable []layouts.Version
	commit string
	// whole says that all of this was looked up; otherwise it is only the one
	// release that the job works on.
	whole bool
}

// look reads what is there.
func (j *job) look(ctx context.Context, whole bool) (*state, error) {
	s := &state{whole: whole || j.draft == 0}
	if s.whole {
		_, err := list(ctx, j.Repository, "releases", func(r *release) bool { return s.add(r, j.r.Version) })
		if err != nil {
			return nil, err
		}
		if s.commit, err = j.commitOf(ctx, j.r.Version); err != nil {
			return nil, err
		}
	}
	// A list may be some moments old.
	if known := func(r *release) bool { return r.ID == j.draft }; j.draft != 0 && !slices.ContainsFunc(s.drafts, known) && s.published == nil {
		r := new(release)
		switch err := j.get(ctx, fmt.Sprintf("releases/%d", j.draft), r); {
		case refused(err, http.StatusNotFound):
			j.draft = 0 // somebody has deleted it
			if !s.whole {
				return j.look(ctx, true)
			}
		case err != nil:
			return nil, err
		default:
			s.add(r, j.r.Version)
		}
	}
	slices.SortFunc(s.drafts, func(a, b *release) int { return cmp.Compare(a.ID, b.ID) })
	if s.published != nil {
		return s, j.load(ctx, s.published)
	}
	return s, nil
}

// add sorts a release in, and reports whether it counts.
func (s *state) add(r *release, version string) bool {
	if len(r.Tag) > maxName || len(r.Body) > maxBody {
		return false // not of GitHub
	}
	meant, marked := of(r, version)
	v, err := layouts.ParseVersion(r.Tag)
	switch {
	case !r.Draft && r.Tag == version:
		s.published = r
	case !r.Draft && err == nil && !r.Prerelease && v.Prerelease() == "":
		s.stable = append(s.stable, v)
	case !r.Draft || !meant:
		return false
	case marked:
		s.drafts = append(s.drafts, r)
	default:
		s.foreign = append(s.foreign, r)
	}
	return true
}

// todo is what brings a version from its state to being published.
type todo struct {
	// done: it is published, and nothing is missing.
	done bool
	// work is the release to work on; nil if a draft has to be made.
	work *release
	// adopt: the draft gets the marker first.
	adopt  bool
	remove []asset
	upload []*repo.Artifact
	// target is the commit for the tag that publishing creates; empty if the
	// tag is there.
	target string
	// latest is what publishing asks for.
	latest bool
	// discard are drafts that are good for nothing once the version is there.
	discard []*release
	// left is how many changes are left.
	left int
}

// next decides. What cannot be resolved is an error.
func (j *job) next(ctx context.Context, s *state) (t todo, err error) {
	if s.published != nil {
		return j.compare(ctx, s)
	}
	if err := j.writable(); err != nil {
		return t, err
	}
	if err := j.choose(s, &t); err != nil {
		return t, err
	}
	if t.target, err = j.target(ctx, s); err != nil {
		return t, err
	}
	v, _ := layouts.ParseVersion(j.r.Version) // Check has parsed it
	higher := func(w layouts.Version) bool { return w.Compare(v) > 0 }
	t.latest = !j.prerelease(j.r.Version) && v.Prerelease() == "" && !slices.ContainsFunc(s.stable, higher)
	if j.opt.Latest != nil {
		t.latest = *j.opt.Latest
	}
	if t.work == nil {
		t.upload = j.r.Artifacts
		t.left = math.MaxInt
		return t, nil
	}
	if err := j.load(ctx, t.work); err != nil {
		return t, err
	}
	extra, err := j.audit(ctx, t.work, &t)
	if err != nil {
		return t, err
	}
	if t.adopt && len(extra) > 0 {
		return t, fmt.Errorf("the draft %s holds %s, which the release does not have; delete it there, or add it to the release", t.work.Page, names(extra))
	}
	t.remove = append(t.remove, extra...)
	t.left = 1 + len(t.remove) + len(t.upload)
	if t.adopt {
		t.left++
	}
	return t, nil
}

// compare decides about a version that is published. It never changes, but what
// broke off under the same plan, or on request, gets the files that it lacks.
func (j *job) compare(ctx context.Context, s *state) (todo, error) {
	t := todo{work: s.published, discard: s.drafts}
	err := publish.Conflict(ctx, j.released(ctx, s.published, false), j.r)
	conflict, ok := errors.AsType[*publish.ConflictError](err)
	if !ok {
		t.done = err == nil
		return t, err
	}
	conflict.Where = string(s.published.Page)
	incomplete := len(conflict.Changed)+len(conflict.Extra) == 0
	m, _ := findMarker(s.published.Body)
	switch {
	case incomplete && !s.published.Immutable && (j.opt.Complete || m.plan == j.mark.plan):
		extra, err := j.audit(ctx, s.published, &t)
		t.remove = append(t.remove, extra...) // nobody could read them
		t.left = len(t.remove) + len(t.upload)
		return t, errors.Join(err, j.writable())
	case incomplete && !s.published.Immutable:
		err = fmt.Errorf("%w; if the published files are good and it was only not finished, ask to complete it (--complete)", conflict)
	}
	return t, err
}

// choose finds the draft to work on. Drafts of the same plan are of runs that
// broke off; the oldest counts, so that all who look decide alike. Drafts of
// other plans may belong to somebody who is publishing right now: they are left
// alone until the version is there.
func (j *job) choose(s *state, t *todo) error {
	for _, r := range s.drafts {
		m, _ := findMarker(r.Body)
		switch {
		case r.ID == j.draft, m.plan == j.mark.plan && t.work == nil:
			if t.work != nil {
				t.discard = append(t.discard, t.work)
			}
			t.work = r
		default:
			t.discard = append(t.discard, r)
		}
	}
	if t.work != nil {
		// Somebody who edits it may have cut the tag off.
		t.adopt = t.work.Tag != j.r.Version
		return nil
	}
	switch {
	case len(s.foreign) == 0:
	case !j.opt.AdoptDraft:
		return fmt.Errorf("there is a draft of it that somebody else made: %s; publish or delete that, or ask to adopt it (--adopt-draft)", pages(s.foreign))
	case len(s.foreign) > 1:
		return fmt.Errorf("there are %d drafts of it: %s; delete all but one", len(s.foreign), pages(s.foreign))
	default:
		t.work, t.adopt = s.foreign[0], true
	}
	return nil
}

func pages(releases []*release) string {
	var all []string
	for _, r := range releases {
		all = append(all, fmt.Sprintf("%s (number %d)", r.Page, r.ID))
	}
	return strings.Join(all, ", ")
}

func names(assets []asset) string {
	var all []string
	for _, a := range assets {
		all = append(all, a.Name)
	}
	return strings.Join(all, ", ")
}

// target finds the commit for the tag. A tag that is somewhere else is an error:
// GitHub would publish the release of that commit.
func (j *job) target(ctx context.Context, s *state) (string, error) {
	if !s.whole || j.opt.Target == "" && s.commit != "" {
		return "", nil
	}
	want, err := j.resolve(ctx, cmp.Or(j.opt.Target, string(j.home.Branch), "HEAD"))
	switch {
	case err != nil:
		return "", err
	case s.commit == "":
		return want, nil
	case s.commit != want:
		return "", fmt.Errorf("the tag %s is at the commit %s, not at %s; publish the commit of the tag, or choose another version", j.r.Version, s.commit, want)
	}
	return "", nil
}

// audit compares the assets of a release with the files: what is wrong is to be
// removed, what is missing to be uploaded. It returns what is there and not
// wanted.
func (j *job) audit(ctx context.Context, r *release, t *todo) (extra []asset, err error) {
	good := map[string]bool{}
	for _, a := range r.assets {
		want := j.r.Artifact(a.Name)
		switch {
		case want == nil:
			extra = append(extra, a)
			continue
		case a.State == uploaded && a.Size == want.Size:
			sum, err := j.sum(ctx, a)
			if err != nil {
				return nil, err
			}
			good[a.Name] = sum == j.sums[a.Name]
		}
		if !good[a.Name] {
			t.remove = append(t.remove, a)
		}
	}
	for _, a := range j.r.Artifacts {
		if !good[a.Name] {
			t.upload = append(t.upload, a)
		}
	}
	return extra, nil
}

// sum returns the checksum of an asset, by reading it if GitHub does not state
// it.
func (j *job) sum(ctx context.Context, a asset) (repo.Sum, error) {
	if sum, ok := a.sum(); ok {
		return sum, nil
	}
	if sum, ok := j.read[a.ID]; ok {
		return sum, nil
	}
	file := repo.NewArtifact(a.Name, a.Name, a.Size, func() (io.ReadCloser, error) { return j.content(ctx, a) })
	sum, err := file.Sum(ctx)
	if err == nil {
		j.read[a.ID] = sum
	}
	return sum, err
}

// Plan looks and decides as Put does, up to the first change.
func (d *Repository) Plan(ctx context.Context, r *repo.Release) (publish.Result, error) {
	j, err := d.prepare(ctx, r)
	if err != nil {
		return publish.Result{}, d.fail(r, err)
	}
	s, err := j.look(ctx, true)
	if err != nil {
		return publish.Result{}, d.fail(r, err)
	}
	t, err := j.next(ctx, s)
	if err != nil {
		return publish.Result{}, d.fail(r, err)
	}
	result := publish.Result{Unchanged: t.done, Where: d.page(r.Version), Notes: j.notes(ctx, s)}
	if !t.done {
		result.Steps = j.steps(s, t)
	}
	return result, nil
}

// steps puts into words what is to be done.
func (j *job) steps(s *state, t todo) (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case t.work == nil:
		add("create a draft of %s", j.r.Version)
	case s.published == nil:
		add("go on with the draft %s", t.work.Page)
	}
	for _, a := range t.remove {
		add("delete %s from it, which is incomplete or does not belong there", a.Name)
	}
	for _, a := range t.upload {
		add("upload %s (%d bytes)", a.Name, a.Size)
	}
	if s.published == nil {
		text := "check the draft and publish it"
		if t.latest {
			text += " as the latest release"
		}
		if t.target != "" {
			text += fmt.Sprintf(", with the tag %s at the commit %s", j.r.Version, t.target)
		}
		add("%s", text)
	}
	for _, r := range t.discard {
		add("delete the unfinished draft %s", r.Page)
	}
	return out
}

// notes are what a publisher should know.
func (j *job) notes(ctx context.Context, s *state) (out []string) {
	if j.enterprise() {
		out = append(out, fmt.Sprintf("clusterctl reads releases from github.com only, not from %s; for clusterctl, mirror them to a folder, a GitLab server or github.com", j.opt.ServerURL))
	}
	if !strings.EqualFold(string(j.home.FullName), j.full()) && j.home.FullName != "" {
		out = append(out, fmt.Sprintf("%s is called %s now; GitHub redirects from the old name", j.full(), j.home.FullName))
	}
	if s.published != nil && s.published.Immutable {
		return append(out, "the release is immutable")
	}
	var setting struct {
		Enabled bool `json:"enabled"`
	}
	// It is 404 where it is off, unknown, or may not be seen.
	if s.published == nil && j.get(ctx, "immutable-releases", &setting) == nil && setting.Enabled {
		out = append(out, "releases of this repository are immutable: once published, this version can never be replaced, and its tag never be used again")
	}
	return out
}

// fail says what could not be done.
func (d *Repository) fail(r *repo.Release, err error) error {
	if _, ok := errors.AsType[*publish.ConflictError](err); ok {
		return err // names itself
	}
	return fmt.Errorf("publish %s to %s: %w", publish.Name(r), d, err)
}
