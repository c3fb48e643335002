// Package mad holds what every management datagram has in common: the 256-byte
// packet and its header (IBA 13.4), the header of subnet-management packets
// (IBA 14.2.1), the addresses of InfiniBand, and Datagram, the unit in which
// ports move packets.
//
// Everything here is a value without I/O, clock or log. The attributes carried
// in a packet live in mad/smp (subnet management), mad/sarec (subnet
// administration) and mad/pma (performance management).
package mad
