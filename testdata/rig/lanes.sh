# The QoS policy gives IP over InfiniBand SL 3: the kernel's own SA client gets it for
# paths, its multicast code for the broadcast group, and both keep it when the master is
# killed and its standby takes over. With MANAGER=opensm two of OpenSM do the
# same. Start with failover.net beside this script.
. /etc/rig-lib.sh
start_fabric 6
mount -t debugfs debugfs /sys/kernel/debug

cat >/tmp/policy.conf <<'CONF'
qos-ulps
default : 1
ipoib : 3
end-qos-ulps
CONF
lanes='0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7'
# run N PRIORITY: a manager at adapter N. Its log is /tmp/smN.log, its process in /tmp/pidN.
run() {
	printf 'master_sm_priority 14\nsm_key 0x5ec\nqos TRUE\nqos_policy_file /tmp/policy.conf\nqos_max_vls 8\nqos_sl2vl %s\n' $lanes >/tmp/sm.conf
	mkdir -p /tmp/osm$1
	case $MANAGER in
	ibsm) ibsm --ctl_socket /tmp/ctl$1 -F /tmp/sm.conf -g $(port_guid $1) -p $2 -s 0 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 & ;;
	opensm) OSM_CACHE_DIR=/tmp/osm$1 OSM_TMP_DIR=/tmp/osm$1 opensm -F /tmp/sm.conf -g $(port_guid $1) -p $2 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 & ;;
	esac
	echo $! >/tmp/pid$1
}
up() { active 0 1 2 3 4 5 && paths 0 1 2 3 4 5; }

# has_sl N SL: whether all paths that host N's IPoIB holds, at least one, have the SL.
has_sl() { awk -v want=$2 '/SL:/ { n++; if ($2 != want) bad = 1 } END { exit bad || !n }' /sys/kernel/debug/ipoib/ib$1_path; }

# on_sl3 N M: hosts N and M talk, on the SL of the policy.
on_sl3() {
	within 30 from $1 10.0.0.$(($2 + 1)) || fail "hosts $1 and $2 do not talk"
	has_sl $1 3 && has_sl $2 3 || fail "the kernel's paths have another SL: $(cat /sys/kernel/debug/ipoib/ib[$1$2]_path)"
	of_group ff12:401b:ffff::ffff:ffff 'SL 0x3'
}

: "${MANAGER:=ibsm}"
cp /dev/null /tmp/sm.log
run 1 5
within 60 in_state 1 MASTER && within 60 up || fail "the fabric did not come up"
run 0 3
within 60 in_state 0 STANDBY || fail "the other does not stand by"
host 2
host 5
on_sl3 2 5

kill -KILL $(cat /tmp/pid1)
within 120 in_state 0 MASTER || fail "the standby does not take over"
within 60 up || fail "not whole"
host 4
on_sl3 2 5
on_sl3 4 5 # the path is a new one
echo "$MANAGER: IPoIB's paths and group have SL 3, with its standby too"

# All that IPoIB sends is on SL 3: where that has no VL, nothing arrives, not even what is
# sent to the broadcast group.
lanes='0,1,2,15,4,5,6,7,0,1,2,3,4,5,6,7'
kill $(cat /tmp/pid0)
within 20 sh -c "[ ! -d /proc/$(cat /tmp/pid0) ]" || fail "the manager does not end"
run 0 3
dropped() { fabric vl 2 5 3 | grep -q 'VL 15'; }
within 60 dropped || fail "SL 3 still has a VL: $(fabric vl 2 5 3)"
ip -n ns2 neigh flush dev ib2
before=$(fabric count | sed -n 's/^lost: SL mapped to VL 15 //p')
unreachable 2 10.0.0.6 || fail "IPoIB does not use SL 3"
after=$(fabric count | sed -n 's/^lost: SL mapped to VL 15 //p')
[ ${after:-0} -gt ${before:-0} ] || fail "no packet on SL 3 was lost: $(fabric count | grep lost)"
echo "$MANAGER: without a VL for SL 3, $((${after:-0} - ${before:-0})) packets of IPoIB are lost"
