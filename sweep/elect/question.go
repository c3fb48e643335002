package elect

import (
	"encoding/binary"

	"ibsm/mad/smp"
)

// Peer ibsms know each other by a mark in the bytes of SMInfo that are
// reserved, which others send as 0 and do not read (IBA 14.2.5.13). A Question to
// anybody has one, and names the requester; only the answer to a Question has the other.
const (
	markAt     = 56 // in SMInfo
	questioned = 0x6962736d2d61736b
	answered   = 0x6962736d2d796573
)

// Question is the data of a poll. It names the requester, but does not show our SM_Key.
func (m *Machine) Question() smp.SMInfo {
	i := m.Info()
	i.SetSMKey(0)
	binary.BigEndian.PutUint64(i[markAt:], questioned)
	return i
}

// Asked takes the data of a Get(SMInfo): a Question names a manager that a MASTER may have
// to see to. Anybody can name one, so it is asked itself first. A Question shows no SM_Key.
func (m *Machine) Asked(data *smp.SMInfo) Do {
	if !IsQuestion(data) || data.GUID() == m.cfg.GUID {
		return Nothing
	}
	named := *data
	named.SetSMKey(m.cfg.SMKey)
	if m.Seen(&named) == Resweep {
		return Inquire
	}
	return Nothing
}

// Answer is our SMInfo, but for ActCount, for a manager that sent data.
func (m *Machine) Answer(data *smp.SMInfo) smp.SMInfo {
	i := m.Info()
	if IsQuestion(data) {
		binary.BigEndian.PutUint64(i[markAt:], answered)
	}
	return i
}

// IsQuestion reports whether the data of a Get(SMInfo) is a Question.
func IsQuestion(i *smp.SMInfo) bool { return binary.BigEndian.Uint64(i[markAt:]) == questioned }
func isPeer(i *smp.SMInfo) bool     { return binary.BigEndian.Uint64(i[markAt:]) == answered }
