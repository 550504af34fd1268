package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// mostFiles bounds the files of a folder that Files lists.
const mostFiles = 10_000

// The neighbours of a single file are read up to this size, in bytes, each and all together.
const (
	mostBeside    = 1 << 20
	mostAllBeside = 4 << 20
)

// Made are files that another program makes objects of.
type Made struct {
	// Path is their folder, or the file.
	Path string
	// Program is the name of the program, and Command prints what it makes of them.
	Program, Command string
	Files            []*repo.Artifact
}

// Files lists the YAML and JSON files of a folder and of those in it, by their names with slashes, or
// with only one of its files, first in the list, and those next to it. Hidden ones are left
// out, links out of the folder are not followed.
func Files(ctx context.Context, dir, only string) (out []*repo.Artifact, made []*Made, odd []repo.Oddity, err error) {
	r, err := newReader(ctx, dir, ".", dir)
	if err != nil {
		return nil, nil, nil, err
	}
	defer r.close()
	found := oddities{r: r}
	n, beside := 0, int64(0)
	add := func(at string, in *Made) {
		info, err := r.stat(at)
		switch {
		case only != "" && at != only && err != nil: // the user named another file
		case only != "" && at != only && (info.Size() > mostBeside || beside+info.Size() > mostAllBeside):
			if path.Ext(at) != ".json" { // as lists of packages
				found.add(repo.OddEntry, at, "is too large to be read next to %s", only)
			}
		case err != nil:
			found.add(repo.OddUnreadable, at, "%v", err)
		case info.Mode().IsRegular():
			a := repo.NewArtifact(at, r.join(at), info.Size(), r.opener(at))
			if at != only {
				beside += info.Size()
			}
			if n++; in != nil {
				in.Files = append(in.Files, a)
			} else {
				out = append(out, a)
			}
		}
	}
	var walk func(at string, in *Made) error
	walk = func(at string, in *Made) error {
		entries, err := r.list(at)
		if err != nil {
			return err
		}
		if in == nil {
			if in = r.made(at, only, entries); in != nil {
				made = append(made, in)
			}
		}
		if only != "" {
			add(only, in)
		}
		for _, e := range entries {
			name := path.Join(at, e.Name())
			ext := path.Ext(name)
			switch {
			case n >= mostFiles && only != "":
				return nil
			case n >= mostFiles:
				return fmt.Errorf("%s holds more than %d YAML files; name a folder in it", dir, mostFiles)
			case hidden(e.Name()), e.Name() == only, e.Name() == "node_modules":
			case layouts.InRelease(name):
				if only == "" {
					found.add(repo.OddEntry, name, "is a release, not templates of your own; name it alone, or with --with")
				}
			case e.Type()&fs.ModeSymlink == 0 && e.IsDir():
				if only == "" {
					if err := walk(name, in); err != nil {
						return err
					}
				}
			case ext == ".yaml", ext == ".yml", ext == ".json", ext == ".tpl" && in != nil:
				add(name, in)
			}
		}
		return nil
	}
	var above *Made
	if chart := chartAbove(dir); chart != "" {
		above = helm(chart)
		made = append(made, above)
	}
	if err := walk(".", above); err != nil {
		return nil, nil, nil, errors.Join(context.Cause(ctx), err)
	}
	return out, made, found.list, nil
}

// helm is a chart.
func helm(dir string) *Made {
	return &Made{Path: dir, Program: "Helm", Command: "helm template " + dir}
}

// chartAbove is the chart that has a folder among its templates; empty if there is none.
func chartAbove(dir string) string {
	at, err := filepath.Abs(dir)
	for ; err == nil && filepath.Dir(at) != at; at, dir = filepath.Dir(at), filepath.Join(dir, "..") {
		if filepath.Base(at) == "templates" {
			if _, err := os.Stat(filepath.Join(filepath.Dir(at), "Chart.yaml")); err == nil {
				return filepath.Join(dir, "..")
			}
		}
	}
	return ""
}

// made tells whether another program makes objects of the files of a folder: Helm, or kustomize
// where it does more than put files together. If only one file counts, it must name that one.
func (r *reader) made(dir, only string, entries []fs.DirEntry) *Made {
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch e.Name() {
		case "Chart.yaml":
			return helm(r.join(dir))
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			data, err := repo.NewArtifact(name, r.join(name), 0, r.opener(name)).Text()
			if err == nil && !onlyLists(data) && (only == "" || names(data, only)) {
				return &Made{Path: r.join(dir), Program: "kustomize", Command: "kustomize build " + r.join(dir)}
			}
		}
	}
	return nil
}

// names reports whether a value of a kustomization is the path of a file in its folder.
func names(data, file string) bool {
	var in func(n *yamldoc.Node) bool
	in = func(n *yamldoc.Node) bool {
		value := n.Str() // or KEY=FILE of a generator
		return path.Clean(value[strings.LastIndex(value, "=")+1:]) == file || slices.ContainsFunc(n.List(), in) ||
			slices.ContainsFunc(n.Fields(), func(f yamldoc.Field) bool { return in(f.Value) })
	}
	return slices.ContainsFunc(parsed(data), func(d *yamldoc.Document) bool { return in(d.Root) })
}

func parsed(data string) []*yamldoc.Document {
	return yamldoc.Parse(yamldoc.NewFile("", []byte(data))).Docs
}

// onlyLists reports whether a kustomization takes files as they are.
func onlyLists(data string) bool {
	docs := parsed(data)
	return len(docs) == 1 && docs[0].Err == nil && !slices.ContainsFunc(docs[0].Root.Fields(), func(f yamldoc.Field) bool {
		return !slices.Contains([]string{"apiVersion", "kind", "metadata", "namespace", "resources"}, f.Name)
	})
}
