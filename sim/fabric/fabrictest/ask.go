// Package fabrictest asks agents of a simulated fabric, without a manager.
package fabrictest

import (
	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
)

// Ask sends a request along its directed route from a Station, once, at the fabric's present time, and returns the
// outcome. No reply is TimedOut.
func Ask(f *fabric.Fabric, from *fabric.Station, req *txn.Request) txn.Outcome {
	var d mad.Datagram
	d.LID = mad.PermissiveLID
	d.Packet.SetDirected(&req.Route, req.Method, req.Attr, req.Mod)
	d.Packet.SetMKey(req.MKey)
	*d.Packet.Data() = req.Data
	from.Send([]mad.Datagram{d})
	f.Advance(f.Now())
	o := txn.Outcome{Tag: req.Tag, Method: req.Method, Attr: req.Attr, Mod: req.Mod, Result: txn.TimedOut}
	var in [8]mad.Datagram
	for from.Pending() > 0 {
		for _, d := range in[:from.Recv(in[:])] {
			if p := &d.Packet; p.Method() == mad.MethodGetResp && p.AttrID() == req.Attr && p.AttrMod() == req.Mod {
				o.Result, o.Status, o.Data = txn.Replied, p.Status(), *p.Data()
			}
		}
	}
	return o
}
