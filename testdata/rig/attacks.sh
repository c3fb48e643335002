# What a tenant who is root on a host does to others: with Debian's tools, with OpenSM, and with packets of its own through the
# kernel. With MANAGER=opensm to the fabric of OpenSM; else to that of ibsm with security open, and with security tenants after a
# reload. A line "attack: NAME | FABRIC | yes or no | REASON" says whether the attack reaches its aim, and with tenants the
# reason for which ibsmctl security offenders names the tenant's port. docs/security.md has these lines in a table. With tenants nothing
# in the fabric changes, and no packet of other hosts is lost. Start with failover.net beside this script.
. /etc/rig-lib.sh
start_fabric 6
master=0 standby=1 tenant=3

# run N PRIORITY: a manager at adapter N. Its log is /tmp/smN.log, its process in /tmp/pidN.
run() {
	mkdir -p /tmp/dir$1
	case $MANAGER in
	opensm) OSM_CACHE_DIR=/tmp/dir$1 OSM_TMP_DIR=/tmp/dir$1 opensm -F /tmp/sm.conf -g $(port_guid $1) -p $2 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 & ;;
	*) OSM_CACHE_DIR=/tmp/dir$1 ibsm --ctl_socket /tmp/ctl$1 -F /tmp/sm.conf -g $(port_guid $1) -p $2 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 & ;;
	esac
	echo $! >/tmp/pid$1
}
up() { active 0 1 2 3 4 5 && paths 0 1 2 4 5; }
settled_managers() { in_state $master MASTER && in_state $standby STANDBY && up; }
lid_of() { fabric ports | sed -n "s,^$1 .* lid \([0-9]*\) .*,\1,p"; }
hex() { printf "%0$1x" $2; }
gid() { echo fe80000000000000$(port_guid $1 | cut -c3-); }

# What the tenant uses. Its packets take the way through its kernel.
say() { echo "$*" >>/tmp/said; }
tool() {
	"$@" >/tmp/answer 2>&1
	local status=$?
	say "$* : $status"
	cat /tmp/answer >>/tmp/said
	return $status
}
shows() { # TEXT COMMAND...
	local text=$1
	shift
	tool "$@"
	grep -q "$text" /tmp/answer
}
sends() { shows 'method 0x.. status 0x0000' fabricd -send "$tenant $*"; }
query() { shows 'dump:' saquery -C vhca$tenant -t $((patience * 60)) "$@"; }

# attack NAME REASON COMMAND...: whether the command, which the tenant gives, reaches its aim.
attack() {
	local name=$1 reason=$2 gains=no
	shift 2
	: >/tmp/said
	"$@" && gains=yes
	echo "attack: $name | $MANAGER | $gains | ${reason:-nobody}"
	tail -n 3 /tmp/said | cut -c 1-150
	[ $MANAGER != tenants ] || [ $gains = no ] || [ -z "$reason" ] || fail "with tenants this works: $name; $(cat /tmp/said)"
}
# names REASON...: the tenant's port is an offender for each of them, more often than when this was asked last.
offenders() { ibsmctl --socket /tmp/ctl$master security offenders 2>&1; }
names() {
	[ $MANAGER = tenants ] || return 0
	local reason
	offenders | grep "^$(port_guid $tenant) " | sed 's/  *[0-9]*-[0-9]*-.*//; s/  *SMP with.*//' >/tmp/offenders
	for reason in "$@"; do
		grep " $reason  *[0-9]*\$" /tmp/offenders | grep -qvxFf /tmp/offenders.last || return 1
	done
	cp /tmp/offenders /tmp/offenders.last
}
names_soon() { within 30 names "$@" || fail "the tenant is not named for all of $*; $(cat /tmp/offenders.last; offenders; fabric traps)"; }
echo none >/tmp/offenders.last

# Aims. What works is waited for longer.
patience=30
[ $MANAGER != tenants ] || patience=4
table() { # ADDRESS BYTE: a forwarding table has this port for LIDs that nobody has
	sends class=smp $1 method=set attr=0x19 mod=1 data=$(printf "$2%.0s" $(seq 64))
	shows "data $2$2" fabricd -send "$tenant class=smp $1 attr=0x19 mod=1"
}
keys_of_port() { # ADDRESS: the tenant's switch port lets the other tenant's partition in
	sends class=smp $1 method=set attr=0x16 mod=0x30000 data=ffff8012
	fabric ports | grep '^sw1/3 ' | grep -q 8012 || return 1
	sends class=smp $1 method=set attr=0x16 mod=0x30000 data=ffff0000
}
port_down() { # ADDRESS
	sends class=smp $1 method=set attr=0x15 mod=3 at=97:30 # Disabled
	sleep 1
	active 5 && return 1
	fabric up sw2 3 # by hand: the rig has no way back from Disabled by an SMP
	within 40 active 5 || fail "the link of adapter 5 does not come back"
}
states() { grep -c 'Entering \(NOT.*\|MASTER\) state' /tmp/sm$standby.log; } # a lost poll has others
leaves_state() { [ $(states) -gt $1 ]; }
control() { # MODIFIER: to the standby, by LID and by directed route, with guessed keys
	local key to was=$(states)
	for key in 0 1 $(head -c 8 /dev/urandom | hexdump -v -e '"0x" 8/1 "%02x"'); do
		for to in dlid=$stands dr=0,1,7,1; do
			sends class=smp $to method=set attr=0x20 mod=$1 data=$(port_guid $master | cut -c3-)$(printf %016x $key)00000009f3 wait=300ms
		done
	done
	within 5 leaves_state $was || return 1
	[ $1 = 1 ] || sends class=smp dlid=$stands method=set attr=0x20 mod=4 data=$(port_guid $master | cut -c3-)000000000000000100000009f3
	within 90 settled_managers || fail "the managers do not come to rest"
}
# memberships N, services N: what the SA says to the managers that adapter N's port has. No answer is not none.
listed() { saquery -C vhca$master --smkey $sa_key $1 >/tmp/listed; }
memberships() { within 30 listed MCMR; grep -c "PortGid.*fe80::2:5500:ca00:${1}1" /tmp/listed; }
services() { within 30 listed SR; grep -c "ServiceGID.*fe80::2:5500:ca00:${1}1" /tmp/listed; }
membership() { sends class=sa method=$1 attr=0x38 mask=0x10003 data=ff12401bffff000000000000ffffffff$(gid $2) at=104:01; }
joins() {
	local was=$(memberships 5)
	membership set 5
	[ $(memberships 5) -gt $was ]
}
leaves() {
	local was=$(memberships 2)
	membership delete 2
	[ $(memberships 2) -lt $was ]
}
serves() {
	local was=$(services 5)
	sends class=sa method=set attr=0x31 mask=0x17 data=00000000000000aa$(gid 5)ffff0000ffffffff
	[ $(services 5) -gt $was ]
}
unserves() {
	local was=$(services 2)
	sends class=sa method=delete attr=0x31 mask=0x7 data=$(port_guid 2 | cut -c3-)$(gid 2)ffff
	[ $(services 2) -lt $was ]
}
sweeps() { grep -c 'SUBNET UP' /tmp/sm$master.log; }
sweeps_more() { [ $(sweeps) -gt $1 ]; }
trapped() { # DATA, as often as an agent that gets no TrapRepress: a busy guest may lose a packet
	local was=$(sweeps) left
	for left in $(seq $(((patience + 4) / 5))); do
		tool fabricd -send "$tenant class=smp dlid=$sm method=trap attr=2 data=$1"
		within 5 sweeps_more $was && return
	done
	return 1
}
usurps() {
	mkdir -p /tmp/usurper
	rm -f /tmp/usurper/log
	OSM_CACHE_DIR=/tmp/usurper OSM_TMP_DIR=/tmp/usurper opensm -p 15 -g $(port_guid $tenant) -f /tmp/usurper/log >/tmp/said 2>&1 &
	local usurper=$! gains=1
	within $((4 * patience)) follows $tenant && gains=0
	cat /tmp/usurper/log >>/tmp/said
	sleep 3
	kill $usurper
	wait $usurper
	[ $gains = 1 ] || within 120 settled_managers || fail "the managers do not come to rest"
	return $gains
}
follows() { [ $(($(cat /sys/class/infiniband/vhca2/ports/1/sm_lid))) = $(($(cat /sys/class/infiniband/vhca$1/ports/1/lid))) ]; }

blue_partition full
printf 'partition_config_file /tmp/partitions.conf\n' >/tmp/sm.conf
sa_key=1
if [ $MANAGER = tenants ]; then
	ibsmctl security new /tmp/keys || fail "no secret"
	eval $(ibsmctl security show /tmp/keys | tr ' ' =)
	blue_partition
	printf 'security tenants\nkeys_file /tmp/keys\nsa_rate_threshold 50\n' >>/tmp/sm.conf
fi
run $master 8
within 60 in_state $master MASTER && within 60 up || fail "the fabric did not come up"
# A standby that has never seen the subnet knows it by the files of the master: otherwise it asks to be let in.
protected() { [ $(fabric keys | grep -c 'level 2 lease 60') = 8 ]; }
if [ $MANAGER = tenants ]; then
	within 60 protected || fail "ports without an M_Key: $(fabric keys)"
	within 20 test -s /tmp/dir$master/guid2mkey || fail "no guid2mkey"
	mkdir /tmp/dir$standby
	cp /tmp/dir$master/guid2mkey /tmp/dir$master/neighbors /tmp/dir$standby/
fi
run $standby 3
within 60 settled_managers || fail "the other does not stand by"
host 3
blue_hosts
saclient $(port_guid 2) || fail "host 2 cannot register a service of its own"
sm=$(lid_of hca$master/1) stands=$(lid_of hca$standby/1) host2=$(lid_of hca2/1) sw1=$(lid_of sw1/0) sw2=$(lid_of sw2/0)

if [ $MANAGER = tenants ]; then
	protected || fail "a standby that knows the subnet had ports opened: $(fabric keys)"
	snapshot /tmp/before -x $sa_key
	ping_on 10.1.0.5
fi
echo "begins at $(now)"

attack "\`smpquery pkeys\` of another host" "trap 256" shows 0x8012 smpquery -C vhca$tenant -t 300 pkeys $host2
attack "\`smpquery pkeys\` of a switch port" "trap 256" shows 0x8012 smpquery -C vhca$tenant -t 300 pkeys $sw1 2
attack "\`smpquery -K portinfo\` of another host" "trap 256" shows Mkey smpquery -C vhca$tenant -t 300 -K portinfo $host2
attack "\`smpquery -D portinfo\` of a switch port" "trap 256" shows LinkState smpquery -C vhca$tenant -t 300 -D portinfo 0,1,7 2
for q in NR MCMR "PKTR $host2/1/0" SR; do
	attack "\`saquery ${q%% *}\`" untrusted query $q
	attack "\`saquery --smkey 1 ${q%% *}\`" "bad SM_Key" query --smkey 1 $q
done
names_soon "trap 256" untrusted "bad SM_Key"
attack "Set(LinearForwardingTable) by LID" "trap 256" table dlid=$sw2 05
attack "Set(LinearForwardingTable) by directed route" "trap 256" table dr=0,1,7 06
attack "Set(P_KeyTable) by LID" "trap 256" keys_of_port dlid=$sw1
attack "Set(P_KeyTable) by directed route" "trap 256" keys_of_port dr=0,1
attack "Set(PortInfo) by LID, as of \`ibportstate LID PORT disable\`" "trap 256" port_down dlid=$sw2
attack "Set(PortInfo) by directed route" "trap 256" port_down dr=0,1,7
names_soon "trap 256"
attack "Set(SMInfo) DISABLE to the standby with guessed keys" control control 3
attack "Set(SMInfo) HANDOVER to the standby with guessed keys" control control 1
attack "a join in another host's name" untrusted joins
attack "a leave in another host's name" untrusted leaves
attack "a service in another host's name" untrusted serves
attack "Delete of another host's service" untrusted unserves
attack "trap 128 in a switch's name" trap trapped 840000020080$(hex 4 $sw2)0000$(hex 4 $sw2)
attack "trap 144 in another host's name" trap trapped 840000010090$(hex 4 $host2)00000000$(hex 4 $host2)0000
attack "\`opensm -p 15\`" "trap 256" usurps
[ $MANAGER = tenants ] || exit 0
names_soon untrusted trap "trap 256"

# With the M_Key of its own port, that the tenant sees in the TrapRepress to a trap of its own: its agent takes that as one with its M_Key,
# to a trap that it has not sent.
own=$(lid_of hca$tenant/1)
represses() { fabric traps | sed -n 's/^raised .* unmatched \([0-9]*\) .*/\1/p'; }
repressed() { [ $(represses) -gt $1 ]; }
was=$(represses)
fabric inject $tenant class=smp dlid=$sm method=trap wait=0 attr=2 data=840000010090$(hex 4 $own)00000000$(hex 4 $own)0000
within 20 repressed $was || fail "no TrapRepress with the port's M_Key: $(fabric traps)"
key=0x$(fabric keys | sed -n "s/^hca$tenant mkey \([0-9a-f]*\) .*/\1/p")
attack "Set(PortInfo) with the M_Key of its own port" "trap 256" port_down "dlid=$sw2 mkey=$key"

# A flood, and whether others are answered meanwhile. All adapters of the rig share one queue to the fabric, which is as long as the flood: how long an
# answer takes says nothing.
from=$(now)
(for n in 1 2; do fabricd -send "$tenant class=sa attr=1 count=10000 wait=0" & done; wait; echo $(($(now) - from)) >/tmp/took) >/tmp/flood &
flood=$!
answered=0
for n in $(seq 10); do
	fabricd -send "4 class=sa attr=1 wait=10s" >/tmp/asked
	grep -q 'status 0x0000' /tmp/asked && answered=$((answered + 1)) || echo "request $n, $(($(now) - from)) ms after the flood began: $(cat /tmp/asked)"
done
wait $flood
names_soon "trap 256" "rate limit"
ping_off
snapshot /tmp/after -x $sa_key
for f in before after; do grep -v '^sm ' /tmp/$f >/tmp/$f.fabric; done # who answers SMInfo in time is no state
diff /tmp/before.fabric /tmp/after.fabric >/tmp/diff && changed=nothing || changed=$(wc -l </tmp/diff)
cat /tmp/diff
offenders
kill -0 $(cat /tmp/pid$master) && kill -0 $(cat /tmp/pid$standby) && settled_managers || fail "a manager has suffered"

# What the M_Key of its own port is good for: the port's own P_Key table. No switch drops what a limited member sends as a full one.
own_table() { sends class=smp dr=0 method=set attr=0x16 mod=0 mkey=$key data=ffff; }
reaches() { sends class=pm dlid=$host2 attr=1; }
! reaches || fail "limited members reach each other"
raises() {
	own_table
	reaches
}
attack "full membership of a partition that it is a limited member of, by the table of its own port" "" raises
echo "flood: 20000 requests in $(cat /tmp/took) ms"
echo "ibsm: under attack $changed has changed; lost $lost; of 10 requests in a flood $answered were answered"
