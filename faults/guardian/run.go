package guardian

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"nightshift/faults"
)

// word is what the tool says when it ends in order.
const word = "done"

// Options of a guardian.
type Options struct {
	Journal string
	Host    faults.Host
	Log     io.Writer
	Poll    time.Duration // of the journal for what has outlived its life; 0: 1s
	Limit   time.Duration // for undoing after the tool's end; 0: faults.HealLimit
}

// Serve is what the hidden command runs: it guards the journal until the tool at the other end of stdin ends.
// Stops from a terminal or a session's end do not reach it, because it ends by itself as soon as nothing is left to
// guard.
func Serve(journal string) error {
	// Caught and not ignored: an ignored signal would stay ignored in a server that it has to start.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(caught)
	ready := os.NewFile(readyFD, "ready")
	if _, err := io.WriteString(ready, "ready\n"); err != nil {
		return fmt.Errorf("guardian: this command is started by nightshift itself: %w", err)
	}
	if err := ready.Close(); err != nil {
		return fmt.Errorf("guardian: %w", err)
	}
	return Run(os.Stdin, Options{Journal: journal, Host: faults.NewHost(), Log: os.Stdout})
}

// Run guards until stdin says done, then returns without acting, or ends without a word, then undoes all that is
// pending. Until then it reverts what has outlived its life. The error says what could not be undone.
func Run(stdin io.Reader, o Options) error {
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	if o.Limit == 0 {
		o.Limit = faults.HealLimit
	}
	g := &guard{Options: o, reader: faults.NewReader(o.Journal)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool, 1)
	go func() {
		done <- saysDone(stdin)
		cancel() // a revert under way must not hold up what follows
	}()
	g.watch(ctx)
	if <-done {
		return nil
	}
	g.say("the tool has ended without a word")
	h := faults.Healer{Host: o.Host, Limit: o.Limit, Say: g.say, Orphaned: true}
	if err := h.Heal(context.Background(), o.Journal); err != nil {
		g.say("not all could be undone: " + err.Error())
		return err
	}
	return nil
}

// saysDone reads to the end and says whether the tool ended in order.
func saysDone(stdin io.Reader) bool {
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		if lines.Text() == word {
			return true
		}
	}
	return false
}

// guard is a guardian on guard.
type guard struct {
	Options
	reader *faults.Reader
	last   string // error said last
}

// watch reverts what has outlived its life, until ctx ends.
func (g *guard) watch(ctx context.Context) {
	t := time.NewTicker(g.Poll)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		err := g.poll(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != g.last {
			g.last = err.Error()
			g.say(g.last)
		}
	}
}

func (g *guard) poll(ctx context.Context) error {
	if err := g.reader.Refresh(); err != nil {
		return err
	}
	return faults.Healer{Host: g.Host, Say: g.say}.RevertOverdue(ctx, g.reader)
}

// say writes one line to the log. Nobody could be told if that failed, and it must not stop the work.
func (g *guard) say(text string) {
	_, _ = fmt.Fprintf(g.Log, "%s %s\n", time.Now().UTC().Format(time.RFC3339Nano), text)
}
