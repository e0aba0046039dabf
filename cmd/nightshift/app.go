package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
)

// door is what every command needs from outside.
type door struct {
	out, err io.Writer
	nothing  string // asked help for, and is no command
}

// run is main without the process: args to exit code. soft ends at the first interrupt, hard at the second.
func run(soft, hard context.Context, args []string, out, errw io.Writer) int {
	d := &door{out: out, err: errw}
	app := d.app(hard)
	args, err := reorder(app, args)
	if err == nil {
		err = app.RunContext(soft, args)
	}
	if err == nil && d.nothing != "" {
		err = usagef("there is no command %q; see `nightshift --help`", d.nothing)
	}
	if !told(err) {
		fmt.Fprintf(errw, "nightshift: %v\n", err)
	}
	return exitCode(err)
}

func (d *door) app(hard context.Context) *cli.App {
	return &cli.App{
		Name:                  "nightshift",
		Usage:                 "works the night shift on a cluster: load, faults, probes, clean-up, and a verdict in the morning",
		UsageText:             "nightshift COMMAND [options] [arguments]",
		CustomAppHelpTemplate: cli.AppHelpTemplate + "\n" + exitCodesHelp,
		Writer:                d.out, ErrWriter: d.err,
		Version:                   version(),
		ExitErrHandler:            func(*cli.Context, error) {}, // errors become exit codes in main, nowhere else
		OnUsageError:              onUsageError,
		Action:                    noCommand,
		CommandNotFound:           func(_ *cli.Context, name string) { d.nothing = name },
		DisableSliceFlagSeparator: true, // addresses and values hold commas
		Commands: []*cli.Command{
			d.runCommand(hard), d.plansCommand(), d.checkCommand(), d.labCommand(hard), d.faultCommand(), d.healCommand(),
			d.watchCommand(), d.janitorCommand(), d.reportCommand(), d.doctorCommand(), d.guardianCommand(),
		},
	}
}

// usageError is wrong use of the command line.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// onUsageError says in our words what cli could not parse.
func onUsageError(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if m := unknownOption.FindStringSubmatch(text); m != nil {
		text = "there is no option --" + m[1]
	} else if m := badValue.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("--%s can't be %s", m[2], m[1])
		for _, f := range c.Command.Flags {
			if form := forms[fmt.Sprintf("%T", f)]; form != "" && f.Names()[0] == m[2] {
				text += ": it is " + form
			}
		}
	}
	if n := name(c); n != c.App.Name {
		text = n + ": " + text
	}
	return usagef("%s; %s", text, seeHelp(c))
}

var (
	unknownOption = regexp.MustCompile(`^flag provided but not defined: -+(.+)$`)
	badValue      = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for(?: flag)? -+([^:]+): `)
)

// forms say what a kind of flag takes.
var forms = map[string]string{
	"*cli.DurationFlag": "a length of time, as in 90s or 8h", "*cli.IntFlag": "a number", "*cli.Uint64Flag": "a number that is not negative", "*cli.BoolFlag": "true or false",
}

// name is the command as it is typed, without the program.
func name(c *cli.Context) string {
	if n := strings.TrimPrefix(strings.TrimPrefix(c.Command.HelpName, c.App.Name), " "); n != "" {
		return n
	}
	return c.App.Name
}

func seeHelp(c *cli.Context) string {
	if n := name(c); n != c.App.Name {
		return fmt.Sprintf("see `%s %s --help`", c.App.Name, n)
	}
	return fmt.Sprintf("see `%s --help`", c.App.Name)
}

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
	c.CustomHelpTemplate = cli.CommandHelpTemplate + "\n" + exitCodesHelp
	if len(c.Subcommands) > 0 {
		c.CustomHelpTemplate = cli.SubcommandHelpTemplate + "\n" + exitCodesHelp
		c.Action = func(ctx *cli.Context) error {
			if ctx.Args().Present() {
				return usagef("unknown command %q; see `nightshift %s --help`", c.Name+" "+ctx.Args().First(), c.Name)
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
		return nil, usagef("%s needs %s; %s", name(c), what, seeHelp(c))
	case high >= 0 && len(args) > high:
		return nil, usagef("%s: nobody takes the argument %q; %s", name(c), args[high], seeHelp(c))
	}
	return args, nil
}
