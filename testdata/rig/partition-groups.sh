# The file of the Red Hat guide to RDMA: a partition beside the default one, whose groups
# have the rate and the MTU of the file. A slower member is refused.
. /etc/rig-lib.sh
start_fabric 4
cp /etc/partitions-redhat.conf /tmp/partitions.conf
ibsmctl partitions check --strict /tmp/partitions.conf || fail "the file of the guide has errors"

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
awk '/^[A-Za-z]/ { key = /0x7fff/ ? "ffff" : "8002" } sub(/^ *mgid=/, "") { sub(/::/, ":" key "::", $1); print $1, key }' /tmp/partitions.conf >/tmp/listed
[ $(wc -l </tmp/listed) = 30 ] || fail "the file lists 30 groups"
while read mgid key; do
	rate=0x87
	[ $key = 8002 ] || rate=0x83
	of_group $mgid 'Mtu 0x84' "Rate $rate" "pkey 0x$(echo $key | tr f F)"
done </tmp/listed
for dev in ib0 ib0.8002; do
	[ "$(mtu_of 0 $dev)" = 2044 ] || fail "$dev has MTU $(mtu_of 0 $dev)"
done

# A partition with an MTU of 4 KB, and one of 300 Gb/s, of which ports have a third.
cat >>/tmp/partitions.conf <<'CONF'
large=0x0003, ipoib, rate=7, mtu=5, defmember=full: ALL;
fast=0x0004, ipoib, rate=18, mtu=4, defmember=full: ALL;
CONF
ibsmctl partitions check /tmp/partitions.conf | grep 'of "fast", .* exceeds that of port .* of "vhca node0 HCA-1"' || fail "check does not name the slow port"
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
unreachable 0 10.4.0.4 || fail "ports of 100 Gb/s joined a group of 300 Gb/s"
dmesg | grep -q 'ib[03].8004: multicast join failed for ff12:401b:8004:0000:0000:0000:ffff:ffff, status -22' || fail "the join was not refused: $(dmesg | tail -n 5)"
sound

# Other values for a partition in use: hosts register again, and use them.
has_mtu() { [ "$(mtu_of $1 $2)" = $3 ]; }
sed -i 's/^large=0x0003, ipoib, rate=7, mtu=5/large=0x0003, ipoib, rate=3, mtu=4, Q_Key=0x1234/' /tmp/partitions.conf
dmesg -C
ibsmctl partitions apply || fail "apply of other values"
within 20 has_mtu 0 ib0.8003 2044 || fail "ib0.8003 has MTU $(mtu_of 0 ib0.8003)"
within 20 has_mtu 3 ib3.8003 2044 || fail "ib3.8003 has MTU $(mtu_of 3 ib3.8003)"
of_group ff12:401b:8003::ffff:ffff 'Mtu 0x84' 'Rate 0x83'
within 20 from 0 10.3.0.4 || fail "ib0.8003 does not ping by its new values"
within 20 from 0 10.2.0.4 || fail "ib0.8002 does not ping"
dmesg | grep 'ib[03].8003: multicast join failed' && fail "a join was refused"
sound

# The manager killed and started again finds all as it left it, what switches check
# included, and writes nothing.
kill -KILL $sm
wait $sm
: >/tmp/sm.log
start_sm -P /tmp/partitions.conf
within 20 grep -q 'SUBNET UP' /tmp/sm.log || fail "the fabric was not taken over"
grep 'SUBNET UP' /tmp/sm.log | head -n 1 | grep 'sets=none' || fail "a restart writes"
within 5 from 0 10.2.0.4 || fail "ib0.8002 does not ping after a restart"
stop_sm
