package ctl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/rights"
)

// callersOf is a PartitionSource without a subnet: it carries orders out in a registry.
type callersOf struct {
	reg    *registry.Registry
	rules  callers.Rules
	answer error // in place of carrying an order out
	lost   bool  // no standby acknowledges
}

func (s *callersOf) ChangePartition(o *ctl.PartitionOrder) (*ctl.PartitionChanged, error) {
	if s.answer != nil {
		return nil, s.answer
	}
	s.rules.User = o.By
	done, err := o.Decide(&s.rules, &s.reg.State)
	if err != nil {
		return nil, err
	}
	before, after := ctl.PartitionChange(&s.reg.State, done)
	for _, c := range done.Changes {
		if err := s.reg.Apply(c); err != nil {
			return nil, err
		}
	}
	p := &done.Partition
	return &ctl.PartitionChanged{Name: p.Name, PKey: p.Key.String(), Number: p.Number, ETag: ctl.ETag(p.Number),
		Created: done.Created, Deleted: done.Deleted, Changed: len(done.Changes) > 0, Mirrored: !s.lost,
		Before: before, After: after}, nil
}

func (s *callersOf) Partition(_ context.Context, _ *rights.User, name string, _ bool) (*ctl.Partition, error) {
	p, is := s.reg.PartitionNamed(name)
	if !is {
		return nil, fmt.Errorf("%w: there is no partition %q", ctl.ErrNotFound, name)
	}
	return &ctl.Partition{Name: p.Name, ETag: ctl.ETag(p.Number)}, nil
}

func (s *callersOf) Partitions(*ctl.PartitionQuery) (iter.Seq[*ctl.Partition], error) {
	return func(yield func(*ctl.Partition) bool) {
		for p := range s.reg.Partitions() {
			if !yield(&ctl.Partition{Name: p.Name}) {
				return
			}
		}
	}, nil
}

func (s *callersOf) ExportPartitions() ([]byte, error) { return callers.Export(&s.reg.State), nil }

func (s *callersOf) PartitionHistory(*rights.User) ([]ctl.PartitionEdit, error) {
	return nil, ctl.ErrNotNow
}

// reply is a reply with its body.
type reply struct {
	*http.Response
	text string
}

// send sends a request with headers, as "Name: value" each.
func (b *bench) send(method, path, body string, headers ...string) reply {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, "http://ibsm"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", b.path) }}}
	resp, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return reply{resp, string(text)}
}

func serveCallers(t *testing.T) (*bench, *callersOf) {
	t.Helper()
	file, errs, _ := partitions.Parse("partitions.conf", []byte("Default=0x7fff:ALL=full;\nstorage=0x10:ALL;\n")).Policy()
	if errs != nil {
		t.Fatal(errs)
	}
	s := &callersOf{reg: registry.New(), rules: callers.Rules{File: file, Range: [2]mad.PKey{0x100, 0x101}, Now: 1000}}
	return serve(t, &source{}, ctl.Config{Partitions: s}), s
}

// TestPartitionRequests: conditions, repetitions and refusals have their statuses.
func TestPartitionRequests(t *testing.T) {
	b, s := serveCallers(t)
	const one = `{"members":[{"guid":"0x1f"}]}`
	for i, c := range []struct {
		request, body, header string
		status                int
		tag, says             string
	}{
		{"GET /v1/partition/red", "", "", 404, "", `there is no partition \"red\"`},
		{"PATCH /v1/partition/red", `{"add":[{"guid":"0x1f"}]}`, "", 404, "", "no partition"},
		{"PUT /v1/partition/red", one, `If-Match: "1"`, 412, "", "red"},
		{"PUT /v1/partition/red", one, "", 201, `"1"`, `"pkey":"0x0100"`},
		{"PUT /v1/partition/red", one, "", 200, `"1"`, `"changed":false`},
		{"PUT /v1/partition/red", one, "If-None-Match: *", 412, "", "already"},
		{"PUT /v1/partition/red", `{}`, `If-Match: "2"`, 412, "", "number 1, not 2"},
		{"PUT /v1/partition/red", `{"note":"x"}`, `If-Match: "1"`, 200, `"2"`, `"changed":true`},
		{"PUT /v1/partition/red", `{}`, `If-Match: 1`, 400, "", "If-Match"},
		{"PUT /v1/partition/red", `{}`, `If-Match: "1", "2"`, 400, "", "If-Match"},
		{"PUT /v1/partition/red", `{}`, `If-None-Match: "1"`, 400, "", "If-None-Match"},
		{"GET /v1/partition/red", "", "", 200, `"2"`, `"name":"red"`},
		{"GET /v1/partition/red?wait=red", "", "", 400, "", "expected ready"},
		{"GET /v1/partition/red?wait=ready&seconds=61", "", "", 400, "", "expected 1 to 60"},
		{"GET /v1/partition/red?wait=ready&seconds=0", "", "", 400, "", "expected 1 to 60"},
		{"GET /v1/partition/red?seconds=3", "", "", 400, "", "with wait=ready"},
		{"PUT /v1/partition/red?strict=yes", "{}", "", 400, "", "strict"},
		{"PUT /v1/partition/red?strikt=1", "{}", "", 400, "", "strikt"},
		{"PATCH /v1/partition/red", `{"add":[{"guid":"0x2f"}],"remove":[{"guid":"0x2f"}]}`, "", 400, "", "both added and removed"},
		{"PATCH /v1/partition/red", `{"remove":[{"guid":"0x2f"},{"guid":"0x2f"}]}`, "", 200, `"2"`, `"changed":false`},
		{"PATCH /v1/partition/red", `{"add":[{"guid":"0x2f"}]}`, "", 200, `"3"`, `"changed":true`},
		{"PATCH /v1/partition/red", `{"remove":[{"guid":"0x2f"},{"guid":"0x2f"}]}`, "", 200, `"4"`, `"changed":true`},
		{"PUT /v1/partition/storage", one, "", 409, "", "partitions.conf:2:"},
		{"PUT /v1/partition/blue", `{"pkey":"0x10"}`, "", 409, "", "partitions.conf:2:"},
		{"DELETE /v1/partition/storage", "", "", 409, "", "partitions.conf"},
		{"PUT /v1/partition/blue", `{"pkey":"0x100"}`, "", 409, "", `\"red\" has P_Key`},
		{"PUT /v1/partition/blue", `{"pkey":"auto"}`, "", 201, `"5"`, "0x0101"},
		{"PUT /v1/partition/green", `{}`, "", 507, "", "is free"},
		{"PUT /v1/partition/0x33", `{}`, "", 400, "", "reads as a number"},
		{"PUT /v1/partition/a%20b", `{}`, "", 400, "", "such as tenant-7"},
		{"PUT /v1/partition/%3Cscript%3E", `{}`, "", 400, "", "such as tenant-7"},
		{"PUT /v1/partition/" + strings.Repeat("a", 65), `{}`, "", 400, "", "65 bytes"},
		{"PUT /v1/partition/%ff%00", `{}`, "", 400, "", "such as tenant-7"},
		{"GET /v1/partition", "", "", 200, "", `"name":"blue"`},
		{"GET /v1/partition?origin=x", "", "", 400, "", "expected file or caller"},
		{"GET /v1/partitions/export", "", "", 200, "", "blue=0x0101 : NONE ;"},
		{"DELETE /v1/partition/red", "", `If-Match: "1"`, 412, "", "number 4, not 1"},
		{"DELETE /v1/partition/red", "", "", 200, `"6"`, `"changed":true`},
		{"DELETE /v1/partition/red", "", "", 200, `"0"`, `"changed":false`},
		{"POST /v1/partition/red", "", "", 404, "", "no such request"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		var headers []string
		if c.header != "" {
			headers = []string{c.header}
		}
		got := b.send(method, path, c.body, headers...)
		if got.StatusCode != c.status || got.Header.Get("ETag") != c.tag || !strings.Contains(got.text, c.says) {
			t.Errorf("%d: %s %s %s: status %d, ETag %s, %s\nwant %d, %s, %s", i, c.request, c.body, c.header,
				got.StatusCode, got.Header.Get("ETag"), got.text, c.status, c.tag, c.says)
		}
	}
	s.answer = fmt.Errorf("%w: this manager is not master", ctl.ErrNotNow)
	if got := b.send("PUT", "/v1/partition/red", `{}`); got.StatusCode != 503 || got.Header.Get("Retry-After") != "1" {
		t.Errorf("a standby: %d, Retry-After %q", got.StatusCode, got.Header.Get("Retry-After"))
	}
	if got := b.send("GET", "/v1/partition", ""); got.StatusCode != 200 {
		t.Errorf("a standby lists: %d", got.StatusCode)
	}
	s.answer, s.lost = nil, true
	if got := b.send("PUT", "/v1/partition/blue", `{"note":"y"}`); got.StatusCode != 200 ||
		!strings.Contains(got.text, `"mirrored":false`) {
		t.Errorf("not mirrored: %d %s", got.StatusCode, got.text)
	}
	const tooLong = 16 << 20
	long := `{"note":"` + strings.Repeat("x", tooLong) + `"}`
	if got := b.send("PUT", "/v1/partition/blue", long); got.StatusCode != 400 ||
		!strings.Contains(got.text, "more than 16777216 bytes") {
		t.Errorf("a body that is too long: %d %.200s", got.StatusCode, got.text)
	}
}

// TestWrongFields: every field that is wrong is named, with what is expected there and an example.
func TestWrongFields(t *testing.T) {
	b, s := serveCallers(t)
	example := map[string]string{"pkey": "0x2fb", "note": "rack 7", "ipoib": "true", "mtu": "2048", "rate": "100",
		"sl": "1", "scope": "1", "qkey": "0x0b1b", "name": "red", "members": "0xb83fd20300a00020",
		"guid": "0xb83fd20300a00020", "host": "node-7", "membership": "limited", "index0": "true"}
	texts, numbers := []string{`""`, `"x y"`, `"-1"`, `"\u0000"`}, []string{"-1", "0.5", "1e9", "7777"}
	values := map[string][]string{
		"pkey": append(texts, numbers[0], "763", "true", "[]", `"0x0"`, `"0x8000"`, `"0x7fff"`, `"0x82fb"`, `"0x10000"`,
			`"AUTO"`),
		"note":  {"1", "true", "[]", "{}"},
		"ipoib": {`"true"`, "1", "[]"},
		"mtu":   append(numbers, `"2048"`, "4", "true", "{}"),
		"rate":  append(numbers, `"100"`, "16", "true", "[]"),
		"sl":    append(numbers, `"1"`, "16", "true"),
		"scope": append(numbers, `"2"`, "16"),
		"qkey":  append(texts, "2843", `"0x100000000"`, "true"),
		"name":  {`"blue"`, "1", "{}"},
		"members": {`"0x1f"`, "1", "{}", `["0x1f"]`, "[1]", "[null]", "[[]]", "[{}]",
			`[{"guid":"0x1f","host":"node-7"}]`, `[{"membership":"full"}]`},
		"guid":       append(texts, "1", `"0x0"`, `"0x12345678901234567"`, `"1f"`, `"00:11"`, `"fe80::1"`, "[]"),
		"host":       {`""`, "1", "[]"},
		"membership": append(texts, "1", `"FULL"`, "[]"),
		"index0":     {`"true"`, "1", "{}"},
	}
	for field, all := range values {
		for _, v := range all {
			body := fmt.Sprintf(`{%q:%s}`, field, v)
			switch field {
			case "guid", "host":
				body = fmt.Sprintf(`{"members":[{%q:%s}]}`, field, v)
			case "membership", "index0":
				body = fmt.Sprintf(`{"members":[{"guid":"0x1f",%q:%s}]}`, field, v)
			}
			got := b.send("PUT", "/v1/partition/red", body)
			var f ctl.Failure
			if err := json.Unmarshal([]byte(got.text), &f); err != nil || got.StatusCode != 400 ||
				!strings.Contains(f.Field, field) || !strings.Contains(f.Err, f.Field) ||
				!strings.Contains(f.Err, example[field]) {
				t.Errorf("%s: status %d, field %q: %s", body, got.StatusCode, f.Field, f.Err)
			}
		}
	}
	for body, says := range map[string]string{
		"":                             "byte 0: unexpected EOF",
		"{":                            "not JSON at byte 1",
		"[]":                           "expected an object",
		"null":                         "expected an object",
		`{"sl":1`:                      "unexpected EOF",
		`{"sl":1,}`:                    "not JSON",
		`{"sl":1} x`:                   "not JSON",
		`{"sl":1}{}`:                   "more follows",
		`{"sl":1,"sl":2}`:              "field sl: it is given twice",
		`{"membrs":[]}`:                "did you mean members?",
		`{"members":[{"gid":"0x1f"}]}`: "field members[0].gid: there is no such field; did you mean guid?",
		`{"\u001b[31mevil":1}`:         `\\x1b[31mevil`,
		`{"` + strings.Repeat("x", 1<<16) + `":1}`:                    "xxx...: there is no such field",
		strings.Repeat(`{"note":`, 20000):                             "",
		`{"members":[{"guid":"0x1f"},{"guid":"0x1f","index0":true}]}`: "named twice",
		`{"scope":5}`:                                 "set ipoib too",
		`{"members":[{"host":"ALL"}]}`:                "not the name of a host",
		`{"members":[{"host":"node[1-3]"}]}`:          "not the name of a host",
		`{"note":"` + strings.Repeat("x", 129) + `"}`: "129 bytes",
	} {
		if got := b.send("PUT", "/v1/partition/red", body); got.StatusCode != 400 || !strings.Contains(got.text, says) ||
			len(got.text) > 1000 {
			t.Errorf("%.100s: status %d, %.1000s", body, got.StatusCode, got.text)
		}
	}
	if n := s.reg.PartitionNumber(); n != 0 {
		t.Errorf("wrong requests have made %d changes", n)
	}
}

// TestRightFields: the forms in which programs write fields, and a reply that is put back with a change.
func TestRightFields(t *testing.T) {
	b, s := serveCallers(t)
	for _, pkey := range []string{`"0x2FB"`, `"0x02fb"`, `"763"`} {
		if got := b.send("PUT", "/v1/partition/red", `{"pkey":`+pkey+`}`); got.StatusCode > 201 ||
			!strings.Contains(got.text, `"pkey":"0x02fb"`) {
			t.Errorf("P_Key %s: status %d, %s", pkey, got.StatusCode, got.text)
		}
	}
	for _, guid := range []string{"0xb83fd20300a0001F", "b83fd20300a0001f", "b8:3f:d2:03:00:a0:00:1f", "b83f:d203:00a0:001f"} {
		if got := b.send("PUT", "/v1/partition/red", `{"members":[{"guid":"`+guid+`"}]}`); got.StatusCode != 200 {
			t.Errorf("GUID %s: status %d, %s", guid, got.StatusCode, got.text)
		}
	}
	if n := s.reg.Counts().PartitionMembers; n != 1 || s.reg.PartitionNumber() != 2 {
		t.Errorf("a GUID in several forms makes %d members, %d changes", n, s.reg.PartitionNumber())
	}
	const shown = `{"name":"red","pkey":"0x02fb","origin":"caller","ipoib":true,"mtu":2048,"rate":2.5,"sl":15,"scope":5,` +
		`"qkey":"0xffffffff","note":null,"etag":"\"7\"","number":7,"since":"2026-11-29T17:07:08Z","held":"x","ready":true,` +
		`"states":{"applied":1},"members":[{"guid":"0x1f","membership":"both","index0":true,"state":"applied","why":"",` +
		`"since":"2026-11-29T17:07:08Z","ports":[{"guid":"0x1f"}]},{"host":"node-7","membership":"limited"}]}`
	if got := b.send("PUT", "/v1/partition/red", shown); got.StatusCode != 200 {
		t.Fatalf("status %d, %s", got.StatusCode, got.text)
	}
	p, _ := s.reg.PartitionNamed("red")
	if p.MTU.Bytes() != 2048 || p.Rate.Gbps() != 2.5 || p.SL != 15 || p.Scope != 5 || p.QKey != 0xffffffff || !p.IPoIB {
		t.Errorf("stored %+v", p)
	}
	if text := string(callers.Export(&s.reg.State)); !strings.Contains(text, "0x000000000000001f=both") ||
		!strings.Contains(text, "node-7=limited") {
		t.Errorf("members:\n%s", text)
	}
}

// TestPartitionEvents: each change is an event, and a repetition is none.
func TestPartitionEvents(t *testing.T) {
	ring := ctl.NewRing(100)
	_, s := serveCallers(t)
	b := serve(t, &source{}, ctl.Config{Partitions: s, Logger: slog.New(ctl.Tee(slog.DiscardHandler, ring))})
	for _, body := range []string{`{}`, `{}`, `{"members":[{"guid":"0x1f"}]}`} {
		b.send("PUT", "/v1/partition/red", body)
	}
	s.lost = true
	b.send("DELETE", "/v1/partition/red", "")
	events, _ := ring.Since(0, nil)
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Level, " ", e.Text, " ", e.Attrs["partition"], " ", e.Attrs["number"]))
	}
	want := "info a caller's partition was created red 1\ninfo a caller's partition was changed red 2\n" +
		"warn a caller's partition was deleted, and no standby has acknowledged it within two seconds red 3"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("events:\n%s\nwant:\n%s", text, want)
	}
}
