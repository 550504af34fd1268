// Command kube is a Kubernetes API server with its etcd in one process, for
// tests. No controllers run, so nothing acts on the objects.
//
// It keeps its data in a temporary folder and listens on 127.0.0.1 only; etcd has
// no port at all. When it is ready it prints the path of a kubeconfig file. It
// ends, and the folder with it, when its standard input ends: so it cannot
// outlive whoever started it, however that ends.
//
// It must not know what is tested.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

func main() {
	dir, err := os.MkdirTemp("", "kube")
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube:", err)
		os.Exit(1)
	}
	var once sync.Once
	end := func(code int) {
		once.Do(func() {
			remove(dir)
			os.Exit(code)
		})
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the parent was killed, the log has no reader.
	signal.Ignore(syscall.SIGPIPE)
	// The data is of no use to anybody, so nothing waits for an orderly end.
	go func() {
		<-ctx.Done()
		end(0)
	}()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends when the test does
		stop()
	}()
	if err := run(ctx, dir); ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "kube:", err)
		end(1)
	}
	end(0)
}

// remove takes several tries, because etcd still writes.
func remove(dir string) {
	for range 100 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// run returns when the server ends.
func run(ctx context.Context, dir string) error {
	etcd, err := startEtcd(ctx, dir)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	server, config, err := configure(ctx, dir, etcd)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, server) }()
	ready := make(chan error, 1)
	go func() { ready <- announce(ctx, dir, config) }()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("kube-apiserver ended: %w", err)
		case err := <-ready:
			if err != nil {
				return err
			}
		}
	}
}

// startEtcd returns the URL of an etcd that only listens on a socket in dir.
func startEtcd(ctx context.Context, dir string) (string, error) {
	nobody := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	socket := func(name string) url.URL { return url.URL{Scheme: "unix", Path: filepath.Join(dir, name)} }
	c := embed.NewConfig()
	c.Dir = filepath.Join(dir, "etcd")
	c.LogLevel, c.LogOutputs = "error", []string{"stderr"}
	c.UnsafeNoFsync = true
	c.ListenClientUrls, c.ListenPeerUrls = []url.URL{socket("client")}, []url.URL{socket("peer")}
	// Addresses for others must have a port, but there are no others.
	c.AdvertiseClientUrls, c.AdvertisePeerUrls = []url.URL{nobody}, []url.URL{nobody}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	e, err := embed.StartEtcd(c)
	if err != nil {
		return "", err
	}
	select {
	case <-e.Server.ReadyNotify():
		return c.ListenClientUrls[0].String(), nil
	case err := <-e.Err():
		return "", err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// configure prepares the API server, with a user who may do everything.
func configure(ctx context.Context, dir, etcd string) (server options.CompletedOptions, user *rest.Config, err error) {
	token := rand.Text()
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+`,admin,admin,"system:masters"`+"\n"), 0o600); err != nil {
		return server, nil, err
	}
	key := filepath.Join(dir, "service-account.key")
	if _, _, err := keyutil.LoadOrGenerateKeyFile(key); err != nil {
		return server, nil, err
	}
	certs := filepath.Join(dir, "certs")
	o := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, f := range o.Flags().FlagSets {
		flags.AddFlagSet(f)
	}
	if err := flags.Parse([]string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		// An address of no machine: the endpoints of a server may not be on
		// loopback, and the machine need not have another network.
		"--advertise-address=192.0.2.1",
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + certs,
		"--token-auth-file=" + tokens,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.0.0.0/24",
		// No controller makes the accounts and tokens that it asks for.
		"--disable-admission-plugins=ServiceAccount",
		// Some providers have privileged containers.
		"--allow-privileged=true",
	}); err != nil {
		return server, nil, err
	}
	// An open listener has a port that nobody else can take.
	o.SecureServing.Listener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return server, nil, err
	}
	address := o.SecureServing.Listener.Addr().(*net.TCPAddr)
	o.SecureServing.BindPort = address.Port
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return server, nil, err
	}
	if server, err = o.Complete(ctx); err != nil {
		return server, nil, err
	}
	return server, &rest.Config{
		Host:            "https://" + address.String(),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certs, "apiserver.crt")},
	}, errors.Join(server.Validate()...)
}

// announce prints the path of a kubeconfig when the server is ready.
func announce(ctx context.Context, dir string, c *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return err
	}
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} { // the server makes the Namespace last
		answers := func(ctx context.Context) (bool, error) {
			return client.RESTClient().Get().AbsPath(path).Do(ctx).Error() == nil, nil
		}
		if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, answers); err != nil {
			return err
		}
	}
	ca, err := os.ReadFile(c.CAFile)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"test": {Server: c.Host, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin": {Token: c.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "admin"}},
		CurrentContext: "test",
	}, file); err != nil {
		return err
	}
	_, err = fmt.Println(file)
	return err
}
