package objects

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// demand is what the API server asks of the values at a path; a star in it stands
// for all entries of a list.
type demand struct {
	path string
	test test
}

// test looks at a value and says what is wrong with it, in words that follow its
// path. It names what decides besides the value (view.Failure.By): the values of users
// may be other ones.
type test func(n *yamldoc.Node, fail view.Failure)

// judge holds an object against demands.
type judge struct {
	p *lint.Pass
	o *manifest.Object
}

// demands reports what is wrong with a part of the object, which stands at a path.
func (j judge) demands(n *yamldoc.Node, at []string, rows []demand) {
	for _, row := range rows {
		j.walk(n, at, row.path, row.test)
	}
}

func (j judge) walk(n *yamldoc.Node, at []string, path string, t test) {
	if n == nil || n.Kind == yamldoc.Null {
		return
	}
	step, rest, _ := strings.Cut(path, ".")
	switch step {
	case "":
		t(n, view.Failure{Pass: j.p, Object: j.o, Value: n, Path: at})
	case "*":
		for i, item := range n.List() {
			place := append(at[:len(at):len(at)], "["+strconv.Itoa(i)+"]")
			if item.Kind == yamldoc.Null && rest == "" { // an entry in which nothing is set
				t(item, view.Failure{Pass: j.p, Object: j.o, Value: item, Path: place})
			}
			j.walk(item, place, rest, t)
		}
	default:
		j.walk(n.Get(step), append(at[:len(at):len(at)], step), rest, t)
	}
}

// unset reports whether the API server takes a value for none.
func unset(n *yamldoc.Node) bool {
	return n == nil || n.Kind == yamldoc.Null ||
		n.Is(yamldoc.String) && n.Text() == "" || n.Is(yamldoc.List) && len(n.List()) == 0
}

// needs demands fields that are set.
func needs(names ...string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		for _, name := range names {
			if (n.Is(yamldoc.Map) || n.Is(yamldoc.Null)) && unset(n.Get(name)) {
				fail.By(cmp.Or(n.Get(name), n)).Says("has no %s", name)
			}
		}
	}
}

// oneOf demands one of some words; the empty one is not named in messages.
func oneOf(words ...string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		if (n.Is(yamldoc.String) || n.Is(yamldoc.Null)) && !slices.Contains(words, n.Str()) {
			fail.Says("is %q; it must be %s", n.Str(), phrase.Or(named(words)))
		}
	}
}

// alone demands that a star is the only entry of a list.
func alone(n *yamldoc.Node, fail view.Failure) {
	for _, item := range n.List() {
		if item.Str() == "*" && len(n.List()) > 1 {
			fail.By(item).Says(`has other entries besides "*"`)
		}
	}
}

// between demands a number in a range.
func between(low, high int64) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		switch v, ok := n.Int(); {
		case ok && v < low && high >= many:
			fail.Says("is %d; it must be at least %d", v, low)
		case ok && (v < low || v > high):
			fail.Says("is %d; it must be between %d and %d", v, low, high)
		}
	}
}

// many is where ranges end that have no end.
const many = 1<<31 - 1

// form demands a text that a function of the API server has nothing against.
func form(problems func(string) []string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		if n.Str() == "" {
			return
		}
		if list := problems(n.Text()); len(list) > 0 {
			why, _, _ := strings.Cut(list[0], " (e.g.")
			fail.Says("is %q: %s", n.Text(), why)
		}
	}
}

// choice demands one of some fields, or at most one.
func choice(needed bool, names ...string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		var set []string
		for _, name := range names {
			// An empty list counts as unset; an empty map or string is a pointer that is set.
			if v := n.Get(name); v != nil && v.Kind != yamldoc.Null && !(v.Is(yamldoc.List) && len(v.List()) == 0) {
				set = append(set, name)
			}
		}
		switch {
		case !n.Is(yamldoc.Map):
		case len(set) > 1:
			fail.Says("has %s; only one is allowed", phrase.And(set))
		case len(set) == 0 && needed:
			fail.Says("has none of %s", phrase.And(names))
		}
	}
}

// distinct demands that the entries of a list differ: in a field, or in one of several, or
// as a whole if none is named.
func distinct(names ...string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		seen := map[string][]*yamldoc.Node{}
		for _, item := range n.List() {
			var parts []*yamldoc.Node
			var words []string
			for _, name := range names {
				if part := item.Get(name); part != nil {
					parts, words = append(parts, part), append(words, "the "+name+" "+part.Text())
				}
			}
			if len(names) == 0 {
				parts, words = []*yamldoc.Node{item}, []string{"the value " + item.Text()}
			}
			key := phrase.And(words)
			if first := seen[key]; first != nil {
				fail.By(parts...).By(first...).Says("has two entries with %s", key)
			}
			if len(parts) > 0 {
				seen[key] = parts
			}
		}
	}
}

// never demands that a field is not set.
func never(why string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		if !unset(n) {
			fail.Says("is set, which %s", why)
		}
	}
}

// only demands that a field is set with some values of another one alone.
func only(name, other string, values ...string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		at, of := n.Get(name), n.Get(strings.Split(other, ".")...)
		if !unset(at) && !isZero(at) && !slices.Contains(values, of.Str()) {
			fail.By(at, of).Says("sets %s, which needs %s: %s", name, other, phrase.Or(named(values)))
		}
	}
}

// named are the words without the empty one, which messages do not show.
func named(words []string) []string {
	return phrase.Only(words, func(s string) bool { return s != "" })
}

// like demands a text of some form.
func like(pattern func() *regexp.Regexp, words string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		if n.Is(yamldoc.String) && !pattern().MatchString(n.Str()) {
			fail.Says("is %q; it must be %s", n.Str(), words)
		}
	}
}

// positive demands a quantity above 0, or at least 0 if that is allowed.
func positive(zero bool) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		switch q, err := resource.ParseQuantity(n.Text()); {
		case err != nil: // another rule tells of it
		case zero && q.Sign() < 0:
			fail.Says("is %s; it must be at least 0", n.Text())
		case !zero && q.Sign() <= 0:
			fail.Says("is %s; it must be greater than 0", n.Text())
		}
	}
}

// selects demands a selector of labels that the API server understands
// (apimachinery meta/v1/validation, ValidateLabelSelector: the package imports that of
// the network, so it is not called).
func selects(n *yamldoc.Node, fail view.Failure) {
	labels(n.Get("matchLabels"), fail)
	for _, e := range n.Get("matchExpressions").List() {
		if unset(e.Get("key")) {
			fail.By(e, e.Get("key")).Says("has an expression without a key")
		} else {
			form(validation.IsQualifiedName)(e.Get("key"), fail.By(e.Get("key")))
		}
		values, operator := e.Get("values"), e.Get("operator")
		switch op := operator.Str(); {
		case op == "In" || op == "NotIn":
			if unset(values) {
				fail.By(e, operator, values).Says("has an expression with the operator %s and without values", op)
			}
		case op != "Exists" && op != "DoesNotExist":
			fail.By(operator, e).Says("has the operator %q; it must be In, NotIn, Exists or DoesNotExist", op)
		case !unset(values):
			fail.By(values, operator).Says("has values, which the operator %s does not allow", op)
		}
		for _, v := range values.List() {
			form(validation.IsValidLabelValue)(v, fail.By(v))
		}
	}
}
