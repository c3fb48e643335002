package smp

import (
	"reflect"
	"testing"

	"ibsm/mad/madtest"
)

// fieldTables are the architecture's: field, first bit (the most significant
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
		StateChangeEnable 24 8
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
	{reflect.TypeFor[VirtualizationInfo](), `
		VPortCap 0 16
		VPortIndexTop 16 16
		VirtualizationEnable 32 1
		ClientReregister 33 1
		VPortStateChange 34 1
		VirtualizationRevision 48 8
		CapabilityMask 56 8`},
	{reflect.TypeFor[VPortInfo](), `
		VPortState 0 4
		ClientReregister 4 1
		LIDRequired 5 1
		GUIDCap 8 8
		CapabilityMask 16 16
		P_KeyViolations 32 16
		Q_KeyViolations 48 16
		VPortLID 64 16
		LIDByVPortIndex 80 16
		PortGUID 96 64
		PortProfile 160 64`},
	{reflect.TypeFor[VNodeInfo](), `
		PartitionCap 0 16
		LocalPortNum 16 8
		NumPorts 24 8
		VNodeGUID 32 64`},
	{reflect.TypeFor[PrivateLFTInfo](), `
		ActiveMode 24 8`},
	{reflect.TypeFor[ARInfo](), `
		NoFallback 7 1
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

func TestFields(t *testing.T) {
	for _, tt := range fieldTables {
		t.Run(tt.attr.Name(), func(t *testing.T) {
			madtest.CheckFields(t, tt.attr, madtest.Fields(t, tt.table))
		})
	}
}
