package sign_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// pair is a key in both halves, as PEM.
type pair struct{ private, public []byte }

// pairs returns a key of every kind, the same in all tests.
var pairs = sync.OnceValue(func() map[string]pair {
	out := map[string]pair{}
	add := func(name string, k crypto.Signer, err error) {
		if err != nil {
			panic(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			panic(err)
		}
		public, err := x509.MarshalPKIXPublicKey(k.Public())
		if err != nil {
			panic(err)
		}
		out[name] = pair{pemOf("PRIVATE KEY", private), pemOf("PUBLIC KEY", public)}
	}
	// The processes of a fuzz test need the same key.
	fixed, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{1}, 32))
	add("P-256", fixed, err)
	for name, c := range map[string]elliptic.Curve{"P-384": elliptic.P384(), "P-521": elliptic.P521()} {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		add(name, k, err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	add("RSA", r, err)
	_, e, err := ed25519.GenerateKey(rand.Reader)
	add("Ed25519", e, err)
	return out
})

func load(t testing.TB, name string) (*sign.PrivateKey, *sign.PublicKey) {
	t.Helper()
	p := pairs()[name]
	return given.Value(sign.LoadPrivateKey(p.private))(t), given.Value(sign.LoadPublicKey(p.public))(t)
}

func TestSignaturesAreReproducibleAndOfOneMessage(t *testing.T) {
	message := []byte("hello\n")
	for name := range pairs() {
		t.Run(name, func(t *testing.T) {
			k, public := load(t, name)
			sig := given.Value(k.Sign(message))(t)
			if again := given.Value(k.Sign(message))(t); !bytes.Equal(sig, again) {
				t.Error("a second signature differs")
			}
			if !public.Verify(message, sig) || !k.Public().Verify(message, sig) {
				t.Error("own signature is refused")
			}
			if public.String() != k.Public().String() {
				t.Errorf("%s and %s are one key", public, k.Public())
			}
			if public.Verify([]byte("hello"), sig) {
				t.Error("a signature of another message is accepted")
			}
			for i := range sig {
				bad := bytes.Clone(sig)
				bad[i] ^= 1
				if public.Verify(message, bad) {
					t.Errorf("a signature with another byte %d is accepted", i)
				}
			}
			for n := range sig {
				if public.Verify(message, sig[:n]) {
					t.Errorf("%d bytes of a signature are accepted", n)
				}
			}
			for other := range pairs() {
				if _, stranger := load(t, other); other != name && stranger.Verify(message, sig) {
					t.Errorf("the %s key accepts it", other)
				}
			}
		})
	}
}

// The vectors are those of RFC 6979, A.2.5 and A.2.6, for SHA-256 and the
// message "sample".
func TestECDSANonceIsThatOfRFC6979(t *testing.T) {
	for _, tc := range []struct {
		curve   elliptic.Curve
		x, r, s string
	}{
		{
			elliptic.P256(),
			"C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721",
			"EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
			"F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
		},
		{
			elliptic.P384(),
			"6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA47740787137D896D5724E4C70A825F872C9EA60D2EDF5",
			"21B13D1E013C7FA1392D03C5F99AF8B30C570C6F98D4EA8E354B63A21D3DAA33BDE1E888E63355D92FA2B3C36D8FB2CD",
			"F3AA443FB107745BF4BD77CB3891674632068A10CA67E3D45DB2266FA7D1FEEBEFDC63ECCD1AC42EC0CB8668A4FA0AB0",
		},
	} {
		raw := given.Value(hex.DecodeString(tc.x))(t)
		key := given.Value(ecdsa.ParseRawPrivateKey(tc.curve, raw))(t)
		k := given.Value(sign.LoadPrivateKey(pemOf("EC PRIVATE KEY", given.Value(x509.MarshalECPrivateKey(key))(t))))(t)
		sig := given.Value(k.Sign([]byte("sample")))(t)
		for _, want := range []string{tc.r, tc.s} {
			n, _ := new(big.Int).SetString(want, 16)
			if !bytes.Contains(sig, n.Bytes()) {
				t.Errorf("%s: the signature %X lacks %s", tc.curve.Params().Name, sig, want)
			}
		}
	}
}

// opensslKeys are the ways in which openssl makes keys, and how it signs and
// verifies with them; FILE, SIG and KEY stand for the files.
var opensslKeys = map[string]struct{ make, sign, verify string }{
	"P-256 SEC 1":  {"ecparam -name prime256v1 -genkey -noout", "dgst -sha256 -sign KEY -out SIG FILE", "dgst -sha256 -verify KEY -signature SIG FILE"},
	"with params":  {"ecparam -name prime256v1 -genkey", "dgst -sha256 -sign KEY -out SIG FILE", "dgst -sha256 -verify KEY -signature SIG FILE"},
	"P-384 PKCS 8": {"genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384", "dgst -sha256 -sign KEY -out SIG FILE", "dgst -sha256 -verify KEY -signature SIG FILE"},
	"P-521 own":    {"ecparam -name secp521r1 -genkey -noout", "dgst -sha512 -sign KEY -out SIG FILE", "dgst -sha256 -verify KEY -signature SIG FILE"},
	"RSA PKCS 1":   {"genrsa -traditional 2048", "dgst -sha256 -sign KEY -out SIG FILE", "dgst -sha256 -verify KEY -signature SIG FILE"},
	"RSA 3072":     {"genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072", "dgst -sha256 -sign KEY -out SIG FILE", "dgst -sha256 -verify KEY -signature SIG FILE"},
	"Ed25519":      {"genpkey -algorithm ed25519", "pkeyutl -sign -rawin -inkey KEY -in FILE -out SIG", "pkeyutl -verify -rawin -pubin -inkey KEY -in FILE -sigfile SIG"},
}

func TestOpenSSLAgrees(t *testing.T) {
	tool, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed; its opinion was not asked")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(t *testing.T, line string, args ...string) []byte {
		t.Helper()
		words := append(strings.Fields(line), args...)
		cmd := exec.Command(tool, words...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("openssl %s: %v\n%s", strings.Join(words, " "), err, out)
		}
		return out
	}
	write := func(t *testing.T, name string, data []byte) {
		t.Helper()
		given.NoError(t, os.WriteFile(at(name), data, 0o600))
	}
	message := []byte("hello\n")
	write(t, "FILE", message)
	for name, tc := range opensslKeys {
		t.Run(name, func(t *testing.T) {
			private := run(t, tc.make)
			write(t, "key", private)
			public := run(t, "pkey -in key -pubout")
			write(t, "pub", public)
			k := given.Value(sign.LoadPrivateKey(private))(t)
			p := given.Value(sign.LoadPublicKey(public))(t)
			if k.Public().String() != p.String() {
				t.Errorf("two names of one key: %s, %s", k.Public(), p)
			}
			write(t, "SIG", given.Value(k.Sign(message))(t))
			run(t, strings.ReplaceAll(tc.verify, "KEY", "pub"))
			run(t, strings.ReplaceAll(tc.sign, "KEY", "key"))
			if sig := given.Value(os.ReadFile(at("SIG")))(t); !p.Verify(message, sig) || p.Verify([]byte("other"), sig) {
				t.Error("openssl's signature is not judged as it should be")
			}
		})
	}
}

func TestLoadKeysRefuse(t *testing.T) {
	p := pairs()["P-256"]
	other := func(kind string, headers ...string) []byte {
		b := &pem.Block{Type: kind, Bytes: []byte("x"), Headers: map[string]string{}}
		for i := 0; i < len(headers); i += 2 {
			b.Headers[headers[i]] = headers[i+1]
		}
		return pem.EncodeToMemory(b)
	}
	p224 := given.Value(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))(t)
	short := given.Value(rsa.GenerateKey(rand.Reader, 1024))(t)
	for name, tc := range map[string]struct {
		data            []byte
		private, public string // what each loader says; empty if it takes the key
	}{
		"private key":      {p.private, "", "holds a private key"},
		"public key":       {p.public, "holds a public key", ""},
		"both":             {append(bytes.Clone(p.private), p.public...), "", "holds a private key"},
		"two public keys":  {append(bytes.Clone(p.public), pairs()["Ed25519"].public...), "holds a public key", "several public keys"},
		"nothing":          {nil, "no key in PEM form", "no key in PEM form"},
		"no PEM":           {[]byte("ssh-ed25519 AAAA"), "no key in PEM form", "no key in PEM form"},
		"DER":              {bytes.Repeat([]byte{0x30}, 28), "no key in PEM form", "no key in PEM form"},
		"cut":              {p.private[:len(p.private)-30], "no key in PEM form", "no key in PEM form"},
		"damaged":          {other("PRIVATE KEY"), "damaged PRIVATE KEY", "holds a private key"},
		"damaged public":   {other("PUBLIC KEY"), "holds a public key", "damaged PUBLIC KEY"},
		"certificate":      {other("CERTIFICATE"), "no key in PEM form", "openssl x509 -pubkey"},
		"cosign's own":     {other("ENCRYPTED SIGSTORE PRIVATE KEY"), "cosign sign-blob", "holds a private key"},
		"unknown":          {other("PGP MESSAGE"), "no key in PEM form", "no key in PEM form"},
		"unknown private":  {other("DSA PRIVATE KEY"), "damaged DSA PRIVATE KEY, or one of a different kind", "holds a private key"},
		"openssl password": {other("ENCRYPTED PRIVATE KEY"), "openssl pkey removes", "holds a private key"},
		"old password":     {other("EC PRIVATE KEY", "DEK-Info", "AES-128-CBC,00"), "openssl pkey removes", "holds a private key"},
		"ssh":              {other("OPENSSH PRIVATE KEY"), "ssh-keygen", "holds a private key"},
		"P-224":            {pemOf("EC PRIVATE KEY", given.Value(x509.MarshalECPrivateKey(p224))(t)), "a different kind", "holds a private key"},
		"P-224 public":     {pemOf("PUBLIC KEY", given.Value(x509.MarshalPKIXPublicKey(p224.Public()))(t)), "holds a public key", "different kind"},
		"short RSA":        {pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(short)), "a different kind", "holds a private key"},
		"short RSA public": {pemOf("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&short.PublicKey)), "holds a public key", "different kind"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sign.LoadPrivateKey(tc.data)
			if (err == nil) != (tc.private == "") || err != nil && !strings.Contains(err.Error(), tc.private) {
				t.Errorf("private: got %v, want %q", err, tc.private)
			}
			_, err = sign.LoadPublicKey(tc.data)
			if (err == nil) != (tc.public == "") || err != nil && !strings.Contains(err.Error(), tc.public) {
				t.Errorf("public: got %v, want %q", err, tc.public)
			}
		})
	}
}

// secrets are the spellings in which a private key could show.
func secrets(t *testing.T, private []byte) []string {
	t.Helper()
	block, _ := pem.Decode(private)
	var out []string
	for _, form := range []string{strings.ReplaceAll(string(private), "\n", ""), hex.EncodeToString(block.Bytes), fmt.Sprint(block.Bytes)} {
		const long = 24 // more than chance or a common prefix gives
		for i := 80; i+long < len(form)-30; i += long / 2 {
			out = append(out, form[i:i+long])
		}
	}
	return out
}

func TestNothingShowsThePrivateKey(t *testing.T) {
	for name, p := range pairs() {
		k, _ := load(t, name)
		said := []string{}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%10v"} {
			said = append(said, fmt.Sprintf(verb, k), fmt.Sprintf(verb, *k), fmt.Sprintf(verb, []any{k}))
		}
		block, _ := pem.Decode(p.private)
		for i := range block.Bytes {
			bad := bytes.Clone(block.Bytes)
			bad[i] ^= 0x55
			if _, err := sign.LoadPrivateKey(pemOf("PRIVATE KEY", bad)); err != nil {
				said = append(said, err.Error())
			}
			if _, err := sign.LoadPrivateKey(pemOf("EC PRIVATE KEY", block.Bytes[:i])); err != nil {
				said = append(said, err.Error())
			}
		}
		all := strings.Join(said, "\n")
		for _, s := range secrets(t, p.private) {
			if strings.Contains(all, s) {
				t.Fatalf("%s: a message shows %s", name, s)
			}
		}
	}
}

func FuzzLoadKeys(f *testing.F) {
	for _, p := range pairs() {
		f.Add(p.private)
		f.Add(p.public)
	}
	f.Add([]byte("-----BEGIN ENCRYPTED COSIGN PRIVATE KEY-----\ne30=\n-----END ENCRYPTED COSIGN PRIVATE KEY-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if k, err := sign.LoadPublicKey(data); err == nil {
			k.Verify([]byte("x"), data)
		}
		k, err := sign.LoadPrivateKey(data)
		if err != nil {
			return
		}
		sig, err := k.Sign([]byte("x"))
		if err == nil && !k.Public().Verify([]byte("x"), sig) {
			t.Error("a key does not verify what it signs")
		}
	})
}
