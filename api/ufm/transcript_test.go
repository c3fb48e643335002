package ufm_test

import (
	"strings"
	"testing"

	"ibsm/api/ufm"
	"ibsm/api/ufm/ufmtest"
)

// TestNICo: the infra controller gets the replies of its transcript, byte for byte.
func TestNICo(t *testing.T) {
	everyWay(t, func(t *testing.T, reach func(*bench) *bench) {
		b := reach(serve(t, ufmtest.New(t, ufmtest.NICoSubnet(t), ufmtest.NICoFile), admin, ufm.Config{}))
		sent := 0
		for _, e := range ufmtest.NICo(t) {
			compare := (*ufmtest.Reply).Is
			switch {
			case e.Name == "A4 ports of hosts": // with more of each port, and a word of the architecture
				compare, e.Reply = (*ufmtest.Reply).Has, strings.Replace(e.Reply, "Link Down", "Polling", 1)
			case e.Name >= "B3":
				continue // credentials, and calls of other parts
			}
			sent++
			r := b.client.Send(t, e)
			if err := compare(r, e); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
			if proto := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[b.client.HTTP2]; r.Proto != proto {
				t.Errorf("%s: %s, want %s", e.Name, r.Proto, proto)
			}
		}
		if sent != 21 {
			t.Errorf("%d requests were sent", sent)
		}
	})
}

// TestIBKubernetes: the plug-in of ib-kubernetes gets status 200, and what it POSTs is what it GETs.
func TestIBKubernetes(t *testing.T) {
	const none = `{"0x7fff": {"partition": "management", "ip_over_ib": true, "membership": "full", "index0": false, "guids": []}`
	members := func(guids ...string) string {
		var all []string
		for _, guid := range guids {
			all = append(all, `{"guid": "`+guid+`", "membership": "full", "index0": true}`)
		}
		return none + `, "0x2fb": {"partition": "api_pkey_0x2fb", "ip_over_ib": true, "guids": [` + strings.Join(all, ", ") +
			"]}}"
	}
	replies := []string{`{"ufm_release_version": "6.23.1-6"}`, "{}", members("0200000000000001", "02000000000000ab"), "{}",
		members("02000000000000ab"), "{}"}
	everyWay(t, func(t *testing.T, reach func(*bench) *bench) {
		b := reach(serve(t, ufmtest.New(t, ufmtest.NICoSubnet(t), "Default=0x7fff, ipoib: ALL=full;\n"), admin,
			ufm.Config{}))
		all := ufmtest.IBKubernetes(t)
		if len(all) != len(replies) {
			t.Fatalf("%d requests", len(all))
		}
		for i, e := range all {
			e.Status, e.Reply = 200, replies[i]
			if err := b.client.Send(t, e).Is(e); err != nil {
				t.Errorf("request %d, %s %s: %v", i, e.Method, e.Path, err)
			}
		}
	})
}
