package elect

import (
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// Order is what a control packet, Set(SMInfo), is worth before its sender is proved.
type Order uint8

// Worth of a control packet.
const (
	Refused     Order = iota // it has another SM_Key, or is not from the master
	Harmless                 // it changes nothing here: Control says how it is answered
	FromOther                // HANDOVER from a manager that was not known to be MASTER: it only causes a sweep
	FromMaster               // it says that it is from the manager that is polled, or that disabled this one
	FromUnknown              // it may be from the master, which this manager does not know: it was started NOT-ACTIVE
)

// Judge says what a control packet is worth. Only the master's may change something: anybody can
// send one, with the default SM_Key.
func (m *Machine) Judge(mod uint32, from *smp.SMInfo) Order {
	alone := m.state == smp.Discovering || m.state == smp.Master && m.polled == 0
	hasKey := from.SMKey() == m.cfg.SMKey && m.allows(from)
	if mod == smp.ControlHandover {
		hasKey = m.mayBeMaster(from) // by which its sender is master here: embedded managers show SM_Key 0
	}
	switch {
	case !hasKey:
		return Refused
	case mod == smp.ControlAcknowledge || m.phase == leaving:
		return Harmless
	case mod == smp.ControlHandover && alone:
		return FromOther
	case from.GUID() != 0 && (from.GUID() == m.polled || m.state == smp.NotActive && from.GUID() == m.disabledBy):
		return FromMaster
	case m.state == smp.NotActive && m.disabledBy == 0 && m.cfg.Inactive:
		return FromUnknown
	}
	return Refused
}

// Control takes a Set(SMInfo) whose sender was proved where Judge demands it, and answers with
// the status of the reply.
func (m *Machine) Control(now time.Duration, mod uint32, from *smp.SMInfo) (Do, mad.Status) {
	if m.phase == leaving && mod != smp.ControlAcknowledge {
		return Nothing, mad.StatusBadField // too late
	}
	sender := smp.Master
	if mod == smp.ControlAcknowledge {
		sender = smp.Standby
	}
	order := m.Judge(mod, from)
	if from.SMState() != sender || order == Refused {
		return Nothing, mad.StatusBadField
	}
	switch {
	case order == FromOther:
		return ReadAll, mad.StatusOK
	case mod == smp.ControlHandover && m.state != smp.NotActive:
		m.become(smp.Master)
		return TakeOver, mad.StatusOK
	case mod == smp.ControlAcknowledge && (m.state == smp.Standby || m.phase == leaving):
		return Nothing, mad.StatusOK
	case mod == smp.ControlDisable && m.state == smp.Standby:
		m.become(smp.NotActive)
		m.disabledBy = from.GUID()
		return BecomeInactive, mad.StatusOK
	case mod == smp.ControlStandby && m.state == smp.NotActive && from.GUID() != 0:
		m.standBy(now, from.GUID())
		return StandBy, mad.StatusOK
	case mod == smp.ControlDiscover && m.state == smp.Standby:
		m.become(smp.Discovering)
		return Discover, mad.StatusOK
	}
	return Nothing, mad.StatusBadField
}
