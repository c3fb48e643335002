package openapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"ibsm/api/openapi"
	"ibsm/api/openapi/openapitest"
	"ibsm/ctl"
	"ibsm/rights"
)

type (
	kinds struct { // has each form of a member
		Always   bool              `json:"always"`
		Maybe    int               `json:"maybe,omitempty"`
		Byte     uint8             `json:"byte"`
		Long     uint64            `json:"long"`
		Share    float64           `json:"share"`
		Text     order             `json:"text"`
		Time     time.Time         `json:"time"`
		ZeroTime time.Time         `json:"zero_time,omitempty"` // encoding/json writes it always
		NoTime   time.Time         `json:"no_time,omitzero"`
		List     []string          `json:"list"`
		Some     []string          `json:"some,omitempty"`
		Empty    []string          `json:"empty,omitzero"`
		Map      map[string]uint32 `json:"map"`
		Pointer  *leaf             `json:"pointer"`
		Leaf     *leaf             `json:"leaf,omitempty"`
		Number   *int              `json:"number"`
		Any      any               `json:"any"`
		Itself   []kinds           `json:"itself,omitempty"`
		inner
		Hidden int `json:"-"`
	}
	inner struct {
		Embedded int `json:"embedded"`
	}
	leaf struct {
		Name string `json:"name"`
	}
	order string
)

const kindsSchema = `{"type":"object","required":["always","byte","long","share","text","time","zero_time","list","map",
"pointer","number","any","embedded"],"properties":{
"always":{"type":"boolean"},
"maybe":{"type":"integer"},
"byte":{"type":"integer","minimum":0,"maximum":255},
"long":{"type":"integer","minimum":0},
"share":{"type":"number"},
"text":{"type":"string"},
"time":{"type":"string","format":"date-time"},
"zero_time":{"type":"string","format":"date-time"},
"no_time":{"type":"string","format":"date-time"},
"list":{"type":["array","null"],"items":{"type":"string"}},
"some":{"type":"array","items":{"type":"string"}},
"empty":{"type":"array","items":{"type":"string"}},
"map":{"type":["object","null"],"additionalProperties":{"type":"integer","minimum":0,"maximum":4294967295}},
"pointer":{"anyOf":[{"$ref":"#/components/schemas/OpenapiTestLeaf"},{"type":"null"}]},
"leaf":{"$ref":"#/components/schemas/OpenapiTestLeaf"},
"number":{"type":["integer","null"]},
"any":{},
"itself":{"type":"array","items":{"$ref":"#/components/schemas/OpenapiTestKinds"}},
"embedded":{"type":"integer"}}}`

func value(of any) ctl.Content { return ctl.Content{Type: "application/json", Of: of} }

// at is a part of a JSON value, by names.
func at(t *testing.T, text []byte, names ...string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		v = v.(map[string]any)[name]
	}
	return v
}

// TestTypes: the schema of a type is what encoding/json writes, and that of a body requires nothing.
func TestTypes(t *testing.T) {
	text, err := openapi.Document([]ctl.Route{
		{Method: "PUT", Path: "/a", Does: "x", Body: value(leaf{}), Reply: value(kinds{})}}, "1")
	if err != nil {
		t.Fatal(err)
	}
	got, want := at(t, text, "components", "schemas", "OpenapiTestKinds"), at(t, []byte(kindsSchema))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for name, want := range map[string]string{
		"OpenapiTestLeaf":     `{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`,
		"OpenapiTestLeafBody": `{"type":"object","properties":{"name":{"type":"string"}}}`,
	} {
		if got := at(t, text, "components", "schemas", name); !reflect.DeepEqual(got, at(t, []byte(want))) {
			t.Errorf("%s: got %v, want %s", name, got, want)
		}
	}
	// What encoding/json makes of the zero value, and of a full one, is valid.
	n, r := 5, openapitest.Recorder{}
	full := kinds{Maybe: 1, NoTime: time.Now(), List: []string{"a"}, Some: []string{}, Empty: []string{},
		Map: map[string]uint32{"a": 1}, Pointer: &leaf{}, Leaf: &leaf{}, Number: &n, Any: []int{1}, Itself: []kinds{{}}}
	for _, v := range []kinds{{}, full} {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Add(openapitest.Reply{Method: "PUT", Path: "/a", BodyType: "application/json", Body: []byte(`{}`),
			Status: 200, Type: "application/json", Reply: body})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.Check(t, text)
}

// TestForms: each form of a reply has its media type and schema.
func TestForms(t *testing.T) {
	const ref = `{"$ref":"#/components/schemas/OpenapiTestLeaf"}`
	or := ctl.Content{Type: "application/json", Of: leaf{}, Array: true,
		Or: &ctl.Content{Type: "application/json", Of: struct{}{}}}
	for _, c := range []struct {
		reply ctl.Content
		want  string
	}{
		{value(leaf{}), `{"application/json":{"schema":` + ref + `}}`},
		{ctl.Content{Type: "application/json", Of: leaf{}, List: "all"},
			`{"application/json":{"schema":{"type":"object","required":["all"],"properties":{"all":{"type":"array","items":` + ref + `}}}}}`},
		{ctl.Content{Type: "application/json", Of: "", List: "all", Head: leaf{}},
			`{"application/json":{"schema":{"type":"object","required":["name","all"],"properties":{"name":{"type":"string"},"all":{"type":"array","items":{"type":"string"}}}}}}`},
		{ctl.Content{Type: "application/json", Of: leaf{}, Array: true}, `{"application/json":{"schema":{"type":"array","items":` + ref + `}}}`},
		{ctl.Content{Type: "application/json", Of: leaf{}, Map: true},
			`{"application/json":{"schema":{"type":"object","additionalProperties":` + ref + `}}}`},
		{or, `{"application/json":{"schema":{"anyOf":[{"type":"array","items":` + ref + `},{"type":"object","properties":{}}]}}}`},
		{ctl.Content{Type: "text/plain; charset=utf-8"}, `{"text/plain":{"schema":{"type":"string"}}}`},
		{ctl.Content{Type: "application/gzip"}, `{"application/gzip":{}}`},
		{ctl.Content{Type: "application/x-ndjson", Of: leaf{}, Rows: true}, `{"application/x-ndjson":{"x-line":` + ref + `}}`},
	} {
		text, err := openapi.Document([]ctl.Route{{Method: "GET", Path: "/a", Does: "x", Reply: c.reply}}, "1")
		if err != nil {
			t.Fatal(err)
		}
		got := at(t, text, "paths", "/a", "get", "responses", "200", "content")
		if !reflect.DeepEqual(got, at(t, []byte(c.want))) {
			t.Errorf("got  %v\nwant %v", got, c.want)
		}
	}
}

// TestOperations: parameters, rights, statuses and names of a route.
func TestOperations(t *testing.T) {
	text, err := openapi.Document([]ctl.Route{
		{Method: "PUT", Path: "/v1/thing/{name}", Right: rights.ChangeOwn, Does: "makes a thing", Body: value(leaf{}),
			Params: []ctl.Param{{Name: "a", Text: "a number", Required: true}, {Name: "b", Many: true}}, Status: []int{200, 201},
			Reply: value(leaf{})},
		{Method: "GET", Path: "/rest/{path...}", Right: rights.Anyone, Does: "x", Status: []int{503},
			Reply: ctl.Content{Type: "text/plain"}},
	}, "7.1")
	if err != nil {
		t.Fatal(err)
	}
	put := []string{"paths", "/v1/thing/{name}", "put"}
	for _, c := range []struct {
		at   []string
		want string
	}{
		{[]string{"info", "version"}, `"7.1"`},
		{append(put, "operationId"), `"putV1ThingName"`},
		{append(put, "summary"), `"Makes a thing."`},
		{append(put, "x-right"), `"change own"`},
		{append(put, "security"), `null`},
		{append(put, "parameters"), `[{"name":"name","in":"path","required":true,"schema":{"type":"string"}},
			{"name":"a","in":"query","description":"a number","required":true,"schema":{"type":"string"}},
			{"name":"b","in":"query","description":"","schema":{"type":"array","items":{"type":"string"}}}]`},
		{append(put, "requestBody", "required"), `true`},
		{append(put, "responses", "409"), `{"$ref":"#/components/responses/Conflict"}`},
		{append(put, "responses", "201", "description"), `"Created"`},
		{[]string{"paths", "/rest/{path}", "get", "security"}, `[]`},
		{[]string{"paths", "/rest/{path}", "get", "responses", "401"}, `null`},
		{[]string{"paths", "/rest/{path}", "get", "responses", "503", "content"}, `{"text/plain":{"schema":{"type":"string"}}}`},
	} {
		if got := at(t, text, c.at...); !reflect.DeepEqual(got, at(t, []byte(c.want))) {
			t.Errorf("%v: got %v, want %s", c.at, got, c.want)
		}
	}
}

// ownJSON writes its JSON itself.
type ownJSON struct{}

func (ownJSON) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

// TestNotDescribed: what cannot be described is an error.
func TestNotDescribed(t *testing.T) {
	type unnamed struct{ Field int }
	type twice struct {
		A int `json:"a"`
		inner
		B int `json:"embedded"`
	}
	for _, c := range []struct {
		of   any
		says string
	}{
		{unnamed{}, "field Field has no name in JSON"},
		{twice{}, "has two fields embedded"},
		{ownJSON{}, "writes its JSON itself"},
		{struct {
			A func() `json:"a"`
		}{}, "has no schema"},
		{struct {
			A []byte `json:"a"`
		}{}, "has no schema"},
		{struct {
			A map[int]int `json:"a"`
		}{}, "has no schema"},
		{struct {
			A int `json:"a,string"`
		}{}, "has the option string"},
	} {
		text, err := openapi.Document([]ctl.Route{{Method: "GET", Path: "/a", Does: "x", Reply: value(c.of)}}, "1")
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "GET /a: ") {
			t.Errorf("%T: %s, %v, want %s", c.of, text, err, c.says)
		}
	}
	for says, second := range map[string]ctl.Route{"another route like it": {Method: "GET", Path: "/a/{x}"},
		"names of parameters": {Method: "PUT", Path: "/a/{y}"}} {
		second.Does = "x"
		_, err := openapi.Document([]ctl.Route{{Method: "GET", Path: "/a/{x}", Does: "x"}, second}, "1")
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", &second, err)
		}
	}
}

// TestServed: the description has all routes and its own, is the same each time, and is valid.
func TestServed(t *testing.T) {
	control := ctl.New(ctl.Config{})
	routes := control.Routes()
	var last []byte
	for range 3 {
		rt, err := openapi.Route(routes, "1", control.Fail)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", openapi.Path, nil)
		r = r.WithContext(rights.With(r.Context(), &rights.User{Role: rights.Tenant}))
		control.Patient(ctl.Guard{}.Handler(&rt)).ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" ||
			last != nil && !bytes.Equal(last, w.Body.Bytes()) {
			t.Errorf("status %d, %d bytes", w.Code, w.Body.Len())
		}
		last = w.Body.Bytes()
	}
	ids, operations := map[any]bool{}, 0
	for _, item := range at(t, last, "paths").(map[string]any) {
		for _, op := range item.(map[string]any) {
			ids[op.(map[string]any)["operationId"]] = true
			operations++
		}
	}
	if operations != len(routes)+1 || len(ids) != operations {
		t.Errorf("%d operations with %d IDs of %d routes", operations, len(ids), len(routes)+1)
	}
	new(openapitest.Recorder).Check(t, last)
}

// TestCheck: the validator finds what is wrong with a reply.
func TestCheck(t *testing.T) {
	text, err := openapi.Document([]ctl.Route{
		{Method: "GET", Path: "/a", Does: "x", Right: rights.Read, Reply: value(leaf{}),
			Params: []ctl.Param{{Name: "p", Required: true}}},
		{Method: "GET", Path: "/lines", Does: "x",
			Reply: ctl.Content{Type: "application/x-ndjson", Of: leaf{}, Rows: true}},
	}, "1")
	if err != nil {
		t.Fatal(err)
	}
	const js, failure = "application/json", `{"error":"x"}`
	var valid, wrong openapitest.Recorder
	var said []string
	for _, c := range []struct {
		method, path string
		status       int
		media, reply string
		says         string // "" for a valid reply
	}{
		{"GET", "/a?p=1", 200, js, `{"name":"x"}`, ""},
		{"GET", "/a?p=1", 404, js, failure, ""},
		{"GET", "/a", 400, js, failure, ""},
		{"GET", "/none", 404, js, failure, ""},
		{"POST", "/a", 405, js, failure, ""},
		{"GET", "/lines", 200, "application/x-ndjson", "{\"name\":\"x\"}\n{\"name\":\"y\"}\n", ""},
		{"GET", "/a", 200, js, `{"name":"x"}`, "'p' is missing"},
		{"GET", "/a?p=1", 200, js, `{"name":1}`, "want string"},
		{"GET", "/a?p=1", 200, js, `{}`, "name"},
		{"GET", "/a?p=1", 200, js, `{"name":"x","more":1}`, "more"},
		{"GET", "/a?p=1", 200, "text/plain", `{"name":"x"}`, "text/plain"},
		{"GET", "/a?p=1", 418, js, failure, "418"},
		{"GET", "/a?p=1", 404, js, `{"message":"x"}`, "message"},
		{"GET", "/none", 200, js, failure, "not described"},
		{"GET", "/none", 404, js, `{"error":1}`, "want string"},
		{"get", "/a?p=1", 200, js, `{"name":"x"}`, "not described"},
		{"GET", "/lines", 200, "application/x-ndjson", "{\"name\":\"x\"}\n{\"nam\":\"y\"}\n", "nam"},
	} {
		r := &valid
		if c.says != "" {
			r = &wrong
			said = append(said, c.says)
		}
		err := r.Add(openapitest.Reply{Method: c.method, Path: c.path, Status: c.status, Type: c.media,
			Reply: []byte(c.reply)})
		if err != nil {
			t.Fatal(err)
		}
	}
	valid.Check(t, text)
	err = wrong.Validate(text)
	if err == nil || strings.Count(err.Error(), ", status ") != len(said) {
		t.Fatalf("of %d wrong replies: %v", len(said), err)
	}
	for i, report := range strings.Split(err.Error(), ", status ")[1:] {
		if !strings.Contains(report, said[i]) {
			t.Errorf("%q, want %q", report, said[i])
		}
	}
}

// TestConditions: the description has the headers by which a client changes what it has seen.
func TestConditions(t *testing.T) {
	text, err := openapi.Document(ctl.New(ctl.Config{}).Routes(), "1")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
			Responses  map[string]struct{ Headers map[string]any }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string][]string{"get": nil, "put": {"If-Match", "If-None-Match"},
		"patch": {"If-Match", "If-None-Match"}, "delete": {"If-Match", "If-None-Match"}} {
		op := document.Paths["/v1/partition/{name}"][method]
		var headers []string
		for _, p := range op.Parameters {
			if p.In == "header" {
				headers = append(headers, p.Name)
			}
		}
		if !reflect.DeepEqual(headers, want) || op.Responses["200"].Headers["ETag"] == nil {
			t.Errorf("%s: headers %q of requests, %v of replies", method, headers, op.Responses["200"].Headers)
		}
	}
}
