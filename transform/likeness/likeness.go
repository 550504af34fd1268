package likeness

import (
	"context"
	"errors"
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// Options say what is known already.
type Options struct {
	// Given is a configuration to complete; nil says nothing.
	Given *config.Config
	// Version to build with; zero takes that of the release, or the first of the
	// highest release series of each provider.
	Version transform.Versions
	// Cache keeps what kustomize made; nil keeps nothing.
	Cache *kustomize.Cache
	// AllowRemote lets kustomizations load bases from the network.
	AllowRemote bool
	// Temp is the folder for the tree of a tag.
	Temp string
}

// Proposal is a configuration for a source tree.
type Proposal struct {
	Config *config.Config
	// Text is Config as a commented file.
	Text []byte
	// Version is what it was built as.
	Version transform.Versions
	// Releases are what Text builds; empty with Problem.
	Releases []*repo.Release
	// Said is what a person may want to know: what is left out, and why.
	Said []string
	// Counts is how many files of a release Text makes; zero for Conventions.
	Counts Counts
	// Problem is why Text does not build as it stands, or nil. That the network is
	// needed, which is not asked here, is in Said instead.
	Problem error
}

// Conventions finds the configuration that the conventions give for the tree in dir.
// The error is a *transform.InputError if they give none; it says what to do.
func Conventions(ctx context.Context, dir string, o Options) (*Proposal, error) {
	c, notes, err := complete(dir, o.Given)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Config: c, Said: unkeyed(notes)}
	if err := p.prove(ctx, dir, notes, o); err != nil {
		return nil, err
	}
	if _, remote := errors.AsType[*kustomize.RemoteError](p.Problem); remote {
		p.Problem = nil
		c.RemoteBases = true
		p.Said = append(p.Said, "the result is not proven, because only a build with --allow remote loads what it needs")
		p.Text, err = config.Write(c, append(notes, config.Note{Text: p.Said[len(p.Said)-1]}))
	}
	return p, err
}

// complete runs the detection.
func complete(dir string, given *config.Config) (*config.Config, []config.Note, error) {
	on, err := files.Open(dir)
	if err != nil {
		return nil, nil, &transform.InputError{Err: fmt.Errorf("cannot read the source tree %s: %w", dir, files.Cause(err))}
	}
	defer on.Close()
	hints, err := transform.Hints(dir)
	if err != nil {
		return nil, nil, err
	}
	if given == nil {
		given = &config.Config{}
	}
	c, notes, err := detect.Complete(on, given, hints)
	if err != nil {
		return nil, nil, &transform.InputError{Err: err}
	}
	return c, notes, nil
}

// unkeyed are the notes that are about no value: what is left out, and why.
func unkeyed(notes []config.Note) []string {
	all := phrase.Only(notes, func(n config.Note) bool { return n.Key == "" })
	return phrase.Distinct(phrase.List(all, func(n config.Note) string { return n.Text }))
}

// prove writes the configuration and builds exactly what was written.
func (p *Proposal) prove(ctx context.Context, dir string, notes []config.Note, o Options) (err error) {
	if p.Text, err = config.Write(p.Config, notes); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	read, err := config.Decode(config.FileName, p.Text)
	if err != nil {
		return err
	}
	t, err := transform.Open(dir, transform.Options{Given: read, Version: o.Version, Cache: o.Cache, AllowRemote: o.AllowRemote})
	if err != nil {
		return err
	}
	if p.Version = o.Version; p.Version.IsZero() {
		p.Version = t.SeriesVersion()
	}
	b, err := t.BuildAs(ctx, p.Version)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		p.Problem = err
		return nil
	}
	p.Releases = b.Releases
	return nil
}
