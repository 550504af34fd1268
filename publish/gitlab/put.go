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
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Plan looks at the project and at what is there of the version.
func (p *Package) Plan(ctx context.Context, r *repo.Release) (publish.Result, error) {
	j, err := p.begin(ctx, r)
	if err != nil {
		return publish.Result{}, err
	}
	s, done, err := j.machine().Plan(ctx)
	if err != nil {
		return publish.Result{}, publish.Failed(r, p, err)
	}
	result := j.result(s)
	result.Unchanged = done
	result.Steps = append(result.Steps, phrase.List(append(s.steps, s.tidy...), step.String)...)
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
	s, err := j.machine().Run(ctx)
	if _, conflict := errors.AsType[*publish.ConflictError](err); conflict && !s.listed && j.changed {
		err = fmt.Errorf("%w; this run had uploaded files before it noticed, which readers may get; delete them, and publish with a token that may list packages", err)
	}
	if err != nil {
		return publish.Result{}, publish.Failed(r, p, err)
	}
	result := j.result(s)
	result.Unchanged = !j.changed
	return result, nil
}

// job is one run of Put.
type job struct {
	p *Package
	r *repo.Release
	// order is that of the uploads. The last file is the gate: before it is
	// there, no reader gets further than "not found".
	order []*repo.Artifact
	// sums are the checksums of the files that were read so far, for a file is
	// only read to be uploaded, because there is one of its name, or for the claim.
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
	// refused are the files that GitLab did not take, such as those of a name that
	// is there already.
	refused map[string]error
	// claimed is true once no other content can be published.
	claimed bool
	// looked is when the gate was last looked at.
	looked time.Time
	// left are names of which older files could not be deleted.
	left []string
}

// begin checks a release and the project.
func (p *Package) begin(ctx context.Context, r *repo.Release) (*job, error) {
	if err := publish.Check(r); err != nil {
		return nil, err
	}
	err := checkVersion(r.Version)
	switch {
	case err != nil:
	case p.o.Version != "" && p.o.Version != r.Version:
		err = fmt.Errorf("the destination names version %s, but the release is %s", p.o.Version, r.Version)
	case p.o.File != "" && r.Artifact(p.o.File) == nil:
		err = fmt.Errorf("the destination names %s, which the release does not have", p.o.File)
	}
	if err != nil {
		return nil, publish.Failed(r, p, err)
	}
	j := &job{
		p: p, r: r, order: order(r), sums: map[string]repo.Sum{}, keep: p.o.TokenKind == DeployToken,
		sent: map[string]bool{}, broken: map[string][]repo.Sum{}, deleted: map[int]bool{}, refused: map[string]error{},
	}
	if err := p.preflight(ctx); err != nil {
		return nil, publish.Failed(r, p, err)
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
	names := phrase.List(j.order, func(a *repo.Artifact) string { return a.Name })
	slices.Reverse(names)
	return names
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

func (j *job) table() converge.Table[state] {
	return converge.Table[state]{
		{
			When: "a file that GitLab has accepted does not show", Step: "wait",
			Why: "lists may be delayed, or another publisher deletes it",
			Is:  func(s state) bool { return s.unseen != nil },
			Do:  func(_ context.Context, s state) error { return s.unseen },
		},
		{
			When: "the version is visible with other content", Step: "refuse",
			Why:    "a published version never changes",
			Is:     func(s state) bool { return s.conflict != nil },
			Refuse: func(s state) error { return s.conflict },
		},
		{
			When: "another publisher replaced a file of this run, or a file that does not belong there cannot be deleted", Step: "refuse",
			Why:    "readers would get a mixture of both",
			Is:     func(s state) bool { return s.mixed != nil },
			Refuse: func(s state) error { return s.mixed },
		},
		{
			When: "all files are there, once, and visible", Step: "done",
			Why: "content decides, not who uploaded it",
			Is:  func(s state) bool { return len(s.steps)+len(s.tidy) == 0 },
		},
		{
			When: "the version is not claimed, and the token may list packages", Step: "claim the version by hidden files, unless `--allow draft` is given",
			Why: "GitLab lets the last file of a name win, so publishers agree on one content first",
			Is:  func(s state) bool { return !j.claimed && s.listed && !j.p.o.TakeOver },
			Do:  j.claim,
		},
		{
			When: "the components file is there, and the package is hidden again", Step: "wait, then upload the components file again",
			Why: "another run with the same content that started at the same time hides it until it is done",
			Is:  func(s state) bool { return s.hidden },
			Do: func(context.Context, state) error {
				delete(j.sent, j.gate().Name) // so that it is uploaded again
				return &publish.Temporary{Err: fmt.Errorf("another publisher is working on %s and hides it meanwhile", j.r.Version)}
			},
		},
		{
			When: "GitLab refuses a file and does not have it", Step: "refuse",
			Why:    "only a person can change the settings or limits behind that",
			Is:     func(s state) bool { return s.refused != nil },
			Refuse: func(s state) error { return s.refused },
		},
		{
			When: "files other than the components file are missing or wrong", Step: "delete the wrong files, upload the missing ones",
			Why: "clusterctl asks for the components file first, so readers do not see them",
			Is:  func(s state) bool { return len(s.steps) > 0 && s.steps[0].status != gitlab.PackageDefault },
			Do:  j.fill,
		},
		{
			When: "older copies of files are left", Step: "delete the copies",
			Why: "readers get the last file of a name, and people look at the list",
			Is:  func(s state) bool { return len(s.tidy) > 0 },
			Do:  j.clear,
		},
		{
			When: "only the components file is missing", Step: "upload the components file, which makes the package visible",
			Why: "this makes everything visible at once",
			Do:  j.fill,
		},
	}
}

func (j *job) machine() converge.Machine[state] {
	left := func(s state) int {
		if !j.claimed {
			return 1 + len(s.steps) + len(s.tidy)
		}
		return len(s.steps) + len(s.tidy)
	}
	return converge.Machine[state]{Place: j.p.server, Table: j.table(), Look: j.look, Left: left, Policy: j.p.o.Policy}
}

// claim makes sure that no other content can be published under the version.
func (j *job) claim(ctx context.Context, _ state) error {
	id, err := publish.ContentID(ctx, j.r)
	if err != nil {
		return err
	}
	for _, a := range j.order { // they were read just now; nothing else may be uploaded under the claim
		if sum, err := a.Digest(ctx); err == nil {
			j.sums[a.Name] = sum
		}
	}
	err = converge.Win(ctx, &marks{j.p, j.r.Version + claims}, id, j.p.o.Policy.Yield)
	j.claimed = err == nil
	return err
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
	if refused(err, http.StatusBadRequest) {
		// Where duplicates are forbidden, an equal publisher may have set it.
		if _, there := m.p.probe(ctx, m.version, mark); there == nil {
			return nil
		}
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

// fill deletes what is wrong, and uploads what is missing but for the gate. That
// is opened only after another look at everything else.
func (j *job) fill(ctx context.Context, s state) error {
	steps := s.steps
	if last := len(steps) - 1; last > 0 && steps[last].status == gitlab.PackageDefault {
		steps = steps[:last]
	}
	keep := j.keep
	for i, step := range steps {
		if overtaken, err := j.overtaken(ctx, s, step, i == 0); overtaken || err != nil {
			return err
		}
		if err := j.do(ctx, s, step); err != nil || j.keep != keep || len(j.refused) > 0 {
			return err
		}
	}
	return nil
}

// clear deletes what no reader sees. What cannot be deleted stays.
func (j *job) clear(ctx context.Context, s state) error {
	for _, step := range s.tidy {
		for failed := 1; !j.keep; failed++ {
			err := j.do(ctx, s, step)
			if err == nil {
				break
			}
			if err := j.p.o.Policy.Retry(ctx, failed, err); ctx.Err() != nil {
				return err
			} else if err != nil {
				j.keep = true
			}
		}
	}
	return nil
}

// overtaken reports whether somebody opened the gate since the last look. Then
// another upload would change what readers get. A list has just been looked at
// before the first step, but asking for files one by one takes its time. A claim
// keeps all publishers away that know of claims; for others, a look each second will do.
func (j *job) overtaken(ctx context.Context, s state, step step, first bool) (bool, error) {
	if first && s.listed {
		j.looked = time.Now()
	}
	if _, there := s.winner(j.gate().Name); there || first && s.listed || step.upload == nil ||
		j.claimed && time.Since(j.looked) < time.Second {
		return false, nil
	}
	j.looked = time.Now()
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
		sum, err := a.Digest(ctx)
		if err != nil {
			return s, err
		}
		j.sums[a.Name] = sum
	}
	j.assess(&s)
	return s, nil
}

// assess finds out what a state lacks, and why it may not be completed.
func (j *job) assess(s *state) {
	diff, broken := j.compare(*s)
	gate := j.gate().Name
	_, open := s.winner(gate)
	open = open && !slices.Contains(broken, gate)
	for _, name := range diff.Missing {
		if j.sent[name] {
			s.unseen = &publish.Temporary{Err: fmt.Errorf("%s accepted the file %s, but does not show it; another publisher may have deleted it", j.p.server, name)}
		}
	}
	// Readers see a release once the gate is open. What is listed for everyone
	// before that is not what Put leaves behind.
	if open && !diff.IsZero() || s.listed && s.visible && len(diff.Changed)+len(diff.Extra) > 0 {
		s.conflict = &publish.ConflictError{Release: publish.Name(j.r), Where: s.where, Difference: diff}
	}
	if j.keep && len(diff.Extra) > 0 {
		s.mixed = fmt.Errorf("an unfinished upload left %s, and the %s may not delete that (it needs the role Maintainer); delete version %s of the package", strings.Join(diff.Extra, ", "), j.p.o.TokenKind, j.r.Version)
	}
	for _, name := range diff.Changed {
		if j.sent[name] {
			s.mixed = fmt.Errorf("another publisher has just replaced %s of %s; let one of the two finish", name, j.r.Version)
		}
	}
	if s.unseen != nil || s.conflict != nil || s.mixed != nil {
		return
	}
	remove := func(files ...stored) []step {
		return phrase.List(files, func(f stored) step { return step{delete: f} })
	}
	for _, name := range diff.Extra {
		s.steps = append(s.steps, remove(s.files[name]...)...)
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
			s.steps = append(s.steps, remove(files...)...)
		default:
			s.tidy = append(s.tidy, remove(older...)...)
		}
		if !wrong && !hidden && len(files) > 0 {
			continue
		}
		s.hidden = hidden && !wrong && j.sent[a.Name]
		if s.refused == nil {
			s.refused = j.refused[a.Name]
		}
		upload := step{upload: a}
		switch {
		case a.Name == gate:
			upload.status = gitlab.PackageDefault
		case len(s.files) == 0 && len(s.steps) == 0:
			// Only who makes the package hides it: it may be finished by others
			// when a later upload arrives.
			upload.status = gitlab.PackageHidden
		}
		s.steps = append(s.steps, upload)
	}
}

// compare returns how what readers get differs from the release, and apart from
// that which files GitLab stored otherwise than we sent them.
func (j *job) compare(s state) (diff publish.Difference, broken []string) {
	diff, _ = publish.Differ(s.files, publish.ByName(j.r), func(_ []stored, a *repo.Artifact) (bool, error) {
		f, _ := s.winner(a.Name)
		if j.isBroken(f) {
			broken = append(broken, a.Name)
			return true, nil
		}
		return j.same(f), nil
	})
	return diff, broken
}

// same reports whether a file is that of the release.
func (j *job) same(f stored) bool {
	return f.known && f.sum == j.sums[f.name]
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
	if err != nil {
		err = fmt.Errorf("upload %s: %w", name, err)
	}
	if refused(err, http.StatusBadRequest) {
		// Where duplicates are forbidden, it may be there since the last look.
		j.refused[name] = err
		return nil
	}
	if err != nil {
		return err
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
	return &publish.Temporary{Err: fmt.Errorf("upload %s: GitLab stored different bytes, with the checksum %s; if this happens again, the network or the storage of GitLab damages files", name, f.sum)}
}

func (j *job) remove(ctx context.Context, pkg, file int) error {
	_, err := j.p.api().Packages.DeletePackageFile(j.p.o.Project, pkg, file, gitlab.WithContext(ctx))
	switch err = j.p.explain(err); {
	case refused(err, http.StatusNotFound):
	case refused(err, http.StatusUnauthorized, http.StatusForbidden):
		j.keep = true
		return nil
	case err != nil:
		return fmt.Errorf("delete the file number %d: %w", file, err)
	}
	j.changed, j.deleted[file] = true, true
	return nil
}
