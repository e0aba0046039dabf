package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
)

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON", DisableDefaultText: true}
}

func (d *door) plansCommand() *cli.Command {
	return command(&cli.Command{
		Name: "plans", Usage: "list the built-in plans, or print one", ArgsUsage: "[NAME]",
		Flags:  []cli.Flag{jsonFlag()},
		Action: d.plans,
	})
}

func (d *door) plans(c *cli.Context) error {
	args, err := arguments(c, 0, 1, "")
	if err != nil {
		return err
	}
	if len(args) == 1 {
		name, src, err := night.PlanSource(args[0])
		switch {
		case err != nil:
			return err
		case c.Bool("json"):
			return d.printJSON(map[string]string{"name": name, "yaml": string(src)})
		}
		_, err = d.out.Write(src)
		return err
	}
	infos, err := night.Plans()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return d.printJSON(map[string]any{"plans": infos})
	}
	for _, i := range infos {
		if _, err := fmt.Fprintf(d.out, "%-24s %-8s %s\n", i.Name, i.For, i.Purpose); err != nil {
			return err
		}
	}
	return nil
}
