package inventory

import (
	"context"
	"errors"
	"strings"

	// Digests are only recognized if their algorithm is linked in.
	_ "crypto/sha256"
	_ "crypto/sha512"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Image is the image of one container, or one that References has found.
type Image struct {
	Ref              string `json:"ref" doc:"the image after substitution of defaults; the raw text if variable is set"`
	Variable         string `json:"variable,omitempty" doc:"the first variable in the image without a default; absent if the image is known"`
	Expression       string `json:"expression,omitempty" doc:"the raw text if defaults of variables were substituted; absent if not"`
	Canonical        bool   `json:"canonical" doc:"the image is written in full, with registry and tag or digest, as clusterctl demands"`
	Repository       string `json:"repository,omitempty" doc:"the registry and the path before the name, such as docker.io/library; absent if variable is set or it is not an image name"`
	Name             string `json:"name,omitempty" doc:"the name without repository, tag and digest; absent like repository"`
	Tag              string `json:"tag,omitempty" doc:"the tag; absent if there is none"`
	Digest           string `json:"digest,omitempty" doc:"the digest, such as sha256:…; absent if there is none"`
	Container        string `json:"container" doc:"the name of the container"`
	Field            string `json:"field" doc:"the list that the container is in, such as initContainers; with guess, where the image name was found"`
	Object           string `json:"object" doc:"the workload, as KIND NAMESPACE/NAME"`
	SeenByClusterctl bool   `json:"seenByClusterctl" doc:"clusterctl lists, checks and overrides the image"`
	Guess            bool   `json:"guess,omitempty" doc:"no container runs the image: a flag, a variable or a line of text names it; absent if one does"`
	File             string `json:"file" doc:"the name of the file in the release"`
	Line             int    `json:"line" doc:"the line, from 1"`
	Column           int    `json:"column" doc:"the column in Unicode characters, from 1"`
}

// podTemplate says where the pod is in an object of a kind that has one. Like
// clusterctl it goes by the kind alone.
func podTemplate(kind string) (path []string, ok bool) {
	if kind == "PodTemplate" { // which runs none
		return []string{"template"}, true
	}
	path, ok = manifest.PodTemplates[kind]
	return path, ok
}

var containers = []struct {
	field string
	seen  bool
}{
	{"containers", true},
	{"initContainers", true},
	{"ephemeralContainers", false},
}

// Images returns the images of all pods in the components, the cluster
// templates and the ClusterClasses, in the order of files and text. Pods that
// are text inside other objects, such as static pods in cloud-init, are not
// found. What cannot be read is named by the error, and the rest returned with
// it.
func Images(ctx context.Context, r *repo.Release) ([]Image, error) {
	return images(ctx, r, nil, (*source).images)
}

// Images is the function Images, which does not read these files again.
func (p Parsed) Images(ctx context.Context, r *repo.Release) ([]Image, error) {
	return images(ctx, r, p, (*source).images)
}

// images collects what find appends for each document.
func images(ctx context.Context, r *repo.Release, p Parsed, find func(*source, []Image, *yamldoc.Document, *yamldoc.Node, bool) []Image) ([]Image, error) {
	look := func(s *source, d *yamldoc.Document) *seen { return &seen{images: find(s, nil, d, d.Root, true)} }
	sources, err := load(ctx, r, p, look)
	if ctx.Err() != nil {
		return nil, err
	}
	var images []Image
	failures := []error{err}
	for _, s := range sources {
		failures = append(failures, s.err)
		if s.docs.Err != nil {
			failures = append(failures, s.docs.Err)
		}
		for _, d := range s.docs.Docs {
			if d.Err != nil {
				failures = append(failures, d.Err)
				continue
			}
			images = append(images, s.in(d).images...)
		}
	}
	return images, errors.Join(failures...)
}

// images appends the images of an object, or of the objects in a list, which
// clusterctl does not open.
func (s *source) images(images []Image, d *yamldoc.Document, object *yamldoc.Node, top bool) []Image {
	eachContainer(object, top, func(object, c *yamldoc.Node, field string, seen bool) {
		n := c.Get("image")
		if n == nil || n.Kind == yamldoc.Map || n.Kind == yamldoc.List {
			return
		}
		img := s.image(d, n)
		img.Container, img.Field = s.show(d, c.Get("name")), field
		img.Object = s.object(d, object)
		img.SeenByClusterctl = seen && s.kind == layouts.Components
		images = append(images, img)
	})
	return images
}

// eachContainer visits the containers of an object, or of the objects in a list, with the
// field that they are in and whether clusterctl sees them in components.
func eachContainer(object *yamldoc.Node, top bool, visit func(object, container *yamldoc.Node, field string, seen bool)) {
	kind := object.Get("kind").Str()
	if strings.HasSuffix(kind, "List") {
		for _, item := range object.Get("items").List() {
			eachContainer(item, false, visit)
		}
		return
	}
	path, ok := podTemplate(kind)
	if !ok {
		return
	}
	pod := object.Get(path...).Get("spec")
	top = top && (kind == "Deployment" || kind == "DaemonSet")
	for _, f := range containers {
		for _, c := range pod.Get(f.field).List() {
			visit(object, c, f.field, top && f.seen)
		}
	}
}

// object names an object by its kind, namespace and name.
func (s *source) object(d *yamldoc.Document, object *yamldoc.Node) string {
	name := s.show(d, object.Get("metadata", "name"))
	if ns := s.show(d, object.Get("metadata", "namespace")); ns != "" {
		name = ns + "/" + name
	}
	return strings.TrimSpace(object.Get("kind").Str() + " " + name)
}

func (s *source) image(d *yamldoc.Document, n *yamldoc.Node) Image {
	p := d.Pos(n)
	img := Image{Ref: s.show(d, n), File: s.name, Line: p.Line, Column: p.Column}
	if name, open := s.open(d, n); open {
		img.Variable = name
		return img
	}
	if len(s.within(s.span(d, n))) > 0 {
		img.Expression = s.written(d, n)
	}
	img.parse()
	return img
}

// Named returns an image that only has a name.
func Named(ref string) Image {
	img := Image{Ref: ref, Guess: true}
	img.parse()
	return img
}

// parse takes the reference apart.
func (img *Image) parse() {
	named, err := imageref.Parse(img.Ref)
	if err != nil {
		return
	}
	img.Canonical = named.String() == img.Ref
	img.Repository, img.Name = named.Domain, named.Path
	if i := strings.LastIndexByte(img.Name, '/'); i >= 0 {
		img.Repository, img.Name = img.Repository+"/"+img.Name[:i], img.Name[i+1:]
	}
	img.Tag, img.Digest = named.Tag, named.Digest
}
