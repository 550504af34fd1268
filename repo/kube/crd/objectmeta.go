package crd

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// mostAnnotations is how many bytes keys and values of annotations may have
// together (apimachinery api/validation, TotalAnnotationSizeLimitB).
const mostAnnotations = 256 * 1024

// Problem is a value that the API server refuses, and what is wrong with it.
type Problem struct {
	Node    *yamldoc.Node
	message string
	// Valid tells a text that would be accepted in its place; nil if it is not a text
	// that is refused.
	Valid func(text string) bool
}

// Says is the sentence about a text that is refused; whatever the text is if it is
// something else that is.
func (p Problem) Says(text string) string {
	if p.Valid == nil {
		return p.message
	}
	return strconv.Quote(text) + " " + p.message
}

func valid(form func(string) []string) func(string) bool {
	return func(text string) bool { return len(form(text)) == 0 }
}

func annotationKey(text string) []string { return validation.IsQualifiedName(strings.ToLower(text)) }

// Problems returns why the API server refuses the labels and annotations of an
// object's metadata. Values that are not strings are left out (apimachinery
// meta/v1/validation, ValidateLabels; api/validation, ValidateAnnotations).
func Problems(metadata *yamldoc.Node) []Problem {
	var out []Problem
	for _, f := range metadata.Get("labels").Fields() {
		if why := wrong(validation.IsQualifiedName(f.Name)); why != "" {
			out = append(out, Problem{f.Key(), "is not a valid label key: " + why, valid(validation.IsQualifiedName)})
		}
		if why := wrong(validation.IsValidLabelValue(f.Value.Str())); why != "" {
			out = append(out, Problem{f.Value, "is not a valid label value: " + why, valid(validation.IsValidLabelValue)})
		}
	}
	size := 0
	for _, f := range metadata.Get("annotations").Fields() {
		if why := wrong(annotationKey(f.Name)); why != "" {
			out = append(out, Problem{f.Key(), "is not a valid annotation key: " + why, valid(annotationKey)})
		}
		size += len(f.Name) + len(f.Value.Str())
	}
	if size > mostAnnotations {
		out = append(out, Problem{metadata.Get("annotations"), fmt.Sprintf("the annotations have %d bytes, but may have at most %d", size, mostAnnotations), nil})
	}
	return out
}

// forms are the kinds of Kubernetes whose names are not DNS subdomains
// (pkg/apis/core/validation, ValidateNamespaceName and ValidateServiceCreate, which
// takes DNS labels since v1.36; pkg/apis/rbac/validation, ValidateRBACName). The name of an
// APIService is VERSION.GROUP, which ends in a dot for v1.
var forms = map[string]func(name string) []string{
	"/Namespace":                                   validation.IsDNS1123Label,
	"/Service":                                     validation.IsDNS1123Label,
	"apiregistration.k8s.io/APIService":            content.IsPathSegmentName,
	"rbac.authorization.k8s.io/Role":               content.IsPathSegmentName,
	"rbac.authorization.k8s.io/RoleBinding":        content.IsPathSegmentName,
	"rbac.authorization.k8s.io/ClusterRole":        content.IsPathSegmentName,
	"rbac.authorization.k8s.io/ClusterRoleBinding": content.IsPathSegmentName,
}

// NameProblem returns why the API server refuses the name of an object, or "".
// Custom resources have the rule of most kinds: a DNS subdomain (apimachinery
// api/validation, NameIsDNSSubdomain).
func NameProblem(group, kind, name string) string {
	if form := forms[group+"/"+kind]; form != nil {
		return wrong(form(name))
	}
	return wrong(validation.IsDNS1123Subdomain(name))
}

// wrong shortens the sentences of the library to the first, without the expression
// that it quotes.
func wrong(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	text, _, _ := strings.Cut(problems[0], " (e.g.")
	return text
}
