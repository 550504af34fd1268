package kustomize

import (
	"path"
	"path/filepath"
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

// blamed finds the document that a message of kustomize is about: the last one of
// that kind and name, and among patches the one with that namespace. It is nil if
// there is none.
func (s *scan) blamed(err error) *yamldoc.Error {
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
		var found *yamldoc.Error
		s.documents(func(d *yamldoc.Document) {
			n := d.Root.Get("metadata", "name")
			if d.Root.Get("kind").Str() != kind || n.Str() != name {
				return
			}
			if ns := d.Root.Get("metadata", "namespace"); ns.Str() == namespace && namespace != "" {
				n = ns
			} else if ns.Str() != namespace {
				return
			}
			found = &yamldoc.Error{File: d.File.Name, Pos: d.Pos(n)}
		})
		if found != nil {
			return found
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
	for _, name := range s.files {
		switch path.Ext(name) {
		case ".yaml", ".yml":
			if data, err := s.tree.Read(filepath.FromSlash(name)); err == nil {
				all(yamldoc.Parse(yamldoc.NewFile(name, data)))
			}
		}
	}
	for dir := range s.visits {
		name, data, err := s.tree.kustomization(dir)
		if err != nil {
			continue
		}
		for _, d := range yamldoc.Parse(yamldoc.NewFile(name, data)).Docs {
			for _, p := range d.Root.Get("patches").List() {
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
