package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// Suite checks an E2EConfig, and the releases that it describes. What is not in the
// tree, or depends on what the configuration declares, is reported on its lines.
func Suite(ctx context.Context, s *localrepo.Suite, o Options) (*Result, error) {
	opts, _, err := o.given()
	if err != nil {
		return nil, err
	}
	j := &suiteJudge{Suite: s, o: &o, severity: opts.Severity, report: &lint.Report{Files: 1}}
	j.say("SUITE004", s.Config.Remarks...)
	j.say("SUITE005", s.Unset...)
	made, err := s.Build(ctx)
	failed, inTree := errors.AsType[*transform.BuildError](err)
	refused, ok := errors.AsType[*transform.InputError](err)
	switch {
	case err == nil:
		return j.releases(ctx, made, opts)
	case inTree:
		if r := unbuilt(failed, opts); r != nil {
			j.report.Join(r)
			return &Result{Report: j.report}, nil
		}
	case ok:
		if places := (&transform.BuildError{Dir: ".", Err: refused.Err}).Places(); places != nil {
			j.say("SUITE001", places...)
			return &Result{Report: j.report}, nil
		}
	}
	return nil, err
}

// ofReleases are rules that do not fit a local repository: the framework names the
// components file, and suites load images that they have just built.
var ofReleases = []string{"COMP016", "NAME005"}

// variable is what a message about a variable begins with.
var variable = phrase.Pattern(`^\$\{(\w+)\}`)

type suiteJudge struct {
	*localrepo.Suite
	o        *Options
	severity map[string]lint.Severity
	report   *lint.Report
}

// say reports faults under a rule, if that is to be applied.
func (j *suiteJudge) say(id string, faults ...*yamldoc.Error) {
	rule := rules.ByID(id)
	if j.o.Rules != nil && !slices.Contains(j.o.Rules, rule) {
		return
	}
	out := phrase.List(faults, func(at *yamldoc.Error) lint.Fault {
		return lint.Fault{File: path.Clean(at.File), Pos: at.Pos, Message: at.Err.Error()}
	})
	j.report.Join(lint.Found(rule, out, j.severity))
}

// sayAt reports one fault at a place of the configuration.
func (j *suiteJudge) sayAt(id string, at yamldoc.Pos, format string, args ...any) {
	j.say(id, &yamldoc.Error{File: j.Config.Name, Pos: at, Err: fmt.Errorf(format, args...)})
}

func (j *suiteJudge) releases(ctx context.Context, m *localrepo.Made, opts lint.Options) (*Result, error) {
	j.say("SUITE002", m.Idle...)
	j.say("SUITE003", m.Repeated...)
	r := m.Repository("")
	for _, release := range m.Releases {
		j.contract(m, release)
	}
	j.variables(ctx, m)
	if !j.Partial {
		j.images(ctx, m)
		j.flavors(m)
	}
	opts = traced(m.Tracer, opts)
	opts.Partial = true
	lead := opts.Trace
	opts.Trace = func(f *lint.Finding, d *yamldoc.Document, n *yamldoc.Node, start, end int) {
		lead(f, d, n, start, end)
		at, ok := m.At(f.File)
		if f.Rule.ID == "META006" { // its file may be right for other versions
			at, ok = m.At(f.Provider + "/" + f.Version)
		}
		if ok {
			if file := strings.TrimPrefix(f.File, ".fetched/"); file != "" &&
				!strings.Contains(f.Message, path.Base(file)) {
				f.Message = fmt.Sprintf("%s: %s", file, f.Message)
			}
			f.File, f.Pos, f.End, f.Source, f.Edit = j.Config.Name, at, yamldoc.Pos{}, "", nil
		}
	}
	found, err := lint.Run(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	found.Findings = slices.DeleteFunc(found.Findings, func(f lint.Finding) bool {
		if name := variable().FindStringSubmatch(f.Message); f.Rule.ID == "VAR006" && name != nil {
			if value, _ := j.Value(name[1]); value != "" {
				return true // it is never empty in this suite
			}
		}
		return f.File == j.Config.Name && f.Severity < lint.Error || slices.Contains(ofReleases, f.Rule.ID)
	})
	j.report.Join(found)
	return &Result{Report: j.report, Repository: r}, nil
}

// contract compares the contract of a version with that of its metadata, or else of
// its CRDs.
func (j *suiteJudge) contract(m *localrepo.Made, r *repo.Release) {
	declared := m.Declared[r.Path].Contract
	if declared.Value == "" || declared.Value == "*" {
		return
	}
	differs := func(format string, args ...any) {
		j.sayAt("SUITE007", declared.At, "contract of %s %s is %s, but "+format, append([]any{r.Provider.Label(), r.Version, declared.Value}, args...)...)
	}
	v, err := layouts.ParseVersion(r.Version)
	if a := r.Artifact(layouts.MetadataFile); a != nil && err == nil {
		data, _ := a.Bytes() // what cannot be read is a finding in the release
		meta, err := metadata.Read(yamldoc.NewFile(a.Path, data))
		if err != nil {
			return
		}
		if s := meta.SeriesOf(v.Major(), v.Minor()); s != nil && s.Contract != declared.Value {
			differs("%s has %s for series %s", a.Path, s.Contract, v.Series())
			return
		}
	}
	text, err := r.Components().Text()
	if err != nil || strings.Contains(text, contract.Contract(declared.Value).Label()+":") {
		return // the common case, without a parser
	}
	all := crd.In(manifest.Components(r))
	var others []string
	for _, c := range contract.Accepted {
		if has, _ := contract.Lacks(all, contract.Profile{Contract: c}); has {
			others = append(others, string(c))
		}
	}
	if len(others) > 0 {
		differs("its CRDs declare %s", phrase.And(others))
	}
}

// variables looks for variables that files require, each at the first of these files.
func (j *suiteJudge) variables(ctx context.Context, m *localrepo.Made) {
	said := map[string]bool{}
	for _, r := range m.Releases {
		list, _ := inventory.Variables(ctx, r) // lint reports what cannot be read
		for _, v := range list {
			_, given := j.Value(v.Name)
			// Suites put the files that CNI and CCM name in the place of CNI_RESOURCES
			// and CCM_RESOURCES.
			if stem, ok := strings.CutSuffix(v.Name, "_RESOURCES"); ok && !given {
				_, given = j.Value(stem)
			}
			if v.Option != "" || said[v.Name] || given {
				continue
			}
			for _, in := range v.Files {
				if at, ok := m.At(r.Path + "/" + in.File); ok && in.Default == nil {
					said[v.Name] = true
					j.sayAt("SUITE006", at, "%s requires %s, which neither variables nor the environment sets", in.File, v.Name)
					break
				}
			}
		}
	}
}

// images looks for images to load that no release uses, although a close one is used.
func (j *suiteJudge) images(ctx context.Context, m *localrepo.Made) {
	used := map[string]bool{}
	for _, r := range m.Releases {
		list, _ := inventory.Images(ctx, r)
		for _, image := range list {
			used[image.Ref] = true
		}
	}
	for _, image := range j.Config.Images {
		if ref := image.Name.Value; !used[ref] {
			name, _, _ := imageref.Split(ref)
			for _, other := range slices.Sorted(maps.Keys(used)) {
				base, _, _ := imageref.Split(other)
				if base == name || phrase.Distance(ref, other) <= 2 {
					j.sayAt("SUITE008", cmp.Or(image.Name.At, image.At), "no release uses image %s, but one uses %s", ref, other)
					break
				}
			}
		}
	}
}

// machine is what variables are called that hold flavors of machines.
var machine = phrase.Pattern(`MACHINE|NODE|INSTANCE|SERVER|VM|BASTION`)

// flavors looks for flavors of clusters in variables.
func (j *suiteJudge) flavors(m *localrepo.Made) {
	for _, v := range j.Config.Variables {
		if v.Value.Value == "" || v.Name != "FLAVOR" && !strings.HasSuffix(v.Name, "_FLAVOR") ||
			machine().MatchString(v.Name) {
			continue
		}
		file := layouts.TemplateFile(v.Value.Value)
		if !slices.ContainsFunc(m.Releases, func(r *repo.Release) bool { return r.Artifact(file) != nil }) {
			j.sayAt("SUITE009", v.Value.At, "no release has the file %s of flavor %s", file, v.Value.Value)
		}
	}
}
