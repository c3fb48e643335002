# The master goes, in each of the ways that there are, and its standby takes over: two
# managers, and four hosts that talk IP over InfiniBand, join groups meanwhile, offer a
# service and subscribe to events. With MANAGER=opensm two of OpenSM do the same;
# of them nothing is demanded. Start with failover.net beside this script.
. /etc/rig-lib.sh
start_fabric 6
master=1 standby=0 hosts="2 3 4 5"

# run N PRIORITY: a manager at adapter N. Its log is /tmp/smN.log, its process in /tmp/pidN.
run() {
	rm -f /tmp/sm$1.log
	if [ $MANAGER = ibsm ]; then
		ibsm --ctl_socket /tmp/ctl$1 -F /tmp/ibsm.conf -g $(port_guid $1) -p $2 -s 0 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 &
	else
		mkdir -p /tmp/osm$1
		OSM_CACHE_DIR=/tmp/osm$1 OSM_TMP_DIR=/tmp/osm$1 opensm -g $(port_guid $1) -p $2 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 &
	fi
	echo $! >/tmp/pid$1
}
sign() { kill -$2 $(cat /tmp/pid$1); }
ended() { [ ! -d /proc/$(cat /tmp/pid$1) ]; }
# A master that comes back does not take over again.
printf 'master_sm_priority 14\nsm_key 0x5ec\n' >/tmp/ibsm.conf

demand() { [ $MANAGER = opensm ] || "$@"; }
mirrors() { [ $MANAGER = opensm ] || grep -q 'mirroring the client registrations of the master' /tmp/sm$1.log; }
up() { active 0 1 $hosts && paths 0 1 $hosts; }

answers() { saquery -C vhca2 -c; }

# missing: how many records that were there before are not there.
missing() { registered >/tmp/after && grep -vxFf /tmp/after /tmp/before >/tmp/missing; wc -l </tmp/missing; }

# sets: SMPs that set something, but for what managers say to each other.
sets() { fabric count | awk '/^02\// && !/^02\/0020/ { n += $2 } END { print n + 0 }'; }

# joins WAY: until /tmp/joining goes, host 3 joins another group five times a second.
joins() {
	local n=0
	while [ -e /tmp/joining ] && [ $n -lt 40 ]; do
		n=$((n + 1))
		ip -n ns3 addr add 239.1.$1.$n/32 dev ib3 autojoin
		echo $n >/tmp/joins
		sleep 0.2
	done
}
all_joined() { [ $(records -g | grep -c "::f01:$1[0-9a-f][0-9a-f] ") = $(cat /tmp/joins) ]; }

# begin: a master, its standby, and hosts that have registered what they want.
begin() {
	run $master 5
	within 60 in_state $master MASTER && within 60 up || fail "the fabric did not come up"
	run $standby 3
	within 60 in_state $standby STANDBY || fail "the other does not stand by"
	within 10 mirrors $standby || fail "the standby does not mirror the master"
	register
	cp /tmp/settled.1 /tmp/before
	for what in group member Service InformInfo; do
		grep -q "^$what\|MCMemberRecord $what" /tmp/before || fail "nothing of kind $what is registered"
	done
	before=$(lids)
}

# end: both managers end.
end() {
	for n in $master $standby; do
		sign $n TERM
		within 20 ended $n || fail "the manager at adapter $n does not end"
	done 2>/dev/null
}

# way NUMBER NAME MILLISECONDS ACT...: what becomes of it when the master goes so.
way() {
	local number=$1 name=$2 limit=$3 wrote from took
	shift 3
	begin
	demand keeps
	wrote=$(sets)
	ping_on
	sleep 1
	from=$(now)
	"$@"
	touch /tmp/joining
	joins $number &
	within 120 in_state $standby MASTER || fail "$name: the standby does not take over"
	took=$(($(now) - from))
	within 60 answers || fail "$name: the SA does not answer"
	served=$(($(now) - from))
	left=$(missing)
	sleep 1
	rm /tmp/joining
	echo "$MANAGER: $name: master after $took ms, SA answers after $served ms, $left of $(wc -l </tmp/before) registrations missing then"
	demand [ $took -le $limit ] || fail "$name: too slow"
	demand [ $left = 0 ] || fail "$name: not what was registered: $(cat /tmp/missing)"
	within 60 paths $standby $hosts || fail "$name: the hosts cannot reach each other"
	demand within 30 all_joined $number || fail "$name: of $(cat /tmp/joins) groups that were joined only $(records -g | grep -c "::f01:$number") are there"
	echo "$MANAGER: $name: $(cat /tmp/joins) groups joined meanwhile, $(($(sets) - wrote)) Sets in all, $(missing) registrations missing in the end"
	ping_off
	echo "$MANAGER: $name: $lost packets lost"
	[ "$lost" != "0 of 0" ] && demand [ ${lost%% *} = 0 ] || fail "$name: packets were lost"
	demand [ $(missing) = 0 ] || fail "$name: not what was registered: $(cat /tmp/missing)"
}

# keeps: ibsm's standby has all groups in its store, and both managers say what will be.
keeps() {
	local n
	ibsmctl state export /var/lib/ibsm/$(port_guid $standby)/state.db >/tmp/state
	kept=$(sed -n 's/^MC Group .* mgid=\([^ ]*\).*/\1/p' /tmp/state | sort -u | grep -vc '000000\(16\|02\)$')
	[ $kept = $(sed -n 's/^MCMemberRecord group | \([^|]*\).*/\1/p' /tmp/before | sort -u | wc -l) ] || fail "the standby keeps $kept groups: $(cat /tmp/state)"
	for n in 0 1; do
		ibsmctl --socket /tmp/ctl$n sms >/tmp/sms.out
		grep -q 'takes over when the master dies, mirrors registrations *$' /tmp/sms.out || fail "ibsmctl sms at adapter $n: $(cat /tmp/sms.out)"
	done
}

# whole_again: the old master's port is back, with its LID.
whole_again() {
	within 60 up || fail "$1: not whole"
	demand [ "$(lids)" = "$before" ] || fail "$1: LIDs moved: $before, then $(lids)"
}

reboot() {
	sign $master KILL
	fabric reboot $master
}

: "${MANAGER:=ibsm}"
cp /dev/null /tmp/sm.log
run $master 5
within 60 up || fail "the fabric did not come up"
for n in $hosts; do
	host $n
	ip netns exec ns$n sh -c 'echo 1000 >/proc/sys/net/ipv4/igmp_max_memberships'
done
sleep 3
sign $master TERM
within 20 ended $master || fail "the manager does not end"

way 1 killed 2000 sign $master KILL
end
way 2 "link cut" 2000 fabric down sw2 1
fabric up sw2 1
whole_again "link cut"
demand within 30 in_state $master STANDBY || fail "link back: the old master does not stand by"
end
way 3 "host rebooted" 2000 reboot
whole_again "host rebooted"
end
way 4 "stopped politely" 2000 sign $master TERM
end
way 5 "is paused" 6500 sign $master STOP
wrote=$(sets)
sign $master CONT
sleep 10
echo "$MANAGER: goes on: $(($(sets) - wrote)) Sets, and is $(sed -n 's/.*Entering \(.*\) state.*/\1/p' /tmp/sm$master.log | tail -n 1)"
demand [ $(sets) = $wrote ] || fail "the old master writes when it goes on"
demand in_state $master STANDBY || fail "the old master does not stand by when it goes on"
end
