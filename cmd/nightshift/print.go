package main

import (
	"encoding/json"
	"reflect"
)

// printJSON is the form of every listing for scripts. An empty list is [], never null.
func (d *door) printJSON(v any) error {
	e := json.NewEncoder(d.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(filled(reflect.ValueOf(v)).Interface())
}

// filled is a copy of v whose lists are not nil. What has its own JSON form keeps it.
func filled(v reflect.Value) reflect.Value {
	if !v.IsValid() || v.Type().Implements(marshaler) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := out.Field(i); f.CanSet() {
				f.Set(filled(f))
			}
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(filled(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for _, k := range v.MapKeys() {
			out.SetMapIndex(k, filled(v.MapIndex(k)))
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(filled(v.Elem()))
		}
	}
	return out
}

var marshaler = reflect.TypeFor[json.Marshaler]()
