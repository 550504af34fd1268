package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// File is one file of a folder with what becomes of it.
type File struct {
	// Name is the path below the folder, with slashes.
	Name string
	Old  []byte
	*Result
}

// Report is what becomes of files that belong together.
type Report struct {
	// Files are those that change or have findings, sorted by name.
	Files []*File
	// All are also those that stay as they are, as far as files belong together.
	All []*File
	// Standings say how far the providers of a source tree are for the contracts.
	Standings []Standing
}

// Standing is how far a provider is for a contract, before and after.
type Standing struct {
	Provider, Version, Contract string
	Before, After               State
	// Problem says why it is not known; empty if it is.
	Problem string
}

// State is what the CRDs of a provider say about a contract.
type State struct {
	// Declared: a CRD has the label of the contract.
	Declared bool
	// Missing are the fields that must be there and are not, as KIND PATH.
	Missing []string
}

// File returns the file of a name, which is added if it is not there.
func (r *Report) File(name string) *File {
	for _, f := range r.Files {
		if f.Name == name {
			return f
		}
	}
	f := &File{Name: name, Result: &Result{}}
	r.Files = append(r.Files, f)
	return f
}

// Add puts findings at their places.
func (r *Report) Add(findings ...Finding) {
	for _, finding := range findings {
		f := r.File(finding.File)
		f.Findings = append(f.Findings, finding)
		slices.SortStableFunc(f.Findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	}
	slices.SortFunc(r.Files, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
}

// Findings are those of all files, in their order.
func (r *Report) Findings() []Finding {
	var out []Finding
	for _, f := range r.Files {
		out = append(out, f.Result.Findings...)
	}
	return out
}

// Left reports whether something is left to do by hand.
func (r *Report) Left() bool {
	return slices.ContainsFunc(r.Findings(), func(f Finding) bool { return f.Level == Manual })
}

// maxFolders bounds how deep folders are nested.
const maxFolders = 100

// Folder migrates all YAML files below a folder, but for hidden folders, vendor and
// node_modules. Symbolic links are not followed. Files and patches that
// kustomization files name are read as what they are there. Names in the report
// begin with prefix. Nothing is written.
func Folder(ctx context.Context, dir, prefix string, o Options) (*Report, error) {
	root, err := files.Open(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var all []*source
	err = fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch ext := path.Ext(name); {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e.IsDir() && name == ".":
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") || e.Name() == "vendor" || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() && strings.Count(name, "/") >= maxFolders:
			return errors.New(name + ": folders are nested too deep")
		case e.Type().IsRegular() && (ext == ".yaml" || ext == ".yml" || e.Name() == "Kustomization"):
			data, err := root.ReadFile(name)
			if err != nil {
				return err
			}
			if err := yamldoc.CheckCount(data); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, &source{name: name, data: data})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return together(ctx, all, prefix, o)
}

// source is a file before its migration.
type source struct {
	name string
	data []byte
	// partial is set for a patch that is merged, list for a list of JSON patches
	// with what it applies to.
	partial bool
	list    *target
	seen    map[string][]*edit.Node
	result  *Result
}

// together migrates files that belong together: first objects, then classes,
// patches and kustomization files, which depend on what the objects have become.
func together(ctx context.Context, all []*source, prefix string, o Options) (*Report, error) {
	k := newKustomizations(all, o.Contract)
	run := func(s *source) {
		opts := o
		opts.Partial = s.partial
		opts.Targets = k.targets(s)
		if k.part[s.name] {
			opts.patched = func(kind, field string) bool { return k.patched(kind, field) || within(k.classes[kind], field) }
		}
		if s.partial {
			opts.base = func(kind, name, at string) ([]argument, bool) { return k.base(s.name, kind, name, at) }
		}
		name := path.Join(prefix, s.name)
		switch {
		case k.is[s.name]:
			s.result = k.file(name, s, opts)
		case s.list != nil:
			s.result = k.operations(name, s, opts)
		default:
			s.result, s.seen = text(name, s.data, opts)
		}
		s.result.remaining(name, s.data, o.Contract)
	}
	late := func(s *source) bool {
		return k.is[s.name] || s.partial || s.list != nil || strings.Contains(string(s.data), "jsonPatches")
	}
	for _, second := range []bool{false, true} {
		for _, s := range all {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if late(s) == second {
				run(s)
			}
		}
	}
	out := &Report{}
	for _, s := range all {
		f := &File{Name: path.Join(prefix, s.name), Old: s.data, Result: s.result}
		if s.list == nil && !s.partial && !k.is[s.name] {
			out.All = append(out.All, f)
		}
		if s.result.Changed(s.data) || len(s.result.Findings) > 0 {
			out.Files = append(out.Files, f)
		}
	}
	slices.SortFunc(out.Files, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
