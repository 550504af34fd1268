package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/provenance"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
)

// password is the variable of cosign for the password of a key.
const password = "COSIGN_PASSWORD"

// attestation is what is added to a release about its files.
type attestation struct {
	keyFile string
	// build says how the release was made; nil for no statement.
	build *provenance.Build
	key   *sign.PrivateKey
}

func (t *attestation) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.keyFile, "sign-key", "", "sign "+layouts.ChecksumFile+" with the private key in this `file`: PEM, also of cosign, whose password is in "+password)
}

// load reads the key.
func (t *attestation) load(a *app) error {
	if t.keyFile == "" {
		return nil
	}
	data, err := a.readFile(t.keyFile)
	if err != nil {
		return usagef("--sign-key: %w", err)
	}
	t.key, err = sign.LoadPrivateKey(data, func() ([]byte, error) {
		text, ok := a.Env(password)
		if !ok {
			return nil, errors.New("the key has a password; set " + password)
		}
		return []byte(text), nil
	})
	if err != nil {
		return usagef("--sign-key %s %w", t.keyFile, err)
	}
	return nil
}

// add returns the release with its statement and signature.
func (t *attestation) add(ctx context.Context, r *repo.Release) (*repo.Release, error) {
	var err error
	if t.build != nil {
		if r, err = provenance.Add(ctx, r, *t.build); err != nil {
			return nil, err
		}
	}
	if t.key != nil {
		return sign.Release(ctx, r, t.key)
	}
	return r, nil
}

// describe says how a source tree was built. What git does not tell is left
// out, and so is the commit if something in the tree was changed since.
func (a *app) describe(ctx context.Context, s *source, dir string) *provenance.Build {
	b := &provenance.Build{ToolVersion: programVersion(), Images: map[string]string{}, Options: map[string]string{}}
	for _, image := range s.images {
		if old, new, ok := strings.Cut(image, "="); ok {
			b.Images[old] = new
		}
	}
	for _, option := range []struct {
		name string
		on   bool
	}{{"as-is", s.asIs}, {"add-series", s.addSeries}, {"allow-exec", s.allowExec}, {"allow-remote", s.allowRemote}} {
		if option.on {
			b.Options[option.name] = strconv.FormatBool(true)
		}
	}
	if s.config != "" {
		b.Options["config"] = filepath.ToSlash(s.config)
	}
	dir = a.path(dir)
	b.Source, b.Commit = a.origin(ctx, dir)
	// Files that git does not track may be output, so they do not count.
	if r, err := git.Open(ctx, dir); err == nil {
		if changed, err := r.Changed(ctx); err != nil || changed {
			b.Commit = ""
		}
	}
	return b
}

// origin returns the remote repository of a source tree and the commit that it
// is at, as far as git knows.
func (a *app) origin(ctx context.Context, dir string) (remote, commit string) {
	r, err := git.Open(ctx, a.path(dir))
	if err != nil {
		return "", ""
	}
	commit, _ = r.Commit(ctx, "HEAD") // none before the first commit
	return r.Remote(ctx), commit
}

// verification is the flag --verify-key.
type verification struct{ files []string }

func (v *verification) flag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&v.files, "verify-key", nil, "demand that releases are signed with the public key, or certificate, in this `file`; with several, by one of them")
}

// verifier returns what checks the signature of a release, and its statement if
// it has one; nil if nothing is demanded. Its errors have the exit code of
// findings.
func (v *verification) verifier(a *app) (func(context.Context, *repo.Release) error, error) {
	var keys []*sign.PublicKey
	for _, name := range v.files {
		data, err := a.readFile(name)
		if err != nil {
			return nil, usagef("--verify-key: %w", err)
		}
		key, err := sign.LoadPublicKey(data)
		if err != nil {
			return nil, usagef("--verify-key %s %w", name, err)
		}
		keys = append(keys, key)
	}
	if keys == nil {
		return nil, nil
	}
	return func(ctx context.Context, r *repo.Release) error {
		err := sign.Verify(ctx, r, keys...)
		if err == nil {
			if err = provenance.Verify(ctx, r); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil && ctx.Err() == nil {
			return &codeError{exitFindings, fmt.Errorf("%s: %w", r.Path, err)}
		}
		return err
	}, nil
}
