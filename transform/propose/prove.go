package propose

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/pattern"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

// clusters lists the YAML files that hold a Cluster.
func (p *proposer) clusters() []string {
	const most = 1 << 20
	var out []string
	p.walk(".", func(name string, entry fs.DirEntry) {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" || !entry.Type().IsRegular() || config.IsKustomization(p.fsys, path.Dir(name)) {
			return
		}
		if info, err := entry.Info(); err != nil || info.Size() > most {
			return
		}
		data, err := fs.ReadFile(p.fsys, name)
		if err == nil && clusterObject().Match(data) {
			out = append(out, name)
		}
	})
	return out
}

// clusterObject finds a Cluster by its first lines, because templates need not be
// YAML before their variables are set.
var clusterObject = pattern.New(`(?m)^apiVersion: *["']?cluster\.x-k8s\.io/v[0-9a-z]+["']?\s*\r?\nkind: *["']?Cluster["']?\s*$`)

// released reports whether a template is among those of a provider.
func (p *proposer) released(file string) bool {
	for _, c := range p.c.Providers {
		for _, t := range c.Templates {
			if t.Files != "" && config.Match(t.Files, file) && !config.Matcher(t.Exclude)(file) {
				return true
			}
		}
	}
	return false
}

// images sets the images that recipes set with kustomize edit, if the components
// have them; without, clusterctl refuses a placeholder such as "controller".
func (p *proposer) images() {
	if len(p.reading.Images) == 0 {
		return
	}
	for i := range p.c.Providers {
		b, err := p.prove(func(c *config.Config) { c.Providers = []config.Provider{p.c.Providers[i]}; c.Publish = nil })
		if err != nil {
			continue
		}
		names := imagesOf(b)
		for _, image := range p.reading.Images {
			if !slices.Contains(names, image.Name) || slices.ContainsFunc(p.c.Providers[i].Images, func(c config.Image) bool { return c.Name == image.Name }) {
				continue
			}
			label := labelOf(p.c.Providers[i])
			if image.NewName == "" {
				p.leave("%s sets the image %s of %s to a name that the recipe does not tell; pass --image %s=NAME:TAG, or set it under images", image.Place, image.Name, label, image.Name)
				continue
			}
			p.c.Providers[i].Images = append(slices.Clone(p.c.Providers[i].Images), config.Image{Name: image.Name, NewName: image.NewName, NewTag: "{version}"})
			p.decide(keyOf(i, "images"), "%s: %s sets the image %s", label, image.Place, image.Name)
		}
	}
}

// imagesOf lists the images of built components without their tags.
func imagesOf(releases []*repo.Release) []string {
	var out []string
	for _, r := range releases {
		for _, a := range r.Artifacts {
			if a.Kind() != layouts.Components {
				continue
			}
			data, err := a.Bytes()
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(data)) {
				ref, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "- "), "image: ")
				if !ok {
					continue
				}
				ref = strings.Trim(ref, `"'`)
				if at := strings.LastIndexAny(ref, ":@"); at > strings.LastIndex(ref, "/") {
					ref = ref[:at]
				}
				out = append(out, ref)
			}
		}
	}
	return out
}

// prove builds the proposal, or a part of it, as a file of it would be built.
func (p *proposer) prove(change func(*config.Config)) ([]*repo.Release, error) {
	c := *p.c
	if change != nil {
		change(&c)
	}
	text, err := config.Write(&c, nil)
	if err != nil {
		return nil, err
	}
	read, err := config.Decode(config.FileName, text)
	if err != nil {
		return nil, err
	}
	o := sourcetree.Options{Given: read, Version: p.opts.Version, Cache: p.opts.Cache}
	t, err := sourcetree.Open(p.dir, o)
	if err != nil {
		return nil, err
	}
	b, err := t.BuildAs(p.ctx, p.version(t))
	if err != nil {
		return nil, err
	}
	return b.Releases, nil
}

// version is what the proposal is proven with.
func (p *proposer) version(t *sourcetree.Tree) string {
	if p.opts.Version != "" {
		return p.opts.Version
	}
	return t.SeriesVersion()
}

// proposal writes the configuration and builds exactly what was written.
func (p *proposer) proposal() (*Proposal, error) {
	releases, problem := p.prove(nil)
	if p.ctx.Err() != nil {
		return nil, p.ctx.Err()
	}
	if _, ok := errors.AsType[*kustomize.RemoteError](problem); ok && p.c.RemoteBases {
		p.leave("the result is not proven, because only a build with --allow-remote loads what it needs")
		problem = nil
	}
	notes := slices.Clone(p.notes)
	for _, text := range p.left {
		notes = append(notes, config.Note{Text: text})
	}
	text, err := config.Write(p.c, notes)
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	out := &Proposal{Config: p.c, Text: text, Decisions: p.decisions, LeftOut: p.left, Problem: problem, Releases: releases}
	if t, err := sourcetree.Open(p.dir, sourcetree.Options{Given: p.c}); err == nil {
		out.Version = p.version(t)
	}
	return out, nil
}
