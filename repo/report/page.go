package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Page is a document of headings, paragraphs, lists and tables. It is built once and
// printed as text or Markdown. Text is laid out by its builder, with gaps and
// indentation; Markdown follows from the kinds of the blocks.
type Page struct {
	Format string // text, if it is not markdown
	blocks []block
	indent string // of the next block in text
}

type kind int

const (
	heading kind = iota
	paragraph
	item  // of a list; subsequent ones are one list
	table // of cells, with a head
	gap   // an empty line of text
)

// block is one of the blocks of a page, ready to be printed.
type block struct {
	kind kind
	line string
	rows [][]string
}

// Parts of a line besides strings, which are written so that they show as they are.
type (
	Code   string // a name, value or path from a file
	Strong string // an important word
	Raw    string // a constant of this program, which may have markup
)

func (p *Page) IsText() bool { return p.Format != "markdown" }

// At indents the next block in text.
func (p *Page) At(indent int) *Page {
	p.indent = strings.Repeat(" ", indent)
	return p
}

// add adds a line, which in Markdown begins with a mark.
func (p *Page) add(k kind, mark string, parts []any) {
	if p.IsText() {
		mark = p.indent
	}
	p.indent = ""
	p.blocks = append(p.blocks, block{kind: k, line: mark + p.inline(parts)})
}

func (p *Page) Heading(level int, parts ...any) {
	p.add(heading, strings.Repeat("#", level)+" ", parts)
}
func (p *Page) Para(parts ...any) { p.add(paragraph, "", parts) }
func (p *Page) Item(parts ...any) { p.add(item, "- ", parts) }
func (p *Page) Gap()              { p.add(gap, "", nil) }

// Table adds a table with a head, to which Row adds rows. The cells are strings or
// other parts.
func (p *Page) Table(head ...any) {
	p.blocks = append(p.blocks, block{kind: table})
	if len(head) > 0 {
		p.Row(head...)
	}
}

func (p *Page) Row(cells ...any) {
	last := &p.blocks[len(p.blocks)-1].rows
	*last = append(*last, phrase.List(cells, func(cell any) string { return p.inline([]any{cell}) }))
}

// inline joins the parts of a line.
func (p *Page) inline(parts []any) string {
	if p.IsText() {
		return Plain(parts...)
	}
	return inline(parts, Prose, CodeSpan, func(s string) string { return "**" + Prose(s) + "**" })
}

// Plain joins the parts of a line of text.
func Plain(parts ...any) string { return inline(parts, OneLine, Printable, OneLine) }

// inline joins parts, of which each kind has its own function.
func inline(parts []any, plain, quoted, bold func(string) string) string {
	var b strings.Builder
	for _, part := range parts {
		switch v := part.(type) {
		case string:
			b.WriteString(plain(v))
		case Code:
			b.WriteString(quoted(string(v)))
		case Strong:
			b.WriteString(bold(string(v)))
		case []any:
			b.WriteString(inline(v, plain, quoted, bold))
		default: // Raw, and numbers
			fmt.Fprint(&b, v)
		}
	}
	return b.String()
}

func (p *Page) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	last := gap
	for _, at := range p.blocks {
		if !p.IsText() {
			if at.kind == gap {
				continue
			}
			if last != gap && (last != at.kind || at.kind != item) {
				b.WriteByte('\n')
			}
			last = at.kind
		}
		switch {
		case at.kind != table:
			b.WriteString(at.line + "\n")
		case p.IsText():
			if columns := Columns(w); columns > 0 {
				at.rows = stack(at.rows, columns)
			}
			_ = WriteTable(b, at.rows, Columns(w)) // Flush says it too
		default:
			for i, row := range at.rows {
				b.WriteString("| " + strings.Join(row, " | ") + " |\n")
				if i == 0 {
					b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
				}
			}
		}
	}
	return b.Flush()
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

// stack puts what follows the columns that a terminal has room for into lines of its own,
// each behind what it is called, so that nothing of it is cut.
func stack(rows [][]string, columns int) [][]string {
	widths := widthsOf(rows)
	shown, room := 0, columns
	for shown < len(widths) && room >= widths[shown] {
		room -= widths[shown] + spacing
		shown++
	}
	if shown == len(widths) {
		return rows
	}
	shown = max(shown, 1)
	out := [][]string{rows[0][:shown]}
	for _, row := range rows[1:] {
		out = append(out, row[:min(shown, len(row))])
		for i := shown; i < len(row); i++ {
			if row[i] != "" && row[i] != "-" {
				out = append(out, []string{"    " + strings.ToLower(rows[0][i]) + ": " + row[i]})
			}
		}
	}
	return out
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
	widths := widthsOf(rows)
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

func widthsOf(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		if len(row) == 1 && len(rows[0]) > 1 {
			continue // a line between rows; see stack
		}
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}
