# Functions under one master after the other: ibsm with virt_enabled 2, which is killed; OpenSM, which knows nothing of
# them; ibsm again, at the first port with its state. 2.1 and 4.1 share the LIDs of their adapters, 2.2 and 4.2 have LIDs
# of their own. All stay ACTIVE with their LIDs and P_Keys, whatever happens to the routes of LIDs that OpenSM does not
# know; under ibsm all are reached.
. /etc/rig-lib.sh
bad=0
start_fabric 6
for a in 2 4; do
	fabric functions $a 2
	fabric function $a 2 lid own
done
all="2.1 2.2 4.1 4.2"
each() { # COMMAND: for each function N K
	local f
	for f in $all; do "$@" ${f%.*} ${f#*.} || return 1; done
}
there() { [ -e /sys/class/infiniband/vhca$1f$2/ports/1/state ]; }
within 20 each there || fail "no devices of functions"
dev_nodes
wrong() {
	echo "BAD: $*"
	bad=$((bad + 1))
}
hold() { # N K: what a function holds
	local p=/sys/class/infiniband/vhca$1f$2/ports/1
	echo $1.$2 $(cut -d : -f 2 $p/state) $(cat $p/lid) $(cat $p/pkeys/[0-9] | grep -v 0x0000)
}
ways() { # how many of the ways between ports and functions end where they should
	local n=0 w
	for w in "0 2.1" "0 2.2 nogrh" "2.1 4.1" "2.2 4.2" "4.1 2.2" "2.1 4.1 0x8001"; do
		[ "$(fabric vpath $w)" = ok ] && n=$((n + 1))
	done
	echo $n
}
reached() { [ $(ways) = 6 ]; }
cat >/tmp/partitions.conf <<-CONF
	Default=0x7fff, ipoib : ALL=full;
	t1=0x1, ipoib : $(fn_guid 2 1)=full, $(fn_guid 4 1)=full;
CONF
cat >/tmp/sm.conf <<-CONF
	virt_enabled 2
	partition_config_file /tmp/partitions.conf
	sweep_interval 5
CONF
start_sm -F /tmp/sm.conf -g $(port_guid 0)
within 60 each fn_active || fail "not all functions are ACTIVE"
within 30 reached || fail "$(ways) of 6 ways under ibsm"
for n in 2 4; do host $n; done
within 60 from 2 10.0.0.5 || fail "the hosts do not talk"
each hold >/tmp/held
cat /tmp/held
ping_on
kill -9 $sm
sleep 1
opensm -B -g $(port_guid 1) -f /tmp/opensm.log >/tmp/opensm.out 2>&1
within 60 grep -q 'SUBNET UP' /tmp/opensm.log || fail "OpenSM does not take over"
sleep 10
each hold >/tmp/held.opensm
cmp /tmp/held /tmp/held.opensm || { wrong "under OpenSM other LIDs or P_Keys"; cat /tmp/held.opensm; }
under=$(ways)
echo "under OpenSM: $under of 6 ways"
start_sm -F /tmp/sm.conf -g $(port_guid 0) -p 15
within 60 grep -q 'Entering MASTER' /tmp/sm.log
within 60 reached || wrong "$(ways) of 6 ways under ibsm again"
sleep 5
each hold >/tmp/held.again
cmp /tmp/held /tmp/held.again || { wrong "under ibsm again other LIDs or P_Keys"; cat /tmp/held.again; }
again=$(ways)
ping_off
kill $(pidof opensm)
within 10 sh -c '! pidof opensm'
sound
stop_sm
fabric vports | grep -c 'became active with' | grep -qx 0 || wrong "a function was ACTIVE before it had its P_Keys"
echo "ibsm: LIDs and P_Keys of 4 functions under OpenSM and back the same; ways under OpenSM $under of 6, again $again of 6; between ports lost $lost; wrong $bad"
[ $bad = 0 ]
