package likeness

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// object is a Kubernetes object as its single values, by their paths.
type object struct {
	name   string // for messages
	values map[string]any
}

// decode reads the objects of a text; nil if it is no YAML, or holds something else.
func decode(data []byte) (out []object) {
	s := yamldoc.Parse(yamldoc.NewFile("", data))
	for _, d := range s.Docs {
		root, ok := d.Root.Value().(map[string]any)
		if d.Err != nil || !ok {
			return nil
		}
		o := object{values: map[string]any{}}
		o.flatten("", root)
		o.name = fmt.Sprint(o.values["kind"], " ", o.values["metadata.name"])
		if ns, ok := o.values["metadata.namespace"]; ok {
			o.name = fmt.Sprint(o.values["kind"], " ", ns, "/", o.values["metadata.name"])
		}
		out = append(out, o)
	}
	if s.Err != nil {
		return nil
	}
	return out
}

func (o object) flatten(path string, v any) {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			o.flatten(strings.TrimPrefix(path+"."+k, "."), x[k])
		}
		if len(x) > 0 || path == "metadata.labels" {
			return
		}
	case []any:
		for i := range x {
			o.flatten(fmt.Sprintf("%s[%d]", path, i), x[i])
		}
		if len(x) > 0 {
			return
		}
	}
	o.values[path] = v
}

// id tells the objects of a file apart.
func (o object) id() string {
	group, _, _ := strings.Cut(o.text("apiVersion"), "/")
	return group + " " + o.name
}

func (o object) text(path string) string {
	s, _ := o.values[path].(string)
	return s
}

type change struct {
	object, path string
	built, want  any
}

func (c change) String() string {
	show := func(v any) string {
		if v == nil {
			return "nothing"
		}
		return fmt.Sprintf("%q", phrase.Fit(fmt.Sprint(v), 60))
	}
	return fmt.Sprintf("%s differs at %s: %s, released as %s", c.object, c.path, show(c.built), show(c.want))
}

// gap is how built objects differ from those of a release.
type gap struct {
	missing, extra []string
	changes        []change
}

func (g gap) empty() bool { return g.score() == 0 }

// score is lower for objects that are more alike.
func (g gap) score() int { return 100*(len(g.missing)+len(g.extra)) + len(g.changes) }

// String tells the first differences, and how many there are.
func (g gap) String() string {
	var out []string
	if n := len(g.missing); n > 0 {
		out = append(out, fmt.Sprintf("%s of the release not built: %s", phrase.Count(n, "object"), phrase.Few(g.missing, 3)))
	}
	if n := len(g.extra); n > 0 {
		out = append(out, fmt.Sprintf("%s more than the release has: %s", phrase.Count(n, "object"), phrase.Few(g.extra, 3)))
	}
	if n := len(g.changes); n > 0 {
		out = append(out, g.changes[0].String())
		if n > 1 {
			out = append(out, phrase.Count(n, "difference")+" in all")
		}
	}
	return strings.Join(out, "; ")
}

// compare compares objects by their names, in any order. In components the label of
// the provider does not count, as the build sets it.
func compare(built, want []object, components bool) (g gap) {
	byID := map[string][]object{}
	for _, o := range built {
		byID[o.id()] = append(byID[o.id()], o)
	}
	for _, w := range want {
		same := byID[w.id()]
		if len(same) == 0 {
			g.missing = append(g.missing, w.name)
			continue
		}
		byID[w.id()] = same[1:]
		paths := maps.Clone(same[0].values)
		maps.Copy(paths, w.values)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			b, v := same[0].values[path], w.values[path]
			own := components && path == "metadata.labels."+layouts.ProviderLabel
			if fmt.Sprintf("%T %v", b, b) != fmt.Sprintf("%T %v", v, v) && !own {
				g.changes = append(g.changes, change{w.name, path, b, v})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byID)) {
		g.extra = append(g.extra, phrase.List(byID[key], func(o object) string { return o.name })...)
	}
	return g
}

// container is where a container has its image.
var container = phrase.Pattern(`^spec\.(?:.*\.)?(?:initC|c)ontainers\[[0-9]+\]\.image$`)

// images finds the settings that make the images of built objects those of the
// release, and applies them.
func (v version) images(built, want []object) (out []config.Image) {
	set := map[string]config.Image{}
	for _, o := range built {
		i := slices.IndexFunc(want, func(w object) bool { return w.id() == o.id() })
		for _, path := range slices.Sorted(maps.Keys(o.values)) {
			if i < 0 || !container().MatchString(path) {
				continue
			}
			at, old, now := strings.TrimSuffix(path, "image"), o.text(path), want[i].text(path)
			policy := want[i].text(at + "imagePullPolicy")
			image := v.image(old, now, o.text(at+"name") == "manager")
			if policy != "" && policy != o.text(at+"imagePullPolicy") {
				image.PullPolicy = policy
			}
			if other, ok := set[image.Name]; now == "" || ok && fmt.Sprint(other) != fmt.Sprint(image) {
				continue // the difference, if there is one, stays
			} else if !ok && fmt.Sprint(image) != fmt.Sprint(config.Image{Name: image.Name}) {
				out = append(out, image)
			}
			set[image.Name] = image
			o.values[path] = now
			if image.PullPolicy != "" {
				o.values[at+"imagePullPolicy"] = policy
			}
			for path := range o.values { // as the build does
				if o.values[path] == old && strings.Contains(path, ".env[") && strings.ContainsAny(old, ":@") {
					o.values[path] = now
				}
			}
		}
	}
	return out
}

// image is the setting that makes one image of another. The tag of the manager follows
// the release also where the tree has it already.
func (v version) image(old, now string, manager bool) config.Image {
	name, tag, digest := imageref.Split(old)
	newName, newTag, newDigest := imageref.Split(now)
	out := config.Image{Name: name}
	if newName != name {
		out.NewName = newName
	}
	switch {
	case newDigest != digest:
		out.Digest = newDigest
	case newTag != tag || manager && v.Tags(newTag):
		out.NewTag = v.placeholders(newTag)
	}
	return out
}

// literal is a text that a release has in the place of another one.
type literal struct{ old, new string }

// version is that of the release to be like.
type version struct{ layouts.Version }

// placeholders puts placeholders in the place of the version.
func (v version) placeholders(s string) string {
	full := v.String()
	return strings.NewReplacer(full, "{version}", strings.TrimPrefix(full, "v"), "{number}").Replace(s)
}

func (v version) replace(s string, literals []literal) string {
	full := v.String()
	fill := strings.NewReplacer("{version}", full, "{number}", strings.TrimPrefix(full, "v"))
	for _, l := range literals {
		s = strings.ReplaceAll(s, l.old, fill.Replace(l.new))
	}
	return s
}

// What stands for something that a recipe puts in its place.
var (
	variable = phrase.Pattern(`\$\{[A-Za-z_]\w*\}`)
	marker   = phrase.Pattern(`[A-Z][A-Z0-9]*_[A-Z0-9_]+|@[A-Za-z_]+@|<[a-z_-]+>`)
)

// literals finds the replacements that make one text of the other. They replace words
// of a line: variables and other marks, and whatever becomes the version. All other
// differences are no replacements; then ok is false.
func (v version) literals(built, want string) (out []literal, ok bool) {
	a, b := strings.Split(built, "\n"), strings.Split(want, "\n")
	if len(a) != len(b) {
		return nil, false
	}
	for i := range a {
		x, y := strings.Fields(a[i]), strings.Fields(b[i])
		if len(x) != len(y) {
			return nil, false
		}
		for j := range x {
			if x[j] == y[j] {
				continue
			}
			found, ok := v.words(x[j], y[j])
			if !ok {
				return nil, false
			}
			out = append(out, found...)
		}
	}
	out = phrase.Distinct(out)
	return out, v.replace(built, out) == want
}

// changed finds the replacements in values that differ.
func (v version) changed(g gap) (out []literal) {
	for _, c := range g.changes {
		built, ok1 := c.built.(string)
		want, ok2 := c.want.(string)
		if l, ok := v.literals(built, want); ok1 && ok2 && ok {
			out = append(out, l...)
		}
	}
	slices.SortFunc(out, func(a, b literal) int { return cmp.Or(cmp.Compare(a.old, b.old), cmp.Compare(a.new, b.new)) })
	return slices.Compact(out)
}

// words finds the replacements in one word.
func (v version) words(a, b string) (out []literal, ok bool) {
	if !utf8.ValidString(a) || !utf8.ValidString(b) || len(a) > maxText {
		return nil, false
	}
	for _, marks := range []*regexp.Regexp{variable(), marker()} {
		names := marks.FindAllString(a, -1)
		parts := marks.Split(a, -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		m := regexp.MustCompile("^" + strings.Join(parts, "(.*?)") + "$").FindStringSubmatch(b)
		if m == nil || names == nil {
			continue
		}
		for i, name := range names {
			if m[i+1] != name {
				out = append(out, literal{name, v.placeholders(m[i+1])})
			}
		}
		return out, !strings.ContainsAny(strings.Join(m[1:], ""), "{}")
	}
	a, b = strings.Trim(a, `"',`), strings.Trim(b, `"',`)
	now := v.placeholders(b)
	return []literal{{a, now}}, a != "" && now != b && !strings.ContainsAny(b, "{}")
}

// differingLine is the first line at which two texts differ, from 1.
func differingLine(a, b string) int {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return i + 1
		}
	}
	return min(len(x), len(y))
}
