package classes

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/openapi"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var variableRules = &lint.Family{Prefix: "CV", Title: "Variables of ClusterClasses"}

const variableAdmission = "cluster-api internal/topology/variables, ValidateClusterClassVariables"

var _ = variableRules.Add(lint.Rule{
	ID: "CV001", Name: "variable-definition-name", Since: "v0.1.0",
	Title:    "Variables of a ClusterClass have unique names without dots",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: variableAdmission,
	Why:    "The API server refuses the class. A dot leads into the fields of a variable, and builtin is the name of what Cluster API knows itself.",
	Fix:    "Rename the variable, in the patches too.",
	Kinds:  view.Substituted, Check: eachClass(variableDefinitionName),
})

func variableDefinitionName(p *lint.Pass, c *clusterclass.Class) {
	seen := map[string]bool{}
	for _, v := range c.Variables() {
		n := notNull(v.Node.Get("name"))
		switch {
		case !v.Node.Is(yamldoc.Map) || n != nil && !n.Is(yamldoc.String) || sampled(c.Object, n):
		case n == nil:
			p.On(c.Object, v.Node, "a variable has no name")
		case n.Text == "":
			p.On(c.Object, n, "the name of a variable is empty")
		case n.Text == clusterclass.Builtin:
			p.On(c.Object, n, "a variable is named %s, which is the name of what Cluster API knows itself", n.Text)
		case strings.Contains(n.Text, "."):
			p.On(c.Object, n, "the name %s of a variable has a dot", n.Text)
		case seen[n.Text]:
			p.On(c.Object, n, "two variables are named %s", n.Text)
		default:
			for _, f := range c.CheckAt(n, append(v.Path, "name")...) {
				if f.Fault == openapi.Value {
					violation(p, c, f)
				}
			}
		}
		seen[v.Name] = true
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "CV002", Name: "variable-type", Since: "v0.1.0",
	Title:    "Types in the schema of a variable are those of OpenAPI",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: variableAdmission + "; " + classCRD,
	Why:    "The API server refuses the class.",
	Fix:    "Use object, array, string, integer, number or boolean.",
	Kinds:  view.Substituted, Check: eachFault(clusterclass.OfType),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV003", Name: "variable-schema-structural", Since: "v0.1.0",
	Title:    "The schema of a variable is structural",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: variableAdmission + "; apiextensions-apiserver pkg/apiserver/schema, ValidateStructural",
	Why:    "The API server refuses the class.",
	Fix:    "Give every schema a type, every array items, and keep what describes the form of values out of alternatives.",
	Kinds:  view.Substituted, Check: eachFault(clusterclass.OfStructure),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV004", Name: "variable-properties", Since: "v0.1.0",
	Title:    "A schema has properties or additionalProperties",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: variableAdmission,
	Why:    "The API server refuses the class.",
	Fix:    "Remove one of them.",
	Kinds:  view.Substituted, Check: eachFault(clusterclass.OfFields),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV005", Name: "variable-default", Since: "v0.1.0",
	Title:    "The default of a variable fits its schema",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: variableAdmission + "; apiextensions-apiserver pkg/apiserver/schema/defaulting, ValidateDefaults",
	Why:    "The API server refuses the class.",
	Fix:    "Correct the default or the schema.",
	Kinds:  view.Substituted, Check: eachFault(clusterclass.OfDefault),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV006", Name: "variable-example", Since: "v0.1.0",
	Title:    "Examples and enumerations of a variable fit its schema",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: variableAdmission,
	Why:    "The API server refuses the class.",
	Fix:    "Correct the value or the schema.",
	Kinds:  view.Substituted, Check: eachFault(clusterclass.OfSample),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV007", Name: "variable-rule", Since: "v0.1.0",
	Title:    "Rules of a schema are complete and can be read",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: variableAdmission + "; grammar of the Common Expression Language",
	Why:    "The API server refuses the class. It also refuses rules whose types do not match or that may be too expensive, which is not checked here.",
	Fix:    "Correct the rule.",
	Kinds:  view.Substituted, Check: eachFault(clusterclass.OfRule),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV008", Name: "variable-keyword", Since: "v0.1.0",
	Title:    "The schema of a variable has no keywords that Cluster API does not know",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: classCRD,
	Why:    "The schemas of variables know fewer keywords than those of CRDs. At the top kubectl refuses the class because of another one; further down Cluster API drops it without a word.",
	Fix:    "Remove the keyword.",
	Kinds:  view.Substituted, Check: eachFault(clusterclass.OfKeyword),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV009", Name: "variable-pattern", Since: "v0.1.0",
	Title:    "Patterns are regular expressions of Go",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: variableAdmission,
	Why:    "The API server refuses the class. Expressions of other languages, such as look-ahead, do not exist in Go.",
	Fix:    "Write the pattern in the syntax of RE2.",
	Kinds:  view.Substituted, Check: eachFault(clusterclass.OfPattern),
})

// eachFault reports one aspect of the schemas of variables.
func eachFault(aspect clusterclass.Aspect) func(*lint.Pass) {
	return eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		for _, v := range c.Variables() {
			for _, f := range c.SchemaFaults(v) {
				if f.Aspect == aspect && !sampled(c.Object, f.Node) {
					p.On(c.Object, f.Node, "%s", f.Message)
				}
			}
		}
	})
}

var _ = variableRules.Add(lint.Rule{
	ID: "CV010", Name: "variable-undescribed", Since: "v0.1.0",
	Title:    "Variables that a user has to set are described",
	Severity: lint.Info, Proof: lint.Practice,
	Source: "Cluster API book, Writing a ClusterClass, ClusterClass with variables",
	Why:    "Without a default every Cluster has to set the variable, and the schema is where its author looks for what it means.",
	Fix:    "Add a description to the schema, or a default.",
	Kinds:  view.Substituted, Check: eachClass(variableUndescribed),
})

func variableUndescribed(p *lint.Pass, c *clusterclass.Class) {
	var first *yamldoc.Node
	var names []string
	for _, v := range c.Variables() {
		if !v.Required || v.Default() != nil || v.Schema.Node.Get("description").Str() != "" || v.Name == "" {
			continue
		}
		if first == nil {
			first = v.Node.Get("name")
		}
		names = append(names, v.Name)
	}
	if first != nil {
		p.On(c.Object, first, "nothing says what these variables are for, which every Cluster has to set: %s", strings.Join(names, ", "))
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "CV011", Name: "variable-unused", Since: "v0.1.0",
	Title:    "Every variable of a class is used",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "Cluster API book, Writing a ClusterClass, ClusterClass with patches",
	Why:    "Users set the variable, and nothing happens.",
	Fix:    "Use the variable in a patch, or remove it.",
	Kinds:  view.Substituted, Check: eachClass(variableUnused),
})

func variableUnused(p *lint.Pass, c *clusterclass.Class) {
	list := c.Variables()
	if len(list) == 0 {
		return
	}
	used, all := c.Used()
	if all {
		return
	}
	for _, v := range list {
		if n := v.Node.Get("name"); clusterclass.VariableName(v.Name) == v.Name && v.Name != "" && !used[v.Name] && !sampled(c.Object, n) {
			p.On(c.Object, n, "no patch uses the variable %s", v.Name)
		}
	}
}

// secret are the words in the names of variables that hold a secret.
var secret = view.Pattern(`(?i)(password|passwd|secret|token|private_?key|api_?key|credential)s?$`)

var _ = variableRules.Add(lint.Rule{
	ID: "CV012", Name: "variable-secret", Since: "v0.1.0",
	Title:    "No variable has a secret for its default",
	Severity: lint.Info, Proof: lint.Practice,
	Source: "Kubernetes documentation, Good practices for Secrets",
	Why:    "Everybody has the same value, and whoever may read the class or a Cluster reads it.",
	Fix:    "Let the variable name a Secret.",
	Kinds:  view.Substituted, Check: eachClass(variableSecret),
})

func variableSecret(p *lint.Pass, c *clusterclass.Class) {
	for _, v := range c.Variables() {
		if d := v.Default(); d.Is(yamldoc.String) && d.Text != "" && secret().MatchString(v.Name) && !sampled(c.Object, d) {
			p.On(c.Object, d, "the variable %s looks like a secret and has a default", v.Name)
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "CV013", Name: "variable-metadata", Since: "v0.1.0",
	Title:    "Labels of a variable are in x-metadata of its schema",
	Severity: lint.Info, Proof: lint.Contract,
	Source: "cluster-api api/core/v1beta2, ClusterClassVariable",
	Why:    "The other field is deprecated and goes when v1beta1 does.",
	Fix:    "Move labels and annotations to schema.openAPIV3Schema.x-metadata.",
	Kinds:  view.Substituted, Check: eachClass(variableMetadata),
})

func variableMetadata(p *lint.Pass, c *clusterclass.Class) {
	name := "deprecatedV1Beta1Metadata"
	if c.Version == clusterclass.V1Beta1 {
		name = "metadata"
	}
	var first *yamldoc.Node
	var names []string
	for _, v := range c.Variables() {
		f := v.Node.Field(name)
		if f == nil {
			continue
		}
		if first == nil {
			first = f.Key()
		}
		names = append(names, v.Name)
	}
	if first != nil {
		p.On(c.Object, first, "%s of these variables is deprecated: %s", name, strings.Join(names, ", "))
	}
}
