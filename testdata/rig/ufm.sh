# UFM's calls, as ib-kubernetes makes them, while the master is killed at once after its answer, six times: the next
# master lists a port that was added, and its child interface works; it does not list a port that was removed, and that
# is out of the partition. Two other hosts of the partition reach each other all the time. Start with failover.net beside
# this script. index0 is false, unlike for virtual functions: the hosts' first interfaces use index 0.
. /etc/rig-lib.sh
start_fabric 6
ip link set lo up

# run N PRIORITY: ibsm at adapter N, without a partition file, with the API at port 844N. Its log is /tmp/smN.log, its
# process in /tmp/pidN.
run() {
	: >/tmp/sm$1.log
	ibsm --ctl_socket /tmp/ctl$1 -F /tmp/ibsm.conf -g $(port_guid $1) -p $2 -f /tmp/sm$1.log \
		--api_addr 127.0.0.1:844$1 --api_audit_file /tmp/audit$1.log >>/tmp/sm.out 2>&1 &
	echo $! >/tmp/pid$1
	sm=$!
}
printf 'master_sm_priority 14\nsm_key 0x5ec\napi_users_file /tmp/users.toml\n' >/tmp/ibsm.conf
echo 'a good password' | ibsmctl api user add k8s --role operator --password-stdin --file /tmp/users.toml || fail "user"

# call N METHOD PATH [BODY]: a call to the manager at adapter N, which may take as long as clients wait, $patience seconds.
# The status is $status, the body in /tmp/reply.
patience=10
call() {
	status=$(curl -sS -m $patience --cacert /var/lib/ibsm/api/api.crt -u 'k8s:a good password' -X $2 ${4:+--data "$4"} \
		-H 'Content-Type: application/json; charset=utf-8' -o /tmp/reply -w '%{http_code}' \
		https://localhost:844$1/ufmRest/$3 2>/tmp/curl.out)
}
# knows N: the manager at adapter N has checked the password, which takes seconds on a busy host that emulates processors.
knows() {
	patience=60
	call $1 GET app/ufm_version
	patience=10
	[ "$status" = 200 ] || fail "ufm_version at $1: status $status, $(cat /tmp/reply /tmp/curl.out; tail -n 3 /tmp/sm$1.log)"
}
# change N PATH BODY: a change at the master, which succeeds. As ib-kubernetes does, it is repeated every 5 s as long as it has
# status 503: where a busy host does not run the standby, or write to the disk, for two seconds.
change() {
	for again in 1 2 3 4 5 6; do
		call $1 POST $2 "$3"
		[ "$status" = 503 ] || break
		sleep 5
	done
	[ "$status" = 200 ] || fail "POST $2 $3 at $1: status $status, $(cat /tmp/reply /tmp/curl.out)"
}
digits() { port_guid $1 | cut -c 3-; }
# list N HOST...: /tmp/reply is the list of the manager at adapter N, and the partition has exactly these hosts.
list() {
	local n=$1 want
	shift
	call $n GET 'resources/pkeys/?guids_data=true'
	[ "$status" = 200 ] || fail "GET at $n: status $status, $(cat /tmp/reply /tmp/curl.out)"
	want=$(for h in "$@"; do digits $h; done | sort | tr '\n' ' ')
	got=$(sed 's/.*"0x2fb": //; s/\]}.*//' /tmp/reply | grep -o '"guid": "[0-9a-f]*"' | cut -d '"' -f 4 | sort | tr '\n' ' ')
	[ "$got" = "$want" ] || fail "the manager at $n lists $got, want $want: $(cat /tmp/reply)"
}
follows() { grep -q 'mirroring the client registrations of the master' /tmp/sm$1.log; }

# killed: the master $m is killed, and the standby $o takes over. It lists the hosts that are named at once and as master.
killed() {
	kill -9 $(cat /tmp/pid$m)
	list $o "$@"
	within 30 in_state $o MASTER || fail "the manager at $o does not take over"
	list $o "$@"
}
# again: the killed manager at $m stands by, and the one at $o is master.
again() {
	run $m $((5 - m))
	within 60 in_state $m STANDBY || fail "the manager at $m does not stand by"
	within 30 follows $m || fail "the manager at $m does not mirror the master"
	in_state $o MASTER || fail "the manager at $o is no longer master"
	knows $m
	local was=$m
	m=$o o=$was
}
count() { total=$((total + ${lost#* of })) gone=$((gone + ${lost% of *})); }

m=1 o=0
run 1 5
within 60 in_state 1 MASTER || fail "the first is not master"
run 0 4
within 60 in_state 0 STANDBY || fail "the other does not stand by"
within 30 follows 0 || fail "the standby does not mirror the master"
within 20 active 0 1 2 3 4 5 || fail "the fabric did not come up"
for n in 2 3 4; do host $n; done

knows $m
knows $o
members() { # of a list of hosts, as a body
	local all
	for h in "$@"; do all="$all${all:+,}\"$(digits $h)\""; done
	echo "{\"pkey\": \"0x02FB\", \"index0\": false, \"ip_over_ib\": true, \"membership\": \"full\", \"guids\": [$all]}"
}
call $o POST resources/pkeys "$(members 2 3)"
[ "$status" = 503 ] || fail "a standby answers a change with status $status"
change $m resources/pkeys "$(members 2 3)"
for n in 2 3 4; do child $n 82fb 10.1.0.$n; done
within 30 from 2 10.1.0.3 || fail "2 does not reach 3"
unreachable 2 10.1.0.4 || fail "4, which is no member, is reached"

total=0 gone=0 added=0 removed=0
for round in 1 2 3; do
	ping_on 10.1.0.3
	within 5 grep -q 'bytes from' /tmp/ping.out || fail "ping does not begin"
	change $m resources/pkeys "$(members 4)"
	killed 2 3 4
	within 30 from 2 10.1.0.4 || fail "round $round: 4, which was added, is not reached"
	ping_off
	count
	added=$((added + 1))
	again

	ping_on 10.1.0.3
	within 5 grep -q 'bytes from' /tmp/ping.out || fail "ping does not begin"
	change $m actions/remove_guids_from_pkey "{\"pkey\": \"0x02FB\", \"guids\": [\"$(digits 4)\"]}"
	killed 2 3
	within 30 sh -c '! grep -q "^0x82fb$" /sys/class/infiniband/vhca4/ports/1/pkeys/*' ||
		fail "round $round: 4, which was removed, has the P_Key"
	unreachable 2 10.1.0.4 || fail "round $round: 4, which was removed, is reached"
	ping_off
	count
	removed=$((removed + 1))
	again
done
echo "ibsm: masters killed $((added + removed)), added ports listed and reached $added of 3, removed ports neither $removed of 3, others lost $gone of $total"
sound
