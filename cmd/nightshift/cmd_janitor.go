package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"nightshift/janitor"
)

func (d *door) janitorCommand() *cli.Command {
	logDir := &cli.StringFlag{Name: "log-dir", Usage: "the server's dataLogDir, when it lies apart"}
	keep := &cli.IntFlag{Name: "keep", Usage: "whole snapshots to keep, at least 1"}
	return command(&cli.Command{
		Name: "janitor", Usage: "clean a ZooKeeper data directory without losing what recovery needs",
		Description: "DIR is the server's dataDir, the directory that holds version-2.",
		Subcommands: []*cli.Command{
			{Name: "plan", Usage: "say what would be deleted and why; deletes nothing", ArgsUsage: "DIR", Flags: []cli.Flag{keep, logDir, jsonFlag()},
				Action: func(c *cli.Context) error { return d.clean(c, false) }},
			{Name: "apply", Usage: "delete what `plan` says", ArgsUsage: "DIR", Flags: []cli.Flag{keep, logDir, jsonFlag()},
				Action: func(c *cli.Context) error { return d.clean(c, true) }},
			{Name: "verify", Usage: "say whether and to what state the directory can be restored", ArgsUsage: "DIR", Flags: []cli.Flag{logDir, jsonFlag()},
				Action: d.verify},
		},
	})
}

// exitRefused is the janitor's own no: not sure, or not restorable.
const exitRefused = exitFail

// home opens the directories of a command. Wrong use is usage.
func home(c *cli.Context) (*janitor.Home, error) {
	args, err := arguments(c, 1, 1, "a DIR")
	if err != nil {
		return nil, err
	}
	h, err := janitor.Open(args[0], c.String("log-dir"))
	if errors.Is(err, janitor.ErrWrongUse) {
		return nil, usageError{err.Error()}
	}
	return h, err
}

func (d *door) clean(c *cli.Context, apply bool) (err error) {
	if !c.IsSet("keep") || c.Int("keep") < 1 {
		return usagef("say how many snapshots to keep, as in --keep 3; an empty policy would be no policy")
	}
	h, err := home(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	inv, err := janitor.Scan(c.Context, h)
	if err != nil {
		return err
	}
	plan, err := janitor.Policy{Keep: c.Int("keep")}.Decide(inv, time.Now())
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = d.printJSON(plan)
	} else {
		err = showPlan(d.out, plan)
	}
	if err != nil {
		return err
	}
	if plan.Refused != "" {
		fmt.Fprintf(d.err, "nightshift: nothing is deleted: %s\n", plan.Refused)
		return codeError(exitRefused)
	}
	if !apply {
		return nil
	}
	return d.apply(c.Context, c.Bool("json"), plan, h)
}

func (d *door) apply(ctx context.Context, quiet bool, plan janitor.Plan, h *janitor.Home) error {
	res, err := plan.Apply(ctx, h, janitor.Pace{})
	if !quiet {
		fmt.Fprintf(d.out, "removed %d files, %s freed\n", len(res.Removed), size(res.Freed))
	}
	return err
}

func showPlan(w io.Writer, p janitor.Plan) error {
	for _, part := range []struct {
		verb  string
		items []janitor.Item
	}{{"keep", p.Keep}, {"remove", p.Remove}} {
		for _, it := range part.items {
			if _, err := fmt.Fprintf(w, "%-7s %10s  %s  (%s)\n", part.verb, size(it.Allocated), it.Path, it.Reason); err != nil {
				return err
			}
		}
	}
	for _, f := range p.Findings {
		if _, err := fmt.Fprintf(w, "finding %-16s %s: %s\n", f.Code, f.Path, f.Text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "keeps %d, removes %d, frees %s\n", len(p.Keep), len(p.Remove), size(p.Freed))
	return err
}

func (d *door) verify(c *cli.Context) (err error) {
	h, err := home(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	r, err := janitor.Verify(c.Context, h)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = d.printJSON(r)
	} else {
		err = showRestorable(d.out, r)
	}
	if err == nil && !r.Restorable {
		return codeError(exitRefused)
	}
	return err
}

func showRestorable(w io.Writer, r janitor.Restorable) error {
	state := "restorable to " + string(r.Zxid)
	if !r.Restorable {
		state = "NOT restorable to the newest state: " + r.Reason + "; the best there is: " + string(r.Zxid)
	}
	from := "from the logs alone"
	if r.Snapshot != "" {
		from = "from " + r.Snapshot
	}
	_, err := fmt.Fprintf(w, "%s, %s, %d restart points\n", state, from, r.RestartPoints)
	for _, f := range r.Findings {
		if err == nil {
			_, err = fmt.Fprintf(w, "finding %-16s %s: %s\n", f.Code, f.Path, f.Text)
		}
	}
	return err
}

func size(n int64) string {
	v, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
