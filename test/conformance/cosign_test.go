package conformance

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// cosignModule is what the tests are known to agree with. It is no tool of this
// module, because it would bring hundreds of modules with it.
const cosignModule = "github.com/sigstore/cosign/v2/cmd/cosign@v2.6.5"

// cosign is the real program, in a folder of its own.
type cosign struct{ path, dir string }

// password protects the copies of the keys that cosign keeps.
const password = "open-sesame"

// newCosign finds the program that the variable COSIGN names, or builds it if
// that says "install".
func newCosign(t *testing.T) *cosign {
	t.Helper()
	c := &cosign{os.Getenv("COSIGN"), t.TempDir()}
	switch c.path {
	case "":
		t.Skip("COSIGN is not set: it names the program, or says install to build it, which takes minutes")
	case "install":
		bin := t.TempDir()
		cmd := exec.CommandContext(t.Context(), "go", "install", cosignModule)
		cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-buildvcs=false -mod=mod")
		cmd.Dir = bin // outside of this module
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go install %s: %v\n%s", cosignModule, err, out)
		}
		c.path = filepath.Join(bin, "cosign")
	}
	return c
}

func (c *cosign) run(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.path, args...)
	cmd.Dir = c.dir
	// With a root of its own, cosign does not ask the network for one.
	cmd.Env = []string{"HOME=" + c.dir, "PATH=" + os.Getenv("PATH"), "COSIGN_PASSWORD=" + password, "SIGSTORE_ROOT_FILE=none"}
	return cmd.CombinedOutput()
}

func (c *cosign) must(t *testing.T, args ...string) {
	t.Helper()
	if out, err := c.run(t, args...); err != nil {
		t.Fatalf("cosign %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (c *cosign) refuses(t *testing.T, args ...string) {
	t.Helper()
	if out, err := c.run(t, args...); err == nil {
		t.Errorf("cosign %s: accepted\n%s", strings.Join(args, " "), out)
	}
}

func (c *cosign) read(t *testing.T, name string) []byte {
	t.Helper()
	return given.Read(t, filepath.Join(c.dir, name))
}

func (c *cosign) write(t *testing.T, name string, data []byte) {
	t.Helper()
	given.NoError(t, os.WriteFile(filepath.Join(c.dir, name), data, 0o600))
}

func verifyBlob(key string) []string {
	return []string{"verify-blob", "--key", key, "--signature", layouts.SignatureFile, "--insecure-ignore-tlog", layouts.ChecksumFile}
}

// cosignKeys are the kinds of keys that cosign imports.
func cosignKeys(t *testing.T) map[string]crypto.Signer {
	t.Helper()
	keys := map[string]crypto.Signer{}
	for name, curve := range map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()} {
		k := given.Value(ecdsa.GenerateKey(curve, rand.Reader))(t)
		keys[name] = k
	}
	r := given.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	keys["RSA"] = r
	_, e, err := ed25519.GenerateKey(rand.Reader)
	given.NoError(t, err)
	keys["Ed25519"] = e
	return keys
}

func TestCosign(t *testing.T) {
	c := newCosign(t)
	c.must(t, "generate-key-pair", "--output-key-prefix", "stranger")
	for name, k := range cosignKeys(t) {
		der := given.Value(x509.MarshalPKCS8PrivateKey(k))(t)
		c.write(t, name+".pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		c.must(t, "import-key-pair", "--key", name+".pem", "--output-key-prefix", name)
		// cosign v2.6.5 panics when it signs with Ed25519 and without its log.
		t.Run(name, func(t *testing.T) { c.agrees(t, name, name != "Ed25519") })
	}
}

// agrees signs a release with a key that cosign has imported, and has cosign verify
// it; and the other way round, if cosign can.
func (c *cosign) agrees(t *testing.T, name string, signs bool) {
	ctx := t.Context()
	key, err := sign.LoadPrivateKey(c.read(t, name+".pem"))
	given.NoError(t, err)
	public, err := sign.LoadPublicKey(c.read(t, name+".pub"))
	given.NoError(t, err)
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}, Version: "v1.0.0", Path: c.dir}
	r.Artifacts = []*repo.Artifact{
		repo.BytesArtifact("infrastructure-components.yaml", []byte("kind: Namespace\n")),
		repo.BytesArtifact("metadata.yaml", []byte("kind: Metadata\n")),
	}
	r = given.Value(sign.Release(ctx, r, key))(t)
	for _, a := range r.Artifacts {
		data := given.Value(a.Bytes())(t)
		c.write(t, a.Name, data)
	}
	c.must(t, verifyBlob(name+".pub")...)
	c.refuses(t, verifyBlob("stranger.pub")...)
	if signs {
		c.must(t, "sign-blob", "--yes", "--key", name+".key", "--tlog-upload=false", "--output-signature", "cosign.sig", layouts.ChecksumFile)
		theirs := *r
		theirs.Artifacts = bytesInstead(r.Artifacts, layouts.SignatureFile, c.read(t, "cosign.sig"))
		if _, err := sign.Verify(ctx, &theirs, nil, public); err != nil {
			t.Error(err)
		}
	}

	c.write(t, layouts.ChecksumFile, append(c.read(t, layouts.ChecksumFile), ' '))
	c.refuses(t, verifyBlob(name+".pub")...)
}

func bytesInstead(artifacts []*repo.Artifact, name string, data []byte) []*repo.Artifact {
	out := append([]*repo.Artifact{}, artifacts...)
	for i, a := range out {
		if a.Name == name {
			out[i] = repo.BytesArtifact(name, data)
		}
	}
	return out
}
