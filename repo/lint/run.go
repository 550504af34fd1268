package lint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Options of a run.
type Options struct {
	// Rules to apply, usually rules.All.
	Rules []*Rule
	// Severity overrides the severity of rules by ID; Off turns them off.
	Severity map[string]Severity
	// Own are severities that the judged files bring along.
	Own Own
	// Partial says that the repository does not hold all versions of its
	// providers, so that rules about missing ones do not apply.
	Partial bool
	// Guessed says that the versions of releases are not those that they will have, so
	// that nothing is compared with them.
	Guessed bool
	// Profile is the Cluster API to judge for; the zero value is
	// contract.DefaultProfile.
	Profile contract.Profile
	// Edits says that the edits of findings will be made: they keep the content of their
	// files, and findings that say the same stay apart.
	Edits bool
	// Apart says that findings stay apart although they are about one fault: each rule is
	// compared with what it is about.
	Apart bool
	// Trace leads a finding back to where its fault was made, if the files are
	// built ones: at the node of the document if there is one, at the byte range
	// otherwise. It may be called from several goroutines.
	Trace func(f *Finding, d *yamldoc.Document, n *yamldoc.Node, start, end int)
	// Sources returns the files that findings were led back to, for the comments
	// in them.
	Sources func() []*yamldoc.File
	// Foreign says that the files are those of others, who must not decide for the
	// reader which errors count: comments suppress only warnings and infos.
	Foreign bool
	// With are releases of providers that the files use: what these define and bring is
	// known, and is not judged.
	With []*repo.Release
	// Kustomizations are those that the files were built from.
	Kustomizations []*yamldoc.Stream
	// Images asks registries for images, and answers in their order. It may be called
	// from several goroutines. Without it, rules with the flag CheckImages are not
	// applied.
	Images func([]ImageName) []Image
	// Watch is told how many files of all the rules have seen. It may be called from
	// several goroutines.
	Watch func(done, all int)
}

// CheckImages is the flag for rules that ask registries.
const CheckImages = "--check-images"

// ImageName says where an image is.
type ImageName struct {
	// Host is the registry, and Path the repository there.
	Host, Path string
	// Reference is the tag or digest.
	Reference string
}

// String is the full name.
func (i ImageName) String() string {
	if strings.Contains(i.Reference, ":") {
		return i.Host + "/" + i.Path + "@" + i.Reference
	}
	return i.Host + "/" + i.Path + ":" + i.Reference
}

// Image is what a registry says about an image.
type Image struct {
	// Missing is set if the registry does not have it.
	Missing bool
	// Lacks are the platforms asked for that it is not built for, such as linux/arm64.
	Lacks []string
	// Err is why the registry could not be asked.
	Err error
}

// Run checks a repository. Of a provider, one release is checked at a time, so that
// memory does not grow with the number of versions; of several providers only what
// room lets in. It returns an error only if ctx ends.
func Run(ctx context.Context, r *repo.Repository, opts Options) (*Report, error) {
	if opts.Profile.Core == 0 {
		opts.Profile.Core = contract.NewestCore
	}
	run := &run{opts: opts, repository: r, places: newPlaces(r), byScope: map[scope][]*Rule{}, room: newRoom(sizeUnderWay)}
	for _, rule := range opts.Rules {
		if rule.Check != nil && opts.applies(rule) {
			run.byScope[rule.Scope] = append(run.byScope[rule.Scope], rule)
		}
	}
	beside := &part{run: run}
	run.with = sync.OnceValue(func() []*Release { return phrase.List(opts.With, beside.beside) })
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			kindOf := release.Kinds()
			for _, a := range release.Artifacts {
				if kindOf(a).Read() {
					run.all++
				}
			}
		}
	}
	all := run.providers(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all.report.Failures = append(all.report.Failures, beside.report.Failures...)
	if !slices.ContainsFunc(r.Providers, isOwn) {
		all.apply(ScopeRepository, Pass{Repository: r, Config: all.config()})
	}
	if len(opts.Kustomizations) > 0 {
		all.apply(ScopeKustomizations, Pass{Repository: r, Kustomizations: opts.Kustomizations})
	}
	all.collect()
	all.report.yield()
	all.comments()
	all.collect()
	all.report.weigh(opts.Own)
	all.report.finish()
	if !opts.Apart {
		all.report.merge(opts.Edits)
	}
	all.report.rest()
	return &all.report, nil
}

// applies reports whether a rule is applied at all.
func (o *Options) applies(rule *Rule) bool {
	if rule.Flag == CheckImages && o.Images == nil {
		return false
	}
	s, ok := o.Severity[rule.ID]
	return !ok || s != Off
}

// comments applies the comments that suppress rules, and checks them.
func (r *part) comments() {
	if r.opts.Sources != nil {
		for _, f := range r.opts.Sources() {
			r.ignores = append(r.ignores, readIgnores(f)...)
		}
	}
	seen := map[string]bool{}
	r.ignores = slices.DeleteFunc(r.ignores, func(i *Ignore) bool {
		key := fmt.Sprintf("%s:%d", i.File, i.Pos.Line)
		defer func() { seen[key] = true }()
		return seen[key]
	})
	r.report.suppress(r.ignores, r.opts.Foreign)
	known, ran := map[string]bool{}, map[string]bool{}
	for _, rule := range r.opts.Rules {
		known[rule.ID] = true
		ran[rule.ID] = r.opts.applies(rule)
	}
	r.apply(ScopeComments, Pass{
		Repository: r.repository, Ignores: r.ignores,
		Known: func(id string) bool { return known[id] }, Ran: func(id string) bool { return ran[id] },
	})
}

// config reads the clusterctl.yaml of the repository, if there is one.
func (r *part) config() *File {
	a := r.repository.Config
	if a == nil {
		return nil
	}
	data, err := a.Text()
	if err != nil {
		r.fail(err)
		return nil
	}
	r.report.Files++
	return manifest.New(a, a.Kind(), data)
}

// run is what all parts of a run share.
type run struct {
	opts       Options
	repository *repo.Repository
	places     *places
	byScope    map[scope][]*Rule
	room       *room
	with       func() []*Release // of Options.With
	judged     atomic.Int64      // files, for Watch
	all        int
}

// watch counts files that the rules have seen.
func (r *run) watch(files int) {
	if r.opts.Watch != nil {
		r.opts.Watch(int(r.judged.Add(int64(files))), r.all)
	}
}

// apply calls the rules of a scope, each for every pass that it is for, on all
// processors.
func (r *part) apply(to scope, passes ...Pass) {
	rules := r.byScope[to]
	before := len(r.found)
	if to == scopeFile {
		// The longest work first, so that no processor waits for it in the end.
		slices.SortStableFunc(passes, func(a, b Pass) int { return cmp.Compare(len(b.File.Raw.Data), len(a.File.Raw.Data)) })
	}
	// One pass is the work of a processor where there are many, and otherwise one
	// rule of it.
	batch := 1
	if len(passes) >= manyPasses {
		batch = len(rules)
	}
	parallel.Each(len(passes)*len(rules)/max(batch, 1), func(n int) {
		var call Pass
		for i := n * batch; i < (n+1)*batch; i++ {
			pass, rule := &passes[i/len(rules)], rules[i%len(rules)]
			if to == scopeFile && !rule.applies(pass.File.Kind) ||
				pass.Release != nil && pass.Release.Own && !rule.judgesOwn() {
				continue
			}
			call = *pass
			call.Rule, call.severity = rule, r.opts.Severity[rule.ID]
			r.call(&call)
		}
	})
	locate(r.found[before:])
}

// manyPasses are more than there are processors to keep busy.
const manyPasses = 64

// call applies one rule. A rule that panics is reported and does not hide the
// others.
func (r *part) call(p *Pass) {
	p.Profile, p.part = r.opts.Profile, r
	defer func() {
		if v := recover(); v != nil {
			r.fail(fmt.Errorf("rule %s failed: %v; please report this with the input", p.Rule.ID, v))
		}
	}()
	p.Rule.Check(p)
}

// read lists the files of a release that clusterctl reads.
func (r *part) read(release *repo.Release) []*File {
	var out []*File
	kindOf := release.Kinds()
	for _, a := range release.Artifacts {
		kind := kindOf(a)
		if !kind.Read() {
			continue
		}
		data, err := a.Text()
		if err != nil {
			r.fail(err)
			continue
		}
		f := manifest.New(a, kind, data)
		r.ignores = append(r.ignores, readIgnores(f.Raw)...)
		out = append(out, f)
	}
	return out
}

// beside is the view of a release of Options.With.
func (r *part) beside(release *repo.Release) *Release {
	view := &Release{Release: release, with: func() []*Release { return nil }}
	view.Files = r.read(release)
	view.index(r.opts.Profile)
	return view
}

// isOwn reports whether a provider stands for the files of a user.
func isOwn(p *repo.Provider) bool {
	return slices.ContainsFunc(p.Releases, func(r *repo.Release) bool { return r.Own })
}

// open adds to the report what about files of users was not judged, because nothing defines it.
func (r *part) open(release *Release) {
	if !release.Own {
		return
	}
	kinds := map[string]bool{}
	var classes, literal []string
	for _, f := range release.Files {
		for _, o := range f.Objects() {
			topology := o.Get("spec", "topology")
			class := cmp.Or(topology.Get("classRef", "name").Str(), topology.Get("class").Str())
			switch {
			case !contract.OfClusterAPI(o.Group) || o.Kind == "":
			case o.Kind == "Cluster" && class != "" && release.ClassFile(f, class) == nil && !slices.Contains(classes, class):
				classes = append(classes, class)
			default:
				if _, core := contract.CoreSchema(o.Group, o.Kind, string(contract.V1Beta2)); !core && release.CRD(o.Group, o.Kind) == nil {
					kinds[o.Kind] = true
				}
			}
		}
		if f.Artifact.Literal {
			literal = append(literal, f.Artifact.Name)
		}
		if release.forgotten[f] {
			f.Forget()
		}
	}
	if release.Incomplete != "" {
		r.report.Open = append(r.report.Open, release.Path+" "+release.Incomplete)
	}
	if len(literal) > 0 {
		r.report.Open = append(r.report.Open, phrase.Few(literal, 12)+
			": has ${} only in scripts, so taken as what kubectl applies; variables of clusterctl not checked")
	}
	if len(kinds) > 0 {
		r.report.Open = append(r.report.Open, phrase.Few(slices.Sorted(maps.Keys(kinds)), 12)+
			": no CRD given, fields not checked; name the releases that define them with --with")
	}
	if len(classes) > 0 {
		r.report.Open = append(r.report.Open, fmt.Sprintf("ClusterClass %s: not given, or in several files; topologies not checked against it", phrase.Few(classes, 12)))
	}
}

func (r *part) release(provider *provider, release *repo.Release) *Release {
	view := &Release{Release: release, Guessed: r.opts.Guessed}
	view.Parsed, _ = layouts.ParseVersion(release.Version)
	view.with = r.with
	if len(release.Beside) > 0 {
		silent := &part{run: r.run} // they are not judged
		beside := silent.beside(&repo.Release{Path: release.Path, Own: true, Artifacts: release.Beside})
		view.with = func() []*Release { return append(slices.Clip(r.with()), beside) }
	}
	view.Files = r.read(release)
	view.index(r.opts.Profile)
	if !release.Own {
		r.report.Releases++
	}
	r.report.Files += len(view.Files)
	if f := view.File(layouts.MetadataFile); f != nil {
		view.Metadata, view.MetadataErr = metadata.ReadValid(f.Raw, release.Provider.Label())
	} else {
		view.MetadataErr = fmt.Errorf("%s is missing", layouts.MetadataFile)
	}
	pass := Pass{Repository: r.repository, Provider: provider, Release: view}

	r.files(pass)
	r.apply(ScopeRelease, pass)
	r.open(view)
	rest := &Release{Release: release, Parsed: view.Parsed, Metadata: view.Metadata, MetadataErr: view.MetadataErr}
	if len(provider.Provider.Releases) > 1 {
		rest.Stored = view.stored()
		if n := len(provider.Releases); n > 0 && maps.Equal(rest.Stored, provider.Releases[n-1].Stored) {
			rest.Stored = provider.Releases[n-1].Stored // most releases change nothing
		}
	}
	return rest
}

// files applies the rules for the files of a release. Where there are many templates,
// a few are parsed at a time, and forgotten when the rules have seen them.
func (r *part) files(pass Pass) {
	var templates, rest []*File
	for _, f := range pass.Release.Files {
		if f.Kind == layouts.ClusterTemplate && len(pass.Release.Files) >= manyPasses {
			templates = append(templates, f)
		} else {
			rest = append(rest, f)
		}
	}
	parse(rest)
	for some := range slices.Chunk(templates, 2*manyPasses) {
		parse(some)
		alone := some[:0:0]
		for _, f := range some {
			if hasClass(f) {
				rest = append(rest, f)
			} else {
				alone = append(alone, f)
			}
		}
		r.apply(scopeFile, pass.each(alone)...)
		for _, f := range alone {
			pass.Release.forget(f)
		}
		r.watch(len(alone))
	}
	r.apply(scopeFile, pass.each(rest)...)
	r.watch(len(rest))
}

// parse parses files, before rules that wait for the same one keep processors
// waiting.
func parse(files []*File) {
	parallel.Each(len(files), func(i int) { files[i].Objects() })
}

// Fault is what was found otherwise than by the check of a rule: why files to check could
// not be made, or what they lack against the last release.
type Fault struct {
	File    string
	Pos     yamldoc.Pos
	Object  string
	Message string
	// Fix takes the place of the rule's own; empty keeps that.
	Fix string
}

// Found reports faults under a rule.
func Found(rule *Rule, faults []Fault, severity map[string]Severity) *Report {
	r := &Report{}
	level, ok := severity[rule.ID]
	if !ok {
		level = rule.Severity
	}
	for _, f := range faults {
		if level != Off {
			r.Findings = append(r.Findings, Finding{Rule: rule, Severity: level, File: f.File, Pos: f.Pos, Object: f.Object, Message: f.Message, Fix: f.Fix})
		}
	}
	r.finish()
	return r
}
