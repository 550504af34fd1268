package oci

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
)

const (
	artifactType = "application/vnd.clusterctl-repo.release.v1"
	// aliasOf is the annotation of a layer that only gives a file of the
	// release, which it names, a second title.
	aliasOf = "io.github.clusterctl-repo.alias-of"

	// Annotations of the proposal for Cluster API.
	providerType = "cluster-api.sigs.k8s.io/provider-type"
	providerName = "cluster-api.sigs.k8s.io/provider-name"
)

// emptySum is the checksum of no bytes at all.
var emptySum = repo.Sum(sha256.Sum256(nil))

// mediaType is that of a layer. It is a registered type on purpose: no reader needs
// to learn a new one.
func mediaType(file string) string {
	if file == layouts.ChecksumFile {
		file += ".txt"
	}
	return publish.MediaType(file)
}

// bundle is a release as it will be stored.
type bundle struct {
	// release has the checksums of its files stated.
	release *repo.Release
	// blobs are the files by digest, each content once, in order.
	blobs []blob
	// manifest is described by desc.
	manifest []byte
	desc     v1.Descriptor
	notes    []string
}

type blob struct {
	desc v1.Descriptor
	file *repo.Artifact
}

func describe(mediaType string, sum repo.Sum, size int64) v1.Descriptor {
	return v1.Descriptor{MediaType: mediaType, Digest: digest.NewDigestFromEncoded(digest.SHA256, sum.String()), Size: size}
}

// pack makes the manifest of a release, with one layer for each file. Every file is
// read once, unless its checksum is stated, and those that tell the providers apart
// twice.
func pack(ctx context.Context, r *repo.Release) (*bundle, error) {
	stated := *r
	stated.Artifacts = slices.Clone(r.Artifacts)
	stated.Sort()
	b := &bundle{release: &stated}
	sums := make(map[string]repo.Sum, len(r.Artifacts))
	layers := make(map[string]v1.Descriptor, len(r.Artifacts))
	m := v1.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    v1.MediaTypeImageManifest,
		ArtifactType: artifactType,
		Config:       v1.DescriptorEmptyJSON,
	}
	add := func(name, title string, more map[string]string) {
		layer := layers[name]
		layer.Annotations = map[string]string{v1.AnnotationTitle: title}
		maps.Copy(layer.Annotations, more)
		m.Layers = append(m.Layers, layer)
	}
	b.blobs = []blob{{v1.DescriptorEmptyJSON, repo.BytesArtifact("the empty config", v1.DescriptorEmptyJSON.Data)}}
	seen := map[digest.Digest]bool{v1.DescriptorEmptyJSON.Digest: true}
	for i, a := range stated.Artifacts {
		sum, err := a.Digest(ctx)
		if err != nil {
			return nil, err
		}
		a = a.Stating(sum)
		stated.Artifacts[i], sums[a.Name], layers[a.Name] = a, sum, describe(mediaType(a.Name), sum, a.Size)
		add(a.Name, a.Name, nil)
		if layer := layers[a.Name]; !seen[layer.Digest] {
			seen[layer.Digest] = true
			b.blobs = append(b.blobs, blob{layer, a})
		}
	}
	providers, err := providersOf(ctx, &stated)
	if err != nil {
		return nil, err
	}
	more, notes := aliases(providers, sums, true)
	b.notes = notes
	slices.SortFunc(more, func(x, y alias) int { return cmp.Compare(x.Title, y.Title) })
	for _, x := range more {
		add(x.Of, x.Title, map[string]string{aliasOf: x.Of})
	}
	m.Annotations = map[string]string{v1.AnnotationVersion: r.Version}
	if len(providers) == 1 && providers[0].Provider.Name != "" {
		p := providers[0].Provider
		info, _ := p.Type.Info()
		m.Annotations[v1.AnnotationTitle] = RepositoryName(p)
		m.Annotations[providerType] = annotated(info)
		m.Annotations[providerName] = p.Name
	}
	if b.manifest, err = json.Marshal(m); err != nil {
		return nil, err
	}
	if len(b.manifest) > maxManifest {
		return nil, fmt.Errorf("%d files need a manifest of %d bytes, but registries accept %d", len(r.Artifacts), len(b.manifest), maxManifest)
	}
	b.desc = describe(m.MediaType, sha256.Sum256(b.manifest), int64(len(b.manifest)))
	return b, nil
}

// providersOf returns the part of each provider in a release.
func providersOf(ctx context.Context, r *repo.Release) ([]*repo.Release, error) {
	if r.Provider != (layouts.Provider{}) {
		return []*repo.Release{r}, nil
	}
	if !slices.ContainsFunc(r.Artifacts, func(a *repo.Artifact) bool { return a.Kind() == layouts.Components }) {
		return nil, nil // the files of something else, such as cert-manager
	}
	return providers.Split(ctx, r, "")
}
