package e2e

import (
	"errors"
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// SettingsFile is what create-local-repository.py reads in each source tree.
const SettingsFile = "clusterctl-settings.json"

// Settings is a clusterctl-settings.json.
type Settings struct {
	// Repositories are folders of further source trees, and Providers the labels to
	// build; only the settings of the tree that the script runs in have them.
	Repositories []Text
	Providers    []Text
	Entries      []Setting
}

// Setting is a provider of a source tree.
type Setting struct {
	At yamldoc.Pos
	// Label is that of the provider, such as infrastructure-aws.
	Label                       Text
	Components, Version, Folder Text
}

// DevVersion is the version that the script gives to Cluster API's own providers.
const DevVersion = "v1.15.99"

// OwnSettings are the providers of cluster-api's tree, which the script knows.
func OwnSettings() []Setting {
	var out []Setting
	for _, row := range [][3]string{
		{layouts.CoreName, "core-components.yaml", "config/default"},
		{"bootstrap-kubeadm", "bootstrap-components.yaml", "bootstrap/kubeadm/config/default"},
		{"control-plane-kubeadm", "control-plane-components.yaml", "controlplane/kubeadm/config/default"},
		{"infrastructure-docker", "infrastructure-components-development.yaml", "test/infrastructure/docker/config/default"},
		{"runtime-extension-test", "runtime-extension-components-development.yaml", "test/extension/config/default"},
	} {
		out = append(out, Setting{Label: Text{Value: row[0]}, Components: Text{Value: row[1]}, Version: Text{Value: DevVersion}, Folder: Text{Value: row[2]}})
	}
	return out
}

// DecodeSettings reads a clusterctl-settings.json.
func DecodeSettings(name string, data []byte) (*Settings, error) {
	s := yamldoc.Parse(yamldoc.NewFile(name, data))
	switch {
	case len(s.Docs) != 1:
		return nil, &yamldoc.Error{File: name, Err: errors.New("the file must hold one JSON object")}
	case s.Docs[0].Err != nil:
		return nil, s.Docs[0].Err
	}
	r := &reader{doc: s.Docs[0], c: &Config{Name: name}}
	out := &Settings{}
	texts := func(to *[]Text) func(*yamldoc.Node, string) {
		return r.list(func(n *yamldoc.Node, at string) {
			var t Text
			r.text(&t)(n, at)
			*to = append(*to, t)
		})
	}
	one := Setting{At: r.doc.Pos(r.doc.Root)}
	r.object(r.doc.Root, "", fields{
		"providers": texts(&out.Providers), "provider_repos": texts(&out.Repositories), "name": r.text(&one.Label),
		"config": func(n *yamldoc.Node, at string) {
			r.object(n, at, fields{"componentsFile": r.text(&one.Components), "nextVersion": r.text(&one.Version), "configFolder": r.text(&one.Folder)})
		},
	})
	if one.Label.Value != "" {
		if one.Folder.Value == "" {
			one.Folder.Value = "config/default"
		}
		if p, err := layouts.ParseLabel(one.Label.Value); err != nil {
			r.faults = append(r.faults, r.c.Errorf(one.Label.At, "name: %w", err))
		} else if info, ok := p.Type.Info(); ok && one.Components.Value == "" {
			one.Components.Value = info.ComponentsFile
		}
		if _, err := layouts.ParseVersion(one.Version.Value); err != nil {
			r.faults = append(r.faults, r.c.Errorf(at(one.Version, one.At), "config.nextVersion: %w", err))
		}
		out.Entries = append(out.Entries, one)
	}
	if len(out.Entries)+len(out.Providers)+len(out.Repositories) == 0 && len(r.faults) == 0 {
		r.faults = append(r.faults, fmt.Errorf("%s: the file names no provider; write \"name\" and \"config\", or \"providers\"", name))
	}
	return out, errors.Join(r.faults...)
}
