package lint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
)

// part is what one provider adds to a run. Parts are made at the same time and
// joined in the order of the providers, so that a report does not depend on which
// of them is ready first.
type part struct {
	*run
	mu      sync.Mutex
	report  Report
	ignores []*Ignore
	found   []Finding          // since the last collect
	kinds   map[kind]*tally    // how many findings there are of each kind
	unasked map[ImageName]bool // images whose registries did not answer
}

// providers checks all providers, those with the largest releases first, so that no
// processor waits for one of them in the end.
func (r *run) providers(ctx context.Context) *part {
	list := r.repository.Providers
	largest, order := make([]int64, len(list)), make([]int, len(list))
	for i, p := range list {
		order[i] = i
		for _, release := range p.Releases {
			largest[i] = max(largest[i], sizeOf(release))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(largest[b], largest[a]) })
	parts := make([]part, len(list))
	parallel.Each(len(list), func(n int) {
		i := order[n]
		parts[i].run = r
		parts[i].provider(ctx, list[i])
	})
	all := &part{run: r}
	for i := range parts {
		all.join(&parts[i])
	}
	return all
}

// join adds what another part has found.
func (r *part) join(other *part) {
	r.found = append(r.found, other.found...)
	r.report.Files += other.report.Files
	r.report.Releases += other.report.Releases
	r.report.Providers += other.report.Providers
	r.report.Open = append(r.report.Open, other.report.Open...)
	r.ignores = append(r.ignores, other.ignores...)
	for _, err := range other.report.Failures {
		r.fail(err)
	}
}

// provider checks the releases of a provider, until ctx ends.
func (r *part) provider(ctx context.Context, p *repo.Provider) {
	view := &provider{Provider: p, Complete: !r.opts.Partial}
	if !isOwn(p) {
		r.report.Providers++
	}
	for _, release := range p.Releases {
		size := sizeOf(release)
		r.room.enter(size)
		if ctx.Err() == nil {
			view.Releases = append(view.Releases, r.release(view, release))
		}
		r.room.leave(size)
		if ctx.Err() != nil {
			return
		}
	}
	if !isOwn(p) {
		r.apply(ScopeProvider, Pass{Repository: r.repository, Provider: view})
	}
}

// kind is what findings are counted by.
type kind struct {
	rule     *Rule
	severity Severity
	file     string
}

// tally is how many findings of a kind there are. All are kept if comments suppress some.
type tally struct {
	n   int
	all bool
}

// mostOfAKind is how many findings of a rule in a file are kept. A file of a hundred
// thousand documents may have the same fault in each; what people and machines need is
// the first ones, and how many there are.
const mostOfAKind = 1000

// rest is how many findings were counted and not kept.
func (t *tally) rest() int {
	if t == nil || t.all {
		return 0
	}
	return max(0, t.n-mostOfAKind)
}

// add adds a finding, or only counts it if there are many of its kind. Edits have to be
// made everywhere, and where findings are led back to sources their comments are not known
// yet.
func (r *part) add(f Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := kind{f.Rule, f.Severity, f.File}
	t := r.kinds[of]
	if t == nil {
		if r.kinds == nil {
			r.kinds = map[kind]*tally{}
		}
		t = &tally{all: r.opts.Edits || r.opts.Trace != nil}
		r.kinds[of] = t
	}
	t.n++
	if t.n == mostOfAKind+1 {
		t.all = t.all || slices.ContainsFunc(r.ignores, func(i *Ignore) bool { return i.File == f.File && i.names(f.Rule) })
	}
	if f.of = t; t.n <= mostOfAKind || t.all {
		r.found = append(r.found, f)
	}
}

// collect puts what was found since the last call behind the findings of the report.
func (r *part) collect() {
	r.report.Findings, r.found = append(r.report.Findings, r.found...), nil
}

// fail adds why something could not be checked; once if that is an image.
func (r *part) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if unasked, ok := err.(*unaskedError); ok {
		if r.unasked[unasked.image] {
			return
		}
		if r.unasked == nil {
			r.unasked = map[ImageName]bool{}
		}
		r.unasked[unasked.image] = true
	}
	r.report.Failures = append(r.report.Failures, err)
}

// images asks for images. What cannot be asked for is a failure.
func (r *part) images(names []ImageName) []Image {
	out := r.opts.Images(names)
	for i, image := range out {
		if image.Err != nil {
			r.fail(&unaskedError{names[i], image.Err})
		}
	}
	return out
}

// unaskedError says that a registry did not answer.
type unaskedError struct {
	image ImageName
	err   error
}

func (e *unaskedError) Error() string {
	return fmt.Sprintf("the image %s cannot be checked: %v", e.image, e.err)
}

func (e *unaskedError) Unwrap() error { return e.err }

// sizeUnderWay is the size of the releases that may be checked at the same time, in
// bytes. What is made of a release takes several times as much memory, until the
// last rule has seen it.
const sizeUnderWay = 6 << 20

// sizeOf is the size of the files of a release that are read.
func sizeOf(release *repo.Release) int64 {
	var out int64
	kindOf := release.Kinds()
	for _, a := range release.Artifacts {
		if kindOf(a).Read() {
			out += max(a.Size, 0)
		}
	}
	return out
}

// room bounds what is under way at the same time. Whatever is larger than all of
// the room has it alone.
type room struct {
	size   int64
	mu     sync.Mutex
	left   sync.Cond
	inside int64
}

func newRoom(size int64) *room {
	r := &room{size: size}
	r.left.L = &r.mu
	return r
}

// enter waits until there is room for something.
func (r *room) enter(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.inside > 0 && r.inside+size > r.size {
		r.left.Wait()
	}
	r.inside += size
}

func (r *room) leave(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside -= size
	r.left.Broadcast()
}
