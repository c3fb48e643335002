package sarec

import (
	"encoding/binary"

	"ibsm/mad"
)

// ServiceRecord is attribute 0x0031: a service and where it is offered (IBA
// 15.2.5.14).
//
//	  0 ServiceID
//	  8 ServiceGID
//	 24 ServiceP_Key  reserved
//	 28 ServiceLease
//	 32 ServiceKey
//	 48 ServiceName
//	112 ServiceData8, ServiceData16, ServiceData32, ServiceData64, 16 bytes each
type ServiceRecord [176]byte

// Components of a ServiceRecord. Entries of the data fields have a component each,
// counted on from that of the first.
const (
	ServiceServiceID      mad.ComponentMask = 1 << 0
	ServiceServiceGID     mad.ComponentMask = 1 << 1
	ServiceServicePKey    mad.ComponentMask = 1 << 2
	ServiceServiceLease   mad.ComponentMask = 1 << 4
	ServiceServiceKey     mad.ComponentMask = 1 << 5
	ServiceServiceName    mad.ComponentMask = 1 << 6
	ServiceServiceData8   mad.ComponentMask = 1 << 7 // the first of 16
	ServiceAllServiceData mad.ComponentMask = 1<<37 - ServiceServiceData8
)

var serviceFields = [37]field{
	0: {0, 64}, 1: {64, 128}, 2: {192, 16}, 3: {}, 4: {224, 32}, 5: {256, 128}, 6: {384, 512},
	7: {896, 8}, 8: {904, 8}, 9: {912, 8}, 10: {920, 8}, 11: {928, 8}, 12: {936, 8}, 13: {944, 8}, 14: {952, 8},
	15: {960, 8}, 16: {968, 8}, 17: {976, 8}, 18: {984, 8}, 19: {992, 8}, 20: {1000, 8}, 21: {1008, 8}, 22: {1016, 8},
	23: {1024, 16}, 24: {1040, 16}, 25: {1056, 16}, 26: {1072, 16}, 27: {1088, 16}, 28: {1104, 16}, 29: {1120, 16},
	30: {1136, 16}, 31: {1152, 32}, 32: {1184, 32}, 33: {1216, 32}, 34: {1248, 32}, 35: {1280, 64}, 36: {1344, 64},
}

// ServiceMask has ones in the fields whose components are given, for Match.
func ServiceMask(comps mad.ComponentMask) (mask ServiceRecord) {
	fillMask(mask[:], serviceFields[:], comps)
	return mask
}

// ServiceID says which service it is.
func (r *ServiceRecord) ServiceID() uint64 { return binary.BigEndian.Uint64(r[0:]) }

// SetServiceID replaces ServiceID.
func (r *ServiceRecord) SetServiceID(id uint64) { binary.BigEndian.PutUint64(r[0:], id) }

// ServiceGID is the port that offers the service, or a multicast group.
func (r *ServiceRecord) ServiceGID() mad.GID { return mad.GID(r[8:24]) }

// SetServiceGID replaces ServiceGID.
func (r *ServiceRecord) SetServiceGID(g mad.GID) { copy(r[8:24], g[:]) }

// ServicePKey is the partition that may know of the service, 0 for all.
func (r *ServiceRecord) ServicePKey() mad.PKey { return mad.PKey(binary.BigEndian.Uint16(r[24:])) }

// SetServicePKey replaces ServiceP_Key.
func (r *ServiceRecord) SetServicePKey(k mad.PKey) { binary.BigEndian.PutUint16(r[24:], uint16(k)) }

// ServiceLease is how long the service stays, in seconds; 0xffffffff for ever.
func (r *ServiceRecord) ServiceLease() uint32 { return binary.BigEndian.Uint32(r[28:]) }

// SetServiceLease replaces ServiceLease.
func (r *ServiceRecord) SetServiceLease(s uint32) { binary.BigEndian.PutUint32(r[28:], s) }

// ServiceKey guards the record against others; 0 where the asker may not know.
func (r *ServiceRecord) ServiceKey() [16]byte { return [16]byte(r[32:48]) }

// SetServiceKey replaces ServiceKey.
func (r *ServiceRecord) SetServiceKey(k [16]byte) { copy(r[32:48], k[:]) }

// ServiceName is UTF-8 text, filled up with zeros.
func (r *ServiceRecord) ServiceName() [64]byte { return [64]byte(r[48:112]) }

// SetServiceName replaces ServiceName.
func (r *ServiceRecord) SetServiceName(n [64]byte) { copy(r[48:112], n[:]) }

// ServiceData is the four data fields, ServiceData8 to ServiceData64, in wire order.
func (r *ServiceRecord) ServiceData() [64]byte { return [64]byte(r[112:176]) }

// SetServiceData replaces the four data fields.
func (r *ServiceRecord) SetServiceData(d [64]byte) { copy(r[112:176], d[:]) }
