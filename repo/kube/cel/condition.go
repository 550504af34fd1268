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

// withVariables are the environments with some more variables, by their names.
var withVariables sync.Map

// Condition says why the API server refuses an expression of a webhook or an admission
// policy that must give one of some types ("string null_type"), or any, or nil (Kubernetes
// pkg/apis/admissionregistration/validation, validateCELCondition). It may use some
// more variables. Expressions that ask the authorizer are not judged.
func Condition(text, gives string, variables ...string) error {
	made, _ := withVariables.LoadOrStore(strings.Join(variables, " "), sync.OnceValues(func() (env *cel.Env, err error) {
		env, err = conditions()
		for _, name := range variables {
			if err == nil {
				env, err = env.Extend(cel.Variable(name, cel.DynType))
			}
		}
		return env, err
	}))
	env, err := made.(func() (*cel.Env, error))()
	if err != nil || strings.Contains(text, "authorizer") {
		return err
	}
	ast, issues := env.Compile(text)
	if issues != nil && issues.Err() != nil {
		return summary(issues)
	}
	composed := strings.Contains(text, "variables.") || strings.Contains(text, "namespaceObject") // whose types are not known here
	if of := ast.OutputType(); gives != "" && !slices.Contains(strings.Fields(gives), of.String()) && !(composed && of == cel.DynType) {
		return fmt.Errorf("it returns %s, but must return %s", of, strings.Fields(gives)[0])
	}
	return nil
}
