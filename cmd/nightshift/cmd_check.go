package main

import (
	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
)

func (d *door) checkCommand() *cli.Command {
	return command(&cli.Command{
		Name: "check", Usage: "validate a plan and show all that it would do; starts nothing", ArgsUsage: "PLAN",
		Flags:  append(planFlags(), jsonFlag(), &cli.BoolFlag{Name: "yaml", Usage: "print the plan as it would run", DisableDefaultText: true}),
		Action: d.check,
	})
}

func (d *door) check(c *cli.Context) error {
	args, err := arguments(c, 1, 1, "a PLAN")
	if err != nil {
		return err
	}
	o, err := planOptions(c, args[0])
	if err != nil {
		return err
	}
	p, err := night.Check(c.Context, o)
	if err != nil {
		return err
	}
	switch {
	case c.Bool("yaml"):
		_, err = d.out.Write([]byte(p.YAML))
	case c.Bool("json"):
		err = d.printJSON(p)
	default:
		err = p.Text(d.out)
	}
	if err == nil && len(p.Missing) > 0 {
		return codeError(exitUnavailable)
	}
	return err
}
