package ibsim

import (
	"encoding/binary"
	"testing"

	"ibsm/mad"
)

// TestTableLength: a table of a client that leaves the RMPP header to the kernel, as OpenSM does,
// arrives with its length: without it a record of zeroes would follow another.
func TestTableLength(t *testing.T) {
	for length, want := range map[int]int{24 + 32 + 2*16: 24 + 32 + 2*16, 24 + 32: 24 + 32,
		mad.PacketSize: mad.PacketSize, 30: mad.PacketSize} {
		var d mad.Datagram
		d.LID = 5
		d.Packet.SetHeader(mad.ClassSA, mad.MethodGetTableResp, 0x13, 0)
		var sent, delivered [frameSize]byte
		encodeFrame(&sent, &d)
		binary.BigEndian.PutUint64(sent[24:], uint64(length))
		if err := decodeFromClient(&d, sent[:]); err != nil {
			t.Fatal(err)
		}
		encodeToClient(&delivered, &d, 7)
		if got := binary.BigEndian.Uint64(delivered[24:]); got != uint64(want) {
			t.Errorf("a table of %d bytes arrives with %d, want %d", length, got, want)
		}
	}
}
