package mirror

import "ibsm/mad"

// Sign writes the code of a packet from one manager to another.
func (c *Config) Sign(p *mad.Packet, from, to mad.GUID) { c.sign(p, from, to) }
