// Package capture records the packets that a subnet manager exchanges with devices, without keys, in
// a file that Wireshark opens, and reads such files again. Package sim/playback makes devices of one.
//
// A Recorder stands between a manager and its ports. While nothing is recorded it costs one atomic load
// for each batch of packets. A Recording takes:
//
//   - all packets of subnet management, sent and received, traps too;
//   - performance management and congestion control: requests to devices, and their responses.
//
// It does not take packets of subnet administration and of the mirror between managers: they are of
// hosts and managers, not of devices. Nor does it take requests that the host's kernel returns as
// unanswered, as they were on no wire then.
//
// The file is pcapng (draft-ietf-opsawg-pcapng), compressed by gzip:
//
//   - a section header block, whose first comment is Format, in words what the file holds and does not
//     hold follows, and "application" is the program and its version;
//   - one interface of LINKTYPE_ERF (197): the time is in nanoseconds since the start of the recording, and
//     if_tsoffset is that start;
//   - a packet block for each packet, with its direction in epb_flags: an ERF record of type InfiniBand (21), without
//     a time of its own, and the packet from the Local Route Header on. LRH, BTH and DETH are made up from the
//     address of the datagram: what a port does not know, its own LID and GID, is 0, and so are both CRCs;
//   - an interface statistics block at the end, whose comment says why the recording ended. A file
//     without one is cut off.
//
// Keys are never in a file: M_Keys, in headers, PortInfo and trap 256; SM_Keys; CC_Keys, in headers and
// CongestionKeyInfo; Q_Keys of trap 258. Where there was a key there is BlankKey, where there was none there
// is 0. P_Keys, GUIDs and node descriptions stay. Vendor attributes are as they were on the wire.
//
// LINKTYPE_INFINIBAND (247) would do without ERF, but Wireshark 4.0 does not know it.
//
// Read takes pcap, too: pcap of ERF records is what ibdump writes.
package capture
