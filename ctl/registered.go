package ctl

import "ibsm/mad"

// Lists of what clients have registered with subnet administration. They take no Filter.
const (
	Groups        List = "groups"        // of Group, by MGID
	Members       List = "members"       // of Member, by MGID and port GID
	Services      List = "services"      // of Service, by ID, GID and P_Key
	Subscriptions List = "subscriptions" // of Subscription, by subscriber
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
	WellKnown bool    `json:"well_known"` // made by configuration: it stays without members
}

// Member is a port in a group.
type Member struct {
	MGID  string   `json:"mgid"`
	Port  string   `json:"port"` // GID
	Node  string   `json:"node"` // GUID; "" where the port is not there
	Desc  string   `json:"desc"`
	State []string `json:"state"`
	Proxy bool     `json:"proxy"` // another port made it a member
}

// Service is a service that a port offers.
type Service struct {
	ID    string `json:"id"`
	GID   string `json:"gid"`
	Node  string `json:"node"` // GUID of the port's node; "" where the port is not there
	Desc  string `json:"desc"`
	PKey  string `json:"pkey"`
	Name  string `json:"name"`
	Lease uint32 `json:"lease"` // seconds, as asked for; 4294967295 for ever
	Ends  int64  `json:"ends"`  // seconds since 1970; 0 never
}

// Subscription is a port's wish to be told of events.
type Subscription struct {
	Subscriber string  `json:"subscriber"` // GID
	Node       string  `json:"node"`       // GUID; "" where the port is not there
	Desc       string  `json:"desc"`
	LID        mad.LID `json:"lid"` // that Reports go to
	QPN        uint32  `json:"qpn"`
	Trap       string  `json:"trap"`     // number, "all", or of a vendor's a DeviceID
	Generic    bool    `json:"generic"`  // of the architecture, not of a vendor
	Type       string  `json:"type"`     // number or "all"
	Producer   string  `json:"producer"` // number, "all", or of a vendor's the VendorID
	Issuers    string  `json:"issuers"`  // GID, range of LIDs, or "all"
}

// SAStats is what subnet administration has answered. What has not occurred is left out.
type SAStats struct {
	Replies       []SAReplies     `json:"replies"`
	Dropped       []SADrops       `json:"dropped"`
	Times         []SATimes       `json:"times"`
	Transfers     SATransfers     `json:"transfers"`
	Registrations SARegistrations `json:"registrations"`
}

// SAReplies counts answers of one kind.
type SAReplies struct {
	Attribute string `json:"attribute"`
	Status    string `json:"status"`
	Count     uint64 `json:"count"`
}

// SADrops counts datagrams without an answer.
type SADrops struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// SATransfers counts messages by RMPP.
type SATransfers struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
	Failed   uint64 `json:"failed"`
	UnderWay int    `json:"under_way"`
	Repeated uint64 `json:"repeated"` // times that packets were sent again
	Refused  uint64 `json:"refused"`  // for want of room, or too long
}

// SARegistrations counts what happened to what clients register and to the events that
// they are told of, and what waits now.
type SARegistrations struct {
	Full      uint64 `json:"full"`      // requests refused because a limit was reached
	Late      uint64 `json:"late"`      // replies sent before the change was on disk and in the tables
	Expired   uint64 `json:"expired"`   // services whose leases ended
	Reset     uint64 `json:"reset"`     // ports found in INIT, whose registrations ended
	Absent    uint64 `json:"absent"`    // ports absent too long, likewise
	Unwritten uint64 `json:"unwritten"` // replies about GUIDs that a port did not take
	Defects   uint64 `json:"defects"`   // changes that contradict what is registered

	Notices        uint64 `json:"notices"` // that subscribers may want to know of
	NoticesDropped uint64 `json:"notices_dropped"`
	Reports        uint64 `json:"reports"` // sent, each counted once
	ReportsDropped uint64 `json:"reports_dropped"`
	Unanswered     uint64 `json:"unanswered"` // Reports that their subscriber did not confirm

	RepliesWaiting int `json:"replies_waiting"`
	ReportsWaiting int `json:"reports_waiting"`
}
