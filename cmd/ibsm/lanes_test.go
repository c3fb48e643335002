package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/ibsim"
)

// TestLanes: with qos, saquery prints of each pair of ports the SLtoVLMappingTable that
// smpquery reads from the device: those that OpenSM has written, although another manager wrote
// others in between.
func TestLanes(t *testing.T) {
	t.Parallel()
	s := startIbsim(t, example("net.2sw2path4hca").file(t))
	s.conf = "qos TRUE\n"
	theirs := opensm.bringUp(s)
	lid := func(name string) string { return namesToAsk(s).Replace(name) }
	sw, host := lid("$S"), lid("$L")
	written := s.mustShowLanes("OpenSM", sw, host)
	theirs.stop()
	s.setLanes(sw, smp.SLtoVLMod(1, 2), 0x10)
	s.setLanes(sw, smp.SLtoVLMod(2, 1), 0x20)
	s.setLanes(host, 0, 0x30)
	ours := ibsm.bringUp(s)
	if now := s.mustShowLanes("ibsm", sw, host); now != written {
		t.Errorf("the tables are\n%s\nOpenSM had written\n%s", now, written)
	}
	ours.stop()
	s.conf = ""
	ibsm.bringUp(s)
	if r := s.run(s.net.witnessHost(), "saquery", "SL2VL", sw+"/1/2"); !strings.Contains(r.stdout,
		"VL:"+strings.Repeat(" 0|", 16)) {
		t.Errorf("without qos saquery prints\n%s%s", r.stdout, r.stderr)
	}
}

var (
	laneRow    = regexp.MustCompile(`in\s+(\d+), out\s+(\d+): \|(.*)`)
	laneRecord = regexp.MustCompile(`InPort\.*(\d+)\s+OutPort\.*(\d+)\s+SL:.*\s+VL:(.*)`)
)

// mustShowLanes compares the tables of a switch and a host, and returns them.
func (s *simulator) mustShowLanes(who, sw, host string) (tables string) {
	s.t.Helper()
	asks := s.net.witnessHost()
	compare := func(address, query string, port ...string) {
		for _, row := range laneRow.FindAllStringSubmatch(
			s.run(asks, append([]string{"smpquery", "sl2vl", address}, port...)...).stdout, -1) {
			if number(row[1])%3 != 1 && query == "" {
				continue // few are enough
			}
			tables += row[0] + "\n"
			r := s.run(asks, "saquery", "SL2VL", fmt.Sprintf("%s/%s/%s", address, row[1], row[2]))
			if rec := laneRecord.FindStringSubmatch(r.stdout); rec == nil || rec[1] != row[1] || rec[2] != row[2] ||
				rec[3] != row[3] {
				s.t.Errorf("%s: smpquery prints\n%s\nand saquery\n%s%s", who, row[0], r.stdout, r.stderr)
			}
		}
	}
	compare(sw, "", "1")
	compare(sw, "", "2")
	compare(host, "all")
	if strings.Count(tables, "\n") < 6 {
		s.t.Fatalf("%s: smpquery prints only\n%s", who, tables)
	}
	return tables
}

// setLanes writes a table, as another manager would.
func (s *simulator) setLanes(lid string, mod uint32, fill uint8) {
	s.t.Helper()
	p, err := ibsim.Dial(s.t.Context(), ibsim.Config{SockName: s.socket, Node: s.net.witnessHost()})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Close()
	d := []mad.Datagram{{Addr: mad.Addr{LID: mad.LID(number(lid))}}}
	d[0].Packet.SetHeader(mad.ClassLIDRouted, mad.MethodSet, smp.AttrSLtoVLMappingTable, mod)
	d[0].Packet.SetTID(7)
	for i := range 8 {
		d[0].Packet.Data()[i] = fill | uint8(i)
	}
	if _, err = p.Send(d); err == nil {
		_, err = p.Recv(d)
	}
	if err != nil || d[0].TimedOut || d[0].Packet.Status() != mad.StatusOK {
		s.t.Fatalf("Set of a table at LID %s: %v, %v", lid, err, d[0].Packet.Status())
	}
}
