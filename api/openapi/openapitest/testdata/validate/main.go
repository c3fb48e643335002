// Command validate checks a description in OpenAPI, and replies against it. It uses a validator that knows nothing of
// this project.
//
// Its argument is the file of the description. Its standard input is replies, as openapitest.Reply. It prints what is
// wrong, and ends with status 1 if anything is.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/pb33f/jsonschema/v6"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	wrong "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/paths"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// reply is a request and its reply.
type reply struct {
	Method, Path string // with the query
	BodyType     string
	Body         []byte
	Status       int
	Type         string
	Reply        []byte
	Lenient      bool // the request is not checked
}

// checker checks replies.
type checker struct {
	validator.Validator
	model   *v3.Document
	schemas *jsonschema.Compiler
}

func main() {
	c, err := open(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	failed := false
	in := json.NewDecoder(os.Stdin)
	for {
		var r reply
		err := in.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = c.check(&r)
		}
		if err != nil {
			failed = true
			fmt.Printf("%s %s, status %d: %v\n\t%.300s\n", r.Method, r.Path, r.Status, err, r.Reply)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// open reads a description, and checks it.
func open(name string) (*checker, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if _, err := newChecker(text); err != nil {
		return nil, err
	}
	// Replies have no member that is not described, though clients have to accept some: later versions may add them.
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	closeObjects(value)
	if text, err = json.Marshal(value); err != nil {
		return nil, err
	}
	c, err := newChecker(text)
	if err != nil {
		return nil, err
	}
	c.schemas = jsonschema.NewCompiler()
	c.schemas.AssertFormat()
	return c, c.schemas.AddResource("openapi.json", value)
}

// newChecker checks a description.
func newChecker(text []byte) (*checker, error) {
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	c := &checker{}
	var errs []error
	c.Validator, errs = validator.NewValidator(doc, config.WithFormatAssertions(), config.WithoutSecurityValidation())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if _, problems := c.ValidateDocument(); problems != nil {
		return nil, join(problems)
	}
	model, err := doc.BuildV3Model()
	if err != nil {
		return nil, err
	}
	c.model = &model.Model
	return c, nil
}

// closeObjects has schemas of objects match no other members than they describe.
func closeObjects(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, is := value["properties"]; is && value["type"] != nil && value["additionalProperties"] == nil {
			value["additionalProperties"] = false
		}
		for _, member := range value {
			closeObjects(member)
		}
	case []any:
		for _, element := range value {
			closeObjects(element)
		}
	}
}

// check is what is wrong with a reply, and with the request where it was taken.
func (c *checker) check(r *reply) error {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	request, err := http.NewRequest(method, "https://ibsm"+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", r.BodyType)
	item, _, _ := paths.FindPath(request, c.model, nil)
	if item == nil || operation(item, method) == nil {
		return c.unserved(r)
	}
	if r.Method == http.MethodHead {
		return nil
	}
	if r.Status < http.StatusBadRequest && !r.Lenient {
		if _, problems := c.ValidateHttpRequest(request); problems != nil {
			return fmt.Errorf("the request: %w", join(problems))
		}
	}
	response := &http.Response{StatusCode: r.Status, Header: http.Header{"Content-Type": {r.Type}},
		Body: io.NopCloser(bytes.NewReader(r.Reply))}
	if _, problems := c.ValidateHttpResponse(request, response); problems != nil {
		return join(problems)
	}
	return c.lines(operation(item, method), r)
}

// operation is that of a method, whose case matters; nil for none.
func operation(item *v3.PathItem, method string) *v3.Operation {
	if method != strings.ToUpper(method) {
		return nil
	}
	op, _ := item.GetOperations().Get(strings.ToLower(method))
	return op
}

// unserved checks the reply to a request that is not described.
func (c *checker) unserved(r *reply) error {
	if !slices.Contains([]int{401, 403, 404, 405, 429, 503}, r.Status) {
		return errors.New("the request is not described")
	}
	if r.Method == http.MethodHead {
		return nil
	}
	return c.value("#/components/schemas/Failure", r.Reply)
}

// lines checks the lines of a reply of several values.
func (c *checker) lines(op *v3.Operation, r *reply) error {
	response, _ := op.Responses.Codes.Get(fmt.Sprint(r.Status))
	if response == nil || response.Content == nil {
		return nil
	}
	media, _ := response.Content.Get(strings.TrimSpace(strings.Split(r.Type, ";")[0]))
	if media == nil || media.Extensions == nil {
		return nil
	}
	node, has := media.Extensions.Get("x-line")
	if !has {
		return nil
	}
	var of struct {
		Ref string `yaml:"$ref"`
	}
	if err := node.Decode(&of); err != nil {
		return err
	}
	for line := range bytes.Lines(r.Reply) {
		if err := c.value(of.Ref, line); err != nil {
			return err
		}
	}
	return nil
}

// value checks a value against a schema of the description.
func (c *checker) value(schema string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	compiled, err := c.schemas.Compile("openapi.json" + schema)
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// join is all problems as one error.
func join(problems []*wrong.ValidationError) error {
	var all []string
	for _, p := range problems {
		text := p.Message + ": " + p.Reason
		for _, s := range p.SchemaValidationErrors {
			text += "; " + s.KeywordLocation + ": " + s.Reason
		}
		all = append(all, text)
	}
	return errors.New(strings.Join(all, "\n\t"))
}
