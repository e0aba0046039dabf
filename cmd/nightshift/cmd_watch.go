package main

import (
	"encoding/json"
	"time"

	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
)

func (d *door) watchCommand() *cli.Command {
	return command(&cli.Command{
		Name: "watch", Usage: "what ZooKeeper data directories hold, grow by, and when the disk is full", ArgsUsage: "DIR...",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "every", Value: 10 * time.Second, Usage: "time between two looks"},
			&cli.IntFlag{Name: "count", Usage: "number of looks", DefaultText: "until interrupted"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object a line", DisableDefaultText: true},
		},
		Action: d.watch,
	})
}

func (d *door) watch(c *cli.Context) error {
	dirs, err := arguments(c, 1, -1, "a DIR")
	if err != nil {
		return err
	}
	if c.IsSet("count") && c.Int("count") < 1 {
		return usagef("watch: --count must be at least 1; without it, watch looks until it is interrupted")
	}
	lines := json.NewEncoder(d.out)
	return night.Watch(c.Context, dirs, c.Duration("every"), c.Int("count"), func(u night.DirUsage) error {
		if c.Bool("json") {
			return lines.Encode(u)
		}
		return night.ShowUsage(d.out, u)
	})
}
