// Package congestioncontrol writes the settings of congestion control (IBA A10) to switches and adapters.
//
// Machine is a state machine: events go in, requests come out, and there is no clock and no I/O. It
// has a record of what each device holds, by port GUID. After a heavy sweep, and when settings
// change, each device gets what differs from that record: one request at a time, and a bounded
// number to all devices together.
//
//	m := congestion.New(settings)
//	out := m.Step(&congestion.Ports{List: congestion.PortsOf(v)})
//	for i := range out.Asks { ... } // send; later Answered or Unanswered with its Tag
//	if out.Done != nil { ... }      // all devices have what they accept
//
// What a device holds becomes unknown when it has rebooted (Restarted) and when another manager
// was master (Forget). A device that refuses the class, or did not answer after several sweeps, is
// left alone until it has rebooted.
//
// The record is not that of sweep/device: its blocks are read and written by SMPs while a subnet is
// programmed, and decide when links become ACTIVE. Congestion control waits until they are.
package congestioncontrol
