// Package providers tells which providers share the files of one release, as the assets
// of a GitHub release or a flat folder, and gives each of them its files. It must not
// know where the files come from.
package providers

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// Split finds the providers of a fetched release and gives each of them its
// files, sorted by label. Who a provider is stands in the label of its objects
// (contract: components YAML, labels). The file named is a components file
// whatever its name is; it may be empty.
//
// Where several providers share a release, as in that of Cluster API itself,
// a components file belongs to the provider that it names, templates and
// classes to the infrastructure providers if there are any, and all else to
// everyone, but for the checksums of the whole.
//
// A components file without the label leaves the name of the provider empty.
func Split(ctx context.Context, whole *repo.Release, file string) ([]*repo.Release, error) {
	owner := map[string]layouts.Provider{} // by name of the components file
	var providers []layouts.Provider
	artifacts := slices.Clone(whole.Artifacts)
	for i, a := range artifacts {
		if !reads(a, file) {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		data, err := a.Text()
		if err != nil {
			return nil, err
		}
		// It will be read again.
		artifacts[i] = repo.NewArtifact(a.Name, a.Path, int64(len(data)), func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(data)), nil
		})
		if sum, ok := a.Stated(); ok { // then it was compared
			artifacts[i] = artifacts[i].Hashed(sum)
		}
		p := providerOf(artifacts[i], data)
		owner[a.Name] = p
		if !slices.Contains(providers, p) {
			providers = append(providers, p)
		}
	}
	if len(providers) == 0 {
		return nil, fmt.Errorf("%s has no components file, so it is not a release of a provider", whole.Path)
	}
	if len(providers) == 1 && whole.Provider != (layouts.Provider{}) && whole.Provider.Type == providers[0].Type {
		providers[0] = whole.Provider // the place knows better
	}
	infrastructure := slices.ContainsFunc(providers, func(p layouts.Provider) bool { return p.Type == layouts.Infrastructure })
	slices.SortFunc(providers, func(a, b layouts.Provider) int { return strings.Compare(a.Label(), b.Label()) })
	var out []*repo.Release
	for _, p := range providers {
		r := *whole
		r.Provider, r.Artifacts = p, nil
		for _, a := range artifacts {
			kind := a.Kind()
			mine := true
			switch of, components := owner[a.Name]; {
			case len(providers) == 1:
			case components:
				mine = of == p
			case kind.Attests():
				mine = false
			case kind == layouts.ClusterTemplate || kind == layouts.ClusterClass:
				mine = !infrastructure || p.Type == layouts.Infrastructure
			}
			if mine {
				r.Artifacts = append(r.Artifacts, a)
			}
		}
		out = append(out, &r)
	}
	return out, nil
}

func reads(a *repo.Artifact, file string) bool {
	return a.Kind() == layouts.Components || a.Name == file
}

// providerOf reads who a components file belongs to: its type by the name of the file,
// for which clusterctl asks, and all else by the first object that says so.
func providerOf(a *repo.Artifact, data string) layouts.Provider {
	out := layouts.Provider{Type: layouts.TypeOfComponents(a.Name)}
	for _, o := range manifest.New(a, layouts.Components, data).Objects() {
		if label, ok := o.Label(layouts.ProviderLabel); ok {
			if p, err := layouts.ParseLabel(label); err == nil {
				out = layouts.Provider{Type: cmp.Or(out.Type, p.Type), Name: p.Name}
				break
			}
		}
	}
	if out.Type == layouts.Core {
		out.Name = layouts.CoreName
	}
	return out
}

// Same reports whether two releases are of one provider, whatever their labels say: they
// have components under the same name, with a CRD of the same name, or without CRDs
// in the same Namespace. The error says which components cannot be read.
func Same(a, b *repo.Release) (bool, error) {
	x, y := a.Components(), b.Components()
	if x == nil || y == nil || x.Name != y.Name {
		return false, nil
	}
	var names [2]map[string][]string // of objects, by kind
	for i, a := range []*repo.Artifact{x, y} {
		f, err := manifest.Read(a, layouts.Components)
		if err != nil {
			return false, err
		}
		names[i] = map[string][]string{}
		for _, o := range f.Objects() {
			names[i][o.Kind] = append(names[i][o.Kind], o.Name)
		}
	}
	for _, kind := range []string{"CustomResourceDefinition", "Namespace"} {
		one, other := names[0][kind], names[1][kind]
		if len(one)+len(other) > 0 {
			return slices.ContainsFunc(one, func(name string) bool { return slices.Contains(other, name) }), nil
		}
	}
	return false, nil
}
