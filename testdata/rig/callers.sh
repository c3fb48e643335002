# Partitions that programs put: two tenants reach each other inside and not across, a member that is removed stops while
# nobody else loses a packet, a GUID that is put before its host boots works when it boots, and a change that was
# answered is carried out by the standby when the master is killed before it has written it. Start with failover.net
# beside this script.
. /etc/rig-lib.sh
start_fabric 6

# run N PRIORITY: ibsm at adapter N, without a partition file. Its log is /tmp/smN.log, its process in /tmp/pidN.
run() {
	ibsm --ctl_socket /tmp/ctl$1 -F /tmp/ibsm.conf -g $(port_guid $1) -p $2 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 &
	echo $! >/tmp/pid$1
	sm=$!
}
printf 'master_sm_priority 14\nsm_key 0x5ec\n' >/tmp/ibsm.conf
put() { ctl 1 partitions put "$@" || fail "put $*"; }
ready() { ctl ${2:-1} partitions show $1 --wait 20s >/tmp/show.out 2>&1 || fail "$1 is not ready: $(cat /tmp/show.out)"; }

cp /dev/null /tmp/sm.log
run 1 5
within 60 in_state 1 MASTER || fail "the first is not master"
run 0 3
within 60 in_state 0 STANDBY || fail "the other does not stand by"
within 20 grep -q 'mirroring the client registrations of the master' /tmp/sm0.log || fail "the standby does not mirror the master"
within 20 active 0 1 2 3 4 5 || fail "the fabric did not come up"

put red --pkey 0x11 --ipoib $(port_guid 2) $(port_guid 3)
put blue --pkey 0x12 --ipoib $(port_guid 4) $(port_guid 5)
ready red
ready blue
for n in 2 3 4 5; do host $n; done
child 2 8011 10.1.0.2
child 3 8011 10.1.0.3
child 4 8012 10.1.0.4
child 5 8012 10.1.0.5
within 20 from 2 10.1.0.3 || fail "red: 2 and 3"
within 20 from 4 10.1.0.5 || fail "blue: 4 and 5"
unreachable 2 10.1.0.4 || fail "red reaches blue"
unreachable 5 10.1.0.3 || fail "blue reaches red"

# Host 3 is removed, while blue pings every 10 ms.
ip netns exec ns4 ping -q -i 0.01 -c 600 10.1.0.5 >/tmp/blue.ping &
blue=$!
sleep 1
began=$(now)
ctl 1 partitions set red --remove $(port_guid 3) || fail "remove"
ready red
took=$(($(now) - began))
sleep 0.5
unreachable 2 10.1.0.3 || fail "red: 3 is reached after it was removed"
wait $blue
grep -q ' 0% packet loss' /tmp/blue.ping || fail "blue lost packets: $(cat /tmp/blue.ping)"
ctl 1 partitions undo 3 || fail "undo"
within 20 from 2 10.1.0.3 || fail "red: 3 is not back"

# A GUID that is put before its host boots.
fabric down sw2 3
within 20 sh -c "! cat /sys/class/infiniband/vhca5/ports/1/state | grep -q ACTIVE" || fail "host 5 is still up"
sleep 1
put green --pkey 0x13 --ipoib $(port_guid 2) $(port_guid 5)
ctl 1 partitions show green >/tmp/show.out
grep -q pending /tmp/show.out || fail "a host that is away is not pending: $(cat /tmp/show.out)"
fabric up sw2 3
within 20 active 5 || fail "host 5 does not come up"
child 2 8013 10.3.0.2
child 5 8013 10.3.0.5
within 20 from 2 10.3.0.5 || fail "green: 2 and 5"

# A change is answered, and the master is killed at once.
put late --pkey 0x14 --ipoib $(port_guid 3) $(port_guid 4)
kill -9 $(cat /tmp/pid1)
died=$(now)
within 20 in_state 0 MASTER || fail "the standby does not take over"
ctl 0 partitions show late >/dev/null || fail "the new master does not know what was answered"
ready late 0
child 3 8014 10.4.0.3
child 4 8014 10.4.0.4
within 20 from 3 10.4.0.4 || fail "late: 3 and 4"
late=$(($(now) - died))
for pair in "2 10.1.0.3" "4 10.1.0.5" "2 10.3.0.5"; do
	within 5 from $pair || fail "after the takeover $pair is not reached"
done
unreachable 2 10.1.0.4 || fail "after the takeover red reaches blue"
echo "ibsm: a removed member was out after $took ms, blue lost 0 %; a change that was answered before the master died works after $late ms"
sm=$(cat /tmp/pid0)
sound
