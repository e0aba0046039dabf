package config

// Node is a part of a YAML file that has not been decoded yet. The zero Node is an absent part.
type Node struct{}

// Parse reads one YAML document.
func Parse(src []byte) (Node, Problems) { panic("contract") }

// IsZero says that the part is absent.
func (n Node) IsZero() bool { panic("contract") }

// Decode fills into, a pointer to a struct, slice, map or scalar, and returns every problem:
// unknown keys (with the nearest known one), wrong types, bad values. Struct fields are named by
// their `yaml:"name"` tag; fields of type Node take their part as it is. What is absent stays as
// it was, so defaults are set before. Durations are written as 30s; types with UnmarshalText are
// read from the scalar's text.
func (n Node) Decode(into any) Problems { panic("contract") }

// Field is the value of a key of a mapping; zero when n is no mapping or lacks the key.
func (n Node) Field(key string) Node { panic("contract") }

// Items are the elements of a sequence.
func (n Node) Items() []Node { panic("contract") }

// Problemf is a problem at this place.
func (n Node) Problemf(format string, args ...any) Problem { panic("contract") }

// String is the YAML text of the part.
func (n Node) String() string { panic("contract") }
