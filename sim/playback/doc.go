// Package playback makes devices of a capture: a simulated fabric whose agents answer as those did from which
// the packets were recorded.
//
// Of each attribute of each device, by modifier and where that matters by port, a tape holds what was asked and
// what came back, in the order of the recording. A request finds its response there:
//
//   - A Get has the next recorded response, as long as no recorded Set lies between. Where there is none any more
//     the last response is repeated, and after a Set its response: that is the value then.
//   - A Set has the response to the next recorded Set of the same data, or to an earlier one, and the
//     tape goes on from there. If no
//     recorded Set of the attribute has succeeded, or without Sets no Get, any Set has the response to the first
//     one: the device refuses them, or does not answer.
//   - A response comes as long after its request as in the recording. A request that had no response has none.
//
// What was never asked, and what comes after a Set that succeeds with other data than recorded ones, is answered by the
// agents of package fabric, from what is known of the device: NodeInfo, PortInfo, SwitchInfo, and tables that
// were read. Counts says how often. These agents take recorded Sets, too, and so forward packets.
//
// Devices are distinguished by NodeGUID, and a cable is known where NodeInfo was read across it. A device that did not
// answer NodeInfo is an adapter with one port. Traps are not played back. Keys are not in a capture: where a port had
// an M_Key that the manager has not set here, it shows capture.BlankKey.
package playback
