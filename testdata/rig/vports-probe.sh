# How an adapter addresses its virtual functions: ibsmctl vports probe names each layout that the fabric can have, with no
# manager and beside OpenSM, whether meaningless bits of a modifier are refused or not, and sends no Set.
. /etc/rig-lib.sh
start_fabric 4
for a in 1 2 3; do fabric functions $a 4; done
dev_nodes

# probe PORT: in all layouts.
named=0
probe() {
	local layout
	for layout in high low mixed "high lax" "low lax" "mixed lax"; do
		fabric vport-layout $layout
		ibsmctl vports probe $1 --device vhca0 >/tmp/probe 2>&1
		if [ "$(tail -n 1 /tmp/probe)" = "The port has layout ${layout%% *}." ]; then
			named=$((named + 1))
		else
			echo "layout $layout, port $1:"
			cat /tmp/probe
		fi
	done
}
probe 0,1,2
sets=$(fabric count | grep -c '^02')
opensm -B -f /tmp/opensm.log >/tmp/opensm.out 2>&1
within 120 active 0 1 2 3 || fail "not all ports are ACTIVE"
probe $(($(cat /sys/class/infiniband/vhca1/ports/1/lid)))
probe $(port_guid 1)
echo "ibsm: named $named of 18, kinds of Sets without a manager $sets"
