package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Image names a container image: its registry, its repository there, and its tag or
// digest.
type Image struct{ Host, Repository, Reference string }

// Status is what a registry says about an image.
type Status struct {
	// Platforms are those that the image is built for, such as linux/arm64/v8,
	// sorted.
	Platforms []string
	// Err is nil if the registry has the image. It wraps fs.ErrNotExist if the
	// registry does not; any other says that it could not be asked.
	Err error
}

// maxConfig is the largest configuration of an image that is read for its platform.
const maxConfig = 4 << 20

// atOnce is how many registries are asked at the same time.
const atOnce = 8

// CheckImages asks registries for the manifests of images. Open gives access to a
// repository. The results are in the order of the images.
func CheckImages(ctx context.Context, images []Image, open func(host, repository string) (*Repository, error)) []Status {
	out := make([]Status, len(images))
	parallel.Limited(atOnce, len(images), func(i int) {
		d, err := open(images[i].Host, images[i].Repository)
		if err == nil {
			out[i].Platforms, err = d.platforms(ctx, images[i].Reference)
		}
		out[i].Err = err
	})
	return out
}

// platforms reads what the image under a tag or digest is built for.
func (d *Repository) platforms(ctx context.Context, reference string) ([]string, error) {
	desc, data, err := d.get(ctx, reference)
	if err != nil {
		return nil, err
	}
	var out []string
	switch desc.MediaType {
	case v1.MediaTypeImageIndex, dockerList:
		var index v1.Index
		if err := json.Unmarshal(data, &index); err != nil {
			return nil, fmt.Errorf("%s has no valid index: %w", d.reference(reference), err)
		}
		holds := map[string]v1.Platform{} // by the layers
		for _, m := range index.Manifests {
			// Attestations stand next to the images, for a platform "unknown".
			p := m.Platform
			if p == nil || p.OS == "unknown" {
				continue
			}
			layers, err := d.layers(ctx, m)
			if err != nil {
				return nil, err
			}
			first, again := holds[layers]
			if again && layers != "" && first.Architecture != p.Architecture {
				continue // the same program, which is only built for one of them
			}
			holds[layers] = *p
			out = append(out, platformName(*p))
		}
	case v1.MediaTypeImageManifest, dockerManifest:
		var m v1.Manifest
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, fmt.Errorf("%s has no valid manifest: %w", d.reference(reference), err)
		}
		p, err := d.platform(ctx, m.Config)
		if err != nil {
			return nil, fmt.Errorf("read the configuration of %s: %w", d.reference(reference), err)
		}
		out = append(out, platformName(p))
	default:
		return nil, fmt.Errorf("%s is not a container image: its media type is %q", d.reference(reference), desc.MediaType)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// layers names what the image of an entry of an index is made of; empty if it is no image.
func (d *Repository) layers(ctx context.Context, entry v1.Descriptor) (string, error) {
	_, data, err := d.get(ctx, entry.Digest.String())
	if err != nil {
		return "", err
	}
	var m v1.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return "", fmt.Errorf("%s has no valid manifest: %w", d.reference(entry.Digest.String()), err)
	}
	return strings.Join(phrase.List(m.Layers, func(l v1.Descriptor) string { return l.Digest.String() }), " "), nil
}

// platform reads the configuration of an image.
func (d *Repository) platform(ctx context.Context, config v1.Descriptor) (p v1.Platform, err error) {
	if config.Size < 0 || config.Size > maxConfig {
		return p, fmt.Errorf("it has %d bytes, more than the %d that are allowed", config.Size, maxConfig)
	}
	body, err := d.remote.Blobs().Fetch(ctx, config)
	if err != nil {
		return p, d.explain(ctx, err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxConfig))
	if err != nil {
		return p, d.explain(ctx, err)
	}
	if err := json.Unmarshal(data, &p); err != nil || p.OS == "" || p.Architecture == "" {
		return p, errors.New("it names no operating system and architecture")
	}
	return p, nil
}

// platformName is os/architecture, and the variant if there is one.
func platformName(p v1.Platform) string {
	name := p.OS + "/" + p.Architecture
	if p.Variant != "" {
		name += "/" + p.Variant
	}
	return transport.Quote(name)
}

// Lacks returns the wanted platforms that an image is not built for. A platform
// without a variant is there if any variant is.
func (s *Status) Lacks(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(w string) bool {
		return slices.ContainsFunc(s.Platforms, func(p string) bool { return p == w || strings.HasPrefix(p, w+"/") })
	})
}

func (s *Status) Missing() bool { return errors.Is(s.Err, fs.ErrNotExist) }
