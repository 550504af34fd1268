package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestStatic has the real clusterctl read static:DIR from Debian's nginx, over
// TLS, after the tree was moved as to another machine.
func TestStatic(t *testing.T) {
	const host = "gitlab.acme.test"
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		missing(t, "no nginx; install Debian's nginx-light")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "repo", "infrastructure-acme", "v1.0.0")
	write(t, filepath.Join(source, "metadata.yaml"), metadata)
	write(t, filepath.Join(source, "infrastructure-components.yaml"), fmt.Sprintf(components, "nginx"))
	write(t, filepath.Join(source, "cluster-template.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"${CLUSTER_NAME}\", namespace: \"${NAMESPACE}\"}\n")
	ours := find(t, path(t, tool), "")
	ours.must(t, "mirror", filepath.Join(dir, "repo"), "--to", "static:"+filepath.Join(dir, "here"), "--url", "https://"+host)
	site := filepath.Join(dir, "there")
	given.NoError(t, os.Rename(filepath.Join(dir, "here"), site))
	sums := find(t, "sha256sum", "install coreutils").command(t.Context(), t, "-c", "SHA256SUMS")
	sums.Dir = site
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	ca := certify(t, dir, host)
	at := serveNginx(t, nginx, dir, site)
	clusterctl := find(t, path(t, stock), "", "HTTPS_PROXY="+tunnel(t, at), "SSL_CERT_FILE="+ca, "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOPROXY=off")
	config := filepath.Join(site, "clusterctl.yaml")
	if out := clusterctl.must(t, "generate", "provider", "--config", config, "--infrastructure", "acme"); !strings.Contains(out, "from: nginx") {
		t.Errorf("generate provider prints\n%s", out)
	}
	if out := clusterctl.must(t, "generate", "cluster", "mine", "--config", config, "--infrastructure", "acme:v1.0.0", "-n", "default", "--kubernetes-version", "v1.34.0"); !strings.Contains(out, "name: mine") {
		t.Errorf("generate cluster prints\n%s", out)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	given.File(t, name, text)
}

// certify makes a key and a certificate for a host, which is its own authority,
// and returns the file of the certificate.
func certify(t *testing.T, dir, host string) string {
	t.Helper()
	key := given.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	cert := given.Value(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	private := given.Value(x509.MarshalPKCS8PrivateKey(key))(t)
	name := filepath.Join(dir, "tls.crt")
	write(t, name, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	write(t, filepath.Join(dir, "tls.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return name
}

// serveNginx shows a folder over TLS until the test ends, and returns the socket
// it listens on: a file, because another process could take a port that was free
// a moment ago.
func serveNginx(t *testing.T, nginx, dir, site string) string {
	t.Helper()
	at := filepath.Join(dir, "nginx.sock")
	config := filepath.Join(dir, "nginx.conf")
	write(t, config, fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
  access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server { listen unix:%[2]s ssl; ssl_certificate %[1]s/tls.crt; ssl_certificate_key %[1]s/tls.key; root %[3]s; }
}
`, dir, at, site))
	cmd := exec.Command(nginx, "-p", dir, "-e", "stderr", "-c", config)
	cmd.Stderr = t.Output()
	given.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 100 {
		if c, err := net.Dial("unix", at); err == nil {
			c.Close()
			return at
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("nginx does not listen")
	return ""
}

// tunnel is a proxy that leads every host to one socket, and does not look into
// what goes through it.
func tunnel(t *testing.T, at string) string {
	t.Helper()
	l := given.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, err := net.Dial("unix", at)
		if r.Method != http.MethodConnect || err != nil {
			http.Error(w, "only CONNECT", http.StatusBadGateway)
			return
		}
		defer to.Close()
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		if _, err := io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		go io.Copy(to, from)
		io.Copy(from, to)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}
