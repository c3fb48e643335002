package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ibsm/api/users"
	"ibsm/api/users/userstest"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/rights"
)

// manager is a manager that runs beside the test, on a simulated fabric of 16 hosts, with users of each role. The
// tenants are red, which owns the P_Keys 0x100 to 0x1ff, host-01 and host-02, and blue with 0x200 to 0x2ff, host-03 and
// host-04; the user tenant is as red.
type manager struct {
	*harness
	url   string
	guids []string // of the ports of hosts, by name
	cmd   *exec.Cmd
	said  *book

	mu      sync.Mutex
	clients map[string]*http.Client
}

// ibsm is the manager, built once.
var ibsm = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "api-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ibsm")
	if out, err := exec.Command("go", "build", "-o", path, "ibsm/cmd/ibsm").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	built = dir
	return path, nil
})

// built is the directory of the manager; "" if it was not built.
var built string

var scopes = map[string]struct{ keys, first, second string }{"tenant": {"0x100-0x1ff", "host-01", "host-02"},
	"red": {"0x100-0x1ff", "host-01", "host-02"}, "blue": {"0x200-0x2ff", "host-03", "host-04"}}

// startManager starts a manager, and waits until its subnet is up.
func startManager(t *testing.T) *manager {
	t.Helper()
	m := &manager{harness: prepare(t), said: &book{}, clients: map[string]*http.Client{}}
	program, err := ibsm()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"state/x": "",
		"partitions.conf": "Default=0x7fff, ipoib: ALL=full;\nstorage=0x10: host-05;\n",
		"opensm.conf":     "partition_config_file " + m.path("partitions.conf") + "\ndrain_file " + m.path("drain.conf") + "\n"} {
		if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		m.write(name, 0o600, []byte(text))
	}
	m.run(program)
	var list struct{ Hosts []ctl.Host }
	m.eventually("the subnet is up", func() bool {
		r := m.ask("GET", "/v1/hosts", "admin", "password", "")
		return r.StatusCode == 200 && json.Unmarshal([]byte(r.text), &list) == nil && len(list.Hosts) == 16
	})
	for _, h := range list.Hosts {
		m.guids = append(m.guids, h.Ports[0].GUID)
	}
	m.changeUsers(func(s *users.Set) (*users.Set, error) {
		if s, err = s.Delete("tenant"); err != nil {
			return nil, err
		}
		for name, scope := range scopes {
			keys, err := rights.ParseKeys(scope.keys)
			if err != nil {
				return nil, err
			}
			a, token := userstest.Account(t, rights.User{Name: name, Role: rights.Tenant,
				Scope: rights.Scope{Keys: rights.Ranges[mad.PKey]{keys}, Hosts: []string{scope.first, scope.second}}})
			m.tokens[name] = token
			for _, i := range map[string][]int{"0x100-0x1ff": {0, 1}, "0x200-0x2ff": {2, 3}}[scope.keys] {
				of, err := rights.ParseGUIDs(m.guids[i])
				if err != nil {
					return nil, err
				}
				a.Scope.GUIDs = append(a.Scope.GUIDs, of)
			}
			if s, err = s.Add(a); err != nil {
				return nil, err
			}
		}
		return s, nil
	})
	m.eventually("the tenants are users", func() bool {
		return m.ask("GET", "/v1/partition", "blue", "token", "").StatusCode == 200
	})
	return m
}

// run starts the program, and waits for its address.
func (m *manager) run(program string) {
	m.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	m.cmd = exec.CommandContext(ctx, program, "--fabric", "fattree:k=4", "-F", m.path("opensm.conf"), "-f", "stdout",
		"-D", "0xff",
		"--state_dir", m.path("state"), "--ctl_socket", "none", "--api_addr", "127.0.0.1:0", "--api_users_file", m.users,
		"--api_client_ca_file", m.path("clients.crt"), "--api_audit_file", m.path("manager-audit.log"), "--perfmgr",
		"--perfmgr_sweep_time_s", "1")
	m.cmd.Stdout, m.cmd.Stderr = m.said, m.said
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		cancel()
		m.cmd.Wait()
		if m.Failed() {
			text := m.said.text()
			m.Logf("the manager wrote:\n...%s", text[max(0, len(text)-2000):])
		}
	})
	address := regexp.MustCompile(`https://127\.0\.0\.1:\d+`)
	m.eventually("the API is served", func() bool {
		m.url = address.FindString(m.said.text())
		return m.url != ""
	})
}

// ask sends a request as a user, with a password, token or certificate; the user "" has none. Requests of one
// credential share a connection, of HTTP/1.1 or 2 by the credential.
func (m *manager) ask(method, path, user, way, body string) reply {
	m.Helper()
	m.mu.Lock()
	client := m.clients[user+way]
	if client == nil {
		a := ask{http1: way == "token"}
		if way == "certificate" {
			a.certificate = m.ca.Of(m.T, "spiffe://cluster/"+user, nil)
		}
		client = m.client(a)
		m.clients[user+way] = client
	}
	m.mu.Unlock()
	req, err := http.NewRequestWithContext(m.Context(), method, m.url+path, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	switch way {
	case "password":
		req.SetBasicAuth(user, password)
	case "token":
		req.Header.Set("Authorization", "Bearer "+m.tokens[user])
	}
	resp, err := client.Do(req)
	if err != nil {
		m.Fatalf("%s %s as %s: %v", method, path, user, err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		m.Fatal(err)
	}
	return reply{resp, text.String()}
}

var ways = []string{"password", "token", "certificate"}

// may are the rights of each role.
var may = map[string][]rights.Right{
	"reader":   {rights.Anyone, rights.ReadOwn, rights.Read},
	"tenant":   {rights.Anyone, rights.ReadOwn, rights.ChangeOwn},
	"operator": {rights.Anyone, rights.ReadOwn, rights.ChangeOwn, rights.Read, rights.Operate},
	"admin":    {rights.Anyone, rights.ReadOwn, rights.ChangeOwn, rights.Read, rights.Operate, rights.Administer},
}

// sample is a request of a route that a tenant may send.
func (m *manager) sample(rt *ctl.Route) (path, body string) {
	guid := strings.TrimPrefix(m.guids[0], "0x")
	path = strings.NewReplacer("{name}", "red-1", "{kind}", "lfts", "{pkey}", "0x101", "{guids}", guid, "{hosts}", "host-01",
		"{path...}", "Network").Replace(rt.Path)
	query := map[string]string{
		"/v1/path": "from=host-01&to=host-16", "/v1/path-record": "from=host-01&to=host-16", "/v1/why": "port=host-01",
		"/v1/partitions/why": "port=host-01&pkey=0x7fff", "/v1/partitions/undo": "number=1",
		"/v1/links/isolate": "port=leaf-01:3&seconds=1", "/v1/links/heal": "port=leaf-01:3", "/v1/drain": "switch=leaf-01:4&seconds=1",
		"/v1/undrain": "switch=leaf-01:4&seconds=1", "/v1/plan": "reroute=1", "/metrics": "collect[]=manager", "/v1/sweep": "kind=light",
	}[rt.Path]
	if rt.Path == "/v1/log-level" && rt.Method == "POST" {
		query = "flags=255"
	}
	if query != "" {
		path += "?" + query
	}
	_, call, _ := strings.Cut(rt.Path[1:], "/") // of UFM
	switch {
	case rt.Path == "/v1/partition/{name}" && rt.Method == "PUT":
		body = `{"pkey":"0x110","members":[{"host":"host-01"},{"guid":"` + m.guids[1] + `"}]}`
	case rt.Method == "PATCH":
		body = `{"add":[{"host":"host-02"}]}`
	case rt.Method == "POST" && (call == "resources/pkeys" || call == "actions/remove_guids_from_pkey"),
		rt.Method == "PUT" && call == "resources/pkeys":
		body = `{"pkey": "0x101", "guids": ["` + guid + `"]}`
	case call == "resources/pkeys/add":
		body = `{"pkey": "0x102"}`
	case call == "resources/pkeys/qos_conf":
		body = `{"pkey": "0x102", "mtu_limit": 2, "service_level": 0, "rate_limit": 2.5}`
	case call == "resources/pkeys/hosts":
		body = `{"pkey": "0x101", "hosts_names": "host-01"}`
	case call == "app/unhealthy_ports" && rt.Method == "PUT":
		body = `{"ports": [], "ports_policy": "HEALTHY", "action": "isolate"}`
	}
	return path, body
}

// TestRoles: each user may send the requests that its role has a right to, with each credential, over both versions of
// HTTP; each other one is refused with status 403 and is in the audit. Without a credential, and with a wrong one, only
// /leader is answered.
func TestRoles(t *testing.T) {
	t.Parallel()
	m := startManager(t)
	refused := map[string]bool{} // by ID
	routes := served(m.control)
	for i := range routes {
		rt := &routes[i]
		path, body := m.sample(rt)
		for _, user := range []string{"reader", "tenant", "operator", "admin"} {
			allowed := slices.Contains(may[user], rt.Right)
			for j, way := range ways {
				if allowed && rt.Method != "GET" && j != i%len(ways) {
					continue // a change is made once
				}
				r := m.ask(rt.Method, path, user, way, body)
				switch {
				case !allowed && (r.StatusCode != 403 || !strings.Contains(r.text, "has no right to "+rt.Right.String())):
					t.Errorf("%v as %s by %s: %s %s, want 403", rt, user, way, r.Status, r.text)
				case !allowed:
					refused[r.Header.Get("X-Request-Id")] = true
				case r.StatusCode == 401 || r.StatusCode == 403 || r.StatusCode >= 500 && r.StatusCode != 503 &&
					!slices.Contains(rt.Status, r.StatusCode): // 503: not now
					t.Errorf("%v as %s by %s: %s %s", rt, user, way, r.Status, r.text)
				}
			}
		}
		for _, way := range []string{"", "token"} {
			want := 401
			if rt.Right == rights.Anyone {
				want = 200
			}
			if r := m.ask(rt.Method, path, "", way, body); r.StatusCode != want {
				t.Errorf("%v without a user, %q: %s %s", rt, way, r.Status, r.text)
			}
		}
	}
	m.eventually("the audit has all refusals", func() bool {
		listed := 0
		for _, a := range m.entries("manager-audit.log") {
			if a.Status == 403 && refused[a.ID] {
				listed++
			}
		}
		return listed == len(refused)
	})
	if len(refused) < 300 {
		t.Errorf("%d requests were refused", len(refused))
	}
	m.searchSecrets()
}

// searchSecrets checks that nothing that the manager wrote has a password, a token, or what is kept of them, or the key
// of its certificate. Last it ends the manager by a signal that has it print all stacks.
func (m *manager) searchSecrets() {
	m.Helper()
	m.cmd.Process.Signal(syscall.SIGQUIT)
	m.eventually("the manager has ended", func() bool { return strings.Contains(m.said.text(), "goroutine ") })
	secrets := []string{password}
	for _, token := range m.tokens {
		secrets = append(secrets, token, strings.TrimPrefix(token, "ibsm_"))
	}
	text, err := os.ReadFile(m.users)
	if err != nil {
		m.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?:sha256 = "|\$)([0-9a-f]{64}|[A-Za-z0-9+/]{22,43})"?`).FindAllSubmatch(text, -1) {
		secrets = append(secrets, string(found[1]))
	}
	key, err := os.ReadFile(m.path("state/api/api.key"))
	if err != nil {
		m.Fatal(err)
	}
	secrets = append(secrets, strings.Split(string(key), "\n")[1])
	if len(secrets) < 20 {
		m.Fatalf("only %d secrets", len(secrets))
	}
	search := func(what string, text []byte) {
		for _, s := range secrets {
			if bytes.Contains(text, []byte(s)) {
				m.Errorf("%s shows %.12s...", what, s)
			}
		}
	}
	search("the log", []byte(m.said.text()))
	search("a reply", replies.Text())
	files := 0
	err = filepath.WalkDir(m.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == m.users || d.Name() == "api.key" || d.Name() == "ibsm" {
			return err
		}
		text, err := os.ReadFile(path)
		search(path, text)
		files++
		return err
	})
	if err != nil || files < 4 {
		m.Errorf("%d files: %v", files, err)
	}
}

// TestTenants: a tenant reads and changes only what is its own; no reply to it names another tenant's partition, P_Key,
// port or host unless the request has named it.
func TestTenants(t *testing.T) {
	t.Parallel()
	m := startManager(t)
	guid := func(i int) string { return strings.TrimPrefix(m.guids[i], "0x") }
	must := func(method, path, user, body string) reply {
		t.Helper()
		r := m.ask(method, path, user, "password", body)
		if r.StatusCode/100 != 2 {
			t.Fatalf("%s %s as %s: %s %s", method, path, user, r.Status, r.text)
		}
		return r
	}
	must("PUT", "/v1/partition/red-a", "red", `{"pkey":"0x100","note":"rot","members":[{"host":"host-01"}]}`)
	must("PUT", "/v1/partition/blue-a", "blue", `{"pkey":"0x200","note":"blau","members":[{"host":"host-03"},{"guid":"`+m.guids[3]+`"}]}`)
	must("POST", "/ufmRest/resources/pkeys", "blue", `{"pkey": "0x201", "guids": ["`+guid(2)+`"]}`)
	whole := func() string {
		t.Helper()
		return must("GET", "/v1/partition?members=1&pkey=0x200", "admin", "").text + must("GET", "/v1/partition?members=1&pkey=0x201", "admin", "").text
	}
	m.eventually("the partitions are ready", func() bool { return strings.Count(whole(), `"ready":true`) == 2 })
	before := whole()
	foreign := []string{"blue", "blau", "0x200", "0x0200", "0x201", "0x0201", "host-03", "host-04", "host-05", guid(2),
		guid(3), "storage"}
	for _, c := range []struct {
		method, path, body string
		status             []int
		has                string // part of the reply
	}{
		{"GET", "/v1/partition", "", []int{200}, "red-a"},
		{"GET", "/v1/partition?members=1", "", []int{200}, "host-01"},
		{"GET", "/v1/partition?name=blue-a", "", []int{200}, "[\n]"},
		{"GET", "/v1/partition?pkey=0x200", "", []int{200}, "[\n]"},
		{"GET", "/v1/partition?host=host-03", "", []int{200}, "[\n]"},
		{"GET", "/v1/partition?guid=0x" + guid(3), "", []int{200}, "[\n]"},
		{"GET", "/v1/partition?origin=file", "", []int{200}, "[\n]"},
		{"GET", "/v1/partition/blue-a", "", []int{404}, "there is no partition"},
		{"GET", "/v1/partition/storage", "", []int{404}, "there is no partition"},
		{"GET", "/v1/partition/none", "", []int{404}, "there is no partition"},
		{"GET", "/v1/partitions/history", "", []int{200}, "red-a"},
		{"GET", "/v1/hosts", "", []int{200}, "host-02"},
		{"GET", "/v1/hosts?name=host-03", "", []int{200, 404}, ""},
		{"PUT", "/v1/partition/blue-a", `{"pkey":"0x200"}`, []int{403}, "may change"},
		{"PUT", "/v1/partition/blue-a", `{}`, []int{403}, "may change"},
		{"PUT", "/v1/partition/blue-a", `{"pkey":"0x120"}`, []int{403, 409}, ""},
		{"PATCH", "/v1/partition/blue-a", `{"add":[{"host":"host-01"}]}`, []int{403, 404}, ""},
		{"DELETE", "/v1/partition/blue-a", "", []int{403, 404}, ""},
		{"PUT", "/v1/partition/red-b", `{"pkey":"0x200"}`, []int{403}, "may change"},
		{"PUT", "/v1/partition/red-b", `{"pkey":"0x10"}`, []int{403}, "may change"},
		{"PUT", "/v1/partition/red-b", `{"pkey":"0x121","members":[{"host":"host-03"}]}`, []int{403}, "host-03"},
		{"PUT", "/v1/partition/red-b", `{"pkey":"0x121","members":[{"guid":"0x` + guid(3) + `"}]}`, []int{403}, "may not make"},
		{"PATCH", "/v1/partition/red-a", `{"add":[{"host":"host-03"}]}`, []int{403}, "host-03"},
		{"POST", "/v1/partitions/undo?number=2", "", []int{403, 404}, ""},
		{"POST", "/v1/partitions/undo?number=3", "", []int{403, 404}, ""},
		{"POST", "/v1/partitions/undo?number=99", "", []int{404, 409}, ""},
		{"GET", "/ufmRest/resources/pkeys", "", []int{200}, "0x100"},
		{"GET", "/ufmRest/resources/pkeys?guids_data=true&qos_conf=true", "", []int{200}, guid(0)},
		{"GET", "/ufmRest/resources/pkeys/0x200?guids_data=true", "", []int{200}, "{}"},
		{"GET", "/ufmRest/resources/pkeys/0x10", "", []int{200}, "{}"},
		{"POST", "/ufmRest/resources/pkeys", `{"pkey": "0x200", "guids": ["` + guid(0) + `"]}`, []int{403}, ""},
		{"POST", "/ufmRest/resources/pkeys", `{"pkey": "0x122", "guids": ["` + guid(3) + `"]}`, []int{403}, ""},
		{"PUT", "/ufmRest/resources/pkeys", `{"pkey": "0x201", "guids": []}`, []int{403}, ""},
		{"POST", "/ufmRest/resources/pkeys/add", `{"pkey": "0x202"}`, []int{403}, ""},
		{"PUT", "/ufmRest/resources/pkeys/qos_conf", `{"pkey": "0x200", "mtu_limit": 4, "service_level": 1, "rate_limit": 10}`, []int{403, 404}, ""},
		{"POST", "/ufmRest/resources/pkeys/hosts", `{"pkey": "0x123", "hosts_names": "host-03"}`, []int{403}, ""},
		{"POST", "/ufmRest/actions/remove_guids_from_pkey", `{"pkey": "0x201", "guids": ["` + guid(2) + `"]}`, []int{200, 403}, ""},
		{"DELETE", "/ufmRest/resources/pkeys/0x200", "", []int{403, 404}, ""},
		{"DELETE", "/ufmRest/resources/pkeys/0x201/guids/" + guid(2), "", []int{200, 403}, ""},
		{"DELETE", "/ufmRest/resources/pkeys/0x200/hosts/host-03", "", []int{200, 403}, ""},
		{"GET", "/ufmRest/resources/ports", "", []int{200}, guid(1)},
		{"GET", "/ufmRest/resources/ports?system=host-03", "", []int{200}, "[]"},
		{"GET", "/ufmRest/resources/systems?ports=true", "", []int{200}, "host-01"},
		{"GET", "/ufmRest/resources/systems?name=host-03", "", []int{200}, "[]"},
		{"GET", "/ufmRest/app/tokens", "", []int{200}, "red"},
	} {
		r := m.ask(c.method, c.path, "red", "password", c.body)
		if !slices.Contains(c.status, r.StatusCode) || !strings.Contains(r.text, c.has) {
			t.Errorf("%s %s %s: %s %s, want %v and %q", c.method, c.path, c.body, r.Status, r.text, c.status, c.has)
		}
		for _, name := range foreign {
			if strings.Contains(strings.ToLower(r.text), name) && !strings.Contains(c.path+c.body, name) &&
				!strings.Contains(c.path+c.body, strings.Replace(name, "0x0", "0x", 1)) {
				t.Errorf("%s %s %s: %s shows %s: %s", c.method, c.path, c.body, r.Status, name, r.text)
			}
		}
	}
	if after := whole(); after != before {
		t.Errorf("the partitions of another tenant were\n%s, and are\n%s", before, after)
	}
	for _, c := range []struct{ one, other string }{{"/v1/partition/blue-a", "/v1/partition/nothing"},
		{"/ufmRest/resources/pkeys/0x200", "/ufmRest/resources/pkeys/0x2aa"}} {
		one, other := m.ask("GET", c.one, "red", "token", ""), m.ask("GET", c.other, "red", "token", "")
		like := strings.ReplaceAll(other.text, filepath.Base(c.other), filepath.Base(c.one))
		if one.StatusCode != other.StatusCode || one.text != like {
			t.Errorf("what is another tenant's differs from what is not there: %s and %s", one.text, other.text)
		}
	}
}
