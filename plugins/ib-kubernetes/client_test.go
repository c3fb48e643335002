package ibsm_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	ibsm "ibsm/plugins/ib-kubernetes"
)

func guids(t *testing.T, texts ...string) (all []net.HardwareAddr) {
	t.Helper()
	for _, text := range texts {
		g, err := net.ParseMAC(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

const (
	one   = "02:00:00:00:00:00:00:01"
	two   = "02:00:00:00:00:00:00:02"
	three = "02:00:00:00:00:00:00:03"
)

// TestPKeys: ports come and go as ib-kubernetes has them, a partition is made with its first port and goes with its
// last.
func TestPKeys(t *testing.T) {
	m := start(t)
	c := client(t, m)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := c.AddGuidsToPKey(0x82fb, guids(t, one)); err != nil { // the bit of a full member does not count
		t.Fatal(err)
	}
	if err := c.AddGuidsToPKey(0x2fb, guids(t, one, two)); err != nil {
		t.Fatal(err)
	}
	want := []member{{GUID: "0x0200000000000001", Membership: "full", Index0: true},
		{GUID: "0x0200000000000002", Membership: "full", Index0: true}}
	if p := m.partitions["ib-kubernetes_0x2fb"]; p == nil || p.PKey != "0x2fb" || !p.IPoIB || !p.DeleteWhenEmpty ||
		!reflect.DeepEqual(p.Members, want) {
		t.Fatalf("%+v", m.partitions)
	}
	m.partitions["tenant"] = &partition{Name: "tenant", PKey: "0x5", Origin: "caller",
		Members: []member{{Host: "node7", Ports: []map[string]string{{"guid": "0x00000000000000bb"}}}}}
	m.partitions["filed"] = &partition{Name: "filed", PKey: "0x6", Origin: "file", Members: []member{
		{GUID: "0x0200000000000001", Ports: []map[string]string{{"guid": "0x0200000000000001"}}}, {GUID: "0x00000000000000cc"}}}
	used, err := c.ListGuidsInUse()
	wantUsed := map[string]string{one: "0x2fb", two: "0x2fb", "00:00:00:00:00:00:00:bb": "0x5",
		"00:00:00:00:00:00:00:cc": "0x6"}
	if err != nil || !reflect.DeepEqual(used, wantUsed) {
		t.Errorf("%v, %v, want %v", used, err, wantUsed)
	}
	for _, gone := range [][]net.HardwareAddr{guids(t, one), guids(t, one, two, three), guids(t, two)} {
		if err := c.RemoveGuidsFromPKey(0x2fb, gone); err != nil {
			t.Errorf("%v: %v", gone, err)
		}
	}
	if p := m.partitions["ib-kubernetes_0x2fb"]; p != nil {
		t.Errorf("%+v is left", p)
	}
	if err := c.AddGuidsToPKey(0x6, guids(t, one)); err == nil || !strings.Contains(err.Error(), "partitions.conf:3 has the P_Key") ||
		!strings.Contains(err.Error(), "do that") || !strings.Contains(err.Error(), "status 409") {
		t.Errorf("a P_Key of the file: %v", err)
	}
}

// TestDefaultPartition: all ports are in it already, or its file decides.
func TestDefaultPartition(t *testing.T) {
	m := start(t)
	c := client(t, m)
	for _, key := range []int{0x7fff, 0xffff} {
		err := errors.Join(c.AddGuidsToPKey(key, guids(t, one)), c.RemoveGuidsFromPKey(key, guids(t, one)))
		if err != nil {
			t.Error(err)
		}
	}
	m.partitions["Default"].All = ""
	if err := c.AddGuidsToPKey(0x7fff, guids(t, one)); err == nil || !strings.Contains(err.Error(), "partition file") {
		t.Error(err)
	}
	for _, key := range []int{0, 0x8000, -1, 0x10000} {
		if c.AddGuidsToPKey(key, guids(t, one)) == nil || c.RemoveGuidsFromPKey(key, guids(t, one)) == nil {
			t.Errorf("P_Key %#x is taken", key)
		}
	}
	short := []net.HardwareAddr{{2, 0, 0, 0, 0, 1}}
	if c.AddGuidsToPKey(0x2fb, short) == nil || c.AddGuidsToPKey(0x2fb, nil) != nil {
		t.Error("a MAC address is taken for a GUID, or no GUIDs are an error")
	}
	for _, asked := range m.asked {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("it sent %s", asked)
		}
	}
}

// TestRaces: another client makes the partition, or deletes it, between two requests.
func TestRaces(t *testing.T) {
	m := start(t)
	c := client(t, m)
	const name = "ib-kubernetes_0x2fb"
	m.before = func(r *http.Request) {
		switch len(m.asked) {
		case 1: // before the PUT
			m.partitions[name] = &partition{Name: name, PKey: "0x2fb", Origin: "caller"}
		case 3, 7: // before the PATCHes
			delete(m.partitions, name)
		}
	}
	if err := c.AddGuidsToPKey(0x2fb, guids(t, one)); err != nil || len(m.partitions[name].Members) != 1 {
		t.Errorf("%v after %q", err, m.asked)
	}
	if err := c.RemoveGuidsFromPKey(0x2fb, guids(t, one)); err != nil || m.partitions[name] != nil {
		t.Error(err)
	}
	want := []string{"GET", "PUT", "GET", "PATCH", "GET", "PUT", "GET", "PATCH"}
	for i, asked := range m.asked {
		if i >= len(want) || !strings.HasPrefix(asked, want[i]+" ") {
			t.Fatalf("it asked %q, want %q", m.asked, want)
		}
	}
}

// TestPartitionsByName: a partition of a network attachment is made once, and deleted once.
func TestPartitionsByName(t *testing.T) {
	m := start(t)
	c := client(t, m)
	long := "namespace_" + strings.Repeat("n", 80)
	for _, name := range []string{"default_ib-net", long} {
		for range 2 {
			if key, err := c.CreateIBPartition(name); err != nil || key != "0x10" {
				t.Errorf("%s: %s, %v", name, key, err)
			}
		}
		if ready, key, err := c.IsPartitionReady(name); !ready || key != "0x10" || err != nil {
			t.Errorf("%s: %t, %s, %v", name, ready, key, err)
		}
	}
	for name, p := range m.partitions {
		if len(name) > 64 || p.Origin == "caller" && (p.DeleteWhenEmpty || !p.IPoIB) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if err := c.AddGuidsToPKey(0x10, nil); err != nil || len(m.partitions) != 3 {
		t.Error(err, m.partitions)
	}
	p := m.partitions["default_ib-net"]
	p.Ready, p.Members = false, []member{{GUID: "0x0200000000000001", State: "pending", Ports: []map[string]string{{"guid": "x"}}}}
	if ready, _, err := c.IsPartitionReady("default_ib-net"); ready || err != nil {
		t.Errorf("with a member that waits: %t, %v", ready, err)
	}
	p.Members[0].State, p.Members[0].Why = "failed", "the P_Key table is full"
	if ready, _, err := c.IsPartitionReady("default_ib-net"); ready || err == nil || !strings.Contains(err.Error(), "is full") {
		t.Errorf("with a member that fails: %t, %v", ready, err)
	}
	p.Held = "partitions.conf:4 has its P_Key"
	if _, _, err := c.IsPartitionReady("default_ib-net"); err == nil || !strings.Contains(err.Error(), "partitions.conf:4") {
		t.Errorf("held: %v", err)
	}
	for range 2 {
		if err := errors.Join(c.DeleteIBPartition("default_ib-net"), c.DeleteIBPartition(long)); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := c.IsPartitionReady("default_ib-net"); err == nil || len(m.partitions) != 1 {
		t.Errorf("deleted: %v, %v", err, m.partitions)
	}
	if _, err := c.CreateIBPartition(""); err == nil {
		t.Error("a partition without a name is made")
	}
}

// TestApplied: ports that have been seen get the P_Key, others are not waited for.
func TestApplied(t *testing.T) {
	m := start(t)
	c := client(t, m)
	seen := []map[string]string{{"guid": "0x0200000000000001"}}
	m.partitions["p"] = &partition{Name: "p", PKey: "0x2fb", Origin: "caller", Members: []member{
		{GUID: "0x0200000000000001", State: "pending", Ports: seen}, {GUID: "0x0200000000000002", State: "pending"},
		{GUID: "0x0200000000000003", State: "failed", Why: "full", Ports: seen}}}
	for _, of := range []struct {
		guid string
		want string // "" for nil
	}{{one, ibsm.ErrPending.Error()}, {two, ""}, {three, "partition p: member 0x0200000000000003: full"}} {
		err := c.Applied(0x2fb, guids(t, of.guid))
		if fmt.Sprint(err) != of.want && !(err == nil && of.want == "") {
			t.Errorf("%s: %v, want %q", of.guid, err, of.want)
		}
	}
	if err := c.Applied(0x5, guids(t, one)); err == nil {
		t.Error("applied in a partition that is not there")
	}
}

// TestNodes: the adapters of a node in the order of their numbers, by its name up to the first dot.
func TestNodes(t *testing.T) {
	m := start(t)
	c, err := ibsm.New(ibsm.Config{Servers: []string{m.URL}, CA: m.ca(), Token: token, Devices: []string{"mlx5_[0-10]"}})
	if err != nil {
		t.Fatal(err)
	}
	reply := `{"hosts":[{"name":"node7","ports":[{"guid":"0x0000000000000a10","device":"mlx5_10"},` +
		`{"guid":"0x0000000000000a02","device":"mlx5_2"}]}]}`
	m.before = func(r *http.Request) {
		m.hosts = ""
		if r.URL.Query().Get("name") == "node7" {
			m.hosts = reply
		}
	}
	got, err := c.GetNodeIBDevices("node7.cluster.example")
	want := []ibsm.Device{{Device: "mlx5_2", GUID: guids(t, "00:00:00:00:00:00:0a:02")[0]},
		{Device: "mlx5_10", DeviceInstance: 1, GUID: guids(t, "00:00:00:00:00:00:0a:10")[0]}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if last := m.asked[len(m.asked)-1]; last != "GET /v1/hosts?device=mlx5_%5B0-10%5D&name=node7" {
		t.Errorf("it asked %s", last)
	}
	if _, err := c.GetNodeIBDevices("node8"); err == nil || !strings.Contains(err.Error(), "no host of the subnet is named node8") {
		t.Error(err)
	}
	for text, says := range map[string]string{`{"hosts":[]}`: "none of the adapters mlx5_[0-10]",
		`{"hosts":[{"name":"node7","shared":"node7 mlx5_0","ports":[]}]}`: "several adapters",
		`{"hosts":[{"name":"node7"`:                                       "unexpected EOF", `[]`: "no object",
		`{"hosts":[{"ports":[{"guid":"0x1"}]}]}`: "no GUID"} {
		reply = text
		if _, err := c.GetNodeIBDevices("node7"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// TestMaster: of several managers the master carries changes out, also after another one has become master.
func TestMaster(t *testing.T) {
	a, b := start(t), start(t)
	b.partitions = a.partitions // as a standby mirrors
	a.standby = true
	c := client(t, a, b)
	if err := c.AddGuidsToPKey(0x2fb, guids(t, one)); err != nil || a.partitions["ib-kubernetes_0x2fb"] == nil {
		t.Fatal(err)
	}
	a.standby, b.standby = false, true
	if err := c.RemoveGuidsFromPKey(0x2fb, guids(t, one)); err != nil || a.partitions["ib-kubernetes_0x2fb"] != nil {
		t.Fatal(err)
	}
	a.Close()
	if err := c.Validate(); err != nil {
		t.Errorf("one manager is gone: %v", err)
	}
	b.Close()
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), a.URL) ||
		!strings.Contains(err.Error(), b.URL) {
		t.Errorf("both are gone: %v", err)
	}
}

// TestCredentials: each kind of credential, and what is wrong with others. No error shows a token.
func TestCredentials(t *testing.T) {
	m := start(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	with := func(env map[string]string) error {
		c, err := ibsm.New(ibsm.FromEnv(func(name string) string { return env[name] }))
		if err == nil {
			err = c.Validate()
		}
		return err
	}
	for _, c := range []struct {
		env  map[string]string
		says string // "" for no error
	}{
		{map[string]string{"IBSM_SERVERS": m.URL, "IBSM_CERTIFICATE": m.ca(), "IBSM_TOKEN": token}, ""},
		{map[string]string{"IBSM_SERVERS": m.URL + "/ , ", "IBSM_CERTIFICATE": m.ca(), "IBSM_TOKEN_FILE": file}, ""},
		{map[string]string{"IBSM_SERVERS": m.URL, "IBSM_CERTIFICATE": m.ca(), "IBSM_TOKEN": "ibsm_wrong"}, "unknown token"},
		{map[string]string{"IBSM_SERVERS": m.URL, "IBSM_TOKEN": token}, "certificate"},
		{map[string]string{"IBSM_SERVERS": m.URL, "IBSM_CERTIFICATE": "x", "IBSM_TOKEN": token}, "no certificate in PEM form"},
		{map[string]string{"IBSM_TOKEN": token}, "IBSM_SERVERS is not set"},
		{map[string]string{"IBSM_SERVERS": "http://a", "IBSM_TOKEN": token}, "expected https://HOST:PORT"},
		{map[string]string{"IBSM_SERVERS": "https://a/v1", "IBSM_TOKEN": token}, "expected https://HOST:PORT"},
		{map[string]string{"IBSM_SERVERS": m.URL}, "set one of IBSM_TOKEN"},
		{map[string]string{"IBSM_SERVERS": m.URL, "IBSM_TOKEN": token, "IBSM_TOKEN_FILE": file}, "set one of IBSM_TOKEN"},
		{map[string]string{"IBSM_SERVERS": m.URL, "IBSM_CLIENT_CERT_FILE": file}, "set one of IBSM_TOKEN"},
		{map[string]string{"IBSM_SERVERS": m.URL, "IBSM_CERTIFICATE": m.ca(), "IBSM_TOKEN_FILE": file + "x"}, "no such file"},
		{map[string]string{"IBSM_SERVERS": m.URL, "IBSM_CLIENT_CERT_FILE": file, "IBSM_CLIENT_KEY_FILE": file}, "PEM"},
	} {
		err := with(c.env)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.env, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "ibsm_") {
			t.Errorf("an error shows a token: %v", err)
		}
	}
	if got := ibsm.FromEnv(func(string) string { return " a, b ,,c" }).Devices; !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("devices %q", got)
	}
}
