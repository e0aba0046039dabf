package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestListsAreNeverNull(t *testing.T) {
	type row struct {
		Name  string    `json:"name"`
		List  []string  `json:"list"`
		At    time.Time `json:"at"`
		Any   any       `json:"any"`
		own   []string
		Place *int `json:"place"`
	}
	in := row{Name: "<a>", own: nil}
	var b bytes.Buffer
	d := &door{out: &b}
	if err := d.printJSON(map[string]any{"rows": []row{in, {List: []string{"x"}, Any: []int(nil)}}, "none": []row(nil), "raw": json.RawMessage(`{"a":null}`), "nil": nil}); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b.Bytes()); err != nil {
		t.Fatal(err)
	}
	want := `{"nil":null,"none":[],"raw":{"a":null},"rows":[` +
		`{"name":"<a>","list":[],"at":"0001-01-01T00:00:00Z","any":null,"place":null},{"name":"","list":["x"],"at":"0001-01-01T00:00:00Z","any":[],"place":null}]}`
	if compact.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", compact.String(), want)
	}
	if in.List != nil {
		t.Error("it changed what it prints")
	}
}
