package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// rounds are how often values are made up.
const rounds = 3

// CompareEffects returns a finding for each class whose patches have a different effect than
// before: for a Cluster with the defaults, with values for all variables, and for
// each Cluster in the files. Templates and Clusters are looked for in the folder of
// the class. What cannot be computed, or not be migrated, is skipped; the
// migration has reported it.
func CompareEffects(ctx context.Context, files []*File, c *table.Contract) []Finding {
	folders := map[string]*folder{}
	var order []string
	for _, f := range files {
		dir := path.Dir(f.Name)
		if folders[dir] == nil {
			folders[dir] = &folder{}
			order = append(order, dir)
		}
		folders[dir].files = append(folders[dir].files, f)
	}
	var out []Finding
	for _, dir := range order {
		in := folders[dir]
		for _, f := range in.files {
			if ctx.Err() != nil {
				return out
			}
			if bytes.Contains(f.Old, []byte("jsonPatches")) && f.Changed(f.Old) {
				out = append(out, in.file(f, c)...)
			}
		}
	}
	return out
}

// folder has files that belong together.
type folder struct {
	files []*File
	// before and after are the objects of the files; nil until they are read.
	before, after map[*File][]*manifest.Object
}

func objects(name string, data []byte) []*manifest.Object {
	return manifest.New(repo.BytesArtifact(name, data), layouts.ClusterClass, data).Objects()
}

func (d *folder) objects() {
	if d.before != nil {
		return
	}
	d.before, d.after = map[*File][]*manifest.Object{}, map[*File][]*manifest.Object{}
	for _, f := range d.files {
		if bytes.Contains(f.Old, []byte("cluster.x-k8s.io")) {
			d.before[f], d.after[f] = objects(f.Name, f.Old), objects(f.Name, f.New)
		}
	}
}

// around are the objects of a folder, those of one file last: they come first in
// that file's class.
func around(all map[*File][]*manifest.Object, files []*File, f *File) []*manifest.Object {
	var out []*manifest.Object
	for _, other := range files {
		if other != f {
			out = append(out, all[other]...)
		}
	}
	return append(out, all[f]...)
}

// file compares the classes of a file.
func (d *folder) file(f *File, c *table.Contract) []Finding {
	d.objects()
	before, after := around(d.before, d.files, f), around(d.after, d.files, f)
	var out []Finding
	for _, o := range d.before[f] {
		old := clusterclass.Of(o)
		if old == nil || len(old.Patches()) == 0 || len(old.References()) < 2 {
			continue
		}
		i := slices.IndexFunc(d.after[f], func(n *manifest.Object) bool {
			return n.Kind == o.Kind && n.Name == o.Name && n.Version != o.Version
		})
		if i < 0 {
			continue
		}
		p := pair{contract: c, old: old, now: clusterclass.Of(d.after[f][i])}
		p.before, p.after = extension.TopologyOf(p.old, before), extension.TopologyOf(p.now, after)
		if problem := p.compare(clusters(before, o.Name), clusters(after, o.Name)); problem != "" {
			out = append(out, Finding{
				Level: Manual, File: f.Name, Line: max(1, o.Doc.Pos(o.Get("kind")).Line), Object: "ClusterClass " + o.Name,
				Message: "the patches have a different effect than before: " + problem,
				Help:    "compare the patches of the kind by hand",
			})
		}
	}
	return out
}

// clusters are those of a class.
func clusters(all []*manifest.Object, class string) []*manifest.Object {
	var out []*manifest.Object
	for _, o := range all {
		topology := o.Get("spec", "topology")
		if o.Is(clusterclass.Group, "Cluster") && class != "" &&
			(topology.Get("classRef", "name").Str() == class || topology.Get("class").Str() == class) {
			out = append(out, o)
		}
	}
	return out
}

// pair is a class before and after.
type pair struct {
	contract      *table.Contract
	old, now      *clusterclass.Class
	before, after *extension.Topology
}

// compare tries several Clusters and returns the first difference.
func (p *pair) compare(before, after []*manifest.Object) string {
	var optional []string
	for _, v := range p.old.Variables() {
		if v.Name != "" && !v.Required && v.Default() == nil {
			optional = append(optional, v.Name)
		}
	}
	if problem := p.run(p.before, p.after, extension.Samples{}); problem != "" {
		return problem
	}
	for round := range rounds {
		if problem := p.run(p.before, p.after, extension.Samples{Also: optional, Round: round}); problem != "" {
			return problem
		}
	}
	for i := range min(len(before), len(after)) {
		if problem := p.run(p.before.With(before[i]), p.after.With(after[i]), extension.Samples{}); problem != "" {
			return problem + ", for the Cluster of " + path.Base(before[i].File.Artifact.Name)
		}
	}
	return ""
}

// run compares the templates of one Cluster.
func (p *pair) run(before, after *extension.Topology, s extension.Samples) string {
	old, oldFails := templates(p.old, before, s)
	now, nowFails := templates(p.now, after, s)
	for i := range min(len(old), len(now)) {
		a, b := old[i], now[i]
		if err := nowFails[b]; err != nil && oldFails[a] == nil && !a.Unsure {
			return fmt.Sprintf("a patch of %s fails: %v", b.Kind, err)
		}
		if a.Unsure || b.Unsure {
			continue
		}
		want, ok := p.migrated(a)
		if !ok {
			continue
		}
		var got any
		if json.Unmarshal(b.Object, &got) != nil {
			continue
		}
		if at := difference(p.normal(b.Kind, want), p.normal(b.Kind, got), ""); at != "" {
			return b.Kind + at
		}
	}
	return ""
}

// templates are those of a Cluster after the patches, and why some failed.
func templates(class *clusterclass.Class, t *extension.Topology, s extension.Samples) ([]*patch.Template, map[*patch.Template]error) {
	m := extension.Maker{Topology: t, Core: contract.NewestCore}
	global, _, list := m.Templates(s)
	failed := map[*patch.Template]error{}
	for _, f := range patch.Run(class, global, list, contract.NewestCore) {
		failed[f.Template] = f.Err
	}
	return list, failed
}

// migrated is a patched template in the new contract; ok is false if something of
// it is left to a person.
func (p *pair) migrated(t *patch.Template) (value any, ok bool) {
	var object any
	if json.Unmarshal(t.Object, &object) != nil {
		return nil, false
	}
	text, err := yamldoc.Marshal(object)
	if err != nil {
		return nil, false
	}
	r := Text(t.Kind, text, Options{Contract: p.contract})
	if r.Left > 0 || slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level != Note }) {
		return nil, false
	}
	docs := yamldoc.Parse(yamldoc.NewFile(t.Kind, r.New)).Docs
	if len(docs) != 1 || docs[0].Err != nil {
		return nil, false
	}
	return docs[0].Root.Value(), true
}

// normal drops what means nothing: empty values, defaults that the tables write,
// and the order of arguments.
func (p *pair) normal(kind string, value any) any {
	for i := range p.contract.Kinds {
		for _, row := range p.contract.Kinds[i].Rows {
			if row.Default != "" && p.contract.Kinds[i].Kind == kind {
				forget(value, strings.Split(row.To, "."), row.Default)
			}
		}
	}
	return tidy(value)
}

// forget drops a field that has its default.
func forget(value any, at []string, text string) {
	m, ok := value.(map[string]any)
	switch {
	case !ok:
	case len(at) > 1:
		forget(m[at[0]], at[1:], text)
	case m[at[0]] == text:
		delete(m, at[0])
	}
}

func tidy(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if v[name] = tidy(v[name]); v[name] == nil {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = tidy(v[i])
		}
		if len(v) == 0 {
			return nil
		}
		if name(v[0]) != "" {
			slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(name(a), name(b)) })
		}
	}
	return value
}

// name is that of an argument, which has nothing but a name and a value.
func name(v any) string {
	m, _ := v.(map[string]any)
	text, _ := m["name"].(string)
	if _, ok := m["value"]; len(m) > 2 || len(m) == 2 && !ok {
		return ""
	}
	return text
}

// difference is the first path at which two values differ, with what is there.
func difference(want, got any, at string) string {
	a, isMap := want.(map[string]any)
	b, bothMaps := got.(map[string]any)
	if isMap && bothMaps {
		both := maps.Clone(a)
		maps.Copy(both, b)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			if d := difference(a[name], b[name], at+"."+name); d != "" {
				return d
			}
		}
		return ""
	}
	c, isList := want.([]any)
	d, bothLists := got.([]any)
	if isList && bothLists && len(c) == len(d) {
		for i := range c {
			if text := difference(c[i], d[i], fmt.Sprintf("%s[%d]", at, i)); text != "" {
				return text
			}
		}
		return ""
	}
	was, _ := json.Marshal(want)
	is, _ := json.Marshal(got)
	if bytes.Equal(was, is) {
		return ""
	}
	return fmt.Sprintf("%s is %s instead of %s", at, short(is), short(was))
}

// short is a value as far as it fits a line.
func short(data []byte) string {
	if text := []rune(string(data)); len(text) > 80 {
		return string(text[:80]) + "…"
	}
	return string(data)
}
