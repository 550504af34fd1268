package report_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// hostilePlan is the plan of objects with names that nobody expects.
func hostilePlan() report.MovePlan {
	object := func(kind, name string, owner *snapshot.Object) snapshot.Object {
		o := snapshot.Object{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: kind, Namespace: "ns", Name: name, UID: "u-" + name}
		if owner != nil {
			o.Owners = []snapshot.Owner{{Group: owner.Group, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}}
		}
		return o
	}
	c := object("Cluster", hostile, nil)
	c.Detail = &snapshot.Cluster{Paused: true}
	gone := object("Foo", "gone"+hostile, nil)
	s := &snapshot.Snapshot{Objects: []snapshot.Object{c, object("Machine", "m"+hostile, &c), object("Machine", "lost"+hostile, &gone)}}
	return report.MovePlan{Title: hostile, Plan: owners.FromSnapshot(s, owners.Options{Namespace: "ns"})}
}

func plan(t *testing.T, format string, plans []report.MovePlan) string {
	t.Helper()
	var b strings.Builder
	err := report.WriteMovePlans(&b, format, plans, report.MoveOptions{Paint: plain{}, Version: "v1", All: true, Problems: []error{errors.New(hostile)}})
	given.NoError(t, err)
	return b.String()
}

// TestMovePlanIsSafe demands that no name breaks a format.
func TestMovePlanIsSafe(t *testing.T) {
	plans := []report.MovePlan{hostilePlan(), hostilePlan()}
	for _, format := range report.MoveFormats {
		out := plan(t, format, plans)
		if format != "json" && strings.ContainsAny(out, "\x1b\u202e\x00\r") {
			t.Errorf("%s: characters that cannot be seen: %q", format, out)
		}
		if again := plan(t, format, plans); again != out {
			t.Errorf("%s: it is not the same again", format)
		}
		switch format {
		case "json":
			var v struct {
				Objects []struct {
					Name, Verdict string
					Lost          bool
				}
				Summary  map[string]int
				Certain  bool
				Refusals []any
			}
			if err := json.Unmarshal([]byte(out), &v); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if len(v.Objects) != 6 || v.Objects[1].Name != "m"+hostile || v.Summary["blocked"] != 2 || v.Certain || len(v.Refusals) != 4 {
				t.Errorf("%+v", v)
			}
		case "html":
			d := xml.NewDecoder(strings.NewReader(out))
			d.Strict = false
			d.AutoClose, d.Entity = xml.HTMLAutoClose, xml.HTMLEntity
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", format, err)
				}
				if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
					t.Errorf("%s: a script", format)
				}
			}
		case "mermaid":
			for line := range strings.Lines(out) {
				if inQuotes := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\"`, ""), `"`); inQuotes%2 != 0 {
					t.Errorf("%s: a text does not end: %s", format, line)
				}
			}
		}
	}
}

// TestOwnersOfMany demands that a picture for people shows what is lost, however
// many objects there are.
func TestOwnersOfMany(t *testing.T) {
	s := &snapshot.Snapshot{}
	for i := range 2000 {
		s.Objects = append(s.Objects, snapshot.Object{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "ns", Name: fmt.Sprint(i), UID: fmt.Sprint(i), Detail: &snapshot.Cluster{}})
	}
	s.Objects = append(s.Objects, snapshot.Object{Group: "cluster.x-k8s.io", Kind: "Machine", Namespace: "ns", Name: "lost", UID: "lost"})
	g := report.Owners(owners.FromSnapshot(s, owners.Options{Namespace: "ns"}).Graph)
	if len(g.Nodes) > 500 || !strings.Contains(g.Title, "2001") {
		t.Error(len(g.Nodes), g.Title)
	}
	if last := g.Nodes[len(g.Nodes)-1]; last.Sublabel != "ns/lost" || last.Class != "bad" {
		t.Error(last)
	}
}
