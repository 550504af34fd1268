package text

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

var commentRules = &lint.Family{Prefix: "LINT", Title: "Comments that silence rules"}

func onComment(p *lint.Pass, i *lint.Ignore, message string) {
	p.Report(lint.Finding{File: i.File, Pos: i.Pos, End: i.End, Source: i.Source, Message: message})
}

var _ = commentRules.Add(lint.Rule{
	ID: "LINT001", Name: "ignore-comment", Since: "v0.1.0",
	Title:    "A comment that silences rules names them and says why",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "clusterctl-repo, " + lint.IgnoreMark,
	Why:    "The comment has no effect. A reader who does not know the reason cannot tell whether it still holds.",
	Fix:    "Write # " + lint.IgnoreMark + " RULE and the reason.",
	Scope:  lint.ScopeComments, Check: ignoreComment,
})

func ignoreComment(p *lint.Pass) {
	for _, i := range p.Ignores {
		if len(i.Rules) == 0 {
			onComment(p, i, "the comment names no rule")
			continue
		}
		for _, id := range i.Rules {
			if !p.Known(lint.NormalizeID(id)) {
				onComment(p, i, "there is no rule "+id)
			}
		}
		if i.Reason == "" {
			onComment(p, i, "the comment does not say why "+strings.Join(i.Rules, ", ")+" does not matter here")
		}
	}
}

var _ = commentRules.Add(lint.Rule{
	ID: "LINT002", Name: "ignore-unused", Since: "v0.1.0",
	Title:    "A comment that silences a rule is needed",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "clusterctl-repo, " + lint.IgnoreMark,
	Why:    "Nothing is silenced here any more, but the next fault in this place would be.",
	Fix:    "Remove the rule from the comment, or the comment.",
	Scope:  lint.ScopeComments, Check: ignoreUnused,
})

var _ = commentRules.Add(lint.Rule{
	ID: "LINT003", Name: "source-builds", Since: "v0.1.0",
	Title:    "A source tree can be built",
	Severity: lint.Error, Proof: lint.Contract,
	Source: "kustomize api/krusty, Kustomizer.Run; provider contract, section Components YAML",
	Why:    "Without the components there is no release, and the rest of the tree is not checked.",
	Fix:    "Correct the file; clusterctl-repo build gives the same message.",
	Scope:  lint.ScopeComments, Check: func(*lint.Pass) {}, // reported before there is anything to check, see lint.Unbuilt
})

func ignoreUnused(p *lint.Pass) {
	for _, i := range p.Ignores {
		for _, id := range i.Rules {
			if id := lint.NormalizeID(id); i.Reason != "" && p.Known(id) && p.Ran(id) && !i.Used(id) {
				onComment(p, i, "there is no finding of "+id+" here")
			}
		}
	}
}
