package propose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// Migration says which contract a tree is to declare.
type Migration struct {
	// Source says how the tree is built. Version and Overlay are set here.
	Source transform.Options
	// From and To are the contracts.
	From, To contract.Contract
	// Core is the minor version of Cluster API to judge for.
	Core int
	// Series is a version whose release series begins with the new contract; nil
	// leaves metadata.yaml alone.
	Series *layouts.Version
}

// Migrate completes the migration of a folder that is a source tree: labels are
// added where a build proves that they say the truth, and findings tell what is
// left to do in CRDs, roles and metadata.yaml. Names in the report begin with
// prefix. A folder that is not a source tree stays as it is.
func Migrate(ctx context.Context, dir, prefix string, r *migrate.Report, o Migration) error {
	s := &side{ctx: ctx, dir: dir, prefix: prefix, report: r, opts: o, overlay: map[string][]byte{}, disk: map[string][]byte{}}
	read := map[string]bool{}
	first := o.Source
	first.Input = func(name string) { read[name] = true }
	before, err := s.build(first)
	if err != nil || before == nil {
		return err
	}
	for _, f := range r.Files {
		if f.Changed(f.Old) {
			s.overlay[s.below(f.Name)] = f.New
		}
	}
	now := before
	if len(s.overlay) > 0 {
		if now, err = s.build(o.Source); err != nil || now == nil {
			return err
		}
	}
	old, err := s.look(before)
	if err != nil {
		return err
	}
	if s.now, err = s.look(now); err != nil {
		return err
	}
	if err := s.labels(slices.Sorted(maps.Keys(read))); err != nil {
		return err
	}
	s.gaps()
	s.series(now)
	if err := s.rights(); err != nil {
		return err
	}
	s.standings(old)
	s.finish()
	return nil
}

// side is the provider's side of one migration.
type side struct {
	ctx         context.Context
	dir, prefix string
	report      *migrate.Report
	opts        Migration
	// overlay is the new content of files by their names below dir, disk that of
	// those that are changed here.
	overlay, disk map[string][]byte
	now           *look
	findings      []migrate.Finding
}

// below is the name of a file in the tree.
func (s *side) below(name string) string {
	if s.prefix == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, s.prefix), "/")
}

func (s *side) add(f migrate.Finding) { s.findings = append(s.findings, f) }

func (s *side) profile() contract.Profile {
	return contract.Profile{Core: s.opts.Core, Contract: s.opts.To}
}

// build builds the tree with what is changed so far. It is nil if the folder is no
// source tree or cannot be built, which is not what the migration is about.
func (s *side) build(o transform.Options) (*transform.Build, error) {
	o.Overlay = s.overlay
	r, err := transform.Resolve(s.ctx, s.dir, o)
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	if _, wrong := errors.AsType[*transform.InputError](err); wrong {
		return nil, nil
	}
	if broken, ok := errors.AsType[*transform.BuildError](err); ok {
		s.report.Standings = append(s.report.Standings, migrate.Standing{Contract: string(s.opts.To), Problem: "the source tree cannot be built: " + broken.Error()})
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.Build, nil
}

// look is what a build holds.
type look struct {
	build    *transform.Build
	releases []released
	// objects are those of the components, others the content of other files.
	objects map[string]any
	others  map[string][]byte
}

type released struct {
	*repo.Release
	crds []*crd.CRD
}

func (s *side) look(b *transform.Build) (*look, error) {
	out := &look{build: b, objects: map[string]any{}, others: map[string][]byte{}}
	for _, r := range b.Releases {
		one := released{Release: r}
		components := r.Components()
		for _, a := range r.Artifacts {
			data, err := a.Bytes()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.Path, err)
			}
			if a.Name == layouts.ChecksumFile {
				continue
			}
			if a != components {
				out.others[r.Provider.Label()+"/"+a.Name] = data
				continue
			}
			for i, o := range manifest.New(a, layouts.Components, data).Objects() {
				value := o.Doc.Root.Value()
				if c := crd.Of(o); c != nil {
					one.crds = append(one.crds, c)
					unlabelled(value, s.opts.To.Label())
				}
				out.objects[fmt.Sprintf("%s/%d", r.Provider.Label(), i)] = value
			}
		}
		out.releases = append(out.releases, one)
	}
	return out, nil
}

// unlabelled takes a label off an object.
func unlabelled(object any, label string) {
	if m, ok := object.(map[string]any); ok {
		if m, ok = m["metadata"].(map[string]any); ok {
			if m, ok = m["labels"].(map[string]any); ok {
				delete(m, label)
			}
		}
	}
}

// declared are the labels of CRDs by their names.
func (l *look) declared(c contract.Contract) map[string]string {
	out := map[string]string{}
	for _, r := range l.releases {
		for _, d := range r.crds {
			if v, ok := d.Object.Label(c.Label()); ok {
				out[d.Object.Name] = v
			}
		}
	}
	return out
}

// steps are what the kinds of all releases need.
func (s *side) steps() []contract.Step {
	var out []contract.Step
	for _, r := range s.now.releases {
		out = append(out, contract.Plan(r.crds, s.profile())...)
	}
	return out
}

// maxBuilds bounds how often a tree is built to prove changes.
const maxBuilds = 100

// labels adds the label of the new contract wherever that of the old one is written,
// if no kind of the provider lacks a field that must be there, and a build then
// differs in nothing but these labels. A template with another contract than the
// kind that is made from it is of no use.
func (s *side) labels(read []string) error {
	wanted, referenced := map[string]string{}, map[string]bool{}
	values := map[string]bool{}
	for _, r := range s.now.releases {
		steps := contract.Plan(r.crds, s.profile())
		waits := slices.ContainsFunc(steps, func(step contract.Step) bool { return !step.Ready() })
		for _, step := range steps {
			referenced[step.Object.Name] = true
			if step.Declared == "" && !waits {
				wanted[step.Object.Name] = step.Label
				values[step.Label] = true
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	on, err := files.Open(s.dir)
	if err != nil {
		return err
	}
	defer on.Close()
	builds := 0
	for _, name := range read {
		if path.IsAbs(name) || !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") && path.Base(name) != "Kustomization" {
			continue
		}
		data, ok := s.overlay[name]
		if !ok {
			if data, err = on.ReadFile(name); err != nil {
				continue
			}
		}
		if !bytes.Contains(data, []byte(s.opts.From.Label()+":")) {
			continue
		}
		for _, value := range slices.Sorted(maps.Keys(values)) {
			text, line := labelled(string(data), s.opts, wanted, value)
			if builds++; line == 0 || builds > maxBuilds {
				break
			}
			kept, err := s.try(name, data, []byte(text), wanted, referenced)
			if err != nil {
				return err
			}
			if kept {
				s.add(migrate.Finding{Level: migrate.Note, File: path.Join(s.prefix, name), Line: line, Message: fmt.Sprintf("added the label %s, because no required field is missing", s.opts.To.Label()), Help: "make sure that the controllers report these fields"})
				break
			}
		}
	}
	return nil
}

// try keeps a change of a file if it does nothing but declare wanted labels.
func (s *side) try(name string, old, text []byte, wanted map[string]string, referenced map[string]bool) (bool, error) {
	before, there := s.overlay[name]
	s.overlay[name] = text
	undo := func() {
		delete(s.overlay, name)
		if there {
			s.overlay[name] = before
		}
	}
	b, err := s.build(s.opts.Source)
	if err != nil || b == nil {
		undo()
		return false, err
	}
	now, err := s.look(b)
	if err != nil {
		return false, err
	}
	gained := false
	for crd, value := range now.declared(s.opts.To) {
		if had, ok := s.now.declared(s.opts.To)[crd]; ok && had == value {
			continue
		}
		gained = true
		if referenced[crd] && wanted[crd] != value {
			undo()
			return false, nil
		}
	}
	if !gained || !reflect.DeepEqual(now.objects, s.now.objects) ||
		!maps.EqualFunc(now.others, s.now.others, bytes.Equal) {
		undo()
		return false, nil
	}
	if _, ok := s.disk[name]; !ok {
		s.disk[name] = old
	}
	s.now = now
	return true, nil
}

// gaps reports what is left in CRDs, role by role.
func (s *side) gaps() {
	steps := s.steps()
	waits := slices.ContainsFunc(steps, func(step contract.Step) bool { return !step.Ready() })
	for _, page := range contract.Pages {
		for _, step := range steps {
			if step.Role != page.Role || step.Declared != "" && len(step.Gaps) == 0 {
				continue
			}
			file, line := s.place(step.CRD)
			f := migrate.Finding{Level: migrate.Manual, File: file, Line: line, Object: fmt.Sprintf("%s %s %s", step.Role, step.CRD.Kind, step.Label)}
			if code := step.GoTypes(s.opts.Core); code != "" {
				f.Go = strings.Split(code, "\n")
			}
			label := fmt.Sprintf("%s: %s", s.opts.To.Label(), step.Label)
			marker := fmt.Sprintf("+kubebuilder:metadata:labels=\"%s=%s\"", s.opts.To.Label(), step.Label)
			switch {
			case !step.Ready():
				f.Message = "contract " + string(s.opts.To) + " demands " + demands(step, contract.Must)
				f.Help = "add the fields to the Go type and report them in the controller"
				if step.Declared == "" {
					f.Help += "; then add the label " + label
				}
			case step.Declared == "" && waits:
				f.Message = "no required field is missing, but other kinds lack some, and all kinds get the label " + label + " together"
				f.Help = "first add what the other kinds need, then migrate again"
			case step.Declared == "":
				f.Message = "the label " + label + " is missing, and no kustomization or patch was found where it can be added alone"
				f.Help = "add the marker " + marker + " to the Go type"
			default:
				f.Level = migrate.Note
				f.Message = "contract " + string(s.opts.To) + " also names " + demands(step, contract.Optional)
				f.Help = "add the fields to the Go type"
			}
			s.add(f)
		}
	}
}

// demands lists the gaps of a step, those that must be filled if need is Must.
func demands(step contract.Step, need contract.Need) string {
	var out []string
	for _, g := range step.Gaps {
		if need == contract.Must && !g.Blocks {
			continue
		}
		text := g.Path
		switch g.Verdict {
		case contract.Moved:
			text += " (now " + g.Was + ")"
		case contract.WrongType:
			text += " as " + g.Type
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// place is where a definition comes from.
func (s *side) place(d *crd.CRD) (file string, line int) {
	o := d.Object
	if at, ok := s.now.build.Tracer.Locate(o.File.Artifact.Path, o.Doc, o.Get("metadata", "name")); ok {
		return path.Join(s.prefix, s.tree(at.File)), at.Pos.Line
	}
	return path.Join(s.prefix, o.File.Artifact.Name), o.Doc.Pos(o.Get("metadata", "name")).Line
}

// tree is the name below dir of a file that is named like dir.
func (s *side) tree(name string) string {
	if rel, err := filepath.Rel(s.dir, filepath.FromSlash(name)); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return name
}

// standings compare the contracts before and after.
func (s *side) standings(old *look) {
	state := func(r released, c contract.Contract) migrate.State {
		declared, missing := contract.Lacks(r.crds, contract.Profile{Core: s.opts.Core, Contract: c})
		return migrate.State{Declared: declared, Missing: missing}
	}
	for i, r := range s.now.releases {
		if len(r.crds) == 0 || i >= len(old.releases) {
			continue
		}
		for _, c := range contract.Accepted {
			s.report.Standings = append(s.report.Standings, migrate.Standing{
				Provider: r.Provider.Label(), Version: r.Version, Contract: string(c), Before: state(old.releases[i], c), After: state(r, c),
			})
		}
	}
}

// finish puts changes and findings into the report.
func (s *side) finish() {
	for name, old := range s.disk {
		f := s.report.File(path.Join(s.prefix, name))
		if f.Old == nil {
			f.Old = old
		}
		f.New = s.overlay[name]
	}
	s.report.Add(s.findings...)
}
