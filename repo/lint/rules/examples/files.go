package examples

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
)

// Files are the files of a repository.
type Files struct {
	// Text is the content by path, LABEL/VERSION/FILE or a file in the root.
	Text map[string]string
	// Links are the targets of symbolic links by path.
	Links map[string]string
	// Shown is what the archive states about these files. Of the good files it is
	// only what differs from the bad ones.
	Shown []fragment
}

// fragment is what an archive states about a file.
type fragment struct {
	Path string
	// Link is the target if the file is a symbolic link.
	Link string
	// Object is the kind and name of the object that the fragment is about, or empty
	// for the whole file.
	Object string
	// Missing is set if the repository lacks the object or the file.
	Missing bool
	// Line is the first line of Text in the file.
	Line int
	Text string
}

// Title says in words what the fragment is, without its text.
func (f fragment) Title() string {
	switch {
	case f.Link != "":
		return f.Path + ", a symbolic link to " + f.Link
	case f.Missing && f.Object == "":
		return "without " + f.Path
	case f.Missing:
		return f.Path + " without " + f.Object
	case f.Object != "":
		return fmt.Sprintf("%s:%d, in %s", f.Path, f.Line, f.Object)
	}
	return f.Path
}

// compare leaves of what is shown of the good repository what differs, or what of
// the bad one it lacks.
func compare(bad, good *Files) {
	good.Shown = slices.DeleteFunc(good.Shown, func(g fragment) bool {
		return slices.ContainsFunc(bad.Shown, func(b fragment) bool {
			b.Line, g.Line = 0, 0
			return b == g
		})
	})
	if len(good.Shown) > 0 {
		return
	}
	for _, f := range bad.Shown {
		_, text := good.Text[f.Path]
		_, link := good.Links[f.Path]
		if !text && !link {
			good.Shown = append(good.Shown, fragment{Path: f.Path, Missing: true})
		}
	}
}

func newFiles() Files { return Files{Text: map[string]string{}, Links: map[string]string{}} }

// complete adds what an example does not show.
func (f Files) complete() {
	releases := map[string]layouts.Provider{} // by folder
	for name := range f.Text {
		parts := strings.Split(name, "/")
		if len(parts) < 3 {
			continue
		}
		if p, err := layouts.ParseLabel(parts[0]); err == nil {
			releases[parts[0]+"/"+parts[1]] = p
		}
	}
	if len(releases) == 0 {
		releases["infrastructure-foo/v1.0.0"] = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
	}
	series := map[string][]layouts.Version{} // by label
	for dir := range releases {
		if v, err := layouts.ParseVersion(path.Base(dir)); err == nil {
			series[path.Dir(dir)] = append(series[path.Dir(dir)], v)
		}
	}
	for dir, p := range releases {
		if _, ok := f.Text[dir+"/"+layouts.MetadataFile]; !ok {
			f.Text[dir+"/"+layouts.MetadataFile] = ordinaryMetadata(series[path.Dir(dir)])
		}
		has := slices.ContainsFunc(slices.Collect(maps.Keys(f.Text)), func(name string) bool {
			return path.Dir(name) == dir && layouts.KindOfFile(path.Base(name)) == layouts.Components
		})
		if info, ok := p.Type.Info(); ok && !has {
			f.Text[dir+"/"+info.ComponentsFile] = ordinaryComponents(p.Name)
		}
	}
}

func ordinaryMetadata(versions []layouts.Version) string {
	slices.SortFunc(versions, layouts.Version.Compare)
	text := "apiVersion: " + metadata.APIVersion + "\nkind: " + metadata.Kind + "\nreleaseSeries:\n"
	before := ""
	for _, v := range versions {
		if v.Series() != before {
			text += fmt.Sprintf("- major: %d\n  minor: %d\n  contract: %s\n", v.Major(), v.Minor(), metadata.Contract)
		}
		before = v.Series()
	}
	return text
}

func ordinaryComponents(provider string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s-system\n", provider)
}

// Write puts the files into a folder.
func (f Files) Write(dir string) error {
	put := func(name string, write func(file string) error) error {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return write(file)
	}
	for name, text := range f.Text {
		if err := put(name, func(file string) error { return os.WriteFile(file, []byte(text), 0o644) }); err != nil {
			return err
		}
	}
	for name, target := range f.Links {
		if err := put(name, func(file string) error { return os.Symlink(target, file) }); err != nil {
			return err
		}
	}
	return nil
}
