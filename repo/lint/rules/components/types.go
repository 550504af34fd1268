package components

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/gotypes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = componentRules.Add(lint.Rule{
	ID: "COMP007", Name: "binding-version", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Role bindings must use rbac.authorization.k8s.io/v1",
	Source: "clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    "clusterctl refuses the whole file, because it converts all RoleBindings and ClusterRoleBindings to this version.",
	Fix:    "Use apiVersion: rbac.authorization.k8s.io/v1.",
	Kinds:  view.Substituted, Check: convertibleVersion("ClusterRoleBinding", "RoleBinding"),
})

// convertibleVersion reports objects of some kinds that are of a version that
// clusterctl does not convert.
func convertibleVersion(kinds ...string) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, o := range p.File.Objects() {
			if n := o.Get("apiVersion"); n.Str() != "" && slices.Contains(kinds, o.Kind) {
				if t, known := gotypes.Converted(p.File.Kind, n.Text(), o.Kind); t == nil && known != nil &&
					!view.Open(o, n) {
					f := lint.On(o, n, "clusterctl converts every %s to %s and refuses %s", o.Kind, known[0], n.Text())
					if o.Kind == crd.Kind {
						f = f.Because(o.Name, "CRDs in "+o.Version)
					}
					p.Report(f)
				}
			}
		}
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP008", Name: "webhook-version", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Webhook configurations and CRDs must use version v1",
	Source: "clusterctl client/repository/components.go, fixWebhookNamespaceReferences and fixCRDWebhookNamespaceReference",
	Why:    "clusterctl refuses the whole file if it contains a version other than v1 and v1beta1.",
	Fix:    "Use the version v1.",
	Kinds:  view.Substituted, Check: convertibleVersion("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition"),
})

var _ = componentRules.Add(lint.Rule{
	ID: "COMP018", Name: "typed-object", Severity: lint.Error, Proof: lint.Clusterctl,
	Yields: []string{"YAML009", "VAR022"},
	Title:  "Objects that clusterctl converts must match their Go types",
	Source: "clusterctl internal/util/objs.go, FixImages; client/repository/components.go, fixTargetNamespace; apimachinery pkg/runtime/converter.go",
	Why:    "clusterctl refuses the whole file, with a message that does not name the field. It converts Deployments, DaemonSets, role bindings, webhook configurations and CRDs.",
	Fix:    "Write a value of the type that the API documents for the field.",
	Kinds:  view.Substituted, Check: func(p *lint.Pass) {
		convertibleVersion("Deployment", "DaemonSet")(p)
		for _, o := range p.File.Objects() {
			if o.Kind != view.ClusterKind {
				view.Misfits(o, func(problem gotypes.Problem) {
					if problem.Kind.Fatal() {
						f := lint.On(o, problem.Node, "clusterctl refuses this %s: %s", o.Kind, view.Misfit(problem))
						f.Fix = view.MisfitFix(o, problem)
						if r, ok := view.From(o, problem.Node); ok {
							f = f.Perhaps(view.Default(o.File, r.Name))
						}
						p.Report(f)
					}
				})
			}
		}
	},
})

var _ = componentRules.Add(lint.Rule{
	ID: "COMP019", Name: "raw-manifest", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "The components should be readable with their variables unreplaced",
	Source: "clusterctl client/repository/components.go, NewComponents with SkipTemplateProcess; client/init.go, InitImages",
	Why:    `"clusterctl init list-images" and "generate provider" with --raw or --describe fail, because they parse the file without replacing variables.`,
	Fix:    "Use variables only inside strings, such as arguments and environment variables of containers.",
	Check:  rawManifest,
})

// rawManifest reads the file as clusterctl does when it replaces no variables.
// Only documents with variables can differ from what the other rules see.
func rawManifest(p *lint.Pass) {
	if p.File.Text() == nil || !p.File.Healthy() {
		return
	}
	found := func(d *yamldoc.Document, n *yamldoc.Node, format string, args ...any) {
		p.Report(lint.At(p.File, d, n, format, args...).Because(p.Rule.ID + p.File.Raw.Name))
	}
	chunks, _ := yamldoc.Split(p.File.Raw.Data)
	for _, c := range chunks {
		if !strings.Contains(c.Data, "${") {
			continue
		}
		for _, d := range yamldoc.ParseText(p.File.Raw, c.Data, func(off int) int { return c.Start + off }).Docs {
			switch {
			case d.Err != nil:
				found(d, nil, "with variables unreplaced the document is not YAML: %v", d.Err.Err)
			case !d.Root.Is(yamldoc.Map):
				found(d, nil, "with variables unreplaced the document is not a mapping")
			default:
				rawObject(p.File.Kind, d, func(n *yamldoc.Node, format string, args ...any) { found(d, n, format, args...) })
			}
		}
	}
}

// rawObject reports what clusterctl refuses about an object because of the
// variables in it.
func rawObject(kind layouts.FileKind, d *yamldoc.Document, found func(n *yamldoc.Node, format string, args ...any)) {
	hasVariable := func(n *yamldoc.Node) bool { return strings.Contains(n.Text(), "$") }
	of := d.Root.Get("kind").Str()
	version := d.Root.Get("apiVersion")
	t, known := gotypes.Converted(kind, version.Str(), of)
	if t == nil {
		if known != nil && version != nil && hasVariable(version) {
			found(version, "with variables unreplaced clusterctl refuses this %s: its apiVersion is %s", of, version.Text())
		}
		return
	}
	for _, problem := range gotypes.Check(t, d.Root) {
		if problem.Kind.Fatal() && hasVariable(problem.Node) &&
			!(view.Overwritten(of) && problem.Path == "metadata.namespace") {
			found(problem.Node, "with variables unreplaced clusterctl refuses this %s: %s", of, view.Misfit(problem))
		}
	}
	if of != "Deployment" && of != "DaemonSet" {
		return
	}
	pod := d.Root.Get("spec", "template", "spec")
	for _, c := range slices.Concat(pod.Get("containers").List(), pod.Get("initContainers").List()) {
		if n := c.Get("image"); n != nil && hasVariable(n) {
			if problem := imageProblem(n.Text()); problem != "" {
				found(n, "with variables unreplaced %s", problem)
			}
		}
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP033", Name: "dropped-field", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Objects that clusterctl converts should only have fields of their types",
	Source: "clusterctl internal/util/objs.go, FixImages; client/repository/components.go, fixTargetNamespace; apimachinery pkg/runtime/converter.go",
	Why:    "clusterctl silently drops the field, because it converts the object to a Go type of Kubernetes and back.",
	Fix:    "Correct the name or place of the field, or remove it.",
	Yields: []string{"YAML003", "CRD005"},
	Kinds:  view.Substituted, Check: view.EachObject(droppedField),
})

func droppedField(p *lint.Pass, o *manifest.Object) {
	if o.Kind == view.ClusterKind {
		return
	}
	view.Misfits(o, func(problem gotypes.Problem) {
		switch {
		case problem.Kind == gotypes.Unseen && problem.Got != "":
			p.On(o, problem.Node, "clusterctl drops %s, which is %s, not %s", problem.Path, problem.Got, problem.Want)
		case problem.Kind != gotypes.Unseen && problem.Kind != gotypes.Unknown:
		case problem.Want != "":
			p.Report(lint.On(o, problem.Node, "clusterctl drops the unknown field %s; did you mean %s?", problem.Path, problem.Want).
				Because(view.Sibling(o, problem.Path, problem.Want)))
		default:
			f := lint.On(o, problem.Node, "clusterctl drops the unknown field %s", problem.Path)
			if o.Is(crd.Group, crd.Kind) {
				f = f.Perhaps("CRDs in " + o.Version) // which have other fields
			}
			if !strings.Contains(problem.Path, ".") {
				f = f.Perhaps(view.Document(o.File, o.Doc))
			}
			p.Report(f.Because(view.Misplaced(o, problem.Path[strings.LastIndexByte(problem.Path, '.')+1:])))
		}
	})
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP034", Name: "number-wraps", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Numbers must fit the fields of objects that clusterctl converts",
	Source: "apimachinery pkg/runtime/converter.go, fromUnstructured",
	Why:    "The API server gets a different number: a value that is too large for the field overflows when clusterctl converts the object.",
	Fix:    "Use a number in the range that the API documents.",
	Kinds:  view.Substituted, Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		if o.Kind == view.ClusterKind {
			return
		}
		view.Misfits(o, func(problem gotypes.Problem) {
			// Numbers that no field can hold are the business of another rule.
			if i, ok := problem.Node.Int(); problem.Kind == gotypes.Wraps && ok &&
				-view.MaxExact <= i && i <= view.MaxExact {
				p.On(o, problem.Node,
					"%s is not %s: clusterctl makes it %s instead of %d", problem.Path, problem.Want, problem.Got, i)
			}
		})
	}),
})
