package metadata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// WithSeries makes sure that metadata.yaml lists the release series of a version,
// without which clusterctl refuses it. With add set, a missing series is added to
// the text, with the contract of the highest one listed; comments and layout
// stay. Errors have their position.
func WithSeries(f *yamldoc.File, version layouts.Version, add bool) ([]byte, error) {
	s := yamldoc.Parse(f)
	if s.Err != nil {
		return nil, s.Err
	}
	if len(s.Docs) == 0 {
		return nil, &yamldoc.Error{File: f.Name, Err: fmt.Errorf("the file is empty; it has to list the release series of the provider")}
	}
	d := s.Docs[0]
	if d.Err != nil {
		return nil, d.Err
	}
	series := d.Root.Get("releaseSeries")
	fail := func(n *yamldoc.Node, format string, args ...any) error {
		return &yamldoc.Error{File: f.Name, Pos: d.Pos(n), Err: fmt.Errorf(format, args...)}
	}
	if len(series.List()) == 0 {
		return nil, fail(series, "releaseSeries is missing or empty; clusterctl needs an entry with major, minor and contract for every series ever released")
	}
	var listed []string
	var highest *yamldoc.Node
	var top [2]int64
	for _, item := range series.Items {
		major, _ := item.Get("major").Int()
		minor, _ := item.Get("minor").Int()
		if major == int64(version.Major()) && minor == int64(version.Minor()) {
			return f.Data, nil
		}
		listed = append(listed, fmt.Sprintf("%d.%d", major, minor))
		if highest == nil || major > top[0] || major == top[0] && minor > top[1] {
			highest, top = item, [2]int64{major, minor}
		}
	}
	if !add {
		return nil, fail(series, "version %s is in no release series (listed: %s); clusterctl would refuse the release. Add major %d, minor %d with its contract, or run with --add-series",
			version, strings.Join(listed, ", "), version.Major(), version.Minor())
	}
	contract := highest.Get("contract").Str()
	if contract == "" {
		return nil, fail(highest, "the highest series has no contract to take over; add the series %s by hand", version.Series())
	}
	return addSeries(d, series, top, version, contract, fail)
}

func addSeries(d *yamldoc.Document, series *yamldoc.Node, top [2]int64, version layouts.Version, contract string, fail func(*yamldoc.Node, string, ...any) error) ([]byte, error) {
	f := d.File
	first, last := series.Items[0], series.Items[len(series.Items)-1]
	pos := d.Pos(first)
	line := f.Line(pos.Line)
	dash := strings.IndexByte(line, '-')
	if dash < 0 || strings.TrimSpace(line[:dash]) != "" || len(first.Fields) == 0 {
		return nil, fail(first, "the list is not written as a block, one entry below the other; add the series %s by hand", version.Series())
	}
	indent := line[:dash]
	item := fmt.Sprintf("%s- major: %d\n%s  minor: %d\n%s  contract: %s\n", indent, version.Major(), indent, version.Minor(), indent, contract)

	// The new entry goes where the order of the list wants it: newest first
	// or newest last.
	major, _ := first.Get("major").Int()
	minor, _ := first.Get("minor").Int()
	at := 0
	if newestFirst := len(series.Items) > 1 && [2]int64{major, minor} == top; newestFirst {
		at = f.Offset(yamldoc.Pos{Line: pos.Line, Column: 1})
	} else {
		end := 0
		last.Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
			end = max(end, d.Pos(n).Line)
			return true
		})
		at = f.Offset(yamldoc.Pos{Line: end + 1, Column: 1})
	}
	if at > 0 && f.Data[at-1] != '\n' {
		item = "\n" + item
	}
	out := slices.Insert(slices.Clone(f.Data), at, []byte(item)...)
	// The text was changed, so the reader has the last word.
	if _, err := WithSeries(yamldoc.NewFile(f.Name, out), version, false); err != nil {
		return nil, fail(series, "the series %s cannot be added automatically; add it by hand", version.Series())
	}
	return out, nil
}
