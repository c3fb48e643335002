package ufm

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/rights"
)

// pkeyChangeRoutes are changes of P_Keys.
func (s *Server) pkeyChangeRoutes() []ctl.Route {
	type handler = func(http.ResponseWriter, *http.Request) error
	var all []ctl.Route
	for _, c := range []struct {
		method, path, does string
		handle             handler
	}{
		{"POST", "/resources/pkeys", "makes ports members, and the partition unless it is there", s.body(s.addMembers)},
		{"PUT", "/resources/pkeys", "makes ports the members of a partition, which then has no others",
			s.body(s.setMembers)},
		{"POST", "/resources/pkeys/add", "makes a partition, which stays without members", s.body(s.addKey)},
		{"PUT", "/resources/pkeys/qos_conf", "sets MTU, rate and SL of a partition", s.body(s.setQoS)},
		{"POST", "/resources/pkeys/hosts", "makes hosts members, and the partition unless it is there",
			s.body(s.addHosts)},
		{"POST", "/actions/remove_guids_from_pkey", "takes ports out of a partition", s.body(s.removeNamed)},
		{"DELETE", "/resources/pkeys/{pkey}", "deletes a partition", s.deleteKey},
		{"DELETE", "/resources/pkeys/{pkey}/guids/{guids}", "takes ports out of a partition", s.removeGUIDs},
		{"DELETE", "/resources/pkeys/{pkey}/hosts/{hosts}", "takes hosts out of a partition", s.removeHosts},
	} {
		rt := ctl.Route{Method: c.method, Path: c.path, Right: rights.ChangeOwn, Does: c.does, Reply: value(struct{}{}),
			Handle: c.handle}
		if c.method != http.MethodDelete {
			rt.Body = value(Body{})
		}
		all = append(all, rt)
	}
	return all
}

// body is a handler of requests with a body about a P_Key.
func (s *Server) body(handle func(http.ResponseWriter, *http.Request, *wanted) error) func(http.ResponseWriter,
	*http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		text, err := s.readBody(w, r)
		if err != nil {
			return err
		}
		want, err := parseWanted(text)
		if err != nil {
			return err
		}
		return handle(w, r, want)
	}
}

// change is one of the partition of a P_Key.
type change struct {
	key  mad.PKey
	name string // of one that is made; "" for nameOf
	// exists changes a partition, and missing is what to do where there is none; nil for nothing.
	exists  func(*callers.Rules, *registry.State, *registry.Partition) (*callers.Done, error)
	missing func(*callers.Rules, *registry.State) (*callers.Done, error)
	strict  bool // as in ctl.PartitionOrder
}

// do carries a change out, and replies.
func (s *Server) do(w http.ResponseWriter, r *http.Request, c *change) error {
	_, err := ctl.ChangePartition(w, s.cfg.Partitions, s.cfg.Logger,
		&ctl.PartitionOrder{By: rights.Of(r.Context()), Decide: c.decide, Strict: c.strict})
	if err != nil {
		return err
	}
	return s.reply(w, struct{}{})
}

// decide is the change in a state.
func (c *change) decide(rules *callers.Rules, state *registry.State) (*callers.Done, error) {
	p, is := state.Partition(c.key)
	name := cmp.Or(p.Name, c.name, nameOf(c.key))
	if u := rules.User; u != nil && !u.Partition(name, c.key) {
		// Users see no partition but their own: its name, which the request need not have, is not among them.
		return nil, refuse(callers.Forbidden, "pkey", "the partition with P_Key %s is not one that user %s may change",
			keyText(c.key), u.Name)
	}
	if err := rules.FileHas(c.key); err != nil {
		return nil, err
	}
	switch {
	case isDefault(c.key):
		return nil, refuse(callers.Conflict, "pkey", "the default partition is the partition file's: change it there")
	case is:
		return c.exists(rules, state, &p)
	case c.missing != nil:
		return c.missing(rules, state)
	}
	return &callers.Done{Partition: registry.Partition{Name: name, Key: c.key}}, nil
}

// made is a change that makes a partition where there is none.
func made(want *wanted, staysEmpty bool) func(*callers.Rules, *registry.State) (*callers.Done, error) {
	return func(rules *callers.Rules, state *registry.State) (*callers.Done, error) {
		p := &callers.Wanted{Name: cmp.Or(want.name, nameOf(want.key)), Key: want.key, IPoIB: true,
			DeleteWhenEmpty: !staysEmpty, Members: want.members()}
		want.change(p)
		return rules.Put(state, p, callers.Match{Absent: true})
	}
}

// added is a change that adds members.
func added(want *wanted) func(*callers.Rules, *registry.State, *registry.Partition) (*callers.Done, error) {
	return func(rules *callers.Rules, state *registry.State, p *registry.Partition) (*callers.Done, error) {
		return rules.Edit(state, p.Name, &callers.Edit{Add: want.members()}, callers.Match{})
	}
}

// addMembers makes ports members of a partition. What it says of the partition is for one that it makes.
func (s *Server) addMembers(w http.ResponseWriter, r *http.Request, want *wanted) error {
	want.hosts = nil
	switch {
	case !want.hasGUIDs:
		return refuse(callers.Wrong, "guids", `field guids is missing: expected a list, such as ["b83fd20300a00020"]`)
	case isDefault(want.key):
		return s.addToDefault(w, r, want)
	}
	return s.do(w, r, &change{key: want.key, name: want.name, exists: added(want), missing: made(want, false)})
}

// addToDefault changes nothing: it replies whether ports are members of the default partition already.
func (s *Server) addToDefault(w http.ResponseWriter, r *http.Request, want *wanted) error {
	p, err := s.find(nil, want.key, false)
	if err != nil {
		return err
	}
	u := rights.Of(r.Context())
	for _, guid := range want.guids {
		if !u.Member(guid, "") {
			return refuse(callers.Forbidden, "guids",
				"user %s may not make %s a member: it is not among the GUIDs of this user", u.Name, guidText(guid))
		}
		if p == nil || p.All != "" {
			continue
		}
		named, err := s.cfg.Partitions.Partitions(&ctl.PartitionQuery{By: &rights.User{Role: rights.Reader},
			PKey: keyText(want.key), GUID: guid.String()})
		if err != nil {
			return err
		}
		is := false
		for range named {
			is = true
		}
		if !is {
			return refuse(callers.Conflict, "guids",
				"port %s is no member of the default partition, which the partition file has: add it there, or use another P_Key",
				guidText(guid))
		}
	}
	return s.reply(w, struct{}{})
}

// setMembers makes ports the members of a partition.
func (s *Server) setMembers(w http.ResponseWriter, r *http.Request, want *wanted) error {
	want.hosts = nil
	if !want.hasGUIDs {
		return refuse(callers.Wrong, "guids", `field guids is missing: expected a list, such as ["b83fd20300a00020"]`)
	}
	return s.do(w, r, &change{key: want.key, name: want.name, missing: made(want, false),
		exists: func(rules *callers.Rules, state *registry.State, p *registry.Partition) (*callers.Done, error) {
			next := callers.WantedOf(p)
			next.KeepMembers, next.Members = false, want.members()
			want.change(next)
			return rules.Put(state, next, callers.Match{})
		}})
}

// addKey makes a partition that stays without members.
func (s *Server) addKey(w http.ResponseWriter, r *http.Request, want *wanted) error {
	want.guids, want.hosts, want.memberships = nil, nil, nil
	return s.do(w, r, &change{key: want.key, name: want.name, missing: made(want, true),
		exists: func(rules *callers.Rules, state *registry.State, p *registry.Partition) (*callers.Done, error) {
			if !want.agrees(p) {
				return nil, refuse(callers.Wrong, "pkey", "P_Key %s already exists, as partition %q with other attributes",
					keyText(p.Key), p.Name)
			}
			next := callers.WantedOf(p)
			next.DeleteWhenEmpty = false
			return rules.Put(state, next, callers.Match{})
		}})
}

// setQoS sets how packets in a partition travel.
func (s *Server) setQoS(w http.ResponseWriter, r *http.Request, want *wanted) error {
	want.ipoib = nil
	return s.do(w, r, &change{key: want.key, missing: unknown(want.key),
		exists: func(rules *callers.Rules, state *registry.State, p *registry.Partition) (*callers.Done, error) {
			next := callers.WantedOf(p)
			want.change(next)
			return rules.Put(state, next, callers.Match{})
		}})
}

// unknown refuses a P_Key without a partition.
func unknown(key mad.PKey) func(*callers.Rules, *registry.State) (*callers.Done, error) {
	return func(*callers.Rules, *registry.State) (*callers.Done, error) {
		return nil, refuse(callers.Missing, "pkey", "there is no partition with P_Key %s", keyText(key))
	}
}

// addHosts makes hosts members. Those that have not been seen are refused: their names may be wrong.
func (s *Server) addHosts(w http.ResponseWriter, r *http.Request, want *wanted) error {
	want.guids, want.memberships = nil, nil
	if len(want.hosts) == 0 {
		return refuse(callers.Wrong, "hosts_names", `field hosts_names is missing: expected a text, such as "node-1,node-2"`)
	}
	return s.do(w, r, &change{key: want.key, name: want.name, exists: added(want), missing: made(want, false),
		strict: true})
}

// deleteKey deletes a partition.
func (s *Server) deleteKey(w http.ResponseWriter, r *http.Request) error {
	key, err := parseKey(r.PathValue("pkey"))
	if err != nil {
		return err
	}
	return s.do(w, r, &change{key: key, missing: unknown(key),
		exists: func(rules *callers.Rules, state *registry.State, p *registry.Partition) (*callers.Done, error) {
			return rules.Delete(state, p.Name, callers.Match{})
		}})
}

// removeNamed takes ports out of a partition that the body names.
func (s *Server) removeNamed(w http.ResponseWriter, r *http.Request, want *wanted) error {
	return s.removePorts(w, r, want.key, want.guids)
}

// removeGUIDs takes ports out of a partition that the path names.
func (s *Server) removeGUIDs(w http.ResponseWriter, r *http.Request) error {
	key, err := parseKey(r.PathValue("pkey"))
	if err != nil {
		return err
	}
	guids, err := parseGUIDs(strings.Split(r.PathValue("guids"), ","))
	if err != nil {
		return refuse(callers.Wrong, "guids", "%v", err)
	}
	return s.removePorts(w, r, key, guids)
}

// errHosts is the error that a partition has hosts among its members.
var errHosts = errors.New("the partition has hosts among its members")

// removePorts takes ports out of a partition. Those that are no members are no error. Only where hosts are members it
// matters which ports hosts have.
func (s *Server) removePorts(w http.ResponseWriter, r *http.Request, key mad.PKey, guids []mad.GUID) error {
	if isDefault(key) { // of which no port is listed
		return s.reply(w, struct{}{})
	}
	err := s.do(w, r, removal(key, guids, nil))
	if errors.Is(err, errHosts) {
		var hostOf map[mad.GUID]string
		if hostOf, err = s.hostsOfPorts(); err == nil {
			err = s.do(w, r, removal(key, guids, hostOf))
		}
	}
	return err
}

// removal takes ports out. hostOf has the host of each port; nil while it is not known.
func removal(key mad.PKey, guids []mad.GUID, hostOf map[mad.GUID]string) *change {
	return &change{key: key,
		exists: func(rules *callers.Rules, state *registry.State, p *registry.Partition) (*callers.Done, error) {
			if hostOf == nil && hasHosts(state, key) {
				return nil, errHosts
			}
			edit := &callers.Edit{}
			for _, guid := range guids {
				host := hostOf[guid]
				if _, is := state.PartitionMember(registry.MemberKey{Key: key, Host: host}); is && host != "" {
					return nil, refuse(callers.Conflict, "guids",
						"port %s is a member as a port of host %s: remove the host, with DELETE resources/pkeys/%s/hosts/%s",
						guidText(guid), host, keyText(key), host)
				}
				edit.Remove = append(edit.Remove, callers.Member{Port: guid})
			}
			return rules.Edit(state, p.Name, edit, callers.Match{})
		}}
}

// hasHosts reports whether hosts are members of a partition by name.
func hasHosts(state *registry.State, key mad.PKey) bool {
	for m := range state.PartitionMembers(key) {
		if m.Host != "" {
			return true
		}
	}
	return false
}

// removeHosts takes hosts out of a partition, and ports of theirs that are members by GUID.
func (s *Server) removeHosts(w http.ResponseWriter, r *http.Request) error {
	key, err := parseKey(r.PathValue("pkey"))
	if err != nil {
		return err
	}
	hostOf, err := s.hostsOfPorts()
	if err != nil {
		return err
	}
	edit := &callers.Edit{}
	names := map[string]bool{}
	for _, host := range hostNames(r.PathValue("hosts")) {
		names[host] = true
		edit.Remove = append(edit.Remove, callers.Member{Host: host})
	}
	for guid, host := range hostOf {
		if names[host] {
			edit.Remove = append(edit.Remove, callers.Member{Port: guid})
		}
	}
	return s.do(w, r, &change{key: key,
		exists: func(rules *callers.Rules, state *registry.State, p *registry.Partition) (*callers.Done, error) {
			return rules.Edit(state, p.Name, edit, callers.Match{})
		}})
}
