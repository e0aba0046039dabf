package lab

import (
	"errors"
	"strings"
)

// ErrUnavailable matches every *Error: the lab can't be had here and now.
var ErrUnavailable = errors.New("lab is not available")

// Error is a failure to bring up or to reach a lab.
type Error struct {
	Op   string // what was tried, "find java"
	Path string // the file, directory or program it was tried on; may be empty
	Err  error
	Hint string // what to do next, a command where there is one; Error() ends with it
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	b.WriteString(": " + e.Err.Error())
	if e.Hint != "" {
		b.WriteString("\n  try: " + e.Hint)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes every *Error match ErrUnavailable.
func (e *Error) Is(target error) bool { return target == ErrUnavailable }
