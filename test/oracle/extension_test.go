package oracle

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// exampleName is what the certificate of the example must be for.
const exampleName = "acme-extension-server.acme-extension-system.svc"

// certificates writes a CA, and a certificate of it with its key, into a folder as
// ca.crt, tls.crt and tls.key.
func certificates(t *testing.T, dir string, names ...string) {
	t.Helper()
	write := func(name, kind string, der []byte) {
		given.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	key := func() *ecdsa.PrivateKey {
		return given.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	}
	caKey, serverKey := key(), key()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Acme CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "acme"}, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caDER := given.Value(x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey))(t)
	serverDER := given.Value(x509.CreateCertificate(rand.Reader, server, ca, &serverKey.PublicKey, caKey))(t)
	keyDER := given.Value(x509.MarshalECPrivateKey(serverKey))(t)
	write("ca.crt", "CERTIFICATE", caDER)
	write("tls.crt", "CERTIFICATE", serverDER)
	write("tls.key", "EC PRIVATE KEY", keyDER)
}

// freePort is a port on loopback that was free a moment ago, below those that the
// system gives to whoever asks for any.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20000 + mathrand.IntN(10000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		l.Close()
		return port
	}
	t.Fatal("100 ports are taken")
	return ""
}

// exampleServer builds and starts the server of the example until the test ends. It
// returns its address and the folder with ca.crt.
func exampleServer(t *testing.T) (url, dir string) {
	t.Helper()
	dir = t.TempDir()
	program := filepath.Join(dir, "acme-runtime-extension")
	build := exec.Command("go", "run", "-exec", "cp", ".", program)
	build.Dir = filepath.Join("..", "..", "examples", "acme-runtime-extension")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	certificates(t, dir, exampleName)
	port, health := freePort(t), freePort(t)
	ctx, cancel := context.WithCancel(background)
	run := exec.CommandContext(ctx, program, "--webhook-host", "127.0.0.1", "--webhook-port", port, "--webhook-cert-dir", dir,
		"--health-addr", "127.0.0.1:"+health, "--diagnostics-address", "127.0.0.1:0")
	var log bytes.Buffer
	run.Stdout, run.Stderr = &log, &log
	given.NoError(t, run.Start())
	t.Cleanup(func() {
		cancel()
		_ = run.Wait()
	})
	ready := "http://127.0.0.1:" + health + "/readyz"
	for range 200 {
		if r, err := http.Get(ready); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return "https://127.0.0.1:" + port, dir
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the example is not ready after ten seconds:\n%s", log.String())
	return "", ""
}

// checked runs extension check and returns its findings.
func checked(t *testing.T, args ...string) (findings []string) {
	t.Helper()
	path := given.Value(tool())(t)
	out, err := exec.Command(path, append([]string{"extension", "check", "--fail-on", "never", "-o", "json"}, args...)...).Output()
	if err != nil {
		t.Fatalf("extension check: %v\n%s", err, out)
	}
	var report struct {
		Findings []struct{ Rule, Severity, Object, Message string }
	}
	given.NoError(t, json.Unmarshal(out, &report))
	for _, f := range report.Findings {
		findings = append(findings, fmt.Sprintf("%s %s %s: %s", f.Rule, f.Severity, f.Object, f.Message))
	}
	return findings
}

// TestExampleExtension starts the example, a server made with the server package of
// Cluster API: Cluster API discovers it, and it passes all checks at every level,
// with the class that is built in and with one of its own cloud.
func TestExampleExtension(t *testing.T) {
	url, dir := exampleServer(t)
	ca := filepath.Join(dir, "ca.crt")
	core := given.Value(real.NewDiscoverer(t.Context()))(t)
	if err := core.Discover(t.Context(), url, bytesOf(ca)); err != nil {
		t.Errorf("Cluster API refuses it: %v", err)
	}
	common := []string{"--ca-file", ca}
	release := filepath.Join(builtExamples(t), "runtime-extension-acme")
	class := filepath.Join("..", "..", "examples", "cluster-api-provider-acme", "templates", "clusterclass-quick-start.yaml")
	for name, args := range map[string][]string{
		"discover":   {"--server-name", exampleName, "--level", "discover"},
		"pure":       {"--server-name", exampleName},
		"all":        {"--server-name", exampleName, "--level", "all"},
		"own class":  {"--server-name", exampleName, "--objects", class},
		"v1.12":      {"--server-name", exampleName, "--core-version", "v1.12", "--level", "all"},
		"v1.13":      {"--server-name", exampleName, "--core-version", "v1.13", "--level", "all"},
		"by release": {release, "--objects", class},
		// With the CRDs of the templates, and the ClusterClass of their provider.
		"by repository": {filepath.Dir(release), "--objects", class},
	} {
		findings := checked(t, append(append([]string{url}, args...), common...)...)
		for _, f := range findings {
			t.Errorf("%s: %s", name, f)
		}
	}
}
