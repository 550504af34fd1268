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
	// Shown is what the archive shows of these files, in its order.
	Shown []Fragment
}

// Fragment is what an archive shows of a file.
type Fragment struct {
	Path string
	// Text is the whole file, or a part of an object.
	Text string
	// Link is the target of a symbolic link, which has no text.
	Link string
	// Object is the kind and name of the object that Text is a part of, or empty if
	// Text is the whole file.
	Object string
	// Line is where the part begins in the file; 0 if these files lack the object.
	Line int
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
