// Package openapi describes routes in OpenAPI 3.1. The description is made from the table that requests are checked by,
// and from the Go types of bodies and replies.
package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/rights"
)

// Path is where the description is served.
const Path = "/openapi.json"

// object is a JSON object. Its members are written in the order of their names.
type object = map[string]any

// Route is the route that answers with the description of routes and of itself, to all users. The error is that of
// Document.
func Route(routes []ctl.Route, version string, fail func(http.ResponseWriter, error)) (ctl.Route, error) {
	rt := ctl.Route{Method: http.MethodGet, Path: Path, Right: rights.ReadOwn, Fail: fail,
		Does: "returns the description of these requests in OpenAPI 3.1", Reply: ctl.Content{Type: jsonType}}
	text, err := Document(append(slices.Clone(routes), rt), version)
	if err != nil {
		return rt, err
	}
	rt.Handle = func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", jsonType)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		for piece := range slices.Chunk(text, ctl.Piece) {
			if _, err := w.Write(piece); err != nil {
				panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
			}
		}
		return nil
	}
	return rt, nil
}

// Document is the description of routes, as JSON. Equal routes have equal descriptions. The error names a route, or a
// type, that cannot be described.
func Document(routes []ctl.Route, version string) ([]byte, error) {
	s := &schemas{named: object{}, types: map[string]typeAs{}}
	failure := s.of(typeOf(ctl.Failure{}), reply)
	paths, templates := object{}, map[string]string{}
	for i := range routes {
		rt := &routes[i]
		path, names := template(rt.Path)
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		method := strings.ToLower(rt.Method)
		if item[method] != nil {
			return nil, fmt.Errorf("%v: there is another route like it", rt)
		}
		bare := parameter.ReplaceAllString(path, "{}")
		if other := templates[bare]; other != "" && other != path {
			return nil, fmt.Errorf("%v: its path differs from %s by names of parameters alone", rt, other)
		}
		templates[bare] = path
		item[method] = s.operation(rt, names)
		if s.err != nil {
			return nil, fmt.Errorf("%v: %w", rt, s.err)
		}
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{"title": "ibsm", "version": version,
			"description": "The control protocol of an InfiniBand subnet manager, and calls of NVIDIA's UFM."},
		"servers":  []object{{"url": "/"}},
		"paths":    paths,
		"security": []object{{"basic": []string{}}, {"bearer": []string{}}, {"certificate": []string{}}},
		"components": object{
			"schemas":   s.named,
			"responses": failures(failure),
			"securitySchemes": object{
				"basic": object{"type": "http", "scheme": "basic",
					"description": "User and password, or a token as the user without a password."},
				"bearer":      object{"type": "http", "scheme": "bearer", "description": "A token."},
				"certificate": object{"type": "mutualTLS", "description": "A client certificate with the name of a user."},
			},
		},
	})
}

// parameter matches a parameter of a path. Three dots at its end stand for the rest of the path.
var parameter = regexp.MustCompile(`\{(\w+)(\.\.\.)?\}`)

// template is the path of a route as OpenAPI has it, and the names of its parameters.
func template(path string) (as string, names []string) {
	path = strings.TrimSuffix(path, "{$}") // nothing follows
	for _, m := range parameter.FindAllStringSubmatch(path, -1) {
		names = append(names, m[1])
	}
	return parameter.ReplaceAllString(path, "{$1}"), names
}

// operation is the description of a route.
func (s *schemas) operation(rt *ctl.Route, names []string) object {
	op := object{"operationId": operationID(rt), "summary": strings.ToUpper(rt.Does[:1]) + rt.Does[1:] + ".",
		"x-right": rt.Right.String(), "responses": s.responses(rt)}
	if rt.Right == rights.Anyone {
		op["security"] = []object{}
	}
	params := []any{}
	for _, name := range names {
		params = append(params,
			object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range rt.Params {
		schema := object{"type": "string"}
		if p.Many {
			schema = object{"type": "array", "items": schema}
		}
		in := object{"name": p.Name, "in": "query", "description": p.Text, "schema": schema}
		if p.Required {
			in["required"] = true
		}
		params = append(params, in)
	}
	if rt.Tagged && rt.Changes() {
		params = append(params, conditions...)
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	if rt.Body.Type != "" {
		op["requestBody"] = object{"required": rt.Body.Type == jsonType, "content": s.content(&rt.Body, body)}
	}
	return op
}

// operationID is a name of a route that programs can have: getV1PartitionName.
func operationID(rt *ctl.Route) string {
	id := strings.ToLower(rt.Method)
	for word := range strings.FieldsFuncSeq(rt.Path, func(c rune) bool { return strings.ContainsRune("/{}.-_", c) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// responses are the replies of a route.
func (s *schemas) responses(rt *ctl.Route) object {
	all := object{}
	for _, status := range failing(rt) {
		all[strconv.Itoa(status)] = object{"$ref": "#/components/responses/" + failureName(status)}
	}
	content := s.content(&rt.Reply, reply)
	status := rt.Status
	if status == nil {
		status = []int{http.StatusOK}
	}
	for _, code := range status {
		one := object{"description": http.StatusText(code), "content": content}
		if rt.Tagged {
			one["headers"] = object{"ETag": object{"schema": object{"type": "string"},
				"description": "The state of the partition, for If-Match; partitions of the file have none."}}
		}
		all[strconv.Itoa(code)] = one
	}
	return all
}

// conditions are the headers of requests that name the state which a partition must be in.
var conditions = []any{
	object{"name": "If-Match", "in": "header", "schema": object{"type": "string"},
		"description": `The ETag that the partition must have, such as "12".`},
	object{"name": "If-None-Match", "in": "header", "schema": object{"type": "string"},
		"description": "* for a partition that must not be there yet."},
}
