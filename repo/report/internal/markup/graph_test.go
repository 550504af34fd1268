package markup

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// owners is a picture as it is really drawn.
func owners() *Graph {
	return &Graph{
		Title: "Who owns whom",
		Nodes: []Vertex{
			{ID: "cluster", Label: "Cluster", Sublabel: "my-cluster", Class: "accent"},
			{ID: "infra", Label: "AcmeCluster", Sublabel: "my-cluster"},
			{ID: "kcp", Label: "KubeadmControlPlane", Sublabel: "my-cluster-control-plane", Tooltip: "KubeadmControlPlane default/my-cluster-control-plane"},
			{ID: "md", Label: "MachineDeployment", Sublabel: "my-cluster-md-0"},
			{ID: "kct", Label: "KubeadmConfigTemplate", Sublabel: "my-cluster-md-0"},
			{ID: "mt", Label: "AcmeMachineTemplate", Sublabel: "my-cluster-md-0"},
			{ID: "secret", Label: "Secret", Sublabel: "lost <&>", Class: "bad"},
		},
		Edges: []Edge{
			{From: "cluster", To: "infra", Label: "infrastructureRef"},
			{From: "cluster", To: "kcp", Label: "controlPlaneRef"},
			{From: "cluster", To: "md"},
			{From: "md", To: "kct", Label: "bootstrap"},
			{From: "md", To: "mt"},
			{From: "cluster", To: "mt", Class: "weak"},
			{From: "mt", To: "cluster", Class: "weak"},
			{From: "md", To: "md", Label: "self"},
			{From: "md", To: "nobody"},
		},
	}
}

func TestGolden(t *testing.T) {
	got := strings.ReplaceAll(owners().SVG("graph"), "><", ">\n<") + "\n"
	const name = "testdata/owners.svg"
	if *update {
		given.NoError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want := given.Read(t, name)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// text returns the elements of a picture and all the text in it.
func parse(t testing.TB, text string) (elements map[string]int, content string) {
	t.Helper()
	elements = map[string]int{}
	var b strings.Builder
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, b.String()
		} else if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		switch x := token.(type) {
		case xml.StartElement:
			elements[x.Name.Local]++
		case xml.CharData:
			b.Write(x)
			b.WriteByte('\n')
		}
	}
}

func TestAccessible(t *testing.T) {
	g := owners()
	elements, content := parse(t, g.SVG("graph"))
	for _, want := range []string{"Who owns whom", "7 boxes, 8 arrows.", "Cluster to AcmeCluster (infrastructureRef).", "AcmeMachineTemplate to Cluster.", "MachineDeployment to MachineDeployment (self)."} {
		if !strings.Contains(content, want) {
			t.Errorf("no %q in the description", want)
		}
	}
	if elements["rect"] != 7 || elements["path"] != 2*8 {
		t.Errorf("elements: %v", elements)
	}
	if _, content := parse(t, (&Graph{Title: "nothing"}).SVG("graph")); !strings.Contains(content, "0 boxes") {
		t.Errorf("nothing: %q", content)
	}
}

func random(r *rand.Rand, nodes, edges int) *Graph {
	g := &Graph{}
	for i := range nodes {
		n := Vertex{ID: fmt.Sprint(i), Label: strings.Repeat("x", 1+r.IntN(60))}
		if r.IntN(2) == 0 {
			n.Sublabel = "below"
		}
		g.Nodes = append(g.Nodes, n)
	}
	for range edges {
		g.Edges = append(g.Edges, Edge{From: fmt.Sprint(r.IntN(nodes)), To: fmt.Sprint(r.IntN(nodes)), Label: strings.Repeat("y", r.IntN(20))})
	}
	return g
}

// No boxes overlap, all are inside the picture, and every edge goes from one
// column to a later one, whatever the graph.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		nodes := 1 + r.IntN(30)
		g := random(r, nodes, r.IntN(2*nodes))
		p := arrange(g)
		for i := range p.boxes {
			a := &p.boxes[i]
			if a.x < 0 || a.y-a.h/2 < 0 || a.x+a.w > p.width || a.y+a.h/2 > p.height {
				t.Fatalf("seed %d: box %d is outside", seed, i)
			}
			for j := range i {
				b := &p.boxes[j]
				const tolerance = 1e-6
				if a.x < b.x+b.w-tolerance && b.x < a.x+a.w-tolerance && a.y-a.h/2 < b.y+b.h/2-tolerance && b.y-b.h/2 < a.y+a.h/2-tolerance {
					t.Fatalf("seed %d: boxes %d and %d overlap: %+v %+v", seed, i, j, a, b)
				}
			}
		}
		for _, l := range p.links {
			if from, to := p.boxes[l.from].layer, p.boxes[l.to].layer; from >= to && l.from != l.to {
				t.Fatalf("seed %d: edge from column %d to %d", seed, from, to)
			}
		}
		if first, second := g.SVG("graph"), g.SVG("graph"); first != second {
			t.Fatalf("seed %d: not the same twice", seed)
		}
	}
}

// A graph without cycles is drawn with all arrows to the right.
func TestNoNeedlessReversal(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := random(r, 20, 40)
		for i := range g.Edges {
			e := &g.Edges[i]
			ends := []string{fmt.Sprintf("%02s", e.From), fmt.Sprintf("%02s", e.To)}
			slices.Sort(ends)
			e.From, e.To = strings.TrimPrefix(ends[0], "0"), strings.TrimPrefix(ends[1], "0")
		}
		for _, l := range arrange(g).links {
			if l.reversed {
				t.Fatalf("seed %d: an edge of %v is reversed", seed, g.Edges)
			}
		}
	}
}

// Two groups that have nothing to do with each other do not cross.
func TestOrder(t *testing.T) {
	g := &Graph{}
	for i := range 10 {
		g.Nodes = append(g.Nodes, Vertex{ID: fmt.Sprint("a", i)}, Vertex{ID: fmt.Sprint("b", 9-i)})
		g.Edges = append(g.Edges, Edge{From: fmt.Sprint("a", i), To: fmt.Sprint("b", i)})
	}
	p := arrange(g)
	for _, l := range p.links {
		if p.boxes[l.from].rank != p.boxes[l.to].rank {
			t.Errorf("edge from rank %d to %d", p.boxes[l.from].rank, p.boxes[l.to].rank)
		}
	}
}

// Large graphs of any shape take a size that is bounded by their own.
func TestLarge(t *testing.T) {
	const n = 3000
	chain, star := &Graph{}, &Graph{}
	for i := range n {
		chain.Nodes = append(chain.Nodes, Vertex{ID: fmt.Sprint(i)})
		chain.Edges = append(chain.Edges, Edge{From: fmt.Sprint(i), To: fmt.Sprint(i + 1)}, Edge{From: "0", To: fmt.Sprint(i)})
		star.Nodes = append(star.Nodes, Vertex{ID: fmt.Sprint(i)})
		star.Edges = append(star.Edges, Edge{From: "0", To: fmt.Sprint(i)}, Edge{From: fmt.Sprint(i), To: "1"})
	}
	for _, g := range []*Graph{chain, star} {
		if p := arrange(g); len(p.boxes) > 20*(n+len(g.Edges)) {
			t.Errorf("%d boxes for %d nodes", len(p.boxes), n)
		}
	}
}

func FuzzGraph(f *testing.F) {
	f.Add("a", "<script>", "\x00\"", "class\" onload=\"x", uint8(7))
	f.Add("", "]]>", "\xff", "&", uint8(0))
	f.Fuzz(func(t *testing.T, id, label, tooltip, class string, ends uint8) {
		g := &Graph{Title: label + tooltip}
		for i := range 3 {
			g.Nodes = append(g.Nodes, Vertex{ID: fmt.Sprint(id, i%int(1+ends%3)), Label: label, Sublabel: tooltip, Tooltip: tooltip, Class: class})
			g.Edges = append(g.Edges, Edge{From: fmt.Sprint(id, ends%2), To: fmt.Sprint(id, i), Label: label, Class: class})
		}
		for name := range first(parse(t, g.SVG("graph"))) {
			if !slices.Contains([]string{"svg", "title", "desc", "g", "rect", "text", "path"}, name) {
				t.Errorf("an element %s appeared", name)
			}
		}
	})
}

func first[A, B any](a A, _ B) A { return a }

// Labels of many edges that lead to one place cover neither each other nor a box.
func TestLabelsDoNotOverlap(t *testing.T) {
	g := &Graph{Title: "t"}
	for i := range 12 {
		id := fmt.Sprint("n", i)
		g.Nodes = append(g.Nodes, Vertex{ID: id, Label: "MachineDeployment", Sublabel: id})
		for j := range i {
			if (i+j)%2 == 0 || j == 0 {
				g.Edges = append(g.Edges, Edge{From: fmt.Sprint("n", j), To: id, Label: "infrastructureRef"})
			}
		}
	}
	p := arrange(g)
	places := p.labelPlaces()
	width := textWidth("infrastructureRef", plainChar*smallSize)
	labels := 0
	for i := range p.links {
		for j := range i {
			a, b := places[i], places[j]
			if p.links[i].label != "" && p.links[j].label != "" && max(a.x-b.x, b.x-a.x) < width && max(a.y-b.y, b.y-a.y) < smallSize {
				t.Errorf("the labels of %d and %d overlap: %v, %v", i, j, a, b)
			}
		}
		labels++
	}
	if labels < 20 {
		t.Fatalf("only %d labels", labels)
	}
}
