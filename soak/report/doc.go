// Package report turns a record into words and tables. It reads only the run directory, so a live run, a
// finished one, a killed one and an old one print the same words.
//
// To add a section, write a func(*page) in its own file and name it in Text; for a new key of the JSON,
// add a field in json.go. Keys that are there stay.
package report
