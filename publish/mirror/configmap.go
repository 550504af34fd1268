package mirror

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// maxConfigMap is how much a ConfigMap may hold, in bytes (Kubernetes
// pkg/apis/core, MaxSecretSize).
const maxConfigMap = 1 << 20

// ConfigMapName is how Cluster API Operator calls the ConfigMap of a release. It
// is empty for what the operator does not install.
func ConfigMapName(l *Locked) string {
	p := l.Identity()
	info, ok := p.Type.Info()
	if !ok {
		return ""
	}
	return info.Operator + "-" + p.Name + "-" + l.Version
}

// ConfigMap returns a release as Cluster API Operator reads it without internet
// (cluster-api-operator: internal/controller, TemplateManifestsConfigMap and
// phase_load.go). The namespace is left to who applies it.
func ConfigMap(l *Locked, r *repo.Release) ([]byte, error) {
	name := ConfigMapName(l)
	if len(name) > 253 || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-.", c) }) {
		return nil, fmt.Errorf("%q cannot be the name of a ConfigMap, nor the version the value of a label", name)
	}
	read := func(file string) ([]byte, error) {
		a := r.Artifact(file)
		if a == nil {
			return nil, fmt.Errorf("%s has no file %s", r.Path, file)
		}
		return a.Bytes()
	}
	metadata, err := read(layouts.MetadataFile)
	if err != nil {
		return nil, err
	}
	components, err := read(l.Components)
	if err != nil {
		return nil, err
	}
	p := l.Identity()
	info, _ := p.Type.Info()
	header := map[string]any{
		"name": name,
		"labels": map[string]any{
			"provider.cluster.x-k8s.io/name":       p.Name,
			"provider.cluster.x-k8s.io/type":       info.Operator,
			"provider.cluster.x-k8s.io/version":    l.Version,
			"managed-by.operator.cluster.x-k8s.io": "true",
		},
	}
	data := map[string]any{"metadata": string(metadata)}
	out := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": header, "data": data}
	if len(metadata)+len(components) <= maxConfigMap {
		data["components"] = string(components)
		return yamldoc.Marshal(out)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(components); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if size := len(metadata) + packed.Len(); size > maxConfigMap {
		return nil, fmt.Errorf("the components have %d bytes even when compressed, and a ConfigMap holds %d", size, maxConfigMap)
	}
	header["annotations"] = map[string]any{"provider.cluster.x-k8s.io/compressed": "true"}
	out["binaryData"] = map[string]any{"components": base64.StdEncoding.EncodeToString(packed.Bytes())}
	return yamldoc.Marshal(out)
}
