package ctl

import (
	"slices"
	"time"

	"ibsm/mad"
)

// Lists of SA registrations. They take no Filter.
const (
	Groups        List = "groups"        // of Group, by MGID
	Members       List = "members"       // of Member, by MGID and port GID
	Services      List = "services"      // of Service, by ID, GID and P_Key
	Subscriptions List = "subscriptions" // of Subscription, by subscriber
	Refusals      List = "refusals"      // of Refusal, the latest first
)

// Group is a multicast group.
type Group struct {
	MGID      string  `json:"mgid"`
	MLID      mad.LID `json:"mlid"`
	PKey      string  `json:"pkey"`
	QKey      string  `json:"qkey"`
	MTU       int     `json:"mtu"`  // bytes
	Rate      float64 `json:"rate"` // Gb/s
	SL        uint8   `json:"sl"`
	Members   int     `json:"members"`
	Full      int     `json:"full"`       // members that keep the group alive
	WellKnown bool    `json:"well_known"` // configured: exists without members
}

// Member is a port in a group.
type Member struct {
	MGID  string   `json:"mgid"`
	Port  string   `json:"port"` // GID
	Node  string   `json:"node"` // GUID; "" if the port is absent
	Desc  string   `json:"desc"`
	State []string `json:"state"` // how it is a member, of JoinStates
	Proxy bool     `json:"proxy"` // another port made it a member
}

// JoinStates are the bits of a JoinState in words, from the lowest on.
var JoinStates = [...]string{"full", "non-member", "send-only", "send-only full"}

// Receives: the member gets what is sent to the group. Others only send.
func (m *Member) Receives() bool {
	return slices.Contains(m.State, JoinStates[0]) || slices.Contains(m.State, JoinStates[1])
}

// Service is a service that a port offers.
type Service struct {
	ID    string `json:"id"`
	GID   string `json:"gid"`
	Node  string `json:"node"` // GUID of the port's node; "" if the port is absent
	Desc  string `json:"desc"`
	PKey  string `json:"pkey"`
	Name  string `json:"name"`
	Lease uint32 `json:"lease"` // seconds, as requested; 4294967295 for no end
	Ends  int64  `json:"ends"`  // seconds since 1970; 0 never
}

// Subscription is an event subscription (InformInfo).
type Subscription struct {
	Subscriber string  `json:"subscriber"` // GID
	Node       string  `json:"node"`       // GUID; "" if the port is absent
	Desc       string  `json:"desc"`
	LID        mad.LID `json:"lid"` // destination of Reports
	QPN        uint32  `json:"qpn"`
	Trap       string  `json:"trap"`     // number, "all", or for a vendor trap a DeviceID
	Generic    bool    `json:"generic"`  // of the architecture, not of a vendor
	Type       string  `json:"type"`     // number or "all"
	Producer   string  `json:"producer"` // number, "all", or for a vendor trap the VendorID
	Issuers    string  `json:"issuers"`  // GID, range of LIDs, or "all"
}

// SAStats holds the statistics of subnet administration, without counters that are 0.
type SAStats struct {
	Replies       []SAReplies     `json:"replies"`
	Dropped       []SADrops       `json:"dropped"`
	Packets       []GSIPackets    `json:"packets"`
	Times         []SATimes       `json:"times"`
	Transfers     SATransfers     `json:"transfers"`
	Registrations SARegistrations `json:"registrations"`
}

// SAReplies counts responses with one attribute and status.
type SAReplies struct {
	Attribute string `json:"attribute"`
	Status    string `json:"status"`
	Count     uint64 `json:"count"`
}

// Refusal is a multicast group that a port could not join.
type Refusal struct {
	Port   string    `json:"port"` // GUID
	Node   string    `json:"node"` // GUID; "" if the port is absent
	Desc   string    `json:"desc"`
	MGID   string    `json:"mgid"`
	Reason string    `json:"reason"` // of the last refusal
	Count  uint64    `json:"count"`  // since the port was a member last
	Last   time.Time `json:"last"`
}

// SADrops counts dropped datagrams.
type SADrops struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// GSIPackets counts packets received on QP1.
type GSIPackets struct {
	Kind     string `json:"kind"`
	Received uint64 `json:"received"`
	Dropped  uint64 `json:"dropped"` // of them, those that had no room in the queue, or that nobody uses
}

// SATransfers counts RMPP transfers.
type SATransfers struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Failed   uint64 `json:"failed"`
	UnderWay int    `json:"under_way"`
	Repeated uint64 `json:"repeated"` // retransmissions
	Refused  uint64 `json:"refused"`  // limit reached, or too long
}

// SARegistrations counts events of registrations and Reports, and what is waiting.
type SARegistrations struct {
	Full      uint64 `json:"full"`       // requests refused because a limit was reached
	MLIDShare uint64 `json:"mlid_share"` // new groups whose creator had as many MLIDs as were free
	Late      uint64 `json:"late"`       // replies sent before the change was on disk and in the tables
	Expired   uint64 `json:"expired"`    // services whose leases ended
	Reset     uint64 `json:"reset"`      // ports whose registrations ended because they were found in INIT
	Absent    uint64 `json:"absent"`     // ports absent too long, likewise
	Unwritten uint64 `json:"unwritten"`  // replies about GUIDs that a port did not accept
	Defects   uint64 `json:"defects"`    // changes that contradict the registrations

	Notices        uint64 `json:"notices"` // for subscribers
	NoticesDropped uint64 `json:"notices_dropped"`
	Reports        uint64 `json:"reports"` // sent, each counted once
	ReportsDropped uint64 `json:"reports_dropped"`
	Unanswered     uint64 `json:"unanswered"` // Reports that their subscriber did not confirm

	RepliesWaiting int `json:"replies_waiting"`
	ReportsWaiting int `json:"reports_waiting"`
}
