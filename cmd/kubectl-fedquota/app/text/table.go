package text

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// gap is the space between columns, as kubectl has it.
const gap = 3

// least is how narrow a column may be made.
const least = 8

// Cell is one of a table.
type Cell struct {
	Text  string
	Style Style
}

// Table has a header and rows. Where it is wider than a page, the widest columns are made narrower.
type Table struct {
	Header []string
	// Rule has the names of columns underlined, as kubectl describe does.
	Rule bool
	// Indent is how far the table stands in.
	Indent int

	rows []row
}

// row is a line of cells, or a note below one.
type row struct {
	cells []Cell
	note  string
	style Style
}

// Row adds a line of plain cells.
func (t *Table) Row(cells ...string) { t.Cells(plain(cells)...) }

// Cells adds a line of cells.
func (t *Table) Cells(cells ...Cell) { t.rows = append(t.rows, row{cells: cells}) }

// Note adds words below the last line.
func (t *Table) Note(style Style, words string) {
	t.rows = append(t.rows, row{note: words, style: style})
}

// Len returns how many lines there are.
func (t *Table) Len() int { return len(t.rows) }

// Print prints the table.
func (p *Page) Print(t *Table) {
	widths := t.widths()
	if len(t.Header) > 0 {
		p.line(t, widths, plain(t.Header))
	}
	if t.Rule {
		rule := make([]string, len(t.Header))
		for i, name := range t.Header {
			rule[i] = strings.Repeat("-", utf8.RuneCountInString(name))
		}
		p.line(t, widths, plain(rule))
	}
	for _, r := range t.rows {
		if r.cells == nil {
			p.Paragraph(t.Indent+2, r.style, r.note)
			continue
		}
		p.line(t, widths, r.cells)
	}
}

// Plains returns plain cells, with "-" for what is not there.
func Plains(texts ...string) []Cell {
	cells := plain(texts)
	for i := range cells {
		cells[i].Text = cmp.Or(cells[i].Text, "-")
	}
	return cells
}

func plain(texts []string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	return cells
}

// line prints one line without spaces at its end.
func (p *Page) line(t *Table, widths []int, cells []Cell) {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", t.Indent))
	pending := 0
	for i, cell := range cells {
		text := Elide(cell.Text, widths[i])
		if text != "" {
			b.WriteString(strings.Repeat(" ", pending))
			b.WriteString(p.Paint(cell.Style, text))
			pending = 0
		}
		pending += widths[i] - utf8.RuneCountInString(text) + gap
	}
	p.Printf("%s\n", strings.TrimRight(b.String(), " "))
}

// widths returns those of the columns, which fit a page.
func (t *Table) widths() []int {
	columns := len(t.Header)
	for _, r := range t.rows {
		columns = max(columns, len(r.cells))
	}
	widths := make([]int, columns)
	for i, name := range t.Header {
		widths[i] = utf8.RuneCountInString(name)
	}
	for _, r := range t.rows {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	for excess := t.excess(widths); excess > 0; excess = t.excess(widths) {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= least {
			break
		}
		widths[widest]--
	}
	return widths
}

func (t *Table) excess(widths []int) int {
	total := t.Indent - gap
	for _, width := range widths {
		total += width + gap
	}
	return total - Width
}

// Elide takes so much out of the middle of a text that it has at most so many columns.
func Elide(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	head := width / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-head-1):])
}
