package markup

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Page is a document of headings, paragraphs, lists, tables, code and pictures. It is
// built once and printed as text, Markdown or HTML. Text is laid out by its builder,
// with gaps and indentation; the other formats follow from the kinds of the blocks.
type Page struct {
	Format string // text, if it is neither markdown nor html
	blocks []block
	indent int // of the next block in text
}

// kind is what a block is.
type kind int

const (
	heading kind = iota
	paragraph
	note // a paragraph in small print
	item // of a list; subsequent ones are one list, and one without parts is an empty list
	step // of a numbered list
	task // to be ticked off, with commands
	grid // a table
	program
	gap     // an empty line of text
	section // begins a part of an HTML page
	element // of an HTML page
)

// block is one of the blocks of a page.
type block struct {
	kind   kind
	level  int // of a heading
	indent int
	parts  []any      // see inline
	lines  []string   // of code
	rows   [][]string // of a table, ready to be printed
	// id, class and label are attributes in HTML.
	id, class, label string
}

// Parts of a line besides strings, which are written so that they show as they are.
type (
	Code   string                     // a name, value or path from a file
	Strong string                     // an important word
	Raw    string                     // a constant of this program, which may have markup
	Link   struct{ To, Label string } // leads to the section of that ID
)

// Element is an element of HTML or XML, or several.
type Element string

func (p *Page) IsText() bool { return p.Format != "markdown" && p.Format != "html" }

func (p *Page) add(b block) {
	b.indent, p.indent = p.indent, 0
	p.blocks = append(p.blocks, b)
}

// At indents the next block in text.
func (p *Page) At(indent int) *Page {
	p.indent = indent
	return p
}

func (p *Page) Heading(level int, parts ...any) {
	p.add(block{kind: heading, level: level, parts: parts})
}
func (p *Page) Para(parts ...any) { p.add(block{kind: paragraph, parts: parts}) }
func (p *Page) Note(parts ...any) { p.add(block{kind: note, parts: parts}) }
func (p *Page) Item(parts ...any) { p.add(block{kind: item, parts: parts}) }
func (p *Page) Step(parts ...any) { p.add(block{kind: step, parts: parts}) }
func (p *Page) Gap()              { p.add(block{kind: gap}) }

// Table adds a table with a head, to which row adds rows. The cells are strings or
// other parts.
func (p *Page) Table(label string, head ...any) {
	p.add(block{kind: grid, label: label})
	if len(head) > 0 {
		p.Row(head...)
	}
}

func (p *Page) Row(cells ...any) {
	b := &p.blocks[len(p.blocks)-1]
	row := make([]string, len(cells))
	for i, cell := range cells {
		switch p.Format {
		case "html":
			row[i] = string(cellHTML(cell, i, len(b.rows) == 0))
		case "markdown":
			row[i] = markdownOf(cell)
		default:
			row[i] = Plain(cell)
		}
	}
	b.rows = append(b.rows, row)
}

// Task adds something to be done, the nth in its list.
func (p *Page) Task(n int, text string, commands []string) {
	p.add(block{kind: task, level: n, parts: []any{text}, lines: commands})
}

func (p *Page) Code(language, text string) {
	p.add(block{kind: program, label: language, lines: strings.Split(text, "\n")})
}

// Section begins a part of an HTML page; in Markdown links lead to it.
func (p *Page) Section(id, class string) { p.add(block{kind: section, id: id, class: class}) }

// Element adds what only HTML shows.
func (p *Page) Element(e Element) { p.add(block{kind: element, parts: []any{e}}) }

// Print prints text or Markdown.
func (p *Page) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	last := gap
	for i := range p.blocks {
		at := &p.blocks[i]
		switch {
		case p.IsText():
			at.text(b, Columns(w))
		case at.kind != gap && (at.kind != section || at.id != ""):
			if last != gap && (last != at.kind || at.kind != item) {
				b.WriteByte('\n')
			}
			last = at.kind
			at.markdown(b)
		}
	}
	return b.Flush()
}

// inline joins the parts of a line; each kind of part has its own function.
func inline(parts []any, plain, quoted, bold func(string) string, linked func(Link) string) string {
	var b strings.Builder
	for _, part := range parts {
		switch v := part.(type) {
		case string:
			b.WriteString(plain(v))
		case Code:
			b.WriteString(quoted(string(v)))
		case Strong:
			b.WriteString(bold(string(v)))
		case Raw:
			b.WriteString(string(v))
		case Link:
			b.WriteString(linked(v))
		case []any:
			b.WriteString(inline(v, plain, quoted, bold, linked))
		default:
			fmt.Fprint(&b, v)
		}
	}
	return b.String()
}

func Plain(parts ...any) string {
	return inline(parts, OneLine, Printable, OneLine, func(l Link) string { return OneLine(l.Label) })
}

func markdownOf(parts ...any) string {
	return inline(parts, Prose, CodeSpan, func(s string) string { return "**" + Prose(s) + "**" },
		func(l Link) string { return "[" + Prose(l.Label) + "](#" + l.To + ")" })
}

// text prints a block as text.
func (b *block) text(out *bufio.Writer, columns int) {
	margin := strings.Repeat(" ", b.indent)
	switch b.kind {
	case grid:
		_ = WriteTable(out, b.rows, columns) // Flush says it too
	case program:
		for _, line := range b.lines {
			if line != "" {
				out.WriteString(margin + line)
			}
			out.WriteByte('\n')
		}
	case task:
		fmt.Fprintf(out, "%3d. %s\n", b.level, phrase.Visible(b.parts[0].(string)))
		for _, line := range b.lines {
			out.WriteString("       " + phrase.Visible(line) + "\n")
		}
	case section, element:
	default:
		out.WriteString(margin + Plain(b.parts...) + "\n")
	}
}

// markdown prints a block as Markdown.
func (b *block) markdown(out *bufio.Writer) {
	switch b.kind {
	case heading:
		out.WriteString(strings.Repeat("#", b.level) + " " + markdownOf(b.parts...) + "\n")
	case item, step:
		if len(b.parts) > 0 {
			out.WriteString("- " + markdownOf(b.parts...) + "\n")
		}
	case task:
		out.WriteString("- [ ] " + markdownOf(b.parts...) + "\n")
		if len(b.lines) == 0 {
			break
		}
		out.WriteString("\n  ````sh\n")
		for _, line := range b.lines {
			out.WriteString("  " + phrase.Visible(line) + "\n")
		}
		out.WriteString("  ````\n")
	case grid:
		for i, row := range b.rows {
			out.WriteString("| " + strings.Join(row, " | ") + " |\n")
			if i == 0 {
				out.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
	case program:
		out.WriteString("```" + b.label + "\n" + strings.Join(b.lines, "\n") + "\n```\n")
	case section:
		out.WriteString("<a id=\"" + b.id + "\"></a>\n")
	case element:
	default:
		out.WriteString(markdownOf(b.parts...) + "\n")
	}
}

// body is the blocks as HTML.
func (p *Page) body() Element {
	var b strings.Builder
	list, end := "", "" // what is open
	for _, at := range append(slices.Clip(p.blocks), block{kind: gap}) {
		if tag := map[kind]string{item: "ul", step: "ol"}[at.kind]; tag != list {
			if list != "" {
				b.WriteString("</" + list + ">")
			}
			if list = tag; list != "" {
				b.WriteString("<" + list + ">")
			}
		}
		if at.kind == section {
			b.WriteString(end)
			end = "</section>"
		}
		b.WriteString(string(at.html()))
	}
	return Element(b.String() + end)
}

// html is a block as HTML.
func (b *block) html() Element {
	switch b.kind {
	case heading:
		return Tag("h"+strconv.Itoa(b.level), b.parts...)
	case paragraph:
		return Tag("p", b.parts...)
	case note:
		return Tag(`p class="by"`, b.parts...)
	case item, step:
		return Tag("li", b.parts...)
	case element:
		return Inside(b.parts...)
	case grid: // which scrolls in itself on a small screen
		rows := phrase.List(b.rows, func(row []string) Element { return Tag("tr", Element(strings.Join(row, ""))) })
		return Tag(`div class="canvas" tabindex="0" role="region"`+Attrs("aria-label", b.label),
			Tag("table", Tag("thead", rows[0]), Tag("tbody", rows[1:])))
	case section:
		attrs := ""
		if b.id != "" {
			attrs += Attrs("id", b.id)
		}
		if b.class != "" {
			attrs += Attrs("class", b.class)
		}
		return Element("<section" + attrs + ">")
	case program:
		return Tag("pre", Tag("code", TextLines(strings.Join(b.lines, "\n"))))
	}
	return ""
}

// Tag makes an element. The tag, which may have attributes, is one of this program.
func Tag(tag string, content ...any) Element {
	name, _, _ := strings.Cut(tag, " ")
	return Element("<"+tag+">") + Inside(content...) + Element("</"+name+">")
}

// Inside joins what is in an element: other elements and the parts of a line.
func Inside(content ...any) Element {
	var b strings.Builder
	for _, part := range content {
		switch v := part.(type) {
		case Element:
			b.WriteString(string(v))
		case []Element:
			for _, one := range v {
				b.WriteString(string(one))
			}
		case Link:
			b.WriteString(string(Tag("a"+Attrs("href", "#"+v.To), v.Label)))
		default:
			b.WriteString(Text(Plain(part)))
		}
	}
	return Element(b.String())
}

// cellHTML is a cell of a table, a heading in the first column.
func cellHTML(cell any, column int, head bool) Element {
	tag := "td"
	switch text := Plain(cell); {
	case head:
		tag = `th scope="col"`
	case column == 0:
		tag = `th scope="row"`
	case text == "ready":
		tag = `td class="good"`
	case strings.HasSuffix(text, "missing"):
		tag = `td class="lacks"`
	}
	return Tag(tag, cell)
}

// HTML prints an HTML page with a header, which loads nothing and runs no script.
func (p *Page) HTML(w io.Writer, title, header, by string) error {
	head := Tag("h1", header)
	if by != "" {
		head += Tag(`p class="by"`, by)
	}
	return WriteHTML(w, title, "", Tag("header", head)+Tag("main", p.body()))
}

//go:embed page.css
var pageStyle string

// WriteHTML writes a page that needs nothing else: it loads nothing, and its policy
// lets the browser use only the style sheet and the script in it.
func WriteHTML(w io.Writer, title, script string, body Element) error {
	policy := "default-src 'none'; style-src " + policyHash(pageStyle) + "; "
	if script != "" {
		policy += "script-src " + policyHash(script) + "; "
		body += Element("<script>" + script + "</script>")
	}
	_, err := fmt.Fprintf(w, "<!DOCTYPE html>\n\n"+`<html lang="en"><head><meta charset="utf-8"/><meta http-equiv="Content-Security-Policy"%s/>`+
		`<meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="color-scheme" content="light dark"/>`+
		"<title>%s</title><style>%s</style></head><body>%s</body></html>\n",
		Attrs("content", policy+"base-uri 'none'; form-action 'none'"), Text(title), pageStyle, body)
	return err
}

// policyHash is how a Content Security Policy names a script or style sheet.
func policyHash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// spacing is how many blanks stand between the columns of a table of text.
const spacing = 2

// least is what is left of a cell at least that is shortened.
const least = 20

// Columns is the width of the terminal that w writes to; 0 if it writes to none.
func Columns(w io.Writer) int {
	if t, ok := w.(interface{ Columns() int }); ok {
		return t.Columns()
	}
	return 0
}

// fit shortens a cell to a width. An address stays whole, so that it can be copied.
func fit(cell string, width int) string {
	if strings.Contains(cell, "://") {
		return cell
	}
	return phrase.Fit(cell, max(width, least))
}

// WriteTable aligns rows of cells, each of which is one line. Rows may lack their last
// cells. On a terminal with so many columns the last cells of rows are shortened.
func WriteTable(w io.Writer, rows [][]string, columns int) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	room := columns
	for _, width := range widths[:max(len(widths)-1, 0)] {
		room -= width + spacing
	}
	var line []byte
	for _, row := range rows {
		line = line[:0]
		for i, cell := range row {
			if i == len(widths)-1 && columns > 0 {
				cell = fit(cell, room)
			}
			line = append(line, cell...)
			if i < len(row)-1 {
				for range widths[i] + spacing - utf8.RuneCountInString(cell) {
					line = append(line, ' ')
				}
			}
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
