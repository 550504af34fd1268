package transform

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// overlayReleases puts other content into the files of releases below dir. Their
// checksums are rewritten if they were right.
func overlayReleases(ctx context.Context, r *repo.Repository, dir string, overlay map[string][]byte) error {
	if len(overlay) == 0 {
		return nil
	}
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			if err := overlayRelease(ctx, release, dir, overlay); err != nil {
				return err
			}
		}
	}
	return nil
}

func overlayRelease(ctx context.Context, r *repo.Release, dir string, overlay map[string][]byte) error {
	right := false
	changed := false
	for i, a := range r.Artifacts {
		rel, err := filepath.Rel(dir, a.Path)
		if err != nil {
			return err
		}
		data, ok := overlay[filepath.ToSlash(rel)]
		if !ok {
			continue
		}
		if sums := r.Artifact(layouts.ChecksumFile); !changed && sums != nil {
			there, err := sums.Bytes()
			if err != nil {
				return err
			}
			want, err := repo.Checksums(ctx, r)
			right = err == nil && bytes.Equal(there, want)
		}
		r.Artifacts[i] = repo.BytesArtifact(a.Name, data)
		r.Artifacts[i].Path = a.Path
		changed = true
	}
	if !right {
		return nil
	}
	want, err := repo.Checksums(ctx, r)
	if err != nil {
		return err
	}
	for i, a := range r.Artifacts {
		if a.Name == layouts.ChecksumFile {
			r.Artifacts[i] = repo.BytesArtifact(a.Name, want)
			r.Artifacts[i].Path = a.Path
		}
	}
	return nil
}

// seen is a tree as a build sees it: with other content in some of its files.
func seen(tree fs.FS, overlay map[string][]byte) fs.FS {
	if len(overlay) == 0 {
		return tree
	}
	return &seenFS{tree, overlay}
}

type seenFS struct {
	tree    fs.FS
	overlay map[string][]byte
}

// Open implements fs.FS. What looks at a tree uses ReadFile, ReadDir and Stat.
func (s *seenFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}

// ReadFile implements fs.ReadFileFS, with the limits of the tree.
func (s *seenFS) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(s.tree, name)
	if err != nil {
		return nil, err
	}
	if other, ok := s.overlay[name]; ok {
		return bytes.Clone(other), nil
	}
	return data, nil
}

func (s *seenFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(s.tree, name) }

// Stat implements fs.StatFS. It reads nothing.
func (s *seenFS) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(s.tree, name)
	if data, ok := s.overlay[name]; ok && err == nil {
		return overlayInfo{info, int64(len(data))}, nil
	}
	return info, err
}

type overlayInfo struct {
	fs.FileInfo
	size int64
}

// Size is that of the other content.
func (i overlayInfo) Size() int64 { return i.size }
