# Helpers for the scripts here, which run in the rig's virtual machine beside the
# rig's own vm-lib.sh. The manager's log is /tmp/sm.log, what it prints /tmp/sm.out.

# start_sm [OPTION]...: ibsm in the background; its process is $sm.
start_sm() {
	ibsm -f /tmp/sm.log "$@" >>/tmp/sm.out 2>&1 &
	sm=$!
}

# fail TEXT...: end the script with what is known.
fail() {
	echo "FAIL: $*"
	for log in /tmp/sm*.log; do
		echo "$log:"
		tail -n 40 $log
	done
	tail -n 20 /tmp/sm.out
	tail -n 5 /tmp/fabricd.log
	fabric ports
	echo "FAIL: $*" # again: of a long text a test shows the end
	exit 1
}

# now: milliseconds since the machine started, in steps of ten.
now() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }

# within SECONDS COMMAND...: wait until the command succeeds.
within() {
	local end=$(($(now) + $1 * 1000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $(now) -lt $end ] || return 1
		sleep 0.02
	done
}

# unplug, plug: the adapters with the fabric behind them, by their driver. nodes makes the
# device files as udev does.
unplug() {
	kill $(pidof fabricd)
	within 5 sh -c '! pidof fabricd' || fail "fabricd does not end"
	rmmod vhca || fail "rmmod vhca"
}
plug() {
	insmod /mods/vhca.ko hcas=4
	nodes
	fabricd -net /etc/fabric.net >>/tmp/fabricd.log 2>&1 &
	within 5 fabric ports || fail "fabricd does not answer"
}
nodes() {
	local d n
	within 5 test -e /sys/class/infiniband_mad/umad3/dev || fail "no devices"
	for d in /sys/class/infiniband_mad/*/dev; do
		n=$(basename "$(dirname "$d")")
		rm -f /dev/infiniband/$n
		mknod /dev/infiniband/$n c $(tr : ' ' <$d)
	done
}

# waits REASON: the last thing that the manager printed is that it waits for its port.
waits() { tail -n 1 /tmp/sm.out | grep -q "waiting for the port: umad: $1"; }

# active N...: whether these adapters' ports are ACTIVE.
active() {
	local n
	for n in "$@"; do
		case $(port_state $n) in *ACTIVE*) ;; *) return 1 ;; esac
	done
}

# paths N...: whether every one of these adapters reaches every other.
paths() {
	local a b
	for a in "$@"; do
		for b in "$@"; do
			[ $a = $b ] || [ "$(fabric path $a $b)" = ok ] || return 1
		done
	done
}

# whole: whether all four adapters are ACTIVE and reach each other.
whole() { active 0 1 2 3 && paths 0 1 2 3; }

# content: whether fabcheck, which asks the SA too, finds nothing.
content() { fabcheck >/tmp/fabcheck.out 2>&1 && grep -q 'SA answers' /tmp/fabcheck.out; }

# snapshot FILE [OPTION]...: what fabcheck reads of the whole fabric, with its options. It shows one M_Key to all agents: meanwhile the console
# has all agents at protection level 1, again and again, since the manager protects them in its sweeps.
snapshot() {
	local file=$1 opener n status
	shift
	: >/tmp/letting-in
	while [ -e /tmp/letting-in ]; do
		fabric keys | sed -n 's/\(.*\) mkey \(.*\) level [23] lease \([0-9]*\) .*/\1 0x\2 1 \3/p' >/tmp/to-open
		while read -r n; do fabric set-key $n; done </tmp/to-open
		cat /tmp/to-open >>/tmp/opened
		sleep 0.3
	done &
	opener=$!
	sleep 2
	for n in 1 2 3; do
		fabcheck -C vhca0 --no-check --snapshot $file "$@" >/tmp/fabcheck.out 2>&1
		status=$?
		[ $status != 0 ] || break
	done
	rm /tmp/letting-in
	wait $opener
	fabric keys | while read -r n _ key _ level _ lease _; do
		grep -q "^$n 0x$key 1 " /tmp/opened && [ $level = 1 ] && fabric set-key $n 0x$key 2 $lease
	done
	[ $status = 0 ] || fail "fabcheck: $(cat /tmp/fabcheck.out)"
}

# all TEXT: whether fabric keys shows the text at each of the 8 agents of failover.net. different: whether each has another M_Key.
# none_of_before: whether none has one of those in /tmp/former. downed: how often links of the switches were down.
all() { [ $(fabric keys | grep -c "$1") = 8 ]; }
different() { [ "$(fabric keys | sort -u -k 3,3 | wc -l)" = 8 ]; }
none_of_before() { ! fabric keys | awk '{ print $3 }' | grep -qFf /tmp/former; }
downed() { for sw in sw1 sw2; do for p in 1 2 3 7 8; do fabric counters $sw $p | grep -i 'down'; done; done; }

# port_guid N: adapter N's port GUID, in a subnet of any prefix.
port_guid() { echo 0x$(cut -d : -f 5- /sys/class/infiniband/vhca$1/ports/1/gids/0 | tr -d :); }

# is_sm N: whether adapter N's port says that a subnet manager runs there.
is_sm() { [ $(($(cat /sys/class/infiniband/vhca$1/ports/1/cap_mask) & 2)) != 0 ]; }

# lids: the LIDs of all adapters.
lids() { cat /sys/class/infiniband/vhca?/ports/1/lid | tr '\n' ' '; }

# sound: the manager runs and has not panicked.
sound() {
	kill -0 $sm 2>/dev/null || fail "the manager has ended"
	! grep -q '^panic\|^fatal error\|^goroutine ' /tmp/sm.out || fail "the manager panicked"
}

# stop_sm [SIGNAL]: the manager ends within a second, or three where the host that emulates is busy, with status
# 0, and clears IsSM. Without a signal named it says how long that took.
stop_sm() {
	local from=$(now) status took
	kill -${1:-TERM} $sm
	wait $sm
	status=$?
	took=$(($(now) - from))
	[ $status = 0 ] || fail "the manager ended with status $status"
	[ $took -le 3000 ] || fail "the manager took $took ms to end"
	! is_sm ${at:-0} || fail "IsSM is still set"
	[ $# != 0 ] || echo "stopped in $took ms"
}

# host N: adapter N's IPoIB interface in a namespace of its own, with address 10.0.0.N+1.
host() { ipoib $1 10.0.0.$(($1 + 1)); }

# child N KEY ADDRESS: an interface of a partition beside host N's first one.
child() {
	ip -n ns$1 link add link ib$1 name ib$1.$2 type ipoib pkey 0x$2 || fail "child interface of P_Key 0x$2 at host $1"
	ip -n ns$1 addr add $3/24 dev ib$1.$2
	ip -n ns$1 link set ib$1.$2 up
}

# from N ADDRESS [INTERFACE]: whether host N is answered from the address.
from() { ip netns exec ns$1 ping -c 1 -W 1 ${3:+-I $3} $2; }

# unreachable N ADDRESS [INTERFACE]: whether none of some attempts is answered.
unreachable() { ! ip netns exec ns$1 ping -c 4 -i 0.3 -W 1 ${3:+-I $3} $2 >/dev/null 2>&1; }

# mtu_of N INTERFACE: of the interface's link.
mtu_of() { ip -n ns$1 link show $2 | sed -n 's/.* mtu \([0-9]*\) .*/\1/p'; }

# group MGID: the group's record as saquery prints it, in one line; what IPv4's broadcast
# groups are called begins with ff12:401b.
group() { saquery -C vhca3 -g | awk -v want="$1" '/^MCMemberRecord/ { if (r ~ want " ") print r; r = "" } { gsub(/[ \t]+|[.][.]+/, " "); r = r " " $0 } END { if (r ~ want " ") print r }'; }

# of_group MGID TEXT...: each text is in the group's record.
of_group() {
	local record=$(group $1) text
	shift
	for text in "$@"; do
		case $record in *"$text"*) ;; *) fail "no $text in $record" ;; esac
	done
}

# in_state N STATE: what the manager at adapter N, or OpenSM, entered last, by its log
# /tmp/smN.log.
in_state() { grep -h 'Entering .* state' /tmp/sm$1.log | tail -n 1 | grep -q "$2"; }

# records QUERY: what saquery prints for the query, one record a line.
records() {
	saquery -C vhca3 --smkey 1 $1 >/tmp/table || return 1
	awk '/dump:/ && !/Info dump:/ { if (r) print r; r = $1 " " $2; next } { gsub(/[ \t]+/, " "); r = r " |" $0 } END { if (r) print r }' /tmp/table
}

# registered: all that the SA says is registered, a record a line, but for groups that
# hosts only send to, which come and go.
registered() {
	for query in -g -m -S -I; do
		records $query || return 1
	done | grep -v 'ffff::16 \|ffff::2 ' | sort
}
settled() { registered >/tmp/settled.1 && sleep 1 && registered >/tmp/settled.2 && cmp /tmp/settled.1 /tmp/settled.2; }

# register: the hosts talk, two of them have services and subscriptions, too, and all that
# is registered is in /tmp/settled.1.
register() {
	within 60 ip netns exec ns2 ping -c 1 -W 1 10.0.0.5 || fail "the hosts do not talk"
	local n
	for n in 2 5; do
		saclient $(port_guid $n) || fail "host $n cannot register"
	done
	within 60 settled || fail "the hosts do not come to rest"
}

# ping_on [ADDRESS]: host 2 asks 10.0.0.5, or another one, every 10 ms. ping_off ends that; then $lost says how many
# packets were lost, of those up to the last that came: what is under way is not lost, nor what came to host 2 while ping
# was not scheduled and its socket was full.
ping_on() {
	/opt/ip netns exec ns2 /opt/ping -D -i 0.01 ${1:-10.0.0.5} >/tmp/ping.out 2>&1 & # a process of its own, which a signal reaches
	pinging=$!
}
ping_off() {
	local unread=$(/opt/ip netns exec ns2 cat /proc/net/icmp /proc/net/raw | awk '$NF ~ /^[0-9]+$/ { n += $NF } END { print n + 0 }')
	kill -INT $pinging
	wait $pinging
	[ $unread = 0 ] || echo "ping's socket was full for $unread packets"
	lost=$(sed -n 's/.* bytes from .*icmp_seq=\([0-9]*\) .*/\1/p' /tmp/ping.out |
		awk -v unread=$unread '!seen[$1]++ { n++ } $1 > last { last = $1 } END { n = last - n - unread; print (n > 0 ? n : 0) " of " last + 0 }')
}

# ctl N ARGUMENTS...: ibsmctl of the manager at adapter N.
ctl() {
	local n=$1
	shift
	ibsmctl --socket /tmp/ctl$n "$@"
}
# blue_partition [full]: /tmp/partitions.conf, in which hosts 2 and 4 are full members of blue, 0x12, and all but the managers limited ones of the default
# partition, or full ones.
blue_partition() {
	cat >/tmp/partitions.conf <<CONF
Default=0x7fff, ipoib: ALL=${1:-limited}, SELF=full;
blue=0x12, ipoib, defmember=full: $(port_guid 2), $(port_guid 4);
CONF
}
# blue_hosts: hosts 2 and 4 talk in blue, where 4 is 10.1.0.5.
blue_hosts() {
	local n
	for n in 2 4; do host $n; done
	child 2 8012 10.1.0.3
	child 4 8012 10.1.0.5
	within 60 from 2 10.1.0.5 || fail "blue: 2 and 4 do not talk"
}
