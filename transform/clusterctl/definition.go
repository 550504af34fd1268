package clusterctl

import "math"

// Nearly all of a CustomResourceDefinition is its schemas. clusterctl converts them to
// types and back like the rest, which takes most of the time of a rendering and
// changes nothing in the schemas that controller-gen writes.

// keepingSchemas does something with a definition that converts it to its type and
// back, without the schemas that this would not change.
func keepingSchemas(o *object, change func() error) error {
	schemas := takeSchemas(o)
	err := change()
	putSchemas(o, schemas)
	if err != nil && len(schemas) > 0 {
		return change() // what is wrong may be said of the whole object only
	}
	return err
}

const openAPI = "openAPIV3Schema"

// takeSchemas removes schemas and returns them by the index of their version.
func takeSchemas(o *object) map[int]map[string]any {
	out := map[int]map[string]any{}
	for i, holder := range schemaHolders(o) {
		if schema, ok := holder[openAPI].(map[string]any); ok && settleSchema(schema, false) {
			delete(holder, openAPI)
			out[i] = schema
		}
	}
	return out
}

func putSchemas(o *object, schemas map[int]map[string]any) {
	holders := schemaHolders(o)
	for i, schema := range schemas {
		holders[i][openAPI] = schema
	}
}

// schemaHolders returns what holds the schema of each version, nil where that is no
// map.
func schemaHolders(o *object) []map[string]any {
	spec, _ := o.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	out := make([]map[string]any, len(versions))
	for i, v := range versions {
		version, _ := v.(map[string]any)
		out[i], _ = version["schema"].(map[string]any)
	}
	return out
}

// settleSchema reports whether the conversion to the type of schemas and back gives
// the same schema, but for the types of numbers, which it gives the values that they
// would get. Whatever is rare is left to the conversion. Of a schema inside items
// or additionalProperties the conversion goes by way of JSON.
func settleSchema(schema map[string]any, viaJSON bool) bool {
	for key, v := range schema {
		settled, ok := settle(key, v, viaJSON)
		if !ok {
			return false
		}
		if settled != nil {
			schema[key] = settled
		}
	}
	return true
}

// settle is settleSchema for a field of a schema. It returns the value that a number
// becomes, or nil.
func settle(key string, v any, viaJSON bool) (settled any, ok bool) {
	switch key {
	case "description", "type", "format", "title", "pattern":
		s, ok := v.(string)
		return nil, ok && s != ""
	case "x-kubernetes-list-type", "x-kubernetes-map-type":
		_, ok := v.(string)
		return nil, ok
	case "nullable", "uniqueItems", "exclusiveMaximum", "exclusiveMinimum", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string":
		return nil, v == true
	case "x-kubernetes-preserve-unknown-fields":
		_, ok := v.(bool)
		return nil, ok
	case "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties":
		return integer(v)
	case "maximum", "minimum", "multipleOf":
		if _, ok := v.(float64); !ok || !viaJSON {
			return nil, ok
		}
		return settleJSON(v)
	case "default", "example":
		return settleJSON(v)
	case "enum":
		return all(v, settleJSON)
	case "required", "x-kubernetes-list-map-keys":
		return all(v, text)
	case "properties", "patternProperties":
		list, ok := v.(map[string]any)
		for _, item := range list {
			schema, isMap := item.(map[string]any)
			ok = ok && isMap && schema != nil && settleSchema(schema, viaJSON)
		}
		return nil, ok && len(list) > 0
	case "allOf", "oneOf", "anyOf":
		return all(v, func(item any) (any, bool) { return schemaIn(item, viaJSON) })
	case "not":
		return schemaIn(v, viaJSON)
	case "items":
		return schemaIn(v, true)
	case "additionalProperties", "additionalItems":
		if _, ok := v.(bool); ok {
			return nil, true
		}
		return schemaIn(v, true)
	case "x-kubernetes-validations":
		return all(v, rule)
	}
	return nil, false
}

func schemaIn(v any, viaJSON bool) (settled any, ok bool) {
	schema, ok := v.(map[string]any)
	return nil, ok && schema != nil && settleSchema(schema, viaJSON)
}

// all settles the items of a list, which must not be empty.
func all(v any, each func(any) (any, bool)) (settled any, ok bool) {
	list, _ := v.([]any)
	for i, item := range list {
		settled, ok := each(item)
		if !ok {
			return nil, false
		}
		if settled != nil {
			list[i] = settled
		}
	}
	return nil, len(list) > 0
}

func text(v any) (settled any, ok bool) {
	_, ok = v.(string)
	return nil, ok
}

// rule settles a rule of x-kubernetes-validations.
func rule(v any) (settled any, ok bool) {
	fields, _ := v.(map[string]any)
	for key, value := range fields {
		s, isText := value.(string)
		switch key {
		case "rule", "reason":
			ok = isText
		case "message", "messageExpression", "fieldPath":
			ok = isText && s != ""
		case "optionalOldSelf":
			_, ok = value.(bool)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return nil, fields["rule"] != nil
}

// exact is the bound below which all integers are numbers of any type.
const exact = 1 << 53

// integer settles a number that becomes an int64.
func integer(v any) (settled any, ok bool) {
	f, ok := v.(float64)
	if !ok || f != math.Trunc(f) || math.Abs(f) >= exact {
		return nil, false
	}
	return int64(f), true
}

// settleJSON settles any value but null that goes by way of JSON.
func settleJSON(v any) (settled any, ok bool) {
	switch v := v.(type) {
	case string, bool:
		return nil, true
	case float64:
		if settled, ok := integer(v); ok {
			return settled, true
		}
		return nil, math.Abs(v) < exact
	case []any:
		if _, ok := all(v, settleJSON); ok {
			return nil, true
		}
		return nil, v != nil && len(v) == 0
	case map[string]any:
		for key, item := range v {
			settled, ok := settleJSON(item)
			if !ok {
				return nil, false
			}
			if settled != nil {
				v[key] = settled
			}
		}
		return nil, v != nil
	}
	return nil, false
}
