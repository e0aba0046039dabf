package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
	"nightshift/soak/report"
)

func (d *door) reportCommand() *cli.Command {
	return command(&cli.Command{
		Name: "report", Usage: "judge a run again and show it; also one that is running or was killed", ArgsUsage: "RUN",
		Flags:  []cli.Flag{jsonFlag(), &cli.BoolFlag{Name: "exit-code", Usage: "make the verdict the exit code: 0 pass, 3 fail, 4 inconclusive, 6 aborted", DisableDefaultText: true}},
		Action: d.report,
	})
}

func (d *door) report(c *cli.Context) error {
	args, err := arguments(c, 1, 1, "a RUN directory")
	if err != nil {
		return err
	}
	r, err := report.Load(c.Context, args[0], night.Live)
	if errors.Is(err, report.ErrNoRun) {
		return usageError{err.Error()}
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = r.JSON(d.out)
	} else {
		err = r.Text(d.out)
	}
	if code := r.Verdict.Verdict.ExitCode(); err == nil && c.Bool("exit-code") && code != exitPass {
		return codeError(code)
	}
	return err
}
