package sign_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func release(files ...string) *repo.Release {
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Path: "out"}
	for i := 0; i < len(files); i += 2 {
		put(r, files[i], []byte(files[i+1]))
	}
	return r
}

func put(r *repo.Release, name string, data []byte) {
	remove(r, name)
	r.Artifacts = append(r.Artifacts, repo.BytesArtifact(name, data))
	r.Sort()
}

func remove(r *repo.Release, name string) {
	r.Artifacts = slices.DeleteFunc(slices.Clone(r.Artifacts), func(a *repo.Artifact) bool { return a.Name == name })
}

func content(t testing.TB, r *repo.Release, name string) []byte {
	t.Helper()
	a := r.Artifact(name)
	if a == nil {
		t.Fatalf("there is no %s", name)
	}
	return given.Value(a.Bytes())(t)
}

func signed(t testing.TB, key string) (*repo.Release, *sign.PublicKey) {
	t.Helper()
	k, public := load(t, key)
	r := release("metadata.yaml", "m", "infrastructure-components.yaml", "c")
	return given.Value(sign.Release(t.Context(), r, k))(t), public
}

func names(r *repo.Release) string {
	return strings.Join(phrase.List(r.Artifacts, func(a *repo.Artifact) string { return a.Name }), " ")
}

func TestReleaseIsReproducible(t *testing.T) {
	for key := range pairs() {
		a, public := signed(t, key)
		b, _ := signed(t, key)
		k, _ := load(t, key)
		again := given.Value(sign.Release(t.Context(), a, k))(t)
		const want = "SHA256SUMS SHA256SUMS.sig infrastructure-components.yaml metadata.yaml"
		for _, r := range []*repo.Release{a, b, again} {
			if names(r) != want {
				t.Errorf("%s: the files are %s", key, names(r))
			}
			if !strings.HasPrefix(string(content(t, r, layouts.ChecksumFile)), "# clusterctl-repo release: infrastructure-foo v1.0.0\n") {
				t.Errorf("%s: the checksums do not begin with the identity", key)
			}
			for _, f := range r.Artifacts {
				if !bytes.Equal(content(t, a, f.Name), content(t, r, f.Name)) {
					t.Errorf("%s: %s differs", key, f.Name)
				}
			}
			if _, err := sign.Verify(t.Context(), r, nil, public); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
}

func TestReleaseDoesNotChangeItsArgument(t *testing.T) {
	k, _ := load(t, "P-256")
	r := release("a", "1", "z", "2")
	before := names(r)
	given.Value(sign.Release(t.Context(), r, k))(t)
	if names(r) != before {
		t.Errorf("it has %s now", names(r))
	}
}

func TestReleaseDoesNotSignWhatWasChanged(t *testing.T) {
	k, _ := load(t, "P-256")
	r, _ := signed(t, "P-256")
	put(r, "metadata.yaml", []byte("M"))
	_, err := sign.Release(t.Context(), r, k)
	if _, ok := errors.AsType[*repo.ChecksumError](err); !ok {
		t.Errorf("got %v, want a ChecksumError", err)
	}
}

func TestVerify(t *testing.T) {
	ours, public := signed(t, "P-256")
	theirs, other := signed(t, "Ed25519")
	var checksum *repo.ChecksumError
	var signature *sign.SignatureError
	resum := func(t *testing.T, r *repo.Release) { // as one without the key can
		remove(r, layouts.SignatureFile)
		put(r, layouts.ChecksumFile, given.Value(repo.Checksums(t.Context(), r))(t))
		put(r, layouts.SignatureFile, content(t, ours, layouts.SignatureFile))
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, r *repo.Release)
		keys   []*sign.PublicKey
		is     error // errors.Is
		as     any   // errors.As
		want   string
	}{
		"sound":              {},
		"one of the keys":    {keys: []*sign.PublicKey{other, public}},
		"no key":             {keys: []*sign.PublicKey{}, want: "the key to verify with is missing"},
		"other key":          {keys: []*sign.PublicKey{other}, as: &signature, want: "SHA256SUMS.sig does not sign SHA256SUMS with the Ed25519 key"},
		"not signed":         {change: func(_ *testing.T, r *repo.Release) { remove(r, layouts.SignatureFile) }, is: fs.ErrNotExist, want: "is not signed: it has no SHA256SUMS.sig"},
		"no checksums":       {change: func(_ *testing.T, r *repo.Release) { remove(r, layouts.ChecksumFile) }, is: fs.ErrNotExist, want: "nothing in it can be signed"},
		"changed file":       {change: func(_ *testing.T, r *repo.Release) { put(r, "metadata.yaml", []byte("M")) }, as: &checksum, want: "metadata.yaml has the checksum"},
		"removed file":       {change: func(_ *testing.T, r *repo.Release) { remove(r, "metadata.yaml") }, as: &checksum, want: "metadata.yaml is missing"},
		"added file":         {change: func(_ *testing.T, r *repo.Release) { put(r, "evil.yaml", nil) }, as: &checksum, want: "evil.yaml has no line"},
		"renamed file":       {change: func(_ *testing.T, r *repo.Release) { remove(r, "metadata.yaml"); put(r, "Metadata.yaml", []byte("m")) }, as: &checksum, want: "Metadata.yaml has no line"},
		"changed and summed": {change: func(t *testing.T, r *repo.Release) { put(r, "metadata.yaml", []byte("M")); resum(t, r) }, as: &signature},
		"added and summed":   {change: func(t *testing.T, r *repo.Release) { put(r, "evil.yaml", nil); resum(t, r) }, as: &signature},
		"line added": {change: func(t *testing.T, r *repo.Release) {
			put(r, layouts.ChecksumFile, append(content(t, r, layouts.ChecksumFile), '\n'))
		}, as: &signature},
		"empty checksums": {change: func(_ *testing.T, r *repo.Release) { put(r, layouts.ChecksumFile, nil) }, as: &signature},
		"empty signature": {change: func(_ *testing.T, r *repo.Release) { put(r, layouts.SignatureFile, nil) }, as: &signature},
		"no base64":       {change: func(_ *testing.T, r *repo.Release) { put(r, layouts.SignatureFile, []byte("!")) }, as: &signature},
		"endless":         {change: func(_ *testing.T, r *repo.Release) { put(r, layouts.SignatureFile, make([]byte, 1<<20)) }, want: "no signature has more than"},
		"other signature": {change: func(t *testing.T, r *repo.Release) {
			put(r, layouts.SignatureFile, content(t, theirs, layouts.SignatureFile))
		}, as: &signature},
		"other release": {change: func(t *testing.T, r *repo.Release) {
			put(r, layouts.ChecksumFile, content(t, theirs, layouts.ChecksumFile))
			put(r, layouts.SignatureFile, content(t, theirs, layouts.SignatureFile))
		}, as: &signature},
		"line break": {change: func(t *testing.T, r *repo.Release) {
			put(r, layouts.SignatureFile, append(content(t, r, layouts.SignatureFile), '\n'))
		}},
		"raw signature": {change: func(t *testing.T, r *repo.Release) {
			put(r, layouts.SignatureFile, given.Value(base64.StdEncoding.DecodeString(string(content(t, r, layouts.SignatureFile))))(t))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := *ours
			if tc.change != nil {
				tc.change(t, &r)
			}
			if tc.keys == nil {
				tc.keys = []*sign.PublicKey{public}
			}
			_, err := sign.Verify(t.Context(), &r, nil, tc.keys...)
			switch {
			case tc.is == nil && tc.as == nil && tc.want == "":
				if err != nil {
					t.Error(err)
				}
				return
			case err == nil:
				t.Fatal("it was accepted")
			case tc.is != nil && !errors.Is(err, tc.is), tc.as != nil && !errors.As(err, tc.as), !strings.Contains(err.Error(), tc.want):
				t.Errorf("got %T %v", err, err)
			}
		})
	}
}

func TestVerifyTakesWhatCosignSigned(t *testing.T) {
	public := given.Value(sign.LoadPublicKey(given.Value(os.ReadFile("testdata/cosign.pub"))(t)))(t)
	r := release()
	put(r, layouts.ChecksumFile, []byte("hello\n"))
	put(r, layouts.SignatureFile, given.Value(os.ReadFile("testdata/hello.sig"))(t))
	_, err := sign.Verify(t.Context(), r, nil, public)
	if _, ok := errors.AsType[*repo.ChecksumError](err); !ok { // only that hello is no checksum
		t.Errorf("got %v", err)
	}
}

// What cosign signs with its larger keys and other modes, done by hand.
func TestVerifyTakesOtherHashes(t *testing.T) {
	message := []byte("hello\n")
	for key, h := range map[string]crypto.Hash{"P-384": crypto.SHA384, "P-521": crypto.SHA512, "Ed25519": crypto.SHA512} {
		block, _ := pem.Decode(pairs()[key].private)
		k := given.Value(x509.ParsePKCS8PrivateKey(block.Bytes))(t).(crypto.Signer)
		d := h.New()
		d.Write(message)
		sig := given.Value(k.Sign(nil, d.Sum(nil), h))(t)
		if _, public := load(t, key); !public.Verify(message, sig) {
			t.Errorf("%s with %s is refused", key, h)
		}
	}
}

func TestVerifyStopsWithItsContext(t *testing.T) {
	r, public := signed(t, "P-256")
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := sign.Verify(ctx, r, nil, public); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	k, _ := load(t, "P-256")
	if _, err := sign.Release(ctx, r, k); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	good, public := signed(f, "P-256")
	sums, sig := content(f, good, layouts.ChecksumFile), content(f, good, layouts.SignatureFile)
	f.Add(sums, sig)
	f.Add([]byte(""), []byte("MAA="))
	f.Add(sums, []byte("MAYCAQECAQE="))
	f.Fuzz(func(t *testing.T, newSums, newSig []byte) {
		r := *good
		put(&r, layouts.ChecksumFile, newSums)
		put(&r, layouts.SignatureFile, newSig)
		_, err := sign.Verify(t.Context(), &r, nil, public)
		if err == nil && !bytes.Equal(newSums, sums) {
			t.Errorf("accepted %q", newSums)
		}
	})
}

// byHand signs as cosign does, which knows nothing of identities.
func byHand(t *testing.T, r *repo.Release, k *sign.PrivateKey) {
	t.Helper()
	remove(r, layouts.SignatureFile)
	remove(r, layouts.ChecksumFile)
	sums := given.Value(repo.Checksums(t.Context(), r))(t)
	put(r, layouts.ChecksumFile, sums)
	put(r, layouts.SignatureFile, given.Value(k.Sign(sums))(t))
}

func TestVerifyDemandsTheIdentity(t *testing.T) {
	k, public := load(t, "P-256")
	bare := func() *repo.Release {
		return given.Value(sign.Release(t.Context(), release("metadata.yaml", "m", "infrastructure-components.yaml", "c"), k))(t)
	}
	core := layouts.Provider{Type: layouts.Core, Name: "cluster-api"}
	kubeadm := layouts.Provider{Type: layouts.Bootstrap, Name: "kubeadm"}
	for name, tc := range map[string]struct {
		make func() *repo.Release
		as   []layouts.Provider
		want string // empty if it is accepted
	}{
		"as signed":     {bare, nil, ""},
		"used as it is": {bare, []layouts.Provider{{Type: layouts.Infrastructure, Name: "foo"}}, ""},
		"used as other": {bare, []layouts.Provider{core}, "the signature is for infrastructure-foo v1.0.0, but this is cluster-api v1.0.0"},
		"other version": {func() *repo.Release { r := bare(); r.Version = "v1.0.1"; return r }, nil, "the signature is for infrastructure-foo v1.0.0, but this is infrastructure-foo v1.0.1"},
		"equal version": {func() *repo.Release { r := bare(); r.Version = "1.0.0"; return r }, nil, "but this is infrastructure-foo 1.0.0"},
		"other name":    {func() *repo.Release { r := bare(); r.Provider.Name = "bar"; return r }, nil, "but this is infrastructure-bar v1.0.0"},
		"other type":    {func() *repo.Release { r := bare(); r.Provider.Type = layouts.Bootstrap; return r }, nil, "but this is bootstrap-foo v1.0.0"},
		"no name":       {func() *repo.Release { r := bare(); r.Provider.Name = ""; return r }, nil, "but this is infrastructure- v1.0.0"},
		"shared place":  {func() *repo.Release { r := bare(); r.Provider = layouts.Provider{}; return r }, nil, ""},
		"without identity": {func() *repo.Release { r := bare(); byHand(t, r, k); return r }, nil,
			"covers the files, but not which provider and version they are"},
		"several providers": {func() *repo.Release {
			r := release("metadata.yaml", "m")
			r.Provider = layouts.Provider{}
			return given.Value(sign.Release(t.Context(), r, k, kubeadm, core))(t)
		}, nil, ""},
		"one of several": {func() *repo.Release {
			r := release("metadata.yaml", "m")
			r.Provider = layouts.Provider{}
			r = given.Value(sign.Release(t.Context(), r, k, kubeadm, core))(t)
			r.Provider = core
			return r
		}, nil, "the signature is for bootstrap-kubeadm v1.0.0, cluster-api v1.0.0, but this is cluster-api v1.0.0"},
		"a link": {func() *repo.Release { r := bare(); r.Artifacts[2].Link = true; return r }, nil, "is a symbolic link"},
		"an odd entry": {func() *repo.Release {
			r := bare()
			r.Oddities = []repo.Oddity{{Kind: repo.OddHidden, Path: "out/.x", Why: "is hidden"}}
			return r
		}, nil, "out/.x is hidden"},
		"not all listed": {func() *repo.Release { r := bare(); r.Incomplete = "cannot be listed"; return r }, nil, "out cannot be listed"},
		"two cases": {func() *repo.Release {
			return given.Value(sign.Release(t.Context(), release("metadata.yaml", "m", "Metadata.yaml", "M"), k))(t)
		}, nil, "the same name where case does not matter"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sign.Verify(t.Context(), tc.make(), tc.as, public)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestReleaseDoesNotSignWhatContradictsIt(t *testing.T) {
	k, _ := load(t, "P-256")
	bare := given.Value(sign.Release(t.Context(), release("metadata.yaml", "m"), k))(t)
	bare.Version = "v1.0.5"
	if _, err := sign.Release(t.Context(), bare, k); err == nil || !strings.Contains(err.Error(), "the signature is for infrastructure-foo v1.0.0, but this is infrastructure-foo v1.0.5") {
		t.Errorf("another identity: %v", err)
	}
	nameless := release("metadata.yaml", "m")
	nameless.Provider = layouts.Provider{}
	if _, err := sign.Release(t.Context(), nameless, k); err == nil || !strings.Contains(err.Error(), "its provider is unknown") {
		t.Errorf("no identity: %v", err)
	}
}

// What is read after a release was signed or verified is what was signed or verified, or an error.
func TestVerifiedContentIsPinned(t *testing.T) {
	k, public := load(t, "P-256")
	good, more := map[string]string{}, ""
	changing := func(r *repo.Release) *repo.Release {
		more = ""
		for i, a := range r.Artifacts {
			text := string(given.Value(a.Bytes())(t))
			good[a.Name] = text
			r.Artifacts[i] = repo.NewArtifact(a.Name, a.Path, a.Size, func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(text[len(more):] + more)), nil
			})
		}
		return r
	}
	check := func(what string, r *repo.Release) {
		more = "!"
		for _, a := range r.Artifacts {
			if data, err := a.Bytes(); err == nil && string(data) != good[a.Name] {
				t.Errorf("%s: %s reads %q after the file changed", what, a.Name, data)
			}
		}
	}
	r := given.Value(sign.Release(t.Context(), changing(release("metadata.yaml", "m")), k))(t)
	for _, name := range []string{layouts.ChecksumFile, layouts.SignatureFile} {
		good[name] = string(content(t, r, name))
	}
	check("signed", r)
	more = ""
	check("verified", given.Value(sign.Verify(t.Context(), changing(r), nil, public))(t))
}
