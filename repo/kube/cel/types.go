package cel

import (
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	kube "k8s.io/apiserver/pkg/cel"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// mostBytes is the longest request that the API server takes.
const mostBytes = int64(kube.DefaultMaxRequestSizeBytes)

// declare returns the type that expressions see for the values of a schema, or nil
// if they cannot see them (k8s.io/apiserver/pkg/cel/common, SchemaDeclType). A
// resource has fields that the schema need not mention.
func (c *check) declare(s *yamldoc.Node, resource bool) *kube.DeclType {
	if t, ok := c.types[s]; ok {
		return t
	}
	t := c.declareAnew(s, resource)
	c.types[s] = t
	return t
}

func (c *check) declareAnew(s *yamldoc.Node, resource bool) *kube.DeclType {
	if s.Get("x-kubernetes-int-or-string").Bool() {
		t := kube.NewSimpleTypeWithMinSize("dyn", cel.DynType, nil, 1)
		t.MaxElements = limit(s, "maxLength", 4, mostBytes-2)
		return t
	}
	switch s.Get("type").Str() {
	case "array":
		items := s.Get("items")
		element := c.below(items)
		if element == nil {
			return nil
		}
		return kube.NewListType(element, limit(s, "maxItems", 1, (mostBytes-2)/(element.MinSerializedSize+1)))
	case "object":
		return c.declareObject(s, resource)
	case "string":
		return declareString(s)
	case "boolean":
		return kube.BoolType
	case "number":
		return kube.DoubleType
	case "integer":
		return kube.IntType
	}
	return nil
}

// below is the type of a schema in another one.
func (c *check) below(s *yamldoc.Node) *kube.DeclType {
	if !s.Is(yamldoc.Map) {
		return nil
	}
	return c.declare(s, s.Get("x-kubernetes-embedded-resource").Bool())
}

// limit is a keyword times a factor, or what holds without it.
func limit(s *yamldoc.Node, keyword string, factor, without int64) int64 {
	if n, ok := s.Get(keyword).Int(); ok {
		return max(n, 0) * factor
	}
	return without
}

func (c *check) declareObject(s *yamldoc.Node, resource bool) *kube.DeclType {
	if extra := s.Get("additionalProperties"); extra.Is(yamldoc.Map) {
		element := c.below(extra)
		if element == nil {
			return nil
		}
		return kube.NewMapType(kube.StringType, element, limit(s, "maxProperties", 1, (mostBytes-2)/(element.MinSerializedSize+6)))
	}
	required := map[string]bool{}
	for _, n := range s.Get("required").List() {
		required[n.Str()] = true
	}
	fields := map[string]*kube.DeclField{}
	size := int64(2)
	add := func(name string, t *kube.DeclType, hasDefault bool) {
		if t == nil {
			return
		}
		if escaped, ok := kube.Escape(strings.Clone(name)); ok { // programs outlive the document
			fields[escaped] = kube.NewDeclField(escaped, t, required[name], nil, nil)
		}
		if required[name] && !hasDefault {
			size += int64(len(name)) + t.MinSerializedSize + 4
		}
	}
	properties := s.Get("properties")
	for f := range properties.Entries() {
		if !resource || !ofAll(f.Name) {
			add(f.Name, c.below(f.Value), f.Value.Get("default").Given() != nil)
		}
	}
	if resource {
		text := unboundedString()
		add("kind", text, false)
		add("apiVersion", text, false)
		add("metadata", c.metadata(properties), false)
	}
	t := kube.NewObjectType("object", fields)
	t.MinSerializedSize = size
	return t
}

// ofAll reports whether all resources have a field.
func ofAll(name string) bool { return name == "kind" || name == "apiVersion" || name == "metadata" }

// metadata is the type of metadata of a resource: what the schema says if it
// describes names, otherwise only these.
func (c *check) metadata(properties *yamldoc.Node) *kube.DeclType {
	m := properties.Get("metadata")
	described := properties.Get("kind", "type").Str() == "string" && properties.Get("apiVersion", "type").Str() == "string" &&
		m.Get("type").Str() == "object" && m.Get("properties", "name", "type").Str() == "string" && m.Get("properties", "generateName", "type").Str() == "string"
	if described {
		return c.below(m)
	}
	t := kube.NewObjectType("object", map[string]*kube.DeclField{
		"name":         kube.NewDeclField("name", unboundedString(), false, nil, nil),
		"generateName": kube.NewDeclField("generateName", unboundedString(), false, nil, nil),
	})
	t.MinSerializedSize = 2
	return t
}

func unboundedString() *kube.DeclType {
	t := kube.NewSimpleTypeWithMinSize("string", cel.StringType, types.String(""), kube.MinStringSize)
	t.MaxElements = mostBytes - 2
	return t
}

func declareString(s *yamldoc.Node) *kube.DeclType {
	var t *kube.DeclType
	switch s.Get("format").Str() {
	case "byte":
		t = kube.NewSimpleTypeWithMinSize("bytes", cel.BytesType, types.Bytes([]byte{}), kube.MinStringSize)
		t.MaxElements = limit(s, "maxLength", 1, mostBytes-2)
	case "duration":
		t = kube.NewSimpleTypeWithMinSize("duration", cel.DurationType, types.Duration{Duration: 0}, kube.MinDurationSizeJSON)
		t.MaxElements = kube.MaxDurationSizeJSON
	case "date":
		t = kube.NewSimpleTypeWithMinSize("timestamp", cel.TimestampType, types.Timestamp{Time: time.Time{}}, kube.JSONDateSize)
		t.MaxElements = kube.JSONDateSize
	case "date-time":
		t = kube.NewSimpleTypeWithMinSize("timestamp", cel.TimestampType, types.Timestamp{Time: time.Time{}}, kube.MinDatetimeSizeJSON)
		t.MaxElements = kube.MaxDatetimeSizeJSON
	default:
		t = unboundedString()
		without := t.MaxElements
		if enum := s.Get("enum").List(); len(enum) > 0 {
			without = 0
			for _, n := range enum {
				if n.Is(yamldoc.String) {
					without = max(without, int64(len(n.Text())))
				}
			}
		}
		t.MaxElements = limit(s, "maxLength", 4, without)
	}
	return t
}
