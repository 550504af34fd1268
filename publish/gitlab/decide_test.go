package gitlab

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// begun is a run of Put before its first step, with the checksums of all files.
func begun(t *testing.T, s *fake.Server, u user, change func(*Options)) *job {
	t.Helper()
	o := options(s, u)
	if change != nil {
		change(&o)
	}
	j, err := open(t, o).begin(t.Context(), release(version, gate, "components", "metadata.yaml", "metadata", "cluster-template.yaml", "template"))
	given.NoError(t, err)
	for _, a := range j.order {
		j.sums[a.Name] = given.Value(a.Digest(t.Context()))(t)
	}
	return j
}

// there returns the state in which files of a job are there, each such as NAME, which
// is that of the release, NAME=other, or NAME=broken for what GitLab stored wrongly.
func there(j *job, listed, visible bool, files ...string) state {
	s := state{listed: listed, visible: visible, pkg: 1, where: "here", files: map[string][]stored{}}
	for i, file := range files {
		name, content, _ := strings.Cut(file, "=")
		f := stored{pkg: 1, id: i + 1, name: name, sum: j.sums[name], known: true}
		if content != "" {
			f.sum = repo.Sum{byte(len(content))}
		}
		if content == "broken" {
			j.broken[name] = append(j.broken[name], f.sum)
		}
		s.files[name] = append(s.files[name], f)
	}
	return s
}

// TestDecisions compares what is done in a state, and what is left.
func TestDecisions(t *testing.T) {
	s := serve(t, users[0], fake.Options{})
	all := []string{gate, "metadata.yaml", "cluster-template.yaml", "SHA256SUMS"}
	sides := all[1:]
	const claim, fill, open, clear, done = "claim the version", "delete the wrong files", "upload the components file, which", "delete the copies", "done"
	for name, tt := range map[string]struct {
		files           []string
		hidden, unlists bool
		job             func(*job)
		step            string
		// left are the steps in short: + for an upload, - for a deletion.
		left   string
		refuse string
	}{
		"nothing":                     {hidden: true, step: claim, left: "+cluster-template.yaml hidden +SHA256SUMS +metadata.yaml +" + gate + " default"},
		"nothing, and taken over":     {hidden: true, job: func(j *job) { j.p.o.TakeOver = true }, step: fill, left: "+cluster-template.yaml hidden +SHA256SUMS +metadata.yaml +" + gate + " default"},
		"nothing, and claimed":        {hidden: true, job: func(j *job) { j.claimed = true }, step: fill, left: "+cluster-template.yaml hidden +SHA256SUMS +metadata.yaml +" + gate + " default"},
		"nothing that can be listed":  {unlists: true, step: fill, left: "+cluster-template.yaml hidden +SHA256SUMS +metadata.yaml +" + gate + " default"},
		"one file":                    {files: sides[:1], hidden: true, job: func(j *job) { j.claimed = true }, step: fill, left: "+cluster-template.yaml +SHA256SUMS +" + gate + " default"},
		"all but the gate":            {files: sides, hidden: true, job: func(j *job) { j.claimed = true }, step: open, left: "+" + gate + " default"},
		"all":                         {files: all, step: done},
		"all, and claimed":            {files: all, job: func(j *job) { j.claimed = true }, step: done},
		"all, hidden":                 {files: all, hidden: true, job: func(j *job) { j.claimed = true }, step: open, left: "+" + gate + " default"},
		"all, hidden after the gate":  {files: all, hidden: true, job: func(j *job) { j.claimed, j.sent[gate] = true, true }, step: "wait, then upload", left: "+" + gate + " default"},
		"a copy":                      {files: append(slices.Clone(all), sides[0]), job: func(j *job) { j.claimed = true }, step: clear, left: "-" + sides[0] + " 2"},
		"a copy, not claimed":         {files: append(slices.Clone(all), sides[0]), step: claim, left: "-" + sides[0] + " 2"},
		"a copy that cannot go":       {files: append(slices.Clone(all), sides[0]), job: func(j *job) { j.keep = true }, step: done},
		"an older one with history":   {files: append([]string{sides[0] + "=old"}, all...), job: func(j *job) { j.claimed = true }, step: done},
		"an older one, unfinished":    {files: append([]string{sides[0] + "=old"}, sides...), hidden: true, job: func(j *job) { j.claimed = true }, step: clear, left: "+" + gate + " default -" + sides[0] + " 1"},
		"broken":                      {files: []string{"metadata.yaml=broken", "cluster-template.yaml", "SHA256SUMS"}, hidden: true, job: func(j *job) { j.claimed = true }, step: fill, left: "-metadata.yaml 1 +metadata.yaml +" + gate + " default"},
		"broken gate":                 {files: append(slices.Clone(sides), gate+"=broken"), job: func(j *job) { j.claimed = true }, step: fill, left: "-" + gate + " 4 +" + gate + " default"},
		"too much":                    {files: append(slices.Clone(sides), "x.yaml"), hidden: true, job: func(j *job) { j.claimed = true }, step: fill, left: "-x.yaml 4 +" + gate + " default"},
		"wrong":                       {files: []string{"metadata.yaml=other", "cluster-template.yaml", "SHA256SUMS"}, hidden: true, job: func(j *job) { j.claimed = true }, step: fill, left: "-metadata.yaml 1 +metadata.yaml +" + gate + " default"},
		"wrong, and cannot go":        {files: []string{"metadata.yaml=other", "cluster-template.yaml", "SHA256SUMS"}, hidden: true, job: func(j *job) { j.claimed, j.keep = true, true }, step: fill, left: "+metadata.yaml +" + gate + " default"},
		"too much, and cannot go":     {files: append(slices.Clone(sides), "x.yaml"), hidden: true, job: func(j *job) { j.keep = true }, step: "refuse", refuse: "an unfinished upload left x.yaml"},
		"other content":               {files: append([]string{"metadata.yaml=other"}, gate, "cluster-template.yaml", "SHA256SUMS"), step: "refuse", refuse: "already published"},
		"other content, unlisted":     {files: append([]string{"metadata.yaml=other"}, gate, "cluster-template.yaml", "SHA256SUMS"), unlists: true, step: "refuse", refuse: "already published"},
		"other content, before it":    {files: []string{"metadata.yaml=other"}, step: "refuse", refuse: "already published"},
		"visible, and not complete":   {files: all[:3], step: "refuse", refuse: "already published"},
		"listed early":                {files: sides[:1], job: func(j *job) { j.claimed = true }, step: fill, left: "+cluster-template.yaml +SHA256SUMS +" + gate + " default"},
		"sent, and not shown":         {files: sides[1:], hidden: true, job: func(j *job) { j.sent["metadata.yaml"] = true }, step: "wait", refuse: "accepted the file metadata.yaml, but does not show it"},
		"sent, and replaced":          {files: []string{"metadata.yaml=other"}, hidden: true, job: func(j *job) { j.sent["metadata.yaml"] = true }, step: "refuse", refuse: "another publisher has just replaced metadata.yaml"},
		"refused":                     {files: sides[:2], hidden: true, job: func(j *job) { j.claimed, j.refused["SHA256SUMS"] = true, errors.New("too large") }, step: "refuse", refuse: "too large", left: "+SHA256SUMS +" + gate + " default"},
		"refused, and there by now":   {files: sides, hidden: true, job: func(j *job) { j.claimed, j.refused["SHA256SUMS"] = true, errors.New("too large") }, step: open, left: "+" + gate + " default"},
		"deleted, and still listed":   {files: sides, hidden: true, job: func(j *job) { j.claimed, j.deleted[99] = true, true }, step: open, left: "+" + gate + " default"},
		"a gate of others, not ready": {files: []string{gate + "=other"}, hidden: true, step: "refuse", refuse: "already published"},
	} {
		j := begun(t, s, users[0], nil)
		st := there(j, !tt.unlists, !tt.hidden, tt.files...)
		if tt.job != nil {
			tt.job(j)
		}
		j.assess(&st)
		row := j.machine().Table.Decide(st)
		if !strings.HasPrefix(row.Step, tt.step) {
			t.Errorf("%s: %s, want %s", name, row.Step, tt.step)
			continue
		}
		var left []string
		for _, x := range append(slices.Clone(st.steps), st.tidy...) {
			word := ""
			switch {
			case x.upload == nil:
				word = fmt.Sprintf("-%s %d", x.delete.name, x.delete.id)
			case x.status == gitlab.PackageHidden:
				word = "+" + x.upload.Name + " hidden"
			case x.status == gitlab.PackageDefault:
				word = "+" + x.upload.Name + " default"
			default:
				word = "+" + x.upload.Name
			}
			left = append(left, word)
		}
		if got := strings.Join(left, " "); got != tt.left {
			t.Errorf("%s: left are %q, want %q", name, got, tt.left)
		}
		want := len(left)
		if !j.claimed {
			want++
		}
		if got := j.machine().Left(st); got != want {
			t.Errorf("%s: %d steps are left, want %d", name, got, want)
		}
		switch {
		case row.Refuse != nil:
			if err := row.Refuse(st); err == nil || !strings.Contains(err.Error(), tt.refuse) {
				t.Errorf("%s: refused with %v", name, err)
			}
		case tt.refuse != "":
			if err := row.Do(t.Context(), st); err == nil || !transport.IsTemporary(err) || !strings.Contains(err.Error(), tt.refuse) {
				t.Errorf("%s: waits with %v", name, err)
			}
		case tt.step == "wait, then upload":
			if err := row.Do(t.Context(), st); !transport.IsTemporary(err) || j.sent[gate] {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestMayUpload: GitLab gives no role for administrators who are not members; an unknown
// role does not count as too low.
func TestMayUpload(t *testing.T) {
	for text, want := range map[string]bool{
		`{"project_access": null, "group_access": null}`:                                 true,
		`{"project_access": {"access_level": 20}, "group_access": {"access_level": 30}}`: true,
		`{"project_access": {"access_level": 20}, "group_access": null}`:                 false,
	} {
		var p project
		given.NoError(t, json.Unmarshal([]byte(`{"permissions": `+text+`}`), &p))
		if p.mayUpload() != want {
			t.Errorf("%s: got %v, want %v", text, !want, want)
		}
	}
}

// TestOvertaken counts the looks at the gate before a step.
func TestOvertaken(t *testing.T) {
	for name, tt := range map[string]struct {
		visible, unlists, first, claimed, deletes, there bool
		want                                             bool
		looks                                            int
		age                                              time.Duration // of the last look
	}{
		"first of a list":          {first: true},
		"first of a list, in vain": {first: true, visible: true},
		"first without a list":     {first: true, unlists: true, looks: 1},
		"found without a list":     {first: true, unlists: true, visible: true, looks: 1, want: true},
		"later":                    {looks: 1},
		"later, found":             {visible: true, looks: 1, want: true},
		"claimed, and just looked": {visible: true, claimed: true},
		"claimed, looked long ago": {visible: true, claimed: true, age: time.Hour, looks: 1, want: true},
		"a deletion":               {visible: true, deletes: true},
		"there before":             {visible: true, there: true},
	} {
		s := serve(t, users[0], fake.Options{})
		if tt.visible {
			given.Value(open(t, options(s, users[0])).Put(t.Context(), small(version)))(t)
		}
		j := begun(t, s, users[0], nil)
		st := there(j, !tt.unlists, false)
		if tt.there {
			st = there(j, true, false, gate)
		}
		j.claimed, j.looked = tt.claimed, time.Now().Add(-tt.age)
		x := step{upload: j.order[0]}
		if tt.deletes {
			x = step{delete: stored{pkg: 1, id: 1}}
		}
		s.Faults.ClearLog()
		got, err := j.overtaken(t.Context(), st, x, tt.first)
		if looks := len(s.Faults.Log()); err != nil || got != tt.want || looks != tt.looks {
			t.Errorf("%s: %t after %d looks, %v", name, got, looks, err)
		}
	}
}

// TestRefusedSteps: what GitLab damages is deleted, what may not be deleted stays, and what is
// refused may be there already.
func TestRefusedSteps(t *testing.T) {
	s := serve(t, users[0], fake.Options{})
	j := begun(t, s, users[0], nil)
	st, x := there(j, true, false), step{upload: j.r.Artifact("metadata.yaml"), status: gitlab.PackageHidden}
	s.Faults.Add(fault.Rule{Step: "upload-file", Fault: fault.Fault{Effect: fault.WrongDigest}})
	err := j.do(t.Context(), st, x)
	if !transport.IsTemporary(err) || len(j.broken["metadata.yaml"]) != 1 || j.sent["metadata.yaml"] || len(j.deleted) != 1 {
		t.Errorf("GitLab damages a file: %v, %v", err, j.broken)
	}
	// A file that was deleted, and is still listed, is not there.
	given.NoError(t, j.do(t.Context(), st, x))
	for _, f := range given.Value(j.p.look(t.Context(), version, j.names()))(t).files["metadata.yaml"] {
		j.deleted[f.id] = true
	}
	delete(j.sent, "metadata.yaml")
	if after, err := j.look(t.Context()); err != nil || len(after.files) > 0 || len(after.steps) != len(j.order) {
		t.Errorf("%+v, %v", after, err)
	}
	for _, tt := range []struct {
		code int
		keep bool
		want string
	}{{403, true, ""}, {401, true, ""}, {404, false, ""}, {400, false, "delete the file number 7"}} {
		j := begun(t, s, users[0], nil)
		s.Faults.Reset()
		s.Faults.Add(fault.Rule{Step: "delete-file", Times: fault.Always, Fault: fault.Fault{Status: tt.code, Body: "{}"}})
		err := j.remove(t.Context(), 1, 7)
		if j.keep != tt.keep || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || j.deleted[7] != (err == nil && !tt.keep) || j.changed != j.deleted[7] {
			t.Errorf("%d: %v, keeps %t, deleted %v", tt.code, err, j.keep, j.deleted)
		}
	}
	// What is refused is told to be there already, or else ends the run.
	j = begun(t, s, users[0], nil)
	s.Faults.Reset()
	s.Faults.Add(fault.Rule{Step: "upload-file", Times: 1, Fault: fault.Fault{Status: 400, Body: `{"message":"Duplicate package is not allowed"}`}})
	if err := j.do(t.Context(), st, x); err != nil || j.refused["metadata.yaml"] == nil || j.sent["metadata.yaml"] {
		t.Errorf("%v, %v", err, j.refused)
	}
	j = begun(t, s, users[0], nil)
	s.Faults.Reset()
	s.Faults.Add(fault.Rule{Step: "upload-file", Times: fault.Always, Fault: fault.Fault{Status: 413, Body: "{}"}})
	if err := j.do(t.Context(), st, x); err == nil || transport.IsTemporary(err) || !strings.HasPrefix(err.Error(), "upload metadata.yaml: ") {
		t.Errorf("%v", err)
	}
	if err := (&marks{j.p, version + claims}).Set(t.Context(), "mark"); err == nil || !strings.HasPrefix(err.Error(), "claim the version: PUT ") {
		t.Errorf("%v", err)
	}
	// Where duplicates are forbidden, a mark that an equal publisher has set counts as set.
	m := &marks{begun(t, serve(t, users[0], fake.Options{}, func(p *fake.Project) { p.NoDuplicates = true }), users[0], nil).p, version + claims}
	for range 2 {
		given.NoError(t, m.Set(t.Context(), "mark"))
	}
}
