package sadb

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/registry"
)

// golden is what OpenSM 3.3.23 wrote after hosts had registered with it.
func golden(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/opensm-sa.dump")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// now is when golden was written.
const now = 0x6b01cb61

func noLID(mad.GUID) mad.LID { return 0 }

func written(t testing.TB, s *registry.State, lidOf func(mad.GUID) mad.LID) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, s, lidOf, now); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRead: what the hosts had registered is read.
func TestRead(t *testing.T) {
	reg, found := Read("golden", []byte(golden(t)))
	if len(found) > 0 {
		t.Fatal(found)
	}
	port := func(id mad.GUID) mad.GID { return mad.MakeGID(mad.DefaultPrefix, 0xb83fd20300a00000|id) }
	if n := reg.Counts(); n != (registry.Counts{Groups: 3, Members: 15, Services: 2, Subscriptions: 2, Aliases: 2}) {
		t.Errorf("%+v", n)
	}
	mgid := mad.GID{0: 0xff, 1: 0x15, 3: 0x1b, 15: 8}
	want := registry.Group{MGID: mgid, MLID: 0xc002, PKey: 0xffff, QKey: 0x1234, MTU: mad.MTU4096, Rate: 17,
		FlowLabel: 0x12345, TClass: 7, HopLimit: 9}
	if g, _ := reg.Group(mgid); g != want {
		t.Errorf("group %+v", g)
	}
	broadcast := registry.BroadcastMGID(mad.DefaultPKey, 2)
	want = registry.Group{MGID: broadcast, MLID: 0xc000, PKey: 0xffff, QKey: 0xb1b, MTU: mad.MTU2048, Rate: 3,
		PacketLifeTime: 18, Scope: 2, WellKnown: true}
	if g, _ := reg.Group(broadcast); g != want {
		t.Errorf("broadcast group %+v", g)
	}
	if m, _ := reg.Member(broadcast, port(0x31)); m.JoinState != registry.FullMember|registry.NonMember || !m.Proxy {
		t.Errorf("member %+v", m)
	}
	at := registry.Slot{Port: 0xb83fd20300a00051, Index: 3}
	if reg.AliasAt(at) != 0x79 {
		t.Errorf("alias %v", reg.AliasAt(at))
	}
	key := registry.SubscriptionKey{Subscriber: port(0x21), QPN: 1,
		Filter: registry.Filter{LIDBegin: 3, LIDEnd: 9, Type: 2, Trap: 64, Producer: 0x123456}}
	if d, is := reg.Subscription(key); !is || d != (registry.Destination{Addr: mad.Addr{LID: 8, QPN: 1}}) {
		t.Errorf("subscription %v %t", d, is)
	}
	v, is := reg.Service(registry.ServiceKey{ID: 0x123456789abcdef0, GID: port(0x31), PKey: 0xffff})
	if !is || v.Lease != 3600 || v.Expires != now+3600 || string(v.Name[:7]) != "a bcxy\x00" || v.Key[15] != 16 ||
		v.Data[0] != 1 || v.Data[48] != 0x31 {
		t.Errorf("service %+v", v)
	}
}

// TestWrite: what was read is written as OpenSM wrote it, but for what nobody keeps: the
// creator of a group, the Q_Key of QP1 on a simulator, how long a subscriber takes, blocks
// without aliases, and the order.
func TestWrite(t *testing.T) {
	reg, _ := Read("golden", []byte(golden(t)))
	got := written(t, reg.Freeze(), func(mad.GUID) mad.LID { return 0x10 })
	theirs := strings.NewReplacer("remote_qkey=0x00000000", "remote_qkey=0x80010000", "qpn_resp_time_val=0x113",
		"qpn_resp_time_val=0x100").Replace(golden(t))
	records := func(text string) (lines []string) {
		for line := range strings.Lines(text) {
			empty := strings.Contains(line, guidInfo) && !strings.Contains(line, "block_num=0x0")
			if line != "\n" && !empty {
				lines = append(lines, line)
			}
		}
		slices.Sort(lines)
		return lines
	}
	if a, b := records(got), records(theirs); !slices.Equal(a, b) {
		t.Errorf("we write\n%s\nOpenSM\n%s", strings.Join(a, ""), strings.Join(b, ""))
	}
}

// TestBlocks: a port's aliases are written in the blocks that they are in.
func TestBlocks(t *testing.T) {
	reg := registry.New()
	for _, a := range []registry.Alias{{Slot: registry.Slot{Port: 1, Index: 7}, GUID: 0x17},
		{Slot: registry.Slot{Port: 1, Index: 8}, GUID: 0x18},
		{Slot: registry.Slot{Port: 1, Index: 255}, GUID: 0x1ff},
		{Slot: registry.Slot{Port: 2, Index: 255}, GUID: 0x2ff}} {
		if err := reg.Apply(registry.PutAlias{Alias: a}); err != nil {
			t.Fatal(err)
		}
	}
	text := written(t, reg.Freeze(), noLID)
	if n := strings.Count(text, guidInfo); n != 4 {
		t.Errorf("%d blocks:\n%s", n, text)
	}
	again, found := Read("again", []byte(text))
	if len(found) > 0 || !slices.Equal(slices.Collect(again.Changes()), slices.Collect(reg.Changes())) {
		t.Errorf("%v:\n%s", found, text)
	}
}

// TestWrong: each line that cannot be read is reported with its place, and those around it
// count.
func TestWrong(t *testing.T) {
	const good = "MC Group 0xc001 : mgid=0xff12001b00000000:0x%s port_gid=0x0:0x0 qkey=0x1 mlid=0xc001 mtu=0x84 tclass=0x0 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x0 scope_state=0x21 proxy_join=0x0\n"
	const port = "mcm_port: port_gid=0xfe80000000000000:0x11 scope_state=0x21 proxy_join=0x0\n"
	line := func(id string) string { return strings.Replace(good, "%s", id, 1) }
	for _, tt := range []struct {
		name, text, want string
		groups, members  int
	}{
		{"good", line("1") + port + line("2") + port, "", 2, 2},
		{"a comment and other text", "# " + line("1") + "hello\n\n" + line("2") + port, "", 1, 1},
		{"nothing", "", "", 0, 0},
		{"another file", "0x1 0x2\n",
			"f: no record in the file; an SA database is a file that OpenSM writes as opensm-sa.dump", 0, 0},
		{"nobody in a group", line("1"), "", 0, 0},
		{"no label", strings.Replace(line("1"), " qkey=0x1", "", 1) + port + line("2") + port,
			`f:1:63: no "qkey=0x" follows here`, 1, 1},
		{"too long a number", strings.Replace(line("1"), "tclass=0x0", "tclass=0x100", 1) + port,
			"f:1:103: a hexadecimal number of up to 8 bits belongs here", 0, 0},
		{"no number", "\n " + strings.Replace(line("1"), "pkey=0xffff", "pkey=0x", 1) + port,
			"f:2:113: a hexadecimal number of up to 16 bits belongs here", 0, 0},
		{"not a multicast LID", strings.Replace(line("1"), "mlid=0xc001", "mlid=0x1", 1) + port,
			"f:1:1: group ff12:001b:0000:0000:0000:0000:0000:0001: MLID 0x1 is not a multicast LID", 0, 0},
		{"one MLID for two", line("1") + port + strings.Replace(line("2"), "rate=0x83", "rate=0x82", 1) + port,
			"f:3:1: group ff12:001b:0000:0000:0000:0000:0000:0002: MLID 0xc001 already belongs to group ff12:001b:0000:0000:0000:0000:0000:0001, which has another P_Key, MTU, rate or SL", 1, 1},
		{"a name without an end", "Service Record: id=0x1 gid=0x1:0x2 pkey=0x0 lease=0x1 key=0x0:0x0 name='a b\n",
			"f:1:73: the name has no end on this line", 0, 0},
		{"a member of nothing", port, "", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reg, found := Read("f", []byte(tt.text))
			text := ""
			if err := found.Err(); err != nil {
				text = err.Error()
			}
			if n := reg.Counts(); text != tt.want || n.Groups != tt.groups || n.Members != tt.members {
				t.Errorf("%q, %+v", text, n)
			}
		})
	}
	_, found := Read("f", bytes.Repeat([]byte("MC Group\n"), 1000))
	if len(found) != maxFindings+1 || found[maxFindings].Text != "and 900 more" {
		t.Errorf("%d findings", len(found))
	}
}

// TestNames: names that would end a record do not, and quotes in those of OpenSM are read.
func TestNames(t *testing.T) {
	text := strings.Replace(golden(t), "name='a bcxy'", "name='it's'", 1)
	reg, found := Read("f", []byte(text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	for v := range reg.Services() {
		if v.Name[0] != 0 && string(v.Name[:5]) != "it's\x00" {
			t.Errorf("name %q", v.Name)
		}
	}
	if out := written(t, reg.Freeze(), noLID); !strings.Contains(out, "name='it?s' ") {
		t.Errorf("wrote %s", out)
	}
}

// FuzzRead: whatever a file holds, what was read of it is written so that it is read again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(golden(f)))
	f.Add([]byte("Service Record: name='''"))
	f.Fuzz(func(t *testing.T, text []byte) {
		reg, _ := Read("f", text)
		first := written(t, reg.Freeze(), noLID)
		again, found := Read("again", []byte(first))
		if len(found) > 0 && reg.Counts() != (registry.Counts{}) {
			t.Fatalf("%v in\n%s", found, first)
		}
		if second := written(t, again.Freeze(), noLID); second != first {
			t.Fatalf("first\n%s\nsecond\n%s", first, second)
		}
	})
}
