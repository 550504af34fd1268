// Program acme-runtime-extension is the server of the runtime extension: it answers
// the hooks that Cluster API calls during the life of clusters. It keeps no state
// and needs no access to any API server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/exp/runtime/server"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	host := flag.String("webhook-host", "", "the address to answer hooks at; empty for all")
	port := flag.Int("webhook-port", server.DefaultPort, "the port to answer hooks at")
	certs := flag.String("webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs", "the folder with tls.crt and tls.key")
	health := flag.String("health-addr", ":9440", "the address of /healthz and /readyz")
	diagnostics := flag.String("diagnostics-address", ":8443", "the address of /metrics")
	level := flag.Int("v", 0, "how much to log")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(*level > 2)))

	c := catalog.New()
	if err := hooksv1.AddToCatalog(c); err != nil {
		return err
	}
	s, err := server.New(server.Options{Catalog: c, Host: *host, Port: *port, CertDir: *certs})
	if err != nil {
		return err
	}
	if err := register(s); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go serve(ctx, *health, probes(s.StartedChecker()))
	go serve(ctx, *diagnostics, promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	return s.Start(ctx)
}

// handlers are all that the extension answers. Their names are unique, also over
// different hooks; a ClusterClass refers to them as NAME.EXTENSIONCONFIG.
var handlers = []server.ExtensionHandler{
	{Name: "discover-variables", Hook: hooksv1.DiscoverVariables, HandlerFunc: discoverVariables},
	{Name: "generate-patches", Hook: hooksv1.GeneratePatches, HandlerFunc: generatePatches},
	{Name: "validate-topology", Hook: hooksv1.ValidateTopology, HandlerFunc: validateTopology},
	{Name: "before-cluster-create", Hook: hooksv1.BeforeClusterCreate, HandlerFunc: beforeClusterCreate},
	{Name: "after-control-plane-initialized", Hook: hooksv1.AfterControlPlaneInitialized, HandlerFunc: afterControlPlaneInitialized},
	{Name: "generate-upgrade-plan", Hook: hooksv1.GenerateUpgradePlan, HandlerFunc: generateUpgradePlan},
	{Name: "before-cluster-upgrade", Hook: hooksv1.BeforeClusterUpgrade, HandlerFunc: beforeClusterUpgrade},
	{Name: "before-control-plane-upgrade", Hook: hooksv1.BeforeControlPlaneUpgrade, HandlerFunc: beforeControlPlaneUpgrade},
	{Name: "after-control-plane-upgrade", Hook: hooksv1.AfterControlPlaneUpgrade, HandlerFunc: afterControlPlaneUpgrade},
	{Name: "before-workers-upgrade", Hook: hooksv1.BeforeWorkersUpgrade, HandlerFunc: beforeWorkersUpgrade},
	{Name: "after-workers-upgrade", Hook: hooksv1.AfterWorkersUpgrade, HandlerFunc: afterWorkersUpgrade},
	{Name: "after-cluster-upgrade", Hook: hooksv1.AfterClusterUpgrade, HandlerFunc: afterClusterUpgrade},
	{Name: "can-update-machine", Hook: hooksv1.CanUpdateMachine, HandlerFunc: canUpdateMachine},
	{Name: "can-update-machine-set", Hook: hooksv1.CanUpdateMachineSet, HandlerFunc: canUpdateMachineSet},
	{Name: "update-machine", Hook: hooksv1.UpdateMachine, HandlerFunc: updateMachine},
	{Name: "before-cluster-delete", Hook: hooksv1.BeforeClusterDelete, HandlerFunc: beforeClusterDelete},
}

func register(s *server.Server) error {
	for _, h := range handlers {
		if err := s.AddExtensionHandler(h); err != nil {
			return fmt.Errorf("handler %s: %w", h.Name, err)
		}
	}
	return nil
}

// probes answers those of the Deployment. The server is ready when it answers by TLS.
func probes(ready func(*http.Request) error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}

// serve answers until ctx ends.
func serve(ctx context.Context, address string, handler http.Handler) {
	s := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		ctrl.Log.Error(err, "an endpoint ended", "address", address)
	}
}
