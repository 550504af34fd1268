package propose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/transform/cache"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

// Options say what is decided already.
type Options struct {
	// Given is a configuration to complete; nil decides nothing.
	Given *config.Config
	// Version to prove the proposal with; empty takes the first of the highest
	// release series of each provider.
	Version string
	// Cache keeps what kustomize made; nil keeps nothing.
	Cache *cache.Cache
}

// Proposal is a configuration for a source tree.
type Proposal struct {
	Config *config.Config
	// Text is Config as a commented file.
	Text []byte
	// Version is what it was built as, in the form of sourcetree.Options.
	Version string
	// Releases are what Text builds; empty with Problem.
	Releases []*repo.Release
	// Decisions tell what was taken from recipes or decided by building, LeftOut
	// what no release gets and why.
	Decisions, LeftOut []string
	// Problem is why Text does not build as it stands, or nil. That the network is
	// needed, which is not asked here, is listed in LeftOut instead.
	Problem error
}

// Propose finds the configuration for the tree in dir. The error is an
// *sourcetree.InputError if the tree shows no provider; it says what to do.
func Propose(ctx context.Context, dir string, o Options) (*Proposal, error) {
	on, err := files.Open(dir)
	if err != nil {
		return nil, &sourcetree.InputError{Err: fmt.Errorf("cannot read the source tree %s: %w", dir, pathless(err))}
	}
	defer on.Close()
	hints, err := sourcetree.Hints(dir)
	if err != nil {
		return nil, err
	}
	hints.Remote = sync.OnceValue(hints.Remote)
	p := &proposer{ctx: ctx, dir: dir, fsys: on, opts: o, hints: hints, reading: recipes.Read(on), given: &config.Config{}, built: map[string]outcome{}}
	if o.Given != nil {
		p.given = o.Given
	}
	if p.tree, err = kustomize.OpenTree(dir, nil); err != nil {
		return nil, err
	}
	defer p.tree.Close()
	p.tree.Cache = o.Cache
	p.componentsOfRecipes()
	if err := p.complete(); err != nil {
		return nil, &sourcetree.InputError{Err: err}
	}
	for _, step := range []func(){p.coveringMetadata, p.buildable, p.templates, p.assets, p.images, p.others, p.unread} {
		if step(); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return p.proposal()
}

func pathless(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

type proposer struct {
	ctx     context.Context
	dir     string
	fsys    fs.FS
	opts    Options
	hints   detect.Hints
	reading *recipes.Reading

	given *config.Config // what detection starts from
	c     *config.Config // what it gave, and what building changed

	notes     []config.Note
	decisions []string
	left      []string
	built     map[string]outcome
	tree      *kustomize.Tree // shared by all builds of files as they are
}

// decide tells of a decision, and why, in the output and above the value.
func (p *proposer) decide(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.notes = append(p.notes, config.Note{Key: key, Text: text})
	p.decisions = append(p.decisions, text)
}

// leave tells of something that no release gets.
func (p *proposer) leave(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(p.left, text) {
		p.left = append(p.left, text)
	}
}

func keyOf(provider int, field string) string {
	return fmt.Sprintf("providers[%d].%s", provider, field)
}

func labelOf(c config.Provider) string {
	t, _ := layouts.TypeByWord(c.Type)
	return layouts.Provider{Type: t, Name: c.Name}.Label()
}

func short(t layouts.ProviderType) string {
	info, _ := t.Info()
	return info.Short
}

// released reports whether a recipe's product goes into a release rather than
// into a test.
func released(p recipes.Product) bool {
	for name := range strings.SplitSeq(path.Dir(p.To), "/") {
		switch name {
		case "test", "tests", "e2e", "testdata", "docs", "hack", "tilt", "_artifacts", "artifacts", "ARTIFACTS", "tmp", "dev":
			return false
		}
	}
	return true
}

// componentsOfRecipes adds an entry for each provider whose components a recipe
// builds.
func (p *proposer) componentsOfRecipes() {
	given := *p.given
	given.Providers = slices.Clone(p.given.Providers)
	p.given = &given
	at := map[string]int{} // label → entry
	for _, product := range p.reading.Products {
		typ := layouts.TypeOfComponents(product.Name)
		dir := product.Kustomize
		if typ == "" || dir == "" || !released(product) || !config.IsKustomization(p.fsys, dir) {
			continue
		}
		if slices.ContainsFunc(given.Providers, func(c config.Provider) bool { return path.Clean(c.Components.Path) == dir }) {
			continue
		}
		id, err := detect.Identify(p.fsys, dir, p.hints)
		if id.Name == "" || id.Type == "" && err != nil {
			continue // detection says what is missing
		}
		entry := config.Components{Path: dir}
		if info, _ := typ.Info(); product.Name != info.ComponentsFile {
			entry.File = product.Name
		}
		if product.Unrestricted {
			entry.LoadRestrictor = config.NoRestrictions
		}
		if i, ok := at[(layouts.Provider{Type: typ, Name: id.Name}).Label()]; ok {
			p.second(i, entry, product)
			continue
		}
		i := len(given.Providers)
		at[(layouts.Provider{Type: typ, Name: id.Name}).Label()] = i
		given.Providers = append(given.Providers, config.Provider{Type: short(typ), Name: id.Name, Components: entry})
		p.decide(keyOf(i, "components"), "%s: %s builds %s from %s", (layouts.Provider{Type: typ, Name: id.Name}).Label(), product.Place, product.Name, dir)
		p.warnOfFilters(product)
	}
}

// second adds further components of a provider as a variant.
func (p *proposer) second(i int, entry config.Components, product recipes.Product) {
	c := &p.given.Providers[i]
	if entry.File == c.Components.File || slices.ContainsFunc(c.Variants, func(v config.Components) bool { return v.File == entry.File }) {
		return // the same file, built for another purpose
	}
	if c.Components.File != "" && entry.File == "" {
		entry, c.Components = c.Components, entry
	}
	c.Variants = append(c.Variants, entry)
	p.decide(keyOf(i, "variants"), "%s builds %s too; clusterctl reads it only where a URL names it", product.Place, product.Name)
}

// warnOfFilters tells which programs a recipe sends a file through.
func (p *proposer) warnOfFilters(product recipes.Product) {
	for _, program := range product.Through {
		if program != "cat" && program != "tee" {
			p.leave("%s sends %s through %s, which the build does not run; compare the result, and use images, patches or replacements for what is missing", product.Place, product.Name, program)
		}
	}
}

// complete runs the detection, and settles the questions that it leaves open.
func (p *proposer) complete() error {
	const rounds = 20
	for range rounds {
		full, notes, err := detect.Complete(p.fsys, p.given, p.hints)
		if err == nil {
			p.c = full
			p.detected(notes)
			return nil
		}
		if !p.settle(err) {
			return err
		}
	}
	return errors.New("the tree asks more questions than can be settled by building; write clusterctl-repo.yaml by hand")
}

// detected takes over the notes of the detection: those with a key explain a
// value, the others say what is left out.
func (p *proposer) detected(notes []config.Note) {
	for _, n := range notes {
		switch own := slices.ContainsFunc(p.notes, func(m config.Note) bool { return m.Key == n.Key }); {
		case n.Key == "":
			p.leave("%s", n.Text)
		case !own || !strings.HasSuffix(n.Key, ".components"):
			p.notes = append(p.notes, n)
		}
	}
}

// settle answers one question of the detection. It reports whether it did.
func (p *proposer) settle(err error) bool {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(list.Unwrap(), p.settle)
	}
	switch e := err.(type) {
	case *detect.AmbiguousError:
		return p.chooseFolder(e)
	case *detect.UndecidedError:
		if e.Guess.Name == "" || !p.tries(e.Folder, false) {
			return false
		}
		p.add(config.Provider{Type: short(e.Guess.Type), Name: e.Guess.Name, Components: config.Components{Path: e.Folder}},
			"several types are possible; check this one")
		return true
	case *detect.MetadataError:
		return p.chooseMetadata(e)
	case *detect.NothingError:
		return p.elsewhere()
	}
	return false
}

// add adds an entry to what the detection starts from.
func (p *proposer) add(entry config.Provider, format string, args ...any) {
	i := len(p.given.Providers)
	p.given.Providers = append(p.given.Providers, entry)
	p.decide(keyOf(i, "components"), "%s: %s", labelOf(entry), fmt.Sprintf(format, args...))
}

// chooseFolder chooses between two kustomizations of one provider: the one that a
// recipe builds, that builds at all, that is nearer to the root.
func (p *proposer) chooseFolder(e *detect.AmbiguousError) bool {
	score := func(dir string) int {
		n := 0
		for _, product := range p.reading.Products {
			if product.Kustomize == dir && released(product) {
				n += 100
			}
		}
		if p.tries(dir, false) {
			n += 50
		}
		return n - strings.Count(dir, "/")
	}
	a, b := e.Folders[0], e.Folders[1]
	if score(b) > score(a) {
		a, b = b, a
	}
	id, err := detect.Identify(p.fsys, a, p.hints)
	if err != nil {
		return false
	}
	p.add(config.Provider{Type: short(id.Type), Name: id.Name, Components: config.Components{Path: a}}, "%s builds the same provider and is not used", b)
	return true
}

// elsewhere looks for providers outside the places of the convention: among the
// kustomizations that build what a provider consists of, then among finished
// manifests.
func (p *proposer) elsewhere() bool {
	type candidate struct {
		dir string
		id  layouts.Provider
	}
	best := map[string]candidate{}
	for _, dir := range p.kustomizations(".") {
		id, err := detect.Identify(p.fsys, dir, p.hints)
		if err != nil || id.Name == "" || !p.tries(dir, false) || !p.installable(dir) {
			continue
		}
		if old, ok := best[id.Label()]; !ok || strings.Count(dir, "/") < strings.Count(old.dir, "/") {
			best[id.Label()] = candidate{dir, id}
		}
	}
	if len(best) == 0 {
		for _, file := range p.manifests() {
			id, err := detect.Identify(p.fsys, file, p.hints)
			if err == nil && id.Name != "" {
				best[id.Label()] = candidate{file, id}
			}
		}
	}
	for _, label := range sortedKeys(best) {
		c := best[label]
		p.add(config.Provider{Type: short(c.id.Type), Name: c.id.Name, Components: config.Components{Path: c.dir}},
			"%s holds its CRDs, controller and Namespace, and no config/default does", c.dir)
	}
	return len(best) > 0
}

// unread tells which lines of recipes could not be read.
func (p *proposer) unread() {
	for _, u := range p.reading.Unread {
		if !strings.Contains(u.File, "test") {
			p.leave("%s builds something that was not understood: %s", u.Place, u.Why)
		}
	}
}
