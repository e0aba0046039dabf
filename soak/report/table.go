package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// pageWidth is where running text is broken; tables of usual content stay below it.
const pageWidth = 150

// page collects the text of a report; the first write error stops it.
type page struct {
	w   io.Writer
	r   Report
	err error
}

func (p *page) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// column is one head of a table: "shed?>" stands right (>) and goes when it would be empty, 0 or - in all rows (?).
type column struct {
	name       string
	right, may bool
	width      int
}

func columns(heads []string, rows [][]string) []column {
	cs := make([]column, len(heads))
	for i, h := range heads {
		c := column{name: strings.TrimRight(h, "?>"), right: strings.HasSuffix(h, ">")}
		c.may = strings.HasSuffix(strings.TrimSuffix(h, ">"), "?") || c.name == ""
		c.width = width(c.name)
		for _, row := range rows {
			if i < len(row) {
				c.width = max(c.width, width(row[i]))
				c.may = c.may && (row[i] == "" || row[i] == "0" || row[i] == "-")
			}
		}
		cs[i] = c
	}
	return cs
}

// table prints a heading and rows with aligned columns.
func (p *page) table(title string, heads []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = line(cell)
		}
	}
	cs := columns(heads, rows)
	names := make([]string, len(cs))
	named := false
	for i, c := range cs {
		names[i] = c.name
		named = named || c.name != ""
	}
	if title != "" {
		p.printf("\n%s\n", title)
	}
	if named {
		p.row(cs, names)
	}
	for _, row := range rows {
		p.row(cs, row)
	}
}

func (p *page) row(cs []column, cells []string) {
	var b strings.Builder
	for i, c := range cs {
		if c.may || i >= len(cells) {
			continue
		}
		pad := strings.Repeat(" ", c.width-width(cells[i]))
		if c.right {
			b.WriteString("  " + pad + cells[i])
			continue
		}
		b.WriteString("  " + cells[i] + pad)
	}
	p.printf("%s\n", strings.TrimRight(b.String(), " "))
}

// hang prints text behind a label, broken at pageWidth, each further line under the first.
func (p *page) hang(label, text string) {
	indent := strings.Repeat(" ", width(label))
	for _, part := range strings.Split(text, "\n") {
		for _, l := range wrap(line(part), pageWidth-width(label)) {
			p.printf("%s\n", strings.TrimRight(label+l, " "))
			label = indent
		}
	}
}

// wrap breaks text between words; a word that is too long stays whole.
func wrap(text string, limit int) []string {
	var out []string
	at := ""
	for _, word := range strings.Fields(text) {
		if at != "" && width(at)+1+width(word) > limit {
			out, at = append(out, at), ""
		}
		if at != "" {
			at += " "
		}
		at += word
	}
	return append(out, at)
}

// line makes one line of text that comes from servers and errors, without what would move a terminal's cursor.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return '\uFFFD'
		}
		return r
	}, strings.TrimSpace(s))
}

// width is how many columns of a terminal the text takes.
func width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r >= 0xFF01 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
			n += 2
		default:
			n++
		}
	}
	return n
}

// cut shortens text to n columns; the JSON has all of it.
func cut(s string, n int) string {
	s = line(s)
	if width(s) <= n {
		return s
	}
	out, used := "", 0
	for _, r := range s {
		if used += width(string(r)); used > n-1 {
			break
		}
		out += string(r)
	}
	return strings.TrimRight(out, " ,;:") + "…"
}
