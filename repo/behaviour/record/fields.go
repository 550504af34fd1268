package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
)

// Label is the value of a label of an object.
func (v Value) Label(key string) string { return v.Get("metadata", "labels", key).Str() }

// Annotated reports whether an object has an annotation.
func (v Value) Annotated(key string) bool { return v.Get("metadata", "annotations", key).Exists() }

// Finalizers are those of an object.
func (v Value) Finalizers() []string { return v.Get("metadata", "finalizers").Strings() }

// Generation counts the changes of the spec of an object.
func (v Value) Generation() int64 { return v.Get("metadata", "generation").Number() }

// Condition finds a condition wherever a version of the contract has it.
func (v Value) Condition(kind string) Value {
	for _, list := range [...]Value{v.Get("status", "v1beta2", "conditions"), v.Get("status", "conditions")} {
		for c := range list.Items() {
			if c.Get("type").Str() == kind {
				return c
			}
		}
	}
	return Value{}
}

// Paused reports whether an object shows that it is paused.
func (v Value) Paused() bool { return v.Condition("Paused").Get("status").Str() == "True" }

// Conditions are those of the form of Kubernetes, not the older ones of Cluster API,
// which have a severity and change their time for other reasons.
func (v Value) Conditions() Value {
	if list := v.Get("status", "v1beta2", "conditions"); list.Exists() {
		return list
	}
	list := v.Get("status", "conditions")
	if v.Get("status", "initialization").Exists() || v.Get("status", "deprecated").Exists() {
		return list
	}
	for c := range list.Items() {
		if c.Get("observedGeneration").Exists() {
			return list
		}
	}
	return Value{}
}

// reached reads a field of the initialization, or that of the older contract.
func (v Value) reached(field, older string) bool {
	if init := v.Get("status", "initialization"); init.Exists() {
		return init.Get(field).True()
	}
	return v.Get("status", older).True()
}

// Provisioned reports whether the infrastructure of an object exists.
func (v Value) Provisioned() bool { return v.reached("provisioned", "ready") }

// DataCreated reports whether a bootstrap configuration has its data.
func (v Value) DataCreated() bool { return v.reached("dataSecretCreated", "ready") }

// Initialized reports whether a control plane accepts requests.
func (v Value) Initialized() bool { return v.reached("controlPlaneInitialized", "initialized") }

// Completed reports whether an object says that the initialization of its role is completed.
func (v Value) Completed(tag string) bool {
	switch tag {
	case string(contract.BootstrapConfig):
		return v.DataCreated()
	case string(contract.ControlPlane):
		return v.Initialized()
	}
	return v.Provisioned() || tag == string(contract.InfraMachinePool) && v.Get("status", "ready").True()
}

// InfrastructureReady reports whether a Cluster has its infrastructure.
func (v Value) InfrastructureReady() bool {
	return v.reached("infrastructureProvisioned", "infrastructureReady")
}

// PoolProvisioned reports whether a pool says that it is, in either contract.
func (v Value) PoolProvisioned() bool {
	return v.Get("status", "ready").True() || v.Get("status", "initialization", "provisioned").True()
}

// HasInstances reports whether a pool counts or lists any.
func (v Value) HasInstances() bool {
	return v.Get("status", "replicas").Number() > 0 || v.Get("spec", "providerIDList").Len() > 0
}

// RolloutAfter is the time from which a control plane is to get new Machines.
func (v Value) RolloutAfter() string {
	return cmp.Or(v.Get("spec", "rollout", "after").Str(), v.Get("spec", "rolloutAfter").Str())
}

// Filled reports whether a value of a Secret is not empty; recordings have its size instead.
func (v Value) Filled() bool { return v.Number() > 0 || v.Str() != "" && v.Str() != "0" }

// HostPort is the endpoint of the control plane, of which one may be missing.
func (v Value) HostPort() (host string, port int64) {
	e := v.Get("spec", "controlPlaneEndpoint")
	return e.Get("host").Str(), e.Get("port").Number()
}

// Endpoint is that of the control plane if it is whole.
func (v Value) Endpoint() string {
	host, port := v.HostPort()
	if host == "" || port == 0 {
		return ""
	}
	return host + ":" + strconv.FormatInt(port, 10)
}

// FailureDomains are the names of those in the status.
func (v Value) FailureDomains() (out []string) {
	for d := range v.Get("status", "failureDomains").Items() {
		if name := cmp.Or(d.Get("name").Str(), d.Key()); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// Ref is a reference of a core object.
type Ref struct{ Group, Kind, Name string }

// Ref reads a reference in either version of the API.
func (v Value) Ref() Ref {
	group := cmp.Or(v.Get("apiGroup").Str(), GroupOf(v.Get("apiVersion").Str()))
	return Ref{group, v.Get("kind").Str(), v.Get("name").Str()}
}

// At follows a path with dots; [TYPE] at its end chooses a condition.
func (v Value) At(path string) Value {
	path, kind, _ := strings.Cut(strings.TrimSuffix(path, "]"), "[")
	if kind != "" {
		return v.Condition(kind)
	}
	return v.Get(strings.Split(path, ".")...)
}

// mostShown bounds the lines of a diff.
const mostShown = 8

// Shown are the values at the paths, or without paths all that changed.
func Shown(prev, cur Value, paths []string) (out []string) {
	if paths == nil && prev.Exists() {
		for _, d := range Diff(prev, cur) {
			if d.Path == "metadata.resourceVersion" || strings.HasPrefix(d.Path, "status.deprecated") {
				continue
			}
			if len(out) == mostShown {
				return append(out, "…")
			}
			out = append(out, d.String())
		}
		return out
	}
	for _, path := range paths {
		now := cur.At(path)
		if before := prev.At(path); prev.Exists() && !before.Equal(now) {
			out = append(out, Change{Path: path, Old: before, New: now}.String())
			continue
		}
		out = append(out, path+": "+now.Text())
	}
	return out
}

// LostFinalizers are those that went from one version to the next, but for those of
// Kubernetes itself.
func LostFinalizers(prev, cur Value) []string {
	now := cur.Finalizers()
	return slices.DeleteFunc(prev.Finalizers(), func(f string) bool {
		return slices.Contains(now, f) || f == "foregroundDeletion" || f == "orphan"
	})
}

// Work returns the changes that only a controller makes to its own objects: of the
// status but for what says that it is paused, and of the identities in the spec.
func Work(prev, cur Value) (out []string) {
	var leaf func(c Change)
	leaf = func(c Change) {
		v := c.New
		if !v.Exists() {
			v = c.Old
		}
		if k := v.Kind(); (k == Map || k == List) && v.Len() > 0 && (!c.Old.Exists() || !c.New.Exists()) {
			for item := range v.Items() {
				one := Change{Path: c.Path + "." + item.Key(), New: item}
				if k == List {
					one.Path = c.Path + "[" + item.Get("type").Str() + "]"
				}
				if c.Old.Exists() {
					one.Old, one.New = item, Value{}
				}
				leaf(one)
			}
			return
		}
		if !strings.Contains(c.Path, "[Paused]") && !strings.HasSuffix(c.Path, "bservedGeneration") &&
			!strings.Contains(c.Path, ".deprecated") {
			out = append(out, c.String())
		}
	}
	for _, part := range []string{"status", "spec.providerID", "spec.providerIDList", "spec.controlPlaneEndpoint"} {
		for _, c := range diff(nil, part, prev.At(part), cur.At(part)) {
			leaf(c)
		}
	}
	return out
}

// CompareVersions compares v1.30.1 and 1.31.0; what is after the numbers does not count.
func CompareVersions(a, b string) int {
	parse := func(s string) []int {
		out := make([]int, 3)
		_, _ = fmt.Sscanf(strings.TrimPrefix(s, "v"), "%d.%d.%d", &out[0], &out[1], &out[2]) // what is missing is 0
		return out
	}
	return slices.Compare(parse(a), parse(b))
}

// Selects reports whether a selector in the form KEY, !KEY, KEY=VALUE or KEY!=VALUE matches.
func Selects(selector string, labels Value) (match, known bool) {
	if strings.ContainsAny(selector, "()") {
		return false, false
	}
	match = true
	for part := range strings.SplitSeq(selector, ",") {
		part = strings.TrimSpace(part)
		key, want, equal := strings.Cut(strings.Replace(part, "==", "=", 1), "=")
		not := strings.HasSuffix(key, "!")
		key = strings.TrimSpace(strings.TrimSuffix(key, "!"))
		absent := strings.HasPrefix(key, "!")
		v := labels.Get(strings.TrimPrefix(key, "!"))
		switch {
		case part == "":
		case absent:
			match = match && !v.Exists()
		case !equal:
			match = match && v.Exists()
		case not:
			match = match && v.Str() != strings.TrimSpace(want)
		default:
			match = match && v.Exists() && v.Str() == strings.TrimSpace(want)
		}
	}
	return match, true
}

// Strings are the texts in a list.
func (v Value) Strings() (out []string) {
	for item := range v.Items() {
		out = append(out, item.Str())
	}
	return out
}

// Number is the value of a whole number, else 0.
func (v Value) Number() int64 {
	n, _ := v.Int()
	return n
}

// Settings are the changes of the spec, but for numbers of replicas, and of the statuses of
// conditions, but for Paused.
func Settings(prev, cur Value) (out []Change) {
	for _, d := range Diff(prev.Get("spec"), cur.Get("spec")) {
		if d.Path = "spec." + d.Path; !strings.Contains(strings.ToLower(d.Path), "replicas") {
			out = append(out, d)
		}
	}
	for _, d := range Diff(prev.Conditions(), cur.Conditions()) {
		if d.Path = "status.conditions" + d.Path; strings.HasSuffix(d.Path, "].status") &&
			d.Path != "status.conditions[Paused].status" {
			out = append(out, d)
		}
	}
	return out
}

// OfUsers are the changes of strings and numbers of the spec but for identities, and labels
// and annotations that come or go, if their keys have no prefix or mean a pause.
func OfUsers(prev, cur Value) []Change {
	out := slices.DeleteFunc(Settings(prev, cur), func(d Change) bool {
		return !strings.HasPrefix(d.Path, "spec.") || d.Path == "spec.providerID" ||
			strings.HasPrefix(d.Path, "spec.controlPlaneEndpoint") ||
			d.Old.Str() == "" && d.Old.Number() == 0 || d.New.Str() == "" && d.New.Number() == 0
	})
	for _, part := range []string{"metadata.labels", "metadata.annotations"} {
		before, now := prev.At(part), cur.At(part)
		for _, list := range []Value{before, now} {
			for item := range list.Items() {
				k := item.Key()
				if before.Get(k).Exists() != now.Get(k).Exists() && (!strings.Contains(k, "/") || k == pausedAnnotation) {
					out = append(out, Change{Path: part + "." + k, Old: before.Get(k), New: now.Get(k)})
				}
			}
		}
	}
	return out
}

// Whole reads the text at a path, or the endpoint there if it is whole.
func (v Value) Whole(path string) string {
	if path == "spec.controlPlaneEndpoint" {
		return v.Endpoint()
	}
	return v.At(path).Str()
}

// Identities are the paths of what identifies what an object stands for.
var Identities = []string{"spec.providerID", "spec.controlPlaneEndpoint", "status.dataSecretName"}

// Identity returns the values at Identities, by path, for the role, with addresses and
// whether its initialization is completed.
func (v Value) Identity(tag string) map[string]string {
	out := map[string]string{}
	if v.Completed(tag) {
		out["initialized"] = "true"
	}
	for _, path := range Identities {
		out[path] = v.Whole(path)
	}
	if a := v.Get("status", "addresses"); a.Len() > 0 {
		out["status.addresses"] = a.Text()
	}
	return out
}

// isType tells whether a value has a type of contract.Fields; objects are not looked at.
var isType = map[string]func(Value) bool{
	"boolean": func(v Value) bool { return v.Kind() == Bool },
	"integer": func(v Value) bool { _, ok := v.Int(); return ok },
	"array":   func(v Value) bool { return v.Kind() == List },
	"string":  func(v Value) bool { return v.Str() != "" || v.Text() == `""` },
}

// Mistyped finds the first field of an object of the role whose type differs from the
// contract's.
func (v Value) Mistyped(tag string) (path, want string) {
	newer := v.Get("status", "initialization").Exists()
	for _, f := range contract.Fields {
		is := isType[f.Type]
		if string(f.Role) != tag || !f.Read || f.Template || is == nil || strings.ContainsAny(f.Path, "[*") ||
			f.Contract == contract.V1Beta1 && newer || f.Contract == contract.V1Beta2 && !newer {
			continue
		}
		above := f.Path[:max(strings.LastIndexByte(f.Path, '.'), 0)]
		if a := v.At(above); a.Exists() && a.Kind() != Map {
			return above, "object"
		}
		if a := v.At(f.Path); a.Exists() && !is(a) {
			return f.Path, f.Type
		}
	}
	return "", ""
}
