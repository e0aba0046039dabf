package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// reorder puts options before arguments, because cli/v2 silently takes options after the first
// argument for arguments. What follows "--" stays an argument. Nothing is lost and nothing is added but a
// "--", with one exception: who asks for help gets the help of the command, whatever else is there.
func reorder(app *cli.App, args []string) ([]string, error) {
	rest := args[min(1, len(args)):]
	out := slices.Clone(args[:len(args)-len(rest)])
	cmds, flags := app.Commands, app.Flags
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		c := named(cmds, rest[0])
		if c == nil {
			break
		}
		out, rest = append(out, rest[0]), rest[1:]
		cmds, flags = c.Subcommands, c.Flags
	}
	var options, words []string
	parted := len(cmds) == 0
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case arg == "--":
			words, rest, parted = append(words, rest...), nil, true
		case len(arg) < 2 || arg[0] != '-':
			words = append(words, arg)
		case arg == "-h" || arg == "-help" || arg == "--help":
			return append(out, "--help"), nil
		default:
			options = append(options, arg)
			if !takesValue(flags, arg) {
				continue
			}
			if len(rest) == 0 || rest[0] == "--" {
				return nil, usagef("%s needs a value; see `%s --help`", arg, strings.Join(append([]string{app.Name}, out[min(1, len(out)):]...), " "))
			}
			options, rest = append(options, rest[0]), rest[1:]
		}
	}
	out = append(out, options...)
	if parted && len(words) > 0 {
		out = append(out, "--")
	}
	return append(out, words...), nil
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
