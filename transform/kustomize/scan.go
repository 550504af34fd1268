package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// A reference is a place in a kustomization that names another file.
type reference struct {
	path []string // through maps; lists are entered at every level
	kind refKind
}

type refKind int

const (
	fileOrDir refKind = iota // a file or another kustomization
	file                     // a file
	keyFile                  // a file, possibly as key=file
	inline                   // a file, or the document itself
	plugin                   // inline, or another kustomization: the configuration of plugins
	command                  // something that runs a program
)

// references is the table of all of them, from kustomize's
// api/types/kustomization.go.
var references = []reference{
	{[]string{"resources"}, fileOrDir},
	{[]string{"bases"}, fileOrDir},
	{[]string{"components"}, fileOrDir},
	{[]string{"generators"}, plugin},
	{[]string{"transformers"}, plugin},
	{[]string{"validators"}, plugin},
	{[]string{"crds"}, file},
	{[]string{"configurations"}, file},
	{[]string{"patchesStrategicMerge"}, inline},
	{[]string{"patchesJson6902", "path"}, file},
	{[]string{"patches", "path"}, file},
	{[]string{"replacements", "path"}, file},
	{[]string{"openapi", "path"}, file},
	{[]string{"configMapGenerator", "files"}, keyFile},
	{[]string{"configMapGenerator", "envs"}, file},
	{[]string{"configMapGenerator", "env"}, file},
	{[]string{"secretGenerator", "files"}, keyFile},
	{[]string{"secretGenerator", "envs"}, file},
	{[]string{"secretGenerator", "env"}, file},
	{[]string{"helmCharts"}, command},
	{[]string{"helmChartInflationGenerator"}, command},
}

// pluginReferences is the same for the configuration of the builtin plugins,
// from kustomize's api/internal/builtins.
var pluginReferences = []reference{
	{[]string{"path"}, file},
	{[]string{"paths"}, inline},
	{[]string{"replacements", "path"}, file},
	{[]string{"files"}, keyFile},
	{[]string{"envs"}, file},
	{[]string{"env"}, file},
}

// RemoteError is a base that would be loaded from the network.
type RemoteError struct{ Target string }

func (e *RemoteError) Error() string {
	return e.Target + " is loaded from the network; builds use only the source tree, so that they can be repeated: keep a copy in the tree, or set remoteBases in the configuration and run with --allow remote"
}

// MissingError is a file that a kustomization names and that does not exist.
type MissingError struct {
	// Dir is the folder of the kustomization, Target what it names.
	Dir, Target string
}

func (e *MissingError) Error() string {
	if strings.Contains(path.Join(e.Dir, e.Target)+"/", "crd/bases/") {
		return e.Target + " does not exist; controller-gen writes CRDs there: run the generator first, or list the file under generated in the configuration"
	}
	return e.Target + " does not exist; if a command creates it, list it under generated in the configuration"
}

// maxLoads is how often a build may load kustomizations. They are loaded again
// for each reference, so a few that refer twice to the next one would keep a
// machine busy forever. The largest known build needs 15.
const maxLoads = 1000

// visit is what the scan knows about a folder.
type visit struct {
	done bool
	// loads is how often a build of the folder loads kustomizations.
	loads int
}

// scan walks a kustomization and all it refers to before kustomize runs. It
// finds what kustomize would answer with a puzzle or with a download: cycles,
// missing files, paths out of the tree, remote bases, programs to run.
type scan struct {
	tree        *Tree
	allowRemote bool
	visits      map[string]*visit // by folder
	open        *visit            // the folder being visited
	problems    []error
	// files are the manifests and patches that are referred to.
	files []string
	// plugins are the kustomizations that are built to configure plugins, inner
	// ones first.
	plugins []pluginFolder
	// openapi is set if a custom schema changes kustomize's global state.
	openapi bool
	// uses are the files that are referred to, true for those that are only
	// resources.
	uses map[string]bool
	// reaches is set if something may look into the schemas of resources.
	reaches bool
	field   string // of the kustomization that is being read
}

type pluginFolder struct {
	dir  string
	from string         // the folder of the kustomization that refers to it
	at   *yamldoc.Error // where it does
}

// kustomization returns the kustomization file of a folder.
func (t *Tree) kustomization(dir string) (name string, data []byte, err error) {
	for _, base := range layouts.KustomizationFiles {
		name = path.Join(dir, base)
		data, err = t.Read(filepath.FromSlash(name))
		if !errors.Is(err, fs.ErrNotExist) {
			return name, data, err
		}
	}
	return "", nil, err
}

func (s *scan) folder(dir string, from *yamldoc.Error) {
	v, parent := s.visits[dir], s.open
	switch {
	case v == nil:
		v = &visit{loads: 1}
		s.visits[dir], s.open = v, v
		s.enter(dir, from)
		v.done, s.open = true, parent
	case !v.done:
		s.report(from, fmt.Errorf("the kustomization refers back to itself: %s is already being built", dir))
		return
	}
	if parent == nil || parent.loads > maxLoads {
		return
	}
	if parent.loads += v.loads; parent.loads > maxLoads && v.loads <= maxLoads {
		s.report(from, fmt.Errorf("the kustomization loads others more than %d times, because they refer to each other again and again; name each base once", maxLoads))
	}
}

// report adds a problem at a place that is known, or at the folder.
func (s *scan) report(at *yamldoc.Error, err error) {
	at.Err = err
	s.problems = append(s.problems, at)
}

func (s *scan) enter(dir string, from *yamldoc.Error) {
	name, data, err := s.tree.kustomization(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s holds no kustomization.yaml", dir)
		}
		s.report(from, err)
		return
	}
	f := yamldoc.NewFile(name, data)
	for _, d := range yamldoc.Parse(f).Docs {
		if d.Err != nil {
			s.problems = append(s.problems, d.Err)
			continue
		}
		if d.Root.Get("openapi") != nil {
			s.openapi = true
		}
		s.reaches = s.reaches || mayReach(d.Root)
		for _, ref := range references {
			s.field = ref.path[0]
			s.visit(d, dir, d.Root, ref.path, ref.kind, at)
		}
	}
}

type place func(d *yamldoc.Document, n *yamldoc.Node) *yamldoc.Error

func at(d *yamldoc.Document, n *yamldoc.Node) *yamldoc.Error {
	return &yamldoc.Error{File: d.File.Name, Pos: d.Pos(n)}
}

// visit follows a reference's path and judges what it finds.
func (s *scan) visit(d *yamldoc.Document, dir string, n *yamldoc.Node, path []string, kind refKind, at place) {
	for _, item := range n.List() {
		s.visit(d, dir, item, path, kind, at)
	}
	switch {
	case n == nil || n.Kind == yamldoc.List:
	case len(path) > 0:
		s.visit(d, dir, n.Get(path[0]), path[1:], kind, at)
	case kind == command:
		s.report(at(d, n), errors.New(noHelm))
	case n.Kind == yamldoc.String && n.Text() != "":
		if err := s.judge(dir, n.Text(), kind, at(d, n)); err != nil {
			s.report(at(d, n), err)
		}
	}
}

const noHelm = "helm charts need the helm program, which this build does not run; render the chart to a file and list that as a resource"

// judge looks at one reference, made at the place at.
func (s *scan) judge(dir, target string, kind refKind, at *yamldoc.Error) error {
	switch kind {
	case inline, plugin:
		stream := yamldoc.Parse(yamldoc.NewFile("", []byte(target)))
		if isInline(stream) {
			if kind == plugin {
				s.configuration(dir, stream, func(*yamldoc.Document, *yamldoc.Node) *yamldoc.Error {
					return &yamldoc.Error{File: at.File, Pos: at.Pos}
				})
			}
			return nil
		}
		if strings.Contains(target, "\n") && !layouts.IsRemoteBase(target) {
			why := errors.New("it is not a mapping")
			if err := stream.Problem(); err != nil {
				why = reason(err)
			}
			return fmt.Errorf("this is neither the name of a file nor a document: %w", why)
		}
	case keyFile:
		if _, after, ok := strings.Cut(target, "="); ok {
			target = after
		}
	}
	target = strings.TrimSpace(target)
	if layouts.IsRemoteBase(target) {
		if s.allowRemote {
			return nil
		}
		return &RemoteError{target}
	}
	if path.IsAbs(target) {
		return fmt.Errorf("%s is an absolute path; write it relative to this file", target)
	}
	rel := path.Join(dir, target)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return fmt.Errorf("%s leaves the source tree", target)
	}
	info, err := s.tree.stat(rel)
	_, replaced := s.tree.replace[rel]
	switch {
	case replaced:
	case errors.Is(err, fs.ErrNotExist):
		return &MissingError{dir, target}
	case err != nil:
		return fmt.Errorf("%s cannot be read: %w; links must not leave the source tree", target, files.Cause(err))
	case info.IsDir() && kind != fileOrDir && kind != plugin:
		return fmt.Errorf("%s is a folder, but a file is needed here", target)
	case info.IsDir():
		// A folder has one name, whichever links lead to it.
		real, _, err := s.tree.CleanedAbs(rel)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		if rel, err = s.tree.rel(string(real)); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		rel = filepath.ToSlash(rel)
		s.folder(rel, at)
		if kind == plugin {
			s.plugins = append(s.plugins, pluginFolder{rel, dir, at})
		}
		return nil
	}
	return s.file(dir, rel, target, kind)
}

// file looks into a file that is referred to.
func (s *scan) file(dir, rel, target string, kind refKind) error {
	s.use(rel, kind == fileOrDir)
	if kind == keyFile {
		return nil // copied as it is
	}
	data, err := s.tree.Read(filepath.FromSlash(rel))
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", target, files.Cause(err))
	}
	s.files = append(s.files, rel)
	if kind != fileOrDir && reaches(string(data), slices.Contains(patchFields, s.field)) {
		s.reaches = true
	}
	if kind != plugin && !mayAlias(data) {
		return nil
	}
	stream := yamldoc.Parse(yamldoc.NewFile(rel, data))
	if err := stream.Problem(); err != nil {
		s.problems = append(s.problems, err)
	} else if kind == plugin {
		s.configuration(dir, stream, at)
	}
	return nil
}

// isInline reports whether kustomize takes a text for the document itself
// rather than for the name of a file.
func isInline(s *yamldoc.Stream) bool {
	return s.Problem() == nil && len(s.Docs) > 0 && !slices.ContainsFunc(s.Docs, func(d *yamldoc.Document) bool { return !d.Root.Is(yamldoc.Map) })
}

// reason is an error without its place.
func reason(err error) error {
	if e, ok := errors.AsType[*yamldoc.Error](err); ok {
		return e.Err
	}
	return err
}

// mayAlias is a quick look for aliases. Kustomize writes out what they stand
// for without a limit.
func mayAlias(data []byte) bool {
	if bytes.IndexByte(data, '&') < 0 {
		return false
	}
	const spaces = " \t\n\f\r"
	for i, b := range data {
		if b == '*' && i > 0 && i+1 < len(data) &&
			strings.IndexByte(spaces+"[{,:-", data[i-1]) >= 0 && strings.IndexByte(spaces+"*", data[i+1]) < 0 {
			return true
		}
	}
	return false
}

// configuration judges the configuration of plugins for the kustomization in
// dir. The builtin ones read files like a kustomization; all others are programs.
func (s *scan) configuration(dir string, stream *yamldoc.Stream, at place) {
	for _, d := range stream.Docs {
		version, kind := d.Root.Get("apiVersion").Str(), d.Root.Get("kind")
		switch {
		case version != "builtin":
			s.report(at(d, kind), fmt.Errorf("%s %s is a plugin, which kustomize runs as a program, but this build does not; run it before the build and list its output as a resource", version, kind.Str()))
		case kind.Str() == "HelmChartInflationGenerator":
			s.report(at(d, kind), errors.New(noHelm))
		default:
			for _, ref := range pluginReferences {
				s.visit(d, dir, d.Root, ref.path, ref.kind, at)
			}
		}
	}
}

// streams reads the files that are referred to.
func (s *scan) streams() iter.Seq[*yamldoc.Stream] {
	return func(yield func(*yamldoc.Stream) bool) {
		for _, name := range s.files {
			if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
				continue
			}
			data, err := s.tree.Read(filepath.FromSlash(name))
			if err == nil && !yield(yamldoc.Parse(yamldoc.NewFile(name, data))) {
				return
			}
		}
	}
}

// faults returns the problems of files that are no YAML, with positions, which kustomize
// does not know.
func (s *scan) faults() error {
	var out []error
	for stream := range s.streams() {
		out = append(out, stream.Problem())
	}
	return errors.Join(out...)
}
