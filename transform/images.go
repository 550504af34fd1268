package transform

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// image is a container image taken apart.
type image struct {
	name, tag, digest string
}

func splitImage(s string) (i image) {
	i.name, i.tag, i.digest = imageref.Split(s)
	return i
}

func (i image) String() string {
	s := i.name
	if i.tag != "" {
		s += ":" + i.tag
	}
	if i.digest != "" {
		s += "@" + i.digest
	}
	return s
}

// apply returns i as the configuration wants it: what is not said stays, and a
// new tag or digest drops the other one.
func (i image) apply(set config.Image) image {
	if set.NewName != "" {
		i.name = set.NewName
	}
	switch {
	case set.Digest != "":
		i.tag, i.digest = "", set.Digest
		if set.NewTag != "" {
			i.tag = set.NewTag
		}
	case set.NewTag != "":
		i.tag, i.digest = set.NewTag, ""
	}
	return i
}

// placed identifies a place of an image setting by their indices.
type placed struct{ image, place int }

// setImages sets images by their old name in containers and init containers,
// and in the places that the configuration lists. It returns the indices of
// the settings that matched nothing, and the places that were found. Images whose
// tag or digest was chosen are added to meant.
func setImages(objs []object, settings []config.Image, meant map[string]bool) (unused []int, found map[placed]bool) {
	found = map[placed]bool{}
	for n, set := range settings {
		now := image{}
		for _, o := range objs {
			for _, c := range o.containers() {
				ref, _ := c["image"].(string)
				old := splitImage(ref)
				if ref == "" || old.name != set.Name {
					continue
				}
				now = old.apply(set)
				c["image"] = now.String()
				o.follow(ref, now.String())
				if set.Keep || set.NewTag != "" || set.Digest != "" {
					meant[now.String()] = true
				}
				if set.PullPolicy != "" {
					c["imagePullPolicy"] = set.PullPolicy
				}
			}
		}
		if now == (image{}) {
			// The image may stand in a variable or secret only.
			now = image{name: set.Name}.apply(set)
			if len(set.Places) == 0 {
				unused = append(unused, n)
			}
		}
		for i, place := range set.Places {
			value := cmp.Or(place.Value, "{image}")
			value = strings.NewReplacer("{image}", now.String(), "{tag}", now.tag).Replace(value)
			for _, o := range objs {
				if o.kind() == place.Kind && (place.Name == "" || o.name() == place.Name) && setPlace(o, place, value) > 0 {
					found[placed{n, i}] = true
				}
			}
		}
	}
	return unused, found
}

// follow gives the new image to the environment variables that hold the old one, as
// replacements of kustomize copy it there.
func (o object) follow(old, image string) {
	if !strings.ContainsAny(old, ":@") {
		return // another name may be the same word
	}
	for _, c := range o.containers() {
		for _, env := range list(c["env"]) {
			if env["value"] == old {
				env["value"] = image
			}
		}
	}
}

func describe(p config.Place) string {
	object, what := p.Kind, "key "+p.Key
	if p.Name != "" {
		object += " " + p.Name
	}
	if p.Env != "" {
		what = "environment variable " + p.Env
	}
	return fmt.Sprintf("%s with the %s", object, what)
}

// setPlace writes value where place says and returns how often.
func setPlace(o object, place config.Place, value string) (n int) {
	if place.Env != "" {
		for _, c := range o.containers() {
			for _, env := range list(c["env"]) {
				if env["name"] == place.Env {
					env["value"] = value
					delete(env, "valueFrom") // Kubernetes refuses both
					n++
				}
			}
		}
		return n
	}
	for _, field := range []string{"data", "stringData"} {
		m, _ := o[field].(map[string]any)
		if _, ok := m[place.Key]; !ok {
			continue
		}
		m[place.Key] = value
		if o.kind() == "Secret" && field == "data" {
			m[place.Key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
		n++
	}
	return n
}

// unsetImage is the image of a provider's controller that was not chosen for the
// release: neither the configuration nor an option sets its tag, and its tag is not
// the version.
type unsetImage struct {
	// Label is the provider, Name the image without its tag.
	Label, Name, Image string
	Version            string
	// Object and Container run it.
	Object, Container string
}

// manager is the container in which clusterctl expects the controller (contract:
// "Components YAML").
const manager = "manager"

// sidecar are the images that run next to controllers of others.
var sidecar = phrase.Pattern(`(^|/)(kube-rbac-proxy|cloud-sql-proxy|envoy|istio-proxy|proxyv2|oauth2-proxy)$`)

// ownControllers calls a function for the containers that run the provider's own
// controllers: those called manager in Deployments, or else, if there is a single
// Deployment, those in it that are no sidecars. What else runs is another project's.
func ownControllers(objs []object, each func(o object, name, ref string)) {
	found := false
	var deployments []object
	visit := func(o object, own func(name string, i image) bool) {
		for _, c := range list(lookup(map[string]any(o), "spec", "template", "spec", "containers")) {
			ref, _ := c["image"].(string)
			name, _ := c["name"].(string)
			if ref != "" && own(name, splitImage(ref)) {
				found = true
				each(o, name, ref)
			}
		}
	}
	for _, o := range objs {
		if o.kind() == "Deployment" {
			deployments = append(deployments, o)
			visit(o, func(name string, _ image) bool { return name == manager })
		}
	}
	if !found && len(deployments) == 1 {
		visit(deployments[0], func(_ string, i image) bool { return !sidecar().MatchString(i.name) })
	}
}

// judgeImages notes the images of the controllers that were not chosen, each once.
func (p *building) judgeImages(objs []object, meant map[string]bool) {
	version, label := p.plan.Version, p.plan.Label()
	ownControllers(objs, func(o object, name, ref string) {
		i := splitImage(ref)
		if meant[ref] || version.Tags(i.tag) || strings.Contains(ref, "${") {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if !slices.ContainsFunc(p.unset, func(other unsetImage) bool { return other.Label == label && other.Image == ref }) {
			p.unset = append(p.unset, unsetImage{label, i.name, ref, version.String(), o.String(), name})
		}
	})
}
