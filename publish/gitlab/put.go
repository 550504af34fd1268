package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/xanzy/go-gitlab"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/claim"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Plan looks at the project and at what is there of the version.
func (p *Package) Plan(ctx context.Context, r *repo.Release) (publish.Result, error) {
	j, err := p.begin(ctx, r)
	if err != nil {
		return publish.Result{}, err
	}
	s, err := j.look(ctx)
	if err != nil {
		return publish.Result{}, p.fail(r, err)
	}
	steps, err := j.decide(s)
	if err != nil {
		return publish.Result{}, p.fail(r, err)
	}
	result := j.result(s)
	result.Unchanged = len(steps) == 0
	for _, step := range steps {
		result.Steps = append(result.Steps, step.String())
	}
	if p.o.Release {
		steps, err := p.planRelease(ctx, r)
		if err != nil {
			return publish.Result{}, p.fail(r, err)
		}
		result.Unchanged = result.Unchanged && len(steps) == 0
		result.Steps = append(result.Steps, steps...)
	}
	return result, nil
}

// Put uploads what is missing, the components file last. A file of an unfinished
// upload that has other content is deleted, or, if the token may not do that,
// uploaded again: readers get the last file of a name.
//
// GitLab cannot refuse a second publisher of the same version, so publishers
// agree on one content first, by files of a hidden version of the package. With
// a token that may not list packages that is not possible: then Put looks
// before every upload whether the version is published, and two publishers with
// different content may still get in each other's way.
func (p *Package) Put(ctx context.Context, r *repo.Release) (publish.Result, error) {
	j, err := p.begin(ctx, r)
	if err != nil {
		return publish.Result{}, err
	}
	s, err := j.run(ctx)
	if err != nil {
		return publish.Result{}, p.fail(r, err)
	}
	result := j.result(s)
	result.Unchanged = !j.changed
	if p.o.Release {
		made, err := p.release(ctx, r)
		if err != nil {
			return publish.Result{}, fmt.Errorf("%s is published at %s, but not the release of the project: %w", publish.Name(r), s.where, err)
		}
		result.Unchanged = result.Unchanged && !made
	}
	return result, nil
}

// fail says what was tried.
func (p *Package) fail(r *repo.Release, err error) error {
	if _, ok := errors.AsType[*publish.ConflictError](err); ok {
		return err // names itself
	}
	return fmt.Errorf("publish %s to %s: %w", publish.Name(r), p, err)
}

// job is one run of Put.
type job struct {
	p *Package
	r *repo.Release
	// order is that of the uploads. The last file is the gate: before it is
	// there, no reader gets further than "not found".
	order []*repo.Artifact
	// sums are the checksums of the files that were read so far, for a file is
	// only read to be uploaded or because there is one of its name.
	sums map[string]repo.Sum

	// changed is true once anything was uploaded or deleted.
	changed bool
	// keep is true if the token may not delete.
	keep bool
	// sent are the files that GitLab said it has stored as they are.
	sent map[string]bool
	// broken is what GitLab stored instead of our files, by name.
	broken map[string][]repo.Sum
	// deleted are the numbers of files that may still be listed.
	deleted map[int]bool
	// duplicate are the refusals of files because there is one of that name.
	duplicate map[string]error
	// left are names of which older files could not be deleted.
	left []string
}

// begin checks a release and the project.
func (p *Package) begin(ctx context.Context, r *repo.Release) (*job, error) {
	if err := publish.Check(r); err != nil {
		return nil, err
	}
	if err := checkVersion(r.Version); err != nil {
		return nil, p.fail(r, err)
	}
	j := &job{
		p: p, r: r, order: order(r), sums: map[string]repo.Sum{}, keep: p.o.TokenKind == DeployToken,
		sent: map[string]bool{}, broken: map[string][]repo.Sum{}, deleted: map[int]bool{}, duplicate: map[string]error{},
	}
	if err := p.preflight(ctx); err != nil {
		return nil, p.fail(r, err)
	}
	if p.o.Release && p.o.Ref == "" {
		if err := p.tagged(ctx, r); err != nil {
			return nil, p.fail(r, err)
		}
	}
	return j, nil
}

// order returns the files of a release as they are uploaded: what readers open
// first comes last.
func order(r *repo.Release) []*repo.Artifact {
	components, kind := r.Components(), r.Kinds()
	rank := func(a *repo.Artifact) int {
		switch k := kind(a); {
		case a == components, r.Provider == layouts.CertManager && a.Name == layouts.CertManagerFile:
			return 4
		case k == layouts.Components:
			return 3
		case k == layouts.Metadata:
			return 2
		case k.Attests():
			return 1
		}
		return 0
	}
	out := slices.Clone(r.Artifacts)
	slices.SortStableFunc(out, func(a, b *repo.Artifact) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

func (j *job) gate() *repo.Artifact { return j.order[len(j.order)-1] }

// names are those of the files, the gate first: if it is there, then so is, by
// the time they are looked for, all else.
func (j *job) names() []string {
	var out []string
	for _, a := range slices.Backward(j.order) {
		out = append(out, a.Name)
	}
	return out
}

func (j *job) result(s state) publish.Result {
	out := publish.Result{Where: s.where}
	note := func(format string, args ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, args...)) }
	if j.p.unreadable != nil {
		note("%s", j.p.unreadable)
	}
	if !s.listed {
		note("the %s may not list packages; files of %s that are not part of this release go unnoticed", j.p.o.TokenKind, j.r.Version)
	}
	if len(j.left) > 0 {
		note("the %s may not delete files (that needs the role Maintainer); readers do not see the older files of %s", j.p.o.TokenKind, strings.Join(j.left, ", "))
	}
	return out
}

// step is an upload, or a deletion if there is no artifact.
type step struct {
	upload *repo.Artifact
	// status is what the whole package gets; if empty, it keeps its own.
	status gitlab.GenericPackageStatusValue
	delete stored
	// tidy is true for the deletion of what no reader sees.
	tidy bool
}

// String is a short sentence without a subject.
func (s step) String() string {
	if s.upload == nil {
		return fmt.Sprintf("delete the file %s that an upload left behind (number %d)", s.delete.name, s.delete.id)
	}
	out := fmt.Sprintf("upload %s (%d bytes)", s.upload.Name, s.upload.Size)
	if s.status == gitlab.PackageDefault {
		out += ", which makes the release visible"
	}
	return out
}

// run brings the package to where nothing is left to do.
func (j *job) run(ctx context.Context) (state, error) {
	for failed := 1; !j.p.o.TakeOver; failed++ {
		err := j.claim(ctx)
		if err == nil {
			break
		}
		if err := j.p.o.Policy.Retry(ctx, failed, err); err != nil {
			return state{}, err
		}
	}
	s, err := j.converge(ctx)
	if _, conflict := errors.AsType[*publish.ConflictError](err); conflict && !s.listed && j.changed {
		err = fmt.Errorf("%w; this run had uploaded files before it noticed, which readers may get; delete them, and publish with a token that may list packages", err)
	}
	return s, err
}

// claim makes sure that no other content can be published under the version,
// unless it is published already or packages cannot be listed.
func (j *job) claim(ctx context.Context) error {
	s, err := j.look(ctx)
	if err != nil || !s.listed {
		return err
	}
	if steps, err := j.decide(s); err != nil || len(steps) == 0 {
		return nil // there is nothing to publish, as converge will find
	}
	id, err := publish.ContentID(ctx, j.r)
	if err != nil {
		return err
	}
	return claim.Win(ctx, &marks{j.p, j.r.Version + claims}, id, j.p.o.Policy.Yield)
}

// claims ends the version of the package in which publishers agree.
const claims = "-claims"

// marks are files.
type marks struct {
	p       *Package
	version string
}

func (m *marks) Set(ctx context.Context, mark string) error {
	_, _, err := m.p.upload(ctx, m.version, repo.BytesArtifact(mark, []byte(mark)), gitlab.PackageHidden)
	if refused(err, http.StatusBadRequest) && strings.Contains(err.Error(), "Duplicate") {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("claim the version: %w", err)
	}
	return err
}

func (m *marks) List(ctx context.Context) (out []string, err error) {
	s, err := m.p.list(ctx, m.version)
	for name := range s.files {
		out = append(out, name)
	}
	return out, err
}

// converge looks, decides and acts, again and again. The gate is opened only
// after another look at everything else.
func (j *job) converge(ctx context.Context) (state, error) {
	for failed, most := 0, 0; ; {
		s, err := j.look(ctx)
		if err != nil {
			return s, err
		}
		steps, err := j.decide(s)
		if err == nil && len(steps) == 0 {
			return s, nil
		}
		if last := len(steps) - 1; last > 0 && steps[last].status == gitlab.PackageDefault {
			steps = steps[:last]
		}
		tidy := false
		for i, step := range steps {
			var overtaken bool
			if overtaken, err = j.overtaken(ctx, s, step, i == 0); overtaken || err != nil {
				break
			}
			keep := j.keep
			if err = j.do(ctx, s, step); err != nil || j.keep != keep {
				tidy = step.tidy
				break
			}
		}
		if len(j.sent) > most {
			failed, most = 0, len(j.sent)
		}
		if err == nil {
			continue
		}
		failed++
		if err = j.p.o.Policy.Retry(ctx, failed, err); err == nil {
			continue
		}
		if !tidy || ctx.Err() != nil {
			return s, err
		}
		j.keep = true // it can stay
	}
}

// overtaken reports whether somebody opened the gate since the last look. Then
// another upload would change what readers get. A list has just been looked at
// before the first step, but asking for files one by one takes its time.
func (j *job) overtaken(ctx context.Context, s state, step step, first bool) (bool, error) {
	if _, there := s.winner(j.gate().Name); there || first && s.listed || step.upload == nil {
		return false, nil
	}
	_, err := j.p.probe(ctx, j.r.Version, j.gate().Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// look finds out what is there, but for what was deleted and may still be listed,
// and what it has to be compared with.
func (j *job) look(ctx context.Context) (state, error) {
	s, err := j.p.look(ctx, j.r.Version, j.names())
	if err != nil {
		return s, err
	}
	j.keep = j.keep || !s.listed // numbers are needed
	for name, files := range s.files {
		files = slices.DeleteFunc(files, func(f stored) bool { return j.deleted[f.id] })
		if s.files[name] = files; len(files) == 0 {
			delete(s.files, name)
		}
	}
	for _, a := range j.order {
		if _, known := j.sums[a.Name]; known || len(s.files[a.Name]) == 0 {
			continue
		}
		if j.sums[a.Name], err = a.Digest(ctx); err != nil {
			return s, err
		}
	}
	return s, nil
}

// decide returns what is left to do, the gate last. The error is a
// *publish.ConflictError if the version is published with other content.
func (j *job) decide(s state) ([]step, error) {
	diff, broken := j.compare(s)
	gate := j.gate().Name
	_, open := s.winner(gate)
	open = open && !slices.Contains(broken, gate)
	for _, name := range diff.Missing {
		if j.sent[name] {
			return nil, &publish.Temporary{Err: fmt.Errorf("%s took the file %s, but does not show it; another publisher may have deleted it", j.p.server, name)}
		}
	}
	// Readers see a release once the gate is open. What is listed for everyone
	// before that is not what Put leaves behind.
	if open && !diff.IsZero() || s.listed && s.visible && len(diff.Changed)+len(diff.Extra) > 0 {
		return nil, &publish.ConflictError{Release: publish.Name(j.r), Where: s.where, Difference: diff}
	}
	for _, name := range diff.Changed {
		if j.sent[name] {
			return nil, fmt.Errorf("another publisher replaced %s of %s right now; let one of the two finish", name, j.r.Version)
		}
	}
	if j.keep && len(diff.Extra) > 0 {
		return nil, fmt.Errorf("an unfinished upload left %s, and the %s may not delete that (it needs the role Maintainer); delete version %s of the package", strings.Join(diff.Extra, ", "), j.p.o.TokenKind, j.r.Version)
	}
	var steps []step
	remove := func(tidy bool, files ...stored) {
		for _, f := range files {
			steps = append(steps, step{delete: f, tidy: tidy})
		}
	}
	for _, name := range diff.Extra {
		remove(false, s.files[name]...)
	}
	for _, a := range j.order {
		files := s.files[a.Name]
		wrong := slices.Contains(diff.Changed, a.Name) || slices.Contains(broken, a.Name)
		hidden := a.Name == gate && !s.visible
		older := files[:max(len(files)-1, 0)]
		if !wrong && open && s.visible {
			// They may be somebody's history.
			older = slices.DeleteFunc(slices.Clone(older), func(f stored) bool { return !j.same(f) && !j.isBroken(f) })
		}
		switch {
		case j.keep:
			if len(older) > 0 && !slices.Contains(j.left, a.Name) {
				j.left = append(j.left, a.Name)
			}
		case wrong:
			remove(false, files...)
		default:
			remove(true, older...)
		}
		if !wrong && !hidden && len(files) > 0 {
			continue
		}
		if hidden && len(files) > 0 && !wrong && j.sent[a.Name] {
			delete(j.sent, a.Name) // wait, and then open it again
			return nil, &publish.Temporary{Err: fmt.Errorf("somebody else is publishing %s right now, and hides it meanwhile", j.r.Version)}
		}
		if err := j.duplicate[a.Name]; err != nil {
			return nil, err
		}
		upload := step{upload: a}
		switch {
		case a.Name == gate:
			upload.status = gitlab.PackageDefault
		case len(s.files) == 0 && len(steps) == 0:
			// Only who makes the package hides it: it may be finished by others
			// when a later upload arrives.
			upload.status = gitlab.PackageHidden
		}
		steps = append(steps, upload)
	}
	return steps, nil
}

// compare returns how what readers get differs from the release, and apart from
// that which files GitLab stored otherwise than we sent them.
func (j *job) compare(s state) (diff publish.Difference, broken []string) {
	for _, a := range j.order {
		f, ok := s.winner(a.Name)
		switch {
		case !ok:
			diff.Missing = append(diff.Missing, a.Name)
		case j.isBroken(f):
			broken = append(broken, a.Name)
		case !j.same(f):
			diff.Changed = append(diff.Changed, a.Name)
		}
	}
	for name := range s.files {
		if j.r.Artifact(name) == nil {
			diff.Extra = append(diff.Extra, name)
		}
	}
	slices.Sort(diff.Missing)
	slices.Sort(diff.Changed)
	slices.Sort(diff.Extra)
	return diff, broken
}

// same reports whether a file is that of the release.
func (j *job) same(f stored) bool {
	want, ok := j.sums[f.name]
	return ok && f.known && f.sum == want
}

func (j *job) isBroken(f stored) bool { return f.known && slices.Contains(j.broken[f.name], f.sum) }

// do makes one step. The error is *publish.Temporary if another look is due.
func (j *job) do(ctx context.Context, s state, step step) error {
	if step.upload == nil {
		return j.remove(ctx, s.pkg, step.delete.id)
	}
	name, a := step.upload.Name, step.upload
	if sum, known := j.sums[name]; known {
		a = a.Stating(sum) // it must still be what it was
	}
	j.changed = true
	sum, f, err := j.p.upload(ctx, j.r.Version, a, step.status)
	if refused(err, http.StatusBadRequest) && strings.Contains(err.Error(), "Duplicate") {
		// It is there since the last look, or has other content.
		j.duplicate[name] = err
		return nil
	}
	if err != nil {
		return fmt.Errorf("upload %s: %w", name, err)
	}
	f.name, j.sums[name] = name, sum
	if !f.known || j.same(f) {
		j.sent[name] = true
		return nil
	}
	// Readers may see it, so it must go at once.
	j.broken[name] = append(j.broken[name], f.sum)
	if f.pkg != 0 && !j.keep {
		if err := j.remove(ctx, f.pkg, f.id); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return &publish.Temporary{Err: fmt.Errorf("upload %s: GitLab stored other bytes than were sent, with the checksum %s; if this happens again, the network or the storage of GitLab damages files", name, f.sum)}
}

func (j *job) remove(ctx context.Context, pkg, file int) error {
	err := j.p.deleteFile(ctx, pkg, file)
	switch {
	case refused(err, http.StatusUnauthorized, http.StatusForbidden):
		j.keep = true
		return nil
	case err != nil:
		return fmt.Errorf("delete the file number %d: %w", file, err)
	}
	j.changed, j.deleted[file] = true, true
	return nil
}
