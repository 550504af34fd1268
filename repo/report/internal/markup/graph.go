package markup

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Graph is drawn as SVG: nodes in columns, edges from left to right. The order of
// nodes and edges is the only thing that decides between equally good pictures, so
// the same graph gives the same bytes.
type Graph struct {
	// Title is read, with a list of the edges, to people who cannot see the picture.
	Title string
	Nodes []Vertex
	// Edges whose ends are no nodes are left out, and those with the same ends
	// become one.
	Edges []Edge
}

// Vertex is a box.
type Vertex struct {
	// ID is what edges refer to. Of nodes with the same ID the first counts.
	ID string
	// Label is the first line, Sublabel the second. What is too long is cut;
	// Tooltip is shown when the pointer rests on the box and should have all.
	Label, Sublabel, Tooltip string
	// Class is added to the class of the element, for a style sheet.
	Class string
}

// Edge is an arrow. Cycles are drawn as well: one edge of each then points to
// the left.
type Edge struct {
	From, To string
	Label    string
	Class    string
}

// The sizes of things, in pixels.
const (
	margin    = 12
	rowGap    = 14
	columnGap = 64
	padding   = 12 // left and right of a label
	minWidth  = 72
	maxChars  = 44
	labelSize = 13
	smallSize = 11
	arrow     = 7
	loopWidth = 26
	gridWidth = 720 // of what has no edges
	wideRune  = 0x1100
	// The width of a character in relation to its height: of the widest of
	// the usual fonts, so that texts stay in their boxes.
	boldChar  = 0.7
	plainChar = 0.6
)

// Colours that work without a style sheet; a style sheet overrides them by the
// classes node, edge, label and sublabel.
const (
	paper = "#ffffff"
	ink   = "#1f2328"
	faint = "#59636e"
	line  = "#8c959f"
)

// SVG draws the graph. The id is that of the element; ids of its parts begin
// with it.
func (g *Graph) SVG(id string) string {
	p := arrange(g)
	var b strings.Builder
	w, h := px(p.width), px(p.height)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg"%s font-family="ui-sans-serif, system-ui, sans-serif">`,
		Attrs("id", id, "class", "graph", "role", "img", "aria-labelledby", id+"-title "+id+"-desc", "width", w, "height", h, "viewBox", "0 0 "+w+" "+h))
	fmt.Fprintf(&b, `<title%s>%s</title><desc%s>%s</desc>`,
		Attrs("id", id+"-title"), Text(g.Title), Attrs("id", id+"-desc"), Text(g.inWords(p)))
	for i := range p.links {
		p.edge(&b, &p.links[i])
	}
	for i := range p.boxes {
		if p.boxes[i].node != nil {
			p.boxes[i].draw(&b)
		}
	}
	// Labels last, so that no line runs through them.
	places := p.labelPlaces()
	for i := range p.links {
		if l := &p.links[i]; l.label != "" {
			fmt.Fprintf(&b, `<text%s x="%s" y="%s" text-anchor="middle" font-size="%d" fill="%s" stroke="%s" stroke-width="4" paint-order="stroke">%s</text>`,
				Attrs("class", join("edge-label", l.class)), px(places[i].x), px(places[i].y+4), smallSize, faint, paper, Text(cut(l.label)))
		}
	}
	b.WriteString("</svg>")
	return b.String()
}

func (b *box) draw(out *strings.Builder) {
	n := b.node
	left, top := b.x, b.y-b.h/2
	fmt.Fprintf(out, `<g%s>`, Attrs("class", join("node", n.Class)))
	if n.Tooltip != "" {
		fmt.Fprintf(out, `<title>%s</title>`, Text(n.Tooltip))
	}
	fmt.Fprintf(out, `<rect x="%s" y="%s" width="%s" height="%s" rx="6" fill="%s" stroke="%s"></rect>`,
		px(left), px(top), px(b.w), px(b.h), paper, line)
	baseline := b.y + 4.5
	if n.Sublabel != "" {
		baseline = b.y - 3
		fmt.Fprintf(out, `<text class="sublabel" x="%s" y="%s" font-size="%d" fill="%s">%s</text>`,
			px(left+padding), px(b.y+13), smallSize, faint, Text(cut(n.Sublabel)))
	}
	fmt.Fprintf(out, `<text class="label" x="%s" y="%s" font-size="%d" font-weight="600" fill="%s">%s</text></g>`,
		px(left+padding), px(baseline), labelSize, ink, Text(cut(n.Label)))
}

func (p *picture) edge(out *strings.Builder, l *link) {
	points := p.points(l)
	var d strings.Builder
	fmt.Fprintf(&d, "M%s %s", px(points[0].x), px(points[0].y))
	if l.from == l.to {
		a, b := points[0], points[1]
		fmt.Fprintf(&d, "C%s %s %s %s %s %s", px(a.x+loopWidth), px(a.y), px(b.x+loopWidth), px(b.y), px(b.x), px(b.y))
	} else {
		for i := 1; i < len(points); i++ {
			a, b := points[i-1], points[i]
			if a.y == b.y {
				fmt.Fprintf(&d, "L%s %s", px(b.x), px(b.y))
				continue
			}
			mid := (a.x + b.x) / 2
			fmt.Fprintf(&d, "C%s %s %s %s %s %s", px(mid), px(a.y), px(mid), px(b.y), px(b.x), px(b.y))
		}
	}
	tip, back := points[len(points)-1], -1.0
	if l.reversed {
		tip, back = points[0], 1
	}
	if l.from == l.to {
		back = 1
	}
	head := fmt.Sprintf("M%s %sl%s -4v8z", px(tip.x), px(tip.y), px(back*arrow))
	fmt.Fprintf(out, `<g%s fill="none" stroke="%s" stroke-width="1.5"><path d="%s"></path><path class="head" d="%s" fill="%s" stroke="none"></path></g>`,
		Attrs("class", join("edge", l.class)), line, d.String(), head, line)
}

// inWords lists what the picture shows.
func (g *Graph) inWords(p *picture) string {
	const shown = 50
	var b strings.Builder
	fmt.Fprintf(&b, "%d boxes, %d arrows.", p.nodes, len(p.links))
	for i := range p.links {
		if i == shown {
			b.WriteString(" And more.")
			break
		}
		l := &p.links[i]
		from, to := p.boxes[l.from].node, p.boxes[l.to].node
		if l.reversed {
			from, to = to, from
		}
		label := ""
		if l.label != "" {
			label = " (" + l.label + ")"
		}
		fmt.Fprintf(&b, " %s to %s%s.", from.Label, to.Label, label)
	}
	return b.String()
}

// textWidth estimates the width of a text of characters of the given width.
func textWidth(s string, char float64) float64 {
	n := 0
	for _, r := range cut(s) {
		n++
		if r >= wideRune {
			n++
		}
	}
	return float64(n) * char
}

func cut(s string) string { return phrase.Fit(s, maxChars) }

func join(class, more string) string { return strings.TrimSpace(class + " " + more) }

// px writes a length with one digit, so that the same graph gives the same bytes
// on every machine.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) }
