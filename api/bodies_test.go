package api_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ibsm/ctl"
)

// fuzzed are the fuzz targets of the decoders of bodies, by requests that they match.
var fuzzed = []struct{ requests, folder, target string }{
	{`GET /v1/(why|path-record|dump/\{kind\})`, "opensm/names", "FuzzNames"},
	{`POST /v1/partitions/plan`, "partitions", "FuzzParse"},
	{`(PUT|PATCH) /v1/partition/\{name\}`, "ctl", "FuzzPartition"},
	{`(POST|PUT) /ufmRest(V2|V3)?/resources/pkeys(/add|/qos_conf|/hosts)?`, "api/ufm", "FuzzWanted"},
	{`POST /ufmRest(V2|V3)?/actions/remove_guids_from_pkey`, "api/ufm", "FuzzWanted"},
	{`POST /ufmRest(V2|V3)?/app/tokens/revoke`, "api/ufm", "FuzzRevoked"},
	{`PUT /ufmRest(V2|V3)?/app/unhealthy_ports`, "api/ufm", "FuzzPolicy"},
}

// TestBodiesFuzzed: the decoder of each request with a body has a fuzz target.
func TestBodiesFuzzed(t *testing.T) {
	unused := map[string]bool{}
	for _, of := range fuzzed {
		unused[of.requests] = true
		files, err := filepath.Glob("../" + of.folder + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "\nfunc "+of.target+"(f *testing.F) {")
		}
		if !found {
			t.Errorf("%s has no fuzz target %s", of.folder, of.target)
		}
	}
	for _, rt := range served(ctl.New(ctl.Config{})) {
		if rt.Body == (ctl.Content{}) {
			continue
		}
		found := false
		for _, of := range fuzzed {
			if regexp.MustCompile("^" + of.requests + "$").MatchString(rt.String()) {
				found = true
				delete(unused, of.requests)
			}
		}
		if !found {
			t.Errorf("%v has a body, and no fuzz target", &rt)
		}
	}
	for requests := range unused {
		t.Errorf("no request with a body matches %s", requests)
	}
}

// TestRequiredParams: a request without one of the parameters that it needs has status 400, which names the parameter.
func TestRequiredParams(t *testing.T) {
	h := listen(t, nil)
	client, tries := h.client(ask{}), 0
	for _, rt := range served(h.control) {
		for _, missing := range rt.Params {
			if !missing.Required {
				continue
			}
			for _, empty := range []bool{false, true} {
				query := url.Values{}
				for _, p := range rt.Params {
					if p.Required && p.Name != missing.Name {
						query.Set(p.Name, "1")
					} else if p.Name == missing.Name && empty {
						query.Set(p.Name, "")
					}
				}
				tries++
				r := h.send(rt.Method, samplePath(&rt)+"?"+query.Encode(), ask{header: as("admin").header, client: client})
				if r.StatusCode != 400 || !strings.Contains(r.failure(), "parameter "+missing.Name+" is required") {
					t.Errorf("%v?%s: %s %s", &rt, query.Encode(), r.Status, r.text)
				}
			}
		}
	}
	if tries < 2*8 {
		t.Errorf("only %d requests", tries)
	}
}
