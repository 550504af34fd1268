package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// variables compares the variables of each file that both releases have, as
// clusterctl lists them. What changes in several files is one change. Files
// that only one release has are compared elsewhere.
func (c *comparison) variables(ctx context.Context) error {
	old, _ := inventory.Parsed(c.old.files).Variables(ctx, c.old.Release) // unreadable files are named already
	new, _ := inventory.Parsed(c.new.files).Variables(ctx, c.new.Release)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pairs(old, new, func(v inventory.Variable) string { return v.Name }, func(name string, a, b *inventory.Variable) {
		var found []Change
		add := func(kind Kind, impact Impact, old, new, file string) {
			found = append(found, Change{Area: InVariables, Kind: kind, Impact: impact, Subject: name, Old: old, New: new, File: file})
		}
		shared := func(v *inventory.Variable, other *side) []inventory.InFile {
			return phrase.Only(deref(v).Files, func(f inventory.InFile) bool {
				return other.Artifact(f.File) != nil && !other.skip[f.File]
			})
		}
		pairs(shared(a, c.new), shared(b, c.old), func(f inventory.InFile) string { return f.File }, func(file string, x, y *inventory.InFile) {
			given := a != nil && a.Option != "" || b != nil && b.Option != ""
			switch {
			case x == nil && y.Default == nil && !given:
				add(Added, Breaking, "", "", file)
			case x == nil:
				add(Added, Neutral, "", deref(y.Default), file)
			case y == nil:
				add(Removed, Neutral, deref(x.Default), "", file)
			case x.Default != nil && y.Default == nil && !given:
				add(Changed, Breaking, deref(x.Default), "", file)
			case deref(x.Default) != deref(y.Default):
				impact := Attention
				if x.Default == nil {
					impact = Neutral
				}
				add(Changed, impact, deref(x.Default), deref(y.Default), file)
			}
		})
		alike := phrase.Groups(found, func(c Change) Change {
			c.File = ""
			return c
		})
		for _, same := range alike {
			change := same[0]
			where := "in " + strings.Join(phrase.List(same, func(c Change) string { return c.File }), ", ")
			switch {
			case change.Kind == Added && change.Impact == Breaking:
				change.Message, change.Advice = fmt.Sprintf("%s must be set %s", name, where), "set the variable before the upgrade, in the environment or in clusterctl.yaml"
			case change.Kind == Added:
				change.Message = fmt.Sprintf("new variable %s %s, by default %q", name, where, change.New)
			case change.Kind == Removed:
				change.Message = fmt.Sprintf("%s is no longer used %s", name, where)
			case change.Impact == Breaking:
				change.Message, change.Advice = fmt.Sprintf("%s no longer has a default %s; it was %q", name, where, change.Old),
					"set the variable before the upgrade"
			case change.Impact == Neutral:
				change.Message = fmt.Sprintf("%s no longer needs to be set %s; the default is %q", name, where, change.New)
			default:
				change.Message, change.Advice = fmt.Sprintf("the default of %s changes from %q to %q %s", name, change.Old, change.New, where),
					"set the variable to keep the old value"
			}
			for _, u := range cmp.Or(b, a).Uses {
				if u.File == change.File {
					change.Line, change.Column = u.Line, u.Column
					break
				}
			}
			c.note(change)
		}
	})
	return nil
}

// images compares the images by their names without tag.
func (c *comparison) images(ctx context.Context) error {
	old, _ := inventory.Parsed(c.old.files).Images(ctx, c.old.Release)
	new, _ := inventory.Parsed(c.new.files).Images(ctx, c.new.Release)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	compared := func(s *side, list []inventory.Image) []image {
		return byName(phrase.Only(list, func(i inventory.Image) bool { return !s.skip[i.File] }))
	}
	x, y := compared(c.old, old), compared(c.new, new)
	pairs(x, y, func(i image) string { return i.name }, func(name string, a, b *image) {
		change := Change{Area: InImages, Subject: name}
		var place *inventory.Image
		switch {
		case a == nil:
			change.Kind, change.Impact, change.New, place = Added, Attention, strings.Join(b.refs, ", "), b.first
			change.Message, change.Advice = "new image "+change.New, "copy it to your registry if clusters cannot reach the original"
		case b == nil:
			change.Kind, change.Old, place = Removed, strings.Join(a.refs, ", "), a.first
			change.Message = "the image " + change.Old + " is no longer used"
		case !slices.Equal(a.refs, b.refs):
			change.Kind, change.Old, change.New, place = Changed, strings.Join(a.refs, ", "), strings.Join(b.refs, ", "), b.first
			change.Message = fmt.Sprintf("the image changes from %s to %s", change.Old, change.New)
		default:
			return
		}
		change.File, change.Line, change.Column = place.File, place.Line, place.Column
		c.note(change)
	})
	return nil
}

// image is all that a release uses of one image.
type image struct {
	name  string
	refs  []string // sorted
	first *inventory.Image
}

func byName(list []inventory.Image) []image {
	name := func(i inventory.Image) string {
		if i.Name == "" {
			return i.Ref
		}
		return i.Repository + "/" + i.Name
	}
	return phrase.List(phrase.Groups(list, name), func(same []inventory.Image) image {
		refs := slices.Sorted(slices.Values(phrase.List(same, func(i inventory.Image) string { return i.Ref })))
		return image{name(same[0]), slices.Compact(refs), &same[0]}
	})
}

// files compares the names of the files, apart from those that are compared by
// what is in them.
func (c *comparison) files() {
	oldKind, newKind := c.old.Kinds(), c.new.Kinds()
	names := func(s *side) []string {
		return phrase.List(s.Artifacts, func(a *repo.Artifact) string { return a.Name })
	}
	pairs(names(c.old), names(c.new), func(n string) string { return n }, func(name string, a, b *string) {
		change := Change{Area: InFiles, Subject: name, File: name}
		switch {
		case a != nil && b != nil:
			return
		case a == nil:
			change = change.is(Added, Neutral, "", "new %s file %s", newKind(c.new.Artifact(name)), name)
		default:
			kind := oldKind(c.old.Artifact(name))
			change = change.is(Removed, Neutral, "", "the %s file %s is gone", kind, name)
			switch kind {
			case layouts.Components:
				change.Impact, change.Advice = Breaking, "URLs in clusterctl.yaml that name the file have to change"
			case layouts.ClusterTemplate:
				flavor, _ := layouts.Flavor(name)
				change.Impact, change.Advice = Breaking, "clusterctl generate cluster --flavor "+flavor+" fails; use another flavor"
				if flavor == "" {
					change.Advice = "clusterctl generate cluster fails without --flavor"
				}
			case layouts.ClusterClass:
				change.Impact, change.Advice = Attention, "templates that use the class no longer get it from the release"
			}
		}
		c.note(change)
	})
}
