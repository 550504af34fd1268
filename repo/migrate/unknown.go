package migrate

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// unknownField is one that neither version has.
type unknownField struct {
	entry         *edit.Entry
	path, version string
}

// unknown finds the fields that the old version does not have, nor the new one at
// the same place. They are kept: only their author knows what they were meant to be.
func (o *object) unknown() []unknownField {
	_, version, _ := strings.Cut(o.root.Text("apiVersion"), "/")
	old, ok := contract.CoreSchema(o.kind.Group, o.kind.Kind, version)
	if !ok {
		return nil
	}
	now, _ := contract.CoreSchema(o.kind.Group, o.kind.Kind, o.kind.To)
	var out []unknownField
	var walk func(n *edit.Node, schemas []*yamldoc.Node, path []string)
	walk = func(n *edit.Node, schemas []*yamldoc.Node, path []string) {
		below := func(of func(*yamldoc.Node) *yamldoc.Node) (next []*yamldoc.Node) {
			for _, s := range schemas {
				if s = of(s); s != nil {
					next = append(next, s)
				}
			}
			return next
		}
		if len(schemas) == 0 || slices.ContainsFunc(schemas, func(s *yamldoc.Node) bool { return s.Get("x-kubernetes-preserve-unknown-fields").Bool() }) {
			return
		}
		switch {
		case n.IsList():
			items := below(func(s *yamldoc.Node) *yamldoc.Node { return s.Get("items") })
			for _, e := range n.Entries {
				walk(e.Value, items, path)
			}
		case n.IsMap():
			known := below(func(s *yamldoc.Node) *yamldoc.Node { return s.Get("properties") })
			for _, e := range n.Entries {
				here := append(path[:len(path):len(path)], e.Name)
				next := below(func(s *yamldoc.Node) *yamldoc.Node {
					if f := s.Get("properties").Field(e.Name); f != nil {
						return f.Value
					}
					if more := s.Get("additionalProperties"); more.Is(yamldoc.Map) {
						return more
					}
					return nil
				})
				if len(next) > 0 {
					walk(e.Value, next, here)
					continue
				}
				if len(known) == 0 || strings.HasPrefix(e.Name, "$") || e.Name == "<<" ||
					len(path) == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, e.Name) {
					continue
				}
				out = append(out, unknownField{e, strings.Join(here, "."), version})
			}
		}
	}
	schemas := []*yamldoc.Node{old.Node}
	if now.Node != nil {
		schemas = append(schemas, now.Node)
	}
	walk(o.root, schemas, nil)
	return out
}

// nested migrates manifests in block scalars of other objects, such as those in
// the data of a ConfigMap.
func (f *file) nested(n *edit.Node) {
	n.Walk(func(e *edit.Entry) bool {
		v := e.Value
		head, text, indent, ok := literal(v.Raw)
		if v.Kind != edit.Leaf || !ok || !old(v.Raw, f.opts.Contract) {
			return true
		}
		inner := &file{name: f.name, opts: f.opts, result: &Result{}, step: f.step, uses: f.uses, converted: f.converted, shared: f.shared}
		out := strings.Join(inner.documents(edit.Split(text+"\n"), e.Line), "")
		f.result.Findings = append(f.result.Findings, inner.result.Findings...)
		f.result.Migrated += inner.result.Migrated
		f.result.Left += inner.result.Left
		if now := strings.TrimSuffix(out, "\n"); now != text {
			v.SetRaw(head + "\n" + reindent(now, indent))
		}
		return true
	})
}

// literal takes a literal block apart: its header, and its text without indentation.
func literal(raw string) (head, text string, indent int, ok bool) {
	head, content, ok := strings.Cut(raw, "\n")
	if !ok || head == "" || head[0] != '|' || strings.ContainsAny(head, "0123456789") {
		return "", "", 0, false
	}
	text, indent = dedent(content)
	return head, text, indent, true
}

// dedent takes the common indentation off the lines of a block scalar.
func dedent(content string) (text string, indent int) {
	lines := strings.Split(content, "\n")
	indent = -1
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if n := len(line) - len(strings.TrimLeft(line, " ")); indent < 0 || n < indent {
			indent = n
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(indent, 0), len(line)):]
	}
	return strings.Join(lines, "\n"), max(indent, 0)
}

func reindent(text string, indent int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[i] = strings.Repeat(" ", indent) + line
		}
	}
	return strings.Join(lines, "\n")
}
