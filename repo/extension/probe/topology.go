package probe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// specials are the checks of single hooks. They run if the complete request
// succeeded.
var specials = map[string]func(*handler){
	"DiscoverVariables":   (*handler).variables,
	"GeneratePatches":     (*handler).patches,
	"GenerateUpgradePlan": (*handler).plan,
	"CanUpdateMachine":    (*handler).inPlace,
	"CanUpdateMachineSet": (*handler).inPlace,
}

// variables judges the definitions of DiscoverVariables as Cluster API judges
// those of a ClusterClass.
func (h *handler) variables() {
	definitions, problems := h.answer.(*extension.VariablesResponse).Problems(h.o.Core)
	for _, problem := range problems {
		id := "LIV038"
		if problem.Unknown {
			id = "LIV063"
		}
		h.add(id, h.place, "%s", problem.Message)
	}
	h.maker.Discovered = append(h.maker.Discovered, definitions...)
}

// item is one of a GeneratePatches request.
type item struct {
	UID             string
	HolderReference struct{ FieldPath string }
	Object          json.RawMessage
}

func itemsOf(request []byte) []item {
	var r struct{ Items []item }
	_ = json.Unmarshal(request, &r) // our own
	return r.Items
}

// describe names the template of an item.
func (i *item) describe() string {
	var object struct{ Kind string }
	_ = json.Unmarshal(i.Object, &object) // our own
	return object.Kind + " for " + i.HolderReference.FieldPath
}

// patches judges what GeneratePatches answers.
func (h *handler) patches() {
	response := h.answer.(*extension.PatchesResponse)
	h.after(itemsOf(h.request), response, h.scope, func(id, what string) { h.add(id, h.place, "%s", what) })
	seen := map[string]bool{}
	for n, given := range response.Items {
		key := given.UID + given.PatchType + string(given.Patch)
		if seen[key] {
			h.as(lint.Warning, "LIV028", h.place, "items[%d]: the same patch for the uid %q appears twice", n, given.UID)
		}
		seen[key] = true
	}
}

// after are the objects of items after the patches that Cluster API accepts, in the order of
// the items. Each of these patches is told to scope, and each other one to refuse, with the
// check that says why; both may be nil.
func (h *handler) after(items []item, r *extension.PatchesResponse,
	scope func(i *item, before, after, kept json.RawMessage), refuse func(id, what string)) []json.RawMessage {
	objects := make([]json.RawMessage, len(items))
	for n := range items {
		objects[n] = items[n].Object
	}
	for n, given := range r.Items {
		refused := func(id, format string, args ...any) {
			if refuse != nil {
				refuse(id, fmt.Sprintf("items[%d]: ", n)+fmt.Sprintf(format, args...))
			}
		}
		at := slices.IndexFunc(items, func(i item) bool { return i.UID == given.UID })
		if at < 0 {
			refused("LIV028", "the uid %q is not in the request", given.UID)
			continue
		}
		change := given.Change()
		if change.PatchType != extension.JSONPatch && change.PatchType != extension.JSONMergePatch {
			refused("LIV030", "the patchType is %q", given.PatchType)
			continue
		}
		if err := change.Malformed(); err != nil {
			refused("LIV030", "the patch for the %s cannot be read: %v", items[at].describe(), err)
			continue
		}
		after, err := change.Apply(objects[at])
		var kept json.RawMessage
		if err == nil {
			kept, err = patch.Keep(objects[at], after, h.o.Core)
		}
		if err != nil {
			refused("LIV031", "the patch for the %s does not apply: %v", items[at].describe(), err)
			continue
		}
		if scope != nil {
			scope(&items[at], objects[at], after, kept)
		}
		objects[at] = kept
	}
	return objects
}

// scope reports changes of a patch that Cluster API drops or undoes.
func (h *handler) scope(i *item, before, after, kept json.RawMessage) {
	var undone [][]string
	if i.HolderReference.FieldPath == patch.ControlPlanePath {
		undone = phrase.Only(changes(before, kept), extension.Restored)
	}
	for what, changed := range map[string][][]string{"drops": changes(kept, after), "sets itself": undone} {
		paths := phrase.List(changed, func(path []string) string { return strings.Join(path, ".") })
		if slices.Sort(paths); len(paths) > 0 {
			h.add("LIV032", h.place, "the patch for the %s changes %s, which Cluster API %s",
				i.describe(), strings.Join(paths, ", "), what)
		}
	}
}

// plan judges an upgrade plan.
func (h *handler) plan() {
	up := h.maker.Upgrade()
	if err := up.Check(h.answer.(*extension.PlanResponse)); err != nil {
		h.add("LIV041", h.place, "for an upgrade from %s to %s: %v", up.ControlPlane, up.To, err)
	}
}

// inPlace judges the patches of CanUpdateMachine and CanUpdateMachineSet.
func (h *handler) inPlace() {
	sent := currentOf(h.request)
	for _, p := range inPlacePatches(h.answer) {
		after, err := p.Apply(sent[p.of])
		if err != nil {
			h.add("LIV042", h.place, "%sPatch does not apply to the current object: %v", p.of, err)
			continue
		}
		for _, path := range changes(sent[p.of], after) {
			if path[0] != "spec" && path[0] != "status" { // libraries write a status without being asked
				h.as(lint.Warning, "LIV042", h.place, "%sPatch changes %s, which Cluster API ignores",
					p.of, strings.Join(path, "."))
			}
		}
	}
}

// currentOf are the objects of an update in place.
func currentOf(request []byte) map[string]json.RawMessage {
	var sent struct{ Current map[string]json.RawMessage }
	_ = json.Unmarshal(request, &sent) // our own
	return sent.Current
}

// objectPatch is a patch of one of the objects of an update in place.
type objectPatch struct {
	of string
	extension.Patch
}

// inPlacePatches are the patches of an answer, in the order of its fields.
func inPlacePatches(r extension.Response) (out []objectPatch) {
	switch r := r.(type) {
	case *extension.MachineResponse:
		out = []objectPatch{
			{"machine", r.MachinePatch}, {"infrastructureMachine", r.InfrastructureMachinePatch},
			{"bootstrapConfig", r.BootstrapConfigPatch},
		}
	case *extension.MachineSetResponse:
		out = []objectPatch{
			{"machineSet", r.MachineSetPatch}, {"infrastructureMachineTemplate", r.InfrastructureMachineTemplatePatch},
			{"bootstrapConfigTemplate", r.BootstrapConfigTemplatePatch},
		}
	}
	return slices.DeleteFunc(out, func(p objectPatch) bool { return p.IsZero() })
}

// changes are the paths at which two objects differ. Both can be read.
func changes(before, after json.RawMessage) [][]string {
	paths, _ := extension.Changed(before, after)
	return slices.DeleteFunc(paths, func(p []string) bool { return len(p) == 0 })
}

// differ says in which way the answer to a request is another one than the first, apart from
// its message. It is empty if it is not. Patches are compared by what they make.
func (h *handler) differ(request []byte, again extension.Response) string {
	switch first := h.answer.(type) {
	case *extension.VariablesResponse:
		if !slices.Equal(canonical(first.Variables), canonical(again.(*extension.VariablesResponse).Variables)) {
			return "other variables"
		}
	case *extension.PatchesResponse:
		items := itemsOf(request)
		before := h.after(itemsOf(h.request), first, nil, nil)
		after := h.after(items, again.(*extension.PatchesResponse), nil, nil)
		for i := range items {
			if len(changes(before[i], after[i])) > 0 {
				return "another " + items[i].describe()
			}
		}
	case *extension.PlanResponse:
		other := again.(*extension.PlanResponse)
		if !slices.Equal(first.ControlPlaneUpgrades, other.ControlPlaneUpgrades) ||
			!slices.Equal(first.WorkersUpgrades, other.WorkersUpgrades) {
			return "another plan"
		}
	case *extension.MachineResponse, *extension.MachineSetResponse:
		before, after := h.updated(first), h.updated(again)
		for of := range before {
			if len(changes(before[of], after[of])) > 0 {
				return "another " + of + "Patch"
			}
		}
	}
	return ""
}

// updated are the objects of an update in place after the patches that apply.
func (h *handler) updated(r extension.Response) map[string]json.RawMessage {
	out := currentOf(h.request)
	for _, p := range inPlacePatches(r) {
		if after, err := p.Apply(out[p.of]); err == nil {
			out[p.of] = after
		}
	}
	return out
}

// canonical writes values so that equal ones are equal, in a fixed order.
func canonical(list []json.RawMessage) []string {
	out := phrase.List(list, func(raw json.RawMessage) string {
		var v any
		_ = json.Unmarshal(raw, &v) // a part of what was read before
		text, _ := json.Marshal(v)
		return string(text)
	})
	slices.Sort(out)
	return out
}
