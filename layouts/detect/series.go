package detect

import (
	"cmp"
	"io/fs"
	"path"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// series are the release series of a metadata.yaml, as major and minor number, with
// their contracts.
type series map[[2]int64]string

// SeriesOf reads the series in a file of a tree; there are none if it cannot be read,
// which is for the build to say.
func SeriesOf(fsys fs.FS, file string) series {
	out := series{}
	data, err := fs.ReadFile(fsys, path.Clean(file))
	if err != nil {
		return out
	}
	for _, doc := range yamldoc.Parse(yamldoc.NewFile(file, data)).Docs {
		for _, s := range doc.Root.Get("releaseSeries").List() {
			major, _ := s.Get("major").Int()
			minor, _ := s.Get("minor").Int()
			out[[2]int64{major, minor}] = s.Get("contract").Str()
		}
	}
	return out
}

// Highest returns the newest series; it is false if there is none.
func (s series) Highest() (best [2]int64, found bool) {
	for series := range s {
		if !found || cmp.Or(cmp.Compare(series[0], best[0]), cmp.Compare(series[1], best[1])) > 0 {
			best, found = series, true
		}
	}
	return best, found
}

// extend reports whether s has all series of older, with the same contracts, and
// more.
func (s series) extend(older series) bool {
	if len(older) == 0 || len(s) <= len(older) {
		return false
	}
	for k, contract := range older {
		if s[k] != contract {
			return false
		}
	}
	return true
}
