package ufm_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ibsm/api/ufm"
	"ibsm/api/ufm/ufmtest"
	"ibsm/api/users/userstest"
	"ibsm/mad"
	"ibsm/rights"
)

// GUIDs of ports that nobody has seen.
const (
	vf1 = "0200000000000001"
	vf2 = "0200000000000002"
)

// list is a body with a P_Key and GUIDs.
func list(key string, guids ...string) string {
	return fmt.Sprintf(`{"pkey": %q, "guids": ["%s"]}`, key, strings.Join(guids, `", "`))
}

// TestPKeyForms: P_Keys are taken in every form that programs write, and answered in one.
func TestPKeyForms(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		for _, form := range []string{"0x2FB", "0x02fb", "763", "0x82fb", "0X02FB", "0x00000002fb"} {
			b.ok("POST resources/pkeys", list(form, vf1))
			b.gets("resources/pkeys/"+form, `{"partition": "api_pkey_0x2fb", "ip_over_ib": true}`)
			b.ok("POST actions/remove_guids_from_pkey", list(form, vf1))
		}
		b.gets("resources/pkeys", `["0x7fff", "0x10"]`)
		for _, form := range []string{"0x0", "0x8000", "0x10000", "0x12345678901234567890", "", "0", "-1", "+1", "1_0", "0x",
			"2fb", "0b1", " 1", "ALL"} {
			b.fails("POST resources/pkeys", list(form, vf1), 400, "P_Key")
			if form != "" && form != " 1" {
				b.fails("GET resources/pkeys/"+form, "", 400, "0x2fb")
				b.fails("DELETE resources/pkeys/"+form, "", 400, "0x2fb")
			}
		}
		for _, raw := range []string{"763", "null", "true", `["0x2fb"]`, "{}"} {
			b.fails("POST resources/pkeys", `{"pkey": `+raw+`, "guids": ["`+vf1+`"]}`, 400, "0x2fb")
		}
		b.fails("POST resources/pkeys", `{"guids": ["`+vf1+`"]}`, 400, "pkey is missing")
	})
}

// TestGUIDForms: likewise GUIDs.
func TestGUIDForms(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		for _, form := range []string{"02000000000000AB", "0x02000000000000ab", "02:00:00:00:00:00:00:ab",
			"0200:0000:0000:00ab", "0x2000000000000AB"} {
			b.ok("POST resources/pkeys", list("0x2fb", form, form, "02000000000000ab"))
			b.gets("resources/pkeys/0x2fb?guids_data=true", `{"partition": "api_pkey_0x2fb", "ip_over_ib": true, "guids": `+
				`[{"guid": "02000000000000ab", "membership": "full", "index0": false}]}`)
			b.ok("DELETE resources/pkeys/0x2fb/guids/"+form, "")
			b.gets("resources/pkeys/0x2fb", "{}")
		}
		for _, form := range []string{"0000000000000000", "0x0", "00:00:00:00:00:00:00:00", "", "2ab", "0x", "xyz",
			"0x02000000000000abc", "02000000000000ag", "02:00:00:ab", "fe80::1"} {
			b.fails("POST resources/pkeys", list("0x2fb", vf1, form), 400, "16 hexadecimal digits")
			b.fails("POST actions/remove_guids_from_pkey", list("0x2fb", form), 400, "16 hexadecimal digits")
			if form != "" {
				b.fails("DELETE resources/pkeys/0x2fb/guids/"+vf1+","+form, "", 400, "16 hexadecimal digits")
			}
		}
		b.fails("POST resources/pkeys", `{"pkey": "0x2fb", "guids": "`+vf1+`"}`, 400, "list of texts")
		b.fails("POST resources/pkeys", `{"pkey": "0x2fb", "guids": [1]}`, 400, "list of texts")
		if b.Changes() == 0 {
			b.Error("nothing has changed")
		}
	})
}

// TestFlagsAndPaths: flags in every form that programs send, and paths with and without what means nothing in them.
func TestFlagsAndPaths(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		b.ok("POST resources/pkeys", list("0x2fb", vf1))
		const detailed = `{"0x7fff": {"partition": "management", "ip_over_ib": true, "membership": "limited", "index0": false`
		for _, value := range []string{"true", "True", "TRUE", "1"} {
			status, reply := b.do("GET resources/pkeys?guids_data="+value+"&never_heard_of=it&a=1&a=2", "")
			if status != 200 || !strings.HasPrefix(reply, detailed) {
				b.Errorf("guids_data=%s: status %d, %s", value, status, reply)
			}
		}
		for _, value := range []string{"false", "False", "0", "", "2", "yes"} {
			b.gets("resources/pkeys?guids_data="+value, `["0x7fff", "0x10", "0x2fb"]`)
		}
		for _, path := range []string{"/ufmRest/resources/pkeys/0x2fb", "/ufmRestV2/resources/pkeys/0x2fb/",
			"/ufmRestV3/resources/pkeys/0x2fb", "//ufmRest//resources///pkeys//0x2fb//", "/./ufmRest/./resources/pkeys/0x2fb/.",
			"/ufmRest/resources/pkeys/0x2fb?", "/ufmRest/resources/pkeys/0x2fb/?qos_conf=false"} {
			r := b.client.Do(b.T, "GET", path, "")
			if err := r.Sound(); err != nil || r.Status != 200 || !strings.HasPrefix(r.Body, `{"partition": "api_pkey_0x2fb"`) {
				b.Errorf("GET %s: status %d, %s, %v", path, r.Status, r.Body, err)
			}
		}
		for _, path := range []string{"/ufmRest/Resources/pkeys", "/UFMREST/resources/pkeys", "/ufmRest/resources%2fpkeys",
			"/ufmRest/resources%2Fpkeys", "/ufmRest/resources/../resources/pkeys", "/ufmRest", "/", "/ufmRest/resources",
			"/ufmRestV4/resources/pkeys", "/ufmRest/resources/pkeys/0x2fb/guids", "/ufmRestKrb/app/ufm_version", "/dologin",
			"/ufmRest/jobs/1", "/ufmRest/app/versioning", "/ufmRest/resources/vports", "/resources/pkeys"} {
			r := b.client.Do(b.T, "GET", path, "")
			page := "docs/api-requests.md"
			if strings.HasPrefix(strings.ToLower(path), "/ufm") || path == "/dologin" {
				page = "docs/ufm.md"
			}
			if err := r.Sound(); err != nil || r.Status != 404 || !strings.Contains(r.Body, "no such request") ||
				!strings.Contains(r.Body, `"hint": "`+page+" lists") {
				b.Errorf("GET %s: status %d, %s, %v", path, r.Status, r.Body, err)
			}
		}
	})
}

// TestPost: POST adds, changes what is said of members, and does all of it or nothing.
func TestPost(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		b.ok("POST resources/pkeys", list("0x2fb", vf1))
		before := b.Changes()
		b.ok("POST resources/pkeys/", list("0x2fb", vf1))
		if b.Changes() != before {
			b.Error("the same again changes something")
		}
		b.ok("POST resources/pkeys", list("0x2fb", vf2))
		b.ok("POST resources/pkeys", `{"pkey": "0x2fb", "index0": true, "membership": "limited", "guids": ["`+vf1+`"]}`)
		b.ok("POST resources/pkeys", `{"pkey": "0x2fb", "memberships": ["limited", "full"], "guids": ["`+vf2+`", "0x3"]}`)
		const want = "0x0000000000000003=full, 0x0200000000000001=limited indx0, 0x0200000000000002=limited"
		if got := b.Members(0x2fb); got != want {
			b.Errorf("members %s, want %s", got, want)
		}
		for body, says := range map[string]string{
			`"membership": "full", "memberships": ["full"], "guids": ["0x4"]`:       "exclude each other",
			`"memberships": ["full"], "guids": ["0x4", "0x5"]`:                      "1 values for 2 GUIDs",
			`"memberships": ["full", "full"], "guids": ["0x4"]`:                     "2 values for 1 GUIDs",
			`"memberships": ["full", "limited"], "guids": ["0x4", "0x4"]`:           "named twice",
			`"membership": "both", "guids": ["0x4"]`:                                "full",
			`"membership": 1, "guids": ["0x4"]`:                                     "full",
			`"index0": "maybe", "guids": ["0x4"]`:                                   "true or false",
			`"ip_over_ib": [], "guids": ["0x4"]`:                                    "true or false",
			`"membership": "full"`:                                                  "guids is missing",
			`"guids": ["0x4", "0x0"]`:                                               "not all 0",
			`"partition_name": "a b", "guids": ["0x4"], "mtu_limit": 3`:             "2 or 4",
			`"partition_name": 7, "guids": ["0x4"]`:                                 "a text",
			`"guids": ["0x4"], "rate_limit": "fast"`:                                "Gb/s",
			`"guids": ["0x4"], "rate_limit": 7`:                                     "Gb/s",
			`"guids": ["0x4"], "service_level": 16`:                                 "0 to 15",
			`"guids": ["0x4"], "service_level": 1.5`:                                "0 to 15",
			`"guids": ["0x4"], "mtu_limit": ` + strings.Repeat("9", 1000):           "2 or 4",
			`"guids": ["0x4"], "service_level": {"a": ` + strings.Repeat("[", 9999): "not a JSON object",
		} {
			b.fails("POST resources/pkeys", `{"pkey": "0x2fb", `+body+`}`, 400, says)
			b.fails("POST resources/pkeys", `{"pkey": "0x2fc", `+body+`}`, 400, says)
		}
		if got := b.Members(0x2fb); got != want {
			b.Errorf("after what is wrong: members %s", got)
		}
		b.gets("resources/pkeys", `["0x7fff", "0x10", "0x2fb"]`)
		b.ok("POST resources/pkeys", `{"pkey": "0x2fe", "guids": []}`) // nobody to keep it
		b.ok("POST resources/pkeys", `{"pkey": "0x2fd", "guids": ["0x9"], "partition_name": "red", "ip_over_ib": "False",
			"index0": "true", "memberships": [], "membership": null, "unheard": {"of": [1]}}`)
		b.gets("resources/pkeys/0x2fd", `{"partition": "red", "ip_over_ib": false}`)
		b.fails("POST resources/pkeys", `{"pkey": "0x2ff", "guids": ["0x9"], "partition_name": "red"}`, 409, "red")
		b.fails("POST resources/pkeys", `{"pkey": "0x2ff", "guids": ["0x9"], "partition_name": "api/x"}`, 400, "such as")
		b.gets("resources/pkeys", `["0x7fff", "0x10", "0x2fb", "0x2fd"]`)
	})
}

// TestEmpty: what POST made goes with its last member, and what add made stays.
func TestEmpty(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		b.ok("POST resources/pkeys", list("0x2fb", vf1, vf2))
		b.ok("POST actions/remove_guids_from_pkey", list("0x2fb", vf1))
		b.gets("resources/pkeys/0x2fb", `{"partition": "api_pkey_0x2fb", "ip_over_ib": true}`)
		b.ok("POST actions/remove_guids_from_pkey", list("0x2fb", vf2, vf1))
		b.gets("resources/pkeys/0x2fb", "{}")
		const attributes = `{"pkey": "0x12", "index0": false, "ip_over_ib": true, "mtu_limit": 2, "service_level": 0, "rate_limit": 2.5}`
		b.ok("POST resources/pkeys/add", `{"pkey": "0x12"}`)
		before := b.Changes()
		b.ok("POST resources/pkeys/add", attributes)
		b.ok("POST resources/pkeys/add/", `{"pkey": "0x8012", "partition_name": "api_pkey_0x12"}`)
		if b.Changes() != before {
			b.Error("the same again changes something")
		}
		b.gets("resources/pkeys/0x12?guids_data=true", `{"partition": "api_pkey_0x12", "ip_over_ib": true, "guids": []}`)
		b.ok("POST resources/pkeys", list("0x12", vf1))
		b.ok("DELETE resources/pkeys/0x12/guids/"+vf1, "")
		b.gets("resources/pkeys/0x12", `{"partition": "api_pkey_0x12", "ip_over_ib": true}`)
		for _, other := range []string{`"partition_name": "red"`, `"ip_over_ib": false`, `"mtu_limit": 4`,
			`"service_level": 1`, `"rate_limit": 100`} {
			b.fails("POST resources/pkeys/add", `{"pkey": "0x12", `+other+`}`, 400, "already exists")
		}
		b.ok("POST resources/pkeys", list("0x13", vf1))
		b.ok("POST resources/pkeys/add", `{"pkey": "0x13"}`) // from then on it stays
		b.ok("DELETE resources/pkeys/0x13/guids/"+vf1, "")
		b.gets("resources/pkeys/0x13", `{"partition": "api_pkey_0x13", "ip_over_ib": true}`)
		b.ok("POST resources/pkeys/add", `{"pkey": "0x14", "ip_over_ib": false, "mtu_limit": 4, "rate_limit": 400}`)
		b.gets("resources/pkeys/0x14?qos_conf=1", `{"partition": "api_pkey_0x14", "ip_over_ib": false, `+
			`"qos_conf": {"mtu_limit": 4, "service_level": 0, "rate_limit": 300}}`)
	})
}

// TestPut: PUT replaces members.
func TestPut(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		b.ok("PUT resources/pkeys", `{"pkey": "0x2fb", "guids": [], "memberships": [], "ip_over_ib": true}`)
		b.gets("resources/pkeys/0x2fb", "{}")
		b.ok("PUT resources/pkeys/", `{"pkey": "0x2fb", "guids": ["0x1", "0x2"], "memberships": ["full", "limited"]}`)
		b.ok("PUT resources/pkeys/", `{"pkey": "0x2fb", "guids": ["0x3", "0x2"], "memberships": ["limited", "full"],
			"ip_over_ib": false, "service_level": 3}`)
		if got := b.Members(0x2fb); got != "0x0000000000000002=full, 0x0000000000000003=limited" {
			b.Errorf("members %s", got)
		}
		b.gets("resources/pkeys/0x2fb?qos_conf=true", `{"partition": "api_pkey_0x2fb", "ip_over_ib": false, `+
			`"qos_conf": {"mtu_limit": 2, "service_level": 3, "rate_limit": 2.5}}`)
		b.ok("PUT resources/pkeys/", `{"pkey": "0x2fb", "guids": ["0x3"]}`) // what it does not say stays
		b.gets("resources/pkeys/0x2fb", `{"partition": "api_pkey_0x2fb", "ip_over_ib": false}`)
		b.ok("PUT resources/pkeys/", `{"pkey": "0x2fb", "guids": []}`)
		b.gets("resources/pkeys/0x2fb", "{}")
		b.ok("POST resources/pkeys/add", `{"pkey": "0x12"}`)
		b.ok("PUT resources/pkeys", list("0x12", vf1))
		b.ok("PUT resources/pkeys", `{"pkey": "0x12", "guids": []}`)
		b.gets("resources/pkeys/0x12", `{"partition": "api_pkey_0x12", "ip_over_ib": true}`)
		b.fails("PUT resources/pkeys", `{"pkey": "0x12"}`, 400, "guids is missing")
	})
}

// TestUnknown: what is not there.
func TestUnknown(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		b.gets("resources/pkeys/0x2fb", "{}")
		b.gets("resources/pkeys/0x2fb?guids_data=true&qos_conf=true", "{}")
		b.fails("DELETE resources/pkeys/0x2fb", "", 404, "no partition with P_Key 0x2fb")
		b.fails("PUT resources/pkeys/qos_conf", `{"pkey": "0x2fb", "mtu_limit": 4}`, 404, "no partition with P_Key 0x2fb")
		b.ok("DELETE resources/pkeys/0x2fb/guids/"+vf1, "")
		b.ok("DELETE resources/pkeys/0x2fb/hosts/gpu-01", "")
		b.ok("POST actions/remove_guids_from_pkey", list("0x2fb", vf1))
		b.ok("POST resources/pkeys", list("0x2fb", vf1))
		b.ok("POST actions/remove_guids_from_pkey", list("0x2fb", vf2))
		b.ok("DELETE resources/pkeys/0x2fb/guids/"+vf2+","+vf2, "")
		if got := b.Members(0x2fb); got != "0x0200000000000001=full" {
			b.Errorf("members %s", got)
		}
		b.ok("DELETE resources/pkeys/0x2fb/", "")
		b.gets("resources/pkeys/0x2fb", "{}")
	})
}

// TestDefaultPartition: it is always listed, and nothing changes it.
func TestDefaultPartition(t *testing.T) { everyWay(t, testDefaultPartition) }

func testDefaultPartition(t *testing.T, reach func(*bench) *bench) {
	membership := func(t *testing.T, file, want string, ipoib bool) *bench {
		b := reach(serve(t, ufmtest.New(t, ufmtest.NICoSubnet(t), file), admin, ufm.Config{}))
		b.gets("resources/pkeys/0x7fff?guids_data=true", fmt.Sprintf(
			`{"partition": "management", "ip_over_ib": %t, "membership": %q, "index0": false, "guids": []}`, ipoib, want))
		b.gets("resources/pkeys/0xffff", fmt.Sprintf(`{"partition": "management", "ip_over_ib": %t}`, ipoib))
		b.ok("POST actions/remove_guids_from_pkey", list("0x7fff", vf1))
		b.ok("DELETE resources/pkeys/0x7fff/guids/"+vf1, "")
		for _, change := range []string{"PUT resources/pkeys", "POST resources/pkeys/add", "PUT resources/pkeys/qos_conf"} {
			b.fails(change, list("0x7fff", vf1), 409, "change it there")
		}
		b.fails("DELETE resources/pkeys/0x7fff", "", 409, "change it there")
		b.fails("POST resources/pkeys/hosts", `{"pkey": "0x7fff", "hosts_names": "gpu-01"}`, 409, "change it there")
		if b.Changes() != 0 {
			t.Errorf("%d changes", b.Changes())
		}
		return b
	}
	membership(t, "", "full", true).ok("POST resources/pkeys", list("0x7FFF", vf1))
	membership(t, "Default=0x7fff, ipoib: ALL=full;", "full", true).ok("POST resources/pkeys", list("0x7FFF", vf1))
	membership(t, "Default=0x7fff: ALL=limited, SELF=full;", "limited", false).ok("POST resources/pkeys", list("0x7fff", vf1))
	membership(t, "Default=0x7fff: ALL=both;", "full", false)
	membership(t, "A=0x10: ALL;", "limited", false) // by the default partition under each file
	b := reach(serve(t, ufmtest.New(t, ufmtest.NICoSubnet(t), "Default=0x7fff: ALL=full;"), &rights.User{Name: "t",
		Role: rights.Tenant, Scope: rights.Scope{Keys: rights.Ranges[mad.PKey]{{1, 2}},
			GUIDs: rights.Ranges[mad.GUID]{{1, 9}}}}, ufm.Config{}))
	b.gets("resources/pkeys", `["0x7fff"]`)
	b.ok("POST resources/pkeys", list("0x7fff", "0x9"))
	b.fails("POST resources/pkeys", list("0x7fff", "0xa"), 403, "not among the GUIDs")
}

// TestFilePartitions: those of the file are listed with the ports that have them, and changes have status 409 with the
// place.
func TestFilePartitions(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		const storage = `{"partition": "storage", "ip_over_ib": true, "guids": [` +
			`{"guid": "b83fd20300485b2e", "membership": "full", "index0": false}, ` +
			`{"guid": "b83fd20300485b2f", "membership": "limited", "index0": false}, ` +
			`{"guid": "b83fd20300485b30", "membership": "limited", "index0": false}`
		status, reply := b.do("GET resources/pkeys/0x10?guids_data=true&qos_conf=true", "")
		if status != 200 || !strings.HasPrefix(reply, storage) ||
			!strings.HasSuffix(reply, `], "qos_conf": {"mtu_limit": 4, "service_level": 3, "rate_limit": 300}}`) {
			b.Errorf("status %d, %s", status, reply)
		}
		for _, change := range []string{"POST resources/pkeys", "PUT resources/pkeys", "POST resources/pkeys/add",
			"PUT resources/pkeys/qos_conf", "POST actions/remove_guids_from_pkey"} {
			b.fails(change, list("0x10", vf1), 409, "partitions.conf:2:")
		}
		for _, change := range []string{"resources/pkeys/0x10", "resources/pkeys/0x10/guids/" + vf1,
			"resources/pkeys/0x10/hosts/gpu-01"} {
			b.fails("DELETE "+change, "", 409, "partitions.conf:2:")
		}
		b.fails("POST resources/pkeys/hosts", `{"pkey": "0x10", "hosts_names": "gpu-01"}`, 409, "partitions.conf:2:")
		b.fails("POST resources/pkeys", `{"pkey": "0x11", "guids": ["0x1"], "partition_name": "storage"}`, 409,
			"partitions.conf:2:")
	})
}

// TestStatuses: methods, sizes, content types, and a standby.
func TestStatuses(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		r := b.client.Do(b.T, "POST", "/ufmRest/resources/pkeys/0x2fb", "{}")
		if r.Status != 405 || r.Header.Get("Allow") != "GET, DELETE" {
			b.Errorf("status %d, Allow %q", r.Status, r.Header.Get("Allow"))
		}
		e := &ufmtest.Exchange{Name: "form", Method: "POST", Path: "/ufmRest/resources/pkeys", Body: list("0x2fb", vf1)}
		for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "", "application/json;charset=utf-8",
			"nonsense"} {
			e.Header = [][2]string{{"Host", "ufm"}, {"Authorization", "of the bench"}, {"Content-Type", kind},
				{"Content-Length", fmt.Sprint(len(e.Body))}}
			if r := b.client.Send(b.T, e); r.Status != 200 {
				b.Errorf("Content-Type %q: status %d, %s", kind, r.Status, r.Body)
			}
		}
		const tooLong = 8<<20 + 1
		b.fails("POST resources/pkeys", `{"pkey": "`+strings.Repeat("x", tooLong), 413, "8388608 bytes")
		for _, body := range []string{"", "[]", "null", "{", `"x"`, `{"pkey": "0x2fb"} {}`, "\xff", `{"pkey": "0x2fb", "guids": [`,
			strings.Repeat(`{"pkey":`, 20000)} {
			b.fails("POST resources/pkeys", body, 400, "not a JSON object")
			b.fails("PUT app/unhealthy_ports", body, 404, "performance manager")
		}
		b.Standby(true)
		for _, change := range []string{"POST resources/pkeys", "PUT resources/pkeys", "POST resources/pkeys/add",
			"PUT resources/pkeys/qos_conf", "POST actions/remove_guids_from_pkey"} {
			b.fails(change, list("0x2fc", vf1), 503, "not master")
		}
		b.fails("GET resources/ports", "", 503, "not known")
		r = b.client.Do(b.T, "DELETE", "/ufmRest/resources/pkeys/0x2fb", "")
		if r.Status != 503 || r.Header.Get("Retry-After") != "1" {
			b.Errorf("a standby: status %d, Retry-After %q", r.Status, r.Header.Get("Retry-After"))
		}
		b.gets("resources/pkeys", `["0x7fff", "0x10", "0x2fb"]`)
		b.gets("app/ufm_version", `{"ufm_release_version": "6.23.1-6"}`)
	})
}

// TestQoS: what was PUT is answered, and no value that programs do not know.
func TestQoS(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		b.ok("POST resources/pkeys", list("0x2fb", vf1))
		conf := func(mtu, sl int, rate string) {
			b.Helper()
			b.gets("resources/pkeys/0x2fb?qos_conf=true", fmt.Sprintf(`{"partition": "api_pkey_0x2fb", "ip_over_ib": true, `+
				`"qos_conf": {"mtu_limit": %d, "service_level": %d, "rate_limit": %s}}`, mtu, sl, rate))
		}
		conf(2, 0, "2.5")
		answered := map[string]string{"2.5": "2.5", "2": "2.5", "28": "25", "50": "40", "400": "300", "600": "300",
			"800": "300", "1200": "300", "1600": "300", "2400": "300", "200.0": "200", `"100"`: "100", "1e2": "100"}
		for _, rate := range []string{"5", "10", "14", "20", "25", "30", "40", "56", "60", "80", "100", "112", "120", "168",
			"200", "300"} {
			answered[rate] = rate
		}
		for rate, want := range answered {
			b.ok("PUT resources/pkeys/qos_conf", `{"pkey": "0x2fb", "mtu_limit": 4, "service_level": 7, "rate_limit": `+rate+`}`)
			conf(4, 7, want)
		}
		b.ok("PUT resources/pkeys/qos_conf", `{"pkey": "0x2fb", "mtu_limit": "2"}`)
		b.ok("PUT resources/pkeys/qos_conf", `{"pkey": "0x2fb", "rate_limit": 1200}`)
		conf(2, 7, "300")
		if !strings.Contains(b.Conf(), "mtu=4, rate=24") {
			b.Errorf("stored as %s", b.Conf())
		}
		b.ok("POST resources/pkeys/add", `{"pkey": "0x12", "ip_over_ib": false}`)
		b.ok("PUT resources/pkeys/qos_conf", `{"pkey": "0x12", "mtu_limit": 4, "service_level": 0, "rate_limit": 200.0}`)
		b.gets("resources/pkeys/0x12?qos_conf=true", `{"partition": "api_pkey_0x12", "ip_over_ib": false, `+
			`"qos_conf": {"mtu_limit": 4, "service_level": 0, "rate_limit": 200}}`)
	})
}

// TestKeysAreHidden: no key is answered, but defaults are.
func TestKeysAreHidden(t *testing.T) {
	everyWay(t, func(t *testing.T, reach func(*bench) *bench) {
		b := reach(serve(t, ufmtest.New(t, ufmtest.NICoSubnet(t), ufmtest.NICoFile), admin, ufm.Config{
			SMConf: func() ufm.SMConf { return ufm.SMConf{SubnetPrefix: 0xfec0000000000001} }}))
		b.gets("app/smconf", `{"subnet_prefix": "0xfec0000000000001", "m_key": "0x0", "sm_key": "0x1", "sa_key": "0x1", `+
			`"m_key_per_port": false}`)
		reach(nico(t)).gets("app/smconf", `{"subnet_prefix": "0xfe80000000000000", "m_key": "hidden", `+
			`"sm_key": "hidden", "sa_key": "hidden", "m_key_per_port": true}`)
	})
}

// TestCloudx: OpenStack's driver gives up at status 501.
func TestCloudx(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			for _, path := range []string{"cloudx/Network", "cloudx/Port/7/"} {
				b.fails(method+" "+path, "{}", 501, "resources/pkeys")
			}
		}
	})
}

// TestCredentials: a wrong credential of any form gets status 401 and a hint; a password takes precedence over a
// certificate.
func TestCredentials(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		b := nico(t)
		b.client.HTTP2 = http2
		foreign := userstest.NewAuthority(t, "clients").Of(t, userstest.CertificateName(b.user), nil)
		for _, c := range []struct {
			what, header string
			certificate  *tls.Certificate
			status       int
		}{
			{"certificate", "", b.certificate, 200},
			{"no certificate", "", nil, 401},
			{"certificate of another authority", "", foreign, 401},
			{"certificate of nobody", "", b.ca.Of(t, "spiffe://cluster/nobody", nil), 401},
			{"password", basic(b.user, userstest.Password), nil, 200},
			{"password of another authority's certificate", basic(b.user, userstest.Password), foreign, 200},
			{"wrong password", basic(b.user, "wrong horse"), nil, 401},
			{"wrong password, certificate", basic(b.user, "wrong horse"), b.certificate, 401},
			{"wrong user", basic("nobody", userstest.Password), nil, 401},
			{"token", "Bearer " + b.token, nil, 200},
			{"wrong token", "Bearer " + b.token + "A", nil, 401},
			{"wrong token, certificate", "Basic ibsm_x", b.certificate, 401},
			{"token as password", basic(b.user, b.token), nil, 401},
			{"another scheme", "Negotiate YWJj", b.certificate, 401},
		} {
			b.client.Credential = func(string) string { return c.header }
			b.client.TLS = &tls.Config{InsecureSkipVerify: true}
			if c.certificate != nil {
				b.client.TLS.Certificates = []tls.Certificate{*c.certificate}
			}
			b.client.Close()
			r := b.client.Do(t, "GET", "/ufmRest/app/ufm_version", "")
			asks := strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Basic ")
			if err := r.Sound(); err != nil || r.Status != c.status || asks != (c.status == 401) {
				t.Errorf("%s: status %d, %s, %v, WWW-Authenticate %q", c.what, r.Status, r.Body, err,
					r.Header.Get("WWW-Authenticate"))
			}
		}
	})
}

// TestConfigManager: its order of requests, in which a partition is made without members and must be there at once.
func TestConfigManager(t *testing.T) {
	everyWayNICo(t, func(b *bench) {
		b.gets("resources/pkeys", `["0x7fff", "0x10"]`)
		b.ok("POST resources/pkeys/add", `{"pkey":"0x0005","ip_over_ib":true}`)
		b.gets("resources/pkeys/0x5", `{"partition": "api_pkey_0x5", "ip_over_ib": true}`)
		b.ok("PUT resources/pkeys/", `{"pkey":"0x0005","guids":["`+vf1+`","`+vf2+`"],"memberships":["full","limited"],"ip_over_ib":true}`)
		b.gets("resources/pkeys/0x5?guids_data=true", `{"partition": "api_pkey_0x5", "ip_over_ib": true, "guids": [`+
			`{"guid": "`+vf1+`", "membership": "full", "index0": false}, `+
			`{"guid": "`+vf2+`", "membership": "limited", "index0": false}]}`)
		b.ok("DELETE resources/pkeys/0x5/guids/"+vf1+","+vf2, "")
		b.gets("resources/pkeys/0x5?guids_data=true", `{"partition": "api_pkey_0x5", "ip_over_ib": true, "guids": []}`)
		b.ok("DELETE resources/pkeys/0x5", "")
		b.gets("resources/pkeys/0x5", "{}")
		b.fails("DELETE resources/pkeys/0x5", "", 404, "0x5")
	})
}

// TestReadYourWrites: what was acknowledged shows at once, a thousand times, and over the network.
func TestReadYourWrites(t *testing.T) {
	each := func(t *testing.T, times int, send func(request, body string) string) {
		send("POST resources/pkeys", list("0x2fb", vf2))
		for i := range times {
			guid := fmt.Sprintf("02000000000%05x", 0x100+i)
			send("POST resources/pkeys", list("0x2fb", guid))
			if reply := send("GET resources/pkeys?guids_data=true", ""); !strings.Contains(reply, guid) {
				t.Fatalf("%s is not listed: %s", guid, reply)
			}
			send("POST actions/remove_guids_from_pkey", list("0x2fb", guid))
			if reply := send("GET resources/pkeys?guids_data=true", ""); strings.Contains(reply, guid) {
				t.Fatalf("%s is still listed: %s", guid, reply)
			}
		}
	}
	h := ufmtest.Handler(ufmtest.New(t, ufmtest.NICoSubnet(t), ufmtest.NICoFile), admin)
	each(t, 1000, func(request, body string) string {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(method, "/ufmRest/"+path, strings.NewReader(body))); w.Code != 200 {
			t.Fatalf("%s: status %d, %s", request, w.Code, w.Body)
		}
		return w.Body.String()
	})
	everyWayNICo(t, func(b *bench) {
		each(b.T, 5, func(request, body string) string {
			status, reply := b.do(request, body)
			if status != 200 {
				b.Fatalf("%s: status %d, %s", request, status, reply)
			}
			return reply
		})
	})
}

// TestLargePartition: a partition of 5,000 members is listed whole, each GUID with 16 digits, and so is one of 95,000.
func TestLargePartition(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		b := nico(t)
		b.client.HTTP2, b.client.Timeout = http2, 5*time.Minute // with the race detector, on a busy machine
		var guids []string
		for i := range 5000 {
			guids = append(guids, fmt.Sprintf("%016x", 0x0200000000000000+i+1))
		}
		b.ok("POST resources/pkeys", list("0x2fb", guids...))
		status, reply := b.do("GET resources/pkeys/?guids_data=true", "")
		if n := strings.Count(reply, `{"guid": "0200`); status != 200 || n != 5000 {
			b.Errorf("status %d, %d members", status, n)
		}
		for i := range 90000 { // too long for a list that is kept
			guids = append(guids, fmt.Sprintf("%016x", 0x0300000000000000+i))
		}
		b.ok("PUT resources/pkeys", list("0x2fb", guids...))
		for _, path := range []string{"resources/pkeys?guids_data=true", "resources/pkeys/0x2fb?guids_data=true"} {
			status, reply := b.do("GET "+path, "")
			if n := strings.Count(reply, `{"guid": "0`); status != 200 || n != 95000 {
				b.Errorf("%s: status %d, %d members", path, status, n)
			}
		}
	})
}
