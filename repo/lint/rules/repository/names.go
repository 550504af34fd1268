package repository

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
)

var nameRules = &lint.Family{Prefix: "NAME", Title: "Names of providers and files"}

var _ = nameRules.Add(lint.Rule{
	ID: "NAME001", Name: "provider-name", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A provider name must be a DNS label",
	Source: "clusterctl client/common.go, parseProviderName; client/config/providers_client.go, validateProvider",
	Why:    "Every command of clusterctl fails because of one such entry in clusterctl.yaml.",
	Fix:    "Use lower-case letters, digits and dashes.",
	Scope:  lint.ScopeRepository, Check: providerName,
})

var _ = nameRules.Add(lint.Rule{
	ID: "NAME002", Name: "label-length", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A provider label must have at most 63 characters",
	Source: "Kubernetes label syntax; clusterctl client/repository/components.go, addCommonLabels",
	Why:    "The API server refuses every object of the provider, because clusterctl adds the label to all of them.",
	Fix:    "Shorten the name of the provider; the prefix of its type counts.",
	Scope:  lint.ScopeRepository, Check: providerName,
})

var _ = nameRules.Add(lint.Rule{
	ID: "NAME004", Name: "core-name", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Only the core provider must be named " + layouts.CoreName,
	Source: "clusterctl client/config/providers_client.go, validateProvider",
	Why:    "Every command of clusterctl fails because of one such entry in clusterctl.yaml.",
	Fix:    "Correct the type of the provider, or its name: that of the core provider is " + layouts.CoreName + ".",
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

// candidates returns the files of a release that may be its components: those
// with such a name, or else all manifests with a definition or a workload for Cluster API that are nothing else.
func candidates(r *repo.Release) (named, others []*repo.Artifact) {
	for _, a := range r.Artifacts {
		switch {
		case a.Kind() == layouts.Components:
			named = append(named, a)
		case a.Kind() == layouts.Asset && (strings.HasSuffix(a.Name, ".yaml") || strings.HasSuffix(a.Name, ".yml")):
			text, err := a.Text()
			installs := strings.Contains(text, "kind: "+crd.Kind) || strings.Contains(text, "kind: Deployment")
			if err != nil || installs && strings.Contains(text, "cluster.x-k8s.io") {
				others = append(others, a)
			}
		}
	}
	return named, others
}

var _ = nameRules.Add(lint.Rule{
	ID: "NAME005", Name: "components-name", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "The components file should have the name that belongs to its provider type",
	Source: "clusterctl provider contract, section Components YAML, Naming conventions",
	Why:    "Users must name the file in every provider URL, and tools that expect the usual name do not find it.",
	Fix:    "Rename the file.",
	Scope:  lint.ScopeRelease, Check: componentsName,
})

func componentsName(p *lint.Pass) {
	r := p.Release.Release
	info, ok := r.Provider.Type.Info()
	if !ok || r.Artifact(info.ComponentsFile) != nil {
		return
	}
	built, _ := layouts.EmbeddedProvider(r.Provider) // clusterctl asks for its file
	named, others := candidates(r)
	if a := r.Components(); a != nil {
		named, others = []*repo.Artifact{a}, nil
	}
	switch {
	case len(named) > 1:
		for _, a := range named {
			p.Report(lint.Finding{File: a.Path, Message: "several files could be the components, because none is named " + info.ComponentsFile}.
				Because("name of the components"))
		}
	case len(named) == 1 && named[0].Name != built.File:
		f := lint.Finding{File: named[0].Path, Message: "the contract recommends the name " + info.ComponentsFile}
		if strings.HasPrefix(named[0].Name, strings.TrimSuffix(info.ComponentsFile, ".yaml")) {
			f.Severity = lint.Info
		}
		p.Report(f.Because(view.AsFile(info.ComponentsFile)))
	case len(named) == 0:
		for _, a := range others {
			p.Report(lint.Finding{File: a.Path, Message: "the contract recommends the name " + info.ComponentsFile + " if this file contains the components"}.
				Because("name of the components"))
		}
	}
}

var _ = nameRules.Add(lint.Rule{
	ID: "NAME006", Name: "shadows-built-in", Severity: lint.Info, Proof: lint.Clusterctl,
	Title:  "An entry of clusterctl.yaml does not replace a built-in provider by accident",
	Source: "clusterctl client/config/providers_client.go, List",
	Why:    `"clusterctl init" installs a different provider than users expect, because the entry overrides the built-in provider with the same type and name.`,
	Fix:    "Choose another name, for example with the GitHub organization in front. Safe to ignore if this is a fork or a mirror.",
	Scope:  lint.ScopeRepository, Check: view.ForEach(entries, func(p *lint.Pass, e entry) {
		built, ok := layouts.EmbeddedProvider(e.Provider)
		l, rule, _, _ := e.location()
		if ok && rule == "" && l.Kind == layouts.GitHub && l.Owner != "" &&
			!strings.EqualFold(l.Owner+"/"+l.Repository, built.Repository) {
			p.Report(lint.At(p.Config, e.doc, e.url,
				"the entry overrides the built-in %s %s of %s", e.Type, e.Name, built.Repository))
		}
	}),
})

var _ = nameRules.Add(lint.Rule{
	ID: "NAME008", Name: "provider-twice", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A provider should have one entry in clusterctl.yaml",
	Source: "clusterctl client/config/providers_client.go, List",
	Why:    "Users do not install the release that the entry names: of several with the same type and name, clusterctl uses the last.",
	Fix:    "Remove the other entries, or give them other names.",
	Scope:  lint.ScopeRepository, Check: func(p *lint.Pass) {
		last := map[layouts.Provider]entry{}
		for _, e := range slices.Backward(entries(p)) {
			later, again := last[e.Provider]
			switch {
			case e.Name == "":
			case again:
				p.Report(lint.At(p.Config, e.doc, e.name, "clusterctl ignores this entry, because line %d has another for the %s %s",
					later.doc.Pos(later.name).Line, e.Type, e.Name))
			default:
				last[e.Provider] = e
			}
		}
	},
})
