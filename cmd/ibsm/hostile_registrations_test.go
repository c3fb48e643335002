package main_test

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/fabric"
)

// intrudesOnRegistrations measures what a host achieves against what another one has registered, a row of
// docs/security.md for each attack.
func (h *hostile) intrudesOnRegistrations(master mad.LID) (rows []string) {
	ignore := func(*mad.Packet) {}
	gid := h.clientGIDs()[honest]
	var lid mad.LID
	h.server.Do(func(f *fabric.Fabric) {
		info := f.PortInfo(h.ends[honest])
		lid = info.LID()
	})

	service := request(mad.MethodSet, sarec.AttrServiceRecord, sarec.ServiceServiceID|sarec.ServiceServiceGID|
		sarec.ServiceServicePKey|sarec.ServiceServiceKey|sarec.ServiceServiceName)
	rec := (*sarec.ServiceRecord)(service.SAData()[:])
	rec.SetServiceID(77)
	rec.SetServiceGID(gid)
	rec.SetServicePKey(mad.DefaultPKey)
	rec.SetServiceLease(0xffffffff)
	rec.SetServiceKey([16]byte{1, 2, 3})
	rec.SetServiceName([64]byte{'x'})
	h.registers(master, service, ignore)
	rec.SetServiceKey([16]byte{})
	service.SetMethod(mad.MethodDelete)
	service.SetComponentMask(sarec.ServiceServiceID | sarec.ServiceServiceGID | sarec.ServiceServicePKey)
	h.answer(master, service)
	service.SetMethod(mad.MethodGet)
	rows = append(rows, fmt.Sprintf("Delete of another host's service: gone %t", !h.finds(master, service)))

	member := h.join(honest, 0x79)
	h.registers(master, member, ignore)
	member.SetMethod(mad.MethodDelete)
	member.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberJoinState)
	h.answer(master, member)
	member.SetMethod(mad.MethodGet)
	member.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID)
	rows = append(rows, fmt.Sprintf("Delete of another host's membership: gone %t", !h.finds(master, member)))

	const stolen = 0xbad0bad
	alias := request(mad.MethodSet, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|
		sarec.GUIDInfoGUID0<<2)
	guids := (*sarec.GUIDInfoRecord)(alias.SAData()[:])
	guids.SetLID(lid)
	guids.GUIDInfo().SetGUID(2, stolen)
	h.answer(master, alias)
	alias.SetMethod(mad.MethodGet)
	alias.SetComponentMask(sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum)
	tid := h.put(honest, master, alias)
	now := h.hears("alias GUIDs", func(p *mad.Packet) bool { return p.TID() == tid })
	rows = append(rows, fmt.Sprintf("alias GUID at another host's port: set %t", now.Status() == mad.StatusOK &&
		(*sarec.GUIDInfoRecord)(now.SAData()[:]).GUIDInfo().GUID(2) == stolen))
	return rows
}

// finds reports whether the honest host gets what it asks for.
func (h *hostile) finds(master mad.LID, p mad.Packet) bool {
	tid := h.put(honest, master, p)
	r := h.hears("an answer", func(r *mad.Packet) bool { return r.TID() == tid })
	return r.Status() == mad.StatusOK
}
