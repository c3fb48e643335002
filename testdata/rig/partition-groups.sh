# The file of the Red Hat guide to RDMA: a partition beside the default one, whose groups
# have the rate and the MTU of the file. A slower member is refused.
. /etc/rig-lib.sh
start_fabric 4
cp /etc/partitions-redhat.conf /tmp/partitions.conf
ibsmctl partitions check --strict /tmp/partitions.conf || fail "the guide's file"

start_sm -P /tmp/partitions.conf
within 20 whole || fail "the fabric did not come up"
from=$(now)
for n in 0 3; do
	host $n
	child $n 8002 10.2.0.$((n + 1))
done
within 20 from 0 10.0.0.4 || fail "ib0 does not ping"
within 20 from 0 10.2.0.4 || fail "ib0.8002 does not ping"
echo "both partitions ping $(($(now) - from)) ms after it began"
saquery -C vhca3 -g >/tmp/groups || fail "saquery -g"
of_group ff12:401b:ffff::ffff:ffff 'Mtu 0x84' 'Rate 0x83'
of_group ff12:401b:8002::ffff:ffff 'Mtu 0x84' 'Rate 0x87'
for dev in ib0 ib0.8002; do
	[ "$(mtu_of 0 $dev)" = 2044 ] || fail "$dev has MTU $(mtu_of 0 $dev)"
done

# A partition with an MTU of 4 KB, and one of 200 Gb/s, which is twice what ports have.
cat >>/tmp/partitions.conf <<'CONF'
large=0x0003, ipoib, rate=7, mtu=5, defmember=full: ALL;
fast=0x0004, ipoib, rate=18, mtu=4, defmember=full: ALL;
CONF
ibsmctl partitions apply || fail "apply"
for n in 0 3; do
	child $n 8003 10.3.0.$((n + 1))
	child $n 8004 10.4.0.$((n + 1))
done
within 20 from 0 10.3.0.4 || fail "ib0.8003 does not ping"
of_group ff12:401b:8003::ffff:ffff 'Mtu 0x85'
[ "$(mtu_of 0 ib0.8003)" = 4092 ] || fail "ib0.8003 has MTU $(mtu_of 0 ib0.8003)"
# A datagram that only a packet of 4 KB carries.
ip netns exec ns0 ping -c 1 -W 5 -M do -s 4064 10.3.0.4 || fail "4092 bytes"
mute 0 10.4.0.4 || fail "ports of 100 Gb/s joined a group of 200 Gb/s"
dmesg | grep -q 'ib[03].8004: multicast join failed for ff12:401b:8004:0000:0000:0000:ffff:ffff, status -22' || fail "the join was not refused: $(dmesg | tail -n 5)"
sound

# The manager restarted on what it left writes nothing.
stop_sm
start_sm -P /tmp/partitions.conf
within 20 grep -q 'SUBNET UP.*sets=none' /tmp/sm.log || fail "a restart writes"
within 5 from 0 10.2.0.4 || fail "ib0.8002 does not ping after a restart"
stop_sm
