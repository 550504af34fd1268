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
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// clusters lists the YAML files that hold a Cluster.
func (p *proposer) clusters() []string {
	const most = 1 << 20
	var out []string
	p.walk(".", func(name string, entry fs.DirEntry) {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" || !entry.Type().IsRegular() ||
			config.IsKustomization(p.fsys, path.Dir(name)) {
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
var clusterObject = phrase.Pattern(`(?m)^apiVersion: *["']?cluster\.x-k8s\.io/v[0-9a-z]+["']?\s*\r?\nkind: *["']?Cluster["']?\s*$`)

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

// images sets the images and pull policies that recipes set, if the components
// have them; without, clusterctl refuses a placeholder such as "controller".
func (p *proposer) images() {
	if len(p.release.Images) == 0 {
		return
	}
	for i := range p.c.Providers {
		b, err := p.prove(func(c *config.Config) { c.Providers = []config.Provider{p.c.Providers[i]}; c.Publish = nil })
		_, remote := errors.AsType[*kustomize.RemoteError](err)
		if err != nil && !remote {
			continue
		}
		built := imagesOf(b)
		for _, image := range p.release.Images {
			for _, name := range detect.Replaced(p.fsys, image, built) {
				has := slices.ContainsFunc(built, func(ref string) bool { n, _, _ := imageref.Split(ref); return n == name })
				// What only the network completes is taken from the file that sed changes.
				if (has || remote && image.File != "" && image.Name == "" && name != "") && detect.Nearest(p.c, i, path.Join(image.Dir, path.Dir(image.File))) {
					p.image(i, image, name)
				}
			}
		}
		if set := detect.PullPolicy(p.fsys, p.release, p.c, i); set != nil {
			for n := range p.c.Providers[i].Images {
				p.c.Providers[i].Images[n].PullPolicy = set.PullPolicy
			}
		}
	}
}

// image sets one image of the i-th provider.
func (p *proposer) image(i int, image recipes.Image, name string) {
	c := &p.c.Providers[i]
	if image.OldTag != "" {
		image.NewName = name
	}
	local := strings.HasPrefix(image.NewName, "localhost") || strings.HasPrefix(image.NewName, "127.")
	switch {
	case slices.ContainsFunc(c.Images, func(c config.Image) bool { return c.Name == name }):
	case image.NewName == "" || local:
		p.leave("%s sets the image %s of %s to a name that the recipe does not show; pass --image %s=NAME:TAG, or set it under images", image.Place, name, c.Label(), name)
	case !strings.Contains(image.Tag, "{"):
		p.leave("%s sets the image %s of %s to %s with a tag that does not follow the release; pass --image %s=%s:TAG, or set it under images", image.Place, name, c.Label(), image.NewName, name, imageref.Full(image.NewName))
	default:
		set := config.Image{Name: name, NewName: imageref.Full(image.NewName), NewTag: image.Tag}
		if image.NewName == set.Name {
			set.NewName = ""
		}
		c.Images = append(slices.Clone(c.Images), set)
		p.decide(keyOf(i, "images"), "%s: %s sets the image %s", c.Label(), image.Place, name)
	}
}

// imagesOf lists the images of built components.
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
			out = append(out, detect.ImagesIn(string(data))...)
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
	o := transform.Options{Given: read, Version: p.opts.Version, Cache: p.opts.Cache}
	t, err := transform.Open(p.dir, o)
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
func (p *proposer) version(t *transform.Tree) transform.Versions {
	if !p.opts.Version.IsZero() {
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
		p.leave("the result is not proven, because only a build with --allow remote loads what it needs")
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
	if t, err := transform.Open(p.dir, transform.Options{Given: p.c}); err == nil {
		out.Version = p.version(t)
	}
	return out, nil
}
