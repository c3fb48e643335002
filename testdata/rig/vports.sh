# Virtual functions of adapters 1, 2 and 3, two each, and one of adapter 0, where the manager is. Function 1 shares its
# adapter's LID and demands a GRH, function 2 has a LID of its own. 2.1 and 3.1 are tenant 1 (0x8001), 2.2 and 3.2 tenant
# 2 (0x8002), by their GUIDs. Under OpenSM, and without virt_enabled, all stay Down; with virt_enabled 2 all come up, in
# each layout of the attribute modifier, and the hosts talk by IPoIB over them. Then GUIDs move to other adapters.
. /etc/rig-lib.sh
bad=0 what_bad=
start_fabric 4
all="0.1 1.1 1.2 2.1 2.2 3.1 3.2"
functions() { # LAYOUT: all functions anew
	local a
	for a in 0 1 2 3; do fabric functions $a 0; done
	fabric vport-layout $1
	fabric functions 0 1
	for a in 1 2 3; do
		fabric functions $a 2
		fabric function $a 2 lid own
	done
	within 20 each there || fail "no devices of functions"
	dev_nodes
}
each() { # COMMAND: for each function N K
	local f
	for f in $all; do "$@" ${f%.*} ${f#*.} || return 1; done
}
there() { [ -e /sys/class/infiniband/vhca$1f$2/ports/1/state ]; }
down() { fn_state $1 $2 | grep -q DOWN; }
ask() { fabric count | grep -c /ffb; }
wrong() {
	echo "BAD: $*"
	bad=$((bad + 1))
	what_bad="$what_bad; $*"
}
expect() { # WHAT WANTED COMMAND...
	local what=$1 want=$2 got
	shift 2
	got=$("$@" | head -n 1)
	[ "$got" = "$want" ] && echo "ok: $what: $got" || wrong "$what: $got, wanted: $want"
}
reach() { ip netns exec ns$1 ping -c 1 -W 2 $2 >/dev/null 2>&1; }
pings() { # FROM ADDRESS WHAT [SECONDS]
	within ${4:-20} reach $1 $2 && echo "ok: ping $3" || wrong "ping $3"
}
never() { # FROM ADDRESS WHAT
	if reach $1 $2 || reach $1 $2; then wrong "$3"; else echo "ok: not: $3"; fi
}
keys() { # N K: the P_Keys of its table, without the empty entries
	echo $(cat /sys/class/infiniband/vhca$1f$2/ports/1/pkeys/[0-9] | grep -v 0x0000)
}
lid() { cat /sys/class/infiniband/vhca$1f$2/ports/1/lid; }
hops() { # SGUID DGUID: HopLimit of the path between two GUIDs
	saquery -C vhca0 --sgid $(gid $1) --dgid $(gid $2) -p 2>&1 | sed -n 's/.*hop_flow_raw\.*0x\(.*\)/\1/p'
}
dlid() { # SGUID DGUID
	saquery -C vhca0 --sgid $(gid $1) --dgid $(gid $2) -p 2>&1 | sed -n 's/.*dlid\.*\([0-9]*\)$/\1/p'
}
gid() { echo $1 | sed 's/^0x\(....\)\(....\)\(....\)\(....\)$/fe80::\1:\2:\3:\4/'; }

# conf VIRT_ENABLED LAYOUT
conf() {
	cat >/tmp/sm.conf <<-CONF
	virt_enabled $1
	virt_modifier_layout $2
	partition_config_file /tmp/partitions.conf
	sweep_interval 5
	CONF
}

# moved WHAT N K ADDRESS [P_KEY ADDRESS]: the GUID and all that goes with it are at function N.K, since $start.
moved() {
	within 60 fn_active $2 $3 || fail "$1: function $2.$3 is $(fn_state $2 $3)"
	took="$(($(now) - start))"
	moves="$moves $took"
	expect "$1: P_Keys" "$kept" keys $2 $3
	[ $3 = 1 ] || expect "$1: LID" $lid lid $2 $3
	[ $3 = 2 ] || expect "$1: LID" $(cat /sys/class/infiniband/vhca$2/ports/1/lid) lid $2 $3
	within 20 fn_if $2 $3 || fail "$1: no interface of function $2.$3"
	ipoib_fn $2 $3 $4 $5 $6
	pings ${from:-2f1} $4 "$1" 60
	[ $3 = 1 ] || pings 2f2 $6 "$1: tenant 2" 60
	ping_off
	thirds="$thirds, $lost"
	case $lost in 0\ of\ [1-9]*) echo "ok: $1: ACTIVE after $took ms, another host lost $lost" ;; *) wrong "$1: another host lost $lost" ;; esac
}
# moves: GUIDs go from adapter 3 to adapter 1 and back, and come up there after they have left, at once, and before. Hosts
# 2 and 0 talk meanwhile.
moves() {
	local guid=$(fn_guid 3 2)
	lid=$(lid 3 2) kept="0xffff 0x8002"
	pings 2 10.0.0.1 "a third host"
	fabric function 1 2 guid 0 0
	ping_on 10.0.0.1
	fabric function 3 2 guid 0 0
	sleep 2
	start=$(now)
	fabric function 1 2 guid $guid
	moved "moved, before" 1 2 10.0.0.32 0x8002 10.0.1.32
	ping_on 10.0.0.1
	start=$(now)
	fabric move-guid 1 2 3 2
	moved "moved, at once" 3 2 10.0.0.32 0x8002 10.0.1.32
	ping_on 10.0.0.1
	start=$(now)
	fabric function 1 2 guid $guid
	within 30 fn_active 1 2 || fail "moved, after: function 1.2 is $(fn_state 1 2)"
	sleep 3
	fabric function 3 2 guid 0 0
	moved "moved, after" 1 2 10.0.0.32 0x8002 10.0.1.32
	kept="0xffff 0x8001" from=2f2 # Linux keeps a path that it has asked for, and this one has another LID now
	ping_on 10.0.0.1
	start=$(now)
	fabric move-guid 3 1 1 1
	moved "moved, shared LID" 1 1 10.0.0.31 0x8001 10.0.1.31
	expect "a path to it" $(($(cat /sys/class/infiniband/vhca1/ports/1/lid))) dlid $(fn_guid 2 2) $(fn_guid 1 1)
}

# Down.
functions high
cat >/tmp/partitions.conf <<-CONF
	Default=0x7fff, ipoib : ALL=full;
	t1=0x1, ipoib : $(fn_guid 2 1)=full, $(fn_guid 3 1)=full;
	t2=0x2, ipoib : $(fn_guid 2 2)=full, $(fn_guid 3 2)=full;
CONF
opensm -B -f /tmp/opensm.log >/tmp/opensm.out 2>&1
within 120 whole || fail "OpenSM does not bring the subnet up"
sleep 5
each down && echo "opensm: 7 of 7 functions are Down, kinds of requests about virtualization $(ask)" || fail "some are not Down"
[ $(ask) = 0 ] || wrong "OpenSM asks about virtualization"
kill $(pidof opensm)
within 10 sh -c '! pidof opensm' || fail "OpenSM does not end"
conf 0 high
start_sm -F /tmp/sm.conf
within 60 grep -q 'SUBNET UP' /tmp/sm.log || fail "no SUBNET UP"
sleep 5
each down && echo "virt_enabled 0: 7 of 7 functions are Down, kinds of requests about virtualization $(ask)" || fail "some are not Down"
[ $(ask) = 0 ] || wrong "ibsm asks about virtualization without virt_enabled"
stop_sm

# Up, in each layout.
for layout in high low mixed; do
	echo "layout $layout"
	[ $layout = high ] || functions $layout
	conf 2 $layout
	start=$(now)
	start_sm -F /tmp/sm.conf
	within 60 each fn_active || { fabric vports; fail "layout $layout: not all functions are ACTIVE"; }
	up="$up $(($(now) - start))"
	within 30 whole || fail "no paths between the ports"
	early=$(fabric vports | grep -c 'became active with')
	[ $early = 0 ] || wrong "$early functions were ACTIVE before they had their P_Keys"
	expect "P_Keys of 2.1" "0xffff 0x8001" keys 2 1
	expect "P_Keys of 2.2" "0xffff 0x8002" keys 2 2
	expect "P_Keys of 1.1" "0xffff" keys 1 1
	expect "LID of 2.1" $(cat /sys/class/infiniband/vhca2/ports/1/lid) lid 2 1
	[ $(lid 2 2) != $(lid 2 1) ] || wrong "2.2 has no LID of its own"
	expect "shared LID, GRH" ok fabric vpath 0 2.1
	expect "shared LID, no GRH" "ends at hca2" fabric vpath 0 2.1 nogrh
	expect "own LID" ok fabric vpath 0 2.2 nogrh
	expect "function to function" ok fabric vpath 2.1 3.2
	expect "within an adapter" ok fabric vpath 2.1 2.2
	expect "tenant 1" ok fabric vpath 2.1 3.1 0x8001
	expect "tenant 1 to tenant 2" "partition at vPort" fabric vpath 2.1 2.2 0x8001
	expect "a key of another tenant" "P_Key that the function does not have" fabric vpath 2.2 3.1 0x8001
	expect "HopLimit, shared to shared" 2 hops $(fn_guid 2 1) $(fn_guid 3 1)
	expect "HopLimit, port to own" 2 hops $(port_guid 0) $(fn_guid 3 2)
	expect "HopLimit, port to port" 0 hops $(port_guid 0) $(port_guid 3)
	for n in 0 1 2; do [ -e /sys/class/net/ib$n ] && host $n; done
	ipoib_fn 2 1 10.0.0.21 0x8001 10.0.1.21
	ipoib_fn 2 2 10.0.0.22 0x8002 10.0.1.22
	ipoib_fn 3 1 10.0.0.31 0x8001 10.0.1.31
	ipoib_fn 3 2 10.0.0.32 0x8002 10.0.1.32
	pings 2f1 10.0.0.31 "across, shared to shared" 60
	pings 2f2 10.0.0.32 "across, own to own"
	pings 2f1 10.0.0.32 "across, shared to own"
	pings 3f2 10.0.0.21 "across, own to shared"
	pings 2f1 10.0.0.22 "within adapter 2"
	pings 2f1 10.0.0.1 "a function to a port"
	pings 0 10.0.0.31 "a port to a function that shares its LID"
	pings 0 10.0.0.32 "a port to a function with a LID of its own"
	pings 2f1 10.0.1.31 "tenant 1 across"
	pings 2f2 10.0.1.32 "tenant 2 across"
	never 2f1 10.0.1.22 "tenant 1 reaches tenant 2 on its adapter"
	never 2f1 10.0.1.32 "tenant 1 reaches tenant 2"
	for f in "2 1" "3 1"; do # which share their LID: in, out
		set -- $f $(fabric vports ${f% *} | sed -n "s/^hca${f% *} vport ${f#* } .*; in \([0-9]*\) grh \([0-9]*\); out \([0-9]*\) grh \([0-9]*\).*/\1 \2 \3 \4/p")
		echo "function $1.$2: in $3, with a GRH $4; out $5, with a GRH $6"
		[ ${3:-0} -gt 4 ] && [ $3 = $4 ] && [ ${5:-0} -gt 4 ] && [ $5 = $6 ] || wrong "GRH of $1.$2"
		counted="$counted $6"
	done
	[ $layout != high ] || moves
	stop_sm
	mv /tmp/sm.log /tmp/log.$layout
done
fabric vports
fabric traps
fabric count | grep 'lost\|ffb'
dmesg | grep -i 'bug\|warn\|oops\|lockdep\|refcount' | head
echo "ibsm: OpenSM and virt_enabled 0 Down 7 of 7; layouts high, low, mixed: ACTIVE after$up ms, packets with a GRH$counted; GUIDs moved in$moves ms, another host lost${thirds#,}; wrong $bad$what_bad"
[ $bad = 0 ]
