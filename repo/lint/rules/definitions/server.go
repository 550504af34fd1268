package definitions

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD007", Name: "structural-schema", Since: "v0.1.0",
	Title:    "The schemas of a CRD are structural",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: "k8s.io/apiextensions-apiserver pkg/apiserver/schema/validation.go; " + crdValidation + ", ValidateCustomResourceDefinitionOpenAPISchema",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Correct the Go type or its markers and generate the CRD again.",
	Kinds:  view.DefinitionFiles, Check: structuralSchema,
})

// This file holds the checks of definitions that repeat what the API server
// demands, and those about what it then does with them.

func structuralSchema(p *lint.Pass) {
	patterns := map[string]bool{}
	for _, k := range view.Definitions(p) {
		if k.Object.Version != "v1" {
			continue
		}
		f := faults{p: p, kind: k}
		for i := range k.Versions {
			v := &k.Versions[i]
			if v.Schema.Node == nil {
				f.add(v.Name, v.Node, "the version has no schema")
				continue
			}
			w := schemaWalk{faults: &f, version: v.Name, storesStatus: v.Subresources.Get("status") != nil, patterns: patterns}
			w.structural(v.Schema.Node, schemaRoot)
		}
		f.report()
	}
}

// schemaWalk goes through one schema. It repeats what the API server checks but
// for expressions in x-kubernetes-validations and for whether defaults keep to
// their schema.
type schemaWalk struct {
	*faults
	version      string
	storesStatus bool
	path         []string
	patterns     map[string]bool // whether a regular expression is one
	maps         int             // how many additionalProperties are above
}

// schemaPlace is where a schema stands; messages and some demands differ.
type schemaPlace int

const (
	schemaRoot schemaPlace = iota
	schemaItem
	schemaField
)

func (w *schemaWalk) fault(n *yamldoc.Node, text string) {
	where := strings.Join(w.path, ".")
	if where == "" {
		where = "the schema"
	}
	w.add(w.version, n, "%s %s", where, text)
}

// below calls visit for a part of the schema.
func (w *schemaWalk) below(name string, visit func()) {
	w.path = append(w.path, name)
	visit()
	w.path = w.path[:len(w.path)-1]
}

// schemaFacts are the keywords of a schema.
type schemaFacts struct {
	kind                                               string
	items, properties, additional, listType, mapType   *yamldoc.Node
	listKeys, anyOf, allOf, oneOf, not, value, pattern *yamldoc.Node
	intOrString, preserve, embedded, nullable          bool
}

// forbiddenKeywords exist in JSON schema and are refused if they say anything.
var forbiddenKeywords = [...]string{"$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"}

// facts reads the keywords of a schema in one pass.
func (w *schemaWalk) facts(n *yamldoc.Node) (s schemaFacts) {
	for i := range n.Fields {
		f := &n.Fields[i]
		v := f.Value
		switch f.Name {
		case "description":
		case "type":
			s.kind = v.Str()
			switch s.kind {
			case "object", "array", "string", "integer", "number", "boolean", "":
			default:
				w.fault(v, "is of type "+s.kind+", which is none")
			}
		case "items":
			s.items = v
		case "properties":
			s.properties = v
		case "additionalProperties":
			s.additional = v
		case "default":
			s.value = v
		case "pattern":
			s.pattern = v
		case "anyOf":
			s.anyOf = v
		case "allOf":
			s.allOf = v
		case "oneOf":
			s.oneOf = v
		case "not":
			s.not = v
		case "nullable":
			s.nullable = v.Bool()
		case "uniqueItems":
			if v.Bool() {
				w.fault(v, "has uniqueItems, which is not allowed; use x-kubernetes-list-type: set")
			}
		case "x-kubernetes-int-or-string":
			s.intOrString = v.Bool()
		case "x-kubernetes-preserve-unknown-fields":
			s.preserve = v.Bool()
			if v.Is(yamldoc.Bool) && !s.preserve {
				w.fault(v, "has x-kubernetes-preserve-unknown-fields: false; only true is allowed")
			}
		case "x-kubernetes-embedded-resource":
			s.embedded = v.Bool()
		case "x-kubernetes-list-type":
			s.listType = v
		case "x-kubernetes-list-map-keys":
			s.listKeys = v
		case "x-kubernetes-map-type":
			s.mapType = v
		default:
			if slices.Contains(forbiddenKeywords[:], f.Name) && (v.Str() != "" || len(v.Fields)+len(v.Items) > 0) {
				w.fault(v, "has "+f.Name+", which is not supported")
			}
		}
	}
	return s
}

// besideStatus are the keywords that the root may not have if the status is a
// subresource, because the API server checks the status by itself.
var besideStatus = [...]string{
	"additionalProperties", "allOf", "anyOf", "default", "enum", "maxProperties", "minProperties", "not", "oneOf",
	"x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
}

// structural checks a schema that describes values, and all such below.
func (w *schemaWalk) structural(n *yamldoc.Node, place schemaPlace) {
	if !n.Is(yamldoc.Map) {
		return // the type of the keyword itself is wrong
	}
	if place == schemaRoot && w.storesStatus {
		for _, f := range n.Fields {
			if slices.Contains(besideStatus[:], f.Name) {
				w.fault(f.Value, "has "+f.Name+", which the root may not have beside the status subresource")
			}
		}
	}
	s := w.facts(n)
	w.types(n, &s, place)
	w.lists(n, &s)
	if s.pattern.Is(yamldoc.String) && !w.compiles(s.pattern.Text) {
		w.fault(s.pattern, "has a pattern that is no regular expression")
	}
	if s.value != nil && s.value.Kind != yamldoc.Null {
		w.defaults(&s)
	}
	if s.properties != nil {
		for i := range s.properties.Fields {
			f := &s.properties.Fields[i]
			if place == schemaRoot && f.Name == "metadata" {
				w.rootMetadata(f.Value)
			}
			w.below(f.Name, func() { w.structural(f.Value, schemaField) })
		}
	}
	if s.additional.Is(yamldoc.Map) {
		w.maps++
		w.below("*", func() { w.structural(s.additional, schemaField) })
		w.maps--
	}
	if s.items != nil {
		if s.items.Is(yamldoc.List) {
			w.fault(s.items, "has a list of items; one schema for all is allowed")
		}
		w.below(crd.Items, func() { w.structural(s.items, schemaItem) })
	}
	if s.anyOf != nil || s.allOf != nil || s.oneOf != nil || s.not != nil {
		complete := n
		if place != schemaRoot {
			complete = nil // the API server looks no deeper
		}
		w.junctors(n, complete, isIntOrString(s.anyOf), isIntOrString(firstOf(s.allOf).Get("anyOf")))
	}
}

// types checks that a schema says what its values are.
func (w *schemaWalk) types(n *yamldoc.Node, s *schemaFacts, place schemaPlace) {
	switch {
	case s.embedded && s.kind != "object":
		w.fault(n, "has x-kubernetes-embedded-resource and is no object")
	case s.kind == "" && !s.intOrString && !s.preserve:
		w.fault(n, "has no type")
	case place == schemaRoot && s.kind != "" && s.kind != "object":
		w.fault(n.Get("type"), "is of type "+s.kind+" instead of object")
	case s.kind == "array" && s.items == nil:
		w.fault(n, "is a list without items")
	}
	if s.intOrString && s.preserve {
		w.fault(n, "has both x-kubernetes-int-or-string and x-kubernetes-preserve-unknown-fields")
	}
	if s.intOrString && s.embedded {
		w.fault(n, "has both x-kubernetes-int-or-string and x-kubernetes-embedded-resource")
	}
	if s.embedded && !s.preserve && (s.properties == nil || len(s.properties.Fields) == 0) {
		w.fault(n, "has x-kubernetes-embedded-resource without properties")
	}
	if s.additional != nil {
		closed := !s.additional.Bool()
		switch {
		case place == schemaRoot:
			w.fault(s.additional, "has additionalProperties, which the root may not")
		case s.embedded:
			w.fault(s.additional, "has both additionalProperties and x-kubernetes-embedded-resource")
		case closed && s.properties != nil && len(s.properties.Fields) > 0:
			w.fault(s.additional, "has both properties and additionalProperties")
		}
	}
	if place == schemaRoot || s.embedded {
		for _, name := range [...]string{"apiVersion", "kind"} {
			if t := s.properties.Get(name, "type"); t != nil && t.Str() != "string" {
				w.fault(t, "has "+name+" of type "+t.Text+" instead of string")
			}
		}
		if t := s.properties.Get("metadata", "type"); t != nil && t.Str() != "object" {
			w.fault(t, "has metadata of type "+t.Text+" instead of object")
		}
	}
	if place == schemaRoot && s.nullable {
		w.fault(n, "is nullable, which the root may not be")
	}
}

// rootMetadata: the API server knows the metadata; a schema may restrict names.
func (w *schemaWalk) rootMetadata(n *yamldoc.Node) {
	for _, f := range n.Fields {
		allowed := f.Name == "type" || f.Name == "default"
		if f.Name == "properties" {
			allowed = !slices.ContainsFunc(f.Value.Fields, func(f yamldoc.Field) bool { return f.Name != "name" && f.Name != "generateName" })
		}
		if f.Name == "description" {
			allowed = f.Value.Str() == ""
		}
		if !allowed {
			w.below("metadata", func() { w.fault(f.Value, "says "+f.Name+"; only name and generateName can be restricted") })
		}
	}
}

// lists checks the extensions that say how lists and maps are merged.
func (w *schemaWalk) lists(n *yamldoc.Node, s *schemaFacts) {
	if s.mapType != nil {
		switch t := s.mapType.Str(); {
		case s.kind != "object":
			w.fault(s.mapType, "has x-kubernetes-map-type and is no object")
		case t != "atomic" && t != "granular":
			w.fault(s.mapType, "has x-kubernetes-map-type "+t+"; atomic and granular are allowed")
		}
	}
	listType := s.listType.Str()
	switch {
	case s.listType == nil:
		if len(s.listKeys.List()) > 0 {
			w.fault(s.listKeys, "has x-kubernetes-list-map-keys without x-kubernetes-list-type: map")
		}
		return
	case s.kind != "array":
		w.fault(s.listType, "has x-kubernetes-list-type and is no list")
		return
	case listType != "atomic" && listType != "set" && listType != "map":
		w.fault(s.listType, "has x-kubernetes-list-type "+listType+"; atomic, set and map are allowed")
		return
	case listType != "map" && len(s.listKeys.List()) > 0:
		w.fault(s.listKeys, "has x-kubernetes-list-map-keys without x-kubernetes-list-type: map")
		return
	}
	if listType != "atomic" && s.items.Get("nullable").Bool() {
		w.fault(s.items, "has nullable elements, which a "+listType+" may not")
	}
	item := crd.Schema{Node: s.items}
	switch {
	case listType == "set" && (item.Type() == "object" && s.items.Get("x-kubernetes-map-type").Str() != "atomic" ||
		item.Type() == "array" && item.ListType() != "atomic"):
		w.fault(s.items, "is a set of elements that are not atomic")
	case listType == "map":
		w.listMap(n, s, item)
	}
}

func (w *schemaWalk) listMap(n *yamldoc.Node, s *schemaFacts, item crd.Schema) {
	keys := s.listKeys.List()
	if len(keys) == 0 {
		w.fault(n, "has x-kubernetes-list-type: map without x-kubernetes-list-map-keys")
	}
	if s.items != nil && item.Type() != "object" {
		w.fault(s.items, "is a list map, and its elements are no objects")
		return
	}
	seen := map[string]bool{}
	for _, key := range keys {
		name := key.Str()
		field := s.items.Get("properties", name)
		switch t := field.Get("type").Str(); {
		case seen[name]:
			w.fault(key, "has the key "+name+" twice")
		case field == nil:
			w.fault(key, "has the key "+name+", which its elements do not have")
		case t == "array" || t == "object":
			w.fault(key, "has the key "+name+", which is no scalar")
		case field.Get("nullable").Bool():
			w.fault(key, "has the key "+name+", which is nullable")
		case !item.Required(name) && field.Get("default") == nil:
			w.fault(key, "has the key "+name+", which is neither required nor has a default")
		}
		seen[name] = true
	}
}

// defaults checks the types of default values. The API server does not look at
// those inside of maps.
func (w *schemaWalk) defaults(s *schemaFacts) {
	top := len(w.path) == 1 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, w.path[0])
	if top {
		w.fault(s.value, "has a default, which the API server sets itself")
		return
	}
	fits := true
	if w.maps > 0 {
		return
	}
	switch s.kind {
	case "object":
		fits = s.value.Is(yamldoc.Map)
	case "array":
		fits = s.value.Is(yamldoc.List)
	case "string":
		fits = s.value.Is(yamldoc.String)
	case "integer":
		fits = s.value.Is(yamldoc.Int) || s.value.Is(yamldoc.Float) // 1.0 is an integer
	case "number":
		fits = s.value.Is(yamldoc.Int) || s.value.Is(yamldoc.Float)
	case "boolean":
		fits = s.value.Is(yamldoc.Bool)
	}
	if !fits {
		w.fault(s.value, "has a default that is no "+s.kind)
	}
}

// compiles reports whether Go can compile a regular expression.
func (w *schemaWalk) compiles(pattern string) bool {
	ok, known := w.patterns[pattern]
	if !known {
		_, err := syntax.Parse(pattern, syntax.Perl)
		ok = err == nil
		w.patterns[pattern] = ok
	}
	return ok
}

func firstOf(n *yamldoc.Node) *yamldoc.Node {
	if list := n.List(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// isIntOrString recognizes the only anyOf that may name types.
func isIntOrString(n *yamldoc.Node) bool {
	list := n.List()
	return len(list) == 2 && onlyType(list[0], "integer") && onlyType(list[1], "string")
}

func onlyType(n *yamldoc.Node, kind string) bool {
	return n.Is(yamldoc.Map) && len(n.Fields) == 1 && n.Get("type").Str() == kind
}

// junctors checks what allOf, anyOf, oneOf and not say about a schema: they may
// restrict values and not describe them.
func (w *schemaWalk) junctors(n, structure *yamldoc.Node, skipAnyOf, skipFirst bool) {
	for _, f := range n.Fields {
		switch f.Name {
		case "anyOf", "oneOf", "allOf":
			if f.Name == "anyOf" && skipAnyOf {
				continue
			}
			for i, one := range f.Value.List() {
				w.nested(one, structure, f.Name == "allOf" && skipFirst && i == 0)
			}
		case "not":
			w.nested(f.Value, structure, false)
		}
	}
}

// describing are the keywords that only the structural part may have.
var describing = [...]string{
	"type", "additionalProperties", "default", "title", "description", "nullable",
	"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
	"x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations",
}

// nested checks a schema below a junctor. The structure is the schema that has to
// describe the same value, or nil if none has to.
func (w *schemaWalk) nested(n, structure *yamldoc.Node, skipAnyOf bool) {
	if !n.Is(yamldoc.Map) {
		return
	}
	for _, f := range n.Fields {
		empty := f.Value.Kind == yamldoc.Null || f.Value.Is(yamldoc.Bool) && !f.Value.Bool() || f.Value.Is(yamldoc.String) && f.Value.Text == ""
		if slices.Contains(describing[:], f.Name) && (!empty || f.Name == "additionalProperties" && f.Value.Is(yamldoc.Bool)) {
			w.fault(f.Value, "has "+f.Name+" below allOf, anyOf, oneOf or not, where it is not allowed")
		}
		switch f.Name {
		case "items":
			at := structure.Get("items")
			if at == nil && structure != nil {
				w.fault(f.Value, "restricts items that the schema outside of allOf, anyOf, oneOf and not does not describe")
				continue
			}
			w.below(crd.Items, func() { w.nested(f.Value, at, false) })
		case "properties":
			for _, prop := range f.Value.Fields {
				if prop.Name == "metadata" {
					w.fault(prop.Value, "restricts metadata below allOf, anyOf, oneOf or not")
				}
				at := structure.Get("properties", prop.Name)
				if at == nil && structure != nil {
					w.fault(prop.Value, "restricts "+prop.Name+", which the schema outside of allOf, anyOf, oneOf and not does not describe")
					continue
				}
				w.below(prop.Name, func() { w.nested(prop.Value, at, false) })
			}
		}
	}
	w.junctors(n, structure, skipAnyOf, false)
}

// conversion is spec.conversion.
func conversion(k *contract.Kind) (n *yamldoc.Node, strategy string) {
	n = k.Object.Get("spec", "conversion")
	return n, n.Get("strategy").Str()
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD023", Name: "conversion-none", Since: "v0.1.0",
	Title:    "Versions with different schemas have a conversion webhook",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "Kubernetes, Versions in CustomResourceDefinitions",
	Why:    "The API server only changes apiVersion. Fields that the other version does not have are lost when an object is read and written.",
	Fix:    "Serve one version, or add a conversion webhook.",
	Kinds:  view.DefinitionFiles, Check: eachKind(conversionNone),
})

func conversionNone(p *lint.Pass, k *contract.Kind) {
	if _, strategy := conversion(k); strategy != "" && strategy != "None" {
		return
	}
	var first *crd.Version
	for i := range k.Versions {
		v := &k.Versions[i]
		if !v.Served {
			continue
		}
		if first == nil {
			first = v
			continue
		}
		if path, differ := schemaDifference(first.Schema.Node, v.Schema.Node, ""); differ {
			view.Accuse(p, k, view.NearestOf(v.Node, "name"), 0, "%s serves %s and %s without a conversion webhook, and they differ in %s", k.Kind, first.Name, v.Name, path)
			return
		}
	}
}

// schemaDifference returns the first property that two schemas do not both
// describe, or not with the same type.
func schemaDifference(a, b *yamldoc.Node, path string) (string, bool) {
	where := strings.TrimPrefix(path, ".")
	if where == "" {
		where = "their schemas"
	}
	if (crd.Schema{Node: a}).Type() != (crd.Schema{Node: b}).Type() {
		return where, true
	}
	for _, name := range [...]string{"items", "additionalProperties"} {
		x, y := a.Get(name), b.Get(name)
		if (x == nil) != (y == nil) {
			return where, true
		}
		if x.Is(yamldoc.Map) && y.Is(yamldoc.Map) {
			if at, differ := schemaDifference(x, y, path+"[]"); differ {
				return at, true
			}
		}
	}
	x, y := a.Get("properties"), b.Get("properties")
	if x == nil && y == nil {
		return "", false
	}
	if x == nil || y == nil {
		return where, true
	}
	rest := make(map[string]*yamldoc.Node, len(y.Fields))
	for _, f := range y.Fields {
		rest[f.Name] = f.Value
	}
	for i := range x.Fields {
		f := &x.Fields[i]
		at := path + "." + f.Name
		other, ok := rest[f.Name]
		if !ok {
			return at[1:], true
		}
		delete(rest, f.Name)
		if at, differ := schemaDifference(f.Value, other, at); differ {
			return at, true
		}
	}
	for _, f := range y.Fields {
		if _, left := rest[f.Name]; left {
			return strings.TrimPrefix(path+"."+f.Name, "."), true
		}
	}
	return "", false
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD024", Name: "conversion-settings", Since: "v0.1.0",
	Title:    "A conversion webhook says where it is",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: crdValidation + ", validateCustomResourceConversion",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Set spec.conversion.webhook.clientConfig with either a service or a url, or the strategy None without a webhook.",
	Kinds:  view.DefinitionFiles, Check: eachKind(conversionSettings),
})

func conversionSettings(p *lint.Pass, k *contract.Kind) {
	n, strategy := conversion(k)
	if n == nil || k.Object.Version != "v1" {
		return
	}
	webhook := n.Get("webhook")
	switch strategy {
	case "None":
		if webhook.Get("clientConfig") != nil || len(webhook.Get("conversionReviewVersions").List()) > 0 {
			view.Accuse(p, k, webhook, 0, "%s has a conversion webhook and the strategy None", k.Kind)
		}
	case "Webhook":
		client := webhook.Get("clientConfig")
		url, service := client.Get("url"), client.Get("service")
		switch {
		case client == nil:
			view.Accuse(p, k, view.NearestOf(n, "webhook"), 0, "%s is converted by a webhook without clientConfig", k.Kind)
		case (url == nil) == (service == nil):
			view.Accuse(p, k, client, 0, "the conversion webhook of %s needs either a service or a url", k.Kind)
		case service != nil && (service.Get("name").Str() == "" || service.Get("namespace").Str() == ""):
			view.Accuse(p, k, service, 0, "the service of the conversion webhook of %s needs a name and a namespace", k.Kind)
		case url != nil && !strings.HasPrefix(url.Str(), "https://"):
			view.Accuse(p, k, url, 0, "the conversion webhook of %s needs a url with https", k.Kind)
		}
	default:
		view.Accuse(p, k, view.NearestOf(n, "strategy"), 0, "the conversion strategy of %s is %q; None and Webhook are allowed", k.Kind, strategy)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD025", Name: "conversion-service", Since: "v0.1.0",
	Title:    "The service of a conversion webhook is installed and trusted",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "Kubernetes, Versions in CustomResourceDefinitions, webhook conversion",
	Why:    "The API server cannot read objects that are stored in another version than the one asked for.",
	Fix:    "Name a Service of this file and one of its ports, and let cert-manager inject the certificate authority with the annotation cert-manager.io/inject-ca-from.",
	Kinds:  view.DefinitionFiles, Check: eachKind(conversionService),
})

func conversionService(p *lint.Pass, k *contract.Kind) {
	n, strategy := conversion(k)
	service := n.Get("webhook", "clientConfig", "service")
	if strategy != "Webhook" || service == nil {
		return
	}
	name := service.Get("name").Str()
	called := lint.Warning
	when := ""
	if len(k.Versions) < 2 {
		called, when = lint.Info, "; with one version it is never called"
	}
	object := p.Release.Installed().Find("", "Service", name)
	switch {
	case name == "":
	case object == nil:
		view.Accuse(p, k, service.Get("name"), called, "the conversion webhook of %s is behind the Service %s, which is not in this file%s", k.Kind, name, when)
	default:
		port, ok := service.Get("port").Int()
		if !ok {
			port = 443
		}
		serves := func(n *yamldoc.Node) bool { got, _ := n.Get("port").Int(); return got == port }
		if ports := object.Get("spec", "ports").List(); !slices.ContainsFunc(ports, serves) {
			view.Accuse(p, k, view.NearestOf(service, "port"), called, "the conversion webhook of %s is on port %d, which the Service %s does not have%s", k.Kind, port, name, when)
		}
	}
	trusted := n.Get("webhook", "clientConfig", "caBundle").Str() != ""
	for _, a := range trustAnnotations {
		_, ok := k.Object.Annotation(a)
		trusted = trusted || ok
	}
	if !trusted {
		view.Accuse(p, k, n.Get("webhook", "clientConfig"), called, "nothing gives the conversion webhook of %s a certificate authority%s", k.Kind, when)
	}
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD026", Name: "conversion-review-versions", Since: "v0.1.0",
	Title:    "A conversion webhook accepts reviews of version v1",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: crdValidation + ", validateConversionReviewVersions",
	Why:    "The API server refuses a CRD whose webhook understands no review that it can send. v1beta1 alone still works.",
	Fix:    "Set spec.conversion.webhook.conversionReviewVersions to [v1].",
	Kinds:  view.DefinitionFiles, Check: eachKind(conversionReviews),
})

func conversionReviews(p *lint.Pass, k *contract.Kind) {
	n, strategy := conversion(k)
	if strategy != "Webhook" || k.Object.Version != "v1" || n.Get("webhook") == nil {
		return
	}
	list := n.Get("webhook", "conversionReviewVersions")
	var names []string
	for _, v := range list.List() {
		names = append(names, v.Str())
	}
	if list == nil {
		list = n.Get("webhook")
	}
	switch {
	case slices.Contains(names, "v1"):
	case slices.Contains(names, "v1beta1"):
		view.Accuse(p, k, list, lint.Info, "the conversion webhook of %s only understands reviews of version v1beta1", k.Kind)
	default:
		view.Accuse(p, k, list, 0, "the conversion webhook of %s understands neither v1 nor v1beta1", k.Kind)
	}
}

// trustAnnotations tell cert-manager to fill in the certificate authority.
var trustAnnotations = [...]string{
	"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD027", Name: "name-collision", Since: "v0.1.0",
	Title:    "Names of a kind do not collide with others that kubectl knows",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "kubectl, resource names; k8s.io/apiextensions-apiserver pkg/controller/status/naming_controller.go",
	Why:    "Kubectl shows the objects of the other kind. Within one group the API server serves only one of them.",
	Fix:    "Choose another short name, such as the initials with the provider in front.",
	Kinds:  view.DefinitionFiles, Check: nameCollisions,
})

func nameCollisions(p *lint.Pass) {
	type owner struct{ group, name string }
	owners := map[owner]string{}
	for _, k := range view.Definitions(p) {
		if k.Role == contract.Core {
			continue
		}
		names := k.Object.Get("spec", "names")
		var at *yamldoc.Node
		var taken []string
		for _, n := range append([]*yamldoc.Node{names.Get("plural"), names.Get("singular")}, names.Get("shortNames").List()...) {
			name := n.Str()
			for _, row := range kubectlNames {
				if row.name == name {
					if at == nil {
						at = n
					}
					taken = append(taken, name+" ("+row.resource+")")
				}
			}
			key := owner{k.Group, name}
			if other := owners[key]; name != "" && other != "" && other != k.Kind {
				view.Accuse(p, k, n, 0, "%s is called %s like %s of the same group, and the API server serves only one of them", k.Kind, name, other)
			}
			owners[key] = k.Kind
		}
		if at != nil {
			view.Accuse(p, k, at, 0, "%s of the group %s has names that kubectl takes for other resources: %s", k.Kind, k.Group, strings.Join(taken, ", "))
		}
	}
}

// The limits of kubectl apply and of etcd, in bytes of JSON.
const (
	annotationLimit = 256 << 10
	requestLimit    = 3 << 19
)

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD028", Name: "printer-columns", Since: "v0.1.0",
	Title:    "Columns of kubectl show fields of the schema",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "Kubernetes, additional printer columns",
	Why:    "The column is always empty.",
	Fix:    "Correct the path in the marker +kubebuilder:printcolumn.",
	Kinds:  view.DefinitionFiles, Check: eachKind(printerColumns),
})

func printerColumns(p *lint.Pass, k *contract.Kind) {
	f := faults{p: p, kind: k}
	for i := range k.Versions {
		v := &k.Versions[i]
		if !v.Served {
			continue
		}
		for _, column := range v.Node.Get("additionalPrinterColumns").List() {
			at := column.Get("jsonPath")
			if bad := unknownColumn(v.Schema, at.Str()); bad != "" {
				f.add(v.Name, at, "the column %s shows %s, and the schema has no %s", column.Get("name").Str(), at.Str(), bad)
			}
		}
	}
	f.report()
}

// unknownColumn returns the part of a JSON path that a schema does not have, or
// "". It gives up at what is no plain path.
func unknownColumn(s crd.Schema, path string) string {
	rest, ok := strings.CutPrefix(path, ".")
	if !ok || strings.HasPrefix(rest, "metadata") {
		return ""
	}
	done := ""
	for rest != "" {
		end := strings.IndexAny(rest, ".[\\")
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		if name == "" || name == "*" || end < len(rest) && rest[end] == '\\' {
			return ""
		}
		next, presence := s.At(name)
		done += "." + name
		switch presence {
		case crd.Unknowable:
			return ""
		case crd.Absent:
			return done[1:]
		}
		s, rest = next, rest[end:]
		for strings.HasPrefix(rest, "[") {
			closing := strings.IndexByte(rest, ']')
			if closing < 0 || strings.ContainsAny(rest[:1+min(1, closing)], `'"`) || strings.HasPrefix(rest, "['") || strings.HasPrefix(rest, `["`) {
				return ""
			}
			if s, presence = s.At(crd.Items); presence != crd.Present {
				return ""
			}
			rest = rest[closing+1:]
		}
		rest = strings.TrimPrefix(rest, ".")
	}
	return ""
}

// kubectlNames are names that kubectl knows from Kubernetes and Cluster API, and
// their resources.
var kubectlNames = [...]struct{ name, resource string }{
	{"cc", "clusterclasses"}, {"cj", "cronjobs"}, {"cl", "clusters"}, {"cluster", "clusters"}, {"clusters", "clusters"},
	{"cm", "configmaps"}, {"crd", "customresourcedefinitions"}, {"crds", "customresourcedefinitions"}, {"cs", "componentstatuses"},
	{"csr", "certificatesigningrequests"}, {"deploy", "deployments"}, {"ds", "daemonsets"}, {"ep", "endpoints"}, {"ev", "events"},
	{"ext", "extensionconfigs"}, {"hpa", "horizontalpodautoscalers"}, {"ing", "ingresses"}, {"limits", "limitranges"},
	{"ma", "machines"}, {"machine", "machines"}, {"machinepool", "machinepools"}, {"machinepools", "machinepools"}, {"machines", "machines"},
	{"md", "machinedeployments"}, {"mhc", "machinehealthchecks"}, {"mhcs", "machinehealthchecks"}, {"mp", "machinepools"},
	{"ms", "machinesets"}, {"namespace", "namespaces"}, {"namespaces", "namespaces"}, {"netpol", "networkpolicies"}, {"no", "nodes"},
	{"node", "nodes"}, {"nodes", "nodes"}, {"ns", "namespaces"}, {"pc", "priorityclasses"}, {"pdb", "poddisruptionbudgets"}, {"po", "pods"},
	{"pod", "pods"}, {"pods", "pods"}, {"pv", "persistentvolumes"}, {"pvc", "persistentvolumeclaims"}, {"quota", "resourcequotas"},
	{"rc", "replicationcontrollers"}, {"rs", "replicasets"}, {"sa", "serviceaccounts"}, {"sc", "storageclasses"}, {"secret", "secrets"},
	{"secrets", "secrets"}, {"service", "services"}, {"services", "services"}, {"sts", "statefulsets"}, {"svc", "services"},
}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD030", Name: "definition-size", Since: "v0.1.0",
	Title:    "A CRD fits into an annotation and into etcd",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "kubectl apply, last-applied-configuration; etcd, request size",
	Why:    "Kubectl apply without --server-side refuses CRDs above 256 KiB, and etcd requests above 1.5 MiB.",
	Fix:    "Leave descriptions out with controller-gen crd:maxDescLen=0, or tell users to apply with --server-side. Clusterctl itself is not concerned by the lower limit.",
	Kinds:  view.DefinitionFiles, Check: definitionSize,
})

func definitionSize(p *lint.Pass) {
	if len(p.File.Raw.Data) < annotationLimit/2 {
		return
	}
	starts := map[*yamldoc.Document]int{} // of the documents behind those
	end := len(p.File.Raw.Data)
	for _, o := range slices.Backward(p.File.Objects()) {
		starts[o.Doc] = end
		end = p.File.Raw.Offset(o.Doc.Pos(nil))
	}
	for _, k := range view.Definitions(p) {
		if starts[k.Object.Doc]-p.File.Raw.Offset(k.Object.Doc.Pos(nil)) < annotationLimit/2 {
			continue // as YAML it is seldom shorter than as JSON, and then not by half
		}
		switch size := jsonSize(k.Object.Doc.Root); {
		case size > requestLimit:
			view.Accuse(p, k, nil, 0, "%s has %d KiB, and etcd takes requests of 1536 KiB", k.Object.Name, size>>10)
		case size > annotationLimit:
			view.Accuse(p, k, nil, lint.Info, "%s has %d KiB, and kubectl apply without --server-side takes 256 KiB", k.Object.Name, size>>10)
		}
	}
}

// jsonSize is the length of a value as JSON, but for escapes in texts.
func jsonSize(n *yamldoc.Node) int {
	if n == nil {
		return 0
	}
	switch n.Kind {
	case yamldoc.Null:
		return 4
	case yamldoc.Map:
		size := 1 + max(1, len(n.Fields))
		for i := range n.Fields {
			size += len(n.Fields[i].Name) + 3 + jsonSize(n.Fields[i].Value)
		}
		return size
	case yamldoc.List:
		size := 1 + max(1, len(n.Items))
		for _, item := range n.Items {
			size += jsonSize(item)
		}
		return size
	case yamldoc.String:
		return len(n.Text) + 2
	}
	return len(n.Text)
}

// columnTypes are the types of columns.
var columnTypes = [...]string{"integer", "number", "string", "boolean", "date"}

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD033", Name: "definition-fields", Since: "v0.1.0",
	Title:    "The fields of a CRD have values that the API server accepts",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: crdValidation + ", ValidateCustomResourceDefinition",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Correct the marker of the Go type and generate the CRD again.",
	Kinds:  view.DefinitionFiles, Check: eachKind(definitionFields),
})

func definitionFields(p *lint.Pass, k *contract.Kind) {
	if k.Object.Version != "v1" {
		return
	}
	at := func(path ...string) *yamldoc.Node {
		return view.Nearest(k.Object, append([]string{"spec"}, path...)...)
	}
	if parts := strings.Split(k.Group, "."); len(parts) < 2 || slices.ContainsFunc(parts, func(s string) bool { return !isDNSLabel("x"+s) || strings.HasPrefix(s, "-") || s == "" }) {
		view.Accuse(p, k, at("group"), 0, "the group %q is no domain with a dot", k.Group)
	}
	if k.Scope != "Namespaced" && k.Scope != "Cluster" {
		view.Accuse(p, k, at("scope"), 0, "the scope of %s is %q; Namespaced and Cluster are allowed", k.Kind, k.Scope)
	}
	names := k.Object.Get("spec", "names")
	for _, name := range [...]string{"plural", "singular", "kind", "listKind"} {
		n := names.Get(name)
		text := n.Str()
		if name == "kind" || name == "listKind" {
			text = strings.ToLower(text)
		}
		optional := name == "singular" || name == "listKind"
		if !isDNSLabel(text) && (n.Str() != "" || !optional) {
			view.Accuse(p, k, at("names", name), 0, "spec.names.%s is %q, which is no name of a resource", name, n.Str())
		}
	}
	if k.ListKind != "" && k.ListKind == k.Kind {
		view.Accuse(p, k, at("names", "listKind"), 0, "kind and list are both named %s", k.Kind)
	}
	for _, list := range [...]string{"shortNames", "categories"} {
		for _, n := range names.Get(list).List() {
			if !isDNSLabel(n.Str()) {
				view.Accuse(p, k, n, 0, "%q in spec.names.%s is no name of a resource", n.Str(), list)
			}
		}
	}
	f := faults{p: p, kind: k}
	for i := range k.Versions {
		versionFields(&f, &k.Versions[i])
	}
	f.report()
}

// versionFields checks the fields of one version but for its schema.
func versionFields(f *faults, v *crd.Version) {
	if !isDNSLabel(v.Name) {
		f.add(v.Name, view.NearestOf(v.Node, "name"), "%q is no name of a version", v.Name)
	}
	if n := v.Node.Get("deprecationWarning"); n != nil && !v.Node.Get("deprecated").Bool() {
		f.add(v.Name, n, "it has a deprecationWarning and is not deprecated")
	}
	for _, column := range v.Node.Get("additionalPrinterColumns").List() {
		name, path := column.Get("name").Str(), column.Get("jsonPath")
		switch kind := column.Get("type"); {
		case name == "":
			f.add(v.Name, column, "a column has no name")
		case !slices.Contains(columnTypes[:], kind.Str()):
			f.add(v.Name, view.NearestOf(column, "type"), "the column %s is of type %q; allowed are %s", name, kind.Str(), strings.Join(columnTypes[:], ", "))
		case !strings.HasPrefix(path.Str(), "."):
			f.add(v.Name, view.NearestOf(column, "jsonPath"), "the column %s has the path %q, which does not begin with a dot", name, path.Str())
		}
	}
	scale := v.Subresources.Get("scale")
	if scale == nil {
		return
	}
	for _, row := range [...]struct {
		name     string
		prefixes []string
		optional bool
	}{
		{"specReplicasPath", []string{".spec."}, false},
		{"statusReplicasPath", []string{".status."}, false},
		{"labelSelectorPath", []string{".spec.", ".status."}, true},
	} {
		path := scale.Get(row.name).Str()
		fits := slices.ContainsFunc(row.prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
		if !fits && (path != "" || !row.optional) {
			f.add(v.Name, view.NearestOf(scale, row.name), "%s of the scale subresource is %q and must begin with %s", row.name, path, strings.Join(row.prefixes, " or "))
		}
	}
}
