package definitions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var definitionRules = &lint.Family{Prefix: "CRD", Title: "CustomResourceDefinitions and their contract labels", Kinds: view.DefinitionFiles}

const (
	versionSection = "contract pages, All resources: APIVersion field value, version"
	crdValidation  = "k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation"
)

// eachKind returns a check that calls another one for every definition of the
// file.
func eachKind(check func(*lint.Pass, *contract.Kind)) func(*lint.Pass) {
	return view.ForEach(view.Definitions, check)
}

// alike reports what may be wrong with several definitions, or versions of one, in the same way;
// what shares the text and its scope is one finding.
func alike(p *lint.Pass, k *contract.Kind, scope, name string, n *yamldoc.Node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	f := lint.On(k.Object, n, "%s: %s", name, text).Because(p.Rule.ID + scope + text)
	view.Settle(p, k.Object, f, view.Within(n)...)
}

const skipNameCheck = "clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check"

// isDNSLabel reports whether s has the form of names in Kubernetes that may not
// begin with a digit.
func isDNSLabel(s string) bool { return len(validation.IsDNS1035Label(s)) == 0 }

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD001", Name: "definition-name", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A CRD must have the name that Cluster API computes from its group and kind",
	Source: "clusterctl client/cluster/installer.go, validateCRDName; util/contract.CalculateCRDName",
	Why:    `"clusterctl init" and "clusterctl upgrade" refuse the provider, and Cluster API does not find the CRD under the computed name.`,
	Fix:    "Set spec.names.plural and metadata.name as shown. If Cluster API never refers to the kind, the annotation clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check turns the check of clusterctl off.",
	Yields: []string{"COMP033"},
	Check: func(p *lint.Pass) {
		eachKind(definitionName)(p)
		for _, o := range p.Release.Installed().Kind(crd.Group, crd.Kind) {
			for _, path := range [][]string{{"spec", "group"}, {"spec", "names", "kind"}, {"spec", "names", "plural"}} {
				if o.File == p.File && o.Get(path...).Text() == "" {
					p.Report(lint.On(o, view.Nearest(o, path...), "the CRD has no %s", strings.Join(path, ".")).
						Because(view.FieldOf(o, strings.Join(path, "."))).Perhaps(view.Document(o.File, o.Doc)))
				}
			}
		}
	},
})

func definitionName(p *lint.Pass, k *contract.Kind) {
	if k.Object.Name == "" || !isDNSLabel(strings.ToLower(k.Kind)) {
		return
	}
	_, skip := k.Object.Annotation(skipNameCheck)
	want := contract.CRDName(k.Group, k.Kind)
	if skip || k.Object.Name == want {
		begins, ok := strings.CutSuffix(k.Object.Name, "."+k.Group)
		if at := k.Object.Get("spec", "names", "plural"); ok && at.Str() != "" && k.Plural != begins {
			f := lint.On(k.Object, at, "the plural is %s, but the name of the CRD begins with %s, so the API server refuses it", k.Plural, begins)
			view.Settle(p, k.Object, f.Because(k.Object.Name), view.Within(at)...)
		}
		return
	}
	at := view.Nearest(k.Object, "metadata", "name")
	switch names := k.Object.Get("spec", "names"); {
	case k.Object.Name == k.Plural+"."+k.Group && names.Get("singular") != nil && names.Get("singular").Text() != strings.ToLower(k.Kind):
		at = names.Get("kind")
	case strings.HasPrefix(k.Object.Name, k.Plural+".") && !strings.HasSuffix(k.Object.Name, "."+k.Group):
		at = k.Object.Get("spec", "group")
	}
	f := lint.On(k.Object, at, "the CRD of %s is named %s, but Cluster API looks for %s", k.Kind, k.Object.Name, want)
	view.Settle(p, k.Object, f.Because(k.Object.Name, want), view.Within(at)...)
}

var _ = definitionRules.AddAll(lint.Rule{
	ID: "CRD002", Name: "skipped-name-check", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A CRD of the contract must not skip the check of its name",
	Source: "contract pages, resource definition: the name must have the format of CalculateCRDName",
	Why:    "Every object that refers to this kind fails to reconcile, because Cluster API finds the CRD by its computed name. The annotation only affects clusterctl.",
	Fix:    "Rename the CRD and remove the annotation.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		n := k.Object.Get("metadata", "annotations", skipNameCheck)
		if want := contract.CRDName(k.Group, k.Kind); n != nil && k.Role.Referenced() && k.Object.Name != want {
			f := lint.At(p.File, k.Object.Doc, n,
				"%s has the role %s, so Cluster API looks for %s despite this annotation", k.Kind, k.RoleName(), want)
			view.Settle(p, k.Object, f, n, k.Object.Get("metadata", "name"))
		}
	}),
}, lint.Rule{
	ID: "CRD004", Name: "list-kind", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The list of a kind must be named KINDList",
	Source: "contract pages, resource definition: the list resource MUST be named <Kind>List",
	Why:    "Clients list objects as KINDList and do not find them under another name.",
	Fix:    "Set spec.names.listKind to the kind followed by List, or remove it.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		if k.Role == contract.Aux || k.ListKind == "" || k.ListKind == k.Kind+"List" {
			return
		}
		at := k.Object.Get("spec", "names", "listKind")
		f := lint.On(k.Object, at, "the list of %s is named %s; it must be %sList", k.Kind, k.ListKind, k.Kind)
		if contract.CRDName(k.Group, strings.TrimSuffix(k.ListKind, "List")) == k.Object.Name {
			f = f.Perhaps(k.Object.Name) // the kind is wrong, not the list
		}
		view.Settle(p, k.Object, f, view.Within(at)...)
	}),
}, lint.Rule{
	ID: "CRD005", Name: "definition-version", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "CRDs must use apiextensions.k8s.io/v1",
	Source: "Kubernetes deprecation guide, v1.22",
	Why:    "The installation stops: no supported API server serves other versions.",
	Fix:    "Convert the CRD to apiextensions.k8s.io/v1, the version that controller-gen writes.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		if k.Object.Version != "v1" {
			at := view.Nearest(k.Object, "apiVersion")
			view.Settle(p, k.Object, lint.On(k.Object, at, "Kubernetes has not served CRDs in version %s since 1.22", k.Object.Version).
				Because("CRDs in "+k.Object.Version), view.Within(at)...)
		}
	}),
}, lint.Rule{
	ID: "CRD006", Name: "storage-version", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A CRD must store objects in exactly one version, which is served",
	Source: crdValidation + ", validateCustomResourceDefinitionSpec; clusterctl client/cluster/objectgraph.go",
	Why:    `The API server refuses a CRD with no storage version or several. If that version is not served, "clusterctl move" leaves the objects behind.`,
	Fix:    "Set storage: true for one served version and storage: false for all others.",
	Check:  eachKind(storageVersion),
})

// served reports whether a version is served. Where none is, CRD006 says so.
func served(k *contract.Kind) bool {
	return slices.ContainsFunc(k.Versions, func(v crd.Version) bool { return v.Served })
}

func storageVersion(p *lint.Pass, k *contract.Kind) {
	stored := 0
	seen := map[string]bool{}
	for _, v := range k.Versions {
		if seen[v.Name] {
			view.Accuse(p, k, v.Node.Get("name"), 0, "%s lists version %s twice", k.Kind, v.Name)
		}
		seen[v.Name] = true
		if v.Storage {
			stored++
		}
	}
	at := view.Nearest(k.Object, "spec", "versions")
	switch storage := k.Storage(); {
	case stored != 1:
		view.Accuse(p, k, at, 0, "%s has %d storage versions; it must have one", k.Kind, stored)
	case !served(k):
		severity := lint.Warning
		if k.Role.Referenced() {
			severity = lint.Error
		}
		view.Accuse(p, k, at, severity, "%s has no served version, so it cannot have objects", k.Kind)
	case !storage.Served:
		view.Accuse(p, k, view.NearestOf(storage.Node, "served"), lint.Warning, "%s stores objects in %s but does not serve it, so clusterctl move leaves them behind", k.Kind, storage.Name)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD008", Name: "scope", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Kinds that Cluster API refers to must be namespaced",
	Source: "contract pages, All resources: scope",
	Why:    "Cluster API does not find the object, because it looks in the namespace of the object that refers to it.",
	Fix:    "Set spec.scope to Namespaced.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		if k.Role.Referenced() && k.Scope != "Namespaced" {
			at := view.Nearest(k.Object, "spec", "scope")
			f := lint.On(k.Object, at, "%s has the role %s and must be Namespaced", k.Kind, k.RoleName())
			view.Settle(p, k.Object, f.Because("scope of "+k.Object.Name), view.Within(at)...)
		}
	}),
})

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD009", Name: "type-and-object-meta", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The schema must have apiVersion, kind and metadata",
	Source: "contract pages, All resources: TypeMeta and ObjectMeta field",
	Why:    "Clients that generate code or forms from the schema do not recognize the kind as a Kubernetes object.",
	Fix:    "Embed metav1.TypeMeta and metav1.ObjectMeta in the Go type and generate the CRD again.",
	Check:  eachKind(typeAndObjectMeta),
})

func typeAndObjectMeta(p *lint.Pass, k *contract.Kind) {
	if k.Role == contract.Aux || k.Judged == nil {
		return
	}
	var missing []string
	for _, row := range [...]struct{ name, typ string }{{"apiVersion", "string"}, {"kind", "string"}, {"metadata", "object"}} {
		s, presence := k.Judged.Schema.At(row.name)
		switch {
		case presence == crd.Absent:
			missing = append(missing, row.name)
		case presence == crd.Present && s.Type() != row.typ:
			view.Accuse(p, k, view.NearestOf(s.Node, "type"), 0, "%s of %s %s has type %s; it must be %s", row.name, k.Kind, k.Judged.Name, s.Type(), row.typ)
		}
	}
	if len(missing) > 0 {
		view.Accuse(p, k, view.NearestOf(k.Judged.Schema.Node, "properties"), 0,
			"the schema of %s %s lacks %s", k.Kind, k.Judged.Name, strings.Join(missing, ", "))
	}
}

// labelNode is the value of the label of a contract, or nil.
func labelNode(k *contract.Kind, c contract.Contract) *yamldoc.Node {
	return k.Object.Get("metadata", "labels", c.Label())
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD010", Name: "contract-label", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Kinds that Cluster API refers to must have a contract label",
	Source: versionSection + "; internal/contract/version.go, GetContractVersion",
	Why:    `Every object that refers to this kind fails to reconcile: "cannot find any versions matching contract versions".`,
	Fix:    "Add the label cluster.x-k8s.io/v1beta2: VERSION to the CRD, usually with labels in config/crd/kustomization.yaml. Templates need it as well.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		if !k.Role.Referenced() || k.Chosen != "" {
			return
		}
		want := p.Profile.Contracts()
		at := cmp.Or(labelNode(k, want[0]), view.Nearest(k.Object, "metadata", "labels"))
		labels := phrase.List(want, contract.Contract.Label)
		f := lint.On(k.Object, at, "%s has the role %s (%s) but no label %s with a version", k.Kind, k.RoleName(), k.Reason, strings.Join(labels, " or ")).
			Perhaps(view.FieldOf(k.Object, "metadata.labels"))
		if !slices.ContainsFunc(view.Definitions(p), func(k *contract.Kind) bool { return k.Chosen != "" }) {
			f = f.Because("label of all CRDs")
		}
		view.Settle(p, k.Object, f, view.Within(at)...)
	}),
})

// separated reports whether a label value has an element that looks like several
// versions with another separator.
func separated(k *contract.Kind, value string) bool {
	for v := range strings.SplitSeq(value, "_") {
		if k.Version(v) == nil && strings.ContainsAny(v, ",;. /|+-") {
			return true
		}
	}
	return false
}

// chosen returns the label that decides and the version that it names.
func chosen(k *contract.Kind) (label *yamldoc.Node, version *crd.Version, ok bool) {
	if !k.Role.Referenced() || k.Chosen == "" {
		return nil, nil, false
	}
	label = labelNode(k, k.Contract)
	return label, k.Version(k.Chosen), !separated(k, label.Str()) && len(k.Versions) > 0 // CRD006
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD011", Name: "contract-version-missing", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The version that Cluster API takes from the contract label must exist in the CRD",
	Source: versionSection + ": each value MUST point to an available version",
	Why:    "Objects fail to reconcile: Cluster API uses the highest version in the label of the newest contract, which the API server does not have.",
	Fix:    "List only versions of spec.versions in the label.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		if label, version, ok := chosen(k); ok && version == nil {
			f := lint.On(k.Object, label, "Cluster API uses version %s of %s, which the CRD lacks; it has %s", k.Chosen, k.Kind, versionNames(k))
			view.Settle(p, k.Object, view.Unversioned(p, f, k.CRD, k.Chosen), view.Within(label)...)
		}
	}),
})

func versionNames(k *contract.Kind) string {
	return strings.Join(phrase.List(k.Versions, func(v crd.Version) string { return v.Name }), ", ")
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD012", Name: "contract-version-served", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The version that Cluster API takes from the contract label must be served",
	Source: versionSection + ": each value MUST point to an available version",
	Why:    "Objects fail to reconcile: Cluster API uses the highest version in the label of the newest contract, which the API server does not serve.",
	Fix:    "Serve the version, or remove it from the label.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		if label, version, ok := chosen(k); ok && version != nil && !version.Served && served(k) {
			f := lint.At(p.File, k.Object.Doc, label, "Cluster API uses version %s of %s, which is not served", k.Chosen, k.Kind)
			view.Settle(p, k.Object, f, label, version.Node.Get("served"))
		}
	}),
})

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD013", Name: "stale-contract-version", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "All versions in contract labels should exist and be served",
	Source: versionSection + ": each value MUST point to an available version",
	Why:    "A later Cluster API, or a changed label, makes Cluster API use a version that is not available.",
	Fix:    "Remove the version from the label, or the whole label if it lists no other.",
	Check:  eachKind(staleContractVersion),
})

// staleContractVersion reports versions in labels that cannot be used.
func staleContractVersion(p *lint.Pass, k *contract.Kind) {
	for _, c := range contract.Accepted {
		label := labelNode(k, c)
		if !served(k) || label.Str() == "" || separated(k, label.Text()) {
			continue
		}
		for name := range strings.SplitSeq(label.Text(), "_") {
			version := k.Version(name)
			switch {
			case c == k.Contract && name == k.Chosen && k.Role.Referenced():
				// an error of its own
			case version == nil:
				alike(p, k, "", k.Kind, label, "the label for contract %s lists %s, which the CRD lacks", c, cmp.Or(name, `""`))
			case !version.Served:
				alike(p, k, "", k.Kind, label, "the label for contract %s lists %s, which is not served", c, name)
			}
		}
	}
}

// contractFields are the labels that look like those of contracts.
func contractFields(k *contract.Kind) []yamldoc.Field {
	var out []yamldoc.Field
	for _, f := range k.Object.Get("metadata", "labels").Fields() {
		name, ok := strings.CutPrefix(f.Name, contract.LabelPrefix)
		if ok && len(name) > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9' {
			out = append(out, f)
		}
	}
	return out
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD014", Name: "two-contracts", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "A version should implement each contract that it is listed for",
	Source: "internal/contract/version.go, GetContractVersionForVersion",
	Why:    "Cluster API picks one of the contracts at random each time it looks for the contract of the version, and may read fields that the version lacks.",
	Fix:    "Keep each version only in the labels of contracts that it implements, and remove labels that are then empty.",
	Check:  eachKind(twoContracts),
})

// twoContracts reports versions that are in several labels and lack what one of these
// contracts demands.
func twoContracts(p *lint.Pass, k *contract.Kind) {
	if !k.Role.Referenced() {
		return
	}
	named := map[string]string{} // by which label
	for _, f := range contractFields(k) {
		for version := range strings.SplitSeq(f.Value.Str(), "_") {
			if version == "" || k.Version(version) == nil {
				continue
			}
			implements := func(label string) bool {
				return k.Implements(contract.Contract(strings.TrimPrefix(label, contract.LabelPrefix)), k.Version(version).Schema)
			}
			if other, ok := named[version]; ok && other != f.Name && !(implements(other) && implements(f.Name)) {
				alike(p, k, "", k.Kind, f.Value, "version %s is also listed in the label %s", version, other)
				return
			}
			named[version] = f.Name
		}
	}
}

var _ = definitionRules.AddAll(lint.Rule{
	ID: "CRD015", Name: "empty-contract-label", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "A contract label should list a version",
	Source: "internal/contract/version.go, GetLatestContractAndAPIVersionFromContract",
	Why:    "Cluster API ignores an empty label and uses an older contract.",
	Fix:    "List the versions that implement the contract, or remove the label.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		for _, c := range contract.Accepted {
			if label := labelNode(k, c); label != nil && label.Str() == "" && k.Chosen != "" {
				view.Accuse(p, k, label, 0, "the label %s is empty, so Cluster API uses contract %s", c.Label(), k.Contract)
			}
		}
	}),
}, lint.Rule{
	ID: "CRD016", Name: "contract-label-separator", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Versions in a contract label must be separated by underscores",
	Source: versionSection + ": the value is an underscore-delimited list",
	Why:    "Objects fail to reconcile: Cluster API reads the whole string as one version, which does not exist.",
	Fix:    "Separate the versions with underscores, for example v1beta1_v1beta2, and list only versions that the CRD has.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		for _, c := range contract.Accepted {
			if label := labelNode(k, c); separated(k, label.Str()) {
				view.Accuse(p, k, label, 0, "%q is not a list of versions separated by underscores", label.Text())
			}
		}
	}),
}, lint.Rule{
	ID: "CRD018", Name: "mixed-contracts", Severity: lint.Info, Proof: lint.Practice,
	Title:  "All kinds of a provider implement the same contract",
	Source: "metadata.yaml names one contract per series",
	Why:    "The contract in metadata.yaml is wrong for some of the kinds.",
	Fix:    "List the version of each kind in the label of the contract in metadata.yaml, and in no other label.",
	Check: func(p *lint.Pass) {
		var first *contract.Kind
		for _, k := range view.Definitions(p) {
			switch {
			case !k.Role.Referenced() || k.Chosen == "":
			case first == nil:
				first = k
			case k.Contract != first.Contract:
				label := labelNode(k, k.Contract)
				f := lint.On(k.Object, label, "%s implements contract %s, but %s implements %s", k.Kind, k.Contract, first.Kind, first.Contract).Because(p.Rule.ID)
				view.Settle(p, k.Object, f, view.Within(label)...)
			}
		}
	},
}, lint.Rule{
	ID: "CRD019", Name: "category", Severity: lint.Info, Proof: lint.Contract,
	Title:  "Kinds of Cluster API are in the category cluster-api",
	Source: "contract pages, resource definition: categories=cluster-api",
	Why:    `"kubectl get cluster-api" does not show the objects.`,
	Fix:    "Add the marker +kubebuilder:resource:categories=cluster-api.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		if k.Role.Referenced() && !yamldoc.Has(k.Object.Get("spec", "names", "categories").List(), "cluster-api") {
			at := view.Nearest(k.Object, "spec", "names", "categories")
			f := lint.On(k.Object, at, "%s is missing in the category cluster-api", k.Kind).Because(p.Rule.ID)
			view.Settle(p, k.Object, f, view.Within(at)...)
		}
	}),
}, lint.Rule{
	ID: "CRD020", Name: "status-subresource", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Kinds with a status should have the status subresource",
	Source: "contract pages, resource definition: +kubebuilder:subresource:status",
	Why:    "Users can overwrite the status, and controllers cannot update it separately.",
	Fix:    "Add the marker +kubebuilder:subresource:status.",
	Check: eachKind(func(p *lint.Pass, k *contract.Kind) {
		if !k.Role.Referenced() || k.Template || k.Judged == nil {
			return
		}
		if _, presence := k.Judged.Schema.At("status"); presence == crd.Present &&
			k.Judged.Subresources.Get("status") == nil {
			view.Accuse(p, k, view.NearestOf(k.Judged.Node, "subresources"), 0,
				"%s %s has a status but no status subresource", k.Kind, k.Judged.Name)
		}
	}),
})

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD021", Name: "conditions", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The status should have conditions with type and status",
	Source: "contract pages, conditions; util/conditions/getter.go",
	Why:    "Cluster API cannot show the state of the object in the Cluster or Machine that refers to it. If a field of a condition has a different type than in metav1.Condition, its controllers panic.",
	Fix:    "Add status.conditions as a list of metav1.Condition with the markers +listType=map and +listMapKey=type.",
	Check:  func(p *lint.Pass) { view.CheckConditions(p, reporting(p)) },
})

// reporting are the kinds with a status that Cluster API reads, and a version to judge.
func reporting(p *lint.Pass) []*contract.Kind {
	return phrase.Only(view.Definitions(p), func(k *contract.Kind) bool { return k.Role.Referenced() && !k.Template && k.Judged != nil })
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD022", Name: "conditions-map", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Conditions under contract v1beta2 should be a map by type",
	Source: "contract pages, conditions: +listType=map, +listMapKey=type",
	Why:    "Two controllers that use server-side apply overwrite each other's conditions.",
	Fix:    "Add the markers +listType=map and +listMapKey=type, and make type required, as in metav1.Condition.",
	Check: func(p *lint.Pass) {
		for _, k := range reporting(p) {
			s, presence := k.Judged.Schema.At("status", "conditions")
			if k.Contract == contract.V1Beta2 && presence == crd.Present && s.Type() == "array" &&
				(s.ListType() != "map" || !slices.Equal(s.ListMapKeys(), []string{"type"})) {
				f := lint.On(k.Object, s.Node, "status.conditions of %s %s is not a map by type", k.Kind, k.Judged.Name).Because(p.Rule.ID)
				view.Settle(p, k.Object, f, view.Within(s.Node)...)
			}
		}
	},
})

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD029", Name: "terminal-failures", Severity: lint.Error, Proof: lint.Contract,
	Title:  "failureReason and failureMessage must be strings, if a kind has them at all",
	Source: "contract pages, terminal failures; controllers/external/util.go, FailuresFrom",
	Why:    "Cluster API reads both fields under every contract, and does not reconcile the object if one of them is not a string. Contract v1beta2 does not have them: Cluster API ignores them once it drops contract v1beta1, and users of newer versions do not see the failures.",
	Fix:    "Report failures as conditions, and remove the fields or move them below status.deprecated.v1beta1. Until then, make them strings.",
	Check:  both(demanded(contract.Failures, contract.InfraCluster, contract.InfraMachine, contract.InfraMachinePool, contract.MachinePoolMachine, contract.BootstrapConfig, contract.ControlPlane), terminalFailures),
})

func terminalFailures(p *lint.Pass) {
	for _, k := range reporting(p) {
		severity := lint.Warning
		what := "is not part of contract v1beta2"
		switch {
		case k.Contract != contract.V1Beta2:
			continue
		case k.Role == contract.InfraMachinePool: // whose contract says MAY
			severity, what = lint.Info, "Cluster API only reads until it drops contract v1beta1"
		}
		for _, name := range [...]string{"failureReason", "failureMessage"} {
			if s, presence := k.Judged.Schema.At("status", name); presence == crd.Present && s.Type() == "string" {
				view.Accuse(p, k, s.Node, severity, "%s %s has status.%s, which %s", k.Kind, k.Judged.Name, name, what)
				break
			}
		}
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD031", Name: "unknown-fields", Severity: lint.Info, Proof: lint.Practice,
	Title:  "The schema describes the fields of the contract",
	Source: "Kubernetes, x-kubernetes-preserve-unknown-fields",
	Why:    "lint cannot check whether the kind implements the contract, because its schema accepts any field.",
	Fix:    "Add the fields of the contract to the schema.",
	Check:  eachKind(unknownFields),
})

func unknownFields(p *lint.Pass, k *contract.Kind) {
	if k.Judged == nil {
		return
	}
	var at *yamldoc.Node
	var paths []string
	for _, f := range k.Fields(p.Profile) {
		if verdict, s := f.Check(k.Judged.Schema); verdict == contract.Unknown {
			at = cmp.Or(at, s.Node)
			paths = append(paths, f.Path)
		}
	}
	if len(paths) > 0 {
		at = cmp.Or(at, k.Judged.Node)
		f := lint.On(k.Object, at, "cannot check %s of %s %s: the schema accepts any field here", strings.Join(paths, ", "), k.Kind, k.Judged.Name)
		for i := range k.Versions {
			if v := &k.Versions[i]; v.Node == k.Judged.Node && v.Node.Get("schema", "openAPIV3Schema") == nil {
				f = f.Perhaps(view.Field(k.Object, fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i)))
			}
		}
		view.Settle(p, k.Object, f, view.Within(at)...)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD032", Name: "kind-without-role", Severity: lint.Info, Proof: lint.Practice,
	Title:  "Kinds of Cluster API have a role in its contracts",
	Source: "contract pages, naming conventions of kinds",
	Why:    "The contract of a role is not checked: neither the name and the fields of the kind nor a template, class or sample that uses it tell which one it has.",
	Fix:    "Safe to ignore if Cluster API never refers to the kind. Otherwise follow the naming conventions, or assign a role under roles in clusterctl-repo.yaml.",
	Check:  kindsWithoutRole,
})

// kindsWithoutRole leaves out identities, which only the kinds of the provider refer to, and
// the kinds of add-ons, to which Cluster API does not refer.
func kindsWithoutRole(p *lint.Pass) {
	if p.Release.Provider.Type == layouts.Addon {
		return
	}
	for _, k := range view.Definitions(p) {
		if _, skip := k.Object.Annotation(skipNameCheck); !skip && k.Object.Name != contract.CRDName(k.Group, k.Kind) {
			continue // CRD001: one of the two names is wrong
		}
		if k.Role == contract.Aux && !strings.HasSuffix(k.Kind, "Identity") && (contract.OfClusterAPI(k.Group) || len(contractFields(k)) > 0) {
			at := view.Nearest(k.Object, "spec", "names", "kind")
			view.Settle(p, k.Object, view.InGroup(lint.On(k.Object, at, "no role is known for %s", k.Kind), k.CRD).Because(p.Rule.ID), view.Within(at)...)
		}
	}
}
