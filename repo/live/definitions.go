package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// providerDefinition is a CustomResourceDefinition of the server, as JSON with indentation.
type providerDefinition struct {
	Name string
	JSON []byte
	// StoredVersions are those in which objects may be stored.
	StoredVersions []string
}

// providerLabel names the provider that installed an object; that of core is coreProvider.
const (
	providerLabel = "cluster.x-k8s.io/provider"
	coreProvider  = "cluster-api"
)

// Definitions returns the definitions of the server that belong to providers of Cluster
// API: those in groups under cluster.x-k8s.io, and those with the label of a contract,
// without those of Cluster API itself. They are sorted by name.
//
// The error is set if the server cannot be reached or refuses, or ctx is done.
func (c *Cluster) Definitions(ctx context.Context) ([]providerDefinition, error) {
	var out []providerDefinition
	for next := ""; ; {
		request := c.client.Get().AbsPath(definitions.path("")).Param("limit", "50")
		if next != "" {
			request.Param("continue", next)
		}
		var list struct {
			Metadata struct{ Continue string }
			Items    []map[string]any
		}
		raw, err := send(ctx, request, "application/json")
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinitions cannot be read: %w", err)
		}
		for _, item := range list.Items {
			d, err := definitionOf(item)
			if err != nil {
				return nil, err
			}
			if d != nil {
				out = append(out, *d)
			}
		}
		if next = list.Metadata.Continue; next == "" {
			break
		}
	}
	slices.SortFunc(out, func(a, b providerDefinition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// definitionOf returns nil for what is not of a provider.
func definitionOf(item map[string]any) (*providerDefinition, error) {
	o := object{Object: item}
	labels := o.GetLabels()
	group, _, _ := unstructured.NestedString(item, "spec", "group")
	ours := strings.HasSuffix(group, "."+coreGroup)
	for key := range labels {
		ours = ours || strings.HasPrefix(key, coreGroup+"/v1")
	}
	if !ours || group == clusterctlGroup || labels[providerLabel] == coreProvider {
		return nil, nil
	}
	d := &providerDefinition{Name: o.GetName()}
	d.StoredVersions, _, _ = unstructured.NestedStringSlice(item, "status", "storedVersions")
	item["apiVersion"], item["kind"] = definitions.group+"/"+definitions.version, definitions.kind
	delete(item, "status")
	o.SetManagedFields(nil)
	var b bytes.Buffer
	in := json.NewEncoder(&b)
	in.SetIndent("", "  ")
	if err := in.Encode(item); err != nil {
		return nil, fmt.Errorf("definition %s: %w", d.Name, err)
	}
	d.JSON = b.Bytes()
	return d, nil
}
