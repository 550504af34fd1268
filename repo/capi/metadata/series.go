package metadata

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
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
	out, err := edit.Rewrite(f.Data, func(d *edit.Document) error { return insertSeries(d, series, s, add) })
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
func insertSeries(d *edit.Document, series *yamldoc.Node, s scanned, add NewSeries) error {
	var list *edit.Node
	if e := d.Root.Get("releaseSeries"); e != nil && e.Value.IsList() && !e.Value.Flow &&
		len(series.List()[0].Fields()) > 0 {
		list = e.Value
	} else {
		return errors.New("the list is not written as a block with one entry per line")
	}
	at := slices.Index(series.List(), s.lower)
	switch {
	case at < 0 && s.descending:
		at = len(list.Entries)
	case at < 0:
		at = 0
	case !s.descending:
		at++
	}
	fields := edit.NewMap(list)
	fields.Add("major", fmt.Sprint(add.Version.Major()))
	fields.Add("minor", fmt.Sprint(add.Version.Minor()))
	fields.Add("contract", add.Contract)
	item := edit.NewItem(fields)
	if at < len(list.Entries) && (s.descending || at == 0) {
		item.Lead = list.Entries[at].TakeLead()
	}
	list.Insert(at, item)
	return nil
}
