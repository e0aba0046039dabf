// Package config reads YAML strictly and reports every problem at once, each with its line and column.
// Rooms receive their part of a plan as a Node and decode it into their own structs.
package config
