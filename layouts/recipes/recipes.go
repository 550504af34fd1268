package recipes

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Place is a line of a file of the tree.
type Place struct {
	File string
	Line int
}

// String writes the place as FILE:LINE.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Product is a file that a recipe writes. All paths use slashes and are relative
// to the tree.
type Product struct {
	Place
	// To is the file; Name its base name. The folder may hold text that could not
	// be told; the name is whole, but for the % of a recipe for several files.
	To, Name string
	// Kustomize is the folder it is built from; empty if it is copied.
	Kustomize string
	// Unrestricted is set if the build may load files from outside their folder.
	Unrestricted bool
	// Unsorted is set if the build leaves objects in the order of their files.
	Unsorted bool
	// From are the files it is copied from or joined of.
	From []string
	// Joined are the builds that the file is joined of, if they are several, with a
	// line of three dashes between them; Kustomize and From are empty then.
	Joined []Product
	// Through are the programs that change the text on the way, such as envsubst.
	Through []string

	images int // that were set before it
}

var gap = phrase.Pattern(`%|` + string(markStart) + `[^` + string(markEnd) + `]*` + string(markEnd))

// For returns what a recipe for several files says about one of them, by its path: the
// % and what could not be told stand for a part of the path, the same in Kustomize and
// From. It is false if the recipe does not make that file.
func (p Product) For(name string) (Product, bool) {
	if !gap().MatchString(p.To) {
		return p, p.To == name
	}
	var values []string // each gap and its value, as strings.NewReplacer takes them
	var rx strings.Builder
	last := 0
	for _, at := range gap().FindAllStringIndex(p.To, -1) {
		rx.WriteString(regexp.QuoteMeta(p.To[last:at[0]]) + "([^/]+)")
		values = append(values, p.To[at[0]:at[1]], "")
		last = at[1]
	}
	m := regexp.MustCompile("^" + rx.String() + regexp.QuoteMeta(p.To[last:]) + "$").FindStringSubmatch(name)
	if m == nil {
		return Product{}, false
	}
	for i, value := range m[1:] {
		for j := range i { // one gap has one value
			if values[2*j] == values[2*i] && values[2*j+1] != value {
				return Product{}, false
			}
		}
		values[2*i+1] = value
	}
	fill := strings.NewReplacer(values...)
	p.To, p.Name, p.Kustomize = name, path.Base(name), fill.Replace(p.Kustomize)
	p.From = slices.Clone(p.From)
	for i := range p.From {
		p.From[i] = fill.Replace(p.From[i])
	}
	return p, true
}

// Ships reports whether the product may go into a release: it is not made for a
// test or for development.
func (p Product) Ships() bool {
	return !slices.ContainsFunc(strings.Split(path.Dir(p.To), "/"), func(name string) bool { return slices.Contains(unshipped, name) })
}

// unshipped are folders that hold what is made for something else than a release.
var unshipped = []string{"test", "tests", "e2e", "testdata", "docs", "hack", "tilt", "_artifacts", "artifacts", "ARTIFACTS", "tmp", "dev"}

// Image is an image that a recipe sets with `kustomize edit set image` or with sed.
type Image struct {
	Place
	// Dir is the folder of the kustomization, File the file that sed changes; one
	// of them is set.
	Dir, File string
	// Name is the image to replace, OldTag the tag of those to replace; both are
	// empty for all of File.
	Name, OldTag string
	// NewName is its replacement without the tag; empty if it cannot be told, or if
	// only the tag is replaced.
	NewName string
	// Tag is its tag, with {version} for the version of the release and {number} for
	// the same without its v; empty if it cannot be told.
	Tag string
	// PullPolicy is set instead of the image if it is not empty.
	PullPolicy string
}

// unread is a line that builds something, but does not tell what.
type unread struct {
	Place
	Why string
	// Detail is set if the line seems to build nothing.
	Detail bool
}

// maxFile and maxFiles bound what is read of a tree.
const (
	maxFile  = 1 << 20
	maxFiles = 200
)

// Read reads the recipes of a tree, whatever they are for: Makefiles and *.mk, GitHub
// workflows, .gitlab-ci.yml, goreleaser's hooks, and shell scripts. Files that cannot be
// read or understood add nothing.
func Read(fsys fs.FS) *Release {
	r := &reader{fsys: fsys}
	for _, name := range r.files() {
		data, err := fs.ReadFile(fsys, name)
		if err != nil || len(data) > maxFile {
			continue
		}
		switch kindOf(name) {
		case makefile:
			r.makefile(name, string(data))
		case script:
			r.script(name, 1, string(data), newScope("."))
		case workflow:
			r.workflow(name, data)
		}
	}
	r.follow()
	return &r.out
}

type kind int

const (
	other kind = iota
	makefile
	script
	workflow
)

var workflowFile = phrase.Pattern(`^(\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml|\.goreleaser[^/]*\.ya?ml)$`)

func kindOf(name string) kind {
	base := path.Base(name)
	switch {
	case base == "Makefile", base == "GNUmakefile", base == "makefile", strings.HasSuffix(base, ".mk"):
		return makefile
	case strings.HasSuffix(base, ".sh"):
		return script
	case workflowFile().MatchString(name):
		return workflow
	}
	return other
}

// passed are folders whose recipes make no release.
var passed = []string{".git", "docs", "e2e", "node_modules", "test", "tests", "testdata", "third_party", "vendor"}

// files lists the recipes of the tree, Makefiles first, those of the root before
// those below.
func (r *reader) files() []string {
	var names []string
	_ = fs.WalkDir(r.fsys, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case entry.IsDir() && p != "." && (slices.Contains(passed, path.Base(p)) || strings.Count(p, "/") > 2):
			return fs.SkipDir
		case !entry.Type().IsRegular() || kindOf(p) == other:
			return nil
		}
		names = append(names, p)
		return nil
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(kindOf(a), kindOf(b)), cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	return names[:min(len(names), maxFiles)]
}

type reader struct {
	fsys fs.FS
	out  Release // its Products, Images and Unread
	work int     // of spend

	parser   *syntax.Parser // of shells, nil at first
	declared int            // functions whose bodies are being read
	// env are the variables of a workflow, the outputs of its steps as JOB.STEP.NAME
	// and those of its jobs as JOB/NAME; job and step are what is being read.
	env       map[string]string
	job, step string
	// repository is owner/name on GitHub, if it is known.
	repository string
	*follower
}

// maxWork bounds what is followed in all recipes of a tree, and maxValue the length
// of a variable, which may be made of itself. maxNoted bounds how many things of a
// kind are noted, because they are compared with each other.
const (
	maxWork  = 2_000_000
	maxValue = 1 << 16
	maxNoted = 2_000
)

// spend pays for following something: a command, a reference, or so many bytes or
// files. It is false if recipes ask for more than those of a provider ever do.
func (r *reader) spend(at Place, cost int) bool {
	if r.work > maxWork {
		return false
	}
	if r.work += cost; r.work > maxWork {
		r.unread(at, false, "the recipes are too long to be read completely")
	}
	return r.work <= maxWork
}

// workflow reads the scripts in a YAML file: every text under a key that holds
// commands.
func (r *reader) workflow(name string, data []byte) {
	defer func(env map[string]string) { r.env = env }(r.env) // one file may start another
	for _, d := range yamldoc.Parse(yamldoc.NewFile(name, data)).Docs {
		if d.Err != nil {
			continue
		}
		var last *scope
		var job string
		r.env = map[string]string{}
		d.Root.Walk(func(at yamldoc.Path, n *yamldoc.Node) bool {
			text := n.Str()
			if len(at) > 1 && at[0] == "jobs" {
				if r.job = at[1]; len(at) == 4 && at[2] == "outputs" {
					r.env[r.job+"/"+at[3]] = text
				}
			}
			r.uses(n, Place{name, d.Pos(n).Line})
			if len(at) > 1 && at[len(at)-2] == "env" {
				key := at[len(at)-1]
				r.env[key] = named(key, r.expressions(Place{name, d.Pos(n).Line}, text))
			}
			if text == "" || !slices.ContainsFunc(at, func(key string) bool { return slices.Contains(commandKeys, key) }) {
				return true
			}
			// Steps of a list are one script in GitLab; in GitHub each starts again.
			if of := strings.TrimRight(at.String(), "0123456789"); last == nil || of != job {
				last, job = newScope("."), of
				if !r.spend(Place{name, d.Pos(n).Line}, len(r.env)) {
					return false
				}
				maps.Copy(last.vars, r.env)
			}
			first := d.Pos(n).Line
			if n.Style == yamldoc.Block {
				first++ // the text begins below the sign
			}
			r.script(name, first, text, last)
			return true
		})
	}
}

// commandKeys are the keys that hold commands.
var commandKeys = []string{"run", "script", "before_script", "hooks", "cmd", "pre", "post"}

// follow replaces copies of what another recipe built by the build, so that a
// product says what it is made from in the end.
func (r *reader) follow() {
	for range 3 { // kustomize, rename, copy
		for i := range r.out.Products {
			p := &r.out.Products[i]
			if p.Kustomize != "" || len(p.From) != 1 || r.follower != nil && r.committed(p.From[0]) {
				continue
			}
			for _, q := range r.out.Products {
				if q.To == p.From[0] && q.To != p.To && (q.Kustomize != "" || len(q.From) == 1) {
					p.Kustomize, p.Unrestricted, p.Unsorted, p.From = q.Kustomize, q.Unrestricted, q.Unsorted, q.From
					p.Through = append(slices.Clone(q.Through), p.Through...)
					break
				}
			}
		}
	}
}

// committed reports whether a file that a recipe makes is in the tree too.
func (r *reader) committed(name string) bool {
	_, ok := r.file(name)
	return ok
}
