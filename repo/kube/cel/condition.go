package cel

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	kube "k8s.io/apiserver/pkg/cel"
)

// requestFields are those of the variable request, one line for each type: its name,
// then fields with their types; those without one are texts (k8s.io/apiserver
// pkg/admission/plugin/cel, BuildRequestType).
const requestFields = `
GroupVersionKind group version kind
GroupVersionResource group version resource
UserInfo username uid groups:texts extra:map
AdmissionRequest kind:GroupVersionKind resource:GroupVersionResource subResource requestKind:GroupVersionKind requestResource:GroupVersionResource requestSubResource name namespace operation userInfo:UserInfo dryRun:bool options:any`

// conditions is the environment of the expressions of webhooks and admission policies.
var conditions = sync.OnceValues(func() (*cel.Env, error) {
	texts := kube.NewListType(kube.StringType, -1)
	known := map[string]*kube.DeclType{"": kube.StringType, "texts": texts, "map": kube.NewMapType(kube.StringType, texts, -1), "bool": kube.BoolType, "any": kube.DynType}
	var request *kube.DeclType
	for line := range strings.SplitSeq(strings.TrimSpace(requestFields), "\n") {
		words := strings.Fields(line)
		fields := map[string]*kube.DeclField{}
		for _, word := range words[1:] {
			name, of, _ := strings.Cut(word, ":")
			fields[name] = kube.NewDeclField(name, known[of], true, nil, nil)
		}
		request = kube.NewObjectType("kubernetes."+words[0], fields)
		known[words[0]] = request
	}
	base, err := environment()
	if err != nil {
		return nil, err
	}
	options, err := kube.NewDeclTypeProvider(request).EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	return base.Extend(append(options, cel.Variable("request", request.CelType()), cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("namespaceObject", cel.DynType))...)
})

// Conditions is what the expressions of a webhook or an admission policy may use.
type Conditions struct {
	environment func() (*cel.Env, error)
	variables   map[string]*kube.DeclField // of a policy
	unknown     bool                       // the type of a variable
}

// NewConditions is for expressions that may use some more names, whose types are not known.
func NewConditions(names ...string) *Conditions {
	return &Conditions{environment: sync.OnceValues(func() (env *cel.Env, err error) {
		env, err = conditions()
		for _, name := range names {
			if err == nil {
				env, err = env.Extend(cel.Variable(name, cel.DynType))
			}
		}
		return env, err
	})}
}

// NewPolicy is for the expressions of one admission policy, which may also use the
// variables that are declared (k8s.io/apiserver pkg/admission/plugin/cel, CompositedCompiler).
func NewPolicy(names ...string) *Conditions {
	more, variables := NewConditions(names...), map[string]*kube.DeclField{}
	return &Conditions{variables: variables, environment: sync.OnceValues(func() (*cel.Env, error) {
		env, err := more.environment()
		if err != nil {
			return nil, err
		}
		of := kube.NewObjectType("kubernetes.variables", variables)
		options, err := kube.NewDeclTypeProvider(of).EnvOptions(env.CELTypeProvider())
		if err != nil {
			return nil, err
		}
		return env.Extend(append(options, cel.Variable("variables", of.CelType()))...)
	})}
}

// Declare adds a variable of a policy, with the type of its expression. The error says why
// the API server refuses the expression.
func (c *Conditions) Declare(name, text string) error {
	of, err := c.typeOf(text)
	c.unknown = c.unknown || of == nil || c.composed(text, of)
	c.variables[name] = kube.NewDeclField(name, fieldType(of), true, nil, nil)
	return err
}

// fieldType is the type of a variable with a value of some type, which is nil if it is not known.
func fieldType(of *cel.Type) *kube.DeclType {
	known := []*kube.DeclType{kube.BoolType, kube.BytesType, kube.DoubleType, kube.DurationType, kube.IntType,
		kube.NullType, kube.StringType, kube.TimestampType, kube.UintType}
	switch i := slices.IndexFunc(known, func(t *kube.DeclType) bool { return of != nil && t.CelType().IsExactType(of) }); {
	case i >= 0:
		return known[i]
	case of != nil && of.Kind() == cel.ListKind:
		return kube.NewListType(fieldType(of.Parameters()[0]), -1)
	case of != nil && of.Kind() == cel.MapKind:
		return kube.NewMapType(fieldType(of.Parameters()[0]), fieldType(of.Parameters()[1]), -1)
	}
	return kube.DynType
}

// Condition says why the API server refuses an expression that must give one of some types
// ("string null_type"), or nil (Kubernetes pkg/apis/admissionregistration/validation,
// validateCELCondition).
func (c *Conditions) Condition(text, gives string) error {
	of, err := c.typeOf(text)
	if of != nil && !slices.Contains(strings.Fields(gives), of.String()) && !c.composed(text, of) {
		return fmt.Errorf("it returns %s, but must return %s", of, strings.Fields(gives)[0])
	}
	return err
}

// composed reports whether the type of an expression is that of a part which is not known here.
func (c *Conditions) composed(text string, of *cel.Type) bool {
	return of == cel.DynType && (strings.Contains(text, "namespaceObject") || c.unknown && strings.Contains(text, "variables."))
}

// typeOf returns the type of an expression, or nil if it is not known: it does not compile,
// or asks the authorizer, which is not judged.
func (c *Conditions) typeOf(text string) (*cel.Type, error) {
	env, err := c.environment()
	if err != nil || strings.Contains(text, "authorizer") {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if issues != nil && issues.Err() != nil {
		return nil, summary(issues)
	}
	return ast.OutputType(), nil
}
