package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// specials are the checks of single hooks. They run if the complete request
// succeeded.
var specials = map[string]func(*handler, context.Context){
	"DiscoverVariables":   (*handler).variables,
	"GeneratePatches":     (*handler).patches,
	"ValidateTopology":    (*handler).validation,
	"GenerateUpgradePlan": (*handler).plan,
	"CanUpdateMachine":    (*handler).inPlace,
	"CanUpdateMachineSet": (*handler).inPlace,
}

// variables judges the definitions of DiscoverVariables as Cluster API judges
// those of a ClusterClass.
func (h *handler) variables(context.Context) {
	response := h.answer.(*extension.VariablesResponse)
	definitions, problems := response.Problems(h.o.Core)
	for _, problem := range problems {
		h.add(variableChecks[problem.Kind], h.place, "%s", problem.Message)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.maker.Discovered = append(h.maker.Discovered, definitions...)
	h.defined[h.place.handler] = definitions
}

// conflicts reports variables that a class has from two places that do not agree
// (core/reconcilers/clusterclass, addDefinitionToExistingStatusVariable).
func (p *probe) conflicts() {
	for _, c := range p.o.Classes {
		type origin struct {
			*yamldoc.Node
			who string
		}
		first := map[string]origin{}
		for _, v := range c.Variables() {
			first[v.Name] = origin{v.Node, "the ClusterClass " + c.Name()}
		}
		for _, external := range c.Patches() {
			_, _, discover := c.Handlers(external)
			handler, config, _ := strings.Cut(discover.Str(), ".")
			if p.o.Name != "" && config != p.o.Name {
				continue
			}
			for _, n := range p.defined[handler] {
				name := n.Get("name").Str()
				if other, ok := first[name]; ok && definition(n) != definition(other.Node) {
					p.add("LIV038", place{"DiscoverVariables", handler},
						"variable %q: %s defines it differently", name, other.who)
				}
				first[name] = origin{n, fmt.Sprintf("handler %q, which the ClusterClass %s also uses,", handler, c.Name())}
			}
		}
	}
}

// definition is what two definitions of a variable must agree in.
func definition(variable *yamldoc.Node) string {
	schema, _ := json.Marshal(variable.Get("schema", "openAPIV3Schema").Value())
	return fmt.Sprint(variable.Get("required").Bool()) + meaningless().ReplaceAllString(string(schema), "")
}

// meaningless are fields that are false, which is as if they were missing, and commas.
var meaningless = phrase.Pattern(`"(uniqueItems|exclusiveM\w+|x-kubernetes-[a-z-]+)":false|,`)

// variableChecks are the checks of problems with variables.
var variableChecks = [...]string{extension.InvalidVariable: "LIV038", extension.OtherVersion: "LIV040", extension.UnknownInVariable: "LIV063"}

// canonical writes values so that equal ones are equal, in a fixed order.
func canonical(list []json.RawMessage) []string {
	var out []string
	for _, raw := range list {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			if text, err := json.Marshal(v); err == nil {
				raw = text
			}
		}
		out = append(out, string(raw))
	}
	slices.Sort(out)
	return out
}

// patchedItems are the items of a request after the patches of a handler.
type patchedItems struct {
	handler string
	objects map[string]json.RawMessage // by uid
}

// items of a GeneratePatches request.
type item struct {
	UID             string
	HolderReference struct{ FieldPath string }
	Object          json.RawMessage
}

func itemsOf(body []byte) []item {
	var r struct{ Items []item }
	_ = json.Unmarshal(body, &r) // our own
	return r.Items
}

// patches judges what GeneratePatches answers.
func (h *handler) patches(ctx context.Context) {
	items := itemsOf(h.in.body)
	response := h.answer.(*extension.PatchesResponse)
	result, refused := h.after(items, response, h.scope)
	for _, r := range refused {
		h.add(r.id, h.place, "%s", r.what)
	}
	seen := map[string]bool{}
	for n, given := range response.Items {
		key := given.UID + given.PatchType + string(given.Patch)
		if seen[key] {
			h.warn("LIV028", h.place, "items[%d]: the same patch for the uid %s appears twice", n, given.UID)
		}
		seen[key] = true
	}
	if len(refused) > 0 {
		return
	}
	for _, i := range items {
		if fault := h.refused(i, result[i.UID]); fault != "" {
			h.add("LIV034", h.place, "the patched %s %s", describe(items, i.UID), fault)
		}
		if len(result[i.UID]) > extension.MaxObject {
			return
		}
	}
	h.mu.Lock()
	h.patched = append(h.patched, patchedItems{h.place.handler, result})
	h.mu.Unlock()

	h.variants(ctx, result)
}

// orders is how many other orders are tried.
const orders = 9

// variants sends the items with other uids, which Cluster API makes for each call, and
// items and variables in other orders. What the same request gives in repeated calls is another check.
func (h *handler) variants(ctx context.Context, result map[string]json.RawMessage) {
	for i := range 1 + orders {
		id, what, want := "LIV036", "with the items in another order", result
		body := h.request(func(r map[string]any) {
			list, _ := r["items"].([]any)
			switch i {
			case 0:
				id, what, want = "LIV035", "with other uids", map[string]json.RawMessage{}
				for n, entry := range list {
					item, _ := entry.(map[string]any)
					uid := fmt.Sprintf("%08x-0000-4000-9000-000000000000", n+1)
					want[uid] = result[fmt.Sprint(item["uid"])]
					item["uid"] = uid
				}
			case 1:
				slices.Reverse(list)
			case 2:
				what = "with the variables in another order"
				variables, _ := r["variables"].([]any)
				slices.Reverse(variables)
				for _, entry := range list {
					item, _ := entry.(map[string]any)
					own, _ := item["variables"].([]any)
					slices.Reverse(own)
				}
			default:
				rand.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
			}
		})
		if !h.unchanged(ctx, body, result, want, func(difference string) { h.add(id, h.place, "%s the result is %s", what, difference) }) {
			return
		}
	}
	request := h.maker.Make(h.hook)
	extension.Graft(request, extension.TemplateSpec, unknown, marker)
	if body := extension.RequestJSON(request); !h.found("LIV034") && h.kind(h.send(ctx, body)) == extension.Success { // see tolerant
		h.unchanged(ctx, body, result, result, func(difference string) {
			h.add("LIV052", h.place, "with an unknown field in the templates, the result is %s", difference)
		})
	}
	for _, v := range extension.Unmeant {
		body := extension.RequestJSON(h.maker.For(v).Make(h.hook))
		if h.kind(h.send(ctx, body)) == extension.Success { // it may know this Cluster only
			want := maps.Clone(result)
			for _, i := range itemsOf(body) {
				if i.HolderReference.FieldPath == patch.InfrastructureClusterPath {
					delete(want, i.UID)
				}
			}
			h.unchanged(ctx, body, result, want, func(difference string) { h.warn("LIV035", h.place, "with %s, the result is %s", v.What, difference) })
		}
	}
}

// unchanged tells whether a variant of the request gives the wanted objects, and says so if
// not, unless that is by chance.
func (h *handler) unchanged(ctx context.Context, body []byte, result, want map[string]json.RawMessage, say func(difference string)) bool {
	difference := h.differs(ctx, body, want)
	if difference != "" && h.differs(ctx, h.in.body, result) == "" && h.differs(ctx, body, want) != "" {
		say(difference)
	}
	return difference == ""
}

// reported tells whether a check has found something at a place.
func (p *probe) reported(id string, w place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.report.Findings, func(f lint.Finding) bool { return f.Rule.ID == id && f.File == p.at(w) })
}

// describe names the template of an item.
func describe(items []item, uid string) string {
	for _, i := range items {
		if i.UID == uid {
			var object struct{ Kind string }
			_ = json.Unmarshal(i.Object, &object) // our own
			return object.Kind + " for " + i.HolderReference.FieldPath
		}
	}
	return "item " + uid
}

// refusedPatch is what Cluster API refuses in a patch of an answer, and the check that says so.
type refusedPatch struct{ uid, id, what string }

// after are the objects of items after the patches that Cluster API accepts, in their order
// as there. Each of these is told to scope, which may be nil.
func (h *handler) after(items []item, r *extension.PatchesResponse, scope func(i item, before, after, kept json.RawMessage)) (objects map[string]json.RawMessage, refused []refusedPatch) {
	objects = map[string]json.RawMessage{}
	for _, i := range items {
		objects[i.UID] = i.Object
	}
	for n, given := range r.Items {
		refuse := func(id, format string, args ...any) {
			refused = append(refused, refusedPatch{given.UID, id, fmt.Sprintf("items[%d]: ", n) + fmt.Sprintf(format, args...)})
		}
		object, known := objects[given.UID]
		change := given.Change()
		switch {
		case !known:
			refuse("LIV028", "the uid %q is not in the request", given.UID)
			continue
		case change.PatchType != extension.JSONPatch && change.PatchType != extension.JSONMergePatch:
			refuse("LIV029", "the patchType is %q", given.PatchType)
			continue
		}
		if err := change.Malformed(); err != nil {
			refuse("LIV030", "the patch for the %s cannot be read: %v", describe(items, given.UID), err)
			continue
		}
		after, err := change.Apply(object)
		var kept json.RawMessage
		if err == nil {
			kept, err = patch.Keep(object, after, h.o.Core)
		}
		if err != nil {
			refuse("LIV031", "the patch for the %s does not apply: %v", describe(items, given.UID), err)
			continue
		}
		if scope != nil {
			scope(items[slices.IndexFunc(items, func(i item) bool { return i.UID == given.UID })], object, after, kept)
		}
		objects[given.UID] = kept
	}
	return objects, refused
}

// scope reports changes of a patch that Cluster API drops or undoes.
func (h *handler) scope(i item, before, after, kept json.RawMessage) {
	name := describe([]item{i}, i.UID)
	var dropped, undone []string
	for _, path := range changes(kept, after) {
		dropped = append(dropped, strings.Join(path, "."))
	}
	for _, path := range changes(before, kept) {
		if i.HolderReference.FieldPath == "spec.controlPlaneRef" && extension.Restored(path) {
			undone = append(undone, strings.Join(path, "."))
		}
	}
	slices.Sort(dropped)
	slices.Sort(undone)
	if len(dropped) > 0 {
		h.add("LIV032", h.place, "the patch for the %s changes %s, which Cluster API drops", name, strings.Join(dropped, ", "))
	}
	if len(undone) > 0 {
		h.add("LIV033", h.place,
			"the patch for the %s changes %s, which Cluster API sets itself", name, strings.Join(undone, ", "))
	}
}

// refused says why the API server does not store a patched object: what its CRD does not
// allow, and the object did not have before.
func (h *handler) refused(i item, after json.RawMessage) string {
	if len(after) > extension.MaxObject {
		return fmt.Sprintf("has %d bytes, more than an API server accepts", len(after))
	}
	if fault := h.damaged(i.Object, after); fault != "" {
		return fault
	}
	before, _ := h.violations(i.Object)
	now, _ := h.violations(after)
	for _, message := range now {
		// Cluster API copies labels and annotations out of spec.template.metadata, never the
		// map itself, so an empty one does not reach the API server.
		copied := !strings.HasPrefix(message, "spec.template.metadata ")
		if copied && !slices.Contains(before, message) {
			return "is invalid: " + message
		}
	}
	return ""
}

// violations are what the schema of an object's kind, if it is known, does not allow, except
// fields that it does not know.
func (h *handler) violations(object json.RawMessage) (out []string, known bool) {
	docs := yamldoc.Parse(yamldoc.NewFile("object", object)).Docs
	if h.o.Schema == nil || len(docs) == 0 || !docs[0].Root.Is(yamldoc.Map) {
		return nil, false
	}
	root := docs[0].Root
	group, version := manifest.SplitAPIVersion(root.Get("apiVersion").Str())
	s, known := h.o.Schema(group, root.Get("kind").Str(), version)
	if !known {
		return nil, false
	}
	for _, v := range new(crd.Checker).CheckObject(s, root) {
		out = append(out, v.Path+" "+v.Message)
	}
	slices.Sort(out)
	return out, true
}

// differs sends items and says which object is not the wanted one after the answer.
func (h *handler) differs(ctx context.Context, body []byte, want map[string]json.RawMessage) string {
	r := h.send(ctx, body)
	if status, ok := h.outcome(r); !ok {
		if ctx.Err() != nil {
			return ""
		}
		return short(status)
	}
	items := itemsOf(body)
	answer, _ := h.hook.Decode(r.body)
	objects, refused := h.after(items, answer.(*extension.PatchesResponse), nil)
	for _, i := range items {
		if w := want[i.UID]; w != nil && len(changes(objects[i.UID], w)) > 0 {
			return "a different " + describe(items, i.UID)
		}
	}
	if len(refused) > 0 {
		return "a patch that does not apply to " + describe(items, refused[0].uid)
	}
	return ""
}

// unfit says which patch of an answer does not apply, or makes an object that the API server
// refuses, and by which check.
func (h *handler) unfit(r reply, body []byte) (id, fault string) {
	answer, err := h.hook.Decode(r.body)
	if !r.ok() || err != nil {
		return "", ""
	}
	if p, ok := answer.(*extension.PatchesResponse); ok {
		items := itemsOf(body)
		objects, refused := h.after(items, p, nil)
		if i := slices.IndexFunc(refused, func(r refusedPatch) bool { return r.id != "LIV028" }); i >= 0 {
			return "LIV031", "a patch does not apply to the " + describe(items, refused[i].uid)
		}
		for _, i := range items {
			if fault := h.damaged(i.Object, objects[i.UID]); fault != "" {
				return "LIV034", fmt.Sprintf("the patched %s %s", describe(items, i.UID), fault)
			}
		}
	}
	var sent struct{ Current map[string]json.RawMessage }
	_ = json.Unmarshal(body, &sent) // our own
	for _, patch := range inPlacePatches(answer) {
		if _, err := patch.Apply(sent.Current[patch.of]); err != nil {
			return "LIV042", fmt.Sprintf("%sPatch does not apply to the current object: %v", patch.of, err)
		}
	}
	return "", ""
}

// damaged says what the API server refuses in a patched template: a value
// of another type, if the CRD is unknown or refuses it, or a label, if the template had none before. Texts
// with letters of other scripts, which tests of odd values send, are left out.
func (h *handler) damaged(before, after json.RawMessage) string {
	var a, b any
	if json.Unmarshal(before, &a) == nil && json.Unmarshal(after, &b) == nil {
		if places := retyped(a, b, ""); len(places) > 0 {
			faults, known := h.violations(after)
			for _, at := range places {
				if !known || slices.ContainsFunc(faults, func(text string) bool { return strings.HasPrefix(text, at[1:]+" ") }) {
					return "has a value of another type at " + at[1:]
				}
			}
		}
	}
	bad := func(object json.RawMessage) string {
		type marked struct {
			Metadata struct{ Labels, Annotations map[string]any }
		}
		var template struct {
			marked
			Spec struct {
				Template struct {
					marked
					Spec json.RawMessage
				}
			}
		}
		_ = json.Unmarshal(object, &template) // other types are faults of the schema
		for _, m := range []marked{template.marked, template.Spec.Template.marked} {
			for n, marks := range []map[string]any{m.Metadata.Labels, m.Metadata.Annotations} {
				for _, key := range slices.Sorted(maps.Keys(marks)) {
					value, text := marks[key].(string)
					reasons := validation.IsQualifiedName(strings.ToLower(key)) // as for annotations
					if n == 0 {
						reasons = append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
					}
					if !text {
						reasons = []string{"it must be a string"}
					}
					if len(reasons) > 0 && !strings.ContainsFunc(value, func(r rune) bool { return r > unicode.MaxASCII }) {
						given, _ := json.Marshal(marks[key])
						return fmt.Sprintf("has an invalid %s %s: %s: %s",
							[...]string{"label", "annotation"}[n], key, short(string(given)), reasons[0])
					}
				}
			}
		}
		if template.Spec.Template.Spec == nil {
			return "has no spec.template.spec"
		}
		return ""
	}
	if bad(before) != "" {
		return ""
	}
	return bad(after)
}

// retyped returns the paths at which a list or an object became something else.
func retyped(before, after any, path string) (places []string) {
	a, object := before.(map[string]any)
	b, still := after.(map[string]any)
	_, list := before.([]any)
	_, stays := after.([]any)
	switch {
	case before == nil || after == nil:
		return nil
	case object != still || list != stays:
		return []string{path}
	}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		places = append(places, retyped(a[key], b[key], path+"."+key)...)
	}
	return places
}

// padding is what a request is blown up with, all in all, and mostAnnotated how much of it an
// API server takes in the annotations of an object (256 KiB) that has others.
const (
	padding       = 2 << 20
	mostAnnotated = 200 << 10
)

// large sends a request of megabytes, if the hook has items: after everything else, since a
// server that reads one request after the other may hold up those of the same connection.
func (h *handler) large(ctx context.Context) {
	r := h.maker.For(extension.Crowded).Make(h.hook)
	list, _ := r["items"].([]any)
	if len(list) < padding/mostAnnotated {
		return
	}
	body := extension.RequestJSON(r)
	switch crowded := h.refusable(ctx, extension.Crowded.What, body); {
	case h.kind(crowded) == extension.Success:
	case h.kind(crowded) == extension.Failure && h.message(crowded) == h.message(h.send(ctx, []byte("{"))): // not read
		h.add("LIV061", h.place, "for a request of %d kB: %s: %s", len(body)>>10, extension.Failure, short(h.message(crowded)))
		return
	default:
		return // it may limit the number of workers
	}
	for _, i := range list {
		object := i.(map[string]any)["object"].(map[string]any)
		object["metadata"].(map[string]any)["annotations"].(map[string]any)["clusterctl-repo/padding"] = strings.Repeat("x", padding/len(list))
	}
	body = extension.RequestJSON(r)
	if status, ok := h.outcome(h.send(ctx, body)); !ok && ctx.Err() == nil { // not measured: it is not an ordinary request
		h.add("LIV061", h.place, "for a request of %d MB: %s", len(body)>>20, status)
	}
}

// validation sends ValidateTopology what the extension itself has patched.
func (h *handler) validation(ctx context.Context) {
	h.mu.Lock()
	patched := h.patched
	h.mu.Unlock()
	if len(patched) != 1 {
		return // which of several belongs to this handler is not known
	}
	var ids []string
	for _, i := range itemsOf(extension.RequestJSON(h.maker.Make(extension.Find("GeneratePatches")))) {
		ids = append(ids, i.UID)
	}
	r := h.send(ctx, h.request(func(r map[string]any) {
		list, _ := r["items"].([]any)
		for n, i := range list {
			if entry, ok := i.(map[string]any); ok && n < len(ids) {
				entry["object"] = patched[0].objects[ids[n]]
			}
		}
	}))
	severity := lint.Error
	if r.ok() {
		severity = lint.Warning
	}
	if status, ok := h.outcome(r); !ok && ctx.Err() == nil {
		h.as(severity, "LIV037", h.place, "for what %s has patched: %s", patched[0].handler, status)
	}
}

// plan judges an upgrade plan, and those for other upgrades.
func (h *handler) plan(ctx context.Context) {
	up := h.maker.Upgrade()
	first := h.answer.(*extension.PlanResponse)
	if err := up.Check(first); err != nil {
		h.add("LIV041", h.place, "for an upgrade from %s to %s: %v", up.ControlPlane, up.To, err)
		return
	}
	if len(first.ControlPlaneUpgrades) > 0 { // nothing is left to do without any
		h.mu.Lock()
		h.planned = first
		h.mu.Unlock()
	}
	known, others := up.Others(first)
	for i, up := range append(known, others...) {
		verdict := func(r reply) string {
			if status, ok := h.outcome(r); !ok {
				return status
			}
			answer, _ := h.hook.Decode(r.body)
			if err := up.Check(answer.(*extension.PlanResponse)); err != nil {
				return err.Error()
			}
			return ""
		}
		r := h.insist(ctx, h.request(up.Ask), func(r reply) bool { return verdict(r) == "" })
		unknown := i >= len(known) && h.kind(r) == extension.Failure
		h.sameRefusal(ctx, r, h.request(up.Ask))
		if what := verdict(r); what != "" && !unknown && ctx.Err() == nil {
			h.add("LIV041", h.place, "for an upgrade from %s (workers: %s) to %s: %s",
				up.ControlPlane, cmp.Or(up.Workers, "none"), up.To, short(what))
			return
		}
	}
}

// inPlace judges the patches of CanUpdateMachine and CanUpdateMachineSet.
func (h *handler) inPlace(ctx context.Context) {
	var sent struct{ Current, Desired map[string]json.RawMessage }
	_ = json.Unmarshal(h.in.body, &sent) // our own
	for _, patch := range inPlacePatches(h.answer) {
		name, field := patch.of, patch.of+"Patch"
		after, err := patch.Apply(sent.Current[name])
		if err != nil {
			h.add("LIV042", h.place, "%s does not apply to the current object: %v", field, err)
			continue
		}
		for _, path := range changes(sent.Current[name], after) {
			say := h.warn
			if path[0] == "status" { // libraries write it without being asked
				say = h.note
			}
			if path[0] != "spec" {
				say("LIV042", h.place, "%s changes %s, which Cluster API ignores", field, strings.Join(path, "."))
			}
		}
		var current, desired, patched struct{ Spec any }
		_ = json.Unmarshal(sent.Current[name], &current)
		_ = json.Unmarshal(sent.Desired[name], &desired)
		_ = json.Unmarshal(after, &patched)
		if at := astray(current.Spec, desired.Spec, patched.Spec, "spec"); at != "" {
			h.warn("LIV042", h.place, "%s changes %s to a value that is not the desired one", field, at)
		}
	}
	r := h.send(ctx, h.request(func(r map[string]any) { r["desired"] = r["current"] }))
	status, ok := h.outcome(r)
	if !ok {
		if ctx.Err() == nil {
			h.add("LIV043", h.place, "if current and desired are equal: %s", status)
		}
		return
	}
	answer, err := h.hook.Decode(r.body)
	if err != nil {
		return
	}
	for _, patch := range inPlacePatches(answer) {
		current := sent.Current[patch.of]
		after, err := patch.Apply(current)
		spec := func(path []string) bool { return path[0] == "spec" } // the rest is ignored
		if err != nil || slices.ContainsFunc(changes(current, after), spec) {
			h.add("LIV043", h.place, "if current and desired are equal, it answers with a %sPatch", patch.of)
		}
	}
}

// astray returns a path at which a patched value is neither the current nor the desired
// one. Values that stand for nothing are left out: libraries write them without being asked.
func astray(current, desired, patched any, path string) string {
	if reflect.DeepEqual(patched, current) || reflect.DeepEqual(patched, desired) {
		return ""
	}
	switch p := patched.(type) {
	case map[string]any:
		c, _ := current.(map[string]any)
		d, _ := desired.(map[string]any)
		keys := maps.Clone(p)
		maps.Copy(keys, c)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if at := astray(c[key], d[key], p[key], path+"."+key); at != "" {
				return at
			}
		}
		return ""
	case []any:
		c, _ := current.([]any)
		d, _ := desired.([]any)
		if len(c) != len(p) || len(d) != len(p) {
			return "" // a part of the change
		}
		for i := range p {
			if at := astray(c[i], d[i], p[i], fmt.Sprintf("%s[%d]", path, i)); at != "" {
				return at
			}
		}
		return ""
	}
	// A typed object drops its empty fields, and adds them.
	if blank(patched) && (blank(current) || blank(desired)) {
		return ""
	}
	return path
}

// blank reports whether a value is none, or an empty one.
func blank(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.IsZero() || (r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0
}

// changes are the paths at which two objects differ. Both can be read. An unknown field
// may be lost: handlers with types, such as those of Cluster API's library, do not see it.
func changes(before, after json.RawMessage) [][]string {
	paths, _ := extension.Changed(before, after)
	return slices.DeleteFunc(paths, func(p []string) bool { return len(p) == 0 || p[len(p)-1] == unknown })
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
		out = []objectPatch{{"machine", r.MachinePatch}, {"infrastructureMachine", r.InfrastructureMachinePatch}, {"bootstrapConfig", r.BootstrapConfigPatch}}
	case *extension.MachineSetResponse:
		out = []objectPatch{{"machineSet", r.MachineSetPatch}, {"infrastructureMachineTemplate", r.InfrastructureMachineTemplatePatch}, {"bootstrapConfigTemplate", r.BootstrapConfigTemplatePatch}}
	}
	return slices.DeleteFunc(out, func(p objectPatch) bool { return p.IsZero() })
}
