package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/registry"
)

// exported is a store as JSON. Numbers that operators write in hexadecimal are texts.
type exported struct {
	Prefix        string           `json:"prefix"`
	Port          string           `json:"port"`
	Terms         []exportedTerm   `json:"reigns"`
	LIDs          []exportedLID    `json:"lids"`
	Change        uint64           `json:"change"`
	Groups        []exportedGroup  `json:"groups"`
	Services      []exportedServ   `json:"services"`
	Subscriptions []exportedSubscr `json:"subscriptions"`
	Aliases       []exportedAlias  `json:"aliases"`
	GRHPorts      []string         `json:"grh_ports,omitempty"` // that demand a GRH; older exports have none
}

type exportedTerm struct {
	Number uint64 `json:"number"`
	Master bool   `json:"master"`
	Began  int64  `json:"began"` // seconds since 1970
}

type exportedLID struct {
	Port   string  `json:"port"`
	LID    mad.LID `json:"lid"`
	LMC    uint8   `json:"lmc"`
	Absent int64   `json:"absent"` // since, in seconds since 1970; 0 while it is there
}

type exportedGroup struct {
	MGID           string           `json:"mgid"`
	MLID           string           `json:"mlid"`
	PKey           string           `json:"pkey"`
	QKey           string           `json:"qkey"`
	MTU            int              `json:"mtu"`  // bytes
	Rate           float64          `json:"rate"` // Gb/s
	PacketLifeTime uint8            `json:"packet_life_time"`
	SL             uint8            `json:"sl"`
	FlowLabel      uint32           `json:"flow_label"`
	TClass         uint8            `json:"tclass"`
	HopLimit       uint8            `json:"hop_limit"`
	Scope          uint8            `json:"scope"`
	WellKnown      bool             `json:"well_known"`
	Members        []exportedMember `json:"members"`
}

type exportedMember struct {
	Port      string `json:"port"`
	JoinState uint8  `json:"join_state"`
	Proxy     bool   `json:"proxy"`
}

type exportedServ struct {
	ID    string `json:"id"`
	GID   string `json:"gid"`
	PKey  string `json:"pkey"`
	Lease uint32 `json:"lease"`
	Ends  int64  `json:"ends"` // seconds since 1970; 0 never
	Key   string `json:"key"`
	Name  string `json:"name"` // bytes that are no printable text as \xNN, and so on
	Data  string `json:"data"`
}

type exportedSubscr struct {
	Subscriber string       `json:"subscriber"`
	QPN        uint32       `json:"qpn"`
	LID        mad.LID      `json:"lid"`
	SL         uint8        `json:"sl"`
	PathBits   uint8        `json:"path_bits"`
	PKey       string       `json:"pkey,omitempty"`       // none where it is not known
	PKeyIndex  uint16       `json:"pkey_index,omitempty"` // in older exports, in place of pkey; it is not used
	GRH        *exportedGRH `json:"grh,omitempty"`
	GID        string       `json:"gid"` // of the issuer, or ::
	LIDBegin   mad.LID      `json:"lid_begin"`
	LIDEnd     mad.LID      `json:"lid_end"`
	Generic    bool         `json:"generic"`
	Type       uint16       `json:"type"`
	Trap       uint16       `json:"trap"`
	Producer   uint32       `json:"producer"`
}

type exportedGRH struct {
	DGID         string `json:"dgid"`
	FlowLabel    uint32 `json:"flow_label"`
	TrafficClass uint8  `json:"traffic_class"`
	HopLimit     uint8  `json:"hop_limit"`
}

type exportedAlias struct {
	Port  string `json:"port"`
	Index uint8  `json:"index"`
	GUID  string `json:"guid"`
}

func (k *keptState) export() *exported {
	e := &exported{
		Prefix: k.prefix.String(), Port: k.port.String(), Change: k.Registry.Seq(), Terms: []exportedTerm{}, LIDs: []exportedLID{},
		Groups: []exportedGroup{}, Services: []exportedServ{}, Subscriptions: []exportedSubscr{}, Aliases: []exportedAlias{},
	}
	for _, r := range k.Terms {
		e.Terms = append(e.Terms, exportedTerm(r))
	}
	for _, l := range k.LIDs {
		e.LIDs = append(e.LIDs, exportedLID{l.Port.String(), l.Base, l.LMC, l.Absent})
	}
	s := k.Registry.Freeze()
	for g := range s.Groups() {
		e.Groups = append(e.Groups, exportGroup(s, &g))
	}
	for v := range s.Services() {
		e.Services = append(e.Services, exportedServ{
			ID: fmt.Sprintf("0x%016x", v.ID), GID: v.GID.String(), PKey: v.PKey.String(), Lease: v.Lease, Ends: v.Expires,
			Key: hex.EncodeToString(v.Key[:]), Name: quoted(v.Name[:]), Data: hex.EncodeToString(v.Data[:]),
		})
	}
	for v := range s.Subscriptions() {
		e.Subscriptions = append(e.Subscriptions, exportSubscription(&v))
	}
	for a := range s.Aliases() {
		e.Aliases = append(e.Aliases, exportedAlias{a.Port.String(), a.Index, a.GUID.String()})
	}
	for port := range s.GRHPorts() {
		e.GRHPorts = append(e.GRHPorts, port.String())
	}
	return e
}

func exportSubscription(v *registry.Subscription) exportedSubscr {
	f := &v.Filter
	x := exportedSubscr{
		Subscriber: v.Subscriber.String(), QPN: v.QPN, LID: v.Addr.LID, SL: v.Addr.SL, PathBits: v.Addr.PathBits,
		GID: f.GID.String(), LIDBegin: f.LIDBegin, LIDEnd: f.LIDEnd, Generic: f.Generic, Type: f.Type, Trap: f.Trap, Producer: f.Producer,
	}
	if v.PKey != 0 {
		x.PKey = v.PKey.String()
	}
	if g := &v.Addr.GRH; g.Present {
		x.GRH = &exportedGRH{g.GID.String(), g.FlowLabel, g.TrafficClass, g.HopLimit}
	}
	return x
}

// quoted is a name without the zeros that fill it up, with what is no printable text as in
// Go's strings.
func quoted(name []byte) string {
	text := strconv.Quote(strings.TrimRight(string(name), "\x00"))
	return strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
}

func exportGroup(s *registry.State, g *registry.Group) exportedGroup {
	x := exportedGroup{
		MGID: g.MGID.String(), MLID: fmt.Sprintf("0x%04x", uint16(g.MLID)), PKey: g.PKey.String(), QKey: fmt.Sprintf("0x%08x", g.QKey),
		MTU: g.MTU.Bytes(), Rate: g.Rate.Gbps(), PacketLifeTime: g.PacketLifeTime, SL: g.SL, FlowLabel: g.FlowLabel, TClass: g.TClass,
		HopLimit: g.HopLimit, Scope: g.Scope, WellKnown: g.WellKnown, Members: []exportedMember{},
	}
	for m := range s.Members(g.MGID) {
		x.Members = append(x.Members, exportedMember{m.Port.String(), uint8(m.JoinState), m.Proxy})
	}
	return x
}
