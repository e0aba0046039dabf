package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"nightshift/janitor"
	"nightshift/soak/night"
)

func (d *door) janitorCommand() *cli.Command {
	logDir := &cli.StringFlag{Name: "log-dir", Usage: "the server's dataLogDir, when it lies apart"}
	keep := &cli.IntFlag{Name: "keep", Usage: "whole snapshots to keep, at least 1", DefaultText: "none: say how many"}
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

// home opens the directories of a command.
func home(c *cli.Context) (*janitor.Home, error) {
	args, err := arguments(c, 1, 1, "a DIR")
	if err != nil {
		return nil, err
	}
	return janitor.Open(args[0], c.String("log-dir"))
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
		return d.cleanJSON(c.Context, plan, h, apply)
	}
	if err = showPlan(d.out, plan); err != nil || !apply || plan.Refused != "" {
		return errors.Join(err, d.refused(plan))
	}
	res, err := plan.Apply(c.Context, h, janitor.Pace{})
	fmt.Fprintf(d.out, "removed %d files, %s freed\n", len(res.Removed), night.Bytes(res.Freed))
	return err
}

// cleanJSON prints the plan, or when it is applied what became of it, in the same shape.
func (d *door) cleanJSON(ctx context.Context, plan janitor.Plan, h *janitor.Home, apply bool) error {
	if !apply {
		return errors.Join(d.printJSON(plan), d.refused(plan))
	}
	var res janitor.Result
	var err error
	if plan.Refused == "" {
		res, err = plan.Apply(ctx, h, janitor.Pace{})
	}
	return errors.Join(err, d.printJSON(applied(plan, res)), d.refused(plan))
}

// applied is the plan as it was carried out: what was not removed after all is kept.
func applied(plan janitor.Plan, res janitor.Result) janitor.Plan {
	settled := map[string]bool{}
	for _, it := range res.Removed {
		settled[it.Path] = true
	}
	for _, path := range res.Gone {
		settled[path] = true // somebody else was faster
	}
	for _, it := range plan.Remove {
		if !settled[it.Path] {
			it.Reason = "not removed: stopped before; " + it.Reason
			plan.Keep = append(plan.Keep, it)
		}
	}
	plan.Remove, plan.Freed = res.Removed, res.Freed
	return plan
}

// refused says on the side why a plan deletes nothing, also where the plan itself goes to a script.
func (d *door) refused(plan janitor.Plan) error {
	if plan.Refused == "" {
		return nil
	}
	fmt.Fprintf(d.err, "nightshift: nothing is deleted: %s\n", plan.Refused)
	return codeError(exitRefused)
}

func showPlan(w io.Writer, p janitor.Plan) error {
	for _, part := range []struct {
		verb  string
		items []janitor.Item
	}{{"keep", p.Keep}, {"remove", p.Remove}} {
		for _, it := range part.items {
			if _, err := fmt.Fprintf(w, "%-7s %10s  %s  (%s)\n", part.verb, night.Bytes(it.Allocated), it.Path, it.Reason); err != nil {
				return err
			}
		}
	}
	for _, f := range p.Findings {
		if _, err := fmt.Fprintf(w, "finding %-16s %s: %s\n", f.Code, f.Path, f.Text); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "keeps %d, removes %d, frees %s\n", len(p.Keep), len(p.Remove), night.Bytes(p.Freed))
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
