package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
	"nightshift/soak/report"
)

func planFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "for", Usage: "run for this long, as in 8h", DefaultText: "what the plan says"},
		&cli.Uint64Flag{Name: "seed", Usage: "seed of all chance; the same seed gives the same fault schedule", DefaultText: "the plan's, or drawn"},
		&cli.StringSliceFlag{Name: "target", Usage: "use an existing cluster: zookeeper=host:2181,host:2181 (consents to load)"},
		&cli.StringSliceFlag{Name: "allow", Usage: "with --target: permit faults, purge, or faults,purge as well"},
		&cli.StringSliceFlag{Name: "set", Usage: "change the plan: knob=value or path=value, as in workloads[0].rate=200/s"},
	}
}

func planOptions(c *cli.Context, plan string) (night.Options, error) {
	o := night.Options{Plan: plan, Target: c.StringSlice("target")}
	o.Over.For, o.Over.Set = c.Duration("for"), c.StringSlice("set")
	if c.IsSet("for") && o.Over.For <= 0 {
		return o, usagef("--for %s: a run must be longer than that", o.Over.For)
	}
	if c.IsSet("seed") {
		o.Over.Seed = night.Seed(c.Uint64("seed"))
	}
	for _, a := range c.StringSlice("allow") {
		o.Allow = append(o.Allow, strings.Split(a, ",")...)
	}
	return o, nil
}

func (d *door) runCommand(hard context.Context) *cli.Command {
	return command(&cli.Command{
		Name: "run", Usage: "run a plan and judge the cluster", ArgsUsage: "PLAN",
		Description: "PLAN is a built-in plan (see `nightshift plans`) or a file. The run directory stays; `nightshift report` reads it again.",
		Flags: append(planFlags(),
			&cli.StringFlag{Name: "out", Usage: "directory of the run", DefaultText: "a new one below runs"},
			&cli.BoolFlag{Name: "quiet", Usage: "no live progress", DisableDefaultText: true}),
		Action: func(c *cli.Context) error { return d.run(hard, c) },
	})
}

func (d *door) run(hard context.Context, c *cli.Context) error {
	args, err := arguments(c, 1, 1, "a PLAN")
	if err != nil {
		return err
	}
	opts, err := planOptions(c, args[0])
	if err != nil {
		return err
	}
	o := night.RunOptions{Options: opts, Out: c.String("out"), Tool: version(), Replay: replay(os.Args), Progress: d.err}
	if c.Bool("quiet") {
		o.Progress = nil
	}
	o.Report = func(dir string) (int, error) {
		// Its own report is never one of a live run: a record without an end could not be written to the end.
		r, err := report.Load(context.WithoutCancel(c.Context), dir, nil)
		if err != nil {
			return exitInternal, err
		}
		fmt.Fprintln(d.out)
		return r.Verdict.Verdict.ExitCode(), r.Text(d.out)
	}
	res, err := night.Run(c.Context, hard, o)
	switch {
	case res.Interrupted:
		return codeError(exitInterrupted)
	case err != nil:
		return err
	case res.Code != exitPass:
		return codeError(res.Code)
	}
	return nil
}

// replay is the command line that runs the same again; the seed is added by the run, so it must be able to
// follow: no "--" is left in it.
func replay(args []string) string {
	out, words := []string{"nightshift"}, false
	for i := 1; i < len(args); i++ {
		a := args[i]
		option := !words && strings.HasPrefix(a, "-")
		name, _, whole := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case option && a == "--":
			words = true
		case option && (name == "seed" || name == "out"):
			if !whole {
				i++
			}
		case words && strings.HasPrefix(a, "-"):
			out = append(out, quoted("./"+a))
		default:
			out = append(out, quoted(a))
		}
	}
	return strings.Join(out, " ")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is a word as a shell reads it.
func quoted(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
