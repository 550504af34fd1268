package real

import (
	"context"
	_ "unsafe" // for go:linkname

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	_ "sigs.k8s.io/cluster-api/core/reconcilers/clusterclass" // links the client
	runtimeclient "sigs.k8s.io/cluster-api/exp/runtime/client"
)

// clientOptions has the layout of Options in cluster-api internal/runtime/client,
// which nobody outside may name.
type clientOptions struct {
	CertFile string
	KeyFile  string
	Catalog  *catalog.Catalog
	Registry any // an interface, left nil
	Client   ctrlclient.Client
}

// newClient is the function New there. The package is internal and has no other
// way in; a copy of it would prove nothing.
//
//go:linkname newClient sigs.k8s.io/cluster-api/internal/runtime/client.New
func newClient(ctx context.Context, options clientOptions) (runtimeclient.Client, *certwatcher.CertWatcher, error)

// Discoverer asks servers for their handlers with Cluster API's own client.
type Discoverer struct{ client runtimeclient.Client }

// NewDiscoverer returns one that works until ctx ends.
func NewDiscoverer(ctx context.Context) (*Discoverer, error) {
	c := catalog.New()
	if err := hooksv1.AddToCatalog(c); err != nil {
		return nil, err
	}
	client, _, err := newClient(ctx, clientOptions{Catalog: c})
	return &Discoverer{client}, err
}

// Discover returns what Cluster API says of the server at a URL whose certificate
// is of a CA in PEM: nil if it registers the handlers.
func (d *Discoverer) Discover(ctx context.Context, url string, ca []byte) error {
	config := &runtimev1.ExtensionConfig{}
	config.Name = "acme"
	config.Spec.ClientConfig = runtimev1.ClientConfig{URL: url, CABundle: ca}
	_, err := d.client.Discover(ctx, config)
	return err
}
