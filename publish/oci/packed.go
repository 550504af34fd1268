package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"path"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// packed reads the form of the proposal for Cluster API, in which one layer is
// an archive of all files. The annotations tell it from a container image.
func (d *Repository) packed(ctx context.Context, where string, m v1.Manifest) ([]*repo.Artifact, error) {
	archive := len(m.Layers) == 1 && m.Layers[0].MediaType == v1.MediaTypeImageLayerGzip && m.Annotations[providerType] != ""
	switch {
	case archive:
	case m.Config.MediaType == v1.MediaTypeImageConfig || m.Config.MediaType == dockerConfig:
		return nil, fmt.Errorf("%s is a container image, not the files of a release", where)
	default:
		return nil, fmt.Errorf("%s holds no files: none of its %d layers has the annotation %s with the name of a file", where, len(m.Layers), v1.AnnotationTitle)
	}
	layer := m.Layers[0]
	sum, ok := sumOf(layer.Digest)
	if !ok || layer.Size < 0 {
		return nil, fmt.Errorf("%s states no SHA-256 or no size of its archive", where)
	}
	data, err := d.artifact(ctx, where, "archive", layer, sum).Bytes()
	if err != nil {
		return nil, err
	}
	files, err := unpackArchive(where, data)
	if err != nil {
		return nil, fmt.Errorf("%s: the archive cannot be read: %w", where, err)
	}
	return files, nil
}

// unpackArchive returns the files of a compressed archive, which has no more
// content than a single file may have.
func unpackArchive(where string, data []byte) (out []*repo.Artifact, err error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	left := &io.LimitedReader{R: z, N: repo.MaxFileSize}
	seen := map[string]bool{}
	for t := tar.NewReader(left); ; {
		h, err := t.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			if left.N == 0 {
				return nil, fmt.Errorf("it holds more than %d bytes", repo.MaxFileSize)
			}
			return nil, err
		}
		name := path.Clean(h.Name)
		switch {
		case h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%q is not a plain file", h.Name)
		case publish.CheckFileName(name) != nil:
			return nil, fmt.Errorf("%q is not a valid release file name", h.Name)
		case seen[name]:
			return nil, fmt.Errorf("%q is listed twice", h.Name)
		case h.Size > left.N:
			return nil, fmt.Errorf("it holds more than %d bytes", repo.MaxFileSize)
		}
		seen[name] = true
		content, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		a := repo.BytesArtifact(name, content)
		a.Path = where + "/" + name
		out = append(out, a)
	}
}
