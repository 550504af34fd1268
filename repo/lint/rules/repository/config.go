package repository

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// entry is one provider of the clusterctl.yaml in the root of a repository.
type entry struct {
	layouts.Provider
	doc                 *yamldoc.Document
	name, typ, url, all *yamldoc.Node
}

// entries returns the providers of clusterctl.yaml, none if there is no such
// file or it cannot be read.
func entries(p *lint.Pass) []entry {
	if p.Config == nil || len(p.Config.Docs().Docs) == 0 {
		return nil
	}
	d := p.Config.Docs().Docs[0]
	var out []entry
	for _, n := range setting(d.Root, "providers").List() {
		e := entry{doc: d, all: n, name: setting(n, "name"), typ: setting(n, "type"), url: setting(n, "url")}
		e.Provider = layouts.Provider{Type: layouts.ProviderType(settingText(e.typ)), Name: settingText(e.name)}
		out = append(out, e)
	}
	return out
}

// setting returns the value of a key in clusterctl.yaml, where case does not
// count.
func setting(n *yamldoc.Node, key string) *yamldoc.Node {
	for _, f := range n.Fields() {
		if strings.EqualFold(f.Name, key) {
			return f.Value
		}
	}
	return nil
}

// settingText returns a text, or a number as it is written.
func settingText(n *yamldoc.Node) string {
	if n.Is(yamldoc.Int) {
		return n.Text()
	}
	return n.Str()
}

// known reports whether the type and the name are sound, so that the rest can be
// judged.
func (e entry) known() bool { return len(e.Problems()) == 0 }

// location takes the URL apart as clusterctl does. If it cannot be used, rule
// says which rule explains why. Without both it is not known, because the URL
// has variables.
func (e entry) location() (l layouts.Location, rule, message, help string) {
	raw := e.url.Str()
	t, err := vars.Parse([]byte(raw))
	switch {
	case raw == "" || !e.known():
		return l, "", "", ""
	case err != nil:
		var at *vars.Error
		errors.As(err, &at)
		return l, "REPO013", "clusterctl cannot read the variables in this URL: " + at.Err.Error(), ""
	case len(t.Refs()) > 0:
		return l, "", "", ""
	}
	l, problem := e.URLProblem(raw)
	return l, problem.Rule, problem.Message, problem.Help
}

var _ = nameRules.Add(lint.Rule{
	ID: "NAME003", Name: "provider-type", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A provider type must be one of the seven that clusterctl knows",
	Source: "clusterctl client/config/providers_client.go, validateProvider",
	Why:    "Every command that reads clusterctl.yaml fails because of this one entry.",
	Fix:    "Write the type in full, for example InfrastructureProvider.",
	Scope:  lint.ScopeRepository, Check: reportNames,
})

// reportNames reports the entries of clusterctl.yaml whose type or name breaks
// this rule.
func reportNames(p *lint.Pass) {
	for _, e := range entries(p) {
		for _, problem := range e.Problems() {
			if problem.Rule != p.Rule.ID {
				continue
			}
			n := e.name
			if problem.Rule == "NAME003" {
				n = e.typ
			}
			p.Report(lint.At(p.Config, e.doc, cmp.Or(n, e.all), "%s", problem.Message))
		}
	}
}

var _ = repositoryRules.AddAll(lint.Rule{
	ID: "REPO006", Name: "local-path", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The URL of a folder must be absolute and name a file",
	Source: "clusterctl client/repository/repository_local.go, newLocalRepository",
	Why:    "clusterctl does not find the release: it takes label, version and file from the last three parts of the path, and resolves neither ~ nor relative paths.",
	Fix:    "Write file:///folder/infrastructure-foo/v1.0.0/infrastructure-components.yaml.",
	Scope:  lint.ScopeRepository, Check: reportURLs,
}, lint.Rule{
	ID: "REPO009", Name: "github-url", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The URL of a GitHub release must have the form that clusterctl expects",
	Source: "clusterctl client/repository/repository_github.go, NewGitHubRepository",
	Why:    `clusterctl does not find the release. The link of a download button is different: clusterctl would look for a release named "download".`,
	Fix:    "Write https://github.com/OWNER/REPOSITORY/releases/latest/FILE, or a tag instead of latest.",
	Scope:  lint.ScopeRepository, Check: reportURLs,
}, lint.Rule{
	ID: "REPO010", Name: "gitlab-url", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The URL of a GitLab package must have the form that clusterctl expects",
	Source: "clusterctl client/repository/client.go, repositoryFactory; repository_gitlab.go, NewGitLabRepository",
	Why:    `clusterctl does not recognize the URL: the host must begin with "gitlab." and the path must have exactly nine parts, so a server below a sub-path cannot be used.`,
	Fix:    "Write https://gitlab.HOST/api/v4/projects/ID/packages/generic/PACKAGE/VERSION/FILE, with %2F for every slash in the project.",
	Scope:  lint.ScopeRepository, Check: reportURLs,
}, lint.Rule{
	ID: "REPO011", Name: "gitlab-version", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The URL of a GitLab package must name a version",
	Source: "clusterctl client/repository/repository_gitlab.go, GetVersions",
	Why:    `clusterctl fails, because it does not list the versions of a GitLab package and treats "latest" as a version.`,
	Fix:    "Name a version, and change it with every release.",
	Scope:  lint.ScopeRepository, Check: reportURLs,
}, lint.Rule{
	ID: "REPO012", Name: "url-scheme", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A provider URL must be that of a folder, GitHub or GitLab",
	Source: "clusterctl client/repository/client.go, repositoryFactory",
	Why:    "clusterctl cannot read the release: it supports neither http nor OCI registries nor other servers.",
	Fix:    "Mirror the release into a folder or a GitLab package, and use that URL.",
	Scope:  lint.ScopeRepository, Check: reportURLs,
})

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO013", Name: "url-variable", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Variables in a provider URL must be valid",
	Source: "clusterctl client/config/providers_client.go, List",
	Why:    "Every command that lists providers fails, because clusterctl replaces variables in provider URLs.",
	Fix:    "Write ${NAME}, or ${NAME:-default} with a default.",
	Scope:  lint.ScopeRepository, Check: reportURLs,
})

// reportURLs reports the URLs of clusterctl.yaml that this rule explains.
func reportURLs(p *lint.Pass) {
	for _, e := range entries(p) {
		_, rule, message, help := e.location()
		if rule == p.Rule.ID {
			f := lint.At(p.Config, e.doc, e.url, "%s", message)
			f.Fix = help
			p.Report(f)
		}
	}
}

var _ = repositoryRules.Add(lint.Rule{
	ID: "REPO026", Name: "image-overrides", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Image overrides in clusterctl.yaml must be readable and make valid images",
	Source: "clusterctl client/config/imagemeta_client.go, getImageMeta and ApplyToImage",
	Why:    "clusterctl init fails, or pods do not start: clusterctl does not check the images that it makes, and ignores what it does not know.",
	Fix:    "Write images as a mapping from all, cert-manager, LABEL or LABEL/IMAGE, such as infrastructure-foo/foo-controller, to a repository, name or tag.",
	Scope:  lint.ScopeRepository, Check: imageOverrides,
})

// madeWith are images that clusterctl makes with a part of an override.
var madeWith = map[string]func(part string) string{
	"repository": func(s string) string { return strings.TrimSuffix(s, "/") + "/image:v1" },
	"name":       func(s string) string { return "registry.example.com/" + s + ":v1" },
	"tag":        func(s string) string { return "registry.example.com/image:" + s },
}

func imageOverrides(p *lint.Pass) {
	if p.Config == nil || len(p.Config.Docs().Docs) == 0 {
		return
	}
	d := p.Config.Docs().Docs[0]
	report := func(n *yamldoc.Node, severity lint.Severity, format string, args ...any) {
		p.Report(lint.At(p.Config, d, n, format, args...).As(severity))
	}
	images := setting(d.Root, "images")
	overrides := slices.Clone(images.Fields())
	for _, item := range images.List() { // clusterctl joins the mappings
		overrides = append(overrides, item.Fields()...)
	}
	mapping := func(f yamldoc.Field) bool { return f.Value.Is(yamldoc.Map) || f.Value.Is(yamldoc.Null) }
	if images != nil && images.Kind < yamldoc.Map && !images.Is(yamldoc.Null) ||
		images.Is(yamldoc.List) && len(phrase.Only(overrides, mapping)) < max(len(overrides), len(images.List())) {
		report(images, lint.Error, "images is %s, not a mapping", images.Kind.Noun())
		return
	}
	tagged := map[string]bool{} // LABEL/IMAGE with a tag of its own, in lower case
	for _, f := range overrides {
		for _, part := range f.Value.Fields() {
			if strings.EqualFold(part.Name, "tag") {
				tagged[strings.ToLower(f.Name)] = true
			}
		}
	}
	for _, f := range overrides {
		component, _, one := strings.Cut(strings.ToLower(f.Name), "/")
		if _, err := layouts.ParseLabel(component); err != nil && component != layouts.CertManager.Name && (component != "all" || one) {
			report(f.Key(), lint.Warning, "clusterctl ignores images.%s, which is neither all, cert-manager nor the label of a provider", f.Name)
			continue
		}
		if !mapping(f) {
			report(f.Value, lint.Error, "images.%s is %s, not a mapping", f.Name, f.Value.Kind.Noun())
		}
		for _, part := range f.Value.Fields() {
			image, known := madeWith[strings.ToLower(part.Name)]
			switch v := part.Value; {
			case !known:
				report(part.Key(), lint.Warning, "clusterctl ignores %s in images.%s", part.Name, f.Name)
			case v.Kind >= yamldoc.Map:
				report(v, lint.Error, "%s of images.%s is %s, not a string", part.Name, f.Name, v.Kind.Noun())
			case v.Is(yamldoc.Float) && strings.HasSuffix(v.Text(), "0") || v.Is(yamldoc.Bool):
				report(v, lint.Warning, "without quotes clusterctl reads %s as %s and writes it differently", v.Text(), v.Kind.Noun())
			case v.Text() != "":
				if _, err := imageref.Parse(image(v.Text())); err != nil {
					report(v, lint.Error, "%s %q of images.%s does not make a valid image: %v", part.Name, v.Text(), f.Name, err)
				} else if all := imagesOf(p, component, tagged); strings.EqualFold(part.Name, "tag") && !one && len(all) > 1 {
					report(v, lint.Warning, "images.%s gives the same tag to %s", f.Name, phrase.Few(all, 5))
				}
			}
		}
	}
}

var imageLine = phrase.Pattern(`(?m)^[ \t-]*image:[ \t]+["']?([^\s"'#{]+)`)

// imagesOf names the images in the newest components of a provider, or of all, without
// their tags, but for those with a tag of their own. Other versions may have images of other
// names: clusterctl installs one.
func imagesOf(p *lint.Pass, label string, tagged map[string]bool) []string {
	names := map[string]bool{}
	for _, provider := range p.Repository.Providers {
		n := len(provider.Releases)
		if n == 0 || label != "all" && label != provider.Label() {
			continue
		}
		if c := provider.Releases[n-1].Components(); c != nil {
			text, _ := c.Text()
			for _, found := range imageLine().FindAllStringSubmatch(text, -1) {
				name, _, _ := imageref.Split(found[1])
				own := tagged[strings.ToLower(provider.Label()+"/"+path.Base(name))] || label == "all" && tagged[provider.Label()]
				if !own {
					names[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
