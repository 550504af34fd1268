package migrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// convert changes the value of an entry as the current row says. It is false if
// the entry was removed.
func (o *object) convert(e *edit.Entry) bool {
	if e.Value.Raw == opaque {
		if !o.pathOnly && o.row.Value != table.Same && o.row.Value != table.NoFalse && o.row.Value != table.NoZero {
			o.stuck = "the value comes from a variable or a template, and must be converted: " + string(o.row.Value)
		}
		return true
	}
	switch o.row.Value {
	case table.Seconds:
		o.seconds(e)
	case table.PositiveSeconds:
		o.seconds(e)
		if e.Value.Raw == "0" && !o.partial {
			return o.remove(e)
		}
	case table.Args:
		o.args(e)
	case table.Reference:
		o.reference(e)
	case table.TemplateReference:
		o.templateReference(e)
	case table.NoFalse:
		if e.Value.Raw == "false" && !o.partial {
			return o.remove(e)
		}
	case table.NoZero:
		if e.Value.Raw == "0" && !o.partial {
			return o.remove(e)
		}
	case table.Schema:
		o.schema(e.Value)
	case table.Selector:
		if k := o.file.opts.Contract.Find(edit.Unquote(e.Value.Raw), e.Owner().Text("kind")); k != nil {
			o.bump(e, k)
		}
	}
	return true
}

// remove takes away a value that means "not set" in the old version.
func (o *object) remove(e *edit.Entry) bool {
	owner := e.Owner()
	owner.Remove(e)
	if len(owner.Entries) == 0 && !owner.Flow && owner.Parent() != nil {
		owner.SetRaw("{}")
	}
	return false
}

// seconds makes a duration a number of seconds.
func (o *object) seconds(e *edit.Entry) {
	v := e.Value
	if v.Kind != edit.Leaf || v.Empty() {
		return
	}
	raw := edit.Unquote(v.Raw)
	if !edit.HasVariables(raw) {
		if s, ok := parseSeconds(raw); ok {
			v.SetRaw(s)
		} else if _, err := strconv.Atoi(raw); err != nil {
			o.manual(e, fmt.Sprintf("%q is not a duration", raw), "write the number of seconds")
		}
		return
	}
	t, err := vars.Parse([]byte(raw))
	if err != nil || len(t.Refs()) != 1 || strings.Contains(raw, "{{") {
		o.unknownSeconds(e, raw)
		return
	}
	r := t.Refs()[0]
	before, after := raw[:r.Start], raw[r.End:]
	name := r.Name
	switch {
	case before == "" && after == "s": // the number of seconds is the variable itself
		v.SetRaw(raw[:r.End])
	case before == "" && after == "" && r.Op == "":
		v.SetRaw(raw)
		o.converts(e, name)
		o.users(e, name, "")
	case before == "" && after == "" && slices.Contains([]string{":-", ":=", "=", "-"}, r.Op):
		s, ok := parseSeconds(r.Default)
		if !ok || edit.HasVariables(r.ArgRaw) {
			o.unknownSeconds(e, raw)
			return
		}
		v.SetRaw("${" + name + r.Op + s + "}")
		o.converts(e, name)
		o.users(e, name, r.Default+", the default, is now "+s)
	default:
		o.unknownSeconds(e, raw)
	}
}

// unknownSeconds leaves a value whose seconds cannot be written.
func (o *object) unknownSeconds(e *edit.Entry, raw string) {
	o.manual(e, fmt.Sprintf("the value must be a number of seconds, but %s is a duration", raw),
		"use a variable that holds seconds")
}

// users says what they must write for a variable now.
func (o *object) users(e *edit.Entry, name, was string) {
	help := fmt.Sprintf("tell users who set %s to write whole seconds, such as 600 instead of 10m", name)
	if was != "" {
		help += " (" + was + ")"
	}
	o.report(Users, e, fmt.Sprintf("%s is now a number of seconds", name), help)
}

// parseSeconds reads a duration as Cluster API's conversion does: whole seconds,
// at most those of an int32.
func parseSeconds(text string) (string, bool) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return "", false
	}
	return strconv.FormatInt(int64(min(math.Trunc(d.Seconds()), math.MaxInt32)), 10), true
}

// args makes a map of arguments a list.
func (o *object) args(e *edit.Entry) {
	v := e.Value
	switch {
	case v.IsList():
		return
	case !v.IsMap():
		if v.Empty() {
			return
		}
		o.manual(e, "arguments are now a list of name and value", "write each argument as an item with name and value")
		return
	case len(v.Entries) == 0:
		v.SetRaw("[]")
		return
	case v.BlockVariables():
		o.manual(e, "a variable stands for arguments, which are a list of name and value now",
			"let the variable hold items with name and value")
		return
	}
	for _, c := range v.Entries {
		if c.Value.IsMap() || c.Value.IsList() || strings.HasPrefix(c.Name, "$") && !edit.HasVariables(c.Name) ||
			o.partial && c.Value.Empty() && c.Value.Raw != "" {
			o.manual(c, "arguments are now a list of name and value, and this entry does not fit", "write the list by hand")
			return
		}
	}
	entries := slices.Clone(v.Entries)
	slices.SortStableFunc(entries, func(a, b *edit.Entry) int { return cmp.Compare(a.Name, b.Name) })
	list := edit.NewList(e.Owner(), o.step)
	list.Flow = v.Flow
	for _, c := range entries {
		list.Insert(len(list.Entries), o.arg(c, list, v.Indent))
	}
	e.Set(list)
	o.repeat(e, list)
}

// arg is the item for one argument.
func (o *object) arg(c *edit.Entry, list *edit.Node, indent int) *edit.Entry {
	fields := edit.NewMap(list)
	item := edit.NewItem(fields)
	item.Line = c.Line
	name := edit.NewEntry("name", edit.NewLeaf(asText(strings.TrimRight(c.Key, " "))))
	value := edit.NewEntry("value", c.Value)
	if c.Value.Empty() {
		value = edit.NewEntry("value", edit.NewLeaf(`""`))
	}
	name.Line, value.Line = c.Line, c.Line
	if !list.Flow {
		value.Shift(fields.Indent - indent)
		item.Lead, item.Tail = c.Lead, c.Tail
		item.ShiftComments(list.Indent - indent)
	}
	value.Comment = c.Comment
	fields.Insert(0, name)
	fields.Insert(1, value)
	return item
}

// asText quotes a key that would not be a text as a value.
func asText(key string) string {
	if !edit.HasVariables(key) && edit.Scalar(key).Is(yamldoc.String) {
		return key
	}
	return `"` + key + `"`
}

// unversioned are the fields of object references that no reference has now.
var unversioned = []string{"namespace", "uid", "resourceVersion", "fieldPath"}

// reference keeps group, kind and name of an object reference.
func (o *object) reference(e *edit.Entry) {
	n := e.Value
	if !n.IsMap() {
		if !n.Empty() {
			o.manual(e, "an object reference now has apiGroup, kind and name", "write these fields")
		}
		return
	}
	o.trim(n, "the referenced object is in the namespace of this one")
	version := n.Get("apiVersion")
	if version == nil || version.Value.Kind != edit.Leaf {
		return
	}
	raw, masked := version.Value.Raw, version.Value.Masked()
	slash := strings.IndexByte(masked, '/')
	switch {
	case n.Get("apiGroup") != nil:
		o.manual(version, "the reference sets both apiVersion and apiGroup", "remove apiVersion")
		return
	case slash > 0:
		end := ""
		if q := raw[0]; q == '"' || q == '\'' {
			end = raw[:1]
		}
		o.file.release(raw[slash:])
		version.Value.SetRaw(raw[:slash] + end)
	case edit.HasVariables(raw):
		o.manual(version, fmt.Sprintf("apiGroup must be a group, but %s holds group and version", raw), "write the group")
	default: // the core group
		o.remove(version)
		return
	}
	version.Rename("apiGroup")
}

// trim removes fields of a reference that it has no more.
func (o *object) trim(n *edit.Node, why string) {
	row := o.row
	defer func() { o.row = row }()
	for _, name := range unversioned {
		if e := n.Get(name); e != nil {
			o.row = table.Row{Path: row.Path + "." + name, Why: why}
			o.drop(e)
		}
	}
}

// templateReference keeps apiVersion, kind and name, with the new version of a
// migrated kind.
func (o *object) templateReference(e *edit.Entry) {
	n := e.Value
	if !n.IsMap() {
		return
	}
	o.trim(n, "the referenced template is in the namespace of this object")
	if k := o.file.opts.Contract.Find(n.Text("apiVersion"), n.Text("kind")); k != nil {
		o.bump(n.Get("apiVersion"), k)
	}
}

// schemaFlags are the fields of a JSON schema in which false means "not set".
var schemaFlags = []string{"uniqueItems", "exclusiveMaximum", "exclusiveMinimum", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"}

// schema removes what means "not set" from a JSON schema.
func (o *object) schema(n *edit.Node) {
	if !n.IsMap() {
		return
	}
	for _, name := range schemaFlags {
		if e := n.Get(name); e != nil && e.Value.Raw == "false" && !o.partial {
			o.remove(e)
		}
	}
	for _, name := range []string{"items", "additionalProperties", "not"} {
		if e := n.Get(name); e != nil {
			o.schema(e.Value)
		}
	}
	for _, name := range []string{"properties", "allOf", "anyOf", "oneOf"} {
		if e := n.Get(name); e != nil && (e.Value.IsMap() || e.Value.IsList()) {
			for _, c := range e.Value.Entries {
				o.schema(c.Value)
			}
		}
	}
}
