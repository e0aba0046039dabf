package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"nightshift/soak/night"
)

func (d *door) doctorCommand() *cli.Command {
	return command(&cli.Command{
		Name: "doctor", Usage: "what this host can do; changes nothing", Flags: []cli.Flag{jsonFlag()}, Action: d.doctor,
	})
}

func (d *door) doctor(c *cli.Context) error {
	if _, err := arguments(c, 0, 0, ""); err != nil {
		return err
	}
	abilities := night.Doctor(c.Context)
	if c.Bool("json") {
		return d.printJSON(map[string]any{"abilities": abilities})
	}
	for _, a := range abilities {
		state := "yes"
		if !a.OK {
			state = "NO"
		}
		if _, err := fmt.Fprintf(d.out, "%-4s %-16s %s\n     %-16s for: %s\n", state, a.Name, a.Text, "", a.Needed); err != nil {
			return err
		}
	}
	return nil
}
