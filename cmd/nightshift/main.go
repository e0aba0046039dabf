// Command nightshift works the night shift on a cluster: load, faults, probes, janitor, verdict.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"nightshift/janitor"
	"nightshift/soak/night"
)

func main() {
	soft, hard, stop := signals()
	code := run(soft, hard, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// signals returns a context that ends at the first interrupt, or when the terminal goes away, and one that ends
// at the second interrupt. A few seconds after the second one the process exits whatever it does: the guardian
// and the kernel undo what is left.
func signals() (soft, hard context.Context, stop func()) {
	soft, cancelSoft := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	gone := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) { // nohup asks to go on
		signal.Notify(gone, syscall.SIGHUP)
	}
	// Who reads along may leave, as `| head` and a lost `tee` do: that is an error of the write, not the end of a night.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		select {
		case <-ch:
		case <-gone: // shell and kernel may both say so: it counts once
		}
		fmt.Fprintln(os.Stderr, "\ninterrupted: what has begun is being undone and ended; interrupt again to quit at once")
		cancelSoft()
		<-ch
		cancelHard()
		time.Sleep(2 * time.Second)
		os.Exit(exitInterrupted)
	}()
	return soft, hard, func() { signal.Stop(ch); signal.Stop(gone); cancelSoft(); cancelHard() }
}

// Exit codes, the same for every command.
const (
	exitPass         = 0
	exitInternal     = 1
	exitUsage        = 2
	exitFail         = 3
	exitInconclusive = 4
	exitUnavailable  = 5
	exitAborted      = 6
	exitInterrupted  = 130
)

const exitCodesHelp = `EXIT CODES:
   0 pass, or done   1 internal error   2 wrong usage or invalid plan   3 fail, or refused by the janitor
   4 inconclusive    5 lab or target not available, or refused before the start
   6 aborted         130 interrupted
`

// codeError is an error whose text has been shown already, or needs none, with its exit code.
type codeError int

func (e codeError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// failure is an error that says no to what was asked: not done, and nothing is wrong with nightshift or its use.
type failure struct{ error }

func (e failure) Unwrap() error { return e.error }

// told says that there is nothing left to say of an error: its text has been shown.
func told(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it looks at each part, not for any
	case nil, codeError:
		return true
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(part error) bool { return !told(part) })
	}
	return false
}

// exitCode is the one place where errors become exit codes.
func exitCode(err error) int {
	var code codeError
	var usage usageError
	var fail failure
	switch {
	case err == nil:
		return exitPass
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage), errors.Is(err, night.ErrUsage), errors.Is(err, janitor.ErrWrongUse):
		return exitUsage
	case errors.Is(err, night.ErrUnavailable), errors.Is(err, janitor.ErrLocked):
		return exitUnavailable
	case errors.As(err, &fail), errors.Is(err, janitor.ErrChanged):
		return exitFail
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitInternal
}
