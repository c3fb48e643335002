package ufm

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/rights"
)

// paramsOfKeys are flags of the replies about P_Keys.
var paramsOfKeys = []ctl.Param{{Name: "guids_data", Text: "true adds members"}, {Name: "qos_conf", Text: "true adds QoS"}}

// pkeyRoutes are replies about P_Keys.
func (s *Server) pkeyRoutes() []ctl.Route {
	one := value(Partition{})
	return []ctl.Route{
		{Method: "GET", Path: "/resources/pkeys", Right: rights.ReadOwn,
			Does: "lists P_Keys: without a flag that is true as an array of texts", Params: paramsOfKeys,
			Reply: or(ctl.Content{Type: "application/json", Of: Partition{}, Map: true}, array("")), Handle: s.listKeys},
		{Method: "GET", Path: "/resources/pkeys/{pkey}", Right: rights.ReadOwn,
			Does: "returns the partition of a P_Key, or an empty object if there is none", Params: paramsOfKeys,
			Reply: or(one, value(struct{}{})), Handle: s.oneKey},
		{Method: "GET", Path: "/resources/pkeys/last_updated", Right: rights.ReadOwn,
			Does: "returns when a partition was changed last", Reply: value(lastUpdated{}), Handle: s.lastUpdated},
	}
}

// Partition is the reply about a P_Key.
type Partition struct {
	Name     string `json:"partition"`
	IPOverIB bool   `json:"ip_over_ib"`
	// Membership and Index0 are those of all ports, of the default partition with GUIDs.
	Membership string   `json:"membership,omitempty"`
	Index0     *bool    `json:"index0,omitempty"`
	GUIDs      []Member `json:"guids,omitzero"` // nil where they were not asked for
	QoS        *QoS     `json:"qos_conf,omitempty"`
}

// Member is a port in a partition.
type Member struct {
	GUID       string `json:"guid"`
	Membership string `json:"membership"` // full or limited
	Index0     bool   `json:"index0"`
}

// keyFlags say what replies about P_Keys have.
type keyFlags struct{ guids, qos bool }

func keyFlagsOf(r *http.Request) keyFlags {
	return keyFlags{flag(r, "guids_data"), flag(r, "qos_conf")}
}

// defaultName is the name of the default partition.
const defaultName = "management"

// isDefault reports whether a P_Key is that of the default partition.
func isDefault(key mad.PKey) bool { return key.Base() == partitions.DefaultKey }

// listKeys answers with all P_Keys that the user may see, the default one first.
func (s *Server) listKeys(w http.ResponseWriter, r *http.Request) error {
	flags := keyFlagsOf(r)
	first, err := s.find(nil, partitions.DefaultKey, false)
	if err != nil {
		return err
	}
	all, err := s.cfg.Partitions.Partitions(&ctl.PartitionQuery{By: rights.Of(r.Context()), Members: flags.guids})
	if err != nil {
		return err
	}
	if flags == (keyFlags{}) && !flag(r, "port_info") && !flag(r, "sharp_state") {
		return s.array(w, r, func(add func(string, any)) error {
			eachKey(first, all, func(key mad.PKey, _ *ctl.Partition) { add("", keyText(key)) })
			return nil
		})
	}
	return s.object(w, r, func(add func(string, any)) error {
		eachKey(first, all, func(key mad.PKey, p *ctl.Partition) { add(keyText(key), partitionOf(key, p, flags)) })
		return nil
	})
}

// eachKey yields the default partition, which may be nil, and then the others. Of those with one P_Key it yields the
// first: others are of callers, and held, since the file has it.
func eachKey(first *ctl.Partition, all iter.Seq[*ctl.Partition], yield func(mad.PKey, *ctl.Partition)) {
	seen := map[mad.PKey]bool{partitions.DefaultKey: true}
	yield(partitions.DefaultKey, first)
	for p := range all {
		if key := keyOf(p); !seen[key] {
			seen[key] = true
			yield(key, p)
		}
	}
}

// oneKey answers with the partition of a P_Key.
func (s *Server) oneKey(w http.ResponseWriter, r *http.Request) error {
	key, err := parseKey(r.PathValue("pkey"))
	if err != nil {
		return err
	}
	flags := keyFlagsOf(r)
	p, err := s.find(rights.Of(r.Context()), key, flags.guids)
	if err != nil {
		return err
	}
	if p == nil && !isDefault(key) {
		return s.reply(w, struct{}{})
	}
	return s.reply(w, partitionOf(key, p, flags))
}

// find is the partition with a P_Key that a user may see; nil for none. Every user may see the default partition, which
// may be nil, too, where there is no partition file.
func (s *Server) find(by *rights.User, key mad.PKey, members bool) (*ctl.Partition, error) {
	if isDefault(key) {
		by, members = &rights.User{Role: rights.Reader}, false
	}
	found, err := s.cfg.Partitions.Partitions(&ctl.PartitionQuery{By: by, PKey: keyText(key), Members: members})
	if err != nil {
		return nil, err
	}
	for p := range found {
		return p, nil
	}
	return nil, nil
}

// keyOf is the P_Key of a partition.
func keyOf(p *ctl.Partition) mad.PKey {
	n, _ := strconv.ParseUint(p.PKey, 0, 16)
	return mad.PKey(n).Base()
}

// partitionOf describes a partition as UFM does.
func partitionOf(key mad.PKey, p *ctl.Partition, flags keyFlags) *Partition {
	if p == nil { // without a partition file tables keep what devices have in them
		p = &ctl.Partition{IPoIB: true, All: partitions.Full.String()}
	}
	out := &Partition{Name: p.Name, IPOverIB: p.IPoIB}
	if flags.qos {
		out.QoS = qosOf(p)
	}
	if isDefault(key) {
		out.Name = defaultName
	}
	if !flags.guids {
		return out
	}
	out.GUIDs = []Member{}
	if isDefault(key) {
		out.Membership, out.Index0 = partitions.Limited.String(), new(bool)
		if p.All != "" {
			out.Membership = membershipText(p.All)
		}
		return out
	}
	for m := range portsOf(p.Members) {
		out.GUIDs = append(out.GUIDs, m)
	}
	return out
}

// membershipText is a membership as UFM has it: a member that is both is a full one.
func membershipText(m string) string {
	if m == partitions.Both.String() {
		return partitions.Full.String()
	}
	return m
}

// portsOf are members by port: a host is its ports, and a port that is also a member by its GUID is that.
func portsOf(all []ctl.PartitionMember) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		seen := map[mad.GUID]bool{}
		add := func(text string, m *ctl.PartitionMember) bool {
			guid, err := mad.ParseGUID(text)
			if err != nil || seen[guid] {
				return true
			}
			seen[guid] = true
			return yield(Member{guidText(guid), membershipText(m.Membership), m.Index0})
		}
		for i := range all {
			if m := &all[i]; m.GUID != "" && !add(m.GUID, m) {
				return
			}
		}
		for i := range all {
			m := &all[i]
			if m.Host == "" {
				continue
			}
			for j := range m.Ports {
				if !add(m.Ports[j].GUID, m) {
					return
				}
			}
		}
	}
}

// lastUpdated is the reply to GET resources/pkeys/last_updated.
type lastUpdated struct {
	LastUpdated string `json:"last_updated"`
}

// timeText is a time as UFM writes it.
func timeText(t time.Time) string { return t.UTC().Format(time.ANSIC) }

// lastUpdated answers with the time of the last change, at the earliest that of the start.
func (s *Server) lastUpdated(w http.ResponseWriter, r *http.Request) error {
	edits, err := s.cfg.Partitions.PartitionHistory(rights.Of(r.Context()))
	if err != nil {
		return err
	}
	last := s.cfg.Source.Status().Started
	for i := range edits {
		if edits[i].Time.After(last) {
			last = edits[i].Time
		}
	}
	return s.reply(w, &lastUpdated{timeText(last)})
}

// nameOf is the name of a partition for which a request has none.
func nameOf(key mad.PKey) string { return fmt.Sprintf("api_pkey_%s", keyText(key)) }
