package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
)

// fileNames are the names kustomize accepts for its file.
var fileNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

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
	command                  // something that runs a program
)

// references is the table of all of them, from kustomize's
// api/types/kustomization.go.
var references = []reference{
	{[]string{"resources"}, fileOrDir},
	{[]string{"bases"}, fileOrDir},
	{[]string{"components"}, fileOrDir},
	{[]string{"generators"}, inline},
	{[]string{"transformers"}, inline},
	{[]string{"validators"}, inline},
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

// scan walks a kustomization and all it refers to before kustomize runs. It
// finds what kustomize would answer with a puzzle or with a download: cycles,
// missing files, paths out of the tree, remote bases.
type scan struct {
	tree        *Tree
	allowRemote bool
	state       map[string]int // folders: 1 being visited, 2 done
	problems    []error
	// files are the manifests and patches that are referred to.
	files []string
	// openapi is set if a custom schema changes kustomize's global state.
	openapi bool
}

// find returns the kustomization file of a folder.
func (s *scan) find(dir string) (name string, data []byte, err error) {
	for _, base := range fileNames {
		name = path.Join(dir, base)
		data, err = s.tree.Read(filepath.FromSlash(name))
		if !errors.Is(err, fs.ErrNotExist) {
			return name, data, err
		}
	}
	return "", nil, err
}

func (s *scan) folder(dir string, from *doc.Error) {
	switch s.state[dir] {
	case 1:
		from.Err = fmt.Errorf("the kustomization refers back to itself: %s is being built already", dir)
		s.problems = append(s.problems, from)
		return
	case 2:
		return
	}
	s.state[dir] = 1
	defer func() { s.state[dir] = 2 }()
	name, data, err := s.find(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s holds no kustomization.yaml", dir)
		}
		if from == nil {
			from = &doc.Error{File: dir}
		}
		from.Err = err
		s.problems = append(s.problems, from)
		return
	}
	f := doc.NewFile(name, data)
	for _, d := range doc.Parse(f).Docs {
		if d.Err != nil {
			s.problems = append(s.problems, d.Err)
			continue
		}
		if d.Root.Get("openapi") != nil {
			s.openapi = true
		}
		for _, ref := range references {
			s.visit(d, dir, d.Root, ref.path, ref.kind)
		}
	}
}

// visit follows a reference's path and judges what it finds.
func (s *scan) visit(d *doc.Document, dir string, n *doc.Node, path []string, kind refKind) {
	for _, item := range n.List() {
		s.visit(d, dir, item, path, kind)
	}
	switch {
	case n == nil || n.Kind == doc.List:
	case len(path) > 0:
		s.visit(d, dir, n.Get(path[0]), path[1:], kind)
	case kind == command:
		s.add(d, n, "helm charts need the helm program, which this build does not run; render the chart into a file and list that as a resource")
	case n.Kind == doc.String && n.Text != "":
		s.judge(d, dir, n, kind)
	}
}

func (s *scan) add(d *doc.Document, n *doc.Node, format string, args ...any) {
	s.problems = append(s.problems, s.at(d, n, format, args...))
}

func (s *scan) at(d *doc.Document, n *doc.Node, format string, args ...any) *doc.Error {
	return &doc.Error{File: d.File.Name, Pos: d.Pos(n), Err: fmt.Errorf(format, args...)}
}

func (s *scan) judge(d *doc.Document, dir string, n *doc.Node, kind refKind) {
	target := n.Text
	switch kind {
	case inline:
		if strings.ContainsAny(target, "\n{") {
			return
		}
	case keyFile:
		if _, after, ok := strings.Cut(target, "="); ok {
			target = after
		}
	}
	if looksRemote(target) {
		if !s.allowRemote {
			s.add(d, n, "%s is loaded from the network; builds use only the source tree, so that they can be repeated: keep a copy in the tree, or set remoteBases in the configuration and run with --allow-remote", target)
		}
		return
	}
	if path.IsAbs(target) {
		s.add(d, n, "%s is an absolute path; write it relative to this file", target)
		return
	}
	rel := path.Join(dir, target)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		s.add(d, n, "%s leaves the source tree", target)
		return
	}
	switch abs := filepath.Join(s.tree.dir, filepath.FromSlash(rel)); {
	case s.tree.IsDir(abs):
		if kind == fileOrDir || kind == inline {
			s.folder(rel, s.at(d, n, ""))
		} else {
			s.add(d, n, "%s is a folder, and a file is needed here", target)
		}
	case !s.tree.Exists(abs):
		s.add(d, n, "%s does not exist; if it is made by a command, say so under generated in the configuration", target)
	case kind != keyFile:
		s.files = append(s.files, rel)
	}
}

// faults reads the files that are referred to and returns those that are no
// YAML, with positions, which kustomize does not know.
func (s *scan) faults() error {
	var out []error
	for _, name := range s.files {
		switch path.Ext(name) {
		case ".yaml", ".yml":
		default:
			continue
		}
		data, err := s.tree.Read(filepath.FromSlash(name))
		if err != nil {
			continue
		}
		stream := doc.Parse(doc.NewFile(name, data))
		for _, d := range stream.Docs {
			if d.Err != nil {
				out = append(out, d.Err)
			}
		}
	}
	return errors.Join(out...)
}

// looksRemote recognises what kustomize would fetch: URLs, and the short forms
// of git repositories.
func looksRemote(target string) bool {
	for _, prefix := range []string{"http://", "https://", "ssh://", "git://", "git::", "git@", "file://", "github.com/", "github.com:", "gh:"} {
		if len(target) > len(prefix) && strings.EqualFold(target[:len(prefix)], prefix) {
			return true
		}
	}
	// user@host:path, and anything with a reference or a // into a repository
	return strings.Contains(target, "?ref=") || strings.Contains(target, ".git//") || strings.Contains(target, "_git/") ||
		strings.Contains(target, "@") && strings.Contains(target, ":")
}
