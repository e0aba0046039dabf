package report

import (
	"fmt"

	"nightshift/soak/config"
	"nightshift/soak/record"
)

// purged sums the purges of one node.
type purged struct {
	n, worked, removed, kept, refused, failed int
	freed                                     int64
	restorable                                bool
	zxid                                      string
}

func (s *purged) add(x record.Purge) {
	s.n++
	s.removed, s.freed, s.kept, s.zxid = s.removed+x.Removed, s.freed+x.Freed, x.Kept, x.Zxid
	for _, c := range []struct {
		n  *int
		is bool
	}{{&s.worked, x.Removed > 0}, {&s.refused, x.Refused != ""}, {&s.failed, x.Error != ""}} {
		if c.is {
			*c.n++
		}
	}
	s.restorable = s.restorable && x.Restorable
}

func purges(p *page) {
	sums, order := map[[2]string]*purged{}, [][2]string{}
	for _, x := range p.r.Analysis.Purges {
		id := [2]string{x.Target, x.Node}
		if sums[id] == nil {
			sums[id], order = &purged{restorable: true}, append(order, id)
		}
		sums[id].add(x)
	}
	var rows [][]string
	for _, id := range order {
		s := sums[id]
		rows = append(rows, []string{id[1], fmt.Sprint(s.n), fmt.Sprint(s.worked), number(s.removed), config.Bytes(s.freed).String(),
			fmt.Sprint(s.kept), yes(s.restorable), s.zxid, fmt.Sprint(s.refused), fmt.Sprint(s.failed)})
	}
	p.table("PURGES (kept and restorable to: after the last one)", []string{"node", "purges>", "with effect>", "files removed>", "freed>", "files kept>",
		"always restorable", "restorable to", "refused?>", "failed?>"}, rows)
	for _, n := range p.r.Analysis.Notes {
		if n.Code == record.NoteRestarted || n.Code == record.NoteRestartFailed {
			p.hang("  ", n.Text)
		}
	}
}

func disks(p *page) {
	var rows [][]string
	for _, d := range p.r.Analysis.Disks {
		if d.Files == 0 && d.PeakBytes == 0 {
			continue
		}
		growth := "too short to say"
		if d.Judged {
			growth = signed(d.PerHour) + "/h"
		}
		rows = append(rows, []string{d.Node, d.Kind, number(d.Files), config.Bytes(d.Bytes).String(), config.Bytes(d.Allocated).String(),
			config.Bytes(d.PeakAlloc).String(), growth})
	}
	p.table("DISKS at the end of the run (size as files say, and as allocated; peak and growth of the allocated size under load)",
		[]string{"node", "kind", "files>", "size>", "allocated>", "peak>", "growth>"}, rows)
}
