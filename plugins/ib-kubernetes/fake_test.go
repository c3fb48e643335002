package ibsm_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	ibsm "ibsm/plugins/ib-kubernetes"
)

// manager is a manager of a test, which speaks as much of the control protocol as the plug-in uses.
type manager struct {
	*testing.T
	*httptest.Server
	mu         sync.Mutex
	standby    bool
	partitions map[string]*partition // by name
	asked      []string              // each request
	hosts      string                // the reply about hosts; "" for 404
	before     func(r *http.Request) // each request
}

type partition struct {
	Name            string         `json:"name"`
	PKey            string         `json:"pkey"`
	Origin          string         `json:"origin"`
	All             string         `json:"all,omitempty"`
	Held            string         `json:"held,omitempty"`
	IPoIB           bool           `json:"ipoib"`
	DeleteWhenEmpty bool           `json:"delete_when_empty"`
	Ready           bool           `json:"ready"`
	Members         []member       `json:"members"`
	States          map[string]int `json:"states"`
}

type member struct {
	GUID       string              `json:"guid,omitempty"`
	Host       string              `json:"host,omitempty"`
	Membership string              `json:"membership,omitempty"`
	Index0     bool                `json:"index0,omitempty"`
	State      string              `json:"state,omitempty"`
	Why        string              `json:"why,omitempty"`
	Ports      []map[string]string `json:"ports,omitempty"`
}

const token = "ibsm_0123456789"

func start(t *testing.T) *manager {
	m := &manager{T: t, partitions: map[string]*partition{
		"Default": {Name: "Default", PKey: "0x7fff", Origin: "file", All: "full", Members: []member{{GUID: "0x00000000000000aa"}}},
	}}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(m.answer))
	m.EnableHTTP2 = true
	m.StartTLS()
	t.Cleanup(m.Close)
	return m
}

// ca is the manager's certificate in PEM form.
func (m *manager) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw}))
}

// client is a client of managers.
func client(t *testing.T, managers ...*manager) *ibsm.Client {
	t.Helper()
	cfg := ibsm.Config{Token: token}
	for _, m := range managers {
		cfg.Servers, cfg.CA = append(cfg.Servers, m.URL), cfg.CA+m.ca()
	}
	c, err := ibsm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (m *manager) fail(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": text, "hint": "do that"})
}

func (m *manager) answer(w http.ResponseWriter, r *http.Request) {
	if m.before != nil {
		m.before(r)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r.Method+" "+r.URL.String())
	body, err := io.ReadAll(r.Body)
	name, one := strings.CutPrefix(r.URL.Path, "/v1/partition/")
	switch {
	case err != nil:
		m.Error(err)
	case r.Header.Get("Authorization") != "Bearer "+token:
		m.fail(w, http.StatusUnauthorized, "unknown token")
	case m.standby && r.Method != http.MethodGet:
		m.fail(w, http.StatusServiceUnavailable, "this manager is not master")
	case r.URL.Path == "/v1/hosts" && m.hosts == "":
		m.fail(w, http.StatusNotFound, "no host is named so")
	case r.URL.Path == "/v1/hosts":
		io.WriteString(w, m.hosts)
	case r.URL.Path == "/v1/partition" && r.Method == http.MethodGet:
		m.list(w, r)
	case one:
		m.change(w, r, name, body)
	default:
		m.fail(w, http.StatusNotFound, "no such request")
	}
}

func (m *manager) list(w http.ResponseWriter, r *http.Request) {
	query, rows := r.URL.Query(), []*partition{}
	for _, name := range slices.Sorted(maps.Keys(m.partitions)) {
		p := *m.partitions[name]
		if query.Has("pkey") && query.Get("pkey") != p.PKey || query.Has("origin") && query.Get("origin") != p.Origin {
			continue
		}
		if query.Get("members") != "1" {
			p.Members = nil
		}
		rows = append(rows, &p)
	}
	json.NewEncoder(w).Encode(map[string]any{"generation": 7, "partitions": rows})
}

func (m *manager) change(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	p := m.partitions[name]
	switch {
	case r.Method == http.MethodPut && p != nil && r.Header.Get("If-None-Match") == "*":
		m.fail(w, http.StatusPreconditionFailed, "there is one")
		return
	case r.Method == http.MethodPut:
		p = &partition{Name: name, PKey: "0x10", Origin: "caller", Ready: true}
		if err := json.Unmarshal(body, p); err != nil {
			m.Error(err)
		}
		m.partitions[name] = p
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodDelete:
		delete(m.partitions, name)
		p = &partition{Name: name}
	case p == nil:
		m.fail(w, http.StatusNotFound, "no partition is named so")
		return
	case r.Method == http.MethodPatch && p.Origin == "file":
		m.fail(w, http.StatusConflict, "partitions.conf:3 has the P_Key")
		return
	case r.Method == http.MethodPatch:
		m.patch(p, body)
	}
	json.NewEncoder(w).Encode(p)
}

func (m *manager) patch(p *partition, body []byte) {
	var edit struct{ Add, Remove []member }
	if err := json.Unmarshal(body, &edit); err != nil {
		m.Error(err)
	}
	for _, gone := range append(edit.Remove, edit.Add...) {
		p.Members = slices.DeleteFunc(p.Members, func(m member) bool { return m.GUID == gone.GUID })
	}
	p.Members = append(p.Members, edit.Add...)
	if len(p.Members) == 0 && p.DeleteWhenEmpty {
		delete(m.partitions, p.Name)
	}
}
