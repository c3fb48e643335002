package perf

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/pma"
	"ibsm/sim/ibsim"
)

// TestIbsim: on Debian's ibsim, which counts by itself, a machine and Debian's perfquery read
// the same of every port. Debian's OpenSM brings the fabric up.
func TestIbsim(t *testing.T) {
	madtest.Need(t, "perfquery")
	sock := madtest.StartIbsim(t, "../testdata/fabrics/captured.net")
	if out, err := madtest.Peer(t, t.TempDir(), sock, "H1", "opensm", "-o", "-f",
		"/dev/null").CombinedOutput(); err != nil {
		t.Fatalf("opensm: %v\n%s", err, out)
	}
	port, err := ibsim.Dial(t.Context(), ibsim.Config{SockName: sock, Node: "H1"})
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	// H1 and H2 on SW1, H3 and H4 on SW2, as the LIDs that OpenSM gave them say.
	var list []Port
	lids := map[mad.LID]int{}
	for lid := mad.LID(1); lid <= 6; lid++ {
		ports := 1
		if out, _ := madtest.Peer(t, t.TempDir(), sock, "H2", "smpquery", "nodeinfo",
			strconv.Itoa(int(lid))).Output(); bytes.Contains(out, []byte("Switch")) {
			ports = 8
		}
		lids[lid] = ports
		for num := range ports {
			list = append(list, Port{Key{mad.GUID(lid), uint8(num + 1)}, mad.Addr{LID: lid, QPN: 1}, 0})
		}
	}
	for range 20 { // traffic to be counted
		madtest.Peer(t, t.TempDir(), sock, "H2", "smpquery", "-L", "nodedesc", "6").Run()
	}
	im, m := sweepOnce(t, port, list)
	if im.Answered != 20 || m.Stats.Unanswered > 0 {
		t.Errorf("%d of 20 ports, %+v", im.Answered, m.Stats)
	}
	port.Close()
	total := uint64(0)
	for lid, ports := range lids {
		for num := 1; num <= ports; num++ {
			got, has, _, ok := m.Values(Key{mad.GUID(lid), uint8(num)})
			if !ok || !has.Has(pma.PortMulticastXmitPkts) || !has.Has(pma.SymbolErrorCounter) ||
				!has.Has(pma.PortXmitWait) {
				t.Errorf("LID %v port %d: known %#x", lid, num, has)
			}
			total += got[pma.PortXmitPkts]
			compareWithPerfquery(t, sock, lid, num, got)
		}
	}
	if total == 0 {
		t.Error("nothing was counted")
	}
}

// sweepOnce has a machine read all ports through a port of ibsim.
func sweepOnce(t *testing.T, port *ibsim.Port, list []Port) (*Image, *Machine) {
	t.Helper()
	start := time.Now()
	m := New(Settings{Window: 4, QueryInfo: true})
	m.Step(0, &Ports{list})
	out := m.Step(0, &SweepNow{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	context.AfterFunc(ctx, func() { port.Close() })
	for ds := make([]mad.Datagram, 1); ; {
		for i := range out.Asks {
			ds[0] = mad.Datagram{Addr: out.Asks[i].To, Packet: out.Asks[i].Packet}
			ds[0].Packet.SetTID(mad.TID(out.Asks[i].Tag>>32&0xffff<<16&0xffffffff) | mad.TID(out.Asks[i].Tag&0xffff))
			if _, err := port.Send(ds); err != nil {
				t.Fatal(err)
			}
		}
		if out.Image != nil {
			return out.Image, m
		}
		if _, err := port.Recv(ds); err != nil {
			t.Fatal(err)
		}
		tid := uint64(ds[0].Packet.TID())
		tag := tid>>16&0xffff<<32 | tid&0xffff
		if ds[0].TimedOut {
			out = m.Step(time.Since(start), &Unanswered{tag})
		} else {
			out = m.Step(time.Since(start), &Answered{tag, &ds[0].Packet})
		}
	}
}

var printedCounter = regexp.MustCompile(`(?m)^([A-Za-z0-9]+):\.+([0-9]+)$`)

// compareWithPerfquery: packets of the comparison itself are counted, too, so that a counter may
// have risen since. ibsim fills only the first 64 octets of an attribute.
func compareWithPerfquery(t *testing.T, sock string, lid mad.LID, num int, got [pma.NumCounters]uint64) {
	t.Helper()
	for _, option := range []string{"-x", "-e"} {
		out, err := madtest.Peer(t, t.TempDir(), sock, "H2", "perfquery", option, strconv.Itoa(int(lid)),
			strconv.Itoa(num)).Output()
		if err != nil {
			t.Errorf("perfquery: %v", err)
		}
		seen := 0
		for _, row := range printedCounter.FindAllSubmatch(out, -1) {
			value, _ := strconv.ParseUint(string(row[2]), 10, 64)
			for c := range pma.AllCounters.All {
				if c.String() != string(row[1]) || option == "-e" && pma.ExtendedCounters.Has(c) ||
					c == pma.QP1Dropped {
					continue
				}
				seen++
				if value < got[c] || value > got[c]+100000 || !pma.DataCounters.Has(c) && value != got[c] {
					t.Errorf("LID %v port %d: %v is %d, perfquery %s prints %d", lid, num, c, got[c], option, value)
				}
			}
		}
		if seen < 8 {
			t.Errorf("LID %v port %d: perfquery %s prints %d counters", lid, num, option, seen)
		}
	}
}
