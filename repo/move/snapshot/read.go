package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// The sizes of a batch, which is decoded on all processors.
const (
	batchBytes  = 1 << 20
	batchPieces = 1024
)

// Read adds the objects in a stream: YAML documents, JSON values, Lists and arrays
// of objects, in any order. The name stands in messages. What cannot be read
// becomes a problem; the error is that of ctx.
func (s *Snapshot) Read(ctx context.Context, name string, in io.Reader) error {
	r, err := s.read(ctx, Source{Name: name}, in)
	if r.next != "" {
		s.Problem(&yamldoc.Error{File: name, Err: errors.New("this is one page of a longer list (metadata.continue); get all of it, as kubectl get does")})
	}
	// As clusterctl names it (clusterctl: client/cluster/objectgraph.go, getFilename).
	if o := r.first; o != nil && filepath.Base(name) == fmt.Sprintf("%s_%s_%s.yaml", o.Kind, o.Namespace, o.Name) {
		s.Saved++
	}
	return err
}

// Source is where a list comes from.
type Source struct {
	// Name stands in messages.
	Name string
	// APIVersion and Kind are those of the objects, if the list does not tell:
	// that of an API server need not, or tells that they are only metadata.
	APIVersion, Kind string
}

// ReadList adds the objects in an answer of an API server and returns the token
// with which the list continues, or an empty one at the end.
func (s *Snapshot) ReadList(ctx context.Context, from Source, in io.Reader) (next string, err error) {
	r, err := s.read(ctx, from, in)
	return r.next, err
}

// result is what is known of a stream in the end.
type result struct {
	next  string
	first *Object // if it is the only one
	count int
}

func (s *Snapshot) read(ctx context.Context, from Source, in io.Reader) (result, error) {
	var (
		r     result
		batch []piece
		size  int
	)
	flush := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		out := make([]decoded, len(batch))
		parallel.Each(len(batch), func(i int) { out[i] = s.decode(from.Name, batch[i]) })
		for _, d := range out {
			for _, o := range d.objects {
				s.add(o)
				r.count++
				r.first = nil
				if r.count == 1 {
					r.first = &o
				}
			}
			if d.err != nil {
				s.Problem(d.err)
			}
			if d.next != "" {
				r.next = d.next
			}
		}
		batch, size = batch[:0], 0
		return nil
	}
	err := newSplitter(from.Name, in, func(p piece) error {
		if from.Kind != "" {
			p.apiVersion, p.kind = from.APIVersion, from.Kind
		}
		batch = append(batch, p)
		size += len(p.data)
		if size < batchBytes && len(batch) < batchPieces {
			return nil
		}
		return flush()
	}).run()
	if flushErr := flush(); flushErr != nil {
		return r, flushErr
	}
	if err != nil {
		s.Problem(err)
	}
	return r, nil
}

// ReadFile adds the objects of a file, which may be a pipe, or of all files in a
// folder and below whose names end in .yaml, .yml or .json. Links are followed as
// long as they stay in the folder. It fails if there is nothing of that name, or
// nothing to read in the folder.
func (s *Snapshot) ReadFile(ctx context.Context, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return s.readFolder(ctx, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.Read(ctx, name, f)
}

// ErrNothing is returned for a folder without files that can be read.
var ErrNothing = errors.New("it holds no file that ends in .yaml, .yml or .json")

func (s *Snapshot) readFolder(ctx context.Context, dir string) error {
	folder, err := files.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	found := false
	err = fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		full := filepath.Join(dir, filepath.FromSlash(name))
		switch ext := strings.ToLower(path.Ext(name)); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.Problem(&yamldoc.Error{File: full, Err: err})
			return nil
		case d.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json":
			return nil
		}
		found = true
		f, err := folder.OpenFile(name)
		if err != nil {
			s.Problem(&yamldoc.Error{File: full, Err: err})
			return nil
		}
		defer f.Close()
		return s.Read(ctx, full, f)
	})
	if err == nil && !found {
		err = ErrNothing
	}
	return err
}
