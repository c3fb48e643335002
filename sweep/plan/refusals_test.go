package plan

import (
	"slices"
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

// asks reports whether a port that is up and holds is, would be sent w.
func asks(r Refusals, is, w smp.PortInfo) bool {
	d, _ := differs(&is, &w)
	return r.wants(Key{1, 1}, &w, &d, true)
}

func TestLearn(t *testing.T) {
	r := Refusals{}
	key := Key{1, 1}
	sent, held := portWith(18, 7, 5), portWith(0, 7, 5)
	if _, found := r.Learn(key, &sent, &sent); found || len(r) != 0 {
		t.Error("a port that holds everything is remembered")
	}
	bits, found := r.Learn(key, &sent, &held)
	if !found || !slices.Equal(Fields(&bits), []string{"HOQLife"}) {
		t.Errorf("refused: %v %q", found, Fields(&bits))
	}
	if _, found = r.Learn(key, &sent, &held); found {
		t.Error("the same refusal is news twice")
	}
	if asks(r, held, sent) {
		t.Error("what was refused is sent again")
	}
	if r.wants(Key{1, 2}, &sent, &bits, true) == false {
		t.Error("another port is not told")
	}
	for _, hoq := range []uint8{16, 2, 17, 31} { // values that share bits with 18 too
		if w := portWith(hoq, 7, 5); !asks(r, held, w) {
			t.Errorf("another value, %d, is not tried", hoq)
		} else {
			r.Learn(key, &w, &held)
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
	r := Refusals{}
	key := Key{1, 1}
	sent, held := portWith(18, 7, 5), portWith(18, 7, 9)
	for i := range 10 {
		if _, found := r.Learn(key, &sent, &held); found {
			t.Error("a LID is remembered as refused")
		}
		if !asks(r, held, sent) {
			t.Fatalf("the LID is not sent any more after %d times", i)
		}
	}
}

// TestAskTwice: a port that acknowledges a value and does not keep it is told so twice.
func TestAskTwice(t *testing.T) {
	r := Refusals{}
	key := Key{1, 1}
	want, is := portWith(18, 7, 5), portWith(18, 3, 5)
	for i := range 2 {
		if !asks(r, is, want) {
			t.Fatalf("not asked the %dth time", i+1)
		}
		r.Learn(key, &want, &want) // it says that it holds it
		r.Acknowledged(key)
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
		t.Error("a LID that is wrong is not mended")
	}
}

// TestAskUnanswered: a port that was not reached refuses nothing.
func TestAskUnanswered(t *testing.T) {
	r := Refusals{}
	want, is := portWith(18, 7, 5), portWith(18, 3, 5)
	for i := range 10 {
		if !asks(r, is, want) {
			t.Fatalf("given up after %d times", i)
		}
	}
}

// TestAskAfterHeld: only what is wanted many times in a row is given up.
func TestAskAfterHeld(t *testing.T) {
	r := Refusals{}
	want, is := portWith(18, 7, 5), portWith(18, 3, 5)
	for i := range 10 {
		if !asks(r, is, want) {
			t.Fatalf("given up after %d times, though the port held it in between", i)
		}
		r.Acknowledged(Key{1, 1})
		asks(r, want, want)
	}
}

// TestNotUp: a port in INIT has lost what it was told, and does not refuse it.
func TestNotUp(t *testing.T) {
	r := Refusals{}
	want, is := portWith(18, 7, 5), portWith(18, 3, 5)
	for i := range 5 {
		d, _ := differs(&is, &want)
		if !r.wants(Key{1, 1}, &want, &d, false) {
			t.Fatalf("given up after %d times", i)
		}
	}
}
