package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// corpus is what real providers release, and the source trees of that.
type corpus struct {
	dir     string // with the folders releases and sources
	configs string // the folder with a configuration for some source trees
	// releases are all of them; versions are theirs by label.
	releases []release
	versions map[string]string
	// bytes is the size of all files of the releases.
	bytes int64
}

// release is one release of the corpus.
type release struct {
	layouts.Provider
	version, dir string
	// components is the file that clusterctl installs, templates are those of
	// cluster templates, others what else clusterctl reads.
	components        string
	templates, others []string
}

func openCorpus(dir, configs string) (*corpus, error) {
	c := &corpus{dir: dir, configs: configs, versions: map[string]string{}}
	found, err := filepath.Glob(filepath.Join(dir, "releases", "*", "*"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("no corpus of providers in %s; set CORPUS to its folder", dir)
	}
	for _, path := range found {
		label := filepath.Base(filepath.Dir(path))
		p, err := layouts.ParseLabel(label)
		if err != nil {
			return nil, err
		}
		r := release{Provider: p, version: filepath.Base(path), dir: path}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				return nil, err
			}
			c.bytes += info.Size()
			switch layouts.KindOfFile(e.Name()) {
			case layouts.Components:
				r.components = e.Name()
			case layouts.ClusterTemplate:
				r.templates = append(r.templates, e.Name())
			case layouts.ClusterClass, layouts.Metadata:
				r.others = append(r.others, e.Name())
			}
		}
		c.versions[label] = r.version
		c.releases = append(c.releases, r)
	}
	return c, nil
}

// files are the paths of all that clusterctl reads.
func (c *corpus) files() []string {
	var out []string
	for _, r := range c.releases {
		for _, name := range append(append([]string{r.components}, r.others...), r.templates...) {
			out = append(out, filepath.Join(r.dir, name))
		}
	}
	return out
}

// variables gives every variable of the releases that needs one a plausible
// value, as an environment.
func (c *corpus) variables() ([]string, error) {
	values := map[string]string{}
	for _, file := range c.files() {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, name := range real.Required(data) {
			values[name] = real.Dummy(name)
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, name+"="+values[name])
	}
	return out, nil
}

// source is a source tree with what is built from it.
type source struct {
	dir, version string
	// config is the file with its configuration, or empty.
	config string
	plan   *config.Plan
}

// sources resolves the plans of all source trees.
func (c *corpus) sources() ([]source, error) {
	dirs, err := filepath.Glob(filepath.Join(c.dir, "sources", "*"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("no source trees in %s", c.dir)
	}
	var out []source
	for _, dir := range dirs {
		s, err := c.source(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(dir), err)
		}
		out = append(out, s)
	}
	return out, nil
}

func (c *corpus) source(dir string) (source, error) {
	s := source{dir: dir}
	settings := &config.Config{}
	file := filepath.Join(c.configs, filepath.Base(dir)+".yaml")
	data, err := os.ReadFile(file)
	switch {
	case err == nil:
		s.config = file
		if settings, err = config.Decode(file, data); err != nil {
			return s, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return s, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, err
	}
	defer root.Close()
	full, _, err := detect.Complete(root.FS(), settings, detect.Hints{Folder: filepath.Base(dir)})
	if err != nil {
		return s, err
	}
	// All providers of a tree have one version.
	for _, p := range full.Providers {
		t, _ := layouts.TypeByWord(p.Type)
		label := layouts.Provider{Type: t, Name: p.Name}.Label()
		if s.version = c.versions[label]; s.version == "" {
			return s, fmt.Errorf("the corpus has no release of %s", label)
		}
	}
	s.plan, err = config.Resolve(root.FS(), full, s.version)
	return s, err
}

// kustomization is one file that kustomize builds, for both sides.
type kustomization struct {
	// dir is the folder to build.
	dir        string
	restrictor config.LoadRestrictor
	// file is where the output lies below the folder of all releases.
	file string
	// replacements happen to the output of kustomize.
	replacements []config.Replacement
}

// kustomizations lists what of a source tree is made with kustomize. Images
// that the configuration sets are set as their makers do, in a kustomization
// over the other, which is written below scratch.
func (s *source) kustomizations(scratch string) ([]kustomization, error) {
	var out []kustomization
	for _, p := range s.plan.Providers {
		if len(p.Patches)+len(p.SourceReplacements) > 0 {
			return nil, fmt.Errorf("%s: patches and replacements in sources are not known here", p.Label())
		}
		for _, o := range p.Outputs {
			if o.Kustomize == "" {
				continue
			}
			k := kustomization{
				dir: filepath.Join(s.dir, filepath.FromSlash(o.Kustomize)), restrictor: o.LoadRestrictor,
				file: filepath.Join(p.Label(), s.version, o.Name), replacements: p.Replacements,
			}
			if o.Kind == layouts.Components && len(p.Images) > 0 {
				over := filepath.Join(scratch, p.Label(), o.Name)
				if err := overlay(over, k.dir, p.Images); err != nil {
					return nil, err
				}
				k.dir = over
			}
			out = append(out, k)
		}
	}
	return out, nil
}

// overlay writes a kustomization that sets images over another one.
func overlay(dir, base string, images []config.Image) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	to, err := filepath.Rel(dir, base)
	if err != nil {
		return err
	}
	var list []any
	for _, i := range images {
		list = append(list, map[string]any{"name": i.Name, "newName": i.NewName, "newTag": i.NewTag, "digest": i.Digest})
	}
	data, err := yamldoc.Marshal(map[string]any{"resources": []any{filepath.ToSlash(to)}, "images": list})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "kustomization.yaml"), data, 0o644)
}

// finished is what the output of kustomize becomes in the release.
func (k *kustomization) finished(data []byte) []byte {
	for _, r := range k.replacements {
		if config.Match(r.Files, filepath.Base(k.file)) {
			data = bytes.ReplaceAll(data, []byte(r.Old), []byte(r.New))
		}
	}
	return data
}

// repeat writes a repository with every release of the corpus n times, as
// versions of the same series.
func (c *corpus) repeat(dir string, n int) error {
	for _, r := range c.releases {
		v, err := layouts.ParseVersion(r.version)
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(r.dir)
		if err != nil {
			return err
		}
		for i := range n {
			to := filepath.Join(dir, r.Label(), fmt.Sprintf("v%d.%d.%d", v.Major(), v.Minor(), i))
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			for _, e := range entries {
				if err := link(filepath.Join(r.dir, e.Name()), filepath.Join(to, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// link makes the same file appear under another name, or a copy of it.
func link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// settings writes a clusterctl.yaml that knows all releases.
func settings(file string, releases []release) error {
	var b strings.Builder
	fmt.Fprintf(&b, "overridesFolder: %q\nproviders:\n", filepath.Join(filepath.Dir(file), "no-overrides"))
	for _, r := range releases {
		fmt.Fprintf(&b, "- name: %q\n  type: %q\n  url: %q\n", r.Name, r.Type, "file://"+filepath.ToSlash(filepath.Join(r.dir, r.components)))
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
