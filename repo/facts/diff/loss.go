package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Loss is something that the last release has, and the next one lacks or changes
// against its pattern, so that it was probably lost on the way.
type Loss struct {
	Of LossKind
	// Name is what a configuration lists under removed if it is meant: the kind and what
	// is lost, such as "flavor ha".
	Name string
	// Message names both sides, Fix says what to do.
	Message, Fix string
	// Release is the next release of the provider.
	Release *repo.Release
	// Path and Pos are the place in a file of it; Path is that of the release if what
	// is lost has no place there.
	Path string
	Pos  yamldoc.Pos
}

// LossKind is what was lost, as the first word of a name.
type LossKind string

// The kinds of losses.
const (
	LostComponents LossKind = "components"
	LostProvider   LossKind = "provider"
	LostNamespace  LossKind = "namespace"
	LostFlavor     LossKind = "flavor"
	LostClass      LossKind = "class"
	LostCRD        LossKind = "crd"
	LostVersion    LossKind = "version"
	LostImage      LossKind = "image"
	LostContract   LossKind = "contract"
	LostObjects    LossKind = "objects"
)

// Losses compares the last releases of providers with the next ones of the same source:
// flavors, ClusterClasses, components files, CRDs and served versions that are gone,
// images of controllers whose name or tag does not follow that of the last release,
// another provider label or namespace, a lower contract, and kinds of objects of which
// more than half are gone. The error joins what cannot be read; the losses are then
// those of the rest, in both releases.
func Losses(ctx context.Context, last, next []*repo.Release) ([]Loss, error) {
	var out []Loss
	var failures []error
	for _, from := range last {
		to := successor(from, last, next)
		if to == nil {
			out = append(out, goneProvider(from, next))
			continue
		}
		c := &losses{}
		c.old, c.new = loadBoth(from, to)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.files()
		c.classes()
		c.contract()
		if from.Components() == nil || to.Components() != nil { // otherwise one thing is gone
			c.identity()
			c.definitions()
			if err := c.images(ctx); err != nil {
				return nil, err
			}
			c.counts()
		}
		out = append(out, c.found...)
		failures = append(append(failures, c.old.failures...), c.new.failures...)
	}
	return out, errors.Join(failures...)
}

// successor is the next release of the same provider, or the one whose components file
// has the same name, whatever its label says.
func successor(from *repo.Release, last, next []*repo.Release) *repo.Release {
	if r := phrase.First(next, func(r *repo.Release) bool { return r.Provider == from.Provider }); r != nil {
		return r
	}
	return phrase.First(next, func(r *repo.Release) bool {
		a, b := from.Components(), r.Components()
		succeeds := slices.ContainsFunc(last, func(other *repo.Release) bool { return other.Provider == r.Provider })
		return a != nil && b != nil && a.Name == b.Name && !succeeds
	})
}

func goneProvider(from *repo.Release, next []*repo.Release) Loss {
	name := from.Provider.Label()
	if a := from.Components(); a != nil {
		name = a.Name
	}
	labels := phrase.List(next, func(r *repo.Release) string { return r.Provider.Label() })
	out := Loss{
		Of: LostComponents, Name: string(LostComponents) + " " + name,
		Message: fmt.Sprintf("%s of %s has %s; this release has only %s", from.Version, from.Provider.Label(), name, strings.Join(labels, ", ")),
		Fix:     "build the components of the provider too",
	}
	if len(next) > 0 {
		out.Release, out.Path = next[0], next[0].Path
	}
	return out
}

// losses is the comparison of two releases of a provider.
type losses struct {
	old, new *side
	found    []Loss
}

// add notes a loss at a node of the new release, or at the release itself.
func (c *losses) add(o *manifest.Object, n *yamldoc.Node, of LossKind, name, fix, format string, args ...any) {
	l := Loss{Of: of, Name: string(of) + " " + name, Message: fmt.Sprintf(format, args...), Fix: fix, Release: c.new.Release, Path: c.new.Path}
	if o != nil {
		l.Path, l.Pos = o.File.Artifact.Path, o.Doc.Pos(cmp.Or(n, o.Doc.Root))
	}
	c.found = append(c.found, l)
}

// identity compares what users and clusterctl know the provider by: the label, and the
// namespace of its objects.
func (c *losses) identity() {
	if a, b := c.old.Provider, c.new.Provider; a != b {
		c.add(nil, nil, LostProvider, a.Label(), "label the objects with "+a.Label()+", by which users installed the provider",
			"the provider label is %s; %s has %s", b.Label(), c.old.Version, a.Label())
	}
	isNamespace := func(o *manifest.Object) bool { return o.Is("", "Namespace") }
	was, is := phrase.First(c.old.components(), isNamespace), phrase.First(c.new.components(), isNamespace)
	if was != nil && is != nil && was.Name != "" && is.Name != "" && is.Name != was.Name {
		c.add(is, is.Get("metadata", "name"), LostNamespace, was.Name, "keep the namespace: users who apply the file, or install with the operator, get a second controller next to the old one",
			"the Namespace is %s; %s has %s", is.Name, c.old.Version, was.Name)
	}
}

// files looks for components files and flavors that are gone.
func (c *losses) files() {
	kindOf := c.old.Kinds()
	for _, a := range c.old.Artifacts {
		if c.new.Artifact(a.Name) != nil {
			continue
		}
		switch kindOf(a) {
		case layouts.Components:
			c.add(nil, nil, LostComponents, a.Name, "build the file too", "%s is gone; %s has it", a.Name, c.old.Version)
		case layouts.ClusterTemplate:
			flavor, _ := layouts.Flavor(a.Name)
			c.add(nil, nil, LostFlavor, cmp.Or(flavor, "default"), "add the file: clusterctl generate cluster fails for users of the flavor", "%s is gone; %s has it", a.Name, c.old.Version)
		}
	}
}

// classes looks for ClusterClasses that no file has any more.
func (c *losses) classes() {
	names := func(s *side) map[string]string {
		out := map[string]string{}
		for _, f := range s.files {
			for _, x := range clusterclass.In(f) {
				out[x.Name()] = f.Artifact.Name
			}
		}
		return out
	}
	old, new := names(c.old), names(c.new)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := new[name]; !ok {
			c.add(nil, nil, LostClass, name, "add the class: Clusters that use it can no longer be created from the release",
				"ClusterClass %s is gone; %s has it in %s", name, c.old.Version, old[name])
		}
	}
}

// definitions looks for CRDs and served versions that are gone.
func (c *losses) definitions() {
	now := map[string]*crd.CRD{}
	for _, d := range crd.In(c.new.components()) {
		now[d.Object.Name] = d
	}
	for _, old := range crd.In(c.old.components()) {
		d := now[old.Object.Name]
		if d == nil {
			c.add(nil, nil, LostCRD, old.Object.Name, "keep the CRD: no controller reconciles the objects that users have of it",
				"CRD %s is gone; %s has it", old.Object.Name, c.old.Version)
			continue
		}
		for _, v := range old.Versions {
			if w := d.Version(v.Name); v.Served && (w == nil || !w.Served) {
				c.add(d.Object, d.Object.Get("spec", "versions"), LostVersion, old.Object.Name+"/"+v.Name, "serve the version: manifests of users are refused without it",
					"CRD %s no longer serves %s; %s serves it", old.Object.Name, v.Name, c.old.Version)
			}
		}
	}
}

// images compares the images of the controllers with those of the last release, whose
// own images are those that have its version as their tag, and those of containers
// named manager.
func (c *losses) images(ctx context.Context) error {
	images := func(s *side) []inventory.Image {
		list, _ := inventory.Parsed(s.files).Images(ctx, s.Release) // unreadable files are named already
		return phrase.Only(list, func(i inventory.Image) bool {
			f := s.files[i.File]
			return strings.HasPrefix(i.Object, "Deployment ") && f != nil && f.Kind == layouts.Components
		})
	}
	known := func(i inventory.Image) bool { return i.Name != "" } // and not what a user chooses
	old, new := phrase.Only(images(c.old), known), images(c.new)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	place := func(i inventory.Image) string { return filepath.Base(i.Object) + " " + i.Field + " " + i.Container }
	managed := map[string]bool{} // Deployments whose other containers are not the provider's own
	versioned := false           // managers without the version are then those of others
	for _, i := range old {
		if i.Container == managerContainer {
			_, own := tagPattern(i.Tag, c.old.Version)
			managed[i.Object], versioned = true, versioned || own
		}
	}
	places := map[string]bool{}
	for _, i := range old {
		places[place(i)] = true
	}
	for _, was := range old {
		pattern, own := tagPattern(was.Tag, c.old.Version)
		switch manager := was.Container == managerContainer; {
		case manager && (own || !versioned):
		case !manager && own && !managed[was.Object] && was.Container != proxyContainer:
		default:
			continue
		}
		at := slices.IndexFunc(new, func(i inventory.Image) bool { return place(i) == place(was) })
		if at < 0 {
			at = slices.IndexFunc(new, func(i inventory.Image) bool {
				return i.Repository == was.Repository && i.Name == was.Name && !places[place(i)]
			})
		}
		if at < 0 {
			c.add(nil, nil, LostImage, was.Ref, "keep the container", "container %s of %s is gone; %s runs %s in it",
				was.Container, was.Object, c.old.Version, was.Ref)
			continue
		}
		is := new[at]
		says := func(fix, format string, args ...any) {
			c.found = append(c.found, Loss{
				Of: LostImage, Name: string(LostImage) + " " + was.Ref, Fix: fix, Message: fmt.Sprintf("container %s of %s runs %s", is.Container, is.Object, is.Ref) + fmt.Sprintf(format, args...),
				Release: c.new.Release, Path: c.new.files[is.File].Artifact.Path, Pos: yamldoc.Pos{Line: is.Line, Column: is.Column},
			})
		}
		wanted := pattern(c.new.Version)
		switch {
		case is.Repository != was.Repository || is.Name != was.Name:
			says("set the image of the provider, as the last release has it", "; %s runs %s", c.old.Version, was.Ref)
		case own && is.Tag == c.new.Version && candidate().MatchString(was.Tag): // which the last one should have had
		case own && is.Tag != wanted:
			says(fmt.Sprintf("set the tag %s", wanted), "; want the tag %s, because %s has the tag %s", wanted, c.old.Version, was.Tag)
		case is.Digest != "" && is.Digest == was.Digest, !own && is.Digest == "" && is.Tag != "" && is.Tag == was.Tag && !imageref.Moving(is.Tag):
			says("set the image that was built for this release", ", which is the image of %s", c.old.Version)
		}
	}
	return nil
}

// managerContainer is the container that the provider contract names (clusterctl
// provider contract, section Components YAML: Controllers' containers).
const managerContainer = "manager"

// proxyContainer is the sidecar that kubebuilder adds, whose version is that of another
// project.
const proxyContainer = "kube-rbac-proxy"

// candidate is the tag of a pre-release.
var candidate = phrase.Pattern(`-(alpha|beta|rc)\b`)

// tagPattern says how the tag of an image follows from the version of its release; ok
// is false if it does not hold the version.
func tagPattern(tag, version string) (of func(version string) string, ok bool) {
	bare := func(v string) string { return strings.ReplaceAll(strings.TrimPrefix(v, "v"), "+", "_") }
	before, after, ok := strings.Cut(tag, bare(version))
	within := strings.ContainsAny(before[max(0, len(before)-1):], "0123456789.") || strings.ContainsAny(after[:min(1, len(after))], "0123456789")
	if !ok || bare(version) == "" || within { // of another version, such as v11.0.0
		return func(string) string { return tag }, false
	}
	return func(version string) string { return before + bare(version) + after }, true
}

// contract compares the contracts that the metadata gives the releases.
func (c *losses) contract() {
	old, _ := metadataOf(c.old).ContractOf(c.old.Version) // "" for a version that is none
	new, _ := metadataOf(c.new).ContractOf(c.new.Version)
	if old == "" || new == "" || contract.CompareVersions(new, old) >= 0 {
		return
	}
	l := Loss{Of: LostContract, Name: string(LostContract) + " " + old, Release: c.new.Release, Path: c.new.Path, Fix: "give the series contract " + old + " in metadata.yaml",
		Message: fmt.Sprintf("metadata.yaml gives %s contract %s; %s has %s", c.new.Version, new, c.old.Version, old)}
	if f := c.new.files[layouts.MetadataFile]; f != nil {
		l.Path = f.Artifact.Path
	}
	c.found = append(c.found, l)
}

// counts looks for kinds of objects in the components of which more than half are gone: of
// one or two objects all, and settings and passwords count only in larger numbers.
func (c *losses) counts() {
	count := func(s *side) map[string]int {
		out := map[string]int{}
		for _, o := range s.components() {
			out[o.Kind]++
		}
		return out
	}
	old, new := count(c.old), count(c.new)
	for _, kind := range slices.Sorted(maps.Keys(old)) {
		few := old[kind] < 3 && (new[kind] > 0 || kind == "ConfigMap" || kind == "Secret")
		if few || 2*new[kind] >= old[kind] {
			continue
		}
		named := map[string]LossKind{crd.Kind: LostCRD, "Deployment": LostImage}[kind]
		if named != "" && slices.ContainsFunc(c.found, func(l Loss) bool { return l.Of == named }) {
			continue // each is a loss already
		}
		c.add(nil, nil, LostObjects, kind, "check what the build leaves out", "the components hold %s; %s has %d", phrase.Count(new[kind], kind), c.old.Version, old[kind])
	}
}
