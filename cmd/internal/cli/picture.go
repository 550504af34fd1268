package cli

import (
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/draw"
	"github.com/clusterctl-repo/clusterctl-repo/repo/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// most pictures of a release: that of the default template, and those of others
// in which something is left behind.
const mostPictures = 5

// pictures draws the owners in the templates of a repository.
func pictures(r *repo.Repository) []report.Picture {
	var out []report.Picture
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			out = append(out, picturesOf(release)...)
		}
	}
	return out
}

func picturesOf(r *repo.Release) []report.Picture {
	kindOf := r.Kinds()
	parsed := map[string]*manifest.File{}
	file := func(a *repo.Artifact) *manifest.File {
		if parsed[a.Name] == nil {
			data, err := a.Bytes()
			if err != nil {
				return nil
			}
			parsed[a.Name] = manifest.New(a, kindOf(a), data)
		}
		return parsed[a.Name]
	}
	types := map[[2]string]owners.Type{}
	if c := r.Components(); c != nil {
		if f := file(c); f != nil {
			for _, o := range f.Objects() {
				if d := crd.Of(o); d != nil {
					types[[2]string{d.Group, d.Kind}] = owners.TypeOf(d)
				}
			}
		}
	}
	known := func(group, kind string) (owners.Type, bool) {
		t, ok := types[[2]string{group, kind}]
		return t, ok
	}
	var out []report.Picture
	for _, a := range r.Artifacts {
		if kindOf(a) != layouts.ClusterTemplate || len(out) == mostPictures {
			continue
		}
		f := file(a)
		if f == nil || !f.Healthy() {
			continue
		}
		objects := f.Objects()
		for _, class := range owners.Classes(objects) {
			if c := r.Artifact(layouts.ClusterClassFile(class)); c != nil {
				if f := file(c); f != nil {
					objects = append(objects[:len(objects):len(objects)], f.Objects()...)
				}
			}
		}
		graph := owners.Template(objects, known)
		if a.Name == layouts.TemplateFile("") || graph.Leaves() {
			out = append(out, report.Picture{Title: fmt.Sprintf("%s %s: owners in %s", r.Provider.Label(), r.Version, a.Name), Graph: drawn(graph)})
		}
	}
	return out
}

// styles are the classes of nodes in a picture.
var styles = map[owners.Verdict]string{owners.Left: "bad", owners.Unclear: "warn", owners.Copied: "accent"}

// drawn makes a picture of a graph.
func drawn(g *owners.Graph) *draw.Graph {
	p := g.Picture()
	out := &draw.Graph{Title: "Owners, and what clusterctl move does with each object"}
	id := func(i int) string { return fmt.Sprint(i) }
	for i, n := range p.Nodes {
		out.Nodes = append(out.Nodes, draw.Node{ID: id(i), Label: n.Kind, Sublabel: n.Name, Tooltip: fmt.Sprintf("%s %s: %s", n.Kind, n.Name, n.Reason), Class: styles[n.Verdict]})
	}
	for _, e := range p.Edges {
		class := ""
		if e.Link != owners.Owner && e.Link != owners.SoftOwner {
			class = "weak"
		}
		out.Edges = append(out.Edges, draw.Edge{From: id(e.From), To: id(e.To), Label: e.Field, Class: class})
	}
	return out
}
