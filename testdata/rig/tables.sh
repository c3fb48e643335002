# Tables of the SA: the kernel puts their segments together, and they say what OpenSM's
# say of the same fabric.
. /etc/rig-lib.sh
start_fabric 4

# records NAME MANAGER: the table as saquery prints it, one record a line, in a file. The
# managers differ in their order, in ActCount, and in ports that are down: OpenSM shows
# most of their fields as 0, ours as they were read.
records() {
	saquery -C vhca3 $1 >/tmp/table || fail "saquery $1 of $2"
	grep -v ActCount /tmp/table |
		awk '/Record dump:/ { if (r) print r; r = $1; next } { gsub(/[ \t]+/, " "); r = r " |" $0 } END { print r }' |
		sed '/LinkState:[.]*Down/d' | sort >/tmp/$1.$2
}
kinds="NR PIR LR PR SMIR"

opensm -B -f /tmp/opensm.log >/dev/null
within 30 whole || fail "OpenSM did not bring the fabric up"
sleep 1
for kind in $kinds; do records $kind opensm; done
kill $(pidof opensm)
while pidof opensm >/dev/null; do sleep 0.1; done

start_sm
within 20 grep -q 'SUBNET UP' /tmp/sm.out || fail "the fabric was not taken over"
for kind in $kinds; do
	records $kind ibsm
	echo "$kind: $(wc -l </tmp/$kind.ibsm) records"
	diff /tmp/$kind.opensm /tmp/$kind.ibsm >/tmp/differs || fail "$kind: $(tr '|' '\n' </tmp/differs)"
done
[ "$(wc -l </tmp/PR.ibsm)" = 36 ] || fail "paths between 6 ports"
[ "$(saquery -C vhca3 -N | grep -c NodeRecord)" = 6 ] || fail "saquery -N"
# What matches nothing is an empty table, not an error.
saquery -C vhca3 NR 99 || fail "an empty table"
sound
stop_sm
