package repository

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var repositoryRules = &lint.Family{Prefix: "REPO", Title: "The repository: folders, versions, files and URLs"}

// odd reports the oddities of a kind.
func odd(p *lint.Pass, list []repo.Oddity, kind repo.OddityKind, severity lint.Severity) {
	for _, o := range list {
		if o.Kind == kind {
			p.Report(lint.Finding{File: o.Path, Message: o.Why, Severity: severity})
		}
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO001", Name: "version-invalid", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A version must be a semantic version with three numbers",
	Source: "clusterctl client/repository/repository_local.go, newLocalRepository; apimachinery version.ParseSemantic",
	Why:    "Users cannot install the release, because clusterctl refuses such versions and does not list their folders.",
	Fix:    "Rename the folder to a version that is not there yet, such as v1.2.3, without leading zeros.",
	Scope:  lint.ScopeRepository, Check: func(p *lint.Pass) {
		for _, provider := range p.Repository.Providers {
			odd(p, provider.Oddities, repo.OddVersion, lint.Off)
			for _, r := range provider.Releases {
				switch _, err := layouts.ParseVersion(r.Version); {
				case err == nil:
				case strings.Contains(r.Version, ":"): // the digest of an artifact in a registry
					p.Report(lint.Finding{File: r.Path, Severity: lint.Warning,
						Message: "the artifact does not tell its version: it has no annotation org.opencontainers.image.version",
						Fix:     "Name the artifact by its tag, or push it with the annotation. What depends on the version is not checked."})
				default:
					p.Path(r.Path, "%v", err)
				}
			}
		}
		reportURLs(p)
	},
})

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO002", Name: "version-without-v", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A version must begin with v",
	Source: "clusterctl client/repository/repository_versions.go, latestPatchRelease",
	Why:    `Users cannot ask for "latest" or upgrade, because clusterctl looks for a folder whose name begins with v.`,
	Fix:    "Rename the folder.",
	Scope:  lint.ScopeProvider, Check: versionWithoutV,
})

func versionWithoutV(p *lint.Pass) {
	s := &simulated{byName: map[string]*lint.Release{}}
	fatal := map[string]string{}
	if full, ok := simulate(p); ok {
		s = full
		var missing *missingError
		if _, err := s.latest(); errors.As(err, &missing) {
			fatal[missing.version] = "\"latest\""
		} else if newest := s.newest().Parsed; !newest.HasV() {
			fatal["v"+newest.String()] = "`clusterctl upgrade plan`"
		}
	}
	for _, r := range p.Provider.Releases {
		if r.Parsed.IsZero() || r.Parsed.HasV() || s.byName["v"+r.Version] != nil {
			continue
		}
		f := lint.Finding{File: r.Path, Severity: lint.Warning, Message: "the folder is named " + r.Version + ", and for \"latest\" and upgrades clusterctl looks for v" + r.Version}
		if what := fatal["v"+r.Version]; what != "" {
			f.Severity = lint.Error
			f.Message = what + " fails, because clusterctl looks for v" + r.Version + " and the folder is named " + r.Version
		}
		f.Edit = &lint.Edit{Rename: "v" + r.Version}
		p.Report(f)
	}
}

var _ = repositoryRules.AddAll(lint.Rule{
	ID: "REPO024", Name: "less-than-last", Severity: lint.Error, Proof: lint.Practice,
	Title:  "A release must have what the last one has",
	Source: "Kamaji issue 233, vSphere issue 609: releases that shipped the previous image, or none of the release",
	Why:    "Users lose a flavor, class, API version or image that they rely on, and a published version cannot be taken back.",
	Fix:    "Add what is missing, or list it under removed in clusterctl-repo.yaml if it is meant.",
	Scope:  lint.ScopeComments, Check: func(*lint.Pass) {}, // needs the last release, see lint.Found
}, lint.Rule{
	ID: "REPO025", Name: "module-version", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "From version 2 on, the path of the Go module should end with the major version",
	Source: "clusterctl provider contract, section Creating a provider repository on GitHub; client/repository/repository_github.go, getVersions",
	Why:    `Users of a release on GitHub do not get the version as "latest" or through an upgrade: clusterctl asks the Go module proxy for versions, which does not list it.`,
	Fix:    "Add the major version to the module path, as in github.com/OWNER/REPOSITORY/v2, or tell users to set GOPROXY=off.",
	Scope:  lint.ScopeComments, Check: func(*lint.Pass) {}, // needs the source tree, see lint.Found
}, lint.Rule{
	ID: "REPO003", Name: "metadata-missing", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Every version must have a metadata.yaml",
	Source: "clusterctl client/repository/metadata_client.go, Get; provider contract, section Provider Repositories",
	Why:    `clusterctl cannot use the version. If it is the newest one, "latest" and "clusterctl upgrade plan" fail for all versions.`,
	Fix:    "Add metadata.yaml to the release; pre-releases need it as well.",
	Yields: []string{"REPO018"},
	Scope:  lint.ScopeRelease, Check: func(p *lint.Pass) {
		if p.Release.Artifact(layouts.MetadataFile) == nil {
			p.Report(lint.Finding{File: p.Release.Path, Message: "version " + p.Release.Version + " of " + p.Release.Provider.Label() + " has no " + layouts.MetadataFile}.
				Because(view.AsFile(layouts.MetadataFile)))
		}
	},
})

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO004", Name: "components-missing", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Every version must have its components file under the same name",
	Source: "clusterctl client/repository/components_client.go, Get; provider contract, section Provider Repositories",
	Why:    "clusterctl fails for this version, because it requests the file that the provider URL names and does not try another one.",
	Fix:    "Add the file under the name it has in the other versions.",
	Scope:  lint.ScopeProvider, Check: componentsMissing,
})

func componentsMissing(p *lint.Pass) {
	info, ok := p.Provider.Type.Info()
	if !ok {
		return
	}
	built, _ := layouts.EmbeddedProvider(p.Provider.Provider.Provider)
	expected := cmp.Or(built.File, info.ComponentsFile)
	var newest *repo.Artifact // of the newest release that has one
	for _, r := range p.Provider.Releases {
		if a := r.Components(); a != nil {
			newest = a
		}
	}
	for _, r := range p.Provider.Releases {
		a := r.Components()
		named, others := candidates(r.Release)
		switch {
		case a == nil && len(named)+len(others) == 0:
			p.Path(r.Path, "version %s of %s has no %s", r.Version, p.Provider.Label(), expected)
		case a != nil && newest != nil && a.Name != newest.Name && r.Artifact(newest.Name) == nil:
			p.Report(lint.Finding{File: a.Path, Severity: lint.Warning,
				Message: "the components file is named " + a.Name + " here and " + newest.Name + " in a later version, and a provider URL names only one"})
		}
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO005", Name: "label-invalid", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A provider's folder must have the name of its label",
	Source: "clusterctl client/repository/repository_local.go, newLocalRepository; api/v1alpha3/labels.go, ManifestLabel",
	Why:    "clusterctl refuses the URL: the folder must be named after type and name of the provider.",
	Fix:    "Use a name such as infrastructure-foo; the core provider is just cluster-api.",
	Scope:  lint.ScopeRepository, Check: func(p *lint.Pass) {
		odd(p, p.Repository.Oddities, repo.OddLabel, lint.Off)
		for _, provider := range p.Repository.Providers {
			odd(p, provider.Oddities, repo.OddLabel, lint.Off)
		}
		reportURLs(p)
	},
})

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO007", Name: "version-symlink", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A version should be a real folder",
	Source: "clusterctl client/repository/repository_local.go, GetVersions",
	Why:    `Users never get the version as "latest" or through an upgrade, because clusterctl does not list symbolic links.`,
	Fix:    "Replace the link with a copy.",
	Scope:  lint.ScopeProvider, Check: versionSymlink,
})

func versionSymlink(p *lint.Pass) { odd(p, p.Provider.Oddities, repo.OddSymlink, lint.Off) }

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO008", Name: "sub-folder", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The files of a version must be in one folder",
	Source: "clusterctl client/repository/repository_local.go, GetFile; template_client.go, Get",
	Why:    "clusterctl does not find the file, because it looks for metadata, templates and classes only next to the components file. GitHub releases have no folders.",
	Fix:    "Move the files up.",
	Scope:  lint.ScopeRelease, Check: subFolder,
})

func subFolder(p *lint.Pass) { odd(p, p.Release.Oddities, repo.OddSubfolder, lint.Off) }

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO017", Name: "release-incomplete", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "A patch release should have all files of the previous one",
	Source: "clusterctl client/repository/template_client.go, Get",
	Why:    "Users who upgrade the provider can no longer use the missing flavor or class. Often the file was just not attached to the release.",
	Fix:    "Add the file to the release.",
	Scope:  lint.ScopeProvider, Check: releaseIncomplete,
})

func releaseIncomplete(p *lint.Pass) {
	s, ok := simulate(p)
	if !ok {
		return
	}
	for i, r := range s.releases {
		if i == 0 || r.Parsed.Prerelease() != "" {
			continue
		}
		before := s.releases[i-1]
		if before.Parsed.Series() != r.Parsed.Series() || before.Parsed.Prerelease() != "" {
			continue
		}
		for _, a := range before.Artifacts {
			kind := a.Kind()
			if (kind == layouts.ClusterTemplate || kind == layouts.ClusterClass) && r.Artifact(a.Name) == nil {
				p.Path(r.Path, "%s has %s, but %s does not", before.Version, a.Name, r.Version)
			}
		}
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO018", Name: "file-case", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Files must have the names that their readers ask for",
	Source: "clusterctl client/repository/repository_local.go, GetFile; cluster-api-operator internal/controller/oci_source.go",
	Why:    "clusterctl does not find the file: metadata.yml and Metadata.yaml are not metadata.yaml. Two names that differ only by case cannot both exist on macOS and Windows. In a registry the Cluster API operator looks for titles of layers.",
	Fix:    "Rename the file.",
	Scope:  lint.ScopeRelease, Check: fileCase,
})

func fileCase(p *lint.Pass) {
	odd(p, p.Release.Oddities, repo.OddCase, lint.Warning)
	for _, a := range p.Release.Artifacts {
		name := strings.ToLower(a.Name)
		if stem, ok := strings.CutSuffix(name, ".yml"); ok {
			name = stem + ".yaml"
		}
		kind := layouts.KindOfFile(name)
		// clusterctl asks for flavors and classes in the case that users write.
		part, _ := layouts.Flavor(name)
		if class, ok := layouts.ClassOf(name); ok {
			part = class
		}
		if end := len(name) - len(".yaml"); part != "" {
			name = name[:end-len(part)] + a.Name[end-len(part):end] + ".yaml"
		}
		if name == a.Name || !kind.Read() || p.Release.Artifact(name) != nil {
			continue
		}
		f := lint.Finding{File: a.Path, Message: "clusterctl asks for " + name + " and does not find " + a.Name}
		if kind == layouts.Components {
			f.Severity = lint.Warning // a provider URL can name it
		}
		p.Report(f.Because(view.AsFile(name)))
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO021", Name: "unreadable", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Everything in a repository should be readable",
	Source: "clusterctl client/repository/repository_local.go, GetFile",
	Why:    "Copies of the repository are incomplete, because broken links, links out of the folder, devices and pipes cannot be published or mirrored.",
	Fix:    "Replace it with the intended file, or remove it.",
	Scope:  lint.ScopeRepository, Check: unreadable,
})

func unreadable(p *lint.Pass) {
	report := func(list []repo.Oddity) {
		odd(p, list, repo.OddUnreadable, lint.Off)
		odd(p, list, repo.OddSpecial, lint.Off)
		for _, o := range list {
			if o.Kind != repo.OddBroken {
				continue
			}
			f := lint.Finding{File: o.Path, Message: o.Why}
			if kind := layouts.KindOfFile(filepath.Base(o.Path)); kind.Read() {
				f.Severity = lint.Error
				f.Message += ", so clusterctl does not find it either"
			}
			p.Report(f)
		}
	}
	report(p.Repository.Oddities)
	for _, provider := range p.Repository.Providers {
		report(provider.Oddities)
		for _, r := range provider.Releases {
			report(r.Oddities)
		}
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO023", Name: "checksums", Severity: lint.Error, Proof: lint.Practice,
	Title:  "SHA256SUMS must match the files of the release",
	Source: "sha256sum --check; publish and mirror refuse such a release",
	Why:    "Users who compare checksums refuse the release, and it can be neither published nor mirrored.",
	Fix:    "Regenerate SHA256SUMS when all files are final, or restore the file that changed.",
	Scope:  lint.ScopeRelease, Check: checksums,
})

func checksums(p *lint.Pass) {
	sums := p.Release.Artifact(layouts.ChecksumFile)
	if sums == nil {
		return
	}
	if _, err := sums.Bytes(); err != nil {
		p.Report(lint.Finding{File: sums.Path, Message: strings.TrimPrefix(err.Error(), sums.Path+": ")})
		return
	}
	// What else cannot be read is another finding.
	err, differs := errors.AsType[*repo.ChecksumError](repo.VerifyChecksums(context.Background(), p.Release.Release))
	if !differs {
		return
	}
	for _, problem := range err.Problems {
		f := lint.Finding{File: sums.Path, Message: problem.Message}
		if problem.Line > 0 {
			f.Pos = yamldoc.Pos{Line: problem.Line, Column: 1}
		}
		p.Report(f)
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO022", Name: "config-unreadable", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The clusterctl.yaml of a repository must be readable",
	Source: "clusterctl client/config/providers_client.go, List",
	Why:    "Every clusterctl command that uses this configuration fails.",
	Fix:    "Write a list named providers whose entries have name, type and url.",
	Scope:  lint.ScopeRepository, Check: configUnreadable,
})

func configUnreadable(p *lint.Pass) {
	if p.Config == nil {
		return
	}
	s := p.Config.Docs()
	if s.Err != nil {
		p.Report(view.AtPos(p.Config, s.Err.Pos, s.Err.Err.Error()))
	}
	if len(s.Docs) == 0 {
		return
	}
	d := s.Docs[0]
	at := func(n *yamldoc.Node, format string, args ...any) {
		p.Report(lint.At(p.Config, d, n, format, args...))
	}
	list := setting(d.Root, "providers")
	switch {
	case d.Err != nil:
		p.Report(view.AtPos(p.Config, d.Err.Pos, d.Err.Err.Error()))
		return
	case !d.Root.Is(yamldoc.Map):
		at(d.Root, "the file is %s, not a mapping", d.Root.Kind.Noun())
		return
	case list != nil && !list.Is(yamldoc.List) && !list.Is(yamldoc.Null):
		at(list, "providers is %s, not a list", list.Kind.Noun())
		return
	}
	for _, e := range entries(p) {
		for _, field := range []struct {
			name string
			node *yamldoc.Node
		}{{"name", e.name}, {"type", e.typ}, {"url", e.url}} {
			if settingText(field.node) == "" {
				at(e.all, "the entry has no %s", field.name)
			}
		}
	}
}
