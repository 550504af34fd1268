package repository

import (
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
	ID: "REPO001", Name: "version-invalid", Since: "v0.1.0",
	Title:    "A version is a semantic version with three numbers",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/repository_local.go, newLocalRepository; apimachinery version.ParseSemantic",
	Why:    "Clusterctl refuses a URL with another version and does not list such folders, so the release does not exist for it.",
	Fix:    "Name it like v1.2.3 or v1.2.3-rc.0, without leading zeros.",
	Scope:  lint.ScopeRepository, Check: versionInvalid,
})

func versionInvalid(p *lint.Pass) {
	for _, provider := range p.Repository.Providers {
		odd(p, provider.Oddities, repo.OddVersion, lint.Off)
		for _, r := range provider.Releases {
			if _, err := layouts.ParseVersion(r.Version); err != nil {
				p.Path(r.Path, "%v", err)
			}
		}
	}
	reportURLs(p)
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO002", Name: "version-without-v", Since: "v0.1.0",
	Title:    "A version begins with v",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/repository_versions.go, latestPatchRelease",
	Why:    "Clusterctl puts a v in front of every version it looks at for \"latest\" and for upgrades, and fails because that folder does not exist.",
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

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO003", Name: "metadata-missing", Since: "v0.1.0",
	Title:    "Every version has a metadata.yaml",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/metadata_client.go, Get; provider contract, section Provider Repositories",
	Why:    "Clusterctl cannot use the version. If it is the newest one, \"latest\" and `clusterctl upgrade plan` fail for all versions.",
	Fix:    "Add metadata.yaml to the release, also to every pre-release.",
	Scope:  lint.ScopeRelease, Check: metadataMissing,
})

func metadataMissing(p *lint.Pass) {
	if p.Release.Artifact(layouts.MetadataFile) == nil {
		p.Path(p.Release.Path, "version %s of %s has no %s", p.Release.Version, p.Release.Provider.Label(), layouts.MetadataFile)
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO004", Name: "components-missing", Since: "v0.1.0",
	Title:    "Every version has its components file, under one name",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/components_client.go, Get; provider contract, section Provider Repositories",
	Why:    "Clusterctl asks every version for the file that the provider URL names and fails if it is not there; it does not try another version.",
	Fix:    "Add the file under the name it has in the other versions.",
	Scope:  lint.ScopeProvider, Check: componentsMissing,
})

func componentsMissing(p *lint.Pass) {
	info, ok := p.Provider.Type.Info()
	if !ok {
		return
	}
	expected := info.ComponentsFile
	if name := built(p.Provider.Provider.Provider); name != "" {
		expected = name
	}
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
			f := lint.Finding{File: a.Path, Severity: lint.Warning,
				Message: "the components file is named " + a.Name + " here and " + newest.Name + " in a later version, and a provider URL names only one"}
			p.Report(f)
		}
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO005", Name: "label-invalid", Since: "v0.1.0",
	Title:    "A provider's folder has the name of its label",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/repository_local.go, newLocalRepository; api/v1alpha3/labels.go, ManifestLabel",
	Why:    "Clusterctl refuses a URL whose folder is not the prefix of the provider type followed by the name of the provider.",
	Fix:    "Name the folder like infrastructure-foo; only the core provider is just cluster-api.",
	Scope:  lint.ScopeRepository, Check: labelInvalid,
})

func labelInvalid(p *lint.Pass) {
	odd(p, p.Repository.Oddities, repo.OddLabel, lint.Off)
	for _, provider := range p.Repository.Providers {
		odd(p, provider.Oddities, repo.OddLabel, lint.Off)
	}
	reportURLs(p)
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO007", Name: "version-symlink", Since: "v0.1.0",
	Title:    "A version is a real folder",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/repository_local.go, GetVersions",
	Why:    "Clusterctl does not list symbolic links: the version is never \"latest\" and no upgrade leads to it, although it can be named.",
	Fix:    "Replace the link by a copy.",
	Scope:  lint.ScopeProvider, Check: versionSymlink,
})

func versionSymlink(p *lint.Pass) { odd(p, p.Provider.Oddities, repo.OddSymlink, lint.Off) }

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO008", Name: "sub-folder", Since: "v0.1.0",
	Title:    "The files of a version lie next to each other",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/repository_local.go, GetFile; template_client.go, Get",
	Why:    "Clusterctl looks for metadata, templates and classes next to the components file and nowhere else, and GitHub releases have no folders.",
	Fix:    "Move the files up.",
	Scope:  lint.ScopeRelease, Check: subFolder,
})

func subFolder(p *lint.Pass) { odd(p, p.Release.Oddities, repo.OddSubfolder, lint.Off) }

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO017", Name: "release-incomplete", Since: "v0.1.0",
	Title:    "A patch release has all files that the one before it had",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "clusterctl client/repository/template_client.go, Get",
	Why:    "Templates and classes are looked for in the version that is installed. Who upgrades the provider can no longer use a flavor that was left out, often because it was not attached to the release.",
	Fix:    "Add the file.",
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
				p.Path(r.Path, "%s has %s, and %s has not", before.Version, a.Name, r.Version)
			}
		}
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO018", Name: "file-case", Since: "v0.1.0",
	Title:    "File names have the case and the ending that clusterctl asks for",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/repository_local.go, GetFile",
	Why:    "Metadata.yaml and metadata.yml are other files than metadata.yaml, which is then missing. Two names that differ only by case cannot both exist on macOS and Windows.",
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
		if name == a.Name || !kind.Read() || p.Release.Artifact(name) != nil {
			continue
		}
		f := lint.Finding{File: a.Path, Message: "clusterctl asks for " + name + " and does not find " + a.Name}
		if kind == layouts.Components {
			f.Severity = lint.Warning // a provider URL can name it
		}
		p.Report(f)
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO019", Name: "build-metadata", Since: "v0.1.0",
	Title:    "A version has no build part",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "Semantic Versioning 2.0.0, section 10; OCI distribution specification, tags",
	Why:    "The + must be escaped in URLs, no image tag may hold it, and versions that differ only behind it are equal, so nobody is upgraded.",
	Fix:    "Use a pre-release part, as in v1.0.0-dev.1, or a new patch version.",
	Scope:  lint.ScopeRelease, Check: buildMetadata,
})

func buildMetadata(p *lint.Pass) {
	if build := p.Release.Parsed.Build(); build != "" {
		p.Path(p.Release.Path, "version %s has the build part %s", p.Release.Version, build)
	}
}

// largeFile is what a line of 5 Mbit/s carries in 30 seconds, in bytes.
const largeFile = 20 << 20

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO020", Name: "file-size", Since: "v0.1.0",
	Title:    "Files are small enough to be fetched in 30 seconds",
	Severity: lint.Info, Proof: lint.Practice,
	Source: "clusterctl client/repository/repository_gitlab.go, getFile",
	Why:    "Clusterctl fetches a file in one piece, from GitLab within 30 seconds, and keeps it in memory.",
	Fix:    "Leave out what clusterctl does not need.",
	Scope:  lint.ScopeRelease, Check: fileSize,
})

func fileSize(p *lint.Pass) {
	for _, a := range p.Release.Artifacts {
		if a.Size > largeFile && a.Kind() != layouts.Asset {
			p.Path(a.Path, "the file has %d MB", a.Size>>20)
		}
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO021", Name: "unreadable", Since: "v0.1.0",
	Title:    "Everything in a repository can be read",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/repository_local.go, GetFile",
	Why:    "Broken links, links that lead out of the folder, devices and pipes cannot be published or mirrored, so the copy is incomplete.",
	Fix:    "Replace it by the file that is meant, or remove it.",
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
	ID: "REPO022", Name: "config-unreadable", Since: "v0.1.0",
	Title:    "The clusterctl.yaml of a repository can be read",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/config/providers_client.go, List",
	Why:    "Every command that uses this configuration fails.",
	Fix:    "Write a list providers whose entries have name, type and url.",
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
