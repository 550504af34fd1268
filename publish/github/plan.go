package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
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
	// mine is true once this run may have made something visible.
	mine bool
	// guess says that a new tag is at a commit that the user did not choose.
	guess string
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
			return nil, fmt.Errorf("%s is empty, which GitHub refuses; remove it or add content", a.Path)
		case a.Size >= maxSize:
			return nil, fmt.Errorf("%s has %d bytes, and GitHub accepts less than %d", a.Path, a.Size, maxSize)
		case strings.Contains(a.Name, ".."):
			return nil, fmt.Errorf("%s: GitHub replaces two dots in a row with one; rename the file", a.Path)
		}
	}
	if d.opt.Token == "" {
		return nil, fmt.Errorf("GitHub accepts releases only with a token; set %s to one with the right \"Contents: read and write\" (classic: the scope repo)", d.opt.TokenName)
	}
	h, err := d.repository(ctx)
	if err != nil {
		return nil, err
	}
	j := &job{Repository: d, r: r, home: h, sums: map[string]repo.Sum{}, read: map[int64]repo.Sum{}}
	for _, a := range r.Artifacts {
		sum, err := a.Digest(ctx)
		if err != nil {
			return nil, err
		}
		j.sums[a.Name] = sum
	}
	id, err := publish.ContentID(ctx, r)
	j.mark = marker{version: r.Version, plan: id, tool: d.opt.Tool}
	return j, err
}

// writable refuses a repository that takes no releases from this token.
func (j *job) writable() error {
	switch h := j.home; {
	case h.Archived:
		return errors.New("the repository is archived, so nothing can be published there; unarchive it or choose another one")
	case h.Disabled:
		return errors.New("the repository is disabled, so nothing can be published there; its owner has to ask GitHub why")
	case h.Permissions != nil && !h.Permissions.Push && !strings.HasPrefix(j.opt.Token, "ghs_"):
		// GitHub says of all tokens of apps, as that of a workflow run, that they may not push.
		return errors.New("the repository can be read but not written: " + j.needsWrite())
	}
	return nil
}

func prerelease(version string) bool {
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

// state is what is there of a version, and what it lacks.
type state struct {
	published *release
	// drafts are those with a marker, lowest number first, and foreign those
	// without.
	drafts, foreign []*release
	// stable are the other published versions that may be the latest; commit
	// is where the tag is.
	stable []layouts.Version
	commit string

	// conflict says how what is published differs from the release; fillable is
	// true if files may be added to it.
	conflict error
	fillable bool
	// unwritable, blocked and misplaced say why nothing can be published: the
	// repository takes nothing, drafts of others are in the way, the tag is at
	// another commit.
	unwritable, blocked, misplaced error
	// work is the release to work on; nil if a draft has to be made.
	work *release
	// adopt: the draft gets the marker first.
	adopt bool
	// remove and upload are what the release to work on has too much or lacks;
	// extra are those to remove that are no file of the release.
	remove, extra []asset
	upload        []*repo.Artifact
	// target is the commit for the tag that publishing creates; empty if the
	// tag is there.
	target string
	// latest is what publishing asks for.
	latest bool
	// discard are drafts that are good for nothing once the version is there.
	discard []*release
}

// look finds out what is there. Another user may delete what a list just showed.
func (j *job) look(ctx context.Context) (*state, error) {
	s := &state{}
	return s, again(j.see(ctx, s))
}

func (j *job) see(ctx context.Context, s *state) error {
	_, err := list(ctx, j.Repository, "releases", func(r *release) bool { return s.add(r, j.r.Version) })
	if err != nil {
		return err
	}
	if s.commit, err = j.commitOf(ctx, j.r.Version); err != nil {
		return err
	}
	// A list may be some moments old.
	known := func(r *release) bool { return r.ID == j.draft }
	if j.draft != 0 && !slices.ContainsFunc(s.drafts, known) && s.published == nil {
		r := new(release)
		switch err := j.get(ctx, fmt.Sprintf("releases/%d", j.draft), r); {
		case refused(err, http.StatusNotFound):
			j.draft = 0 // somebody has deleted it
		case err != nil:
			return err
		default:
			s.add(r, j.r.Version)
		}
	}
	slices.SortFunc(s.drafts, func(a, b *release) int { return cmp.Compare(a.ID, b.ID) })
	if s.published != nil {
		return j.compare(ctx, s)
	}
	return j.inspect(ctx, s)
}

// stable returns the version of a release that can be the latest.
func (r *release) stable() (v layouts.Version, ok bool) {
	v, err := layouts.ParseVersion(r.Tag)
	return v, err == nil && !r.Draft && !r.Prerelease && v.Prerelease() == ""
}

// add sorts a release in, and reports whether it counts.
func (s *state) add(r *release, version string) bool {
	if len(r.Tag) > maxName || len(r.Body) > maxBody {
		return false // not of GitHub
	}
	meant, marked := of(r, version)
	v, stable := r.stable()
	switch {
	case !r.Draft && r.Tag == version:
		s.published = r
	case stable:
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

func (j *job) table() converge.Table[*state] {
	return converge.Table[*state]{
		{
			When: "the version is published with the same content", Step: "done; delete drafts of it",
			Why: "content decides, not who published it",
			Is:  func(s *state) bool { return s.published != nil && s.conflict == nil },
		},
		{
			When: "it is published with other content, or its tag is not at the commit that it was published for", Step: "refuse",
			Why:    "a published version never changes, and a tag that another user creates at the last moment wins",
			Is:     func(s *state) bool { return s.published != nil && !s.fillable },
			Refuse: func(s *state) error { return s.conflict },
		},
		{
			When: "the repository is archived or disabled, or the token may not write", Step: "refuse",
			Why:    "the first change would be refused, but perhaps not the second",
			Is:     func(s *state) bool { return s.unwritable != nil },
			Refuse: func(s *state) error { return s.unwritable },
		},
		{
			When: "it is published and only lacks files, under the same plan or with `--allow completion`", Step: "upload the files",
			Why: "others can publish a draft before its files are there",
			Is:  func(s *state) bool { return s.published != nil },
			Do:  func(ctx context.Context, s *state) error { return j.visibly(j.fill(ctx, s)) },
		},
		{
			When: "only drafts of others exist, without `--allow draft`", Step: "refuse",
			Why:    "a person may be writing it right now",
			Is:     func(s *state) bool { return s.blocked != nil },
			Refuse: func(s *state) error { return s.blocked },
		},
		{
			When: "the tag is at another commit", Step: "refuse",
			Why:    "GitHub would publish the release of that commit",
			Is:     func(s *state) bool { return s.misplaced != nil },
			Refuse: func(s *state) error { return s.misplaced },
		},
		{
			When: "there is no draft", Step: "create a draft",
			Why: "readers see neither a draft nor its tag",
			Is:  func(s *state) bool { return s.work == nil },
			Do:  j.create,
		},
		{
			When: "the draft to adopt has files that the release does not have", Step: "refuse",
			Why: "they were added for publication",
			Is:  func(s *state) bool { return s.adopt && len(s.extra) > 0 },
			Refuse: func(s *state) error {
				return fmt.Errorf("the draft %s holds %s, which the release does not have; delete it there, or add it to the release", s.work.Page, names(s.extra))
			},
		},
		{
			When: "the draft lacks the marker or the tag", Step: "adopt the draft",
			Why: "a later run, and equal publishers, find it by its marker",
			Is:  func(s *state) bool { return s.adopt },
			Do:  j.adopt,
		},
		{
			When: "files of the draft are missing or wrong", Step: "delete the wrong files, upload the missing ones",
			Why: "an upload may have been interrupted; checksums decide",
			Is:  func(s *state) bool { return len(s.remove)+len(s.upload) > 0 },
			Do:  j.fill,
		},
		{
			When: "all files are there, after everything was checked", Step: "publish the draft",
			Why: "one request makes the release and its tag visible; GitHub gives the tag to one release only",
			Do:  j.publish,
		},
	}
}

// left counts the changes that remain.
func (s *state) left() int {
	switch {
	case s.published != nil:
		return len(s.remove) + len(s.upload)
	case s.work == nil:
		return math.MaxInt
	case s.adopt:
		return 2 + len(s.remove) + len(s.upload)
	}
	return 1 + len(s.remove) + len(s.upload)
}

func (j *job) machine() converge.Machine[*state] {
	return converge.Machine[*state]{Place: "GitHub", Table: j.table(), Look: j.look, Left: (*state).left, Policy: j.opt.Policy}
}

// inspect finds out what a version that is not published lacks.
func (j *job) inspect(ctx context.Context, s *state) (err error) {
	s.unwritable, s.blocked = j.writable(), j.choose(s)
	if s.unwritable != nil || s.blocked != nil {
		return nil
	}
	if err := j.aim(ctx, s); err != nil || s.misplaced != nil {
		return err
	}
	v, _ := layouts.ParseVersion(j.r.Version) // Check has parsed it
	higher := func(w layouts.Version) bool { return w.Compare(v) > 0 }
	s.latest = v.Prerelease() == "" && !slices.ContainsFunc(s.stable, higher)
	if s.work == nil {
		s.upload = j.r.Artifacts
		return nil
	}
	if err := j.load(ctx, s.work); err != nil {
		return err
	}
	return j.audit(ctx, s)
}

// compare finds out how what is published differs. It never changes, but what
// broke off under the same plan, or on request, gets the files that it lacks.
func (j *job) compare(ctx context.Context, s *state) error {
	s.work, s.discard = s.published, s.drafts
	if err := j.load(ctx, s.published); err != nil {
		return err
	}
	m, _ := findMarker(s.published.Body)
	err := publish.Conflict(ctx, j.released(ctx, s.published, false), j.r)
	if err == nil && m.commit+j.opt.Target != "" {
		if s.commit == "" {
			return nil
		}
		if m.commit != "" && s.commit != m.commit {
			s.conflict = fmt.Errorf("it was published for the commit %s, but its tag is at %s: another user created or moved the tag; delete the release and the tag and publish again, or publish under a new version", m.commit, s.commit)
		} else if j.opt.Target != "" {
			var want string
			want, err = j.resolve(ctx, j.opt.Target)
			fixed := strings.HasPrefix(want, strings.ToLower(j.opt.Target))
			if err == nil && s.commit != want && !fixed { // a branch moves on
				tag, tagErr := j.commitOf(ctx, j.opt.Target)
				fixed, err = tag != "", tagErr
			}
			if err == nil && s.commit != want && fixed {
				s.conflict = fmt.Errorf("it is published, and its tag is at the commit %s, not at %s; a published version never changes, so publish that commit under a new version", s.commit, want)
			}
		}
		return err
	}
	conflict, ok := errors.AsType[*publish.ConflictError](err)
	if !ok {
		return err
	}
	conflict.Where = string(s.published.Page)
	s.conflict = conflict
	incomplete := len(conflict.Changed)+len(conflict.Extra) == 0
	switch {
	case incomplete && !s.published.Immutable && (j.opt.Complete || m.plan == j.mark.plan):
		s.fillable, s.unwritable = true, j.writable()
		return j.audit(ctx, s) // what readers could not read is removed
	case incomplete && !s.published.Immutable:
		s.conflict = fmt.Errorf("%w; if the published files are correct and only incomplete, allow completion with --allow completion", conflict)
	}
	return nil
}

// choose finds the draft to work on. Drafts of the same plan are of runs that
// broke off; the oldest counts, so that all who look decide alike. Drafts of
// other plans may belong to somebody who is publishing right now: they are left
// alone until the version is there.
func (j *job) choose(s *state) error {
	for _, r := range s.drafts {
		m, _ := findMarker(r.Body)
		switch {
		case r.ID == j.draft, m.plan == j.mark.plan && s.work == nil:
			if s.work != nil {
				s.discard = append(s.discard, s.work)
			}
			s.work = r
		default:
			s.discard = append(s.discard, r)
		}
	}
	if s.work != nil {
		// Somebody who edits it may have cut the tag off.
		s.adopt = s.work.Tag != j.r.Version
		return nil
	}
	switch {
	case len(s.foreign) == 0:
	case !j.opt.AdoptDraft:
		return fmt.Errorf("another user made a draft of it: %s; publish or delete that, or adopt it with --allow draft", pages(s.foreign))
	case len(s.foreign) > 1:
		return fmt.Errorf("it has %d drafts: %s; delete all but one", len(s.foreign), pages(s.foreign))
	default:
		s.work, s.adopt = s.foreign[0], true
	}
	return nil
}

func pages(releases []*release) string {
	all := phrase.List(releases, func(r *release) string { return fmt.Sprintf("%s (number %d)", r.Page, r.ID) })
	return strings.Join(all, ", ")
}

func names(assets []asset) string {
	return strings.Join(phrase.List(assets, func(a asset) string { return a.Name }), ", ")
}

// aim finds the commit for the tag.
func (j *job) aim(ctx context.Context, s *state) error {
	known, draft := cmp.Or(j.opt.Target, j.opt.Commit), j.chosen(s.work)
	if known == "" && s.commit != "" {
		return nil
	}
	want, err := j.resolve(ctx, cmp.Or(known, draft, string(j.home.Branch), "HEAD"))
	if err == nil && draft != "" && j.opt.Target == "" && s.commit == "" {
		drafted := ""
		if drafted, err = j.resolve(ctx, draft); err == nil && drafted != want {
			s.misplaced = fmt.Errorf("the draft %s is for %s, which is at the commit %s, not at %s; name the commit with --commit, or change the target of the draft", s.work.Page, draft, drafted, want)
		}
	}
	switch {
	case err != nil:
		return err
	case s.commit == "":
		s.target = want
		if known+draft == "" {
			j.guess = fmt.Sprintf("the commit of the release is not known, so the tag %s is at the head of %s, %s; publish and release take another one with --commit", j.r.Version, cmp.Or(j.home.Branch, "the default branch"), want)
		}
	case s.commit != want:
		s.misplaced = fmt.Errorf("the tag %s is at the commit %s, not at %s; publish the commit of the tag, with --commit %[1]s if these are its files, or choose another version", j.r.Version, s.commit, want)
	}
	return nil
}

// chosen returns the commit, branch or tag that a person chose in the draft to adopt; the
// marker keeps it. A draft whose author chose none is for the default branch.
func (j *job) chosen(draft *release) string {
	if draft == nil {
		return ""
	}
	if m, marked := findMarker(draft.Body); marked && m.version == j.r.Version {
		return m.commit
	}
	if target := strings.TrimPrefix(draft.Target, "refs/heads/"); target != string(j.home.Branch) {
		return target
	}
	return ""
}

// audit compares the assets of the release to work on with the files: what is
// wrong is to be removed, what is missing to be uploaded.
func (j *job) audit(ctx context.Context, s *state) error {
	good := map[string]bool{}
	for _, a := range s.work.assets {
		want := j.r.Artifact(a.Name)
		switch {
		case want == nil:
			s.extra = append(s.extra, a)
			continue
		case a.State == uploaded && a.Size == want.Size:
			sum, err := j.sum(ctx, a)
			if err != nil {
				return err
			}
			good[a.Name] = sum == j.sums[a.Name]
		}
		if !good[a.Name] {
			s.remove = append(s.remove, a)
		}
	}
	s.remove = append(s.remove, s.extra...)
	s.upload = append(s.upload, phrase.Only(j.r.Artifacts, func(a *repo.Artifact) bool { return !good[a.Name] })...)
	return nil
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
		return publish.Result{}, publish.Failed(r, d, err)
	}
	s, done, err := j.machine().Plan(ctx)
	if err != nil {
		return publish.Result{}, publish.Failed(r, d, err)
	}
	result := publish.Result{Unchanged: done, Where: d.page(r.Version), Notes: j.notes(ctx, s)}
	if !done {
		result.Steps = j.steps(s)
	}
	return result, nil
}

// steps puts into words what is to be done.
func (j *job) steps(s *state) (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case s.work == nil:
		add("create a draft of %s", j.r.Version)
	case s.published == nil:
		add("continue with the draft %s", s.work.Page)
	}
	for _, a := range s.remove {
		add("delete %s from it, which is incomplete or does not belong there", a.Name)
	}
	for _, a := range s.upload {
		add("upload %s (%d bytes)", a.Name, a.Size)
	}
	if s.published == nil {
		text := "check the draft and publish it"
		if s.latest {
			text += " as the latest release"
		}
		if s.target != "" {
			text += fmt.Sprintf(", with the tag %s at the commit %s", j.r.Version, s.target)
		}
		add("%s", text)
	}
	for _, r := range s.discard {
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
		out = append(out, fmt.Sprintf("%s is now called %s; GitHub redirects from the old name", j.full(), j.home.FullName))
	}
	if j.guess != "" && (j.mine || s.published == nil) {
		out = append(out, j.guess)
	}
	if s.published != nil && s.published.Immutable {
		return append(out, "the release is immutable")
	}
	var setting struct {
		Enabled bool `json:"enabled"`
	}
	// It is 404 where it is off, unknown, or may not be seen.
	if s.published == nil && j.get(ctx, "immutable-releases", &setting) == nil && setting.Enabled {
		out = append(out, "releases of this repository are immutable: once published, this version can never be replaced, and its tag can never be reused")
	}
	return out
}
