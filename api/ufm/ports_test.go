package ufm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/api/ufm"
	"ibsm/api/ufm/ufmtest"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/rights"
)

// get decodes the reply to a GET.
func get[T any](b *bench, path string) (v T) {
	b.Helper()
	status, reply := b.do("GET "+path, "")
	if err := json.Unmarshal([]byte(reply), &v); err != nil || status != 200 {
		b.Fatalf("GET %s: status %d, %s, %v", path, status, reply, err)
	}
	return v
}

// names are the names of ports.
func names(ports []ufm.Port) (all []string) {
	for _, p := range ports {
		all = append(all, p.Name)
	}
	return all
}

// TestPorts: ports of hosts and switches, with what they are cabled to.
func TestPorts(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		all := get[[]ufm.Port](b, "resources/ports")
		const ports = 3*(3/2+3) + 3 // of three switches, and of the hosts
		if len(all) != ports {
			b.Errorf("%d ports, want %d", len(all), ports)
		}
		at := func(name string) ufm.Port {
			return all[slices.IndexFunc(all, func(p ufm.Port) bool { return p.Name == name })]
		}
		host := ufm.Port{Name: "b83fd20300485b2f_1", GUID: "b83fd20300485b2f", Number: 1, LID: 18, DName: "HCA-2/1",
			SystemID: "b83fd20300485b2e", SystemName: "gpu-01", NodeDescription: "gpu-01 HCA-2/1", PhysicalState: "Link Up",
			LogicalState: "Active", Description: "Computer IB Port", Label: "HCA-2/1", Tier: 1, MTU: 4096, ActiveSpeed: "HDR",
			ActiveWidth: "4x", Severity: "Info", HighBER: "N/A", Peer: "fc6a1c0300000002_2", PeerGUID: "fc6a1c0300000002",
			PeerNodeGUID: "fc6a1c0300000002", PeerNodeName: "leaf-2", PeerDescription: "leaf-2:2", PeerDName: "2"}
		host.PeerLID = at(host.Peer).LID
		if got := at(host.Name); got != host || host.PeerLID == 0 {
			b.Errorf("host:\n%+v\nwant\n%+v", got, host)
		}
		leaf := at("fc6a1c0300000001_2")
		want := leaf
		want.SystemID, want.SystemName, want.NodeDescription = "fc6a1c0300000001", "leaf-1", "leaf-1:2"
		want.DName, want.Label, want.Tier, want.Description = "2", "2", 2, "Switch IB Port"
		want.Peer, want.PeerNodeName, want.PeerDescription = "b83fd20300485b2e_1", "gpu-01", "gpu-01 HCA-1/1"
		want.PeerDName, want.PeerLID, want.PeerGUID = "HCA-1/1", 17, "b83fd20300485b2e"
		if leaf != want || leaf.LID == 0 {
			b.Errorf("leaf:\n%+v\nwant\n%+v", leaf, want)
		}
		if spine := at("fc6a1c0300000003_1"); spine.Tier != 3 || spine.PeerNodeName != "leaf-1" {
			b.Errorf("spine: %+v", spine)
		}
		if free := at("fc6a1c0300000003_4"); free.Peer != "N/A" || free.PeerNodeName != "N/A" || free.PeerLID != 0 ||
			free.ActiveSpeed != "N/A" {
			b.Errorf("a port without a cable: %+v", free)
		}
		hosts := names(get[[]ufm.Port](b, "resources/ports?sys_type=Computer"))
		if want := []string{"b83fd20300485b2e_1", "b83fd20300485b2f_1", "b83fd20300485b30_1"}; !slices.Equal(hosts, want) {
			b.Errorf("hosts %v, want %v", hosts, want)
		}
		for query, want := range map[string]string{
			"sys_type=computer&active=true":           "b83fd20300485b2e_1 b83fd20300485b2f_1",
			"sys_type=Computer&active=False":          strings.Join(hosts, " "),
			"system=gpu-01":                           "b83fd20300485b2e_1 b83fd20300485b2f_1",
			"system=b83fd20300485b2e":                 "b83fd20300485b2e_1 b83fd20300485b2f_1",
			"system=0xb83fd20300485b30":               "b83fd20300485b30_1",
			"system=leaf-1&active=true":               "fc6a1c0300000001_1 fc6a1c0300000001_2 fc6a1c0300000001_3",
			"system=nobody":                           "",
			"sys_type=Gateway":                        "",
			"sys_type=Router&made_up=1&high_ber=true": "",
		} {
			if got := strings.Join(names(get[[]ufm.Port](b, "resources/ports?"+query)), " "); got != want {
				b.Errorf("%s: %s, want %s", query, got, want)
			}
		}
	})
}

// TestPages: a page is returned where one is asked for.
func TestPages(t *testing.T) {
	b := nico(t)
	type page struct {
		Total    int        `json:"total_resources"`
		Filtered int        `json:"filtered_resources"`
		Pages    int        `json:"num_of_pages"`
		Data     []ufm.Port `json:"data"`
	}
	all := names(get[[]ufm.Port](b, "resources/ports"))
	for _, c := range []struct {
		query           string
		filtered, pages int
		want            []string
	}{
		{"page_number=1&rpp=4", 15, 4, all[:4]},
		{"page_number=4&rpp=4", 15, 4, all[12:]},
		{"page_number=5&rpp=4", 15, 4, nil},
		{"rpp=100", 15, 1, all},
		{"page_number=1", 15, 1, all},
		{"page_number=2&rpp=2&sys_type=Computer", 3, 2, []string{"b83fd20300485b30_1"}},
		{"page_number=1&sys_type=Router", 0, 0, nil},
	} {
		got := get[page](b, "resources/ports?"+c.query)
		if got.Total != len(all) || got.Filtered != c.filtered || got.Pages != c.pages || got.Data == nil ||
			!slices.Equal(names(got.Data), c.want) {
			t.Errorf("%s: %+v", c.query, got)
		}
	}
	for _, query := range []string{"page_number=0", "page_number=-1", "rpp=0", "rpp=10001", "rpp=x",
		"page_number=99999999999999999999"} {
		b.fails("GET resources/ports?"+query, "", 400, "expected 1 to")
	}
}

// TestSystemsAndLinks: hosts with all their adapters, switches, and cables.
func TestSystemsAndLinks(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		list := func(query string) string {
			var all []string
			for _, s := range get[[]ufm.System](b, "resources/systems"+query) {
				all = append(all, fmt.Sprint(s.SystemName, " ", s.SystemGUID, " ", s.Type, " ", s.Role, " ", len(s.Ports)))
			}
			return strings.Join(all, "; ")
		}
		const gpu1, gpu2 = "gpu-01 b83fd20300485b2e host endpoint ", "gpu-02 b83fd20300485b3e host endpoint "
		const switches = "leaf-1 fc6a1c0300000001 switch tor 0; leaf-2 fc6a1c0300000002 switch tor 0; " +
			"spine fc6a1c0300000003 switch core 0"
		for query, want := range map[string]string{
			"":                           gpu1 + "0; " + gpu2 + "0; " + switches,
			"?type=host&ports=true":      gpu1 + "2; " + gpu2 + "1",
			"?type=switch&chassis=t":     switches,
			"?type=router":               "",
			"?name=b83fd20300485b3e":     gpu2 + "0",
			"?name=gpu-01&brief=true":    gpu1 + "0",
			"?name=spine&type=switch":    "spine fc6a1c0300000003 switch core 0",
			"?name=spine&ports=true":     "spine fc6a1c0300000003 switch core 4",
			"?name=nobody&type=computer": "",
		} {
			if got := list(query); got != want {
				b.Errorf("systems%s: %s\nwant %s", query, got, want)
			}
		}
		links := get[[]ufm.Link](b, "resources/links")
		i := slices.IndexFunc(links, func(l ufm.Link) bool { return strings.Contains(l.Name, "b83fd20300485b2f") })
		want := ufm.Link{Name: "b83fd20300485b2f_1:fc6a1c0300000002_2", SourceGUID: "b83fd20300485b2f", SourcePort: "1",
			SourceName: "b83fd20300485b2f_1", SourceLabel: "HCA-2/1", SourceDesc: "gpu-01 HCA-2/1",
			TargetGUID: "fc6a1c0300000002", TargetPort: "2", TargetName: "fc6a1c0300000002_2", TargetLabel: "2",
			TargetDesc: "leaf-2:2", Width: "4x", Severity: "Info", Capabilities: []string{}}
		if len(links) != 5 || fmt.Sprint(links[i]) != fmt.Sprint(want) {
			b.Errorf("%d links:\n%+v\nwant\n%+v", len(links), links[i], want)
		}
		for of, want := range map[string]int{"gpu-01": 2, "leaf-1": 3, "spine": 2, "b83fd20300485b3e": 1,
			"0xfc6a1c0300000002": 2, "nobody": 0} {
			if got := get[[]ufm.Link](b, "resources/links?system="+of); len(got) != want {
				b.Errorf("%d links of %s, want %d", len(got), of, want)
			}
		}
	})
}

// TestNICoOddities: rates and names that NICo cannot live with do not reach it.
func TestNICoOddities(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		v := ufmtest.Subnet(t, ufmtest.Host{GUID: 0x11, System: 0x11, Desc: "gpu-\xff1 mlx5_0", LID: 7},
			ufmtest.Host{GUID: 0x22, Desc: "\xff\xfe", LID: 8}, ufmtest.Host{GUID: 0x33, Desc: "", LID: 9})
		b := serve(t, ufmtest.New(t, v, "Default=0x7fff, ipoib, rate=23: ALL=limited, SELF=full;\n"+
			"old=0x20, ipoib, mtu=1, rate=19: ALL;\nnew=0x21, ipoib, rate=26: 0x11=full;\n"), admin, ufm.Config{})
		b.client.HTTP2 = http2
		for _, e := range ufmtest.NICo(t)[:6] {
			if err := b.client.Send(t, e).Sound(); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
		rates := map[string]ufm.QoS{"0x7fff": {2, 0, 300}, "0x20": {2, 0, 25}, "0x21": {2, 0, 300}}
		for key, p := range get[map[string]ufm.Partition](b, "resources/pkeys?qos_conf=true") {
			if p.QoS == nil || *p.QoS != rates[key] {
				t.Errorf("%s has %+v, want %+v", key, p.QoS, rates[key])
			}
			delete(rates, key)
		}
		if len(rates) > 0 {
			t.Errorf("not listed: %v", rates)
		}
		var systems []string
		for _, p := range get[[]ufm.Port](b, "resources/ports?sys_type=Computer") {
			systems = append(systems, p.SystemName+" "+p.SystemID)
		}
		want := []string{"gpu-?1 0000000000000011", "?? 0000000000000022", "0000000000000033 0000000000000033"}
		if !slices.Equal(systems, want) {
			t.Errorf("systems %q, want %q", systems, want)
		}
	})
}

// TestTenantSees: a tenant gets its own partitions, hosts and ports, and nothing of others.
func TestTenantSees(t *testing.T) {
	backend := ufmtest.New(t, ufmtest.NICoSubnet(t), "Default=0x7fff: ALL=limited;\nmine=0x101: 0xb83fd20300485b30;\nother=0x10: ALL;\n")
	all := serve(t, backend, admin, ufm.Config{})
	all.ok("POST resources/pkeys", list("0x200", "b83fd20300485b2e"))
	tenant := &rights.User{Name: "t", Role: rights.Tenant, Scope: rights.Scope{
		Keys: rights.Ranges[mad.PKey]{{0x100, 0x1ff}}, Hosts: []string{"gpu-02"},
		GUIDs: rights.Ranges[mad.GUID]{{0x0200000000000000, 0x02ffffffffffffff}}}}
	b := serve(t, backend, tenant, ufm.Config{})
	b.ok("POST resources/pkeys", list("0x102", vf1))
	b.gets("resources/pkeys", `["0x7fff", "0x101", "0x102"]`)
	for _, key := range []string{"0x10", "0x200", "0x300"} {
		b.gets("resources/pkeys/"+key+"?guids_data=true", "{}")
		for _, change := range []string{"POST resources/pkeys", "PUT resources/pkeys", "POST resources/pkeys/add",
			"PUT resources/pkeys/qos_conf", "POST actions/remove_guids_from_pkey"} {
			b.fails(change, list(key, vf1), 403, "not one that user t may change")
		}
		b.fails("DELETE resources/pkeys/"+key, "", 403, "not one that user t may change")
	}
	b.fails("POST resources/pkeys", list("0x102", "b83fd20300485b2e"), 403, "not among the hosts and GUIDs")
	b.fails("POST resources/pkeys", list("0x101", vf1), 409, "partitions.conf:2:")
	b.fails("DELETE resources/pkeys/0x103", "", 404, "0x103")
	b.ok("POST resources/pkeys/hosts", `{"pkey": "0x103", "hosts_names": "gpu-02"}`)
	b.fails("POST resources/pkeys/hosts", `{"pkey": "0x103", "hosts_names": "gpu-01"}`, 403, "not among the hosts and GUIDs")
	ports := get[[]ufm.Port](b, "resources/ports")
	if len(ports) != 1 || ports[0].Name != "b83fd20300485b30_1" || ports[0].PeerNodeName != "N/A" || ports[0].Peer != "N/A" ||
		ports[0].PeerDescription != "N/A" {
		t.Errorf("ports %+v", ports)
	}
	if p := get[map[string]any](b, "resources/ports?rpp=10"); p["total_resources"] != 1.0 {
		t.Errorf("a page: %v", p)
	}
	systems := get[[]ufm.System](b, "resources/systems")
	if len(systems) != 1 || systems[0].SystemName != "gpu-02" {
		t.Errorf("systems %+v", systems)
	}
	for _, path := range []string{"resources/links", "app/unhealthy_ports"} {
		b.fails("GET "+path, "", 403, "user t may not do this")
	}
	reader := serve(t, backend, &rights.User{Name: "r", Role: rights.Reader}, ufm.Config{})
	reader.fails("POST resources/pkeys", list("0x102", vf1), 403, "user r may not do this")
	reader.gets("resources/pkeys", `["0x7fff", "0x101", "0x10", "0x102", "0x103", "0x200"]`)
}

// TestHosts: hosts are members by name, and are listed as their ports.
func TestHosts(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		b.ok("POST resources/pkeys/hosts", `{"hosts_names": "gpu-01, gpu-02,gpu-01", "pkey": "0x2fb", "index0": true, "ip_over_ib": true}`)
		if got := b.Members(0x2fb); got != "gpu-01=full indx0, gpu-02=full indx0" {
			b.Errorf("members %s", got)
		}
		const one, two, three = `{"guid": "b83fd20300485b2e", "membership": "full", "index0": true}`,
			`{"guid": "b83fd20300485b2f", "membership": "full", "index0": true}`,
			`{"guid": "b83fd20300485b30", "membership": "full", "index0": true}`
		const head = `{"partition": "api_pkey_0x2fb", "ip_over_ib": true, "guids": [`
		b.gets("resources/pkeys/0x2fb?guids_data=true", head+one+", "+two+", "+three+"]}")
		b.fails("POST actions/remove_guids_from_pkey", list("0x2fb", "b83fd20300485b2f"), 409, "hosts/gpu-01")
		b.ok("POST actions/remove_guids_from_pkey", list("0x2fb", vf1))
		b.ok("POST resources/pkeys", `{"pkey": "0x2fb", "membership": "limited", "guids": ["b83fd20300485b2e", "`+vf1+`"]}`)
		b.gets("resources/pkeys/0x2fb?guids_data=true", head+
			`{"guid": "`+vf1+`", "membership": "limited", "index0": false}, `+
			`{"guid": "b83fd20300485b2e", "membership": "limited", "index0": false}, `+two+", "+three+"]}")
		b.ok("DELETE resources/pkeys/0x2fb/hosts/gpu-01", "") // and its port
		b.gets("resources/pkeys/0x2fb?guids_data=true", head+
			`{"guid": "`+vf1+`", "membership": "limited", "index0": false}, `+three+"]}")
		b.ok("DELETE resources/pkeys/0x2fb/hosts/gpu-01,gpu-02", "")
		b.ok("DELETE resources/pkeys/0x2fb/guids/"+vf1, "")
		b.gets("resources/pkeys/0x2fb", "{}")
		b.fails("POST resources/pkeys/hosts", `{"hosts_names": "gpu-01,gpu-9", "pkey": "0x2fb"}`, 409, `\"gpu-9\"`)
		b.fails("POST resources/pkeys/hosts", `{"hosts_names": "gpu-[1-2]", "pkey": "0x2fb"}`, 400, "not the name of a host")
		b.fails("POST resources/pkeys/hosts", `{"hosts_names": " , ", "pkey": "0x2fb"}`, 400, "hosts_names is missing")
		b.fails("POST resources/pkeys/hosts", `{"hosts_names": ["gpu-01"], "pkey": "0x2fb"}`, 400, "node-1,node-2")
		b.Rules.NoHosts = true
		b.fails("POST resources/pkeys/hosts", `{"hosts_names": "gpu-01", "pkey": "0x2fb"}`, 400, "security tenants")
		b.gets("resources/pkeys/0x2fb", "{}")
	})
}

// TestLastUpdated: the start, and then the last change.
func TestLastUpdated(t *testing.T) {
	b := nico(t)
	b.gets("resources/pkeys/last_updated", `{"last_updated": "Mon Nov 24 16:00:00 2025"}`)
	b.ok("POST resources/pkeys", list("0x2fb", vf1))
	b.gets("resources/pkeys/last_updated", `{"last_updated": "Fri Nov 28 17:13:21 2025"}`)
}

// links is a ctl.CounterSource of links that are isolated.
type links struct {
	ctl.CounterSource // nil
	orders            []string
	refuse            error
	excluded          []ctl.ExcludedLink
}

func (l *links) SickLinks(context.Context) (*ctl.SickLinks, error) {
	return &ctl.SickLinks{Excluded: l.excluded}, nil
}

func (l *links) IsolateLink(_ context.Context, port string, last time.Duration) (*ctl.IsolatedLink, error) {
	l.orders = append(l.orders, fmt.Sprint("isolate ", port, " ", last))
	return &ctl.IsolatedLink{}, l.refuse
}

func (l *links) HealLink(_ context.Context, port string) (*ctl.IsolatedLink, error) {
	l.orders = append(l.orders, "heal "+port)
	return &ctl.IsolatedLink{}, l.refuse
}

// TestUnhealthyPorts: what UFM calls unhealthy is isolated here.
func TestUnhealthyPorts(t *testing.T) {
	source := &links{}
	b := serve(t, ufmtest.New(t, ufmtest.NICoSubnet(t), ""), &rights.User{Name: "o", Role: rights.Operator},
		ufm.Config{Counters: source})
	b.gets("app/unhealthy_ports", "[]")
	b.ok("PUT app/unhealthy_ports?force_set=true",
		`{"ports": ["fc6a1c0300000001_1"], "ports_policy": "UNHEALTHY", "action": "isolate"}`)
	b.ok("PUT app/unhealthy_ports", `{"devices": ["fc6a1c0300000003"], "ports_policy": "UNHEALTHY", "action": "isolate"}`)
	b.ok("PUT app/unhealthy_ports", `{"ports": ["0xFC6A1C0300000003_2"], "ports_policy": "HEALTHY"}`)
	want := "isolate 0xfc6a1c0300000001:1 0s, isolate 0xfc6a1c0300000003:1 0s, isolate 0xfc6a1c0300000003:2 0s, " +
		"heal 0xfc6a1c0300000003:2"
	if got := strings.Join(source.orders, ", "); got != want {
		t.Errorf("orders %s\nwant %s", got, want)
	}
	for body, c := range map[string]struct {
		status int
		says   string
	}{
		`{"ports": ["fc6a1c0300000001_1", "fc6a1c0300000009_1"], "ports_policy": "UNHEALTHY"}`:    {404, "GUID_NUMBER"},
		`{"ports": ["leaf-1"], "ports_policy": "HEALTHY"}`:                                        {404, "GUID_NUMBER"},
		`{"devices": ["b83fd20300485b2e"], "ports_policy": "UNHEALTHY"}`:                          {404, "no switch"},
		`{"devices": ["spine"], "ports_policy": "UNHEALTHY"}`:                                     {404, "no switch"},
		`{"ports": ["fc6a1c0300000001_1"], "ports_policy": "SICK"}`:                               {400, "UNHEALTHY or HEALTHY"},
		`{"ports": ["fc6a1c0300000001_1"]}`:                                                       {400, "UNHEALTHY or HEALTHY"},
		`{"ports_policy": "HEALTHY"}`:                                                             {400, "one of them"},
		`{"ports": "all", "ports_policy": "HEALTHY"}`:                                             {400, "a list of texts"},
		`{"ports": ["fc6a1c0300000001_1"], "ports_policy": "UNHEALTHY", "action": "no_discover"}`: {400, "isolate"},
		`[]`: {400, "not a JSON object"},
	} {
		b.fails("PUT app/unhealthy_ports", body, c.status, c.says)
	}
	if len(source.orders) != 4 {
		t.Errorf("what is wrong was ordered: %v", source.orders)
	}
	source.refuse = fmt.Errorf("%w: it leads to a host", ctl.ErrBadRequest)
	b.fails("PUT app/unhealthy_ports", `{"ports": ["b83fd20300485b2e_1"], "ports_policy": "UNHEALTHY"}`, 400, "leads to a host")
	source.excluded = []ctl.ExcludedLink{{PortOf: ctl.PortOf{Node: "0xfc6a1c0300000001", Port: 1,
		Peer: &ctl.End{Node: "0xfc6a1c0300000003", Port: 1, LID: 3}}, ByHand: true, Since: time.Unix(1_764_350_000, 0)}}
	b.gets("app/unhealthy_ports", `[{"UnhealthyPort": "leaf-1/1", "UnhealthyGUID": "fc6a1c0300000001", "UnhealthyNode": "leaf-1", `+
		`"UnhealthyPortNumber": 1, "UnhealthyPortDname": "1", "UnhealthyNodeType": "switch", "PeerPort": "spine/1", `+
		`"PeerGUID": "fc6a1c0300000003", "PeerNode": "spine", "PeerPortNumber": 1, "PeerPortDname": "1", "PeerLID": "3", `+
		`"Condition": "MANUAL", "State": "Info", "StatusTime": "Fri Nov 28 17:13:20 2025"}]`)
}

// TestTokens: a user makes, lists and revokes its own tokens, and gets a secret once.
func TestTokens(t *testing.T) {
	var all []ufm.Token
	tokens := &ufm.Tokens{
		Make: func(_ context.Context, u *rights.User) (*ufm.Token, error) {
			if u.Name != "o" {
				return nil, errors.New("another user")
			}
			all = append(all, ufm.Token{ID: "1f0c33a8", Made: time.Unix(1_764_350_000, 0), Until: time.Unix(1_764_350_500, 0)})
			secret := all[len(all)-1]
			secret.Secret = "ibsm_secret"
			return &secret, nil
		},
		List: func(context.Context, *rights.User) ([]ufm.Token, error) { return all, nil },
		Revoke: func(_ context.Context, _ *rights.User, token string) error {
			if token != "ibsm_secret" || len(all) == 0 {
				return fmt.Errorf("%w: there is no such token", ctl.ErrNotFound)
			}
			all = nil
			return nil
		},
	}
	b := serve(t, ufmtest.New(t, ufmtest.NICoSubnet(t), ""), &rights.User{Name: "o", Role: rights.Operator},
		ufm.Config{Tokens: tokens})
	b.gets("app/tokens", "[]")
	const rest = `"revoked": false, "issued_at": 1764350000, "expires_in": 500, "username": "o"}`
	if status, reply := b.do("POST app/tokens", ""); status != 200 || reply != `{"access_token": "ibsm_secret", `+rest {
		t.Errorf("status %d, %s", status, reply)
	}
	b.gets("app/tokens", `[{"access_token": "1f0c33a8", `+rest+"]")
	b.fails("POST app/tokens/revoke", `{"token": "other"}`, 404, "no such token")
	b.fails("POST app/tokens/revoke", "", 400, "token is missing")
	form := func(kind, body string) {
		t.Helper()
		b.do("POST app/tokens", "")
		r := b.client.Send(t, &ufmtest.Exchange{Name: kind, Method: "POST", Path: "/ufmRest/app/tokens/revoke", Body: body,
			Header: [][2]string{{"Host", "ufm"}, {"Authorization", "of the bench"}, {"Content-Type", kind},
				{"Content-Length", fmt.Sprint(len(body))}}})
		if r.Status != 200 || len(all) != 0 {
			t.Errorf("%s: status %d, %s; tokens %v", kind, r.Status, r.Body, all)
		}
	}
	all = nil
	form("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nibsm_secret\r\n--x--\r\n")
	form("application/x-www-form-urlencoded", "token=ibsm_secret")
	form("application/json", `{"token": "ibsm_secret"}`)
	nico(t).fails("POST app/tokens", "", 404, "no tokens")
}
