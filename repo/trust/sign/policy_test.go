package sign_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/provenance"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// trusted returns a key and the PEM form of its public half.
func trusted() (*sign.PrivateKey, []byte) {
	k := sure(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: sure(x509.MarshalPKCS8PrivateKey(k))})
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: sure(x509.MarshalPKIXPublicKey(&k.PublicKey))})
	return sure(sign.LoadPrivateKey(private, nil)), public
}

var foo = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}

func ofProvider(p layouts.Provider) *repo.Release {
	return &repo.Release{Provider: p, Version: "v1.0.0", Path: "out", Artifacts: []*repo.Artifact{repo.BytesArtifact("metadata.yaml", []byte("m"))}}
}

const policyHead = "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: TrustPolicy\n"

func TestCheck(t *testing.T) {
	ours, oursPEM := trusted()
	theirs, theirsPEM := trusted()
	certs, certsPEM := trusted()
	strangers, _ := trusted()
	read := func(file string) ([]byte, error) {
		switch file {
		case "ours.pub":
			return oursPEM, nil
		case "theirs.pub":
			return theirsPEM, nil
		case "certs.pub":
			return certsPEM, nil
		}
		return nil, fs.ErrNotExist
	}
	signed := func(r *repo.Release, k *sign.PrivateKey, in ...layouts.Provider) *repo.Release {
		return sure(sign.Release(t.Context(), r, k, in...))
	}
	// broken is a signed release of which one file was changed, or removed if it is
	// the list of checksums.
	broken := func(file string) *repo.Release {
		r := signed(ofProvider(layouts.CertManager), certs)
		for i, a := range r.Artifacts {
			if a.Name == file {
				r.Artifacts[i] = repo.BytesArtifact(file, []byte("changed"))
			}
		}
		if file == layouts.ChecksumFile {
			r.Artifacts = slices.DeleteFunc(r.Artifacts, func(a *repo.Artifact) bool { return a.Name == file })
		}
		return r
	}
	shared := layouts.Provider{}
	bar := layouts.Provider{Type: layouts.Infrastructure, Name: "bar"}
	stated := func(b provenance.Build) *repo.Release {
		return signed(sure(provenance.Add(t.Context(), ofProvider(foo), b)), ours)
	}
	const commit = "0123456789012345678901234567890123456789"
	clean := provenance.Build{Source: "https://example.com/foo", Commit: commit}
	loose := clean
	loose.Loose = map[string]repo.Sum{"config/x.yaml": {}}
	byKey := policyHead + "keys:\n- {file: ours.pub, providers: [infrastructure-foo]}\n- {file: theirs.pub, providers: ['bootstrap-*']}\n"
	exception := policyHead + "unsigned:\n- {provider: cert-manager, versions: [v1.0.0], reason: checked by hand}\n"
	both := byKey + "- {file: certs.pub, providers: [cert-manager]}\n" + strings.TrimPrefix(exception, policyHead)
	strict := byKey + "requireProvenance: true\n"
	for name, tc := range map[string]struct {
		policy string
		r      *repo.Release
		as     []layouts.Provider
		want   string // of the error; empty if it is approved
		reason string
	}{
		"key of the provider":       {policy: byKey, r: signed(ofProvider(foo), ours)},
		"key of another provider":   {policy: byKey, r: signed(ofProvider(foo), theirs), want: "which the policy does not trust for infrastructure-foo"},
		"unsigned":                  {policy: byKey, r: ofProvider(foo), want: "nothing in it can be signed"},
		"no key":                    {policy: policyHead, r: signed(ofProvider(foo), ours), want: "no key is trusted to sign infrastructure-foo v1.0.0"},
		"key for all":               {policy: policyHead + "keys: [{file: theirs.pub}]\n", r: signed(ofProvider(foo), theirs)},
		"used as signed":            {policy: byKey, r: signed(ofProvider(shared), ours, foo), as: []layouts.Provider{foo}},
		"used as another":           {policy: byKey, r: signed(ofProvider(shared), ours, foo), as: []layouts.Provider{bar}, want: "out is used as infrastructure-bar, but its signature is for infrastructure-foo"},
		"one of two not trusted":    {policy: byKey, r: signed(ofProvider(shared), ours, foo, bar), want: "does not trust for infrastructure-bar"},
		"exception":                 {policy: exception, r: ofProvider(layouts.CertManager), reason: "checked by hand"},
		"exception, other version":  {policy: strings.Replace(exception, "v1.0.0", "v1.0.1", 1), r: ofProvider(layouts.CertManager), want: "no key is trusted"},
		"exception, other provider": {policy: exception, r: ofProvider(foo), want: "no key is trusted"},
		"half an exception":         {policy: exception, r: ofProvider(shared), as: []layouts.Provider{layouts.CertManager, foo}, want: "no key is trusted"},
		"exception, signed":         {policy: both, r: signed(ofProvider(layouts.CertManager), certs)},
		"exception, another key":    {policy: both, r: signed(ofProvider(layouts.CertManager), ours), want: "does not trust for cert-manager"},
		"exception, unknown key":    {policy: both, r: signed(ofProvider(layouts.CertManager), strangers), want: "does not sign SHA256SUMS"},
		"exception, signed, no key": {policy: exception, r: signed(ofProvider(layouts.CertManager), certs), want: "it is not unsigned"},
		"exception, garbage":        {policy: both, r: broken(layouts.SignatureFile), want: "does not sign SHA256SUMS"},
		"exception, no checksums":   {policy: both, r: broken(layouts.ChecksumFile), want: "nothing in it can be signed"},
		"exception, changed file":   {policy: both, r: broken("metadata.yaml"), want: "metadata.yaml"},
		"cert-manager":              {policy: byKey, r: ofProvider(layouts.CertManager), want: "permit it under unsigned in a file of --policy"},
		"statement":                 {policy: strict, r: stated(clean)},
		"no statement":              {policy: strict, r: signed(ofProvider(foo), ours), want: "has no provenance.intoto.json, which is required"},
		"no commit":                 {policy: strict, r: stated(provenance.Build{Source: clean.Source}), want: "names no source with its commit"},
		"no source":                 {policy: strict, r: stated(provenance.Build{Commit: commit}), want: "names no source with its commit"},
		"loose input":               {policy: strict, r: stated(loose), want: "does not have all inputs of the release: config/x.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			p := given.Value(sign.DecodePolicy("policy.yaml", []byte(tc.policy), read))(t)
			got, err := p.Check(t.Context(), tc.r, tc.as...)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("got %v, want %q", err, tc.want)
				}
				return
			}
			given.NoError(t, err)
			if got.Reason != tc.reason {
				t.Errorf("reason %q", got.Reason)
			}
			for _, a := range got.Release.Artifacts {
				if _, ok := a.Stated(); !ok && !a.Kind().Attests() {
					t.Errorf("%s is not pinned", a.Name)
				}
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	read := func(string) ([]byte, error) { return nil, errors.New("no such key") }
	for text, want := range map[string]string{
		"": "the file is empty",
		"apiVersion: clusterctl-repo.dev/v1alpha1\n":                              `needs the field "kind"`,
		"apiVersion: v2\nkind: TrustPolicy\n":                                     `policy.yaml:1:13: apiVersion is "v2"`,
		policyHead + "key: []\n":                                                  `policy.yaml:3:1: unknown field "key" in the policy`,
		policyHead + "keys: []\n":                                                 "keys is empty",
		policyHead + "keys: [{file: x}]\n":                                        "policy.yaml:3:15: no such key",
		policyHead + "keys: [{providers: [x]}]\n":                                 `an entry of keys needs the field "file"`,
		policyHead + "unsigned: [{provider: x}]\n":                                `an entry of unsigned needs the field "reason"`,
		policyHead + "unsigned: [{provider: x, reason: ''}]\n":                    "reason must be a non-empty string",
		policyHead + "unsigned: [{provider: '[', reason: x}]\n":                   "not a label pattern",
		policyHead + "unsigned: [{provider: x, reason: y, versions: [latest]}]\n": "versions: ",
		policyHead + "requireProvenance: yes please\n":                            "must be true or false",
		policyHead + "kind: TrustPolicy\n":                                        `"kind"`,
		policyHead + "---\na: b\n":                                                "want one document, got 2",
		"[]":                                                                      "the policy must be a mapping",
	} {
		if _, err := sign.DecodePolicy("policy.yaml", []byte(text), read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
