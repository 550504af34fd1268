package config

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// form is a kind of text: how it is checked, and the pattern that the JSON
// schema can give for it.
type form struct {
	check   func(string) error
	pattern string
}

var forms = map[string]form{
	"path":    {checkPath, `^[^/\\]`},
	"glob":    {checkPath, `^[^/\\]`},
	"file":    {checkFileName, `^[^/\\]+$`},
	"pattern": {checkPattern, `^[^/\\]+$`},
	"name":    {checkName, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`},
	"regexp":  {func(s string) error { _, err := regexp.Compile(s); return err }, ""},
	"digest":  {checkDigest, `^[a-z0-9]+:[0-9a-f]{32,}$`},
	"string":  {func(string) error { return nil }, ""},
}

// placeholders are the variables of a configuration, written {version}.
var placeholders = []string{"version", "number", "label", "type", "name"}

var (
	brace  = phrase.Pattern(`\{([^{}/]*)\}`)
	dollar = phrase.Pattern(`\$(\w+|\{[^}]*\}?|\([^)]*\)?)`)
	drive  = phrase.Pattern(`^[A-Za-z]:`)
	number = phrase.Pattern(`^[1-9]$`)
	digest = phrase.Pattern(`^[a-z0-9]+([+._-][a-z0-9]+)*:[0-9a-f]{32,}$`)
)

// checkVariables checks the placeholders in a text, which may be stars too: {1}.
func checkVariables(s string, stars bool) error {
	if v := dollar().FindString(s); v != "" {
		return fmt.Errorf("%q: the environment is not used here; the variables are {%s}", v, strings.Join(placeholders, "}, {"))
	}
	for _, m := range brace().FindAllStringSubmatch(s, -1) {
		if !slices.Contains(placeholders, m[1]) && !(stars && number().MatchString(m[1])) {
			return fmt.Errorf("unknown variable %q; known: {%s}%s", m[0], strings.Join(placeholders, "}, {"), phrase.DidYouMean(m[1], placeholders))
		}
	}
	return nil
}

func checkPath(s string) error {
	if err := checkVariables(s, false); err != nil {
		return err
	}
	switch {
	case strings.Contains(s, `\`):
		return fmt.Errorf("%q: folders are separated by /, also on Windows", s)
	case path.IsAbs(s) || drive().MatchString(s):
		return fmt.Errorf("%q is absolute; paths are relative to the root of the source tree", s)
	case strings.HasPrefix(path.Clean(s)+"/", "../"):
		return fmt.Errorf("%q leads out of the source tree; copy its target into the tree", s)
	case strings.ContainsRune(s, 0):
		return errors.New("a path cannot hold a NUL character")
	}
	return nil
}

func checkFileName(s string) error { return cmp.Or(checkVariables(s, false), fileName(s)) }

// checkPattern checks a file name, flavor or class that may refer to stars.
func checkPattern(s string) error { return cmp.Or(checkVariables(s, true), fileName(s)) }

// fileName refuses what cannot be a file of a release.
func fileName(s string) error {
	switch {
	case s == "" || s == "." || s == "..":
		return fmt.Errorf("%q is not a file name", s)
	case strings.ContainsAny(s, `/\`):
		return fmt.Errorf("%q must be a name without a folder: the files of a release lie next to each other", s)
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%q holds a control character", s)
	}
	return nil
}

func checkName(s string) error {
	if !layouts.IsDNSLabel(s) {
		return fmt.Errorf("%q must consist of lower-case letters, digits and dashes, begin and end with a letter or digit, and have at most 63 characters", s)
	}
	return nil
}

func checkDigest(s string) error {
	if !digest().MatchString(s) {
		return fmt.Errorf("%q is not a digest such as sha256:4355a46b…", s)
	}
	return nil
}

// expand fills in the placeholders that vars has. {x} after a dollar sign is
// a variable of clusterctl and stays.
func expand(s string, vars map[string]string) string {
	if !strings.Contains(s, "{") {
		return s
	}
	var b strings.Builder
	last := 0
	for _, m := range brace().FindAllStringSubmatchIndex(s, -1) {
		value, ok := vars[s[m[2]:m[3]]]
		if !ok || m[0] > 0 && s[m[0]-1] == '$' {
			continue
		}
		b.WriteString(s[last:m[0]])
		b.WriteString(value)
		last = m[1]
	}
	b.WriteString(s[last:])
	return b.String()
}
