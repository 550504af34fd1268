package targets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
)

// password is the variable of cosign for the password of a key.
const password = "COSIGN_PASSWORD"

// Key is the flag --sign-key.
type Key struct {
	File string
	// Private is the key; nil without the flag. Load sets it.
	Private *sign.PrivateKey
}

// Bind adds the flag.
func (k *Key) Bind(f *pflag.FlagSet) {
	f.StringVar(&k.File, "sign-key", "", "")
}

// Load reads the key.
func (k *Key) Load(env *cli.Env) error {
	if k.File == "" {
		return nil
	}
	data, err := env.ReadFile(k.File)
	if err != nil {
		return cli.Usagef("--sign-key: %w", err)
	}
	k.Private, err = sign.LoadPrivateKey(data, func() ([]byte, error) {
		text, ok := env.LookupEnv(password)
		if !ok {
			return nil, errors.New("the key has a password; set " + password)
		}
		return []byte(text), nil
	})
	if err != nil {
		return cli.Usagef("--sign-key %s %w", k.File, err)
	}
	return nil
}

// Verification is what is demanded of releases before they are used: the flags
// --verify-key, --policy and --require-provenance.
type Verification struct {
	files             []string
	policy            string
	requireProvenance bool
}

// Bind adds the flags.
func (v *Verification) Bind(f *pflag.FlagSet) {
	f.StringArrayVar(&v.files, "verify-key", nil, "")
	f.StringVar(&v.policy, "policy", "", "")
	f.BoolVar(&v.requireProvenance, "require-provenance", false, "")
}

// Given reports whether anything is demanded.
func (v *Verification) Given() bool {
	return v.policy != "" || len(v.files) > 0 || v.requireProvenance
}

// Demands returns the policy of the flags; nil if nothing is demanded.
func (v *Verification) Demands(env *cli.Env) (*sign.Policy, error) {
	p := &sign.Policy{}
	if v.policy != "" {
		data, err := env.ReadFile(v.policy)
		if err != nil {
			return nil, cli.Usagef("--policy: %w", err)
		}
		near := filepath.Dir(env.Path(v.policy)) // key files lie beside the policy
		if p, err = sign.DecodePolicy(v.policy, data, func(file string) ([]byte, error) {
			if !filepath.IsAbs(file) {
				file = filepath.Join(near, filepath.FromSlash(file))
			}
			return env.ReadFile(file)
		}); err != nil {
			return nil, cli.UsageError(err)
		}
	}
	for _, name := range v.files {
		data, err := env.ReadFile(name)
		if err != nil {
			return nil, cli.Usagef("--verify-key: %w", err)
		}
		key, err := sign.LoadPublicKey(data)
		if err != nil {
			return nil, cli.Usagef("--verify-key %s %w", name, err)
		}
		p.Keys = append(p.Keys, sign.TrustedKey{PublicKey: key})
	}
	if v.policy == "" && len(p.Keys) == 0 {
		if v.requireProvenance {
			return nil, cli.Usagef("--require-provenance needs --verify-key or --policy: without a signature, the statement could say anything")
		}
		return nil, nil
	}
	p.RequireProvenance = p.RequireProvenance || v.requireProvenance
	return p, nil
}

// Approve calls a policy. Its errors have the exit code of findings.
func Approve(ctx context.Context, env *cli.Env, p *sign.Policy, r *repo.Release, as ...layouts.Provider) (*sign.Approved, error) {
	approved, err := p.Check(ctx, r, as...)
	switch {
	case err == nil && approved.Reason != "":
		env.Say("info: %s %s is not signed, which the policy permits: %s", strings.Join(approved.Labels, ", "), r.Version, approved.Reason)
	case err == nil:
		env.Detail("%s: the signature is good", r.Path)
	case ctx.Err() == nil:
		return nil, cli.Exit(cli.ExitFindings, fmt.Errorf("%s: %w", r.Path, err))
	}
	return approved, err
}

// ApproveRepository puts approved releases in the place of all in a repository,
// and refuses what lies next to them and could be read as a release.
func ApproveRepository(ctx context.Context, env *cli.Env, p *sign.Policy, r *repo.Repository) error {
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
	beside, err := approveBeside(ctx, env, p, r)
	if err != nil {
		return err
	}
	problems = append(problems, beside...)
	if len(problems) > 0 {
		return cli.Exit(cli.ExitFindings, fmt.Errorf("%s holds files that no signature covers; remove them\n  %s", r.Path, strings.Join(problems, "\n  ")))
	}
	for _, provider := range r.Providers {
		for i, release := range provider.Releases {
			approved, err := Approve(ctx, env, p, release)
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
func approveBeside(ctx context.Context, env *cli.Env, p *sign.Policy, r *repo.Repository) (problems []string, err error) {
	root := env.Path(r.Path)
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
		} else if _, err := Approve(ctx, env, p, release); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// ApproveTarget puts approved content in the place of that of a target.
func ApproveTarget(ctx context.Context, env *cli.Env, p *sign.Policy, t *Target) error {
	if t.Wholes == nil {
		return ApproveRepository(ctx, env, p, t.Repository)
	}
	for i, whole := range t.Wholes {
		as := phrase.List(t.Repository.Providers, func(p *repo.Provider) layouts.Provider { return p.Provider })
		approved, err := Approve(ctx, env, p, whole, as...)
		if err != nil {
			return err
		}
		t.Wholes[i] = approved.Release
		for _, provider := range t.Repository.Providers {
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

// Signed reports whether the checksums of a mirror are signed with a key that is
// trusted for every provider. That replaces the signatures of the releases, but not
// their provenance. Without a signature, or without demands, it is false; a signature
// that none of the keys made is a *sign.SignatureError.
func (v *Verification) Signed(env *cli.Env, sums, sig []byte) (bool, error) {
	demands, err := v.Demands(env)
	if err != nil || demands == nil || sig == nil {
		return false, err
	}
	var all, public []*sign.PublicKey
	for _, k := range demands.Keys {
		if all = append(all, k.PublicKey); len(k.Providers) == 0 {
			public = append(public, k.PublicKey)
		}
	}
	if sign.Signer(sums, sig, all) == nil {
		return false, &sign.SignatureError{Path: layouts.SignatureFile, Of: layouts.ChecksumFile, Keys: all}
	}
	return !demands.RequireProvenance && sign.Signer(sums, sig, public) != nil, nil
}
