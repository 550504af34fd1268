package inventory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Type is what a value must be. Templates do not declare types, so it is a
// conclusion from these, the first that says anything:
//
//  1. The name, for the five variables that are options of clusterctl.
//  2. The places where nothing but the expression is the value. A line of its
//     own outside a text takes a block, brackets around it make it a list, a
//     quoted or block scalar is a string. Elsewhere the schema of the field
//     decides, as far as the release has the CustomResourceDefinition, and
//     otherwise a short table of fields of Kubernetes and Cluster API. Integer
//     and boolean outdo string, as they fit there too; other contradictions,
//     also of a default, make the type unknown.
//  3. The defaults, if YAML reads all of them as the same type.
//  4. A use inside a longer text, which takes a string.
//
// Uses in comments and with operators other than a default say nothing.
type Type string

const (
	unknown Type = "unknown"
	integer Type = "integer"
	boolean Type = "boolean"
	text    Type = "string"
	// list is a list, or the items of one as in [a, b] without the brackets.
	list Type = "list"
	// block is any number of lines of YAML.
	block Type = "block"
)

// Words are all types; see report.Document.
func (Type) Words() []string {
	return []string{string(unknown), string(integer), string(boolean), string(text), string(list), string(block)}
}

// site is the place of one expression.
type site struct {
	// typ is the type that the place takes, "" if it does not tell.
	typ Type
	// part is set if there is other text around the expression.
	part    bool
	comment bool
	// described is what the schema says about the field, and named is the field.
	described, named string
}

// sitesOf looks at the places of all expressions of a file.
func sitesOf(s *source, schemas schemas) []site {
	refs := s.template.Refs()
	sites := make([]site, len(refs))
	if s.err != nil || len(refs) == 0 {
		return sites
	}
	covered := make([]bool, len(refs))
	for _, d := range s.docs.Docs {
		for _, at := range s.in(d).spots {
			if at.field != nil {
				var typ Type
				if typ, at.described = schemas.at(at.field); at.whole {
					at.typ = typ
				}
			}
			sites[at.ref], covered[at.ref] = at.site, true
		}
	}
	comments := s.comments()
	whole := s.file.Parses()
	for i, r := range refs {
		switch {
		case r.Depth > 0:
			sites[i].comment = sites[r.Parent].comment
		case covered[i]:
		case comments[i]:
			sites[i].comment = whole
		case s.aloneOnLine(i):
			sites[i].typ = block
		}
	}
	return sites
}

// spot is an expression in a value or key of a document.
type spot struct {
	ref int
	site
	// field has the value, if it is not nil. It decides about the type if the expression is
	// the whole value.
	field *field
	whole bool
}

type field struct {
	apiVersion, kind string
	path             yamldoc.Path
}

// spots returns the expressions in the values and keys of a document.
func (s *source) spots(d *yamldoc.Document) []spot {
	start, end := d.Range()
	if d.Err != nil || len(s.within(d.RawOffset(start), d.RawOffset(end))) == 0 {
		return nil
	}
	var out []spot
	look := func(n *yamldoc.Node, in *field) {
		start, end := s.span(d, n)
		for _, i := range s.within(start, end) {
			at := spot{ref: i, field: in}
			if at.site, at.whole = s.site(i, start, end, n.Style); at.whole && in == nil {
				at.typ = text
			}
			if in != nil {
				at.named = in.name(d.Root, n)
			}
			out = append(out, at)
		}
	}
	d.Root.Walk(func(path yamldoc.Path, n *yamldoc.Node) bool {
		for _, f := range n.Fields() {
			look(f.Key(), nil)
		}
		if n.Kind != yamldoc.Map && n.Kind != yamldoc.List {
			look(n, &field{d.Root.Get("apiVersion").Str(), d.Root.Get("kind").Str(), slices.Clone(path)})
		}
		return true
	})
	return out
}

// site looks at an expression in a scalar, of which start and end are the
// range in the raw file, and reports whether the type is that of the field, because
// there is nothing else in the scalar.
func (s *source) site(ref, start, end int, style yamldoc.Style) (at site, whole bool) {
	r := &s.template.Refs()[ref]
	raw := s.raw.Data
	switch {
	case start == r.Start && end == r.End: // quotes, if any, are in the default
		switch {
		case s.aloneOnLine(ref):
			return site{typ: block}, false
		case s.bracketed(r):
			return site{typ: list}, false
		}
		return site{}, true
	case style == yamldoc.Quoted && start+1 == r.Start && r.End+1 == end && (raw[start] == '"' || raw[start] == '\''):
		return site{typ: text}, false
	case style == yamldoc.Block && len(s.within(start, end)) == 1 && s.aloneOnLine(ref):
		return site{typ: text}, false
	}
	return site{part: true}, false
}

// bracketed reports whether an expression is all there is in a flow sequence.
func (s *source) bracketed(r *vars.Ref) bool {
	before := strings.TrimRight(s.content[:r.Start], " \t\r\n")
	after := strings.TrimLeft(s.content[r.End:], " \t\r\n")
	return strings.HasSuffix(before, "[") && strings.HasPrefix(after, "]")
}

// comments reports for each expression whether a comment would begin before it
// on its line, if it is not inside a text.
func (s *source) comments() []bool {
	refs := s.template.Refs()
	out := make([]bool, len(refs))
	comment, blank := false, true
	next := 0
	for i := 0; i < len(s.content) && next < len(refs); i++ {
		for next < len(refs) && refs[next].Start <= i {
			out[next] = comment
			next++
		}
		switch b := s.content[i]; b {
		case '\n':
			comment, blank = false, true
		case ' ', '\t':
			blank = true
		default:
			comment = comment || b == '#' && blank
			blank = false
		}
	}
	return out
}

// evidence is what is known about the values of a variable.
type evidence struct {
	types []Type
	part  bool
	// defaults are the distinct ones; seen are their texts.
	defaults []defaultAt
	seen     map[string]bool
}

// defaultAt is a default with its first place.
type defaultAt struct {
	typ Type
	// inside is the type without the quotes.
	inside Type
	place  Place
}

func (e *evidence) add(r *vars.Ref, c site, p Place) {
	if defaults(r) && r.Default != "" && !e.seen[r.Default] {
		typ, inside := literalType(r.Default)
		e.defaults = append(e.defaults, defaultAt{typ, inside, p})
		if e.seen == nil {
			e.seen = map[string]bool{}
		}
		e.seen[r.Default] = true
	}
	if c.typ != "" && (r.Op == "" || defaults(r)) && !slices.Contains(e.types, c.typ) {
		e.types = append(e.types, c.typ)
	}
	e.part = e.part || c.part
}

// literalType returns the type that YAML gives to a default, and to what is
// between its quotes, if there are any.
func literalType(text string) (typ, inside Type) {
	if strings.Contains(text, "${") {
		return unknown, unknown
	}
	if kind, ok := yamldoc.PlainKind(text); ok {
		return kindTypes[kind], kindTypes[kind]
	}
	docs := yamldoc.Parse(yamldoc.NewFile("", []byte(text))).Docs
	if len(docs) != 1 || docs[0].Err != nil {
		return unknown, unknown
	}
	root := docs[0].Root
	typ = kindTypes[root.Kind]
	if root.Is(yamldoc.String) && root.Style == yamldoc.Quoted {
		if docs = yamldoc.Parse(yamldoc.NewFile("", []byte(root.Text()))).Docs; len(docs) == 1 && docs[0].Err == nil {
			return typ, kindTypes[docs[0].Root.Kind]
		}
	}
	return typ, typ
}

var kindTypes = map[yamldoc.Kind]Type{
	yamldoc.Null: unknown, yamldoc.Bool: boolean, yamldoc.Int: integer, yamldoc.Float: unknown, yamldoc.String: text, yamldoc.List: list, yamldoc.Map: unknown,
}

// conclude weighs the evidence as Type explains.
func (e *evidence) conclude(name string) Type {
	if o, ok := options[name]; ok {
		return o.typ
	}
	types := e.types
	if len(types) > 1 {
		types = slices.DeleteFunc(slices.Clone(types), func(t Type) bool { return t == text })
		if len(types) > 1 || types[0] == list || types[0] == block {
			return unknown
		}
	}
	// other reports whether a default is not of type t.
	other := func(t Type) bool {
		return slices.ContainsFunc(e.defaults, func(d defaultAt) bool { return d.typ != t && d.inside != t })
	}
	if len(types) == 1 {
		if t := types[0]; (t == integer || t == boolean) && other(t) {
			return unknown
		}
		return types[0]
	}
	if len(e.defaults) > 0 && e.defaults[0].typ != unknown && !other(e.defaults[0].typ) {
		return e.defaults[0].typ
	}
	if e.part {
		return text
	}
	return unknown
}

// schemaAt is the schema of a version in a CustomResourceDefinition.
type schemaAt struct {
	apiVersion, kind string
	// node is nil if the document was let go of; then it is parsed again.
	node    *yamldoc.Node
	doc     *yamldoc.Document
	version int
}

// large is the size of components, in bytes, from which on their schemas are not kept
// in memory. Those in which a variable stands are parsed a second time.
const large = 4 << 20

func (s *source) schemas(d *yamldoc.Document) (out []schemaAt) {
	if d.Root.Get("kind").Str() != "CustomResourceDefinition" {
		return nil
	}
	spec := d.Root.Get("spec")
	for i, v := range spec.Get("versions").List() {
		if schema := v.Get("schema", "openAPIV3Schema"); schema != nil {
			if s.let && len(s.content) > large {
				schema = nil
			}
			out = append(out, schemaAt{spec.Get("group").Str() + "/" + v.Get("name").Str(), spec.Get("names", "kind").Str(), schema, d, i})
		}
	}
	return out
}

// schemas are those of the CustomResourceDefinitions of a release, by
// apiVersion and kind.
type schemas map[[2]string]*schemaAt

func schemasOf(sources []*source) schemas {
	out := schemas{}
	for _, s := range sources {
		if s.kind != layouts.Components {
			continue
		}
		for _, d := range s.docs.Docs {
			all := s.in(d).schemas
			for i := range all {
				out[[2]string{all[i].apiVersion, all[i].kind}] = &all[i]
			}
		}
	}
	return out
}

// of returns the schema of a kind, or nil.
func (s schemas) of(apiVersion, kind string) *yamldoc.Node {
	at := s[[2]string{apiVersion, kind}]
	if at == nil {
		return nil
	}
	if at.node == nil {
		at.node = at.doc.Again().Root.Get("spec", "versions").List()[at.version].Get("schema", "openAPIV3Schema")
	}
	return at.node
}

// name names the field for people: a flag by its name, a variable of a topology by that.
func (f *field) name(root, value *yamldoc.Node) string {
	if flag, _, ok := strings.Cut(value.Text(), "="); ok && strings.HasPrefix(flag, "-") && !strings.ContainsAny(flag, " \n") {
		return "flag " + strings.Clone(flag) + " of " + f.kind
	}
	if at := strings.Join(f.path, "."); strings.HasPrefix(at, "spec.topology.variables.") {
		for i, v := range root.Get("spec", "topology", "variables").List() {
			if f.path[3] == strconv.Itoa(i) {
				return "variable " + v.Get("name").Str() + " of the ClusterClass"
			}
		}
	}
	path := slices.DeleteFunc(slices.Clone(f.path), func(step string) bool { return strings.Trim(step, "0123456789") == "" })
	return strings.TrimSuffix(strings.Join(path, ".")+" of "+f.kind, " of ")
}

// at returns the type of a field of an object and its description, "" for what is not known.
func (s schemas) at(f *field) (typ Type, described string) {
	schema, path := s.of(f.apiVersion, f.kind), f.path
	for _, step := range path {
		schema = cmp.Or(schema.Get("items"), schema.Get("properties", step), schema.Get("additionalProperties"))
	}
	if schema == nil {
		return fieldType(path), ""
	}
	described = sentence(strings.Clone(schema.Get("description").Str()))
	if schema.Get("x-kubernetes-int-or-string").Bool() {
		return "", described
	}
	return map[string]Type{"integer": integer, "boolean": boolean, "string": text, "array": list}[schema.Get("type").Str()], described
}

// fields are those of the Kubernetes and Cluster API types that occur in
// templates, whose definitions are not part of a release; for a list the type
// is that of its items.
var fields = map[string]Type{
	"apiServerPort": integer, "bindPort": integer, "containerPort": integer, "hostPort": integer,
	"port": integer, "replicas": integer, "terminationGracePeriodSeconds": integer,
	"paused": boolean, "unsafeSkipCAVerification": boolean,
	"apiVersion": text, "args": text, "cidrBlocks": text, "clusterName": text, "command": text,
	"host": text, "image": text, "imageRepository": text, "kind": text, "name": text, "namespace": text,
	"serviceDomain": text, "sshAuthorizedKeys": text, "version": text,
}

// textMaps are fields whose values are strings under any key.
var textMaps = map[string]bool{
	"annotations": true, "data": true, "labels": true, "matchLabels": true, "nodeSelector": true, "stringData": true,
}

func fieldType(path yamldoc.Path) Type {
	for len(path) > 0 && strings.Trim(path[len(path)-1], "0123456789") == "" {
		path = path[:len(path)-1]
	}
	switch n := len(path); {
	case n == 0:
		return ""
	case n > 1 && textMaps[path[n-2]]:
		return text
	default:
		return fields[path[n-1]]
	}
}
