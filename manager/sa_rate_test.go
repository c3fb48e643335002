package manager

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
	"ibsm/view"
)

// TestClientRates compares the buckets with a count by hand: of the requests of a LID at most as many as a
// bucket has, and what flows into it since, are taken; what a sender that keeps to the limit sends always is.
func TestClientRates(t *testing.T) {
	const perSecond = 100
	for seed := range uint64(20) {
		rates, rng := new(clientRates), rand.New(rand.NewPCG(seed, 1))
		level, last := float64(perSecond), time.Duration(0) // of the bucket of LID 7
		now := time.Duration(0)
		for i := range 20_000 {
			if now += time.Duration(rng.ExpFloat64() * float64(time.Second) / perSecond / 3); rng.IntN(500) == 0 {
				now += 2 * time.Second
			}
			level = min(level+float64(now-last)*perSecond/float64(time.Second), perSecond)
			last = now
			want := level >= 1
			if taken := rates.take(7, now, perSecond); taken != want && level > 1e-6 &&
				(level < 1-1e-6 || level > 1+1e-6) {
				t.Fatalf("seed %d: request %d at %v with %.3f in the bucket: taken %v", seed, i, now, level, taken)
			} else if taken {
				level--
			}
			if i%100 == 0 && !rates.take(mad.LID(1000+i/100), now, perSecond) {
				t.Fatalf("seed %d: the first request of another LID is dropped", seed)
			}
		}
		for i := range 3 * perSecond {
			if !rates.take(8, time.Duration(i)*time.Second/perSecond, perSecond) {
				t.Fatalf("request %d of a sender that keeps to the limit is dropped", i)
			}
		}
	}
}

// A LID beyond those that ports have shares a bucket, and nothing is allocated for any.
func TestClientRatesAreBounded(t *testing.T) {
	rates := new(clientRates)
	lid := mad.LID(0)
	if n := testing.AllocsPerRun(1<<16, func() { rates.take(lid, time.Second, 10); lid++ }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A vPort that asks too often stops neither its neighbors nor their port, however many GUIDs it shows, and all behind a
// port have a rate together. Packets without a GRH, and with the GUID of the port, are the port's.
func TestVPortRates(t *testing.T) {
	const perSecond = 100
	v, s := *servedView(), new(saServer)
	tp := *v.Topo
	port, other := tp.EndPorts[1], tp.EndPorts[2]
	const own mad.LID = 900
	var list []topo.VPort
	for i := range 101 {
		list = append(list, topo.VPort{GUID: mad.GUID(0x0200000000000001 + i), Port: port, Index: uint16(i + 1),
			State: smp.PortActive})
	}
	list[100].LID, list[100].LIDRequired = own, true
	tp.VPorts = topo.NewVPorts(list, nil)
	v.Topo = &tp
	taken := func(v *view.View, lid mad.LID, guid mad.GUID, n int) (count int) {
		in := mad.Datagram{Addr: mad.Addr{LID: lid}}
		if guid != 0 {
			in.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, guid)}
		}
		for range n {
			if s.taken(v, &in, time.Second, perSecond) {
				count++
			}
		}
		return count
	}
	lid, guid := v.LIDs.Base[port], tp.Ports[port].GUID
	for r := s.ofVPorts(); ; r.seed = maphash.MakeSeed() { // until no two of these have a bucket together
		seen := map[*atomic.Int64]bool{}
		for _, key := range []uint64{uint64(list[0].GUID), uint64(list[1].GUID), uint64(list[100].GUID), uint64(lid),
			uint64(v.LIDs.Base[other])} {
			seen[r.bucket(key)] = true
		}
		if len(seen) == 5 {
			break
		}
	}
	for _, c := range []struct {
		what string
		lid  mad.LID
		guid mad.GUID
		want int
	}{
		{"the first vPort", lid, list[0].GUID, perSecond}, {"its neighbor", lid, list[1].GUID, perSecond},
		{"one with a LID of its own", own, 0, perSecond}, {"the same with a GRH", own, list[100].GUID, 0},
		{"the first vPort again", lid, list[0].GUID, 0},
		{"no vPort of the port", lid, 0x99, perSecond}, {"another one that is none", lid, 0x9a, 0},
		{"a vPort's GUID at another port", v.LIDs.Base[other], list[2].GUID, perSecond},
		{"the port", lid, 0, perSecond}, {"the port with a GRH", lid, guid, 0},
	} {
		if got := taken(&v, c.lid, c.guid, 2*perSecond); got != c.want {
			t.Errorf("%s: %d requests are taken, want %d", c.what, got, c.want)
		}
	}
	all := 4 * perSecond // by the port's vPorts until now
	for _, p := range list[2:100] {
		all += taken(&v, lid, p.GUID, perSecond)
	}
	if all != vPortsOfPort*perSecond {
		t.Errorf("all vPorts of a port: %d requests are taken, want %d", all, vPortsOfPort*perSecond)
	}
	in := mad.Datagram{Addr: mad.Addr{LID: lid, GRH: mad.GRH{Present: true}}}
	if n := testing.AllocsPerRun(1000, func() {
		in.GRH.GID = mad.MakeGID(mad.DefaultPrefix, guid)
		s.taken(&v, &in, time.Hour, perSecond)
		guid++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if self := v.LIDs.Base[tp.EndPort(tp.Self)]; taken(&v, self, 0, 2*perSecond) != 2*perSecond {
		t.Error("the manager's own port has a limit")
	}
	without := *servedView()
	s = new(saServer)
	taken(&without, lid, list[0].GUID, 1)
	if s.vPortRates.Load() != nil {
		t.Error("buckets of vPorts are made in a subnet without any")
	}
}

func BenchmarkClientRates(b *testing.B) {
	rates := new(clientRates)
	for i := range b.N {
		rates.take(mad.LID(i&0x3fff), time.Duration(i)*time.Microsecond, 1000)
	}
}
