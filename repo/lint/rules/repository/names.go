package repository

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

var nameRules = &lint.Family{Prefix: "NAME", Title: "Names of providers and files"}

var _ = nameRules.Add(lint.Rule{
	ID: "NAME001", Name: "provider-name", Since: "v0.1.0",
	Title:    "A provider name is a DNS label",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/common.go, parseProviderName; client/config/providers_client.go, validateProvider",
	Why:    "Clusterctl refuses names with upper case, dots or underscores, and one such entry in clusterctl.yaml breaks every command.",
	Fix:    "Use lower-case letters, digits and dashes.",
	Scope:  lint.ScopeRepository, Check: providerName,
})

var _ = nameRules.Add(lint.Rule{
	ID: "NAME002", Name: "label-length", Since: "v0.1.0",
	Title:    "A provider label has at most 63 characters",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: "Kubernetes label syntax; clusterctl client/repository/components.go, addCommonLabels",
	Why:    "Clusterctl puts the label on every object, and the API server refuses values that are longer.",
	Fix:    "Shorten the name of the provider. The prefix of its type counts.",
	Scope:  lint.ScopeRepository, Check: providerName,
})

var _ = nameRules.Add(lint.Rule{
	ID: "NAME004", Name: "core-name", Since: "v0.1.0",
	Title:    "The core provider, and no other, is named " + layouts.CoreName,
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/config/providers_client.go, validateProvider",
	Why:    "Clusterctl refuses the entry in clusterctl.yaml, and with it every command.",
	Fix:    "Rename the provider.",
	Scope:  lint.ScopeRepository, Check: providerName,
})

func providerName(p *lint.Pass) {
	for _, provider := range p.Repository.Providers {
		if provider.Name == "" {
			continue // the label is none, which another rule reports
		}
		for _, problem := range provider.Problems() {
			if problem.Rule == p.Rule.ID {
				p.Path(provider.Path, "%s", problem.Message)
			}
		}
	}
	reportNames(p)
}

// built returns the components file that clusterctl asks for if it has the
// provider built in.
func built(p layouts.Provider) string {
	if e, ok := layouts.EmbeddedProvider(p); ok {
		return e.File
	}
	return ""
}

// candidates returns the files of a release that may be its components: those
// with such a name, or else all manifests that are nothing else.
func candidates(r *repo.Release) (named, others []*repo.Artifact) {
	for _, a := range r.Artifacts {
		switch {
		case a.Kind() == layouts.Components:
			named = append(named, a)
		case a.Kind() == layouts.Asset && (strings.HasSuffix(a.Name, ".yaml") || strings.HasSuffix(a.Name, ".yml")):
			others = append(others, a)
		}
	}
	return named, others
}

var _ = nameRules.Add(lint.Rule{
	ID: "NAME005", Name: "components-name", Since: "v0.1.0",
	Title:    "The components file has the name of its provider type",
	Severity: lint.Warning, Proof: lint.Contract,
	Source: "clusterctl provider contract, section Components YAML, Naming conventions",
	Why:    "Tools and people expect that name. With another one every provider URL must name the file, and checks that depend on it cannot find it.",
	Fix:    "Rename the file.",
	Scope:  lint.ScopeRelease, Check: componentsName,
})

func componentsName(p *lint.Pass) {
	r := p.Release.Release
	info, ok := r.Provider.Type.Info()
	if !ok || r.Artifact(info.ComponentsFile) != nil {
		return
	}
	named, others := candidates(r)
	if a := r.Components(); a != nil {
		named, others = []*repo.Artifact{a}, nil
	}
	switch {
	case len(named) > 1:
		for _, a := range named {
			p.Path(a.Path, "it is not clear whether this or another file holds the components, because none is named %s", info.ComponentsFile)
		}
	case len(named) == 1 && named[0].Name != built(r.Provider):
		f := lint.Finding{File: named[0].Path, Message: "the contract recommends the name " + info.ComponentsFile}
		if strings.HasPrefix(named[0].Name, strings.TrimSuffix(info.ComponentsFile, ".yaml")) {
			f.Severity = lint.Info
		}
		p.Report(f)
	case len(named) == 0:
		for _, a := range others {
			p.Path(a.Path, "if this file holds the components, the contract recommends the name %s", info.ComponentsFile)
		}
	}
}

var _ = nameRules.Add(lint.Rule{
	ID: "NAME006", Name: "shadows-built-in", Since: "v0.1.0",
	Title:    "An entry that replaces a built-in provider does so on purpose",
	Severity: lint.Info, Proof: lint.Clusterctl,
	Source: "clusterctl client/config/providers_client.go, List",
	Why:    "Clusterctl knows a provider of this type and name already. The entry replaces it, so `clusterctl init` installs something else than its documentation says.",
	Fix:    "Choose another name, unless this is a fork or a mirror.",
	Scope:  lint.ScopeRepository, Check: shadowsBuiltIn,
})

func shadowsBuiltIn(p *lint.Pass) {
	for _, e := range entries(p) {
		built, ok := layouts.EmbeddedProvider(e.Provider)
		l, rule, _, _ := e.location()
		if ok && rule == "" && l.Kind == layouts.GitHub && l.Owner != "" && !strings.EqualFold(l.Owner+"/"+l.Repository, built.Repository) {
			p.Report(lint.At(p.Config, e.doc, e.url, "this replaces the built-in %s %s of %s", e.Type, e.Name, built.Repository))
		}
	}
}

var _ = nameRules.Add(lint.Rule{
	ID: "NAME007", Name: "organisation-prefix", Since: "v0.1.0",
	Title:    "A public provider has its GitHub organisation in front of its name",
	Severity: lint.Info, Proof: lint.Contract,
	Source: "clusterctl provider contract, section Adding a provider to clusterctl",
	Why:    "Only so it can be added to the list that is built into clusterctl, and two providers of one name cannot both be used.",
	Fix:    "Name it ORGANISATION-NAME. Providers of kubernetes-sigs need no prefix.",
	Scope:  lint.ScopeRepository, Check: organisationPrefix,
})

func organisationPrefix(p *lint.Pass) {
	for _, e := range entries(p) {
		_, known := layouts.EmbeddedProvider(e.Provider)
		l, rule, _, _ := e.location()
		if known || e.Type == layouts.Core || rule != "" || l.Kind != layouts.GitHub || l.Owner == "" || l.Owner == "kubernetes-sigs" {
			continue
		}
		if owner := strings.ToLower(l.Owner); e.Name != owner && !strings.HasPrefix(e.Name, owner+"-") {
			p.Report(lint.At(p.Config, e.doc, e.name, "the name does not begin with %s-, the organisation of its repository", owner))
		}
	}
}
