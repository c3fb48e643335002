package smp

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The tables below are the architecture's: field, first bit (the most significant
// bit of byte 0 is 0), width in bits. "ro" marks fields that have no setter,
// because a manager only reads them and no simulated device answers them.
// Details of notices count from the start of DataDetails.
var fieldTables = []struct {
	attr  reflect.Type // [N]byte
	table string
}{
	{reflect.TypeFor[Notice](), `
		IsGeneric 0 1
		Type 1 7
		ProducerType 8 24
		VendorID 8 24
		TrapNumber 32 16
		IssuerLID 48 16
		NoticeToggle 64 1
		NoticeCount 65 15`},
	{reflect.TypeFor[AddressDetails](), `
		GID 48 128`},
	{reflect.TypeFor[LinkStateDetails](), `
		LID 0 16`},
	{reflect.TypeFor[PortErrorDetails](), `
		LID 16 16
		PortNum 32 8`},
	{reflect.TypeFor[LocalChangeDetails](), `
		LID 16 16
		OtherLocalChanges 47 1
		CapabilityMask 48 32
		ChangeFlags 80 16
		CapabilityMask2 96 16`},
	{reflect.TypeFor[SystemImageDetails](), `
		LID 16 16
		SystemImageGUID 48 64`},
	{reflect.TypeFor[BadMKeyDetails](), `
		LID 16 16
		DRSLID 32 16
		Method 48 8
		AttributeID 64 16
		AttributeModifier 80 32
		M_Key 112 64
		DRNotice 184 1
		DRPathTruncated 185 1
		DRHopCount 186 6`},
	{reflect.TypeFor[BadKeyDetails](), `
		LID1 16 16
		LID2 32 16
		Key 48 32
		SL 80 4
		QP1 88 24
		QP2 120 24
		GID1 144 128
		GID2 272 128`},
	{reflect.TypeFor[SwitchBadPKeyDetails](), `
		DataValid 0 16
		LID1 16 16
		LID2 32 16
		P_Key 48 16
		SL 64 4
		QP1 72 24
		QP2 104 24
		GID1 128 128
		GID2 256 128
		SwitchLID 384 16
		PortNum 400 8`},
	{reflect.TypeFor[VPortLocalChangeDetails](), `
		LID 16 16
		LocalChanges 47 1
		CapabilityMask 48 16
		ChangeFlags 64 16
		VPortIndex 96 16`},
	{reflect.TypeFor[VPortStateChangeDetails](), `
		LID 16 16`},
	{reflect.TypeFor[VPortBadKeyDetails](), `
		LID1 16 16
		LID2 32 16
		Key 48 32
		SL 80 4
		QP1 88 24
		QP2 120 24
		GID1 144 128
		GID2 272 128
		VPortIndex 400 16`},
	{reflect.TypeFor[NodeInfo](), `
		BaseVersion 0 8
		ClassVersion 8 8
		NodeType 16 8
		NumPorts 24 8
		SystemImageGUID 32 64
		NodeGUID 96 64
		PortGUID 160 64
		PartitionCap 224 16
		DeviceID 240 16
		Revision 256 32
		LocalPortNum 288 8
		VendorID 296 24`},
	{reflect.TypeFor[SwitchInfo](), `
		LinearFDBCap 0 16
		RandomFDBCap 16 16
		MulticastFDBCap 32 16
		LinearFDBTop 48 16
		DefaultPort 64 8
		DefaultMulticastPrimaryPort 72 8
		DefaultMulticastNotPrimaryPort 80 8
		LifeTimeValue 88 5
		PortStateChange 93 1
		OptimizedSLtoVLMappingProgramming 94 2
		LIDsPerPort 96 16
		PartitionEnforcementCap 112 16
		InboundEnforcementCap 128 1
		OutboundEnforcementCap 129 1
		FilterRawInboundCap 130 1
		FilterRawOutboundCap 131 1
		EnhancedPort0 132 1
		MulticastFDBTop 144 16`},
	{reflect.TypeFor[PortInfo](), `
		M_Key 0 64
		GidPrefix 64 64
		LID 128 16
		MasterSMLID 144 16
		CapabilityMask 160 32
		DiagCode 192 16
		M_KeyLeasePeriod 208 16
		LocalPortNum 224 8
		LinkWidthEnabled 232 8
		LinkWidthSupported 240 8
		LinkWidthActive 248 8
		LinkSpeedSupported 256 4
		PortState 260 4
		PortPhysicalState 264 4
		LinkDownDefaultState 268 4
		M_KeyProtectBits 272 2
		LMC 277 3
		LinkSpeedActive 280 4
		LinkSpeedEnabled 284 4
		NeighborMTU 288 4
		MasterSMSL 292 4
		VLCap 296 4
		InitType 300 4
		VLHighLimit 304 8
		VLArbitrationHighCap 312 8
		VLArbitrationLowCap 320 8
		InitTypeReply 328 4
		MTUCap 332 4
		VLStallCount 336 3
		HOQLife 339 5
		OperationalVLs 344 4
		PartitionEnforcementInbound 348 1
		PartitionEnforcementOutbound 349 1
		FilterRawInbound 350 1
		FilterRawOutbound 351 1
		M_KeyViolations 352 16
		P_KeyViolations 368 16
		Q_KeyViolations 384 16
		GUIDCap 400 8
		ClientReregister 408 1
		McastPKeyTrapSuppressionEnabled 409 2
		SubnetTimeOut 411 5
		RespTimeValue 419 5
		LocalPhyErrors 424 4
		OverrunErrors 428 4
		MaxCreditHint 432 16
		LinkSpeedExtActive2 449 2
		LinkSpeedExtSupported2 451 2
		LinkSpeedExtEnabled2 453 3
		LinkRoundTripLatency 456 24
		CapabilityMask2 480 16
		LinkSpeedExtActive 496 4
		LinkSpeedExtSupported 500 4
		LinkSpeedExtEnabled 507 5`},
	{reflect.TypeFor[PortInfoExtended](), `
		CapabilityMask 0 32
		FECModeActive 32 16
		FDRFECModeSupported 48 16
		FDRFECModeEnabled 64 16
		EDRFECModeSupported 80 16
		EDRFECModeEnabled 96 16
		HDRFECModeSupported 112 16
		HDRFECModeEnabled 128 16
		NDRFECModeSupported 144 16
		NDRFECModeEnabled 160 16`},
	{reflect.TypeFor[SMInfo](), `
		GUID 0 64
		SM_Key 64 64
		ActCount 128 32
		Priority 160 4
		SMState 164 4`},
	{reflect.TypeFor[ExtendedPortInfo](), `
		AMESupported 0 1 ro
		SHARPEnabled 1 1 ro
		RouterLIDEnabled 2 1 ro
		PortRecovered 3 1 ro
		StateChangeEnable 24 8 ro
		BandwidthUtilization 32 16 ro
		UnhealthyReason 48 8 ro
		LinkSpeedSupported 56 8
		LinkSpeedEnabled 88 8
		LinkSpeedActive 120 8
		AdminState 140 3 ro
		CapabilityMask 144 16 ro
		SpecialPortType 376 8 ro
		AdaptiveTimeoutSLMask 416 16 ro
		OutOfOrderSLMask 432 16 ro`},
	{reflect.TypeFor[ARInfo](), `
		IS4Mode 6 1 ro
		GlobalGroups 5 1 ro
		BySLSupported 4 1 ro
		BySLEnabled 3 1 ro
		ByTransportSupported 2 1 ro
		DynamicCapSupported 1 1 ro
		GroupTableCopySupported 16 4 ro
		SubGroupsActive 20 4 ro
		Enabled 31 1
		ARNSupported 30 1 ro
		FRNSupported 29 1 ro
		FRSupported 28 1 ro
		FREnabled 27 1 ro
		RNXmitEnabled 26 1 ro
		StringWidthCap 32 4 ro
		GroupTableCap 36 4 ro
		GroupTop 40 12 ro
		GroupCap 52 12 ro
		SLMask 64 16 ro
		SubGroupsSupported 80 8 ro
		TransportDisableMask 120 8 ro
		AgeingTime 128 32 ro
		PFRNSupported 166 1 ro
		WHBFSupported 161 1 ro
		HBFSupported 160 1 ro
		PFRNEnabled 179 1 ro
		WHBFEnabled 177 1 ro
		HBFEnabled 176 1 ro
		HBFSLMask 208 16 ro`},
}

type fieldSpec struct {
	name       string
	bit, width int
	readOnly   bool
}

func parseFields(t *testing.T, table string) (fields []fieldSpec) {
	for line := range strings.Lines(table) {
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		bit, err1 := strconv.Atoi(w[1])
		width, err2 := strconv.Atoi(w[2])
		if err1 != nil || err2 != nil {
			t.Fatalf("table row %q", line)
		}
		fields = append(fields, fieldSpec{strings.ReplaceAll(w[0], "_", ""), bit, width, len(w) > 3})
	}
	return fields
}

// readBits and writeBits say what a field is, one bit at a time.
func readBits(b []byte, bit, width int) []byte {
	out := make([]byte, (width+7)/8)
	for i := range width {
		if b[(bit+i)/8]>>(7-(bit+i)%8)&1 != 0 {
			j := len(out)*8 - width + i
			out[j/8] |= 1 << (7 - j%8)
		}
	}
	return out
}

func writeBits(b []byte, bit, width int, v []byte) {
	for i := range width {
		j := len(v)*8 - width + i
		mask := byte(1) << (7 - (bit+i)%8)
		b[(bit+i)/8] &^= mask
		if v[j/8]>>(7-j%8)&1 != 0 {
			b[(bit+i)/8] |= mask
		}
	}
}

// toBytes and fromBytes turn what accessors take and give into a big-endian number.
func toBytes(v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return []byte{1}
		}
		return []byte{0}
	case reflect.Array:
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		return b
	}
	b := make([]byte, v.Type().Size())
	for i := range b {
		b[i] = byte(v.Uint() >> (8 * (len(b) - 1 - i)))
	}
	return b
}

func fromBytes(b []byte, typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(b[len(b)-1]&1 != 0)
	case reflect.Array:
		reflect.Copy(v, reflect.ValueOf(b))
	default:
		var n uint64
		for _, x := range b {
			n = n<<8 | uint64(x)
		}
		v.SetUint(n)
	}
	return v
}

// low is the last bytes of a number, with zeros in front where it is shorter.
func low(b []byte, n int) []byte {
	if len(b) >= n {
		return b[len(b)-n:]
	}
	return append(make([]byte, n-len(b)), b...)
}

func TestFields(t *testing.T) {
	for _, tt := range fieldTables {
		t.Run(tt.attr.Name(), func(t *testing.T) {
			fields := parseFields(t, tt.table)
			checkMethods(t, tt.attr, fields)
			for _, f := range fields {
				checkField(t, tt.attr, f)
			}
		})
	}
}

// checkMethods finds accessors that the table lacks, and setters that a field
// lacks.
func checkMethods(t *testing.T, attr reflect.Type, fields []fieldSpec) {
	known := map[string]bool{}
	for _, f := range fields {
		known[f.name] = true
		if !f.readOnly {
			known["Set"+f.name] = true
		}
	}
	ptr := reflect.PointerTo(attr)
	for i := range ptr.NumMethod() {
		m := ptr.Method(i)
		getter := m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && m.Type.Out(0).Kind() != reflect.Pointer
		setter := strings.HasPrefix(m.Name, "Set") && m.Type.NumIn() == 2
		path := strings.HasSuffix(m.Name, "DRReturnPath") // of any length, has a test of its own
		if (getter || setter) && !known[m.Name] && !path {
			t.Errorf("%s is not in the table", m.Name)
		}
		delete(known, m.Name)
	}
	for name := range known {
		t.Errorf("%s is missing", name)
	}
}

// checkField sets and gets one field in the midst of zeros, ones and noise. Nothing
// but its own bits may change, and what does not fit is cut.
func checkField(t *testing.T, attr reflect.Type, f fieldSpec) {
	rng := rand.New(rand.NewPCG(uint64(f.bit), uint64(f.width)))
	bytes := func(n int, fill func() byte) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = fill()
		}
		return b
	}
	fills := []func() byte{
		func() byte { return 0 }, func() byte { return 0xff }, func() byte { return 0xa5 }, func() byte { return byte(rng.Uint32()) },
	}
	for _, around := range fills {
		for _, value := range fills {
			x := reflect.New(attr)
			raw := x.Elem().Slice(0, attr.Len()).Bytes()
			copy(raw, bytes(len(raw), around))
			want := append([]byte(nil), raw...)

			getter := x.MethodByName(f.name)
			if !getter.IsValid() {
				return // reported by checkMethods
			}
			typ := getter.Type().Out(0)
			v := bytes(int(typ.Size()), value)
			if typ.Kind() == reflect.Bool {
				v = low([]byte{v[0] & 1}, 1)
			}
			writeBits(want, f.bit, f.width, low(v, max(len(v), (f.width+7)/8)))
			if setter := x.MethodByName("Set" + f.name); f.readOnly {
				copy(raw, want)
			} else if setter.IsValid() {
				setter.Call([]reflect.Value{fromBytes(v, typ)})
			}
			if string(raw) != string(want) {
				t.Fatalf("Set%s(%x):\n got %x\nwant %x", f.name, v, raw, want)
			}
			got := toBytes(getter.Call(nil)[0])
			if wantValue := low(readBits(want, f.bit, f.width), len(got)); string(got) != string(wantValue) {
				t.Fatalf("%s() = %x, want %x in %x", f.name, got, wantValue, raw)
			}
		}
	}
}
