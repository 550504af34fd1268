package localrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

type ownProvider struct{ label, folder, components string }

// ours are the providers in the source tree of Cluster API, as
// create-local-repository.py knows them.
var ours = []ownProvider{
	{"cluster-api", "core/config/default", "core-components.yaml"},
	{"cluster-api", "config/default", "core-components.yaml"}, // up to v1.14
	{"bootstrap-kubeadm", "bootstrap/kubeadm/config/default", "bootstrap-components.yaml"},
	{"control-plane-kubeadm", "controlplane/kubeadm/config/default", "control-plane-components.yaml"},
	{"infrastructure-docker", "test/infrastructure/docker/config/default", "infrastructure-components-development.yaml"},
	{"runtime-extension-test", "test/extension/config/default", "runtime-extension-components-development.yaml"},
}

// dockerTemplates go with the releases of infrastructure-docker.
const dockerTemplates = "test/infrastructure/docker/templates"

// development is what developers try their providers with.
type development struct {
	Releases []*repo.Release
	// Notes are about versions that clusterctl may not find.
	Notes []error
	// Trees are the source trees that the releases were made from.
	Trees []string

	versions transform.Versions // of Options.Version
	planned  []inTree
	faults   []error
}

// inTree is a release to build in a source tree.
type inTree struct {
	tree    string
	planned config.PlannedProvider
}

// Develop builds the releases that source trees or their clusterctl-settings.json
// describe; with providers and provider_repos, those of several trees. Others are the
// trees that are to be built in another way. The error joins everything that is wrong.
func Develop(ctx context.Context, sources []string, o Options) (d *development, others []string, err error) {
	d = &development{}
	if d.versions, err = transform.ParseVersions(o.Version); err != nil {
		return nil, nil, err
	}
	for _, source := range sources {
		found := len(d.planned) + len(d.faults)
		if d.source(source); len(d.planned)+len(d.faults) == found {
			others = append(others, source)
		}
	}
	for label := range d.versions.Each {
		if len(others) == 0 && !slices.ContainsFunc(d.planned, func(in inTree) bool { return in.planned.Label() == label }) {
			d.faults = append(d.faults, fmt.Errorf("no source has the provider %s, for which --version gives a version", label))
		}
	}
	if err := errors.Join(d.faults...); err != nil {
		return nil, nil, &transform.InputError{Err: err}
	}
	d.planned = slices.DeleteFunc(d.planned, func(p inTree) bool {
		return len(o.Parts) > 0 && !slices.Contains(o.Parts, p.planned.Label())
	})
	d.Releases = make([]*repo.Release, len(d.planned))
	errs := make([]error, len(d.planned))
	parallel.Limited(requests, len(d.planned), func(i int) {
		p := d.planned[i]
		made, err := transform.Make(ctx, p.tree, &config.Plan{RemoteBases: true, Providers: []config.PlannedProvider{p.planned}}, o.build())
		if err != nil {
			failed := &transform.BuildError{Dir: p.tree, Err: err}
			if errs[i] = failed; failed.Places() == nil {
				errs[i] = fmt.Errorf("%s: %w", p.tree, failed)
			}
			return
		}
		d.Releases[i] = made.Releases[0]
	})
	return d, others, errors.Join(errs...)
}

// readSettings returns the clusterctl-settings.json of a source, which is that file or
// its folder, and the folder; nil if there is none.
func readSettings(source string) (*settings, string, error) {
	dir, name := source, filepath.Join(source, settingsFile)
	if filepath.Base(source) == settingsFile {
		dir, name = filepath.Dir(source), source
	}
	data, err := files.Read(name)
	if errors.Is(err, fs.ErrNotExist) && name != source {
		return nil, dir, nil
	} else if err != nil {
		return nil, dir, err
	}
	s, err := decodeSettings(yamldoc.Parse(yamldoc.NewFile(name, data)))
	return s, dir, err
}

// source adds the releases of a source; none if it says nothing about them.
func (d *development) source(source string) {
	s, dir, err := readSettings(source)
	switch {
	case err != nil:
		d.faults = append(d.faults, err)
	case s == nil:
		if config.IsKustomization(os.DirFS(dir), "bootstrap/kubeadm/config/default") {
			for _, p := range slices.CompactFunc(slices.Clone(ours), func(a, b ownProvider) bool { return a.label == b.label }) {
				d.own(dir, p.label)
			}
		}
	case len(s.Providers) == 0:
		d.add(dir, s)
	default:
		known := map[string]*settings{}
		trees := map[string]string{}
		for _, t := range s.Trees {
			other, tree, err := readSettings(filepath.Join(dir, filepath.FromSlash(t.Value)))
			if err == nil && other == nil {
				err = s.Errorf(t.At, "%s does not have %s, which defines how its provider is built", t.Value, settingsFile)
			} else if err == nil {
				_, err = other.provider()
			}
			if err != nil {
				d.faults = append(d.faults, err)
				continue
			}
			known[other.Label.Value], trees[other.Label.Value] = other, tree
		}
		for _, label := range s.Providers {
			if other := known[label.Value]; other != nil {
				d.add(trees[label.Value], other)
			} else if !d.own(dir, label.Value) {
				d.faults = append(d.faults, s.Errorf(label.At, "neither Cluster API nor a tree of provider_repos has the provider %s", label.Value))
			}
		}
	}
}

// own adds a provider of Cluster API's own source tree, with the newest series of its
// metadata.yaml; false if the tree does not have it.
func (d *development) own(dir, label string) bool {
	for _, p := range ours {
		if p.label == label && config.IsKustomization(os.DirFS(dir), p.folder) {
			s := &settings{description: description{Name: dir}}
			s.Label.Value, s.Folder.Value, s.ComponentsFile.Value = label, p.folder, p.components
			d.add(dir, s)
			return true
		}
	}
	return false
}

// add plans a release.
func (d *development) add(dir string, s *settings) {
	wrong := func(at text, format string, args ...any) {
		d.faults = append(d.faults, s.Errorf(at.At, format, args...))
	}
	p, err := s.provider()
	if err != nil {
		d.faults = append(d.faults, err)
		return
	}
	if slices.ContainsFunc(d.planned, func(in inTree) bool { return in.planned.Provider == p }) {
		wrong(s.Label, "%s is described twice; leave out one of the sources", s.Label.Value)
		return
	}
	for _, r := range s.Remarks {
		d.Notes = append(d.Notes, r)
	}
	if !slices.Contains(d.Trees, dir) {
		d.Trees = append(d.Trees, dir)
	}
	name, folder := s.ComponentsFile.Value, cmp.Or(s.Folder.Value, "config/default")
	if name == "" || name != filepath.Base(name) {
		wrong(s.ComponentsFile, "config.componentsFile is %q; write the name of a file, such as infrastructure-components.yaml", name)
	}
	if !filepath.IsLocal(filepath.FromSlash(folder)) || !config.IsKustomization(os.DirFS(dir), path.Clean(folder)) {
		wrong(s.Folder, "%s of %s must be a folder with a kustomization; set config.configFolder", folder, s.Label.Value)
	}
	outputs := map[string]config.Output{
		name:                 {Kind: layouts.Components, Kustomize: path.Clean(folder)},
		layouts.MetadataFile: {Kind: layouts.KindOfFile(layouts.MetadataFile), File: layouts.MetadataFile},
	}
	if s.Label.Value == "infrastructure-docker" {
		entries, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(dockerTemplates)))
		for _, e := range entries {
			if e.Type().IsRegular() {
				outputs[e.Name()] = config.Output{Kind: layouts.KindOfFile(e.Name()), File: path.Join(dockerTemplates, e.Name())}
			}
		}
	}
	r := release{planned: config.PlannedProvider{Provider: p, Version: d.version(dir, s), ComponentsFile: name}}
	for name, o := range outputs {
		o.Name = name
		r.set(o)
	}
	d.planned = append(d.planned, inTree{dir, r.planned})
}

// version returns the version of a release, and notes if metadata.yaml has another one.
func (d *development) version(dir string, s *settings) layouts.Version {
	given := d.versions.Of(s.Label.Value)
	version := cmp.Or(given, s.NextVersion.Value)
	name := filepath.Join(dir, layouts.MetadataFile)
	var m *metadata.Metadata
	var newest *metadata.Series
	data, err := files.Read(name)
	if err == nil {
		if m, err = metadata.Read(yamldoc.NewFile(name, data)); err == nil {
			newest = m.NewestSeries("")
		}
	}
	if newest == nil {
		d.faults = append(d.faults, cmp.Or(err, fmt.Errorf("%s lists no release series", name)))
		return layouts.Version{}
	}
	next := fmt.Sprintf("v%s.99", newest)
	if version == "" && s.Label.At.IsZero() {
		version = next // of Cluster API's own
	}
	v, err := layouts.ParseVersion(version)
	switch {
	case err != nil:
		d.faults = append(d.faults, s.Errorf(s.NextVersion.At, "the version of %s is %q; set config.nextVersion, or pass --version %[1]s=%[3]s", s.Label.Value, version, next))
	case m.SeriesOf(v.Major(), v.Minor()) == nil:
		d.Notes = append(d.Notes, s.Errorf(s.NextVersion.At, "clusterctl refuses %s of %s, because %s has no series %s; pass --version %[2]s=%[5]s", version, s.Label.Value, name, v.Series(), next))
	case v.Series() != newest.String() && given == "":
		d.Notes = append(d.Notes, s.Errorf(s.NextVersion.At, "nextVersion %s is older than %s, the newest series of %s; pass --version %s=%s", version, newest, name, s.Label.Value, next))
	}
	return v
}
