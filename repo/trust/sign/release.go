package sign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// maxSignature is more than the signature of any key takes, in bytes.
const maxSignature = 64 << 10

// Release returns a copy of r with the signature of its checksum file, which is
// rewritten and begins with the identity of the release: its version and the
// labels of the providers in it, which are needed if r names no provider. The
// files of the copy state the checksums that were signed. An old signature is
// replaced.
//
// What r says about itself must be true: its checksum file, and the identity in it.
func Release(ctx context.Context, r *repo.Release, k *PrivateKey, in ...layouts.Provider) (*repo.Release, error) {
	if len(in) == 0 {
		in = []layouts.Provider{r.Provider}
	}
	head, err := identityOf(r, in)
	if err != nil {
		return nil, err
	}
	if list := r.Artifact(layouts.ChecksumFile); list != nil {
		old, err := list.Bytes()
		if err != nil {
			return nil, err
		}
		// What is judged is what is signed, whatever is read later.
		r = without(r)
		r.Artifacts[slices.Index(r.Artifacts, list)] = held(list, old)
		if err := repo.VerifyChecksums(ctx, r); err != nil {
			return nil, err
		}
		if claimed := identitiesIn(old); len(claimed) > 0 && !slices.Equal(claimed, head) {
			return nil, identityError(list.Path, claimed, head...)
		}
	}
	out := without(r, layouts.ChecksumFile, layouts.SignatureFile)
	lines, err := repo.Checksums(ctx, out)
	if err != nil {
		return nil, err
	}
	var sums []byte
	for _, i := range head {
		sums = fmt.Appendf(sums, "%s%s\n", identityMark, i)
	}
	sums = append(sums, lines...)
	sig, err := k.SignFile(sums)
	if err != nil {
		return nil, err
	}
	pin(out, repo.ParseChecksums(sums))
	out.Artifacts = append(out.Artifacts, repo.BytesArtifact(layouts.ChecksumFile, sums), repo.BytesArtifact(layouts.SignatureFile, sig))
	out.Sort()
	return out, nil
}

// Without returns a copy of r without its signature.
func Without(r *repo.Release) *repo.Release { return without(r, layouts.SignatureFile) }

// without returns a copy of r without the files of these names.
func without(r *repo.Release, names ...string) *repo.Release {
	out := *r
	out.Artifacts = slices.DeleteFunc(slices.Clone(r.Artifacts), func(a *repo.Artifact) bool { return slices.Contains(names, a.Name) })
	return &out
}

// pin makes the files of r state their checksums, so that whoever reads another
// content gets an error.
func pin(r *repo.Release, sums map[string]repo.Sum) {
	for i, a := range r.Artifacts {
		if sum, ok := sums[a.Name]; ok {
			r.Artifacts[i] = a.Stating(sum)
		}
	}
}

// Verify returns r as the owner of one of the keys signed it, with the content that
// was verified: reading a file that was changed since fails. Everything in it is
// covered: the signature is one of the checksum file, which is true, complete and
// about this version and this provider (if r names one), and about all providers as
// whose files it is used. Anything else at the place of the release is an error:
// links, entries that are no files of a release, files that cannot be listed.
//
// The error wraps fs.ErrNotExist if r has no checksum file or no signature. It is
// a *SignatureError if the signature is not one of the keys, a *repo.ChecksumError
// if the files differ, and another error if another release was signed.
func Verify(ctx context.Context, r *repo.Release, as []layouts.Provider, keys ...*PublicKey) (*repo.Release, error) {
	if len(keys) == 0 {
		return nil, errors.New("the key to verify with is missing")
	}
	list, file := r.Artifact(layouts.ChecksumFile), r.Artifact(layouts.SignatureFile)
	switch {
	case list == nil:
		return nil, repo.Missing("%s has no %s, so nothing in it can be signed", r.Path, layouts.ChecksumFile)
	case file == nil:
		return nil, repo.Missing("%s is not signed: it has no %s", r.Path, layouts.SignatureFile)
	case file.Size > maxSignature:
		return nil, fmt.Errorf("%s: the file has %d bytes; no signature has more than %d", file.Path, file.Size, maxSignature)
	}
	if err := plain(r); err != nil {
		return nil, err
	}
	sums, err := list.Bytes()
	if err != nil {
		return nil, err
	}
	sig, err := file.Bytes()
	if err != nil {
		return nil, err
	}
	if Signer(sums, sig, keys) == nil {
		return nil, &SignatureError{Path: file.Path, Keys: keys}
	}
	// What was verified is what counts, not what is read later.
	out := without(r)
	for i, a := range out.Artifacts {
		switch a {
		case list:
			out.Artifacts[i] = held(a, sums)
		case file:
			out.Artifacts[i] = held(a, sig)
		default:
			// What its place states is not enough.
			if _, err := a.Sum(ctx); err != nil {
				return nil, err
			}
		}
	}
	if err := repo.VerifyChecksums(ctx, out); err != nil {
		return nil, err
	}
	pin(out, repo.ParseChecksums(sums))
	if err := verifyIdentity(out, sums, as); err != nil {
		return nil, err
	}
	return out, nil
}

// held is a file whose content is in memory.
func held(a *repo.Artifact, data []byte) *repo.Artifact {
	out := repo.BytesArtifact(a.Name, data)
	out.Path = a.Path
	return out
}

// plain refuses what a checksum file cannot cover: whatever lies next to the
// files, or is not certain to be there for every reader.
func plain(r *repo.Release) error {
	problems := phrase.List(r.Oddities, func(o repo.Oddity) string { return o.Path + " " + o.Why })
	seen := map[string]string{}
	for _, a := range r.Artifacts {
		if a.Link {
			problems = append(problems, a.Path+" is a symbolic link, so its target can change later")
		}
		key := strings.ToLower(a.Name)
		if other, clash := seen[key]; clash {
			problems = append(problems, fmt.Sprintf("%s and %s are the same name where case does not matter", other, a.Path))
		}
		seen[key] = a.Path
	}
	if r.Incomplete != "" {
		problems = append(problems, r.Path+" "+r.Incomplete)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s holds more than its signature can cover; remove it, or replace links with files\n  %s",
		r.Path, strings.Join(problems, "\n  "))
}

// SignatureError is a signature of a checksum file that none of the keys made.
type SignatureError struct {
	Path string
	Keys []*PublicKey
}

// Error names both possible reasons, which cannot be told apart.
func (e *SignatureError) Error() string {
	names := strings.Join(phrase.List(e.Keys, (*PublicKey).String), " or the ")
	return fmt.Sprintf("%s does not sign %s with the %s: another key signed it, or one of the two files was changed",
		e.Path, layouts.ChecksumFile, names)
}
