package device

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

func portWith(hoq, stall uint8, lid mad.LID) (p smp.PortInfo) {
	p.SetHOQLife(hoq)
	p.SetVLStallCount(stall)
	p.SetLID(lid)
	return p
}

var port1 = Place{smp.AttrPortInfo, 1, 1}

func learn(r Unsupported, sent, held smp.PortInfo) (smp.PortInfo, bool) {
	bits, found := r.Learn(&PortInfo, port1, (*Data)(&sent), (*Data)(&held))
	return bits, found
}

// asks reports whether a port that is up and holds is, would be sent w.
func asks(r Unsupported, is, w smp.PortInfo) bool {
	d, _ := PortInfo.Differs((*Data)(&is), (*Data)(&w))
	return r.Wants(&PortInfo, port1, (*Data)(&w), &d, true)
}

func TestLearn(t *testing.T) {
	r := Unsupported{}
	sent, held := portWith(18, 7, 5), portWith(0, 7, 5)
	if _, found := learn(r, sent, sent); found || len(r) != 0 {
		t.Error("a port that holds everything is remembered")
	}
	bits, found := learn(r, sent, held)
	if !found || bits != portWith(31, 0, 0) && bits != portWith(18, 0, 0) {
		t.Errorf("refused: %v %x", found, bits)
	}
	if _, found = learn(r, sent, held); found {
		t.Error("the same refusal is news twice")
	}
	if asks(r, held, sent) {
		t.Error("what was refused is sent again")
	}
	if !r.Wants(&PortInfo, Place{smp.AttrPortInfo, 1, 2}, (*Data)(&sent), (*Data)(&bits), true) {
		t.Error("another port is not written")
	}
	for _, hoq := range []uint8{16, 2, 17, 31} { // values that share bits with 18 too
		if w := portWith(hoq, 7, 5); !asks(r, held, w) {
			t.Errorf("another value, %d, is not tried", hoq)
		} else {
			learn(r, w, held)
		}
		if w := portWith(hoq, 7, 5); asks(r, held, w) {
			t.Errorf("value %d is sent again", hoq)
		}
	}
	sent, held = portWith(31, 7, 5), portWith(0, 3, 5)
	if !asks(r, held, sent) {
		t.Error("a field that was not refused is not sent")
	}
}

func TestLearnInsists(t *testing.T) {
	r := Unsupported{}
	sent, held := portWith(18, 7, 5), portWith(18, 7, 9)
	for i := range 10 {
		if _, found := learn(r, sent, held); found {
			t.Error("a LID is remembered as refused")
		}
		if !asks(r, held, sent) {
			t.Fatalf("the LID is not sent any more after %d times", i)
		}
	}
}

// TestAskTwice: a value that a port acknowledges and does not keep is written twice.
func TestAskTwice(t *testing.T) {
	r := Unsupported{}
	want, is := portWith(18, 7, 5), portWith(18, 3, 5)
	for i := range 2 {
		if !asks(r, is, want) {
			t.Fatalf("not asked the %dth time", i+1)
		}
		learn(r, want, want) // it says that it holds it
		r.Tried(port1)
	}
	for range 3 {
		if asks(r, is, want) {
			t.Fatal("asked a third time")
		}
	}
	want = portWith(18, 6, 5)
	if !asks(r, is, want) {
		t.Error("another value is not tried")
	}
	if moved := portWith(18, 3, 8); !asks(r, moved, want) {
		t.Error("a LID that is wrong is not corrected")
	}
}

// TestAskUnanswered: a port that was not reached refuses nothing.
func TestAskUnanswered(t *testing.T) {
	r := Unsupported{}
	want, is := portWith(18, 7, 5), portWith(18, 3, 5)
	for i := range 10 {
		if !asks(r, is, want) {
			t.Fatalf("given up after %d times", i)
		}
	}
}

// TestAskAfterHeld: only what is wanted many times in a row is given up.
func TestAskAfterHeld(t *testing.T) {
	r := Unsupported{}
	want, is := portWith(18, 7, 5), portWith(18, 3, 5)
	for i := range 10 {
		if !asks(r, is, want) {
			t.Fatalf("given up after %d times, though the port held it in between", i)
		}
		r.Tried(port1)
		asks(r, want, want)
	}
}

// TestNotUp: a port in INIT has lost its values, and does not refuse them.
func TestNotUp(t *testing.T) {
	r := Unsupported{}
	want, is := portWith(18, 7, 5), portWith(18, 3, 5)
	for i := range 5 {
		d, _ := PortInfo.Differs((*Data)(&is), (*Data)(&want))
		if !r.Wants(&PortInfo, port1, (*Data)(&want), &d, false) {
			t.Fatalf("given up after %d times", i)
		}
	}
}
