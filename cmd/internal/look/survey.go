package look

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

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// surveyFlags are the flags of survey.
type surveyFlags struct {
	newest, jobs int
	shard        string
	cache        targets.Cache
	allow        bool
	out          cli.Outputs
}

// SurveyCommand is the verb survey.
func SurveyCommand(env *cli.Env) *cobra.Command {
	f := surveyFlags{out: cli.Outputs{Formats: report.SurveyFormats}}
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

What was checked is kept in the folder of --cache, so that an interrupted run
continues, and the next one checks only what is new. A provider that cannot be read is on the
page with the reason, and the exit code is then 3.`,
		Example: `  # The providers of a management cluster
  clusterctl-repo survey ~/.config/cluster-api/clusterctl.yaml \
      -o html=fleet.html

  # A mirror
  clusterctl-repo survey /srv/repository --newest 3

  # One of eight machines, and the page of all of them
  clusterctl-repo survey fleet.txt --shard 3/8 -o json=shard-3.json
  clusterctl-repo survey merge shard-*.json -o json=fleet.json \
      -o html=fleet.html`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{cli.TakesTargets: "yes"},
		RunE:        func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args[0]) },
	}
	fl := cmd.Flags()
	fl.IntVar(&f.newest, "newest", 2, "")
	fl.IntVar(&f.jobs, "jobs", 4, "")
	fl.StringVar(&f.shard, "shard", "", "")
	f.cache.Bind(fl)
	cli.Allow(fl, "failures", &f.allow)
	f.out.Bind(fl)
	cmd.AddCommand(surveyMergeCommand(env))
	return cmd
}

func surveyMergeCommand(env *cli.Env) *cobra.Command {
	o := cli.Outputs{Formats: report.SurveyFormats}
	var allow bool
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Join the shards of a survey into one page",
		Long: `Joins the shards of one survey, in JSON, into what a single run writes, byte for
byte. Shards that are missing, twice or of another survey are refused.`,
		Example: `  clusterctl-repo survey merge shard-*.json -o html=fleet.html`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var shards []*inventory.Survey
			for _, name := range args {
				data, err := env.ReadFile(name)
				if err != nil {
					return cli.UsageError(err)
				}
				s, err := report.ReadSurvey(name, data)
				if err != nil {
					return cli.UsageError(err)
				}
				shards = append(shards, s)
			}
			whole, err := inventory.Merge(shards, args)
			if err != nil {
				return cli.UsageError(err)
			}
			return surveyed(env, &o, whole, allow)
		},
	}
	cli.Allow(cmd.Flags(), "failures", &allow)
	o.Bind(cmd.Flags())
	return cmd
}

func (f *surveyFlags) run(ctx context.Context, env *cli.Env, source string) error {
	shard, err := parseShard(env, f.shard)
	switch {
	case err != nil:
		return err
	case f.newest < 1:
		return cli.Usagef("--newest is %d; it must be at least 1", f.newest)
	case f.jobs < 1:
		return cli.Usagef("--jobs is %d; it must be at least 1", f.jobs)
	}
	subjects, err := subjects(ctx, env, source)
	if err != nil {
		return err
	}
	state, err := surveyState(env, source, f)
	if err != nil {
		return err
	}
	defer state.Close()
	if n := len(state.known); n > 0 {
		env.Detail("%d releases were checked before", n)
	}
	identity, err := targets.ProgramIdentity()
	if err != nil {
		return err
	}
	o := check.Options{Profile: contract.DefaultProfile()}
	s, err := walk(ctx, subjects, walkOptions{
		Newest: f.newest, Workers: f.jobs, Shard: shard, Program: env.Version, Identity: identity, State: state,
		Judge: func(ctx context.Context, r *repo.Release) (inventory.Release, error) { return check.Judge(ctx, r, o) },
		Done: func(p *inventory.Provider, done, all int) {
			if p.Failure != "" {
				env.Say("%s: %s", p.Subject, p.Failure)
			}
			env.Detail("%d of %d: %s", done, all, p.Subject)
			env.Progress.Count("survey", done, all, "providers")
		},
	})
	if err != nil {
		return err
	}
	return surveyed(env, &f.out, s, f.allow)
}

// surveyed prints a survey.
func surveyed(env *cli.Env, o *cli.Outputs, s *inventory.Survey, allow bool) error {
	err := env.Write(o, func(w io.Writer, format string, _ term.Style) error { return report.WriteSurvey(w, format, s) })
	if n := s.Failed(); err == nil && n > 0 && !allow {
		return cli.Exit(cli.ExitFailed, fmt.Errorf("%d of %d providers could not be surveyed; run the command again to try them once more", n, len(s.Providers)))
	}
	return err
}

// parseShard reads the value of --shard; nil for none. The index "job" is that of
// the pod of an Indexed Job, which Kubernetes counts from 0.
func parseShard(env *cli.Env, text string) (*inventory.Shard, error) {
	if text == "" {
		return nil, nil
	}
	index, of, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	if index == "job" {
		value, _ := env.LookupEnv("JOB_COMPLETION_INDEX")
		if i, err1 = strconv.Atoi(value); err1 != nil || i < 0 {
			return nil, cli.Usagef("--shard %s needs JOB_COMPLETION_INDEX, which Kubernetes sets in the pods of an Indexed Job; it is %q", text, value)
		}
		i++
	}
	n, err2 := strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 1 || i > n {
		return nil, cli.Usagef("--shard is %q; it must be I/N with I from 1 to N, such as 3/8", text)
	}
	return &inventory.Shard{Index: i, Of: n}, nil
}

// surveyState opens the file of what was checked, if there is a place for it.
func surveyState(env *cli.Env, source string, f *surveyFlags) (*verdicts, error) {
	folder := f.cache.Folder(env)
	if folder == "" {
		return &verdicts{}, nil
	}
	where := source
	if !open.IsURL(source) {
		where = env.Path(source)
	}
	sum := sha256.Sum256([]byte(where))
	name := filepath.Join(folder, "survey", fmt.Sprintf("%x-%s.jsonl", sum[:8], strings.ReplaceAll(f.shard, "/", "-of-")))
	s, err := openState(name)
	if err != nil {
		return nil, cli.Usagef("--cache: %s: %w", env.Short(name), files.Cause(err))
	}
	return s, nil
}

// subjects are the providers that a source names.
func subjects(ctx context.Context, env *cli.Env, source string) ([]subject, error) {
	env.Places() // opened once, before they are used side by side
	if open.IsURL(source) {
		one, err := subjectAt(env, source, layouts.Provider{})
		return []subject{one}, err
	}
	info, err := os.Stat(env.Path(source))
	switch {
	case err != nil:
		return nil, cli.Usagef("%s: %w", source, files.Cause(err))
	case info.IsDir():
		r, err := folder.Open(ctx, env.Short(env.Path(source)))
		if err != nil {
			return nil, err
		}
		return phrase.List(r.Providers, func(p *repo.Provider) subject {
			return localSubject(p.Label(), filepath.Dir(env.Path(filepath.FromSlash(p.Path))), p.Provider)
		}), nil
	}
	data, err := env.ReadFile(source)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	if ext := filepath.Ext(source); ext == ".yaml" || ext == ".yml" || ext == ".json" {
		return configSubjects(env, source, data)
	}
	var out []subject
	seen := map[string]bool{}
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' || seen[line] {
			continue
		}
		seen[line] = true
		one, err := subjectAt(env, line, layouts.Provider{})
		if err != nil {
			return nil, cli.Usagef("%s:%d:1: %w", source, i+1, err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, cli.Usagef("%s names no provider; write the URL of one release on each line", source)
	}
	return out, nil
}

// configSubjects are the providers of a clusterctl.yaml.
func configSubjects(env *cli.Env, name string, data []byte) ([]subject, error) {
	c, err := clusterctlconfig.Read(name, data, env.LookupEnv)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	providers, err := c.Providers()
	if err != nil {
		return nil, cli.UsageError(err)
	}
	var out []subject
	for _, p := range providers {
		one, err := subjectAt(env, p.URL, p.Provider)
		if err != nil {
			return nil, cli.Usagef("%s: %s: %w", name, p.Label(), err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, cli.Usagef("%s lists no providers; name a clusterctl.yaml, a list of URLs, or the folder of a repository", name)
	}
	return out, nil
}

// localSubject is a provider in the folder of a repository.
func localSubject(name, root string, p layouts.Provider) subject {
	return subject{Name: name, Provider: p, Local: true, From: func() (publish.Destination, error) {
		place, err := local.New(root)
		if err != nil {
			return nil, err
		}
		return place.Site().Of(p)
	}}
}

// subject is the provider at the URL of a release.
func subjectAt(env *cli.Env, raw string, p layouts.Provider) (subject, error) {
	if !open.IsURL(raw) && !filepath.IsAbs(raw) {
		return subject{}, cli.Usagef("%q is neither the URL of a release nor an absolute path", raw)
	}
	l, err := targets.ParseURL(env, raw)
	if err != nil {
		return subject{}, err
	}
	if l.Kind == layouts.Local {
		at, err := layouts.ParseLabel(l.Label)
		if err != nil {
			return subject{}, cli.UsageError(err)
		}
		return localSubject(raw, filepath.FromSlash(l.Base), at), nil
	}
	return subject{
		Name: raw, Provider: p, File: l.File,
		From:     func() (publish.Destination, error) { return targets.At(env, l) },
		Identify: func(r *repo.Release) { targets.Identify(r, l) },
	}, nil
}
