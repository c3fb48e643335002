package ibsm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// ErrPending says that ports do not have a P_Key yet, which the manager knows of.
var ErrPending = errors.New("ports do not have the P_Key yet")

// P_Keys without the bit of a full member.
const (
	defaultKey = 0x7fff
	keyMask    = 0x7fff
)

// Name is the name of the plug-in.
func (c *Client) Name() string { return "ibsm" }

// Spec is the version of the interface.
func (c *Client) Spec() string { return "1.0" }

// Validate reports whether a manager can be reached, and knows the credential.
func (c *Client) Validate() error {
	return c.do(request{method: http.MethodGet, path: listPath(url.Values{"pkey": {"0x7fff"}})}, nil)
}

// partition is a partition of the control protocol.
type partition struct {
	Name   string         `json:"name"`
	PKey   string         `json:"pkey"`
	Origin string         `json:"origin"`
	Where  string         `json:"position"`
	All    string         `json:"all"` // membership of all ports, of a partition of the file
	Held   string         `json:"held"`
	Ready  bool           `json:"ready"`
	States map[string]int `json:"states"`
	// Members are those of one partition, or of a list with members.
	Members []member `json:"members"`
}

// member is a member of a partition.
type member struct {
	GUID       string `json:"guid,omitempty"`
	Host       string `json:"host,omitempty"`
	Membership string `json:"membership,omitempty"`
	Index0     bool   `json:"index0,omitempty"`
	State      string `json:"state,omitempty"`
	Why        string `json:"why,omitempty"`
	Ports      []struct {
		GUID string `json:"guid"`
	} `json:"ports,omitempty"`
}

// States of members.
const (
	pending = "pending"
	failed  = "failed"
)

func listPath(query url.Values) string { return "/v1/partition?" + query.Encode() }

func path(name string) string { return "/v1/partition/" + url.PathEscape(name) }

// find is the partition with a P_Key, without its members; nil if there is none.
func (c *Client) find(key int) (found *partition, err error) {
	err = c.do(request{method: http.MethodGet, path: listPath(url.Values{"pkey": {hex(key)}})},
		elements("partitions", func(p *partition) { found = p }))
	return found, err
}

func hex(key int) string { return fmt.Sprintf("0x%x", key) }

// checkKey is a P_Key without the bit of a full member.
func checkKey(key int) (int, error) {
	if key < 0 || key > 0xffff || key&keyMask == 0 {
		return 0, fmt.Errorf("P_Key 0x%x: expected 0x1 to 0x7fff", key)
	}
	return key & keyMask, nil
}

// AddGuidsToPKey makes ports full members of a P_Key, at index 0, and returns when the change is stored and mirrored.
// The partition is made with its first members, with IP over InfiniBand, and goes with its last one, as with UFM. Of
// the default partition all ports are members already, or its file decides: nothing is changed.
func (c *Client) AddGuidsToPKey(key int, guids []net.HardwareAddr) error {
	key, err := checkKey(key)
	if err != nil || len(guids) == 0 {
		return err
	}
	members, err := membersOf(guids)
	if err != nil {
		return err
	}
	for range 3 { // another client may make or delete the partition meanwhile
		p, err := c.find(key)
		switch {
		case err != nil:
			return err
		case key == defaultKey && (p == nil || p.All != ""): // without a file ports keep the P_Keys that they have
			return nil
		case key == defaultKey:
			return errors.New("the default partition is of the manager's partition file, which does not have all ports")
		case p == nil:
			body := map[string]any{"pkey": hex(key), "ipoib": true, "delete_when_empty": true, "members": members}
			err = c.do(request{method: http.MethodPut, path: path("ib-kubernetes_" + hex(key)), body: body, absent: true},
				nil)
		default:
			err = c.do(request{method: http.MethodPatch, path: path(p.Name), body: map[string]any{"add": members}}, nil)
		}
		if !is(err, http.StatusPreconditionFailed) && !is(err, http.StatusNotFound) {
			return err
		}
	}
	return fmt.Errorf("the partition with P_Key %s is made and deleted by another client", hex(key))
}

// RemoveGuidsFromPKey takes ports out of a P_Key. Ports that are no members, and a P_Key that no partition has, are no
// error.
func (c *Client) RemoveGuidsFromPKey(key int, guids []net.HardwareAddr) error {
	key, err := checkKey(key)
	if err != nil || key == defaultKey || len(guids) == 0 {
		return err
	}
	p, err := c.find(key)
	if err != nil || p == nil {
		return err
	}
	members := make([]member, len(guids))
	for i, g := range guids {
		if members[i].GUID, err = guidText(g); err != nil {
			return err
		}
	}
	err = c.do(request{method: http.MethodPatch, path: path(p.Name), body: map[string]any{"remove": members}}, nil)
	if is(err, http.StatusNotFound) { // it is gone meanwhile
		return nil
	}
	return err
}

func membersOf(guids []net.HardwareAddr) ([]member, error) {
	members := make([]member, len(guids))
	for i, g := range guids {
		text, err := guidText(g)
		if err != nil {
			return nil, err
		}
		members[i] = member{GUID: text, Membership: "full", Index0: true}
	}
	return members, nil
}

// guidText is a GUID as the control protocol has it.
func guidText(g net.HardwareAddr) (string, error) {
	if len(g) != 8 {
		return "", fmt.Errorf("GUID %s has %d bytes instead of 8", g, len(g))
	}
	return fmt.Sprintf("0x%016x", []byte(g)), nil
}

// parseGUID is a GUID of the control protocol.
func parseGUID(text string) (net.HardwareAddr, error) {
	digits := strings.TrimPrefix(text, "0x")
	g := make(net.HardwareAddr, 0, 8)
	for i := 0; i+2 <= len(digits); i += 2 {
		var b byte
		if _, err := fmt.Sscanf(digits[i:i+2], "%02x", &b); err != nil {
			return nil, fmt.Errorf("%q is no GUID", text)
		}
		g = append(g, b)
	}
	if len(g) != 8 || len(digits) != 16 {
		return nil, fmt.Errorf("%q is no GUID", text)
	}
	return g, nil
}

// ListGuidsInUse are the ports of all partitions but the default one, by GUID such as 02:00:00:00:00:00:00:01, with the
// P_Key of one of their partitions: of programs before those of the file, and else the lowest.
func (c *Client) ListGuidsInUse() (map[string]string, error) {
	used := map[string]string{}
	var wrong error
	add := func(text, key string) {
		g, err := parseGUID(text)
		if err != nil {
			wrong = err
			return
		}
		if _, known := used[g.String()]; !known {
			used[g.String()] = key
		}
	}
	for _, origin := range []string{"caller", "file"} {
		err := c.do(request{method: http.MethodGet, path: listPath(url.Values{"origin": {origin}, "members": {"1"}})},
			elements("partitions", func(p *partition) {
				if p.PKey == hex(defaultKey) {
					return
				}
				for i := range p.Members {
					m := &p.Members[i]
					if m.GUID != "" {
						add(m.GUID, p.PKey)
					}
					for _, port := range m.Ports {
						add(port.GUID, p.PKey)
					}
				}
			}))
		if err = errors.Join(err, wrong); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// nameOf is the name of a partition for a name of Kubernetes, which may be longer.
func nameOf(name string) (string, error) {
	const longest = 64
	if name == "" {
		return "", errors.New("a partition without a name")
	}
	if len(name) <= longest {
		return name, nil
	}
	return fmt.Sprintf("%s-%x", name[:longest-13], sha256.Sum256([]byte(name)))[:longest], nil
}

// CreateIBPartition makes a partition with a name and a free P_Key of the manager's partition_pkeys, which it returns.
// It stays without members. If there is one of this name it returns its P_Key.
func (c *Client) CreateIBPartition(name string) (key string, err error) {
	if name, err = nameOf(name); err != nil {
		return "", err
	}
	for range 3 { // another client may make or delete it meanwhile
		var p partition
		if err = c.do(request{method: http.MethodGet, path: path(name)}, into(&p)); !is(err, http.StatusNotFound) {
			return p.PKey, err
		}
		body := map[string]any{"ipoib": true}
		err = c.do(request{method: http.MethodPut, path: path(name), body: body, absent: true}, into(&p))
		if !is(err, http.StatusPreconditionFailed) {
			return p.PKey, err
		}
	}
	return "", err
}

// DeleteIBPartition deletes a partition by its name; one that is gone is no error.
func (c *Client) DeleteIBPartition(name string) error {
	name, err := nameOf(name)
	if err != nil {
		return err
	}
	err = c.do(request{method: http.MethodDelete, path: path(name)}, nil)
	if is(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// readyWait is how many seconds a request waits for members, at most: ib-kubernetes asks again in five.
const readyWait = "2"

// IsPartitionReady reports whether the members of a partition have its P_Key, as far as they have been seen, and the
// P_Key. The error says why a member cannot get it.
func (c *Client) IsPartitionReady(name string) (ready bool, key string, err error) {
	if name, err = nameOf(name); err != nil {
		return false, "", err
	}
	p, err := c.await(name)
	if err != nil {
		return false, "", err
	}
	return p.Ready, p.PKey, p.trouble(nil)
}

// await is a partition when it is ready, or after readyWait.
func (c *Client) await(name string) (*partition, error) {
	var p partition
	err := c.do(request{method: http.MethodGet, path: path(name) + "?wait=ready&seconds=" + readyWait}, into(&p))
	return &p, err
}

// trouble says why a partition, or one of the ports of ports, cannot become ready; ports is nil for all.
func (p *partition) trouble(ports map[string]bool) error {
	if p.Held != "" {
		return fmt.Errorf("partition %s is not in force: %s", p.Name, p.Held)
	}
	for i := range p.Members {
		if m := &p.Members[i]; m.State == failed && (ports == nil || ports[m.GUID]) {
			return fmt.Errorf("partition %s: member %s%s: %s", p.Name, m.GUID, m.Host, m.Why)
		}
	}
	return nil
}

// Applied returns nil when ports have a P_Key, or have not been seen; ErrPending while one does not have it yet; and
// another error if one cannot get it.
func (c *Client) Applied(key int, guids []net.HardwareAddr) error {
	key, err := checkKey(key)
	if err != nil || key == defaultKey {
		return err
	}
	found, err := c.find(key)
	if err != nil || found == nil {
		return errors.Join(err, fmt.Errorf("no partition has P_Key %s", hex(key)))
	}
	p, err := c.await(found.Name)
	if err != nil {
		return err
	}
	ports := map[string]bool{}
	for _, g := range guids {
		text, err := guidText(g)
		if err != nil {
			return err
		}
		ports[text] = true
	}
	if err := p.trouble(ports); err != nil {
		return err
	}
	for i := range p.Members {
		if m := &p.Members[i]; ports[m.GUID] && m.State == pending && len(m.Ports) > 0 {
			return ErrPending
		}
	}
	return nil
}
