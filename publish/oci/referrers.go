package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// referrers are what is attached to the manifest of a release, so that tools for
// registries find it and copy it along (OCI distribution specification,
// "Listing Referrers"). Each needs all of its files.
var referrers = []struct {
	artifactType string
	files        []string
}{
	{"application/vnd.clusterctl-repo.signature.v1", []string{layouts.ChecksumFile, layouts.SignatureFile}},
	{"application/vnd.in-toto+json", []string{layouts.ProvenanceFile}},
	{"application/vnd.dsse.envelope.v1+json", []string{layouts.SignedProvenanceFile}},
}

// attach stores the manifests of the referrers. They are stored before the tag
// is set, so that a published release has them.
func (p *upload) attach(ctx context.Context) error {
	for _, ref := range referrers {
		subject := p.b.desc
		m := v1.Manifest{
			Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
			ArtifactType: ref.artifactType, Config: v1.DescriptorEmptyJSON, Subject: &subject,
		}
		for _, name := range ref.files {
			a := p.b.release.Artifact(name)
			if a == nil {
				break
			}
			sum, _ := a.Stated() // pack has read it
			x := blob{describe(mediaType(name), sum, a.Size), a}
			exists, err := p.d.exists(ctx, p.d.remote.Blobs(), x.desc)
			if err == nil && !exists {
				err = p.send(ctx, x)
			}
			if err != nil {
				return err
			}
			x.desc.Annotations = map[string]string{v1.AnnotationTitle: name}
			m.Layers = append(m.Layers, x.desc)
		}
		if len(m.Layers) != len(ref.files) {
			continue
		}
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		desc := v1.Descriptor{MediaType: m.MediaType, Digest: digest.FromBytes(data), Size: int64(len(data)), ArtifactType: ref.artifactType}
		exists, err := p.d.exists(ctx, p.d.remote.Manifests(), desc)
		if err != nil {
			return fmt.Errorf("look for what is attached: %w", err)
		}
		if exists {
			continue
		}
		if err := p.d.wrote(ctx, "attach "+ref.files[len(ref.files)-1], p.d.remote.Manifests().Push(ctx, desc, bytes.NewReader(data))); err != nil {
			return err
		}
	}
	return nil
}
