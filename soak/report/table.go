package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

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

// table prints a heading and rows with aligned columns; columns whose head ends in ">" stand right.
func (p *page) table(title string, head []string, rows [][]string) {
	if len(rows) == 0 || p.err != nil {
		return
	}
	p.printf("\n%s\n", title)
	right := make([]bool, len(head))
	for i, h := range head {
		head[i], right[i] = strings.TrimSuffix(h, ">"), strings.HasSuffix(h, ">")
	}
	width := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, c := range row {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		cells := make([]string, len(row))
		for i, c := range row {
			if right[i] {
				c = strings.Repeat(" ", width[i]-len([]rune(c))) + c
			}
			cells[i] = c
		}
		if _, p.err = fmt.Fprintf(tw, "  %s\n", strings.TrimRight(strings.Join(cells, "\t"), "\t ")); p.err != nil {
			return
		}
	}
	p.err = tw.Flush()
}

// millis prints a latency with the digits that matter.
func millis(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func millisPtr(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	return millis(*d)
}

// clock prints an offset as m:ss or h:mm:ss.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

func percent(v float64) string { return fmt.Sprintf("%.0f%%", v*100) }

func number(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
