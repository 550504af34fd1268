package oci

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/claim"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// maxUploads is how many files are sent at the same time.
const maxUploads = 4

// prepare checks a release and packs it.
func (d *Repository) prepare(ctx context.Context, r *repo.Release) (*bundle, error) {
	if err := publish.Check(r); err != nil {
		return nil, err
	}
	if err := d.checkTag(r.Version); err != nil {
		return nil, err
	}
	return pack(ctx, r, d.form)
}

// published looks at the tag. It reports whether the release is there, and the
// digest of its manifest, and returns a *publish.ConflictError if the tag has
// other content.
func (d *Repository) published(ctx context.Context, b *bundle) (there bool, desc v1.Descriptor, err error) {
	desc, data, err := d.get(ctx, b.release.Version)
	if errors.Is(err, fs.ErrNotExist) {
		return false, desc, nil
	}
	if err != nil || desc.Digest == b.desc.Digest {
		return err == nil, desc, err
	}
	old, err := d.open(ctx, b.release.Version, desc, data)
	if err == nil {
		err = publish.Conflict(ctx, old, b.release)
	}
	return err == nil, desc, err
}

// exists asks for a blob or manifest. Of another size it is no answer of a
// registry, but perhaps a page to log in.
func (d *Repository) exists(ctx context.Context, in content.Resolver, want v1.Descriptor) (bool, error) {
	got, err := in.Resolve(ctx, want.Digest.String())
	switch err = d.explain(ctx, err); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case got.Size != want.Size:
		return false, fmt.Errorf("%s answers with %d bytes instead of the %d bytes of %s; it may not be a registry", d.remote.Reference.Registry, got.Size, want.Size, want.Digest)
	}
	return true, nil
}

func (d *Repository) result(b *bundle, desc v1.Descriptor, unchanged bool) publish.Result {
	result := publish.Result{Unchanged: unchanged, Where: d.reference(b.release.Version), Digest: desc.Digest.String()}
	note := func(format string, args ...any) { result.Notes = append(result.Notes, fmt.Sprintf(format, args...)) }
	note("the digest is %s", desc.Digest)
	if d.form.archive {
		note("clusterctl v1.14 does not read registries")
	} else {
		note("clusterctl does not read registries; the Cluster API operator does, with fetchConfig.oci: %s", d.OperatorReference(b.release.Version))
	}
	if desc.Digest != b.desc.Digest {
		note("the files are equal, but what is said about them is not: the manifest would have the digest %s", b.desc.Digest)
	}
	result.Notes = append(result.Notes, b.notes...)
	return result
}

// Plan says what Put would send. Whether the registry would let it, only Put
// can find out.
func (d *Repository) Plan(ctx context.Context, r *repo.Release) (publish.Result, error) {
	b, err := d.prepare(ctx, r)
	if err != nil {
		return publish.Result{}, err
	}
	there, desc, err := d.published(ctx, b)
	if err != nil {
		return publish.Result{}, err
	}
	if there {
		return d.result(b, desc, true), nil
	}
	result := d.result(b, b.desc, false)
	for _, x := range b.blobs {
		exists, err := d.exists(ctx, d.remote.Blobs(), x.desc)
		if err != nil {
			return publish.Result{}, fmt.Errorf("look for %s in %s: %w", x.file.Name, d, err)
		}
		if !exists {
			result.Steps = append(result.Steps, fmt.Sprintf("upload %s (%d bytes)", x.file.Name, x.desc.Size))
		}
	}
	result.Steps = append(result.Steps, fmt.Sprintf("store the manifest %s", b.desc.Digest), "tag it "+r.Version)
	return result, nil
}

// Put publishes a release. Registries cannot set a tag only if it is not there,
// so publishers agree on one content first, by tags whose names begin with
// claim-. A claim may only be ignored with TakeOver.
func (d *Repository) Put(ctx context.Context, r *repo.Release) (publish.Result, error) {
	b, err := d.prepare(ctx, r)
	if err != nil {
		return publish.Result{}, err
	}
	p := &upload{d: d, b: b, stored: make([]bool, len(b.blobs))}
	for failures := 0; ; {
		before := p.count()
		unchanged, desc, err := p.run(ctx)
		if err == nil {
			return d.result(b, desc, unchanged), nil
		}
		if p.count() > before {
			failures = 0
		}
		failures++
		_, again := errors.AsType[*unknown](err)
		if !again || failures >= d.attempts() {
			if _, conflict := errors.AsType[*publish.ConflictError](err); conflict {
				return publish.Result{}, err // names itself
			}
			after := "nothing became visible to readers"
			if p.tagged {
				after = "publish once more to see whether the tag was set"
			}
			return publish.Result{}, fmt.Errorf("publish %s to %s: %w; %s", publish.Name(r), d, err, after)
		}
		if err := d.sleep(ctx, failures); err != nil {
			return publish.Result{}, fmt.Errorf("publish %s to %s: %w", publish.Name(r), d, err)
		}
	}
}

func (d *Repository) attempts() int { return cmp.Or(d.policy.Attempts, 5) }

// sleep waits before another attempt, at least as long as the registry asks.
func (d *Repository) sleep(ctx context.Context, failures int) error {
	pause := max(cmp.Or(d.policy.Pause, 500*time.Millisecond)<<min(failures-1, 6), d.session.pause())
	if d.policy.Sleep != nil {
		return d.policy.Sleep(ctx, pause)
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// unknown is the outcome of a request that changes something: what is there
// has to be looked at before the next step. Those that only read were repeated
// by the client already.
type unknown struct{ err error }

func (e *unknown) Error() string { return e.err.Error() }
func (e *unknown) Unwrap() error { return e.err }

// wrote explains the error of a request that changes something.
func (d *Repository) wrote(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", what, d.explain(ctx, err))
	// Registries refuse what another publisher stores at the same moment as
	// invalid. Only another look tells.
	status, ok := errors.AsType[*transport.Status](err)
	if transport.IsTemporary(err) || ok && (status.Code == http.StatusBadRequest || status.Code == http.StatusConflict || status.Code == http.StatusRequestedRangeNotSatisfiable) {
		return &unknown{err}
	}
	return err
}

// upload is a release on its way.
type upload struct {
	d *Repository
	b *bundle

	mu sync.Mutex
	// stored tells which blobs are known to be there.
	stored []bool
	// tagged is true once the tag may have been set.
	tagged bool
	// claimed is true once no other content can be published.
	claimed bool
}

func (p *upload) count() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ok := range p.stored {
		if ok {
			n++
		}
	}
	return n
}

// run looks at what is there, adds what is missing, and ends at the first
// request whose outcome is unknown.
func (p *upload) run(ctx context.Context) (unchanged bool, desc v1.Descriptor, err error) {
	there, desc, err := p.d.published(ctx, p.b)
	if err != nil || there {
		return !p.tagged, desc, err
	}
	if err := p.blobs(ctx); err != nil {
		return false, desc, err
	}
	manifests := p.d.remote.Manifests()
	exists, err := p.d.exists(ctx, manifests, p.b.desc)
	if err != nil {
		return false, desc, fmt.Errorf("look for the manifest: %w", err)
	}
	if !exists {
		err := manifests.Push(ctx, p.b.desc, bytes.NewReader(p.b.manifest))
		if err = p.d.wrote(ctx, "store the manifest", err); err != nil {
			return false, desc, err
		}
	}
	if !p.claimed && !p.d.takeOver {
		if err := p.claim(ctx); err != nil {
			// The winner may have published it by now.
			if there, desc, look := p.d.published(ctx, p.b); there || look != nil {
				return true, desc, look
			}
			return false, desc, err
		}
		p.claimed = true
	}
	if err := p.attach(ctx); err != nil {
		return false, desc, err
	}
	// Files may have taken long, and another publisher may have been faster.
	if there, desc, err = p.d.published(ctx, p.b); err != nil || there {
		return !p.tagged, desc, err
	}
	p.tagged = true
	tagErr := manifests.PushReference(ctx, p.b.desc, bytes.NewReader(p.b.manifest), p.b.release.Version)
	// What is there now decides, not what the registry says.
	if ctx.Err() == nil {
		if there, desc, err = p.d.published(ctx, p.b); err != nil || there {
			return false, desc, err
		}
	}
	if err := p.d.wrote(ctx, "set the tag "+p.b.release.Version, tagErr); err != nil {
		if _, again := errors.AsType[*unknown](err); !again {
			p.tagged = false
		}
		return false, desc, err
	}
	return false, desc, &unknown{&publish.Temporary{Err: fmt.Errorf("the registry took the tag %s, but does not show it", p.b.release.Version)}}
}

// blobs stores the files that are missing, several at a time. A file whose
// outcome is unknown does not stop the others.
func (p *upload) blobs(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(p.b.blobs))
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(maxUploads, len(p.b.blobs)) {
		wg.Go(func() {
			for i := range next {
				if errs[i] = p.blob(ctx, i); errs[i] != nil {
					if _, again := errors.AsType[*unknown](errs[i]); !again {
						cancel()
					}
				}
			}
		})
	}
	for i := range p.b.blobs {
		if p.stored[i] {
			continue
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return worst(errs)
}

// worst returns the error that decides: one that another attempt does not
// help, but not one that is only the consequence of it.
func worst(errs []error) (out error) {
	rank := func(err error) int {
		_, again := errors.AsType[*unknown](err)
		switch {
		case err == nil:
			return 0
		case again:
			return 1
		case errors.Is(err, context.Canceled):
			return 2
		}
		return 3
	}
	for _, err := range errs {
		if rank(err) > rank(out) {
			out = err
		}
	}
	return out
}

// blob stores one file if it is not there.
func (p *upload) blob(ctx context.Context, i int) error {
	x := p.b.blobs[i]
	exists, err := p.d.exists(ctx, p.d.remote.Blobs(), x.desc)
	if err != nil {
		return fmt.Errorf("look for %s: %w", x.file.Name, err)
	}
	if !exists {
		if err := p.send(ctx, x); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.stored[i] = true
	p.mu.Unlock()
	return nil
}

// send streams a file to the registry.
func (p *upload) send(ctx context.Context, x blob) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	r, w := io.Pipe()
	read := make(chan error, 1)
	go func() {
		_, err := x.file.Copy(ctx, w)
		w.CloseWithError(err)
		read <- err
	}()
	err := p.d.remote.Blobs().Push(ctx, x.desc, r)
	_ = r.Close() // a pipe
	// If the file cannot be read, then that is the reason.
	if readErr := <-read; readErr != nil && !errors.Is(readErr, io.ErrClosedPipe) {
		return readErr
	}
	return p.d.wrote(ctx, "upload "+x.file.Name, err)
}

// claim makes sure that no other content can be published under the version.
func (p *upload) claim(ctx context.Context) error {
	id, err := publish.ContentID(ctx, p.b.release)
	if err != nil {
		return err
	}
	err = claim.Win(ctx, &marks{p, claimPrefix(p.b.release.Version)}, id, p.d.policy.Yield)
	if _, again := errors.AsType[*unknown](err); !again && transport.IsTemporary(err) {
		return &unknown{err}
	}
	return err
}

// claimPrefix begins the tags by which publishers of a version agree. They are
// not versions, so that no reader lists them.
func claimPrefix(version string) string {
	const long = 70 // of the 128 letters of a tag
	if len(version) > long {
		version = repo.Sum(sha256.Sum256([]byte(version))).String()[:32]
	}
	return "claim-" + version + "-"
}

// marks are tags.
type marks struct {
	p      *upload
	prefix string
}

func (m *marks) Set(ctx context.Context, mark string) error {
	d, b := m.p.d, m.p.b
	err := d.remote.Manifests().PushReference(ctx, b.desc, bytes.NewReader(b.manifest), m.prefix+mark)
	if err = d.wrote(ctx, "set the tag "+m.prefix+mark, err); err == nil || transport.IsTemporary(err) {
		return err
	}
	// Where tags never change, an equal publisher may have set it.
	if _, _, seen := d.get(ctx, m.prefix+mark); seen == nil {
		return nil
	}
	return err
}

func (m *marks) List(ctx context.Context) (out []string, err error) {
	err = m.p.d.remote.Tags(ctx, "", func(tags []string) error {
		for _, tag := range tags {
			if mark, ok := strings.CutPrefix(tag, m.prefix); ok {
				out = append(out, mark)
			}
		}
		return nil
	})
	if err = m.p.d.explain(ctx, err); err != nil {
		if _, refused := errors.AsType[*transport.Status](err); !refused && ctx.Err() == nil && !transport.IsExcess(err) {
			err = &publish.Temporary{Err: err} // an answer that broke off
		}
		return nil, fmt.Errorf("list the tags of %s: %w", m.p.d, err)
	}
	return out, nil
}
