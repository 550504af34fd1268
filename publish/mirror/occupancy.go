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

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror/documents"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

const (
	// originFile says what the staging folder of a bundle was filled from. Without
	// it, or if it says something else, the folder is worth nothing.
	originFile = layouts.WorkPrefix + "origin"
	// partFile is the bundle on its way. A run removes it like a spool.
	partFile = spoolPrefix + "bundle"
)

// Staging returns the folder next to a bundle in which its mirror is worked on.
func Staging(bundle string) string {
	return filepath.Join(filepath.Dir(bundle), layouts.WorkPrefix+"bundle-"+filepath.Base(bundle))
}

// occupancy is a mirror that no other run works in.
type occupancy struct {
	beside
	claim io.Closer
	// bundle is the file that holds the mirror, or "" if it is a folder.
	bundle string
	// filled says that the staging folder has nothing that a stopped run left.
	filled bool
}

// occupy keeps others out of a mirror, before anything in it is looked at. The mirror
// of a bundle is then in its staging folder: as a stopped run left it, if that began
// with the very bundle that is there now, else unpacked from the bundle. A dry run
// only reads, and keeps the bundle open.
func occupy(ctx context.Context, opts *Options) (*occupancy, error) {
	name, folder := opts.Dir, opts.Dir
	if opts.Bundle != "" {
		name, folder = opts.Bundle, filepath.Dir(opts.Bundle)
		opts.Dir = Staging(opts.Bundle)
	}
	o := &occupancy{beside: beside{dir: opts.Dir}, bundle: opts.Bundle}
	if opts.DryRun {
		o.bundle = ""
		if err := local.Writable(folder); err != nil || opts.Since != nil {
			return o, err
		}
		reading, err := opts.Reading()
		if errors.Is(err, fs.ErrNotExist) {
			return o, nil // the first run makes it
		}
		o.claim = reading
		return o, err
	}
	if o.bundle != "" {
		if info, err := os.Lstat(o.dir); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s: %w", o.dir, errOdd)
		}
	}
	var err error
	if o.claim, err = local.Occupy(o.dir, name); err != nil {
		return nil, err
	}
	if o.bundle != "" {
		err = o.begin(ctx, opts.Since)
	}
	if err != nil {
		o.close(o.filled)
		return nil, err
	}
	return o, nil
}

// begin makes the staging folder hold what the bundle does. A bundle that is the
// difference from another mirror begins with nothing.
func (o *occupancy) begin(ctx context.Context, since *documents.Lock) error {
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
		if b, err = OpenBundle(o.bundle); err == nil {
			defer b.Close()
			origin = "bundle " + b.identity().String() + "\n"
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if known, err := o.read(originFile); err == nil && string(known) == origin && o.holds(ctx, b) {
		return nil
	}
	o.filled = true
	if err := o.clear(); err != nil {
		return err
	}
	if b != nil {
		root, err := o.open()
		if err == nil {
			err = b.unpack(ctx, root)
			root.Close()
		}
		if err != nil {
			return fmt.Errorf("unpack %s into %s: %w", o.bundle, o.dir, err)
		}
	}
	_, err := o.write(originFile, []byte(origin))
	return err
}

// holds reports whether the staging folder has every release of the bundle that
// it was filled from, and all that its own lock lists, undamaged.
func (o *occupancy) holds(ctx context.Context, b *Bundle) bool {
	if b == nil {
		_, err := ReadLock(o.dir)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	report, err := Check(ctx, o.dir, DefaultJobs)
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
func (o *occupancy) clear() error {
	if err := o.remove([]string{originFile}); err != nil {
		return err
	}
	entries, err := os.ReadDir(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != local.OccupiedFile {
			names = append(names, e.Name())
		}
	}
	return o.remove(names)
}

// store puts the mirror into its bundle, which is replaced in one step.
func (o *occupancy) store(ctx context.Context, result *Result) error {
	sum, err := o.pack(ctx)
	if _, unfit := errors.AsType[*unfitError](err); unfit {
		err = errors.Join(err, o.remove([]string{originFile})) // the next run unpacks the bundle again
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("write the bundle %s: %w", o.bundle, err)
	}
	result.Bundle = sum
	if err := o.clear(); err != nil {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%s could not be removed: %v", o.dir, files.Cause(err)))
	}
	return nil
}

func (o *occupancy) pack(ctx context.Context) (sum repo.Sum, err error) {
	parent, err := os.OpenRoot(filepath.Dir(o.bundle))
	if err != nil {
		return sum, err
	}
	defer parent.Close()
	root, err := o.open()
	if err != nil {
		return sum, err
	}
	defer root.Close()
	if err := root.Remove(partFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sum, err
	}
	digest := sha256.New()
	err = files.Write(parent, filepath.Base(o.bundle), filepath.Base(o.dir)+"/"+partFile, func(w io.Writer) error {
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
func (o *occupancy) close(useless bool) {
	if o.claim == nil {
		return
	}
	if o.bundle != "" && useless {
		_ = o.clear() // the next run does it
	}
	_ = o.claim.Close() // it ends with the process
	if o.bundle != "" {
		_ = os.Remove(o.dir) // stays if there is something in it
	}
}
