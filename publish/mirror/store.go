package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror/documents"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// Names of what a run keeps in the folder that it works in.
const (
	// ownPrefix begins the names of what this program keeps while it works.
	ownPrefix = ".clusterctl-repo-"
	holdFile  = ownPrefix + "lock"
	// originFile says what the staging folder of a bundle was filled from. Without
	// it, or if it says something else, the folder is worth nothing.
	originFile = ownPrefix + "origin"
	// partFile is the bundle on its way. A run removes it like a spool.
	partFile = spoolPrefix + "bundle"
)

// Staging returns the folder next to a bundle in which its mirror is worked on.
func Staging(bundle string) string {
	return filepath.Join(filepath.Dir(bundle), ownPrefix+"bundle-"+filepath.Base(bundle))
}

// held is a mirror that no other run works in.
type held struct {
	beside
	lock io.Closer
	// bundle is the file that holds the mirror, or "" if it is a folder.
	bundle string
	// filled says that the staging folder has nothing that a stopped run left.
	filled bool
}

// hold locks a mirror, before anything in it is looked at. The mirror of a bundle
// is then in its staging folder: as a stopped run left it, if that began with the
// very bundle that is there now, else unpacked from the bundle.
func hold(ctx context.Context, o *Options) (*held, error) {
	if o.Bundle != "" {
		o.Dir = Staging(o.Bundle)
	}
	h := &held{beside: beside{dir: o.Dir}, bundle: o.Bundle}
	if o.DryRun {
		folder := o.Dir
		if o.Bundle != "" {
			folder = filepath.Dir(o.Bundle)
		}
		if err := local.Writable(folder); err != nil {
			return nil, err
		}
		if o.Since != nil {
			return h, nil
		}
		reading, err := o.Reading()
		if err == nil {
			h.lock = reading
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil // the first run makes it
		}
		h.bundle = ""
		return h, err
	}
	name := o.Dir
	if h.bundle != "" {
		name = h.bundle
		if info, err := os.Lstat(o.Dir); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s: %w", o.Dir, errOdd)
		}
	}
	var err error
	if h.lock, err = local.Hold(o.Dir, name); err != nil {
		return nil, err
	}
	if h.bundle != "" {
		err = h.begin(ctx, o.Since)
	}
	if err != nil {
		h.close(h.filled)
		return nil, err
	}
	return h, nil
}

// begin makes the staging folder hold what the bundle does. A bundle that is the
// difference from another mirror begins with nothing.
func (h *held) begin(ctx context.Context, since *documents.Lock) error {
	origin := "nothing\n"
	var b *Bundle
	if since != nil {
		data, err := json.Marshal(since)
		if err != nil {
			return err
		}
		origin = "since " + sumOf(data).String() + "\n"
	} else {
		var err error
		if b, err = OpenBundle(h.bundle); err == nil {
			defer b.Close()
			origin = "bundle " + b.identity().String() + "\n"
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if known, err := h.read(originFile); err == nil && string(known) == origin && h.holds(ctx, b) {
		return nil
	}
	h.filled = true
	if err := h.clear(); err != nil {
		return err
	}
	if b != nil {
		root, err := h.open()
		if err == nil {
			err = b.unpack(ctx, root)
			root.Close()
		}
		if err != nil {
			return fmt.Errorf("unpack %s into %s: %w", h.bundle, h.dir, err)
		}
	}
	_, err := h.write(originFile, []byte(origin))
	return err
}

// holds reports whether the staging folder has every release of the bundle that
// it was filled from, and all that its own lock lists, undamaged.
func (h *held) holds(ctx context.Context, b *Bundle) bool {
	if b == nil {
		_, err := ReadLock(h.dir)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	report, err := Check(ctx, h.dir, DefaultJobs)
	if err != nil || report.Lock == nil {
		return false
	}
	if b != nil {
		carried, _, err := Carried(b)
		if err != nil {
			return false
		}
		for _, w := range carried {
			if len(w.Version.Of(report.Lock, w.Provider)) == 0 {
				return false
			}
		}
	}
	return !slices.ContainsFunc(report.Problems, func(p Problem) bool {
		return p.Provider != "" && (p.Kind == missing || p.Kind == Damaged)
	})
}

// clear empties the staging folder, what vouches for it first.
func (h *held) clear() error {
	if err := h.remove([]string{originFile}); err != nil {
		return err
	}
	entries, err := os.ReadDir(h.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != holdFile {
			names = append(names, e.Name())
		}
	}
	return h.remove(names)
}

// store puts the mirror into its bundle, which is replaced in one step.
func (h *held) store(ctx context.Context, result *Result) error {
	sum, err := h.pack(ctx)
	if _, unfit := errors.AsType[*unfitError](err); unfit {
		err = errors.Join(err, h.remove([]string{originFile})) // the next run unpacks the bundle again
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("write the bundle %s: %w", h.bundle, err)
	}
	result.Bundle = sum
	if err := h.clear(); err != nil {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%s could not be removed: %v", h.dir, files.Cause(err)))
	}
	return nil
}

func (h *held) pack(ctx context.Context) (sum repo.Sum, err error) {
	parent, err := os.OpenRoot(filepath.Dir(h.bundle))
	if err != nil {
		return sum, err
	}
	defer parent.Close()
	root, err := h.open()
	if err != nil {
		return sum, err
	}
	defer root.Close()
	if err := root.Remove(partFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sum, err
	}
	digest := sha256.New()
	err = files.Write(parent, filepath.Base(h.bundle), filepath.Base(h.dir)+"/"+partFile, func(w io.Writer) error {
		return pack(ctx, io.MultiWriter(w, digest), root)
	})
	if err != nil {
		return sum, files.Cause(err)
	}
	if d, err := parent.Open("."); err == nil {
		_ = d.Sync() // not every file system can
		d.Close()
	}
	return repo.Sum(digest.Sum(nil)), nil
}

// close lets others in. A staging folder that is useless to the next run goes away.
func (h *held) close(useless bool) {
	if h.lock == nil {
		return
	}
	if h.bundle != "" && useless {
		_ = h.clear() // the next run does it
	}
	_ = h.lock.Close() // it ends with the process
	if h.bundle != "" {
		_ = os.Remove(h.dir) // stays if there is something in it
	}
}
