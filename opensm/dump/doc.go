// Package dump writes what OpenSM leaves in its dump directory, in OpenSM's formats, two of
// which its routing engine "file" reads:
//
//	opensm-lfts.dump        forwarding tables, for the engine
//	opensm-lid-matrix.dump  hops by port, for the engine
//	opensm.fdbs             forwarding tables, judged
//	opensm.mcfdbs           multicast tables
//	opensm-subnet.lst       cables
//	opensm-sl2vl.dump       SLtoVLMappingTables, where they matter
//	opensm-sa.dump          registrations
//
// The table of ports that OpenSM prints with VERBOSE is here, too.
//
// OpenSM writes nodes in no order that anybody could rely on; here they come by
// GUID. What is written is otherwise the same to the byte, odd as some of it is:
// scripts, ibdmchk and ibtopodiff read it.
package dump
