package openapi

import (
	"reflect"
	"strings"
)

// structure is the schema of a struct.
func (s *schemas) structure(t reflect.Type, as direction) object {
	properties, required := object{}, []string(nil)
	for _, f := range s.fields(t) {
		if f.mayLack {
			properties[f.name] = s.withoutNull(f.of, as)
			continue
		}
		properties[f.name] = s.of(f.of, as)
		if as == reply {
			required = append(required, f.name)
		}
	}
	o := object{"type": "object", "properties": properties}
	if required != nil {
		o["required"] = required
	}
	return o
}

// withoutNull is the schema of a member that is left out where it would be null.
func (s *schemas) withoutNull(t reflect.Type, as direction) object {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return s.present(t, as)
	}
	return s.of(t, as)
}

// field is a member of a JSON object.
type field struct {
	name    string
	of      reflect.Type
	mayLack bool // it is left out where it has its zero value
}

// fields are the members that a struct has in JSON, those of embedded structs among them.
func (s *schemas) fields(t reflect.Type) (all []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			all = append(all, s.fields(f.Type)...)
		case f.Anonymous && name == "":
			s.fail("type %v embeds %v, which is not a struct", t, f.Type)
		case !f.IsExported():
		case name == "":
			s.fail("type %v: field %s has no name in JSON", t, f.Name)
		default:
			all = append(all, field{name, f.Type, isLeftOut(f.Type, options)})
			if options != "" && options != "omitempty" && options != "omitzero" {
				s.fail("type %v: field %s has the option %s", t, f.Name, options)
			}
		}
	}
	seen := map[string]bool{}
	for _, f := range all {
		if seen[f.name] {
			s.fail("type %v has two fields %s", t, f.name)
		}
		seen[f.name] = true
	}
	return all
}

// isLeftOut reports whether a field with options of encoding/json is left out where it has its zero value.
func isLeftOut(t reflect.Type, options string) bool {
	return options == "omitzero" ||
		options == "omitempty" && t.Kind() != reflect.Struct && t.Kind() != reflect.Array
}
