package recipes

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Release is what the recipes of a tree put into a release: the goals of make that
// a release workflow runs, or else those that are named after the release,
// followed in their order.
type Release struct {
	// Place is the recipe that builds the components; zero if only other files are known.
	Place
	// Products are the files of the release, by name; each name once.
	Products []Product
	// Open says why there may be further files; empty if Products are all.
	Open string
	// Images are those that are set before the components are built.
	Images []Image
	// Unread are the lines of these recipes that were not understood.
	Unread []unread
	// Generated are the files of the tree that are made from another one on the way.
	Generated []Product

	uploads bool // whether a recipe uploads files
}

// Product returns the file of that name, or nil.
func (r *Release) Product(name string) *Product {
	for i := range r.Products {
		if r.Products[i].Name == name {
			return &r.Products[i]
		}
	}
	return nil
}

// follower is a reader that follows a release: what was made is there for what
// comes after.
type follower struct {
	makes, depth int
	// alias are copies of folders, by their new name; folders were made.
	alias   map[string]string
	folders map[string]bool
	uploads []upload
	// opaque are programs that write to a place in a way that is not understood.
	opaque []opaque
}

// upload is a pattern of files that are uploaded, and what does it.
type upload struct {
	Place
	pattern string
}

type opaque struct {
	Place
	program, at string
}

// Follow returns what the recipes of a tree publish; nil if they do not tell. The
// repository is its owner and name on GitHub, if they are known.
func Follow(fsys fs.FS, repository string) *Release {
	r := &reader{fsys: fsys}
	var workflows []string
	root := ""
	for _, name := range r.files() {
		switch {
		case kindOf(name) == workflow:
			workflows = append(workflows, name)
		case kindOf(name) == makefile && root == "" && path.Dir(name) == "." && !strings.HasSuffix(name, ".mk"):
			root = name
		}
	}
	var part *Release
	for _, name := range workflows {
		text, ok := r.file(name)
		if !ok || !uploading().MatchString(text) {
			continue
		}
		out := follow(fsys, func(r *reader) {
			r.repository = repository
			r.workflow(name, []byte(text))
		})
		if out.File != "" && out.uploads {
			return out
		}
		if part == nil && len(out.Products) > 0 {
			part = out
		}
	}
	text, ok := r.file(root)
	if root == "" || !ok {
		return part
	}
	for _, goals := range releaseGoals(r.parse(root, text)) {
		out := follow(fsys, func(r *reader) {
			m := r.parse(root, text)
			for _, g := range goals {
				before := slices.Clone(r.out.Products)
				m.goal(g)
				// What an earlier goal made is not what a later one makes of it.
				for i := range r.out.Products {
					if j := slices.IndexFunc(before, func(p Product) bool { return p.To == r.out.Products[i].To }); j >= 0 {
						r.out.Products[i] = before[j]
					}
				}
			}
		})
		if out.File != "" {
			return out
		}
	}
	return part
}

var (
	uploading = phrase.Pattern(`(?m)uses:.*release|\bgh release (create|upload)|goreleaser`)
	// goalName are the goals that make a release, devGoal the parts of names of those
	// that make something else.
	goalName = phrase.Pattern(`(^|-)(release|dist|artifacts|publish)(-|$)`)
	devGoal  = phrase.Pattern(`(^|-)(staging|nightly|alias|dev|local|notes?|e2e|test|tests|verify|check|clean|git|binary|binaries|docker|image|images|tool|tools|chart|helm|push|tag|upload)(-|$)`)
)

// releaseGoals are the goals of a Makefile to follow: first the one called release,
// then all that are named after it, then those that write components.
func releaseGoals(m *rules) (out [][]string) {
	var all, builders []string
	for _, r := range m.list {
		writes := slices.ContainsFunc(r.lines, func(l line) bool { return strings.Contains(l.text, "components.yaml") })
		for target := range strings.FieldsSeq(m.expand(r.targets, nil, 0)) {
			switch {
			case devGoal().MatchString(target):
			case goalName().MatchString(target):
				all = append(all, target)
			case writes:
				builders = append(builders, target)
			}
		}
	}
	if slices.Contains(all, "release") {
		out = append(out, []string{"release"})
	}
	none := func(goals []string) bool { return len(goals) == 0 }
	return slices.CompactFunc(slices.DeleteFunc(append(out, all, builders), none), slices.Equal)
}

// follow runs recipes and looks at what lies in the release in the end.
func follow(fsys fs.FS, run func(*reader)) *Release {
	r := &reader{fsys: fsys, follower: &follower{alias: map[string]string{}, folders: map[string]bool{}}}
	run(r)
	r.follow()
	out := &Release{Unread: r.out.Unread, uploads: len(r.uploads) > 0}
	var main Product
	set := 0
	published := map[string]Product{}
	add := func(p Product) {
		if old, ok := published[p.Name]; ok && old.Kustomize != "" && p.Kustomize == "" {
			return
		}
		published[p.Name] = p
	}
	if len(r.uploads) > 0 {
		for _, p := range r.out.Products {
			if slices.ContainsFunc(r.uploads, func(u upload) bool { return covers(u.pattern, p.To) }) {
				add(p)
			}
		}
		for _, u := range r.uploads {
			r.uploaded(u, add)
		}
	}
	folders := map[string]bool{}
	for _, p := range r.out.Products {
		if !isComponents(p.Name) || p.Kustomize == "" && len(r.uploads) == 0 || !p.Ships() {
			continue
		}
		if _, ok := published[p.Name]; ok || len(r.uploads) == 0 {
			folders[path.Dir(p.To)] = true
			main, set = p, max(set, p.images)
		}
	}
	if len(published) == 0 {
		for _, p := range r.out.Products {
			if folders[path.Dir(p.To)] {
				add(p)
			}
		}
		for _, dir := range slices.Sorted(maps.Keys(folders)) {
			if layouts.InRelease(dir) { // what is committed there is a part of it
				r.uploaded(upload{main.Place, dir + "/*.yaml"}, add)
			}
		}
	}
	for _, u := range r.uploads {
		if name := path.Base(u.pattern); isYAML(name) && !strings.ContainsAny(u.pattern, "*?[") &&
			published[name].Name == "" {
			published[name] = Product{Place: u.Place, To: u.pattern, Name: name, images: len(r.out.Images)}
			out.Open = u.Place.String() + " uploads " + u.pattern + ", but what makes it was not recognized"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(published)) {
		p := published[name]
		out.Products = append(out.Products, p)
		if main.Name == "" && isComponents(name) {
			main, set = p, p.images
		}
	}
	if out.Place = main.Place; main.Name == "" {
		out.Open = "no recipe is known to make the components"
		return out
	}
	for i, image := range r.out.Images {
		if i >= set && !slices.ContainsFunc(out.Products, func(p Product) bool { return p.To == image.File }) {
			continue // for what is built later
		}
		// What is set last counts: docker-build sets the image of one platform first.
		same := func(i Image) bool {
			return i.Dir == image.Dir && i.File == image.File && i.Name == image.Name &&
				i.OldTag == image.OldTag && (i.PullPolicy == "") == (image.PullPolicy == "")
		}
		out.Images = append(slices.DeleteFunc(out.Images, same), image)
	}
	for _, p := range r.out.Products {
		if !fs.ValidPath(p.To) || !isYAML(p.To) || len(p.From) != 1 || p.Kustomize != "" || folders[path.Dir(p.To)] {
			continue
		}
		if _, err := fs.Stat(fsys, p.To); err != nil {
			out.Generated = append(out.Generated, p)
		}
	}
	for _, o := range r.opaque {
		inside := folders[o.at] || folders[path.Dir(o.at)] && isYAML(o.at)
		if slices.ContainsFunc(r.out.Products, func(p Product) bool { return p.To == o.at }) {
			continue // it is read, or changed
		}
		if inside || slices.ContainsFunc(r.uploads, func(u upload) bool { return isYAML(o.at) && covers(u.pattern, o.at) }) {
			out.Open = o.Place.String() + " writes to " + o.at + " with " + o.program
		}
	}
	if _, ok := published[layouts.MetadataFile]; !ok && out.Open == "" {
		out.Open = "no recipe publishes " + layouts.MetadataFile
	}
	for _, u := range out.Unread {
		if !u.Detail && out.Open == "" {
			out.Open = u.Place.String() + " was not recognized: " + u.Why
		}
	}
	return out
}

// isComponents reports whether a file holds components by its name, whatever clusterctl
// makes of it.
func isComponents(name string) bool {
	return layouts.KindOfFile(name) == layouts.Components || name == "components.yaml"
}

func isYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// covers reports whether a pattern of an upload covers a file.
func covers(upload, name string) bool {
	if dir, _, deep := strings.Cut(upload, "**"); deep {
		return strings.HasPrefix(name, strings.TrimSuffix(dir, "/"))
	}
	ok, err := path.Match(upload, name)
	return err == nil && ok
}

// uploaded adds the files of the tree that an upload covers.
func (r *reader) uploaded(u upload, add func(Product)) {
	names, err := fs.Glob(r.fsys, u.pattern)
	if err != nil {
		return
	}
	for _, name := range names {
		if info, err := fs.Stat(r.fsys, name); err == nil && info.Mode().IsRegular() &&
			!slices.ContainsFunc(r.out.Products, func(p Product) bool { return p.To == name }) {
			add(Product{Place: u.Place, To: name, Name: path.Base(name), From: []string{name}})
		}
	}
}

// upload notes the patterns of files that are uploaded.
func (r *reader) upload(at Place, names ...string) {
	for _, name := range names {
		name = path.Clean(strings.TrimPrefix(strings.Trim(strings.TrimSpace(name), `"'`), "./"))
		if i := strings.IndexByte(name, '#'); i > 0 {
			name = name[:i] // FILE#LABEL of gh
		}
		if name != "." && !strings.HasPrefix(name, "-") && strings.ContainsAny(name, "./*") {
			r.uploads = append(r.uploads, upload{at, strings.TrimPrefix(wild(name), "/")})
		}
	}
}

// wild puts a star for what cannot be told.
func wild(text string) string {
	var out strings.Builder
	skip := false
	for _, c := range text {
		switch {
		case c == markStart:
			skip = true
			out.WriteByte('*')
		case c == markEnd:
			skip = false
		case !skip:
			out.WriteRune(c)
		}
	}
	return strings.ReplaceAll(out.String(), "v*", "*")
}

// uploadKeys are the inputs of actions that name the files of a release.
var uploadKeys = []string{"files", "file", "artifacts", "asset_path", "asset_paths", "pattern"}

// versionOf finds the first pattern of docker/metadata-action, which its output
// "version" follows.
var versionOf = phrase.Pattern(`pattern=(v?)\{\{\s*(version|raw)\s*\}\}`)

// uses reads a step of a workflow: its ID, its version if it makes one, and what it uploads.
func (r *reader) uses(n *yamldoc.Node, at Place) {
	action := n.Get("uses").Str()
	if action+n.Get("run").Str() != "" {
		r.step = n.Get("id").Str()
	}
	if m := versionOf().FindStringSubmatch(n.Get("with", "tags").Str()); m != nil &&
		strings.Contains(action, "metadata-action") {
		if m[2] == "raw" {
			m[1] = "v"
		}
		r.env[r.job+"."+r.step+".version"] = m[1] + unknown("VERSION")
	}
	if r.follower == nil || !strings.Contains(action, "release") {
		return
	}
	for _, key := range uploadKeys {
		text := r.expressions(at, n.Get("with", key).Str())
		r.upload(at, strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == ',' || c == ' ' })...)
	}
	if strings.Contains(action, "goreleaser") {
		r.goreleaser()
	}
}

// goreleaser reads its configuration as a part of the recipe that starts it.
func (r *reader) goreleaser() {
	for _, name := range []string{".goreleaser.yaml", ".goreleaser.yml"} {
		text, ok := r.file(name)
		if !ok || r.follower == nil {
			continue
		}
		r.workflow(name, []byte(text))
		for _, d := range yamldoc.Parse(yamldoc.NewFile(name, []byte(text))).Docs {
			for _, f := range d.Root.Get("release", "extra_files").List() {
				at := Place{name, d.Pos(f).Line}
				r.upload(at, r.expressions(at, f.Get("glob").Str()))
			}
		}
	}
}

// startMake follows goals of make in a folder.
func (s *shell) startMake(args []string, sc *scope) {
	if s.follower == nil || s.makes > maxGoals || s.depth > maxExpansion {
		return
	}
	s.makes++
	fixed := map[string]string{}
	var goals []string
	dir := sc.dir
	for i := 0; i < len(args); i++ {
		key, value, set := strings.Cut(args[i], "=")
		switch {
		case args[i] == "-C" && i+1 < len(args):
			i++
			dir = sc.path(args[i])
		case args[i] == "-f" || args[i] == "-j":
			i++
		case strings.HasPrefix(args[i], "-"):
		case set:
			fixed[key] = value
		default:
			goals = append(goals, args[i])
		}
	}
	m := sc.make
	if m == nil || dir != m.dir {
		for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
			if text, ok := s.reader.file(path.Join(dir, name)); ok {
				m = s.parse(path.Join(dir, name), text)
				break
			}
		}
	}
	if m == nil {
		return
	}
	m = m.with(fixed, sc.vars)
	if len(goals) == 0 && len(m.list) > 0 {
		goals = strings.Fields(m.list[0].targets)[:1]
	}
	s.depth++
	defer func() { s.depth-- }()
	for _, g := range goals {
		m.goal(g)
	}
}

// Guess takes all recipes of a tree for parts of the release: it may hold more, and less.
func Guess(fsys fs.FS) *Release {
	r := Read(fsys)
	out := &Release{Open: "no recipe is known to make the release", Images: r.Images, Unread: r.Unread}
	into := map[string]bool{}
	add := func(p Product) {
		if out.Product(p.Name) == nil {
			out.Products = append(out.Products, p)
			out.Place = p.Place
		}
	}
	for _, p := range r.Products {
		switch kind := layouts.KindOfFile(p.Name); {
		case !p.Ships(), gap().MatchString(p.Name + p.Kustomize):
		case kind == layouts.Components && p.Kustomize != "", kind == layouts.ClusterTemplate, kind == layouts.ClusterClass:
			add(p)
			into[path.Dir(p.To)] = into[path.Dir(p.To)] || kind == layouts.Components
		case kind == layouts.Metadata:
			into[path.Dir(p.To)] = true
		}
	}
	delete(into, ".")
	for _, p := range r.Products {
		if into[path.Dir(p.To)] && !gap().MatchString(p.Name+p.Kustomize) {
			add(p)
		}
	}
	return out
}

// list lists a folder, with what was made in it.
func (r *reader) list(dir string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(r.fsys, r.real(dir))
	if !r.spend(Place{dir, 1}, 10*len(entries)+len(r.out.Products)) {
		return nil, err
	}
	if r.follower == nil {
		return entries, err
	}
	for _, p := range r.out.Products {
		if path.Dir(p.To) == dir {
			entries, err = append(entries, made(p.Name)), nil
		}
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return slices.CompactFunc(entries, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() }), err
}

// real is the folder or file that a copied one is a copy of.
func (r *reader) real(name string) string {
	if r.follower == nil {
		return name
	}
	out, longest := name, -1
	for to, from := range r.alias {
		if rest, ok := strings.CutPrefix(name+"/", to+"/"); ok && len(to) > longest {
			out, longest = path.Join(from, rest), len(to)
		}
	}
	return out
}

// made is a file that a recipe made.
type made string

// Name implements fs.DirEntry.
func (m made) Name() string { return string(m) }

// IsDir implements fs.DirEntry.
func (m made) IsDir() bool { return false }

// Type implements fs.DirEntry.
func (m made) Type() fs.FileMode { return 0 }

// Info implements fs.DirEntry.
func (m made) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }
