# ibsm on a real umad device: the fabric comes up, and programs of others agree.
. /etc/rig-lib.sh
start_fabric 4

# What stands in the way is said in one line.
ibsm -o -g 0x1 -f /tmp/none.log 2>&1 | grep -q 'error: umad: no port with GUID 0x0000000000000001: ' || fail "a GUID that is not there"
chmod 600 /dev/infiniband/*
echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
chmod 755 / /bin
su -s /bin/sh nobody -c 'ibsm -f /tmp/nobody.log' 2>/tmp/refused
grep -q 'error: umad: vhca0 port 1: open /dev/infiniband/umad0: permission denied (EACCES): run as root' /tmp/refused || fail "no permission: $(cat /tmp/refused)"

start_sm
within 20 whole || fail "the fabric did not come up"
grep 'SUBNET UP' /tmp/sm.log | head -n 1
grep -q 'SUBNET UP' /tmp/sm.out || fail "SUBNET UP was not printed"
is_sm 0 || fail "IsSM is not set"
sleep 1

sminfo | tee /tmp/sminfo
grep -q SMINFO_MASTER /tmp/sminfo || fail "sminfo"
ibnetdiscover >/tmp/topology 2>/dev/null || fail "ibnetdiscover"
[ "$(grep -c '^Switch\|^Ca' /tmp/topology)" = 6 ] || fail "ibnetdiscover does not see 6 nodes"
! grep '^\[.*(' /tmp/topology | grep 'lid 0' || fail "ibnetdiscover sees a port without LID"
saquery -c || fail "saquery ClassPortInfo"
# By GUID: the LID comes from a PathRecord, asked through the kernel.
for n in 1 2 3; do
	smpquery -G nodeinfo $(port_guid $n) | grep -q "NodeType.*Channel Adapter" || fail "smpquery by GUID, adapter $n"
done
content || fail "fabcheck: $(cat /tmp/fabcheck.out)"

# Another manager on the port is refused, with the process that has it; a dry run is not.
! ibsm -f /tmp/second.log >/tmp/second.out 2>&1 || fail "a second manager runs at the port"
grep -q "error: umad: the port is in use: process $sm (ibsm)" /tmp/second.out || fail "second manager: $(cat /tmp/second.out)"
ibsm --dry-run | tee /tmp/dry
grep -q 'Sets would be sent; nothing was written' /tmp/dry || fail "a dry run beside the manager"
before=$(lids)
sound
stop_sm

# The next one takes the port and moves nothing.
rm /tmp/sm.out
start_sm
within 30 grep -q 'SUBNET UP' /tmp/sm.out || fail "the next manager did not take the port"
[ "$(lids)" = "$before" ] || fail "LIDs moved: $before, then $(lids)"
is_sm 0 || fail "IsSM is not set"
content || fail "fabcheck: $(cat /tmp/fabcheck.out)"
stop_sm INT
