package inventory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Offers are what users choose from in a release: the flavors of its cluster templates, and
// its ClusterClasses.
type Offers struct {
	Flavors []Flavor
	Classes []Class
}

// Flavor is a cluster template.
type Flavor struct {
	// Name is empty for the default template.
	Name, File string
	// Classes are the names of the ClusterClasses that its Clusters use.
	Classes []string
	// Required are the variables that the user has to set for it, and Optional those
	// with a default; those of its ClusterClass files count.
	Required, Optional []string
}

// Class is a ClusterClass, in whatever file it is.
type Class struct {
	Name, File string
	Variables  []ClassVariable
}

// ClassVariable is a variable that a ClusterClass defines, for the topology of a Cluster.
type ClassVariable struct {
	Name, Type, Default, Meaning string
	Required                     bool
}

// OffersOf returns what a release offers. The variables are those of Variables. Files that
// cannot be read have nothing to offer; Variables names them.
func OffersOf(r *repo.Release, variables []Variable) *Offers {
	out := &Offers{}
	kindOf := r.Kinds()
	for _, a := range r.Artifacts {
		kind := kindOf(a)
		if kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
			continue
		}
		f, err := manifest.Read(a, kind)
		if err != nil {
			continue
		}
		for _, c := range clusterclass.In(f) {
			of := func(v clusterclass.Variable) ClassVariable { return classVariable(f, &v) }
			out.Classes = append(out.Classes, Class{f.Written(c.Name()), a.Name, phrase.List(c.Variables(), of)})
		}
		if kind != layouts.ClusterTemplate || f.Healthy() && len(f.Objects()) > 0 && !slices.ContainsFunc(f.Objects(), isCluster) {
			continue // it only brings classes
		}
		flavor := Flavor{File: a.Name}
		flavor.Name, _ = layouts.Flavor(a.Name)
		files := []string{a.Name}
		for _, o := range f.Objects() {
			class := clusterclass.Named(o)
			if isCluster(o) && class != "" && !slices.Contains(flavor.Classes, f.Written(class)) {
				flavor.Classes = append(flavor.Classes, f.Written(class))
				files = append(files, layouts.ClusterClassFile(class))
			}
		}
		for i := range variables {
			v := &variables[i]
			for _, in := range v.Files {
				switch {
				case !slices.Contains(files, in.File) || options[v.Name].always:
				case in.Default == nil && !slices.Contains(flavor.Required, v.Name):
					flavor.Required = append(flavor.Required, v.Name)
				case in.Default != nil && !slices.Contains(flavor.Optional, v.Name):
					flavor.Optional = append(flavor.Optional, v.Name)
				}
			}
		}
		flavor.Optional = slices.DeleteFunc(flavor.Optional, func(name string) bool { return slices.Contains(flavor.Required, name) })
		out.Flavors = append(out.Flavors, flavor)
	}
	slices.SortStableFunc(out.Flavors, func(a, b Flavor) int { return cmp.Compare(a.Name, b.Name) }) // the default first
	return out
}

func isCluster(o *manifest.Object) bool { return o.Is(clusterclass.Group, "Cluster") }

// classVariable describes a variable of a class, by its schema.
func classVariable(f *manifest.File, v *clusterclass.Variable) ClassVariable {
	schema := v.Schema.Node
	out := ClassVariable{Name: v.Name, Type: schema.Get("type").Str(), Required: v.Required, Meaning: sentence(schema.Get("description").Str())}
	if items := schema.Get("items", "type").Str(); items != "" {
		out.Type += " of " + items
	}
	if values := schema.Get("enum").List(); len(values) > 0 {
		out.Type += ": " + strings.Join(phrase.List(values, (*yamldoc.Node).Text), ", ")
	}
	if n := v.Default(); n != nil {
		value := n.Text()
		if n.Is(yamldoc.Map) || n.Is(yamldoc.List) {
			data, _ := json.Marshal(n.Value()) // which YAML is
			value = string(data)
		}
		out.Default = f.Written(value)
	}
	return out
}

// abbreviated ends a text whose next point does not end a sentence.
var abbreviated = phrase.Pattern(`\b(e\.g|i\.e|etc|vs)$`)

// sentence is the first sentence of a description, on one line.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for i := range text {
		if text[i] == '.' && (i+1 == len(text) || text[i+1] == ' ') && !abbreviated().MatchString(text[:i]) {
			return text[:i]
		}
	}
	return text
}
