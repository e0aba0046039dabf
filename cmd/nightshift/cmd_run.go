package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
	"nightshift/soak/report"
)

func planFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "for", Usage: "run for this long instead of what the plan says, as in 8h"},
		&cli.Uint64Flag{Name: "seed", Usage: "seed of all chance; the same seed gives the same fault schedule"},
		&cli.StringSliceFlag{Name: "target", Usage: "use an existing cluster: zookeeper=host:2181,host:2181 (consents to load)"},
		&cli.StringSliceFlag{Name: "allow", Usage: "with --target: permit faults, purge, or faults,purge as well"},
		&cli.StringSliceFlag{Name: "set", Usage: "change the plan: knob=value or path=value, as in workloads[0].rate=200/s"},
	}
}

// planOptions takes the flags apart that cli has split at commas: addresses belong together.
func planOptions(c *cli.Context, plan string) night.Options {
	o := night.Options{Plan: plan, Allow: c.StringSlice("allow"), Target: regroup(c.StringSlice("target"))}
	o.Over.For, o.Over.Set = c.Duration("for"), regroup(c.StringSlice("set"))
	if c.IsSet("seed") {
		o.Over.Seed = night.Seed(c.Uint64("seed"))
	}
	return o
}

// regroup joins what follows a "name=" up to the next one, because cli splits at every comma.
func regroup(parts []string) []string {
	var out []string
	for _, p := range parts {
		if !strings.Contains(p, "=") && len(out) > 0 {
			out[len(out)-1] += "," + p
			continue
		}
		out = append(out, p)
	}
	return out
}

func (d *door) runCommand() *cli.Command {
	return command(&cli.Command{
		Name: "run", Usage: "run a plan and judge the cluster", ArgsUsage: "PLAN",
		Description: "PLAN is a built-in plan (see `nightshift plans`) or a file. The run directory stays; `nightshift report` reads it again.\n\n" + exitCodesHelp,
		Flags: append(planFlags(),
			&cli.StringFlag{Name: "out", Usage: "directory of the run (default: a new one below runs)"},
			&cli.BoolFlag{Name: "quiet", Usage: "no live progress"}),
		Action: d.run,
	})
}

func (d *door) run(c *cli.Context) error {
	args, err := arguments(c, 1, 1, "a PLAN")
	if err != nil {
		return err
	}
	o := night.RunOptions{Options: planOptions(c, args[0]), Out: c.String("out"), Tool: version(), Replay: replay(os.Args), Progress: d.err}
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
	res, err := night.Run(d.soft, d.hard, o)
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

// replay is the command line that runs the same again; the seed is added by the run.
func replay(args []string) string {
	out := "nightshift"
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--seed" || a == "-seed" || a == "--out" || a == "-out":
			i++
		case strings.HasPrefix(strings.TrimLeft(a, "-"), "seed=") || strings.HasPrefix(strings.TrimLeft(a, "-"), "out="):
		case strings.ContainsAny(a, " '\"$[]{}*?;&|<>()"):
			out += " '" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		default:
			out += " " + a
		}
	}
	return out
}
