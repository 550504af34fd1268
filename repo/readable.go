package repo

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Readable refuses a release in which a file is not what clusterctl reads under its name,
// such as the page of a login in the place of the components. What is inside the objects
// does not matter.
func (r *Release) Readable() error {
	kind := r.Kinds()
	for _, a := range r.Artifacts {
		what := ""
		var err error
		switch ext := path.Ext(a.Name); {
		case kind(a).Read():
			var data []byte
			if data, err = a.Bytes(); err == nil {
				if what = Unfit(data); what == "" && !object(data) {
					what = "text without a Kubernetes object"
				}
			}
		case ext == ".yaml" || ext == ".yml": // others read it
			var body io.ReadCloser
			if body, err = a.Open(); err == nil {
				var head []byte
				head, err = io.ReadAll(io.LimitReader(body, 512))
				body.Close()
				what = Unfit(bytes.ToValidUTF8(append(head, '#'), nil)) // it may be empty, and a character cut
			}
		}
		if err != nil {
			return err
		}
		if what != "" {
			return fmt.Errorf("%s is %s, not what clusterctl reads under this name; the file was damaged, or a server answered with something else when it was fetched", a.Path, what)
		}
	}
	return nil
}

var (
	markup = phrase.Pattern(`^\x{FEFF}?\s*<[!?A-Za-z]`)
	field  = phrase.Pattern(`(?:^|[{,])[\s-]*["']?(?:apiVersion|kind|releaseSeries)["']?\s*:`)
)

// Unfit says what a file is that cannot be YAML; empty if it may be.
func Unfit(data []byte) string {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "an empty file"
	case markup().Match(data):
		return "an HTML or XML page"
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "binary data, or text that is not UTF-8"
	}
	return ""
}

// object reports whether a line of a text, comments aside, begins what clusterctl reads.
func object(data []byte) bool {
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") && field().MatchString(line) {
			return true
		}
	}
	return false
}
