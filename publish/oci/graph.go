package oci

import (
	"context"
	"errors"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
)

// copyImage copies an image from one storage into another: what it refers to
// first, then itself. What is there already is complete, and not looked into.
// Layers that only their vendor distributes are left out.
func copyImage(ctx context.Context, from content.ReadOnlyStorage, to content.Storage, root v1.Descriptor) error {
	err := oras.CopyGraph(ctx, from, to, root, oras.CopyGraphOptions{Concurrency: maxUploads, MaxMetadataBytes: maxManifest})
	if failed, ok := errors.AsType[*oras.CopyError](err); ok {
		return failed.Err // the rest of its text names functions of oras
	}
	return err
}
