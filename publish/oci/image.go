package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
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

func (p pulled) Fetch(ctx context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	if slices.Contains(manifests, desc.MediaType) {
		return p.d.remote.Manifests().Fetch(ctx, desc)
	}
	return transport.Download(ctx, p.d.client, p.d.blobURL(desc.Digest), nil, desc.Size)
}

// Exists is not asked of a source.
func (p pulled) Exists(context.Context, v1.Descriptor) (bool, error) { return true, nil }

// PullImage copies a container image into a storage, as copyPlatforms does, and
// returns its descriptor there. What is there already is not downloaded. Reference
// is a tag or digest.
func (d *Repository) PullImage(ctx context.Context, reference string, to content.Storage, platforms []string) (v1.Descriptor, error) {
	var root v1.Descriptor
	err := d.repeat(ctx, func() (err error) {
		if root, err = d.remote.Resolve(ctx, reference); err != nil {
			return err
		}
		root, err = copyPlatforms(ctx, pulled{d}, to, root, platforms)
		return err
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

func isIndex(desc v1.Descriptor) bool {
	return desc.MediaType == v1.MediaTypeImageIndex || desc.MediaType == dockerList
}

// copyPlatforms copies an image for these platforms, such as linux/amd64 or
// linux/arm/v7, and returns its descriptor. Without platforms, and if it is not
// built for several, the image stays what it is. Otherwise its index is rewritten
// without the rest, because registries refuse an index of which images are
// missing; so the digest is another one. The error says what the image is built
// for if that is none of the platforms.
func copyPlatforms(ctx context.Context, from content.ReadOnlyStorage, to content.Storage, root v1.Descriptor, platforms []string) (v1.Descriptor, error) {
	if len(platforms) == 0 || !isIndex(root) {
		return root, copyImage(ctx, from, to, root)
	}
	if root.Size > maxManifest {
		return root, fmt.Errorf("the index has %d bytes, more than %d", root.Size, maxManifest)
	}
	data, err := content.FetchAll(ctx, from, root)
	if err != nil {
		return root, err
	}
	index, images, err := onlyPlatforms(data, platforms)
	if err != nil {
		return root, err
	}
	root = content.NewDescriptorFromBytes(root.MediaType, index)
	for _, image := range images {
		if err := copyImage(ctx, from, to, image); err != nil {
			return root, err
		}
	}
	if there, err := to.Exists(ctx, root); err != nil || there {
		return root, err
	}
	return root, to.Push(ctx, root, bytes.NewReader(index))
}

// attestedImage is the annotation of an attestation that names its image
// (BuildKit: Image Attestation Storage).
const attestedImage = "vnd.docker.reference.digest"

// onlyPlatforms leaves the images of an index for these platforms, with their
// attestations, and images that name no platform: the same bytes if those are all.
func onlyPlatforms(index []byte, platforms []string) ([]byte, []v1.Descriptor, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(index, &fields); err != nil {
		return nil, nil, fmt.Errorf("it is not an index: %w", err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(fields["manifests"], &raw); err != nil {
		return nil, nil, fmt.Errorf("the index has no list of manifests: %w", err)
	}
	images := make([]v1.Descriptor, len(raw))
	kept := map[string]bool{}
	var status Status
	for i := range raw {
		if err := json.Unmarshal(raw[i], &images[i]); err != nil {
			return nil, nil, fmt.Errorf("the index has no valid manifest %d: %w", i+1, err)
		}
		if p := images[i].Platform; p != nil && p.OS != "unknown" {
			one := Status{Platforms: []string{platformName(*p)}}
			status.Platforms = append(status.Platforms, one.Platforms...)
			kept[images[i].Digest.String()] = len(one.Lacks(platforms)) < len(platforms)
		}
	}
	if len(status.Lacks(platforms)) == len(platforms) {
		return nil, nil, fmt.Errorf("it is built for %s, not for %s", strings.Join(status.Platforms, ", "), strings.Join(platforms, ", "))
	}
	var left []json.RawMessage
	var chosen []v1.Descriptor
	for i, image := range images {
		wanted, judged := kept[image.Digest.String()]
		if of := image.Annotations[attestedImage]; of != "" && !judged {
			wanted, judged = kept[of], true
		}
		if wanted || !judged {
			left, chosen = append(left, raw[i]), append(chosen, image)
		}
	}
	if len(left) == len(raw) {
		return index, chosen, nil
	}
	list, err := json.Marshal(left)
	if err != nil {
		return nil, nil, err
	}
	fields["manifests"] = list
	index, err = json.Marshal(fields)
	return index, chosen, err
}

// repeat does again what can be repeated, since it begins by looking, as long as
// the errors are temporary.
func (d *Repository) repeat(ctx context.Context, do func() error) error {
	return d.policy.Repeat(ctx, nil, func() error {
		err := d.explain(ctx, do())
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = &publish.Temporary{Err: err}
		}
		return err
	})
}
