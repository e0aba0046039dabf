package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// reorder puts options before arguments, because cli/v2 silently takes options after the first
// argument for arguments. What follows "--" stays an argument.
func reorder(app *cli.App, args []string) []string {
	out, cmds, flags := args[:min(1, len(args)):min(1, len(args))], app.Commands, app.Flags
	rest := args[len(out):]
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		c := named(cmds, rest[0])
		if c == nil {
			break
		}
		out, rest = append(out, rest[0]), rest[1:]
		cmds, flags = c.Subcommands, c.Flags
	}
	var options, words []string
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case arg == "--":
			words, rest = append(words, rest...), nil
		case len(arg) < 2 || arg[0] != '-':
			words = append(words, arg)
		default:
			options = append(options, arg)
			if takesValue(flags, arg) && len(rest) > 0 {
				options, rest = append(options, rest[0]), rest[1:]
			}
		}
	}
	out = append(out, options...)
	if len(words) > 0 && len(cmds) == 0 {
		out = append(out, "--")
	}
	return append(out, words...)
}

func named(cmds []*cli.Command, name string) *cli.Command {
	for _, c := range cmds {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func takesValue(flags []cli.Flag, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				_, isBool := f.(*cli.BoolFlag)
				return !isBool
			}
		}
	}
	return false
}
