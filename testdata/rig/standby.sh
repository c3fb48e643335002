# A standby takes over what hosts have registered: two managers, and two hosts that talk IP
# over InfiniBand while the master is killed. No packet is lost, and all groups are there
# with the members and MLIDs that they had.
. /etc/rig-lib.sh
start_fabric 4

# run N PRIORITY: ibsm at adapter N. Its log is /tmp/smN.log, its process in /tmp/pidN, its
# control socket /tmp/ctlN.
run() {
	ibsm --ctl_socket /tmp/ctl$1 -g $(port_guid $1) -p $2 -s 0 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 &
	echo $! >/tmp/pid$1
}

# in_state N STATE: what the manager at adapter N entered last.
in_state() { grep -h 'Entering .* state' /tmp/sm$1.log | tail -n 1 | grep -q "$2"; }
mirrors() { grep -q 'what clients register with the master is mirrored here' /tmp/sm$1.log; }

# groups: MGID and MLID of each group, and who is in it.
groups() {
	saquery -C vhca2 -g | grep -E 'MGID|Mlid' | sed 's/\.*//g; s/ //g' | paste -s -d ' \n' | sort
	saquery -C vhca2 -m 2>/dev/null | grep -E 'PortGid|JoinState' | sort
}

# survives N M: the manager at adapter N is killed, and M's takes over from it.
survives() {
	groups >/tmp/groups.before
	[ -s /tmp/groups.before ] || fail "no groups"
	ibsmctl state export /var/lib/ibsm/$(port_guid $2)/state.db | grep -c '"mgid"' >/tmp/kept
	[ $(cat /tmp/kept) = $(grep -c MGID /tmp/groups.before) ] || fail "the standby keeps $(cat /tmp/kept) groups"
	ip netns exec ns2 ping -q -i 0.01 -c 400 -W 2 10.0.0.4 >/tmp/ping.out 2>&1 &
	pinging=$!
	sleep 1
	from=$(now)
	kill -KILL $(cat /tmp/pid$1)
	within 5 in_state $2 MASTER || fail "the manager at adapter $2 does not take over"
	took=$(($(now) - from))
	echo "killed: adapter $2 is master after $took ms"
	[ $took -le 2000 ] || fail "too slow"
	wait $pinging
	grep 'packet loss' /tmp/ping.out
	grep -q ' 0% packet loss' /tmp/ping.out || fail "packets were lost"
	within 5 whole || fail "not whole"
	groups >/tmp/groups.after
	diff /tmp/groups.before /tmp/groups.after || fail "groups are not what they were"
	echo "$(grep -c MGID /tmp/groups.after) groups are as they were"
}

cp /dev/null /tmp/sm.log
run 0 5
within 20 in_state 0 MASTER && within 20 whole || fail "the fabric did not come up"
run 1 3
within 10 mirrors 1 || fail "the second does not mirror the first"
ipoib 2 10.0.0.3
ipoib 3 10.0.0.4
within 20 ip netns exec ns2 ping -c 1 -W 1 10.0.0.4 || fail "the hosts do not talk"
sleep 3
for n in 0 1; do
	ibsmctl --socket /tmp/ctl$n sms >/tmp/sms.out
	grep 'rules when the master dies, mirrors what is registered *$' /tmp/sms.out || fail "ibsmctl sms at adapter $n: $(cat /tmp/sms.out)"
done
survives 0 1
rm -f /tmp/sm0.log
run 0 2
within 10 mirrors 0 || fail "the first does not mirror the second"
survives 1 0
