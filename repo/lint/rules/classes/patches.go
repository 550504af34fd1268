package classes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var patchRules = &lint.Family{Prefix: "PA", Title: "Patches of ClusterClasses", Kinds: view.Substituted}

const (
	patchAdmission = "cluster-api core/webhooks/admission, patch_validation.go"
	patchEngine    = "cluster-api internal/controllers/topology/cluster/patches/inline"
)

// patchDefinition is an entry of the definitions of a patch.
type patchDefinition struct {
	patch clusterclass.Patch
	node  *yamldoc.Node
	path  []string
	// apiVersion and kind are those of the selector, match its matchResources.
	apiVersion, kind, match *yamldoc.Node
}

// jsonPatch is a JSON patch.
type jsonPatch struct {
	definition *patchDefinition
	node       *yamldoc.Node
	path       []string
	op, to     *yamldoc.Node
	// value and from are nil for null.
	value, from *yamldoc.Node
}

func listIndex(i int) string { return "[" + strconv.Itoa(i) + "]" }

// patchDefinitions returns the definitions of all patches of a class.
func patchDefinitions(c *clusterclass.Class) []patchDefinition {
	var out []patchDefinition
	for i, patch := range c.Patches() {
		for j, n := range patch.Definitions.List() {
			s := n.Get("selector")
			out = append(out, patchDefinition{
				patch, n, []string{"spec", "patches", listIndex(i), "definitions", listIndex(j)},
				s.Get("apiVersion"), s.Get("kind"), s.Get("matchResources"),
			})
		}
	}
	return out
}

// jsonPatches returns the JSON patches of a class.
func jsonPatches(c *clusterclass.Class) (out []jsonPatch) {
	for _, d := range patchDefinitions(c) {
		for j, n := range d.node.Get("jsonPatches").List() {
			if n.Is(yamldoc.Map) {
				out = append(out, jsonPatch{
					&d, n, append(slices.Clip(d.path), "jsonPatches", listIndex(j)),
					n.Get("op"), n.Get("path"), n.Get("value").Given(), n.Get("valueFrom").Given(),
				})
			}
		}
	}
	return out
}

// writes reports whether the operation needs a value.
func (j jsonPatch) writes() bool { return j.op.Str() == "add" || j.op.Str() == "replace" }

var _ = patchRules.Add(lint.Rule{
	ID: "PA001", Name: "patch-name", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Patches of a ClusterClass must have unique names",
	Source: patchAdmission + ", validatePatchName",
	Why:    `The API server refuses the class. The name "inline" is reserved.`,
	Fix:    "Rename the patch.",
	Check:  eachClass(patchName),
})

func patchName(p *lint.Pass, c *clusterclass.Class) {
	seen := map[string]bool{}
	for i, patch := range c.Patches() {
		n := patch.Node.Get("name").Given()
		switch {
		case !patch.Node.Is(yamldoc.Map) || n != nil && !n.Is(yamldoc.String) || sampled(c.Object, n):
		case n == nil:
			p.On(c.Object, patch.Node, "the patch has no name")
		case n.Text() == "":
			p.On(c.Object, n, "the name of the patch is empty")
		case n.Text() == "inline":
			p.On(c.Object, n, "the patch has the reserved name \"inline\"")
		case seen[n.Text()]:
			p.On(c.Object, n, "two patches have the name %q", n.Text())
		default:
			violations(p, c, n, "spec", "patches", listIndex(i), "name")
		}
		seen[patch.Name] = true
	}
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA002", Name: "patch-kind", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A patch must have either definitions or external",
	Source: patchAdmission + ", validatePatchDefinitions",
	Why:    "The API server refuses the class.",
	Fix:    "Keep exactly one of definitions and external.",
	Check: each((*clusterclass.Class).Patches, func(p *lint.Pass, c *clusterclass.Class, patch clusterclass.Patch) {
		switch {
		case !patch.Node.Is(yamldoc.Map):
		case patch.Definitions == nil && patch.External == nil:
			p.On(c.Object, patch.Node, "patch %q has neither definitions nor external", patch.Name)
		case patch.Definitions != nil && patch.External != nil:
			p.On(c.Object, patch.Node.Field("external").Key(), "patch %q has both definitions and external", patch.Name)
		}
	}),
})

// judgeable reports whether the text of a template can be judged: it is written
// here and not longer than the API allows.
func judgeable(p *lint.Pass, c *clusterclass.Class, n *yamldoc.Node, what string, most int) bool {
	if !n.Is(yamldoc.String) || sampled(c.Object, n) {
		return false
	}
	if size := utf8.RuneCountInString(n.Text()); size > most {
		p.On(c.Object, n, "%s has %d characters; at most %d are allowed", what, size, most)
		return false
	}
	return true
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA003", Name: "patch-enabled-if", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "enabledIf must be a valid template of at most 256 characters",
	Source: patchAdmission + ", validateEnabledIf",
	Why:    "The API server refuses the class.",
	Fix:    "Correct the template. It can call the functions of text/template and the hermetic functions of sprig.",
	Check: each((*clusterclass.Class).Patches, func(p *lint.Pass, c *clusterclass.Class, patch clusterclass.Patch) {
		what := fmt.Sprintf("enabledIf of patch %q", patch.Name)
		if !judgeable(p, c, patch.EnabledIf, what, 256) {
			return
		}
		if patch.EnabledIf.Text() == "" {
			p.On(c.Object, patch.EnabledIf, "%s is empty", what)
		} else if _, err := clusterclass.ParseTemplate(patch.EnabledIf.Text()); err != nil {
			p.On(c.Object, patch.EnabledIf, "%s is not a valid template: %v", what, err)
		}
	}),
})

var _ = patchRules.Add(lint.Rule{
	ID: "PA004", Name: "patch-template", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The template of a value must be valid and have at most 10240 characters",
	Source: patchAdmission + ", validateJSONPatchValues",
	Why:    "The API server refuses the class.",
	Fix:    "Correct the template. It can call the functions of text/template and the hermetic functions of sprig.",
	Check: each(jsonPatches, func(p *lint.Pass, c *clusterclass.Class, j jsonPatch) {
		n := j.from.Get("template")
		if !judgeable(p, c, n, "the template", 10240) {
			return
		}
		if n.Text() == "" {
			p.On(c.Object, n, "the template is empty")
		} else if _, err := clusterclass.ParseTemplate(n.Text()); err != nil && j.writes() {
			p.On(c.Object, n, "the template is not valid: %v", err)
		}
	}),
})

// matches reports whether a selector selects a reference.
func (d *patchDefinition) matches(r *clusterclass.Reference) bool {
	return r.Node != nil && d.kind.Str() == r.Kind && d.apiVersion.Str() == r.APIVersion
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA005", Name: "patch-selector", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The selector of a patch must repeat the version and kind of a reference of the class",
	Source: patchAdmission + ", selectorMatchTemplate",
	Why:    "The API server refuses the class. It compares the strings, so another version of the same kind does not match.",
	Fix:    "Copy apiVersion and kind from the reference.",
	Check:  eachClass(patchSelector),
})

func patchSelector(p *lint.Pass, c *clusterclass.Class) {
	refs := c.References()
	for _, d := range patchDefinitions(c) {
		o := c.Object
		if !d.apiVersion.Is(yamldoc.String) || !d.kind.Is(yamldoc.String) || sampled(o, d.apiVersion, d.kind) {
			continue
		}
		var near *clusterclass.Reference
		found := false
		for i := range refs {
			r := &refs[i]
			found = found || d.matches(r) || sampled(o, r.Node.Get("apiVersion"), r.Node.Get("kind"))
			if r.Kind == d.kind.Text() {
				near = r
			}
		}
		switch {
		case found:
			path := append(slices.Clip(d.path), "selector")
			violations(p, c, d.apiVersion, append(slices.Clip(path), "apiVersion")...)
			violations(p, c, d.kind, append(slices.Clip(path), "kind")...)
		case near != nil:
			f := lint.On(o, d.apiVersion, "patch %q selects %s in version %s, but %s refers to version %s",
				d.patch.Name, near.Kind, d.apiVersion.Text(), near, near.APIVersion)
			f.Fix = "Write " + near.APIVersion + "."
			p.Report(f)
		default:
			kinds := phrase.List(refs, func(r clusterclass.Reference) string { return r.Kind })
			f := lint.On(o, d.kind, "patch %q selects %s of %s, to which the class does not refer",
				d.patch.Name, d.kind.Text(), d.apiVersion.Text())
			near := phrase.Nearest(d.kind.Text(), kinds)
			for _, r := range refs {
				switch { // to what this selects
				case r.Node == nil:
					f = f.Perhaps(view.FieldOf(o, r.String()))
				case r.Kind == near && target(c, &r) == nil:
					f = f.Perhaps(view.Reference(o, r.Node))
				}
			}
			p.Report(f.Meant(near))
		}
	}
}

// matchLists are the parts of matchResources that select workers.
var matchLists = [...]string{"machineDeploymentClass", "machinePoolClass"}

// nameProblem returns why a text cannot select classes of workers; "" if it can.
func nameProblem(name string) string {
	switch {
	case !strings.Contains(name, "*"):
	case strings.Count(name, "*") > 1:
		return "has more than one *"
	case !strings.HasPrefix(name, "*") && !strings.HasSuffix(name, "*"):
		return "has a * in the middle"
	case validation.IsQualifiedName(strings.ReplaceAll(name, "*", "a")) != nil:
		return "is not a valid class name"
	}
	return ""
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA007", Name: "patch-class-names", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The name of a worker class in a selector must have at most one *, at its start or end",
	Source: patchAdmission + ", validateSelectorName",
	Why:    "The API server refuses the class.",
	Fix:    "Write the full name, a prefix followed by *, or * followed by a suffix.",
	Check: each(patchDefinitions, func(p *lint.Pass, c *clusterclass.Class, d patchDefinition) {
		for _, name := range matchLists {
			for _, n := range d.match.Get(name, "names").List() {
				if problem := nameProblem(n.Str()); problem != "" && !sampled(c.Object, n) {
					p.On(c.Object, n, "%q %s", n.Text(), problem)
				}
			}
		}
	}),
})

var _ = patchRules.Add(lint.Rule{
	ID: "PA008", Name: "patch-operation", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The operation of a patch must be add, replace or remove",
	Source: patchAdmission + ", validateJSONPatches",
	Why:    "The API server refuses the class.",
	Fix:    "Use add or replace with one of value and valueFrom, or remove with neither.",
	Check: each(jsonPatches, func(p *lint.Pass, c *clusterclass.Class, j jsonPatch) {
		if j.op.Is(yamldoc.String) && !slices.Contains([]string{"add", "replace", "remove"}, j.op.Text()) &&
			!sampled(c.Object, j.op) {
			p.On(c.Object, j.op, "the operation is %q; it must be add, replace or remove", j.op.Text())
		}
	}),
})

var _ = patchRules.Add(lint.Rule{
	ID: "PA009", Name: "patch-path", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Patch paths must begin with /spec/ and may only add to the ends of a list",
	Source: patchAdmission + ", validateJSONPatches and validateIndexAccess",
	Why:    "The API server refuses the class.",
	Fix:    "Begin the path with /spec/. Use index 0 or - with add to insert at the start or the end of a list; otherwise replace the whole list.",
	Check:  each(jsonPatches, patchPath),
})

func patchPath(p *lint.Pass, c *clusterclass.Class, j jsonPatch) {
	if !j.to.Is(yamldoc.String) || sampled(c.Object, j.to) {
		return
	}
	if !strings.HasPrefix(j.to.Text(), "/spec") {
		p.On(c.Object, j.to, "the path %q does not begin with /spec", j.to.Text())
		return
	}
	violations(p, c, j.to, append(j.path, "path")...)
	for part := range strings.SplitSeq(j.to.Text(), "/") {
		i, err := strconv.Atoi(part)
		switch op := j.op.Str(); {
		case err != nil:
		case op == "add" && i != 0:
			p.On(c.Object, j.to, "add cannot insert at index %s of a list; use 0 for the start or - for the end", part)
			return
		case op == "replace" || op == "remove":
			p.On(c.Object, j.to, "%s cannot change element %s of a list; replace the whole list", op, part)
			return
		}
	}
}

// definedIn returns the schema of what Cluster API makes of a template that a
// definition selects, if the components define it, and the prefix of its spec in
// the template. A template of the Cluster may be for an object with more fields.
func definedIn(p *lint.Pass, d *patchDefinition) (s crd.Schema, prefix []string, ok bool) {
	t := patch.Template{APIVersion: d.apiVersion.Str(), Kind: d.kind.Str()}
	machines := d.match.Get("machineDeploymentClass") != nil
	if !machines && (d.match.Get("infrastructureCluster").Bool() || d.match.Get("controlPlane").Bool()) &&
		!strings.HasSuffix(t.Kind, "MachineTemplate") {
		t.Holder.Kind = "Cluster"
	}
	s, prefix, _, ok = definitionOf(p, &t)
	return s, prefix, ok
}

var patchPathKnown = patchRules.Add(lint.Rule{
	ID: "PA010", Name: "patch-path-unknown", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Patch paths must exist in the schema of what is made from their template",
	Source: "cluster-api internal/controllers/topology/cluster/structuredmerge, server-side apply; spec.versions[].schema of the CustomResourceDefinition in the components",
	Why:    "The API server refuses a field that the schema does not declare when Cluster API applies the object, so Clusters of the class are not created or updated.",
	Fix:    "Correct the path.",
})

// patchPathUnknown reports the paths that fail when the patches are applied, and
// as a warning those of patches that are not enabled.
func patchPathUnknown(p *lint.Pass, c *clusterclass.Class) {
	seen := map[yamldoc.Pos]bool{}
	for _, f := range effects(p, c) {
		seen[f.Pos] = true
		if f.Rule.ID == p.Rule.ID {
			p.Report(f)
		}
	}
patches:
	for _, j := range jsonPatches(c) {
		if !j.to.Is(yamldoc.String) || sampled(c.Object, j.to) || !strings.HasPrefix(j.to.Text(), "/spec/") {
			continue
		}
		s, prefix, ok := definedIn(p, j.definition)
		steps := pointerPath(j.to.Text())
		if !ok || len(steps) < len(prefix) || !slices.Equal(steps[:len(prefix)], prefix) {
			continue
		}
		s = crd.Schema{Node: s.Node.Get("properties", "spec")}
		for _, name := range steps[len(prefix):] {
			if s.Type() == "array" {
				name = crd.Items
			}
			next, presence := s.At(name)
			switch presence {
			case crd.Absent:
				names := phrase.List(s.Node.Get("properties").Fields(), func(field yamldoc.Field) string { return field.Name })
				f := lint.On(c.Object, j.to,
					"%s has no field %s in %s", j.definition.kind.Str(), name, j.to.Text()).As(lint.Warning)
				group, version := manifest.SplitAPIVersion(j.definition.apiVersion.Str())
				if d := p.Release.CRD(group, j.definition.kind.Str()); d != nil && d.Version(version) != nil {
					f = f.Perhaps(view.InSchema(d, d.Version(version), steps))
				}
				if !seen[f.Pos] {
					p.Report(f.Meant(phrase.Nearest(name, names)))
				}
				continue patches
			case crd.Unknowable:
				continue patches
			}
			s = next
		}
	}
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA011", Name: "patch-value", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "add and replace must have either value or valueFrom; remove must have neither",
	Source: patchAdmission + ", validateJSONPatchValues",
	Why:    "The API server refuses the class.",
	Fix:    "Give add and replace exactly one of value and valueFrom, and remove both from the operation remove.",
	Check: each(jsonPatches, func(p *lint.Pass, c *clusterclass.Class, j jsonPatch) {
		switch op := j.op.Str(); {
		case op == "remove" && (j.value != nil || j.from != nil):
			p.Report(lint.On(c.Object, j.node, "remove has a value, which is ignored").As(lint.Warning))
		case !j.writes():
		case j.value == nil && j.from == nil:
			p.On(c.Object, j.node, "%s has neither value nor valueFrom", op)
		case j.value != nil && j.from != nil:
			p.On(c.Object, j.node, "%s has both value and valueFrom", op)
		}
	}),
})

var _ = patchRules.Add(lint.Rule{
	ID: "PA012", Name: "patch-value-from", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "valueFrom must have either variable or template",
	Source: patchAdmission + ", validateJSONPatchValues",
	Why:    "The API server refuses the class.",
	Fix:    "Keep exactly one of variable and template.",
	Check: each(jsonPatches, func(p *lint.Pass, c *clusterclass.Class, j jsonPatch) {
		if !j.from.Is(yamldoc.Map) || !j.writes() {
			return
		}
		variable, template := j.from.Get("variable").Given(), j.from.Get("template").Given()
		switch {
		case variable == nil && template == nil:
			p.On(c.Object, j.from, "valueFrom has neither variable nor template")
		case variable != nil && template != nil:
			p.On(c.Object, j.from, "valueFrom has both variable and template")
		}
	}),
})

var _ = patchRules.Add(lint.Rule{
	ID: "PA013", Name: "patch-variable", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Patches must only use variables that the class defines",
	Source: patchAdmission + ", validateJSONPatchValues",
	Why:    "The API server refuses the class if valueFrom.variable is undefined. A template with an undefined variable fails when it is rendered.",
	Fix:    "Define the variable in spec.variables, or correct the name.",
	Check:  eachClass(patchVariable),
})

func patchVariable(p *lint.Pass, c *clusterclass.Class) {
	defined := map[string]bool{clusterclass.Builtin: true}
	var names []string
	open := c.Discovers()
	for _, v := range c.Variables() {
		defined[v.Name] = true
		names = append(names, v.Name)
		open = open || sampled(c.Object, v.Node.Get("name"))
	}
	unknown := map[string]bool{}
	template := func(n *yamldoc.Node) {
		if !n.Is(yamldoc.String) || open || sampled(c.Object, n) {
			return
		}
		t, err := clusterclass.ParseTemplate(n.Text())
		if err != nil {
			return
		}
		t.Variables(func(path []string, sure bool) {
			name := path[0]
			if !sure || defined[name] || unknown[name] {
				return
			}
			unknown[name] = true
			f := lint.On(c.Object, n, "the template reads variable %q, which the class does not define", name)
			p.Report(f.As(lint.Warning).Meant(phrase.Nearest(name, names)).Because(view.Unset(c, name)))
		})
	}
	for _, patch := range c.Patches() {
		template(patch.EnabledIf)
	}
	for _, j := range jsonPatches(c) {
		template(j.from.Get("template"))
		n := j.from.Get("variable")
		if !n.Is(yamldoc.String) || !j.writes() || sampled(c.Object, n) ||
			strings.HasPrefix(n.Text(), clusterclass.Builtin+".") {
			continue
		}
		name := clusterclass.VariableName(n.Text())
		if name == clusterclass.Builtin && !slices.Contains(names, name) || !defined[name] {
			p.Report(lint.On(c.Object, n, "variable %q is not defined by the class", n.Text()).Meant(phrase.Nearest(name, names)).Because(view.Unset(c, name)))
		}
	}
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA014", Name: "patch-builtin", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Patches must only use builtin variables that exist",
	Source: patchAdmission + ", builtinVariables",
	Why:    "The API server refuses the class.",
	Fix:    "Correct the name.",
	Check: each(jsonPatches, func(p *lint.Pass, c *clusterclass.Class, j jsonPatch) {
		n := j.from.Get("variable")
		if !n.Is(yamldoc.String) || !j.writes() || sampled(c.Object, n) ||
			!strings.HasPrefix(n.Text(), clusterclass.Builtin+".") || clusterclass.IsBuiltin(n.Text()) {
			return
		}
		p.Report(lint.On(c.Object, n,
			"builtin variable %s does not exist", n.Text()).Meant(phrase.Nearest(n.Text(), clusterclass.Builtins())))
	}),
})

var _ = patchRules.Add(lint.Rule{
	ID: "PA015", Name: "patch-external", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "An external patch must generate patches or validate the topology",
	Source: patchAdmission + ", validatePatchDefinitions",
	Why:    "The API server refuses the class.",
	Fix:    "Set generatePatchesExtension or validateTopologyExtension (generateExtension or validateExtension in v1beta1).",
	Check: each((*clusterclass.Class).Patches, func(p *lint.Pass, c *clusterclass.Class, patch clusterclass.Patch) {
		if !patch.External.Is(yamldoc.Map) {
			return
		}
		if generate, validate, _ := c.Handlers(patch); generate == nil && validate == nil {
			p.On(c.Object, patch.External, "external patch %q neither generates patches nor validates the topology", patch.Name)
		}
	}),
})

var _ = patchRules.Add(lint.Rule{
	ID: "PA016", Name: "patch-handler", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Handlers of external patches should be named HANDLER.EXTENSIONCONFIG and exist",
	Source: "Cluster API book, Runtime SDK, Implementing Topology Mutation Hook Runtime Extensions",
	Why:    "Cluster API registers handlers only under such names. Until it finds the handler, it reconciles no cluster of the class.",
	Fix:    "Write the name of the handler, a dot, and the name of the ExtensionConfig.",
	Check:  eachClass(patchHandler),
})

func patchHandler(p *lint.Pass, c *clusterclass.Class) {
	configs := p.Release.Installed().Kind("runtime."+clusterclass.Group, "ExtensionConfig")
	for _, patch := range c.Patches() {
		generate, validate, discover := c.Handlers(patch)
		for _, n := range []*yamldoc.Node{generate, validate, discover} {
			switch {
			case !n.Is(yamldoc.String) || n.Text() == "" || sampled(c.Object, n):
			case !isHandler(n.Text()):
				p.On(c.Object, n, "%q does not have the form HANDLER.EXTENSIONCONFIG", n.Text())
			case len(configs) > 0:
				_, config, _ := strings.Cut(n.Text(), ".")
				if !slices.ContainsFunc(configs, func(o *manifest.Object) bool { return o.Name == config || sampled(o, o.Get("metadata", "name")) }) {
					p.Report(lint.On(c.Object, n, "the components do not contain an ExtensionConfig named %q", config).Without("ExtensionConfig "))
				}
			}
		}
	}
}

var patchOptional = patchRules.Add(lint.Rule{
	ID: "PA017", Name: "patch-unguarded", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Patches must be computable while optional variables are not set",
	Source: generator + ", calculateValue and renderValueTemplate",
	Why:    "Cluster API cannot compute the patch, so Clusters that do not set the variable are not created or updated.",
	Fix:    "Give the variable a default, require it, or test it in enabledIf: '{{ if .NAME }}true{{ end }}'.",
})

var _ = patchRules.Add(lint.Rule{
	ID: "PA025", Name: "patch-one-document", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A template of a patch must render to one YAML document",
	Source: generator + ", renderValueTemplate",
	Why:    "Cluster API silently drops everything after the first document, so machines come up without it.",
	Fix:    "Remove the separator line ---, or write one list.",
	Check:  each(jsonPatches, patchOneDocument),
})

var actions = phrase.Pattern(`(?s)\{\{.*?\}\}`)

func patchOneDocument(p *lint.Pass, c *clusterclass.Class, j jsonPatch) {
	n := j.from.Get("template")
	if !n.Is(yamldoc.String) || sampled(c.Object, n) {
		return
	}
	documents := 0
	chunks, _ := yamldoc.Split(n.Text())
	for _, chunk := range chunks {
		text := actions().ReplaceAllString(chunk.Data, "") // they may print nothing
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" && line != "---" && line[0] != '#' {
				documents++
				break
			}
		}
	}
	if documents > 1 {
		p.On(c.Object, n, "the template has %d YAML documents, of which Cluster API uses the first", documents)
	}
}
