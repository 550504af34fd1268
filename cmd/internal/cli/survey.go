package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/survey"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/fleet"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl/config"
	"github.com/clusterctl-repo/clusterctl-repo/transform/verdict"
)

// surveyFlags are the flags of survey.
type surveyFlags struct {
	newest, jobs int
	shard, state string
	fresh, allow bool
	out          outputs
}

func (a *app) surveyCommand() *cobra.Command {
	f := surveyFlags{out: outputs{formats: report.SurveyFormats}}
	cmd := &cobra.Command{
		Use:   "survey SOURCE",
		Short: "Look at many providers on one page",
		Long: `Checks the newest versions of many providers and shows them on one page: which
contracts they are ready for, findings, what an upgrade would do, images, and
versions without a release.

SOURCE is a clusterctl.yaml with a list of providers, a text file with the URL
of one release on each line, such as
https://github.com/OWNER/REPO/releases/latest/infrastructure-components.yaml,
a URL, or the folder of a repository.

What was checked is kept in --state, so that an interrupted run continues, and
the next one checks only what is new. A provider that cannot be read is on the
page with the reason, and the exit code is then 3.`,
		Example: `  # The providers of a management cluster
  clusterctl-repo survey ~/.config/cluster-api/clusterctl.yaml -o html=fleet.html

  # A mirror
  clusterctl-repo survey /srv/repository --newest 3

  # One of eight machines, and the page of all of them
  clusterctl-repo survey fleet.txt --shard 3/8 -o json=shard-3.json
  clusterctl-repo survey merge shard-*.json -o json=fleet.json -o html=fleet.html`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{takesTargets: "yes"},
		RunE:        func(cmd *cobra.Command, args []string) error { return a.survey(cmd.Context(), args[0], &f) },
	}
	fl := cmd.Flags()
	fl.IntVar(&f.newest, "newest", 2, "how many versions of each provider to check")
	fl.IntVar(&f.jobs, "jobs", 4, "how many providers to look at side by side")
	fl.StringVar(&f.shard, "shard", "", "survey only the part `I/N` of the providers, such as 3/8; job/8 in an Indexed Job of Kubernetes")
	fl.StringVar(&f.state, "state", "", "keep what was checked in this `file` (default: in the user's cache folder)")
	fl.BoolVar(&f.fresh, "fresh", false, "check everything again")
	allowFlag(cmd, &f.allow)
	f.out.flag(cmd)
	cmd.AddCommand(a.surveyMergeCommand())
	return cmd
}

func allowFlag(cmd *cobra.Command, allow *bool) {
	cmd.Flags().BoolVar(allow, "allow-failures", false, "exit with 0 although some providers cannot be read")
}

func (a *app) surveyMergeCommand() *cobra.Command {
	out := outputs{formats: report.SurveyFormats}
	var allow bool
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Join the shards of a survey to one page",
		Long: `Joins the shards of one survey, in JSON, to what a single run gives, byte for
byte. Shards that are missing, twice or of another survey are refused.`,
		Example: `  clusterctl-repo survey merge shard-*.json -o html=fleet.html`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			var shards []*fleet.Survey
			for _, name := range args {
				data, err := a.readFile(name)
				if err != nil {
					return usage(err)
				}
				s, err := report.ReadSurvey(name, data)
				if err != nil {
					return usage(err)
				}
				shards = append(shards, s)
			}
			whole, err := fleet.Merge(shards, args)
			if err != nil {
				return usage(err)
			}
			return a.surveyed(outs, whole, allow)
		},
	}
	allowFlag(cmd, &allow)
	out.flag(cmd)
	return cmd
}

func (a *app) survey(ctx context.Context, source string, f *surveyFlags) error {
	outs, err := f.out.parse()
	if err != nil {
		return err
	}
	shard, err := a.parseShard(f.shard)
	switch {
	case err != nil:
		return err
	case f.newest < 1:
		return usagef("--newest is %d; it must be at least 1", f.newest)
	case f.jobs < 1:
		return usagef("--jobs is %d; it must be at least 1", f.jobs)
	}
	subjects, err := a.subjects(ctx, source)
	if err != nil {
		return err
	}
	state, err := a.surveyState(source, f)
	if err != nil {
		return err
	}
	defer state.Close()
	if n := state.Known(); n > 0 {
		a.detail("%d releases were checked before", n)
	}
	identity, err := programIdentity()
	if err != nil {
		return err
	}
	o := check.Options{Profile: contract.DefaultProfile()}
	s, err := survey.Run(ctx, subjects, survey.Options{
		Newest: f.newest, Workers: f.jobs, Shard: shard, Program: programVersion(), Identity: identity, State: state,
		Judge: func(ctx context.Context, r *repo.Release) (fleet.Release, error) { return verdict.Of(ctx, r, o) },
		Done: func(p *fleet.Provider, done, all int) {
			if p.Failure != "" {
				a.say("%s: %s", p.Subject, p.Failure)
			}
			a.detail("%d of %d: %s", done, all, p.Subject)
		},
	})
	if err != nil {
		return err
	}
	return a.surveyed(outs, s, f.allow)
}

// surveyed prints a survey.
func (a *app) surveyed(outs []output, s *fleet.Survey, allow bool) error {
	err := a.write(outs, func(w io.Writer, format string, _ bool) error { return report.WriteSurvey(w, format, s) })
	if n := s.Failed(); err == nil && n > 0 && !allow {
		return &codeError{exitFailed, fmt.Errorf("%d of %d providers could not be surveyed; run the command again to try them once more", n, len(s.Providers))}
	}
	return err
}

// parseShard reads the value of --shard; nil for none. The index "job" is that of
// the pod of an Indexed Job, which Kubernetes counts from 0.
func (a *app) parseShard(text string) (*fleet.Shard, error) {
	if text == "" {
		return nil, nil
	}
	index, of, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	if index == "job" {
		value, _ := a.Env("JOB_COMPLETION_INDEX")
		if i, err1 = strconv.Atoi(value); err1 != nil || i < 0 {
			return nil, usagef("--shard %s needs JOB_COMPLETION_INDEX, which Kubernetes sets in the pods of an Indexed Job; it is %q", text, value)
		}
		i++
	}
	n, err2 := strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 1 || i > n {
		return nil, usagef("--shard is %q; it must be I/N with I from 1 to N, such as 3/8", text)
	}
	return &fleet.Shard{Index: i, Of: n}, nil
}

// surveyState opens the file of what was checked; nil if there is no place for it.
func (a *app) surveyState(source string, f *surveyFlags) (*survey.State, error) {
	name := f.state
	if name == "" {
		cache := a.cacheFolder()
		if cache == "" {
			return nil, nil
		}
		where := source
		if !isURL(source) {
			where = a.path(source)
		}
		sum := sha256.Sum256([]byte(where))
		name = filepath.Join(cache, "survey", fmt.Sprintf("%x-%s.jsonl", sum[:8], strings.ReplaceAll(f.shard, "/", "-of-")))
	}
	s, err := survey.OpenState(a.path(name), f.fresh)
	if err != nil {
		return nil, usagef("--state %s: %w", name, cause(err))
	}
	return s, nil
}

// subjects are the providers that a source names.
func (a *app) subjects(ctx context.Context, source string) ([]survey.Subject, error) {
	a.places(nil) // opened once, before they are used side by side
	if isURL(source) {
		one, err := a.subject(source, layouts.Provider{})
		return []survey.Subject{one}, err
	}
	info, err := os.Stat(a.path(source))
	switch {
	case err != nil:
		return nil, usagef("%s: %w", source, cause(err))
	case info.IsDir():
		return a.folderSubjects(ctx, source)
	}
	data, err := a.readFile(source)
	if err != nil {
		return nil, usage(err)
	}
	if ext := filepath.Ext(source); ext == ".yaml" || ext == ".yml" || ext == ".json" {
		return a.configSubjects(source, data)
	}
	var out []survey.Subject
	seen := map[string]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' || seen[line] {
			continue
		}
		seen[line] = true
		one, err := a.subject(line, layouts.Provider{})
		if err != nil {
			return nil, usagef("%s:%d:1: %w", source, i+1, err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, usagef("%s names no provider; write the URL of one release on each line", source)
	}
	return out, nil
}

// configSubjects are the providers of a clusterctl.yaml.
func (a *app) configSubjects(name string, data []byte) ([]survey.Subject, error) {
	c, err := clusterctlconfig.Read(name, data, a.Env)
	if err != nil {
		return nil, usage(err)
	}
	providers, err := c.Providers()
	if err != nil {
		return nil, usage(err)
	}
	var out []survey.Subject
	for _, p := range providers {
		one, err := a.subject(p.URL, p.Provider)
		if err != nil {
			return nil, usagef("%s: %s: %w", name, p.Label(), err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, usagef("%s lists no providers", name)
	}
	return out, nil
}

// folderSubjects are the providers of a repository.
func (a *app) folderSubjects(ctx context.Context, dir string) ([]survey.Subject, error) {
	r, err := folder.Open(ctx, a.short(a.path(dir)))
	if err != nil {
		return nil, err
	}
	var out []survey.Subject
	for _, p := range r.Providers {
		out = append(out, a.localSubject(p.Label(), filepath.Dir(a.path(filepath.FromSlash(p.Path))), p.Provider))
	}
	return out, nil
}

// localSubject is a provider in the folder of a repository.
func (a *app) localSubject(name, root string, p layouts.Provider) survey.Subject {
	return survey.Subject{Name: name, Provider: p, Local: true, From: func() (publish.Destination, error) {
		place, err := local.New(root)
		if err != nil {
			return nil, err
		}
		return place.Site().Of(p)
	}}
}

// subject is the provider at the URL of a release.
func (a *app) subject(raw string, p layouts.Provider) (survey.Subject, error) {
	if err := withoutSecret(raw); err != nil {
		return survey.Subject{}, err
	}
	l, err := layouts.ParseURL(raw, a.servers())
	if err != nil {
		return survey.Subject{}, usage(err)
	}
	if l.Kind == layouts.Local {
		at, err := layouts.ParseLabel(l.Label)
		if err != nil {
			return survey.Subject{}, usage(err)
		}
		return a.localSubject(raw, filepath.FromSlash(l.Base), at), nil
	}
	return survey.Subject{
		Name: raw, Provider: p, File: l.File,
		From:     func() (publish.Destination, error) { return a.destinationAt(l) },
		Identify: func(r *repo.Release) { identify(r, l) },
	}, nil
}
