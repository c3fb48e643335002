# Two managers on one subnet: which one is master, and how soon the other one when the first dies,
# is stopped, loses its link, is stopped by a signal, or gives way. No LID moves.
. /etc/rig-lib.sh
start_fabric 4

# run N PRIORITY: ibsm at adapter N. Its log is /tmp/smN.log, its process in /tmp/pidN.
run() {
	ibsm -g $(port_guid $1) -p $2 -s 0 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 &
	echo $! >/tmp/pid$1
	sm=$!
}
sign() { kill -$2 $(cat /tmp/pid$1); }

# is_master N: the manager there is master, says so itself, and all ports know it.
is_master() {
	local p
	in_state $1 MASTER || return 1
	for p in 0 1 2 3; do
		[ $(($(cat /sys/class/infiniband/vhca$p/ports/1/sm_lid))) = $(($(cat /sys/class/infiniband/vhca$1/ports/1/lid))) ] || return 1
	done
}

# takes N MILLISECONDS WHAT: the manager at adapter N is master so soon after what has happened.
takes() {
	local from=$(now)
	within $(($2 / 1000 + 5)) in_state $1 MASTER || fail "$3: the manager at adapter $1 does not take over"
	took=$(($(now) - from))
	echo "$3: adapter $1 is master after $took ms"
	[ $took -le $2 ] || fail "$3: too slow"
	within 10 is_master $1 || fail "$3: the ports do not know their master"
	within 10 whole || fail "$3: not whole"
	[ "$(lids)" = "$before" ] || fail "$3: LIDs moved: $before, then $(lids)"
	for p in /tmp/pid*; do [ ! -d /proc/$(cat $p) ] || sm=$(cat $p); done
	! grep -q '^panic\|^fatal error\|^goroutine ' /tmp/sm.out || fail "$3: a manager panicked"
}

cp /dev/null /tmp/sm.log
run 0 5
within 20 is_master 0 || fail "the first is not master"
within 20 whole || fail "the fabric did not come up"
before=$(lids)
run 1 3
within 10 in_state 1 STANDBY || fail "the second does not stand by"
sleep 1

sign 0 KILL
takes 1 2000 "killed"
run 0 5
takes 0 5000 "came back, ranks higher"
within 5 in_state 1 STANDBY || fail "does not stand by again"
sleep 1

sign 0 TERM
takes 1 2000 "stopped politely"
run 0 5
takes 0 5000 "came back"
within 5 in_state 1 STANDBY || fail "does not stand by again"
sleep 1

# Paused: the agent answers for it, so it is given five seconds. Then it asks before
# it writes, and is handed the mastership by the other.
sign 0 STOP
takes 1 6500 "is paused"
sign 0 CONT
within 5 grep -q 'was paused: querying all other managers before writing anything' /tmp/sm0.log || fail "does not notice that it was paused"
within 5 grep -q 'two masters: waiting for the one with lower rank to hand over' /tmp/sm0.log || fail "goes on as if there were no other"
takes 0 5000 "goes on"
within 5 in_state 1 STANDBY || fail "does not stand by again"
sleep 1

fabric down sw1 1
from=$(now)
within 7 in_state 1 MASTER || fail "link cut: the other does not take over"
echo "link cut: adapter 1 is master after $(($(now) - from)) ms"
[ $(($(now) - from)) -le 2000 ] || fail "link cut: too slow"
within 10 paths 1 2 3 || fail "link cut: the others suffer"
fabric up sw1 1
sleep 1
takes 0 10000 "link back"
within 5 in_state 1 STANDBY || fail "does not stand by again"

# The other is killed: nothing happens.
sign 1 KILL
sleep 1
is_master 0 && whole || fail "the master minds the death of its standby"
sign 0 TERM
sleep 1

# OpenSM beside ibsm.
opensm_at() {
	opensm -g $(port_guid $1) -p $2 -f /tmp/sm$1.log -B >/dev/null
	within 5 pidof opensm || fail "OpenSM does not begin"
	pidof opensm >/tmp/pid$1
}
rm -f /tmp/sm?.log /tmp/pid?
opensm_at 1 5
within 30 in_state 1 MASTER || fail "OpenSM is not master"
within 30 whole || fail "OpenSM does not bring the fabric up"
run 0 3
within 10 in_state 0 STANDBY || fail "ibsm does not stand by"
sleep 1
sign 1 KILL
takes 0 2000 "OpenSM killed"
rm -f /tmp/sm1.log /tmp/pid1
opensm_at 1 5
takes 1 30000 "OpenSM ranks higher"
within 5 in_state 0 STANDBY || fail "ibsm does not give way"
sign 0 TERM
sleep 1
rm -f /tmp/sm0.log
run 0 9
takes 0 30000 "ibsm ranks higher"
within 10 in_state 1 STANDBY || fail "OpenSM does not give way"
sleep 1
sign 0 TERM
sleep 1
! is_sm 0 || fail "IsSM is still set"
