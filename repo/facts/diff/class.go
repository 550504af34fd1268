package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// class compares what a ClusterClass asks of its clusters.
func (c *comparison) class(a, b *clusterclass.Class) {
	subject := "ClusterClass " + b.Name()
	pairs(a.Variables(), b.Variables(), func(v clusterclass.Variable) string { return v.Name }, func(name string, x, y *clusterclass.Variable) {
		change := Change{Area: InClasses, Subject: subject, Path: "variable " + name}
		switch {
		case x == nil && y.Required && y.Default() == nil:
			c.at(b.Object, y.Node, change.is(Added, Breaking, needsValue,
				"%s has a new variable %s that is required", subject, name))
		case x == nil:
			c.at(b.Object, y.Node, change.is(Added, Neutral, "", "%s has a new variable %s", subject, name))
		case y == nil:
			c.at(a.Object, x.Node, change.is(Removed, Breaking, "clusters that set the variable are refused; remove it from them first", "%s loses the variable %s", subject, name))
		default:
			if !x.Required && y.Required && y.Default() == nil {
				c.at(b.Object, y.Node, change.is(Changed, Breaking, needsValue, "%s requires the variable %s", subject, name))
			}
			for _, s := range compareSchemas(x.Schema.Node, y.Schema.Node, "") {
				row, o := change, b.Object
				row.Old, row.New, row.Path = s.old, s.new, strings.TrimSuffix(change.Path+" "+s.path, " .")
				advice := strings.Replace(s.advice, "the API server refuses values", "Cluster API refuses values", 1)
				if s.inOld {
					o = a.Object
				}
				c.at(o, s.node, row.is(s.kind, s.impact, advice, "%s %s: %s", subject, row.Path, s.message))
			}
		}
	})
	pairs(a.Workers(), b.Workers(), func(w clusterclass.Worker) string { return w.Class }, func(name string, x, y *clusterclass.Worker) {
		change := Change{Area: InClasses, Subject: subject, Path: "workers " + name}
		switch {
		case x == nil:
			c.at(b.Object, y.Node, change.is(Added, Neutral, "", "%s has new workers %s", subject, name))
		case y == nil:
			c.at(a.Object, x.Node, change.is(Removed, Breaking,
				"the class cannot change while clusters use these workers", "%s loses the workers %s", subject, name))
		}
	})
}

// What happens to the clusters of a class that is applied over the old one.
const (
	needsValue = "clusters of this class need a value before anything else in them can change"

	rollsOut = "once the class is applied, Cluster API replaces the machines of its clusters whose templates change; clusterctl alpha topology plan shows which"
	inPlace  = "once the class is applied, Cluster API changes its clusters"
)

// classContent compares what Cluster API makes of a ClusterClass: its patches and
// templates. Both have the same API version.
func (c *comparison) classContent(before, b *clusterclass.Class) {
	subject := "ClusterClass " + b.Name()
	var names [2][]string
	pairs(before.Patches(), b.Patches(), func(p clusterclass.Patch) string { return p.Name }, func(name string, x, y *clusterclass.Patch) {
		row := Change{Area: InClasses, Subject: subject, Path: "patch " + name, Impact: Attention}
		switch {
		case x == nil:
			where, rolls := targets(*y)
			c.at(b.Object, y.Node, row.is(Added, Attention, effect(rolls), "%s has a new patch %s of %s", subject, name, where))
		case y == nil:
			where, rolls := targets(*x)
			c.at(before.Object, x.Node, row.is(Removed, Attention, effect(rolls),
				"%s loses the patch %s of %s", subject, name, where))
		default:
			names[0] = append(names[0], name)
			c.fields(b, x.Node, y.Node, row, func(string) bool {
				_, before := targets(*x)
				_, now := targets(*y)
				return before || now
			})
		}
	})
	// The order of those that stay: pairs visits them as the old class has them.
	for _, p := range b.Patches() {
		if slices.Contains(names[0], p.Name) {
			names[1] = append(names[1], p.Name)
		}
	}
	if !slices.Equal(names[0], names[1]) {
		c.at(b.Object, b.Spec.Get("patches"), Change{
			Area: InClasses, Kind: Changed, Impact: Attention, Subject: subject, Path: "patches", Advice: rollsOut,
			Old: strings.Join(names[0], ", "), New: strings.Join(names[1], ", "), Message: subject + " applies its patches in another order",
		})
	}
	pairs(before.Workers(), b.Workers(), func(w clusterclass.Worker) string { return w.Class }, func(name string, x, y *clusterclass.Worker) {
		if x != nil && y != nil {
			c.fields(b, x.Node, y.Node, Change{Area: InClasses, Impact: Attention, Subject: subject, Path: "workers " + name}, refers)
		}
	})
	for _, f := range specFields(before, b) {
		rolls := refers
		if f == "infrastructure" {
			rolls = func(string) bool { return false }
		}
		c.fields(b, before.Spec.Get(f), b.Spec.Get(f), Change{Area: InClasses, Impact: Attention, Subject: subject, Path: f}, rolls)
	}
}

// specFields are the fields of two classes that are compared as a whole.
func specFields(a, b *clusterclass.Class) []string {
	all := slices.Concat(a.Spec.Fields(), b.Spec.Fields())
	names := phrase.Distinct(phrase.List(all, func(f yamldoc.Field) string { return f.Name }))
	return phrase.Only(names, func(name string) bool {
		return !slices.Contains([]string{"patches", "workers", "variables"}, name)
	})
}

// fields adds a row for a part of a class, if it changes: a neutral one if the
// changes are versions of APIs only.
func (c *comparison) fields(b *clusterclass.Class, x, y *yamldoc.Node, row Change, rolls func(path string) bool) {
	var paths []string
	var from, to *yamldoc.Node
	versions, machines := true, false
	walk(x, y, "", inOrder, func(path string, m, n *yamldoc.Node) {
		version := path == "apiVersion" || strings.HasSuffix(path, ".apiVersion")
		if len(paths) == 0 || versions && !version { // the first that says most
			from, to = m, n
			paths = slices.Insert(paths, 0, path)
		} else {
			paths = append(paths, path)
		}
		versions, machines = versions && version, machines || rolls(path)
	})
	if len(paths) == 0 {
		return
	}
	row.Kind, row.Old, row.New, row.Advice = Changed, show(from), show(to), effect(machines)
	switch {
	case x == nil:
		row.Kind, row.Message = Added, fmt.Sprintf("%s has a new field %s", row.Subject, row.Path)
	case y == nil:
		row.Kind, row.Message = Removed, fmt.Sprintf("%s loses the field %s", row.Subject, row.Path)
	case paths[0] == "":
		row.Message = fmt.Sprintf("%s: %s changes", row.Subject, row.Path)
	default:
		row.Message = fmt.Sprintf("%s: %s changes in %s", row.Subject, row.Path, paths[0])
		row.Path += " " + paths[0]
	}
	if n := len(paths) - 1; n > 0 {
		row.Message += fmt.Sprintf(" and %d more", n)
	}
	if versions {
		row.Impact, row.Advice = Neutral, ""
	}
	c.at(b.Object, cmp.Or(to, y), row)
}

// refers reports whether a path is in a reference to a template.
func refers(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "."), func(part string) bool { return part == "ref" || part == "templateRef" })
}

func effect(machines bool) string {
	if machines {
		return rollsOut
	}
	return inPlace
}

// targets says which templates a patch changes, and whether machines are made of
// them.
func targets(p clusterclass.Patch) (where string, machines bool) {
	var out []string
	add := func(what string) {
		if !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	for _, d := range p.Definitions.List() {
		match := d.Get("selector", "matchResources")
		if match.Get("infrastructureCluster").Bool() {
			add("the infrastructure cluster")
		}
		if match.Get("controlPlane").Bool() {
			machines = true
			add("the control plane")
		}
		for _, class := range []string{"machineDeploymentClass", "machinePoolClass"} {
			for _, name := range strs(match.Get(class, "names")) {
				machines = true
				add("workers " + name)
			}
		}
	}
	if p.External != nil {
		machines = true
		add("what its extension chooses")
	}
	if len(out) == 0 {
		return "nothing", false
	}
	return strings.Join(out, ", "), machines
}
