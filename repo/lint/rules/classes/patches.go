package classes

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// jsonPatches calls visit for the JSON patches of a class.
func jsonPatches(c *clusterclass.Class, visit func(jsonPatch)) {
	list := patchDefinitions(c)
	for i := range list {
		d := &list[i]
		for j, n := range d.node.Get("jsonPatches").List() {
			if !n.Is(yamldoc.Map) {
				continue
			}
			visit(jsonPatch{
				d, n, append(d.path[:len(d.path):len(d.path)], "jsonPatches", listIndex(j)),
				n.Get("op"), n.Get("path"), notNull(n.Get("value")), notNull(n.Get("valueFrom")),
			})
		}
	}
}

func notNull(n *yamldoc.Node) *yamldoc.Node {
	if n == nil || n.Kind == yamldoc.Null {
		return nil
	}
	return n
}

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
		n := notNull(patch.Node.Get("name"))
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
	Check:  eachClass(patchKind),
})

func patchKind(p *lint.Pass, c *clusterclass.Class) {
	for _, patch := range c.Patches() {
		switch {
		case !patch.Node.Is(yamldoc.Map):
		case patch.Definitions == nil && patch.External == nil:
			p.On(c.Object, patch.Node, "patch %q has neither definitions nor external", patch.Name)
		case patch.Definitions != nil && patch.External != nil:
			p.On(c.Object, patch.Node.Field("external").Key(), "patch %q has both definitions and external", patch.Name)
		}
	}
}

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
	Check:  eachClass(patchEnabledIf),
})

func patchEnabledIf(p *lint.Pass, c *clusterclass.Class) {
	for _, patch := range c.Patches() {
		what := "enabledIf of patch " + patch.Name
		if !judgeable(p, c, patch.EnabledIf, what, 256) {
			continue
		}
		if patch.EnabledIf.Text() == "" {
			p.On(c.Object, patch.EnabledIf, "%s is empty", what)
		} else if _, err := clusterclass.ParseTemplate(patch.EnabledIf.Text()); err != nil {
			p.On(c.Object, patch.EnabledIf, "%s is not a valid template: %v", what, err)
		}
	}
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA004", Name: "patch-template", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The template of a value must be valid and have at most 10240 characters",
	Source: patchAdmission + ", validateJSONPatchValues",
	Why:    "The API server refuses the class.",
	Fix:    "Correct the template. It can call the functions of text/template and the hermetic functions of sprig.",
	Check:  eachClass(patchTemplate),
})

func patchTemplate(p *lint.Pass, c *clusterclass.Class) {
	jsonPatches(c, func(j jsonPatch) {
		n := j.from.Get("template")
		if !judgeable(p, c, n, "the template", 10240) {
			return
		}
		if n.Text() == "" {
			p.On(c.Object, n, "the template is empty")
		} else if _, err := clusterclass.ParseTemplate(n.Text()); err != nil && (j.op.Str() == "add" || j.op.Str() == "replace") {
			p.On(c.Object, n, "the template is not valid: %v", err)
		}
	})
}

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
			for _, n := range []*yamldoc.Node{d.apiVersion, d.kind} {
				name := "apiVersion"
				if n == d.kind {
					name = "kind"
				}
				violations(p, c, n, append(d.path[:len(d.path):len(d.path)], "selector", name)...)
			}
		case near != nil:
			f := lint.At(o.File, o.Doc, d.apiVersion, "patch %q selects %s in version %s, but %s refers to version %s", d.patch.Name, near.Kind, d.apiVersion.Text(), near, near.APIVersion)
			f.Fix = "Write " + near.APIVersion + "."
			p.Report(f)
		default:
			f := lint.At(o.File, o.Doc, d.kind, "patch %q selects %s of %s, to which the class does not refer", d.patch.Name, d.kind.Text(), d.apiVersion.Text())
			var kinds []string
			for _, r := range refs {
				kinds = append(kinds, r.Kind)
			}
			if k := phrase.Nearest(d.kind.Text(), kinds); k != "" {
				f.Fix = "Did you mean " + k + "?"
			}
			p.Report(f)
		}
	}
}

// lists are the parts of matchResources that select workers.
var matchLists = [...]struct {
	name, list string
	pool       bool
}{
	{"machineDeploymentClass", clusterclass.Deployments, false},
	{"machinePoolClass", clusterclass.Pools, true},
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA006", Name: "patch-match-resources", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "matchResources must select at least one template, and every selector must match",
	Source: patchAdmission + ", validateSelectors",
	Why:    "The API server refuses the class.",
	Fix:    "Select the places where the class refers to this kind.",
	Check:  eachClass(patchMatchResources),
})

func patchMatchResources(p *lint.Pass, c *clusterclass.Class) {
	refs := c.References()
	workers := c.Workers()
	for _, d := range patchDefinitions(c) {
		o := c.Object
		if !d.match.Is(yamldoc.Map) || sampled(o, d.apiVersion, d.kind) {
			continue
		}
		known := slices.ContainsFunc(refs, func(r clusterclass.Reference) bool { return d.matches(&r) })
		enabled := false
		flag := func(name, what string, places ...clusterclass.Reference) {
			n := d.match.Get(name)
			if !n.Bool() && !sampled(o, n) {
				return
			}
			enabled = true
			for i := range places {
				if d.matches(&places[i]) || sampled(o, n, places[i].Node.Get("apiVersion"), places[i].Node.Get("kind")) {
					return
				}
			}
			if known {
				p.On(o, n, "patch %q selects %s, which is not of kind %s", d.patch.Name, what, d.kind.Str())
			}
		}
		if len(refs) > 1 {
			flag("infrastructureCluster", "the infrastructure of the cluster", refs[0])
			flag("controlPlane", "the control plane", refs[1], c.MachineInfrastructure())
		}
		for _, m := range matchLists {
			for _, n := range d.match.Get(m.name, "names").List() {
				enabled = true
				if !n.Is(yamldoc.String) || sampled(o, n) || nameProblem(n.Text()) != "" || !known {
					continue
				}
				if !slices.ContainsFunc(workers, func(w clusterclass.Worker) bool {
					if w.Pool != m.pool || !selectsWorker(n.Text(), w.Class) && !sampled(o, w.Node.Get("class")) {
						return false
					}
					return d.matches(&w.Bootstrap) || d.matches(&w.Infrastructure) ||
						sampled(o, w.Node.Get("class"), w.Bootstrap.Node.Get("kind"), w.Bootstrap.Node.Get("apiVersion"), w.Infrastructure.Node.Get("kind"), w.Infrastructure.Node.Get("apiVersion"))
				}) {
					p.On(o, n, "patch %q selects %s of class %s, but none of them uses templates of kind %s", d.patch.Name, m.list, n.Text(), d.kind.Str())
				}
			}
		}
		if !enabled {
			p.On(o, d.match, "patch %q selects nothing", d.patch.Name)
		}
	}
}

// selectsWorker reports whether a name of a selector selects a class of workers.
func selectsWorker(selector, name string) bool {
	switch {
	case selector == name, selector == "*":
		return true
	case strings.HasPrefix(selector, "*") && strings.HasSuffix(name, selector[1:]):
		return true
	}
	prefix, ok := strings.CutSuffix(selector, "*")
	return ok && strings.HasPrefix(name, prefix)
}

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
	Check:  eachClass(patchClassNames),
})

func patchClassNames(p *lint.Pass, c *clusterclass.Class) {
	for _, d := range patchDefinitions(c) {
		for _, m := range matchLists {
			for _, n := range d.match.Get(m.name, "names").List() {
				if problem := nameProblem(n.Str()); problem != "" && !sampled(c.Object, n) {
					p.On(c.Object, n, "%q %s", n.Text(), problem)
				}
			}
		}
	}
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA008", Name: "patch-operation", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The operation of a patch must be add, replace or remove",
	Source: patchAdmission + ", validateJSONPatches",
	Why:    "The API server refuses the class.",
	Fix:    "Use add or replace with one of value and valueFrom, or remove with neither.",
	Check:  eachClass(patchOperation),
})

func patchOperation(p *lint.Pass, c *clusterclass.Class) {
	jsonPatches(c, func(j jsonPatch) {
		if j.op.Is(yamldoc.String) && !slices.Contains([]string{"add", "replace", "remove"}, j.op.Text()) && !sampled(c.Object, j.op) {
			p.On(c.Object, j.op, "the operation is %q; it must be add, replace or remove", j.op.Text())
		}
	})
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA009", Name: "patch-path", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Patch paths must begin with /spec/ and may only add to the ends of a list",
	Source: patchAdmission + ", validateJSONPatches and validateIndexAccess",
	Why:    "The API server refuses the class.",
	Fix:    "Begin the path with /spec/. Use index 0 or - with add to insert at the start or the end of a list; otherwise replace the whole list.",
	Check:  eachClass(patchPath),
})

func patchPath(p *lint.Pass, c *clusterclass.Class) {
	jsonPatches(c, func(j jsonPatch) {
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
	})
}

// definedIn returns the schema of what Cluster API makes of a template that a
// definition selects, if the components define it, and the prefix of its spec in
// the template. A template of the Cluster may be for an object with more fields.
func definedIn(p *lint.Pass, d *patchDefinition) (s crd.Schema, prefix []string, ok bool) {
	t := patch.Template{APIVersion: d.apiVersion.Str(), Kind: d.kind.Str()}
	machines := d.match.Get("machineDeploymentClass") != nil
	if !machines && (d.match.Get("infrastructureCluster").Bool() || d.match.Get("controlPlane").Bool()) && !strings.HasSuffix(t.Kind, "MachineTemplate") {
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
	jsonPatches(c, func(j jsonPatch) {
		if !j.to.Is(yamldoc.String) || sampled(c.Object, j.to) || !strings.HasPrefix(j.to.Text(), "/spec/") {
			return
		}
		s, prefix, ok := definedIn(p, j.definition)
		steps := pointerPath(j.to.Text())
		if !ok || len(steps) < len(prefix) || !slices.Equal(steps[:len(prefix)], prefix) {
			return
		}
		s = crd.Schema{Node: s.Node.Get("properties", "spec")}
		for _, name := range steps[len(prefix):] {
			if s.Type() == "array" {
				name = crd.Items
			}
			next, presence := s.At(name)
			switch presence {
			case crd.Absent:
				f := lint.At(c.Object.File, c.Object.Doc, j.to, "%s has no field %s in %s", j.definition.kind.Str(), name, j.to.Text())
				f.Severity = lint.Warning
				var names []string
				if properties := s.Node.Get("properties"); properties != nil {
					for _, field := range properties.Fields() {
						names = append(names, field.Name)
					}
				}
				if near := phrase.Nearest(name, names); near != "" {
					f.Fix = "Did you mean " + near + "?"
				}
				if !seen[f.Pos] {
					p.Report(f)
				}
				return
			case crd.Unknowable:
				return
			}
			s = next
		}
	})
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA011", Name: "patch-value", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "add and replace must have either value or valueFrom; remove must have neither",
	Source: patchAdmission + ", validateJSONPatchValues",
	Why:    "The API server refuses the class.",
	Fix:    "Give add and replace exactly one of value and valueFrom, and remove both from the operation remove.",
	Check:  eachClass(patchValue),
})

func patchValue(p *lint.Pass, c *clusterclass.Class) {
	jsonPatches(c, func(j jsonPatch) {
		switch op := j.op.Str(); {
		case op == "remove" && (j.value != nil || j.from != nil):
			f := lint.At(c.Object.File, c.Object.Doc, j.node, "remove has a value, which is ignored")
			f.Severity = lint.Warning
			p.Report(f)
		case op != "add" && op != "replace":
		case j.value == nil && j.from == nil:
			p.On(c.Object, j.node, "%s has neither value nor valueFrom", op)
		case j.value != nil && j.from != nil:
			p.On(c.Object, j.node, "%s has both value and valueFrom", op)
		}
	})
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA012", Name: "patch-value-from", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "valueFrom must have either variable or template",
	Source: patchAdmission + ", validateJSONPatchValues",
	Why:    "The API server refuses the class.",
	Fix:    "Keep exactly one of variable and template.",
	Check:  eachClass(patchValueFrom),
})

func patchValueFrom(p *lint.Pass, c *clusterclass.Class) {
	jsonPatches(c, func(j jsonPatch) {
		if op := j.op.Str(); !j.from.Is(yamldoc.Map) || op != "add" && op != "replace" {
			return
		}
		variable, template := notNull(j.from.Get("variable")), notNull(j.from.Get("template"))
		switch {
		case variable == nil && template == nil:
			p.On(c.Object, j.from, "valueFrom has neither variable nor template")
		case variable != nil && template != nil:
			p.On(c.Object, j.from, "valueFrom has both variable and template")
		}
	})
}

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
	fix := func(name string) string {
		if near := phrase.Nearest(name, names); near != "" {
			return "Did you mean " + near + "?"
		}
		return ""
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
			f := lint.At(c.Object.File, c.Object.Doc, n, "the template reads variable %q, which the class does not define", name)
			f.Severity, f.Fix = lint.Warning, fix(name)
			p.Report(f)
		})
	}
	for _, patch := range c.Patches() {
		template(patch.EnabledIf)
	}
	jsonPatches(c, func(j jsonPatch) {
		template(j.from.Get("template"))
		n := j.from.Get("variable")
		if op := j.op.Str(); !n.Is(yamldoc.String) || op != "add" && op != "replace" || sampled(c.Object, n) || strings.HasPrefix(n.Text(), clusterclass.Builtin+".") {
			return
		}
		name := clusterclass.VariableName(n.Text())
		if name == clusterclass.Builtin && !slices.Contains(names, name) || !defined[name] {
			f := lint.At(c.Object.File, c.Object.Doc, n, "variable %q is not defined by the class", n.Text())
			f.Fix = fix(name)
			p.Report(f)
		}
	})
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA014", Name: "patch-builtin", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Patches must only use builtin variables that exist",
	Source: patchAdmission + ", builtinVariables",
	Why:    "The API server refuses the class.",
	Fix:    "Correct the name.",
	Check:  eachClass(patchBuiltin),
})

func patchBuiltin(p *lint.Pass, c *clusterclass.Class) {
	jsonPatches(c, func(j jsonPatch) {
		n := j.from.Get("variable")
		if op := j.op.Str(); !n.Is(yamldoc.String) || op != "add" && op != "replace" || sampled(c.Object, n) || !strings.HasPrefix(n.Text(), clusterclass.Builtin+".") || clusterclass.IsBuiltin(n.Text()) {
			return
		}
		f := lint.At(c.Object.File, c.Object.Doc, n, "builtin variable %s does not exist", n.Text())
		if near := phrase.Nearest(n.Text(), clusterclass.Builtins()); near != "" {
			f.Fix = "Did you mean " + near + "?"
		}
		p.Report(f)
	})
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA015", Name: "patch-external", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "An external patch must generate patches or validate the topology",
	Source: patchAdmission + ", validatePatchDefinitions",
	Why:    "The API server refuses the class.",
	Fix:    "Set generatePatchesExtension or validateTopologyExtension (generateExtension or validateExtension in v1beta1).",
	Check:  eachClass(patchExternal),
})

func patchExternal(p *lint.Pass, c *clusterclass.Class) {
	for _, patch := range c.Patches() {
		if !patch.External.Is(yamldoc.Map) {
			continue
		}
		if generate, validate, _ := c.Handlers(patch); generate == nil && validate == nil {
			p.On(c.Object, patch.External, "external patch %q neither generates patches nor validates the topology", patch.Name)
		}
	}
}

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
					p.On(c.Object, n, "the components do not contain an ExtensionConfig named %q", config)
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
	ID: "PA018", Name: "patch-pointer", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Patch paths should be valid JSON pointers",
	Source: "RFC 6901, section 3",
	Why:    "The patch changes another field, or fails. In a key, a slash is written ~1 and a tilde ~0.",
	Fix:    "Escape the key, and remove empty parts.",
	Check:  eachClass(patchPointer),
})

func patchPointer(p *lint.Pass, c *clusterclass.Class) {
	jsonPatches(c, func(j jsonPatch) {
		if !j.to.Is(yamldoc.String) || sampled(c.Object, j.to) || !strings.HasPrefix(j.to.Text(), "/") {
			return
		}
		for part := range strings.SplitSeq(j.to.Text()[1:], "/") {
			message := ""
			switch plain := strings.NewReplacer("~0", "", "~1", "").Replace(part); {
			case part == "":
				message = "has an empty part"
			case strings.Contains(plain, "~"):
				message = fmt.Sprintf("has a ~ in %s that is neither ~0 nor ~1", part)
			default:
				continue
			}
			p.On(c.Object, j.to, "the path %q %s", j.to.Text(), message)
			return
		}
	})
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA019", Name: "patch-never-enabled", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "enabledIf should be able to become true",
	Source: patchEngine + ", patchIsEnabled",
	Why:    "The patch is never applied: only the boolean true enables it, not a string or a number.",
	Fix:    "Write a template that renders to true, without quotes.",
	Check:  eachClass(patchNeverEnabled),
})

func patchNeverEnabled(p *lint.Pass, c *clusterclass.Class) {
	for _, patch := range c.Patches() {
		n := patch.EnabledIf
		if !n.Is(yamldoc.String) || n.Text() == "" || sampled(c.Object, n) {
			continue
		}
		t, err := clusterclass.ParseTemplate(n.Text())
		if err != nil {
			continue
		}
		text, constant := t.Constant()
		if value, err := yamldoc.ToJSON([]byte(text)); constant && err == nil && string(value) != "true" {
			p.On(c.Object, n, "enabledIf of patch %q is always %q, so the patch is never applied", patch.Name, text)
		}
	}
}

var _ = patchRules.Add(lint.Rule{
	ID: "PA025", Name: "patch-one-document", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A template of a patch must render to one YAML document",
	Source: generator + ", renderValueTemplate",
	Why:    "Cluster API silently drops everything after the first document, so machines come up without it.",
	Fix:    "Remove the separator line ---, or write one list.",
	Check:  eachClass(patchOneDocument),
})

var actions = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\{\{.*?\}\}`) })

func patchOneDocument(p *lint.Pass, c *clusterclass.Class) {
	jsonPatches(c, func(j jsonPatch) {
		n := j.from.Get("template")
		if !n.Is(yamldoc.String) || sampled(c.Object, n) {
			return
		}
		documents := 0
		chunks, _ := yamldoc.Split(n.Text())
		for _, chunk := range chunks {
			text := actions().ReplaceAllString(chunk.Data, "") // they may print nothing
			if slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
				line = strings.TrimSpace(line)
				return line != "" && line != "---" && !strings.HasPrefix(line, "#")
			}) {
				documents++
			}
		}
		if documents > 1 {
			p.On(c.Object, n, "the template has %d YAML documents, of which Cluster API uses the first", documents)
		}
	})
}
