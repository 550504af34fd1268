package oci

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// unfinished begins the names of blobs on their way.
const unfinished = layouts.WorkPrefix + "blob-"

// layout is an OCI image layout in a folder that others may write to. It is a
// content.Storage, safe for concurrent use.
type layout struct {
	dir  string
	root *os.Root
}

// openLayout opens the layout in a folder below dir, which it makes if need be.
func openLayout(dir, name string) (*layout, error) {
	fail := func(err error) (*layout, error) {
		return nil, fmt.Errorf("open the images in %s: %w", filepath.Join(dir, name), err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fail(err)
	}
	parent, err := os.OpenRoot(dir)
	if err != nil {
		return fail(err)
	}
	defer parent.Close()
	if err := parent.MkdirAll(name+"/blobs/sha256", 0o777); err != nil {
		return fail(err)
	}
	if info, err := parent.Lstat(name); err != nil || !info.IsDir() {
		return fail(errors.Join(err, errors.New("it is not a folder")))
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return fail(err)
	}
	return &layout{filepath.Join(dir, name), root}, nil
}

func (l *layout) Close() error { return l.root.Close() }

func blobName(d digest.Digest) (string, error) {
	if _, ok := sumOf(d); !ok {
		return "", fmt.Errorf("%q is not a SHA-256 digest", d)
	}
	return "blobs/sha256/" + d.Encoded(), nil
}

// Exists reports whether a blob of that name and size is there, and of a manifest
// or index also what it refers to: then nothing has to be copied. An index that
// lists nothing is not worth having. Layers that only their vendor distributes are
// not looked for.
func (l *layout) Exists(ctx context.Context, desc v1.Descriptor) (bool, error) {
	there, err := l.has(desc)
	if err != nil || !there || !slices.Contains(manifests, desc.MediaType) {
		return there, err
	}
	if desc.Size > maxManifest {
		return false, nil
	}
	next, err := content.Successors(ctx, l, desc)
	if err != nil || len(next) == 0 {
		return false, ctx.Err() // it is damaged
	}
	for _, d := range next {
		if foreign(d.MediaType) {
			continue
		}
		if there, err := l.Exists(ctx, d); err != nil || !there {
			return false, err
		}
	}
	return true, nil
}

// has reports whether a blob of that name and size is there.
func (l *layout) has(desc v1.Descriptor) (bool, error) {
	name, err := blobName(desc.Digest)
	if err != nil {
		return false, err
	}
	info, err := l.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular() && info.Size() == desc.Size, err
}

// forget removes those of some blobs that do not have the content that their names
// say, so that they are fetched again.
func (l *layout) forget(names []string) error {
	for _, name := range names {
		d := digest.NewDigestFromEncoded(digest.SHA256, path.Base(name))
		if of, err := blobName(d); err != nil || of != name {
			continue // it is written in any case
		}
		r, err := l.root.Open(name)
		if err == nil {
			h := d.Algorithm().Hash()
			_, err = io.Copy(h, r)
			r.Close() // only read
			if err != nil || digest.NewDigest(d.Algorithm(), h) != d {
				err = l.root.Remove(name)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the damaged image part %s: %w", filepath.Join(l.dir, name), files.Cause(err))
		}
	}
	return nil
}

// Fetch opens a blob; its reader compares the content with the digest.
func (l *layout) Fetch(_ context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	name, err := blobName(desc.Digest)
	if err != nil {
		return nil, err
	}
	f, err := l.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", desc.Digest, errdef.ErrNotFound)
	}
	return f, err
}

// Push stores a blob, durably and in one step, if its content is the described
// one.
func (l *layout) Push(_ context.Context, desc v1.Descriptor, r io.Reader) error {
	name, err := blobName(desc.Digest)
	if err != nil {
		return err
	}
	return files.Write(l.root, name, unfinished+rand.Text(), func(w io.Writer) error {
		v := content.NewVerifyReader(r, desc)
		if _, err := io.Copy(w, v); err != nil {
			return err
		}
		return v.Verify()
	})
}

// Images reads which images the layout holds, by name.
func (l *layout) Images() (map[string]v1.Descriptor, error) {
	data, err := l.root.ReadFile(v1.ImageIndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]v1.Descriptor{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseLayout(data)
}

// parseLayout reads the index of a layout: the images by name.
func parseLayout(index []byte) (map[string]v1.Descriptor, error) {
	var parsed v1.Index
	if err := json.Unmarshal(index, &parsed); err != nil {
		return nil, fmt.Errorf("%s is not the index of an image layout: %w", v1.ImageIndexFile, err)
	}
	if err := repo.UnambiguousJSON(index); err != nil {
		return nil, fmt.Errorf("%s %w", v1.ImageIndexFile, err)
	}
	out := map[string]v1.Descriptor{}
	for _, m := range parsed.Manifests {
		if name := m.Annotations[v1.AnnotationRefName]; name != "" {
			m.Annotations = nil
			out[name] = m
		}
	}
	return out, nil
}

// Save makes the layout hold exactly the given images, which have to be there,
// and removes all other blobs. It returns the checksums of all files, by their
// paths in the layout.
func (l *layout) Save(ctx context.Context, images map[string]v1.Descriptor) (map[string]repo.Sum, error) {
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{}}
	used := map[string]repo.Sum{}
	for _, name := range slices.Sorted(maps.Keys(images)) {
		m := images[name]
		m.Annotations = map[string]string{v1.AnnotationRefName: name}
		index.Manifests = append(index.Manifests, m)
		if err := l.reach(ctx, m, used); err != nil {
			return nil, fmt.Errorf("image %s: %w", name, err)
		}
	}
	for name, v := range map[string]any{v1.ImageIndexFile: index, v1.ImageLayoutFile: v1.ImageLayout{Version: v1.ImageLayoutVersion}} {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		used[name] = sha256.Sum256(data)
		if err := l.replace(name, data); err != nil {
			return nil, err
		}
	}
	return used, l.sweep(used)
}

// foreign reports whether layers of a media type come from their vendor only, so
// that copies of an image lack them.
func foreign(mediaType string) bool {
	return strings.HasPrefix(mediaType, "application/vnd.oci.image.layer.nondistributable.") ||
		mediaType == "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
}

// reach collects the blobs of an image.
func (l *layout) reach(ctx context.Context, desc v1.Descriptor, used map[string]repo.Sum) error {
	name, err := blobName(desc.Digest)
	if err != nil {
		return err
	}
	if _, seen := used[name]; seen {
		return nil
	}
	if there, err := l.has(desc); err != nil || !there {
		if err == nil && !foreign(desc.MediaType) {
			err = fmt.Errorf("%s is missing: %w", desc.Digest, errdef.ErrNotFound)
		}
		return err
	}
	used[name], _ = sumOf(desc.Digest)
	next, err := content.Successors(ctx, l, desc)
	if err != nil {
		return err
	}
	for _, d := range next {
		if err := l.reach(ctx, d, used); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a small file in one step, unless it has that content.
func (l *layout) replace(name string, data []byte) error {
	if info, err := l.root.Lstat(name); err == nil && info.Mode().IsRegular() {
		if old, err := l.root.ReadFile(name); err == nil && bytes.Equal(old, data) {
			return nil
		}
	}
	return files.Write(l.root, name, unfinished+rand.Text(), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// sweep removes the blobs of no image, and those that were on their way when a
// process was killed.
func (l *layout) sweep(used map[string]repo.Sum) error {
	for _, dir := range []string{".", "blobs/sha256"} {
		entries, err := fs.ReadDir(l.root.FS(), dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if _, ok := used[name]; ok || dir == "." && !strings.HasPrefix(name, unfinished) {
				continue
			}
			if err := l.root.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// blobFiles is the content of a layout that is read elsewhere, such as in a bundle:
// it returns the file of a layout with the given path.
type blobFiles func(name string) (io.ReadCloser, error)

func (b blobFiles) Fetch(_ context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	name, err := blobName(desc.Digest)
	if err != nil {
		return nil, err
	}
	return b(name)
}

// Exists is not asked of a source.
func (b blobFiles) Exists(context.Context, v1.Descriptor) (bool, error) { return true, nil }
