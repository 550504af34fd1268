package localrepo

import (
	"errors"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// settingsFile is what create-local-repository.py of Cluster API reads.
const settingsFile = "clusterctl-settings.json"

// settings describe the provider of a source tree, or list providers to build and
// the source trees that have them.
type settings struct {
	description
	// Label is the provider, and the others say how it is built.
	Label, ComponentsFile, NextVersion, Folder text
	// Providers are labels, and Trees are folders relative to the file.
	Providers, Trees []text
}

func (s *settings) provider() (p layouts.Provider, err error) {
	if p, err = layouts.ParseLabel(s.Label.Value); err != nil {
		err = s.Errorf(s.Label.At, "name: %w", err)
	}
	return p, err
}

// decodeSettings reads a clusterctl-settings.json. The error joins all values of a
// wrong type.
func decodeSettings(stream *yamldoc.Stream) (*settings, error) {
	s := &settings{description: description{Name: stream.File.Name}}
	r, err := newReader(stream, &s.description)
	if r == nil {
		return s, err
	}
	r.object(r.doc.Root, "", fields{
		"name": r.text(&s.Label), "providers": r.texts(&s.Providers), "provider_repos": r.texts(&s.Trees),
		"config": func(n *yamldoc.Node, at string) {
			r.object(n, at, fields{"componentsFile": r.text(&s.ComponentsFile), "nextVersion": r.text(&s.NextVersion), "configFolder": r.text(&s.Folder)})
		},
	})
	return s, errors.Join(r.faults...)
}
