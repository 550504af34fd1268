package migrate

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/coreapi"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/tree"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// unknown reports the fields that the old version does not have. They are kept:
// only their author knows what they were meant to be.
func (o *object) unknown() []Finding {
	version := o.root.Text("apiVersion")
	_, version, _ = strings.Cut(version, "/")
	s, ok := coreapi.Schema(o.kind.Group, o.kind.Kind, version)
	if !ok {
		return nil
	}
	var out []Finding
	var walk func(n *tree.Node, schema *yamldoc.Node, path []string)
	walk = func(n *tree.Node, schema *yamldoc.Node, path []string) {
		if schema == nil || schema.Get("x-kubernetes-preserve-unknown-fields").Bool() {
			return
		}
		switch {
		case n.IsList():
			for _, e := range n.Entries {
				walk(e.Value, schema.Get("items"), path)
			}
		case n.IsMap():
			properties := schema.Get("properties")
			if properties == nil {
				if more := schema.Get("additionalProperties"); more.Is(yamldoc.Map) {
					for _, e := range n.Entries {
						walk(e.Value, more, append(path, e.Name))
					}
				}
				return
			}
			for _, e := range n.Entries {
				here := append(path, e.Name)
				if f := properties.Field(e.Name); f != nil {
					walk(e.Value, f.Value, here)
					continue
				}
				if strings.HasPrefix(e.Name, "$") || e.Name == "<<" || len(path) == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, e.Name) {
					continue
				}
				out = append(out, Finding{
					Level: Manual, File: o.file.name, Line: e.Line, Object: o.name, Path: strings.Join(here, "."),
					Message: o.kind.Kind + " " + version + " has no field " + strings.Join(here, ".") + "; it was kept as it is",
					Help:    "remove it, or correct its name",
				})
			}
		}
	}
	walk(o.root, s.Node, nil)
	return out
}

// nested migrates manifests in block scalars of other objects, such as those in
// the data of a ConfigMap.
func (f *file) nested(n *tree.Node) {
	n.Walk(func(e *tree.Entry) bool {
		v := e.Value
		if v.Kind != tree.Leaf || !strings.HasPrefix(v.Raw, "|") || !old(v.Raw, f.opts.Contract) {
			return true
		}
		head, content, ok := strings.Cut(v.Raw, "\n")
		if !ok || strings.ContainsAny(head, "0123456789") {
			return true
		}
		text, indent := dedent(content)
		inner := &file{name: f.name, opts: f.opts, result: &Result{}, step: f.step, uses: f.uses}
		out := strings.Join(inner.documents(tree.Split(text+"\n"), e.Line), "")
		f.result.Findings = append(f.result.Findings, inner.result.Findings...)
		f.result.Migrated += inner.result.Migrated
		f.result.Left += inner.result.Left
		if now := strings.TrimSuffix(out, "\n"); now != text {
			v.SetRaw(head + "\n" + reindent(now, indent))
			e.Touch()
		}
		return true
	})
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
