package oci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/converge"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
)

// maxUploads is how many files are sent at the same time.
const maxUploads = 4

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
	note("clusterctl does not read registries; the Cluster API operator does, with fetchConfig.oci: %s", d.OperatorReference(b.release.Version))
	if desc.Digest != b.desc.Digest {
		note("the files are equal, but their titles and annotations are not: the manifest would have the digest %s", b.desc.Digest)
	}
	result.Notes = append(result.Notes, b.notes...)
	return result
}

// state is what is there of a version.
type state struct {
	// there: the tag has the content of the release, under desc.
	there    bool
	desc     v1.Descriptor
	conflict error
}

// upload is a release on its way.
type upload struct {
	d *Repository
	b *bundle

	// stored tells which blobs are known to be there, and manifest whether the
	// manifest is.
	stored   []bool
	manifest bool
	// read is true once the registry gave everything back.
	read bool
	// claimed is true once no other content can be published.
	claimed bool
	// tagged is true once the tag may have been set.
	tagged bool
}

func (p *upload) table() converge.Table[state] {
	return converge.Table[state]{
		{
			When: "the tag has the same content", Step: "done",
			Why: "content decides, not the form or the digest of the manifest",
			Is:  func(s state) bool { return s.there },
		},
		{
			When: "the tag has other content", Step: "refuse",
			Why:    "a published version never changes",
			Is:     func(s state) bool { return s.conflict != nil },
			Refuse: func(s state) error { return s.conflict },
		},
		{
			When: "files are missing", Step: "upload the files",
			Why: "blobs are not visible before a manifest names them",
			Is:  func(state) bool { return p.count() < len(p.stored) },
			Do:  p.blobs,
		},
		{
			When: "the manifest is missing", Step: "store the manifest under its digest",
			Why: "claims point to it, and readers ask for tags",
			Is:  func(state) bool { return !p.manifest },
			Do:  p.store,
		},
		{
			When: "what was stored has not been read back", Step: "read the manifest and the files by their digests",
			Why: "some registries report as stored what they have not stored; no tag may name that",
			Is:  func(s state) bool { return !p.read },
			Do:  p.readBack,
		},
		{
			When: "the version is not claimed", Step: "claim the version by tags `claim-…`, unless `--allow draft` is given",
			Why: "registries let the last tag win, so publishers agree on one content first",
			Is:  func(state) bool { return !p.claimed && !p.d.takeOver },
			Do:  p.claim,
		},
		{
			When: "only the tag is missing", Step: "set the tag",
			Why: "this makes everything visible at once",
			Do:  p.tag,
		},
	}
}

func (p *upload) look(ctx context.Context) (s state, err error) {
	desc, data, err := p.d.get(ctx, p.b.release.Version)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		desc = p.b.desc
	case err != nil:
		return s, err
	case desc.Digest == p.b.desc.Digest:
		s.there = true
	default:
		old, err := p.d.open(ctx, p.b.release.Version, desc, data)
		if err == nil {
			err = publish.Conflict(ctx, old, p.b.release)
		}
		if _, other := errors.AsType[*publish.ConflictError](err); other {
			s.conflict = err
		} else if err != nil {
			return s, err
		}
		s.there = err == nil
	}
	s.desc = desc
	return s, nil
}

// left counts the steps that remain.
func (p *upload) left(s state) int {
	left := len(p.stored) - p.count()
	for _, done := range []bool{p.manifest, p.read, p.claimed, s.there} {
		if !done {
			left++
		}
	}
	return left
}

func (p *upload) machine() converge.Machine[state] {
	return converge.Machine[state]{Place: "the registry", Table: p.table(), Look: p.look, Left: p.left, Policy: p.d.policy}
}

// begin checks a release and packs it.
func (d *Repository) begin(ctx context.Context, r *repo.Release) (*upload, error) {
	if err := publish.Check(r); err != nil {
		return nil, err
	}
	if err := d.checkTag(r.Version); err != nil {
		return nil, err
	}
	b, err := pack(ctx, r)
	if err != nil {
		return nil, err
	}
	return &upload{d: d, b: b, stored: make([]bool, len(b.blobs))}, nil
}

// Plan says what Put would send. Whether the registry would let it, only Put
// can find out.
func (d *Repository) Plan(ctx context.Context, r *repo.Release) (publish.Result, error) {
	p, err := d.begin(ctx, r)
	if err != nil {
		return publish.Result{}, err
	}
	s, done, err := p.machine().Plan(ctx)
	if err != nil {
		return publish.Result{}, err
	}
	result := d.result(p.b, s.desc, done)
	step := func(format string, args ...any) { result.Steps = append(result.Steps, fmt.Sprintf(format, args...)) }
	if !s.there {
		for _, x := range p.b.blobs {
			exists, err := d.exists(ctx, d.remote.Blobs(), x.desc)
			if err != nil {
				return publish.Result{}, fmt.Errorf("look for %s in %s: %w", x.file.Name, d, err)
			}
			if !exists {
				step("upload %s (%d bytes)", x.file.Name, x.desc.Size)
			}
		}
		step("store the manifest %s", p.b.desc.Digest)
		step("tag it %s", r.Version)
	}
	return result, nil
}

// Put publishes a release. Registries cannot set a tag only if it is not there,
// so publishers agree on one content first, by tags whose names begin with
// claim-. A claim may only be ignored with TakeOver.
func (d *Repository) Put(ctx context.Context, r *repo.Release) (publish.Result, error) {
	p, err := d.begin(ctx, r)
	if err != nil {
		return publish.Result{}, err
	}
	s, err := p.machine().Run(ctx)
	if err == nil {
		return d.result(p.b, s.desc, !p.tagged), nil
	}
	if _, conflict := errors.AsType[*publish.ConflictError](err); conflict {
		return publish.Result{}, err // names itself
	}
	after := "nothing became visible to readers"
	if p.tagged {
		after = "publish again to see whether the tag was set"
	}
	return publish.Result{}, fmt.Errorf("publish %s to %s: %w; %s", publish.Name(r), d, err, after)
}

// wrote explains the error of a request that changes something.
func (d *Repository) wrote(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", what, d.explain(ctx, err))
	// Registries refuse what another publisher stores at the same moment as
	// invalid. Only another look tells.
	if status, ok := errors.AsType[*transport.Status](err); ok && (status.Code == http.StatusBadRequest || status.Code == http.StatusConflict || status.Code == http.StatusRequestedRangeNotSatisfiable) {
		return converge.Overtaken(err)
	}
	return err
}

func (p *upload) count() (n int) {
	for _, ok := range p.stored {
		if ok {
			n++
		}
	}
	return n
}

// store makes sure that the manifest is there, which no tag names yet.
func (p *upload) store(ctx context.Context, _ state) error {
	manifests := p.d.remote.Manifests()
	exists, err := p.d.exists(ctx, manifests, p.b.desc)
	if err != nil {
		return fmt.Errorf("look for the manifest: %w", err)
	}
	if !exists {
		err = p.d.wrote(ctx, "store the manifest", manifests.Push(ctx, p.b.desc, bytes.NewReader(p.b.manifest)))
	}
	p.manifest = err == nil
	return err
}

// readBack reads by digest what readers will get under the tag.
func (p *upload) readBack(ctx context.Context, _ state) error {
	got, err := p.d.Fetch(ctx, p.b.desc.Digest.String())
	if err == nil {
		err = publish.VerifyFiles(ctx, got, p.b.release)
	}
	var id string
	if err == nil {
		id, err = publish.ContentID(ctx, p.b.release)
	}
	if p.read = err == nil; p.read {
		p.d.verified.Store(p.b.desc.Digest, id)
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	return &publish.Temporary{Err: err} // some registries need a moment
}

// tag makes the release visible.
func (p *upload) tag(ctx context.Context, _ state) error {
	before := p.tagged
	p.tagged = true
	version := p.b.release.Version
	err := p.d.remote.Manifests().PushReference(ctx, p.b.desc, bytes.NewReader(p.b.manifest), version)
	if err = p.d.wrote(ctx, "set the tag "+version, err); err != nil && !transport.IsTemporary(err) {
		p.tagged = before
	}
	return err
}

// blobs stores the files that are missing, several at a time. A file whose
// outcome is unknown does not stop the others.
func (p *upload) blobs(ctx context.Context, _ state) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(p.b.blobs))
	parallel.Limited(maxUploads, len(p.b.blobs), func(i int) {
		if p.stored[i] {
			return
		}
		if errs[i] = p.ensure(ctx, p.b.blobs[i]); errs[i] != nil {
			if !transport.IsTemporary(errs[i]) {
				cancel()
			}
			return
		}
		p.stored[i] = true
	})
	return transport.Worst(errs)
}

// ensure stores one file if it is not there.
func (p *upload) ensure(ctx context.Context, x blob) error {
	exists, err := p.d.exists(ctx, p.d.remote.Blobs(), x.desc)
	if err != nil {
		return fmt.Errorf("look for %s: %w", x.file.Name, err)
	}
	if exists {
		return nil
	}
	err = p.d.remote.Blobs().Push(ctx, x.desc, publish.NewBody(x.file))
	if source, ok := errors.AsType[*publish.SourceError](err); ok {
		return source.Unwrap()
	}
	return p.d.wrote(ctx, "upload "+x.file.Name, err)
}

// claim makes sure that no other content can be published under the version.
func (p *upload) claim(ctx context.Context, _ state) error {
	id, err := publish.ContentID(ctx, p.b.release)
	if err == nil {
		err = converge.Win(ctx, &marks{p, claimPrefix(p.b.release.Version)}, id, p.d.policy.Yield)
	}
	p.claimed = err == nil
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
	if err = d.wrote(ctx, "set the tag "+m.prefix+mark, err); err == nil {
		return nil
	}
	// The registry may have set it although it said something else, and where tags
	// never change, an equal publisher may have.
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
		if _, refused := errors.AsType[*transport.Status](err); !refused && ctx.Err() == nil &&
			!transport.IsExcess(err) {
			err = &publish.Temporary{Err: err} // an answer that broke off
		}
		return nil, fmt.Errorf("list the tags of %s: %w", m.p.d, err)
	}
	return out, nil
}
