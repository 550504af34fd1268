package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

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
// then sets the tag, unless that is "" or the digest. If the repository refuses an
// index of which some images have layers that only their vendor distributes, the
// index is pushed without these, and their platforms are returned.
func (d *Repository) PushImage(ctx context.Context, tag string, root v1.Descriptor, from content.ReadOnlyStorage) (left []string, err error) {
	err = d.repeat(ctx, func() error {
		err := copyImage(ctx, from, d.remote, root)
		if isIndex(root) && refusal(err) {
			var rest v1.Descriptor
			if rest, left, err = d.pushRest(ctx, root, from, err); err == nil {
				root = rest
			}
		}
		if err != nil {
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
		return nil, fmt.Errorf("push %s: %w", d.reference(tag), err)
	}
	return left, nil
}

// refusal reports whether a registry does not take a manifest as it is.
func refusal(err error) bool {
	answer, ok := errors.AsType[*errcode.ErrorResponse](err)
	return ok && answer.Method == http.MethodPut && answer.StatusCode/100 == 4 &&
		!slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, answer.StatusCode)
}

// pushRest pushes an index without the images of which only their vendor
// distributes layers, which it names. If there are none, refused is the error.
func (d *Repository) pushRest(ctx context.Context, root v1.Descriptor, from content.ReadOnlyStorage, refused error) (rest v1.Descriptor, left []string, err error) {
	x, err := readIndex(ctx, from, root)
	if err != nil {
		return root, nil, err
	}
	dropped := map[string]bool{}
	for _, image := range x.images {
		next, err := content.Successors(ctx, from, image)
		if err != nil {
			return root, nil, refused
		}
		if slices.ContainsFunc(next, func(d v1.Descriptor) bool { return foreign(d.MediaType) }) {
			dropped[image.Digest.String()] = true
			name := image.Digest.String()
			if image.Platform != nil {
				name = platformName(*image.Platform)
			}
			left = append(left, name)
		}
	}
	data, images, err := x.only(func(image v1.Descriptor) bool {
		return !dropped[image.Digest.String()] && !dropped[image.Annotations[attestedImage]]
	})
	if err != nil || len(left) == 0 || len(images) == 0 {
		return root, nil, refused
	}
	rest, err = copyIndex(ctx, from, d.remote, root.MediaType, data, images)
	return rest, left, err
}

func isIndex(desc v1.Descriptor) bool {
	return desc.MediaType == v1.MediaTypeImageIndex || desc.MediaType == dockerList
}

// copyPlatforms copies an image for these platforms, such as linux/amd64 or
// linux/arm/v7, and returns its descriptor. Without platforms, and if it is not
// built for several, the image stays what it is. Otherwise its index is written
// anew without the rest, because registries refuse an index of which images are
// missing; so the digest is another one. The error says what the image is built
// for if that is none of the platforms.
func copyPlatforms(ctx context.Context, from content.ReadOnlyStorage, to content.Storage, root v1.Descriptor, platforms []string) (v1.Descriptor, error) {
	if len(platforms) == 0 || !isIndex(root) {
		return root, copyImage(ctx, from, to, root)
	}
	x, err := readIndex(ctx, from, root)
	if err != nil {
		return root, err
	}
	index, images, err := x.onlyPlatforms(platforms)
	if err != nil {
		return root, err
	}
	return copyIndex(ctx, from, to, root.MediaType, index, images)
}

// copyIndex copies the images of an index, and then the index.
func copyIndex(ctx context.Context, from content.ReadOnlyStorage, to content.Storage, mediaType string, index []byte, images []v1.Descriptor) (v1.Descriptor, error) {
	root := content.NewDescriptorFromBytes(mediaType, index)
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

// index is an image index that can be written again with fewer images.
type index struct {
	data   []byte
	fields map[string]json.RawMessage
	raw    []json.RawMessage
	images []v1.Descriptor
}

func readIndex(ctx context.Context, from content.ReadOnlyStorage, root v1.Descriptor) (x index, err error) {
	if root.Size > maxManifest {
		return x, fmt.Errorf("the index has %d bytes, more than %d", root.Size, maxManifest)
	}
	if x.data, err = content.FetchAll(ctx, from, root); err != nil {
		return x, err
	}
	return x, x.parse()
}

func (x *index) parse() error {
	if err := json.Unmarshal(x.data, &x.fields); err != nil {
		return fmt.Errorf("it is not an index: %w", err)
	}
	if err := json.Unmarshal(x.fields["manifests"], &x.raw); err != nil {
		return fmt.Errorf("the index has no list of manifests: %w", err)
	}
	x.images = make([]v1.Descriptor, len(x.raw))
	for i := range x.raw {
		if err := json.Unmarshal(x.raw[i], &x.images[i]); err != nil {
			return fmt.Errorf("the index has no valid manifest %d: %w", i+1, err)
		}
	}
	return nil
}

// only leaves the images that are wanted; the same bytes if those are all.
func (x *index) only(wanted func(image v1.Descriptor) bool) (data []byte, images []v1.Descriptor, err error) {
	var left []json.RawMessage
	for i, image := range x.images {
		if wanted(image) {
			left, images = append(left, x.raw[i]), append(images, image)
		}
	}
	if len(left) == len(x.raw) {
		return x.data, images, nil
	}
	fields := maps.Clone(x.fields)
	if fields["manifests"], err = json.Marshal(left); err != nil {
		return nil, nil, err
	}
	data, err = json.Marshal(fields)
	return data, images, err
}

// attestedImage is the annotation of an attestation that names its image
// (BuildKit: Image Attestation Storage).
const attestedImage = "vnd.docker.reference.digest"

// onlyPlatforms leaves the images of an index for these platforms, with their
// attestations, and images that name no platform.
func (x *index) onlyPlatforms(platforms []string) ([]byte, []v1.Descriptor, error) {
	kept := map[string]bool{}
	var status Status
	for _, image := range x.images {
		p := image.Platform
		if p != nil && p.OS != "unknown" {
			status.Platforms = append(status.Platforms, platformName(*p))
			one := Status{Platforms: status.Platforms[len(status.Platforms)-1:]}
			kept[image.Digest.String()] = len(one.Lacks(platforms)) < len(platforms)
		}
	}
	if len(status.Lacks(platforms)) == len(platforms) {
		return nil, nil, fmt.Errorf("it is built for %s, not for %s", strings.Join(status.Platforms, ", "), strings.Join(platforms, ", "))
	}
	return x.only(func(image v1.Descriptor) bool {
		wanted, judged := kept[image.Digest.String()]
		if of := image.Annotations[attestedImage]; of != "" && !judged {
			wanted, judged = kept[of], true
		}
		return wanted || !judged
	})
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
