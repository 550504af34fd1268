package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var commentRules = &lint.Family{Prefix: "LINT", Title: "Suppression comments, and source trees"}

func onComment(p *lint.Pass, i *lint.Ignore, message string) {
	p.Report(lint.Finding{File: i.File, Pos: i.Pos, End: i.End, Source: i.Source, Message: message})
}

var _ = commentRules.Add(lint.Rule{
	ID: "LINT001", Name: "ignore-comment", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "A suppression comment should name rules and give a reason",
	Source: "clusterctl-repo, " + lint.IgnoreMark,
	Why:    "The comment has no effect. Without a reason, readers cannot tell whether it is still needed.",
	Fix:    "Write # " + lint.IgnoreMark + " RULE followed by the reason, or remove the comment.",
	Scope:  lint.ScopeComments, Check: func(p *lint.Pass) {
		for _, i := range p.Ignores {
			if len(i.Rules) == 0 {
				onComment(p, i, "the comment names no rule")
				continue
			}
			for _, id := range i.Rules {
				if !p.Known(lint.NormalizeID(id)) {
					onComment(p, i, "the comment names the unknown rule "+id)
				}
			}
			if i.Reason == "" {
				onComment(p, i, "the comment does not say why "+strings.Join(i.Rules, ", ")+" does not matter here")
			}
		}
	},
})

var _ = commentRules.Add(lint.Rule{
	ID: "LINT002", Name: "ignore-unused", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "A suppression comment should be needed",
	Source: "clusterctl-repo, " + lint.IgnoreMark,
	Why:    "The comment no longer suppresses a finding here, but it would hide the next one.",
	Fix:    "Remove the rule from the comment, or the whole comment.",
	Scope:  lint.ScopeComments, Check: func(p *lint.Pass) {
		for _, i := range p.Ignores {
			for _, id := range i.Rules {
				if id := lint.NormalizeID(id); i.Reason != "" && p.Known(id) && p.Ran(id) && !i.Used(id) {
					onComment(p, i, "the comment suppresses no finding of "+id+" here")
				}
			}
		}
	},
})

var _ = commentRules.Add(lint.Rule{
	ID: "LINT003", Name: "source-builds", Severity: lint.Error, Proof: lint.Contract,
	Title:  "A source tree must build",
	Source: "kustomize api/krusty, Kustomizer.Run; provider contract, section Components YAML",
	Why:    "Users get no release, and lint does not check the rest of the tree.",
	Fix:    "Correct the file; clusterctl-repo build shows the same message.",
	Scope:  lint.ScopeComments, Check: func(*lint.Pass) {}, // reported before there is anything to check, see lint.Found
})

var _ = commentRules.Add(lint.Rule{
	ID: "LINT004", Name: "kustomize-deprecated", Severity: lint.Info, Proof: lint.Practice,
	Title:  "Kustomizations use no fields that kustomize deprecates",
	Source: "kustomize api/types, Kustomization.CheckDeprecatedFields",
	Why:    "A later version of kustomize ignores or refuses the fields, and each build warns about them until then.",
	Fix:    `Run "kustomize edit fix" in each folder, with --vars for vars, and compare what "kustomize build" prints before and after.`,
	Scope:  lint.ScopeKustomizations, Check: deprecatedFields,
})

// deprecatedFields makes one finding for a tree, at the first such field: one command
// fixes them all.
func deprecatedFields(p *lint.Pass) {
	var fields, others []string
	var first *lint.Finding
	for _, stream := range p.Kustomizations {
		var found *lint.Finding
		for _, d := range stream.Docs {
			for _, f := range d.Root.Fields() {
				instead, ok := layouts.DeprecatedKustomizeFields[f.Name]
				if !ok || f.Value.Is(yamldoc.Null) {
					continue
				}
				if field := f.Name + " (use " + instead + ")"; !slices.Contains(fields, field) {
					fields = append(fields, field)
				}
				if found == nil {
					at := lint.At(&lint.File{Raw: d.File}, d, f.Key(), "")
					found = &at
				}
			}
		}
		switch {
		case found == nil:
		case first == nil:
			first = found
		default:
			others = append(others, stream.File.Name)
		}
	}
	if first == nil {
		return
	}
	verb := "is"
	if len(fields) > 1 {
		verb = "are"
	}
	first.Object = ""
	first.Message = fmt.Sprintf("%s %s deprecated in kustomize", phrase.And(fields), verb)
	switch few := phrase.Few(others, 3); len(others) {
	case 0:
	case 1:
		first.Message += "; " + few + " has such fields too"
	default:
		first.Message += "; " + few + " have such fields too"
	}
	p.Report(*first)
}

var _ = commentRules.Add(lint.Rule{
	ID: "LINT005", Name: "definition-unlisted", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Kustomizations should list all definitions that the controller and templates need",
	Source: "reports of users of cluster-api-provider-aws and cluster-api-provider-outscale",
	Why:    "Releases lack the CustomResourceDefinition that was generated, and the controller that reconciles its objects fails.",
	Fix:    "Add the file to resources, or remove it if the kind is not in use.",
	Scope:  lint.ScopeKustomizations, Check: definitionUnlisted,
})

// definitionUnlisted looks at the definitions that no kustomization lists and no release has: of
// kinds that the components speak of, or of a template for one of their kinds.
func definitionUnlisted(p *lint.Pass) {
	var components strings.Builder
	for _, provider := range p.Repository.Providers {
		for _, r := range provider.Releases {
			if c := r.Components(); c != nil {
				text, _ := c.Text()
				components.WriteString(text)
			}
		}
	}
	text := components.String()
	has := func(format string, args ...any) bool {
		return strings.Contains(text, fmt.Sprintf(format, args...)+"\n")
	}
	for _, stream := range p.Kustomizations {
		for _, d := range stream.Docs {
			names := d.Root.Get("spec", "names")
			kind, plural := names.Get("kind"), names.Get("plural").Str()
			base, template := strings.CutSuffix(kind.Str(), "Template")
			if plural != "" && !has("  name: %s", d.Root.Get("metadata", "name").Str()) &&
				(has("  - %s", plural) || template && has("    kind: %s", base)) {
				p.Report(lint.At(&lint.File{Raw: d.File}, d, kind, "no kustomization lists this definition of %s, so the release lacks it", kind.Str()))
			}
		}
	}
}

var _ = commentRules.Add(lint.Rule{
	ID: "LINT006", Name: "webhooks-merged", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Webhooks of one configuration should have different names",
	Source: "cluster-api-provider-openstack issue 1238; kustomize, strategic merge with the key name",
	Why:    "Releases silently lack webhooks, because kustomize makes one of those with the same name when it applies a patch. Without a patch, the API server refuses the configuration.",
	Fix:    "Give each webhook another name in its marker, for example with the version, and generate the manifest again.",
	Scope:  lint.ScopeKustomizations, Check: webhooksMerged,
})

func webhooksMerged(p *lint.Pass) {
	for _, stream := range p.Kustomizations {
		for _, d := range stream.Docs {
			first, again := map[string]*yamldoc.Node{}, []*yamldoc.Node(nil)
			for _, w := range d.Root.Get("webhooks").List() {
				n := w.Get("name")
				if name := n.Str(); first[name] != nil {
					again = append(again, n)
				} else if name != "" {
					first[name] = n
				}
			}
			if len(again) == 0 {
				continue
			}
			more := ""
			if len(again) > 1 {
				more = ", and " + phrase.Count(len(again)-1, "other") + " repeat a name too"
			}
			p.Report(lint.At(&lint.File{Raw: d.File}, d, again[0], "the webhook on line %d has the same name%s", d.Pos(first[again[0].Str()]).Line, more))
		}
	}
}
