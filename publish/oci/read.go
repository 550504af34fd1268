package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// maxManifest is the largest manifest that registries have to accept
// (OCI distribution specification, "Pushing Manifests").
const maxManifest = 4 << 20

// Media types that are not artifacts.
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerConfig   = "application/vnd.docker.container.image.v1+json"

	// unpack is what oras writes to the layer of a folder.
	unpack = "io.deis.oras.content.unpack"
)

// get reads the manifest under a tag or digest. The error wraps fs.ErrNotExist
// if there is none.
func (d *Repository) get(ctx context.Context, reference string) (desc v1.Descriptor, data []byte, err error) {
	broken := false // the answer broke off or was damaged
	err = d.policy.Repeat(ctx, func(error) bool { return broken }, func() (err error) {
		broken = false
		var body io.ReadCloser
		if desc, body, err = d.remote.Manifests().FetchReference(ctx, reference); err != nil {
			return d.explain(ctx, err)
		}
		defer body.Close()
		if desc.Size > maxManifest {
			return fmt.Errorf("the manifest has %d bytes, more than the %d that are allowed", desc.Size, maxManifest)
		}
		if data, err = content.ReadAll(body, desc); err != nil {
			broken = ctx.Err() == nil
			return d.explain(ctx, &publish.Temporary{Err: err})
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("read %s: %w", d.reference(reference), err)
	}
	return desc, data, err
}

// open makes a release of a manifest.
func (d *Repository) open(ctx context.Context, reference string, desc v1.Descriptor, data []byte) (*repo.Release, error) {
	where := d.reference(reference)
	fail := func(format string, args ...any) (*repo.Release, error) {
		return nil, fmt.Errorf("%s "+format, append([]any{where}, args...)...)
	}
	switch desc.MediaType {
	case v1.MediaTypeImageManifest:
	case dockerManifest:
		return fail("is a container image, not the files of a release")
	case v1.MediaTypeImageIndex, dockerList:
		return fail("is an index of several manifests, not the files of a release; the operator cannot read it either; name one of its manifests by its digest")
	default:
		return fail("has the media type %q, not that of an image manifest", desc.MediaType)
	}
	var m v1.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return fail("has no valid manifest: %w", err)
	}
	if err := repo.UnambiguousJSON(data); err != nil {
		return fail("has a manifest that %w", err)
	}
	r := &repo.Release{Version: reference, Path: where, Provider: providerIn(m.Annotations), Titles: map[string]repo.Sum{}}
	if _, err := digest.Parse(reference); err == nil {
		r.Version = cmp.Or(m.Annotations[v1.AnnotationVersion], reference)
	}
	files := map[string]v1.Descriptor{}
	untitled := 0
	for _, layer := range m.Layers {
		title := layer.Annotations[v1.AnnotationTitle]
		if title == "" {
			untitled++
			continue
		}
		sum, ok := sumOf(layer.Digest)
		if !ok || layer.Size < 0 {
			return fail("states no SHA-256 or no size of its file %q", title)
		}
		if other, again := files[title]; again {
			if other.Digest == layer.Digest {
				continue
			}
			return fail("has two different files with the name %q", title)
		}
		files[title], r.Titles[title] = layer, sum
		odd := func(kind repo.OddityKind, why string) {
			r.Oddities = append(r.Oddities, repo.Oddity{Kind: kind, Path: fmt.Sprintf("%s/%q", where, title), Why: why})
		}
		switch err := publish.CheckFileName(title); {
		case layer.Annotations[unpack] == "true":
			odd(repo.OddSubfolder, "is a packed folder, which is not unpacked")
		case err != nil:
			odd(repo.OddEntry, "is not a valid release file name")
		default:
			r.Artifacts = append(r.Artifacts, d.artifact(ctx, where, title, layer, sum))
		}
	}
	// An alias is left out if the file is there that it stands for, so that
	// nothing can hide behind the annotation.
	r.Artifacts = slices.DeleteFunc(r.Artifacts, func(a *repo.Artifact) bool {
		layer := files[a.Name]
		of, ok := files[layer.Annotations[aliasOf]]
		return ok && of.Annotations[aliasOf] == "" && of.Digest == layer.Digest &&
			aliasFits(a.Name, layer.Annotations[aliasOf], r)
	})
	switch archive := m.Annotations[providerType] != ""; {
	case len(files) == 0 && archive:
		return fail("holds its files in an archive, as cluster-api#13729 proposes; no released Cluster API operator reads that form, so publish one layer for each file")
	case len(files) == 0 && (m.Config.MediaType == v1.MediaTypeImageConfig || m.Config.MediaType == dockerConfig):
		return fail("is a container image, not the files of a release")
	case len(files) == 0:
		return fail("holds no files: none of its %d layers has the annotation %s with the name of a file", len(m.Layers), v1.AnnotationTitle)
	case untitled > 0:
		r.Incomplete = fmt.Sprintf("has %s without a file name, which other readers may interpret", phrase.Count(untitled, "layer"))
	}
	r.Sort()
	return r, nil
}

// providerIn returns the provider that the annotations name, or none.
func providerIn(annotations map[string]string) layouts.Provider {
	for _, row := range layouts.Types {
		if p := (layouts.Provider{Type: row.Type, Name: annotations[providerName]}); annotations[providerType] == annotated(row) && len(p.Problems()) == 0 {
			return p
		}
	}
	return layouts.Provider{}
}

func sumOf(d digest.Digest) (repo.Sum, bool) {
	if d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return repo.Sum{}, false
	}
	return repo.ParseSum(d.Encoded())
}

// artifact is a layer as a file, which is downloaded when it is opened.
func (d *Repository) artifact(ctx context.Context, where, name string, layer v1.Descriptor, sum repo.Sum) *repo.Artifact {
	return repo.NewArtifact(name, where+"/"+name, layer.Size, func() (io.ReadCloser, error) {
		body, err := transport.Download(ctx, d.client, d.blobURL(layer.Digest), nil, layer.Size)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", where, name, d.explain(ctx, err))
		}
		return body, nil
	}).Stating(sum)
}
