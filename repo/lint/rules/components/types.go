package components

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/gotypes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = componentRules.Add(lint.Rule{
	ID: "COMP007", Name: "binding-version", Since: "v0.1.0",
	Title:    "Role bindings are of rbac.authorization.k8s.io/v1",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    "Clusterctl converts every RoleBinding and ClusterRoleBinding to the type of that version, to move the subjects. It refuses the whole file if it finds another one.",
	Fix:    "Use apiVersion: rbac.authorization.k8s.io/v1.",
	Kinds:  view.Substituted, Check: convertibleVersion("ClusterRoleBinding", "RoleBinding"),
})

// convertibleVersion reports objects of some kinds that are of a version that
// clusterctl does not convert.
func convertibleVersion(kinds ...string) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, o := range p.File.Objects() {
			if n := o.Get("apiVersion"); n.Str() != "" && slices.Contains(kinds, o.Kind) {
				if t, known := gotypes.Converted(p.File.Kind, n.Text, o.Kind); t == nil && known != nil && !view.Open(o, n) {
					p.On(o, n, "clusterctl converts every %s to %s and refuses %s", o.Kind, known[0], n.Text)
				}
			}
		}
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP008", Name: "webhook-version", Since: "v0.1.0",
	Title:    "Webhook configurations and CRDs are of version v1",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/components.go, fixWebhookNamespaceReferences and fixCRDWebhookNamespaceReference",
	Why:    "Clusterctl converts them to put the target namespace into their services. It refuses the whole file if it finds a version other than v1 and v1beta1, and Kubernetes has not served v1beta1 since 1.22.",
	Fix:    "Use the version v1.",
	Kinds:  view.Substituted, Check: webhookVersion,
})

func webhookVersion(p *lint.Pass) {
	convertibleVersion("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition")(p)
	for _, o := range p.File.Objects() {
		n := o.Get("apiVersion")
		if o.Version != "v1beta1" || view.Open(o, n) || !callsWebhooks(o) {
			continue
		}
		if t, _ := gotypes.Converted(p.File.Kind, n.Text, o.Kind); t != nil {
			f := lint.At(o.File, o.Doc, n, "Kubernetes has not served %s since 1.22", n.Text)
			f.Severity = lint.Warning
			p.Report(f)
		}
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP018", Name: "typed-object", Since: "v0.1.0",
	Title:    "Objects that clusterctl converts fit their types",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl internal/util/objs.go, FixImages; client/repository/components.go, fixTargetNamespace; apimachinery pkg/runtime/converter.go",
	Why:    "Clusterctl converts Deployments, DaemonSets, role bindings, webhook configurations and CRDs to Go types. One value of a wrong type and it refuses the whole file, with a message that does not name the field.",
	Fix:    "Write a value of the type that the field has.",
	Kinds:  view.Substituted, Check: typedObject,
})

func typedObject(p *lint.Pass) {
	convertibleVersion("Deployment", "DaemonSet")(p)
	for _, o := range p.File.Objects() {
		if o.Kind != view.ClusterKind {
			view.Misfits(o, func(problem gotypes.Problem) {
				if problem.Kind.Fatal() {
					p.On(o, problem.Node, "clusterctl refuses this %s: %s", o.Kind, view.Misfit(problem))
				}
			})
		}
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP019", Name: "raw-manifest", Since: "v0.1.0",
	Title:    "The components are fit for use with their variables unreplaced",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/components.go, NewComponents with SkipTemplateProcess; client/init.go, InitImages",
	Why:    "`clusterctl init list-images` and `generate provider` with --raw or --describe do not replace the variables, and then read the file as always. They fail where a variable stands for something that is no text.",
	Fix:    "Use variables only in texts, such as the arguments and environment of containers.",
	Kinds:  view.Installed, Check: rawManifest,
})

// rawManifest reads the file as clusterctl does when it replaces no variables.
// Only documents with variables can differ from what the other rules see.
func rawManifest(p *lint.Pass) {
	if p.File.Text() == nil || !p.File.Healthy() {
		return
	}
	var first *lint.Finding
	more := 0
	found := func(d *yamldoc.Document, n *yamldoc.Node, format string, args ...any) {
		if first == nil {
			f := lint.At(p.File, d, n, format, args...)
			first = &f
		} else {
			more++
		}
	}
	chunks, _ := yamldoc.Split(p.File.Raw.Data)
	for _, c := range chunks {
		if !bytes.Contains(c.Data, []byte("${")) {
			continue
		}
		for _, d := range yamldoc.ParseText(p.File.Raw, c.Data, func(off int) int { return c.Start + off }).Docs {
			switch {
			case d.Err != nil:
				found(d, nil, "as long as the variables are not replaced this is no YAML: %v", d.Err.Err)
			case !d.Root.Is(yamldoc.Map):
				found(d, nil, "as long as the variables are not replaced this document is no mapping")
			default:
				rawObject(p.File.Kind, d, func(n *yamldoc.Node, format string, args ...any) { found(d, n, format, args...) })
			}
		}
	}
	if first == nil {
		return
	}
	if more > 0 {
		first.Message += fmt.Sprintf(" (and %d more)", more)
	}
	p.Report(*first)
}

// rawObject reports what clusterctl refuses about an object because of the
// variables in it.
func rawObject(kind layouts.FileKind, d *yamldoc.Document, found func(n *yamldoc.Node, format string, args ...any)) {
	hasVariable := func(n *yamldoc.Node) bool { return strings.Contains(n.Text, "$") }
	of := d.Root.Get("kind").Str()
	version := d.Root.Get("apiVersion")
	t, known := gotypes.Converted(kind, version.Str(), of)
	if t == nil {
		if known != nil && version != nil && hasVariable(version) {
			found(version, "as long as the variables are not replaced clusterctl refuses this %s: its apiVersion is %s", of, version.Text)
		}
		return
	}
	for _, problem := range gotypes.Check(t, d.Root) {
		if problem.Kind.Fatal() && hasVariable(problem.Node) && !(view.Overwritten(of) && problem.Path == "metadata.namespace") {
			found(problem.Node, "as long as the variables are not replaced clusterctl refuses this %s: %s", of, view.Misfit(problem))
		}
	}
	if of != "Deployment" && of != "DaemonSet" {
		return
	}
	pod := d.Root.Get("spec", "template", "spec")
	for _, c := range slices.Concat(pod.Get("containers").List(), pod.Get("initContainers").List()) {
		if n := c.Get("image"); n != nil && hasVariable(n) {
			if problem := imageProblem(n.Text); problem != "" {
				found(n, "as long as the variables are not replaced %s", problem)
			}
		}
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP033", Name: "dropped-field", Since: "v0.1.0",
	Title:    "Objects that clusterctl converts have no fields that their types lack",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl internal/util/objs.go, FixImages; client/repository/components.go, fixTargetNamespace; apimachinery pkg/runtime/converter.go",
	Why:    "Clusterctl converts these objects to Go types of Kubernetes and back. Fields that the types do not have are gone afterwards, and nobody is told.",
	Fix:    "Spell the field as the API does and put it where it belongs, or remove it.",
	Kinds:  view.Substituted, Check: droppedField,
})

func droppedField(p *lint.Pass) {
	for _, o := range p.File.Objects() {
		if o.Kind == view.ClusterKind {
			continue
		}
		view.Misfits(o, func(problem gotypes.Problem) {
			switch {
			case problem.Kind == gotypes.Unseen && problem.Got != "":
				p.On(o, problem.Node, "clusterctl drops %s, which is %s, not %s", problem.Path, problem.Got, problem.Want)
			case problem.Kind != gotypes.Unseen && problem.Kind != gotypes.Unknown:
			case problem.Want != "":
				p.On(o, problem.Node, "clusterctl drops %s, because there is no such field; %s was probably meant", problem.Path, problem.Want)
			default:
				p.On(o, problem.Node, "clusterctl drops %s, because there is no such field", problem.Path)
			}
		})
	}
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP034", Name: "number-wraps", Since: "v0.1.0",
	Title:    "Numbers fit the fields of objects that clusterctl converts",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "apimachinery pkg/runtime/converter.go, fromUnstructured",
	Why:    "Clusterctl puts a number that is too large for its field into it all the same, and another number comes out.",
	Fix:    "Use a number of the size that the API documents.",
	Kinds:  view.Substituted, Check: numberWraps,
})

func numberWraps(p *lint.Pass) {
	for _, o := range p.File.Objects() {
		if o.Kind == view.ClusterKind {
			continue
		}
		view.Misfits(o, func(problem gotypes.Problem) {
			// Numbers that no field can hold are the business of another rule.
			if i, ok := problem.Node.Int(); problem.Kind == gotypes.Wraps && ok && -view.MaxExact <= i && i <= view.MaxExact {
				p.On(o, problem.Node, "%s is not %s: clusterctl makes %s of %d", problem.Path, problem.Want, problem.Got, i)
			}
		})
	}
}
