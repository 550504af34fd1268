package config

import (
	"cmp"
	"regexp"
	"strings"
)

// defaultTagPattern leaves out the tags of nested Go modules (api/v1.2.3) and
// other tags that do not name releases.
const defaultTagPattern = `^v`

// Of returns the version that a git tag names; ok is false if the tag is none
// of a release. The error is a pattern that is not a regular expression, which
// Decode has excluded.
func (v Version) Of(tag string) (version string, ok bool, err error) {
	re, err := regexp.Compile(cmp.Or(v.TagPattern, defaultTagPattern))
	if err != nil {
		return "", false, v.Errorf("tagPattern", "tagPattern: %w", err)
	}
	version = strings.TrimPrefix(tag, v.StripPrefix)
	return version, re.MatchString(tag) && version != "", nil
}
