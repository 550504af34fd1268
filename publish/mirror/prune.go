package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// Prune takes releases out of a mirror in a folder, and then the files that
// unlisted returns, by their paths. It is called, if it is not nil, while no other run
// works in the mirror, which may be listing what it finds. Prune can be repeated
// after any failure. Of a mirror whose releases are elsewhere it only forgets those
// that are gone.
func Prune(ctx context.Context, gone []Locked, unlisted func() ([]string, error), opts Options) (*Result, error) {
	return work(ctx, opts, func(m *run) error { return m.prune(ctx, gone, unlisted) })
}

func (m *run) prune(ctx context.Context, gone []Locked, unlisted func() ([]string, error)) error {
	var files []string
	if unlisted != nil {
		var err error
		if files, err = unlisted(); err != nil {
			return err
		}
	}
	change := ""
	for i := range gone {
		l := &gone[i]
		if m.book.Forget(l); m.adopted[l.ReleaseName] {
			delete(m.adopted, l.ReleaseName)
		} else {
			change = "this run would remove releases from it"
		}
		if delete(m.images, l.ReleaseName); !m.Apart {
			continue
		}
		// Elsewhere nothing is removed, but what was removed there can be forgotten.
		if _, err := m.at(ctx, l); err == nil {
			return fmt.Errorf("%s %s is still in %s; remove it there first", l.Provider, l.Version, m.To.Name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name := range m.adopted {
		change = cmp.Or(change, fmt.Sprintf("this run would list %s %s, which an interrupted run copied", name.Provider, name.Version))
	}
	// What cannot be signed is found before anything is removed.
	if change != "" {
		if err := m.mayChange(change); err != nil {
			return err
		}
	}
	if m.Sign != nil {
		if err := m.judge(ctx, func(*Locked) bool { return false }); err != nil {
			return err
		}
	}
	if !m.Apart {
		if err := m.Folder.Sweep(); err != nil {
			return err
		}
	}
	for i := range gone {
		l := &gone[i]
		if !m.Apart {
			note, err := m.Folder.Remove(ctx, l.Identity(), l.Version)
			if err != nil {
				return err
			}
			if note != "" {
				m.note("%s", note)
			}
		}
		if name := ConfigMapName(l); name != "" {
			files = append(files, layouts.ConfigMapFolder+"/"+name+".yaml")
		}
	}
	if err := m.beside.remove(files); err != nil {
		return err
	}
	return m.finish(ctx)
}
