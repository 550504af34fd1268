package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// metadata compares the release series.
func (c *comparison) metadata() {
	old, new := metadataOf(c.old), metadataOf(c.new)
	pairs(old.Series, new.Series, metadata.Series.String, func(name string, a, b *metadata.Series) {
		change := Change{Area: InMetadata, Subject: "release series " + name, File: layouts.MetadataFile}
		switch {
		case a == nil:
			change.New, change.Line, change.Column = b.Contract, b.Pos.Line, b.Pos.Column
			c.note(change.is(Added, Neutral, "", "series %s comes with contract %s", name, b.Contract))
		case b == nil:
			change.Old, change.Line, change.Column = a.Contract, a.Pos.Line, a.Pos.Column
			const advice = "clusterctl cannot upgrade from its releases to this one while their series is missing; leave old series in metadata.yaml"
			c.note(change.is(Removed, Attention, advice, "series %s is no longer listed", name))
		case a.Contract != b.Contract:
			change.Old, change.New, change.Line, change.Column = a.Contract, b.Contract, b.ContractPos.Line, b.ContractPos.Column
			const advice = "releases of that series keep the contract they were made for; give the new contract a new series"
			c.note(change.is(Changed, Breaking, advice,
				"series %s changes its contract from %s to %s", name, a.Contract, b.Contract))
		}
	})
	from, _ := old.ContractOf(c.old.Version) // "" for a version that is none
	to, _ := new.ContractOf(c.new.Version)
	if from != to && from != "" && to != "" {
		c.note(Change{Area: InMetadata, Kind: Changed, Impact: Attention, Subject: "contract", Old: from, New: to, File: layouts.MetadataFile,
			Message: fmt.Sprintf("the release follows contract %s instead of %s", to, from),
			Advice:  "all providers of a management cluster follow one contract; upgrade them together, as clusterctl upgrade plan shows"})
	}
}

// metadataOf reads the metadata of a release; it has no series if that cannot be read.
func metadataOf(s *side) *metadata.Metadata {
	f := s.files[layouts.MetadataFile]
	if f == nil {
		return &metadata.Metadata{}
	}
	m, _ := metadata.Read(f.Raw) // load keeps what can be read
	return m
}

// large is the size of components, in bytes, from which on their schemas are only in
// memory while they are compared. They are parsed a second time for it.
const large = 4 << 20

// dropSchemas empties the schemas of a definition.
func dropSchemas(d *yamldoc.Document) {
	group, _ := manifest.SplitAPIVersion(d.Root.Get("apiVersion").Str())
	if d.Root.Get("kind").Str() != crd.Kind || group != crd.Group {
		return
	}
	schemas := map[*yamldoc.Node]bool{}
	spec := d.Root.Get("spec")
	if n := spec.Get("validation", "openAPIV3Schema"); n != nil {
		schemas[n] = true
	}
	for _, v := range spec.Get("versions").List() {
		if n := v.Get("schema", "openAPIV3Schema"); n != nil {
			schemas[n] = true
		}
	}
	d.Root = d.Root.Without(func(n *yamldoc.Node) bool { return schemas[n] })
}

// whole returns a definition with its schemas.
func whole(d *crd.CRD) *crd.CRD {
	if len(d.Object.File.Raw.Data) <= large {
		return d
	}
	o := *d.Object
	o.Doc = o.Doc.Again()
	return crd.Of(&o)
}

// definitions compares the CustomResourceDefinitions.
func (c *comparison) definitions() {
	type pair struct {
		name     string
		old, new *crd.CRD
	}
	var all []pair
	pairs(crd.In(c.old.components()), crd.In(c.new.components()), func(d *crd.CRD) string { return d.Object.Name }, func(name string, a, b **crd.CRD) {
		all = append(all, pair{name, deref(a), deref(b)})
	})
	found := make([][]Change, len(all))
	parallel.Each(len(all), func(i int) {
		part := &comparison{old: c.old, new: c.new}
		p := all[i]
		change := Change{Area: InAPI, Subject: crd.Kind + " " + p.name}
		switch {
		case p.old == nil:
			versions := phrase.List(p.new.Versions, func(v crd.Version) string { return v.Name })
			part.at(p.new.Object, nil, change.is(Added, Neutral, "", "new API %s, in %s", p.new.Kind, strings.Join(versions, ", ")))
		case p.new == nil:
			const advice = "clusterctl leaves the definition and its objects in the cluster, but nothing reconciles them; delete or migrate the objects before the upgrade"
			part.at(p.old.Object, nil, change.is(Removed, Breaking, advice,
				"the API %s is no longer part of the release", p.old.Kind))
		default:
			part.definition(whole(p.old), whole(p.new), change)
		}
		found[i] = slices.Clip(part.changes)
	})
	c.changes = slices.Concat(append([][]Change{c.changes}, found...)...)
}

func (c *comparison) definition(a, b *crd.CRD, change Change) {
	change.Kind = Changed
	for _, f := range []struct{ path, old, new string }{
		{"spec.scope", a.Scope, b.Scope},
		{"spec.names.plural", a.Plural, b.Plural},
		{"spec.names.kind", a.Kind, b.Kind},
		{"spec.names.listKind", a.ListKind, b.ListKind},
	} {
		if f.old != f.new {
			row := change.is(Changed, Breaking, "the API server does not allow this while the definition exists",
				"%s changes from %s to %s", f.path, f.old, f.new)
			row.Path, row.Old, row.New = f.path, f.old, f.new
			c.at(b.Object, b.Object.Get(strings.Split(f.path, ".")...), row)
		}
	}
	c.contractLabels(a, b, change)
	c.parts(a.Object, b.Object, a.Object.Doc.Root, b.Object.Doc.Root, definitionParts, change, "")
	pairs(a.Versions, b.Versions, func(v crd.Version) string { return v.Name }, func(name string, v, w *crd.Version) {
		row := change
		row.Path = name
		switch {
		case v == nil:
			c.at(b.Object, w.Node, row.is(Added, Neutral, "", "%s has a new version %s", b.Kind, name))
			return
		case w == nil:
			advice := fmt.Sprintf("move manifests and clients to %s, and migrate stored objects first: the API server refuses the definition while %s is in its status.storedVersions", strings.Join(b.Served(), " or "), name)
			c.at(a.Object, v.Node, row.is(Removed, Breaking, advice, "%s loses the version %s", b.Kind, name))
			return
		}
		c.parts(a.Object, b.Object, v.Node, w.Node, versionParts, change, name+" ")
		if v.Served && !w.Served {
			c.at(b.Object, w.Node.Get("served"), row.is(Changed, Breaking, "move manifests, GitOps sources and clients to "+strings.Join(b.Served(), " or "), "%s no longer serves %s", b.Kind, name))
		} else if !v.Served && w.Served {
			c.at(b.Object, w.Node.Get("served"), row.is(Changed, Neutral, "", "%s serves %s again", b.Kind, name))
		}
		if !v.Storage && w.Storage {
			c.at(b.Object, w.Node.Get("storage"), row.is(Changed, Neutral, "", "%s is stored as %s", b.Kind, name))
		}
		if !v.Node.Get("deprecated").Bool() && w.Node.Get("deprecated").Bool() {
			c.at(b.Object, w.Node.Get("deprecated"), row.is(Changed, Attention, "move manifests to a newer version",
				"%s of %s is deprecated", name, b.Kind))
		}
	})
	c.schemas(a, b, change)
}

// contractLabels compares what a definition declares for Cluster API.
func (c *comparison) contractLabels(a, b *crd.CRD, change Change) {
	for _, k := range contract.Accepted {
		old, _ := a.Object.Label(k.Label())
		new, _ := b.Object.Label(k.Label())
		if old == new {
			continue
		}
		row := change
		row.Path, row.Old, row.New = "metadata.labels["+k.Label()+"]", old, new
		switch {
		case old == "":
			row = row.is(Added, Neutral, "", "%s follows contract %s with %s", b.Kind, k, new)
		case new == "":
			const advice = "versions of Cluster API that know only this contract cannot use the kind; check the version of the core provider"
			row = row.is(Removed, Attention, advice, "%s no longer follows contract %s", b.Kind, k)
		default:
			row = row.is(Changed, Neutral, "",
				"for contract %s, %s has the versions %s instead of %s", k, b.Kind, spaced(new), spaced(old))
		}
		c.at(b.Object, b.Object.Get("metadata", "labels", k.Label()), row)
	}
}

func spaced(versions string) string { return strings.ReplaceAll(versions, "_", ", ") }

// schemas compares the fields of all versions that both have. What changes in
// the same way in several versions is one change.
func (c *comparison) schemas(a, b *crd.CRD, change Change) {
	type inVersion struct {
		schemaChange
		version string
	}
	var found []inVersion
	for i := range a.Versions {
		v := &a.Versions[i]
		w := b.Version(v.Name)
		if w == nil {
			continue
		}
		for _, s := range compareSchemas(v.Schema.Node, w.Schema.Node, "") {
			found = append(found, inVersion{s, v.Name})
		}
	}
	for _, same := range phrase.Groups(found, func(s inVersion) [2]string { return [2]string{s.path, s.message} }) {
		s := same[0]
		versions := slices.Sorted(slices.Values(phrase.List(same, func(s inVersion) string { return s.version })))
		row := change
		row.Kind, row.Impact, row.Old, row.New, row.Advice = s.kind, s.impact, s.old, s.new, s.advice
		row.Path = strings.Join(versions, ",") + " " + s.path
		row.Message = fmt.Sprintf("%s %s: %s", b.Kind, s.path, s.message)
		o := b.Object
		if s.kind == Removed && s.inOld {
			o = a.Object
			if s.old == "" { // a field, and not the value of a keyword
				row.Message = fmt.Sprintf("%s %s %s: %s", b.Kind, strings.Join(versions, ", "), s.path, s.message)
			}
		}
		c.at(o, s.node, row)
	}
}
