package propose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/detect"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// Options say what is decided already.
type Options struct {
	// Given is a configuration to complete; nil decides nothing.
	Given *config.Config
	// Version to prove the proposal with; zero takes the first of the highest
	// release series of each provider.
	Version transform.Versions
	// Cache keeps what kustomize made; nil keeps nothing.
	Cache *kustomize.Cache
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
	// Decisions tell what was taken from recipes or decided by building, LeftOut
	// what no release gets and why.
	Decisions, LeftOut []string
	// Problem is why Text does not build as it stands, or nil. That the network is
	// needed, which is not asked here, is listed in LeftOut instead.
	Problem error
}

// Propose finds the configuration for the tree in dir. The error is an
// *transform.InputError if the tree shows no provider; it says what to do.
func Propose(ctx context.Context, dir string, o Options) (*Proposal, error) {
	on, err := files.Open(dir)
	if err != nil {
		return nil, &transform.InputError{Err: fmt.Errorf("cannot read the source tree %s: %w", dir, files.Cause(err))}
	}
	defer on.Close()
	hints, err := transform.Hints(dir)
	if err != nil {
		return nil, err
	}
	hints.Remote = sync.OnceValue(hints.Remote)
	release := recipes.Follow(on, detect.Repository(on, hints))
	switch guess := recipes.Guess(on); {
	case release == nil:
		release = guess
	case release.Open != "":
		if release.File == "" {
			release, guess = guess, release
		}
		for _, product := range guess.Products {
			if release.Product(product.Name) == nil {
				release.Products = append(release.Products, product)
			}
		}
	}
	hints.Release = func() *recipes.Release { return release }
	p := &proposer{ctx: ctx, dir: dir, fsys: on, opts: o, hints: hints, release: release, given: &config.Config{}, built: map[string]outcome{}}
	if o.Given != nil {
		given := *o.Given
		p.given = &given
	}
	if p.tree, err = kustomize.OpenTree(dir, nil); err != nil {
		return nil, err
	}
	defer p.tree.Close()
	p.tree.Cache = o.Cache
	if err := p.complete(); err != nil {
		return nil, &transform.InputError{Err: err}
	}
	for _, step := range []func(){p.coveringMetadata, p.buildable, p.templates, p.images, p.others, p.differences} {
		if step(); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return p.proposal()
}

type proposer struct {
	ctx     context.Context
	dir     string
	fsys    fs.FS
	opts    Options
	hints   detect.Hints
	release *recipes.Release

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
	return errors.New("the tree leaves more questions open than building can settle; write clusterctl-repo.yaml by hand")
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
			if strings.Contains(n.Text, " builds ") || strings.Contains(n.Text, " publishes ") ||
				strings.Contains(n.Text, " puts ") || strings.HasSuffix(n.Key, ".sourceReplacements") {
				p.decisions = append(p.decisions, n.Text)
			}
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
		if e.Guess.Name == "" || p.tries(e.Folder).err != nil {
			return false
		}
		p.add(config.Provider{Type: e.Guess.Type.Short(), Name: e.Guess.Name, Components: config.Components{Path: e.Folder}},
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
	p.decide(keyOf(i, "components"), "%s: %s", entry.Label(), fmt.Sprintf(format, args...))
}

// chooseFolder chooses between two kustomizations of one provider: the one that a
// recipe builds, that builds at all, that is nearer to the root.
func (p *proposer) chooseFolder(e *detect.AmbiguousError) bool {
	score := func(dir string) int {
		n := 0
		for _, product := range p.release.Products {
			if product.Kustomize == dir {
				n += 100
			}
		}
		if p.tries(dir).err == nil {
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
	p.add(config.Provider{Type: id.Type.Short(), Name: id.Name, Components: config.Components{Path: a}},
		"%s builds the same provider and is not used", b)
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
		if err != nil || id.Name == "" || p.tries(dir).err != nil || !p.installable(dir) {
			continue
		}
		if old, ok := best[id.Label()]; !ok || strings.Count(dir, "/") < strings.Count(old.dir, "/") {
			best[id.Label()] = candidate{dir, id}
		}
	}
	if len(best) == 0 {
		p.walk(".", func(file string, entry fs.DirEntry) {
			if !entry.Type().IsRegular() || layouts.KindOfFile(entry.Name()) != layouts.Components {
				return
			}
			if id, err := detect.Identify(p.fsys, file, p.hints); err == nil && id.Name != "" {
				best[id.Label()] = candidate{file, id}
			}
		})
	}
	for _, label := range slices.Sorted(maps.Keys(best)) {
		c := best[label]
		p.add(config.Provider{Type: c.id.Type.Short(), Name: c.id.Name, Components: config.Components{Path: c.dir}},
			"%s holds its CRDs, controller and Namespace, and no config/default does", c.dir)
	}
	return len(best) > 0
}

// differences tells what the recipes publish and the proposal does not make, and
// which of their lines could not be read.
func (p *proposer) differences() {
	if plan, err := config.Resolve(p.fsys, p.c, nil); err == nil {
		for _, d := range detect.Compare(p.fsys, p.release, p.c, plan) {
			p.leave("%s", d)
		}
	}
	for _, u := range p.release.Unread {
		if !u.Detail && !strings.Contains(u.File, "test") {
			p.leave("%s builds something that was not recognized: %s", u.Place, u.Why)
		}
	}
}
