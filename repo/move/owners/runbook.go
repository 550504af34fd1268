package owners

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// book is what people do before, during and after a move.
type book struct {
	// Conclusion is what the plan foresees, in one sentence.
	Conclusion string
	Sections   []section
}

// section is a part of a runbook.
type section struct {
	Title string
	// Text introduces the tasks.
	Text  string
	Tasks []task
}

// task is one thing to do.
type task struct {
	Text string
	// Commands are lines for a shell, in which $SOURCE and $TARGET are kubeconfigs.
	Commands []string
}

// mostTasks of a section are listed; the others are counted.
const mostTasks = 100

// Runbook says what to do before, during and after the move.
func (p *Plan) Runbook() *book {
	r := &runbook{Plan: p, done: map[string]bool{}}
	out := &book{p.Conclusion(), []section{r.before(), r.run(), r.after()}}
	for _, step := range []Step{Ready, Create, deletion, ResumeClasses, Resume} {
		if p.Restore && step < Create || p.Restore && step == deletion {
			continue
		}
		out.Sections = append(out.Sections, r.recover(step))
	}
	return out
}

// Conclusion says in one sentence, with its full stop, what the plan foresees,
// beginning with the worst.
func (p *Plan) Conclusion() string { return Conclude([]*Plan{p}, true) }

// Conclude says it of several plans. Complete tells that everything could be read.
func Conclude(plans []*Plan, complete bool) string {
	var refused, mayRefuse, fails, mayFail, hurts, lost, unclear int
	certain := complete
	for _, p := range plans {
		for _, r := range p.Refusals {
			if r.Sometimes {
				mayRefuse++
			} else {
				refused++
			}
		}
		for _, f := range p.Failures {
			switch {
			case f.Hurts():
				hurts++
			case f.Sometimes:
				mayFail++
			default:
				fails++
			}
		}
		for _, n := range p.Nodes {
			switch {
			case n.Lost:
				lost++
			case n.Verdict == Unclear && !n.Absent:
				unclear++
			}
		}
		certain = certain && len(p.Gaps) == 0
	}
	var parts []string
	add := func(n int, one, many string) {
		if n == 1 {
			parts = append(parts, "1 "+one)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	head := ""
	switch {
	case refused > 0:
		head = "clusterctl move would refuse to start, and nothing would be changed"
	case fails > 0:
		head = "clusterctl move would start and then fail"
	case mayFail+mayRefuse > 0:
		head = "clusterctl move may start and then fail; this varies between runs"
		if mayFail == 0 {
			head = "clusterctl move may refuse to start; this varies between runs"
		}
	}
	add(refused+mayRefuse, "reason to refuse", "reasons to refuse")
	add(fails+mayFail, "failure after the start", "failures after the start")
	add(hurts, "object would do harm", "objects would do harm")
	add(lost, "object would be lost or left behind", "objects would be lost or left behind")
	add(unclear, "object is unclear", "objects are unclear")
	switch {
	case head != "":
		return head + ": " + strings.Join(parts, ", ") + "."
	case hurts+lost > 0:
		return strings.Join(parts, ", ") + "."
	case unclear > 0 && certain:
		return "Nothing is known to be lost; " + strings.Join(parts, ", ") + "."
	case unclear > 0 || !certain:
		return "Whether something would be lost is unknown, because the snapshot is incomplete."
	}
	return "Nothing would be lost."
}

// runbook is one in the making.
type runbook struct {
	*Plan
	done map[string]bool // commands that are there already
}

const (
	inSource = `kubectl --kubeconfig "$SOURCE"`
	inTarget = `kubectl --kubeconfig "$TARGET"`
	// What only shows something, and the end of such commands.
	upgradePlan = `clusterctl upgrade plan --kubeconfig "$TARGET"`
	shown       = "-o yaml"
)

// word quotes a word for a shell.
func word(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// kubectl is a command for an object.
func kubectl(where, verb string, n *Node, rest string) string {
	kind := strings.ToLower(n.Kind)
	if n.Group != "" {
		kind += "." + n.Group
	}
	in := ""
	if n.Namespace != "" {
		in = " -n " + word(n.Namespace)
	}
	if rest != "" {
		rest = " " + rest
	}
	return fmt.Sprintf("%s%s %s %s %s%s", where, in, verb, word(kind), word(n.Name), rest)
}

// show is the command that shows an object.
func show(where string, n *Node) []string { return []string{kubectl(where, "get", n, shown)} }

// resume are the commands that resume a Cluster or ClusterClass.
func resume(where string, n *Node) []string {
	annotation := kubectl(where, "annotate", n, pausedAnnotation+"-")
	if n.Kind == "ClusterClass" {
		return []string{annotation}
	}
	return []string{kubectl(where, "patch", n, `--type merge -p '{"spec":{"paused":null}}'`), annotation}
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value,omitempty"`
}

// patch changes an ownerReference. A patch names it by its place, so that it first tests
// the UID: another one may be there when an earlier command has removed one.
func patch(e *Edge, ops ...operation) []string {
	if !strings.HasPrefix(e.Field, "metadata.ownerReferences.") {
		return nil
	}
	if e.uid != "" {
		ops = slices.Insert(ops, 0, operation{"test", "/uid", e.uid})
	}
	for i := range ops {
		ops[i].Path = "/" + strings.ReplaceAll(e.Field, ".", "/") + ops[i].Path
	}
	text, _ := json.Marshal(ops) // marshalling strings cannot fail
	return []string{kubectl(inSource, "patch", e.To, "--type json -p "+word(string(text)))}
}

// unlink removes an ownerReference.
func unlink(e *Edge) []string { return patch(e, operation{Op: "remove"}) }

// commands that a refusal or failure asks for.
func (r *runbook) commands(f *Fault) []string {
	step, n := f.Step, f.Node
	switch {
	case f.at != nil && f.version != "":
		ops := []operation{{"replace", "/apiVersion", f.version}}
		if f.kind != "" {
			ops = append(ops, operation{"replace", "/kind", f.kind}, operation{"replace", "/name", f.name})
		}
		return patch(f.at, ops...)
	case f.version != "":
		return nil // it is not known where the reference is
	case f.at != nil:
		return unlink(f.at)
	case step == Pause, step == PauseClasses:
		return resume(inSource, n)
	case step == Provisioning && n.Kind == "Cluster":
		return []string{kubectl(inSource, "wait", n, "--for=condition=ControlPlaneInitialized --timeout=30m")}
	case step == Provisioning && n.Kind == "Machine":
		return []string{kubectl(inSource, "wait", n, "--for=jsonpath='{.status.nodeRef.name}' --timeout=30m")}
	case step == Ready, step == After:
		return show(inSource, n)
	case step == providers:
		return []string{upgradePlan}
	case step == Resume, step == ResumeClasses:
		if n.Cause == OwnerLeft && n.By.Written && n.By.fix() != "" {
			return unlink(n.By)
		}
	}
	return nil
}

// lostCommands make an object move that would be lost.
func lostCommands(n *Node) []string {
	switch n.Cause {
	case namedBy, mayBeNamed:
		if n.Scope == Elsewhere {
			return show(inSource, n)
		}
		return []string{kubectl(inSource, "label", n, MoveLabel+"=true")}
	case noOwner, Unowned, NotOwned, ReferrerLeft:
		return []string{kubectl(inSource, "label", n, MoveLabel+"=true")}
	case OwnerLeft:
		if n.By.fix() != "" {
			return unlink(n.By)
		}
	case OwnerAlone:
		return []string{kubectl(inSource, "label", n.By.From, HierarchyLabel+"=true")}
	case Cycle:
		return unlink(n.By)
	}
	return nil
}

// add appends a task unless its commands are there already and do what it asks for.
func (r *runbook) add(s *section, text string, commands []string) {
	key := strings.Join(commands, "\n")
	if key != "" && r.done[key] {
		if key != upgradePlan && !strings.HasSuffix(key, shown) {
			return
		}
		commands = nil
	}
	if r.Restore && strings.HasPrefix(key, inSource) {
		commands = nil // the files are restored, whatever changes in the source
	}
	r.done[key] = true
	s.Tasks = append(s.Tasks, task{text, commands})
}

func (r *runbook) before() section {
	s := section{Title: "Before the move", Text: "Fix what the plan found, then run move-plan again until nothing is left to do."}
	if r.Restore {
		s.Text = "Correct the files, or the objects in the source and save them again; then run move-plan again until nothing is left to do."
	}
	for _, f := range slices.Concat(r.Refusals, r.Failures) {
		r.add(&s, fmt.Sprintf("%s: %s. To do: %s.", f.Node, f.Reason, f.Fix), r.commands(&f))
	}
	for _, n := range r.Nodes {
		if n.Lost && len(s.Tasks) <= mostTasks || n.Verdict == Unclear && !n.Absent && len(s.Tasks) <= mostTasks {
			text := fmt.Sprintf("%s: %s.", n, n.Reason())
			if fix := n.Fix(); fix != "" {
				text += " To do: " + fix + "."
			}
			r.add(&s, text, lostCommands(n))
		}
	}
	for _, x := range r.Notes {
		r.add(&s, fmt.Sprintf("%s: %s. To do: %s.", x.Node, x.Reason, x.Fix), nil)
	}
	if more := len(s.Tasks) - mostTasks; more > 0 {
		s.Tasks = append(s.Tasks[:mostTasks], task{Text: "More objects need attention than fit here; -o json lists all of them."})
	}
	if r.Restore {
		r.add(&s, "Keep the plan, to compare it with what arrives.", []string{`clusterctl-repo move-plan "$BACKUP" --to-kubeconfig "$TARGET" -o json=plan.json`})
		return s
	}
	in := " -n " + word(r.Namespace)
	if r.Namespace == "" {
		in = " -A"
	}
	r.add(&s, "Keep the plan, to compare it with what arrives.", []string{`clusterctl-repo move-plan --kubeconfig "$SOURCE" --to-kubeconfig "$TARGET"` + in + " -o json=plan.json"})
	if r.Namespace == "" {
		r.add(&s, "Save a backup with ObjectMover.ToDirectory of clusterctl's Go library and an empty namespace, because clusterctl move "+
			"saves only one namespace at a time. ToDirectory pauses the Clusters while it runs, and resumes them at the end.", nil)
		return s
	}
	r.add(&s, "Save a backup. It pauses the Clusters while it runs, and resumes them at the end.",
		[]string{"mkdir backup", `clusterctl move --kubeconfig "$SOURCE"` + in + " --to-directory backup"})
	return s
}

func (r *runbook) run() section {
	s := section{Title: "The move"}
	if r.Restore {
		r.add(&s, "Restore the objects.", []string{`clusterctl move --to-kubeconfig "$TARGET" --from-directory "$BACKUP"`})
		return s
	}
	s.Text = "Nothing else may change the objects while it runs: stop GitOps controllers and autoscalers first."
	if r.Namespace == "" { // an empty --namespace stands for that of the kubeconfig
		r.add(&s, "Move with ObjectMover.Move of clusterctl's Go library and an empty namespace, first as a dry run: clusterctl move "+
			"moves only one namespace at a time. The dry run does not check the target, nor whether Clusters are ready.", nil)
		return s
	}
	in := " -n " + word(r.Namespace)
	r.add(&s, "Do a dry run, which changes nothing. This does not check the target, nor whether Clusters are ready.",
		[]string{`clusterctl move --kubeconfig "$SOURCE"` + in + " --dry-run"})
	r.add(&s, "Move.", []string{`clusterctl move --kubeconfig "$SOURCE" --to-kubeconfig "$TARGET"` + in})
	return s
}

// of returns the objects of a kind of Cluster API in the plan.
func (r *runbook) of(kind string, moved bool) []*Node {
	return phrase.Only(r.Nodes, func(n *Node) bool {
		return n.Group == coreGroup && n.Kind == kind && n.movable() && (!moved || n.Verdict.moves())
	})
}

func (r *runbook) after() section {
	s := section{Title: "After the move"}
	verify := `clusterctl-repo move-plan --verify plan.json --to-kubeconfig "$TARGET"`
	if !r.Restore {
		verify += ` --kubeconfig "$SOURCE"`
	}
	r.add(&s, "Compare what arrived with the plan: every object, its owners, and that nothing stays paused.", []string{verify})
	var watch []string
	for _, n := range r.of("Cluster", true) {
		if len(watch) == mostTasks/4 {
			break
		}
		watch = append(watch, fmt.Sprintf(`clusterctl describe cluster %s --kubeconfig "$TARGET" -n %s`,
			word(n.Name), word(n.Namespace)))
	}
	if len(watch) > 0 {
		r.add(&s, "Check that the controllers in the target take over.", watch)
	}
	return s
}

// mostResumed are resumed one by one in a runbook.
const mostResumed = 50

func (r *runbook) resumeAll(where string, moved bool) []string {
	var out []string
	for _, n := range append(r.of("ClusterClass", moved), r.of("Cluster", moved)...) {
		if len(out) >= mostResumed {
			return append(out, "# and so on for the other Clusters")
		}
		out = append(out, resume(where, n)[0])
	}
	return out
}

func (r *runbook) recover(step Step) section {
	a := r.Aftermath(step)
	s := section{Title: "If it fails " + a.When, Text: fmt.Sprintf("Source: %s. Target: %s.", a.Source, a.Target)}
	if slices.ContainsFunc(r.Failures, func(f Fault) bool { return f.Step == step && !f.Hurts() }) {
		s.Text += " This plan foresees such a failure."
	}
	for _, text := range a.Recover {
		var commands []string
		switch {
		case text == recoverResume:
			commands = r.resumeAll(inSource, false)
		case strings.Contains(text, "in the target by hand"), strings.Contains(text, "Clusters in the target"):
			commands = r.resumeAll(inTarget, true)
		case strings.HasPrefix(text, "delete the rest"):
			commands = r.deleteRest()
		}
		s.Tasks = append(s.Tasks, task{strings.ToUpper(text[:1]) + text[1:] + ".", commands})
	}
	return s
}

// deleteRest are the commands that finish deleting in the source.
func (r *runbook) deleteRest() []string {
	var out []string
	for _, step := range slices.Backward(r.Order()) {
		for _, n := range step {
			if n.Verdict != Moves {
				continue
			}
			if len(out) >= mostResumed {
				return append(out, "# and so on; -o json lists all objects with their step, highest first")
			}
			out = append(out,
				kubectl(inSource, "patch", n, `--type merge -p '{"metadata":{"finalizers":null}}'`),
				kubectl(inSource, "delete", n, "--wait=false --ignore-not-found"))
		}
	}
	return out
}

// Expected is an object that a plan says will be in the target.
type Expected struct {
	ID
	// Verdict is what the plan says, and Owners how many owners it has.
	Verdict string
	Owners  int
}

// Deviation is a difference between a plan and what is there after the move.
type Deviation struct {
	ID
	// Reason and Fix are sentences without a full stop.
	Reason string `json:"reason" doc:"what differs from the plan"`
	Fix    string `json:"fix" doc:"what to do"`
	// Commands are lines for a shell, as in a Task.
	Commands []string `json:"commands" doc:"commands that do it; empty if there are none"`
}

// Verify compares a plan with the target after the move and, unless it is nil, with
// the source.
func Verify(plan []Expected, to, from *snapshot.Snapshot) []Deviation {
	there, uids := byID(to)
	var remains map[ID]*snapshot.Object
	if from != nil {
		remains, _ = byID(from)
	}
	var out []Deviation
	for _, e := range plan {
		n := &Node{ID: e.ID}
		add := func(commands []string, fix, format string, args ...any) {
			out = append(out, Deviation{e.ID, fmt.Sprintf(format, args...), fix, commands})
		}
		core := e.Group == coreGroup && (e.Kind == "Cluster" || e.Kind == "ClusterClass")
		if old := remains[e.ID]; old != nil && e.Verdict == Moves.String() {
			add(show(inSource, n), "delete it in the source without its finalizers, once the target is complete",
				"it is still in the source")
		} else if old != nil && core && isPaused(old) {
			add(resume(inSource, n), "resume it in the source", "it is still in the source, and paused")
		}
		if e.Verdict != Moves.String() && e.Verdict != Copied.String() {
			continue
		}
		o := there[e.ID]
		if o == nil {
			add(nil, "run the move again if the source still has it; otherwise restore it from the backup",
				"it did not arrive in the target")
			continue
		}
		if core && isPaused(o) {
			add(resume(inTarget, n), "resume it in the target", "it is still paused in the target")
		}
		if o.Has(snapshot.Deleting) {
			add(show(inTarget, n), "find out who deleted it", "it is being deleted in the target")
		}
		missing := 0
		for _, r := range o.Owners {
			if !uids[r.UID] {
				missing++
			}
		}
		switch {
		case missing > 0:
			add(show(inTarget, n), "correct its ownerReferences, or Kubernetes deletes it",
				"the target lacks %d of its owners", missing)
		case len(o.Owners) < e.Owners:
			add(show(inTarget, n), "add the missing ownerReferences",
				"it has %s in the target, and had %d in the source", phrase.Count(len(o.Owners), "owner"), e.Owners)
		}
	}
	return out
}

func byID(s *snapshot.Snapshot) (map[ID]*snapshot.Object, map[string]bool) {
	objects, uids := make(map[ID]*snapshot.Object, len(s.Objects)), make(map[string]bool, len(s.Objects))
	for i := range s.Objects {
		o := &s.Objects[i]
		objects[idOf(o)] = o
		uids[o.UID] = true
	}
	return objects, uids
}

func isPaused(o *snapshot.Object) bool {
	c, ok := o.Detail.(*snapshot.Cluster)
	return o.Has(snapshot.Paused) || ok && c.Paused
}
