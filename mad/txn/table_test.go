package txn

import (
	"testing"
	"time"

	"ibsm/mad"
)

const ms = time.Millisecond

// request is a NodeInfo Get one hop out of port, answered by the node of that
// number.
func request(port uint8) *Request {
	return &Request{Route: mad.MakeRoute(port), Method: mad.MethodGet, Attr: 0x11, Node: int32(port), Tag: uint64(port)}
}

// reply is what a well-behaved agent makes of a request.
func reply(d mad.Datagram) mad.Datagram {
	d.Packet.SetMethod(responseTo(d.Packet.Method()))
	if d.Packet.MgmtClass() == mad.ClassDirected {
		d.Packet.SetReturning()
	}
	return d
}

func TestReply(t *testing.T) {
	tab := New(Config{})
	if !tab.Submit(request(7)) {
		t.Fatal("refused")
	}
	out := tab.Output(1*ms, nil)
	if len(out) != 1 || out[0].Packet.TID() == 0 || out[0].Packet.TID()>>32 != 0 {
		t.Fatalf("output %v", out)
	}
	if d, ok := tab.Deadline(); !ok || d != 201*ms {
		t.Fatalf("deadline %v %v", d, ok)
	}
	r := reply(out[0])
	r.Packet.Data()[5] = 42
	r.Packet.SetStatus(mad.StatusBadField)
	o, ok := tab.Match(3*ms, &r)
	want := Outcome{Tag: 7, Node: 7, Method: mad.MethodGet, Attr: 0x11, Result: Replied,
		Status: mad.StatusBadField, Data: *r.Packet.Data(), RTT: 2 * ms, Attempts: 1}
	if !ok || o != want {
		t.Fatalf("outcome %+v, want %+v", o, want)
	}
	if _, ok := tab.Match(3*ms, &r); ok || tab.Stats().Duplicates != 1 {
		t.Fatalf("duplicate taken: %+v", tab.Stats())
	}
	if tab.Outstanding() != 0 {
		t.Fatal("still outstanding")
	}
}
