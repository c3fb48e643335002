package ctl_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions/callers"
	"ibsm/registry"
)

// TestPartitionAudit: an audit shows what a change of a partition changed, over the control socket too.
func TestPartitionAudit(t *testing.T) {
	entries := make(chan *ctl.Audited, 16)
	s := &callersOf{reg: registry.New(), rules: callers.Rules{Range: [2]mad.PKey{0x100, 0x101}, Now: 1000}}
	b := serve(t, &source{}, ctl.Config{Partitions: s, Audit: func(a *ctl.Audited) { entries <- a }})
	for _, c := range []struct{ method, body, want string }{
		{"PUT", `{"members":[{"guid":"0xb"},{"host":"h1","membership":"limited"}]}`,
			`null {"name":"red","pkey":"0x0100","number":1,"ipoib":false,"members":{"0x000000000000000b":"full","h1":"limited"}}`},
		{"PUT", `{"members":[{"guid":"0xb"},{"host":"h1","membership":"limited"}]}`, `null null`},
		{"PATCH", `{"add":[{"guid":"0xb","index0":true}],"remove":[{"host":"h1"}]}`,
			`{"name":"red","pkey":"0x0100","number":1,"ipoib":false,"members":{"0x000000000000000b":"full","h1":"limited"}} ` +
				`{"name":"red","pkey":"0x0100","number":2,"ipoib":false,"members":{"0x000000000000000b":"full, index0"}}`},
		{"DELETE", "", `{"name":"red","pkey":"0x0100","number":2,"ipoib":false,` +
			`"members":{"0x000000000000000b":"full, index0"}} null`},
	} {
		reply := b.send(c.method, "/v1/partition/red", c.body)
		a := <-entries
		before, _ := json.Marshal(a.Before)
		after, _ := json.Marshal(a.After)
		if got := string(before) + " " + string(after); got != c.want {
			t.Errorf("%s: the audit has\n%s\nwant\n%s", c.method, got, c.want)
		}
		if a.Status != reply.StatusCode || a.Request != c.method+" /v1/partition/{name}" ||
			!strings.HasPrefix(a.User, "user ") || a.Path != "/v1/partition/red" {
			t.Errorf("%s: the audit has %+v", c.method, a)
		}
	}
	b.send("PUT", "/v1/partition/0x1", "{}")
	if a := <-entries; a.Status != 400 || a.Error == "" || a.After != nil {
		t.Errorf("a refused PUT: the audit has %+v", a)
	}
}
