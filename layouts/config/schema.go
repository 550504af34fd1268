package config

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Schema returns the JSON schema of clusterctl-repo.yaml (draft 2020-12),
// made from the structs of this package. Editors check and complete with it;
// Decode is stricter where a schema cannot say it, such as paths that leave
// the tree.
func Schema() ([]byte, error) {
	g := schemaGenerator{defs: map[string]any{}}
	root := g.object(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = FileName
	root["description"] = "What clusterctl-repo builds from the source tree of Cluster API providers."
	root["$defs"] = g.defs
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return append(out, '\n'), nil
}

type schemaGenerator struct {
	defs map[string]any
}

func (g schemaGenerator) object(t reflect.Type) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, f := range fieldsOf(t) {
		s := g.of(f.typ, f)
		s["description"] = f.doc
		properties[f.key] = s
		if f.required {
			required = append(required, f.key)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	if choice := oneOf(t); choice != nil {
		s["oneOf"] = phrase.List(choice, func(key string) any { return map[string]any{"required": []string{key}} })
	}
	return s
}

// of returns the schema of a value; enum and form of f hold for the texts in it.
func (g schemaGenerator) of(t reflect.Type, f field) map[string]any {
	switch t.Kind() {
	case reflect.Struct:
		if _, done := g.defs[t.Name()]; !done {
			g.defs[t.Name()] = nil // ends the recursion, should a type hold itself
			g.defs[t.Name()] = g.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.of(t.Elem(), f)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.of(t.Elem(), f)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	s := map[string]any{"type": "string"}
	if f.enum != nil {
		s["enum"] = f.enum
	}
	if p := forms[f.form].pattern; p != "" {
		s["pattern"] = p
	}
	return s
}
