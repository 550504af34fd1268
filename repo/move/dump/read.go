package dump

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// ErrNothing is returned for a folder without files that can be read.
var ErrNothing = errors.New("it holds no file that ends in .yaml, .yml or .json")

// Add adds the objects of a file, which may be a pipe, or of all files in a folder
// and below whose names end in .yaml, .yml or .json. It fails if there is nothing of
// that name, or nothing to read in the folder; what cannot be read in a file becomes
// a problem.
func (d *Dump) Add(ctx context.Context, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return d.Read(ctx, name, f)
	}
	folder, err := files.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	found := false
	err = fs.WalkDir(folder, ".", func(inside string, entry fs.DirEntry, err error) error {
		full := filepath.Join(name, filepath.FromSlash(inside))
		switch ext := strings.ToLower(path.Ext(inside)); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			d.problem(full, err)
			return nil
		case entry.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json":
			return nil
		}
		found = true
		f, err := folder.OpenFile(inside)
		if err != nil {
			d.problem(full, err)
			return nil
		}
		defer f.Close()
		return d.Read(ctx, full, f)
	})
	if err == nil && !found {
		err = ErrNothing
	}
	return err
}

// Read adds the objects in a stream: YAML documents or, if it begins with a brace,
// JSON values. Items of a JSON list are read one by one, and YAML document by
// document. The name stands in messages; the error is that of ctx.
func (d *Dump) Read(ctx context.Context, name string, in io.Reader) error {
	b := bufio.NewReaderSize(in, 1<<16)
	if bom, _ := b.Peek(3); bytes.Equal(bom, []byte("\ufeff")) {
		_, _ = b.Discard(len(bom))
	}
	read := d.yaml
	if c, err := b.Peek(1); err == nil && (c[0] == '{' || c[0] == '[') {
		read = d.json
	}
	before := len(d.Objects)
	if err := read(ctx, name, b); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.problem(name, err)
	}
	// As clusterctl names it (clusterctl: client/cluster/objectgraph.go, getFilename).
	if len(d.Objects) == before+1 {
		o := &d.Objects[before]
		if filepath.Base(name) == fmt.Sprintf("%s_%s_%s.yaml", o.Kind, o.Namespace, o.Name) {
			d.Saved++
		}
	}
	return nil
}

// yaml reads documents, each of which may be a list.
func (d *Dump) yaml(ctx context.Context, name string, in *bufio.Reader) error {
	data, err := files.ReadAll(in, 0)
	if err != nil {
		return fmt.Errorf("%w; JSON is read item by item", err)
	}
	chunks, err := yamldoc.Split(string(data))
	line, at := 1, 0
	for _, c := range chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, at = line+bytes.Count(data[at:c.Start], []byte("\n")), c.Start
		place := fmt.Sprintf("%s:%d", name, line)
		if m, err := yamldoc.ToMap(c.Data); err != nil {
			d.problem(place, err)
		} else if m != nil {
			d.take(place, m, "", "")
		}
	}
	return err
}

// json reads objects one after the other.
func (d *Dump) json(ctx context.Context, name string, in *bufio.Reader) error {
	dec := json.NewDecoder(in)
	for {
		t, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case t == json.Delim('['):
			err = d.items(ctx, name, dec, "", "")
		case t == json.Delim('{'):
			err = d.object(ctx, name, dec)
		default:
			err = errNoObject
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
}

// object reads an object, whose brace has been read, and the items of a list one by one.
func (d *Dump) object(ctx context.Context, name string, dec *json.Decoder) error {
	m := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if key == "items" {
			t, err := dec.Token()
			if err == nil && t == json.Delim('[') {
				err = d.items(ctx, name, dec, text(m["apiVersion"]), text(m["kind"]))
				m["items"] = nil
			}
			if err != nil {
				return err
			}
			continue
		}
		var v any
		if err := dec.Decode(&v); err != nil {
			return err
		}
		m[key.(string)] = v
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	d.take(name, m, "", "")
	return nil
}

// items reads the items of a list, of which the list may tell what they are.
func (d *Dump) items(ctx context.Context, name string, dec *json.Decoder, apiVersion, kind string) error {
	for dec.More() {
		if err := ctx.Err(); err != nil {
			return err
		}
		var item map[string]any
		if err := dec.Decode(&item); err != nil {
			return err
		}
		d.take(name, item, apiVersion, kind)
	}
	_, err := dec.Token()
	return err
}
