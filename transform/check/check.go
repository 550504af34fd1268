package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/diff"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// Options of a check. The zero value applies all rules for the newest Cluster API.
type Options struct {
	// Source says how source trees are built, and where the configuration is.
	Source transform.Options
	// Rules to apply; none means rules.All.
	Rules []*lint.Rule
	// Profile is the Cluster API to judge for. Roles of the configuration are
	// applied on top.
	Profile contract.Profile
	// Approve is called with the releases of a folder before they are read, if it
	// is not nil. It may put others in their place; its errors are returned as they
	// are.
	Approve func(ctx context.Context, r *repo.Repository) error
	// Last returns with which releases those to check are compared, before they are
	// checked; nil compares with none. Its errors are returned as they are.
	Last func(ctx context.Context, checked []*repo.Release) ([]Succession, error)
	// Temp is the folder for temporary files of Since; empty means that of the
	// operating system.
	Temp string
	// Images asks registries for images; see lint.Options.
	Images func([]lint.ImageName) []lint.Image
	// Watch is told how many files have been judged; see lint.Options.
	Watch func(done, all int)
	// Partial says that there may be versions that a folder does not hold.
	Partial bool
	// With are releases of providers that the files use; see lint.Options.
	With []*repo.Release
	// Foreign says that the releases are those of others: comments in them suppress
	// no errors, and no configuration holds but that of Source.
	Foreign bool
	// URL is how the releases are named, if that is a URL for clusterctl.
	URL string
	// Unfound says what other readers of a registry do not find there.
	Unfound []string
	// edits keeps what the edits of findings need.
	edits bool
}

// Succession are the last releases of a source, and the next ones, which must not have
// less.
type Succession struct{ Last, Next []*repo.Release }

// Result is what was found in one target.
type Result struct {
	// Guessed is set if nothing tells which version the releases are.
	Guessed bool
	Report  *lint.Report
	// Repository holds the releases that were checked; nil if a source tree
	// cannot be built, which is then in the report.
	Repository *repo.Repository
}

// Folder checks a folder with finished releases, or a source tree. Why a tree
// cannot be built is a finding if its place is known, and otherwise a
// *transform.BuildError. A wrong configuration or a folder that is neither is a
// *transform.InputError. For finished releases the nearest configuration above them
// holds too, and one that lies with them as far as lint.Own lets it.
func Folder(ctx context.Context, dir string, o Options) (*Result, error) {
	c, file, err := transform.LoadConfig(dir, o.Source.Config)
	with := file != "" && o.Source.Config == ""
	if with && o.Foreign {
		o.note("%s is not applied to the releases next to it; --config applies it", file)
		c, err = &config.Config{}, nil
	}
	if err != nil {
		return nil, err
	}
	opts, err := o.lint(c)
	if err != nil {
		return nil, err
	}
	t, err := transform.Resolve(ctx, dir, o.Source)
	if failed, ok := errors.AsType[*transform.BuildError](err); ok {
		if r := unbuilt(failed, opts); r != nil {
			return &Result{Report: r}, nil
		}
	}
	if err == nil && o.Approve != nil {
		err = o.Approve(ctx, t.Repository)
	}
	switch {
	case err != nil || t.Build != nil || o.Foreign:
	case with:
		opts, err = o.own(c, file)
	case file == "":
		opts, c, err = o.above(dir, t.Repository, opts)
	}
	if err != nil {
		return nil, err
	}
	return o.resolved(ctx, t, opts, c)
}

// own makes the configuration of a finished repository one of its files, whose
// author must not decide which errors count.
func (o *Options) own(c *config.Config, file string) (lint.Options, error) {
	out, err := o.lint(&config.Config{})
	if err != nil {
		return out, err
	}
	if len(c.Roles) > 0 {
		o.note("the roles in %s are not applied to the releases next to it; --config applies them", file)
	}
	out.Own.File = file
	out.Own.Severity, err = Severities(c, out.Rules...)
	return out, err
}

// holds reports whether a folder is that of a repository, or of a provider in it.
func holds(dir string, r *repo.Repository) bool {
	at, err := filepath.Abs(dir)
	return err == nil && slices.ContainsFunc(r.Providers, func(p *repo.Provider) bool {
		return slices.ContainsFunc(p.Releases, func(r *repo.Release) bool {
			label, err := filepath.Abs(filepath.Join(filepath.FromSlash(r.Path), ".."))
			return err == nil && (label == at || filepath.Dir(label) == at)
		})
	})
}

// above adds what a configuration above finished releases says of them: all of it if it
// is that of their source tree, and what lint.Own lets it if it lies in the repository.
func (o *Options) above(dir string, r *repo.Repository, opts lint.Options) (lint.Options, *config.Config, error) {
	c, file, err := transform.ConfigAbove(dir)
	if file == "" || err != nil {
		return opts, c, err
	}
	if holds(filepath.Dir(file), r) {
		opts, err = o.own(c, file)
		return opts, c, err
	}
	declared := phrase.List(c.Providers, func(p config.Provider) string { return p.Label() })
	for _, p := range r.Providers {
		if len(declared) > 0 && !slices.Contains(declared, p.Label()) {
			if len(c.Rules)+len(c.Roles) > 0 {
				o.note("%s is not applied to %s, because it does not list %s; --config applies it to everything", file, dir, p.Label())
			}
			return opts, &config.Config{}, nil
		}
	}
	opts, err = o.lint(c)
	return opts, c, err
}

// Build checks what a source tree was made into.
func Build(ctx context.Context, b *transform.Build, o Options) (*Result, error) {
	opts, err := o.lint(b.Config)
	if err != nil {
		return nil, err
	}
	return o.resolved(ctx, &transform.Resolved{Repository: b.Repository(""), Partial: true, Build: b}, opts, b.Config)
}

// Deprecations are the findings about fields of kustomizations that kustomize warns
// of, of a tree that is built and not checked.
func Deprecations(ctx context.Context, b *transform.Build) (*lint.Report, error) {
	o := Options{Rules: []*lint.Rule{rules.ByID("LINT004")}}
	opts, err := o.lint(b.Config)
	if err != nil {
		return nil, err
	}
	opts.Kustomizations = b.Kustomizations
	opts.Sources = func() []*yamldoc.File {
		return phrase.List(b.Kustomizations, func(k *yamldoc.Stream) *yamldoc.File { return k.File })
	}
	return lint.Run(ctx, &repo.Repository{}, opts)
}

// Repository checks releases from anywhere. Partial says that there may be
// versions that r does not hold.
func Repository(ctx context.Context, r *repo.Repository, partial bool, o Options) (*Result, error) {
	opts, c, err := o.given()
	if err != nil {
		return nil, err
	}
	return o.resolved(ctx, &transform.Resolved{Repository: r, Partial: partial}, opts, c)
}

// given returns the options of a run under the configuration that is named, if one is.
func (o *Options) given() (lint.Options, *config.Config, error) {
	c := &config.Config{}
	if o.Source.Config != "" {
		var err error
		if c, _, err = transform.LoadConfig("", o.Source.Config); err != nil {
			return lint.Options{}, nil, err
		}
	}
	opts, err := o.lint(c)
	return opts, c, err
}

func (o *Options) resolved(ctx context.Context, t *transform.Resolved, opts lint.Options, c *config.Config) (*Result, error) {
	opts.Partial, opts.Guessed = t.Partial || o.Partial, t.Guessed
	var last []Succession
	if o.Last != nil {
		var err error
		releases := phrase.Flat(t.Repository.Providers, func(p *repo.Provider) []*repo.Release { return p.Releases })
		if last, err = o.Last(ctx, releases); err != nil {
			return nil, err
		}
	}
	if t.Build != nil {
		opts = traced(t.Build.Tracer, opts)
		opts.Kustomizations = t.Build.Kustomizations
	}
	r, err := lint.Run(ctx, t.Repository, opts)
	if err != nil {
		return nil, err
	}
	if t.Build != nil && t.Build.Problem != nil {
		more := unbuilt(t.Build.Problem, opts)
		if more == nil {
			return nil, t.Build.Problem
		}
		r.Join(more)
	}
	if t.Build != nil {
		r.Join(unlisted(t.Build, opts))
	}
	r.Join(o.unusable(t.Repository, opts))
	r.Join(found("REPO018", opts, lint.Warning, phrase.List(o.Unfound, func(why string) lint.Fault {
		return lint.Fault{File: t.Repository.Path, Message: why, Fix: "Add a layer with the title and the same content, or publish the release with clusterctl-repo, which does."}
	})...))
	for _, s := range last {
		if err := lost(ctx, s, t.Guessed, c.Removed, opts, r); err != nil {
			return nil, err
		}
	}
	return &Result{Report: r, Repository: t.Repository, Guessed: t.Guessed}, nil
}

// unusable says why clusterctl cannot use the URL of the releases. Those of registries are
// for others.
func (o *Options) unusable(r *repo.Repository, opts lint.Options) *lint.Report {
	if o.URL == "" || strings.HasPrefix(o.URL, "oci:") || len(r.Providers) != 1 {
		return &lint.Report{}
	}
	_, problem := r.Providers[0].URLProblem(o.URL)
	most := lint.Error
	if slices.Contains([]string{"REPO009", "REPO010", "REPO012"}, problem.Rule) {
		most = lint.Warning // other programs can, as this one shows
	}
	return found(problem.Rule, opts, most, lint.Fault{File: o.URL, Message: problem.Message, Fix: problem.Help})
}

// found are the findings of a rule, if it is applied, with a severity of at most most.
func found(id string, opts lint.Options, most lint.Severity, faults ...lint.Fault) *lint.Report {
	i := slices.IndexFunc(opts.Rules, func(rule *lint.Rule) bool { return rule.ID == id })
	if i < 0 {
		return &lint.Report{}
	}
	out := lint.Found(opts.Rules[i], faults, opts.Severity)
	for j := range out.Findings {
		out.Findings[j].Severity = min(out.Findings[j].Severity, most)
	}
	return out
}

// unlisted says that the Go module proxy does not list the version of a build, because of the
// path of the module. Modules of other servers than GitHub are not asked for.
func unlisted(b *transform.Build, opts lint.Options) *lint.Report {
	module, at := b.Module()
	host, _, _ := strings.Cut(module, "/")
	if host != "github.com" && !strings.HasSuffix(host, "k8s.io") {
		return &lint.Report{}
	}
	for _, r := range b.Releases {
		v, err := layouts.ParseVersion(r.Version)
		if suffix := fmt.Sprintf("/v%d", v.Major()); err == nil && v.Major() > 1 && !strings.HasSuffix(module, suffix) {
			return found("REPO025", opts, lint.Error, lint.Fault{File: at.File, Pos: at.Pos,
				Message: fmt.Sprintf("the module %s does not end with %s, so the Go module proxy does not list %s", module, suffix, r.Version)})
		}
	}
	return &lint.Report{}
}

// lost adds what the releases lost against the last ones to a report, but for what is
// meant to be gone.
func lost(ctx context.Context, s Succession, guessed bool, removed []string, opts lint.Options, r *lint.Report) error {
	losses, err := diff.Losses(ctx, s.Last, s.Next)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.Failures = append(r.Failures, err)
	}
	losses = phrase.Only(losses, func(l diff.Loss) bool {
		return !slices.Contains(removed, l.Name) && !(guessed && l.Of == diff.LostImage) // whose tags follow the version
	})
	r.Join(lint.Found(rules.ByID("REPO024"), phrase.List(losses, func(l diff.Loss) lint.Fault {
		return lint.Fault{File: l.Path, Pos: l.Pos, Object: l.Name, Message: l.Message, Fix: fmt.Sprintf("%s. If this is intended, list %q under removed in %s.", strings.ToUpper(l.Fix[:1])+l.Fix[1:], l.Name, config.FileName)}
	}), opts.Severity))
	return nil
}

// lint returns the options of a run under a configuration.
func (o *Options) lint(c *config.Config) (lint.Options, error) {
	out := lint.Options{Rules: o.Rules, Profile: o.Profile, Edits: o.edits, Foreign: o.Foreign, Images: o.Images, Watch: o.Watch, With: o.With}
	if out.Rules == nil {
		out.Rules = rules.All
	}
	var err error
	if out.Severity, err = Severities(c, out.Rules...); err != nil {
		return out, err
	}
	roles, err := rolesOf(c)
	if roles != nil {
		out.Profile.Roles = roles
	}
	return out, err
}

func wrong(err error) error { return &transform.InputError{Err: err} }

// Severities are those that a configuration gives to rules, by ID: to those that are
// known, and those of the catalogue.
func Severities(c *config.Config, known ...*lint.Rule) (map[string]lint.Severity, error) {
	out := map[string]lint.Severity{}
	for id, word := range c.Rules {
		rule := rules.ByID(id)
		if i := slices.IndexFunc(known, func(r *lint.Rule) bool { return r.ID == lint.NormalizeID(id) }); i >= 0 {
			rule = known[i]
		}
		if rule == nil {
			return nil, wrong(c.Errorf("rules."+id, "unknown rule %s%s", id, rules.DidYouMean(id)))
		}
		s, err := lint.ParseSeverity(string(word))
		if err != nil {
			return nil, wrong(c.Errorf("rules."+id, "%w", err))
		}
		out[rule.ID] = s
	}
	return out, nil
}

func rolesOf(c *config.Config) (map[string]contract.Role, error) {
	var out map[string]contract.Role
	for kind, name := range c.Roles {
		role, err := contract.ParseRole(name)
		if err != nil {
			return nil, wrong(c.Errorf("roles."+kind, "%w", err))
		}
		if out == nil {
			out = map[string]contract.Role{}
		}
		out[kind] = role
	}
	return out, nil
}

// unbuilt reports why a source tree cannot be built as findings, if the places
// are known.
func unbuilt(e *transform.BuildError, opts lint.Options) *lint.Report {
	faults := phrase.List(e.Places(), func(at *yamldoc.Error) lint.Fault {
		return lint.Fault{File: at.File, Pos: at.Pos, Message: at.Err.Error()}
	})
	if len(faults) == 0 {
		return nil
	}
	return lint.Found(rules.ByID("LINT003"), faults, opts.Severity)
}

// traced makes findings in built files point to the source tree.
func traced(t *transform.Tracer, opts lint.Options) lint.Options {
	if t == nil {
		return opts
	}
	opts.Sources = t.Files
	opts.Trace = func(f *lint.Finding, d *yamldoc.Document, n *yamldoc.Node, start, end int) {
		s, ok := source(t, f, d, n, start, end)
		if !ok {
			return
		}
		if f.Edit != nil {
			f.Edit = moved(f, s)
		}
		f.File, f.Pos, f.End, f.Way = s.File, s.Pos, s.End, s.Way
		f.Source, f.SourceColumn = s.Text, s.Column
	}
	return opts
}

// source returns the place in the source tree that made what a finding is about.
func source(t *transform.Tracer, f *lint.Finding, d *yamldoc.Document, n *yamldoc.Node, start, end int) (transform.Source, bool) {
	switch {
	case d != nil:
		return t.Locate(f.File, d, n)
	case end > start:
		return t.LocateSpan(f.File, start, end)
	}
	return t.LocatePos(f.File, f.Pos)
}

// moved is the edit of a finding in a built file, made in the source file: only
// if it takes the place of the whole value there.
func moved(f *lint.Finding, s transform.Source) *lint.Edit {
	if f.Edit.Rename != "" || s.Stop == 0 || !s.Same {
		return nil
	}
	out := &lint.Edit{Start: s.Start, End: s.Stop, Text: f.Edit.Text}
	if f.Edit.Linted != "" {
		out.Linted = s.Data
	}
	return out
}
