package sign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/provenance"
)

// Policy says what is demanded of releases before they are used. The zero Policy
// permits nothing.
type Policy struct {
	// Keys are trusted, each for some providers.
	Keys []TrustedKey
	// Unsigned are the exceptions.
	Unsigned []exception
	// RequireProvenance demands a statement that names the source and its commit,
	// which has every input of the release.
	RequireProvenance bool
}

// TrustedKey is trusted for providers.
type TrustedKey struct {
	*PublicKey
	// Providers are patterns of labels in the form of path.Match; none means
	// every provider.
	Providers []string
}

// exception permits releases without a signature. A signature that is there counts
// in spite of it.
type exception struct {
	// Provider is a pattern of labels in the form of path.Match.
	Provider string
	// Versions are those that it is about; none means every version.
	Versions []string
	// Reason is why, in the words of who decided it.
	Reason string
}

// Approved is a release that a policy permits.
type Approved struct {
	// Release has exactly the content that was checked: reading a file that was
	// changed since fails.
	Release *repo.Release
	// Labels are those of the providers that the release was approved for.
	Labels []string
	// Reason is why it may be unsigned; empty for a signed release.
	Reason string
}

// Check approves a release as the files of some providers; without any it is
// approved for the provider that it names, or else for all that its signature
// names. The errors are those of Verify, and others that say which demand of
// the policy is not met.
func (p *Policy) Check(ctx context.Context, r *repo.Release, as ...layouts.Provider) (*Approved, error) {
	labels := phrase.List(as, layouts.Provider.Label)
	if len(labels) == 0 && r.Provider != (layouts.Provider{}) {
		labels = []string{r.Provider.Label()}
	}
	// An exception is for what its owner does not sign. A signature that is there
	// has to be right: a wrong one says that the files are not the owner's.
	reason, excepted := p.excepted(labels, r.Version)
	if excepted && r.Artifact(layouts.SignatureFile) == nil {
		pinned, err := pinAll(ctx, r)
		return &Approved{Release: pinned, Labels: labels, Reason: reason}, err
	}
	if len(p.Keys) == 0 && excepted {
		return nil, fmt.Errorf("%s has a %s, so it is not unsigned, and no key is trusted to sign %s; add the key to the policy", r.Path, layouts.SignatureFile, name(labels, r))
	}
	if len(p.Keys) == 0 {
		return nil, fmt.Errorf("%s: no key is trusted to sign %s", r.Path, name(labels, r))
	}
	v, err := Verify(ctx, r, phrase.List(p.Keys, func(k TrustedKey) *PublicKey { return k.PublicKey })...)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && slices.Contains(labels, layouts.CertManager.Label()) {
			err = fmt.Errorf("%w; its project does not sign it in this way: permit it under unsigned in a file of --policy, with the reason", err)
		}
		return nil, err
	}
	if len(labels) == 0 {
		labels = v.Providers
	}
	for _, label := range labels {
		if !slices.Contains(v.Providers, label) {
			return nil, fmt.Errorf("%s is used as %s, but its signature is for %s",
				r.Path, label, strings.Join(v.Providers, ", "))
		}
		if !p.trusts(v.Key, label) {
			return nil, fmt.Errorf("%s is signed with the %s, which the policy does not trust for %s", r.Path, v.Key, label)
		}
	}
	if p.RequireProvenance {
		if err := sourced(ctx, v.Release); err != nil {
			return nil, err
		}
	}
	return &Approved{Release: v.Release, Labels: labels}, nil
}

// name says what a release is.
func name(labels []string, r *repo.Release) string {
	if len(labels) == 0 {
		return r.Version
	}
	return strings.Join(labels, ", ") + " " + r.Version
}

// excepted reports whether all of the providers may be unsigned.
func (p *Policy) excepted(labels []string, version string) (reason string, ok bool) {
	for _, label := range labels {
		i := slices.IndexFunc(p.Unsigned, func(e exception) bool {
			return matches(e.Provider, label) && (len(e.Versions) == 0 || slices.Contains(e.Versions, version))
		})
		if i < 0 {
			return "", false
		}
		reason = p.Unsigned[i].Reason
	}
	return reason, len(labels) > 0
}

func (p *Policy) trusts(key *PublicKey, label string) bool {
	return slices.ContainsFunc(p.Keys, func(k TrustedKey) bool {
		return k.String() == key.String() && (len(k.Providers) == 0 || slices.ContainsFunc(k.Providers, func(pattern string) bool { return matches(pattern, label) }))
	})
}

func matches(pattern, label string) bool {
	ok, err := path.Match(pattern, label)
	return ok && err == nil
}

// sourced refuses a release whose statement does not lead to its source.
func sourced(ctx context.Context, r *repo.Release) error {
	facts, err := provenance.Read(ctx, r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s has no %s, which is required; release --provenance writes it", r.Path, layouts.ProvenanceFile)
	case err != nil:
		return err
	case facts.Commit == "" || facts.Source == "":
		return fmt.Errorf("%s: %s names no source with its commit, which is required; release from a clean clone with a remote", r.Path, layouts.ProvenanceFile)
	case len(facts.Loose) > 0:
		return fmt.Errorf("%s: the commit %s does not have all inputs of the release: %s",
			r.Path, facts.Commit, strings.Join(facts.Loose, ", "))
	}
	return nil
}
