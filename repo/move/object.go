package move

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

var errNoObject = errors.New("not a Kubernetes object: apiVersion, kind or metadata.name is missing")

var errPage = errors.New("this is one page of a longer list (metadata.continue); get all of it, as kubectl get does")

var errItems = errors.New("items is not a list")

const listSuffix = "List"

// take adds an object, or the items of a list. A list may tell what its items are.
func (d *Dump) take(name string, m map[string]any, apiVersion, kind string) {
	if m == nil { // as of null
		d.problem(name, errNoObject)
		return
	}
	own := text(m["kind"])
	if items, ok := m["items"]; ok && strings.HasSuffix(own, listSuffix) {
		if _, isList := items.([]any); !isList && items != nil {
			d.problem(name, errItems)
		}
		for _, item := range list(items) {
			if o, ok := item.(map[string]any); ok {
				d.take(name, o, text(m["apiVersion"]), own)
			} else {
				d.problem(name, errNoObject)
			}
		}
		if text(at(m, "metadata", "continue")) != "" {
			d.problem(name, errPage)
		}
		return
	}
	if own == "" {
		m["apiVersion"], m["kind"] = apiVersion, strings.TrimSuffix(kind, listSuffix)
	}
	o := Object{
		Kind: text(m["kind"]), Name: text(at(m, "metadata", "name")), Namespace: text(at(m, "metadata", "namespace")),
		UID: text(at(m, "metadata", "uid")), Labels: marksOf(at(m, "metadata", "labels")),
		Annotations: marksOf(at(m, "metadata", "annotations")),
	}
	if o.Kind == "" || text(m["apiVersion"]) == "" || o.Name == "" {
		d.problem(name, errNoObject)
		return
	}
	o.Group, o.Version = manifest.SplitAPIVersion(text(m["apiVersion"]))
	for _, item := range list(at(m, "metadata", "ownerReferences")) {
		o.Owners = append(o.Owners, OwnerReference{refOf(item), text(at(item, "uid"))})
	}
	if detail := details[[2]string{o.Group, o.Kind}]; detail != nil {
		o.Detail = detail(m)
	} else if o.Group == "operator.cluster.x-k8s.io" && strings.HasSuffix(o.Kind, "Provider") {
		o.Detail = &Provider{labelOf(o.Kind, o.Name), text(at(m, "spec", "version")), true}
	}
	if o.Group != "" {
		o.names(m["spec"], "spec", "")
	}
	o.gates = gatesOf(groupKind{o.Group, o.Kind}, func() any { return m })
	d.Objects = append(d.Objects, o)
}

// labelOf returns the label of a provider, whose type is as in clusterctl's inventory.
func labelOf(kind, name string) string {
	return layouts.Provider{Type: layouts.ProviderType(kind), Name: name}.Label()
}

// marks keeps the labels or annotations of Cluster API.
func marksOf(v any) map[string]string {
	out := map[string]string{}
	all, _ := v.(map[string]any)
	for key, value := range all {
		if strings.Contains(key, "cluster.x-k8s.io") {
			out[key] = text(value)
		}
	}
	return out
}

// names keeps the texts in fields that refer to objects.
func (o *Object) names(v any, field, key string) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s, ok := v[k].(string)
			switch {
			case !ok:
				o.names(v[k], field+"."+k, k)
			case k == "name" && (text(v["kind"]) != "" || refers(key)):
				o.Names = append(o.Names, Name{refOf(v), field + ".name", text(v["namespace"])})
			case refers(k):
				o.Names = append(o.Names, Name{Ref{Name: s}, field + "." + k, ""})
			}
		}
	case []any:
		for _, item := range v {
			o.names(item, field, key)
		}
	}
}

// refers reports whether a field of that name refers to an object.
func refers(key string) bool {
	key = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(key), "s"), "name")
	parts := []string{"ref", "reference", "secret", "configmap", "credential"}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(key, part) })
}

// text returns a string; of anything else an empty one.
func text(v any) string { s, _ := v.(string); return s }

func list(v any) []any { l, _ := v.([]any); return l }

// at returns the value at a path, or nil.
func at(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// ref reads a reference in either spelling.
func refOf(v any) Ref {
	group, _ := manifest.SplitAPIVersion(text(at(v, "apiVersion")))
	return Ref{cmp.Or(text(at(v, "apiGroup")), group), text(at(v, "kind")), text(at(v, "name"))}
}

// details are the kinds of which more than the metadata matters.
var details = map[[2]string]func(m map[string]any) any{
	{"apiextensions.k8s.io", "CustomResourceDefinition"}: definition,
	{"cluster.x-k8s.io", "Cluster"}: func(m map[string]any) any {
		t := at(m, "spec", "topology") // in the spelling of v1beta2 or v1beta1
		return &Cluster{
			cmp.Or(text(at(t, "classRef", "name")), text(at(t, "class"))),
			cmp.Or(text(at(t, "classRef", "namespace")), text(at(t, "classNamespace"))),
		}
	},
	{"addons.cluster.x-k8s.io", "ClusterResourceSetBinding"}: func(m map[string]any) any {
		return &Binding{text(at(m, "spec", "clusterName"))}
	},
	{"clusterctl.cluster.x-k8s.io", "Provider"}: func(m map[string]any) any {
		return &Provider{labelOf(text(m["type"]), text(m["providerName"])), text(m["version"]), false}
	},
	{"apps", "Deployment"}: manager,
}

func definition(m map[string]any) any {
	spec := m["spec"]
	out := &Definition{
		Group: text(at(spec, "group")), Kind: text(at(spec, "names", "kind")), Global: text(at(spec, "scope")) == "Cluster",
	}
	for _, v := range list(at(spec, "versions")) {
		if at(v, "storage") == true {
			out.Storage = text(at(v, "name"))
		}
		if at(v, "served") == true {
			out.Served = append(out.Served, text(at(v, "name")))
		}
	}
	return out
}

// manager reads the feature gates in the arguments of a Deployment.
func manager(m map[string]any) any {
	containers := list(at(m, "spec", "template", "spec", "containers"))
	out := &Manager{map[string]bool{}, len(containers) == 0}
	for _, c := range containers {
		args := append(list(at(c, "command")), list(at(c, "args"))...)
		for i, arg := range args {
			value, ok := strings.CutPrefix(text(arg), "--feature-gates")
			if !ok { // a variable may hold the flag, or a script of the shell
				flag := text(arg)
				if strings.HasPrefix(flag, "-") {
					flag, _, _ = strings.Cut(flag, "=")
				}
				out.Unread = out.Unread || strings.Contains(flag, "$") || strings.Contains(text(arg), "feature-gates")
				continue
			}
			if value == "" && i+1 < len(args) {
				value = text(args[i+1])
			}
			for gate := range strings.SplitSeq(strings.Trim(value, "=,"), ",") {
				name, set, _ := strings.Cut(strings.TrimSpace(gate), "=")
				on, err := strconv.ParseBool(set)
				out.Gates[name] = on
				out.Unread = out.Unread || err != nil
			}
		}
	}
	return out
}
