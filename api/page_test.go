package api_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"ibsm/api/openapi"
	"ibsm/api/ufm"
	"ibsm/ctl"
	"ibsm/ctl/page"
)

var rewrite = flag.Bool("rewrite", false, "write docs/api-requests.md anew")

const pageFile = "../docs/api-requests.md"

const pageHead = `# Requests of the API

<!-- This page is made by go test ./api -run TestPage -rewrite. -->

All requests that [the API](api.md) serves, with the right that each needs. ` + "`GET /openapi.json`" + ` returns the same
as a description in OpenAPI 3.1, with all fields, for programs and generators of clients. The
[control protocol](ctl.md) and [UFM's calls](ufm.md) describe the requests in words.

A list is an object with an array as its last member. Types have the names of the description's schemas. Errors have
the type Failure.
`

// requestsPage is docs/api-requests.md.
func requestsPage(routes []ctl.Route) string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, part := range []struct{ title, paths string }{{"Control protocol", "^/v1/"}, {"UFM", "^" + ufm.Bases()[0] + "/"},
		{"Others", "^/([^/]*|page/.*)$"}} {
		of := regexp.MustCompile(part.paths)
		fmt.Fprintf(&b, "\n## %s\n\n", part.title)
		if part.title == "UFM" {
			fmt.Fprintf(&b, "Under %s alike. Unknown parameters and bodies are ignored.\n\n", strings.Join(ufm.Bases(), ", "))
		}
		b.WriteString("| request | right | parameters | body | reply | what it does |\n| --- | --- | --- | --- | --- | --- |\n")
		for i := range routes {
			rt := &routes[i]
			if of.MatchString(rt.Path) {
				fmt.Fprintf(&b, "| `%s` | %v | %s | %s | %s | %s |\n", strings.TrimSuffix(rt.String(), "{$}"), rt.Right, params(rt), content(&rt.Body),
					replyOf(rt), rt.Does)
			}
		}
	}
	return b.String()
}

func params(rt *ctl.Route) string {
	var all []string
	for _, p := range rt.Params {
		text := "`" + p.Name + "`"
		if p.Required {
			text += " (required)"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// content is a body or a reply in a few words.
func content(c *ctl.Content) string {
	if c.Type == "" {
		return ""
	}
	media, _, _ := strings.Cut(c.Type, ";")
	name := ""
	if c.Of != nil {
		name = openapi.TypeName(c.Of)
	}
	if _, is := c.Of.(string); is {
		name = "texts"
	}
	text := name
	switch {
	case c.List != "":
		text = "list `" + c.List + "` of " + name
	case c.Rows:
		text = "lines of " + name
	case c.Array:
		text = "array of " + name
	case c.Map:
		text = "object of " + name
	case c.Of == nil && strings.HasPrefix(media, "text/"):
		text = "text"
	case c.Of == nil:
		text = media
	case name == "":
		text = "`{}`"
	}
	if c.Or != nil {
		text += ", or " + content(c.Or)
	}
	return text
}

func replyOf(rt *ctl.Route) string {
	text := content(&rt.Reply)
	if len(rt.Status) > 0 && (len(rt.Status) > 1 || rt.Status[0] != http.StatusOK) {
		text += " (status " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(rt.Status)), ", "), "[]") + ")"
	}
	return text
}

// TestPage: docs/api-requests.md has the table of routes.
func TestPage(t *testing.T) {
	text := requestsPage(served(ctl.New(ctl.Config{More: page.New(page.Config{}).Routes()})))
	if *rewrite {
		if err := os.WriteFile(pageFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(pageFile); err != nil || string(got) != text {
		t.Errorf("%s is not made from the routes (%v); go test ./api -run TestPage -rewrite does it", pageFile, err)
	}
}
