# OpenSM is master and ibsm stands by: it mirrors what hosts have registered by asking
# OpenSM's SA, and goes on with all of it when OpenSM dies. Start with failover.net beside
# this script.
. /etc/rig-lib.sh
start_fabric 6
hosts="2 3 4 5"
up() { active 0 1 $hosts && paths 0 1 $hosts; }
answers() { saquery -C vhca2 -c; }
# of_ours: how many subscriptions adapter 0 has, whose GUID ends so.
of_ours() { records -I | grep -c 'ca00:1 '; }
sms() { ibsmctl --socket /tmp/ctl0 sms >/tmp/sms.out && grep -q "$1" /tmp/sms.out; }

kept() { ibsmctl state export /var/lib/ibsm/$(port_guid 0)/state.db >/tmp/state && grep -q "^MC Group .* mgid=[^ ]*$1 " /tmp/state; }

run_opensm() {
	mkdir -p /tmp/osm1
	printf 'force_log_flush TRUE\n%s\n' "$1" >/tmp/opensm.conf
	rm -f /tmp/sm1.log
	OSM_CACHE_DIR=/tmp/osm1 OSM_TMP_DIR=/tmp/osm1 opensm -F /tmp/opensm.conf -g $(port_guid 1) -p 5 -s 2 -f /tmp/sm1.log >/tmp/osm.out 2>&1 &
	opensm=$!
	within 60 in_state 1 MASTER && within 60 up || fail "OpenSM does not bring the fabric up"
}
run_ibsm() {
	printf 'sminfo_polling_timeout 500\npolling_retry_number 1\nmirror_with_default_keys TRUE\n%s\n' "$1" >/tmp/ibsm.conf
	rm -f /tmp/sm0.log
	ibsm --ctl_socket /tmp/ctl0 -F /tmp/ibsm.conf -g $(port_guid 0) -p 3 -s 0 -f /tmp/sm0.log >>/tmp/sm.out 2>&1 &
	sm=$!
	within 60 in_state 0 STANDBY || fail "ibsm does not stand by"
}

cp /dev/null /tmp/sm.log
run_opensm
for n in $hosts; do
	host $n
done
register
cp /tmp/settled.1 /tmp/before

# Another key is not answered: that is said, and nothing is mirrored.
run_ibsm 'sa_key 0x99'
within 60 grep -q 'may be incomplete.*is sa_key the same there' /tmp/sm0.log || fail "a wrong key is not logged"
stop_sm

run_ibsm
within 90 grep -q 'mirroring the client registrations of the master by SA queries' /tmp/sm0.log || fail "OpenSM is not mirrored"
within 10 sms 'mirrors registrations by SA queries, read [0-9.]*m*s ago *$' || fail "ibsmctl sms: $(cat /tmp/sms.out)"
[ "$(of_ours)" = 4 ] || fail "we are subscribed to $(of_ours) traps: $(records -I)"
groups=$(sed -n 's/^MCMemberRecord group | \([^|]*\).*/\1/p' /tmp/before | sort -u | wc -l)
echo "opensm: $(wc -l </tmp/before) registrations, $groups groups, mirrored: $(ibsmctl state show /var/lib/ibsm/$(port_guid 0)/state.db | grep registered)"

# A new group is reported by trap, and read at once; after 10 s where OpenSM, which is busy, leaves a query unanswered.
from=$(now)
ip -n ns4 addr add 239.1.2.3/32 dev ib4 autojoin
within 30 kept 0f010203 || fail "a new group is not mirrored: $(records -g | grep f01:203) $(ibsmctl --socket /tmp/ctl0 sms)"
echo "opensm: a new group is mirrored after $(($(now) - from)) ms"

# Polite leave: OpenSM is not left with our subscriptions.
stop_sm
[ "$(of_ours)" = 0 ] || fail "we have left, and are subscribed to $(of_ours) traps"
run_ibsm
within 90 grep -q 'mirroring the client registrations of the master by SA queries' /tmp/sm0.log || fail "OpenSM is not mirrored again"
within 60 settled || fail "the hosts do not come to rest again"
grep -v 'ca00:1 ' /tmp/settled.1 >/tmp/before
sleep 2

ping_on
sleep 1
from=$(now)
kill -9 $opensm
within 60 in_state 0 MASTER || fail "ibsm does not take over"
echo "opensm: ibsm is master after $(($(now) - from)) ms"
within 60 answers || fail "the SA does not answer"
echo "opensm: its SA answers after $(($(now) - from)) ms"
registered >/tmp/after
grep -vxFf /tmp/after /tmp/before >/tmp/missing && fail "not what was registered: $(cat /tmp/missing)"
grep -q 'may be incomplete' /tmp/sm0.log && fail "the mirror may be incomplete"
sleep 3
registered >/tmp/after
grep -vxFf /tmp/after /tmp/before >/tmp/missing && fail "not what was registered, later: $(cat /tmp/missing)"
ping_off
echo "opensm: $lost packets lost"
[ ${lost%% *} = 0 ] && [ "$lost" != "0 of 0" ] || fail "packets were lost"
sound
stop_sm
