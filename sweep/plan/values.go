package plan

import "ibsm/mad"

// Key names a port across sweeps.
type Key struct {
	Node mad.GUID
	Port uint8
}

// KindVLs are limits of OperationalVLs for kinds of links, in place of Values.MaxOpVLs; 0 is none.
type KindVLs struct{ CA, Switch, Router uint8 }

// Values are the wanted values of ports and switches, by the settings in force.
type Values struct {
	Prefix        mad.Prefix
	LMC           uint8 // of CAs and routers
	LMCPort0      uint8 // of enhanced switch ports 0; LMC or 0
	SubnetTimeOut uint8 // 4.096 us x 2^n
	LifeTimeValue uint8 // SwitchInfo, 4.096 us x 2^n
	MaxOpVLs      uint8 // OperationalVLs code
	KindVLs       KindVLs
	HOQLife       uint8 // between switches
	LeafHOQLife   uint8 // switch port towards a CA or router
	VLStallCount  uint8 // between switches
	LeafVLStall   uint8
	PhyErrors     uint8
	Overruns      uint8
	MKeys         MKeys
	MKeyLease     uint16
	MKeyProtect   uint8
	// Ports keep the M_Key, the lease period and the protection that they have.
	KeepMKey, KeepMKeyLease, KeepMKeyProtect bool

	// Widths and speeds that ports enable; 0 leaves them, and smp's All enables all that they
	// support.
	LinkWidth     mad.LinkWidth
	LinkSpeed     uint8
	LinkSpeedExt  uint8 // smp.LinkSpeedExtNone for none
	FDR10         FDR10
	SMSL          uint8
	ReregisterAll bool // ask every client to register again, not only those of another manager
	NoReregister  bool // ask no client
	// Inherited is the LID of the previous master, whose clients need not register again; 0
	// for none.
	Inherited mad.LID
}
