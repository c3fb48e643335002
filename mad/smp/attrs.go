package smp

import "ibsm/mad"

// NodeDescription is attribute 0x0010.
type NodeDescription [mad.DataSize]byte

// NodeInfo is attribute 0x0011.
type NodeInfo [mad.DataSize]byte

// SwitchInfo is attribute 0x0012.
type SwitchInfo [mad.DataSize]byte

// PortInfo is attribute 0x0015.
type PortInfo [mad.DataSize]byte
