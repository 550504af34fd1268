// Package route finds the operation of a REST API that a request asks for. It
// must not know any API.
package route

import (
	"net/url"
	"strings"
)

// Match compares an escaped path with a pattern such as "/repos/{owner}/{repo}",
// segment by segment. A last segment like {ref...} takes all that is left. The
// values are unescaped, so they may contain slashes.
func Match(pattern, path string) (values map[string]string, ok bool) {
	values = map[string]string{}
	wanted := strings.Split(strings.Trim(pattern, "/"), "/")
	got := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for n, w := range wanted {
		if n >= len(got) {
			return nil, false
		}
		name, variable := strings.CutPrefix(w, "{")
		if !variable {
			if got[n] != w {
				return nil, false
			}
			continue
		}
		name = strings.TrimSuffix(name, "}")
		value := got[n]
		if rest, all := strings.CutSuffix(name, "..."); all {
			name, value = rest, strings.Join(got[n:], "/")
			got = got[:n+1]
		}
		value, err := url.PathUnescape(value)
		if err != nil || value == "" {
			return nil, false
		}
		values[name] = value
	}
	return values, len(wanted) == len(got)
}
