package sign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/provenance"
)

// maxSignature is more than the signature of any key takes, in bytes.
const maxSignature = 64 << 10

// Release returns a copy of r with the signature of its checksum file, which is
// made anew. If r has a checksum file, that must be true. If it has a
// statement of its provenance, the copy also has that in a signed envelope. An
// old signature and envelope are replaced.
func Release(ctx context.Context, r *repo.Release, k *PrivateKey) (*repo.Release, error) {
	if r.Artifact(layouts.ChecksumFile) != nil {
		if err := repo.VerifyChecksums(ctx, r); err != nil {
			return nil, err
		}
	}
	out := without(r, layouts.ChecksumFile, layouts.SignatureFile)
	if statement := r.Artifact(layouts.ProvenanceFile); statement != nil {
		payload, err := statement.Bytes()
		if err != nil {
			return nil, err
		}
		line, err := k.Envelope(provenance.MediaType, payload)
		if err != nil {
			return nil, err
		}
		out = without(out, layouts.SignedProvenanceFile)
		out.Artifacts = append(out.Artifacts, repo.BytesArtifact(layouts.SignedProvenanceFile, line))
		out.Sort()
	}
	sums, err := repo.Checksums(ctx, out)
	if err != nil {
		return nil, err
	}
	sig, err := k.Sign(sums)
	if err != nil {
		return nil, err
	}
	out.Artifacts = append(out.Artifacts, repo.BytesArtifact(layouts.ChecksumFile, sums), repo.BytesArtifact(layouts.SignatureFile, encodeSignature(sig)))
	out.Sort()
	return out, nil
}

// without returns a copy of r without the files of these names.
func without(r *repo.Release, names ...string) *repo.Release {
	out := *r
	out.Artifacts = slices.DeleteFunc(slices.Clone(r.Artifacts), func(a *repo.Artifact) bool { return slices.Contains(names, a.Name) })
	return &out
}

// Verify returns nil if every file of r is what the owner of one of the keys
// signed: the signature is one of the checksum file, which is true and complete,
// and the signed envelope of the provenance, if there is one next to the
// statement, holds that statement. The error wraps fs.ErrNotExist if r has no
// checksum file or no signature; it is a *SignatureError if the signature is
// not one of the keys, and a *repo.ChecksumError if the files differ.
//
// A signature says nothing on the name or version of a release. The statement
// does; see provenance.Verify.
func Verify(ctx context.Context, r *repo.Release, keys ...*PublicKey) error {
	if len(keys) == 0 {
		return errors.New("there is no key to verify with")
	}
	list, file := r.Artifact(layouts.ChecksumFile), r.Artifact(layouts.SignatureFile)
	switch {
	case list == nil:
		return fmt.Errorf("%s has no %s, so nothing in it can be signed: %w", r.Path, layouts.ChecksumFile, fs.ErrNotExist)
	case file == nil:
		return fmt.Errorf("%s is not signed: it has no %s: %w", r.Path, layouts.SignatureFile, fs.ErrNotExist)
	case file.Size > maxSignature:
		return fmt.Errorf("%s: the file has %d bytes; no signature has more than %d", file.Path, file.Size, maxSignature)
	}
	sums, err := list.Bytes()
	if err != nil {
		return err
	}
	sig, err := file.Bytes()
	if err != nil {
		return err
	}
	if signer(sums, decodeSignature(sig), keys) == nil {
		return &SignatureError{Path: file.Path, Of: layouts.ChecksumFile, Keys: keys}
	}
	// What was verified is what counts, not what is read later.
	read := without(r)
	for i, a := range read.Artifacts {
		if a == list {
			read.Artifacts[i] = repo.NewArtifact(a.Name, a.Path, int64(len(sums)), func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(sums)), nil
			})
		}
	}
	if err := repo.VerifyChecksums(ctx, read); err != nil {
		return err
	}
	return verifyEnvelope(r, keys)
}

// verifyEnvelope compares the provenance with its signed form.
func verifyEnvelope(r *repo.Release, keys []*PublicKey) error {
	statement, file := r.Artifact(layouts.ProvenanceFile), r.Artifact(layouts.SignedProvenanceFile)
	if statement == nil || file == nil {
		return nil
	}
	payload, err := statement.Bytes()
	if err != nil {
		return err
	}
	lines, err := file.Bytes()
	if err != nil {
		return err
	}
	if !InEnvelope(lines, provenance.MediaType, payload, keys...) {
		return &SignatureError{Path: file.Path, Of: layouts.ProvenanceFile, Keys: keys}
	}
	return nil
}

// SignatureError is a signature that none of the keys made.
type SignatureError struct {
	// Path is where the signature is.
	Path string
	// Of is the name of the file that should be signed.
	Of string
	// Keys were tried.
	Keys []*PublicKey
}

// Error names both reasons that there can be, which nobody can tell apart.
func (e *SignatureError) Error() string {
	names := make([]string, len(e.Keys))
	for i, k := range e.Keys {
		names[i] = k.String()
	}
	return fmt.Sprintf("%s is no signature of %s by the %s: another key signed it, or one of the two files was changed", e.Path, e.Of, strings.Join(names, " or the "))
}
