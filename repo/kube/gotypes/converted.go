package gotypes

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// conversion is a kind that clusterctl converts to a type and back, which loses
// what the type does not have.
type conversion struct {
	kind string
	// files are those in which it does.
	files []layouts.FileKind
	// apiVersions are those that it can convert.
	apiVersions []string
	// others says that it leaves objects of other versions alone.
	others bool
}

var (
	components = []layouts.FileKind{layouts.Components}
	templates  = []layouts.FileKind{layouts.ClusterTemplate}
	all        = []layouts.FileKind{layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass}
)

// conversions are in clusterctl: internal/util/objs.go, FixImages; client/
// repository/components.go, fixTargetNamespace; client/clusterclass.go,
// clusterClassNamesFromTemplate.
var conversions = []conversion{
	{"Deployment", components, []string{"apps/v1"}, false},
	{"DaemonSet", components, []string{"apps/v1"}, false},
	{"ClusterRoleBinding", all, []string{"rbac.authorization.k8s.io/v1"}, false},
	{"RoleBinding", all, []string{"rbac.authorization.k8s.io/v1"}, false},
	{"MutatingWebhookConfiguration", all, []string{"admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"}, false},
	{"ValidatingWebhookConfiguration", all, []string{"admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"}, false},
	{"CustomResourceDefinition", all, []string{"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"}, false},
	{"Cluster", templates, []string{"cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"}, true},
}

// Converted returns the type that clusterctl converts an object to when it reads
// it from a file, by the kind alone: an object of another group is converted too,
// or refused. Known is empty for an object that clusterctl
// leaves alone; otherwise it is the apiVersions that can be converted, and the
// type is nil if the object has none of them.
func Converted(file layouts.FileKind, apiVersion, kind string) (t *shape, known []string) {
	for i := range conversions {
		c := &conversions[i]
		if c.kind != kind || !slices.Contains(c.files, file) {
			continue
		}
		switch {
		case slices.Contains(c.apiVersions, apiVersion):
			return catalogue().lookup(name{apiVersion, kind}), c.apiVersions
		case !c.others:
			return nil, c.apiVersions
		}
	}
	return nil, nil
}
