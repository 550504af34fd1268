package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
)

// carrier is a folder with a layout that was carried here, file by file.
type carrier interface {
	// File returns a file, whose checksum is stated. The error wraps fs.ErrNotExist
	// if there is none of that name.
	File(name string) (*repo.Artifact, error)
	String() string
}

// Wanted is an image of a Store.
type Wanted struct {
	// Ref is its name, and Target the one that it gets in the registry of a site, or
	// "" if none was chosen.
	Ref, Target string
	// Guess says that it may not exist.
	Guess bool
}

// Store brings container images from registries, or from carried folders, into an
// image layout, and from there into the registry of a site. Every image is copied
// with all its platforms, under its digest, or with chosen ones under that of a
// shorter index; what is there already is not transferred again.
type Store struct {
	// Dir is the folder of the mirror.
	Dir  string
	Open func(host, repository string) (*Repository, error)
	// Suspects are files of the layout, by their paths in it, that a check
	// called damaged: those that still are damaged are fetched again.
	Suspects []string
	// Carried are mirrors whose images come first.
	Carried []carrier
	// Tell hears what was done with an image, and Warn what could not be.
	Tell, Warn func(text string)
}

// source is where an image is, besides its registry.
type source struct {
	images map[string]v1.Descriptor
	from   content.ReadOnlyStorage // a *layout, or blobFiles
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
		images, err := parseLayout(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		out = append(out, source{images, blobFiles(func(name string) (io.ReadCloser, error) {
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
// platforms, or for all if there are none. It returns the files of the layout with
// their checksums. A guess that does not exist is only a warning. With changed, what
// is there already is not what is wanted.
func (s *Store) Bring(ctx context.Context, images []Wanted, platforms []string, changed bool) (map[string]repo.Sum, error) {
	layout, err := openLayout(s.Dir, layouts.ImagesFolder)
	if err != nil {
		return nil, err
	}
	defer layout.Close()
	have := map[string]v1.Descriptor{}
	if !slices.Contains(s.Suspects, v1.ImageIndexFile) {
		if have, err = layout.Images(); err != nil {
			return nil, err
		}
	}
	if err := layout.forget(s.Suspects); err != nil {
		return nil, err
	}
	carried, err := s.carried()
	if err != nil {
		return nil, err
	}
	want := map[string]v1.Descriptor{}
	for _, img := range images {
		if desc, ok := have[img.Ref]; ok && !changed {
			if there, err := layout.Exists(ctx, desc); err == nil && there {
				want[img.Ref] = desc
				continue
			}
		}
		desc, verb, err := s.fetch(ctx, img.Ref, carried, layout, platforms)
		if err == nil {
			var whole bool
			if whole, err = layout.Exists(ctx, desc); err == nil && !whole {
				err = fmt.Errorf("the image %s is an index that lists no manifest", img.Ref)
			}
		}
		if err != nil && ctx.Err() == nil && img.Guess {
			s.Warn(fmt.Sprintf("the image %s, which is only named in a string value or a flag, is left out: %v", img.Ref, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		s.Tell(verb + " image " + img.Ref)
		want[img.Ref] = desc
	}
	return layout.Save(ctx, want)
}

// fetch copies an image into a layout, for these platforms, and says what it did.
func (s *Store) fetch(ctx context.Context, ref string, carried []source, to *layout, platforms []string) (desc v1.Descriptor, verb string, err error) {
	d, tag, digest, err := s.place(ref)
	if err != nil {
		return desc, "", err
	}
	if digest != "" && len(platforms) > 0 {
		// Without some of its platforms it would have another digest.
		s.Warn(fmt.Sprintf("the image %s is named by its digest, so it is copied with all its platforms", ref))
		platforms = nil
	}
	for _, c := range carried {
		if desc, ok := c.images[ref]; ok {
			desc, err := copyPlatforms(ctx, c.from, to, desc, platforms)
			if err != nil {
				return desc, "", fmt.Errorf("read %s: %w", ref, err)
			}
			return desc, "unpacked", nil
		}
	}
	desc, err = d.PullImage(ctx, cmp.Or(digest, tag, "latest"), to, platforms)
	return desc, "pulled", err
}

func (s *Store) place(ref string) (d *Repository, tag, digest string, err error) {
	named, err := imageref.Parse(ref)
	if err != nil {
		return nil, "", "", fmt.Errorf("%s is not an image name: %w", ref, err)
	}
	d, err = s.Open(named.Domain, named.Path)
	return d, named.Tag, named.Digest, err
}

// Push copies images into the registry of the site, from the carried mirrors or
// from the layout in the mirror: to their targets, or else, where clusterctl
// does not rename them, below the registry under their whole names. It returns
// how many are there.
func (s *Store) Push(ctx context.Context, images []Wanted, registry string) (n int, err error) {
	all, err := s.carried()
	if err != nil {
		return 0, err
	}
	if layout, err := openLayout(s.Dir, layouts.ImagesFolder); err == nil {
		defer layout.Close()
		have, err := layout.Images()
		if err != nil {
			return 0, err
		}
		all = append(all, source{have, layout})
	}
	var missing []string
	for _, img := range images {
		to, err := target(img, registry)
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
		s.Warn(fmt.Sprintf("%d images were not pushed, because neither the bundle nor the mirror holds them: %s; create it with --images", len(missing), strings.Join(missing, ", ")))
	}
	return n, nil
}

// target is what an image is called in the registry of the site.
func target(img Wanted, registry string) (string, error) {
	if img.Target != "" {
		return img.Target, nil
	}
	named, err := imageref.Parse(img.Ref)
	if err != nil {
		return "", fmt.Errorf("%s is not an image name: %w", img.Ref, err)
	}
	domain := strings.ReplaceAll(named.Domain, ":", "-")
	_, rest, _ := strings.Cut(named.String(), "/")
	return strings.TrimSuffix(registry, "/") + "/" + domain + "/" + rest, nil
}
