package oracle

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/repository"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// management is a management cluster that holds nothing but an inventory. Other
// calls than List crash.
type management struct {
	cluster.Proxy
	kube.Client
	inventory []v1alpha3.Provider
}

func (m management) NewClient(context.Context) (kube.Client, error) { return m, nil }

func (m management) List(_ context.Context, list kube.ObjectList, _ ...kube.ListOption) error {
	list.(*v1alpha3.ProviderList).Items = m.inventory
	return nil
}

// plan is the library's `upgrade plan` for a provider in a folder: the next
// version for each contract.
func plan(t testing.TB, root string, p layouts.Provider, installed string) (map[string]string, error) {
	t.Helper()
	cfg, m := managed(t, root, p)
	m.inventory = append(m.inventory, entry(p, installed))
	plans, err := cluster.New(cluster.Kubeconfig{}, cfg, cluster.InjectProxy(m)).ProviderUpgrader().Plan(background)
	if err != nil {
		return nil, err
	}
	next := map[string]string{}
	for _, plan := range plans {
		for _, item := range plan.Providers {
			if item.ProviderName == p.Name && item.Type == string(p.Type) {
				next[plan.Contract] = item.NextVersion
			}
		}
	}
	return next, nil
}

// initialize is what the library's `init` does with a provider in a folder before
// it installs anything.
func initialize(t testing.TB, root string, p layouts.Provider, version string, v values) error {
	t.Helper()
	cfg, m := managed(t, root, p)
	for name, value := range v {
		cfg.Variables().Set(name, value)
	}
	provider := given.Value(cfg.Providers().Get(p.Name, v1alpha3.ProviderType(p.Type)))(t)
	client, err := repository.New(background, provider, cfg)
	if err != nil {
		return err
	}
	components, err := client.Components().Get(background, repository.ComponentsOptions{Version: version})
	if err != nil {
		return err
	}
	installer := cluster.New(cluster.Kubeconfig{}, cfg, cluster.InjectProxy(m)).ProviderInstaller()
	installer.Add(components)
	return installer.Validate(background)
}

// managed returns the configuration for a provider in a folder, and a management
// cluster without it. If it is of another type than core, a core provider that is
// in order is installed there.
func managed(t testing.TB, root string, p layouts.Provider) (config.Client, management) {
	t.Helper()
	r := reader(values{"overridesFolder": filepath.Join(root, "none")}, nil).(*config.MemoryReader)
	know := func(root string, p layouts.Provider) {
		info, ok := p.Type.Info()
		if !ok {
			t.Fatalf("unknown type %q", p.Type)
		}
		url := fmt.Sprintf("file://%s/%s/v1.0.0/%s", root, p.Label(), info.ComponentsFile)
		given.Value(r.AddProvider(p.Name, v1alpha3.ProviderType(p.Type), url))(t)
	}
	know(root, p)
	var m management
	if p.Type != layouts.Core {
		know(write(t, map[string]string{
			"cluster-api/v1.0.0/core-components.yaml": "",
			"cluster-api/v1.0.0/metadata.yaml":        seriesOf("1.0=v1beta2"),
		}), coreProvider)
		m.inventory = append(m.inventory, entry(coreProvider, "v1.0.0"))
	}
	cfg := given.Value(config.New(background, "", config.InjectReader(r)))(t)
	return cfg, m
}

// entry is what the inventory holds about an installed provider.
func entry(p layouts.Provider, version string) v1alpha3.Provider {
	return v1alpha3.Provider{
		ObjectMeta:   metav1.ObjectMeta{Namespace: p.Name + "-system", Name: p.Label()},
		ProviderName: p.Name, Type: string(p.Type), Version: version,
	}
}

var coreProvider = layouts.Provider{Type: layouts.Core, Name: "cluster-api"}
