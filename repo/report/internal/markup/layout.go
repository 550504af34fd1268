package markup

import (
	"cmp"
	"math"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// box is a node in its place, or with a nil node the bend of a long edge.
type box struct {
	node *Vertex
	x, y float64 // left end and middle
	w, h float64
	// exit is the right end of the column, where edges begin to bend.
	exit float64
	// layer is the column, or -1 for a node without edges.
	layer int
	// rank is the place in the column.
	rank int
	// left and right are the neighbours in the columns beside.
	left, right []int
}

// link is an edge between two boxes, from left to right; reversed if its arrow
// points to the left.
type link struct {
	from, to     int
	label, class string
	reversed     bool
	bends        []int
}

type point struct{ x, y float64 }

// picture is a graph in the making. The first boxes are the nodes, the others
// bends.
type picture struct {
	boxes         []box
	nodes         int
	links         []link
	layers        [][]int
	width, height float64
}

// arrange decides where everything is: columns by longest path, the order in
// them by barycentres, and heights as near to the neighbours as the order
// allows.
func arrange(g *Graph) *picture {
	p := &picture{}
	p.load(g)
	p.breakCycles()
	p.assignLayers()
	p.bend()
	p.order()
	p.place()
	p.placeLoose()
	return p
}

func (p *picture) load(g *Graph) {
	index := map[string]int{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if _, twice := index[n.ID]; twice {
			continue
		}
		index[n.ID] = len(p.boxes)
		b := box{node: n, layer: -1, h: 30}
		b.w = max(minWidth, textWidth(n.Label, boldChar*labelSize), textWidth(n.Sublabel, plainChar*smallSize)) + 2*padding
		if n.Sublabel != "" {
			b.h = 44
		}
		p.boxes = append(p.boxes, b)
	}
	p.nodes = len(p.boxes)
	seen := map[[2]int]int{}
	for _, e := range g.Edges {
		from, ok := index[e.From]
		to, ok2 := index[e.To]
		if !ok || !ok2 {
			continue
		}
		ends := [2]int{from, to}
		i, twice := seen[ends]
		if !twice {
			seen[ends] = len(p.links)
			p.links = append(p.links, link{from: from, to: to, label: e.Label, class: e.Class})
			continue
		}
		switch l := &p.links[i]; {
		case l.label == "":
			l.label = e.Label
		case e.Label != "" && len(l.label) <= maxChars: // more would be cut
			l.label += ", " + e.Label
		}
	}
}

// breakCycles turns every edge around that leads back to where a walk along
// the edges came from.
func (p *picture) breakCycles() {
	out := make([][]int, p.nodes)
	for i, l := range p.links {
		out[l.from] = append(out[l.from], i)
	}
	const unseen, open, done = 0, 1, 2
	state := make([]int, p.nodes)
	next := make([]int, p.nodes)
	var stack []int
	for root := range p.nodes {
		if state[root] != unseen {
			continue
		}
		state[root] = open
		stack = append(stack, root)
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			if next[at] == len(out[at]) {
				state[at] = done
				stack = stack[:len(stack)-1]
				continue
			}
			l := &p.links[out[at][next[at]]]
			next[at]++
			switch state[l.to] {
			case unseen:
				state[l.to] = open
				stack = append(stack, l.to)
			case open:
				if l.to != at {
					l.reversed = true
				}
			}
		}
	}
	for i := range p.links {
		if l := &p.links[i]; l.reversed {
			l.from, l.to = l.to, l.from
		}
	}
}

// assignLayers gives each node with edges the length of the longest path that
// leads to it, and those without a predecessor the column before their first
// successor.
func (p *picture) assignLayers() {
	out := make([][]int, p.nodes)
	waiting := make([]int, p.nodes)
	before := make([]bool, p.nodes)
	for _, l := range p.links {
		p.boxes[l.from].layer, p.boxes[l.to].layer = 0, 0
		if l.from != l.to {
			out[l.from] = append(out[l.from], l.to)
			waiting[l.to]++
			before[l.to] = true
		}
	}
	var ready []int
	for i := range p.nodes {
		if waiting[i] == 0 && p.boxes[i].layer == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		at := ready[0]
		ready = ready[1:]
		for _, to := range out[at] {
			p.boxes[to].layer = max(p.boxes[to].layer, p.boxes[at].layer+1)
			if waiting[to]--; waiting[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	for i := range p.nodes {
		if before[i] || len(out[i]) == 0 {
			continue
		}
		first := math.MaxInt
		for _, to := range out[i] {
			first = min(first, p.boxes[to].layer)
		}
		p.boxes[i].layer = first - 1
	}
}

// bend leads long edges through the columns that they cross. A graph that would
// need very many bends gets straight edges for the rest.
func (p *picture) bend() {
	budget := 8 * (len(p.boxes) + len(p.links))
	connect := func(a, b int) {
		p.boxes[a].right = append(p.boxes[a].right, b)
		p.boxes[b].left = append(p.boxes[b].left, a)
	}
	for i := range p.links {
		l := &p.links[i]
		if l.from == l.to {
			continue
		}
		span := p.boxes[l.to].layer - p.boxes[l.from].layer
		if span-1 > budget {
			continue
		}
		last := l.from
		for layer := p.boxes[l.from].layer + 1; layer < p.boxes[l.to].layer; layer++ {
			p.boxes = append(p.boxes, box{layer: layer, h: 2})
			at := len(p.boxes) - 1
			l.bends = append(l.bends, at)
			connect(last, at)
			last = at
			budget--
		}
		connect(last, l.to)
	}
	for i := range p.boxes {
		b := &p.boxes[i]
		for len(p.layers) <= b.layer {
			p.layers = append(p.layers, nil)
		}
		if b.layer >= 0 {
			b.rank = len(p.layers[b.layer])
			p.layers[b.layer] = append(p.layers[b.layer], i)
		}
	}
}

// sweeps is how often order and height follow the neighbours on one side.
const sweeps = 16

// sweep visits the columns from left to right, with the neighbours on the left,
// or back, with those on the right.
func (p *picture) sweep(back bool, visit func(column []int, beside func(*box) []int)) {
	if !back {
		for _, column := range p.layers {
			visit(column, func(b *box) []int { return b.left })
		}
		return
	}
	for _, column := range slices.Backward(p.layers) {
		visit(column, func(b *box) []int { return b.right })
	}
}

// mean is the average of a measure of the neighbours, or own without any.
func (p *picture) mean(neighbours []int, own float64, of func(*box) float64) float64 {
	if len(neighbours) == 0 {
		return own
	}
	sum := 0.0
	for _, i := range neighbours {
		sum += of(&p.boxes[i])
	}
	return sum / float64(len(neighbours))
}

// order sorts the columns so that few edges cross.
func (p *picture) order() {
	rank := func(b *box) float64 { return float64(b.rank) }
	want := make([]float64, len(p.boxes))
	for i := range sweeps {
		// The last one keeps together what comes from the same box.
		p.sweep(i%2 == 0, func(column []int, beside func(*box) []int) {
			for _, i := range column {
				want[i] = p.mean(beside(&p.boxes[i]), rank(&p.boxes[i]), rank)
			}
			slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(want[a], want[b]) })
			for rank, i := range column {
				p.boxes[i].rank = rank
			}
		})
	}
}

// place gives all boxes with edges their coordinates.
func (p *picture) place() {
	for _, column := range p.layers {
		y := 0.0
		for _, i := range column {
			b := &p.boxes[i]
			b.y = y + b.h/2
			y += b.h + rowGap
		}
	}
	middle := func(b *box) float64 { return b.y }
	for i := range sweeps {
		// The last one puts a box in the middle of what comes from it.
		p.sweep(i%2 == 1, func(column []int, beside func(*box) []int) {
			want := phrase.List(column, func(i int) float64 { return p.mean(beside(&p.boxes[i]), p.boxes[i].y, middle) })
			p.settle(column, want)
		})
	}

	x, top := float64(margin), math.Inf(1)
	gaps := p.gaps()
	for layer, column := range p.layers {
		width := 0.0
		for _, i := range column {
			width = max(width, p.boxes[i].w)
		}
		for _, i := range column {
			b := &p.boxes[i]
			b.x, b.exit = x, x+width
			if b.node == nil {
				b.w = width // an edge passes straight
			}
			top = min(top, b.y-b.h/2)
		}
		x += width
		p.width = x + margin
		x += gaps[layer]
	}
	for _, column := range p.layers {
		for _, i := range column {
			b := &p.boxes[i]
			b.y += margin - top
			p.height = max(p.height, b.y+b.h/2+margin)
		}
	}
	for _, l := range p.links {
		if b := &p.boxes[l.from]; l.from == l.to {
			p.width = max(p.width, b.x+b.w+loopWidth+margin)
		}
	}
}

// settle moves the boxes of a column as near to where they want to be as their
// order and size allow: the least squares, by merging what pushes each other.
func (p *picture) settle(column []int, want []float64) {
	type group struct {
		sum   float64
		count int
	}
	mean := func(g group) float64 { return g.sum / float64(g.count) }
	offset := make([]float64, len(column))
	var groups []group
	for k, i := range column {
		if k > 0 {
			offset[k] = offset[k-1] + (p.boxes[column[k-1]].h+p.boxes[i].h)/2 + rowGap
		}
		groups = append(groups, group{want[k] - offset[k], 1})
		for n := len(groups); n > 1 && mean(groups[n-2]) > mean(groups[n-1]); n = len(groups) {
			groups[n-2].sum += groups[n-1].sum
			groups[n-2].count += groups[n-1].count
			groups = groups[:n-1]
		}
	}
	k := 0
	for _, g := range groups {
		for range g.count {
			p.boxes[column[k]].y = mean(g) + offset[k]
			k++
		}
	}
}

// gaps returns the space behind each column, which holds the labels of the
// edges that end at the next one.
func (p *picture) gaps() []float64 {
	gaps := make([]float64, len(p.layers))
	for i := range gaps {
		gaps[i] = columnGap
	}
	for _, l := range p.links {
		if l.label == "" {
			continue
		}
		layer := max(p.boxes[l.to].layer-1, 0)
		if l.from == l.to {
			layer = p.boxes[l.to].layer
		}
		gaps[layer] = max(gaps[layer], textWidth(l.label, plainChar*smallSize)/(2*(1-labelPlace))+2*arrow)
	}
	return gaps
}

// placeLoose puts nodes without edges into rows below the rest.
func (p *picture) placeLoose() {
	x, y, row := float64(margin), max(p.height, margin), 0.0
	limit := max(p.width, gridWidth)
	for i := range p.nodes {
		b := &p.boxes[i]
		if b.layer >= 0 {
			continue
		}
		if x > margin && x+b.w+margin > limit {
			x, y, row = margin, y+row+rowGap, 0
		}
		b.x, b.y = x, y+b.h/2
		x += b.w + rowGap
		row = max(row, b.h)
		p.width = max(p.width, b.x+b.w+margin)
		p.height = max(p.height, b.y+b.h/2+margin)
	}
}

// points returns where an edge runs: from the right end of a box over both ends
// of every bend to the left end of the other.
func (p *picture) points(l *link) []point {
	from, to := &p.boxes[l.from], &p.boxes[l.to]
	if l.from == l.to {
		right := from.x + from.w
		return []point{{right, from.y - from.h/4}, {right, from.y + from.h/4}}
	}
	out := []point{{from.x + from.w, from.y}}
	if from.exit > from.x+from.w {
		out = append(out, point{from.exit, from.y})
	}
	for _, i := range l.bends {
		b := &p.boxes[i]
		out = append(out, point{b.x, b.y}, point{b.x + b.w, b.y})
	}
	return append(out, point{to.x, to.y})
}

// labelPlace is where on the last part of an edge its label is: nearer to the
// end, because edges fan out.
const labelPlace = 0.7

func (p *picture) labelAt(l *link) (x, y float64) {
	points := p.points(l)
	a, b := points[len(points)-2], points[len(points)-1]
	if l.from == l.to {
		return a.x + loopWidth/2, (a.y+b.y)/2 + p.boxes[l.from].h/2
	}
	// A cubic curve with level ends has this height there.
	const t = 0.72
	return a.x + (b.x-a.x)*labelPlace, a.y + (b.y-a.y)*(3*t*t-2*t*t*t)
}

// labelPlaces are the middles of the labels, by link. One that would cover a box or
// a label before it moves up or down until it covers neither.
func (p *picture) labelPlaces() []point {
	const height = smallSize + 3
	type area struct{ left, top, right, bottom float64 }
	of := func(at point, w, h float64) area {
		return area{at.x - w/2, at.y - h/2, at.x + w/2, at.y + h/2}
	}
	cover := func(a, b area) bool {
		return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
	}
	var taken []area
	for i := range p.boxes {
		if b := &p.boxes[i]; b.node != nil {
			taken = append(taken, area{b.x, b.y - b.h/2, b.x + b.w, b.y + b.h/2})
		}
	}
	out := make([]point, len(p.links))
	for i := range p.links {
		l := &p.links[i]
		if l.label == "" {
			continue
		}
		x, y := p.labelAt(l)
		out[i] = point{x, y}
		w := textWidth(cut(l.label), plainChar*smallSize)
		const tries = 40
		for n := range tries {
			// 0, below, above, further below …, within the picture.
			shift := float64((n+1)/2) * height
			if n%2 == 0 {
				shift = -shift
			}
			at := point{x, y + shift}
			if at.y < height || at.y > p.height-height/2 {
				continue
			}
			if a := of(at, w, height); !slices.ContainsFunc(taken, func(b area) bool { return cover(a, b) }) {
				out[i] = at
				break
			}
		}
		taken = append(taken, of(out[i], w, height))
	}
	return out
}
