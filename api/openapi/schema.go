package openapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"
	"time"

	"ibsm/ctl"
)

// jsonType is the media type of JSON.
const jsonType = "application/json"

// direction is what a type describes.
type direction uint8

const (
	reply direction = iota
	body            // without required members: what a body leaves out has a default
)

// typeAs is a type in a direction.
type typeAs struct {
	reflect.Type
	direction
}

// schemas are the schemas with names that others need. err is the first error.
type schemas struct {
	named object
	types map[string]typeAs // by name
	err   error
}

func typeOf(v any) reflect.Type { return reflect.TypeOf(v) }

// content is the description of a body or a reply, by media type.
func (s *schemas) content(c *ctl.Content, as direction) object {
	all := object{}
	for ; c != nil; c = c.Or {
		media, _, _ := strings.Cut(c.Type, ";")
		next := s.media(c, as)
		if other, is := all[media].(object); is {
			next = object{"schema": object{"anyOf": []any{other["schema"], next["schema"]}}}
		}
		all[media] = next
	}
	return all
}

// media is the description of one form of a body or a reply.
func (s *schemas) media(c *ctl.Content, as direction) object {
	switch {
	case c.Rows:
		return object{"x-line": s.of(typeOf(c.Of), as)} // OpenAPI 3.1 has no word for it
	case strings.HasPrefix(c.Type, "text/"):
		return object{"schema": object{"type": "string"}}
	case c.Of == nil && (c.Type == jsonType || strings.HasPrefix(c.Type, "multipart/")):
		return object{"schema": object{"type": "object", "additionalProperties": true}}
	case c.Of == nil:
		return object{} // bytes
	}
	schema := s.of(typeOf(c.Of), as)
	switch {
	case c.List != "":
		schema = s.list(c, schema)
	case c.Array:
		schema = object{"type": "array", "items": schema}
	case c.Map:
		schema = object{"type": "object", "additionalProperties": schema}
	}
	return object{"schema": schema}
}

// list is an object with the members of a head and a list.
func (s *schemas) list(c *ctl.Content, element object) object {
	o := object{"type": "object", "properties": object{}}
	if c.Head != nil {
		o = s.structure(typeOf(c.Head), reply)
	}
	o["properties"].(object)[c.List] = object{"type": "array", "items": element}
	required, _ := o["required"].([]string)
	o["required"] = append(required, c.List)
	return o
}

var (
	timeType      = typeOf(time.Time{})
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
)

// of is the schema of a type, as encoding/json writes it.
func (s *schemas) of(t reflect.Type, as direction) object {
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t.Implements(textType) && !t.Implements(marshalerType):
		return object{"type": "string"}
	case t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType) ||
		reflect.PointerTo(t).Implements(textType):
		return s.fail("type %v writes its JSON itself", t)
	}
	switch schema := s.present(t, as); t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return s.orNull(schema, as)
	default:
		return schema
	}
}

// present is the schema of a type without null.
func (s *schemas) present(t reflect.Type, as direction) object {
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return object{"type": "integer", "minimum": 0, "maximum": uint64(1)<<t.Bits() - 1}
	case reflect.Uint, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Interface:
		return object{} // anything
	case reflect.Pointer:
		return s.of(t.Elem(), as)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			break // encoding/json writes a text
		}
		return object{"type": "array", "items": s.of(t.Elem(), as)}
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			break
		}
		return object{"type": "object", "additionalProperties": s.of(t.Elem(), as)}
	case reflect.Struct:
		return s.reference(t, as)
	}
	return s.fail("type %v has no schema", t)
}

func (s *schemas) fail(format string, args ...any) object {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
	return object{}
}

// orNull is a schema that null matches, too. A body leaves out what is null.
func (s *schemas) orNull(schema object, as direction) object {
	if as == body {
		return schema
	}
	switch of := schema["type"].(type) {
	case string:
		schema["type"] = []string{of, "null"}
	case nil:
		if schema["$ref"] != nil {
			return object{"anyOf": []object{schema, {"type": "null"}}}
		}
	}
	return schema
}

// plainName matches what names of schemas consist of.
var plainName = regexp.MustCompile(`^[A-Za-z0-9]+$`)

// reference refers to the schema of a struct, which has a name.
func (s *schemas) reference(t reflect.Type, as direction) object {
	if t.Name() == "" {
		return s.structure(t, as)
	}
	name := nameOf(t, as)
	if !plainName.MatchString(name) {
		return s.fail("type %v has no name that a schema can have", t)
	}
	switch other, is := s.types[name]; {
	case !is:
		s.types[name] = typeAs{t, as} // first: a type may contain itself
		s.named[name] = s.structure(t, as)
	case other != typeAs{t, as}:
		return s.fail("types %v and %v have the same name %s", other.Type, t, name)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// TypeName is the name of the schema of a value's type in replies; "" if it has none.
func TypeName(of any) string {
	if t := typeOf(of); t.Kind() == reflect.Struct && t.Name() != "" {
		return nameOf(t, reply)
	}
	return ""
}

// nameOf is the name of the schema of a type: for types of other packages than ctl with the package before it, and for
// bodies with Body behind it.
func nameOf(t reflect.Type, as direction) string {
	name, before := capital(t.Name()), ""
	if pkg := path.Base(t.PkgPath()); pkg != "ctl" {
		for word := range strings.SplitSeq(pkg, "_") {
			before += capital(word)
		}
	}
	if as == body {
		name += "Body"
	}
	return before + name
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
