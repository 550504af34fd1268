package main

import (
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/build"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/extension"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/lint"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/look"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/publish"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/root"
)

// program is what a user can start: all verbs, in the order of its help.
var program = root.Program{Flags: root.VersionFlag, Verbs: []root.Group{
	{Title: "Make and publish releases:", Verbs: []root.Verb{
		build.InitCommand,
		build.Command,
		publish.ReleaseCommand,
		publish.Command,
		mirror.Command,
	}},
	{Title: "Check and look at releases:", Verbs: []root.Verb{
		lint.Command,
		look.RenderCommand,
		look.VarsCommand,
		look.ImagesCommand,
		look.DiffCommand,
		look.MovePlanCommand,
		look.ConfigCommand,
		look.ContractCommand,
		extension.Command,
		lint.RulesCommand,
		lint.ExplainCommand,
	}},
	{Verbs: []root.Verb{
		root.SchemaCommand,
		root.ManCommand,
		root.VersionCommand,
	}},
}}
