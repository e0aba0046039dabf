package soak

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"nightshift/soak/record"
)

// openSeconds is how many seconds a shard keeps ready to be added to. With a Flush each second two are in use;
// when Flush is late, older ones are packed up to what they really hold.
const openSeconds = 4

// packedKept is for how many packed seconds the kept operations stay with them, at 14 KB each.
const packedKept = 60

// Op is the handle of one operation of one workload. Safe for concurrent use.
type Op struct {
	rec    *Recorder
	name   string
	size   int
	shards []shard

	// Of Flush and Progress, under Recorder.mu.
	total  counts
	recent recent
	sum    *second
	rand   *rand.Rand
}

// Sample is one finished operation. A timeout is a sample too: End is when the worker gave up.
type Sample struct {
	Worker               int
	Path                 string
	Seq                  uint64
	Intended, Start, End time.Duration // offsets by Recorder.Clock; a closed loop sets Intended = Start
	Outcome              record.Outcome
	Err                  string // short class, from a fixed set; "" when OK
	Node                 string // address of the server it went to
}

// counts are numbers of operations.
type counts struct{ ok, failed, inDoubt, shed, late uint64 }

func (c *counts) add(o counts) {
	c.ok += o.ok
	c.failed += o.failed
	c.inDoubt += o.inDoubt
	c.shed += o.shed
	c.late += o.late
}

// shard is one core's part of an operation. The padding keeps two cores' locks off one cache line.
type shard struct {
	mu     sync.Mutex
	open   []*second // the one added to last is the first
	packed []*second // of a Flush that is late
	ready  []*second // empty
	rand   *rand.Rand

	spare []*second // memory of open for the next Flush, which alone touches it
	_     [64]byte
}

// second is what ended in one second on one shard.
type second struct {
	at time.Duration
	counts
	service, delay, response *record.Hist
	kept                     *kept
}

func newSecond() *second {
	s := &second{service: record.NewHist(), delay: record.NewHist(), response: record.NewHist(), kept: &kept{}}
	for _, h := range []*record.Hist{s.service, s.delay, s.response} {
		h.Reserve()
	}
	return s
}

func (s *second) reset() {
	s.at, s.counts = 0, counts{}
	s.service.Reset()
	s.delay.Reset()
	s.response.Reset()
	s.kept.reset()
}

func newOp(r *Recorder, name string, size int) *Op {
	stream := func(part string) *rand.Rand {
		return r.seed.Stream("recorder/" + r.workload + "/" + name + "/" + strconv.Itoa(size) + "/" + part)
	}
	o := &Op{rec: r, name: name, size: size, shards: make([]shard, r.shards), sum: newSecond(), rand: stream("merge")}
	for i := range o.shards {
		s := &o.shards[i]
		s.rand = stream(strconv.Itoa(i))
		s.open, s.spare = make([]*second, 0, openSeconds), make([]*second, 0, openSeconds)
		s.ready = make([]*second, 0, 2*openSeconds)
		s.ready = append(s.ready, newSecond(), newSecond())
	}
	return o
}

// lock takes the shard of worker, or one that is free when that one is not.
func (o *Op) lock(worker int) *shard {
	n := uint(len(o.shards))
	first := uint(worker) % n
	for i := range n {
		if s := &o.shards[(first+i)%n]; s.mu.TryLock() {
			return s
		}
	}
	s := &o.shards[first]
	s.mu.Lock()
	return s
}

// Record counts one operation, in the second in which it ended.
func (o *Op) Record(s Sample) {
	delay, service := max(s.Start-s.Intended, 0), max(s.End-s.Start, 0)
	sh := o.lock(s.Worker)
	sec := sh.second(s.End)
	switch s.Outcome {
	case record.OK:
		sec.ok++
	case record.InDoubt:
		sec.inDoubt++
	default:
		sec.failed++
	}
	if delay > record.LateAfter {
		sec.late++
	}
	sec.service.Add(service)
	sec.delay.Add(delay)
	sec.response.Add(response(&s))
	sec.kept.offer(&s, sh.rand)
	sh.mu.Unlock()
}

// Shed counts n operations that were due and never sent, in the second of this call.
func (o *Op) Shed(n uint64) {
	if n == 0 {
		return
	}
	now := o.rec.clock.Now()
	sh := o.lock(0)
	sh.second(now).shed += n
	sh.mu.Unlock()
}

// second is the open second that holds at. The caller holds the lock.
func (s *shard) second(at time.Duration) *second {
	at = max(at-at%time.Second, 0)
	if len(s.open) > 0 && s.open[0].at == at {
		return s.open[0]
	}
	return s.turn(at)
}

// turn makes the second that begins at at the first one, and opens it where it is not.
func (s *shard) turn(at time.Duration) *second {
	i := slices.IndexFunc(s.open, func(o *second) bool { return o.at == at })
	if i < 0 {
		if len(s.open) >= openSeconds {
			s.pack()
		}
		i = len(s.open)
		s.open = append(s.open, s.take())
		s.open[i].at = at
	}
	s.open[0], s.open[i] = s.open[i], s.open[0]
	return s.open[0]
}

// pack makes room in open: it moves the oldest second away, at the size of what it holds.
func (s *shard) pack() {
	i := 0
	for k, o := range s.open {
		if o.at < s.open[i].at {
			i = k
		}
	}
	old := s.open[i]
	small := &second{at: old.at, counts: old.counts, service: old.service.Clone(), delay: old.delay.Clone(), response: old.response.Clone()}
	if len(s.packed) < packedKept {
		small.kept, old.kept = old.kept, &kept{}
	}
	s.packed = append(s.packed, small)
	old.reset()
	s.ready = append(s.ready, old)
	s.open = slices.Delete(s.open, i, i+1)
}

func (s *shard) take() *second {
	if n := len(s.ready); n > 0 {
		sec := s.ready[n-1]
		s.ready = s.ready[:n-1]
		return sec
	}
	return newSecond()
}
