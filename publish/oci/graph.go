package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// elsewhere are the media types of layers that only their vendor distributes.
var elsewhere = []string{
	"application/vnd.oci.image.layer.nondistributable.v1.tar",
	"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
	"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
	"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
}

// copyImage copies an image from one storage into another: what it refers to
// first, then itself. What is there already is complete, and not looked into.
//
// It does what CopyGraph of oras does. The package of that function compiles
// regular expressions whenever the program starts, which costs a tenth of the
// start.
func copyImage(ctx context.Context, from content.ReadOnlyStorage, to content.Storage, root v1.Descriptor) error {
	g := &graph{from: from, to: to, slots: make(chan struct{}, maxUploads)}
	return g.all(ctx, []v1.Descriptor{root})
}

// graph is one copy of an image.
type graph struct {
	from content.ReadOnlyStorage
	to   content.Storage
	// slots limit how many requests there are at the same time.
	slots chan struct{}
	// nodes are the copies that were begun, by node.
	nodes sync.Map
}

// node tells the parts of a graph apart: one digest can be both a manifest and a
// blob.
type node struct {
	mediaType string
	digest    digest.Digest
}

// all copies several nodes side by side. The first failure ends all of them.
func (g *graph) all(ctx context.Context, list []v1.Descriptor) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, desc := range list {
		wg.Go(func() {
			once, _ := g.nodes.LoadOrStore(node{desc.MediaType, desc.Digest}, sync.OnceValue(func() error { return g.copy(ctx, desc) }))
			if err := once.(func() error)(); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// copy copies a node and what it refers to.
func (g *graph) copy(ctx context.Context, desc v1.Descriptor) error {
	manifest := slices.Contains(manifests, desc.MediaType)
	var data []byte
	var parts []v1.Descriptor
	there := false
	err := g.during(ctx, func() (err error) {
		if there, err = g.to.Exists(ctx, desc); err != nil || there {
			return err
		}
		if !manifest {
			return g.push(ctx, desc)
		}
		if data, err = g.read(ctx, desc); err != nil {
			return err
		}
		parts, err = content.Successors(ctx, held(data), desc)
		return err
	})
	if err != nil || there || !manifest {
		return err
	}
	parts = slices.DeleteFunc(parts, func(d v1.Descriptor) bool { return slices.Contains(elsewhere, d.MediaType) })
	if err := g.all(ctx, parts); err != nil {
		return err
	}
	return g.during(ctx, func() error {
		err := g.write(ctx, desc, bytes.NewReader(data))
		if !lacks(err) {
			return err
		}
		// A registry may have said that a manifest exists whose upload was cut
		// off: only now it refuses to refer to it.
		for _, part := range parts {
			if slices.Contains(manifests, part.MediaType) {
				if err := g.push(ctx, part); err != nil {
					return err
				}
			}
		}
		return g.write(ctx, desc, bytes.NewReader(data))
	})
}

// during does something while it holds a slot.
func (g *graph) during(ctx context.Context, do func() error) error {
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-g.slots }()
	return do()
}

// read returns a manifest, whose digest is right.
func (g *graph) read(ctx context.Context, desc v1.Descriptor) ([]byte, error) {
	if desc.Size > maxManifest {
		return nil, fmt.Errorf("the manifest has %d bytes, more than the %d that are allowed", desc.Size, maxManifest)
	}
	return content.FetchAll(ctx, g.from, desc)
}

// push streams a node from one storage to the other.
func (g *graph) push(ctx context.Context, desc v1.Descriptor) error {
	r, err := g.from.Fetch(ctx, desc)
	if err != nil {
		return err
	}
	defer r.Close()
	return g.write(ctx, desc, r)
}

func (g *graph) write(ctx context.Context, desc v1.Descriptor, r io.Reader) error {
	if err := g.to.Push(ctx, desc, r); err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
		return err
	}
	return nil
}

// held is a manifest that was read already.
type held []byte

// Fetch opens it.
func (h held) Fetch(context.Context, v1.Descriptor) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(h)), nil
}

// lacks reports whether a registry refused a manifest because something that it
// refers to is missing
// (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#error-codes).
func lacks(err error) bool {
	answer, ok := errors.AsType[*errcode.ErrorResponse](err)
	return ok && slices.ContainsFunc(answer.Errors, func(e errcode.Error) bool {
		return e.Code == errcode.ErrorCodeManifestBlobUnknown || e.Code == errcode.ErrorCodeBlobUnknown || e.Code == errcode.ErrorCodeManifestUnknown
	})
}
