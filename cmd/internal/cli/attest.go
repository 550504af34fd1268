package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/policy"
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

// add returns a release, which was made from those of its providers, with its
// statement and signature.
func (t *attestation) add(ctx context.Context, r *repo.Release, from []*repo.Release) (*repo.Release, error) {
	var err error
	var in []layouts.Provider
	for _, one := range from {
		in = append(in, one.Provider)
	}
	if t.build != nil {
		if r, err = provenance.Add(ctx, r, *t.build); err != nil {
			return nil, err
		}
	}
	if t.key != nil {
		return sign.Release(ctx, r, t.key, in...)
	}
	return r, nil
}

// describe says how a source tree was built from its inputs. What git does not
// tell is left out, and so is the commit if something in the tree was changed
// since. Paths of this machine are left out.
func (a *app) describe(ctx context.Context, s *source, dir string, inputs []string) (*provenance.Build, error) {
	b := &provenance.Build{ToolVersion: programVersion(), Images: map[string]string{}, Options: map[string]string{}, Loose: map[string]repo.Sum{}}
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
	dir = a.path(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as git names it
	}
	public := func(name string) string { // what others may know of a path
		if rel, err := filepath.Rel(dir, a.path(name)); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
		return filepath.Base(name)
	}
	if s.config != "" {
		b.Options["config"] = public(s.config)
	}
	b.Source, b.Commit = a.origin(ctx, dir)
	r, err := git.Open(ctx, dir)
	if err != nil {
		return b, ctx.Err()
	}
	// Files that git does not track may be output, so only those that were read
	// count.
	if changed, err := r.Changed(ctx); err != nil || changed {
		b.Commit = ""
	}
	var paths []string
	for _, name := range inputs {
		if strings.HasPrefix(name, ".git/") {
			continue // git's own, from which only the name of the remote was taken
		}
		if s.config == "" || a.short(s.config) != name {
			name = filepath.Join(dir, filepath.FromSlash(name))
		}
		paths = append(paths, a.path(name))
	}
	loose, err := r.Loose(ctx, paths)
	if err != nil {
		return nil, fmt.Errorf("find out which inputs git has: %w", err)
	}
	for _, name := range loose {
		data, err := a.readFile(name)
		if err != nil {
			return nil, err
		}
		b.Loose[public(name)] = sha256.Sum256(data)
	}
	return b, nil
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

// verification is what is demanded of releases before they are used: the flags
// --verify-key, --policy and --require-provenance.
type verification struct {
	files             []string
	policy            string
	requireProvenance bool
}

func (v *verification) flag(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&v.files, "verify-key", nil, "demand that releases are signed with the public key, or certificate, in this `file`; with several, by one of them")
	f.StringVar(&v.policy, "policy", "", "demand what this trust policy (`file`) says: the keys of each provider, and what may be unsigned and why")
	f.BoolVar(&v.requireProvenance, "require-provenance", false, "with --verify-key or --policy: also demand "+layouts.ProvenanceFile+", with a source commit that has every input")
}

// given reports whether anything is demanded.
func (v *verification) given() bool {
	return v.policy != "" || len(v.files) > 0 || v.requireProvenance
}

// demands returns the policy of the flags; nil if nothing is demanded.
func (v *verification) demands(a *app) (*policy.Policy, error) {
	p := &policy.Policy{}
	if v.policy != "" {
		data, err := a.readFile(v.policy)
		if err != nil {
			return nil, usagef("--policy: %w", err)
		}
		near := filepath.Dir(a.path(v.policy)) // key files lie beside the policy
		if p, err = policy.Decode(v.policy, data, func(file string) ([]byte, error) {
			if !filepath.IsAbs(file) {
				file = filepath.Join(near, filepath.FromSlash(file))
			}
			return a.readFile(file)
		}); err != nil {
			return nil, usage(err)
		}
	}
	for _, name := range v.files {
		data, err := a.readFile(name)
		if err != nil {
			return nil, usagef("--verify-key: %w", err)
		}
		key, err := sign.LoadPublicKey(data)
		if err != nil {
			return nil, usagef("--verify-key %s %w", name, err)
		}
		p.Keys = append(p.Keys, policy.Key{PublicKey: key})
	}
	if v.policy == "" && len(p.Keys) == 0 {
		if v.requireProvenance {
			return nil, usagef("--require-provenance needs --verify-key or --policy: without a signature, the statement could say anything")
		}
		return nil, nil
	}
	p.RequireProvenance = p.RequireProvenance || v.requireProvenance
	return p, nil
}

// approve calls a policy. Its errors have the exit code of findings.
func (a *app) approve(ctx context.Context, p *policy.Policy, r *repo.Release, as ...layouts.Provider) (*policy.Approved, error) {
	approved, err := p.Check(ctx, r, as...)
	switch {
	case err == nil && approved.Reason != "":
		a.say("note: %s %s is not signed, which the policy permits: %s", strings.Join(approved.Labels, ", "), r.Version, approved.Reason)
	case err == nil:
		a.detail("%s: the signature is good", r.Path)
	case ctx.Err() == nil:
		return nil, &codeError{exitFindings, fmt.Errorf("%s: %w", r.Path, err)}
	}
	return approved, err
}

// approveRepository puts approved releases in the place of all in a repository,
// and refuses what lies beside them and could be read as a release.
func (a *app) approveRepository(ctx context.Context, p *policy.Policy, r *repo.Repository) error {
	var problems []string
	odd := func(list []repo.Oddity, harmless ...repo.OddityKind) {
		for _, o := range list {
			if !slices.Contains(harmless, o.Kind) {
				problems = append(problems, o.Path+" "+o.Why)
			}
		}
	}
	odd(r.Oddities, repo.OddHidden, repo.OddEntry)
	for _, provider := range r.Providers {
		odd(provider.Oddities, repo.OddHidden)
	}
	beside, err := a.approveBeside(ctx, p, r)
	if err != nil {
		return err
	}
	problems = append(problems, beside...)
	if len(problems) > 0 {
		return &codeError{exitFindings, fmt.Errorf("%s holds what no signature covers; remove it\n  %s", r.Path, strings.Join(problems, "\n  "))}
	}
	for _, provider := range r.Providers {
		for i, release := range provider.Releases {
			approved, err := a.approve(ctx, p, release)
			if err != nil {
				return err
			}
			provider.Releases[i] = approved.Release
			if release.ComponentsFile != "" { // found by a look into files that could have changed
				approved.Release.ComponentsFile = ""
				if err := approved.Release.Identify(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// approveBeside checks what clusterctl reads in the root of a repository beside
// the providers: cert-manager, and files that stand in for those of releases. It
// returns what no signature covers, in words.
func (a *app) approveBeside(ctx context.Context, p *policy.Policy, r *repo.Repository) (problems []string, err error) {
	root := a.path(r.Path)
	if left, err := os.ReadDir(filepath.Join(root, layouts.OverridesFolder)); err == nil && len(left) > 0 {
		problems = append(problems, filepath.Join(r.Path, layouts.OverridesFolder)+" holds files that clusterctl may read instead of those of releases")
	}
	label := layouts.CertManager.Label()
	if filepath.Base(r.Path) == label {
		return problems, nil
	}
	versions, err := os.ReadDir(filepath.Join(root, label))
	if err != nil {
		return problems, nil // there is none
	}
	for _, v := range versions {
		release, err := folder.OpenRelease(ctx, root, label+"/"+v.Name(), layouts.CertManager, v.Name())
		if err != nil {
			return nil, err
		}
		if v.Type()&os.ModeSymlink != 0 {
			problems = append(problems, release.Path+" is a symbolic link")
		} else if _, err := a.approve(ctx, p, release); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// approveTarget puts approved content in the place of that of a target.
func (a *app) approveTarget(ctx context.Context, p *policy.Policy, t *target) error {
	if t.wholes == nil {
		return a.approveRepository(ctx, p, t.repository)
	}
	for i, whole := range t.wholes {
		var as []layouts.Provider
		for _, provider := range t.repository.Providers {
			as = append(as, provider.Provider)
		}
		approved, err := a.approve(ctx, p, whole, as...)
		if err != nil {
			return err
		}
		t.wholes[i] = approved.Release
		for _, provider := range t.repository.Providers {
			for _, r := range provider.Releases {
				for j, f := range r.Artifacts {
					same := approved.Release.Artifact(f.Name)
					if same == nil {
						return fmt.Errorf("%s: the content changed while it was read", f.Path)
					}
					sum, _ := same.Stated()
					if r.Artifacts[j] = f.Stating(sum); f.Kind().Attests() {
						r.Artifacts[j] = same
					}
				}
			}
		}
	}
	return nil
}
