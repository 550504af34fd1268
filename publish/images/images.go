// Package images brings the container images of a mirror: from registries, or
// from a bundle, into an OCI image layout beside the releases, and from there
// into the registry of a site. Every image is copied with all its platforms, under
// its digest, or with chosen ones under that of a shorter index; what is there
// already is not transferred again.
//
// It must not know what the images are for, nor where credentials come from.
package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
)

// Store holds the images of one mirror.
type Store struct {
	// Dir is the folder of the mirror.
	Dir string
	// Open opens a repository of a registry.
	Open func(host, repository string) (*oci.Repository, error)
	// Carried are mirrors whose images come first.
	Carried []mirror.Carrier
	// Tell hears what was done with an image, and Warn what could not be.
	Tell, Warn func(text string)
}

// source is where an image is, besides its registry.
type source struct {
	images map[string]v1.Descriptor
	from   oci.Images
}

// carried opens the layouts in carried mirrors.
func (s *Store) carried() (out []source, err error) {
	for _, c := range s.Carried {
		index, err := c.File(layouts.ImagesFolder + "/" + v1.ImageIndexFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		data, err := index.Bytes()
		if err != nil {
			return nil, err
		}
		images, err := oci.ParseLayout(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		out = append(out, source{images, oci.Blobs(func(name string) (io.ReadCloser, error) {
			a, err := c.File(layouts.ImagesFolder + "/" + name)
			if err != nil {
				return nil, err
			}
			return a.Open()
		})})
	}
	return out, nil
}

// Bring makes the layout in the mirror hold exactly these images, for these
// platforms. It returns the files of the layout with their checksums. A guess that
// does not exist is only a warning.
func (s *Store) Bring(ctx context.Context, images []mirror.MirroredImage, p mirror.Platforms) (map[string]repo.Sum, error) {
	layout, err := oci.OpenLayout(s.Dir, layouts.ImagesFolder)
	if err != nil {
		return nil, err
	}
	defer layout.Close()
	have, err := layout.Images()
	if err != nil {
		return nil, err
	}
	carried, err := s.carried()
	if err != nil {
		return nil, err
	}
	want := map[string]v1.Descriptor{}
	for _, img := range images {
		// A copy onto itself finds out what is missing of what was there.
		if desc, ok := have[img.Ref]; ok && !p.Changed && oci.CopyImage(ctx, layout, layout, desc) == nil {
			want[img.Ref] = desc
			continue
		}
		desc, err := s.fetch(ctx, img.Ref, carried, layout, p.Only)
		if err != nil && ctx.Err() == nil && img.Guess() {
			s.Warn(fmt.Sprintf("the image %s, which is only named in a text or flag, is left out: %v", img.Ref, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		want[img.Ref] = desc
	}
	return layout.Save(ctx, want)
}

// fetch copies an image into a layout, for these platforms.
func (s *Store) fetch(ctx context.Context, ref string, carried []source, to *oci.Layout, platforms []string) (v1.Descriptor, error) {
	d, tag, digest, err := s.place(ref)
	if err != nil {
		return v1.Descriptor{}, err
	}
	if digest != "" && len(platforms) > 0 {
		// Without some of its platforms it would have another digest.
		s.Warn(fmt.Sprintf("the image %s is named by its digest, so it is copied with all its platforms", ref))
		platforms = nil
	}
	for _, c := range carried {
		if desc, ok := c.images[ref]; ok {
			desc, err := oci.CopyPlatforms(ctx, c.from, to, desc, platforms)
			if err != nil {
				return desc, fmt.Errorf("read %s: %w", ref, err)
			}
			s.Tell("unpacked image " + ref)
			return desc, nil
		}
	}
	desc, err := d.PullImage(ctx, cmp.Or(digest, tag, "latest"), to, platforms)
	if err == nil {
		s.Tell("pulled image " + ref)
	}
	return desc, err
}

// place opens the repository of an image.
func (s *Store) place(ref string) (d *oci.Repository, tag, digest string, err error) {
	named, err := imageref.Parse(ref)
	if err != nil {
		return nil, "", "", fmt.Errorf("%s is not the name of an image: %w", ref, err)
	}
	d, err = s.Open(named.Domain, named.Path)
	return d, named.Tag, named.Digest, err
}

// Push copies images into the registry of the site, from the carried mirrors or
// from the layout in the mirror: to their targets, or else, where clusterctl
// does not rename them, below the registry under their whole names. It returns
// how many are there.
func (s *Store) Push(ctx context.Context, images []mirror.MirroredImage, registry string) (n int, err error) {
	all, err := s.carried()
	if err != nil {
		return 0, err
	}
	if layout, err := oci.OpenLayout(s.Dir, layouts.ImagesFolder); err == nil {
		defer layout.Close()
		have, err := layout.Images()
		if err != nil {
			return 0, err
		}
		all = append(all, source{have, layout})
	}
	var missing []string
	for _, img := range images {
		to, err := Target(img, registry)
		if err != nil {
			return n, err
		}
		found := false
		for _, from := range all {
			desc, ok := from.images[img.Ref]
			if !ok {
				continue
			}
			d, tag, _, err := s.place(to)
			if err != nil {
				return n, err
			}
			if err := d.PushImage(ctx, tag, desc, from.from); err != nil {
				return n, err
			}
			s.Tell("pushed image " + img.Ref + " as " + to)
			found = true
			n++
			break
		}
		if !found {
			missing = append(missing, img.Ref)
		}
	}
	if len(missing) > 0 {
		s.Warn(fmt.Sprintf("%d images were not pushed, because neither the bundle nor the mirror holds them: %s; make it with --images", len(missing), strings.Join(missing, ", ")))
	}
	return n, nil
}

// Target is what an image is called in the registry of the site.
func Target(img mirror.MirroredImage, registry string) (string, error) {
	if img.Target != "" {
		return img.Target, nil
	}
	named, err := imageref.Parse(img.Ref)
	if err != nil {
		return "", fmt.Errorf("%s is not the name of an image: %w", img.Ref, err)
	}
	domain := strings.ReplaceAll(named.Domain, ":", "-")
	_, rest, _ := strings.Cut(named.String(), "/")
	return strings.TrimSuffix(registry, "/") + "/" + domain + "/" + rest, nil
}
