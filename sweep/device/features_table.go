package device

// FeatureRow says when a feature is asked for, what a failure means, and what is remembered. docs/devices.md has the same rows.
type FeatureRow struct{ What, Asked, Failure, Remembered string }

// FeatureTable are all requests that OpenSM 3.3.23 does not send to every device.
var FeatureTable = []FeatureRow{
	{
		"Get(PortInfo) with bit 31 of the modifier",
		"after a Get without it, where the device has IsExtendedSpeedsSupported and a port with a link shows no extended speed; of a new device one port first",
		"any error, or no answer: the answer without the bit holds",
		"of the device until it restarts or leaves; a failure also of its model, as long as no device of it accepts the bit",
	},
	{
		"Set(PortInfo) with bit 31 of the modifier",
		"where the device has IsExtendedSpeedsSupported",
		"any error but busy, or no answer: the Set is sent without the bit, and the bit failed if that one is accepted",
		"the same",
	},
	{
		"Set(SLtoVLMappingTable) for several ports of a switch",
		"where bit 0 of SwitchInfo.OptimizedSLtoVLMappingProgramming is set, unless `use_optimized_slvl` is chosen as FALSE",
		"any error, no answer, or another value in the table that is read back: the tables are sent one by one in the same sweep",
		"the same; after a table was read back as wanted, none is read back any more",
	},
	{
		"Get(GeneralInfo)",
		"of switches with the vendor ID of NVIDIA (0x0002c9), Bull (0x00119f) or Voltaire (0x0008f1)",
		"unsupported: the switch has no adaptive routing and no private forwarding tables. Another error, or no answer: not known, the walk asks again",
		"two walks without an answer: the same; an answer as long as the device is in the subnet",
	},
	{
		"Get(AdaptiveRoutingInfo)",
		"where GeneralInfo says that the switch has adaptive routing",
		"unsupported: it has none. Another error, or no answer: not known, every walk asks again",
		"an answer as long as the device is in the subnet; whether adaptive routing is on is asked by every walk",
	},
	{
		"Get(PrivateLFTInfo)",
		"where GeneralInfo says that the switch has private forwarding tables",
		"unsupported: it has none. Another error, or no answer: not known, every walk asks again",
		"an answer as long as the device is in the subnet; whether they are on is asked by every walk",
	},
	{
		"Get and Set(ExtendedPortInfo)",
		"with fdr10 other than 0, of devices with one of these vendor IDs; Sets to ports that have answered that they have FDR10",
		"a Get: the port has no FDR10. A Set: the port keeps its setting, and in two sweeps in a row it is sent again",
		"a Set that failed: until the device restarts, settings change, or a person asks for a heavy sweep",
	},
}
