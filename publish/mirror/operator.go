package mirror

import (
	"bytes"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// OperatorFile holds the provider objects of Cluster API Operator.
const OperatorFile = layouts.ConfigMapFolder + "/providers.yaml"

// OperatorProviders returns the objects that make the operator install the
// releases that clusterctl.yaml names: from the registry where the URL is
// oci://REFERENCE, else from the ConfigMaps. The namespace is left to who
// applies them; ConfigMaps have to be in the same one.
func OperatorProviders(releases []Locked, urls map[layouts.Provider]string) ([]byte, error) {
	var out bytes.Buffer
	for _, l := range Newest(releases) {
		p := l.Identity()
		info, ok := p.Type.Info()
		if !ok {
			continue
		}
		fetch := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{
			"provider.cluster.x-k8s.io/name": p.Name,
			"provider.cluster.x-k8s.io/type": info.Operator,
		}}}
		if reference, ok := strings.CutPrefix(urls[p], "oci://"); ok {
			if host, _, _ := strings.Cut(reference, "/"); transport.Loopback(host) {
				reference = "http://" + reference // else the operator speaks TLS
			}
			fetch = map[string]any{"oci": reference}
		}
		text, err := yamldoc.Marshal(map[string]any{
			// The operator calls its kinds as clusterctl calls the types.
			"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": string(p.Type),
			"metadata": map[string]any{"name": p.Name},
			"spec":     map[string]any{"version": l.Version, "fetchConfig": fetch},
		})
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}
