package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// manifests are the media types that are stored as manifests; everything else
// is a blob.
var manifests = []string{v1.MediaTypeImageManifest, v1.MediaTypeImageIndex, dockerManifest, dockerList}

// pulled is a repository whose blobs are downloaded in parts if need be.
type pulled struct{ d *Repository }

// Fetch opens a manifest or blob.
func (p pulled) Fetch(ctx context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	if slices.Contains(manifests, desc.MediaType) {
		return p.d.remote.Manifests().Fetch(ctx, desc)
	}
	return transport.Download(ctx, p.d.client, p.d.blobURL(desc.Digest), nil, desc.Size)
}

// Exists is not asked of a source.
func (p pulled) Exists(context.Context, v1.Descriptor) (bool, error) { return true, nil }

// PullImage copies a container image, with all platforms, into a storage, and
// returns its descriptor. What is there already is not downloaded. Reference is
// a tag or digest.
func (d *Repository) PullImage(ctx context.Context, reference string, to content.Storage) (v1.Descriptor, error) {
	var root v1.Descriptor
	err := d.repeat(ctx, func() (err error) {
		if root, err = d.remote.Resolve(ctx, reference); err != nil {
			return err
		}
		return copyImage(ctx, pulled{d}, to, root)
	})
	if err != nil {
		return root, fmt.Errorf("pull %s: %w", d.reference(reference), err)
	}
	return root, nil
}

// PushImage copies a container image from a storage into the repository, and
// then sets the tag, unless that is "" or the digest.
func (d *Repository) PushImage(ctx context.Context, tag string, root v1.Descriptor, from content.ReadOnlyStorage) error {
	err := d.repeat(ctx, func() error {
		if err := copyImage(ctx, from, d.remote, root); err != nil {
			return err
		}
		if _, err := digest.Parse(tag); tag == "" || err == nil {
			return nil
		}
		if old, err := d.remote.Resolve(ctx, tag); err == nil && old.Digest == root.Digest {
			return nil
		} else if err != nil && !errors.Is(err, errdef.ErrNotFound) {
			return err
		}
		return d.remote.Tag(ctx, root, tag)
	})
	if err != nil {
		return fmt.Errorf("push %s: %w", d.reference(tag), err)
	}
	return nil
}

// Images is where images can be read from: a *Layout, or Blobs.
type Images = content.ReadOnlyStorage

// CopyImage copies an image with all its platforms into a layout.
func CopyImage(ctx context.Context, from Images, to *Layout, root v1.Descriptor) error {
	return copyImage(ctx, from, to, root)
}

func copyImage(ctx context.Context, from content.ReadOnlyStorage, to content.Storage, root v1.Descriptor) error {
	return oras.CopyGraph(ctx, from, to, root, oras.CopyGraphOptions{Concurrency: maxUploads, MaxMetadataBytes: maxManifest})
}

// repeat does again what can be repeated, since it begins by looking, as long as
// the errors are temporary.
func (d *Repository) repeat(ctx context.Context, do func() error) error {
	for failed := 1; ; failed++ {
		err := do()
		if err == nil {
			return nil
		}
		if failure, ok := errors.AsType[*oras.CopyError](err); ok {
			err = failure.Err
		}
		err = d.explain(ctx, err)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = &publish.Temporary{Err: err}
		}
		if err = d.policy.Retry(ctx, failed, err); err != nil {
			return err
		}
	}
}
