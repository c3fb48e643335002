// Package view is the published state of a subnet: one immutable value that
// everything which answers questions loads once for each question.
package view

import (
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/routing/portgroups"
	"ibsm/routing/qos"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// View is a consistent picture of the subnet after a sweep. It is never written
// once published.
type View struct {
	Gen    uint64 // increases by one with each View published in a mastership term
	Topo   *topo.Topo
	LIDs   *topo.LIDs
	Tables *routing.Tables
	MFTs   *mcast.MFTs // by the switches of Topo; nil while no multicast is forwarded
	// Partitions are the target P_Key tables of ports; the known tables are
	// in Topo.
	Partitions *partitions.Tables
	// Ports is what ports hold of attributes that are read only where they matter.
	Ports   *device.Ports
	Subnet  Subnet
	Routing Routing
	// PrefixRoutes are the routers to other subnets, the first that holds first.
	PrefixRoutes []PrefixRoute
	// SLs are the SLs of paths by the base of the partition's P_Key; 0 for others. It is
	// not changed.
	SLs map[mad.PKey]uint8
	// QoS is what paths may be, by request; nil for anything.
	QoS *qos.Policy
	// PortGroups are those of pgrp_policy_file and of QoS's file; nil for none.
	PortGroups *portgroups.Set
	SMs        []SM // this manager first, then others by port GUID

	Findings     []finding.Finding // of the last heavy sweep, MaxFindings of them at most
	FindingsMore int               // that found no room
	Absent       []Absent
	Left         []LeftLink // in order of Here; nil unless ports have M_Keys of their own
	VPorts       VPorts
	Drained      []Drained
	Cabling      *Cabling // nil without a plan, and with nothing held back
}

// MaxFindings is how many Findings a View holds.
const MaxFindings = 4096

// Subnet holds the settings that answers repeat.
type Subnet struct {
	Prefix        mad.Prefix
	SubnetTimeOut uint8 // 4.096 us x 2^n; PacketLifeTime of paths
	SAKey         uint64
	Trust         Trust
	RespTimeValue uint8 // 4.096 us x 2^n, of our ClassPortInfo
	// MaxRate is the highest rate code that the SA chooses; 0 for all. See path.LimitRate.
	MaxRate mad.Rate
	// NoMulticast says that there are no groups, and so no multicast routes.
	NoMulticast bool
}

// Trusts reports whether a request that shows a key is trusted. With the enhanced trust model a key that everybody
// knows makes nobody trusted.
func (s *Subnet) Trusts(key uint64) bool {
	return key != 0 && key == s.SAKey && (key != publicSAKey || !s.Trust.Enhanced)
}

// publicSAKey is OpenSM's sa_key, which everybody knows.
const publicSAKey = 1

// PrefixRoute says by which router packets for other subnets leave; the first of a list
// that holds does.
type PrefixRoute struct {
	Prefix    mad.Prefix // of the destination
	AnyPrefix bool       // of any destination, Prefix does not count
	Router    mad.GUID   // of the router's port; 0 for the first router there is
}

// SM is a subnet manager as its SMInfo describes it.
type SM struct {
	GUID     mad.GUID
	LID      mad.LID
	Priority uint8 // 0..15
	State    uint8 // as SMInfo.SMState
	ActCount uint32
}

// EndOfLID is the port with a LID, or the vPort of which it is the own one, or None.
func (v *View) EndOfLID(lid mad.LID) topo.EndIdx {
	p := v.LIDs.PortOf(lid)
	if p == topo.None && v.Topo.VPorts != nil {
		if at := v.Topo.VPorts.OfLID(lid); at != topo.None && v.Topo.VPorts.List[at].Up() {
			return v.Topo.EndOf(at)
		}
	}
	return p
}
