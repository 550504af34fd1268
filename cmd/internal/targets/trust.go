package targets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
)

// Key is the flag --sign-key.
type Key struct {
	File string
	// Private is the key; nil without the flag. Load sets it.
	Private *sign.PrivateKey
}

func (k *Key) Bind(f *pflag.FlagSet) {
	f.StringVar(&k.File, "sign-key", "", "")
}

func (k *Key) Load(env *cli.Env) error {
	if k.File == "" {
		return nil
	}
	data, err := env.ReadFile(k.File)
	if err != nil {
		return cli.Usagef("--sign-key: %w", err)
	}
	if k.Private, err = sign.LoadPrivateKey(data); err != nil {
		return cli.Usagef("--sign-key %s %w", k.File, err)
	}
	return nil
}

// Verification is the flag --verify-key: whose signature is demanded of releases
// before they are used.
type Verification struct{ files []string }

func (v *Verification) Bind(f *pflag.FlagSet) {
	f.StringArrayVar(&v.files, "verify-key", nil, "")
}

// Keys returns the keys of the flag; none without it.
func (v *Verification) Keys(env *cli.Env) (keys []*sign.PublicKey, err error) {
	for _, name := range v.files {
		data, err := env.ReadFile(name)
		if err != nil {
			return nil, cli.Usagef("--verify-key: %w", err)
		}
		key, err := sign.LoadPublicKey(data)
		if err != nil {
			return nil, cli.Usagef("--verify-key %s %w", name, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Approve returns a release with the content that one of the keys signed; see
// sign.Verify. Its errors have the exit code of findings.
func Approve(
	ctx context.Context, env *cli.Env, keys []*sign.PublicKey, r *repo.Release, as ...layouts.Provider,
) (*repo.Release, error) {
	out, err := sign.Verify(ctx, r, as, keys...)
	switch {
	case err == nil:
		env.Detail("%s: the signature is good", r.Path)
	case ctx.Err() == nil:
		if errors.Is(err, fs.ErrNotExist) && (r.Provider == layouts.CertManager || slices.Contains(as, layouts.CertManager)) {
			err = fmt.Errorf("%w; its project does not sign it in this way: "+
				"mirror it by a run of its own, without --verify-key", err)
		}
		return nil, cli.Exit(cli.ExitFindings, fmt.Errorf("%s: %w", r.Path, err))
	}
	return out, err
}

// ApproveRepository puts approved releases in the place of all in a repository,
// and refuses what lies next to them and could be read as a release. The signature of a
// mirror approves all releases in it. Without keys, only what a mirror recorded counts.
func ApproveRepository(ctx context.Context, env *cli.Env, keys []*sign.PublicKey, r *repo.Repository) error {
	origin, signed, err := Recorded(r, keys)
	if err == nil && origin != nil && len(keys) == 0 {
		err = sumAll(ctx, r) // also what nothing else reads
	}
	if err != nil || len(keys) == 0 {
		return err
	}
	approve := func(release *repo.Release) (*repo.Release, error) {
		if !signed {
			return Approve(ctx, env, keys, release)
		}
		err := origin.Pin(release)
		if err == nil {
			release, err = publish.Whole(ctx, release, true)
		}
		return release, err
	}
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
	beside, err := approveBeside(ctx, env, r, approve)
	if err != nil {
		return err
	}
	problems = append(problems, beside...)
	if len(problems) > 0 {
		return cli.Exit(cli.ExitFindings, fmt.Errorf("%s holds files that no signature covers; remove them\n  %s", r.Path, strings.Join(problems, "\n  ")))
	}
	for _, provider := range r.Providers {
		for i, release := range provider.Releases {
			approved, err := approve(release)
			if err != nil {
				return err
			}
			provider.Releases[i] = approved
			if release.ComponentsFile != "" { // found by a look into files that could have changed
				approved.ComponentsFile = ""
				if err := approved.Identify(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sumAll compares the files of all releases with what a mirror recorded.
func sumAll(ctx context.Context, r *repo.Repository) error {
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			for _, a := range release.Artifacts {
				if _, err := a.Sum(ctx); err != nil {
					return fmt.Errorf("%w; run mirror verify, or mirror repair", err)
				}
			}
		}
	}
	return nil
}

// approveBeside checks what clusterctl reads in the root of a repository beside
// the providers: cert-manager, and files that stand in for those of releases. It
// returns what no signature covers, in words.
func approveBeside(
	ctx context.Context, env *cli.Env, r *repo.Repository, approve func(*repo.Release) (*repo.Release, error),
) (problems []string, err error) {
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
		} else if _, err := approve(release); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// ApproveTarget puts approved content in the place of that of a target.
func ApproveTarget(ctx context.Context, env *cli.Env, keys []*sign.PublicKey, t *Target) error {
	if t.parts != nil {
		for _, part := range t.parts {
			if err := ApproveTarget(ctx, env, keys, part); err != nil {
				return err
			}
		}
		return nil
	}
	if t.Wholes == nil {
		return ApproveRepository(ctx, env, keys, t.Repository)
	}
	for i, whole := range t.Wholes {
		as := phrase.List(t.Repository.Providers, func(p *repo.Provider) layouts.Provider { return p.Provider })
		approved, err := Approve(ctx, env, keys, whole, as...)
		if err != nil {
			return err
		}
		t.Wholes[i] = approved
		for _, provider := range t.Repository.Providers {
			for _, r := range provider.Releases {
				for j, f := range r.Artifacts {
					same := approved.Artifact(f.Name)
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

// Recorded makes releases in a folder that is a mirror, or a part of one, state what the
// mirror recorded, and refuses a difference. It returns the mirror, or nil, and whether one of
// the keys signed what it recorded.
func Recorded(r *repo.Repository, keys []*sign.PublicKey) (origin *mirror.Origin, signed bool, err error) {
	origin, err = mirror.OriginOf(r.Path)
	if origin == nil || err != nil {
		return nil, false, err
	}
	if signed, err = Signed(origin.Checksums, origin.Signature, keys); err != nil {
		return origin, false, cli.Exit(cli.ExitFindings, fmt.Errorf("%s: %w", r.Path, err))
	}
	origin.Signed = signed
	return origin, signed, origin.PinAll(r)
}

// Signed reports whether the checksums of a mirror have a signature by one of the
// keys, which then stands for those of all releases in it. Without a signature, or
// without keys, it is false; another signature is a *sign.SignatureError.
func Signed(sums, sig []byte, keys []*sign.PublicKey) (bool, error) {
	if len(keys) == 0 || sig == nil {
		return false, nil
	}
	if sign.Signer(sums, sig, keys) == nil {
		return false, &sign.SignatureError{Path: layouts.SignatureFile, Keys: keys}
	}
	return true, nil
}
