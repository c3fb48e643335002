// Package dump writes what OpenSM leaves in its dump directory, in OpenSM's formats,
// and reads the files that its routing engine "file" is fed with:
//
//	opensm-lfts.dump        forwarding tables          written and read
//	opensm-lid-matrix.dump  hops by port               written and read
//	opensm.fdbs             forwarding tables, judged  written
//	opensm.mcfdbs           multicast tables           written
//	opensm-subnet.lst       cables                     written
//	opensm-sa.dump          what is registered         written
//
// The table of ports that OpenSM prints with VERBOSE is here, too.
//
// OpenSM writes nodes in no order that anybody could rely on; here they come by
// GUID. What is written is otherwise the same to the byte, odd as some of it is:
// scripts, ibdmchk and ibtopodiff read it.
package dump
