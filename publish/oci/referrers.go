package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// The signature of a release is attached to its manifest, so that tools for
// registries find it and copy it along (OCI distribution specification, "Listing
// Referrers"), together with what it signs.
const signatureType = "application/vnd.clusterctl-repo.signature.v1"

var signatureFiles = []string{layouts.ChecksumFile, layouts.SignatureFile}

// referrer is a manifest to attach.
type referrer struct {
	name     string // of its last file
	desc     v1.Descriptor
	manifest []byte
	blobs    []blob
}

// detached returns the referrers of a manifest that are not listed for it. In
// registries without the API for them, the list is a tag that two publishers may
// write at the same time; that is why what is listed counts, and not what is stored.
func (d *Repository) detached(ctx context.Context, subject v1.Descriptor, r *repo.Release) (out []referrer, err error) {
	m := v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		ArtifactType: signatureType, Config: v1.DescriptorEmptyJSON,
		Subject: &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
	}
	x := referrer{blobs: []blob{emptyConfig()}}
	for _, name := range signatureFiles {
		a := r.Artifact(name)
		if a == nil {
			return nil, nil
		}
		sum, _ := a.Stated() // pack has read it
		layer := describe(mediaType(name), sum, a.Size)
		x.name, x.blobs = name, append(x.blobs, blob{layer, a})
		layer.Annotations = map[string]string{v1.AnnotationTitle: name}
		m.Layers = append(m.Layers, layer)
	}
	if x.manifest, err = json.Marshal(m); err != nil {
		return nil, err
	}
	x.desc = v1.Descriptor{
		MediaType: m.MediaType, Digest: digest.FromBytes(x.manifest), Size: int64(len(x.manifest)), ArtifactType: signatureType,
	}
	out = []referrer{x}
	err = d.remote.Referrers(ctx, subject, "", func(listed []v1.Descriptor) error {
		out = slices.DeleteFunc(out, func(x referrer) bool {
			return slices.ContainsFunc(listed, func(l v1.Descriptor) bool { return l.Digest == x.desc.Digest })
		})
		return nil
	})
	if err = d.explain(ctx, err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list what is attached to %s: %w", d.reference(subject.Digest.String()), err)
	}
	return out, nil
}

// attach stores referrers. Before the tag is set, so that a published release has
// them.
func (p *upload) attach(ctx context.Context, s state) error {
	for _, ref := range s.detached {
		for _, x := range ref.blobs {
			if err := p.ensure(ctx, x); err != nil {
				return err
			}
		}
		if err := p.d.wrote(ctx, "attach "+ref.name, p.d.remote.Manifests().Push(ctx, ref.desc, bytes.NewReader(ref.manifest))); err != nil {
			return err
		}
	}
	return nil
}
