package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

// door is what every command needs from outside.
type door struct {
	soft, hard context.Context // end at the first and at the second interrupt
	out, err   io.Writer
}

// run is main without the process: args to exit code.
func run(soft, hard context.Context, args []string, out, errw io.Writer) int {
	d := &door{soft: soft, hard: hard, out: out, err: errw}
	app := d.app()
	err := app.RunContext(soft, reorder(app, args))
	var code codeError
	if err != nil && !errors.As(err, &code) {
		fmt.Fprintf(errw, "nightshift: %v\n", err)
	}
	return exitCode(err)
}

func (d *door) app() *cli.App {
	return &cli.App{
		Name:                  "nightshift",
		Usage:                 "works the night shift on a cluster: load, faults, probes, clean-up, and a verdict in the morning",
		UsageText:             "nightshift COMMAND [options] [arguments]",
		CustomAppHelpTemplate: cli.AppHelpTemplate + "\n" + exitCodesHelp,
		Writer:                d.out, ErrWriter: d.err,
		HideVersion:     false,
		Version:         version(),
		ExitErrHandler:  func(*cli.Context, error) {}, // errors become exit codes in main, nowhere else
		OnUsageError:    onUsageError,
		Action:          noCommand,
		CommandNotFound: nil,
		Commands: []*cli.Command{
			d.runCommand(), d.plansCommand(), d.checkCommand(), d.labCommand(), d.faultCommand(), d.healCommand(),
			d.watchCommand(), d.janitorCommand(), d.reportCommand(), d.doctorCommand(), d.guardianCommand(),
		},
	}
}

// usageError is wrong use of the command line.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

func onUsageError(_ *cli.Context, err error, _ bool) error { return usageError{err.Error()} }

// noCommand is reached when no command matched.
func noCommand(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("unknown command %q; see `%s --help`", c.Args().First(), c.App.Name)
	}
	return cli.ShowAppHelp(c)
}

// command fills in what all commands share. args names the arguments: "PLAN", "[RUN]", "DIR...".
func command(c *cli.Command) *cli.Command {
	c.OnUsageError = onUsageError
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = func(ctx *cli.Context) error {
			if ctx.Args().Present() {
				return usagef("unknown command %q; see `nightshift %s --help`", ctx.Args().First(), c.Name)
			}
			return cli.ShowSubcommandHelp(ctx)
		}
	}
	for _, s := range c.Subcommands {
		command(s)
	}
	return c
}

// arguments takes between low and high arguments and refuses the rest; high -1 is any number.
func arguments(c *cli.Context, low, high int, what string) ([]string, error) {
	args := c.Args().Slice()
	switch {
	case len(args) < low:
		return nil, usagef("%s needs %s; see `nightshift %s --help`", c.Command.FullName(), what, c.Command.FullName())
	case high >= 0 && len(args) > high:
		return nil, usagef("%s: nobody takes the argument %q; see `nightshift %s --help`", c.Command.FullName(), args[high], c.Command.FullName())
	}
	return args, nil
}
