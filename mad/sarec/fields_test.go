package sarec

import (
	"reflect"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// none is the component of a field that has none. It is not 0, as a constant that has lost
// its bit is.
const none mad.ComponentMask = 1 << 63

// component is a field of a record and its bit in the component mask, or none. Fields
// without a name have no accessor of their own.
type component struct {
	comp mad.ComponentMask
	madtest.Field
}

// records are the architecture's tables. Those without fields for Match are not
// matched field by field.
var records = []struct {
	rec        reflect.Type
	fields     []field
	mask       func(mad.ComponentMask) []byte
	components []component
}{
	{reflect.TypeFor[ClassPortInfo](), nil, nil, []component{
		{none, madtest.Field{Name: "BaseVersion", Bit: 0, Width: 8}},
		{none, madtest.Field{Name: "ClassVersion", Bit: 8, Width: 8}},
		{none, madtest.Field{Name: "CapabilityMask", Bit: 16, Width: 16}},
		{none, madtest.Field{Name: "CapabilityMask2", Bit: 32, Width: 27}},
		{none, madtest.Field{Name: "RespTimeValue", Bit: 59, Width: 5}},
		{none, madtest.Field{Name: "RedirectGID", Bit: 64, Width: 128}},
		{none, madtest.Field{Name: "RedirectSL", Bit: 200, Width: 4}},
		{none, madtest.Field{Name: "RedirectLID", Bit: 224, Width: 16}},
		{none, madtest.Field{Name: "RedirectP_Key", Bit: 240, Width: 16}},
		{none, madtest.Field{Name: "RedirectQP", Bit: 264, Width: 24}},
		{none, madtest.Field{Name: "RedirectQ_Key", Bit: 288, Width: 32}},
		{none, madtest.Field{Name: "TrapGID", Bit: 320, Width: 128, ReadOnly: true}},
		{none, madtest.Field{Name: "TrapLID", Bit: 480, Width: 16, ReadOnly: true}},
		{none, madtest.Field{Name: "TrapQP", Bit: 520, Width: 24, ReadOnly: true}},
		{none, madtest.Field{Name: "TrapQ_Key", Bit: 544, Width: 32}},
	}},
	{reflect.TypeFor[InformInfo](), nil, nil, []component{
		{none, madtest.Field{Name: "GID", Bit: 0, Width: 128}},
		{none, madtest.Field{Name: "LIDRangeBegin", Bit: 128, Width: 16}},
		{none, madtest.Field{Name: "LIDRangeEnd", Bit: 144, Width: 16}},
		{none, madtest.Field{Name: "IsGeneric", Bit: 176, Width: 8}},
		{none, madtest.Field{Name: "Subscribe", Bit: 184, Width: 8}},
		{none, madtest.Field{Name: "Type", Bit: 192, Width: 16}},
		{none, madtest.Field{Name: "TrapNumber", Bit: 208, Width: 16}},
		{none, madtest.Field{Name: "QPN", Bit: 224, Width: 24}},
		{none, madtest.Field{Name: "RespTimeValue", Bit: 251, Width: 5}},
		{none, madtest.Field{Name: "ProducerType", Bit: 264, Width: 24}},
	}},
	{reflect.TypeFor[InformInfoRecord](), informInfoFields[:], func(c mad.ComponentMask) []byte {
		m := InformInfoMask(c)
		return m[:]
	}, []component{
		{InformSubscriberGID, madtest.Field{Name: "SubscriberGID", Bit: 0, Width: 128}},
		{InformEnum, madtest.Field{Name: "Enum", Bit: 128, Width: 16}},
		{InformGID, madtest.Field{Bit: 192, Width: 128}},
		{InformLIDRangeBegin, madtest.Field{Bit: 320, Width: 16}},
		{InformLIDRangeEnd, madtest.Field{Bit: 336, Width: 16}},
		{InformIsGeneric, madtest.Field{Bit: 368, Width: 8}},
		{InformSubscribe, madtest.Field{Bit: 376, Width: 8}},
		{InformType, madtest.Field{Bit: 384, Width: 16}},
		{InformTrapNumber, madtest.Field{Bit: 400, Width: 16}},
		{InformQPN, madtest.Field{Bit: 416, Width: 24}},
		{InformRespTimeValue, madtest.Field{Bit: 443, Width: 5}},
		{InformProducerType, madtest.Field{Bit: 456, Width: 24}},
	}},
	{reflect.TypeFor[Notice](), nil, nil, []component{
		{none, madtest.Field{Name: "IssuerGID", Bit: 512, Width: 128}},
	}},
	{reflect.TypeFor[NodeRecord](), nodeFields[:], func(c mad.ComponentMask) []byte {
		m := NodeMask(c)
		return m[:]
	}, []component{
		{NodeLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
		{NodeBaseVersion, madtest.Field{Bit: 32, Width: 8}},
		{NodeClassVersion, madtest.Field{Bit: 40, Width: 8}},
		{NodeNodeType, madtest.Field{Bit: 48, Width: 8}},
		{NodeNumPorts, madtest.Field{Bit: 56, Width: 8}},
		{NodeSystemImageGUID, madtest.Field{Bit: 64, Width: 64}},
		{NodeNodeGUID, madtest.Field{Name: "NodeGUID", Bit: 128, Width: 64, ReadOnly: true}},
		{NodePortGUID, madtest.Field{Name: "PortGUID", Bit: 192, Width: 64}},
		{NodePartitionCap, madtest.Field{Bit: 256, Width: 16}},
		{NodeDeviceID, madtest.Field{Bit: 272, Width: 16}},
		{NodeRevision, madtest.Field{Bit: 288, Width: 32}},
		{NodeLocalPortNum, madtest.Field{Name: "LocalPortNum", Bit: 320, Width: 8}},
		{NodeVendorID, madtest.Field{Bit: 328, Width: 24}},
		{NodeNodeDescription, madtest.Field{Bit: 352, Width: 512}},
	}},
	{reflect.TypeFor[PortInfoRecord](), portInfoFields[:], func(c mad.ComponentMask) []byte {
		m := PortInfoMask(c)
		return m[:]
	}, []component{
		{PortInfoEndportLID, madtest.Field{Name: "EndportLID", Bit: 0, Width: 16}},
		{PortInfoPortNum, madtest.Field{Name: "PortNum", Bit: 16, Width: 8}},
		{PortInfoOptions, madtest.Field{Name: "Options", Bit: 24, Width: 8}},
	}},
	{reflect.TypeFor[SLtoVLMappingTableRecord](), slToVLFields[:], func(c mad.ComponentMask) []byte {
		m := SLtoVLMask(c)
		return m[:]
	}, []component{
		{SLtoVLLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
		{SLtoVLInputPortNum, madtest.Field{Name: "InputPortNum", Bit: 16, Width: 8}},
		{SLtoVLOutputPortNum, madtest.Field{Name: "OutputPortNum", Bit: 24, Width: 8}},
	}},
	{reflect.TypeFor[SwitchInfoRecord](), switchInfoFields[:], func(c mad.ComponentMask) []byte {
		m := SwitchInfoMask(c)
		return m[:]
	}, []component{
		{SwitchInfoLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
	}},
	{reflect.TypeFor[LinearForwardingTableRecord](), lftFields[:], func(c mad.ComponentMask) []byte {
		m := LFTMask(c)
		return m[:]
	}, []component{
		{LFTLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
		{LFTBlockNum, madtest.Field{Name: "BlockNum", Bit: 16, Width: 16}},
	}},
	{reflect.TypeFor[MulticastForwardingTableRecord](), mftFields[:], func(c mad.ComponentMask) []byte {
		m := MFTMask(c)
		return m[:]
	}, []component{
		{MFTLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
		{MFTPosition, madtest.Field{Name: "Position", Bit: 16, Width: 4}},
		{MFTBlockNum, madtest.Field{Name: "BlockNum", Bit: 23, Width: 9}},
	}},
	{reflect.TypeFor[SMInfoRecord](), smInfoFields[:], func(c mad.ComponentMask) []byte {
		m := SMInfoMask(c)
		return m[:]
	}, []component{
		{SMInfoLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
		{SMInfoGUID, madtest.Field{Name: "GUID", Bit: 32, Width: 64}},
		{SMInfoSMKey, madtest.Field{Name: "SM_Key", Bit: 96, Width: 64}},
		{SMInfoActCount, madtest.Field{Name: "ActCount", Bit: 160, Width: 32}},
		{SMInfoPriority, madtest.Field{Name: "Priority", Bit: 192, Width: 4}},
		{SMInfoSMState, madtest.Field{Name: "SMState", Bit: 196, Width: 4}},
	}},
	{reflect.TypeFor[LinkRecord](), linkFields[:], func(c mad.ComponentMask) []byte {
		m := LinkMask(c)
		return m[:]
	}, []component{
		{LinkFromLID, madtest.Field{Name: "FromLID", Bit: 0, Width: 16}},
		{LinkFromPort, madtest.Field{Name: "FromPort", Bit: 16, Width: 8}},
		{LinkToPort, madtest.Field{Name: "ToPort", Bit: 24, Width: 8}},
		{LinkToLID, madtest.Field{Name: "ToLID", Bit: 32, Width: 16}},
	}},
	{reflect.TypeFor[GUIDInfoRecord](), guidInfoFields[:], func(c mad.ComponentMask) []byte {
		m := GUIDInfoMask(c)
		return m[:]
	}, []component{
		{GUIDInfoLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
		{GUIDInfoBlockNum, madtest.Field{Name: "BlockNum", Bit: 16, Width: 8}},
		{GUIDInfoGUID0 << 0, madtest.Field{Bit: 64, Width: 64}},
		{GUIDInfoGUID0 << 1, madtest.Field{Bit: 128, Width: 64}},
		{GUIDInfoGUID0 << 2, madtest.Field{Bit: 192, Width: 64}},
		{GUIDInfoGUID0 << 3, madtest.Field{Bit: 256, Width: 64}},
		{GUIDInfoGUID0 << 4, madtest.Field{Bit: 320, Width: 64}},
		{GUIDInfoGUID0 << 5, madtest.Field{Bit: 384, Width: 64}},
		{GUIDInfoGUID0 << 6, madtest.Field{Bit: 448, Width: 64}},
		{GUIDInfoGUID0 << 7, madtest.Field{Bit: 512, Width: 64}},
	}},
	{reflect.TypeFor[ServiceRecord](), serviceFields[:], func(c mad.ComponentMask) []byte {
		m := ServiceMask(c)
		return m[:]
	}, []component{
		{ServiceServiceID, madtest.Field{Name: "ServiceID", Bit: 0, Width: 64}},
		{ServiceServiceGID, madtest.Field{Name: "ServiceGID", Bit: 64, Width: 128}},
		{ServiceServicePKey, madtest.Field{Name: "ServiceP_Key", Bit: 192, Width: 16}},
		{ServiceServiceLease, madtest.Field{Name: "ServiceLease", Bit: 224, Width: 32}},
		{ServiceServiceKey, madtest.Field{Name: "ServiceKey", Bit: 256, Width: 128}},
		{ServiceServiceName, madtest.Field{Name: "ServiceName", Bit: 384, Width: 512}},
		{none, madtest.Field{Name: "ServiceData", Bit: 896, Width: 512}},
		{ServiceServiceData8 << 0, madtest.Field{Bit: 896, Width: 8}},
		{ServiceServiceData8 << 1, madtest.Field{Bit: 904, Width: 8}},
		{ServiceServiceData8 << 2, madtest.Field{Bit: 912, Width: 8}},
		{ServiceServiceData8 << 3, madtest.Field{Bit: 920, Width: 8}},
		{ServiceServiceData8 << 4, madtest.Field{Bit: 928, Width: 8}},
		{ServiceServiceData8 << 5, madtest.Field{Bit: 936, Width: 8}},
		{ServiceServiceData8 << 6, madtest.Field{Bit: 944, Width: 8}},
		{ServiceServiceData8 << 7, madtest.Field{Bit: 952, Width: 8}},
		{ServiceServiceData8 << 8, madtest.Field{Bit: 960, Width: 8}},
		{ServiceServiceData8 << 9, madtest.Field{Bit: 968, Width: 8}},
		{ServiceServiceData8 << 10, madtest.Field{Bit: 976, Width: 8}},
		{ServiceServiceData8 << 11, madtest.Field{Bit: 984, Width: 8}},
		{ServiceServiceData8 << 12, madtest.Field{Bit: 992, Width: 8}},
		{ServiceServiceData8 << 13, madtest.Field{Bit: 1000, Width: 8}},
		{ServiceServiceData8 << 14, madtest.Field{Bit: 1008, Width: 8}},
		{ServiceServiceData8 << 15, madtest.Field{Bit: 1016, Width: 8}},
		{ServiceServiceData16 << 0, madtest.Field{Bit: 1024, Width: 16}},
		{ServiceServiceData16 << 1, madtest.Field{Bit: 1040, Width: 16}},
		{ServiceServiceData16 << 2, madtest.Field{Bit: 1056, Width: 16}},
		{ServiceServiceData16 << 3, madtest.Field{Bit: 1072, Width: 16}},
		{ServiceServiceData16 << 4, madtest.Field{Bit: 1088, Width: 16}},
		{ServiceServiceData16 << 5, madtest.Field{Bit: 1104, Width: 16}},
		{ServiceServiceData16 << 6, madtest.Field{Bit: 1120, Width: 16}},
		{ServiceServiceData16 << 7, madtest.Field{Bit: 1136, Width: 16}},
		{ServiceServiceData32 << 0, madtest.Field{Bit: 1152, Width: 32}},
		{ServiceServiceData32 << 1, madtest.Field{Bit: 1184, Width: 32}},
		{ServiceServiceData32 << 2, madtest.Field{Bit: 1216, Width: 32}},
		{ServiceServiceData32 << 3, madtest.Field{Bit: 1248, Width: 32}},
		{ServiceServiceData64 << 0, madtest.Field{Bit: 1280, Width: 64}},
		{ServiceServiceData64 << 1, madtest.Field{Bit: 1344, Width: 64}},
	}},
	{reflect.TypeFor[PKeyTableRecord](), pkeyTableFields[:], func(c mad.ComponentMask) []byte {
		m := PKeyTableMask(c)
		return m[:]
	}, []component{
		{PKeyTableLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
		{PKeyTableBlockNum, madtest.Field{Name: "BlockNum", Bit: 16, Width: 16}},
		{PKeyTablePortNum, madtest.Field{Name: "PortNum", Bit: 32, Width: 8}},
	}},
	{reflect.TypeFor[PathRecord](), pathFields[:], func(c mad.ComponentMask) []byte {
		m := PathMask(c)
		return m[:]
	}, []component{
		{PathServiceIDHigh | PathServiceIDLow, madtest.Field{Name: "ServiceID", Bit: 0, Width: 64}},
		{PathDGID, madtest.Field{Name: "DGID", Bit: 64, Width: 128}},
		{PathSGID, madtest.Field{Name: "SGID", Bit: 192, Width: 128}},
		{PathDLID, madtest.Field{Name: "DLID", Bit: 320, Width: 16}},
		{PathSLID, madtest.Field{Name: "SLID", Bit: 336, Width: 16}},
		{PathRawTraffic, madtest.Field{Name: "RawTraffic", Bit: 352, Width: 1}},
		{PathFlowLabel, madtest.Field{Name: "FlowLabel", Bit: 356, Width: 20}},
		{PathHopLimit, madtest.Field{Name: "HopLimit", Bit: 376, Width: 8}},
		{PathTClass, madtest.Field{Name: "TClass", Bit: 384, Width: 8}},
		{PathReversible, madtest.Field{Name: "Reversible", Bit: 392, Width: 1}},
		{PathNumbPath, madtest.Field{Name: "NumbPath", Bit: 393, Width: 7}},
		{PathPKey, madtest.Field{Name: "P_Key", Bit: 400, Width: 16}},
		{PathQoSClass, madtest.Field{Name: "QoSClass", Bit: 416, Width: 12}},
		{PathSL, madtest.Field{Name: "SL", Bit: 428, Width: 4}},
		{PathMTUSelector, madtest.Field{Bit: 432, Width: 2}},
		{PathMTU, madtest.Field{Bit: 434, Width: 6}},
		{PathRateSelector, madtest.Field{Bit: 440, Width: 2}},
		{PathRate, madtest.Field{Bit: 442, Width: 6}},
		{PathPacketLifeTimeSelector, madtest.Field{Bit: 448, Width: 2}},
		{PathPacketLifeTime, madtest.Field{Bit: 450, Width: 6}},
		{PathPreference, madtest.Field{Name: "Preference", Bit: 456, Width: 8}},
	}},
	{reflect.TypeFor[VLArbitrationTableRecord](), vlArbFields[:], func(c mad.ComponentMask) []byte {
		m := VLArbMask(c)
		return m[:]
	}, []component{
		{VLArbLID, madtest.Field{Name: "LID", Bit: 0, Width: 16}},
		{VLArbOutputPortNum, madtest.Field{Name: "OutputPortNum", Bit: 16, Width: 8}},
		{VLArbBlockNum, madtest.Field{Name: "BlockNum", Bit: 24, Width: 8}},
	}},
	{reflect.TypeFor[MCMemberRecord](), mcMemberFields[:], func(c mad.ComponentMask) []byte {
		m := MCMemberMask(c)
		return m[:]
	}, []component{
		{MCMemberMGID, madtest.Field{Name: "MGID", Bit: 0, Width: 128}},
		{MCMemberPortGID, madtest.Field{Name: "PortGID", Bit: 128, Width: 128}},
		{MCMemberQKey, madtest.Field{Name: "Q_Key", Bit: 256, Width: 32}},
		{MCMemberMLID, madtest.Field{Name: "MLID", Bit: 288, Width: 16}},
		{MCMemberMTUSelector, madtest.Field{Bit: 304, Width: 2}},
		{MCMemberMTU, madtest.Field{Bit: 306, Width: 6}},
		{MCMemberTClass, madtest.Field{Name: "TClass", Bit: 312, Width: 8}},
		{MCMemberPKey, madtest.Field{Name: "P_Key", Bit: 320, Width: 16}},
		{MCMemberRateSelector, madtest.Field{Bit: 336, Width: 2}},
		{MCMemberRate, madtest.Field{Bit: 338, Width: 6}},
		{MCMemberPacketLifeTimeSelector, madtest.Field{Bit: 344, Width: 2}},
		{MCMemberPacketLifeTime, madtest.Field{Bit: 346, Width: 6}},
		{MCMemberSL, madtest.Field{Name: "SL", Bit: 352, Width: 4}},
		{MCMemberFlowLabel, madtest.Field{Name: "FlowLabel", Bit: 356, Width: 20}},
		{MCMemberHopLimit, madtest.Field{Name: "HopLimit", Bit: 376, Width: 8}},
		{MCMemberScope, madtest.Field{Name: "Scope", Bit: 384, Width: 4}},
		{MCMemberJoinState, madtest.Field{Name: "JoinState", Bit: 388, Width: 4}},
		{MCMemberProxyJoin, madtest.Field{Name: "ProxyJoin", Bit: 392, Width: 1}},
	}},
	{reflect.TypeFor[MultiPathRecord](), nil, nil, []component{
		{none, madtest.Field{Name: "RawTraffic", Bit: 0, Width: 1}},
		{none, madtest.Field{Name: "FlowLabel", Bit: 4, Width: 20}},
		{none, madtest.Field{Name: "HopLimit", Bit: 24, Width: 8}},
		{none, madtest.Field{Name: "TClass", Bit: 32, Width: 8}},
		{none, madtest.Field{Name: "Reversible", Bit: 40, Width: 1}},
		{none, madtest.Field{Name: "NumbPath", Bit: 41, Width: 7}},
		{none, madtest.Field{Name: "P_Key", Bit: 48, Width: 16}},
		{none, madtest.Field{Name: "QoSClass", Bit: 64, Width: 12}},
		{none, madtest.Field{Name: "SL", Bit: 76, Width: 4}},
		{none, madtest.Field{Name: "ServiceIDHigh", Bit: 104, Width: 8}},
		{none, madtest.Field{Name: "IndependenceSelector", Bit: 112, Width: 2}},
		{none, madtest.Field{Name: "SGIDCount", Bit: 120, Width: 8}},
		{none, madtest.Field{Name: "DGIDCount", Bit: 128, Width: 8}},
		{none, madtest.Field{Name: "ServiceIDLow", Bit: 136, Width: 56}},
	}},
}

// Each accessor of each record keeps to the bits of its field.
func TestFields(t *testing.T) {
	for _, r := range records {
		t.Run(r.rec.Name(), func(t *testing.T) {
			var fields []madtest.Field
			for _, c := range r.components {
				if c.Name != "" {
					fields = append(fields, c.Field)
				}
			}
			madtest.CheckFields(t, r.rec, fields)
		})
	}
}

// The components of a MultiPathRecord are in the order of its fields, reserved ones included
// (IBA 15.2.5.20).
func TestMultiPathComponents(t *testing.T) {
	const reserved = none
	for bit, comp := range []mad.ComponentMask{
		MultiPathRawTraffic, reserved, MultiPathFlowLabel, MultiPathHopLimit, MultiPathTClass, MultiPathReversible,
		MultiPathNumbPath,
		MultiPathPKey, MultiPathQoSClass, MultiPathSL, MultiPathMTUSelector, MultiPathMTU, MultiPathRateSelector,
		MultiPathRate,
		MultiPathPacketLifeTimeSelector, MultiPathPacketLifeTime, MultiPathServiceIDHigh, MultiPathIndependenceSelector,
		reserved,
		MultiPathSGIDCount, MultiPathDGIDCount, MultiPathServiceIDLow,
	} {
		if comp != reserved && comp != 1<<bit {
			t.Errorf("component %d is %#x", bit, comp)
		}
	}
}

// An accessor of a selector and a value keeps to the byte of both.
func TestSelectors(t *testing.T) {
	for _, r := range []struct {
		name string
		rec  any
		byte int
	}{
		{"MTU", new(PathRecord), 54}, {"Rate", new(PathRecord), 55}, {"PacketLifeTime", new(PathRecord), 56},
		{"MTU", new(MultiPathRecord), 10}, {"Rate", new(MultiPathRecord), 11},
		{"PacketLifeTime", new(MultiPathRecord), 12},
		{"MTU", new(MCMemberRecord), 38}, {"Rate", new(MCMemberRecord), 42},
		{"PacketLifeTime", new(MCMemberRecord), 43},
	} {
		ptr := reflect.ValueOf(r.rec)
		raw := ptr.Elem().Slice(0, ptr.Elem().Len()).Bytes()
		get, set := ptr.MethodByName(r.name), ptr.MethodByName("Set"+r.name)
		for v := range 256 {
			for i := range raw {
				raw[i] = byte(i) ^ 0x5a
			}
			want := append([]byte(nil), raw...)
			want[r.byte] = byte(v)
			set.Call([]reflect.Value{
				reflect.ValueOf(Selector(v >> 6)), reflect.ValueOf(v & 0x3f).Convert(get.Type().Out(1)),
			})
			out := get.Call(nil)
			if string(raw) != string(want) || out[0].Uint() != uint64(v>>6) || out[1].Uint() != uint64(v&0x3f) {
				t.Fatalf("%T.%s: set %#x, reads %v %v\n got %x\nwant %x", r.rec, r.name, v, out[0], out[1], raw, want)
			}
		}
	}
}

func TestMultiPathGIDs(t *testing.T) {
	var r MultiPathRecord
	for i := range MultiPathMaxGIDs {
		r.SetGID(i, mad.MakeGID(mad.DefaultPrefix, mad.GUID(i+1)))
	}
	for i := range MultiPathMaxGIDs {
		if got := r.GID(i); got.GUID() != mad.GUID(i+1) || r[24+16*i] != 0xfe {
			t.Errorf("GID %d: %s", i, got)
		}
	}
	if r[23] != 0 {
		t.Errorf("what is in front of the GIDs was written: %x", r[:24])
	}
}

// What all accessors of a record read, all of them write.
func FuzzRecords(f *testing.F) {
	for i := range records {
		f.Add(uint8(i), []byte("\x01\x23\x45\x67\x89\xab\xcd\xef"))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		r := records[int(which)%len(records)]
		in, out := reflect.New(r.rec), reflect.New(r.rec)
		raw, want := in.Elem().Slice(0, r.rec.Len()).Bytes(), make([]byte, r.rec.Len())
		copy(raw, b)
		for _, c := range r.components {
			if c.Name == "" || c.ReadOnly {
				continue
			}
			fillMask(want, []field{{uint16(c.Bit), uint16(c.Width)}}, 1)
			name := strings.ReplaceAll(c.Name, "_", "")
			out.MethodByName("Set" + name).Call(in.MethodByName(name).Call(nil))
		}
		for i := range want {
			want[i] &= raw[i]
		}
		if got := out.Elem().Slice(0, r.rec.Len()).Bytes(); string(got) != string(want) {
			t.Errorf("%s: of %x\nwritten %x\nwant    %x", r.rec.Name(), raw, got, want)
		}
	})
}
