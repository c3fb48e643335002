package ibsim

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"ibsm/mad"
)

// unhex reads rows of 16 bytes, "offset: hex", into n bytes; rows left out are 0.
func unhex(t testing.TB, n int, rows string) []byte {
	t.Helper()
	b := make([]byte, n)
	for row := range strings.Lines(rows) {
		at, digits, ok := strings.Cut(strings.TrimSpace(row), ":")
		if !ok {
			continue
		}
		offset, err := hex.DecodeString("0" + at)
		if err != nil {
			t.Fatal(err)
		}
		line, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(digits), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		copy(b[binary.BigEndian.Uint16(offset):], line)
	}
	return b
}

// littleEndian skips on hosts of the other order: the captures are from x86-64.
func littleEndian(t testing.TB) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the captured bytes are of a little-endian host")
	}
}

// capturedFrame was captured from smpquery -D nodeinfo 0,1.
const capturedFrame = `
	000: ffff0000 ffff0000 00000000 00000000
	010: 00000000 02000000 00000000 00000100
	020: 01810101 00000001 00000001 483e5a29
	030: 00110000 00000000 00000000 00000000
	040: ffffffff 00000000 00000000 00000000
	0a0: 00010000 00000000 00000000 00000000`

const capturedConnect = `
	000: efbeadde 00000000 01000000 2c000000
	010: c5440000 00000000 00000000 48320000`

func TestEncodeFrame(t *testing.T) {
	littleEndian(t)
	want := unhex(t, frameSize, capturedFrame)
	want[20] = 0 // padding that smpquery leaves as it was
	d := mad.Datagram{Addr: mad.Addr{LID: mad.PermissiveLID}}
	r := mad.MakeRoute(1)
	d.Packet.SetDirected(&r, mad.MethodGet, 0x11, 0)
	d.Packet.SetTID(0x00000001483e5a29)
	var got [frameSize]byte
	encodeFrame(&got, &d)
	if string(got[:]) != string(want) {
		t.Errorf("got\n%swant\n%s", hex.Dump(got[:]), hex.Dump(want))
	}
	d.Addr = mad.Addr{LID: 0x1234, QPN: 1}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, 0x35, 0)
	encodeFrame(&got, &d)
	if h := hex.EncodeToString(got[:20]); h != "12340000"+"00000000"+"00000001"+"00000001"+"00000000" {
		t.Errorf("by LID: %s", h)
	}
	// A table of 16 bytes: umad reports 56 + 16.
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGetTableResp, 0x13, 0)
	copy(d.Packet[24:36], []byte{1, 1, 7, 0, 0, 0, 0, 1, 0, 0, 0, 36})
	encodeFrame(&got, &d)
	if h := hex.EncodeToString(got[24:32]); h != "0000000000000048" {
		t.Errorf("a table's length: %s", h)
	}
}

func TestDecodeFrame(t *testing.T) {
	littleEndian(t)
	b := unhex(t, frameSize, capturedFrame)
	copy(b[4:], []byte{0x12, 0x34, 0, 0})
	b[15] = 1
	d := mad.Datagram{TimedOut: true}
	if err := decodeFrame(&d, b); err != nil {
		t.Fatal(err)
	}
	if d.LID != 0x1234 || d.QPN != 1 || d.TimedOut || d.Packet.TID() != 0x1483e5a29 || d.Packet.InitialPath()[1] != 1 {
		t.Errorf("%+v", d)
	}
	b[19] = 110
	if err := decodeFrame(&d, b); err != nil || !d.TimedOut {
		t.Errorf("status 110: timed out %v, %v", d.TimedOut, err)
	}
	for n := range frameSize + 2 {
		if err := decodeFrame(&d, make([]byte, n)); err == nil {
			t.Fatalf("%d zero bytes are no datagram", n)
		}
	}
	for _, length := range []uint64{0, 23, 257, 1 << 63} {
		binary.BigEndian.PutUint64(b[24:], length)
		if err := decodeFrame(&d, b); err == nil {
			t.Errorf("a MAD of %d bytes was taken", length)
		}
	}
	binary.BigEndian.PutUint64(b[24:], 24)
	if err := decodeFrame(&d, b); err != nil || d.Packet.InitialPath()[1] != 0 {
		t.Errorf("the header alone: %v, path %v", err, d.Packet.InitialPath()[1])
	}
}

func TestControl(t *testing.T) {
	littleEndian(t)
	want := unhex(t, controlSize, capturedConnect)
	c := control{kind: controlConnect}
	info := clientInfo{id: 0x44c5, node: "H2"}
	info.encode(&c)
	if got := c.encode(); string(got[:]) != string(want) {
		t.Errorf("got\n%swant\n%s", hex.Dump(got[:]), hex.Dump(want))
	}
	reply := want
	reply[16], reply[17] = 1, 0
	if err := c.decode(reply); err != nil || c.kind != controlConnect {
		t.Fatal(err)
	}
	if info.decode(&c); info.id != 1 || info.node != "H2" {
		t.Errorf("%+v", info)
	}
	for n := range reply {
		if c.decode(reply[:n]) == nil {
			t.Fatalf("%d bytes are no message", n)
		}
	}
	reply[0] = 0
	if c.decode(reply) == nil {
		t.Error("a message without magic was taken")
	}
}

func TestEnvConfig(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want Config
		at   string // of the control socket, "" for an error
	}{
		{"nothing", nil, Config{}, "@sim:ctl"},
		{"local", map[string]string{"IBSIM_SOCKNAME": "a", "SIM_HOST": "H1"}, Config{SockName: "a", Node: "H1"},
			"@a:ctl"},
		{"remote", map[string]string{"IBSIM_SERVER_NAME": "h"}, Config{Server: "h"}, "h:7070"},
		{"remote port", map[string]string{"IBSIM_SERVER_NAME": "h", "IBSIM_SERVER_PORT": "8"},
			Config{Server: "h", Port: 8}, "h:8"},
		{"bad port", map[string]string{"IBSIM_SERVER_PORT": "x"}, Config{}, ""},
		{"port without data ports", map[string]string{"IBSIM_SERVER_PORT": "65530"}, Config{}, ""},
		{"long node", map[string]string{"SIM_HOST": strings.Repeat("H", 32)}, Config{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := EnvConfig(func(k string) string { return tt.env[k] })
			if tt.at == "" {
				if err == nil {
					t.Fatal("no error")
				}
				return
			}
			if err != nil || c != tt.want || c.String() != tt.at {
				t.Errorf("%+v at %s, %v", c, c, err)
			}
		})
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(unhex(f, frameSize, capturedFrame))
	f.Add(make([]byte, frameSize-1))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d, again mad.Datagram
		if decodeFrame(&d, b) != nil {
			return
		}
		var sent [frameSize]byte
		encodeFrame(&sent, &d)
		clear(d.Packet[binary.BigEndian.Uint64(sent[24:]):]) // a segment ends where its RMPP header says so
		// What is sent to the source comes back from there, addresses swapped.
		copy(sent[4:8], sent[0:4])
		copy(sent[12:16], sent[8:12])
		if err := decodeFrame(&again, sent[:]); err != nil || again != d {
			t.Fatalf("%v\n%+v\n%+v", err, d, again)
		}
	})
}

func FuzzControl(f *testing.F) {
	f.Add(unhex(f, controlSize, capturedConnect))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c, again control
		if c.decode(b) != nil {
			return
		}
		var info clientInfo
		info.decode(&c)
		sent := c.encode()
		if err := again.decode(sent[:]); err != nil || again != c {
			t.Fatalf("%v\n%+v\n%+v", err, c, again)
		}
	})
}
