package classes

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var variableRules = &lint.Family{Prefix: "CV", Title: "Variables of ClusterClasses", Kinds: view.Substituted}

const variableAdmission = "cluster-api internal/topology/variables, ValidateClusterClassVariables"

var _ = variableRules.Add(lint.Rule{
	ID: "CV001", Name: "variable-definition-name", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Variables of a ClusterClass must have unique names without dots",
	Source: variableAdmission,
	Why:    `The API server refuses the class. A dot separates the fields of a variable, and "builtin" is reserved for Cluster API.`,
	Fix:    "Rename the variable, also in the patches.",
	Check:  eachClass(variableDefinitionName),
})

func variableDefinitionName(p *lint.Pass, c *clusterclass.Class) {
	seen := map[string]bool{}
	for _, v := range c.Variables() {
		n := v.Node.Get("name").Given()
		switch {
		case !v.Node.Is(yamldoc.Map) || n != nil && !n.Is(yamldoc.String) || sampled(c.Object, n):
		case n == nil:
			p.On(c.Object, v.Node, "the variable has no name")
		case n.Text() == "":
			p.On(c.Object, n, "the name of the variable is empty")
		case n.Text() == clusterclass.Builtin:
			p.On(c.Object, n, "variable %q has a name that Cluster API reserves", n.Text())
		case strings.Contains(n.Text(), "."):
			p.On(c.Object, n, "the variable name %q contains a dot", n.Text())
		case seen[n.Text()]:
			p.On(c.Object, n, "two variables have the name %q", n.Text())
		default:
			violations(p, c, n, append(v.Path, "name")...)
		}
		seen[v.Name] = true
	}
}

var _ = variableRules.AddAll(lint.Rule{
	ID: "CV002", Name: "variable-type", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The type in a variable's schema must be an OpenAPI type",
	Source: variableAdmission + "; " + classCRD,
	Why:    "The API server refuses the class.",
	Fix:    "Use object, array, string, integer, number or boolean.",
	Check:  eachFault(clusterclass.OfType),
}, lint.Rule{
	ID: "CV004", Name: "variable-properties", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A variable's schema must not have both properties and additionalProperties",
	Source: variableAdmission,
	Why:    "The API server refuses the class.",
	Fix:    "Remove one of them.",
	Check:  eachFault(clusterclass.OfFields),
}, lint.Rule{
	ID: "CV006", Name: "variable-example", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Examples and enum values of a variable must match its schema",
	Source: variableAdmission,
	Why:    "The API server refuses the class.",
	Fix:    "Correct the value or the schema.",
	Check:  eachFault(clusterclass.OfSample),
}, lint.Rule{
	ID: "CV008", Name: "variable-keyword", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "The schema of a variable must only have keywords that Cluster API knows",
	Source: classCRD,
	Why:    "kubectl refuses a class with an unknown keyword at the top of the schema; further down Cluster API drops the keyword silently. Schemas of variables have fewer keywords than those of CRDs.",
	Fix:    "Remove the keyword.",
	Check:  eachFault(clusterclass.OfKeyword),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV009", Name: "variable-pattern", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Patterns of a variable must be valid Go regular expressions",
	Source: variableAdmission,
	Why:    "The API server refuses the class. Go does not support some features of other languages, such as look-ahead.",
	Fix:    "Write the pattern in RE2 syntax.",
	Check:  eachFault(clusterclass.OfPattern),
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
	ID: "CV010", Name: "variable-undescribed", Severity: lint.Info, Proof: lint.Practice,
	Title:  "Required variables have a description",
	Source: "Cluster API book, Writing a ClusterClass, ClusterClass with variables",
	Why:    "Users must set the variable in every Cluster, and the schema is where they look for its meaning.",
	Fix:    "Add a description to the schema, or a default.",
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		for _, v := range c.Variables() {
			if !v.Required || v.Default() != nil || v.Schema.Node == nil || v.Schema.Node.Get("description").Str() != "" || v.Name == "" {
				continue
			}
			p.Report(lint.On(c.Object, v.Node.Get("name"), "required variable %s has no description", v.Name).Because(p.Rule.ID + view.Named(c.Object)))
		}
	}),
})

var _ = variableRules.Add(lint.Rule{
	ID: "CV013", Name: "variable-metadata", Severity: lint.Info, Proof: lint.Contract,
	Title:  "Labels and annotations of a variable are in x-metadata of its schema",
	Source: "cluster-api api/core/v1beta2, ClusterClassVariable",
	Why:    "The other field is deprecated and will be removed together with v1beta1.",
	Fix:    "Move labels and annotations to schema.openAPIV3Schema.x-metadata.",
	Check: eachClass(func(p *lint.Pass, c *clusterclass.Class) {
		name := "deprecatedV1Beta1Metadata"
		if c.Version == clusterclass.V1Beta1 {
			name = "metadata"
		}
		for _, v := range c.Variables() {
			if f := v.Node.Field(name); f != nil {
				p.Report(lint.On(c.Object, f.Key(), "variable %s uses the deprecated field %s", v.Name, name).Because(p.Rule.ID + view.Named(c.Object)))
			}
		}
	}),
})
