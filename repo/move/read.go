package move

import (
	"bufio"
	"bytes"
	"cmp"
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
		ext := strings.ToLower(path.Ext(inside))
		if err == nil && (entry.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json") {
			return nil
		}
		found = true
		var f *os.File
		if err == nil {
			f, err = folder.OpenFile(inside)
		}
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

// Read adds the objects in a stream: JSON values if it begins with a brace, of whose
// lists items are read one by one, or else YAML documents. The name stands in
// messages; the error is that of ctx.
func (d *Dump) Read(ctx context.Context, name string, in io.Reader) error {
	b := bufio.NewReader(in)
	read, before := d.yaml, len(d.Objects)
	if c, err := b.Peek(1); err == nil && (c[0] == '{' || c[0] == '[') {
		read = d.json
	}
	if err := read(ctx, name, b); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
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
func (d *Dump) yaml(ctx context.Context, name string, in io.Reader) error {
	data, err := files.ReadAll(in, 0)
	if err != nil {
		return fmt.Errorf("%w; of JSON any size is read", err)
	}
	chunks, err := yamldoc.Split(string(data))
	line, at := 1, 0
	for _, c := range chunks {
		line, at = line+bytes.Count(data[at:c.Start], []byte("\n")), c.Start
		place := fmt.Sprintf("%s:%d", name, line)
		if m, err := yamldoc.ToMap(c.Data); err != nil {
			d.problem(place, err)
		} else if m != nil {
			d.take(place, m, "", "")
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

// json reads objects one after the other.
func (d *Dump) json(ctx context.Context, name string, in io.Reader) error {
	dec := json.NewDecoder(in)
	for {
		t, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		switch {
		case err != nil:
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
		var v any
		if key != "items" {
			err = dec.Decode(&v)
		} else if t, e := dec.Token(); e != nil || t == json.Delim('[') {
			err = cmp.Or(e, d.items(ctx, name, dec, text(m["apiVersion"]), text(m["kind"])))
		} else if t != nil {
			err = errItems
		}
		if err != nil {
			return err
		}
		m[key.(string)] = v
	}
	d.take(name, m, "", "")
	_, err := dec.Token()
	return err
}

// items reads the items of a list, of which the list may tell what they are.
func (d *Dump) items(ctx context.Context, name string, dec *json.Decoder, apiVersion, kind string) error {
	for dec.More() && ctx.Err() == nil {
		var item map[string]any
		if err := dec.Decode(&item); err != nil {
			return err
		}
		d.take(name, item, apiVersion, kind)
	}
	_, err := dec.Token()
	return err
}
