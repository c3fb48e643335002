package file

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/routing"
)

// What OpenSM 3.3.23 and ibroute wrote on ibsim's net.2sw2path4hca.
const (
	opensmLFTs = `Unicast lids [0-8] of switch Lid 2 guid 0x0000000000200000 ('Switch1'):
0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'Hca1'
0x0002 000 # Switch portguid 0x0000000000200000: 'Switch1'
0x0003 003 # Switch portguid 0x0000000000200001: 'Switch2'
0x0005 003 # Channel Adapter portguid 0x0000000000100004: 'Hca2'
0x0006 003 # unknown node and type
8 lids dumped
Unicast lids [0-8] of switch Lid 3 guid 0x0000000000200001 ('Switch2'):
0x0001 003 # Channel Adapter portguid 0x0000000000100001: 'Hca1'
8 lids dumped
`
	ibrouteLFTs = `Unicast lids [0x0-0x8] of switch DR path slid 0; dlid 0; 0,1 guid 0x0000000000200000 (Switch1):
  Lid  Out   Destination
       Port     Info 
0x0001 001 : (Channel Adapter portguid 0x0000000000100001: 'Hca1')
0x0002 000 : (Switch portguid 0x0000000000200000: 'Switch1')
0x0003 003 : (Switch portguid 0x0000000000200001: 'Switch2')
0x0005 003 : (Channel Adapter portguid 0x0000000000100004: 'Hca2')
0x0006 003 : (unknown node and type)
6 valid lids dumped 
`
	opensmMatrix = `Switch: guid 0x0000000000200000
0x0002: 00 ff ff 02 ff 02 ff ff ff # portguid 0x0000000000200000
0x0003: 01 ff ff 01 ff 01 ff ff ff # portguid 0x0000000000200001
Switch: guid 0x0000000000200001
0x0002: 01 ff ff 01 ff 01 ff ff ff # portguid 0x0000000000200000
0x0003: 00 ff ff 02 ff 02 ff ff ff # portguid 0x0000000000200001
`
)

func TestReadLFTs(t *testing.T) {
	for name, text := range map[string]string{"OpenSM": opensmLFTs, "ibroute": ibrouteLFTs} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadLFTs("lfts", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			first := got.Switches[0]
			want := slices.Repeat([]uint8{routing.NoPath}, routing.BlockSize)
			want[1], want[2], want[3], want[5], want[6] = 1, 0, 3, 3, 3
			if first.GUID != 0x200000 || first.At.Line != 1 || !slices.Equal(first.Port, want) {
				t.Errorf("first switch: %+v", first)
			}
			if got := len(got.Switches); got != strings.Count(text, "Unicast lids") {
				t.Errorf("%d switches", got)
			}
			owners := map[mad.LID]mad.GUID{1: 0x100001, 2: 0x200000, 3: 0x200001, 5: 0x100004}
			if !maps.Equal(got.Owner, owners) {
				t.Errorf("owners %v, want %v", got.Owner, owners)
			}
		})
	}
}

func TestReadHops(t *testing.T) {
	got, err := ReadHops("matrix", strings.NewReader(opensmMatrix))
	if err != nil {
		t.Fatal(err)
	}
	second := &got.Switches[1]
	if len(got.Switches) != 2 || second.GUID != 0x200001 || second.Ports != 9 ||
		!slices.Equal(second.LIDs, []mad.LID{2, 3}) {
		t.Fatalf("%+v", got.Switches)
	}
	if hops := second.By(0); !slices.Equal(hops, []uint8{1, 255, 255, 1, 255, 1, 255, 255, 255}) {
		t.Errorf("hops to LID 2: %v", hops)
	}
	if hops := second.By(1); hops[0] != 0 || hops[3] != 2 {
		t.Errorf("hops to LID 3: %v", hops)
	}
	if owners := (map[mad.LID]mad.GUID{2: 0x200000, 3: 0x200001}); !maps.Equal(got.Owner, owners) {
		t.Errorf("owners %v, want %v", got.Owner, owners)
	}
}

// TestErrors: each is reported with its place, and nothing is taken from the file.
func TestErrors(t *testing.T) {
	const heading, matrixHeading = "Unicast lids [0-8] of switch Lid 2 guid 0x0000000000200000 ('S'):\n",
		"Switch: guid 0x0000000000200000\n"
	lfts := func(text string) error {
		_, err := ReadLFTs("f", strings.NewReader(text))
		return err
	}
	matrix := func(text string) error {
		_, err := ReadHops("f", strings.NewReader(text))
		return err
	}
	for _, c := range []struct {
		name string
		read func(string) error
		text string
		want []string // beginnings of the errors
	}{
		{"route without a switch", lfts, "0x0001 001\n", []string{"f:1:1: a route before"}},
		{"no GUID", lfts, "Unicast lids [0-8] of switch Lid 2 ('S'):\n", []string{"f:1:1: no GUID"}},
		{"switch twice", lfts, heading + heading,
			[]string{"f:2:36: switch 0x0000000000200000 is already on line 1"}},
		{"LID 0", lfts, heading + "0x0000 001\n", []string{`f:2:1: LID "0x0000"`}},
		{"multicast LID", lfts, heading + "0xc000 001\n", []string{`f:2:1: LID "0xc000"`}},
		{"LID of five digits", lfts, heading + "0x10001 001\n", []string{`f:2:1: LID "0x10001"`}},
		{"no port", lfts, heading + "0x0001\n", []string{"f:2:1: LID 1 has no port"}},
		{"port too large", lfts, heading + "0x0001 256\n", []string{`f:2:8: port "256"`}},
		{"two ports of one LID", lfts, heading + "0x0001 001\n0x0001 002\n",
			[]string{"f:3:8: LID 1 leaves by port 2 here, but by port 1 above"}},
		{"two owners of one LID", lfts, heading + "0x0001 001 # CA portguid 0x0000000000000001: 'a'\n" +
			strings.Replace(heading, "20", "30", 1) + "0x0001 001 # CA portguid 0x0000000000000002: 'b'\n",
			[]string{"f:4:17: LID 1 belongs to port"}},
		{"bad owner", lfts, heading + "0x0001 001 # CA portguid 0x12z4: 'a'\n", []string{`f:2:17: portguid "0x12z4"`}},
		{"multicast tables", lfts, "Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x1 (S):\n",
			[]string{"f:1:1: multicast tables"}},
		{"other text", lfts, heading + "hello\n", []string{"f:2:1: expected"}},
		{"all errors", lfts, heading + "hello\n\n# a comment\n0x0001 1000\n", []string{"f:2:1: ", "f:5:8: "}},
		{"the file ends in a line", lfts, heading + "0x0001 00", []string{"f:2:1: the file ends within this line"}},
		{"a table without its end", lfts, heading + "8 lids dumped\n" + strings.Replace(heading, "20", "30", 1),
			[]string{"f:3: the last table has no line \"lids dumped\" at its end"}},
		{"the last switch lacks itself", matrix,
			strings.TrimSuffix(opensmMatrix, opensmMatrix[strings.LastIndex(opensmMatrix, "0x0003:"):]),
			[]string{"f:4: the last switch has no hops to itself"}},
		{"long line", lfts, heading + strings.Repeat("x", maxLine+1), []string{"f:2: a line of more than"}},
		{"too many errors", lfts, strings.Repeat("x\n", 100),
			slices.Concat(slices.Repeat([]string{"f:"}, maxErrors), []string{"f: the file was not read beyond"})},
		{"hops without a switch", matrix, "0x0001: 00\n", []string{"f:1:1: hops before"}},
		{"no hops", matrix, matrixHeading + "0x0001:\n", []string{"f:2:1: no hops"}},
		{"no colon", matrix, matrixHeading + "0x0001 01\n", []string{"f:2:1: LID"}},
		{"row too short", matrix, matrixHeading + "0x0001: 00 01\n0x0002: 00\n",
			[]string{"f:3:1: hops of 1 ports, but 2 on the line before"}},
		{"row too long", matrix, matrixHeading + "0x0001:" + strings.Repeat(" 01", 257) + "\n",
			[]string{"f:2:1: hops of 257 ports"}},
		{"bad hops", matrix, matrixHeading + "0x0001: 00 100\n", []string{`f:2:12: hops "100"`}},
		{"LID twice", matrix, matrixHeading + "0x0001: 00\n0x0001: 00\n",
			[]string{"f:3:1: LID 1 is already on line 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var errs diag.List
			if err := c.read(c.text); !errors.As(err, &errs) || len(errs) != len(c.want) {
				t.Fatalf("got %v, want %d errors", err, len(c.want))
			}
			for i, e := range errs {
				if !strings.HasPrefix(e.Error(), c.want[i]) {
					t.Errorf("got %q, want %q...", e, c.want[i])
				}
			}
		})
	}
}

func FuzzReadLFTs(f *testing.F) {
	for _, seed := range []string{opensmLFTs, ibrouteLFTs, "0x0001 001\n", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ReadLFTs("f", strings.NewReader(string(text)))
		if err != nil {
			return
		}
		for _, s := range got.Switches {
			if s.GUID == 0 || len(s.Port)%routing.BlockSize != 0 {
				t.Errorf("switch %v with %d entries", s.GUID, len(s.Port))
			}
		}
	})
}

func FuzzReadHops(f *testing.F) {
	for _, seed := range []string{opensmMatrix, "0x0001: 00\n", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ReadHops("f", strings.NewReader(string(text)))
		if err != nil {
			return
		}
		for i := range got.Switches {
			for place := range got.Switches[i].LIDs {
				if row := got.Switches[i].By(place); len(row) != got.Switches[i].Ports {
					t.Errorf("%d hops of %d ports", len(row), got.Switches[i].Ports)
				}
			}
		}
	})
}
