package oci

import (
	"fmt"
	"maps"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// annotated is the word for a type in the annotations of the proposal
// (cluster-api: docs/proposals/20260804-provider-manifests-as-oci-artifacts.md).
func annotated(t layouts.TypeInfo) string {
	if t.Type == layouts.ControlPlane {
		return "controlPlane"
	}
	return t.Operator
}

// operatorWords are the words of the operator for a type, the newest first.
func operatorWords(t layouts.TypeInfo) []string {
	if t.Type == layouts.ControlPlane {
		return []string{t.Operator, "controlplane"} // in v0.18
	}
	return []string{t.Operator}
}

// RepositoryName returns what the proposal for Cluster API calls the repository
// of a provider: its label, but core-cluster-api for the core provider.
func RepositoryName(p layouts.Provider) string {
	info, ok := p.Type.Info()
	if !ok {
		return p.Label() // the manifest of cert-manager
	}
	return info.Short + "-" + p.Name
}

// componentsTitles are the titles under which the operator looks for the
// components of a provider, in its order: one for this release only, one for
// any provider of the type, one for any at all (cluster-api-operator:
// internal/controller, GetComponents).
func componentsTitles(word, name, version string) []string {
	return []string{fmt.Sprintf("%s-%s-%s-components.yaml", word, name, version), word + "-components.yaml", "components.yaml"}
}

// metadataTitles is the same for the metadata (GetMetadata).
func metadataTitles(word, name, version string) []string {
	return []string{fmt.Sprintf("%s-%s-%s-metadata.yaml", word, name, version), layouts.MetadataFile}
}

// alias is a second title for a file of a release.
type alias struct{ Title, Of string }

// aliasFits reports whether a title is one that aliases gives to the components
// in the file of, so that a reader of the title gets what the file is for.
func aliasFits(title, of string, r *repo.Release) bool {
	for _, row := range layouts.Types {
		if t := layouts.TypeOfComponents(of); t != "" && t != row.Type {
			continue
		}
		for _, word := range operatorWords(row) {
			name, ok := strings.CutPrefix(title, word+"-")
			if ok && name == "components.yaml" {
				return true
			}
			name, fits := strings.CutSuffix(name, "-"+r.Version+"-components.yaml")
			if ok && fits && (r.Provider.Name == "" || name == r.Provider.Name) {
				return true
			}
		}
	}
	return false
}

// Unfound says what the Cluster API operator does not find in an artifact of a registry that
// was taken apart by provider; it has nothing to say of other places.
func Unfound(r *repo.Repository) []string {
	var parts []*repo.Release
	sums := map[string]repo.Sum{}
	for _, p := range r.Providers {
		for _, r := range p.Releases {
			if r.Titles != nil {
				parts = append(parts, r)
			}
			maps.Copy(sums, r.Titles)
		}
	}
	_, notes := aliases(parts, sums, false)
	return notes
}

// aliases returns the titles that the operator needs beyond the names of the
// files, so that it finds the components of every provider, if they may be added, and
// says what it will not find. The sums are those of what is there by title.
func aliases(providers []*repo.Release, sums map[string]repo.Sum, add bool) (out []alias, notes []string) {
	titles := maps.Clone(sums)
	finds := func(want string, names []string) bool {
		for _, n := range names {
			// The operator passes over an empty file.
			if sum, ok := titles[n]; ok && sum != emptySum {
				return sum == sums[want]
			}
		}
		return false
	}
	sharing := map[layouts.ProviderType]int{}
	for _, r := range providers {
		sharing[r.Provider.Type]++
	}
	note := func(format string, args ...any) {
		notes = append(notes, "the Cluster API operator "+fmt.Sprintf(format, args...))
	}
	for _, r := range providers {
		p, components := r.Provider, r.Components()
		switch {
		case p == layouts.CertManager:
			continue // the operator does not install it
		case p.Name == "":
			note("may not find a provider of the type %s, because its objects lack the label %s", p.Type, layouts.ProviderLabel)
			continue
		case components == nil:
			note("may not find the components of %s, because not exactly one file has the name of a components file", p)
			continue
		}
		info, ok := p.Type.Info()
		if !ok {
			continue
		}
		for i, word := range operatorWords(info) {
			names := componentsTitles(word, p.Name, r.Version)
			// The title for the type is good for every name that the
			// operator's object may have, but for one provider only.
			title := names[1]
			if _, taken := titles[title]; taken || sharing[p.Type] > 1 {
				title = names[0]
			}
			if _, taken := titles[title]; add && !taken && !finds(components.Name, names) {
				out = append(out, alias{title, components.Name})
				titles[title] = sums[components.Name]
			}
			if i > 0 {
				continue // an old operator is worth an alias, but no note
			}
			if !finds(components.Name, names) {
				note("does not take %s for the components of %s, but looks for the title %s", components.Name, p, title)
			}
			if !finds(layouts.MetadataFile, metadataTitles(word, p.Name, r.Version)) {
				note("does not find the %s of %s", layouts.MetadataFile, p)
			}
		}
	}
	return out, notes
}
