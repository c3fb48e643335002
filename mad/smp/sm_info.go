package smp

import (
	"ibsm/mad"
)

// SMInfo is attribute 0x0020: a subnet manager about itself (IBA 14.2.5.13).
//
//	 0 GUID
//	 8 SM_Key
//	16 ActCount
//	20 Priority 4  SMState 4
type SMInfo [mad.DataSize]byte

// GUID is the GUID of the port that the manager runs on.
func (s *SMInfo) GUID() mad.GUID { return mad.GUID(get64(s[0:])) }

// SetGUID sets GUID.
func (s *SMInfo) SetGUID(g mad.GUID) { put64(s[0:], uint64(g)) }

// SMKey is the manager's key; 0 unless the requester is trusted.
func (s *SMInfo) SMKey() uint64 { return get64(s[8:]) }

// SetSMKey sets SMKey.
func (s *SMInfo) SetSMKey(k uint64) { put64(s[8:], k) }

// ActCount grows while the manager lives.
func (s *SMInfo) ActCount() uint32 { return get32(s[16:]) }

// SetActCount sets ActCount.
func (s *SMInfo) SetActCount(v uint32) { put32(s[16:], v) }

// Priority is 0..15; the highest wins, and of equal ones the lower GUID.
func (s *SMInfo) Priority() uint8 { return get(s[20], 0xf0) }

// SetPriority sets Priority.
func (s *SMInfo) SetPriority(v uint8) { put(&s[20], 0xf0, v) }

// SMState is the manager's state.
func (s *SMInfo) SMState() SMState { return SMState(get(s[20], 0x0f)) }

// SetSMState sets SMState.
func (s *SMInfo) SetSMState(v SMState) { put(&s[20], 0x0f, uint8(v)) }

// SMState is the state of a subnet manager (IBA 14.4.1).
type SMState uint8

// States of a subnet manager.
const (
	NotActive   SMState = 0
	Discovering SMState = 1
	Standby     SMState = 2
	Master      SMState = 3
)

var sMStateNames = map[SMState]string{
	NotActive:   "NOT-ACTIVE",
	Discovering: "DISCOVERING",
	Standby:     "STANDBY",
	Master:      "MASTER",
}

// String prints the name in capitals, as OpenSM's log and sminfo do.
func (s SMState) String() string { return mad.NameOf(sMStateNames, s, "state %d") }

// Attribute modifiers of Set(SMInfo): control packets between managers.
const (
	ControlHandover    uint32 = 1 // master to standby: be master
	ControlAcknowledge uint32 = 2 // new master to old: I am, be standby
	ControlDisable     uint32 = 3 // master to standby or discovering: be not active
	ControlStandby     uint32 = 4 // master to not active: be standby
	ControlDiscover    uint32 = 5 // master to standby: discover
)
