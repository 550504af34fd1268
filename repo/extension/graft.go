package extension

import "strings"

// open are the parts of requests that get new fields with releases of Cluster API and of
// providers. An asterisk stands for all entries, a word also for the entry of a list with this name.
var open = [...]string{
	"", "cluster.spec", "cluster.spec.topology", "current.*.spec", "desired.*.spec",
	"items.*.holderReference", "items.*.object.spec.template.spec", "variables.builtin.value.cluster",
	"items.*.variables.builtin.value.controlPlane", "items.*.variables.builtin.value.machineDeployment",
}

// Graft adds a field to all parts of a request that get new ones.
func Graft(request map[string]any, key, value string) {
	for _, path := range open {
		graft(request, path, key, value)
	}
}

func graft(v any, path, key, value string) {
	first, rest, _ := strings.Cut(path, ".")
	switch v := v.(type) {
	case object:
		if path == "" {
			v[key] = value
		}
		for name, e := range v {
			if name == first || first == "*" {
				graft(e, rest, key, value)
			}
		}
	case []any:
		for _, e := range v {
			if first == "*" || text(e, "name") == first {
				graft(e, rest, key, value)
			}
		}
	}
}
