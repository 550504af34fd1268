package likeness

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// object is a decoded Kubernetes object.
type object = map[string]any

// decode reads the objects of a text; nil if it is no YAML, or holds something else.
func decode(data []byte) (out []object) {
	s := yamldoc.Parse(yamldoc.NewFile("", data))
	for _, d := range s.Docs {
		o, ok := d.Root.Value().(object)
		if d.Err != nil || !ok {
			return nil
		}
		out = append(out, o)
	}
	if s.Err != nil {
		return nil
	}
	return out
}

func text(v any, path ...string) string {
	for _, key := range path {
		m, _ := v.(object)
		v = m[key]
	}
	s, _ := v.(string)
	return s
}

// name is how messages call an object. It tells objects of one file apart.
func name(o object) string {
	at := text(o, "metadata", "name")
	if ns := text(o, "metadata", "namespace"); ns != "" {
		at = ns + "/" + at
	}
	return text(o, "kind") + " " + at
}

func id(o object) string {
	group, _, _ := strings.Cut(text(o, "apiVersion"), "/")
	return group + " " + name(o)
}

// change is a value that differs.
type change struct {
	object, path string
	built, want  any
}

func (c change) String() string {
	return fmt.Sprintf("%s differs at %s: %s, released as %s", c.object, c.path, brief(c.built), brief(c.want))
}

func brief(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%q", phrase.Fit(v, 60))
	case object:
		return "a map"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	}
	return fmt.Sprint(v)
}

// gap is how built objects differ from those of a release.
type gap struct {
	missing, extra []string
	changes        []change
	of             int // objects of the release
}

func (g gap) empty() bool { return len(g.missing)+len(g.extra)+len(g.changes) == 0 }

// score is lower for objects that are more alike.
func (g gap) score() int { return 100*(len(g.missing)+len(g.extra)) + len(g.changes) }

// String tells the first difference, and how many there are.
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
			out = append(out, fmt.Sprintf("%s in all", phrase.Count(n, "difference")))
		}
	}
	return strings.Join(out, "; ")
}

// compare compares objects by their names, in any order. In components the label of
// the provider does not count, as the build sets it.
func compare(built, want []object, components bool) gap {
	g := gap{of: len(want)}
	byID := map[string][]object{}
	for _, o := range built {
		byID[id(o)] = append(byID[id(o)], o)
	}
	for _, w := range want {
		same := byID[id(w)]
		if len(same) == 0 {
			g.missing = append(g.missing, name(w))
			continue
		}
		byID[id(w)] = same[1:]
		differ("", same[0], w, func(path string, b, v any) {
			if !components || path != ".metadata.labels."+layouts.ProviderLabel {
				g.changes = append(g.changes, change{name(w), strings.TrimPrefix(path, "."), b, v})
			}
		})
	}
	for _, key := range slices.Sorted(maps.Keys(byID)) {
		for _, o := range byID[key] {
			g.extra = append(g.extra, name(o))
		}
	}
	return g
}

// differ calls a function for each place at which two values differ.
func differ(path string, a, b any, each func(path string, a, b any)) {
	switch x := a.(type) {
	case object:
		y, ok := b.(object)
		if !ok && (b != nil || path != ".metadata.labels") { // labels may hold only that of the provider
			break
		}
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			differ(path+"."+k, x[k], y[k], each)
		}
		return
	case nil:
		if y, ok := b.(object); ok && path == ".metadata.labels" {
			for _, k := range slices.Sorted(maps.Keys(y)) {
				differ(path+"."+k, nil, y[k], each)
			}
			return
		}
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			differ(fmt.Sprintf("%s[%d]", path, i), x[i], y[i], each)
		}
		return
	}
	if fmt.Sprintf("%T %v", a, a) != fmt.Sprintf("%T %v", b, b) {
		each(path, a, b)
	}
}

// containers are those of a workload, init containers too.
func containers(o object) (out []object) {
	spec, _ := o["spec"].(object)
	for _, key := range []string{"jobTemplate", "spec", "template", "spec"} {
		if inner, ok := spec[key].(object); ok {
			spec = inner
		}
	}
	for _, key := range []string{"containers", "initContainers"} {
		list, _ := spec[key].([]any)
		for _, item := range list {
			if c, ok := item.(object); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// images finds the settings that make the images of built objects those of the
// release, and applies them.
func (v version) images(built, want []object) (out []config.Image) {
	byID := map[string]object{}
	for _, o := range want {
		byID[id(o)] = o
	}
	set := map[string]config.Image{}
	for _, o := range built {
		mine, theirs := containers(o), containers(byID[id(o)])
		if len(mine) != len(theirs) {
			continue
		}
		for i, c := range mine {
			old, now := text(c, "image"), text(theirs[i], "image")
			policy := text(theirs[i], "imagePullPolicy")
			name, tag, digest := imageref.Split(old)
			newName, newTag, newDigest := imageref.Split(now)
			image := config.Image{Name: name}
			if newName != name {
				image.NewName = newName
			}
			// The tag of the manager follows the release also where the tree has it already.
			if newTag != tag || text(c, "name") == "manager" && v.Tags(newTag) {
				image.NewTag = v.placeholders(newTag)
			}
			if newDigest != digest {
				image.Digest, image.NewTag = newDigest, ""
			}
			if policy != text(c, "imagePullPolicy") {
				image.PullPolicy = policy
			}
			if other, ok := set[name]; name == "" || now == "" || ok && fmt.Sprint(other) != fmt.Sprint(image) ||
				fmt.Sprint(image) == fmt.Sprint(config.Image{Name: name}) {
				continue // the difference, if there is one, stays
			}
			if _, ok := set[name]; !ok {
				set[name] = image
				out = append(out, image)
			}
			c["image"] = now
			if image.PullPolicy != "" {
				c["imagePullPolicy"] = policy
			}
			for _, other := range mine { // as the build does
				env, _ := other["env"].([]any)
				for _, e := range env {
					if e, ok := e.(object); ok && e["value"] == old && strings.ContainsAny(old, ":@") {
						e["value"] = now
					}
				}
			}
		}
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
	s = strings.ReplaceAll(s, full, "{version}")
	return strings.ReplaceAll(s, strings.TrimPrefix(full, "v"), "{number}")
}

func (v version) fill(s string) string {
	full := v.String()
	return strings.NewReplacer("{version}", full, "{number}", strings.TrimPrefix(full, "v")).Replace(s)
}

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
		if a[i] == b[i] {
			continue
		}
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
			for _, l := range found {
				if !slices.Contains(out, l) {
					out = append(out, l)
				}
			}
		}
	}
	return out, v.replace(built, out) == want
}

// words finds the replacements in one word.
func (v version) words(a, b string) (out []literal, ok bool) {
	for _, marks := range []*regexp.Regexp{variable(), marker()} {
		names := marks.FindAllString(a, -1)
		if names == nil {
			continue
		}
		var rx strings.Builder
		last := 0
		for _, at := range marks.FindAllStringIndex(a, -1) {
			rx.WriteString(regexp.QuoteMeta(a[last:at[0]]) + "(.*?)")
			last = at[1]
		}
		m := regexp.MustCompile("^" + rx.String() + regexp.QuoteMeta(a[last:]) + "$").FindStringSubmatch(b)
		if m == nil {
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

// replace is what the literals make of a text.
func (v version) replace(s string, literals []literal) string {
	for _, l := range literals {
		s = strings.ReplaceAll(s, l.old, v.fill(l.new))
	}
	return s
}

// replaced is what they make of all strings of a value.
func (v version) replaced(x any, literals []literal) any {
	switch x := x.(type) {
	case string:
		return v.replace(x, literals)
	case object:
		for k := range x {
			x[k] = v.replaced(x[k], literals)
		}
	case []any:
		for i := range x {
			x[i] = v.replaced(x[i], literals)
		}
	}
	return x
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
