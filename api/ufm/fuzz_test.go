package ufm_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"ibsm/api/ufm"
	"ibsm/api/ufm/ufmtest"
)

// FuzzWanted: what is taken of a body about a P_Key is valid, and is taken alike when it is written again.
func FuzzWanted(f *testing.F) {
	for _, all := range [][]*ufmtest.Exchange{ufmtest.NICo(f), ufmtest.IBKubernetes(f)} {
		for _, e := range all {
			f.Add([]byte(e.Body))
		}
	}
	f.Add([]byte(`{"pkey": "0x12", "hosts_names": "a,b", "memberships": ["full"], "guids": ["0x1"], "mtu_limit": 2,
		"service_level": "15", "rate_limit": 2.5, "index0": "True", "ip_over_ib": 0, "membership": null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := ufm.ParseWanted(body)
		if err != nil {
			if !utf8.ValidString(err.Error()) || len(err.Error()) > 1000 {
				t.Fatalf("error %q", err)
			}
			return
		}
		text, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ufm.ParseWanted(text)
		if err != nil || !reflect.DeepEqual(again, first) {
			t.Fatalf("%s\nis taken as %+v, then as %+v, %v", body, first, again, err)
		}
	})
}

// FuzzPolicy: what is taken of a body about unhealthy ports is complete.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"ports": ["fc6a1c0300000001_1"], "ports_policy": "UNHEALTHY", "action": "isolate"}`))
	f.Add([]byte(`{"devices": ["fc6a1c0300000001"], "ports_policy": "HEALTHY"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := ufm.ParsePolicy(body)
		if err == nil && (len(p.Ports)+len(p.Devices) == 0 || p.Policy != "HEALTHY" && p.Policy != "UNHEALTHY") {
			t.Fatalf("%s is taken as %+v", body, p)
		}
	})
}

// FuzzRevoked: a token in a form of any type is one that the form has.
func FuzzRevoked(f *testing.F) {
	f.Add("multipart/form-data; boundary=x",
		[]byte("--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nibsm_secret\r\n--x--\r\n"))
	f.Add("application/x-www-form-urlencoded", []byte("token=ibsm_secret"))
	f.Add("", []byte(`{"token": "ibsm_secret"}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		token := ufm.ParseRevoked(kind, body)
		plain := strings.IndexFunc(token, func(r rune) bool { return r < 'A' || r > 'z' }) < 0
		if plain && !bytes.Contains(body, []byte(token)) && !bytes.ContainsAny(body, "%+\\=") {
			t.Fatalf("%q: %q is taken of %q", kind, token, body)
		}
	})
}

// FuzzEncode: replies are JSON that says what it was made of.
func FuzzEncode(f *testing.F) {
	f.Add("a:b, \"c\\", "{[,:]}")
	f.Add("\xff<&>\u2028", "\\\"")
	f.Fuzz(func(t *testing.T, name, value string) {
		want := map[string][]string{strings.ToValidUTF8(name, "\uFFFD"): {strings.ToValidUTF8(value, "\uFFFD"), ""}}
		text, err := ufm.Encode(map[string][]string{name: {value, ""}})
		if err != nil || !utf8.ValidString(text) || !strings.HasSuffix(text, `, ""]}`) {
			t.Fatalf("%q, %v", text, err)
		}
		var got map[string][]string
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if utf8.ValidString(name) && utf8.ValidString(value) && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q means %q, want %q", text, got, want)
		}
	})
}

// FuzzCall: whatever a program sends, it gets a sound reply, and other partitions stay as they are.
func FuzzCall(f *testing.F) {
	for _, e := range ufmtest.NICo(f) {
		f.Add(e.Method, strings.TrimPrefix(e.Path, "/ufmRestV3"), []byte(e.Body))
	}
	f.Add("DELETE", "/resources/pkeys/0x2fb/guids/1,2", []byte("{}"))
	f.Add("POST", "/resources/pkeys/hosts", []byte(`{"pkey": "0x2fb", "hosts_names": "gpu-01"}`))
	f.Add("GET", "/resources/ports?page_number=2&rpp=3", []byte(nil))
	b := ufmtest.New(f, ufmtest.NICoSubnet(f), ufmtest.NICoFile+"storage=0x10: ALL;\n")
	h := ufmtest.Handler(b, admin)
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		r := httptest.NewRequest("GET", "/", bytes.NewReader(body))
		r.Method = method
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut("/ufmRest/"+path, "?")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		reply := &ufmtest.Reply{Status: w.Code, Header: w.Result().Header, Body: w.Body.String()}
		if w.Header().Get("Content-Type") == "application/json" { // not a reply of the multiplexer of this test
			if err := reply.Sound(); err != nil || w.Code == 500 {
				t.Fatalf("%s %q %q: status %d, %v", method, path, body, w.Code, err)
			}
		}
		if _, is := b.Rules.File.Find(0x10), b.Members(0x10); is != "" {
			t.Fatalf("%s %q %q: the file's partition has members of callers: %s", method, path, body, is)
		}
	})
}
