package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
)

// DefaultJobs is Options.Jobs by default.
const DefaultJobs = 16

type Options struct {
	Place
	Trust
	// Settings are what the lock file keeps: where clusterctl should take all images
	// from, or "", whether there are ConfigMaps for Cluster API Operator and container
	// images, and so on. Those that are not Given, and MoreImages that are nil, are
	// those of the last run.
	Settings Settings
	Given    Given
	// Jobs limits what runs at the same time: looks at what there is, downloads, and
	// releases for a Folder. Of releases that are uploaded it is half as many.
	Jobs int
	// DryRun changes nothing, and downloads what is looked into before a release is
	// copied.
	DryRun bool
	// AcceptChanged takes a version whose content changed at its source since
	// it was mirrored. A destination that is a Replacer then gets it; others
	// refuse it as long as they have the old one.
	AcceptChanged bool
	// Repair puts what the lock says in the place of what is damaged.
	Repair bool
	// Bring makes the folder layouts.ImagesFolder hold exactly the named container
	// images, for these platforms or for all, and returns its files with their
	// checksums. Changed says that what is there may not be what is wanted.
	Bring func(ctx context.Context, images []MirroredImage, platforms []string, changed bool) (map[string]repo.Sum, error)
	// Tell hears of every release when it is done, or is nil. It is not called
	// by two goroutines at a time.
	Tell func(Outcome)
	// Watch hears how far the download of a release is, or is nil. It may be
	// called by several goroutines at a time.
	Watch func(publish.Progress)
}

// Place is where a mirror is.
type Place struct {
	// To is where the releases go, and Folder the folder that it leads to, where
	// reading costs no network and releases can be replaced and removed; nil if they
	// go elsewhere.
	To     publish.Site
	Folder *local.Folder
	// Dir is the folder for the files next to the releases: the root of a mirror
	// that is a folder.
	Dir string
	// Below is the path of the releases in Dir with a slash at its end, if they
	// are not at its root.
	Below string
	// Apart is true if the releases are not in Dir.
	Apart bool
	// Portable makes clusterctl.yaml default to the working directory instead of Dir,
	// as in a bundle that is unpacked anywhere.
	Portable bool
}

// Trust is what is demanded of releases, and what vouches for them.
type Trust struct {
	// Verify refuses a release by its error before anything of it is published,
	// or is nil. It gets the release as its source has it, also if several
	// providers share it, and the providers whose files are copied; reading the
	// files costs no network. What is in the mirror already is verified too, which
	// may take downloads, and so does a dry run.
	Verify func(ctx context.Context, r *repo.Release, as []layouts.Provider) error
	// Inspect sees a release of one provider before anything of it is published, or is nil;
	// its error refuses the release. It is not called for cert-manager, and by several
	// goroutines at a time. With Refuses, it sees what is in the mirror already, too.
	Inspect func(ctx context.Context, r *repo.Release) error
	Refuses bool
	// Sign makes the signature of the checksums, the content of
	// layouts.SignatureFile; nil if they are not signed. What earlier runs left in
	// the mirror is only signed if it is Vouched for, or by Verify; container images
	// that are not vouched for are fetched again.
	Sign func(checksums []byte) ([]byte, error)
	// Vouched reports whether a signature that the mirror has is good; nil if none
	// is.
	Vouched func(checksums, signature []byte) bool
}

// Outcome is what became of one release.
type Outcome struct {
	Provider layouts.Provider
	Version  string
	From     string
	// Unchanged is true if it was in the mirror already.
	Unchanged bool
	// Files and Bytes count what the release consists of.
	Files int
	Bytes int64
}

type Result struct {
	// Outcomes are sorted by provider and version.
	Outcomes []Outcome
	// Warnings are what the user should act on. They are sorted.
	Warnings []string
	// Notes are what the user should know but need not act on. They are sorted.
	Notes []string
	// CertManager says that the mirror has a cert-manager, without which
	// clusterctl installs nothing in a cluster that has none, or need not have one.
	CertManager bool
	// Lock and Images are what the mirror holds now, nil after a dry run.
	Lock   *Lock
	Images *ImageInventory
	// Written are the files next to the releases that were made or changed.
	Written []string
}

// Run brings what is wanted into the mirror. Each release is there whole or not
// at all, in the order of the versions of its source. The files beside are
// written when all releases are there, and only where their content changes.
//
// After an error no other release is begun. The error is a *ChangedError if a
// source changed a version that is in the lock file, and a
// *publish.ConflictError if the mirror has different content than source and lock
// file. In a dry run the result holds no warnings.
func Run(ctx context.Context, wants []Want, opts Options) (*Result, error) {
	return work(ctx, opts, func(m *run) error {
		plan := &planner{run: m, listed: map[[2]string]*repo.Release{}}
		tasks, err := plan.resolve(ctx, wants)
		if err != nil {
			return err
		}
		if m.Sign != nil && !m.Repair {
			// What cannot be signed is found before anything is copied.
			err = m.judge(ctx, func(l *Locked) bool {
				return slices.ContainsFunc(tasks, func(t *task) bool { return t.brings(l, m.book) })
			})
			if err != nil {
				return err
			}
		}
		cargos, err := plan.lookAll(ctx, tasks)
		if err != nil {
			return err
		}
		copying := &copier{run: m, tokens: make(chan struct{}, m.Jobs), parsing: make(chan struct{}, runtime.GOMAXPROCS(0))}
		err = copying.copy(ctx, cargos)
		if closeErr := m.closeJournal(); err == nil {
			err = closeErr
		}
		if err == nil && !opts.DryRun {
			err = m.finish(ctx)
		}
		return err
	})
}

// work does something with a mirror while no other run does.
func work(ctx context.Context, opts Options, do func(m *run) error) (*Result, error) {
	if opts.DryRun {
		if err := local.Writable(opts.Dir); err != nil {
			return nil, err
		}
	} else {
		claim, err := local.Occupy(opts.Dir, opts.Dir)
		if err != nil {
			return nil, err
		}
		defer claim.Close()
		if err := errors.Join(cleanSpools(opts.Dir), beside{opts.Dir}.settle()); err != nil {
			return nil, err
		}
	}
	if opts.Jobs < 1 {
		opts.Jobs = DefaultJobs
	}
	m := &run{
		Options: opts,
		beside:  beside{opts.Dir},
		book:    NewBook(),
		images:  map[ReleaseName][]inventory.Image{},
		touched: map[ReleaseName]bool{},
		fresh:   map[ReleaseName]bool{},
		vouched: map[ReleaseName]bool{},
		judged:  map[ReleaseName]bool{},
		lost:    map[ReleaseName]bool{},
		adopted: map[ReleaseName]bool{},
	}
	if err := m.load(); err != nil {
		return nil, err
	}
	if opts.Folder != nil && opts.Repair {
		if err := opts.Folder.Sweep(); err != nil {
			return nil, err
		}
	}
	if err := do(m); err != nil {
		return nil, err
	}
	slices.SortFunc(m.result.Outcomes, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(a.Provider.Label(), b.Provider.Label()), CompareVersions(a.Version, b.Version))
	})
	for _, list := range []*[]string{&m.result.Warnings, &m.result.Notes} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return &m.result, nil
}

// run is what a run knows of the mirror that it works on, and says about it.
type run struct {
	Options
	beside beside
	// otherPlatforms says that the last run brought images for others.
	otherPlatforms bool

	// What follows is guarded by mu as long as releases are copied.
	mu     sync.Mutex
	book   *Book
	images map[ReleaseName][]inventory.Image
	// touched releases are those that this run has seen, fresh those among them
	// that it has copied.
	touched, fresh map[ReleaseName]bool
	// vouched releases are those in a lock that was signed.
	vouched map[ReleaseName]bool
	// vouchedImages says so of the index of the container images.
	vouchedImages bool
	// sums and sig are the checksums that the mirror had, and their signature.
	sums, sig []byte
	// resumed says that the journal of a run that was stopped was there, and begun that
	// it is left to that run to finish what is in it.
	resumed, begun bool
	// adopted are the releases in that journal that differ from the lock; true if that
	// lacks them.
	adopted map[ReleaseName]bool
	// judged releases of earlier runs may be signed, and lost ones are in the lock, but
	// not in the mirror.
	judged, lost map[ReleaseName]bool
	journal      *os.File
	result       Result
}

// at lists a locked release in the mirror. The error wraps fs.ErrNotExist if it
// is not there.
func (m *run) at(ctx context.Context, l *Locked) (*repo.Release, error) {
	to, err := m.To.Of(l.Identity())
	if err != nil {
		return nil, err
	}
	return to.Fetch(ctx, l.Version)
}

// mayChange refuses to change a mirror that is signed without the key to sign it again.
func (m *run) mayChange(what string) error {
	if m.sig == nil || m.Sign != nil {
		return nil
	}
	return fmt.Errorf("the mirror in %s is signed, and %s; add --sign-key to sign it again, or remove %s to keep it without a signature", m.Dir, what, layouts.SignatureFile)
}

func (m *run) warn(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Warnings = append(m.result.Warnings, fmt.Sprintf(format, args...))
}

func (m *run) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Notes = append(m.result.Notes, fmt.Sprintf(format, args...))
}

// done takes note of a release that is in the mirror, and why: because it was
// copied if entry is not nil.
func (m *run) done(o Outcome, entry *entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Outcomes = append(m.result.Outcomes, o)
	key := ReleaseName{Provider: o.Provider.Label(), Version: o.Version}
	m.touched[key] = true
	if entry != nil {
		m.fresh[key] = true
		old, known := m.book.Releases[key]
		m.remember(*entry)
		if !known || old.Source != entry.Release.Source || !slices.Equal(old.Files, entry.Release.Files) {
			if err := m.write(*entry); err != nil {
				return err
			}
		}
	}
	if m.Tell != nil {
		m.Tell(o)
	}
	return nil
}
