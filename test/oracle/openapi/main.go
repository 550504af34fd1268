//go:build openapi

// Program openapi prints the OpenAPI document of the Runtime SDK in JSON: one
// operation for each hook in the catalog of Cluster API, and the schemas of all
// types that these lead to. The schemas come from openapi-gen, whose output the
// test that runs this program adds to it (TestOpenAPI); hence the build tag.
//
// It must not know our own OpenAPI document.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

const schemas = "#/components/schemas/"

func name(model string) string { return strings.ReplaceAll(model, "/", ".") }

func reference(model string) spec.Ref { return spec.MustCreateRef(schemas + name(model)) }

func content(model string) map[string]*spec3.MediaType {
	m := &spec3.MediaType{}
	m.Schema = &spec.Schema{SchemaProps: spec.SchemaProps{Ref: reference(model)}}
	return map[string]*spec3.MediaType{"application/json": m}
}

// id is the group, version and name of a hook in camel case.
func id(h catalog.GroupVersionHook) string {
	words := append(strings.Split(strings.TrimSuffix(h.Group, ".x-k8s.io"), "."), h.Version, h.Hook)
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	return strings.Join(words, "")
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	c := catalog.New()
	if err := hooksv1.AddToCatalog(c); err != nil {
		return err
	}
	definitions := GetOpenAPIDefinitions(reference)
	out := &spec3.OpenAPI{
		Version: "3.0.0", Info: &spec.Info{}, Paths: &spec3.Paths{Paths: map[string]*spec3.Path{}},
		Components: &spec3.Components{Schemas: map[string]*spec.Schema{}},
	}
	out.Info.Title = "Cluster API - Runtime SDK"
	var add func(model string) error
	add = func(model string) error {
		if out.Components.Schemas[name(model)] != nil {
			return nil
		}
		d, ok := definitions[model]
		if !ok {
			return fmt.Errorf("openapi-gen made no schema of %s", model)
		}
		out.Components.Schemas[name(model)] = &d.Schema
		for _, other := range d.Dependencies {
			if err := add(other); err != nil {
				return err
			}
		}
		return nil
	}
	for gvh, hook := range c.AllKnownHooks() {
		request := c.AllKnownTypes()[hook.Request].PkgPath() + "." + hook.Request.Kind
		response := c.AllKnownTypes()[hook.Response].PkgPath() + "." + hook.Response.Kind
		for _, model := range []string{request, response} {
			if err := add(model); err != nil {
				return err
			}
		}
		o := &spec3.Operation{}
		o.Tags, o.OperationId, o.Deprecated = hook.Metadata.Tags, id(gvh), hook.Metadata.Deprecated
		o.RequestBody = &spec3.RequestBody{}
		o.RequestBody.Content = content(request)
		ok := &spec3.Response{}
		ok.Content = content(response)
		o.Responses = &spec3.Responses{}
		o.Responses.StatusCodeResponses = map[int]*spec3.Response{200: ok}
		path := catalog.GVHToPath(gvh, "")
		if !hook.Metadata.Singleton {
			path = catalog.GVHToPath(gvh, "{name}")
			p := &spec3.Parameter{}
			p.Name, p.In, p.Required = "name", "path", true
			p.Schema = &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}
			o.Parameters = append(o.Parameters, p)
		}
		out.Paths.Paths[path] = &spec3.Path{}
		out.Paths.Paths[path].Post = o
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}
