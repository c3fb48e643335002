package sim_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/api/ufm"
	"ibsm/api/ufm/ufmtest"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/rights"
	"ibsm/sa"
	"ibsm/topo/net"
)

// ufmManager is what UFM's calls need of a manager in a simulation. An order lets virtual time pass until it is
// answered.
type ufmManager struct {
	ctl.Source          // nil: methods that are not needed
	ctl.PartitionSource // likewise
	w                   *wildCallers
	m                   *watched
}

// Subnet implements ctl.Source.
func (u *ufmManager) Subnet() ctl.Subnet {
	if u.m.View == nil {
		return nil
	}
	return server.Show(u.m.View)
}

// Partitions implements ctl.PartitionSource.
func (u *ufmManager) Partitions(q *ctl.PartitionQuery) (iter.Seq[*ctl.Partition], error) {
	return server.ShowPartitions(u.m.View, u.m.Registrar().State(), u.w.file, q)
}

// ChangePartition implements ctl.PartitionSource.
func (u *ufmManager) ChangePartition(o *ctl.PartitionOrder) (*ctl.PartitionChanged, error) {
	p := u.w.harness.order(u.m, false, func(s *registry.State, now int64) (*callers.Done, error) {
		rules := callerRules(u.w.file, now)
		rules.User = o.By
		return o.Decide(rules, s)
	})
	if !u.w.Run(u.w.Fabric.Now()+5*time.Second, func() bool { return p.answered }) {
		return nil, fmt.Errorf("%w: no answer", ctl.ErrNotNow)
	}
	if p.Unmirrored {
		u.w.Errorf("%v: the order was not mirrored", u.w.Fabric.Now())
	}
	return server.Changed(&p.PartitionAnswer)
}

// ufmCallers are clients of UFM's calls at two managers that are killed.
type ufmCallers struct{ *wildCallers }

// ask sends a request to a manager.
func (w *ufmCallers) ask(m *watched, method, path, body string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h := ufmtest.Handler(&ufmManager{w: w.wildCallers, m: m}, &rights.User{Name: "k8s", Role: rights.Operator})
	h.ServeHTTP(rec, httptest.NewRequest(method, "/ufmRest/"+path, strings.NewReader(body)))
	return rec
}

// change sends a change to the master until it has status 200, as ib-kubernetes does: while mastership is handed over
// to the manager that was restarted, it has status 503. It returns the master that has answered with 200.
func (w *ufmCallers) change(path, body string) int {
	w.Helper()
	for range 10 {
		w.mustFollow()
		m := w.master()
		rec := w.ask(w.managers[m], http.MethodPost, path, body)
		switch {
		case rec.Code == http.StatusOK:
			return m
		case rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), sa.ErrNotMaster.Error()):
			w.Fatalf("POST %s %s: status %d, %s", path, body, rec.Code, rec.Body)
		}
		w.pass(5 * time.Second)
	}
	w.Fatalf("POST %s %s is not answered with status 200", path, body)
	return -1
}

// listed checks whether a manager lists a GUID in the partition of a P_Key.
func (w *ufmCallers) listed(m *watched, guid, key string, want bool) {
	w.Helper()
	rec := w.ask(m, http.MethodGet, "resources/pkeys?guids_data=true", "")
	var list map[string]ufm.Partition
	if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil || rec.Code != http.StatusOK {
		w.Fatalf("%v: %v lists partitions with status %d: %s, %v", w.Fabric.Now(), m.last(), rec.Code, rec.Body, err)
	}
	is := slices.Contains(list[key].GUIDs, ufm.Member{GUID: guid, Membership: "full"})
	if is != want || len(list["0x1ff"].GUIDs) != len(w.hosts) {
		w.Fatalf("%v: %v lists %s under %s: %t, want %t: %s", w.Fabric.Now(), m.last(), guid, key, is, want, rec.Body)
	}
}

// killed kills the master a while after its answer, and checks what the standby lists at once, when it is master, and
// when it has completed its first sweep. Then it starts the killed one again.
func (w *ufmCallers) killed(master int, after time.Duration, guid, key string, want bool) {
	w.Helper()
	other := w.managers[1-master]
	w.Run(w.Fabric.Now()+after, nil)
	w.kill(master)
	w.listed(other, guid, key, want)
	if !w.Run(w.Fabric.Now()+settling, func() bool { return other.last() == smp.Master }) {
		w.Fatal("the standby does not take over")
	}
	w.listed(other, guid, key, want)
	if !w.Run(w.Fabric.Now()+settling, func() bool { return other.View != nil }) {
		w.Fatal("the new master does not complete a sweep")
	}
	w.listed(other, guid, key, want)
	w.masterPriority = pick(w.rng, uint8(0), 14) // the one with the higher priority takes mastership back, or does not
	w.Configure(other.Manager, w.config(1-master))
	w.start(master)
}

// holds waits until a port has, or does not have, a P_Key.
func (w *ufmCallers) holds(at net.End, key mad.PKey, want bool) {
	w.Helper()
	if !w.Run(w.Fabric.Now()+settling, func() bool { return slices.Contains(w.Fabric.PKeys(at), key) == want }) {
		w.Errorf("%v: %v has %v; %v wanted: %t", w.Fabric.Now(), at, w.Fabric.PKeys(at), key, want)
	}
}

// TestUFMTakeover: ib-kubernetes' order of calls, over a kill of the master after each one that was answered with
// status 200: the new master lists the GUID that was added, and not the one that was removed, and the ports have what
// it lists. The GUIDs are those of ports, and of virtual functions that nobody has seen.
func TestUFMTakeover(t *testing.T) {
	runs, seed := 20, uint64(0)
	if os.Getenv("IBSM_PROOF") != "" {
		runs = 1000
	}
	w := &ufmCallers{newWildCallers(t, seed)}
	w.rng = rand.New(rand.NewPCG(seed, 57))
	byPlace := [2]int{}
	for i := range runs {
		at, key := w.hosts[w.rng.IntN(len(w.hosts))], mad.PKey(0x120+w.rng.IntN(8))
		guid := fmt.Sprintf("%016x", uint64(w.Fabric.PortGUID(at)))
		isPort := w.rng.IntN(2) == 0
		if !isPort {
			guid = fmt.Sprintf("02000000000%05x", i)
		}
		name, moment := fmt.Sprintf("0x%x", uint16(key)), time.Duration(0)
		body := fmt.Sprintf(`{"pkey": "0x%04X", "index0": false, "ip_over_ib": true, "membership": "full", "guids": ["%s"]}`,
			uint16(key), guid)
		if w.rng.IntN(2) == 0 {
			moment = time.Duration(w.rng.IntN(60_000)) * time.Microsecond
		}
		m := w.change("resources/pkeys", body)
		byPlace[m]++
		w.killed(m, moment, guid, name, true)
		if isPort {
			w.holds(at, key|mad.FullMember, true)
		}
		m = w.change("actions/remove_guids_from_pkey", fmt.Sprintf(`{"pkey": "0x%04X", "guids": ["%s"]}`, uint16(key), guid))
		byPlace[m]++
		w.killed(m, moment, guid, name, false)
		w.holds(at, key|mad.FullMember, false)
		if t.Failed() {
			t.Fatalf("run %d of seed %d", i, seed)
		}
	}
	if byPlace[0] == 0 || byPlace[1] == 0 {
		t.Errorf("not each manager was killed: %v", byPlace)
	}
	t.Logf("%d runs, %v masters killed, in %v of virtual time", runs, byPlace, w.Fabric.Now())
}
