package metadata

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// NewSeries is a release series to add to a metadata.yaml.
type NewSeries struct {
	Version layouts.Version
	// Contract is the one that the CRDs of the version implement. If it is not
	// known, the nearest lower series decides: a series never takes over the
	// contract of a higher one.
	Contract string
}

// CheckSeries makes sure that metadata.yaml lists the release series of a version.
// Every error has its position.
func CheckSeries(f *yamldoc.File, version layouts.Version) error {
	d, series, err := readSeries(f)
	if err != nil {
		return err
	}
	if s := scan(series, version); !s.listed {
		return &yamldoc.Error{File: f.Name, Pos: d.Pos(series), Err: fmt.Errorf("version %s belongs to series %s, but metadata lists only %s; clusterctl would refuse the release. Add major %d, minor %d with its contract, or run with --add-series",
			version, version.Series(), strings.Join(s.names, ", "), version.Major(), version.Minor())}
	}
	return nil
}

// WithSeries returns the text of metadata.yaml with a release series, which is
// added if it is missing. Comments, layout and all other entries stay as they are.
// The error, with its position, says what to do by hand if the text has a form in
// which that cannot be promised.
func WithSeries(f *yamldoc.File, add NewSeries) ([]byte, error) {
	d, series, err := readSeries(f)
	if err != nil {
		return nil, err
	}
	fail := func(n *yamldoc.Node, format string, args ...any) error {
		return &yamldoc.Error{File: f.Name, Pos: d.Pos(n), Err: fmt.Errorf(format+"; add series %s by hand", append(args, add.Version.Series())...)}
	}
	s := scan(series, add.Version)
	switch {
	case s.listed:
		return []byte(f.Data), nil
	case add.Contract == "":
		add.Contract = s.lower.Get("contract").Str()
	}
	if add.Contract == "" {
		return nil, fail(series, "neither CRDs nor a lower series show the contract of series %s", add.Version.Series())
	}
	out, err := insertSeries(f.Data, d, series, s, add)
	if err != nil {
		return nil, fail(series, "%w", err)
	}
	return []byte(out), nil
}

// readSeries returns the list of release series.
func readSeries(f *yamldoc.File) (*yamldoc.Document, *yamldoc.Node, error) {
	s := yamldoc.Parse(f)
	if s.Err != nil {
		return nil, nil, s.Err
	}
	if len(s.Docs) == 0 {
		return nil, nil, &yamldoc.Error{File: f.Name, Err: errors.New("the file is empty; list the release series of the provider")}
	}
	d := s.Docs[0]
	if d.Err != nil {
		return nil, nil, d.Err
	}
	series := d.Root.Get("releaseSeries")
	if len(series.List()) == 0 {
		return nil, nil, &yamldoc.Error{File: f.Name, Pos: d.Pos(series), Err: errors.New("releaseSeries is missing or empty; list every series ever released with major, minor and contract")}
	}
	return d, series, nil
}

// scanned is what a list of series says about a version.
type scanned struct {
	listed bool
	names  []string
	// lower is the highest series below that of the version, or nil.
	lower *yamldoc.Node
	// descending: the newest series comes first.
	descending bool
}

func scan(series *yamldoc.Node, version layouts.Version) scanned {
	want := [2]int64{int64(version.Major()), int64(version.Minor())}
	var out scanned
	var lower, first, last [2]int64
	for i, item := range series.List() {
		major, _ := item.Get("major").Int()
		minor, _ := item.Get("minor").Int()
		at := [2]int64{major, minor}
		if i == 0 {
			first = at
		}
		last = at
		out.listed = out.listed || at == want
		out.names = append(out.names, fmt.Sprintf("%d.%d", major, minor))
		if below(at, want) && (out.lower == nil || below(lower, at)) {
			out.lower, lower = item, at
		}
	}
	out.descending = below(last, first)
	return out
}

func below(a, b [2]int64) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// insertSeries puts an entry next to the lower series, or at the low end of the list.
func insertSeries(text string, d *yamldoc.Document, series *yamldoc.Node, s scanned, add NewSeries) (string, error) {
	items := series.List()
	dashes := phrase.List(items, func(item *yamldoc.Node) int { return dash(text, d, item) })
	if len(items[0].Fields()) == 0 || slices.Contains(dashes, -1) {
		return "", errors.New("the list is not written as a block with one entry per line")
	}
	i := slices.Index(items, s.lower)
	switch {
	case i < 0 && s.descending:
		i = len(items)
	case i < 0:
		i = 0
	case !s.descending:
		i++
	}
	var at, indent int
	if i < len(items) && (s.descending || i == 0) {
		at = lineStart(text, dashes[i]) // below the comments of the place
		indent = dashes[i] - at
	} else {
		indent = dashes[i-1] - lineStart(text, dashes[i-1])
		at = entryEnd(text, lastByte(d, items[i-1]), indent)
	}
	blank := strings.Repeat(" ", indent)
	lines := []string{
		fmt.Sprintf("%s- major: %d", blank, add.Version.Major()),
		fmt.Sprintf("%s  minor: %d", blank, add.Version.Minor()),
		fmt.Sprintf("%s  contract: %s", blank, add.Contract),
	}
	entry := yamldoc.NewMap([]yamldoc.Field{
		{Name: "major", Value: edit.Scalar(fmt.Sprint(add.Version.Major()))},
		{Name: "minor", Value: edit.Scalar(fmt.Sprint(add.Version.Minor()))},
		{Name: "contract", Value: edit.Scalar(add.Contract)},
	})
	fields := slices.Clone(d.Root.Fields())
	for j := range fields {
		if fields[j].Name == "releaseSeries" {
			fields[j].Value = yamldoc.NewList(slices.Insert(slices.Clone(items), i, entry))
		}
	}
	return edit.Insert(text, at, lines, yamldoc.NewMap(fields))
}

// dash is where the dash of an entry stands, the first thing on its line; -1 if it has none.
func dash(text string, d *yamldoc.Document, item *yamldoc.Node) int {
	start, _ := d.Offsets(item)
	line := lineStart(text, start)
	before := strings.TrimRight(text[line:start], " ")
	if strings.TrimLeft(before, " ") != "-" {
		return -1
	}
	return line + len(before) - 1
}

func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

// lastByte is where the last key or scalar below a value ends.
func lastByte(d *yamldoc.Document, n *yamldoc.Node) int {
	_, end := d.Offsets(n)
	for _, f := range n.Fields() {
		end = max(end, lastByte(d, f.Key()), lastByte(d, f.Value))
	}
	for _, item := range n.List() {
		end = max(end, lastByte(d, item))
	}
	return end
}

// entryEnd is where the line after an entry begins that ends at an offset. Comments
// that are indented deeper than its dash belong to it.
func entryEnd(text string, end, indent int) int {
	out := end
	for first := true; ; first = false {
		line, _, more := strings.Cut(text[end:], "\n")
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case first, strings.HasPrefix(trimmed, "#") && len(line)-len(trimmed) > indent:
			out = min(end+len(line)+1, len(text))
		case strings.TrimSpace(line) != "":
			return out
		}
		if !more {
			return out
		}
		end += len(line) + 1
	}
}
