// Package cc holds the attributes of congestion control (IBA A10.4): each is its bytes on the
// wire with an accessor for each field, named as the field is in the architecture. A packet's
// room for them is mad.Packet.PerfData; the CC_Key stands between the common header and it.
//
//	cc.SetRequest(&p, mad.MethodSet, cc.AttrCACongestionSetting, 0, key)
//	setting := (*cc.CACongestionSetting)(p.PerfData()[:])
//	setting.SetControlMap(1 << sl)
//	setting.SetCCTITimer(sl, 150) // 150 * 1.024 us
//
// No accessor panics, whatever the bytes, and none allocates but AttrName of an attribute that
// has no name.
package cc
