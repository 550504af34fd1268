package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	rendering "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
	generated "github.com/clusterctl-repo/clusterctl-repo/transform/topology"
)

type fields = map[string]any

// topologyCase makes random Clusters for a class, and changes the class.
type topologyCase struct{ *rand.Rand }

func (c *topologyCase) one(in int) bool { return c.IntN(in) == 0 }

// maybe sets some of the fields, each a name and a value.
func (c *topologyCase) maybe(o fields, list ...any) {
	for i := 0; i < len(list); i += 2 {
		if c.one(3) {
			o[list[i].(string)] = list[i+1]
		}
	}
}

// value is mostly one that fits a schema.
func (c *topologyCase) value(schema *yamldoc.Node, depth int) any {
	if c.one(120) {
		return []any{nil, "wrong", float64(-1), true, fields{"unknown": "x"}, []any{"x"}, ""}[c.IntN(7)]
	}
	if list := schema.Get("enum").List(); len(list) > 0 {
		return list[c.IntN(len(list))].Value()
	}
	for _, key := range []string{"default", "example"} {
		if n := schema.Get(key); n.Given() != nil && c.one(3) {
			return n.Value()
		}
	}
	switch schema.Get("type").Str() {
	case "boolean":
		return c.one(2)
	case "integer", "number":
		least, _ := schema.Get("minimum").Int()
		return float64(least + int64(c.IntN(5)))
	case "array":
		out := []any{}
		least, _ := schema.Get("minItems").Int()
		for range int(least) + c.IntN(3) {
			out = append(out, c.value(schema.Get("items"), depth+1))
		}
		return out
	case "object":
		out := fields{}
		for _, f := range schema.Get("properties").Fields() {
			if c.one(2) && depth < 6 {
				out[f.Name] = c.value(f.Value, depth+1)
			}
		}
		for _, n := range schema.Get("required").List() {
			out[n.Str()] = c.value(schema.Get("properties", n.Str()), depth+1)
		}
		if extra := schema.Get("additionalProperties"); extra.Is(yamldoc.Map) {
			out["extra"] = c.value(extra, depth+1)
		}
		return out
	}
	return []any{"text", "v1.33.1", "10.0.0.0/16", "10Gi", "a", "", "https://example.com/a", "two\nlines", "1.5", "example.com/image:v1"}[c.IntN(10)]
}

// variables are values of a class: with those that it requires, or overrides.
func (c *topologyCase) variables(class *clusterclass.Class, required bool) []any {
	out := []any{}
	for _, v := range class.Variables() {
		if c.one(3) || required && v.Required && !c.one(40) {
			out = append(out, fields{"name": v.Name, "value": c.value(v.Schema.Node, 0)})
		}
	}
	if c.one(40) {
		out = append(out, []any{fields{"name": "unknown", "value": 1.0}, fields{"name": "twice", "value": nil}}[c.IntN(2)])
	}
	return out
}

// part fills in the fields of a control plane or of workers: in a class or a Cluster, in either
// version of the API.
func (c *topologyCase) part(o fields, kind string, old, class bool) {
	metadata := fields{}
	c.maybe(metadata, "labels", fields{"team": fmt.Sprint(c.IntN(3)), "from": fmt.Sprint(class)})
	c.maybe(metadata, "annotations", fields{"note": fmt.Sprint(c.IntN(3)), "topology.cluster.x-k8s.io/defer-upgrade": "", "kubectl.kubernetes.io/last-applied-configuration": "{}"})
	if template, ok := o["template"].(fields); ok {
		c.maybe(template, "metadata", metadata)
	} else {
		c.maybe(o, "metadata", metadata)
	}
	if kind != "pool" {
		c.maybe(o, "readinessGates", []any{fields{"conditionType": fmt.Sprint("Gate", c.IntN(3))}})
	}
	check, checks, remediation, deletion, strategy := fields{}, fields{}, fields{}, fields{}, fields{"type": "RollingUpdate", "rollingUpdate": fields{"maxSurge": float64(c.IntN(3)), "maxUnavailable": "20%"}}
	if kind == "deployment" {
		c.maybe(o, "failureDomain", fmt.Sprint("f", c.IntN(3)), "minReadySeconds", float64(c.IntN(5)))
	}
	if kind == "pool" {
		c.maybe(o, "failureDomains", []any{"f1", fmt.Sprint("f", c.IntN(3))}, "minReadySeconds", float64(c.IntN(5)))
	}
	naming := fmt.Sprintf("{{ .cluster.name }}-%s-{{ .random }}", kind)
	if old {
		c.maybe(o, "nodeDrainTimeout", fmt.Sprint(c.IntN(100), "s"), "nodeVolumeDetachTimeout", "5m", "nodeDeletionTimeout", "1h0m1s")
		c.maybe(check, "nodeStartupTimeout", "20m", "maxUnhealthy", "40%", "unhealthyRange", "[1-3]", "unhealthyConditions", []any{fields{"type": "Ready", "status": "Unknown", "timeout": "300s"}})
		if kind == "deployment" {
			c.maybe(o, "strategy", strategy)
		}
		if !class {
			c.maybe(check, "enable", c.one(2))
		} else if c.one(4) {
			o["namingStrategy"] = fields{"template": naming}
		}
		if kind != "pool" {
			c.maybe(o, "machineHealthCheck", check)
		}
		return
	}
	c.maybe(deletion, "nodeDrainTimeoutSeconds", float64(c.IntN(100)), "nodeVolumeDetachTimeoutSeconds", 10.0, "nodeDeletionTimeoutSeconds", 7200.0)
	c.maybe(o, "taints", []any{fields{"key": "a", "value": fmt.Sprint(c.IntN(3)), "effect": "NoSchedule", "propagation": "Always"}})
	c.maybe(checks, "nodeStartupTimeoutSeconds", 1200.0, "unhealthyNodeConditions", []any{fields{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300.0}},
		"unhealthyMachineConditions", []any{fields{"type": "NodeReady", "status": "False", "timeoutSeconds": 30.0}})
	c.maybe(remediation, "triggerIf", fields{"unhealthyLessThanOrEqualTo": "40%"}, "templateRef", fields{"kind": "ATemplate", "name": "a", "apiVersion": "a/v1"})
	c.maybe(check, "checks", checks, "remediation", remediation)
	switch kind {
	case "deployment":
		c.maybe(remediation, "maxInFlight", 2.0)
		c.maybe(deletion, "order", "Oldest")
		c.maybe(o, "rollout", fields{"strategy": strategy})
	case "control":
		if !class {
			c.maybe(o, "rollout", fields{"after": "2030-01-01T00:00:00Z"})
		}
	}
	c.maybe(o, "deletion", deletion)
	if !class {
		c.maybe(check, "enabled", c.one(2))
	} else if c.one(4) {
		o["naming"] = fields{"template": naming}
	}
	if kind != "pool" {
		c.maybe(o, "healthCheck", check)
	}
}

// kinds are those of workers by their list.
var workerKinds = map[string]string{clusterclass.Deployments: "deployment", clusterclass.Pools: "pool"}

// changed is the class with more in it.
func (c *topologyCase) changed(class *clusterclass.Class) fields {
	out := class.Object.Doc.Root.Value().(fields)
	spec, old := out["spec"].(fields), class.Version == clusterclass.V1Beta1
	if c.one(2) {
		return out
	}
	c.part(spec["controlPlane"].(fields), "control", old, true)
	if naming := (fields{"template": "{{ .cluster.name }}-{{ .random }}-" + strings.Repeat("y", c.IntN(60))}); old {
		c.maybe(spec, "infrastructureNamingStrategy", naming)
	} else {
		c.maybe(spec["infrastructure"].(fields), "naming", naming)
	}
	workers, _ := spec["workers"].(fields)
	for list, kind := range workerKinds {
		all, _ := workers[list].([]any)
		for _, w := range all {
			c.part(w.(fields), kind, old, true)
		}
	}
	return out
}

// cluster is a Cluster of the class.
func (c *topologyCase) cluster(class *clusterclass.Class) fields {
	old := c.one(3)
	control := fields{}
	c.maybe(control, "replicas", float64(c.IntN(4)), "variables", fields{"overrides": c.variables(class, false)})
	c.part(control, "control", old, false)
	workers := fields{}
	for list, kind := range workerKinds {
		var all []any
		for _, w := range class.Workers() {
			for range c.IntN(3) {
				if w.Pool != (kind == "pool") {
					continue
				}
				entry := fields{"class": w.Class, "name": fmt.Sprintf("%s-%d", kind, len(all))}
				if c.one(100) {
					entry["class"] = "unknown"
				}
				c.maybe(entry, "replicas", float64(c.IntN(4)), "variables", fields{"overrides": c.variables(class, false)})
				c.part(entry, kind, old, false)
				all = append(all, entry)
			}
		}
		c.maybe(workers, list, all, list, all, list, all)
	}
	topology := fields{"version": []any{"v1.33.1", "v1.34.0", "1.35.2+build"}[c.IntN(3)], "controlPlane": control, "workers": workers, "variables": c.variables(class, true)}
	metadata, network, version := fields{"name": "one" + strings.Repeat("-long", c.IntN(2)*c.IntN(12)), "namespace": "ns"}, fields{}, clusterclass.V1Beta2
	c.maybe(metadata, "labels", fields{"a": "b"}, "annotations", fields{"c": "d", "kubectl.kubernetes.io/last-applied-configuration": "{}"}, "uid", "1-2-3")
	c.maybe(network, "services", fields{"cidrBlocks": []any{"10.0.0.0/8"}}, "pods", fields{"cidrBlocks": []any{"192.168.0.0/16"}}, "serviceDomain", "cluster.local")
	topology["classRef"] = fields{"name": class.Name()}
	if old {
		version, topology["class"] = clusterclass.V1Beta1, class.Name()
		delete(topology, "classRef")
	}
	spec := fields{"topology": topology}
	c.maybe(spec, "clusterNetwork", network, "paused", c.one(2))
	if c.one(8) {
		spec["infrastructureRef"] = fields{"apiVersion": "a/v1", "apiGroup": "a", "kind": "A", "name": "known"}
	}
	return fields{"apiVersion": clusterclass.Group + "/" + version, "kind": "Cluster", "metadata": metadata, "spec": spec}
}

// placed is an object with its places in a text.
func placed(t *testing.T, name string, value fields) *manifest.Object {
	t.Helper()
	d := yamldoc.Parse(yamldoc.NewFile(name, given.Value(yaml.Marshal(value))(t))).Docs[0]
	o := unstructured.Unstructured{Object: value}
	gvk := o.GroupVersionKind()
	return &manifest.Object{Doc: d, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: o.GetName()}
}

func nameOf(o fields) string { return (&unstructured.Unstructured{Object: o}).GetName() }

// unrandom replaces what Cluster API makes up in names by what the tool writes for it.
func unrandom(objects []map[string]any, like []*generated.Object) []byte {
	text, _ := json.Marshal(objects)
	for i := range min(len(objects), len(like)) {
		pattern := regexp.MustCompile("x+").ReplaceAllStringFunc(regexp.QuoteMeta(nameOf(like[i].Value)), func(run string) string {
			return fmt.Sprintf("([bcdfghjklmnpqrstvwxz2456789]{%d})", len(run)) // in part cut off from a long name
		})
		for n, random := range regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(nameOf(objects[i])) {
			if n > 0 {
				text = bytes.ReplaceAll(text, []byte(random), []byte(strings.Repeat("x", len(random))))
			}
		}
	}
	return text
}

// TestTopology computes the objects of random Clusters of the classes of real providers as the
// tool and as Cluster API do: all equal, or a refusal by both.
func TestTopology(t *testing.T) {
	t.Parallel()
	given.NoError(t, gates())
	clusters := share.Of(4, 60)
	classes, refused, equal, objects := 0, 0, 0, 0
	for _, r := range subjects(t) {
		files := given.Value(filepath.Glob(filepath.Join(r.Dir(), "cluster*.yaml")))(t)
		for _, name := range files {
			text := given.Value(os.ReadFile(name))(t)
			if !bytes.Contains(text, []byte("kind: ClusterClass")) {
				continue
			}
			rendered, err := rendering.RenderCluster(background, rendering.ClusterInput{
				Provider: provider(r), Template: yamldoc.NewFile(name, text), Name: "one", Namespace: "ns", Variables: dummies(text).Get,
			})
			given.NoError(t, err)
			all := given.Value(rendered.Manifests())(t)
			for _, o := range all {
				class := clusterclass.Of(o)
				if class == nil {
					continue
				}
				classes++
				for n := range clusters {
					c := topologyCase{rand.New(rand.NewPCG(uint64(n), uint64(classes)))}
					changed := c.changed(class)
					value := c.cluster(class)
					of := []contract.Contract{contract.V1Beta1, contract.V1Beta2}[c.IntN(2)]
					state, gotErr := generated.Generate(generated.Input{
						Cluster: placed(t, "cluster", value), Value: value, Class: clusterclass.Of(placed(t, "class", changed)), Templates: all, Contract: of, Changes: true,
					})
					want, wantErr := real.Generate(background, unstructured.Unstructured{Object: value}, unstructured.Unstructured{Object: changed}, rendered.Objects, string(of))
					if (gotErr == nil) != (wantErr == nil) {
						t.Fatalf("%s, Cluster %d\n%s\nCluster API: %v\nthe tool: %v", name, n, given.Value(yaml.Marshal(value))(t), wantErr, gotErr)
					}
					if wantErr != nil {
						refused++
						continue
					}
					var a, b []map[string]any
					for _, o := range state.Objects {
						a = append(a, o.Value)
					}
					given.NoError(t, json.Unmarshal(unrandom(want, state.Objects), &b))
					got, _ := json.Marshal(a)
					a = nil
					given.NoError(t, json.Unmarshal(got, &a))
					for i := range max(len(a), len(b)) {
						if i >= len(a) || i >= len(b) || !reflect.DeepEqual(a[i], b[i]) {
							x, _ := yaml.Marshal(b[min(i, len(b)-1)])
							y, _ := yaml.Marshal(a[min(i, len(a)-1)])
							t.Fatalf("%s, Cluster %d, object %d of %d and %d\n%s\nCluster API:\n%s\nthe tool:\n%s", name, n, i, len(b), len(a), firstDifference(x, y), x, y)
						}
					}
					equal++
					objects += len(a)
				}
			}
		}
	}
	t.Logf("%d classes, %d Clusters each: %d refused by both, %d equal with %d objects", classes, clusters, refused, equal, objects)
	if classes == 0 || refused == 0 || equal < classes*clusters/3 {
		t.Error("the Clusters are too much alike")
	}
}
