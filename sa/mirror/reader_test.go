package mirror_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/sa/mirror"
)

// FuzzReader answers a Reader's questions with anything; it always comes to an end of the
// reading, and what it makes of it is a registry. What a Reader does against an SA is
// tested in package sa.
func FuzzReader(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint8(7))
	f.Add(append([]byte{1}, make([]byte, 175)...), uint8(22)) // one record of 176 bytes, which is enough for any part
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		r := mirror.NewReader(mirror.Config{SAKey: 1, Keys: []mad.PKey{0x8001}})
		r.Follow(0, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID, Foreign: true})
		tables := rmpp.New(rmpp.Config{})
		was := registry.New().Freeze()
		readings := 0
		for now := time.Duration(0); now < 90*time.Second && readings < 3; now += 10 * time.Millisecond {
			tables.Expire(now, nil)
			for _, d := range append(r.Output(now, nil), mad.Datagram{}) {
				p := &d.Packet
				switch {
				case d.LID == 0:
				case p.IsRMPP():
					tables.Receive(now, &d)
				case p.AttrID() == sarec.AttrNodeRecord && len(data) > 0 && data[0]%8 > 0:
					p.SetMethod(mad.MethodGetResp)
					p.SAData()[1] = 9
					if x, ok := r.Receive(now, &d); ok {
						t.Fatalf("%+v", x)
					}
				case p.Method() == mad.MethodGetTable:
					p.SetMethod(mad.MethodGetTableResp)
					p.SetAttributeOffset(uint16(size))
					_ = tables.Send(now, &d, data)
				}
			}
			for _, d := range tables.Drain(now, nil) {
				if x, ok := r.Receive(now, &d); ok {
					readings++
					was = x.Registry(was, 1000).Freeze()
				}
			}
			if x, ok := r.Expire(now); ok {
				readings++
				was = x.Registry(was, 1000).Freeze()
			}
			notice := mad.Datagram{Addr: mad.Addr{LID: masterLID, QPN: 1}}
			notice.Packet.SetHeader(mad.ClassSA, mad.MethodReport, sarec.AttrNotice, 0)
			copy(notice.Packet.SAData()[:], data)
			r.Report(now, &notice)
		}
		if readings == 0 {
			t.Fatal("no reading has come to an end")
		}
	})
}

// TestReaderReports: a Reader acknowledges what the master reports, and counts the traps about
// ports and groups that come and go (64 to 67); no other one has it read anything again.
func TestReaderReports(t *testing.T) {
	for _, c := range []struct {
		trap    smp.TrapNumber
		vendor  bool
		reports uint64
	}{{smp.TrapGIDInService, false, 1}, {smp.TrapGroupDeleted, false, 1}, {smp.TrapGIDInService - 1, false, 0},
		{smp.TrapGroupDeleted + 1, false, 0}, {smp.TrapGIDInService, true, 0}} {
		r := mirror.NewReader(mirror.Config{SAKey: 1})
		r.Follow(0, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID, Foreign: true})
		d := mad.Datagram{Addr: mad.Addr{LID: masterLID, QPN: 1}}
		d.Packet.SetHeader(mad.ClassSA, mad.MethodReport, sarec.AttrNotice, 0)
		n := (*sarec.Notice)(d.Packet.SAData()[:len(sarec.Notice{})]).Notice()
		n.SetIsGeneric(!c.vendor)
		n.SetTrapNumber(c.trap)
		ack, _, ok := r.Report(0, &d)
		if got := r.Stats().Reports; !ok || ack.Packet.Method() != mad.MethodReportResp || got != c.reports {
			t.Errorf("trap %d, vendor %t: acknowledged %t, %d reports counted, want %d", uint16(c.trap), c.vendor, ok,
				got, c.reports)
		}
	}
	d := mad.Datagram{Addr: mad.Addr{LID: masterLID, QPN: 1}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodReport, sarec.AttrNotice, 0)
	r := mirror.NewReader(mirror.Config{SAKey: 1})
	if _, _, ok := r.Report(0, &d); ok {
		t.Error("a Report is acknowledged where there is no master")
	}
	r.Follow(0, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID, Foreign: true})
	if _, _, ok := r.Report(0, &d); !ok {
		t.Error("a Report of the master is not acknowledged")
	}
	d.LID++
	if _, _, ok := r.Report(0, &d); ok {
		t.Error("a Report of somebody else is acknowledged")
	}
	d.LID--
	d.Packet.SetHeader(mad.ClassSA, mad.MethodReport, sarec.AttrInformInfo, 0)
	if _, _, ok := r.Report(0, &d); ok {
		t.Error("a Report of something else is acknowledged")
	}
}
