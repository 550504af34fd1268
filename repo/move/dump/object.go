package dump

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

var errNoObject = errors.New("not a Kubernetes object: apiVersion, kind or metadata.name is missing")

const listSuffix = "List"

// take adds an object, or the items of a list. A list may tell what its items are.
func (d *Dump) take(name string, m map[string]any, apiVersion, kind string) {
	own := text(m["kind"])
	if items, ok := m["items"]; ok && strings.HasSuffix(own, listSuffix) {
		for _, item := range list(items) {
			if o, ok := item.(map[string]any); ok {
				d.take(name, o, text(m["apiVersion"]), own)
			} else {
				d.problem(name, errNoObject)
			}
		}
		if text(at(m, "metadata", "continue")) != "" {
			d.problem(name, errors.New("this is one page of a longer list (metadata.continue); get all of it, as kubectl get does"))
		}
		return
	}
	if own == "" {
		m["apiVersion"], m["kind"] = apiVersion, strings.TrimSuffix(kind, listSuffix)
	}
	o := Object{
		Kind: d.word(m["kind"]), Name: text(at(m, "metadata", "name")),
		Namespace: d.word(at(m, "metadata", "namespace")), UID: text(at(m, "metadata", "uid")),
		Labels: d.marks(at(m, "metadata", "labels")), Annotations: d.marks(at(m, "metadata", "annotations")),
		Deleting: at(m, "metadata", "deletionTimestamp") != nil,
	}
	version := text(m["apiVersion"])
	if o.Kind == "" || version == "" || o.Name == "" {
		d.problem(name, errNoObject)
		return
	}
	o.Group, o.Version = manifest.SplitAPIVersion(d.word(version))
	for _, item := range list(at(m, "metadata", "ownerReferences")) {
		o.Owners = append(o.Owners, Owner{*d.ref(item), text(at(item, "uid"))})
	}
	if detail := details[[2]string{o.Group, o.Kind}]; detail != nil {
		o.Detail = detail(d, m)
	} else if typ, ok := strings.CutSuffix(o.Kind, "Provider"); ok && o.Group == "operator.cluster.x-k8s.io" {
		o.Detail = &Provider{Type: typ + "Provider", Name: o.Name, Version: text(at(m, "spec", "version")), Operator: true}
	}
	if o.Group != "" {
		d.names(&o, m["spec"], "spec", "")
	}
	d.Objects = append(d.Objects, o)
}

// word is text that comes often.
func (d *Dump) word(v any) string {
	s := text(v)
	if known, ok := d.words[s]; ok {
		return known
	}
	if d.words == nil {
		d.words = map[string]string{}
	}
	s = strings.Clone(s)
	d.words[s] = s
	return s
}

// marks keeps the labels or annotations of Cluster API.
func (d *Dump) marks(v any) map[string]string {
	all, _ := v.(map[string]any)
	var out map[string]string
	for key, value := range all {
		if !strings.Contains(key, "cluster.x-k8s.io") {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[d.word(key)] = d.word(value)
	}
	return out
}

// names keeps the texts in fields that refer to objects.
func (d *Dump) names(o *Object, v any, field, key string) {
	switch v := v.(type) {
	case map[string]any:
		kind := d.word(v["kind"])
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s, ok := v[k].(string)
			switch {
			case !ok:
				d.names(o, v[k], field+"."+k, k)
			case k == "name" && (kind != "" || refers(key)):
				o.Names = append(o.Names, Name{d.word(field + ".name"), d.word(s), kind, d.word(v["namespace"])})
			case refers(k):
				o.Names = append(o.Names, Name{Field: d.word(field + "." + k), Text: d.word(s)})
			}
		}
	case []any:
		for _, item := range v {
			d.names(o, item, field, key)
		}
	}
}

// refers reports whether a field of that name refers to an object.
func refers(key string) bool {
	key = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(key), "s"), "name")
	for _, part := range []string{"ref", "reference", "secret", "configmap", "credential"} {
		if strings.HasSuffix(key, part) {
			return true
		}
	}
	return false
}

// text returns a string; of anything else an empty one.
func text(v any) string { s, _ := v.(string); return s }

// list returns the items of a list.
func list(v any) []any { l, _ := v.([]any); return l }

// truth reports whether a value is true.
func truth(v any) bool { b, _ := v.(bool); return b }

// at returns the value at a path, or nil.
func at(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// ref reads a reference in either spelling.
func (d *Dump) ref(v any) *Ref {
	r := &Ref{Kind: d.word(at(v, "kind")), Name: text(at(v, "name"))}
	r.Group, r.Version = manifest.SplitAPIVersion(d.word(at(v, "apiVersion")))
	if group := d.word(at(v, "apiGroup")); group != "" {
		r.Group = group
	}
	return r
}

// details are the kinds of which more than the metadata matters.
var details = map[[2]string]func(d *Dump, m map[string]any) any{
	{"apiextensions.k8s.io", "CustomResourceDefinition"}: definition,
	{"cluster.x-k8s.io", "Cluster"}:                      cluster,
	{"cluster.x-k8s.io", "ClusterClass"}:                 class,
	{"addons.cluster.x-k8s.io", "ClusterResourceSetBinding"}: func(_ *Dump, m map[string]any) any {
		return &Binding{text(at(m, "spec", "clusterName"))}
	},
	{"clusterctl.cluster.x-k8s.io", "Provider"}: func(_ *Dump, m map[string]any) any {
		return &Provider{Type: text(m["type"]), Name: text(m["providerName"]), Version: text(m["version"])}
	},
	{"apps", "Deployment"}: manager,
}

func definition(d *Dump, m map[string]any) any {
	out := &Definition{
		Group: d.word(at(m, "spec", "group")), Kind: d.word(at(m, "spec", "names", "kind")),
		Global: text(at(m, "spec", "scope")) == "Cluster",
	}
	for _, v := range list(at(m, "spec", "versions")) {
		name := d.word(at(v, "name"))
		if truth(at(v, "storage")) {
			out.Storage = name
		}
		if truth(at(v, "served")) {
			out.Served = append(out.Served, name)
		}
	}
	return out
}

// cluster reads a Cluster, also one of v1beta1.
func cluster(_ *Dump, m map[string]any) any {
	topology := at(m, "spec", "topology")
	return &Cluster{
		Managed: topology != nil, Paused: truth(at(m, "spec", "paused")),
		Class:          cmp.Or(text(at(topology, "classRef", "name")), text(at(topology, "class"))),
		ClassNamespace: cmp.Or(text(at(topology, "classRef", "namespace")), text(at(topology, "classNamespace"))),
	}
}

func class(d *Dump, m map[string]any) any {
	c := &Class{}
	add := func(v any) {
		for _, key := range []string{"ref", "templateRef"} { // of v1beta1 and v1beta2
			if r := d.ref(at(v, key)); r.Kind != "" {
				c.Templates = append(c.Templates, *r)
			}
		}
	}
	spec := m["spec"]
	add(at(spec, "infrastructure"))
	add(at(spec, "controlPlane"))
	add(at(spec, "controlPlane", "machineInfrastructure"))
	for _, workers := range []string{"machineDeployments", "machinePools"} {
		for _, w := range list(at(spec, "workers", workers)) {
			for _, part := range []string{"infrastructure", "bootstrap"} {
				add(at(w, part))
				add(at(w, "template", part))
			}
		}
	}
	for _, p := range list(at(spec, "patches")) {
		external, _ := at(p, "external").(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(external)) {
			// A handler is called HANDLER.EXTENSION.
			_, extension, ok := strings.Cut(text(external[key]), ".")
			if ok && strings.HasSuffix(key, "Extension") && !slices.Contains(c.Extensions, extension) {
				c.Extensions = append(c.Extensions, extension)
			}
		}
	}
	return c
}

// manager reads the feature gates in the arguments of a Deployment.
func manager(_ *Dump, m map[string]any) any {
	out := &Manager{Gates: map[string]bool{}}
	for _, c := range list(at(m, "spec", "template", "spec", "containers")) {
		args := append(list(at(c, "command")), list(at(c, "args"))...)
		for i, arg := range args {
			value, ok := strings.CutPrefix(text(arg), "--feature-gates")
			switch {
			case !ok:
				continue
			case value == "" && i+1 < len(args):
				value = text(args[i+1])
			}
			for gate := range strings.SplitSeq(strings.TrimPrefix(value, "="), ",") {
				name, set, _ := strings.Cut(strings.TrimSpace(gate), "=")
				on, err := strconv.ParseBool(set)
				out.Gates[name] = on && err == nil
			}
		}
	}
	return out
}
