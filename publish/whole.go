package publish

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// Whole returns a release as it was opened, with its content pinned: who reads a file
// that changed meanwhile gets an error. Own and foreign releases alike are refused if they
// may be incomplete, if a file is not what its name says, if Check refuses them, or if
// checksums do not match. A checksum that the place of a file states is compared with the
// content now if that is near, and otherwise when it is read.
func Whole(ctx context.Context, r *repo.Release, near bool) (*repo.Release, error) {
	if err := r.Unlisted(); err != nil {
		return nil, err
	}
	out := *r
	out.Artifacts = slices.Clone(r.Artifacts)
	for i, a := range out.Artifacts {
		sum, stated := a.Stated()
		if near || !stated {
			var err error
			if sum, err = a.Sum(ctx); err != nil {
				return nil, err
			}
		}
		if !stated {
			out.Artifacts[i] = a.Stating(sum)
		}
	}
	if err := out.Readable(); err != nil {
		return nil, err
	}
	if err := Check(&out); err != nil {
		return nil, err
	}
	if err := repo.VerifyChecksums(ctx, &out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &out, nil
}
