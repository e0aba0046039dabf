package janitor

import (
	"errors"
	"strings"
)

// What a caller may branch on.
var (
	// ErrWrongUse: the arguments do not name a server's data directories. The error carries a hint.
	ErrWrongUse = errors.New("wrong use")
	// ErrEmptyPolicy: the policy asks to keep nothing.
	ErrEmptyPolicy = errors.New("the policy is empty")
	// ErrRefused: the plan deletes nothing, because the promise could not be proven.
	ErrRefused = errors.New("refused")
	// ErrChanged: the directory is no longer what the plan was made for; scan and decide again.
	ErrChanged = errors.New("the directory has changed since the plan was made")
	// ErrLocked: another janitor works on the directory.
	ErrLocked = errors.New("another janitor works here")
)

// Error says which step failed on what, and what to do about it.
type Error struct {
	Op   string // verb and noun: "open data directory"
	Path string
	Err  error
	Hint string // what to do next; may be empty
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	b.WriteString(": " + e.Err.Error())
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// wrongUse is an Error that is ErrWrongUse.
func wrongUse(op, path, what, hint string) error {
	return &Error{Op: op, Path: path, Err: &misuse{what}, Hint: hint}
}

type misuse struct{ what string }

func (m *misuse) Error() string        { return m.what }
func (m *misuse) Is(target error) bool { return target == ErrWrongUse }
