package zookeeper

import (
	"context"
	"errors"
	"strconv"
	"time"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak"
	"nightshift/soak/record"
)

// Classes of events that did not come, as they stand in the record.
const (
	errMissed   = "missed"     // proven: the node is there, the session lives, the watch was set
	errWatch    = "watch lost" // allowed: the session expired, or the node was gone while the session was cut off
	errUnproven = "no event"   // the servers could not be asked
)

// watch is one armed watch of a subscriber.
type watch struct {
	events  <-chan zkclient.Event // nil: not armed
	session int64                 // that armed it; 0: not known
	stale   bool                  // an earlier create may still fire it
}

// subscriber is one session that watches all paths of its group. It handles what comes in the order of the creates,
// which is the order in which ZooKeeper delivers events to a session.
type subscriber struct {
	ps      *pubSub
	group   *group
	id      int
	conn    *member
	paths   []string
	watches []watch
	orders  chan order
}

// work follows orders until the publisher closes them. After ctx has ended it still waits for what was created.
func (s *subscriber) work(ctx context.Context) {
	for o := range s.orders {
		switch o.kind {
		case arm:
			if s.arm(ctx, o.path) {
				s.group.tally.add(s.group.tally.armed, o.path)
			}
		case expect:
			s.expect(ctx, o)
			s.group.tally.add(s.group.tally.done, o.path)
		}
	}
}

// arm sets the watch of a path. ZooKeeper acknowledges a watch on a missing node with "no node"; from then on exactly
// one event is due when the node is created. It is false when ctx ended before.
func (s *subscriber) arm(ctx context.Context, path int) bool {
	w, clock := &s.watches[path], s.ps.env.Clock
	select {
	case <-w.events: // of a create that nobody waits for any more
		w.events = nil
	default:
	}
	for w.events == nil {
		if ctx.Err() != nil {
			return false
		}
		session, start := s.conn.SessionID(), clock.Now()
		exists, _, events, err := s.conn.ExistsW(context.WithoutCancel(ctx), s.paths[path])
		s.group.ops.subscribe.Record(soak.Sample{
			Worker: s.id, Path: s.paths[path], Intended: start, Start: start, End: clock.Now(),
			Outcome: readOutcome(err), Err: zkclient.Class(err), Node: s.conn.Server(),
		})
		switch {
		case err != nil:
			sleep(ctx, pause)
		case exists:
			s.outlast(ctx, path, events)
		default:
			*w = watch{events: events}
			if s.conn.SessionID() == session {
				w.session = session
			}
		}
	}
	return true
}

// outlast waits until a node of the round before is gone for this subscriber's server, which may be behind:
// the watch just set fires then.
func (s *subscriber) outlast(ctx context.Context, path int, events <-chan zkclient.Event) {
	t := time.NewTimer(s.ps.overdue)
	defer t.Stop()
	select {
	case <-events:
		return
	case <-ctx.Done():
		return
	case <-t.C:
	}
	start := s.ps.env.Clock.Now()
	data, err := s.read(ctx, path)
	if err != nil {
		return // gone by now, or no answer: the next attempt to subscribe tells
	}
	h, err := ParseHeader(data)
	if err == nil && s.group.tally.undone(path, h.Seq) {
		s.ps.book.add(CodeWriteLost, start, "%s: delete of %d was acknowledged, the node is still there", s.paths[path], h.Seq)
	}
	if err := s.conn.Delete(context.WithoutCancel(ctx), s.paths[path], -1); err != nil {
		sleep(ctx, pause)
	}
}

// expect waits for the event of one create, and for the create's result.
func (s *subscriber) expect(ctx context.Context, o order) {
	w := &s.watches[o.path]
	var overdue <-chan time.Time
	results := s.orders
	for {
		select {
		case ev := <-w.events:
			w.events = nil
			s.event(ctx, o, ev, false)
			if results != nil {
				<-results
			}
			return
		case r := <-results:
			results = nil
			if r.created != certain || w.events == nil {
				w.stale = true
				return
			}
			t := time.NewTimer(s.ps.overdue)
			defer t.Stop()
			overdue = t.C
		case <-overdue:
			s.investigate(ctx, o)
			return
		}
	}
}

// event takes in what the watch of a path said about the create of o.
func (s *subscriber) event(ctx context.Context, o order, ev zkclient.Event, late bool) {
	at, w := s.ps.env.Clock.At(ev.At), &s.watches[o.path]
	switch {
	case ev.Type == zkclient.WatchLost:
		s.failed(o, zkclient.Class(ev.Err))
		return
	case ev.Type != zkclient.NodeCreated:
		// A watch on a node that was there, whose answer was given up, fires all watches of the path in this client.
		s.failed(o, errWatch)
		return
	case at < o.start && w.stale:
		s.ps.book.add(CodeWatchLate, at, "%s: an event of a create before %d", s.paths[o.path], o.seq)
		s.failed(o, errWatch)
		return
	case at < o.start:
		s.ps.book.add(CodeWatchDuplicate, at, "%s: event %s before create %d was sent", s.paths[o.path], o.start-at, o.seq)
		s.failed(o, errWatch)
		return
	}
	s.group.ops.event.Record(s.sample(o, at, record.OK, ""))
	if late {
		s.ps.book.add(CodeWatchLate, o.start, "%s: event of create %d came after %s", s.paths[o.path], o.seq, at-o.start)
	}
	if s.ps.get {
		s.fetch(ctx, o)
	}
}

// fetch reads the data after the event. It must be of the create or later: ZooKeeper shows a session no older state
// than one it has notified it of.
func (s *subscriber) fetch(ctx context.Context, o order) {
	data, _, err := s.conn.Get(context.WithoutCancel(ctx), s.paths[o.path])
	s.group.ops.data.Record(s.sample(o, s.ps.env.Clock.Now(), readOutcome(err), zkclient.Class(err)))
	if err != nil {
		return
	}
	wrong := s.ps.alien(data, uint32(s.ps.unit(s.group.id, o.path)))
	if h, err := ParseHeader(data); err == nil && wrong == "" && h.Seq != o.seq {
		wrong = "found create " + strconv.FormatUint(h.Seq, 10)
	}
	if wrong != "" {
		s.ps.book.add(CodeDataWrong, o.start, "%s: after the event of create %d: %s", s.paths[o.path], o.seq, wrong)
	}
}

// grace is how long an event may take that was sent before an answer which has arrived: nearly nothing on the same
// connection; after a reconnect the library sets the watches again behind requests that were waiting.
func (s *subscriber) grace() time.Duration { return min(s.ps.spec.timeout, 2*time.Second) }

// investigate finds out why an event did not come in time. It is missed only if this subscriber, in the session that
// set the watch, reads the node that should have fired it, on one and the same connection, and the event
// still does not come: a server sends an event before any answer that shows what caused it.
func (s *subscriber) investigate(ctx context.Context, o order) {
	w, clock := &s.watches[o.path], s.ps.env.Clock
	limit := clock.Now() + s.ps.spec.session + 2*s.ps.spec.timeout
	if ctx.Err() != nil {
		limit = clock.Now() + s.ps.spec.timeout // the run is draining
	}
	for clock.Now() < limit {
		links, session := s.conn.linked(), s.conn.SessionID()
		data, err := s.read(context.WithoutCancel(ctx), o.path)
		wait := s.grace()
		if transient(err) {
			wait = pause
		}
		if ev, ok := s.late(w, wait); ok {
			w.events = nil
			s.event(ctx, o, ev, true)
			return
		}
		switch v := judgeWatch(data, err, o.seq, w.session != 0 && session == w.session && session == s.conn.SessionID(), links == s.conn.linked()); v {
		case missed:
			w.events = nil
			s.ps.book.add(CodeWatchMissed, o.start, "%s: create %d was acknowledged, session %#x read it and got no event", s.paths[o.path], o.seq, session)
			s.failed(o, errMissed)
			return
		case excused:
			w.stale = true
			s.failed(o, errWatch)
			return
		}
	}
	w.stale = true
	s.ps.book.add(CodeWatchUnproven, o.start, "%s: create %d", s.paths[o.path], o.seq)
	s.failed(o, errUnproven)
}

func (s *subscriber) late(w *watch, d time.Duration) (zkclient.Event, bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case ev := <-w.events:
		return ev, true
	case <-t.C:
		return zkclient.Event{}, false
	}
}

type watchVerdict uint8

const (
	askAgain watchVerdict = iota
	missed
	excused
)

// judgeWatch judges an event that did not come, by what a synced read of the node said: sameSession says that the
// session that set the watch read it, sameLink that it was connected to one server all the time.
func judgeWatch(data []byte, err error, seq uint64, sameSession, sameLink bool) watchVerdict {
	switch {
	case !sameSession:
		return excused // its watches died with the session
	case errors.Is(err, zkclient.ErrNoNode):
		return excused // created and gone while this session was cut off: no event is promised
	case err != nil:
		return askAgain
	}
	h, err := ParseHeader(data)
	switch {
	case err != nil || h.Seq != seq:
		return excused
	case !sameLink:
		return askAgain
	}
	return missed
}

// read is a read that sees everything acknowledged before it.
func (s *subscriber) read(ctx context.Context, path int) ([]byte, error) {
	if err := s.conn.Sync(ctx, s.paths[path]); err != nil {
		return nil, err
	}
	data, _, err := s.conn.Get(ctx, s.paths[path])
	return data, err
}

func (s *subscriber) failed(o order, class string) {
	s.group.ops.event.Record(s.sample(o, s.ps.env.Clock.Now(), record.Failed, class))
}

func (s *subscriber) sample(o order, end time.Duration, out record.Outcome, class string) soak.Sample {
	return soak.Sample{
		Worker: s.id, Path: s.paths[o.path], Seq: o.seq, Intended: o.intended, Start: o.start, End: end,
		Outcome: out, Err: class, Node: s.conn.Server(),
	}
}
