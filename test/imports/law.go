// Package imports holds the map of the source tree that is the law: every
// package with what lives there, what it must not know, and which packages and
// libraries it may import. Its tests compare the map with the source, and
// docs/architecture.md is generated from it.
//
// It must not know what any package does beyond its row.
package imports

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Module is the import path of this project.
const Module = "github.com/clusterctl-repo/clusterctl-repo"

// Folder is a row of Folders: a directory that groups packages.
type Folder struct {
	Path  string
	Holds string // what lives there
	Never string // what never does
}

// Package is a row of Packages.
type Package struct {
	Path  string // below the root of the project
	Holds string // what lives there, in one line
	Never string // what it must not know, in one line
	// Knows lists the packages of this project that its code imports, and
	// Libraries the modules of others and the guarded packages of the standard
	// library. Both are exact: an import that is not listed fails, and so does a
	// row that lists more than the code imports. Tests import what they need.
	Knows, Libraries string
}

// guarded says which packages of the standard library reach beyond memory and
// files, so that a row has to name them.
func guarded(importPath string) bool {
	switch importPath {
	case "C", "crypto/tls", "flag", "log", "log/slog", "net", "os/exec", "os/signal", "os/user", "plugin", "syscall", "testing", "unsafe":
		return true
	}
	return strings.HasPrefix(importPath, "net/http") || strings.HasPrefix(importPath, "net/rpc") || importPath == "net/smtp"
}

// A principle is a direction that no row may break. Patterns are paths; "/..."
// at the end means the folder with all that is in it.
type principle struct {
	of     []string // packages
	except []string // but not these
	not    []string // what they must not import
	why    string
}

var principles = []principle{
	{of: []string{"layouts/...", "repo/...", "transform/...", "publish/..."}, not: []string{"cmd/..."},
		why: "The command line is on top; what it needs from below is passed in."},
	{of: []string{"..."}, not: []string{"test/...", "testing"},
		why: "Code that users run does not depend on what tests it."},
	{of: []string{"repo/...", "layouts/..."}, not: []string{"transform/...", "publish/..."},
		why: "The model and the rules do not depend on how a release is made or where it goes."},
	{of: []string{"transform/..."}, not: []string{"publish/..."},
		why: "Data flows from transform through the model to publish, never back."},
	{of: []string{"publish/..."}, not: []string{"transform/..."},
		why: "A destination takes releases whoever made them."},
	{of: []string{"layouts"}, not: []string{"cmd/...", "layouts/...", "publish/...", "repo/...", "transform/..."},
		why: "layouts is the leaf: tables without content, needed by everything."},
	{of: []string{"publish/github/..."}, not: destinationsBut("github"), why: eachAlone},
	{of: []string{"publish/gitlab/..."}, not: destinationsBut("gitlab"), why: eachAlone},
	{of: []string{"publish/local/..."}, not: destinationsBut("local"), why: eachAlone},
	{of: []string{"publish/oci/..."}, not: destinationsBut("oci"), why: eachAlone},
	{of: []string{"repo/source/...", "repo/text/...", "repo/kube/..."}, not: []string{"repo/capi/...", "repo/extension/...", "repo/move/...", "repo/facts/...", "repo/trust/...", "repo/report/..."},
		why: "Files, text and Kubernetes come before Cluster API."},
	{of: []string{"repo/source/...", "repo/text/...", "repo/kube/...", "repo/capi/...", "repo/facts/...", "repo/move/...", "repo/trust/...", "repo/extension"}, not: []string{"repo/lint/..."},
		why: "Facts do not depend on verdicts; rules judge what these packages find."},
	{of: []string{"..."}, except: []string{"repo/text/yamldoc"}, not: []string{"go.yaml.in/...", "gopkg.in/yaml.v2", "gopkg.in/yaml.v3", "sigs.k8s.io/yaml", "github.com/goccy/go-yaml"},
		why: "One package parses YAML, so that every value has a position and is what clusterctl reads."},
	{of: []string{"..."}, except: []string{"transform/kustomize"}, not: []string{"sigs.k8s.io/kustomize/..."},
		why: "One package knows kustomize, and confines it to the source tree."},
	{of: []string{"..."}, except: []string{"publish/github"}, not: []string{"github.com/google/go-github/..."}, why: ownSDK},
	{of: []string{"..."}, except: []string{"publish/gitlab"}, not: []string{"github.com/xanzy/go-gitlab"}, why: ownSDK},
	{of: []string{"..."}, except: []string{"publish/oci"}, not: []string{"oras.land/..."}, why: ownSDK},
	{of: []string{"..."}, except: []string{"repo/live/..."}, not: []string{"k8s.io/client-go"},
		why: "One package talks to API servers; the rest of the library stays free of the network."},
	{of: []string{"repo/...", "layouts/...", "transform/..."}, except: []string{"repo/extension/probe", "repo/live/..."}, not: []string{"net/http", "crypto/tls"},
		why: "The library works without the network, except for the probe of extensions and the client of management clusters."},
	{of: []string{"..."}, except: []string{"repo/source/program"}, not: []string{"os/exec"},
		why: "One package runs programs, so that all of them stop when they must."},
	{of: []string{"..."}, except: []string{"cmd/..."}, not: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "flag", "os/signal"}, why: "Flags and signals belong to the command line."},
}

const (
	eachAlone = "Each kind of destination works without the others."
	ownSDK    = "One package knows an SDK, so that replacing it changes one package."
)

func destinationsBut(kind string) []string {
	var not []string
	for _, k := range []string{"github", "gitlab", "local", "oci"} {
		if k != kind {
			not = append(not, "publish/"+k+"/...")
		}
	}
	return not
}

// matches reports whether one of the patterns covers the path.
func matches(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		folder, ok := strings.CutSuffix(pattern, "...")
		if !ok {
			return p == pattern
		}
		return folder == "" || p+"/" == folder || strings.HasPrefix(p, folder)
	})
}

// Judge compares the packages of the source with the rows and returns what is
// wrong, each with what to do.
func Judge(source map[string]*Source, folders []Folder, packages []Package) []string {
	rows := map[string]Package{}
	var problems []string
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	last := ""
	for _, row := range packages {
		if row.Path <= last {
			add("%s: the row of %s stands after that of %s; keep the rows sorted by path", tableFile, row.Path, last)
		}
		last = row.Path
		rows[row.Path] = row
		if row.Holds == "" || row.Never == "" {
			add("%s: the row of %s must say in Holds what lives there and in Never what it must not know", tableFile, row.Path)
		}
		if source[row.Path] == nil {
			add("%s: the row of %s has no package; remove it, or move it with the package", tableFile, row.Path)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(source)) {
		row, ok := rows[p]
		if !ok {
			add("%s has no row in %s. Write down what lives there, what it must not know, and add:\n%s", p, tableFile, rowOf(p, "…", "…", source[p]))
			continue
		}
		problems = append(problems, source[p].judge(row, rows)...)
	}
	return append(problems, judgeFolders(folders, packages)...)
}

// judge compares the imports of one package with its row.
func (s *Source) judge(row Package, rows map[string]Package) []string {
	var problems []string
	may := strings.Fields(row.Knows + " " + row.Libraries)
	for _, imported := range slices.Sorted(maps.Keys(s.Imports)) {
		if why := forbidden(row.Path, imported); why != "" {
			problems = append(problems, fmt.Sprintf("%s imports %s, which no row may allow to %s: %s", s.Imports[imported], imported, row.Path, why))
			continue
		}
		if slices.Contains(may, imported) || s.Module != "" && !isOwn(imported) {
			continue
		}
		problems = append(problems, stranger(s, row, imported, rows))
	}
	for _, listed := range may {
		if s.Imports[listed] == "" {
			problems = append(problems, fmt.Sprintf("%s: the row of %s lists %s, which the package does not import; remove it from the row, so that the map stays exact", tableFile, row.Path, listed))
		}
	}
	return problems
}

// stranger explains an import that the row does not list.
func stranger(s *Source, row Package, imported string, rows map[string]Package) string {
	field, what := "Libraries", imported+" would be linked by every user of the package."
	if to, ok := rows[imported]; ok {
		field, what = "Knows", imported+" holds "+to.Holds+"."
	}
	return fmt.Sprintf(`%s imports %s, which the row of %s in %s does not list.
	%s holds %s. It must not know %s.
	%s
	Before you add %q to %s of that row: does the code belong in another package, or can its caller pass in what it needs? If the row must change, say in the commit why the package still keeps to what it must not know.`,
		s.Imports[imported], imported, row.Path, tableFile, row.Path, row.Holds, row.Never, what, imported, field)
}

// forbidden returns the principle that a package would break with an import.
// Tests and examples are bound by their rows only.
func forbidden(p, imported string) string {
	if matches([]string{"test/...", "examples/..."}, p) {
		return ""
	}
	for _, pr := range principles {
		if matches(pr.of, p) && !matches(pr.except, p) && matches(pr.not, imported) {
			return pr.why
		}
	}
	return ""
}

// isOwn reports whether an import is a package of this project; Scan has cut
// the module path off.
func isOwn(imported string) bool {
	top, _, _ := strings.Cut(imported, "/")
	return slices.Contains([]string{"cmd", "examples", "layouts", "publish", "repo", "test", "transform"}, top)
}

// maxRepo is how many folders a reader can survey in repo.
const maxRepo = 14

// judgeFolders checks that every folder with packages below it has a row.
func judgeFolders(folders []Folder, packages []Package) []string {
	var problems []string
	known := map[string]bool{}
	for _, f := range folders {
		known[f.Path] = true
		if f.Holds == "" || f.Never == "" {
			problems = append(problems, fmt.Sprintf("%s: the row of the folder %s must say in Holds what lives there and in Never what never does", tableFile, f.Path))
		}
	}
	used := map[string]bool{}
	inRepo := map[string]bool{}
	for _, p := range packages {
		if rest, ok := strings.CutPrefix(p.Path, "repo/"); ok {
			top, _, _ := strings.Cut(rest, "/")
			inRepo[top] = true
		}
		for dir := path.Dir(p.Path); dir != "."; dir = path.Dir(dir) {
			used[dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(used)) {
		if !known[dir] {
			problems = append(problems, fmt.Sprintf("%s: the folder %s has no row in Folders; say in one line what lives there and what never does", tableFile, dir))
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(known)) {
		if !used[dir] {
			problems = append(problems, fmt.Sprintf("%s: the folder %s has no packages; remove its row", tableFile, dir))
		}
	}
	if len(inRepo) > maxRepo {
		problems = append(problems, fmt.Sprintf("repo has %d folders; %d is the limit, so that a newcomer can guess where things live", len(inRepo), maxRepo))
	}
	return problems
}

const tableFile = "test/imports/table.go"
