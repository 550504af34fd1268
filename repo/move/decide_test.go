package move

import (
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// node parses YAML.
func node(t *testing.T, text string) *yamldoc.Node {
	t.Helper()
	s := yamldoc.Parse(yamldoc.NewFile("x", []byte(text)))
	if s.Err != nil || len(s.Docs) != 1 {
		t.Fatalf("%q: %v", text, s.Err)
	}
	return s.Docs[0].Root
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		kind, word string
		want       int
	}{
		{"foomachine", "machine", 2}, {"machine", "foomachine", 2}, {"ab", "ab", 2}, {"fooab", "ab", 2},
		{"foomachine", "m", 0}, {"foomachine", "", 0},
		{"foopool", "barpool", 1}, {"pool", "xxol", 0}, {"foopool", "ool", 2}, {"foopool", "xool", 0}, {"ool", "xxxool", 2},
		{"vpc", "subnet", 0}, {"xyz", "abcd", 0}, {"abcd", "xyzz", 0}, {"1abc", "2abc", 0}, {"1abcd", "2abcd", 1},
	} {
		if got := fit(c.kind, c.word); got != c.want {
			t.Errorf("fit(%q, %q) = %d, want %d", c.kind, c.word, got, c.want)
		}
	}
}

func TestBest(t *testing.T) {
	nodes := func(kinds ...string) (out []*Node) {
		for _, k := range kinds {
			out = append(out, &Node{ID: ID{Kind: k}})
		}
		return out
	}
	for _, c := range []struct {
		key   string
		least int
		kinds []string
		want  []string
	}{
		{"machineRef", 1, []string{"FooMachine", "FooCluster"}, []string{"FooMachine"}},
		{"machines", 1, []string{"FooMachine", "BarMachine"}, []string{"FooMachine", "BarMachine"}},
		{"secretName", 1, []string{"Secret"}, []string{"Secret"}},
		{"clusterReference", 1, []string{"Cluster"}, []string{"Cluster"}},
		{"gateway", 1, []string{"Secret"}, nil},
		{"gateway", 0, []string{"Secret", "FooCluster"}, []string{"Secret", "FooCluster"}},
		{"barPool", 1, []string{"FooPool", "Bar"}, []string{"FooPool", "Bar"}[1:]},
	} {
		got := phrase.List(best(nodes(c.kinds...), c.key, c.least), func(n *Node) string { return n.Kind })
		if !slices.Equal(got, c.want) {
			t.Errorf("best(%v, %q, %d) = %v, want %v", c.kinds, c.key, c.least, got, c.want)
		}
	}
}

func TestNamesOfCrowdsTellNothing(t *testing.T) {
	b := &builder{byName: map[string][]*Node{"few": make([]*Node, crowd), "many": make([]*Node, crowd+1)}}
	if len(b.named("few")) != crowd || b.named("many") != nil || b.named("none") != nil {
		t.Error("the limit is wrong")
	}
}

func TestMatches(t *testing.T) {
	labels := node(t, "a: x\nb: y\n")
	for selector, want := range map[string]bool{
		"{}":                        true,
		"matchLabels: {a: x}":       true,
		"matchLabels: {a: x, b: y}": true,
		"matchLabels: {a: x, b: z}": false,
		"matchLabels: {c: x}":       false,
		"matchExpressions: [{key: a, operator: In, values: [w, x]}]":                                        true,
		"matchExpressions: [{key: a, operator: In, values: [x, w]}]":                                        true,
		"matchExpressions: [{key: a, operator: In, values: [w]}]":                                           false,
		"matchExpressions: [{key: c, operator: In, values: [x]}]":                                           false,
		"matchExpressions: [{key: a, operator: NotIn, values: [w]}]":                                        true,
		"matchExpressions: [{key: a, operator: NotIn, values: [w, x]}]":                                     false,
		"matchExpressions: [{key: c, operator: NotIn, values: [x]}]":                                        true,
		"matchExpressions: [{key: a, operator: Exists}]":                                                    true,
		"matchExpressions: [{key: c, operator: Exists}]":                                                    false,
		"matchExpressions: [{key: a, operator: DoesNotExist}]":                                              false,
		"matchExpressions: [{key: c, operator: DoesNotExist}]":                                              true,
		"matchExpressions: [{key: a, operator: Unknown}]":                                                   false,
		"matchExpressions: [{key: a, operator: Exists}, {key: c, operator: Exists}]":                        false,
		"{matchLabels: {a: z}, matchExpressions: [{key: a, operator: Exists}]}":                             false,
		"{matchLabels: {a: x}, matchExpressions: [{key: a, operator: Exists}, {key: c, operator: Exists}]}": false,
		"{matchLabels: {a: x}, matchExpressions: [{key: a, operator: Exists}, {key: b, operator: Exists}]}": true,
	} {
		if got := matches(node(t, selector+"\n"), labels); got != want {
			t.Errorf("%s: %v", selector, got)
		}
	}
}

// kinds of the four sorts: of Kubernetes, of Cluster API, of a provider.
var (
	ofKubernetes = ID{Group: "apps", Kind: "Deployment", Name: "d"}
	aCluster     = ID{Group: coreGroup, Kind: "Cluster", Name: "c"}
	aClass       = ID{Group: coreGroup, Kind: "ClusterClass", Name: "k"}
	aMachine     = ID{Group: coreGroup, Kind: "Machine", Name: "m"}
	ofProvider   = ID{Group: "foo.cluster.x-k8s.io", Kind: "FooThing", Name: "f"}
	aSecret      = ID{Kind: "Secret", Name: "s"}
)

func TestLinkSaysWhoMayOwn(t *testing.T) {
	for _, c := range []struct {
		from ID
		path []string
		to   ID
		link link
		why  string
	}{
		{ofKubernetes, nil, ofProvider, reference, whyKubernetes},
		{ofProvider, nil, aMachine, reference, whyControllers},
		{ofProvider, nil, aSecret, MayOwn, whyForeign},
		{ofProvider, nil, ofProvider, MayOwn, whyForeign},
		{aMachine, nil, ofProvider, MayOwn, whyForeign},
		{aMachine, nil, aSecret, reference, whyControllers},
		{aCluster, []string{"spec", "topology", "x"}, aSecret, MayOwn, whyTopology},
		{aCluster, []string{"spec", "topology"}, aSecret, MayOwn, whyTopology},
		{aCluster, []string{"spec", "other"}, aSecret, reference, whyControllers},
		{aCluster, []string{"spec"}, aSecret, reference, whyControllers},
		{aMachine, []string{"spec", "topology"}, aSecret, reference, whyControllers},
		{aClass, []string{"spec", "patches"}, aSecret, MayOwn, whyTopology},
		{aClass, []string{"spec", "variables", "0"}, aSecret, MayOwn, whyTopology},
		{aClass, []string{"spec", "workers"}, aSecret, reference, whyControllers},
		{aClass, []string{"spec"}, aSecret, reference, whyControllers},
		{aMachine, []string{"spec", "patches"}, aSecret, reference, whyControllers},
		{aMachine, []string{"spec", "variables"}, aSecret, reference, whyControllers},
	} {
		f := finder{node: &Node{ID: c.from}, path: c.path}
		if link, why := f.link(&Node{ID: c.to}); link != c.link || why != c.why {
			t.Errorf("%s %v → %s: %d because %q", c.from, c.path, c.to, link, why)
		}
	}
	for name, why := range map[string]string{"kubernetes": whyKubernetes, "controllers": whyControllers, "foreign": whyForeign, "topology": whyTopology} {
		if why == "" {
			t.Errorf("no reason for %s", name)
		}
	}
}

func TestKindsOfObjects(t *testing.T) {
	for id, want := range map[ID][4]bool{ // data, of Kubernetes, ours, foreign
		aSecret:                                    {true, true, false, false},
		{Kind: "ConfigMap", Name: "x"}:             {true, true, false, false},
		{Kind: "Pod", Name: "x"}:                   {false, true, false, false},
		{Group: "x", Kind: "Secret", Name: "x"}:    {false, false, false, true},
		{Group: "x", Kind: "ConfigMap", Name: "x"}: {false, false, false, true},
		ofKubernetes:                               {false, true, false, false},
		aCluster:                                   {false, false, true, false},
		ofProvider:                                 {false, false, false, true},
	} {
		if got := [4]bool{id.data(), id.ofKubernetes(), id.ours(), id.foreign()}; got[0] != want[0] || got[1] != want[1] || got[2] && !want[2] || got[3] != want[3] {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

func TestSecretsOfClusters(t *testing.T) {
	for name, c := range map[string]struct {
		change func(g *Graph, c, s *Node)
		want   bool
	}{
		"by its name":            {func(*Graph, *Node, *Node) {}, true},
		"of another namespace":   {func(g *Graph, c, s *Node) { s.Namespace = "other" }, false},
		"another name":           {func(g *Graph, c, s *Node) { s.Name = "c-other" }, false},
		"no Secret":              {func(g *Graph, c, s *Node) { s.Kind = "ConfigMap" }, false},
		"a Secret of a provider": {func(g *Graph, c, s *Node) { s.Group = "foo" }, false},
		"with an owner": {func(g *Graph, c, s *Node) {
			g.Link(&Edge{From: g.Nodes[2], To: s, Link: Owner})
		}, false},
		"with a reference only": {func(g *Graph, c, s *Node) {
			g.Link(&Edge{From: g.Nodes[2], To: s, Link: reference})
		}, true},
		"the Cluster is absent": {func(g *Graph, c, s *Node) { c.Absent = true }, false},
	} {
		g := New()
		cluster, _ := g.Add(&Node{ID: ID{Group: coreGroup, Kind: "Cluster", Namespace: "ns", Name: "c"}})
		secret, _ := g.Add(&Node{ID: ID{Kind: "Secret", Namespace: "ns", Name: "c-kubeconfig"}})
		g.Add(&Node{ID: ID{Group: "foo", Kind: "Other", Namespace: "ns", Name: "o"}})
		c.change(g, cluster, secret)
		g.LinkSecrets(g.Find)
		e := secret.first(func(e *Edge) bool { return e.Link == SoftOwner })
		if (e != nil) != c.want || e != nil && (e.From != cluster || e.By != secret || e.Field != "metadata.name" || e.Why == "") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestBelow(t *testing.T) {
	g := New()
	var n []*Node
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		x, _ := g.Add(&Node{ID: ID{Kind: "K", Name: name}})
		n = append(n, x)
	}
	g.Link(&Edge{From: n[0], To: n[1], Link: Owner})
	g.Link(&Edge{From: n[0], To: n[2], Link: SoftOwner})
	g.Link(&Edge{From: n[1], To: n[2], Link: Owner})
	g.Link(&Edge{From: n[2], To: n[0], Link: Owner}) // round
	g.Link(&Edge{From: n[2], To: n[3], Link: MayOwn})
	g.Link(&Edge{From: n[3], To: n[4], Link: Owner})
	for i, want := range []int{2, 2, 2, 1, 0} {
		if got := n[i].Below(); got != want {
			t.Errorf("%s: %d below, want %d", n[i], got, want)
		}
	}
}

func TestStrongerLinksWin(t *testing.T) {
	g := New()
	a, _ := g.Add(&Node{ID: ID{Kind: "A"}})
	b, _ := g.Add(&Node{ID: ID{Kind: "B"}})
	for _, l := range []link{MayOwn, reference, Owner, SoftOwner, Owner} {
		g.Link(&Edge{From: a, To: b, Link: l})
	}
	got := phrase.List(b.In, func(e *Edge) link { return e.Link })
	if want := []link{MayOwn, Owner}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	g.Link(&Edge{From: a, To: a, Link: Owner})
	if len(a.In) != 0 {
		t.Error("an object owns itself although it does not say so")
	}
	g.Link(&Edge{From: a, To: a, Link: Owner, Written: true})
	if len(a.In) != 1 {
		t.Error("an object that says it owns itself does not")
	}
}

func TestClasses(t *testing.T) {
	const text = `kind: Cluster
apiVersion: cluster.x-k8s.io/v1beta2
metadata: {name: a}
spec: {topology: {classRef: {name: one}}}
---
kind: Cluster
apiVersion: cluster.x-k8s.io/v1beta1
metadata: {name: b}
spec: {topology: {class: two}}
---
kind: Cluster
apiVersion: cluster.x-k8s.io/v1beta1
metadata: {name: c}
spec: {topology: {class: one}}
---
kind: Cluster
apiVersion: cluster.x-k8s.io/v1beta1
metadata: {name: d}
---
kind: Cluster
apiVersion: example.com/v1
metadata: {name: e}
spec: {topology: {class: other}}
`
	f := manifest.New(repo.BytesArtifact("cluster-template.yaml", []byte(text)), layouts.ClusterTemplate, []byte(text))
	if got := Classes(f.Objects()); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %v", got)
	}
}

// TestEveryCauseHasAReason is about words being there, not about which.
func TestEveryCauseHasAReason(t *testing.T) {
	owner := &Node{ID: aMachine, Verdict: Left, Cause: Unowned}
	for c := range Cause(100) {
		n := &Node{ID: ofProvider, Cause: c}
		n.By = &Edge{From: owner, To: n, By: n, Field: "metadata.ownerReferences.1", Why: "why", Written: true}
		if n.Reason() == "" || n.short() == "" {
			t.Errorf("cause %d has no reason", c)
		}
	}
	for name, e := range map[string]*Edge{
		"a reference": {From: owner, Field: "metadata.ownerReferences.1"}, "a name": {From: owner, Field: "metadata.name"},
		"namesake": {From: &Node{ID: aMachine, Namesake: true}}, "absent": {From: &Node{ID: aMachine, Absent: true}},
		"ignored": {From: &Node{ID: ofKubernetes, Absent: true, Scope: Ignored}},
	} {
		if e.points() == "" || e.by() != e.From {
			t.Errorf("%s: %q", name, e.points())
		}
	}
	absent, ignored := &Edge{From: &Node{ID: aMachine, Absent: true}}, &Edge{From: &Node{ID: aMachine, Absent: true, Scope: Ignored}}
	if absent.points() == ignored.points() || absent.points() == (&Edge{From: owner}).points() {
		t.Error("an absent owner reads like another")
	}
	for name, e := range map[string]*Edge{
		"namesake": {From: &Node{ID: aMachine, Namesake: true}}, "absent": {From: &Node{ID: aMachine, Absent: true}},
		"elsewhere": {From: &Node{ID: aMachine, Scope: Elsewhere}}, "ignored": {From: &Node{ID: ofProvider, Scope: Ignored}},
		"of Kubernetes": {From: &Node{ID: ofKubernetes, Scope: Ignored}},
	} {
		if e.fix() == "" {
			t.Errorf("%s: nothing to do", name)
		}
	}
	if fix := (&Edge{From: owner}).fix(); fix != "" {
		t.Errorf("got %q", fix)
	}
	byNode := &Node{ID: aClass}
	if (&Edge{From: owner, By: byNode}).by() != byNode {
		t.Error("an edge forgets who made it")
	}
}

func TestFixOfOwnersThatStay(t *testing.T) {
	fix := func(cause Cause) string {
		n := &Node{ID: ofProvider, Cause: OwnerLeft}
		n.By = &Edge{From: &Node{ID: aMachine, Cause: cause, By: &Edge{From: &Node{ID: aClass}}}, To: n}
		return n.Fix()
	}
	if fix(OwnerLeft) != "" || fix(Cycle) != "" || fix(Unowned) == "" {
		t.Errorf("got %q, %q, %q", fix(OwnerLeft), fix(Cycle), fix(Unowned))
	}
	for _, c := range []Cause{Unowned, noOwner, NotOwned, ReferrerLeft, OwnerAlone, Cycle, NotDiscovered, mayBeIgnored} {
		n := &Node{ID: ofProvider, Cause: c}
		n.By = &Edge{From: &Node{ID: aMachine}, To: n}
		if n.Fix() == "" {
			t.Errorf("cause %d has no fix", c)
		}
	}
	own, of := (&Node{ID: ofProvider, Cause: NotDiscovered}).Fix(), (&Node{ID: ofKubernetes, Cause: NotDiscovered}).Fix()
	global, local := (&Node{ID: ofProvider, Cause: noOwner, Global: true}).Fix(), (&Node{ID: ofProvider, Cause: noOwner}).Fix()
	if own == of || global == local {
		t.Error("different cases have the same fix")
	}
}

func TestConclude(t *testing.T) {
	lost, unclear := &Node{Lost: true}, &Node{Verdict: Unclear}
	moved := &Node{Verdict: Moves}
	status := func(s string) []Need { return []Need{{Status: s}} }
	if answer, got := Conclude(nil, true); answer != "moves" || got != "There is nothing to move." {
		t.Errorf("nothing: %s, %q", answer, got)
	}
	for _, c := range []struct {
		plan         Plan
		complete     bool
		answer, want string
	}{
		{Plan{}, true, "moves", "Nothing would be lost."},
		{Plan{Graph: &Graph{Nodes: []*Node{moved}}, Needs: status(met)}, true, "moves", "Nothing would be lost."},
		{Plan{Needs: status("")}, true, "moves", "Nothing would be lost, if the target has what it must have."},
		{Plan{}, false, "not known", "The input is not complete."},
		{Plan{Remarks: []Remark{{}}}, true, "not known", "The input is not complete."},
		{Plan{Graph: &Graph{Nodes: []*Node{unclear, {Verdict: Unclear, Absent: true}}}}, true, "not known", "1 question that the input does not answer."},
		{Plan{Needs: status(NotKnown)}, true, "not known", "1 question that the input does not answer."},
		{Plan{Needs: status(missing)}, true, "stays", "1 need that the target does not meet."},
		{Plan{Remarks: []Remark{{Object: moved}}}, true, "stays", "1 obstacle to the move."},
		{
			Plan{Graph: &Graph{Nodes: []*Node{lost, lost, unclear}}}, false, "stays",
			"2 objects of Clusters, or of what moves, would stay behind; 1 question that the input does not answer; the input is not complete.",
		},
	} {
		if c.plan.Graph == nil {
			c.plan.Graph = New()
		}
		if answer, got := Conclude([]*Plan{&c.plan}, c.complete); answer != c.answer || got != c.want {
			t.Errorf("%s: got %q, want %q", answer, got, c.want)
		}
	}
}
