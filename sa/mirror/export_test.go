package mirror

import "ibsm/mad"

// Sign writes the code of a packet from one manager to another, outside a session.
func (c *Config) Sign(p *mad.Packet, from, to mad.GUID) { c.newCoder().sign(p, from, to) }

// Sign writes the code that a standby expects of the master's packet, and Taken that which the master
// expects of the standby's, with the keys of the session where a packet is of one.
func (f *Follower) Sign(p *mad.Packet, from, to mad.GUID) {
	c := f.packets
	if f.session != nil && p.AttrID() == attrSealed && p.IsRMPP() {
		c = f.session.packets
	}
	c.sign(p, from, to)
}

// Reseal replaces the sealed part of a sealed answer or question in one packet by another text.
func (f *Follower) Reseal(p *mad.Packet, text []byte) {
	x := f.session
	if x == nil || p.AttrID() != attrSealed {
		return
	}
	b := p.SAData()
	if !p.IsRMPP() {
		nonce, data := x.prepare(answerNumberOf(b[:]).question, x.standby, x.master, b[:questionHead])
		x.questions.Seal(b[:questionHead], nonce, text[:min(len(text), questionSize)], data)
		return
	}
	nonce, data := x.prepare(answerNumberOf(b[:]).answer, x.master, x.standby, b[:answerHead])
	x.answers.Seal(b[:answerHead], nonce, text[:min(len(text), len(b)-answerHead-tagSize)], data)
}

// AttrSealed and AttrOpening are the attributes of the exchange.
const AttrSealed, AttrOpening = attrSealed, attrOpening
