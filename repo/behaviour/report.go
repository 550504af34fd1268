package behaviour

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/behaviour/record"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Report makes a report of what a Judge found, for all formats of findings. The command
// judged the subject.
func (j *Judge) Report(command, subject string) *lint.Report {
	r := &lint.Report{}
	seen := map[string]int{}
	for _, f := range j.finish() {
		one := lint.Finding{
			Rule: &f.Check.Rule, Severity: f.Severity, File: f.New.File, Object: f.Object, Message: f.Message,
			Evidence: f.Evidence(), Fingerprint: f.fingerprint(seen),
		}
		if f.New.Line > 0 {
			one.Pos = yamldoc.Pos{Line: f.New.Line, Column: 1}
		}
		r.Findings = append(r.Findings, one)
	}
	r.Failures = slices.Clone(j.world.Problems)
	if held, violated, _ := j.Tally(); held+violated == 0 && len(r.Failures) == 0 {
		r.Failures = append(r.Failures, errors.New("nothing was judged: what happened was not enough to decide any check"))
	}
	out := &lint.Report{Command: command, Subject: subject}
	out.Join(r)
	return out
}

// generated are the ends that Kubernetes adds to names: that of generateName, and the
// hash of a MachineSet before it (k8s.io/apimachinery pkg/util/rand, SafeEncodeString).
var generated = phrase.Pattern(`(-[bcdfghjklmnpqrstvwxz2456789]{5,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// fingerprint is the same for the same fault in another run: it holds neither times nor
// what Kubernetes or a test generates, as the namespace. Equal ones are counted.
func (f *Finding) fingerprint(seen map[string]int) string {
	kind, name, _ := strings.Cut(f.Object, " ")
	name = name[strings.LastIndexByte(name, '/')+1:]
	key := f.Check.ID + "\x00" + kind + "\x00" + generated().ReplaceAllString(name, "")
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, seen[key]))
	seen[key]++
	return hex.EncodeToString(sum[:12])
}

// Timeline is what happened to an object with findings.
type Timeline = record.Timeline[*Finding]

// Timelines begins to collect; the events must be those that were judged.
func (j *Judge) Timelines() *record.Timelines[*Finding] {
	t := record.NewTimelines[*Finding]()
	for _, f := range j.finish() {
		t.Follow(f.UID, f.Object, f)
	}
	return t
}

// Evidence is the proof in a few lines: the versions with their times, and the diff.
func (f *Finding) Evidence() []string {
	versions := "resourceVersion " + f.New.ResourceVersion + " at " + stamp(f.New.At)
	if f.Old.ResourceVersion != "" {
		versions = "resourceVersion " + f.Old.ResourceVersion + " at " + stamp(f.Old.At) + " → " + f.New.ResourceVersion + " at " + stamp(f.New.At)
	}
	out := append([]string{versions}, f.Diff...)
	if f.Repeated > 0 {
		out = append(out, fmt.Sprintf("repeated by the same object: %d", f.Repeated))
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// Tally counts the checks that held, were violated, or were not decided.
func (j *Judge) Tally() (held, violated, open int) {
	for _, v := range j.verdicts {
		switch {
		case v.Violated > 0:
			violated++
		case v.Held > 0:
			held++
		default:
			open++
		}
	}
	return held, violated, open
}
