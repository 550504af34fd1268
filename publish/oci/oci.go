package oci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Options say which repository it is and how to speak with its registry.
type Options struct {
	// Host is the registry, with its port if it needs one: ghcr.io,
	// registry.example.com:5000.
	Host string
	// Repository is the name in the registry, such as
	// acme/manifests/infrastructure-acme.
	Repository string
	// Credential finds the credentials; nil is for nobody.
	Credential func(ctx context.Context, host string) (Credential, error)
	// TokenServer is the host, with its port, that may see the credential because
	// tokens come from there. If it is empty, that is any host of the registry's
	// site.
	TokenServer string
	// Secrets learns what must not be shown, such as tokens that registries issue;
	// nil keeps that to the repository.
	Secrets *transport.Secrets
	// TakeOver ignores that other content has the claim.
	TakeOver bool
	// Base makes the connections; nil is transport.Usual.
	Base   http.RoundTripper
	Policy transport.Policy
}

// Repository is a repository of an OCI registry. It is safe for concurrent use.
type Repository struct {
	remote   *remote.Repository
	client   *http.Client
	session  *session
	takeOver bool
	policy   transport.Policy
	// verified are the contents that were read, by the digest of their manifest.
	verified sync.Map
}

var _ publish.Destination = (*Repository)(nil)

// New returns a repository of a registry, which need not exist yet. Nothing is
// sent before it is used.
func New(o Options) (*Repository, error) {
	ref := registry.Reference{Registry: o.Host, Repository: o.Repository}
	if err := ref.ValidateRegistry(); err != nil {
		return nil, fmt.Errorf("%q is not the host of a registry; it is a name, and a port if needed, such as registry.example.com:5000", o.Host)
	}
	if err := ref.ValidateRepository(); err != nil {
		return nil, fmt.Errorf("%q is not the name of a repository in a registry; it consists of lower-case letters, digits and single . _ - in parts separated by slashes", o.Repository)
	}
	s := newSession(ref, o)
	client := transport.New(s, o.Policy)
	return &Repository{
		remote: &remote.Repository{
			Client:               transport.Bounded(client),
			Reference:            ref,
			PlainHTTP:            s.scheme == "http",
			TagListMaxPages:      transport.MaxPages,
			ReferrerListMaxPages: transport.MaxPages,
			MaxMetadataBytes:     maxManifest,
			SkipReferrersGC:      true, // not every registry lets others delete
		},
		client:   client,
		session:  s,
		takeOver: o.TakeOver,
		policy:   o.Policy.AtLeast(s.pause),
	}, nil
}

func (d *Repository) String() string {
	return "oci://" + d.remote.Reference.Registry + "/" + d.remote.Reference.Repository
}

// reference names a manifest by its tag or digest.
func (d *Repository) reference(tagOrDigest string) string {
	if strings.Contains(tagOrDigest, ":") {
		return d.String() + "@" + tagOrDigest
	}
	return d.String() + ":" + tagOrDigest
}

func (d *Repository) blobURL(dig digest.Digest) string {
	return d.session.scheme + "://" + d.session.host + "/v2/" + d.remote.Reference.Repository + "/blobs/" + dig.String()
}

// OperatorReference returns what the operator's fetchConfig.oci has to be for a
// version; without one, the operator takes that of the provider object.
func (d *Repository) OperatorReference(version string) string {
	out := strings.TrimPrefix(d.String(), "oci://")
	if version != "" {
		out += ":" + version
	}
	if d.session.scheme == "http" {
		out = "http://" + out
	}
	return out
}

// URL returns oci://host/repository:version, without the version for
// layouts.Latest. It is the form of the proposal for Cluster API; clusterctl
// v1.14 does not read it.
func (d *Repository) URL(version, componentsFile string) (string, error) {
	if err := publish.CheckFileName(componentsFile); err != nil {
		return "", err
	}
	if version == layouts.Latest {
		return d.String(), nil
	}
	if err := d.checkTag(version); err != nil {
		return "", err
	}
	return d.reference(version), nil
}

func (d *Repository) checkTag(version string) error {
	v, err := layouts.ParseVersion(version)
	if err != nil {
		return err
	}
	if v.Build() != "" {
		return fmt.Errorf("version %s cannot be published to a registry, because a tag must not contain a plus sign; use a version without the build metadata +%s", version, v.Build())
	}
	ref := d.remote.Reference
	ref.Reference = version
	if ref.ValidateReferenceAsTag() != nil {
		return fmt.Errorf("version %q cannot be a tag; a tag has at most 128 letters, digits and . _ -", version)
	}
	return nil
}

// Versions lists the tags that are versions, oldest first.
func (d *Repository) Versions(ctx context.Context) ([]string, error) {
	var versions []string
	err := d.remote.Tags(ctx, "", func(tags []string) error {
		versions = append(versions, phrase.Only(tags, func(tag string) bool { return d.checkTag(tag) == nil })...)
		return nil
	})
	if err = d.explain(ctx, err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the tags of %s: %w", d, err)
	}
	return publish.Versions(versions), nil
}

// Fetch lists the files of a release, by its tag or by the digest of its
// manifest; its version is then the one in the manifest. Titles that are no
// names of files are oddities of the release. Aliases for the operator are
// left out.
func (d *Repository) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	if _, err := digest.Parse(version); err != nil {
		if err := d.checkTag(version); err != nil {
			return nil, err
		}
	}
	desc, data, err := d.get(ctx, version)
	if err != nil {
		return nil, err
	}
	return d.open(ctx, version, desc, data)
}

// Verify reads the files of the tag and compares them with r, unless Put has read
// them under the digest of the same manifest.
func (d *Repository) Verify(ctx context.Context, r *repo.Release) error {
	fail := func(err error) error { return fmt.Errorf("read back %s: %w", publish.Name(r), err) }
	desc, data, err := d.get(ctx, r.Version)
	if err != nil {
		return fail(err)
	}
	id, err := publish.ContentID(ctx, r)
	if err != nil {
		return fail(err)
	}
	if was, ok := d.verified.Load(desc.Digest); ok && was == id {
		return nil
	}
	got, err := d.open(ctx, r.Version, desc, data)
	if err != nil {
		return fail(err)
	}
	return publish.VerifyFiles(ctx, got, r)
}
