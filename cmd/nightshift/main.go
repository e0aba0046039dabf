// Command nightshift works the night shift on a cluster: load, faults, probes, janitor, verdict.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"nightshift/soak/night"
)

func main() {
	soft, hard, stop := signals()
	code := run(soft, hard, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// signals returns a context that ends at the first interrupt and one that ends at the second. A few seconds
// after the second one the process exits whatever it does: the guardian and the kernel undo what is left.
func signals() (soft, hard context.Context, stop func()) {
	soft, cancelSoft := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ch
		fmt.Fprintln(os.Stderr, "\ninterrupted: faults are being undone, then the report; interrupt again to quit at once")
		cancelSoft()
		<-ch
		cancelHard()
		time.Sleep(2 * time.Second)
		os.Exit(exitInterrupted)
	}()
	return soft, hard, func() { signal.Stop(ch); cancelSoft(); cancelHard() }
}

// Exit codes, the same for every command. Verdicts of a run come as a verdictError.
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

// exitCode is the one place where errors become exit codes.
func exitCode(err error) int {
	var code codeError
	var usage usageError
	switch {
	case err == nil:
		return exitPass
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage), errors.Is(err, night.ErrUsage):
		return exitUsage
	case errors.Is(err, night.ErrUnavailable):
		return exitUnavailable
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitInternal
}
