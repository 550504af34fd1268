package imageref

import (
	_ "crypto/sha256" // digests that clusterctl knows
	_ "crypto/sha512"
	"slices"
	"strings"

	"github.com/distribution/reference"
)

// ErrNotCanonical is that of ParseCanonical for names without a registry.
var ErrNotCanonical = reference.ErrNameNotCanonical

// image is a complete reference: Domain/Path:Tag@Digest.
type image struct {
	reference.Named
	// Domain is the registry with its port. It is empty if what stands before the
	// first slash looks like a registry and has characters that no host may have.
	Domain string
	// Path is the rest of the name, in lower case.
	Path string
	// Tag and Digest, such as sha256:…, are empty if they are absent.
	Tag, Digest string
}

// Full returns a name with the registry that it stands for, as clusterctl wants it;
// what is not a valid name stays as it is.
func Full(name string) string {
	if r, err := Parse(name); err == nil {
		return r.Name()
	}
	return name
}

// ParseCanonical reads a reference that names its registry, as clusterctl demands of
// the images of components (clusterctl: internal/util/objs.go and
// client/config/imagemeta_client.go).
func ParseCanonical(s string) (image, error) { return parts(reference.ParseNamed(s)) }

// Parse reads a reference and adds the registry and folder of Docker where they are
// left out.
func Parse(s string) (image, error) { return parts(reference.ParseNormalizedNamed(s)) }

func parts(named reference.Named, err error) (image, error) {
	if err != nil {
		return image{}, err
	}
	r := image{Named: named, Domain: reference.Domain(named), Path: reference.Path(named)}
	if tagged, ok := named.(reference.Tagged); ok {
		r.Tag = tagged.Tag()
	}
	if digested, ok := named.(reference.Digested); ok {
		r.Digest = digested.Digest().String()
	}
	return r, nil
}

// Split takes a reference apart without judging it: a name without a registry stays as
// it is, and so do texts that are no reference.
func Split(s string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(s, "@")
	// A colon before the last slash belongs to the port of a registry.
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name, tag = name[:colon], name[colon+1:]
	}
	return name, tag, digest
}

// movingTags are tags that mean another image tomorrow.
var movingTags = []string{"latest", "dev", "devel", "main", "master", "edge", "nightly", "canary", "snapshot", "test", "e2e", "local"}

// Moving reports whether a tag is one that means another image tomorrow.
func Moving(tag string) bool { return slices.Contains(movingTags, tag) }
