package metadata

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
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

// ErrSeriesMissing: the version belongs to none of the release series.
var ErrSeriesMissing = errors.New("clusterctl refuses a version without a release series")

// CheckSeries makes sure that metadata.yaml lists the release series of a version.
// The error wraps ErrSeriesMissing if it does not; every error has its position.
func CheckSeries(f *yamldoc.File, version layouts.Version) error {
	d, series, err := readSeries(f)
	if err != nil {
		return err
	}
	if s := scan(series, version); !s.listed {
		return &yamldoc.Error{File: f.Name, Pos: d.Pos(series), Err: missing(fmt.Sprintf("version %s belongs to series %s, but metadata lists only %s; clusterctl would refuse the release. Add major %d, minor %d with its contract, or run with --add-series",
			version, version.Series(), strings.Join(s.names, ", "), version.Major(), version.Minor()))}
	}
	return nil
}

// missing is an ErrSeriesMissing with a text for people.
type missing string

func (m missing) Error() string        { return string(m) }
func (m missing) Is(target error) bool { return target == ErrSeriesMissing }

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
		return nil, fail(series, "neither CRDs nor a lower series tell the contract of series %s", add.Version.Series())
	}
	out, err := insertSeries(d, series, s, add)
	if err != nil {
		return nil, fail(series, "%w", err)
	}
	// The reader has the last word: one entry more, and nothing else.
	_, now, err := readSeries(yamldoc.NewFile(f.Name, out))
	if err != nil || !extends(series, now, add) {
		return nil, fail(series, "the text cannot be extended safely")
	}
	return out, nil
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

// insertSeries writes an entry next to the lower series, or at the low end of the
// list.
func insertSeries(d *yamldoc.Document, series *yamldoc.Node, s scanned, add NewSeries) ([]byte, error) {
	f := d.File
	first := d.Pos(series.List()[0])
	line := f.Line(first.Line)
	dash := strings.IndexByte(line, '-')
	if dash < 0 || strings.TrimSpace(line[:dash]) != "" || len(series.List()[0].Fields()) == 0 {
		return nil, errors.New("the list is not written as a block with one entry below the other")
	}
	lineEnd := "\n"
	if strings.Contains(f.Data, "\r\n") {
		lineEnd = "\r\n"
	}
	indent := line[:dash]
	item := fmt.Sprintf("%s- major: %d%s%s  minor: %d%s%s  contract: %s%s", indent, add.Version.Major(), lineEnd, indent, add.Version.Minor(), lineEnd, indent, add.Contract, lineEnd)

	neighbour := s.lower
	before := s.descending // the new entry stands before the lower one
	if neighbour == nil {
		if s.descending {
			neighbour, before = series.List()[len(series.List())-1], false
		} else {
			neighbour, before = series.List()[0], true
		}
	}
	number := d.Pos(neighbour).Line
	if !before {
		number = entryEnd(f, number, dash)
	}
	at := f.Offset(yamldoc.Pos{Line: number, Column: 1})
	if at > 0 && f.Data[at-1] != '\n' {
		item = lineEnd + item
	}
	return []byte(f.Data[:at] + item + f.Data[at:]), nil
}

// entryEnd returns the line after the entry that begins on a line: after the last
// line that is indented more than its dash.
func entryEnd(f *yamldoc.File, number, dash int) int {
	end := number + 1
	for n, lines := number+1, strings.Count(f.Data, "\n")+1; n <= lines; n++ {
		line := strings.TrimRight(f.Line(n), " \t\r\n")
		text := strings.TrimLeft(line, " ")
		if text == "" {
			continue
		}
		if len(line)-len(text) <= dash {
			break
		}
		end = n + 1
	}
	return end
}

// extends reports whether a list is another one with one series added.
func extends(before, now *yamldoc.Node, add NewSeries) bool {
	rest := now.Value()
	list, ok := rest.([]any)
	old, ok2 := before.Value().([]any)
	if !ok || !ok2 || len(list) != len(old)+1 {
		return false
	}
	for i, n := range now.List() {
		major, _ := n.Get("major").Int()
		minor, _ := n.Get("minor").Int()
		if major == int64(add.Version.Major()) && minor == int64(add.Version.Minor()) && n.Get("contract").Str() == add.Contract {
			return reflect.DeepEqual(slices.Delete(list, i, i+1), old)
		}
	}
	return false
}
