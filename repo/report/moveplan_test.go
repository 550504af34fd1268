package report_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// hostilePlan is the plan of objects with names that nobody expects.
func hostilePlan() report.MovePlan {
	object := func(kind, name string, owner *move.Object) move.Object {
		o := move.Object{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: kind, Namespace: "ns", Name: name, UID: "u-" + name}
		if owner != nil {
			o.Owners = []move.OwnerReference{{Ref: move.Ref{Group: owner.Group, Kind: owner.Kind, Name: owner.Name}, UID: owner.UID}}
		}
		return o
	}
	c := object("Cluster", hostile, nil)
	c.Detail = &move.Cluster{Class: hostile}
	gone := object("Foo", "gone"+hostile, nil)
	d := &move.Dump{Objects: []move.Object{c, object("Machine", "m"+hostile, &c), object("Machine", "lost"+hostile, &gone)}}
	p := move.FromDump(d, move.Options{Namespace: "ns"})
	move.Check([]*move.Plan{p}, d)
	return report.MovePlan{Title: hostile, Plan: p}
}

// TestMovePlanIsSafe demands that no name breaks a format.
func TestMovePlanIsSafe(t *testing.T) {
	plans := []report.MovePlan{hostilePlan(), hostilePlan()}
	for _, format := range report.InventoryFormats {
		var out [2]strings.Builder
		for i := range out {
			given.NoError(t, report.WriteMovePlans(&out[i], format, plans, true, errors.New(hostile)))
		}
		text := out[0].String()
		if format != "json" && strings.ContainsAny(text, "\x1b\u202e\x00\r") {
			t.Errorf("%s: characters that cannot be seen: %q", format, text)
		}
		if out[1].String() != text {
			t.Errorf("%s: it is not the same again", format)
		}
		if format != "json" {
			continue
		}
		var v struct {
			Answer         string
			Objects        []struct{ Name, Answer, Reason string }
			Summary        map[string]int
			Remarks, Needs []any
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(v.Objects) != 6 || v.Objects[1].Name != "m"+hostile || v.Summary[move.NotKnown] != 6 ||
			v.Answer != move.NotKnown ||
			len(v.Remarks) == 0 || len(v.Needs) == 0 {
			t.Errorf("%+v", v)
		}
	}
}
