package kustomize

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// notFound are the messages of kustomize about a patch without a target, and
// about two objects that are the same. Both name an object as
// Kind.version.group/name.namespace (kustomize: kyaml/resid, ResId.String).
var notFound = []func() *regexp.Regexp{
	phrase.Pattern(`no matches for Id ([^;\s]+)`),
	phrase.Pattern(`no resource matches strategic merge patch "([^"]+)"`),
	phrase.Pattern(`already registered id: ([^;\s]+)`),
}

// failedOperation is the message about one of a JSON patch that does not apply.
var failedOperation = phrase.Pattern(`\b(add|remove|replace|move|copy|test)(?:ing)? (?:operation does not apply:|for path:|value |path ).*?(/[^\s"':;]+)`)

// blamed finds the document that a message of kustomize is about: the last one of
// that kind and name, and among patches the one with that namespace; of a JSON patch, the only
// operation on that path. It is nil if there is none.
func (s *scan) blamed(err error) *yamldoc.Error {
	if m := failedOperation().FindStringSubmatch(err.Error()); m != nil {
		var all []*yamldoc.Error
		s.documents(func(d *yamldoc.Document) {
			for _, n := range d.Root.List() {
				if n.Get("op").Str() == m[1] && n.Get("path").Str() == m[2] {
					all = append(all, &yamldoc.Error{File: d.File.Name, Pos: d.Pos(n.Get("path"))})
				}
			}
		})
		if len(all) == 1 {
			return all[0]
		}
	}
	for _, re := range notFound {
		m := re().FindStringSubmatch(err.Error())
		if m == nil {
			continue
		}
		kind, rest, ok := strings.Cut(m[1], "/")
		if !ok {
			continue
		}
		kind, _, _ = strings.Cut(kind, ".")
		name, namespace := rest, ""
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			name, namespace = rest[:i], rest[i+1:]
		}
		if strings.HasPrefix(namespace, "[no") {
			namespace = "" // noNs or noGrp
		}
		if found := s.object(kind, name, &namespace); found != nil {
			return found
		}
	}
	if strings.Contains(err.Error(), "ID conflict") {
		if _, all := inWords(err.Error()); len(all) > 0 {
			last := all[len(all)-1]
			return s.object(last.Kind, last.before(), nil)
		}
	}
	return nil
}

// object finds the last document of a kind and name, in a namespace unless that is nil.
func (s *scan) object(kind, name string, namespace *string) (found *yamldoc.Error) {
	s.documents(func(d *yamldoc.Document) {
		n := d.Root.Get("metadata", "name")
		if d.Root.Get("kind").Str() != kind || n.Str() != name {
			return
		}
		if namespace != nil {
			if ns := d.Root.Get("metadata", "namespace"); ns.Str() != *namespace {
				return
			} else if *namespace != "" {
				n = ns
			}
		}
		found = &yamldoc.Error{File: d.File.Name, Pos: d.Pos(n)}
	})
	return found
}

// printed is an object that kustomize prints as JSON.
type printed struct {
	Kind     string
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
}

// before is the name that the object had in its file.
func (p *printed) before() string {
	first, _, _ := strings.Cut(p.Metadata.Annotations["internal.config.kubernetes.io/previousNames"], ",")
	return cmp.Or(first, p.Metadata.Name)
}

// inWords names the objects in a message that kustomize prints as JSON, with its own
// annotations.
func inWords(text string) (string, []printed) {
	var out strings.Builder
	var all []printed
	for {
		i := strings.Index(text, `{"`)
		if i < 0 {
			out.WriteString(text)
			return out.String(), all
		}
		out.WriteString(text[:i])
		text = text[i:]
		var p printed
		d := json.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&p); err != nil || p.Kind == "" {
			out.WriteString(text[:1])
			text = text[1:]
			continue
		}
		out.WriteString(p.Kind + " " + p.before())
		if p.before() != p.Metadata.Name {
			out.WriteString(" (now " + p.Metadata.Name + ")")
		}
		all = append(all, p)
		text = text[d.InputOffset():]
	}
}

// misplacedPatch finds the first file name in a list of patches that takes mappings: older
// kustomizations list files under patchesStrategicMerge.
func (s *scan) misplacedPatch(dir string) *yamldoc.Error {
	name, data, err := s.tree.kustomization(dir)
	if err != nil {
		return nil
	}
	for _, d := range yamldoc.Parse(yamldoc.NewFile(name, data)).Docs {
		for _, field := range []string{"patches", "patchesJson6902"} {
			for _, n := range d.Root.Get(field).List() {
				if !n.Is(yamldoc.Map) {
					return &yamldoc.Error{File: name, Pos: d.Pos(n), Err: fmt.Errorf(
						"%s lists mappings, but this is %s; write path: %s", field, n.Kind.Noun(), n.Text())}
				}
			}
		}
	}
	return nil
}

// documents visits what the kustomizations are made from: the files they name,
// and the patches inside them.
func (s *scan) documents(visit func(*yamldoc.Document)) {
	all := func(stream *yamldoc.Stream) {
		for _, d := range stream.Docs {
			if d.Err == nil {
				visit(d)
			}
		}
	}
	for stream := range s.streams() {
		all(stream)
	}
	for dir := range s.visits {
		name, data, err := s.tree.kustomization(dir)
		if err != nil {
			continue
		}
		for _, d := range yamldoc.Parse(yamldoc.NewFile(name, data)).Docs {
			for _, p := range append(d.Root.All("patches", "*"), d.Root.All("patchesJson6902", "*")...) {
				if n := p.Get("patch"); n.Is(yamldoc.String) {
					all(d.Inline(n))
				}
			}
			for _, n := range d.Root.Get("patchesStrategicMerge").List() {
				if strings.Contains(n.Str(), "\n") {
					all(d.Inline(n))
				}
			}
		}
	}
}
