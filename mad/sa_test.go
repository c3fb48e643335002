package mad

import "testing"

func TestSAHeader(t *testing.T) {
	var p Packet
	p.SetSMKey(0x0102030405060708)
	p.SetAttributeOffset(0x1112)
	p.SetComponentMask(0x2122232425262728)
	p.SAData()[0], p.SAData()[SADataSize-1] = 0x31, 0x32
	want := Packet{
		36: 1, 37: 2, 38: 3, 39: 4, 40: 5, 41: 6, 42: 7, 43: 8, 44: 0x11, 45: 0x12,
		48: 0x21, 49: 0x22, 50: 0x23, 51: 0x24, 52: 0x25, 53: 0x26, 54: 0x27, 55: 0x28, 56: 0x31, 255: 0x32,
	}
	if p != want {
		t.Errorf("header\n%x, want\n%x", p, want)
	}
	if p.SMKey() != 0x0102030405060708 || p.AttributeOffset() != 0x1112 || p.ComponentMask() != 0x2122232425262728 {
		t.Errorf("reads back %#x, %#x, %#x", p.SMKey(), p.AttributeOffset(), p.ComponentMask())
	}
	for i := range p {
		p[i] = 0xff
	}
	p.ClearRMPP()
	for i, b := range p {
		if (b == 0) != (i >= 24 && i < 36) {
			t.Errorf("byte %d is %#x after ClearRMPP", i, b)
		}
	}
}

func TestComponentMaskHas(t *testing.T) {
	m := ComponentMask(0b0110)
	if !m.Has(0b0110) || !m.Has(0b0100) || !m.Has(0) || m.Has(0b1100) {
		t.Errorf("%b has the wrong components", m)
	}
}
