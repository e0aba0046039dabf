package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
)

func (d *door) faultCommand() *cli.Command {
	return command(&cli.Command{
		Name: "fault", Usage: "faults by hand, with a guardian that undoes them if nightshift dies",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the kinds of faults and whether they can run here", Flags: []cli.Flag{jsonFlag()}, Action: d.faultList},
			{Name: "inject", Usage: "inject one fault, hold it, undo it, and prove both", ArgsUsage: "KIND",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "target", Usage: "all servers of the ensemble: zookeeper=host:2181,host:2181"},
					&cli.StringFlag{Name: "node", Usage: "leader, follower, n1 (the first of --target), or an address"},
					&cli.DurationFlag{Name: "hold", Value: 5 * time.Second, Usage: "how long it stays in effect"},
					&cli.DurationFlag{Name: "within", Value: 30 * time.Second, Usage: "limit for healing"}, jsonFlag(),
				}, Action: d.faultInject},
			{Name: "heal", Usage: "the same as `nightshift heal`", ArgsUsage: "[RUN]", Action: d.heal},
		},
	})
}

func (d *door) faultList(c *cli.Context) error {
	if _, err := arguments(c, 0, 0, ""); err != nil {
		return err
	}
	infos := night.Faults()
	if c.Bool("json") {
		return d.printJSON(map[string]any{"faults": infos})
	}
	for _, i := range infos {
		state := "available"
		if !i.Available {
			state = "not here: " + i.Reason
		}
		if _, err := fmt.Fprintf(d.out, "%-10s %-10s %-12s %s\n", i.Kind, i.Class, state, i.Purpose); err != nil {
			return err
		}
	}
	return nil
}

func (d *door) faultInject(c *cli.Context) error {
	args, err := arguments(c, 1, 1, "a KIND")
	if err != nil {
		return err
	}
	if c.String("target") == "" || c.String("node") == "" {
		return usagef("fault inject needs --target and --node, so that it can't hit what you did not mean; %s", seeHelp(c))
	}
	o := night.InjectOptions{Kind: args[0], Target: c.String("target"), Node: c.String("node"), Hold: c.Duration("hold"), Limit: c.Duration("within")}
	f, err := night.Inject(c.Context, o, d.err)
	if c.Bool("json") && f.ID != "" {
		if jerr := d.printJSON(f); err == nil {
			err = jerr
		}
	}
	switch {
	case f.Error != "" && err != nil:
		return failure{err}
	case err == nil && c.Context.Err() != nil:
		return codeError(exitInterrupted) // undone all the same, and proven so
	}
	return err
}

func (d *door) healCommand() *cli.Command {
	return command(&cli.Command{
		Name: "heal", Usage: "undo what a killed run left; without RUN: faults that were injected by hand", ArgsUsage: "[RUN]", Action: d.heal,
	})
}

func (d *door) heal(c *cli.Context) error {
	args, err := arguments(c, 0, 1, "")
	if err != nil {
		return err
	}
	dir := ""
	if len(args) == 1 {
		dir = args[0]
	}
	return night.Heal(c.Context, dir, d.out)
}

func (d *door) guardianCommand() *cli.Command {
	return command(&cli.Command{Name: "guardian", Hidden: true, Action: func(c *cli.Context) error {
		args, err := arguments(c, 1, 1, "a journal")
		if err != nil {
			return err
		}
		return night.Guardian(args[0])
	}})
}
