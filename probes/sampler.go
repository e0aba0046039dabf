package probes

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// cost of a probe so far.
type cost struct {
	cpu, wall time.Duration
	samples   int
}

type answer struct {
	readings []Reading
	err      error
	cost     cost // total
}

// sampler runs Sample in a goroutine of its own: a read of a hung mount or of a process in trouble can't be
// interrupted, and the lane must go on saying so. The goroutine keeps its thread, whose CPU time is the cost.
type sampler struct {
	asks    chan context.Context
	answers chan answer
}

func newSampler(p Probe) *sampler {
	s := &sampler{asks: make(chan context.Context, 1), answers: make(chan answer, 1)}
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		defer close(s.answers)
		var c cost
		for ctx := range s.asks {
			begin, cpu := time.Now(), threadCPU()
			rs, err := safely(ctx, p)
			c.wall += time.Since(begin)
			c.cpu += threadCPU() - cpu
			c.samples++
			s.answers <- answer{readings: rs, err: err, cost: c}
		}
		if closer, ok := p.(io.Closer); ok {
			_ = closer.Close() // files that were only read from
		}
	}()
	return s
}

// ask wants a sample; its answer must have been taken before the next one.
func (s *sampler) ask(ctx context.Context) { s.asks <- ctx }

// leave tells the goroutine to end once its sample does.
func (s *sampler) leave() { close(s.asks) }

// join ends the goroutine and waits for it. Not to be called while a sample hangs.
func (s *sampler) join() {
	s.leave()
	<-s.answers
}

// safely turns a panic of a probe into an error: one bad line of a log must not end a night.
func safely(ctx context.Context, p Probe) (rs []Reading, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("sample %s: panic: %v\n%s", p.Name(), v, debug.Stack())
		}
	}()
	return p.Sample(ctx)
}

// threadCPU is the CPU time that this thread has used.
func threadCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
