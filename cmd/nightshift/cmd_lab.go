package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
)

func labFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "name", Value: "lab", Usage: "name of the lab"},
		&cli.StringFlag{Name: "dir", Usage: "directory of the lab", DefaultText: "in your state directory"},
	}
}

func (d *door) labCommand(hard context.Context) *cli.Command {
	return command(&cli.Command{
		Name: "lab", Usage: "real servers on this machine to play with",
		Subcommands: []*cli.Command{
			{Name: "up", Usage: "start servers; they end with this command, or with `lab down` when detached",
				Flags: append(labFlags(),
					&cli.IntFlag{Name: "nodes", Value: 3, Usage: "1 or 3"},
					&cli.StringFlag{Name: "version", Usage: "of ZooKeeper", DefaultText: "the one that is tested"},
					&cli.BoolFlag{Name: "split", Usage: "transaction logs in a directory of their own (dataLogDir)", DisableDefaultText: true},
					&cli.StringSliceFlag{Name: "set", Usage: "setting of the servers, as in snapCount=1000"},
					&cli.BoolFlag{Name: "detach", Usage: "return when they serve; a supervisor owns them until 'lab down'", DisableDefaultText: true}, jsonFlag()),
				Action: func(c *cli.Context) error { return d.labUp(hard, c) }},
			{Name: "down", Usage: "end a detached lab; its data stays", Flags: labFlags(), Action: d.labDown},
			{Name: "status", Usage: "ask a lab how it is", Flags: append(labFlags(), jsonFlag()), Action: d.labStatus},
			{Name: "supervise", Hidden: true, Action: d.labSupervise},
		},
	})
}

func (d *door) labUp(hard context.Context, c *cli.Context) error {
	if _, err := arguments(c, 0, 0, ""); err != nil {
		return err
	}
	o := night.LabOptions{Name: c.String("name"), Dir: c.String("dir"), Version: c.String("version"), Nodes: c.Int("nodes"),
		Split: c.Bool("split"), Set: c.StringSlice("set")}
	return night.LabUp(c.Context, hard, o, c.Bool("detach"), func(cl night.Cluster) error { return d.showCluster(c, cl) })
}

func (d *door) showCluster(c *cli.Context, cl night.Cluster) error {
	if c.Bool("json") {
		return d.printJSON(cl)
	}
	return night.ShowCluster(d.out, cl)
}

func (d *door) labDown(c *cli.Context) error {
	if _, err := arguments(c, 0, 0, ""); err != nil {
		return err
	}
	return night.LabDown(c.Context, c.String("name"), c.String("dir"))
}

func (d *door) labStatus(c *cli.Context) error {
	if _, err := arguments(c, 0, 0, ""); err != nil {
		return err
	}
	cl, err := night.LabStatus(c.Context, c.String("name"), c.String("dir"))
	if err != nil {
		return err
	}
	return d.showCluster(c, cl)
}

func (d *door) labSupervise(c *cli.Context) error {
	args, err := arguments(c, 1, 1, "a directory")
	if err != nil {
		return err
	}
	return night.LabSupervise(c.Context, args[0])
}
