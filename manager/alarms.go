package manager

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/view"
)

// AlarmKind says what a port has sent that only another one may send.
type AlarmKind uint8

// Kinds of alarms.
const (
	// AlarmManager is a subnet manager that does not show our sm_key, or is not in
	// allowed_sm_guids. It is ignored, also as MASTER.
	AlarmManager AlarmKind = iota
	// AlarmControl is Set(SMInfo) that is not the master's, or has another SM_Key. It is refused.
	AlarmControl
	// AlarmQuestion is a Get(SMInfo) in the name of another port than the sender's. It is answered, but no manager is
	// queried because of it.
	AlarmQuestion
	// AlarmTrap is a trap about another node than the sender's, or one that only the master
	// reports. It is ignored.
	AlarmTrap
	numAlarmKinds
)

var alarmNames = [numAlarmKinds]string{
	AlarmManager: "manager", AlarmControl: "control", AlarmQuestion: "question", AlarmTrap: "trap",
}

// String is the kind as metrics and the control socket have it.
func (k AlarmKind) String() string { return alarmNames[k] }

// alarmTexts are the log lines.
var alarmTexts = [numAlarmKinds]string{
	AlarmControl:  "ALARM: rejecting Set(SMInfo) from a port that is not the master",
	AlarmTrap:     "ALARM: ignoring a trap that concerns another port",
	AlarmQuestion: "ALARM: ignoring Get(SMInfo) sent in the name of another port",
	AlarmManager:  "ALARM: ignoring a subnet manager that has a different sm_key or keys_file, or is not in allowed_sm_guids",
}

// Alarm is what one port has sent.
type Alarm struct {
	Kind  AlarmKind
	Port  mad.GUID // of the sender; 0 if it is not known
	LID   mad.LID  // that the packets came from, or of the port; 0 if it is not known
	Where string   // the port in words
	Count uint64
	Last  int64 // in seconds since 1970
}

const (
	maxAlarms  = 32               // ports and kinds that are counted one by one
	alarmPause = 10 * time.Minute // between log lines about one of them
)

// alarms counts what ports send that is not theirs to send. The slice is copied before a change,
// for Stats returns it.
type alarms struct {
	known  []Alarm
	logged []time.Duration // of known: when its last line was logged
	total  [numAlarmKinds]uint64
	spared time.Duration // when a line was logged last about those that have no room in known
}

// raise counts and logs an alarm. a has all but Count and Last.
func (l *alarms) raise(fx *effects, epoch int64, a Alarm, args ...any) {
	l.total[a.Kind]++
	a.Count, a.Last = 1, seconds(epoch, fx.now)
	i := slices.IndexFunc(l.known, func(k Alarm) bool {
		return k.Kind == a.Kind && k.Port == a.Port && (k.Port != 0 || k.LID == a.LID)
	})
	logged := &l.spared
	switch {
	case i >= 0:
		a.Count += l.known[i].Count
		l.known = slices.Clone(l.known)
		l.known[i] = a
		logged = &l.logged[i]
	case len(l.known) < maxAlarms:
		l.known = append(slices.Clone(l.known), a)
		l.logged = append(l.logged, 0)
		logged = &l.logged[len(l.logged)-1]
	}
	if *logged == 0 || fx.now-*logged >= alarmPause {
		*logged = max(fx.now, 1)
		fx.log(erro, alarmTexts[a.Kind], append([]any{"guid", a.Port, "lid", a.LID, "at", a.Where, "count", a.Count},
			args...)...)
	}
}

// Alarms are the ports that have sent what only others may send, the latest state of each.
func (s *Stats) Alarms() []Alarm { return s.alarms.known }

// AlarmCounts are the numbers of such packets by kind.
func (s *Stats) AlarmCounts() iter.Seq2[AlarmKind, uint64] {
	return func(yield func(AlarmKind, uint64) bool) {
		for k, n := range s.alarms.total {
			if !yield(AlarmKind(k), n) {
				return
			}
		}
	}
}

// whereIs names a port and the switch port that it is cabled to.
func whereIs(v *view.View, p topo.PortIdx) string {
	port := &v.Topo.Ports[p]
	text := fmt.Sprintf("port %d of %q", port.Num, v.Topo.Nodes[port.Node].Desc.String())
	if port.Peer != topo.None {
		peer := &v.Topo.Ports[port.Peer]
		text += fmt.Sprintf(" at port %d of %q", peer.Num, v.Topo.Nodes[peer.Node].Desc.String())
	}
	return text
}
